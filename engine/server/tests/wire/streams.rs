//! Server-sent events: operations answered as streams, in both modes of the protocol.

use std::time::Duration;

use expect_test::expect;

use crate::support::{Server, Wire, check, get, post_with};

const EVENTS: &str = "accept: text/event-stream\r\ncontent-type: application/json\r\n";

/// A request on a reserved stream.
fn on_stream(method: &str, query: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} /graphql/stream{query} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// Events without the lines of the transfer coding, which end with a carriage return.
fn events(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').filter(|line| !line.ends_with('\r')).collect();
    lines.join("\n")
}

fn reserve(server: &Server) -> String {
    let response = server.ask(on_stream("PUT", "", "", ""));
    assert!(response.starts_with("HTTP/1.1 201 Created"), "{response}");
    response.lines().last().expect("the token is the body").to_owned()
}

#[test]
fn one_operation_is_answered_as_events() {
    let server = Server::start();
    let mut wire = server.connect();
    wire.send(post_with(EVENTS, r#"{"query":"{ artists(limit: 1) { Name } }"}"#));
    let head: Vec<String> =
        wire.until("\r\n\r\n").lines().filter(|line| !line.starts_with("date")).map(str::to_owned).collect();
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: text/event-stream; charset=utf-8
        cache-control: no-cache, no-transform
        x-accel-buffering: no
        transfer-encoding: chunked
    "#]]
    .assert_eq(&head.join("\n"));
    expect![[r#"
        :

        event: next
        data: {"data":{"artists":[{"Name":"AC/DC"}]}}

        event: complete
        data:

    "#]]
    .assert_eq(&events(&wire.until("\r\n0\r\n\r\n")));
    // The connection goes on.
    wire.send(get("/graphql?query=%7B__typename%7D"));
    assert!(wire.response().contains("\"Query\""));
}

#[test]
fn errors_before_the_execution_are_events() {
    let server = Server::start();
    let mut wire = server.connect();
    wire.send(post_with(EVENTS, r#"{"query":"{ nothing }"}"#));
    wire.until("\r\n\r\n");
    expect![[r#"
        :

        event: next
        data: {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}

        event: complete
        data:

    "#]].assert_eq(&events(&wire.until("\r\n0\r\n\r\n")));
    let get = |query: &str| {
        format!("GET /graphql?query={query} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
    };
    check(
        &server,
        get("mutation%7B__typename%7D"),
        expect![[r#"
        HTTP/1.1 405 Method Not Allowed
        content-type: application/json; charset=utf-8
        allow: POST, OPTIONS
        {"errors":[{"message":"GET may only query and subscribe; send mutations with POST"}]}
    "#]],
    );
    check(
        &server,
        post_with(EVENTS, "{"),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the request is not JSON: EOF while parsing an object at line 1, column 1"}]}
    "#]],
    );
    check(
        &server,
        post_with("accept: text/event-stream\r\n", "{}"),
        expect![[r#"
        HTTP/1.1 415 Unsupported Media Type
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the body must be JSON in UTF-8: send `content-type: application/json`"}]}
    "#]],
    );
}

/// A bug of the first version: it was refused, though `Allow` had it.
#[test]
fn head_of_a_stream_is_its_head() {
    let server = Server::start();
    let mut wire = server.connect();
    let line = "HEAD /graphql?query=%7B__typename%7D HTTP/1.1\r\n";
    wire.send(format!("{line}host: localhost\r\naccept: text/event-stream\r\nconnection: close\r\n\r\n"));
    let response = wire.rest();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains("content-type: text/event-stream"), "{response}");
    assert!(response.ends_with("\r\n\r\n"), "{response}");
    assert_eq!(response.matches("\r\n\r\n").count(), 1, "{response}");
}

#[test]
fn a_reserved_stream_carries_all_operations_of_a_client() {
    let server = Server::start();
    let token = reserve(&server);
    let with_token = format!("x-graphql-event-stream-token: {token}\r\ncontent-type: application/json\r\n");
    let start = |id: &str| {
        let body = format!(r#"{{"query":"{{ __typename }}","extensions":{{"operationId":"{id}"}}}}"#);
        on_stream("POST", "", &with_token, &body)
    };
    // An operation may come before its stream.
    check(
        &server,
        start("early"),
        expect![[r#"
        HTTP/1.1 202 Accepted

    "#]],
    );
    let mut stream = server.connect();
    stream.send(on_stream("GET", &format!("?token={token}"), "accept: text/event-stream\r\n", ""));
    assert!(stream.until("\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
    let complete = |id: &str| format!("event: complete\ndata: {{\"id\":\"{id}\"}}\n\n");
    expect![[r#"
        :

        event: next
        data: {"id":"early","payload":{"data":{"__typename":"Query"}}}

        event: complete
        data: {"id":"early"}

    "#]]
    .assert_eq(&events(&stream.until(&complete("early"))));
    // From connections of both cores.
    let connections: Vec<Wire> = (0..4).map(|_| server.connect()).collect();
    for (number, mut wire) in connections.into_iter().enumerate() {
        wire.send(start(&number.to_string()));
        assert!(wire.response().starts_with("HTTP/1.1 202 Accepted"));
        let came = stream.until(&complete(&number.to_string()));
        assert!(
            came.contains(&format!(
                r#"data: {{"id":"{number}","payload":{{"data":{{"__typename":"Query"}}}}}}"#
            )),
            "{came}"
        );
    }
    check(
        &server,
        on_stream("GET", "", &with_token, ""),
        expect![[r#"
        HTTP/1.1 409 Conflict
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"this stream is open already; reserve another with PUT"}]}
    "#]],
    );
    check(
        &server,
        on_stream("DELETE", "?operationId=nobody", &with_token, ""),
        expect![[r#"
        HTTP/1.1 200 OK

    "#]],
    );
    check(
        &server,
        on_stream("DELETE", "", &with_token, ""),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the parameter operationId is missing"}]}
    "#]],
    );
    let invalid = r#"{"query":"{ nothing }","extensions":{"operationId":"x"}}"#;
    check(
        &server,
        on_stream("POST", "", &with_token, invalid),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
    "#]],
    );
    check(
        &server,
        on_stream("POST", "", &with_token, r#"{"query":"{ __typename }"}"#),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"extensions.operationId is missing: a text of your choice"}]}
    "#]],
    );
    server.until_metric("prony_event_streams", 1);
    drop(stream);
    server.until_metric("prony_event_streams", 0);
    check(
        &server,
        on_stream("POST", "", &with_token, invalid),
        expect![[r#"
        HTTP/1.1 404 Not Found
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"no stream has this token; reserve one with PUT"}]}
    "#]],
    );
}

#[test]
fn requests_without_a_stream_say_what_is_missing() {
    let server = Server::with(|settings| settings.subscriptions.max_reservations = 1);
    check(
        &server,
        on_stream("GET", "", "", ""),
        expect![[r#"
        HTTP/1.1 401 Unauthorized
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"send the token of your stream as x-graphql-event-stream-token, or as the parameter token"}]}
    "#]],
    );
    check(
        &server,
        on_stream("GET", "?token=0", "", ""),
        expect![[r#"
        HTTP/1.1 404 Not Found
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"no stream has this token; reserve one with PUT"}]}
    "#]],
    );
    check(
        &server,
        on_stream("PATCH", "", "", ""),
        expect![[r#"
            HTTP/1.1 405 Method Not Allowed
            content-type: application/json; charset=utf-8
            allow: GET, POST, PUT, DELETE, OPTIONS
            {"errors":[{"message":"PATCH is not allowed here; use PUT, GET, POST or DELETE"}]}
        "#]],
    );
    reserve(&server);
    check(
        &server,
        on_stream("PUT", "", "", ""),
        expect![[r#"
        HTTP/1.1 503 Service Unavailable
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"too many streams are reserved and not opened (max_reservations); try later"}]}
    "#]],
    );
}

/// Who has the token of an open stream cannot open it again, and a token ends with its stream.
#[test]
fn a_token_is_good_for_one_stream() {
    let server = Server::start();
    let token = reserve(&server);
    let body = r#"{"query":"{ __typename }","extensions":{"operationId":"a"}}"#;
    let on = |method: &str, token: &str| {
        let body = if method == "POST" { body } else { "" };
        let query = format!("?token={token}&operationId=a");
        let answer = server.ask(on_stream(method, &query, "content-type: application/json\r\n", body));
        answer.split(' ').nth(1).expect("a status").to_owned()
    };
    let all = |token: &str| ["GET", "POST", "DELETE"].map(|method| on(method, token)).join(" ");
    let mut stream = server.connect();
    stream.send(on_stream("GET", &format!("?token={token}"), "", ""));
    stream.until(":\n\n");
    assert_eq!(all(&token), "409 202 200", "open");
    for unknown in ["0", &token.to_uppercase().replace(char::is_numeric, "F"), "%00", &"f".repeat(5000)] {
        assert_eq!(all(unknown), "404 404 404", "{unknown}");
    }
    drop(stream);
    server.until_metric("prony_event_streams", 0);
    assert_eq!(all(&token), "404 404 404", "ended");
}

#[test]
fn quiet_streams_are_kept_open_with_comments() {
    let server = Server::with(|settings| settings.subscriptions.ping_interval = Duration::from_millis(10));
    let token = reserve(&server);
    let mut stream = server.connect();
    stream.send(on_stream("GET", &format!("?token={token}"), "", ""));
    stream.until("\r\n\r\n");
    for _ in 0..3 {
        stream.until(":\n\n");
    }
}

#[test]
fn stopping_ends_streams() {
    let server = Server::start();
    let token = reserve(&server);
    let mut stream = server.connect();
    stream.send(on_stream("GET", &format!("?token={token}"), "", ""));
    stream.until(":\n\n");
    server.running.stop();
    assert!(stream.rest().contains(": the server is stopping; connect again\n\n\r\n0\r\n\r\n"));
}
