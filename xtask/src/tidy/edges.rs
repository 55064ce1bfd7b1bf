//! Which crate may know which, and what each refuses to know: the table of `ARCHITECTURE.md`, held against
//! every crate's `Cargo.toml`. A new edge is a design change: it changes this table in its own commit.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::{Repository, Violation, crate_of};

/// One row of the table.
struct Rule {
    /// The name of the crate's folder.
    name: &'static str,
    half: Half,
    /// Crates of ours that it may depend on; `testkit` may be a dev-dependency of all.
    may_know: &'static [&'static str],
    /// Other packages that it must not depend on, nor on those whose names begin with them and a dash.
    refuses: &'static [&'static str],
}

/// Where a crate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Engine,
    Lab,
    /// Beside them, at the root.
    Neither,
}

const RUNTIMES: &[&str] = &["tokio", "hyper", "mio", "socket2", "rustix", "libc"];
/// What neither opens sockets nor runs scripts.
const SCRIPT_FREE: &[&str] = &["tokio", "hyper", "mio", "socket2", "rustix", "libc", "rquickjs", "mlua"];
const ENGINE_EDGE: &[&str] = &["hyper", "http", "clap", "hdrhistogram"];

/// What neither HTTP nor a driver or store of one kind may bring to all others.
const SEAM: &[&str] = &["hyper", "tokio", "rusqlite", "tokio-postgres", "clap"];

/// What only a driver may know.
const RELATIONAL: &[&str] = &["hyper", "http", "clap", "rusqlite", "tokio-postgres"];
/// Crates whose tests need several kinds of sources, or what stands behind one.
const TESTED_WITH: &[(&str, &[&str])] = &[
    ("sql", &["sqlite", "postgres"]),
    ("graph", &["log"]),
    ("server", &["sqlite", "postgres", "graph", "graph-store", "interceptors"]),
];

const RULES: &[Rule] = &[
    Rule {
        name: "graphql",
        half: Half::Engine,
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
    Rule {
        name: "log",
        half: Half::Engine,
        may_know: &[],
        refuses: &["hyper", "http", "tokio", "apollo-compiler", "serde_json"],
    },
    Rule {
        name: "graph-store",
        half: Half::Engine,
        may_know: &["log"],
        refuses: &["hyper", "http", "apollo-compiler", "serde_json"],
    },
    Rule {
        name: "series-store",
        half: Half::Engine,
        may_know: &["log"],
        refuses: &["hyper", "http", "tokio", "apollo-compiler", "serde_json"],
    },
    Rule {
        name: "series-database",
        half: Half::Engine,
        may_know: &["series-store", "postgres-connect"],
        refuses: &["hyper", "http", "ureq", "apollo-compiler", "serde_json", "rusqlite", "clap"],
    },
    Rule {
        name: "series-postgres",
        half: Half::Engine,
        may_know: &["series-store", "series-database"],
        refuses: &["hyper", "http", "apollo-compiler", "serde_json", "rusqlite", "clap"],
    },
    Rule {
        name: "series-questdb",
        half: Half::Engine,
        may_know: &["series-store", "series-database"],
        refuses: &["hyper", "apollo-compiler", "serde_json", "rusqlite", "clap"],
    },
    Rule { name: "source", half: Half::Engine, may_know: &["graphql"], refuses: SEAM },
    Rule {
        name: "access",
        half: Half::Engine,
        may_know: &["graphql", "source"],
        refuses: &[
            "tokio",
            "hyper",
            "mio",
            "socket2",
            "rustix",
            "libc",
            "rusqlite",
            "tokio-postgres",
            "clap",
            "tracing",
        ],
    },
    // What it runs is asked for through a trait of `source`: a program of functions needs no JavaScript.
    Rule {
        name: "interceptors",
        half: Half::Engine,
        may_know: &["source"],
        refuses: &["hyper", "http", "mio", "socket2", "rusqlite", "tokio-postgres", "clap"],
    },
    Rule { name: "sql", half: Half::Engine, may_know: &["graphql", "source"], refuses: RELATIONAL },
    Rule {
        name: "sqlite",
        half: Half::Engine,
        may_know: &["graphql", "source", "sql"],
        refuses: ENGINE_EDGE,
    },
    Rule {
        name: "postgres-connect",
        half: Half::Engine,
        may_know: &[],
        refuses: &["hyper", "http", "clap", "apollo-compiler", "serde_json"],
    },
    Rule {
        name: "postgres",
        half: Half::Engine,
        may_know: &["graphql", "source", "sql", "postgres-connect"],
        refuses: ENGINE_EDGE,
    },
    Rule {
        name: "graph",
        half: Half::Engine,
        may_know: &["graphql", "source", "graph-lua", "graph-store"],
        refuses: &["hyper", "clap", "rusqlite", "tokio-postgres"],
    },
    Rule {
        name: "graph-lua",
        half: Half::Engine,
        may_know: &["graphql"],
        refuses: &["hyper", "http", "tokio", "mio", "socket2", "rusqlite", "tokio-postgres", "clap"],
    },
    Rule {
        name: "series",
        half: Half::Engine,
        may_know: &["graphql", "source", "series-store", "series-postgres", "series-questdb"],
        refuses: &["hyper", "clap", "rusqlite", "tokio-postgres"],
    },
    Rule {
        name: "resolvers",
        half: Half::Engine,
        may_know: &["graphql", "source"],
        refuses: &["hyper", "http", "clap", "rusqlite", "tokio-postgres"],
    },
    Rule {
        name: "upstream",
        half: Half::Engine,
        may_know: &["graphql", "source"],
        refuses: &["hyper", "clap", "rusqlite", "tokio-postgres", "hdrhistogram"],
    },
    Rule {
        name: "server",
        half: Half::Engine,
        may_know: &["access", "graphql", "source", "resolvers"],
        refuses: &["clap", "hdrhistogram", "rusqlite", "tokio-postgres"],
    },
    Rule { name: "model", half: Half::Lab, may_know: &[], refuses: RUNTIMES },
    Rule { name: "http-session", half: Half::Lab, may_know: &[], refuses: SCRIPT_FREE },
    Rule { name: "metrics", half: Half::Lab, may_know: &["model"], refuses: SCRIPT_FREE },
    Rule {
        name: "script-k6",
        half: Half::Lab,
        may_know: &["model", "metrics", "http-session"],
        refuses: &["tokio", "hyper", "mio", "socket2"],
    },
    Rule {
        name: "script-wrk",
        half: Half::Lab,
        may_know: &["model"],
        refuses: &["tokio", "hyper", "mio", "socket2"],
    },
    Rule { name: "jtl", half: Half::Lab, may_know: &["model"], refuses: SCRIPT_FREE },
    Rule { name: "drafts", half: Half::Lab, may_know: &[], refuses: SCRIPT_FREE },
    Rule {
        name: "script-jmeter",
        half: Half::Lab,
        may_know: &["model", "http-session", "jtl"],
        refuses: &["tokio", "hyper", "mio", "socket2", "rustix", "libc", "mlua"],
    },
    // Of `model` it needs the words for targets, requests and failures; scripts use the same ones.
    Rule {
        name: "client",
        half: Half::Lab,
        may_know: &["model"],
        refuses: &["hyper", "hdrhistogram", "rand", "serde", "clap"],
    },
    Rule {
        name: "load",
        half: Half::Lab,
        may_know: &["model", "client"],
        refuses: &["apollo-compiler", "rusqlite", "tokio-postgres", "clap"],
    },
    // Apart from `load`, so that its drivers do not weigh on the load path's build.
    Rule {
        name: "observe",
        half: Half::Lab,
        may_know: &["model"],
        refuses: &["apollo-compiler", "rusqlite", "clap"],
    },
    // What dashboards read of a run, each kind with a thread of its own.
    Rule {
        name: "outputs",
        half: Half::Lab,
        may_know: &["model"],
        refuses: &["apollo-compiler", "rusqlite", "tokio-postgres", "clap"],
    },
    // The page of a run that goes on: results are values to it.
    Rule {
        name: "live",
        half: Half::Lab,
        may_know: &["model", "report"],
        refuses: &["apollo-compiler", "rusqlite", "tokio-postgres", "clap", "anyhow", "mio"],
    },
    Rule { name: "report", half: Half::Lab, may_know: &["model", "jtl"], refuses: RUNTIMES },
    Rule {
        name: "runs",
        half: Half::Lab,
        may_know: &[
            "model",
            "metrics",
            "jtl",
            "script-jmeter",
            "script-k6",
            "script-wrk",
            "load",
            "observe",
            "workers",
        ],
        refuses: &["clap", "anyhow"],
    },
    Rule {
        name: "workers",
        half: Half::Lab,
        may_know: &["model", "load"],
        refuses: &["hyper", "http", "h2", "clap", "anyhow"],
    },
    Rule {
        name: "experiments",
        half: Half::Lab,
        may_know: &["model", "script-k6", "load", "observe", "report", "runs"],
        refuses: &["clap", "anyhow"],
    },
    Rule {
        name: "prony",
        half: Half::Neither,
        may_know: &[
            "graphql",
            "interceptors",
            "sqlite",
            "postgres",
            "graph",
            "graph-store",
            "series",
            "series-store",
            "upstream",
            "server",
            "model",
            "metrics",
            "jtl",
            "drafts",
            "script-jmeter",
            "script-k6",
            "script-wrk",
            "load",
            "live",
            "outputs",
            "report",
            "runs",
            "workers",
            "experiments",
            "site",
        ],
        refuses: &["apollo-compiler", "rusqlite", "tokio-postgres", "hyper"],
    },
    Rule {
        name: "site",
        half: Half::Neither,
        may_know: &[],
        refuses: &["clap", "anyhow", "apollo-compiler", "rusqlite", "tokio-postgres"],
    },
    // Its source, which is a feature, is for the server's tests.
    Rule { name: "testkit", half: Half::Neither, may_know: &["graphql", "source"], refuses: &[] },
];

impl Half {
    /// The folder of a crate of this half.
    fn path(self, name: &str) -> String {
        match self {
            Self::Engine => format!("engine/{name}"),
            Self::Lab => format!("lab/{name}"),
            Self::Neither => name.to_owned(),
        }
    }
}

const TEST_CRATE: &str = "prony-testkit";
/// Where people read the table.
const DOCUMENT: &str = "ARCHITECTURE.md";

pub(super) fn check(repository: &Repository) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for file in &repository.files {
        // Further down are workspaces of their own: what benchmarks compare with.
        let Some((name, "Cargo.toml")) = crate_of(&file.path) else { continue };
        let mut report = |message: String| {
            violations.push(Violation { path: file.path.clone(), line: 0, message });
        };
        let Some(rule) = RULES
            .iter()
            .find(|rule| rule.name == name && file.path == format!("{}/Cargo.toml", rule.half.path(name)))
        else {
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
    let exists = |name: &&str| {
        let rule = RULES.iter().find(|rule| rule.name == *name);
        rule.is_some_and(|rule| repository.file(&format!("{}/Cargo.toml", rule.half.path(name))).is_some())
    };
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
        let tested_with =
            TESTED_WITH.iter().find(|(name, _)| *name == rule.name).map_or(&[][..], |(_, with)| with);
        // A crate that is tested with a feature of its own names itself.
        let is_tested_with =
            section == "dev-dependencies" && (tested_with.contains(&ours) || ours == rule.name);
        return (!rule.may_know.contains(&ours) && !is_tested_with)
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
                "lab/load/Cargo.toml",
                "[dependencies]\nprony-model.workspace = true\nprony-graphql.workspace = true\n\
                 prony-testkit.workspace = true\n[dev-dependencies]\nprony-testkit.workspace = true\n",
            ),
            (
                "engine/graphql/Cargo.toml",
                "[dependencies]\ntokio-util = \"1\"\n[dev-dependencies]\ntokio = \"1\"\n",
            ),
            ("engine/new/Cargo.toml", ""),
            ("lab/model/Cargo.toml", ""),
            ("ARCHITECTURE.md", "| `graphql` | - | x |\n| `load` | model, graphql | x |\n"),
        ]);
        expect![[r"
            lab/load/Cargo.toml: ARCHITECTURE.md lets load know model, graphql; the check: model
            lab/load/Cargo.toml: load must not know graphql (the table of crates in ARCHITECTURE.md)
            lab/load/Cargo.toml: prony-testkit is a dev-dependency only, not one of [dependencies]
            engine/graphql/Cargo.toml: graphql refuses to know tokio-util; put what needs it into an outer crate
            engine/new/Cargo.toml: a crate without a row in the table of xtask/src/tidy/edges.rs and ARCHITECTURE.md
            lab/model/Cargo.toml: ARCHITECTURE.md has no row for model
        "]]
        .assert_eq(&lines(&check(&repository).unwrap()));
    }

    /// All crates of ours that a program has which depends on this one.
    fn behind(name: &str) -> BTreeSet<&'static str> {
        let known = RULES.iter().find(|rule| rule.name == name).map_or(&[][..], |rule| rule.may_know);
        known.iter().flat_map(|known| behind(known).into_iter().chain([*known])).collect()
    }

    #[test]
    fn a_program_that_serves_functions_has_no_database() {
        let expected = ["access", "graphql", "resolvers", "source"];
        assert_eq!(behind("server"), BTreeSet::from(expected));
        for name in expected.into_iter().chain(["server"]) {
            let refuses = RULES.iter().find(|rule| rule.name == name).map_or(&[][..], |rule| rule.refuses);
            assert!(["rusqlite", "tokio-postgres"].iter().all(|driver| refuses.contains(driver)), "{name}");
        }
    }

    #[test]
    fn engine_and_lab_share_no_code() {
        let half = |name: &str| RULES.iter().find(|rule| rule.name == name).map(|rule| rule.half);
        for rule in RULES.iter().filter(|rule| rule.half != Half::Neither) {
            for known in rule.may_know {
                assert_eq!(half(known), Some(rule.half), "{} knows {known}", rule.name);
            }
        }
    }
}
