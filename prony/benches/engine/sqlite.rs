//! The engine on SQLite against a bare loop that steps the same statements, and its resolver models beside each
//! other.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, Statement, config::DbConfig};

use crate::{
    ROUNDS, SECONDS, data, drivers, process,
    queries::{QUERIES, StudyQuery, wrk_script},
    statistics::{median, median_ratio, print_table},
    subject::Subject,
};

/// The engine and the bare loop run on this processor, in turn; wrk on the other.
const ENGINE_CORE: &str = "0";
const DRIVER_CORE: &str = "1";
const HTTP_CONNECTIONS: u32 = 16;
const LIMIT: i64 = 50;
/// The page cache of the engine's readers.
const CACHE_KIB: i32 = 64 * 1024;

/// Statements of the bare loop for each query: one a nest level, the key of the row above bound as `?1`.
const STATEMENTS: [&[&str]; 3] = [
    &["SELECT id, name, postal_code FROM venues WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3"],
    &[
        "SELECT id, name, postal_code FROM venues WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3",
        "SELECT id, title FROM meetups WHERE venue_id = ?1 ORDER BY id DESC LIMIT ?2 OFFSET ?3",
    ],
    &[
        "SELECT id, title FROM meetups WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3",
        "SELECT m.id, m.email FROM meetups_members b LEFT JOIN members m ON m.id = b.member_id \
         WHERE b.meetup_id = ?1 ORDER BY b.meetup_id, b.member_id LIMIT ?2 OFFSET ?3",
    ],
];

/// Requests/s over HTTP on one core, over executions/s of the bare loop on the same core.
pub(crate) fn against_bare_loop() {
    let source = data::sqlite_source();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = vec![
        ["query", "bare loop/s", "Prony over HTTP/s", "ratio", "engine CPU µs"].map(String::from).to_vec(),
    ];
    for (query, statements) in QUERIES.iter().zip(STATEMENTS) {
        let script = drivers::script_file(folder.path(), "query.lua", &wrk_script(query.graphql));
        let (mut bare, mut ours, mut cpu_us) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(bare_loop(&source, statements));
            let subject = Subject::start(&source, &["--cpus", "1"], Some(ENGINE_CORE));
            let before = process::cpu_seconds(subject.pid());
            let url = subject.graphql_url();
            let per_second = drivers::wrk_on_core(DRIVER_CORE, &url, &script, HTTP_CONNECTIONS, SECONDS);
            let used = process::cpu_seconds(subject.pid()) - before;
            cpu_us.push(used / (per_second * f64::from(SECONDS)) * 1e6);
            ours.push(per_second);
        }
        rows.push(vec![
            query.name.to_owned(),
            format!("{:.0}", median(&bare)),
            format!("{:.0}", median(&ours)),
            format!("{:.2}", median_ratio(&ours, &bare)),
            format!("{:.0}", median(&cpu_us)),
        ]);
    }
    print_table(&rows);
}

/// Requests/s of the three resolver models, each on a fresh process, alternating.
pub(crate) fn resolver_models() {
    const MODELS: [&str; 3] = ["subquery", "per-nest", "bucket"];
    let source = data::sqlite_source();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = vec![["query", "subquery/s", "per-nest/s", "bucket/s"].map(String::from).to_vec()];
    for query in &QUERIES {
        let script = drivers::script_file(folder.path(), "query.lua", &wrk_script(query.graphql));
        let mut per_second = MODELS.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for (model, series) in MODELS.iter().zip(&mut per_second) {
                let subject = Subject::start(&source, &["--resolver", model], None);
                series.push(drivers::wrk(&subject.graphql_url(), &script, HTTP_CONNECTIONS, SECONDS));
            }
        }
        rows.push(row_of(query, &per_second));
    }
    print_table(&rows);
}

fn row_of(query: &StudyQuery, per_second: &[Vec<f64>]) -> Vec<String> {
    std::iter::once(query.name.to_owned())
        .chain(per_second.iter().map(|series| format!("{:.0}", median(series))))
        .collect()
}

/// Executions a second of a query's statements, nested as the answer is; every column is looked at and
/// written nowhere. Runs on the engine's core.
fn bare_loop(source: &str, statements: &[&str]) -> f64 {
    pin_to_core(ENGINE_CORE);
    let path = source.trim_start_matches("sqlite:");
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the data set");
    // As the engine does: without it SQLite plans anew for each bound value once statistics are there.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).expect("an option of SQLite");
    connection.pragma_update(None, "cache_size", -CACHE_KIB).expect("a pragma");
    let mut prepared: Vec<Statement<'_>> =
        statements.iter().map(|text| connection.prepare(text).expect("a statement")).collect();
    let started = Instant::now();
    let (mut executions, mut seed) = (0_u64, 1_u64);
    while started.elapsed() < Duration::from_secs(u64::from(SECONDS)) {
        // A linear congruential generator (Knuth's MMIX constants): the bounds of the study's variables.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (seed >> 33).cast_signed();
        step(&mut prepared, random % 100_001, random % 101);
        executions += 1;
    }
    unpin();
    executions as f64 / started.elapsed().as_secs_f64()
}

fn step(statements: &mut [Statement<'_>], key: i64, offset: i64) {
    let Some((first, deeper)) = statements.split_first_mut() else { return };
    let columns = first.column_count();
    let mut rows = first.query([key, LIMIT, offset]).expect("three parameters");
    while let Some(row) = rows.next().expect("a row") {
        for column in 0..columns {
            black_box(row.get_ref(column).expect("a column"));
        }
        if !deeper.is_empty() {
            let key: i64 = row.get(0).expect("a key");
            step(deeper, key, 0);
        }
    }
}

fn pin_to_core(core: &str) {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core.parse().expect("a number"));
    rustix::thread::sched_setaffinity(None, &cores).expect("the core exists");
}

fn unpin() {
    let mut cores = rustix::thread::CpuSet::new();
    for core in [ENGINE_CORE, DRIVER_CORE] {
        cores.set(core.parse().expect("a number"));
    }
    rustix::thread::sched_setaffinity(None, &cores).expect("the cores exist");
}
