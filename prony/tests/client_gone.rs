//! A client that goes away takes its work with it: the database stops the statement that nobody waits for.

use std::{
    io::Write,
    net::TcpStream,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{PronyProcess, postgres::TestDatabase};

/// Far below the statement's own minute and its time limit: what ends sooner was cancelled.
const PATIENCE: Duration = Duration::from_secs(30);

/// A row whose column takes a minute to read.
const NAP: &str = "CREATE VIEW naps AS SELECT 1 AS id, pg_sleep(60)::text AS nap";

fn naps_under_way(database: &TestDatabase) -> bool {
    let running = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
                   AND wait_event = 'PgSleep'";
    !database.query(running).is_empty()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "after {PATIENCE:?} still not: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_statement_ends_when_its_client_is_gone() {
    let database = TestDatabase::create();
    database.execute(NAP);
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", &database.url(), "--listen", "127.0.0.1:0", "--statement-timeout-ms", "120000"]);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();

    let address = url.trim_start_matches("http://");
    let mut client = TcpStream::connect(address).expect("it listens");
    let body = r#"{"query":"{ naps { nap } }"}"#;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    write!(client, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    wait_until("the statement runs", || naps_under_way(&database));

    drop(client);
    wait_until("the statement has ended", || !naps_under_way(&database));
    assert_eq!(process.stop().status.code(), Some(0));
}
