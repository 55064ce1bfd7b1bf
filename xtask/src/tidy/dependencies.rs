//! Dependencies: each has a licence that `deny.toml` allows and comes from the registry, and those of several versions do not become more.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use super::Violation;
use crate::metadata::{Metadata, Package};

const RULES: &str = "deny.toml";
/// The platform of which they are looked at.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// Crates that say their licence in a file alone, which was read.
const READ: [(&str, &str); 1] = [("jsonpath-rust", "MIT")];
/// Crates of which there are several versions. Fewer is better: set it to what there are.
const SEVERAL_MAX: usize = 35;

#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licences,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

pub(crate) fn check(root: &Path) -> Result<Vec<Violation>> {
    let rules = std::fs::read_to_string(root.join(RULES)).with_context(|| format!("cannot read {RULES}"))?;
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM])
        .current_dir(root)
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    violations(&rules, &String::from_utf8_lossy(&output.stdout))
}

fn violations(rules: &str, metadata: &str) -> Result<Vec<Violation>> {
    let rules: Rules = toml::from_str(rules).with_context(|| format!("cannot read {RULES}"))?;
    let metadata: Metadata = serde_json::from_str(metadata).context("cannot read Cargo's metadata")?;
    let used: BTreeSet<&str> = metadata.resolve.nodes.iter().map(|node| node.id.as_str()).collect();
    let foreign: Vec<&Package> = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some() && used.contains(package.id.as_str()))
        .collect();
    let mut all: Vec<Violation> =
        foreign.iter().filter_map(|package| refusal(package, &rules.licenses.allow)).collect();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &foreign {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let several: Vec<&str> =
        versions.iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| *name).collect();
    if several.len() > SEVERAL_MAX {
        all.push(violation(format!(
            "{} crates have several versions, the limit is {SEVERAL_MAX}: choose versions that others use already ({})",
            several.len(),
            several.join(", ")
        )));
    }
    Ok(all)
}

/// Why a package may not be built in.
fn refusal(package: &Package, allowed: &BTreeSet<String>) -> Option<Violation> {
    let Package { name, version, license, source, .. } = package;
    if source.as_ref().is_some_and(|source| !source.starts_with("registry+")) {
        return Some(violation(format!(
            "{name} {version} comes from elsewhere than the registry: publish it, or leave it out"
        )));
    }
    let read = READ.iter().find(|(of, _)| of == name).map(|(_, license)| *license);
    let Some(text) = license.as_deref().or(read) else {
        return Some(violation(format!(
            "{name} {version} names no licence: read its files, and leave it out or add it to READ"
        )));
    };
    let expression = match Expression::parse_mode(text, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => return Some(violation(format!("{name} {version} has the licence `{text}`: {error}"))),
    };
    let is_allowed = expression.evaluate(|requirement| {
        let id = requirement.license.id().map(|id| id.name);
        id.is_some_and(|id| allowed.contains(id))
    });
    (!is_allowed).then(|| {
        violation(format!(
            "{name} {version} has the licence `{text}`, which {RULES} does not allow: choose another crate"
        ))
    })
}

fn violation(message: String) -> Violation {
    Violation { path: RULES.to_owned(), line: 0, message }
}

#[cfg(test)]
mod tests {
    use super::super::tests::lines;
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    const RULES: &str = "[licenses]\nallow = [\"MIT\", \"Apache-2.0\", \"ISC\"]\n";

    fn metadata(packages: &[(&str, &str, Option<&str>, Option<&str>)]) -> String {
        let package = |(name, version, license, source): &(&str, &str, Option<&str>, Option<&str>)| json!({"id": format!("{name}@{version}"), "name": name, "version": version, "license": license, "source": source});
        let nodes: Vec<_> =
            packages.iter().map(|(name, version, ..)| json!({"id": format!("{name}@{version}")})).collect();
        let packages: Vec<_> = packages.iter().map(package).collect();
        json!({"packages": packages, "resolve": {"nodes": nodes}}).to_string()
    }

    #[test]
    fn licences_that_are_not_allowed_are_named_and_so_is_what_comes_from_elsewhere() {
        let registry = Some("registry+https://example.com/index");
        let found = violations(
            RULES,
            &metadata(&[
                ("either", "1.0.0", Some("MIT OR GPL-3.0-only"), registry),
                ("slash", "1.0.0", Some("MIT/Apache-2.0"), registry),
                ("with", "1.0.0", Some("Apache-2.0 WITH LLVM-exception"), registry),
                ("both", "1.0.0", Some("(MIT OR Zlib) AND ISC"), registry),
                ("ours", "1.0.0", None, None),
                ("jsonpath-rust", "0.3.5", None, registry),
                ("copyleft", "2.0.0", Some("GPL-3.0-only"), registry),
                ("half", "2.0.0", Some("MIT AND GPL-3.0-only"), registry),
                ("silent", "3.0.0", None, registry),
                ("word", "4.0.0", Some("something"), registry),
                ("forked", "5.0.0", Some("MIT"), Some("git+https://example.com/forked")),
            ]),
        )
        .unwrap();
        expect![[r#"
            deny.toml: copyleft 2.0.0 has the licence `GPL-3.0-only`, which deny.toml does not allow: choose another crate
            deny.toml: half 2.0.0 has the licence `MIT AND GPL-3.0-only`, which deny.toml does not allow: choose another crate
            deny.toml: silent 3.0.0 names no licence: read its files, and leave it out or add it to READ
            deny.toml: word 4.0.0 has the licence `something`: something
            ^^^^^^^^^ unknown term
            deny.toml: forked 5.0.0 comes from elsewhere than the registry: publish it, or leave it out
        "#]]
        .assert_eq(&lines(&found));
    }

    #[test]
    fn crates_of_several_versions_do_not_become_more() {
        let names: Vec<String> = (0..=SEVERAL_MAX).map(|number| format!("crate-{number}")).collect();
        let registry = Some("registry+https://example.com/index");
        let both = |count: usize| {
            let of = |name: &'_ String| [(name.clone(), "1.0.0"), (name.clone(), "2.0.0")];
            let all: Vec<(String, &str)> = names[..count].iter().flat_map(of).collect();
            let all: Vec<_> =
                all.iter().map(|(name, version)| (name.as_str(), *version, Some("MIT"), registry)).collect();
            violations(RULES, &metadata(&all)).unwrap().len()
        };
        assert_eq!((both(SEVERAL_MAX), both(SEVERAL_MAX + 1)), (0, 1));
    }
}
