//! Four workers in network namespaces of their own: what they measure together is what one measures alone, to the last count, and what
//! their targets have counted, also where one is killed and another is cut off and comes back. Needs root and iproute2; the long form, with
//! the users of a real test, is `PRONY_TEST_USERS=20000 cargo test -p prony-workers --test namespaces`.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod net;
mod target;

use net::{HUB, Net, Running};
use prony_load::{RunOptions, read_plan};
use prony_model::program::StopFlag;
use prony_model::{ResultFile, WindowKind};
use prony_workers::{
    Bundle, CoordinatorSettings, Kinds, NatsSettings, OnWorkerLost, PLANS, Terms, UserState, WorkerSettings,
    coordinate, serve,
};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use tempfile::TempDir;

/// Of a process that is a part of the test: what it does, and what with.
const PART: &str = "PRONY_TEST_PART";
/// Users of the ordinary form.
const USERS: u32 = 600;
const WORKERS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(90);
static KINDS: Kinds = &[&PLANS];

/// Does nothing unless it is started as a part of another test.
#[test]
fn part_of_another_test() {
    let Ok(part) = env::var(PART) else { return };
    let words: Vec<_> = part.split('|').collect();
    match words.as_slice() {
        ["target", file] => target::serve(Path::new(file)),
        ["worker", folder, name] => serve(worker(name, Path::new(folder)), &StopFlag::default()).unwrap(),
        ["alone", plan, result] => {
            write(
                result,
                &prony_load::run(&read_plan(Path::new(plan)).unwrap(), RunOptions::default()).unwrap(),
            );
        }
        ["together", plan, result, lost] => {
            let on_lost = if *lost == "respread" { OnWorkerLost::Respread } else { OnWorkerLost::Continue };
            let (path, told) = (Path::new(plan), format!("{result}.told"));
            let tell = move |text: &str| {
                let mut file = fs::OpenOptions::new().create(true).append(true).open(&told).unwrap();
                writeln!(file, "{text}").unwrap();
            };
            let settings = CoordinatorSettings {
                nats: nats(),
                wait: Duration::from_secs(60),
                terms: Terms { workers: WORKERS, on_lost, users: UserState::OfPlan },
                tell: Box::new(tell),
            };
            let bundle = Bundle::of_plan(path).unwrap();
            let made = coordinate(&read_plan(path).unwrap(), &bundle, settings, RunOptions::default());
            write(result, &made.unwrap());
        }
        _ => panic!("`{part}` is no part of a test"),
    }
}

fn nats() -> NatsSettings {
    NatsSettings { url: format!("nats://{HUB}:4222"), ..NatsSettings::default() }
}

fn worker(name: &str, output: &Path) -> WorkerSettings {
    WorkerSettings {
        nats: nats(),
        name: name.to_owned(),
        labels: BTreeMap::new(),
        threads: NonZeroUsize::MIN,
        kinds: KINDS,
        output: output.to_owned(),
        is_for_one_run: false,
        tell: Box::new(|_| {}),
    }
}

fn write(path: &str, result: &ResultFile) {
    prony_load::replace_file(Path::new(path), result).unwrap();
}

fn part(words: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "part_of_another_test"]).env(PART, words.join("|"));
    command
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Namespaces with a server and workers, each beside a target on its own loopback.
struct Machines {
    // In this order they end: processes before what they are in.
    workers: Vec<Running>,
    _targets: Vec<Running>,
    _server: Running,
    net: Net,
    folder: TempDir,
}

impl Machines {
    /// Nothing, loudly, where namespaces are not permitted.
    fn start() -> Option<Self> {
        let net = match Net::make(WORKERS) {
            Ok(net) => net,
            Err(refusal) => {
                // Not captured as what tests print is: that nothing was tested must be seen.
                let text = format!(
                    "NOT TESTED: network namespaces cannot be made here, which needs root: {refusal}\n"
                );
                std::io::stderr().write_all(text.as_bytes()).unwrap();
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let mut server = Command::new(prony_testkit::nats::program());
        server.args(["--addr", HUB, "--port", "4222"]);
        let server = net.start("hub", &server);
        let machines: Vec<String> =
            (1..=WORKERS).map(|number| number.to_string()).chain(["hub".to_owned()]).collect();
        let of = |machine: &String| folder.path().join(format!("seen-{machine}")).display().to_string();
        let targets = machines.iter().map(|name| net.start(name, &part(&["target", &of(name)]))).collect();
        for name in &machines {
            wait_for("a target", || Path::new(&of(name)).exists());
        }
        let kept = folder.path().join("kept").display().to_string();
        let start = |name: &String| net.start(name, &part(&["worker", &kept, &format!("w{name}")]));
        // The server takes some milliseconds to listen, which workers do not wait for.
        thread::sleep(Duration::from_millis(500));
        let workers = machines.iter().filter(|name| *name != "hub").map(start).collect();
        Some(Self { workers, _targets: targets, _server: server, net, folder })
    }

    fn plan(&self, load: &str) -> PathBuf {
        let path = self.folder.path().join("plan.toml");
        let target = format!("http://127.0.0.1:{}", target::PORT);
        let text =
            format!("target = \"{target}\"\n{load}\nrequests = [{{ name = \"größe\", path = \"/\" }}]\n");
        fs::write(&path, text).unwrap();
        path
    }

    /// A run of the plan beside the switch; `meanwhile` is called once it is under way.
    fn run(&mut self, words: &[&str], meanwhile: impl FnOnce(&mut Self)) -> ResultFile {
        let result = self.folder.path().join("result.json");
        let _ = fs::remove_file(&result);
        let plan = self.folder.path().join("plan.toml");
        let (plan, shown) = (plan.display().to_string(), result.display().to_string());
        let words: Vec<&str> = [&words[..1], &[&plan, &shown], &words[1..]].concat();
        let mut coordinator = self.net.start("hub", &part(&words));
        meanwhile(self);
        assert!(coordinator.wait(), "{}", self.told());
        serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap()
    }

    fn told(&self) -> String {
        fs::read_to_string(self.folder.path().join("result.json.told")).unwrap_or_default()
    }

    /// What the target beside a worker, or the switch, has counted.
    fn seen(&self, machine: &str) -> u64 {
        // The last change is written a moment later.
        thread::sleep(Duration::from_millis(150));
        fs::read_to_string(self.folder.path().join(format!("seen-{machine}"))).unwrap().parse().unwrap()
    }

    fn seen_by(&self, numbers: &[u32]) -> u64 {
        numbers.iter().map(|number| self.seen(&number.to_string())).sum()
    }
}

fn requests(result: &ResultFile) -> u64 {
    result.window(WindowKind::Whole).unwrap().all.requests
}

/// Everything that does not depend on how long something took.
fn counts(result: &ResultFile) -> Vec<u64> {
    let all = &result.window(WindowKind::Whole).unwrap().all;
    let series = |of: fn(&prony_model::result::SecondRow) -> u64| result.series.iter().map(of).sum::<u64>();
    vec![
        all.requests,
        all.successes,
        all.bytes_received,
        all.bytes_sent,
        series(|row| row.started),
        series(|row| row.successes),
        series(|row| row.bytes_received),
        result.lab.unfinished,
    ]
}

/// One after the other in one test: the namespaces are those of the process.
#[test]
fn what_four_machines_measure_is_what_one_measures_and_what_their_targets_saw() {
    let Some(mut machines) = Machines::start() else { return };
    let users = env::var("PRONY_TEST_USERS").map_or(USERS, |users| users.parse().unwrap());
    whole_runs_are_equal(&mut machines, users);
    nothing_is_counted_twice(&mut machines);
}

fn whole_runs_are_equal(machines: &mut Machines, users: u32) {
    machines
        .plan(&format!("users = {users}\niterations = 3\nmax_duration = \"300s\"\nthink_time = \"100ms\""));
    let together = machines.run(&["together", "continue"], |_| {});
    let alone = machines.run(&["alone"], |_| {});
    assert_eq!(counts(&together), counts(&alone), "{}", machines.told());
    assert_eq!(requests(&together), u64::from(users) * 3);
    let expected: Vec<_> = (1..=WORKERS).map(|number| machines.seen(&number.to_string())).collect();
    assert_eq!(expected.iter().sum::<u64>(), requests(&together), "{expected:?}");
    assert!(expected.iter().all(|seen| *seen >= u64::from(users / WORKERS) * 3), "{expected:?}");
    assert_eq!(machines.seen("hub"), requests(&alone));
}

/// The first worker is killed, the second is cut off for longer than silence is and for less than it is lost after.
fn nothing_is_counted_twice(machines: &mut Machines) {
    machines.plan("rate = 200\nduration = \"16s\"\nusers = 40");
    let before = [1, 2, 3, 4].map(|number| machines.seen(&number.to_string()));
    let kept = machines.folder.path().join("kept");
    let result = machines.run(&["together", "continue"], |machines| {
        wait_for("a request", || machines.seen_by(&[1, 2]) > before[0] + before[1] + 100);
        machines.workers[0].kill();
        machines.net.set_link(2, false);
        thread::sleep(Duration::from_secs(6));
        machines.net.set_link(2, true);
    });
    let told = machines.told();
    let seen: Vec<_> =
        (0..4).map(|index| machines.seen(&(index + 1).to_string()) - before[index as usize]).collect();
    for line in ["`w1` is silent", "`w1` was lost at", "`w2` is silent", "`w2` is back"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let lost: Vec<_> =
        result.workers.iter().filter(|worker| worker.is_lost()).map(|worker| worker.name.as_str()).collect();
    assert_eq!(lost, ["w1"], "{told}");
    // All that the three have sent came and counts, also what was measured without the link.
    let of_killed = requests(&result) - seen[1..].iter().sum::<u64>();
    let (all, whole_seconds) = kept_requests(&kept);
    assert!(of_killed <= all && all <= seen[0], "{of_killed} of {all} that it kept of {seen:?}");
    assert!(of_killed > 0 && whole_seconds > 0, "{told}");
    assert_eq!(requests(&result), result.series.iter().map(|row| row.successes + row.failures).sum::<u64>());
    let missing: Vec<_> = result.series.iter().map(|row| row.workers_missing).collect();
    let first = missing.iter().position(|missing| *missing == 1).unwrap();
    assert!(first > 0 && missing[first..].iter().all(|missing| *missing == 1), "{missing:?}");
}

/// Of the file that the killed worker left: the requests in it, and of how many seconds.
fn kept_requests(folder: &Path) -> (u64, usize) {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with("-w1.worker.jsonl"));
    assert_eq!(files.len(), 1, "{files:?}");
    let result = prony_workers::merge(&files, KINDS).unwrap();
    (requests(&result), result.series.len())
}
