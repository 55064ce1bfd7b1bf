//! On QuestDB: it is killed and started again, and read by a server that did not write.

use std::{process::Command, thread, time::Duration};

use prony_testkit::{PronyProcess, QuestServer};

use super::{Clients, agent, becomes, get, notify, schema, serve};

fn start(server: &QuestServer, arguments: &[&str]) -> (PronyProcess, String) {
    serve(&server.url(), arguments)
}

fn entity(id: &str, number: u64) -> String {
    super::entity(id, "n", number)
}

fn values(url: &str, id: &str) -> Vec<u64> {
    super::values(url, id, "n")
}

/// Tables were made, and months let go.
#[test]
fn who_only_looks_makes_nothing() {
    let server = QuestServer::shared();
    let address = server.fresh_url();
    let (_, prefix) = address.rsplit_once("prefix=").unwrap();
    let has_tables = || {
        let tables = agent().get(format!("http://127.0.0.1:{}/exec?query=tables()", server.http_port()));
        let tables = tables.call().unwrap().body_mut().read_to_string().unwrap();
        tables.contains(&format!("\"{prefix}_names\""))
    };
    let empty = schema(&address);
    assert!(empty.contains("type Query "), "{empty}");
    assert!(!has_tables());
    let (_process, url) = serve(&address, &[]);
    assert_eq!(notify(&url, &entity("first", 0)).0, 200);
    assert!(has_tables());
    assert_ne!(schema(&address), empty);
}

#[test]
fn what_was_acknowledged_is_there_after_questdb_was_gone() {
    let server = QuestServer::start_new().unwrap();
    let (process, url) = start(&server, &[]);
    assert_eq!(notify(&url, &entity("first", 0)).0, 200);
    assert_eq!(values(&url, "first"), [0], "a read sees what was acknowledged before");
    let clients = Clients::start(&url, 150);
    thread::sleep(Duration::from_millis(300));
    server.kill();
    let (status, body) = notify(&url, &entity("x", 1));
    assert_eq!(status, 503, "{body}");
    assert_eq!(get(&url, "/v2/types/Gr%C3%B6%C3%9Fe").0, 503, "reads say so too");
    assert!(becomes(|| get(&url, "/health").0 == 503));
    server.start().unwrap();
    assert!(becomes(|| notify(&url, &entity("back", 1)).0 == 200), "{:?}", get(&url, "/health"));
    let all = clients.wait_and_find(&url);
    assert!(becomes(|| get(&url, "/health").0 == 200), "{:?}", get(&url, "/health"));
    // All of it is there for another process too.
    drop(process);
    let (_process, url) = start(&server, &[]);
    for (client, found) in all.iter().enumerate() {
        assert_eq!(values(&url, &format!("e:{client}")), *found);
    }
}

#[test]
fn what_is_no_questdb_is_told() {
    let told = |address: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let output = command.args(["serve", address]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = told("series+questdb://user:secret@127.0.0.1:1");
    assert!(code == Some(2) && text.contains("127.0.0.1:1/qdb") && !text.contains("secret"), "{text}");
    let (code, text) = told("series+questdb://user:secret@127.0.0.1:1?http=");
    assert!(code == Some(2) && text.contains("http=HOST:9000") && !text.contains("secret"), "{text}");
    let postgres = prony_testkit::TestDatabase::create();
    let address = postgres.url().replace("postgres://", "series+questdb://");
    let (code, text) = told(&address);
    assert!(code == Some(2) && text.contains("is no QuestDB"), "{text}");
}
