//! The paths beside `/graphql`, and what is allowed on each.

use expect_test::expect;

use crate::support::{Server, check, get};

#[test]
fn unknown_paths_and_methods_say_what_there_is() {
    let server = Server::start();
    check(
        &server,
        get("/graph"),
        expect![[r#"
        HTTP/1.1 404 Not Found
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"nothing is at /graph; there are /graphql, /, /health, /live, /ready and /metrics"}]}
    "#]],
    );
    check(
        &server,
        "DELETE /health HTTP/1.1\r\nhost: localhost\r\n\r\n",
        expect![[r#"
        HTTP/1.1 405 Method Not Allowed
        content-type: application/json; charset=utf-8
        allow: GET, HEAD, OPTIONS
        {"errors":[{"message":"DELETE is not allowed here; use GET"}]}
    "#]],
    );
    check(
        &server,
        "PUT /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n",
        expect![[r#"
        HTTP/1.1 405 Method Not Allowed
        content-type: application/json; charset=utf-8
        allow: GET, HEAD, POST, OPTIONS
        {"errors":[{"message":"PUT is not allowed here; use POST or GET"}]}
    "#]],
    );
    check(
        &server,
        "OPTIONS /graphql HTTP/1.1\r\nhost: localhost\r\norigin: https://a.test\r\n\r\n",
        expect![[r"
            HTTP/1.1 204 No Content
            allow: GET, HEAD, POST, OPTIONS

        "]],
    );
    check(
        &server,
        "OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n",
        expect![[r"
            HTTP/1.1 204 No Content
            allow: GET, HEAD, POST, PUT, DELETE, OPTIONS

        "]],
    );
}

#[test]
fn head_is_get_without_the_body() {
    let server = Server::start();
    let mut wire = server.connect();
    wire.send(
        "HEAD /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    );
    let response = wire.rest();
    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    assert!(response.contains("content-length: 31\r\n") && response.ends_with("\r\n\r\n"), "{response}");
}

#[test]
fn health_names_the_sources() {
    let server = Server::start();
    let response = server.ask(get("/health"));
    let body: serde_json::Value =
        serde_json::from_str(response.lines().last().expect("a body")).expect("it is JSON");
    assert_eq!(body["status"], "ok");
    assert_eq!(body["sources"][0]["name"], "chinook");
    assert_eq!(body["sources"][0]["status"], "ok");
    assert_eq!(body["sources"][0]["database"], "SQLite");
    assert!(!response.contains("sqlite:"), "where the database is, is not for clients: {response}");
}

#[test]
fn metrics_count_requests_by_kind_and_outcome() {
    let server = Server::start();
    for text in ["{ artists(limit: 1) { Name } }", "{ artists(limit: 1) { Name } }", "{ nothing }"] {
        server.ask(crate::support::query(text));
    }
    server.ask(crate::support::post("[]"));
    let metrics = server.ask(get("/metrics"));
    let all = [
        "prony_graphql_requests_total{operation=\"query\",outcome=\"success\"} 2",
        "prony_graphql_requests_total{operation=\"unknown\",outcome=\"refused\"} 1",
        "prony_graphql_requests_total{operation=\"unknown\",outcome=\"bad_request\"} 1",
        "prony_stage_seconds_count{stage=\"execute\"} 2",
        "prony_cache_hits_total{cache=\"plans\"} 1",
        "prony_source_fields_total{source=\"chinook\"} 2",
        "prony_requests_in_flight{} 1",
        "# EOF",
    ];
    for line in all {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    // What one source does alone has the time of the stage.
    let value = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name));
    let sum = value("prony_source_seconds_sum{source=\"chinook\"} ");
    assert_eq!(sum, value("prony_stage_seconds_sum{stage=\"execute\"} "), "{metrics}");
    assert_eq!(value("prony_source_seconds_count{source=\"chinook\"} "), Some("2"), "{metrics}");
}

#[test]
fn the_console_needs_no_other_server() {
    let server = Server::start();
    let page = server.ask(get("/"));
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    assert!(!page.contains("https://"), "{page}");
    let description = server.ask(get("/console.json"));
    assert!(description.contains("\"name\":\"chinook\""), "{description}");
    let body: serde_json::Value =
        serde_json::from_str(description.lines().last().expect("a body")).expect("it is JSON");
    let example = body["example"].as_str().expect("there is an example");
    let answer = server.ask(crate::support::query(example));
    assert!(answer.contains("{\"data\":{") && !answer.contains("errors"), "{answer}");
    let off = Server::with(|settings| settings.console = false);
    assert!(off.ask(get("/")).starts_with("HTTP/1.1 404"));
}

#[test]
fn pages_of_allowed_origins_may_call() {
    let server = Server::with(|settings| settings.cors_origins = vec!["https://a.test".to_owned()]);
    let preflight = |origin: &str| {
        server.ask(format!(
            "OPTIONS /graphql HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\r\n"
        ))
    };
    expect![[r#"
        HTTP/1.1 204 No Content
        allow: GET, HEAD, POST, OPTIONS
        access-control-allow-methods: GET, HEAD, POST, PUT, DELETE
        access-control-allow-headers: accept, authorization, content-type, fiware-correlator, fiware-service, fiware-servicepath, fiware-timeindex-attribute, if-none-match, ngsild-tenant, traceparent, tracestate, x-api-key, x-graphql-event-stream-token, x-prony-cost, x-prony-role, x-prony-timing, x-request-id
        access-control-max-age: 600
        access-control-allow-origin: https://a.test
        access-control-expose-headers: etag, fiware-correlator, fiware-total-count, ngsild-results-count, ratelimit, ratelimit-policy, retry-after, server-timing, www-authenticate, x-prony-cost, x-request-id, x-total-count
        vary: origin

    "#]]
    .assert_eq(&preflight("https://a.test"));
    assert!(!preflight("https://b.test").contains("access-control"));
    let answer = server.ask(
        "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: localhost\r\norigin: https://a.test\r\n\r\n",
    );
    assert!(answer.contains("access-control-allow-origin: https://a.test\n"), "{answer}");
}
