//! Limits on what a request may have: each has its status, and the connection's next request is not confused.

use std::{
    io::{Read as _, Write as _},
    thread,
    time::{Duration, Instant},
};

use expect_test::expect;
use socket2::SockRef;

use crate::{
    sockets::{Socket, subscribe},
    support::{PATIENCE, Server, check, get, give_options, post, post_with, query},
};

#[test]
fn headers_are_limited() {
    let server = Server::start();
    let many = "h: x\r\n".repeat(101);
    for headers in [format!("big: {}\r\n", "x".repeat(40_000)), many] {
        let response = server.ask(format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"));
        assert!(response.starts_with("HTTP/1.1 431 Request Header Fields Too Large"), "{response}");
    }
}

#[test]
fn the_path_is_limited() {
    let server = Server::start();
    check(
        &server,
        get(&format!("/graphql?query={}", "x".repeat(17_000))),
        expect![[r#"
        HTTP/1.1 414 URI Too Long
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"path and query are over the limit of 16384 bytes (max_uri_bytes)"}]}
    "#]],
    );
    let longest = get(&format!("/graphql?query={{__typename}}&x={}", "x".repeat(15_000)));
    assert!(server.ask(longest.replace('{', "%7B").replace('}', "%7D")).contains("\"Query\""));
}

#[test]
fn the_body_is_limited_whether_it_says_its_length_or_not() {
    let server = Server::with(|settings| settings.max_body_bytes = 1000);
    let long = format!("{{\"query\":\"{{ __typename }} #{}\"}}", "x".repeat(1000));
    check(
        &server,
        post(&long),
        expect![[r#"
        HTTP/1.1 413 Payload Too Large
        content-type: application/json; charset=utf-8
        connection: close
        {"errors":[{"message":"the body is over the limit of 1000 bytes (max_body_bytes)"}]}
    "#]],
    );
    let chunked = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    assert!(server.ask(chunked).starts_with("HTTP/1.1 413 Payload Too Large"));
    let fits = format!("{{\"query\":\"{{ __typename }} #{}\"}}", "x".repeat(900));
    assert!(server.ask(post(&fits)).contains("\"Query\""));
}

/// Before the time for bodies is over, which is longer than this test waits.
#[test]
fn a_chunk_whose_size_cannot_be_is_refused_at_once() {
    let server = Server::start();
    for size in ["10000000000000000", "x", "-1"] {
        let response = server.ask(format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n{size}\r\n{{"
        ));
        assert!(response.starts_with("HTTP/1.1 400 Bad Request"), "{size}: {response}");
    }
}

#[test]
fn ten_thousand_aliases_are_refused() {
    let server = Server::start();
    let fields = (0..10_000).map(|index| format!("a{index}:__typename")).collect::<Vec<_>>().join(" ");
    let patient = Server::with(|settings| {
        settings.limits.max_document_bytes = 1 << 20;
        settings.limits.max_tokens = 1_000_000;
    });
    assert!(patient.ask(query(&format!("{{{fields}}}"))).contains("(max_aliases)"));
    let response = server.ask(query(&format!("{{{fields}}}")));
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the document has 168891 bytes; the limit is 131072 (max_document_bytes): send values as variables, or several requests","extensions":{"code":"LIMIT_EXCEEDED"}}]}
    "#]].assert_eq(&response);
}

/// Root fields under aliases, each with about 300,000 bytes.
fn all_tracks(count: usize) -> String {
    let field = |index| format!("t{index}: tracks(limit: 3503) {{ Name Composer }} ");
    query(&format!("{{ {} }}", (0..count).map(field).collect::<String>()))
}

/// Each is within `max_response_bytes`; together they are not within what an operation may have.
#[test]
fn root_fields_of_an_operation_share_its_bytes() {
    for model in ["subquery", "per-nest", "bucket"] {
        let server = Server::with(|settings| {
            settings.max_operation_bytes = 2_000_000;
            give_options(settings, &format!("resolver = \"{model}\""));
        });
        let answer = server.ask(all_tracks(100));
        let message = "the answers of the root fields of this operation have more than 2000000 bytes together \
                       (max_operation_bytes): ask for fewer rows, columns or root fields, or for shorter aliases";
        assert!(answer.contains(message) && answer.contains("LIMIT_EXCEEDED"), "{model}: {answer:.300}");
        assert!(answer.contains(r#""data":null"#), "{model}: {answer:.300}");
        let answer = server.ask(all_tracks(2));
        assert!(
            answer.contains(r#""data":{"t0":[{"#) && !answer.contains("errors"),
            "{model}: {answer:.300}"
        );
    }
}

/// What is sent does not count any more.
#[test]
fn responses_of_all_requests_share_the_bytes_of_the_process() {
    let server = Server::with(|settings| settings.max_responses_bytes = 1_000_000);
    for _ in 0..10 {
        // A client may have the last bytes of a response a moment before the server has let go of it.
        let mut answer = server.ask(all_tracks(2));
        while answer.contains("max_responses_bytes") {
            answer = server.ask(all_tracks(2));
        }
        assert!(answer.contains(r#""data":{"t0":[{"#) && !answer.contains("errors"), "{answer:.300}");
    }
    let answer = server.ask(all_tracks(5));
    let message = "the answers of all requests of this server have more than 1000000 bytes together (max_responses_bytes): \
                   try again, or ask for fewer rows or columns";
    assert!(answer.contains(message), "{answer:.300}");
    // A client that does not read holds what is written for it.
    let mut deaf = server.connect();
    SockRef::from(&deaf.stream).set_recv_buffer_size(4096).expect("TCP has the option");
    let deadline = Instant::now() + PATIENCE;
    while !server.ask(all_tracks(2)).contains("max_responses_bytes") {
        deaf.send(all_tracks(2));
        // While another response is made, its own would be refused, and nothing would be held.
        thread::sleep(Duration::from_millis(20));
        assert!(Instant::now() < deadline, "nothing is held for a client that does not read");
    }
    drop(deaf);
    while server.ask(all_tracks(2)).contains("max_responses_bytes") {
        thread::yield_now();
    }
}

/// A server of few bytes of responses, on a connection of which more may wait.
fn with_little_room() -> Server {
    Server::with(|settings| {
        settings.max_responses_bytes = 1_000_000;
        settings.subscriptions.max_queued_bytes = 1 << 30;
    })
}

/// Whether requests are refused for a time: one alone may have met another response that was being made.
fn has_no_room(server: &Server) -> bool {
    (0..5).all(|_| server.ask(all_tracks(2)).contains("max_responses_bytes"))
}

/// Has a client that does not read send again and again until there is no room for others, and has it go then.
fn fill_and_leave<D>(server: &Server, mut deaf: D, mut send: impl FnMut(&mut D, u32)) {
    let deadline = Instant::now() + PATIENCE;
    for number in 0.. {
        if has_no_room(server) {
            break;
        }
        send(&mut deaf, number);
        // While another response is made, its own would be refused, and nothing would be held.
        thread::sleep(Duration::from_millis(20));
        assert!(Instant::now() < deadline, "nothing is held for a client that does not read");
    }
    drop(deaf);
    let deadline = Instant::now() + PATIENCE;
    while server.ask(all_tracks(2)).contains("max_responses_bytes") {
        assert!(Instant::now() < deadline, "it is held for a client that has gone");
    }
}

#[test]
fn responses_over_sockets_count_until_they_are_sent() {
    let server = with_little_room();
    let fields = (0..2).map(|index| format!("t{index}: tracks(limit: 3503) {{ Name Composer }} "));
    let tracks = format!("{{ {} }}", fields.collect::<String>());
    let deaf = Socket::ready(&server);
    fill_and_leave(&server, deaf, |deaf, number| deaf.send(&subscribe(&number.to_string(), &tracks)));
}

#[test]
fn responses_as_events_count_until_they_are_sent() {
    let server = with_little_room();
    let events = "accept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length";
    let deaf = server.connect();
    SockRef::from(&deaf.stream).set_recv_buffer_size(4096).expect("TCP has the option");
    fill_and_leave(&server, deaf, |deaf, _| {
        let request = all_tracks(2).replace("content-type: application/json\r\ncontent-length", events);
        assert!(request.contains("text/event-stream"), "{request:.300}");
        deaf.send(request);
    });
}

#[test]
fn depth_is_limited() {
    let server = Server::with(|settings| settings.limits.max_depth = 2);
    check(
        &server,
        query("{ artists { albums { tracks { Name } } } }"),
        expect![[r#"
            HTTP/1.1 200 OK
            content-type: application/json; charset=utf-8
            {"errors":[{"message":"Exceeded maximum nest level.","locations":[{"line":1,"column":1}],"extensions":{"code":"LIMIT_EXCEEDED","limit":"max_depth","value":3,"highest":2,"try":"ask for fewer nested levels, or in several requests"}}]}
        "#]],
    );
}

/// As clients of the dialect count: rows below the rows of a root field, and no aggregates.
#[test]
fn the_nest_level_is_limited() {
    let server = Server::with(|settings| settings.limits.max_nest_level = 1);
    let of = |text: &str| server.ask(query(text));
    for within in [
        "{ artists { albums { Title } } }",
        "{ artists { albums { tracks_aggregate { count max { Name } } } } }",
        "{ artists_aggregate { max { Name } } __schema { types { fields { type { name } } } } }",
    ] {
        assert!(!of(within).contains("max_nest_level"), "{within}");
    }
    let refused = of(
        "query A { ...a } fragment a on Query { artists { ArtistId albums { artist { albums { Title } } } } }",
    );
    assert!(refused.contains(r#""message":"Exceeded maximum nest level.""#), "{refused}");
    assert!(refused.contains(r#""limit":"max_nest_level","value":3,"highest":1"#), "{refused}");
    let server = Server::with(|settings| settings.limits.max_nest_level = 0);
    assert!(server.ask(query("{ artists { Name } }")).contains("AC/DC"));
    assert!(server.ask(query("{ albums { artist { Name } } }")).contains(r#""value":1,"highest":0"#));
}

#[test]
fn complexity_is_limited_whoever_says_how_long_a_list_is() {
    let server = Server::start();
    let message = "the operation may answer with up to 1001010001 fields (a list counts for its limit, or 10 without one); \
                   the limit is 100000000 (max_complexity): lower the limits of its lists";
    let refused =
        format!(r#"{{"errors":[{{"message":"{message}","extensions":{{"code":"LIMIT_EXCEEDED"}}}}]}}"#);
    let lists = |top: &str, below: &str| {
        format!("artists(limit: {top}) {{ albums(limit: {below}) {{ tracks(limit: 1000) {{ Name }} }} }}")
    };
    let literal = query(&format!("{{ {} }}", lists("10000", "100")));
    let body = serde_json::json!({
        "query": format!("query ($n: Int) {{ {} }}", lists("$n", "100")),
        "variables": {"n": 10_000},
    });
    for request in [literal, post(&body.to_string())] {
        let answer = server.ask(request);
        assert!(answer.contains(&refused), "{answer}");
    }
    assert!(server.ask(query(&format!("{{ {} }}", lists("10", "10")))).contains(r#""data":{"artists""#));
}

#[test]
fn bytes_that_are_no_request_do_no_harm() {
    let server = Server::start();
    for garbage in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let mut wire = server.connect();
        wire.send(garbage);
        wire.stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        let answer = wire.rest();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{garbage:?}: {answer}");
    }
    let smuggled = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert!(!server.ask(smuggled).contains("prony_http_requests"));
    assert!(server.ask(get("/health")).starts_with("HTTP/1.1 200"));
}

#[test]
fn broken_json_and_nul_bytes_are_explained() {
    let server = Server::start();
    check(
        &server,
        post("{\"query\": \"{ __typename }\",}"),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the request is not JSON: trailing comma at line 1, column 28"}]}
    "#]],
    );
    check(
        &server,
        post("{\"query\": \"{ __type\0name }\"}"),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the request is not JSON: control character (\\u0000-\\u001F) found while parsing a string at line 1, column 20"}]}
    "#]],
    );
    check(
        &server,
        query("{ __type\0name }"),
        expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"syntax error: Unexpected character \"\\u{0}\"","locations":[{"line":1,"column":9}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}
    "#]],
    );
    check(
        &server,
        post(
            r#"{"query":"query($n: String!) { artists(where: {Name: {eq: $n}}) { Name } }","variables":{"n":"AC\u0000DC"}}"#,
        ),
        expect![[r#"
            HTTP/1.1 200 OK
            content-type: application/json; charset=utf-8
            {"data":null,"errors":[{"message":"`Name` takes text without NUL, not \"AC\\u0000DC\"","locations":[{"line":1,"column":22}],"path":["artists"],"extensions":{"code":"BAD_USER_INPUT"}}]}
        "#]],
    );
    let mut invalid = post("{\"query\":\"{ __typename } #XX\"}").into_bytes();
    let end = invalid.len();
    invalid[end - 4] = 0xff;
    check(
        &server,
        invalid,
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the request is not JSON: invalid UTF-8 at line 1, column 27"}]}
    "#]],
    );
    check(
        &server,
        post_with("content-type: application/json\r\n", ""),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the request is not JSON: EOF while parsing a value at line 1, column 0"}]}
    "#]],
    );
}

#[test]
fn bodies_that_do_not_end_share_the_bytes_of_the_process() {
    let server = Server::with(|settings| settings.max_unfinished_bodies_bytes = 100_000);
    let begin = || {
        let mut wire = server.connect();
        wire.send("POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
        wire.send(format!("{:x}\r\n{{\"x\":\"{}\r\n", 45_000, "x".repeat(44_994)));
        wire
    };
    let mut wires: Vec<_> = (0..5).map(|_| begin()).collect();
    // Those that are refused are so now, and the others wait.
    thread::sleep(Duration::from_millis(300));
    let responses: Vec<String> = wires
        .iter_mut()
        .map(|wire| {
            // Of one that is refused the connection is closed.
            let _ = wire.stream.write_all(b"2\r\n\"}\r\n0\r\n\r\n");
            let mut response = [0; 1024];
            let read = wire.stream.read(&mut response).unwrap_or(0);
            String::from_utf8_lossy(&response[..read]).into_owned()
        })
        .collect();
    let count = |begin: &str| responses.iter().filter(|response| response.starts_with(begin)).count();
    // Those that are taken are no requests of GraphQL; two have room at a time.
    assert!(count("HTTP/1.1 400") > 0 && count("HTTP/1.1 503") > 0, "{responses:?}");
    let message = "more than 100000 bytes together (max_unfinished_bodies_bytes)";
    assert!(responses.iter().any(|response| response.contains(message)), "{responses:?}");
    let mut again = begin();
    again.send("2\r\n\"}\r\n0\r\n\r\n");
    assert!(again.response().starts_with("HTTP/1.1 400"), "there is room again");
}
