//! Files that cannot be served, files that change while they are, statements that take too long, and clients
//! that go away.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};
use futures_util::FutureExt;
use prony_graphql::error::ErrorCode;
use prony_source::CommonSettings;

use crate::tests::harness::{MEETUPS, MODELS, Made, Served, runtime, with_model};
use crate::{SqliteDatabase, error::of_sqlite, write::capture::Capture};
use prony_sql::{catalog::TableKind, database::DISK_FULL, model::TableId, settings::RelationalSettings};

/// Ten times 10^12 rows: ends only when it is interrupted.
const ENDLESS: &str = "
    CREATE TABLE numbers (id INTEGER PRIMARY KEY);
    INSERT INTO numbers WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT n FROM c;
    CREATE VIEW endless AS SELECT a.id FROM numbers a, numbers b, numbers c, numbers d WHERE a.id + b.id + c.id + d.id = 0;
    CREATE VIEW slow AS SELECT a.id FROM numbers a, numbers b WHERE a.id + b.id = 2000;";

fn check_open(path: &Path, expected: &Expect) {
    let error = SqliteDatabase::open_waiting(path, &RelationalSettings::default(), Duration::from_millis(50));
    let directory = path.parent().unwrap().display().to_string();
    expected.assert_eq(&error.unwrap_err().to_string().replace(&directory, "DIR"));
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let directory = tempfile::tempdir().unwrap();
    check_open(
        &directory.path().join("none.db"),
        &expect!["there is no file `DIR/none.db`: check the path (a missing database is not created)"],
    );
    assert!(!directory.path().join("none.db").exists(), "a missing file is not created");
    fs::create_dir(directory.path().join("directory.db")).unwrap();
    check_open(
        &directory.path().join("directory.db"),
        &expect!["`DIR/directory.db` is a directory, not a database file"],
    );
    let text = directory.path().join("text.db");
    fs::write(&text, "this is a text file and no database at all, however long it is").unwrap();
    check_open(&text, &expect!["`DIR/text.db` is no SQLite database"]);
    fs::write(&text, "short").unwrap();
    check_open(&text, &expect!["`DIR/text.db` is no SQLite database"]);
    fs::write(&text, [b"SQLite format 3\0".as_slice(), &[0xff; 200]].concat()).unwrap();
    check_open(&text, &expect!["`DIR/text.db` is no SQLite database"]);
}

#[test]
fn a_locked_file_is_named() {
    let made = Made::new(MEETUPS);
    let other = made.connection();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;").unwrap();
    let error =
        SqliteDatabase::open_waiting(&made.path(), &RelationalSettings::default(), Duration::from_millis(50));
    let text = error.unwrap_err().to_string();
    assert!(text.contains("locked by another program"), "{text}");
    drop(other);
    Served::open(&made.path(), &RelationalSettings::default());
}

#[test]
fn a_file_is_switched_to_wal() {
    let made = Made::new(MEETUPS);
    let journal_mode = || -> String {
        made.connection().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
    };
    assert_eq!(journal_mode(), "delete");
    let _served = made.serve(&RelationalSettings::default());
    assert_eq!(journal_mode(), "wal");
}

/// Another server that is about to do the same, or any program that writes.
#[test]
fn the_switch_to_wal_waits_for_who_writes() {
    let made = Made::new(MEETUPS);
    let other = made.connection();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM meetups_members;").unwrap();
    let opened = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            drop(other);
        });
        SqliteDatabase::open(&made.path(), &RelationalSettings::default())
    });
    assert!(opened.is_ok(), "{:?}", opened.err());
}

#[test]
fn an_empty_file_is_an_empty_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.db");
    fs::write(&path, "").unwrap();
    let (_, catalog) = SqliteDatabase::open(&path, &RelationalSettings::default()).unwrap();
    assert!(catalog.tables.is_empty());
}

#[test]
fn a_writer_held_up_by_another_program_does_not_hold_up_readers() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    let other = made.connection();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM meetups_members;").unwrap();
    assert_eq!(
        served.answer("{ meetups_members_aggregate { count } }", "{}"),
        r#"{"data":{"meetups_members_aggregate":{"count":6}}}"#
    );
}

/// As by a program that closes the file: whoever is last takes it for itself to tidy up.
#[test]
fn a_reader_that_meets_a_lock_as_it_opens_the_file_waits_for_its_end() {
    let made = Made::new(MEETUPS);
    for query in ["{ meetups_members_aggregate { count } }", "{ members(limit: 1) { id } }"] {
        let served = made.serve(&RelationalSettings::default());
        let other = made.connection();
        other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;").unwrap();
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                drop(other);
            });
            served.answer(query, "{}")
        });
        assert!(answer.starts_with("{\"data\":{"), "{answer}");
    }
}

#[test]
fn a_mutation_that_cannot_get_the_lock_says_so() {
    let made = Made::new(MEETUPS);
    let settings = RelationalSettings::default();
    let (database, catalog) =
        SqliteDatabase::open_waiting(&made.path(), &settings, Duration::from_millis(20)).unwrap();
    let served = Served::over(database, &catalog, &settings);
    let other = made.connection();
    other.execute_batch("BEGIN IMMEDIATE;").unwrap();
    let create = r#"mutation { createVenue(name: "x") { id } }"#;
    let refused = served.answer(create, "{}");
    assert!(
        refused.contains("locked by another program") && refused.contains("SOURCE_UNAVAILABLE"),
        "{refused}"
    );
    other.execute_batch("ROLLBACK;").unwrap();
    assert_eq!(served.answer(create, "{}"), r#"{"data":{"createVenue":{"id":4}}}"#);
}

#[test]
fn a_replaced_file_is_opened_anew() {
    let made = Made::new(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO things VALUES (1, 'old');",
    );
    let served = made.serve(&RelationalSettings::default());
    let (old, new) = (r#"{"data":{"things":[{"name":"old"}]}}"#, r#"{"data":{"things":[{"name":"new"}]}}"#);
    let query = "{ things { name } }";
    assert_eq!(served.answer(query, "{}"), old);
    let other = Made::new(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO things VALUES (1, 'new');",
    );
    for suffix in ["-wal", "-shm"] {
        let _maybe_none = fs::remove_file(format!("{}{suffix}", made.path().display()));
    }
    fs::rename(other.path(), made.path()).unwrap();
    assert_eq!(served.answer(query, "{}"), new);
    assert!(served.answer(r#"mutation { createThing(name: "x") { id } }"#, "{}").contains("\"id\":2"));
    let count: i64 =
        made.connection().query_row("SELECT count(*) FROM things", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2, "the writer has written to the new file");
}

#[test]
fn a_file_that_is_gone_is_an_error() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    assert!(runtime().block_on(served.database.health()).is_ok());
    fs::remove_file(made.path()).unwrap();
    for request in ["{ venues { id } }", r#"mutation { createVenue(name: "x") { id } }"#] {
        let answer = served.answer(request, "{}");
        assert!(answer.contains("the database file is gone"), "{answer}");
        assert!(!answer.contains(made.directory.path().to_str().unwrap()), "no path reaches the client");
    }
    assert!(runtime().block_on(served.database.health()).is_err());
    assert!(!made.path().exists(), "the file is not created anew");
}

#[test]
fn a_changed_schema_is_used_or_explained() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    runtime().block_on(async {
        let session = served.session();
        let (_, venues, variables) = served.plan("{ venues(limit: 1) { id name } }", "{}");
        assert!(session.query(&venues[0], &variables).await.data.is_some());
        made.connection().execute_batch("CREATE INDEX venues_name ON venues (name);").unwrap();
        assert!(session.query(&venues[0], &variables).await.data.is_some());
        made.connection().execute_batch("ALTER TABLE venues DROP COLUMN name;").unwrap_err();
        made.connection().execute_batch("ALTER TABLE venues RENAME COLUMN name TO label;").unwrap();
        let failed = session.query(&venues[0], &variables).await;
        assert_eq!(failed.errors[0].code, ErrorCode::SchemaChanged);
        assert!(failed.errors[0].message.contains("a table or column is gone"), "{failed:?}");
    });
}

#[test]
fn a_statement_over_its_time_limit_is_cancelled() {
    let made = Made::new(ENDLESS);
    for model in MODELS {
        let settings = RelationalSettings {
            common: CommonSettings { statement_timeout_ms: 50, ..CommonSettings::default() },
            ..with_model(model)
        };
        let served = made.serve(&settings);
        let answer = served.answer("{ endlesses { id } }", "{}");
        assert!(answer.contains("\"code\":\"TIMEOUT\"") && answer.contains("50 ms"), "{answer}");
    }
}

/// Other tasks of the core go on while a slow statement runs, and its next run does not even begin there.
#[test]
fn a_slow_statement_does_not_hold_up_its_core() {
    let made = Made::new(ENDLESS);
    let served = made.serve(&RelationalSettings::default());
    runtime().block_on(async {
        let session = served.session();
        let (_, slow, variables) = served.plan("{ slows { id } }", "{}");
        let (_, fast, _) = served.plan("{ numbers(limit: 1) { id } }", "{}");
        for _ in 0..2 {
            let mut slow = Box::pin(session.query(&slow[0], &variables));
            assert!(slow.as_mut().now_or_never().is_none(), "handed over");
            assert!(session.query(&fast[0], &variables).await.data.is_some());
            assert_eq!(slow.await.data.as_deref(), Some(&b"[{\"id\":1000}]"[..]));
        }
    });
}

#[test]
fn threads_and_what_waits_for_them_are_counted() {
    let made = Made::new(ENDLESS);
    let served = made.serve(&RelationalSettings {
        common: CommonSettings { statement_timeout_ms: 600_000, ..CommonSettings::default() },
        ..RelationalSettings::default()
    });
    let value = |name: &str| {
        let metrics = served.database.metrics("numbers");
        metrics.iter().find(|metric| metric.name == name).unwrap().samples[0].value
    };
    let threads = value("prony_sqlite_readers");
    runtime().block_on(async {
        let session = served.session();
        let (_, endless, variables) = served.plan("{ endlesses { id } }", "{}");
        let until = async |busy: f64, waiting: f64| {
            for _ in 0..4000 {
                if (value("prony_sqlite_readers_busy"), value("prony_sqlite_waiting")) == (busy, waiting) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            panic!("not {busy} and {waiting}");
        };
        until(0.0, 0.0).await;
        let queries = (0..threads as usize + 3).map(|_| Box::pin(session.query(&endless[0], &variables)));
        let mut queries: Vec<_> = queries.collect();
        for query in &mut queries {
            assert!(query.as_mut().now_or_never().is_none());
        }
        until(threads, 3.0).await;
        drop(queries);
        until(0.0, 0.0).await;
        assert_eq!((value("prony_sqlite_overloads"), value("prony_sqlite_waiting_writes")), (0.0, 0.0));
    });
}

#[test]
fn a_client_that_goes_away_ends_its_statement() {
    let made = Made::new(ENDLESS);
    let served = made.serve(&RelationalSettings {
        common: CommonSettings { statement_timeout_ms: 600_000, ..CommonSettings::default() },
        ..RelationalSettings::default()
    });
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 8);
    runtime().block_on(async {
        let session = served.session();
        let (_, endless, variables) = served.plan("{ endlesses { id } }", "{}");
        // Each of them would keep a thread for ever.
        for _ in 0..2 * threads {
            let mut query = Box::pin(session.query(&endless[0], &variables));
            assert!(query.as_mut().now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        let started = Instant::now();
        let (_, slow, variables) = served.plan("{ slows { id } }", "{}");
        assert!(session.query(&slow[0], &variables).await.data.is_some());
        assert!(started.elapsed() < Duration::from_secs(60), "a thread became free");
    });
}

#[test]
fn an_answer_over_its_limit_is_an_error() {
    let made = Made::new(ENDLESS);
    for model in MODELS {
        let settings = RelationalSettings {
            common: CommonSettings { max_response_bytes: 1000, ..CommonSettings::default() },
            ..with_model(model)
        };
        let answer = made.serve(&settings).answer("{ numbers(limit: 900) { id } }", "{}");
        assert!(answer.contains("LIMIT_EXCEEDED") && answer.contains("max_response_bytes"), "{answer}");
    }
}

#[test]
fn a_file_on_a_read_only_file_system_is_read() {
    // Tests may run as root, whom permissions do not stop: the opener itself is asked for.
    let made = Made::new(MEETUPS);
    made.connection().pragma_update(None, "journal_mode", "wal").unwrap();
    let opener =
        crate::file::open::Opener { path: made.path(), busy_timeout: Duration::ZERO, immutable: true };
    let connection = opener.reader(Duration::ZERO).unwrap();
    let count: i64 = connection.query_row("SELECT count(*) FROM venues", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 3);
}

/// SQLite says the same of a file that may have no more pages as of a disk that is full.
#[test]
fn a_full_disk_is_told_as_one() {
    let made = Made::new("CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)");
    let connection = made.connection();
    connection.execute_batch("PRAGMA max_page_count = 2").unwrap();
    let full = connection.execute("INSERT INTO things (text) VALUES (printf('%.99999c', 'x'))", []);
    let error = of_sqlite(&full.unwrap_err().into());
    assert_eq!((error.code, &*error.message), (ErrorCode::SourceUnavailable, DISK_FULL));
    assert!(error.detail.unwrap().contains("SQLite code 13"));
}

/// Whatever hinders a connection as it begins to see changes, a lock or an interruption, hinders it once.
#[test]
fn changes_are_seen_after_any_interruption() {
    let made = Made::new(&format!("{MEETUPS} CREATE TABLE busy_days (day)"));
    let served = made.serve(&RelationalSettings::default());
    let tables = served.model.tables.iter().enumerate();
    let tables = tables.filter(|(_, table)| table.kind == TableKind::Table);
    let wanted: Vec<TableId> = tables.map(|(index, _)| TableId(index as u32)).take(2).collect();
    let mut was_interrupted = true;
    for steps in (1..).step_by(41) {
        if !was_interrupted {
            return;
        }
        let mut connection = made.connection();
        let mut capture = Capture::default();
        let left = Arc::new(AtomicI64::new(steps));
        let counted = Arc::clone(&left);
        let interrupt = move || counted.fetch_sub(1, Relaxed) == 1;
        connection.progress_handler(1, Some(interrupt)).unwrap();
        for column in ["one", "two"] {
            let _ = capture.turn(&connection, &served.model, &wanted);
            made.connection().execute_batch(&format!("ALTER TABLE busy_days ADD COLUMN {column}")).unwrap();
        }
        was_interrupted = left.load(Relaxed) <= 0;
        connection.progress_handler(0, None::<fn() -> bool>).unwrap();
        capture.turn(&connection, &served.model, &wanted).unwrap();
        assert!(wanted.iter().all(|table| capture.sees(*table)), "interrupted after {steps} steps");
        made.connection()
            .execute_batch("ALTER TABLE busy_days DROP COLUMN one; ALTER TABLE busy_days DROP COLUMN two")
            .unwrap();
    }
}

/// What must not change is not even switched to WAL.
#[test]
fn a_file_for_reading_only_is_left_as_it_is() {
    let made = Made::new("CREATE TABLE things (id INTEGER PRIMARY KEY); INSERT INTO things VALUES (1)");
    let before = fs::read(made.path()).unwrap();
    let mut settings = RelationalSettings::default();
    settings.common.read_only = true;
    let served = made.serve(&settings);
    assert_eq!(served.answer("{ things { id } }", "{}"), r#"{"data":{"things":[{"id":1}]}}"#);
    let refused = served.answer("mutation { createThing(id: 2) { id } }", "{}");
    assert!(refused.contains("for reading only"), "{refused}");
    assert_eq!(fs::read(made.path()).unwrap(), before);
}
