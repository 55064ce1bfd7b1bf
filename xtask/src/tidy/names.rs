//! A type's name stands once in a crate: two types of one name in one crate send a reader to the wrong file.

use std::collections::BTreeMap;

use super::{Repository, SourceFile, Violation, calls::tests_start, crate_of};

/// Where each type of a crate stands: files and lines, by name.
type Types<'a> = BTreeMap<String, Vec<(&'a str, usize)>>;

const KEYWORDS: [&str; 4] = ["struct", "enum", "trait", "union"];

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Types<'_>> = BTreeMap::new();
    for file in repository.rust_files() {
        let Some((_, rest)) = crate_of(&file.path) else { continue };
        if !rest.starts_with("src/") || rest.contains("/tests/") || rest.ends_with("tests.rs") {
            continue;
        }
        let folder = &file.path[..file.path.len() - rest.len() - 1];
        for (name, line) in types(file) {
            crates.entry(folder).or_default().entry(name).or_default().push((&file.path, line));
        }
    }
    crates.into_values().flat_map(of_crate).collect()
}

fn of_crate(types: Types<'_>) -> Vec<Violation> {
    let twice = types.into_iter().filter(|(_, places)| places.len() > 1);
    let violation = |(name, places): (String, Vec<(&str, usize)>)| {
        let (first, line) = places[0];
        let (other, other_line) = places[1];
        let message =
            format!("`{name}` is a type in {other}:{other_line} too; a name stands once in a crate");
        Violation { path: first.to_owned(), line, message }
    };
    twice.map(violation).collect()
}

/// Types that a file defines outside of its tests, with their lines.
fn types(file: &SourceFile) -> Vec<(String, usize)> {
    let end = tests_start(&file.text);
    let lines = file.text.lines().enumerate().take_while(|(index, _)| *index < end);
    lines.filter_map(|(index, line)| Some((defined(line)?, index + 1))).collect()
}

fn defined(line: &str) -> Option<String> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => public,
        };
    }
    let (keyword, rest) = rest.trim_start().split_once(' ')?;
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (KEYWORDS.contains(&keyword) && name.starts_with(char::is_uppercase)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, repository};
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_second_type_of_one_name_is_named_with_the_first() {
        let found = check(&repository(&[
            ("engine/sql/src/a.rs", "//! A.\npub(crate) struct Plan;\nenum Kind {}\n"),
            ("engine/sql/src/b.rs", "//! B.\n    pub struct Plan<'a> {\n"),
            ("engine/sql/src/tests.rs", "struct Kind;\n"),
            (
                "engine/graph/src/c.rs",
                "trait Kind {}\n// struct Kind\n#[cfg(test)]\nmod tests {\n    struct Kind;\n}\n",
            ),
        ]));
        expect![[r"
            engine/sql/src/a.rs:2: `Plan` is a type in engine/sql/src/b.rs:2 too; a name stands once in a crate
        "]]
        .assert_eq(&lines(&found));
    }
}
