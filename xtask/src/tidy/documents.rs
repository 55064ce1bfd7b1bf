//! Documents: relative links lead somewhere, headings that links name exist, and the commands that the
//! documents show are commands that there are.

use super::{Repository, SourceFile, Violation, has_extension};

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.documents().filter(|file| !file.path.contains("/data/")) {
        for (index, line) in file.text.lines().enumerate() {
            let links = links(line).filter_map(|link| broken_link(repository, file, link));
            let commands = commands(line).filter_map(|command| unknown_command(repository, command));
            for message in links.chain(commands) {
                violations.push(Violation { path: file.path.clone(), line: index + 1, message });
            }
        }
    }
    violations
}

/// The targets of `[text](target)`, outside code.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let plain = line.split('`').step_by(2);
    plain.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split([')', ' ']).next())
}

fn broken_link(repository: &Repository, from: &SourceFile, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (target, heading) = link.split_once('#').map_or((link, None), |(target, name)| (target, Some(name)));
    let path = if target.is_empty() { from.path.clone() } else { resolve(&from.path, target) };
    let directory = format!("{path}/");
    if !repository.paths.iter().any(|known| *known == path || known.starts_with(&directory)) {
        return Some(format!("link to {path}, which does not exist"));
    }
    let heading = heading.filter(|_| has_extension(&path, "md"))?;
    let found = repository.file(&path)?.text.lines().any(|line| anchor(line).as_deref() == Some(heading));
    (!found).then(|| format!("link to heading #{heading}, which {path} does not have"))
}

/// `target` as seen from the file `from`, without `.` and `..`.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// A heading's anchor: lower case, spaces to dashes, punctuation dropped.
fn anchor(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#');
    if title.len() == line.len() || !title.starts_with(' ') {
        return None;
    }
    let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect())
}

/// A command that a document shows: of `cargo xtask` or of `prony`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown<'a> {
    Xtask(&'a str),
    Prony(&'a str),
}

/// Commands in inline code and in lines that begin with a command, as in code blocks.
fn commands(line: &str) -> impl Iterator<Item = Shown<'_>> {
    let inline = line.split('`').skip(1).step_by(2);
    let whole = line.trim_start().trim_start_matches("$ ");
    inline.chain([whole]).filter_map(shown)
}

fn shown(code: &str) -> Option<Shown<'_>> {
    let first_word = |rest: &str, code: &str| {
        let start = code.len() - rest.len();
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        (start, start + end)
    };
    if let Some(rest) = code.strip_prefix("cargo xtask ") {
        let (start, end) = first_word(rest, code);
        return (start < end).then(|| Shown::Xtask(&code[start..end]));
    }
    let rest = ["prony ", "cargo run --release -- ", "target/release/prony "]
        .iter()
        .find_map(|prefix| code.strip_prefix(prefix))?;
    let (start, end) = first_word(rest, code);
    // `prony --help` has no command, and prose such as "prony is" is no code: callers pass code only.
    (start < end && !rest.starts_with('-')).then(|| Shown::Prony(&code[start..end]))
}

fn unknown_command(repository: &Repository, command: Shown<'_>) -> Option<String> {
    match command {
        Shown::Xtask(name) => {
            (!crate::COMMANDS.contains(&name)).then(|| format!("`cargo xtask {name}` does not exist"))
        }
        // Each command of the program is a module of its own name.
        Shown::Prony(name) => {
            let module = name.replace('-', "_");
            let known = repository.file(&format!("prony/src/{module}.rs")).is_some() || name == "help";
            (!known).then(|| format!("`prony {name}` does not exist"))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::tests::{lines, repository},
        *,
    };

    #[test]
    fn broken_links_are_named() {
        let text = "# One title: here\n[a](b.md) [b](../README.md#start) [c](missing.md) [d](b.md#nothing)\n\
            [e](https://example.org) `[f](code)` [g](#one-title-here) [h](../docs)\n";
        let repository =
            repository(&[("docs/a.md", text), ("docs/b.md", "## x\n"), ("README.md", "## Start\n")]);
        expect![[r"
            docs/a.md:2: link to docs/missing.md, which does not exist
            docs/a.md:2: link to heading #nothing, which docs/b.md does not have
        "]]
        .assert_eq(&lines(&check(&repository)));
    }

    #[test]
    fn unknown_commands_are_named() {
        let text = "run `cargo xtask test`, `cargo xtask nothing`, `prony serve sqlite:x.db`, `prony --help`\n\
            ```\n$ prony fly --far\ncargo run --release -- lab relational\n```\nprony is a word here?\n";
        let repository = repository(&[
            ("README.md", text),
            ("prony/src/serve.rs", "//! x"),
            ("prony/src/lab.rs", "//! x"),
        ]);
        expect![[r"
            README.md:1: `cargo xtask nothing` does not exist
            README.md:3: `prony fly` does not exist
            README.md:6: `prony is` does not exist
        "]]
        .assert_eq(&lines(&check(&repository)));
    }
}
