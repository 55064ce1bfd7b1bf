//! Joins as the configuration names them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

/// One `[[join]]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinSettings {
    /// The new field, as `Order.customer`.
    pub field: String,
    /// The field of the same type whose value is looked for.
    pub key: String,
    /// The root field that finds several by their keys, as `Query.customersByIds`.
    pub to: String,
    /// Its argument that takes a list of keys; within an input object, as `where.id.in`.
    pub argument: String,
    /// The field of what comes that has the key.
    #[serde(rename = "match")]
    pub matched: String,
    /// Whether all that have the key are wanted, and not the one.
    #[serde(default)]
    pub many: bool,
    /// Other arguments of the root field.
    #[serde(default)]
    pub arguments: BTreeMap<String, Json>,
    /// The most keys of one request.
    #[serde(default = "default_batch")]
    pub batch: usize,
}

/// As many as most pages have rows, so that one request finds what is joined to all of a page.
fn default_batch() -> usize {
    100
}
