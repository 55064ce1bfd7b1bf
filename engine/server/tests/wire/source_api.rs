//! The HTTP API of a source that the server knows by the seam alone, on the fast path and by hyper: what responds must not be
//! seen.

use std::{io::Write as _, net::Shutdown, path::Path, sync::Arc, thread, time::Duration};

use prony_server::config::{CoreChoice, GivenSource, Settings};
use prony_testkit::Counters;

use crate::support::{Server, Wire, get};

/// Keeps a connection on the fast path, or has hyper read it.
const WAYS: [&str; 2] = ["", "connection: any\r\n"];

fn serve(counters: &Counters, change: impl FnOnce(&mut Settings)) -> Server {
    Server::with(|settings| {
        let source = Arc::new(counters.clone());
        settings.functions.sources.push(GivenSource { name: "counters".to_owned(), source });
        change(settings);
    })
}

fn durable(directory: &Path) -> Counters {
    Counters::durable(&directory.join("counts")).expect("the file can be used")
}

fn request(line: &str, headers: &str, body: &str) -> String {
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    format!("{line} HTTP/1.1\r\nhost: localhost\r\n{headers}{length}\r\n{body}")
}

/// The value of a metric.
fn metric(server: &Server, name: &str) -> u64 {
    let metrics = server.ask(get("/metrics"));
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    value.unwrap_or_else(|| panic!("{name} is not in {metrics}")) as u64
}

/// Requests whose responses depend on nothing but each other, with what these begin with and hold.
fn conversation(headers: &str) -> Vec<(String, [&'static str; 2])> {
    [
        ("GET /counters/nobody", "", ["HTTP/1.1 404 Not Found", ""]),
        ("POST /counters/a%20b", "7", ["HTTP/1.1 201 Created\ncontent-type: application/json", r#"{"name":"a b","value":"#]),
        ("GET /counters/a%20b", "", ["HTTP/1.1 200 OK\ncontent-type: application/json", r#"{"name":"a b","value":"#]),
        ("POST /counters/visits", "", ["HTTP/1.1 201 Created", r#"{"name":"visits","value":"#]),
        ("POST /counters/visits", "x", ["HTTP/1.1 400 Bad Request", r#""the body is no whole number""#]),
        ("PUT /counters/visits", "", ["HTTP/1.1 405 Method Not Allowed\ncontent-type: application/json\nallow: GET, HEAD, POST, OPTIONS", "use GET or POST"]),
        ("GET /counters/%ff", "", ["HTTP/1.1 400 Bad Request", "is no text"]),
        ("GET /counters", "", ["HTTP/1.1 200 OK", r#"[{"name":"a b","value":"#]),
        ("GET /countersx", "", ["HTTP/1.1 404 Not Found", "nothing is at /countersx"]),
        ("OPTIONS /counters/a", "", ["HTTP/1.1 204 No Content\nallow: GET, HEAD, POST, OPTIONS", ""]),
        ("GET /counters/visits", "", ["HTTP/1.1 200 OK", r#"{"name":"visits","value":"#]),
    ]
    .map(|(line, body, expected)| (request(line, headers, body), expected))
    .into()
}

fn check(server: &Server, requests: &[(String, [&str; 2])], pieces: impl Fn(&[u8]) -> Vec<Vec<u8>>) {
    let whole: String = requests.iter().map(|(request, _)| request.as_str()).collect();
    let mut wire = server.connect();
    for piece in pieces(whole.as_bytes()) {
        wire.send(piece);
    }
    for (request, [begin, part]) in requests {
        let response = wire.response();
        assert!(response.starts_with(begin) && response.contains(part), "{request}\n{response}");
    }
}

#[test]
fn responses_come_in_order_wherever_the_requests_are_cut() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for counters in [Counters::default(), durable(directory.path())] {
        let server = serve(&counters, |_| {});
        for headers in WAYS {
            let requests = conversation(headers);
            let bytes: usize = requests.iter().map(|(request, _)| request.len()).sum();
            check(&server, &requests, |whole| vec![whole.to_vec()]);
            check(&server, &requests, |whole| whole.iter().map(|byte| vec![*byte]).collect());
            for cut in (1..bytes).step_by(23) {
                check(&server, &requests, |whole| vec![whole[..cut].to_vec(), whole[cut..].to_vec()]);
            }
        }
    }
}

#[test]
fn what_is_responded_to_as_counted_is_on_the_disk() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let server = serve(&durable(directory.path()), |_| {});
    for headers in WAYS {
        let mut wire = server.connect();
        for _ in 0..5 {
            wire.send(request("POST /counters/visits", headers, "2"));
            assert!(wire.response().starts_with("HTTP/1.1 201 Created"));
        }
    }
    // As after a crash: nobody has closed the file.
    let server = serve(&durable(directory.path()), |_| {});
    assert!(server.ask(get("/counters/visits")).ends_with("{\"name\":\"visits\",\"value\":20}\n"));
}

/// Counts come one after the other on a connection, and hold up no other.
#[test]
fn a_count_waits_for_the_disk_without_holding_up_others() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let counters = durable(directory.path());
    let server = serve(&counters, |settings| settings.cores = CoreChoice::Count(1));
    let held = counters.hold_journal();
    let mut wires = WAYS.map(|headers| {
        let mut wire = server.connect();
        let get = request("GET /counters/visits", headers, "");
        wire.send(format!("{get}{}{get}", request("POST /counters/visits", headers, "")));
        wire
    });
    server.until_metric("prony_requests_in_flight", 3);
    assert!(server.ask(get("/counters/visits")).starts_with("HTTP/1.1 404"), "it is not durable yet");
    drop(held);
    for wire in &mut wires {
        for status in ["404", "201", "200"] {
            let response = wire.response();
            assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
        }
    }
    // The one that asks.
    server.until_metric("prony_requests_in_flight", 1);
}

#[test]
fn a_client_that_goes_while_its_count_is_written_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let counters = durable(directory.path());
    let server = serve(&counters, |_| {});
    let held = counters.hold_journal();
    for headers in WAYS {
        for _ in 0..8 {
            let mut wire = server.connect();
            wire.send(request("POST /counters/visits", headers, ""));
        }
    }
    drop(held);
    server.until_metric("prony_requests_in_flight", 1);
    server.until_metric("prony_connections", 1);
    let mut half_closed = server.connect();
    half_closed.send(request("POST /counters/last", "", ""));
    half_closed.stream.shutdown(Shutdown::Write).expect("it is open");
    assert!(half_closed.rest().starts_with("HTTP/1.1 201 Created"));
}

/// More than the journal takes at a time: the others wait for room, by hyper.
#[test]
fn counts_without_room_are_responded_to_in_the_end() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let counters = durable(directory.path());
    let server = serve(&counters, |_| {});
    let held = counters.hold_journal();
    let mut wires: Vec<Wire> = (0..100).map(|_| server.connect()).collect();
    for (index, wire) in wires.iter_mut().enumerate() {
        wire.send(request("POST /counters/visits", WAYS[index % 2], ""));
    }
    server.until_metric("prony_requests_in_flight", 101);
    drop(held);
    for wire in &mut wires {
        assert!(wire.response().starts_with("HTTP/1.1 201 Created"));
    }
    assert!(server.ask(get("/counters/visits")).contains("\"value\":100}"));
}

fn filled(count: usize) -> (Counters, String) {
    let counters = Counters::default();
    let members: Vec<String> = (0..count).map(|n| format!("{{\"name\":\"{n:06}\",\"value\":1}}")).collect();
    let server = serve(&counters, |_| {});
    let lines: Vec<String> = (0..count).map(|n| format!("1 {n:06}\n")).collect();
    let counted = server.ask(request("POST /counters", "", &lines.concat()));
    assert!(counted.ends_with(&format!("{{\"counted\":{count}}}\n")), "{counted}");
    (counters, format!("[{}]", members.join(",")))
}

#[test]
fn a_streamed_list_is_whole_and_the_connection_goes_on_behind_it() {
    let (counters, list) = filled(1000);
    let server = serve(&counters, |settings| settings.cors_origins = vec!["https://a.example".to_owned()]);
    for headers in WAYS {
        let mut wire = server.connect();
        let get = |path: &str| request(&format!("GET {path}"), headers, "");
        wire.send(format!(
            "{}{}{}{}",
            get("/counters/000007"),
            get("/counters"),
            get("/counters"),
            get("/counters/000008")
        ));
        assert!(wire.response().contains("000007"));
        assert_eq!(wire.chunked(), list);
        assert_eq!(wire.chunked(), list);
        assert!(wire.response().contains("000008"));
        wire.send(request("GET /counters", &format!("origin: https://a.example\r\n{headers}"), ""));
        let head = wire.until("\r\n\r\n");
        assert!(head.contains("access-control-allow-origin: https://a.example"), "{head}");
    }
    let handed_over = metric(&server, "prony_http_handovers_total{reason=\"resource\"}");
    assert_eq!(handed_over, 2, "the first of the lists, and the connection that asks for metrics");
}

#[test]
fn a_client_that_reads_slowly_gets_a_list_whole_and_holds_up_nobody() {
    let (counters, list) = filled(200_000);
    let server = serve(&counters, |settings| settings.cores = CoreChoice::Count(1));
    for headers in WAYS {
        let mut slow = server.connect();
        slow.send(request("GET /counters", headers, ""));
        for n in 0..20 {
            thread::sleep(Duration::from_millis(1));
            assert!(server.ask(get(&format!("/counters/{n:06}"))).starts_with("HTTP/1.1 200"));
        }
        assert!(slow.chunked() == list, "{headers}");
        let mut gone = server.connect();
        gone.send(request("GET /counters", headers, ""));
        gone.until("000001");
    }
    server.until_metric("prony_connections", 1);
}

#[test]
fn lines_are_counted_as_they_come_and_bodies_have_limits() {
    let counters = Counters::default();
    let server = serve(&counters, |settings| {
        settings.max_bulk_bytes = 100;
        settings.max_body_bytes = 20;
        settings.body_timeout = Duration::from_millis(300);
        settings.min_rate_bytes = 0;
    });
    let head = "POST /counters HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
    for (chunks, expected) in [
        (vec!["1 a\n2 ", "b\n", "3 a"], "HTTP/1.1 200 OK\ncontent-type: application/json\n{\"counted\":3}\n"),
        (
            vec!["1 c\n", "x c\n"],
            "HTTP/1.1 400 Bad Request\ncontent-type: application/json\nconnection: close\n\"1 lines were counted: `x c` is no count\"\n",
        ),
        (
            vec!["1 c\n", "1 dddddddddddddddddddddd"],
            "HTTP/1.1 400 Bad Request\ncontent-type: application/json\nconnection: close\n\"1 lines were counted: a line is longer than 20 bytes (max_body_bytes)\"\n",
        ),
        (
            vec!["1 eeeeeee\n"; 11],
            "HTTP/1.1 413 Payload Too Large\ncontent-type: application/json\nconnection: close\n\"10 lines were counted: the body is over the limit of 100 bytes (max_bulk_bytes)\"\n",
        ),
    ] {
        let mut wire = server.connect();
        wire.send(head);
        for chunk in chunks {
            wire.send(format!("{:x}\r\n{chunk}\r\n", chunk.len()));
            thread::sleep(Duration::from_millis(2));
        }
        wire.send("0\r\n\r\n");
        assert_eq!(wire.response(), expected);
    }
    let mut slow = server.connect();
    slow.send(format!("{head}4\r\n1 f\n\r\n"));
    let response = slow.response();
    assert!(response.starts_with("HTTP/1.1 408 Request Timeout"), "{response}");
    assert!(
        response.contains("1 lines were counted: nothing came for 300 ms (body_timeout_ms)"),
        "{response}"
    );
    assert!(server.ask(get("/counters/a")).contains("\"value\":4}"));
}

/// It never leaves the server without a line for as long as the timeout.
#[test]
fn a_body_that_comes_too_slowly_is_refused() {
    let server = serve(&Counters::default(), |settings| {
        settings.body_timeout = Duration::from_millis(400);
        settings.min_rate_bytes = 1 << 30;
    });
    let mut slow = server.connect();
    slow.send("POST /counters HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    for _ in 0..100 {
        // What comes behind the refusal may find no reader.
        let _ = slow.stream.write_all(b"4\r\n1 a\n\r\n");
        thread::sleep(Duration::from_millis(8));
    }
    let response = slow.response();
    assert!(response.starts_with("HTTP/1.1 408 Request Timeout"), "{response}");
    let message = "lines were counted: the body came at less than 1073741824 bytes a second (min_rate_bytes)";
    assert!(response.contains(message), "{response}");
}

#[test]
fn a_body_that_the_server_refuses_is_refused_in_the_words_of_the_api() {
    let server = serve(&Counters::default(), |settings| settings.max_body_bytes = 3);
    let expected = "HTTP/1.1 413 Payload Too Large\ncontent-type: application/json\nconnection: close\n\
        \"the body is over the limit of 3 bytes (max_body_bytes)\"\n";
    for headers in WAYS {
        assert_eq!(server.ask(request("POST /counters/a", headers, "1000")), expected);
    }
}

/// A page can have a form sent to any server, without being asked first.
#[test]
fn pages_of_other_origins_change_nothing() {
    let counters = Counters::default();
    let server = serve(&counters, |settings| settings.cors_origins = vec!["https://a.example".to_owned()]);
    for headers in WAYS {
        for (origin, expected) in [
            ("https://evil.example", 403),
            ("null", 403),
            ("http://localhost:1", 403),
            ("https://a.example", 201),
            ("http://localhost", 201),
        ] {
            let with_origin = format!("{headers}origin: {origin}\r\ncontent-type: text/plain\r\n");
            let before = server.ask(request("GET /counters/visits", "", ""));
            let response = server.ask(request("POST /counters/visits", &with_origin, "1"));
            assert!(response.starts_with(&format!("HTTP/1.1 {expected}")), "{origin}: {response}");
            let after = server.ask(request("GET /counters/visits", &with_origin, ""));
            assert_eq!(
                before.lines().last() == after.lines().last(),
                expected == 403,
                "{origin}: {before}{after}"
            );
        }
    }
}

/// As that of a page that its visitor's network can be reached from.
#[test]
fn a_server_that_others_reach_is_asked_for_by_the_names_that_it_was_given() {
    let counters = Counters::default();
    let listens_everywhere = |names: &[&str]| {
        serve(&counters, |settings| {
            settings.listen = vec!["0.0.0.0:0".parse().expect("it is an address")];
            settings.admin_listen = vec!["127.0.0.1:0".parse().expect("it is an address")];
            settings.open = true;
            settings.hosts = names.iter().copied().map(str::to_owned).collect();
        })
    };
    let (named, any) = (listens_everywhere(&["shop.example"]), listens_everywhere(&[]));
    for headers in WAYS {
        for (host, expected) in [("evil.example", 421), ("10.0.0.1:8080", 200), ("shop.example:8080", 200)] {
            // Its origin is its host, so that it would be one of ours.
            let request = |path| {
                format!("GET {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\n{headers}\r\n")
            };
            let response = named.ask(request("/counters"));
            assert!(response.starts_with(&format!("HTTP/1.1 {expected}")), "{host}: {response}");
            assert!(any.ask(request("/counters")).starts_with("HTTP/1.1 200"), "{host}");
            // Operators' addresses are of this machine alone, whatever others are.
            let mut operator = Wire::to(any.running.admin_addresses()[0]);
            operator.send(request("/live"));
            assert!(operator.response().starts_with("HTTP/1.1 421"), "{host}");
        }
    }
}

/// A name of a page that points to this machine.
#[test]
fn a_server_of_this_machine_is_not_asked_for_by_other_names() {
    let counters = Counters::default();
    let local = serve(&counters, |settings| settings.hosts = vec!["shop.example".to_owned()]);
    let any = serve(&counters, |settings| settings.hosts = vec!["*".to_owned()]);
    for headers in WAYS {
        for (host, expected) in
            [("", 421), ("evil.example", 421), ("127.0.0.1", 200), ("shop.example:8080", 200)]
        {
            let ask = |server: &Server| {
                server.ask(format!("GET /counters HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n"))
            };
            let response = ask(&local);
            assert!(response.starts_with(&format!("HTTP/1.1 {expected}")), "{host}: {response}");
            assert!(ask(&any).starts_with("HTTP/1.1 200"), "{host}");
        }
    }
    // Whose host is not clear is refused by all.
    for headers in WAYS {
        for hosts in
            ["", "host: localhost\r\nhost: evil.example\r\n", "host: localhost\r\nhost: localhost\r\n"]
        {
            let request = format!("GET /counters HTTP/1.1\r\n{hosts}{headers}\r\n");
            for server in [&local, &any] {
                let response = server.ask(&request);
                assert!(response.starts_with("HTTP/1.1 400") && response.contains("`host`"), "{response}");
            }
        }
    }
    let by_target = "GET http://evil.example/counters HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert!(local.ask(by_target).starts_with("HTTP/1.1 421"));
}
