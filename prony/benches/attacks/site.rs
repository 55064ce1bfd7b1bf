//! What is attacked: `prony serve` with a database, a graph and series, on a processor of its own.

use std::{net::SocketAddr, path::Path};

use prony_testkit::process::PronyProcess;
use tempfile::TempDir;

use crate::TARGET_CORE;

const TABLES: &str = "CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE books (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors (id), title TEXT NOT NULL, price REAL);
    CREATE INDEX books_of ON books (author_id);
    CREATE TABLE pages (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    INSERT INTO authors SELECT i, 'author ' || (i * 7919 % 2000) FROM n;
    INSERT INTO books SELECT NULL, a.id, 'book ' || (a.id * 31 % 977), a.id * 0.5 FROM authors a, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
        UNION ALL SELECT 4 UNION ALL SELECT 5) AS five;
    INSERT INTO pages VALUES (1, replace(hex(zeroblob(500000)), '0', 'a'));";

/// A server; dropped, it ends and what it has kept goes.
#[derive(Debug)]
pub(crate) struct Site {
    process: PronyProcess,
    pub(crate) address: SocketAddr,
    _directory: TempDir,
}

impl Site {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = |kind: &str, name: &str| format!("{kind}:{}", directory.path().join(name).display());
        fill(&directory.path().join("shop.db"));
        let binary = env!("CARGO_BIN_EXE_prony");
        let (shop, graph, series) =
            (place("sqlite", "shop.db"), place("graph", "rage"), place("series", "rooms"));
        let arguments =
            ["-c", TARGET_CORE, binary, "serve", &shop, &graph, &series, "--listen", "127.0.0.1:0"];
        let mut process = PronyProcess::start("taskset", arguments);
        let url = process.wait_for_url();
        let address = url.trim_start_matches("http://").parse().expect("a server says where it listens");
        Self { process, address, _directory: directory }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

fn fill(path: &Path) {
    rusqlite::Connection::open(path)
        .and_then(|connection| connection.execute_batch(TABLES))
        .expect("a small database");
}
