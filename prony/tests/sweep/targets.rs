//! Targets that commands start and stop, with settings of their own and a log of collections.

use super::Trial;
use std::net::TcpStream;

/// The example that stands behind a gateway, with what a JVM would log of collections: half of the heap is left of each.
fn start(port: u16) -> String {
    let prony = env!("CARGO_BIN_EXE_prony");
    format!(
        "--target-start=printf '[0.005s][info][gc] Using G1\\n' > gc-{{heap}}.log; \
         (while sleep 0.05; do printf '[%s][gc] GC(1) Pause Full (System.gc()) {{heap}}->{{left}}({{heap}}) 1.000ms\\n' \
         \"$(date +%Y-%m-%dT%H:%M:%S.%3N%z)\" >> gc-{{heap}}.log; done) & \
         exec {prony} example starwars --listen 127.0.0.1:{port}"
    )
}

#[test]
fn a_sweep_over_heaps_starts_and_stops_the_target_and_reads_its_collections() {
    let trial = Trial::new();
    let port = prony_testkit::free_port();
    let url = format!("http://127.0.0.1:{port}/health");
    let start = start(port);
    let swept = trial.demand(&[
        &url,
        "--users=1,2",
        "--set=target.heap=64M,256M",
        "--set=target.left=32M",
        &start,
        "--gc-log=gc-{heap}.log",
        "--server=Star Wars",
    ]);
    assert_eq!(swept.column("Heap Size"), ["64M", "64M", "256M", "256M"]);
    assert_eq!(swept.column("target.left"), ["32M"; 4]);
    assert_eq!(swept.column("Star Wars Memory Footprint (M)"), ["64.00", "64.00", "256.00", "256.00"]);
    assert_eq!(swept.column("Average Star Wars Memory Footprint After Full GC (M)"), ["32.00"; 4]);
    assert_eq!(
        swept.column("Standard Deviation of Star Wars Memory Footprint After Full GC (M)"),
        ["0.00"; 4]
    );
    for throughput in swept.column("Star Wars GC Throughput (%)") {
        let throughput: f64 = throughput.parse().unwrap();
        assert!((50.0..100.0).contains(&throughput), "{throughput}");
    }
    assert_eq!(swept.files(".gc.log").len(), 4);
    assert_eq!(swept.files(".target.log").len(), 4);
    let page = swept.text("report.html");
    assert!(page.contains("GC throughput"));
    TcpStream::connect(("127.0.0.1", port)).unwrap_err();
}

#[test]
fn a_target_that_is_there_before_or_never_comes_is_told() {
    let trial = Trial::new();
    let there = trial.sweep(&[&trial.peer.url(), "--users=1", "--target-start=sleep 60"]);
    assert_eq!(there.code, Some(2));
    assert!(there.error.contains("can be connected to before the target was started"), "{}", there.error);
    let url = format!("http://127.0.0.1:{}/", prony_testkit::free_port());
    let waits = ["--target-start=echo still loading; sleep 60", "--target-wait=300ms"];
    let never = trial.sweep(&[&[url.as_str(), "--users=1"], &waits[..]].concat());
    assert_eq!(never.code, Some(2));
    assert!(never.error.contains("raise --target-wait"), "{}", never.error);
    assert!(never.error.contains("still loading"), "{}", never.error);
}

/// What a command leaves behind it needs another to stop it.
#[test]
fn a_command_stops_what_another_left_running() {
    let trial = Trial::new();
    let port = prony_testkit::free_port();
    let url = format!("http://127.0.0.1:{port}/health");
    let prony = env!("CARGO_BIN_EXE_prony");
    let start =
        format!("--target-start=setsid {prony} example starwars --listen 127.0.0.1:{port} & echo $! > pid");
    let swept = trial.demand(&[&url, "--users=1,2", &start, "--target-stop=kill $(cat pid)"]);
    assert_eq!(swept.column("Concurrent Users"), ["1", "2"]);
    TcpStream::connect(("127.0.0.1", port)).unwrap_err();
}
