//! The targets, by who sends their bytes.

mod graphql;
mod http1;
mod plans;
mod stores;
mod tokens;

use crate::Target;
use std::{fs, path::Path};

pub(crate) const ALL: &[Target] = &[
    http1::REQUEST,
    http1::RESPONSE,
    graphql::REQUEST,
    graphql::DOCUMENT,
    tokens::TOKEN,
    stores::GRAPH_LOG,
    stores::GRAPH_SNAPSHOT,
    stores::SERIES,
    plans::PLAN,
    plans::ADDRESS,
    plans::WRK,
    plans::K6,
    plans::JMETER,
    plans::JTL,
    plans::HAR,
    plans::OPENAPI,
    plans::CURL,
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Files of the repository, below its root; those of a folder have this ending.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file of the repository")).collect()
}

/// A folder in memory where there is one: what is written there is read at once and goes again.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}
