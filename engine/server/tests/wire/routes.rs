//! Paths that a program answers itself: the same bytes, whether its answer is written on the fast path or by it.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};

use crate::support::{Server, Wire, get, query};

/// Keeps a request from being answered on the fast path, and asks for nothing.
const BY_HYPER: &str = "connection: any\r\n";

/// What a function saw of its request but the header that chose the parser.
fn echo(request: Request<Bytes>) -> String {
    let (head, body) = request.into_parts();
    let mut text =
        format!("{} {} {:?} {}\n", head.method, head.uri, head.version, head.extensions.is_empty());
    for (name, value) in head.headers.iter().filter(|(name, _)| *name != "connection") {
        writeln!(text, "{name}: {}", String::from_utf8_lossy(value.as_bytes())).expect("texts take all");
    }
    text + &String::from_utf8_lossy(&body)
}

fn answer(request: Request<Bytes>) -> Response<Bytes> {
    let of = Response::builder;
    let built = match request.uri().path() {
        "/api/echo" => of().body(echo(request).into()),
        "/api/headers" => of()
            .header("x-first", "1")
            .header("Content-Type", "text/plain")
            .header("set-cookie", "a=1")
            .header("x-first", "")
            .header("set-cookie", "b=2")
            .body("1".into()),
        "/api/created" => of().status(201).header("location", "/api/new").body(Bytes::new()),
        "/api/none" => of().status(204).header("x-more", "of it").body(Bytes::new()),
        "/api/less" => of().status(204).body("not sent".into()),
        "/api/unchanged" => of().status(304).header("etag", "\"1\"").body(Bytes::new()),
        "/api/strange" => of().status(299).body("299".into()),
        "/api/date" => of().header("date", "Thu, 01 Jan 1970 00:00:00 GMT").body("old".into()),
        "/api/length" => of().header("content-length", "3").body("abc".into()),
        "/api/shorter" => of().header("content-length", "2").header("x-a", "b").body("abc".into()),
        "/api/longer" => of().header("content-length", "4").body("abc".into()),
        "/api/nothing" => of().header("content-length", "4").body(Bytes::new()),
        "/api/trailer" => of().header("trailer", "x-sum").body("abc".into()),
        "/api/keeps" => of().header("connection", "keep-alive").body("kept".into()),
        "/api/panic" => panic!("the kitchen is on fire"),
        _ => of().status(StatusCode::NOT_FOUND).body("nothing here".into()),
    };
    built.expect("it is a response")
}

/// Requests without their last headers and body, and the body.
fn requests() -> Vec<(String, &'static str)> {
    let get = |path: &str| (format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n"), "");
    let others = [
        (
            "GET /api/echo?a=%20b&c HTTP/1.1\r\nHost: localhost\r\nX-Two: 1\r\naccept: */*\r\nx-two:  2 \r\nX-Empty:\r\n",
            "",
        ),
        ("POST /api/echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\nx-latin: \u{e9}\r\n", "{\"\"}"),
        ("PUT /api//echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n", ""),
        ("PUT /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nx-prony-timing: 1\r\n", "p"),
        ("DELETE /api/echo? HTTP/1.1\r\nhost: localhost\r\n", ""),
        ("PATCH /api/echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n", "p"),
        ("OPTIONS /api/echo HTTP/1.1\r\nhost: localhost\r\n", ""),
    ];
    let paths = [
        "headers",
        "created",
        "none",
        "less",
        "unchanged",
        "strange",
        "date",
        "length",
        "shorter",
        "longer",
        "nothing",
        "trailer",
        "keeps",
        "panic",
        "unknown",
    ];
    let paths = paths.iter().map(|path| get(&format!("/api/{path}")));
    others.iter().map(|(head, body)| ((*head).to_owned(), *body)).chain(paths).collect()
}

/// The head without its own date, and the body.
fn next(wire: &mut Wire) -> String {
    let (head, body) = wire.head_and_body();
    let old = "date: Thu, 01 Jan 1970";
    let dateless = |line: &&str| !line.starts_with("date: ") || line.starts_with(old);
    let lines: Vec<&str> = head.split_inclusive("\r\n").filter(dateless).collect();
    let dates = head.lines().filter(|line| line.starts_with("date: ")).count();
    format!("{}{body}|{dates}", lines.concat())
}

fn ask(server: &Server, request: &str) -> String {
    let mut wire = server.connect();
    wire.send(request);
    next(&mut wire)
}

#[test]
fn responses_are_the_same_from_hyper() {
    let server = Server::route("/api/", answer);
    for (head, body) in requests() {
        let beside = ask(&server, &format!("{head}\r\n{body}"));
        assert_eq!(beside, ask(&server, &format!("{head}{BY_HYPER}\r\n{body}")), "{head}");
        let status = if head.contains("panic") { "500 Internal Server Error" } else { "" };
        assert!(beside.contains(status), "{beside}");
    }
    // Another length than the body's would be taken for the begin, or for a part, of the next answer.
    for path in ["/api/shorter", "/api/longer"] {
        assert!(ask(&server, &get(path)).contains("content-length: 3\r\n"));
    }
}

#[test]
fn responses_from_hyper_have_our_date() {
    let server = Server::route("/api/", answer);
    // Hyper's own date, which stays ahead of a clock that is set back, would stand behind the length.
    let paths =
        ["/ready", "/health", "/nowhere", "/graphql?query=%7B__typename%7D", "/api/headers", "/api/trailer"];
    for path in paths {
        let mut wire = server.connect();
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{BY_HYPER}\r\n"));
        let (head, _) = wire.head_and_body();
        let place = |name: &str| head.lines().position(|line| line.starts_with(name)).expect("it is there");
        assert!(place("date: ") < place("content-length: "), "{path}: {head}");
        assert_eq!(head.matches("date: ").count(), 1, "{path}: {head}");
    }
    // Of a function whose response the fast path does not write.
    let mut wire = server.connect();
    wire.send(get("/api/trailer"));
    let (head, _) = wire.head_and_body();
    assert!(head.find("date: ") < head.find("content-length: "), "{head}");
}

#[test]
fn pages_of_other_origins_change_nothing_there() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let server = Server::route("/api/", move |request| {
        counted.fetch_add(1, Ordering::Relaxed);
        answer(request)
    });
    for headers in ["", BY_HYPER] {
        for (method, origin, is_let_in) in [
            ("POST", "https://evil.example", false),
            ("PUT", "null", false),
            ("PATCH", "https://evil.example", false),
            ("DELETE", "https://evil.example", false),
            ("GET", "https://evil.example", true),
            ("OPTIONS", "https://evil.example", true),
            ("POST", "http://localhost", true),
        ] {
            let request = format!(
                "{method} /api/echo HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n{headers}\r\n"
            );
            let response = server.ask(request);
            let status = if is_let_in { "200" } else { "403" };
            assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{method} {origin}: {response}");
            assert_eq!(calls.swap(0, Ordering::Relaxed), usize::from(is_let_in), "{method} {origin}");
        }
    }
    // What is no browser sends no origin.
    assert!(server.ask("DELETE /api/echo HTTP/1.1\r\nhost: localhost\r\n\r\n").starts_with("HTTP/1.1 200"));
}

#[test]
fn requests_sent_together_are_answered_once_each_and_in_their_order() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let server = Server::route("/api/", move |request| {
        counted.fetch_add(1, Ordering::Relaxed);
        answer(request)
    });
    let others = [query("{ retrieveDonut(id: \"2\") { id } }"), get("/nowhere"), get("/health"), query("{")];
    let mut all = Vec::new();
    for (place, (head, body)) in requests().into_iter().enumerate() {
        all.push(format!("{head}\r\n{body}"));
        all.push(others[place % others.len()].clone());
        all.push(get("/api/headers"));
    }
    let routed = all.iter().filter(|request| request.contains(" /api/")).count();
    let singly: Vec<String> = all.iter().map(|request| ask(&server, request)).collect();
    assert_eq!(calls.swap(0, Ordering::Relaxed), routed);
    let together = all.concat();
    for cut in (0..together.len()).step_by(97) {
        // Where a character is cut, so is nothing that is asked for.
        let (first, second) = together.as_bytes().split_at(cut);
        let mut wire = server.connect();
        wire.send(first);
        wire.send(second);
        for (request, alone) in all.iter().zip(&singly) {
            assert_eq!(next(&mut wire), *alone, "{request}");
        }
        assert_eq!(calls.swap(0, Ordering::Relaxed), routed);
    }
}

#[test]
fn an_answer_that_ends_its_connection_or_has_no_length_is_hypers() {
    let server = Server::route("/api/", |request| {
        let (name, value) = match request.uri().path() {
            "/api/last" => ("connection", "close"),
            _ => ("transfer-encoding", "chunked"),
        };
        Response::builder().header(name, value).body("abc".into()).expect("it is a response")
    });
    let mut wire = server.connect();
    wire.send([get("/api/chunks"), get("/api/chunks"), get("/api/last"), get("/api/chunks")].concat());
    for _ in 0..2 {
        let chunked = wire.until("\r\n0\r\n\r\n");
        assert!(chunked.contains("transfer-encoding: chunked\r\n"), "{chunked}");
        assert!(chunked.ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), "{chunked}");
    }
    let last = wire.rest();
    assert!(last.contains("connection: close\r\n") && last.ends_with("\r\n\r\nabc"), "{last}");
}

#[test]
fn requests_are_counted_by_both_parsers() {
    let server = Server::route("/api/", answer);
    let all = requests();
    for (head, body) in &all {
        ask(&server, &format!("{head}\r\n{body}"));
    }
    // Each look at the metrics is one too.
    server.until_metric("prony_http_requests_total", all.len() as u64 + 1);
    server.until_metric("prony_requests_in_flight", 1);
}
