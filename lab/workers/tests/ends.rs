//! How workers and coordinators come to their end: after a run, and where the server does not come back.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_load::{RunOptions, read_plan};
use prony_model::program::StopFlag;
use prony_model::result::RunState;
use prony_model::{ResultFile, WindowKind};
use prony_testkit::NatsServer;
use prony_testkit::peer::ScriptedPeer;
use prony_workers::{
    Bundle, CoordinatorSettings, Kinds, NatsSettings, OnWorkerLost, PLANS, Terms, UserState, WorkerSettings,
    WorkersError, coordinate, serve,
};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
static KINDS: Kinds = &[&PLANS];
const PATIENCE: Duration = Duration::from_secs(60);

fn nats(url: &str) -> NatsSettings {
    NatsSettings { url: url.to_owned(), ..NatsSettings::default() }
}

/// On a thread of its own, for one run.
fn worker(url: &str, name: &str, output: &Path, stop: &StopFlag) -> JoinHandle<()> {
    let (nats, name, output, stop) = (nats(url), name.to_owned(), output.to_owned(), stop.clone());
    thread::spawn(move || {
        let settings = WorkerSettings {
            nats,
            name,
            labels: BTreeMap::new(),
            threads: NonZeroUsize::MIN,
            kinds: KINDS,
            output,
            is_for_one_run: true,
            tell: Box::new(|_| {}),
        };
        serve(settings, &stop).unwrap();
    })
}

fn plan_file(folder: &Path, peer: &ScriptedPeer, load: &str) -> PathBuf {
    let path = folder.join("plan.toml");
    let text = format!("target = \"{}\"\nrequests = [{{ path = \"/\" }}]\n{load}\n", peer.url());
    fs::write(&path, text).unwrap();
    path
}

/// By so many workers.
fn run_plan(plan: &Path, url: &str, workers: u32, options: RunOptions) -> Result<ResultFile, WorkersError> {
    let on_lost = if workers > 1 { OnWorkerLost::Respread } else { OnWorkerLost::Continue };
    let settings = CoordinatorSettings {
        nats: nats(url),
        terms: Terms { workers, on_lost, users: UserState::OfPlan },
        wait: Duration::from_secs(20),
        tell: Box::new(|_| {}),
    };
    coordinate(&read_plan(plan).unwrap(), &Bundle::of_plan(plan).unwrap(), settings, options)
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_worker_for_one_run_ends_after_it() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let worker = worker(&server.url(), "größe", folder.path(), &StopFlag::default());
    let plan = plan_file(folder.path(), &peer, "users = 2\niterations = 3\nmax_duration = \"30s\"");
    let result = run_plan(&plan, &server.url(), 1, RunOptions::default()).unwrap();
    assert_eq!(result.window(WindowKind::Whole).unwrap().all.successes, 6);
    wait_for("the end of the worker", || worker.is_finished());
    worker.join().unwrap();
}

/// The server is gone for good, as are its workers for the coordinator: what came until then is the result.
#[test]
fn a_run_is_ended_by_hand_while_the_server_is_gone() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let (url, of_worker, stop) = (server.url(), StopFlag::default(), StopFlag::default());
    let worker = worker(&url, "größe", &folder.path().join("kept"), &of_worker);
    let plan = plan_file(folder.path(), &peer, "rate = 40\nduration = \"300s\"\nusers = 10");
    let (ends, stopped) = (stop.clone(), of_worker.clone());
    let end = thread::spawn(move || {
        wait_for("a request", || peer.connections() > 0);
        thread::sleep(Duration::from_millis(2_500));
        drop(server);
        stopped.stop();
        ends.stop();
        peer
    });
    let result = run_plan(&plan, &url, 1, RunOptions { stop, ..RunOptions::default() }).unwrap();
    let _peer = end.join().unwrap();
    assert_eq!(result.state, RunState::Stopped);
    assert!(result.window(WindowKind::Whole).unwrap().all.successes > 0);
    let reason = &result.workers[0].reason;
    assert!(reason.starts_with("the NATS server was not reached for "), "{reason}");
    wait_for("the end of the worker", || worker.is_finished());
    worker.join().unwrap();
}

/// First one of three is stopped, and then one of the two that have its share.
#[test]
fn a_taker_that_is_stopped_on_its_machine_is_taken_over_in_turn() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let (url, kept) = (server.url(), folder.path().join("kept"));
    let workers = ["a", "b", "c"].map(|name| {
        let stop = StopFlag::default();
        (worker(&url, name, &kept, &stop), stop)
    });
    let plan = plan_file(folder.path(), &peer, "rate = 60\nduration = \"34s\"\nusers = 12");
    let (stop_b, stop_c) = (workers[1].1.clone(), workers[2].1.clone());
    let has_begun = move || {
        let files = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path());
        let mut own = files.filter(|path| path.to_string_lossy().contains("b_for_c"));
        own.any(|path| fs::read_to_string(path).unwrap_or_default().contains("\"second\":"))
    };
    let end = thread::spawn(move || {
        wait_for("a request", || peer.connections() > 0);
        thread::sleep(Duration::from_millis(2_500));
        stop_c.stop();
        wait_for("a second of a taker", has_begun);
        stop_b.stop();
        peer
    });
    let result = run_plan(&plan, &url, 3, RunOptions::default()).unwrap();
    let _peer = end.join().unwrap();
    let names: Vec<_> = result.workers.iter().map(|worker| worker.name.as_str()).collect();
    for name in ["b", "c", "b for c"] {
        let worker = result.workers.iter().find(|worker| worker.name == name).unwrap();
        assert!(worker.is_lost() && worker.taken_over_from.is_some(), "{name} of {names:?}");
    }
    assert!(names.contains(&"a for b for c"), "{names:?}");
    assert_eq!(result.series.last().unwrap().workers_missing, 0);
    for (worker, stop) in workers {
        stop.stop();
        worker.join().unwrap();
    }
}
