//! `prony serve` and tables that change: SIGHUP, and what the log says of it.

use std::time::{Duration, Instant};

use prony_testkit::{PronyProcess, TestDatabase, process::Signal};
use rusqlite::Connection;

const PRONY: &str = env!("CARGO_BIN_EXE_prony");

/// Only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The body of the response.
fn ask(server: &str, text: &str) -> String {
    let body = serde_json::json!({ "query": text }).to_string();
    let request = ureq::post(format!("{server}/graphql")).header("content-type", "application/json");
    request.send(body).expect("it responds").into_body().read_to_string().expect("it is text")
}

fn until(server: &str, text: &str, expected: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let body = ask(server, text);
        if body.contains(expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{body} does not become {expected}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Serves what looks at nothing by itself, and has the signal tell it of each change.
fn follows_at_the_signal(url: &str, execute: impl Fn(&str)) {
    execute("CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT); INSERT INTO shelf VALUES (1, 'a')");
    let directory = tempfile::tempdir().expect("there is room");
    let file = directory.path().join("prony.toml");
    let text = format!("[[source]]\nurl = {url:?}\nname = \"shop\"\nschema_check_ms = 0\n");
    std::fs::write(&file, text).expect("there is room");
    let file = file.display().to_string();
    let mut process =
        PronyProcess::start(PRONY, ["serve", "--config", &file, "--listen", "127.0.0.1:0", "--cpus", "1"]);
    let server = process.wait_for_url();
    execute("ALTER TABLE shelf ADD COLUMN size INTEGER");
    // Longer than a look that comes by itself would take.
    std::thread::sleep(Duration::from_millis(1500));
    let refused = ask(&server, "{ shelves { size } }");
    assert!(refused.contains("GRAPHQL_VALIDATION_FAILED"), "{refused}");
    process.signal(Signal::HUP);
    until(&server, "{ shelves { id size } }", r#"[{"id":1,"size":null}]"#);
    process.wait_for_text("the schema has changed");
    execute("CREATE TABLE box (id INTEGER PRIMARY KEY); ALTER TABLE shelf DROP COLUMN label");
    process.signal(Signal::HUP);
    until(&server, "{ boxes { id } }", r#"{"data":{"boxes":[]}}"#);
    let finished = process.stop();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("ERROR"), "{}", finished.stderr);
}

#[test]
fn sqlite_is_read_again_at_the_signal() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("shop.db");
    let connection = Connection::open(&path).expect("there is room");
    connection.busy_timeout(PATIENCE).expect("it is open");
    follows_at_the_signal(&format!("sqlite:{}", path.display()), |sql| {
        connection.execute_batch(sql).expect("the statements are right");
    });
}

#[test]
fn postgres_is_read_again_at_the_signal() {
    let database = TestDatabase::create();
    follows_at_the_signal(&database.url(), |sql| database.execute(sql));
}

/// Who runs the server is told once what does not fit, and that it fits again.
#[test]
fn the_log_says_what_does_not_fit_and_that_it_fits_again() {
    let database = TestDatabase::create();
    database.execute("CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT)");
    let directory = tempfile::tempdir().expect("there is room");
    let file = directory.path().join("prony.toml");
    let text = format!(
        "[[source]]\nurl = {:?}\nname = \"shop\"\nschema_check_ms = 50\n[source.tables.shelf.columns.label]\nname = \"title\"\n",
        database.url()
    );
    std::fs::write(&file, text).expect("there is room");
    let file = file.display().to_string();
    let mut process =
        PronyProcess::start(PRONY, ["serve", "--config", &file, "--listen", "127.0.0.1:0", "--cpus", "1"]);
    let server = process.wait_for_url();
    database.execute("ALTER TABLE shelf RENAME COLUMN label TO name");
    process.wait_for_text("the tables have changed and cannot be served by the configuration");
    std::thread::sleep(Duration::from_millis(1500));
    database.execute("ALTER TABLE shelf RENAME COLUMN name TO label");
    process.wait_for_text("the tables can be served again as they are");
    until(&server, "{ shelves { title } }", r#"{"data":{"shelves":[]}}"#);
    let finished = process.stop();
    assert_eq!(
        finished.stderr.matches("cannot be served by the configuration").count(),
        1,
        "{}",
        finished.stderr
    );
    assert!(finished.stderr.contains("tables.shelf.columns.label"), "{}", finished.stderr);
}

/// Nothing was said of either: an option that waits for a restart seemed to count, and a table had to be looked for in the file.
#[test]
fn what_does_not_count_of_a_file_that_is_read_again_is_told() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("shop.db");
    let connection = Connection::open(&path).expect("there is room");
    connection
        .execute_batch("CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT)")
        .expect("the statement is right");
    drop(connection);
    let file = directory.path().join("prony.toml");
    let write = |depth: u32, more: &str| {
        let source = format!("[[source]]\nurl = \"sqlite:{}\"\n{more}", path.display());
        std::fs::write(&file, format!("[graphql]\nmax_depth = {depth}\n{source}")).expect("there is room");
    };
    write(15, "");
    let shown = file.display().to_string();
    let mut process =
        PronyProcess::start(PRONY, ["serve", "--config", &shown, "--listen", "127.0.0.1:0", "--cpus", "1"]);
    process.wait_for_url();
    write(3, "");
    process.signal(Signal::HUP);
    process.wait_for_text("other values of these options count after a restart");
    write(3, "[source.tables.shelv]\nlist_name = \"shelves\"\n");
    process.signal(Signal::HUP);
    process.wait_for_text("there is no table or view");
    let finished = process.stop();
    assert!(finished.stderr.contains("options=\"[graphql] max_depth\""), "{}", finished.stderr);
    assert!(finished.stderr.contains("prony.toml:5:16: tables.shelv: "), "{}", finished.stderr);
}
