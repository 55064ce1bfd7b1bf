//! What a coordinator takes for many workers: 200 of them, each of which hands over a second once a second with the histograms of so many
//! requests that all together are 10,000 series, through a real NATS server. Workers are Prony's own, in a process of their own, whose load is
//! made up; coordinator and merging are what `prony run --workers` does.
//!
//! `cargo bench -p prony-workers --bench workers -- [WORKERS] [NAMES] [SECONDS]`, by default 200, 50 and 20.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark is a program of its own")]

use prony_load::{Collector, RunError, RunOptions};
use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::program::StopFlag;
use prony_model::result::{Origin, RunState};
use prony_model::verdict::findings::TargetPlace;
use prony_model::{LoadModel, Nanos, Outcome, Plan, PlanDraft, Record, RequestDraft, ResultFile, Target};
use prony_testkit::NatsServer;
use prony_workers::{
    Bundle, CoordinatorSettings, Kinds, LoadKind, NatsSettings, OnWorkerLost, Recruited, RequestsAlone,
    Share, Terms, Unpacked, UserState, WorkerSettings, serve,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Of the process with the workers: the server and how many.
const PART: &str = "PRONY_BENCH_PART";
/// Names of requests of the run; each worker has some of them.
const NAMES: usize = 200;
/// Of each name in each second of each worker.
const REQUESTS: u64 = 20;
/// In which nothing is judged: connections are new, tables grow.
const WARM_UP_SECONDS: u64 = 3;
static KINDS: Kinds = &[&MadeUp];

fn main() {
    if let Ok(part) = env::var(PART) {
        let (url, count) = part.split_once('|').expect("an address and a number");
        return work(url, count.parse().expect("a number"));
    }
    let given: Vec<u64> = env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let at = |index: usize, otherwise: u64| given.get(index).copied().unwrap_or(otherwise);
    let (workers, names, seconds) = (at(0, 200), at(1, 50), at(2, 20));
    let server = NatsServer::start();
    let others = Others(start(&server.url(), workers));
    let used = coordinate(&server.url(), workers as u32, names, seconds);
    drop(others);
    let series = workers * names;
    println!(
        "{workers} workers with {names} names each: {series} series a second, {REQUESTS} requests in each"
    );
    println!("coordinator: {:.3} processor seconds a second (aim: at most 1)", used.processor_share);
    println!("coordinator: {} MiB of memory at most", used.memory_bytes >> 20);
    println!("merged: {} requests of {}", used.requests, series * REQUESTS * seconds);
    assert_eq!(used.requests, series * REQUESTS * seconds, "nothing is lost and nothing is counted twice");
}

/// The process with the workers, which ends with this one, also where that fails.
struct Others(Child);

impl Drop for Others {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Used {
    processor_share: f64,
    memory_bytes: u64,
    requests: u64,
}

fn coordinate(url: &str, workers: u32, names: u64, seconds: u64) -> Used {
    let plan = plan(seconds);
    let settings = CoordinatorSettings {
        nats: nats(url),
        terms: Terms { workers, on_lost: OnWorkerLost::Continue, users: UserState::OfPlan },
        wait: Duration::from_secs(120),
        tell: Box::new(|text| {
            if !text.starts_with("worker `") {
                eprintln!("{text}");
            }
        }),
    };
    let mut recruited = Recruited::of(&plan, settings, StopFlag::default()).expect("workers are there");
    let bundle =
        Bundle::pack(&MadeUp, json!({ "names": names, "seconds": seconds }), &[]).expect("it is small");
    let samples = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let taken = std::rc::Rc::clone(&samples);
    let options = RunOptions {
        progress: Box::new(move |progress| {
            if progress.last.second >= WARM_UP_SECONDS && !progress.is_last {
                taken.borrow_mut().push((Instant::now(), processor_seconds()));
            }
        }),
        ..RunOptions::default()
    };
    let result = recruited.run(&plan, &bundle, &RequestsAlone, options).expect("the run is made");
    let samples = samples.borrow();
    let (first, last) = (samples.first().expect("seconds have passed"), samples.last().expect("as said"));
    let elapsed = last.0.duration_since(first.0).as_secs_f64();
    let whole = result.windows.last().expect("a run has a whole window");
    Used {
        processor_share: (last.1 - first.1) / elapsed,
        memory_bytes: memory_peak(),
        requests: whole.all.requests,
    }
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn memory_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

fn nats(url: &str) -> NatsSettings {
    NatsSettings { url: url.to_owned(), ..NatsSettings::default() }
}

// ---- the workers

fn start(url: &str, workers: u64) -> Child {
    let program = env::current_exe().expect("it runs");
    let mut command = Command::new(program);
    command.env(PART, format!("{url}|{workers}")).stdin(Stdio::null());
    command.spawn().expect("it can be started once more")
}

fn work(url: &str, count: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    thread::scope(|scope| {
        for number in 0..count {
            let folder = folder.path();
            let settings = move || WorkerSettings {
                nats: nats(url),
                name: format!("made-up-{number}"),
                labels: BTreeMap::new(),
                threads: NonZeroUsize::MIN,
                kinds: KINDS,
                output: folder.to_owned(),
                is_for_one_run: true,
                tell: Box::new(|_| {}),
            };
            scope.spawn(move || serve(settings(), &StopFlag::default()).expect("the server is there"));
        }
    });
}

fn plan(seconds: u64) -> Plan {
    let load = LoadModel::constant(1_000, Nanos::from_secs(seconds));
    let mut draft = PlanDraft::new("made up", Target::new("nowhere", 80), load);
    draft.requests = (0..NAMES)
        .map(|name| RequestDraft::get(&format!("/catalogue/{}/größe/{name}", name * 7919), "/"))
        .collect();
    draft.check().expect("it makes sense")
}

/// A load that is not made, whose seconds come all the same.
#[derive(Debug)]
struct MadeUp;

impl LoadKind for MadeUp {
    fn name(&self) -> &'static str {
        "made up"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        let at = |name: &str| came.settings[name].as_u64().ok_or_else(|| name.to_owned());
        let (names, seconds) = (at("names")?, at("seconds")?);
        let plan = came.changed(plan(seconds)).map_err(|error| error.to_string())?;
        Ok(Box::new(MadeUpShare { plan, names, seconds, number: came.share.number() }))
    }
}

#[derive(Debug)]
struct MadeUpShare {
    plan: Plan,
    names: u64,
    seconds: u64,
    number: u32,
}

impl MadeUpShare {
    /// Some of the names, other ones of each worker, with times from half a millisecond to a second.
    fn tally(&self) -> Tally {
        let windows = self.plan.windows();
        let mut tally = Tally::new(&windows, TallyShape::of(&self.plan));
        let mut chance = u64::from(self.number) + 1;
        for name in 0..self.names {
            for _ in 0..REQUESTS {
                // Knuth's multiplicative generator: good enough to spread times.
                chance =
                    chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let took = Nanos::from_micros(500 << (chance >> 60).min(11)).plus(Nanos(chance >> 44));
                let scheduled = Nanos::from_millis(7);
                tally.record(
                    &windows,
                    &record((name + u64::from(self.number) * 3) as usize % NAMES, scheduled, took),
                );
                tally.started += 1;
            }
        }
        tally
    }
}

fn record(request: usize, scheduled: Nanos, took: Nanos) -> Record {
    Record {
        request,
        scheduled,
        started: scheduled,
        first_byte: Some(scheduled.plus(Nanos(took.0 / 2))),
        ended: scheduled.plus(took),
        outcome: Outcome::Success,
        status: Some(200),
        bytes_sent: 100,
        bytes_received: 900,
    }
}

impl Share for MadeUpShare {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&self, mut options: RunOptions) -> Result<ResultFile, RunError> {
        let names = RequestNames { plan: &self.plan, found: None };
        let mut snapshot = IntervalSnapshot::of(0, &self.tally(), names);
        let start = (options.start)().expect("the run is not given up");
        (options.begins)(start.epoch);
        for second in 0..self.seconds {
            let end = start.epoch + Duration::from_secs(second + 1);
            thread::sleep(end.saturating_duration_since(Instant::now()));
            snapshot.second = second;
            options.snapshots.iter_mut().for_each(|listener| listener(&snapshot));
        }
        let windows = self.plan.windows();
        let (origin, place) = (Origin::default(), TargetPlace::OtherMachine);
        let mut collector = Collector::new(&self.plan, None, &windows, origin, place, 1);
        Ok(collector.result(RunState::Completed, Nanos::from_secs(self.seconds)))
    }
}
