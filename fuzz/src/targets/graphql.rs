//! GraphQL requests: their JSON, which must be read as serde's own reader of any JSON reads it, and documents through all stages.

use std::sync::LazyLock;

use prony_graphql::{
    document::{Operation, limits::Limits},
    request::RequestParameters,
    schema::Schema,
};
use serde_json::Value;

use super::texts;
use crate::Target;

#[path = "../../../engine/graphql/tests/pipeline/fixture.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test's module, of which this uses the schema"
)]
mod fixture;

pub(super) const REQUEST: Target = Target { name: "graphql-request", seeds: requests, run: request };
pub(super) const DOCUMENT: Target = Target { name: "graphql-document", seeds: documents, run: document };

static SCHEMA: LazyLock<&'static Schema> = LazyLock::new(fixture::shared_schema);

fn requests() -> Vec<Vec<u8>> {
    texts(&[
        r#"{"query":"{ venues { id } }","variables":{"l":1,"w":{"id":{"gt":-1.5e3}}},"operationName":"A"}"#,
        r#" {"query" : "\u007b a \ud83d\ude00", "extensions": {"persistedQuery": {"version": 1, "sha256Hash": "ab"}}, "x": [null]}"#,
        r#"{"documentId":"sha256:ab","variables":null}"#,
        r#"[{"query":"{ a }"}]"#,
    ])
}

fn request(bytes: &[u8]) {
    let Ok(read) = RequestParameters::from_json(bytes) else { return };
    let any: Value = serde_json::from_slice(bytes).expect("what is a request is JSON");
    let text = |member: &str| any[member].as_str().map(str::to_owned);
    // Of members that come twice, both take the last, or the request is refused.
    assert_eq!(read.query, text("query").unwrap_or_default());
    assert_eq!(read.operation_name, text("operationName"));
    let variables = any["variables"].as_object().cloned().unwrap_or_default();
    assert_eq!(Value::Object(read.variables), Value::Object(variables));
}

/// The variables come before the document, with a zero byte between.
fn documents() -> Vec<Vec<u8>> {
    texts(&[
        "{\"l\":3,\"w\":{\"and\":[{\"id\":{\"gt\":1}}]}}\0query Q($l: Int = 2, $w: VenueClauses, $b: Boolean = false) { venues(limit: $l, where: $w, sort: [{title: {eq: asc}}]) { id ...F @include(if: $b) meetups(limit: 2) { title members { id } } } } fragment F on Venue { active a: title }",
        "{}\0mutation { __typename } query { __schema { types { name fields { name args { name } } } } }",
        "{}\0{ venues(where: {or: [{title: {in: [\"a\", \"\"\"b\"\"\", \"\\u00e4\"]}}, {not: {id: {is_null: true}}}]}) { ... on Venue { id } } }",
        "{}\0{ a: venues { a: id } a: venues { b: id } } # end",
    ])
}

fn document(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (variables, document) = text.split_once('\0').unwrap_or(("{}", text));
    let Ok(Value::Object(variables)) = serde_json::from_str(variables) else { return };
    if let Ok(operation) = Operation::parse(&SCHEMA, document, None, &Limits::default())
        && let Ok((variables, _)) = operation.coerce(&SCHEMA, variables)
        && let Ok(selection) = operation.select(&SCHEMA, &variables)
    {
        // What is selected can be written, as upstream servers are asked for it.
        let written = selection.to_string();
        assert!(!written.is_empty());
    }
}
