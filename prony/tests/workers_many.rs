//! `prony find`, `compare` and `sweep` with `--workers`: each of their runs is shared out, by the same workers from the first to the last.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_model::program::StopFlag;
use prony_model::search::{SearchPlan, SearchStep, StepShape, StepVerdict, Vary};
use prony_model::verdict::finding::FindingKind;
use prony_model::{LoadModel, Nanos, Threshold, WindowKind};
use prony_runs::{Argument, Event, ManyOptions, OpenSettings, SearchSettings, find};
use prony_testkit::NatsServer;
use prony_testkit::peer::ScriptedPeer;
use prony_workers::{CoordinatorSettings, NatsSettings, OnWorkerLost, Recruited, Terms, UserState};
use serde_json::Value;
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::rc::Rc;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

struct Ended {
    code: Option<i32>,
    printed: String,
    told: String,
}

/// With so many workers on this machine.
fn prony(directory: &Path, workers: u32, arguments: &[&str]) -> Ended {
    let (server, count) = (prony_testkit::nats::program(), format!("local:{workers}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).args(arguments);
    command.args(["--workers", &count, "--nats-server"]).arg(server);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), printed: text(output.stdout), told: text(output.stderr) }
}

fn found(ended: &Ended) -> Value {
    serde_json::from_str(&ended.printed)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.printed, ended.told))
}

/// The users of each worker.
fn users(result: &Value) -> Vec<u64> {
    result["workers"].as_array().unwrap().iter().map(|worker| worker["users"].as_u64().unwrap()).collect()
}

fn requests(result: &Value) -> u64 {
    result["windows"].as_array().unwrap().last().unwrap()["all"]["requests"].as_u64().unwrap()
}

fn seen(peer: &ScriptedPeer) -> String {
    let seen: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    String::from_utf8(seen).unwrap()
}

const STEP: [&str; 8] = ["--repeats", "1", "--ramp", "0s", "--hold", "400ms", "--json", "--quiet"];

/// A load of two users has two workers of three; what is set of the script's users is set on all machines.
#[test]
fn a_search_over_a_plan_shares_out_each_of_its_steps() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::create_dir(directory.path().join("größen")).unwrap();
    fs::write(directory.path().join("größen/rows.csv"), "id\nä\nb\n").unwrap();
    let text = format!(
        "target = \"{}\"\nusers = 40\nduration = \"9s\"\nthink_time = \"20ms\"\n[variables]\nrow = {{ csv = \"rows.csv\" }}\n\
         [[requests]]\nname = \"a\"\npath = \"/${{row.id}}\"\n",
        peer.url()
    );
    fs::write(directory.path().join("größen/plan.toml"), text).unwrap();
    let search = ["find", "größen/plan.toml", "--slo", "errors<50%", "--from", "2", "--max", "7"];
    let ended = prony(directory.path(), 3, &[&search[..], &STEP[..]].concat());
    let file = found(&ended);
    let steps = file["steps"].as_array().unwrap();
    assert!(steps.len() > 1 && steps[0]["load"] == 2, "{}", ended.told);
    for step in steps {
        let (load, result) = (step["load"].as_u64().unwrap(), &step["runs"][0]["result"]);
        let users = users(result);
        assert_eq!((users.len() as u64, users.iter().sum::<u64>()), (load.min(3), load), "{}", ended.told);
        assert_eq!(result["plan"]["scenarios"][0]["load"]["stages"][0]["users"], load, "{result}");
        assert!(requests(result) >= load);
    }
    let all: u64 = steps.iter().map(|step| requests(&step["runs"][0]["result"])).sum();
    assert_eq!(seen(&peer).matches("GET /").count() as u64, all, "each is counted once, and in its own run");
    assert_eq!(ended.told.matches("worker `local-").count(), 3, "they are waited for once: {}", ended.told);
    assert_eq!(fs::read_dir(directory.path().join("results")).unwrap().count(), 1, "workers left nothing");
}

const SCRIPT: &str = "import http from 'k6/http';\nexport const options = { vus: 2, duration: '1s' };\n\
    export function setup() { return { from: 'setup' }; }\n\
    export default function (data) { http.get(`${__ENV.BASE}/${data.from}`); }\n";
const LUA: &str = "function setup(thread) thread:set('mark', 'set') end\n\
    request = function() return wrk.format('GET', '/lua/' .. mark) end\n";

#[test]
fn a_comparison_of_a_page_with_a_script_has_the_same_workers_for_both() {
    let (page, script, directory) =
        (ScriptedPeer::answering(OK), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("test.js"), SCRIPT).unwrap();
    let (url, base) = (page.url(), format!("BASE={}", script.url()));
    let compare = ["compare", &url, "test.js", "--env", &base, "--runs", "2", "--users", "5"];
    let ended =
        prony(directory.path(), 2, &[&compare[..], &["--duration", "500ms", "--json", "--quiet"]].concat());
    let file = found(&ended);
    let runs = file["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["side"].as_str().unwrap()).collect::<String>(), "abba");
    for run in runs {
        let expected = if run["side"] == "a" { vec![3, 2] } else { vec![1, 1] };
        assert_eq!(users(&run["result"]), expected, "{}", ended.told);
    }
    let of = |side: &str| {
        let own = runs.iter().filter(|run| run["side"] == side);
        own.map(|run| requests(&run["result"])).sum::<u64>() as usize
    };
    assert_eq!(seen(&page).matches("GET / ").count(), of("a"));
    assert_eq!(
        seen(&script).matches("GET /setup ").count(),
        of("b"),
        "what setup returned came to all users"
    );
}

#[test]
fn a_sweep_hands_messages_and_settings_to_workers() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let text = format!(
        "target = \"{}\"\nusers = 4\nduration = \"1s\"\nthink_time = \"10ms\"\n[variables]\npayload = {{ list = [\"\"] }}\n\
         art = {{ list = [\"x\"] }}\n[[requests]]\nname = \"a\"\nmethod = \"POST\"\npath = \"/${{art}}\"\nbody = \"${{payload}}\"\n",
        peer.url()
    );
    fs::write(directory.path().join("plan.toml"), text).unwrap();
    let sweep = ["sweep", "plan.toml", "--users", "3", "--payload", "20,40", "--set", "art=größe,7"];
    let short = ["--ramp=0s", "--warm-up=0s", "--hold=400ms", "--json", "--quiet"];
    let ended = prony(directory.path(), 2, &[&sweep[..], &short].concat());
    let file = found(&ended);
    assert_eq!(file["state"], "completed", "{}", ended.told);
    let states = file["steps"].as_array().unwrap().iter().map(|step| step["state"].as_str().unwrap());
    assert_eq!(states.collect::<Vec<_>>(), ["measured"; 4], "{}", ended.told);
    let seen = seen(&peer);
    for (art, length) in [("/7 ", 20), ("/7 ", 40), ("/gr%C3%B6%C3%9Fe ", 20), ("/gr%C3%B6%C3%9Fe ", 40)] {
        let is_its =
            |text: &&str| text.starts_with(art) && text.contains(&format!("Content-Length: {length}\r\n"));
        assert!(seen.split("POST ").any(|text| is_its(&text)), "{art}{length}: {seen}");
    }
}

#[test]
fn a_wrk_script_is_searched_with_the_threads_of_all_workers() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("load.lua"), LUA).unwrap();
    let url = peer.url();
    let search = ["find", "load.lua", &url, "--slo", "errors<50%", "--from", "3", "--max", "3"];
    let ended = prony(directory.path(), 2, &[&search[..], &STEP[..]].concat());
    let result = &found(&ended)["steps"][0]["runs"][0]["result"];
    assert_eq!(users(result), [2, 1], "{}", ended.told);
    assert_eq!(seen(&peer).matches("GET /lua/set ").count() as u64, requests(result));
}

#[test]
fn what_workers_cannot_run_ends_a_search_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("plan.toml"),
        "target = \"http://127.0.0.1:1\"\nusers = 4\nduration = \"1s\"\nrequests = [{ path = \"/\" }]\n",
    )
    .unwrap();
    let search = ["find", "plan.toml", "--slo", "errors<50%", "--threads", "2"];
    let ended = prony(directory.path(), 2, &search);
    assert!(ended.code == Some(2) && ended.told.contains("each worker has its own"), "{}", ended.told);
    let search = ["find", "plan.toml", "--slo", "errors<50%", "--quiet"];
    let ended = prony(directory.path(), 2, &search);
    assert!(ended.code == Some(2) && ended.told.contains("worker `local-"), "{}", ended.told);
    assert!(ended.told.contains("cannot run its share: "), "{}", ended.told);
}

/// `prony worker` processes, which end with the test.
struct Waiting<'a> {
    server: &'a NatsServer,
    folder: &'a Path,
    workers: Rc<RefCell<Vec<(String, Child)>>>,
}

impl Waiting<'_> {
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["worker", "--quiet", "--name", name, "--nats", &self.server.url(), "--output"]);
        command.arg(self.folder);
        command
    }

    fn start(&self, name: &str) {
        self.workers.borrow_mut().push((name.to_owned(), self.command(name).spawn().unwrap()));
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        for (_, worker) in self.workers.borrow_mut().iter_mut() {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// The worker is killed when the first load has been decided, before the second is begun: nobody knows it yet when shares are handed
/// out. The other one stays, and one that comes meanwhile takes the place.
#[test]
fn a_worker_that_is_lost_between_two_steps_is_replaced() {
    let (server, peer, folder) =
        (NatsServer::start(), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let text = format!(
        "target = \"{}\"\nusers = 40\nduration = \"9s\"\nthink_time = \"20ms\"\nrequests = [{{ path = \"/gr%C3%B6%C3%9Fe\" }}]\n",
        peer.url()
    );
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    let waiting = Waiting { server: &server, folder: folder.path(), workers: Rc::default() };
    for name in ["stays", "dies"] {
        waiting.start(name);
    }
    let told = Rc::new(RefCell::new(Vec::new()));
    let telling = Rc::clone(&told);
    let coordinator = CoordinatorSettings {
        nats: NatsSettings { url: server.url(), ..NatsSettings::default() },
        terms: Terms { workers: 2, on_lost: OnWorkerLost::Continue, users: UserState::OfPlan },
        wait: Duration::from_secs(60),
        tell: Box::new(move |text| telling.borrow_mut().push(text.to_owned())),
    };
    let recruited = Recruited::of_many(coordinator, StopFlag::default()).unwrap();
    let (processes, mut comes) = (Rc::clone(&waiting.workers), waiting.command("kommt"));
    let watch = move |event: &Event<'_>| {
        let Event::StepEnds { load: 3, verdict: StepVerdict::Passed, .. } = event else { return };
        let mut processes = processes.borrow_mut();
        let (_, dies) = processes.iter_mut().find(|(name, _)| name == "dies").unwrap();
        dies.kill().unwrap();
        dies.wait().unwrap();
        processes.push(("kommt".to_owned(), comes.spawn().unwrap()));
    };
    let path = folder.path().join("plan.toml").display().to_string();
    let argument = Argument::read_all("prony find", [path.as_str()]).unwrap().remove(0);
    let subject = argument.open(&OpenSettings::new(LoadModel::constant(1, Nanos::ZERO), |_| {})).unwrap();
    let settings = SearchSettings {
        plan: SearchPlan {
            start: 3,
            lowest: 1,
            highest: 6,
            growth: 2.0,
            resolution: 1.05,
            repeats: 1,
            steps_max: 9,
        },
        shape: StepShape { vary: Vary::Users, ramp: Nanos::ZERO, hold: Nanos::from_millis(400), pool: None },
        objectives: Threshold::parse_list("errors<50%").unwrap(),
    };
    let options = ManyOptions { workers: Some(recruited), watch: Box::new(watch), ..ManyOptions::default() };
    let file = find(&subject, &settings, options).unwrap();
    let told = told.borrow();
    let made_by = |step: &SearchStep| {
        let workers = &step.runs[0].result.workers;
        let mut names: Vec<_> = workers.iter().map(|worker| worker.name.clone()).collect();
        names.sort_unstable();
        (step.load, names, workers.iter().map(|worker| worker.users).sum::<u32>())
    };
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    assert_eq!(
        file.steps.iter().map(made_by).collect::<Vec<_>>(),
        [(3, names(["dies", "stays"]), 3), (6, names(["kommt", "stays"]), 6)],
        "{told:?}"
    );
    let results = || file.steps.iter().map(|step| &step.runs[0].result);
    assert!(
        results().all(|result| result.findings.iter().all(|finding| finding.kind != FindingKind::WorkerLost))
    );
    let counted: u64 = results().map(|result| result.window(WindowKind::Whole).unwrap().all.requests).sum();
    assert_eq!(seen(&peer).matches("GET /gr%C3%B6%C3%9Fe ").count() as u64, counted, "{told:?}");
    for text in
        ["worker `dies` fell silent before the run began", "1 of 2 workers are there; waiting for the others"]
    {
        assert!(told.iter().any(|told| told == text), "{told:?}");
    }
}

/// Each refused with the server that is missing: nothing was started, and nobody was asked for.
#[test]
fn what_could_not_be_taken_over_is_refused_before_anything_is_started() {
    let directory = tempfile::tempdir().unwrap();
    let plan =
        |load: &str| format!("target = \"http://127.0.0.1:1\"\n{load}\nrequests = [{{ path = \"/\" }}]\n");
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("users.toml", &plan("users = 4\nduration = \"1s\""));
    write("counted.toml", &plan("users = 4\niterations = 9"));
    write("test.js", SCRIPT);
    write("load.lua", LUA);
    let state = "users of a script have a state of their own, which is gone with the worker";
    let count = "nobody knows how many of them the worker has made";
    let url = "http://127.0.0.1:1";
    let slo = ["--slo", "errors<50%"];
    for (arguments, reason) in [
        (vec!["run", "counted.toml"], count),
        (vec!["run", url, "-n", "100"], count),
        (vec!["run", "test.js"], state),
        (vec!["run", "load.lua", url], state),
        (vec!["find", "test.js", slo[0], slo[1]], state),
        (vec!["find", "load.lua", url, slo[0], slo[1]], state),
        (vec!["compare", "users.toml", "counted.toml"], count),
        (vec!["compare", "users.toml", "test.js"], state),
        (vec!["sweep", "counted.toml", "--payload", "20"], count),
        (vec!["sweep", "test.js", "--users", "3"], state),
    ] {
        let command = ["--workers", "2", "--nats", "nats://127.0.0.1:1", "--on-worker-lost", "respread"];
        let mut process = Command::new(env!("CARGO_BIN_EXE_prony"));
        let output = process.current_dir(directory.path()).args(&arguments).args(command).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}: {told}");
        assert!(
            told.contains(reason) && told.contains("choose --on-worker-lost continue or end"),
            "{arguments:?}: {told}"
        );
        assert!(!told.contains("NATS"), "{arguments:?}: {told}");
    }
    assert!(!directory.path().join("results").exists(), "nothing was begun");
}
