//! The bill of materials of the binary, in `CycloneDX`' JSON (specification 1.5): every crate that is built into it for one platform, with its
//! licence and checksum, and the npm packages of which its pages are made. Pure: takes what Cargo and npm say, returns text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::metadata::{Dependency, Metadata, Node, Package, Resolve};

#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<LockedPackage>,
}

#[derive(Debug, Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

#[derive(Debug, Deserialize)]
struct NpmLock {
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Debug, Deserialize)]
struct NpmPackage {
    version: Option<String>,
    license: Option<String>,
    /// For the build or tests of the pages alone.
    #[serde(default)]
    dev: bool,
}

/// The texts of which a bill is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Materials<'a> {
    /// Of `cargo metadata`, for one platform.
    pub(crate) metadata: &'a str,
    /// `Cargo.lock`.
    pub(crate) lock: &'a str,
    /// `package-lock.json` of each package of pages.
    pub(crate) npm_locks: &'a [String],
}

/// The bill of the package `name` and all that is built into it.
pub(crate) fn bill(materials: Materials<'_>, name: &str) -> Result<String> {
    let metadata: Metadata =
        serde_json::from_str(materials.metadata).context("cannot read Cargo's metadata")?;
    let lock: Lock = toml::from_str(materials.lock).context("cannot read Cargo.lock")?;
    let packages: HashMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let needs = needs(&metadata.resolve);
    let root = metadata.packages.iter().find(|package| package.name == name);
    let root = root.with_context(|| format!("there is no package {name}"))?;
    let built_in = reachable(&root.id, &needs);
    let reference = |id: &str| packages.get(id).map(|package| cargo_url(package));
    let mut components: Vec<Value> = built_in
        .iter()
        .filter(|id| **id != root.id)
        .filter_map(|id| packages.get(id).map(|package| component(package, &lock)))
        .collect();
    components.extend(npm_components(materials.npm_locks)?);
    let dependencies: Vec<Value> = built_in
        .iter()
        .filter_map(|id| {
            let on: Vec<_> = needs.get(id)?.iter().filter_map(|id| reference(id)).collect();
            Some(json!({"ref": reference(id)?, "dependsOn": on}))
        })
        .collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": cargo_url(root), "name": root.name, "version": root.version,
            "purl": cargo_url(root), "licenses": licences(root.license.as_deref()),
        }},
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&bill).context("cannot write the bill")? + "\n")
}

/// Each once, whichever pages have it.
fn npm_components(locks: &[String]) -> Result<impl Iterator<Item = Value>> {
    let mut components = BTreeMap::new();
    for text in locks {
        let lock: NpmLock = serde_json::from_str(text).context("cannot read package-lock.json")?;
        let found = lock.packages.iter().filter_map(|(path, package)| npm_component(path, package));
        components.extend(found.map(|component| (component["bom-ref"].to_string(), component)));
    }
    Ok(components.into_values())
}

/// What each package needs to be built, tests aside.
fn needs(resolve: &Resolve) -> HashMap<&str, BTreeSet<&str>> {
    resolve.nodes.iter().map(|node| (node.id.as_str(), node.needs())).collect()
}

impl Node {
    fn needs(&self) -> BTreeSet<&str> {
        let is_built_in = |dependency: &&Dependency| {
            dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"))
        };
        self.deps.iter().filter(is_built_in).map(|dependency| dependency.pkg.as_str()).collect()
    }
}

fn reachable<'a>(root: &'a str, needs: &HashMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::from([root]);
    let mut next = vec![root];
    while let Some(id) = next.pop() {
        for needed in needs.get(id).into_iter().flatten() {
            if found.insert(needed) {
                next.push(needed);
            }
        }
    }
    found
}

/// As the specification of package URLs has it.
fn cargo_url(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn component(package: &Package, lock: &Lock) -> Value {
    let is_it = |locked: &&LockedPackage| locked.name == package.name && locked.version == package.version;
    let checksum = lock.package.iter().find(is_it).and_then(|locked| locked.checksum.as_deref());
    let hashes: Vec<_> =
        checksum.into_iter().map(|content| json!({"alg": "SHA-256", "content": content})).collect();
    json!({
        "type": "library", "bom-ref": cargo_url(package), "name": package.name, "version": package.version,
        "purl": cargo_url(package), "licenses": licences(package.license.as_deref()), "hashes": hashes,
    })
}

/// None of what is no package of its own, or not in the pages.
fn npm_component(path: &str, package: &NpmPackage) -> Option<Value> {
    let (_, name) = path.rsplit_once("node_modules/").filter(|_| !package.dev)?;
    let version = package.version.as_deref()?;
    let url = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
    Some(json!({
        "type": "library", "bom-ref": url, "name": name, "version": version,
        "purl": url, "licenses": licences(package.license.as_deref()),
    }))
}

/// Before SPDX had expressions a slash stood for `OR`.
fn licences(expression: Option<&str>) -> Vec<Value> {
    expression.into_iter().map(|text| json!({"expression": text.replace('/', " OR ")})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_listed_and_what_tests_need_is_not() {
        let package = |name: &str, license: &str| {
            format!(r#"{{"id":"{name} id","name":"{name}","version":"1.0.0+a","license":{license}}}"#)
        };
        let needs =
            |name: &str, kind: &str| format!(r#"{{"pkg":"{name} id","dep_kinds":[{{"kind":{kind}}}]}}"#);
        let node =
            |name: &str, deps: &[String]| format!(r#"{{"id":"{name} id","deps":[{}]}}"#, deps.join(","));
        let metadata = format!(
            r#"{{"packages":[{}],"resolve":{{"nodes":[{}]}}}}"#,
            [
                package("app", "\"MIT\""),
                package("lib", "\"MIT/Apache-2.0\""),
                package("build", "null"),
                package("test", "null"),
                package("stranger", "null")
            ]
            .join(","),
            [
                node("app", &[needs("lib", "null"), needs("test", "\"dev\"")]),
                node("lib", &[needs("build", "\"build\"")]),
                node("build", &[]),
                node("test", &[]),
                node("stranger", &[])
            ]
            .join(",")
        );
        let lock = "[[package]]\nname = \"lib\"\nversion = \"1.0.0+a\"\nchecksum = \"c0ffee\"\n";
        let npm_locks = [
            r#"{"packages":{"":{"name":"pages"},"node_modules/@a/b":{"version":"2.0.0","license":"MIT"},
            "node_modules/vite":{"version":"7.0.0","dev":true}}}"#,
            r#"{"packages":{"node_modules/c":{"version":"1.0.0"},"node_modules/c/node_modules/@a/b":{"version":"2.0.0"},
            "node_modules/d/node_modules/c":{"version":"0.9.0"}}}"#,
        ]
        .map(str::to_owned);
        let text = bill(Materials { metadata: &metadata, lock, npm_locks: &npm_locks }, "app")
            .expect("it can be read");
        let bill: Value = serde_json::from_str(&text).expect("it is JSON");
        let listed = bill["components"].as_array().expect("a list").iter();
        let listed: Vec<_> = listed.map(|component| component["purl"].as_str().unwrap_or_default()).collect();
        assert_eq!(
            listed,
            [
                "pkg:cargo/build@1.0.0%2Ba",
                "pkg:cargo/lib@1.0.0%2Ba",
                "pkg:npm/%40a/b@2.0.0",
                "pkg:npm/c@0.9.0",
                "pkg:npm/c@1.0.0"
            ]
        );
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][1]["hashes"][0]["content"], "c0ffee");
        assert_eq!(bill["metadata"]["component"]["name"], "app");
        let of_app = &bill["dependencies"][0];
        assert_eq!(of_app["dependsOn"].as_array().map(Vec::len), Some(1), "{of_app}");
    }
}
