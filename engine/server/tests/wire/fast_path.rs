//! GraphQL requests that are answered as their bytes come get what the others get, to the byte.

use std::{net::Shutdown, time::Duration};

use prony_server::examples::{donuts, music};

use crate::support::{Server, Wire, get, post, post_with, query};

const TYPE: &str = "content-type: application/json\r\n";

/// The answer on a connection that stays, and the one that hyper makes because the connection is to be closed.
fn both(server: &Server, headers: &str, body: &str) -> [String; 2] {
    let mut wire = server.connect();
    wire.send(post_with(headers, body));
    let on_fast_path = wire.response();
    let by_hyper = server.ask(post_with(&format!("connection: close\r\n{headers}"), body));
    [on_fast_path, by_hyper.replacen("\nconnection: close", "", 1)]
}

fn check_same(server: &Server, headers: &str, body: &str, expected: &str) {
    let [on_fast_path, by_hyper] = both(server, headers, body);
    assert_eq!(on_fast_path, by_hyper, "{headers}{body}");
    assert!(on_fast_path.contains(expected), "{on_fast_path}");
}

#[test]
fn responses_are_the_same_from_hyper() {
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
    let rest = "GET /api/donuts/2 HTTP/1.1\r\nhost: localhost\r\n\r\n";
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
    let on_fast_path = query("{ __typename }");
    let by_hyper = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for before in [0, 1, 20] {
        for _ in 0..20 {
            let mut wire = server.connect();
            wire.send(format!("{}{by_hyper}", on_fast_path.repeat(before)));
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

/// The count of connections that were handed over for a reason.
fn handovers(server: &Server, reason: &str) -> u64 {
    let wanted = format!("prony_http_handovers_total{{reason=\"{reason}\"}} ");
    let metrics = server.ask(get("/metrics"));
    let count = metrics.lines().find_map(|line| line.strip_prefix(&*wanted)?.parse::<f64>().ok());
    count.unwrap_or_else(|| panic!("{wanted} is not in {metrics}")) as u64
}

#[test]
fn pages_of_other_origins_stay_on_the_fast_path() {
    let server = Server::functions(donuts::functions(), |settings| {
        settings.cors_origins = vec!["https://a.example".to_owned()];
    });
    let mut wire = server.connect();
    for origin in ["https://a.example", "https://b.example"] {
        wire.send(post_with(&format!("origin: {origin}\r\n{TYPE}"), r#"{"query":"{ __typename }"}"#));
        let response = wire.response();
        assert_eq!(
            response.contains("access-control-allow-origin"),
            origin == "https://a.example",
            "{response}"
        );
    }
    assert_eq!(handovers(&server, "resource"), 1, "the connection that asks for the metrics");
}

#[test]
fn each_handover_has_its_reason() {
    let server = Server::donuts(|_| {});
    let ask = "GET /graphql?query=%7B__typename%7D";
    for (reason, request) in [
        ("version", "GET /health HTTP/1.0\r\n\r\n".to_owned()),
        ("method", "HEAD /health HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned()),
        ("target", "GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned()),
        ("connection", format!("{ask} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")),
        ("expect", format!("{ask} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\r\n")),
        (
            "repeated_header",
            format!("{ask} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\naccept: */*\r\n\r\n"),
        ),
        ("malformed", "\u{1}\r\n\r\n".to_owned()),
        (
            "transfer_encoding",
            format!(
                "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{TYPE}transfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
            ),
        ),
    ] {
        assert_eq!(handovers(&server, reason), 0, "{reason}");
        let mut wire = server.connect();
        wire.send(request);
        wire.until("\r\n\r\n");
        assert_eq!(handovers(&server, reason), 1, "{reason}");
    }
}

/// Many clients write a request's head and its body apart.
#[test]
fn a_body_that_comes_behind_its_head_stays_on_the_fast_path() {
    let server = Server::donuts(|_| {});
    let mut wire = server.connect();
    for _ in 0..3 {
        let request = query("{ retrieveDonut(id: \"1\") { id } }");
        let (head, body) = request.split_at(request.find("\r\n\r\n").expect("it has a head") + 4);
        wire.send(head);
        std::thread::sleep(Duration::from_millis(2));
        wire.send(body);
        assert!(wire.response().contains("\"1\""));
    }
    assert_eq!(handovers(&server, "incomplete"), 0);
    let mut late = server.connect();
    let request = query("{ __typename }");
    late.send(&request[..request.len() - 2]);
    std::thread::sleep(Duration::from_millis(400));
    late.send(&request[request.len() - 2..]);
    assert!(late.response().contains("Query"), "by hyper");
    assert_eq!(handovers(&server, "incomplete"), 1);
}
