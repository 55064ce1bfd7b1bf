//! Each Rust file begins with what it is for, and neither files nor functions outgrow their limits; the few
//! that may are listed in `xtask/ratchet.toml` with a reason, and can only shrink.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Repository, SourceFile, Violation, calls::tests_start};

const RATCHET: &str = "xtask/ratchet.toml";
/// Lines of a file without its tests.
const FILE_LIMIT: usize = 600;
/// Lines of a function from its name to its closing brace.
const FUNCTION_LIMIT: usize = 70;

/// What may be longer, by path or by `path::function`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ratchet {
    #[serde(default)]
    files: BTreeMap<String, Exception>,
    #[serde(default)]
    functions: BTreeMap<String, Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    lines: usize,
    reason: String,
}

pub(super) fn check(repository: &Repository) -> Result<Vec<Violation>> {
    let text = repository.file(RATCHET).map_or("", |file| file.text.as_str());
    let mut ratchet: Ratchet = toml::from_str(text).context(RATCHET)?;
    let mut violations = Vec::new();
    for file in repository.rust_files() {
        violations.extend(first_line(file));
        if file.path.contains("/tests/") {
            continue;
        }
        let length = tests_start(&file.text);
        let advice = "split it by what its parts are for";
        let exception = ratchet.files.remove(&file.path);
        violations.extend(too_long(&file.path, 0, "file", length, FILE_LIMIT, exception, advice));
        for function in functions(&file.text) {
            let key = format!("{}::{}", file.path, function.name);
            let exception = ratchet.functions.remove(&key);
            let advice = "move straight work into helpers and keep the branches";
            let thing = format!("function {}", function.name);
            let (line, lines) = (function.line, function.lines);
            violations.extend(too_long(&file.path, line, &thing, lines, FUNCTION_LIMIT, exception, advice));
        }
    }
    for key in ratchet.files.keys().chain(ratchet.functions.keys()) {
        violations.push(violation(RATCHET, 0, format!("{key} does not exist; remove its entry")));
    }
    Ok(violations)
}

fn violation(path: &str, line: usize, message: String) -> Violation {
    Violation { path: path.to_owned(), line, message }
}

fn first_line(file: &SourceFile) -> Option<Violation> {
    let first = file.text.lines().next().unwrap_or_default();
    let message = "the first line must say what the file is for: `//! …`";
    (!first.starts_with("//! ")).then(|| violation(&file.path, 1, message.to_owned()))
}

fn too_long(
    path: &str,
    line: usize,
    thing: &str,
    lines: usize,
    limit: usize,
    exception: Option<Exception>,
    advice: &str,
) -> Option<Violation> {
    let message = match exception {
        None if lines <= limit => return None,
        None => format!("{thing} has {lines} lines, the limit is {limit}: {advice}"),
        Some(exception) if exception.reason.trim().is_empty() => {
            format!("{thing}: {RATCHET} gives no reason")
        }
        Some(_) if lines <= limit => format!("{thing} is within the limit now; remove it from {RATCHET}"),
        Some(exception) if lines > exception.lines => {
            format!("{thing} has grown to {lines} lines, {RATCHET} allows {}: {advice}", exception.lines)
        }
        Some(_) => return None,
    };
    Some(violation(path, line, message))
}

#[derive(Debug, PartialEq, Eq)]
struct Function<'a> {
    name: &'a str,
    /// From 1.
    line: usize,
    lines: usize,
}

/// Functions before the test module. Relies on rustfmt: a function's closing brace stands alone, indented as
/// its first line.
fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().take(tests_start(text)).collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = lines[index..].iter().position(|candidate| {
            candidate
                .strip_prefix(indent)
                .is_some_and(|rest| rest == "}" || (rest.starts_with(')') && rest.ends_with(';')))
        });
        if line.ends_with('{') || line.ends_with('(') {
            let count = end.map_or(lines.len() - index, |end| end + 1);
            found.push(Function { name, line: index + 1, lines: count });
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (before, after) = line.split_once("fn ")?;
    let prefix = before.split_whitespace().all(|word| {
        ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
            || word.starts_with("pub")
            || word.starts_with("crate")
    });
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (prefix && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::tests::{lines, repository},
        *,
    };

    fn long_function(lines: usize) -> String {
        format!(
            "    pub(crate) fn long(\n        a: u8,\n    ) {{\n{}    }}\n",
            "        step();\n".repeat(lines - 4)
        )
    }

    #[test]
    fn long_files_and_functions_are_named() {
        let file = format!("//! Text.\n{}", "line\n".repeat(600));
        let function = format!("//! Text.\nimpl X {{\n{}{}}}\n", long_function(70), long_function(71));
        let repository = repository(&[
            ("lab/a/src/file.rs", &file),
            ("lab/a/src/function.rs", &function),
            ("lab/a/src/plain.rs", "use x;\n"),
            ("lab/a/tests/all.rs", &file),
        ]);
        expect![[r"
            lab/a/src/file.rs: file has 601 lines, the limit is 600: split it by what its parts are for
            lab/a/src/function.rs:73: function long has 71 lines, the limit is 70: move straight work into helpers and keep the branches
            lab/a/src/plain.rs:1: the first line must say what the file is for: `//! …`
        "]]
        .assert_eq(&lines(&check(&repository).unwrap()));
    }

    #[test]
    fn tests_do_not_count() {
        let file = format!("//! Text.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "line\n".repeat(600));
        assert!(check(&repository(&[("lab/a/src/file.rs", &file)])).unwrap().is_empty());
    }

    #[test]
    fn exceptions_only_shrink() {
        let long = format!("//! Text.\n{}", "line\n".repeat(649));
        let ratchet = "[files]\n\
            'lab/a/src/kept.rs' = { lines = 650, reason = 'a table' }\n\
            'lab/a/src/grown.rs' = { lines = 640, reason = 'a table' }\n\
            'lab/a/src/short.rs' = { lines = 640, reason = 'a table' }\n\
            'lab/a/src/gone.rs' = { lines = 640, reason = 'a table' }\n";
        let repository = repository(&[
            ("lab/a/src/kept.rs", &long),
            ("lab/a/src/grown.rs", &long),
            ("lab/a/src/short.rs", "//! Text.\n"),
            (RATCHET, ratchet),
        ]);
        expect![[r"
            lab/a/src/grown.rs: file has grown to 650 lines, xtask/ratchet.toml allows 640: split it by what its parts are for
            lab/a/src/short.rs: file is within the limit now; remove it from xtask/ratchet.toml
            xtask/ratchet.toml: lab/a/src/gone.rs does not exist; remove its entry
        "]]
        .assert_eq(&lines(&check(&repository).unwrap()));
    }

    #[test]
    fn functions_are_found_by_their_shape() {
        let text = "pub(in crate::x) async fn a(b: u8) -> u8 {\n    b\n}\n    fn declared(&self);\n\
            fn one() {}\n/// fn in a comment {\nlet f = |x| {\n};\n";
        let found: Vec<&str> = functions(text).iter().map(|function| function.name).collect();
        assert_eq!(found, ["a"]);
    }
}
