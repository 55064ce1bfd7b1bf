//! The observer of metrics against peers that the test scripts.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_observe::Observers;
use prony_testkit::peer::{ScriptedPeer, Step};
use std::time::{Duration, Instant};

fn answer(body: &str) -> Step {
    Step::Write(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

fn open(spec: String) -> Result<Observers, String> {
    Observers::open(&Observers::parse(&[spec]).unwrap()).map_err(|errors| errors[0].to_string())
}

#[test]
fn counters_become_rates_and_a_lost_endpoint_is_a_fault() {
    let body = |count| {
        format!(
            "# TYPE a counter\na_total {count}\nb_bytes 7\n# TYPE h summary\nh_sum {count}\nh_count {count}\n"
        )
    };
    let ask = |count| [Step::ReadRequest, answer(&body(count))];
    let peer = ScriptedPeer::start(vec![[ask(1), ask(5), ask(9)].concat(), vec![Step::Reset]]);
    let mut observers = open(format!("prom:{}/metrics", peer.url())).unwrap();
    observers.start(Instant::now());
    let begin = Instant::now();
    let seen = loop {
        let seen = observers.observations();
        if let Some(found) = seen.iter().find(|one| !one.faults.is_empty()) {
            break found.clone();
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{seen:#?}");
        std::thread::park_timeout(Duration::from_millis(20));
    };
    let names: Vec<_> = seen.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["b_bytes", "a_total a second", "h a second", "h mean"]);
    assert!((seen.series[3].points[0].1 - 1.0).abs() < 1e-9);
}

#[test]
fn what_cannot_be_asked_is_told_before_the_run() {
    let peer = ScriptedPeer::answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let error = open(format!("prom:http://bob:geheim@{}/m", peer.address())).unwrap_err();
    assert!(error.contains("status 404") && !error.contains("geheim"), "{error}");
}

#[test]
fn a_password_is_sent_without_the_escapes_of_its_url() {
    let body = "a 1\n";
    let peer =
        ScriptedPeer::answering(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    open(format!("prom:http://bob:p%40s@{}/m", peer.address())).unwrap();
    let received = String::from_utf8(peer.received(0)).unwrap();
    // `bob:p@s` in base64.
    assert!(received.contains("Basic Ym9iOnBAcw=="), "{received}");
}
