//! Collectors in trouble, and the end of the server: no request waits, what is lost is counted, what can be sent is sent.

use std::{
    fs,
    net::TcpListener,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{
    Certificates, PronyProcess, SecurePeer, SecurePeerOptions,
    chinook::sqlite_copy,
    secure_peer::{Listen, ServerTls, Speaks},
};
use serde_json::json;

use super::{
    Server,
    collector::{Collector, PATIENCE, SUCCESS},
    is_server, with_database,
};

const QUERY: &str = "{ artists(limit: 1) { Name } }";

fn ask(server: &Server) {
    let response = server.graphql("", QUERY, &json!({}));
    assert!(response.contains("AC/DC"), "{response}");
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn dropped(server: &Server, reason: &str) -> u64 {
    server.metric(&format!("prony_trace_spans_dropped_total{{reason=\"{reason}\"}}"))
}

#[test]
fn a_collector_that_is_down_is_said_once_and_gets_what_waits_when_it_comes() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let config = with_database(&database, &collector, "", "");
    let address = collector.address;
    drop(collector);
    let mut server = Server::configured(&config);
    ask(&server);
    until("several attempts have failed", || server.metric("prony_trace_export_failures_total") >= 2);
    ask(&server);
    let collector = Collector::responding(address, Vec::new());
    until("both have come", || collector.spans().iter().filter(|span| is_server(span)).count() == 2);
    server.process.wait_for_text("traces are sent again");
    assert_eq!(dropped(&server, "collector") + dropped(&server, "queue"), 0);
    until("they are counted", || server.metric("prony_trace_spans_sent_total") >= 2);
    let log = server.process.stop().stderr;
    assert_eq!(log.matches("traces cannot be sent").count(), 1, "{log}");
}

#[test]
fn statuses_that_pass_are_tried_again_and_others_are_not() {
    let respond = |status: &str, more: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{more}content-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    // ExportTraceServiceResponse { partial_success: { rejected_spans: 2, error_message: "full" } }
    let partial = b"\x0a\x08\x08\x02\x12\x04full";
    let responses = vec![
        respond("503 Service Unavailable", "retry-after: 0\r\n", b""),
        respond("429 Too Many Requests", "retry-after: 0\r\n", b""),
        respond("200 OK", "", partial),
        respond("400 Bad Request", "", b"no such tenant"),
    ];
    let collector = Collector::responding("127.0.0.1:0".parse().expect("it is an address"), responses);
    let database = sqlite_copy();
    let mut server = Server::configured(&with_database(&database, &collector, "", ""));
    ask(&server);
    until("it has come in the end", || collector.exports().len() == 1);
    until("two spans were rejected", || dropped(&server, "collector") == 2);
    let spans = collector.spans().len() as u64;
    until("the others are counted as sent", || server.metric("prony_trace_spans_sent_total") == spans - 2);
    assert_eq!(server.metric("prony_trace_export_failures_total"), 2);
    ask(&server);
    until("what is refused is not tried again", || dropped(&server, "collector") == 2 + spans);
    ask(&server);
    until("the next one comes", || collector.exports().len() == 2);
    server.process.wait_for_text("traces are sent again");
    let log = server.process.stop().stderr;
    assert!(log.contains("status 503"), "{log}");
}

#[test]
fn what_finds_no_room_is_dropped_and_no_request_waits() {
    // It accepts connections and never reads.
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let database = sqlite_copy();
    let config = format!(
        "[traces]\nendpoint = \"http://{address}\"\nbatch_delay_ms = 1\nmax_queued_spans = 20\n[server]\ngrace_ms = 1500\n\
         [[source]]\nurl = \"sqlite:{}\"\n",
        database.path().display()
    );
    let server = Server::configured(&config);
    for _ in 0..20 {
        ask(&server);
    }
    assert!(dropped(&server, "queue") > 0);
    let begun = Instant::now();
    let finished = server.process.stop();
    assert_eq!(finished.status.code(), Some(0));
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "the end waits for the collector no longer than its grace"
    );
    assert!(finished.stderr.contains("the last traces are lost"), "{}", finished.stderr);
    drop(listener);
}

#[test]
fn what_waits_is_sent_before_the_end() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let config = with_database(&database, &collector, "", "")
        .replace("batch_delay_ms = 20", "batch_delay_ms = 3600000");
    let server = Server::configured(&config);
    (0..3).for_each(|_| ask(&server));
    assert!(collector.exports().is_empty(), "they wait for others");
    let finished = server.process.stop();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    assert_eq!(collector.exports().len(), 1);
    assert_eq!(collector.spans().iter().filter(|span| is_server(span)).count(), 3);
}

#[test]
fn the_variables_of_opentelemetry_count_where_nothing_else_is_said() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let config = format!("[[source]]\nurl = \"sqlite:{}\"\n", database.path().display());
    let url = format!("{}/base/", collector.url());
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
        ("OTEL_SERVICE_NAME", "of the environment"),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
    ];
    let server = Server::with_environment(&config, &environment);
    ask(&server);
    server.process.stop();
    let [export] = &collector.exports()[..] else {
        panic!("one request is expected: {:?}", collector.exports())
    };
    assert!(
        export.head.starts_with("post /base/v1/traces ") && export.head.contains("x-key: a b"),
        "{}",
        export.head
    );
    assert_eq!(export.resource["service.name"], "of the environment");
    collector.forget();
    let disabled = [&environment[..], &[("OTEL_SDK_DISABLED", "true")]].concat();
    let server = Server::with_environment(&config, &disabled);
    ask(&server);
    let metrics = server.send("GET /metrics", "", "");
    assert!(!metrics.contains("prony_trace_spans"), "{metrics}");
    server.process.stop();
    assert!(collector.exports().is_empty());
}

#[test]
fn a_collector_of_an_own_authority_is_trusted_by_its_file() {
    let (certificates, database) = (Certificates::new(), sqlite_copy());
    let (listen, tls) = (Listen::Tcp([127, 0, 0, 1].into()), ServerTls::of(&certificates, &[]));
    let speaks = Speaks::Http1(SUCCESS.to_vec());
    let collector = SecurePeer::start(SecurePeerOptions { listen, tls: Some(tls), speaks });
    let config = |more: &str| {
        format!(
            "[traces]\nendpoint = \"{}\"\nbatch_delay_ms = 20\n{more}\n[[source]]\nurl = \"sqlite:{}\"\n",
            collector.url(),
            database.path().display()
        )
    };
    let authority = certificates.ca_path();
    let authority = authority.to_str().expect("paths of temporary files are text");
    let by_option = Server::configured(&config(&format!("ca_file = {authority:?}")));
    let by_variable = Server::with_environment(&config(""), &[("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)]);
    for server in [by_option, by_variable] {
        ask(&server);
        until("it is sent", || server.metric("prony_trace_spans_sent_total") >= 1);
        assert_eq!(server.metric("prony_trace_export_failures_total"), 0);
    }
    let mut server = Server::configured(&config(""));
    ask(&server);
    server.process.wait_for_text("traces cannot be sent");
    assert_eq!(server.metric("prony_trace_spans_sent_total"), 0, "this machine does not trust it");
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("prony.toml");
    fs::write(&path, config("ca_file = \"nowhere.pem\"")).expect("the file can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&path).current_dir(directory.path());
    let finished = PronyProcess::start_command(command).wait();
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("traces cannot be sent: cannot read nowhere.pem"),
        "{}",
        finished.stderr
    );
}
