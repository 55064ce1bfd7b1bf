//! Which crate may know which, and what each refuses to know: the table of `ARCHITECTURE.md`, held against
//! every crate's `Cargo.toml`. A new edge is a design change: it changes this table in its own commit.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::{Repository, Violation};

/// One row of the table.
struct Rule {
    /// The directory below `crates/`.
    name: &'static str,
    /// Crates of ours that it may depend on; `testkit` may be a dev-dependency of all.
    may_know: &'static [&'static str],
    /// Other packages that it must not depend on, nor on those whose names begin with them and a dash.
    refuses: &'static [&'static str],
}

const RUNTIMES: &[&str] = &["tokio", "hyper", "mio", "socket2", "rustix", "libc"];
const ENGINE_EDGE: &[&str] = &["hyper", "http", "clap", "hdrhistogram"];

const RULES: &[Rule] = &[
    Rule {
        name: "graphql",
        may_know: &[],
        refuses: &[
            "tokio",
            "hyper",
            "mio",
            "socket2",
            "rustix",
            "libc",
            "rusqlite",
            "tokio-postgres",
            "rand",
        ],
    },
    Rule { name: "sources", may_know: &["graphql", "graph-store"], refuses: ENGINE_EDGE },
    Rule { name: "graph-store", may_know: &[], refuses: &["hyper", "http", "apollo-compiler", "serde_json"] },
    Rule {
        name: "server",
        may_know: &["graphql", "sources", "graph-store"],
        refuses: &["clap", "hdrhistogram", "rusqlite", "tokio-postgres"],
    },
    Rule { name: "load-model", may_know: &[], refuses: RUNTIMES },
    Rule { name: "load-scripts", may_know: &["load-model"], refuses: &["tokio", "hyper", "mio", "socket2"] },
    Rule {
        name: "load",
        may_know: &["load-model"],
        refuses: &["apollo-compiler", "rusqlite", "tokio-postgres", "clap"],
    },
    // Apart from `load`, so that its drivers do not weigh on the load path's build.
    Rule { name: "observe", may_know: &["load-model"], refuses: &["apollo-compiler", "rusqlite", "clap"] },
    Rule { name: "report", may_know: &["load-model"], refuses: RUNTIMES },
    Rule {
        name: "lab",
        may_know: &["load-model", "load-scripts", "load", "observe", "report"],
        refuses: &["clap", "anyhow"],
    },
    Rule {
        name: "prony",
        may_know: &[
            "graphql",
            "sources",
            "graph-store",
            "server",
            "load-model",
            "load-scripts",
            "load",
            "observe",
            "report",
            "lab",
        ],
        refuses: &["apollo-compiler", "rusqlite", "tokio-postgres", "hyper"],
    },
    Rule { name: "testkit", may_know: &[], refuses: &[] },
];

const TEST_CRATE: &str = "prony-testkit";
/// Where people read the table.
const DOCUMENT: &str = "ARCHITECTURE.md";

pub(super) fn check(repository: &Repository) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for file in &repository.files {
        let name = file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
        // Further down are workspaces of their own: what benchmarks compare with.
        let Some(name) = name.filter(|name| !name.contains('/')) else { continue };
        let mut report = |message: String| {
            violations.push(Violation { path: file.path.clone(), line: 0, message });
        };
        let Some(rule) = RULES.iter().find(|rule| rule.name == name) else {
            report(format!("a crate without a row in the table of xtask/src/tidy/edges.rs and {DOCUMENT}"));
            continue;
        };
        if let Some(fault) = documented_otherwise(repository, rule) {
            report(fault);
        }
        let manifest: toml::Table = toml::from_str(&file.text).with_context(|| file.path.clone())?;
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let table = manifest.get(section).and_then(toml::Value::as_table);
            for dependency in table.into_iter().flat_map(toml::Table::keys) {
                if let Some(fault) = fault(rule, section, dependency) {
                    report(fault);
                }
            }
        }
    }
    Ok(violations)
}

/// The table's second column names the same crates, of those that exist.
fn documented_otherwise(repository: &Repository, rule: &Rule) -> Option<String> {
    let document = repository.file(DOCUMENT)?;
    let beginning = format!("| `{}` |", rule.name);
    let Some(row) = document.text.lines().find_map(|line| line.strip_prefix(&beginning)) else {
        return Some(format!("{DOCUMENT} has no row for {}", rule.name));
    };
    let cell = row.split('|').next().unwrap_or_default().trim();
    if cell == "everything above" {
        return None;
    }
    let exists = |name: &&str| repository.file(&format!("crates/{name}/Cargo.toml")).is_some();
    let words =
        |cell: &str| cell.split([',', ':']).map(|word| word.trim().to_owned()).collect::<BTreeSet<_>>();
    let allowed: Vec<&str> = rule.may_know.iter().copied().filter(exists).collect();
    let allowed = if allowed.is_empty() { "-".to_owned() } else { allowed.join(", ") };
    (words(cell) != words(&allowed))
        .then(|| format!("{DOCUMENT} lets {} know {cell}; the check: {allowed}", rule.name))
}

fn fault(rule: &Rule, section: &str, dependency: &str) -> Option<String> {
    if dependency == TEST_CRATE {
        return (section != "dev-dependencies")
            .then(|| format!("{TEST_CRATE} is a dev-dependency only, not one of [{section}]"));
    }
    if let Some(ours) = dependency.strip_prefix("prony-") {
        return (!rule.may_know.contains(&ours))
            .then(|| format!("{} must not know {ours} (the table of crates in ARCHITECTURE.md)", rule.name));
    }
    // Tests may use what the crate itself may not.
    let refused =
        section != "dev-dependencies" && rule.refuses.iter().any(|refused| matches(refused, dependency));
    refused
        .then(|| format!("{} refuses to know {dependency}; put what needs it into an outer crate", rule.name))
}

fn matches(refused: &str, dependency: &str) -> bool {
    dependency.strip_prefix(refused).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::tests::{lines, repository},
        *,
    };

    #[test]
    fn forbidden_edges_are_named() {
        let repository = repository(&[
            (
                "crates/load/Cargo.toml",
                "[dependencies]\nprony-load-model.workspace = true\nprony-graphql.workspace = true\n\
                 prony-testkit.workspace = true\n[dev-dependencies]\nprony-testkit.workspace = true\n",
            ),
            (
                "crates/graphql/Cargo.toml",
                "[dependencies]\ntokio-util = \"1\"\n[dev-dependencies]\ntokio = \"1\"\n",
            ),
            ("crates/new/Cargo.toml", ""),
            ("crates/load-model/Cargo.toml", ""),
            ("ARCHITECTURE.md", "| `graphql` | - | x |\n| `load` | load-model, graphql | x |\n"),
        ]);
        expect![[r"
            crates/load/Cargo.toml: ARCHITECTURE.md lets load know load-model, graphql; the check: load-model
            crates/load/Cargo.toml: load must not know graphql (the table of crates in ARCHITECTURE.md)
            crates/load/Cargo.toml: prony-testkit is a dev-dependency only, not one of [dependencies]
            crates/graphql/Cargo.toml: graphql refuses to know tokio-util; put what needs it into an outer crate
            crates/new/Cargo.toml: a crate without a row in the table of xtask/src/tidy/edges.rs and ARCHITECTURE.md
            crates/load-model/Cargo.toml: ARCHITECTURE.md has no row for load-model
        "]]
        .assert_eq(&lines(&check(&repository).unwrap()));
    }

    #[test]
    fn engine_and_lab_share_no_code() {
        const ENGINE: &[&str] = &["graphql", "sources", "graph-store", "server"];
        const LAB: &[&str] = &["load-model", "load-scripts", "load", "report"];
        for rule in RULES {
            for (own, other) in [(ENGINE, LAB), (LAB, ENGINE)] {
                let crosses =
                    own.contains(&rule.name) && rule.may_know.iter().any(|name| other.contains(name));
                assert!(!crosses, "{}", rule.name);
            }
        }
    }
}
