//! `/live` and `/ready`: what makes a server not ready, and what it says of that to everybody.

use std::fs;

use prony_graph::{GraphSettings, GraphSource, databases::Databases};
use prony_server::{config::GivenSource, source::CommonSettings};

use crate::support::{Server, check, get};
use expect_test::expect;

#[test]
fn a_server_whose_sources_can_be_asked_is_ready() {
    let server = Server::start();
    check(
        &server,
        get("/ready"),
        expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"status":"ready"}
    "#]],
    );
    check(
        &server,
        get("/live"),
        expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"status":"live"}
    "#]],
    );
    assert!(
        server.ask("POST /ready HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n").contains("405")
    );
}

#[test]
fn a_source_that_is_gone_is_named_without_its_path_until_it_is_back() {
    let mut place = None;
    let server = Server::with(|settings| {
        let url = &settings.sources[0].url.0;
        place = Some(std::path::PathBuf::from(url.strip_prefix("sqlite:").expect("it is SQLite")));
    });
    let place = place.expect("there is one source");
    let aside = place.with_extension("aside");
    fs::rename(&place, &aside).expect("it can be moved");
    check(
        &server,
        get("/ready"),
        expect![[r#"
        HTTP/1.1 503 Service Unavailable
        content-type: application/json; charset=utf-8
        {"status":"unavailable","reasons":[{"source":"chinook","reason":"unreachable"}]}
    "#]],
    );
    assert!(server.ask(get("/live")).starts_with("HTTP/1.1 200"), "the process is well");
    fs::rename(&aside, &place).expect("it can be moved");
    assert!(server.ask(get("/ready")).starts_with("HTTP/1.1 200"));
}

/// The calls of a graph take paths that nobody else has.
#[test]
fn a_graph_leaves_the_paths_to_the_server() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let databases = Databases::open(directory.path(), &GraphSettings::default()).expect("it can be made");
    let source = std::sync::Arc::new(GraphSource::new(databases.into(), CommonSettings::default()));
    let server = Server::with(|settings| {
        settings.sources.clear();
        settings.functions.sources.push(GivenSource { name: "social".to_owned(), source });
    });
    assert!(server.ask(get("/ready")).contains("{\"status\":\"ready\"}"));
    assert!(server.ask(get("/live")).contains("{\"status\":\"live\"}"));
}
