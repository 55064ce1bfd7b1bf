//! Texts that must not be committed anywhere: paths of somebody's machine, addresses of package hosts, and
//! the words of unfinished work.

use super::{Repository, Violation};

/// A text and why it must not stand in a file. Split in the middle, so that this file does not hold it.
struct Unwanted {
    parts: (&'static str, &'static str),
    message: &'static str,
}

const MACHINE_PATH: &str = "a path of one machine; write it relative to the repository, or as a variable";
const PACKAGE_HOST: &str = "an address of a package host; name the package instead";
const UNFINISHED: &str = "unfinished by its own words; finish it, or say what holds";

const UNWANTED: &[Unwanted] = &[
    Unwanted { parts: ("/wo", "rk/"), message: MACHINE_PATH },
    Unwanted { parts: ("/ro", "ot/"), message: MACHINE_PATH },
    Unwanted { parts: ("/ho", "me/"), message: MACHINE_PATH },
    Unwanted { parts: ("/Us", "ers/"), message: MACHINE_PATH },
    Unwanted { parts: ("registry.np", "mjs.org"), message: PACKAGE_HOST },
    Unwanted { parts: ("index.cra", "tes.io"), message: PACKAGE_HOST },
    Unwanted { parts: ("static.cra", "tes.io"), message: PACKAGE_HOST },
    Unwanted { parts: ("deb.deb", "ian.org"), message: PACKAGE_HOST },
    Unwanted { parts: ("FIX", "ME"), message: UNFINISHED },
    Unwanted { parts: ("TO", "DO:"), message: UNFINISHED },
    Unwanted { parts: ("for n", "ow"), message: UNFINISHED },
];

/// Written by tools, which put addresses of hosts into them, or data as it was published.
fn is_generated(path: &str) -> bool {
    path.ends_with("Cargo.lock") || path.ends_with("package-lock.json") || path.contains("/data/")
}

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| !is_generated(&file.path)) {
        for unwanted in UNWANTED {
            let text = [unwanted.parts.0, unwanted.parts.1].concat();
            for (index, line) in file.text.lines().enumerate() {
                if stands_in(line, &text) {
                    let message = format!("`{text}`: {}", unwanted.message);
                    violations.push(Violation { path: file.path.clone(), line: index + 1, message });
                }
            }
        }
    }
    violations
}

/// Not as the end or the beginning of a longer word, nor of a longer path.
fn stands_in(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + text.len()..].chars().next();
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let inside_path =
            text.starts_with('/') && before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c));
        !inside_path && (text.starts_with('/') || !word(before)) && (text.ends_with('/') || !word(after))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::repository, *};

    fn check_line(line: &str, expected: usize) {
        assert_eq!(check(&repository(&[("docs/x.md", line)])).len(), expected, "{line}");
    }

    #[test]
    fn unwanted_texts_are_found() {
        for unwanted in UNWANTED {
            check_line(&format!("see {}{} there", unwanted.parts.0, unwanted.parts.1), 1);
        }
    }

    #[test]
    fn longer_words_and_paths_are_not() {
        check_line(concat!("target/wo", "rk/x"), 0);
        check_line("the answer for nowhere", 0);
        check_line("https://example.org/network/", 0);
    }
}
