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
fn worker(url: &str, output: &Path, stop: &StopFlag) -> JoinHandle<()> {
    let (nats, output, stop) = (nats(url), output.to_owned(), stop.clone());
    thread::spawn(move || {
        let settings = WorkerSettings {
            nats,
            name: "größe".to_owned(),
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

fn run_plan(plan: &Path, url: &str, options: RunOptions) -> Result<ResultFile, WorkersError> {
    let settings = CoordinatorSettings {
        nats: nats(url),
        terms: Terms { workers: 1, on_lost: OnWorkerLost::Continue, users: UserState::OfPlan },
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
    let worker = worker(&server.url(), folder.path(), &StopFlag::default());
    let plan = plan_file(folder.path(), &peer, "users = 2\niterations = 3\nmax_duration = \"30s\"");
    let result = run_plan(&plan, &server.url(), RunOptions::default()).unwrap();
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
    let worker = worker(&url, &folder.path().join("kept"), &of_worker);
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
    let result = run_plan(&plan, &url, RunOptions { stop, ..RunOptions::default() }).unwrap();
    let _peer = end.join().unwrap();
    assert_eq!(result.state, RunState::Stopped);
    assert!(result.window(WindowKind::Whole).unwrap().all.successes > 0);
    let reason = &result.workers[0].reason;
    assert!(reason.starts_with("the NATS server was not reached for "), "{reason}");
    wait_for("the end of the worker", || worker.is_finished());
    worker.join().unwrap();
}
