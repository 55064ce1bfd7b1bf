//! Documents: relative links lead somewhere, headings that links name exist, the commands and the project's own paths
//! that the documents show are there, and the README lists every page.

use super::{Repository, SourceFile, Violation, has_extension};

const README: &str = "README.md";

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.documents().filter(|file| !file.path.contains("/data/")) {
        for (index, line) in file.text.lines().enumerate() {
            let links = links(line).filter_map(|link| broken_link(repository, file, link));
            let commands = commands(line).filter_map(|command| unknown_command(repository, command));
            let paths = paths(&repository.paths, file, line);
            for message in links.chain(commands).chain(paths) {
                violations.push(Violation { path: file.path.clone(), line: index + 1, message });
            }
        }
    }
    violations.extend(unlisted(repository));
    violations
}

/// Pages that the README's documentation does not name: the site's side bar is made of it.
fn unlisted(repository: &Repository) -> impl Iterator<Item = Violation> {
    let contents = repository.file(README).map_or("", |readme| &*readme.text);
    let pages = repository.documents().filter(|file| {
        file.path.strip_prefix("docs/").is_some_and(|name| has_extension(name, "md") && !name.contains('/'))
    });
    pages.filter(move |page| !contents.contains(&format!("]({})", page.path))).map(|page| Violation {
        path: page.path.clone(),
        line: 0,
        message: format!("{README} does not list it under Documentation"),
    })
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
    if !exists(&repository.paths, &path) {
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

/// Paths of the project in inline code that lead nowhere. Decisions tell of the code of their day.
fn paths(known: &[String], from: &SourceFile, line: &str) -> Vec<String> {
    if from.path.starts_with("docs/decisions/") {
        return Vec::new();
    }
    let inline = line.split('`').skip(1).step_by(2).filter(|code| is_path(known, code));
    let each = inline.flat_map(alternatives);
    let missing = each.filter(|path| places(from, path).iter().all(|place| !exists(known, place)));
    missing.map(|path| format!("`{path}` does not exist, nor below engine/ or lab/")).collect()
}

/// Whether that is written as a path below a folder of the root, or of a crate of `engine/` or `lab/`. Words in capitals stand
/// for any name.
fn is_path(known: &[String], code: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.{},-/".contains(c);
    let Some((first, _)) = code.split_once('/') else { return false };
    let is_pattern =
        code.split('/').any(|part| part.chars().any(|c| c.is_ascii_uppercase()) && !part.contains('.'));
    let folders = ["", "engine/", "lab/"].map(|half| format!("{half}{first}"));
    code.chars().all(plain) && !is_pattern && folders.iter().any(|folder| exists_folder(known, folder))
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn alternatives(code: &str) -> Vec<String> {
    let braces = code.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inner, after))) = braces else { return vec![code.to_owned()] };
    inner.split(',').flat_map(|one| alternatives(&format!("{before}{one}{after}"))).collect()
}

/// Where a path may lead: from the root, within a half, or from the document.
fn places(from: &SourceFile, path: &str) -> [String; 4] {
    let path = path.trim_end_matches('/');
    [path.to_owned(), format!("engine/{path}"), format!("lab/{path}"), resolve(&from.path, path)]
}

fn exists(known: &[String], path: &str) -> bool {
    known.iter().any(|one| one == path) || exists_folder(known, path)
}

fn exists_folder(known: &[String], path: &str) -> bool {
    let folder = format!("{path}/");
    known.iter().any(|one| one.starts_with(&folder))
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
        let repository = repository(&[
            ("docs/a.md", text),
            ("docs/b.md", "## x\n"),
            ("README.md", "## Start\n[b](docs/b.md)\n"),
        ]);
        expect![[r"
            docs/a.md:2: link to docs/missing.md, which does not exist
            docs/a.md:2: link to heading #nothing, which docs/b.md does not have
            docs/a.md: README.md does not list it under Documentation
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

    #[test]
    fn paths_that_lead_nowhere_are_named() {
        let text = "`sql/src/a.rs`, `sql/src/{a,c}.rs`, `sql/src/`, `docs/gone.md`, `engine/NAME/src`, `load/b.rs`\n\
            `/db/rage`, `a/b`, `data.sql/x`, sql/src/none.rs\n";
        let repository = repository(&[
            ("docs/a.md", text),
            ("docs/decisions/0001.md", "`sql/src/old.rs`\n"),
            ("engine/sql/src/a.rs", "//! x"),
            ("lab/load/b.rs", "//! x"),
        ]);
        expect![[r"
            docs/a.md:1: `sql/src/c.rs` does not exist, nor below engine/ or lab/
            docs/a.md:1: `docs/gone.md` does not exist, nor below engine/ or lab/
            docs/a.md: README.md does not list it under Documentation
        "]]
        .assert_eq(&lines(&check(&repository)));
    }
}
