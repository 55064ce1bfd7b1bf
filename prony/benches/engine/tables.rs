//! Start and memory with 5,000 tables of six columns, each referring to another, on both databases.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Instant,
};

use prony_testkit::postgres::Cluster;

use crate::{
    ROUNDS, process,
    statistics::{median, print_table},
    subject::Subject,
};

pub(crate) const TABLES: usize = 5_000;

/// Prints the time from the start of the process to its ready line, and resident memory then.
pub(crate) fn five_thousand() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = sqlite_file(folder.path());
    let cluster = Cluster::start_new().unwrap_or_else(|error| panic!("{error}"));
    // One transaction for all tables would need more locks than the server has.
    for statements in ddl().lines().collect::<Vec<_>>().chunks(500) {
        cluster.execute("postgres", &statements.join("\n")).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut rows = vec![["database", "start, ms", "resident MB"].map(String::from).to_vec()];
    rows.push(measure("SQLite", &format!("sqlite:{}", file.display())));
    rows.push(measure("PostgreSQL", &cluster.url("postgres")));
    print_table(&rows);
}

/// The tables in a file of that folder.
pub(crate) fn sqlite_file(folder: &Path) -> PathBuf {
    let file = folder.join("tables.sqlite");
    let connection = rusqlite::Connection::open(&file).expect("a database file");
    connection.execute_batch(&format!("BEGIN; {} COMMIT;", ddl())).expect("the tables can be made");
    file
}

fn measure(name: &str, source: &str) -> Vec<String> {
    let (mut start_ms, mut resident_mb) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let subject = Subject::start(source, &[], None);
        start_ms.push(started.elapsed().as_secs_f64() * 1e3);
        resident_mb.push(process::resident_mb(subject.pid()));
    }
    vec![name.to_owned(), format!("{:.0}", median(&start_ms)), format!("{:.0}", median(&resident_mb))]
}

/// One statement a line.
fn ddl() -> String {
    let mut text = String::new();
    for number in 0..TABLES {
        let target = number.saturating_sub(1);
        writeln!(
            text,
            "CREATE TABLE table_{number} (id integer PRIMARY KEY, name varchar(100) NOT NULL, amount numeric(10, 2), \
             created_at timestamp, active boolean, table_{target}_id integer REFERENCES table_{target} (id));"
        )
        .expect("writing to a string");
    }
    text
}
