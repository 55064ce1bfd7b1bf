//! Connection strings of the form `host=db.example user='ann'` (PostgreSQL manual, "Keyword/Value Connection Strings").

use std::iter::Peekable;

use crate::given::Given;

/// # Errors
/// What is wrong, without any value.
pub(crate) fn parse(text: &str) -> Result<Given, String> {
    let mut given = Given::new();
    let mut letters = text.chars().peekable();
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        if letters.peek().is_none() {
            return Ok(given);
        }
        let name = name(&mut letters);
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        // The text may be a password that was split at a space.
        letters.next_if_eq(&'=').ok_or(
            "a parameter has no =; write name=value, or postgres://user:password@host:port/database",
        )?;
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        let value = if letters.next_if_eq(&'\'').is_some() {
            quoted(&mut letters).ok_or_else(|| format!("the value of {name} has no closing quote"))?
        } else {
            plain(&mut letters)
        };
        given.insert(name, value);
    }
}

fn name(letters: &mut Peekable<std::str::Chars<'_>>) -> String {
    let mut name = String::new();
    while let Some(letter) = letters.next_if(|letter| *letter != '=' && !letter.is_whitespace()) {
        name.push(letter);
    }
    name
}

fn plain(letters: &mut Peekable<std::str::Chars<'_>>) -> String {
    let mut value = String::new();
    while let Some(letter) = letters.next_if(|letter| !letter.is_whitespace()) {
        value.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    value
}

fn quoted(letters: &mut Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut value = String::new();
    loop {
        match letters.next()? {
            '\'' => return Some(value),
            '\\' => value.push(letters.next()?),
            letter => value.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_backslashes_and_spaces_are_read_as_libpq_reads_them() {
        let given = parse(r" host = db.example  password='it\'s \\ me' user=a\ b options='' ").unwrap();
        let read: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            read,
            [("host", "db.example"), ("options", ""), ("password", r"it's \ me"), ("user", "a b")]
        );
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_told_without_values() {
        for text in ["host=h password=sec ret", "host='sec ret", "secret"] {
            let reason = parse(text).unwrap_err();
            assert!(!reason.contains("sec") && !reason.contains("ret"), "{reason}");
        }
    }
}
