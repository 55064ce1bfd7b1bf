//! async-graphql with axum, built from `benches/peers/async-graphql`, on the same requests: over HTTP, and in process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};

use prony_server::Service;
use prony_server::examples::micro::{self, CASES, COLUMNS};
use prony_server::examples::music;
use prony_server::observe::allocations::allocations;
use prony_testkit::process::PronyProcess;

use crate::requests::{Request, Run, column};
use crate::statistics::{median, median_ratio, print_table};
use crate::subject::Subject;
use crate::{CONNECTIONS, ROUNDS, SECONDS, TARGET_CORE};

const DONUT: &str = "{ retrieveDonut(id: \"1\") { id name flavor } }";
const ARTISTS: &str =
    "{ artists(searchText: \"queen\") { id name records { id name } company { id name } } }";

pub(crate) fn beside_async_graphql() {
    let peer = build();
    in_process(&peer);
    over_http(&peer, "donuts", &Request::graphql("single object", DONUT, "{}"));
    over_http(&peer, "music", &Request::graphql("list with batch fields", ARTISTS, "{}"));
}

/// With the flags of a release build of our own, in a folder of its own.
fn build() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/async-graphql/Cargo.toml");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peer-async-graphql");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&folder)
        .status();
    assert!(built.is_ok_and(|status| status.success()), "cargo cannot build {}", manifest.display());
    folder.join("release/peer-async-graphql")
}

/// The lines of a program, by their first word.
fn lines(program: &Path, argument: &str) -> HashMap<String, String> {
    let output = Command::new("taskset").args(["-c", TARGET_CORE]).arg(program).arg(argument).output();
    let output = output.expect("taskset is installed");
    assert!(
        output.status.success(),
        "{} {argument}: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("it writes UTF-8");
    text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect()
}

/// From bytes to bytes; nothing in the example waits.
fn ask(service: &Service, request: &[u8]) -> Vec<u8> {
    match pin!(service.execute(request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("no function of the example is async"),
    }
}

/// A line of figures for each case, as the peer prints them.
pub(crate) fn print_functions() {
    let service = Service::new(music::functions()).expect("the example is sound");
    let ask = |request: &[u8]| ask(&service, request);
    let subject = micro::Subject { ask: &ask, allocations };
    for case in &CASES {
        println!("{} {}", case.name, subject.row(case).join(" "));
    }
}

fn in_process(peer: &Path) {
    check_answers(peer);
    let us = std::env::current_exe().expect("a process knows its program");
    let rounds: Vec<[HashMap<String, String>; 2]> =
        (0..ROUNDS).map(|_| [lines(peer, "functions"), lines(&us, "functions")]).collect();
    let middle = |side: usize, case: &str, at: usize| {
        let values = rounds.iter().filter_map(|round| round[side][case].split(' ').nth(at)?.parse().ok());
        median(&values.collect::<Vec<f64>>())
    };
    println!("In process, from bytes to bytes, medians of {ROUNDS} rounds in turn\n");
    let mut rows = vec![["request", "", "async-graphql", "Prony", "ratio"].map(str::to_owned).to_vec()];
    for case in &CASES {
        for (at, what) in COLUMNS.iter().enumerate() {
            let (theirs, ours) = (middle(0, case.name, at), middle(1, case.name, at));
            rows.push(vec![
                case.name.to_owned(),
                (*what).to_owned(),
                theirs.to_string(),
                ours.to_string(),
                format!("{:.2}", theirs / ours),
            ]);
        }
    }
    print_table(&rows);
}

/// Both answer the same, introspection apart, whose schemas differ in what is described.
fn check_answers(peer: &Path) {
    let theirs = lines(peer, "answers");
    let service = Service::new(music::functions()).expect("the example is sound");
    for case in CASES.iter().filter(|case| case.name != "introspection") {
        let ours = String::from_utf8(ask(&service, &case.request(None))).expect("JSON is UTF-8");
        assert_eq!(theirs[case.name], ours, "{}", case.name);
    }
}

/// The peer, on whichever of tokio's runtimes answers more of the request.
fn faster(peer: &Path, example: &str, request: &Request) -> (&'static str, PronyProcess, String) {
    let tried = ["current", "multi"].map(|runtime| {
        let (process, url) = serve(peer, example, runtime);
        let rate = request.run(&url, process.id()).per_s;
        (rate, runtime, process, url)
    });
    let best = tried.into_iter().max_by(|one, other| one.0.total_cmp(&other.0)).expect("two were tried");
    (best.1, best.2, best.3)
}

fn serve(peer: &Path, example: &str, runtime: &str) -> (PronyProcess, String) {
    let program = peer.display().to_string();
    let mut process =
        PronyProcess::start("taskset", ["-c", TARGET_CORE, &program, "serve", example, runtime]);
    let url = process.wait_for_url();
    (process, url)
}

fn over_http(peer: &Path, example: &str, request: &Request) {
    let ours = Subject::example(example, &["--cpus", "1"], Some(TARGET_CORE));
    let (runtime, theirs, their_url) = faster(peer, example, request);
    assert_eq!(request.answer(&their_url), request.answer(&ours.url));
    println!(
        "{}: wrk, {CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS} s in turn, a processor each; \
         the peer on tokio's {runtime} runtime, on which it was faster\n",
        request.name
    );
    let mut runs: [Vec<Run>; 2] = Default::default();
    for _ in 0..ROUNDS {
        runs[0].push(request.run(&their_url, theirs.id()));
        runs[1].push(request.run(&ours.url, ours.pid()));
    }
    let rates = runs.each_ref().map(|runs| column(runs, |run| run.per_s));
    let costs = runs.each_ref().map(|runs| column(runs, |run| run.server_us));
    let head = ["", "async-graphql/s", "Prony/s", "ratio", "async-graphql, µs CPU", "Prony, µs CPU", "ratio"];
    let row = [
        request.name.to_owned(),
        format!("{:.0}", median(&rates[0])),
        format!("{:.0}", median(&rates[1])),
        format!("{:.2}", median_ratio(&rates[1], &rates[0])),
        format!("{:.2}", median(&costs[0])),
        format!("{:.2}", median(&costs[1])),
        format!("{:.2}", median_ratio(&costs[1], &costs[0])),
    ];
    print_table(&[head.map(str::to_owned).to_vec(), row.to_vec()]);
}
