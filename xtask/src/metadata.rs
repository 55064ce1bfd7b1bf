//! What `cargo metadata` says of the crates that are built in, as far as the checks and the bill of materials need it.

use serde::Deserialize;

/// What `cargo metadata --format-version 1` says, as far as it is needed.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) resolve: Resolve,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// None for our own.
    pub(crate) source: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) deps: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<DependencyKind>,
}

/// None is what the crate itself needs; `dev` is for its tests alone.
#[derive(Debug, Deserialize)]
pub(crate) struct DependencyKind {
    pub(crate) kind: Option<String>,
}
