//! GraphQL requests that are answered as their bytes come get what the others get, to the byte.

use std::net::Shutdown;

use prony_server::examples::{donuts, music};

use crate::support::{Server, Wire, post, post_with, query};

const TYPE: &str = "content-type: application/json\r\n";

/// The answer on a connection that stays, and the one that hyper makes because the connection is to be closed.
fn both(server: &Server, headers: &str, body: &str) -> [String; 2] {
    let mut wire = server.connect();
    wire.send(post_with(headers, body));
    let at_once = wire.response();
    let by_hyper = server.ask(post_with(&format!("connection: close\r\n{headers}"), body));
    [at_once, by_hyper.replacen("\nconnection: close", "", 1)]
}

fn check_same(server: &Server, headers: &str, body: &str, expected: &str) {
    let [at_once, by_hyper] = both(server, headers, body);
    assert_eq!(at_once, by_hyper, "{headers}{body}");
    assert!(at_once.contains(expected), "{at_once}");
}

#[test]
fn answers_are_the_same_beside_hyper() {
    let donuts = Server::donuts(|_| {});
    for (headers, body, expected) in [
        (TYPE, r#"{"query":"{ retrieveDonut(id: \"1\") { flavor } }"}"#, "CHOCOLATE"),
        (
            TYPE,
            r#"{"query":"query($id: String!) { retrieveDonut(id: $id) { name } }","variables":{"id":"9"}}"#,
            ":null",
        ),
        (
            TYPE,
            r#"{"query":"{ a: retrieveDonut(id: \"2\") { id } b: __typename __type(name: \"Donut\") { name } }"}"#,
            "Query",
        ),
        (
            TYPE,
            r#"{"query":"mutation { addOrUpdateDonut(donut: {id: \"4\", flavor: VANILLA}) { id name } }"}"#,
            "null",
        ),
        (TYPE, r#"{"query":"{ nothing }"}"#, "errors"),
        (TYPE, r#"{"query":"{"}"#, "errors"),
        (TYPE, r#"{"query":"query($id: String!) { retrieveDonut(id: $id) { name } }"}"#, "errors"),
        (TYPE, "{}", "400"),
        (TYPE, "[]", "batches"),
        (TYPE, r#"{"query":"subscription { onDonutUpdated(id: \"1\") { id } }"}"#, "406"),
        ("content-type: text/plain\r\n", r#"{"query":"{ __typename }"}"#, "415"),
        ("", r#"{"query":"{ __typename }"}"#, "200 OK"),
        (
            "accept: */*\r\ncontent-type: application/json\r\n",
            r#"{"query":"{ __typename }"}"#,
            "application/json",
        ),
        (
            "Accept: application/graphql-response+json\r\ncontent-type: application/json\r\n",
            r#"{"query":"{ nothing }"}"#,
            "400 Bad Request\ncontent-type: application/graphql-response+json",
        ),
        ("accept: text/html\r\ncontent-type: application/json\r\n", r#"{"query":"{ __typename }"}"#, "406"),
        (
            "accept: application/graphql-response+json, application/json;q=0.9\r\ncontent-type: application/json; charset=utf-8\r\n",
            r#"{"query":"{ nothing }"}"#,
            "400 Bad Request\ncontent-type: application/graphql-response+json",
        ),
        (
            "accept: application/json;q=0.6, application/graphql-response+json;q=0.5\r\ncontent-type: application/json\r\n",
            r#"{"query":"{ nothing }"}"#,
            "200 OK\ncontent-type: application/json",
        ),
        (
            "accept: application/json, text/plain, */*\r\ncontent-type: application/json\r\n",
            r#"{"query":"{ __typename }"}"#,
            "application/json",
        ),
        (
            "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n",
            r#"{"query":"{ __typename }"}"#,
            "application/json",
        ),
        ("content-type: application/json; charset=latin1\r\n", r#"{"query":"{ __typename }"}"#, "415"),
    ] {
        check_same(&donuts, headers, body, expected);
    }
    let music = Server::functions(music::functions(), |_| {});
    let nested = r#"{"query":"{ artists(searchText: \"queen\") { name @toUpper records { name } company { name } } artist(id: 2) { name } }"}"#;
    check_same(&music, TYPE, nested, "QUEEN");
}

#[test]
fn requests_sent_together_are_answered_in_their_order() {
    let server = Server::donuts(|_| {});
    let mut wire: Wire = server.connect();
    let donut = |id: u32| query(&format!("{{ retrieveDonut(id: \"{id}\") {{ id }} }}"));
    let rest = "GET /api/donuts/2 HTTP/1.1\r\nhost: test\r\n\r\n";
    wire.send(format!("{}{}{rest}{}{}", donut(1), donut(2), donut(3), post("{}")));
    for expected in ["\"1\"", "\"2\"", "Plain Ring", "\"3\"", "400"] {
        let answer = wire.response();
        assert!(answer.contains(expected), "{expected} is not in {answer}");
    }
    server.until_metric("prony_http_requests_total", 6);
}

/// The end of the client's sending comes with its requests, of which the last is hyper's.
#[test]
fn who_ends_sending_behind_several_requests_gets_all_answers() {
    let server = Server::donuts(|_| {});
    let at_once = query("{ __typename }");
    let by_hyper = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: test\r\n\r\n";
    for before in [0, 1, 20] {
        for _ in 0..20 {
            let mut wire = server.connect();
            wire.send(format!("{}{by_hyper}", at_once.repeat(before)));
            wire.stream.shutdown(Shutdown::Write).expect("it is open");
            assert_eq!(wire.rest().matches("\"Query\"").count(), before + 1);
        }
    }
}

#[test]
fn a_page_of_another_origin_is_answered_as_ever() {
    let origin = "origin: https://a.example\r\ncontent-type: application/json\r\n";
    let server = Server::functions(donuts::functions(), |settings| {
        settings.cors_origins = vec!["https://a.example".to_owned()];
    });
    check_same(&server, origin, r#"{"query":"{ __typename }"}"#, "access-control-allow-origin");
}
