//! The console at `/`: GraphiQL from the binary, and `/console.json`, which tells it what is served. Nothing is
//! loaded from elsewhere, and the policy sent with it lets nothing be.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prony_sources::relational::{
    catalog::ColumnKind,
    model::{Cardinality, Model, Table},
};
use serde::Serialize;

use super::reply::{JSON, Reply, empty, reply};
use crate::graphql::Engine;

/// A file of the console, made by the build script.
struct Page {
    path: &'static str,
    content_type: &'static str,
    /// Its name holds a hash of its content, so that it never changes.
    immutable: bool,
    identity: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

const DESCRIPTION_PATH: &str = "/console.json";

/// The editor writes styles into elements, so styles may be inline; everything else comes from this server.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     font-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

pub(super) fn has(path: &str) -> bool {
    path == DESCRIPTION_PATH || page(path).is_some()
}

fn page(path: &str) -> Option<&'static Page> {
    let path = if path == "/" { "/index.html" } else { path };
    PAGES.iter().find(|page| page.path == path)
}

/// What the page shows beside the editor.
#[derive(Debug, Serialize)]
struct Description {
    version: &'static str,
    sources: Vec<SourceDescription>,
    /// A query that works on what is served.
    example: String,
}

#[derive(Debug, Serialize)]
struct SourceDescription {
    name: String,
    database: &'static str,
    tables: usize,
}

#[derive(Debug)]
pub(super) struct Console {
    description: Bytes,
}

impl Console {
    pub(super) fn new(engine: &Engine) -> Self {
        let sources = engine.sources.iter().map(|source| SourceDescription {
            name: source.name.clone(),
            database: source.database(),
            tables: source.relational.model().tables.len(),
        });
        let example = engine.sources.first().and_then(|source| example(source.relational.model()));
        let description = Description {
            version: env!("CARGO_PKG_VERSION"),
            sources: sources.collect(),
            example: example.unwrap_or_else(|| "{ __typename }".to_owned()),
        };
        Self { description: serde_json::to_vec(&description).expect("plain texts are JSON").into() }
    }

    pub(super) fn answer(&self, path: &str, headers: &HeaderMap) -> Reply {
        if path == DESCRIPTION_PATH {
            return reply(StatusCode::OK, JSON, self.description.clone());
        }
        page(path).map_or_else(|| empty(StatusCode::NOT_FOUND), |page| send(page, headers))
    }
}

fn send(page: &'static Page, headers: &HeaderMap) -> Reply {
    let (encoding, bytes) = match (accepts(headers, "br"), accepts(headers, "gzip")) {
        (true, _) if page.brotli.is_some() => (Some("br"), page.brotli.unwrap_or_default()),
        (_, true) if page.gzip.is_some() => (Some("gzip"), page.gzip.unwrap_or_default()),
        _ => (None, page.identity),
    };
    let mut response =
        reply(StatusCode::OK, HeaderValue::from_static(page.content_type), Bytes::from_static(bytes));
    let answers = response.headers_mut();
    if let Some(encoding) = encoding {
        answers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    let caching = if page.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    answers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    answers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    answers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    answers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Whether a content coding is named and not refused; good enough for what browsers send.
fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|text| {
        text.split(',').any(|item| {
            let mut parts = item.split(';').map(str::trim);
            parts.next() == Some(coding) && !parts.any(|part| part == "q=0")
        })
    })
}

/// A query over the table that leads to the most: a few of its columns, and of the rows it refers to.
fn example(model: &Model) -> Option<String> {
    let leads_to = |table: &&Table| (table.relations.len().min(3), !table.primary_key.is_empty());
    // `max_by_key` would take the last of equals.
    let table = model.tables.iter().rev().max_by_key(leads_to)?;
    let mut text = format!("query Example {{\n  {}(limit: 5) {{\n", table.list_name);
    push_columns(&mut text, table, "    ");
    if let Some(relation) =
        table.relations.iter().find(|relation| model.table(relation.target).type_name != table.type_name)
    {
        let limit = if relation.cardinality == Cardinality::Many { "(limit: 3)" } else { "" };
        let _ = writeln!(text, "    {}{limit} {{", relation.field);
        push_columns(&mut text, model.table(relation.target), "      ");
        text.push_str("    }\n");
    }
    text.push_str("  }\n}\n");
    Some(text)
}

const EXAMPLE_COLUMNS: usize = 3;

fn push_columns(text: &mut String, table: &Table, indent: &str) {
    let shown = table.columns.iter().filter(|column| column.kind != ColumnKind::Bytes).take(EXAMPLE_COLUMNS);
    for column in shown {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}{}", column.field);
    }
}
