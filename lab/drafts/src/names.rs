//! Names for requests and variables, each of them once.

use std::collections::HashSet;

/// Longer ones are cut, so that tables of results stay readable.
const LONGEST: usize = 60;

/// Gives each name once; one that is taken gets a number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Of a request: `wanted`, or `wanted (2)`.
    pub(crate) fn request(&mut self, wanted: &str) -> String {
        let short: String = if wanted.chars().count() > LONGEST {
            wanted.chars().take(LONGEST - 1).chain(['…']).collect()
        } else {
            wanted.to_owned()
        };
        self.free(&short, |count| format!("{short} ({count})"))
    }

    /// Of a variable: letters, digits and `_` of `wanted`, in lower case.
    pub(crate) fn variable(&mut self, wanted: &str) -> String {
        let mut name = String::new();
        let mut was_lower = false;
        for letter in wanted.chars() {
            if letter.is_ascii_alphanumeric() {
                if letter.is_ascii_uppercase() && was_lower {
                    name.push('_');
                }
                name.push(letter.to_ascii_lowercase());
                was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
            } else if !name.is_empty() && !name.ends_with('_') {
                name.push('_');
                was_lower = false;
            }
        }
        let name = name.trim_matches('_');
        let name = match name.chars().next() {
            None => "value".to_owned(),
            Some(first) if first.is_ascii_digit() => format!("value_{name}"),
            Some(_) => name.to_owned(),
        };
        self.free(&name, |count| format!("{name}_{count}"))
    }

    fn free(&mut self, wanted: &str, numbered: impl Fn(usize) -> String) -> String {
        let mut name = wanted.to_owned();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = numbered(count);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_once() {
        let mut names = Names::default();
        assert_eq!(names.request("GET /a"), "GET /a");
        assert_eq!(names.request("GET /a"), "GET /a (2)");
        assert_eq!(names.request(&"ä".repeat(70)).chars().count(), LONGEST);
        let variables = ["accessToken", "access-token", "7days", "ß", "", "X-CSRF-Token", "userID"];
        let made = variables.map(|wanted| names.variable(wanted));
        let expected =
            ["access_token", "access_token_2", "value_7days", "value", "value_2", "x_csrf_token", "user_id"];
        assert_eq!(made, expected);
    }
}
