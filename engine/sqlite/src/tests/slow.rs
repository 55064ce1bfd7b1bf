//! Statements that take long are written down without their values.

use prony_testkit::log::logged;

use crate::tests::harness::*;
use prony_sql::settings::RelationalSettings;

/// A view that looks at a million pairs, and a table whose rows make others look at it.
const SLOW: &str = "
    CREATE TABLE numbers (id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO numbers
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT n, 'v' || n FROM c;
    CREATE VIEW slow AS SELECT a.id, a.v FROM numbers a, numbers b WHERE a.id + b.id = 2000;
    CREATE TABLE heard (id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE found (id INTEGER);
    CREATE TRIGGER look AFTER INSERT ON heard BEGIN INSERT INTO found SELECT id FROM slow; END;";

fn log_of(settings: &RelationalSettings) -> String {
    let made = Made::new(SLOW);
    let served = made.serve(settings);
    logged(|| {
        let answer = served.answer("{ slows(where: {v: {ne: \"geheim\"}}) { id } }", "{}");
        assert!(answer.contains("1000"), "{answer}");
        let answer = served.answer("mutation { createHeard(id: 7, v: \"geheim\") { id } }", "{}");
        assert!(answer.contains('7'), "{answer}");
    })
}

#[test]
fn slow_statements_are_written_down_without_their_values() {
    for model in MODELS {
        let settings =
            RelationalSettings { slow_statement_ms: 1, slow_statement_plan: true, ..with_model(model) };
        // Plans are told once in a while on a thread.
        let log = std::thread::spawn(move || log_of(&settings)).join().unwrap();
        let line = |part: &str| {
            let slow = log.lines().find(|line| line.contains("slow statement") && line.contains(part));
            slow.unwrap_or_else(|| panic!("{part}: {log}"))
        };
        let (read, write) = (line("SELECT"), line("INSERT"));
        assert!(read.contains("rows=1 ") && read.contains("(6)"), "{read}");
        assert!(write.contains("$1 INTEGER, $2 TEXT(6)"), "{write}");
        assert!(!log.contains("geheim"), "{log}");
        assert!(log.contains("plan of a slow statement") && log.contains("SCAN"), "{log}");
    }
}

#[test]
fn nothing_is_written_down_where_nobody_wants_it() {
    assert!(!log_of(&RelationalSettings::default()).contains("slow statement"));
}
