//! Runs on several workers over a NATS server of the test's own: what is shared out, what comes back, and what is lost when a worker,
//! the coordinator or the server goes away. Workers that die are processes of this test program; counts only, never timings.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_load::{Output, RunOptions, read_plan};
use prony_model::program::{RunControl, StopFlag};
use prony_model::result::RunState;
use prony_model::verdict::finding::FindingKind;
use prony_model::{Nanos, ResultFile, WindowKind};
use prony_testkit::NatsServer;
use prony_testkit::peer::{ScriptedPeer, Step};
use prony_workers::{
    Bundle, CoordinatorSettings, Kinds, LocalServer, Merge, NatsSettings, OnWorkerLost, PLANS, Recruited,
    Terms, UserState, WorkerSettings, WorkersError, coordinate, merge, serve,
};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
static KINDS: Kinds = &[&PLANS];
const PATIENCE: Duration = Duration::from_secs(60);
/// Of a process that is a part of a test: what it does, the server, its folder, its name or plan.
const PART: &str = "PRONY_TEST_PART";

fn nats(url: &str) -> NatsSettings {
    NatsSettings { url: url.to_owned(), ..NatsSettings::default() }
}

fn worker_settings(url: &str, name: &str, output: &Path) -> WorkerSettings {
    WorkerSettings {
        nats: nats(url),
        name: name.to_owned(),
        labels: BTreeMap::from([("zone".to_owned(), "ä".to_owned())]),
        threads: NonZeroUsize::new(2).unwrap(),
        kinds: KINDS,
        output: output.to_owned(),
        is_for_one_run: false,
        tell: Box::new(|_| {}),
    }
}

/// Workers in threads of the test.
struct Workers {
    stop: StopFlag,
    threads: Vec<JoinHandle<()>>,
    folder: TempDir,
}

impl Workers {
    fn start(url: &str, names: &[&str]) -> Self {
        let (stop, folder) = (StopFlag::default(), tempfile::tempdir().unwrap());
        let start = |name: &&str| {
            let (url, name, stop) = (url.to_owned(), (*name).to_owned(), stop.clone());
            let output = folder.path().to_owned();
            thread::spawn(move || serve(worker_settings(&url, &name, &output), &stop).unwrap())
        };
        let threads = names.iter().map(start).collect();
        Self { stop, threads, folder }
    }

    fn kept(&self) -> Vec<PathBuf> {
        kept(self.folder.path())
    }

    fn stop(self) {
        self.stop.stop();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".worker.jsonl"));
    files.sort_unstable();
    files
}

fn plan_file(folder: &Path, peer: &ScriptedPeer, load: &str) -> PathBuf {
    let rows: Vec<String> = (0..20).map(|row| format!("kunde-{:x}", row * 7919 + 13)).collect();
    fs::write(folder.join("rows.csv"), format!("id\n{}\n", rows.join("\n"))).unwrap();
    let path = folder.join("plan.toml");
    let target = peer.url();
    let text = format!(
        "target = \"{target}\"\n{load}\n[variables]\nrow = {{ csv = \"rows.csv\", order = \"unique\" }}\n\
         [[requests]]\nname = \"one of them\"\npath = \"/x?id=${{row.id}}\"\n"
    );
    fs::write(&path, text).unwrap();
    path
}

/// Without rows, so that it goes on as long as it is asked to.
fn endless_plan(folder: &Path, target: &str, load: &str) -> PathBuf {
    let path = folder.join("endless.toml");
    let text = format!("target = \"{target}\"\nrequests = [{{ path = \"/\" }}]\n{load}\n");
    fs::write(&path, text).unwrap();
    path
}

struct Run {
    result: Result<ResultFile, WorkersError>,
    told: Vec<String>,
}

fn coordinator(
    url: &str,
    workers: u32,
    on_lost: OnWorkerLost,
    told: &Arc<Mutex<Vec<String>>>,
) -> CoordinatorSettings {
    let told = Arc::clone(told);
    CoordinatorSettings {
        nats: nats(url),
        terms: Terms { workers, on_lost, users: UserState::OfPlan },
        wait: Duration::from_secs(20),
        tell: Box::new(move |text| told.lock().unwrap().push(text.to_owned())),
    }
}

fn run_plan(plan: &Path, url: &str, workers: u32, on_lost: OnWorkerLost, options: RunOptions) -> Run {
    let told = Arc::default();
    let settings = coordinator(url, workers, on_lost, &told);
    let read = read_plan(plan).unwrap();
    let result = Bundle::of_plan(plan).and_then(|bundle| coordinate(&read, &bundle, settings, options));
    let told = told.lock().unwrap().clone();
    Run { result, told }
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        thread::sleep(Duration::from_millis(20));
    }
}

fn successes(result: &ResultFile) -> u64 {
    result.window(WindowKind::Whole).unwrap().all.successes
}

fn has(result: &ResultFile, kind: FindingKind) -> bool {
    result.findings.iter().any(|finding| finding.kind == kind)
}

/// The seconds of the series together.
fn counted(result: &ResultFile) -> u64 {
    result.series.iter().map(|row| row.successes).sum()
}

#[test]
fn rows_and_iterations_are_shared_out_without_a_loss() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let workers = Workers::start(&server.url(), &["größer", "b", "b"]);
    let plan = plan_file(folder.path(), &peer, "users = 5\niterations = 4\nmax_duration = \"30s\"");
    let output = folder.path().join("results/r.prony.json");
    let options = RunOptions { output: Output::File(output.clone()), ..RunOptions::default() };
    let Run { result, told } = run_plan(&plan, &server.url(), 3, OnWorkerLost::Continue, options);
    let result = result.unwrap();
    assert_eq!(
        (successes(&result), counted(&result), result.state),
        (20, 20, RunState::Completed),
        "{told:?}"
    );
    let seen: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    let seen = String::from_utf8(seen).unwrap();
    let rows: Vec<_> = seen.lines().filter_map(|line| line.split_once("?id=")?.1.split(' ').next()).collect();
    assert_eq!((rows.len(), rows.iter().collect::<BTreeSet<_>>().len()), (20, 20), "each row once: {rows:?}");
    let mut names: Vec<_> = result.workers.iter().map(|worker| worker.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["b", "b-2", "größer"]);
    assert_eq!(result.workers.iter().map(|worker| worker.users).sum::<u32>(), 5);
    assert!(result.workers.iter().all(|worker| worker.labels["zone"] == "ä" && worker.lab.is_some()));
    assert!(!has(&result, FindingKind::WorkerLost) && !has(&result, FindingKind::WorkersDiffer));
    let text = fs::read_to_string(&output).unwrap();
    // As texts: a number with decimals that is read may differ in its last digit.
    assert_eq!(text.trim_end(), serde_json::to_string(&result).unwrap());
    wait_for("the end of what was kept", || workers.kept().is_empty());
    workers.stop();
}

#[test]
fn a_rate_is_the_same_on_three_workers_and_they_work_again() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let workers = Workers::start(&server.url(), &["a", "b", "c"]);
    for spacing in ["even", "poisson"] {
        let load = format!("rate = 97\nspacing = \"{spacing}\"\nduration = \"2s\"\nusers = 30\nseed = 7");
        let plan = endless_plan(folder.path(), &peer.url(), &load);
        let run = run_plan(&plan, &server.url(), 3, OnWorkerLost::Continue, RunOptions::default());
        let options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() };
        let alone = prony_load::run(&read_plan(&plan).unwrap(), options).unwrap();
        let starts = |result: &ResultFile| result.windows.last().unwrap().by_scenario[0].starts.due;
        assert_eq!(starts(&run.result.unwrap()), starts(&alone), "{spacing}");
    }
    workers.stop();
}

#[test]
fn what_cannot_be_shared_out_is_refused_with_the_reason() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let plan = endless_plan(folder.path(), &peer.url(), "users = 2\nduration = \"1s\"");
    let refused = |plan: &Path, url: &str, workers| {
        let mut settings = coordinator(url, workers, OnWorkerLost::End, &Arc::default());
        settings.wait = Duration::from_millis(700);
        let read = read_plan(plan).unwrap();
        let bundle = Bundle::of_plan(plan).unwrap();
        coordinate(&read, &bundle, settings, RunOptions::default()).unwrap_err().to_string()
    };
    assert!(refused(&plan, &server.url(), 3).starts_with("3 workers cannot share 2 users"));
    assert!(refused(&plan, &server.url(), 0).starts_with("0 workers are not between 1 and 1000"));
    // Before anybody is asked, even for the server.
    assert!(refused(&plan, "nats://127.0.0.1:1", 3).starts_with("3 workers cannot share 2 users"));
    let none = refused(&plan, &server.url(), 2);
    assert!(none.starts_with("only 0 of 2 workers came within 0 s; start more with"), "{none}");
    let nowhere = refused(&plan, "nats://me:secret@127.0.0.1:1", 1);
    assert!(nowhere.starts_with("cannot connect to the NATS server nats://127.0.0.1:1: "), "{nowhere}");
    assert!(nowhere.ends_with("the address of --nats is right and that nothing is in the way"), "{nowhere}");
    let missing = LocalServer::start(Path::new("/nowhere/nats-server")).unwrap_err().to_string();
    assert!(missing.contains("install nats-server"), "{missing}");
}

#[test]
fn a_server_of_its_own_is_there_as_long_as_it_is_held() {
    let local = LocalServer::start(&prony_testkit::nats::program()).unwrap();
    let (_, address) = local.url().rsplit_once('@').unwrap();
    let address = address.to_owned();
    assert!(std::net::TcpStream::connect(&address).is_ok());
    drop(local);
    assert!(std::net::TcpStream::connect(&address).is_err());
}

#[test]
fn a_server_that_restarts_leaves_a_gap_in_the_view_and_none_in_the_result() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let (url, port) = (server.url(), server.port());
    let workers = Workers::start(&url, &["a", "b"]);
    let plan = endless_plan(folder.path(), &peer.url(), "rate = 50\nduration = \"8s\"\nusers = 10");
    let restart = thread::spawn(move || {
        wait_for("a request", || peer.connections() > 0);
        thread::sleep(Duration::from_secs(2));
        drop(server);
        thread::sleep(Duration::from_secs(2));
        (NatsServer::start_at(port), peer)
    });
    let Run { result, told } = run_plan(&plan, &url, 2, OnWorkerLost::Continue, RunOptions::default());
    let result = result.unwrap();
    assert_eq!(
        (successes(&result), counted(&result), result.state),
        (400, 400, RunState::Completed),
        "{told:?}"
    );
    assert!(!has(&result, FindingKind::WorkerLost), "{told:?}");
    assert!(told.iter().any(|text| text.contains("is reached again")), "{told:?}");
    assert!(result.series.iter().all(|row| row.workers_missing == 0));
    let _server = restart.join().unwrap();
    workers.stop();
}

// ---- processes

/// Does nothing unless it is started as a part of another test.
#[test]
fn part_of_another_test() {
    let Ok(part) = env::var(PART) else { return };
    let words: Vec<_> = part.split('|').collect();
    match words.as_slice() {
        ["worker", url, folder, name] => {
            serve(worker_settings(url, name, Path::new(folder)), &StopFlag::default()).unwrap();
        }
        ["coordinator", url, workers, plan] => {
            let (workers, on_lost) = match *workers {
                "2" => (2, OnWorkerLost::Continue),
                _ => (3, OnWorkerLost::Respread),
            };
            run_plan(Path::new(plan), url, workers, on_lost, RunOptions::default());
        }
        _ => panic!("`{part}` is no part of a test"),
    }
}

/// Killed when it is dropped.
struct Part(Child);

impl Part {
    fn start(words: [&str; 4]) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "part_of_another_test"]).env(PART, words.join("|"));
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// It does nothing more, and is there all the same.
    fn hang(&self) {
        let id = Pid::from_child(&self.0);
        kill_process(id, Signal::STOP).unwrap();
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A worker that is killed under load, and what becomes of the run.
fn killed(on_lost: OnWorkerLost) -> Run {
    killed_of(on_lost, &["stays"], "rate = 40\nduration = \"18s\"\nusers = 10")
}

/// The same beside these workers.
fn killed_of(on_lost: OnWorkerLost, stay: &[&str], load: &str) -> Run {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let workers = Workers::start(&server.url(), stay);
    let mut dies = Part::start(["worker", &server.url(), &folder.path().display().to_string(), "dies"]);
    let plan = endless_plan(folder.path(), &peer.url(), load);
    let kill = thread::spawn(move || {
        wait_for("a request", || peer.connections() > 0);
        thread::sleep(Duration::from_millis(2_500));
        dies.kill();
        peer
    });
    let run = run_plan(&plan, &server.url(), stay.len() as u32 + 1, on_lost, RunOptions::default());
    let _peer = kill.join().unwrap();
    workers.stop();
    run
}

/// Both scenarios, open and closed: two of three take over, each a part.
#[test]
fn the_share_of_a_worker_that_died_is_taken_over_by_the_others() {
    let load = "[[scenarios]]\nname = \"rate\"\n\
                rate = 60\nusers = 11\nduration = \"20s\"\n[[scenarios]]\nname = \"closed\"\nusers = 7\nthink_time = \"50ms\"\nduration = \"20s\"\n";
    let Run { result, told } = killed_of(OnWorkerLost::Respread, &["größer", "b"], load);
    let result = result.unwrap();
    assert_eq!(result.state, RunState::Completed, "{told:?}");
    let lost = result.workers.iter().find(|worker| worker.name == "dies").unwrap();
    let from = lost.taken_over_from.unwrap_or_else(|| panic!("{told:?}"));
    let takers: Vec<_> = result.workers.iter().filter(|worker| worker.takes_over.is_some()).collect();
    assert_eq!(takers.iter().map(|taker| taker.users).sum::<u32>(), lost.users, "{told:?}");
    for name in ["größer for dies", "b for dies"] {
        assert!(takers.iter().any(|taker| taker.name == name && taker.from_second == from), "{told:?}");
    }
    let missing: Vec<_> =
        result.series.iter().filter(|row| row.workers_missing == 1).map(|row| row.second).collect();
    let first = missing[0];
    assert_eq!(missing, (first..from).collect::<Vec<_>>(), "the share is missing until it is taken over");
    assert!(result.series.iter().all(|row| row.workers_missing < 2));
    // All starts are there but those of the missing seconds, and from then on all users, none of them twice.
    let number = result.workers.iter().position(|worker| worker.name == "dies").unwrap() as u64;
    let is_missing = |start: &u64| start % 11 % 3 == number && (first * 60..from * 60).contains(start);
    let expected = (0..20 * 60).filter(|start| !is_missing(start)).count() as u64;
    let due = result.window(WindowKind::Whole).unwrap().by_scenario[0].starts.due;
    // A start on the border of two seconds is in one of them.
    assert!(due.abs_diff(expected) <= 2, "{due} starts were due, not {expected}: {told:?}");
    let rows: Vec<_> = result.series.iter().filter(|row| (from + 1..19).contains(&row.second)).collect();
    assert!(rows.len() > 1, "{from} {told:?}");
    assert!(rows.iter().all(|row| (7..=7 + 11).contains(&row.users)), "{rows:?}");
    assert_eq!(successes(&result), counted(&result));
    let finding = result.findings.iter().find(|finding| finding.kind == FindingKind::WorkerLost).unwrap();
    assert!(
        finding.cause.starts_with("others made its load again after ") && finding.voids_claim,
        "{finding:?}"
    );
}

#[test]
fn what_could_not_be_taken_over_exactly_is_refused_before_workers_are_asked_for() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let plan = endless_plan(folder.path(), &peer.url(), "users = 2\niterations = 3\nmax_duration = \"9s\"");
    let run = run_plan(&plan, "nats://127.0.0.1:1", 1, OnWorkerLost::Respread, RunOptions::default());
    let refused = run.result.unwrap_err().to_string();
    assert!(refused.contains("nobody knows how many of them") && refused.contains("choose"), "{refused}");
    assert_eq!((peer.connections(), run.told.len()), (0, 0));
}

#[test]
fn a_run_goes_on_without_a_worker_that_died_and_says_so() {
    let Run { result, told } = killed(OnWorkerLost::Continue);
    let result = result.unwrap();
    assert_eq!(result.state, RunState::Completed);
    assert!(result.findings.iter().any(|finding| {
        finding.kind == FindingKind::WorkerLost && finding.voids_claim && finding.seen.contains("`dies`")
    }));
    let missing: Vec<_> = result.series.iter().map(|row| row.workers_missing).collect();
    let first = missing.iter().position(|missing| *missing == 1).unwrap();
    assert!(first > 0 && missing[first..].iter().all(|missing| *missing == 1), "{missing:?}");
    assert!(missing[..first].iter().all(|missing| *missing == 0), "{missing:?}");
    // The other's half to the last, and no more of the one that died than it can have sent.
    let stays: u64 = 18 * 20;
    assert!(successes(&result) > stays && successes(&result) < stays + 12 * 20, "{}", successes(&result));
    assert_eq!(successes(&result), counted(&result));
    let lines = ["worker `dies` is silent", "worker `dies` was lost at"];
    assert!(lines.iter().all(|line| told.iter().any(|text| text.starts_with(line))), "{told:?}");
}

#[test]
fn a_run_ends_with_a_worker_that_died_where_that_is_wanted() {
    let Run { result, told } = killed(OnWorkerLost::End);
    let result = result.unwrap();
    assert_eq!(result.state, RunState::Stopped, "{told:?}");
    assert!(told.iter().any(|text| text.ends_with("the run ends")), "{told:?}");
    assert!(has(&result, FindingKind::WorkerLost) && successes(&result) > 0);
}

/// One is lost while it is to take over what the other had.
#[test]
fn a_run_all_of_whose_workers_died_is_not_complete() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let shown = folder.path().display().to_string();
    let mut both = ["a", "b"].map(|name| Part::start(["worker", &server.url(), &shown, name]));
    let plan = endless_plan(folder.path(), &peer.url(), "rate = 40\nduration = \"60s\"\nusers = 10");
    let kill = thread::spawn(move || {
        wait_for("a request", || peer.connections() > 0);
        for worker in &mut both {
            thread::sleep(Duration::from_millis(2_500));
            worker.kill();
        }
        peer
    });
    let run = run_plan(&plan, &server.url(), 2, OnWorkerLost::Respread, RunOptions::default());
    let (_peer, result) = (kill.join().unwrap(), run.result.unwrap());
    assert_eq!(result.state, RunState::Stopped, "{:?}", run.told);
    let whole = result.windows.last().unwrap().window;
    assert!(successes(&result) > 0 && whole.to_ns > Nanos::from_secs(2), "{whole:?}");
}

#[test]
fn workers_without_a_coordinator_stop_and_what_they_kept_is_a_result() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let output = folder.path().join("kept");
    fs::create_dir(&output).unwrap();
    let plan = endless_plan(folder.path(), &peer.url(), "rate = 40\nduration = \"60s\"\nusers = 10");
    let shown = output.display().to_string();
    let _workers = ["a", "b"].map(|name| Part::start(["worker", &server.url(), &shown, name]));
    let mut dies = Part::start(["coordinator", &server.url(), "2", &plan.display().to_string()]);
    wait_for("a request", || peer.connections() > 0);
    thread::sleep(Duration::from_millis(2_500));
    dies.kill();
    // Both say of their shares that they have ended, though nobody hears it.
    let have_ended = || {
        let files = kept(&output);
        let ended = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("\"ended_ns\"");
        files.len() == 2 && files.iter().all(ended)
    };
    wait_for("the end of both workers", have_ended);
    let files = kept(&output);
    let result = merge(&files, KINDS).unwrap();
    assert_eq!((result.state, result.workers.len()), (RunState::Stopped, 2));
    let seconds = result.series.iter().map(|row| row.second).max().unwrap();
    assert!((3..20).contains(&seconds), "they stopped after {seconds} s");
    let due = result.windows.last().unwrap().by_scenario[0].starts.started;
    assert_eq!(successes(&result), counted(&result));
    assert!(due >= successes(&result) && successes(&result) >= 40 * 2, "{due} {}", successes(&result));
    let half = merge(&files[..1], KINDS).unwrap();
    assert!(successes(&half) < successes(&result) && half.series.iter().all(|row| row.workers_missing == 1));
    let lost = half.findings.iter().find(|finding| finding.kind == FindingKind::WorkerLost);
    assert!(lost.is_some_and(|finding| finding.voids_claim), "{:?}", half.findings);
    let twice = merge(&[files[0].clone(), files[0].clone()], KINDS).unwrap_err().to_string();
    assert!(twice.contains("which another file has"), "{twice}");
}

/// Both others take the share of a worker over, and then the coordinator dies as well.
#[test]
fn what_takers_kept_of_a_share_is_counted_once() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let output = folder.path().join("kept");
    fs::create_dir(&output).unwrap();
    let plan = endless_plan(folder.path(), &peer.url(), "rate = 60\nduration = \"120s\"\nusers = 12");
    let shown = output.display().to_string();
    let _stay = ["größer", "b"].map(|name| Part::start(["worker", &server.url(), &shown, name]));
    let mut dies = Part::start(["worker", &server.url(), &shown, "dies"]);
    let mut coordinator = Part::start(["coordinator", &server.url(), "3", &plan.display().to_string()]);
    wait_for("a request", || peer.connections() > 0);
    thread::sleep(Duration::from_millis(2_500));
    dies.kill();
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
    let takers = || kept(&output).into_iter().filter(|path| path.to_string_lossy().contains("_for_dies"));
    let seconds = |path: PathBuf| text(&path).matches("\"second\":").count();
    wait_for("three seconds of both takers", || {
        takers().filter(|path| seconds(path.clone()) > 3).count() == 2
    });
    coordinator.kill();
    let have_ended = || kept(&output).iter().filter(|path| text(path).contains("\"ended_ns\"")).count() == 4;
    wait_for("the end of both workers and of what they took over", have_ended);
    let result = merge(&kept(&output), KINDS).unwrap();
    assert_eq!((result.state, result.workers.len()), (RunState::Stopped, 5));
    let lost = result.workers.iter().find(|worker| worker.name == "dies").unwrap();
    let from = lost.taken_over_from.unwrap();
    assert_eq!(successes(&result), counted(&result));
    // They notice one after the other that the coordinator is gone.
    let last_second = |path: &PathBuf| {
        let content = text(path);
        let (_, number) = content.rsplit_once("\"second\":").unwrap();
        number.split_once(|end: char| !end.is_ascii_digit()).unwrap().0.parse::<u64>().unwrap()
    };
    let ended = kept(&output).into_iter().filter(|path| text(path).contains("\"ended_ns\""));
    let end = ended.map(|path| last_second(&path)).min().unwrap();
    // In each second that lacks nothing all starts of the rate, none of them twice; one on the border of two is in one of them.
    let whole: Vec<_> =
        result.series.iter().filter(|row| row.second < end && row.workers_missing == 0).collect();
    assert!(whole.iter().any(|row| row.second >= from) && whole.iter().any(|row| row.second < from));
    assert!(whole.iter().all(|row| row.successes.abs_diff(60) <= 2), "from {from}: {whole:?}");
    let missing = result.series.iter().filter(|row| row.workers_missing > 0);
    assert!(missing.clone().count() > 0 && missing.into_iter().all(|row| row.second < from), "from {from}");
}

/// As a threshold that is crossed at this moment.
struct EndsAt(Nanos);

impl Merge for EndsAt {
    fn tick(&self, elapsed: Nanos) -> RunControl {
        if elapsed >= self.0 { RunControl::Stop } else { RunControl::Continue }
    }
}

/// Its seconds are waited for, and what ends the run is not: by the run's own clock it ends within two seconds.
#[test]
fn a_worker_that_hangs_does_not_keep_a_threshold_from_ending_the_run() {
    const CROSSED: u64 = 5;
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let workers = Workers::start(&server.url(), &["stays"]);
    let hangs = Part::start(["worker", &server.url(), &folder.path().display().to_string(), "hängt"]);
    let path = endless_plan(folder.path(), &peer.url(), "rate = 40\nduration = \"60s\"\nusers = 10");
    let (plan, told) = (read_plan(&path).unwrap(), Arc::default());
    let settings = coordinator(&server.url(), 2, OnWorkerLost::Continue, &told);
    let mut recruited = Recruited::of(&plan, settings, StopFlag::default()).unwrap();
    let bundle = Bundle::of_plan(&path).unwrap();
    let hang = thread::spawn(move || {
        wait_for("a request", || peer.connections() > 0);
        thread::sleep(Duration::from_secs(2));
        hangs.hang();
        (peer, hangs)
    });
    let ends = EndsAt(Nanos::from_secs(CROSSED));
    let result = recruited.run(&plan, &bundle, &ends, RunOptions::default()).unwrap();
    let _held = hang.join().unwrap();
    let told: &Mutex<Vec<String>> = &told;
    assert_eq!(result.state, RunState::Stopped, "{told:?}");
    let stays = result.workers.iter().find(|worker| worker.name == "stays").unwrap();
    // The second in which it ends is one that has begun.
    assert!((CROSSED..=CROSSED + 2 + 1).contains(&stays.seconds), "{} {told:?}", stays.seconds);
    assert!(has(&result, FindingKind::WorkerLost), "{told:?}");
    workers.stop();
}

/// Each stream brings three events and stays open.
#[test]
fn subscribers_on_three_workers_hear_what_they_hear_on_one() {
    const EVENTS: &str = "event: next\ndata: {\"data\":{\"größe\":1}}\n\n";
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{}", EVENTS.repeat(3));
    let script = vec![Step::ReadRequest, Step::Write(answer.into_bytes()), Step::ReadToEnd];
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::start(vec![script]), tempfile::tempdir().unwrap());
    let workers = Workers::start(&server.url(), &["a", "b", "c"]);
    let plan = folder.path().join("plan.toml");
    let text = format!(
        "target = \"{}\"\nduration = \"4s\"\n[variables]\nrow = {{ list = [\"ä\", \"b\", \"c\"], order = \"sequential\" }}\n\
         [[subscriptions]]\nname = \"Größen\"\nprotocol = \"sse\"\nclients = 7\nper_client = 2\nrate = 10\nsettle = \"0s\"\n\
         query = \"subscription($id: String) {{ größe(id: $id) }}\"\nvariables = {{ id = \"${{row}}\" }}\n",
        peer.url()
    );
    fs::write(&plan, text).unwrap();
    let heard = |result: &ResultFile, before: usize| {
        let group = &result.subscribers.groups[0];
        let (counts, links) = (group.whole().unwrap().counts, &group.links);
        let active: Vec<_> = result.subscribers.series.iter().map(|row| row.active).collect();
        let asked: Vec<u8> = (before..peer.connections()).flat_map(|index| peer.received(index)).collect();
        let asked = String::from_utf8(asked).unwrap();
        let rows = ["ä", "b", "c"].map(|row| asked.matches(&format!("{{\"id\":\"{row}\"}}")).count());
        ((counts, links.attempted, links.made, links.subscribed), (active[active.len() - 2], rows))
    };
    let alone = prony_load::run(&read_plan(&plan).unwrap(), RunOptions::default()).unwrap();
    let alone = heard(&alone, 0);
    let before = peer.connections();
    let run = run_plan(&plan, &server.url(), 3, OnWorkerLost::Continue, RunOptions::default());
    let result = run.result.unwrap();
    assert_eq!(result.state, RunState::Completed, "{:?}", run.told);
    assert!(!has(&result, FindingKind::WorkerLost) && !has(&result, FindingKind::SubscribersMissing));
    let shared = heard(&result, before);
    assert_eq!(shared, alone, "{:?}", run.told);
    assert_eq!(((shared.0.0.events, shared.0.3), shared.1), ((42, 14), (14, [5, 5, 4])));
    workers.stop();
}
