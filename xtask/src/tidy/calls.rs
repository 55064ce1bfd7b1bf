//! Calls that must not appear in certain crates, each with its replacement, and `unsafe` without a reason.
//! What clippy forbids (unwrap, printing, todo) is not repeated here.

use super::{Repository, SourceFile, Violation, crate_of};

/// A text that must not stand in code of some crates.
struct Ban {
    call: &'static str,
    crates: Crates,
    /// Also in tests.
    in_tests: bool,
    instead: &'static str,
}

/// Which crates a ban is for.
#[derive(Clone, Copy)]
enum Crates {
    These(&'static [&'static str]),
    /// All of both halves, not the binary and not the crate for tests.
    Libraries,
    All,
}

impl Crates {
    fn include(self, name: &str) -> bool {
        match self {
            Self::These(names) => names.contains(&name),
            Self::Libraries => !["prony", "testkit"].contains(&name),
            Self::All => true,
        }
    }
}

const PURE: Crates = Crates::These(&["graphql", "model", "report"]);
const NO_INPUT_OR_OUTPUT: Crates = Crates::These(&["graphql", "model"]);

const BANS: &[Ban] = &[
    Ban { call: "Instant::now", crates: PURE, in_tests: true, instead: "take the time as an argument" },
    Ban { call: "SystemTime::now", crates: PURE, in_tests: true, instead: "take the time as an argument" },
    Ban {
        call: "thread::sleep",
        crates: PURE,
        in_tests: true,
        instead: "time is virtual here: pass instants",
    },
    Ban { call: "thread::spawn", crates: PURE, in_tests: false, instead: "leave threads to the callers" },
    Ban { call: "std::fs", crates: NO_INPUT_OR_OUTPUT, in_tests: false, instead: "take bytes, return bytes" },
    Ban { call: "std::net", crates: PURE, in_tests: false, instead: "leave sockets to the outer crates" },
    Ban { call: "std::env", crates: PURE, in_tests: false, instead: "take settings as arguments" },
    Ban { call: "tokio::", crates: PURE, in_tests: true, instead: "leave runtimes to the outer crates" },
    Ban {
        call: "rand::rng(",
        crates: Crates::Libraries,
        in_tests: true,
        instead: "take a seeded ChaCha8Rng",
    },
    Ban {
        call: "rand::random",
        crates: Crates::Libraries,
        in_tests: true,
        instead: "take a seeded ChaCha8Rng",
    },
    Ban {
        call: "process::exit",
        crates: Crates::Libraries,
        in_tests: true,
        instead: "return an error; the binary exits",
    },
    Ban { call: "extern crate", crates: Crates::All, in_tests: true, instead: "edition 2024 needs none" },
    Ban {
        call: "#[ignore",
        crates: Crates::All,
        in_tests: true,
        instead: "make the test pass, or remove it",
    },
    Ban {
        call: "static mut",
        crates: Crates::All,
        in_tests: true,
        instead: "pass state as an argument, or use an atomic",
    },
];

/// A line that says why the `unsafe` block or implementation beneath it is sound.
const SAFETY: &str = "// SAFETY:";
/// How many lines above an `unsafe` its reason may begin.
const SAFETY_REACH: usize = 8;

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let files = repository.rust_files().filter_map(|file| Some((file, crate_of(&file.path)?)));
    files.flat_map(|(file, (name, rest))| check_file(file, name, rest)).collect()
}

fn check_file(file: &SourceFile, name: &str, rest: &str) -> Vec<Violation> {
    let directory = rest.split('/').next().unwrap_or_default();
    let tests_from = if directory == "tests" { 0 } else { tests_start(&file.text) };
    let lines: Vec<&str> = file.text.lines().collect();
    let mut violations = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = code_of(line);
        // Benchmarks are programs of their own: they look at the clock so that the crate need not.
        let banned =
            |ban: &&Ban| directory != "benches" && ban.crates.include(name) && code.contains(ban.call);
        let bans = BANS.iter().filter(banned);
        for ban in bans.filter(|ban| ban.in_tests || index < tests_from) {
            let message = format!("`{}` has no place in {name}: {}", ban.call, ban.instead);
            violations.push(Violation { path: file.path.clone(), line: index + 1, message });
        }
        let reasons = &lines[index.saturating_sub(SAFETY_REACH)..=index];
        if opens_unsafe(code) && !reasons.iter().any(|line| line.contains(SAFETY)) {
            let message = format!("`unsafe` needs a `{SAFETY} …` comment above it that says why it is sound");
            violations.push(Violation { path: file.path.clone(), line: index + 1, message });
        }
    }
    violations
}

fn opens_unsafe(code: &str) -> bool {
    ["unsafe {", "unsafe impl"].iter().any(|opening| code.contains(opening))
}

/// The part of a line before its comment. A `//` inside a string cuts too early, which only misses.
fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// The index of the line at which a file's test module begins, or the number of lines.
pub(super) fn tests_start(text: &str) -> usize {
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let next_is_module = lines.peek().is_some_and(|(_, next)| next.trim_start().starts_with("mod "));
        if line == "#[cfg(test)]" && next_is_module {
            return index;
        }
    }
    text.lines().count()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::tests::{lines, repository},
        *,
    };

    #[test]
    fn banned_calls_are_named_with_their_replacement() {
        let repository = repository(&[
            (
                "lab/model/src/lib.rs",
                "//! Text.\n// Instant::now() in a comment is fine\nlet t = Instant::now();\n\
                 #[cfg(test)]\nmod tests {\nthread::spawn(f);\nthread::sleep(d);\n}\n",
            ),
            ("lab/load/src/lib.rs", "//! Text.\nlet t = Instant::now();\n"),
        ]);
        expect![[r"
            lab/model/src/lib.rs:3: `Instant::now` has no place in model: take the time as an argument
            lab/model/src/lib.rs:7: `thread::sleep` has no place in model: time is virtual here: pass instants
        "]]
        .assert_eq(&lines(&check(&repository)));
    }

    #[test]
    fn unsafe_needs_its_reason() {
        let text = "//! Text.\n// SAFETY: checked above.\nunsafe { a() }\n\n\n\n\n\n\n\n\n\nunsafe { b() }\n";
        let repository = repository(&[("lab/load/src/x.rs", text)]);
        let found: Vec<usize> = check(&repository).iter().map(|violation| violation.line).collect();
        assert_eq!(found, [13]);
    }
}
