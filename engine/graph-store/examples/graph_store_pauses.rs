//! How long operations take while the store takes a snapshot, all of it on one processor: an open load of reads and
//! writes at 80 % of what a closed one reaches, each operation timed from when it was due.
//!
//! `cargo run --release -p prony-graph-store --example graph_store_pauses -- [NODES [SECONDS [WORK_US [DURABILITY]]]]`
//! (3,000,000 nodes and twice as many relationships, 60 s, 8 µs of other work an operation as a server has it, `sync`,
//! `interval` or `off`). Prints one line a figure. Of ten operations eight look a node up, one its relationships, and
//! one makes a relationship.

#![allow(clippy::print_stdout, reason = "it is there to print")]
#![allow(clippy::unwrap_used, reason = "an error ends it")]

use prony_graph_store::{Around, Durability, Options, Ref, Registration, Settled, Store, Ticket};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// As many as a server has connections.
const WAITING_MAX: usize = 192;
const SHARE: f64 = 0.8;
const CLOSED_FOR: Duration = Duration::from_secs(5);
const TYPES: [&str; 9] =
    ["TYPE_1", "TYPE_2", "TYPE_3", "TYPE_4", "TYPE_5", "TYPE_6", "TYPE_7", "TYPE_8", "TYPE_9"];

struct Plan {
    nodes: u32,
    seconds: u32,
    work: Duration,
    durability: Durability,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: u32| arguments.get(place).map_or(usual, |text| text.parse().unwrap());
    let durability = match arguments.get(3).map(String::as_str) {
        None | Some("sync") => Durability::Sync,
        Some("interval") => Durability::Interval(Duration::from_millis(100)),
        Some("off") => Durability::Off,
        Some(other) => panic!("durability `{other}`: sync, interval or off"),
    };
    let work = Duration::from_micros(u64::from(number(2, 8)));
    let plan = Plan { nodes: number(0, 3_000_000), seconds: number(1, 60), work, durability };
    let directory = tempfile::tempdir_in(std::env::var_os("PRONY_DIRECTORY").unwrap_or(".".into())).unwrap();
    let log_bytes = fill(directory.path(), plan.nodes);
    let mut one = CpuSet::new();
    one.set(0);
    sched_setaffinity(None, &one).unwrap();
    run(directory.path(), &plan, log_bytes);
}

/// All of it is in the log; its length.
fn fill(directory: &Path, nodes: u32) -> u64 {
    let store =
        Store::open(directory, Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Off) });
    let (store, mut state) = (store.unwrap(), 1);
    let all: Vec<Ref> = (0..nodes)
        .map(|key| store.write(|write| write.create_node("Node", &key.to_string(), &[]), drop).unwrap())
        .collect();
    for _ in 0..nodes * 2 {
        let [from, to, of] = [nodes, nodes, 9].map(|limit| (chance(&mut state) % limit) as usize);
        store.write(|write| write.create_relationship(TYPES[of], all[from], all[to], &[]), drop).unwrap();
    }
    // What waits for the log is written before it says how long it is.
    store.write_and_wait(|write| write.create_node("Node", "last", &[])).unwrap();
    store.log_bytes()
}

fn run(directory: &Path, plan: &Plan, log_bytes: u64) {
    let closed_bytes = {
        let store =
            Store::open(directory, Options { snapshot_at_log_bytes: None, ..Options::new(plan.durability) });
        let store = store.unwrap();
        let before = store.log_bytes();
        let mut load = Load::new(&store, plan);
        let limit = load.closed();
        println!("closed loop, {WAITING_MAX} writes waiting at most: {limit:.0} operations/s");
        drop(load);
        (limit, (store.log_bytes() - before) as f64 / CLOSED_FOR.as_secs_f64())
    };
    let (limit, bytes_per_s) = closed_bytes;
    // So that one is due after a quarter of the time.
    let until_due = (bytes_per_s * SHARE * f64::from(plan.seconds) / 4.0) as u64;
    let now = log_bytes + (bytes_per_s * CLOSED_FOR.as_secs_f64()) as u64;
    let options = Options { snapshot_at_log_bytes: Some(now + until_due), ..Options::new(plan.durability) };
    let store = Store::open(directory, options).unwrap();
    let mut load = Load::new(&store, plan);
    let threads = processor_times();
    load.open(limit * SHARE);
    load.print(limit * SHARE);
    for (name, time) in processor_times() {
        let before = threads.get(&name).copied().unwrap_or_default();
        println!("thread {name}: {:.2?} of a processor", time.saturating_sub(before));
    }
    match store.snapshots().last {
        Some((report, _, took)) => {
            println!(
                "a snapshot of {} nodes and {} relationships, {} MB, took {took:.1?}",
                report.nodes,
                report.relationships,
                report.bytes >> 20
            );
        }
        None => println!("NO SNAPSHOT was complete: {:?}", store.snapshots()),
    }
}

struct Load<'s> {
    store: &'s Store,
    plan: &'s Plan,
    state: u64,
    inbox: Arc<(Mutex<Option<Ticket>>, Condvar)>,
    /// Tickets with when they were due.
    waiting: VecDeque<(Ticket, Instant)>,
    /// When an operation was due, how long it took, and whether a snapshot was being written.
    times: Vec<(Duration, bool)>,
    is_snapshot_running: bool,
    _watching: Registration,
}

impl<'s> Load<'s> {
    fn new(store: &'s Store, plan: &'s Plan) -> Self {
        let inbox = Arc::new((Mutex::new(None), Condvar::new()));
        let of_log = Arc::clone(&inbox);
        let watching = store.watch(move |settled: &Settled| {
            settled.outcome.as_ref().unwrap();
            *of_log.0.lock().unwrap() = Some(settled.up_to);
            of_log.1.notify_one();
        });
        Self {
            store,
            plan,
            state: 7,
            inbox,
            waiting: VecDeque::new(),
            times: Vec::new(),
            is_snapshot_running: false,
            _watching: watching,
        }
    }

    fn closed(&mut self) -> f64 {
        let (begun, mut count) = (Instant::now(), 0_u32);
        while begun.elapsed() < CLOSED_FOR {
            if self.waiting.len() >= WAITING_MAX {
                self.hear(Some(Duration::MAX));
            } else {
                self.hear(None);
                self.operate(count, Instant::now());
                count += 1;
            }
        }
        f64::from(count) / begun.elapsed().as_secs_f64()
    }

    fn open(&mut self, rate: f64) {
        let (begun, count) = (Instant::now(), (rate * f64::from(self.plan.seconds)) as u32);
        let due_at = |number: u32| begun + Duration::from_secs_f64(f64::from(number) / rate);
        self.times.reserve(count as usize);
        for number in 0..count {
            let due = due_at(number);
            if number.is_multiple_of(1000) {
                self.is_snapshot_running = self.store.snapshots().is_running;
            }
            while self.waiting.len() >= WAITING_MAX {
                self.hear(Some(Duration::MAX));
            }
            loop {
                let left = due.saturating_duration_since(Instant::now());
                self.hear(Some(left).filter(|left| !left.is_zero()));
                if left.is_zero() {
                    break;
                }
            }
            self.operate(number, due);
        }
        while !self.waiting.is_empty() {
            self.hear(Some(Duration::MAX));
        }
    }

    fn operate(&mut self, number: u32, due: Instant) {
        let key = (chance(&mut self.state) % self.plan.nodes).to_string();
        let begun = Instant::now();
        while begun.elapsed() < self.plan.work {
            std::hint::spin_loop();
        }
        let read = self.store.read();
        let node = read.find("Node", &key).unwrap();
        match number % 10 {
            0 => {
                let to =
                    read.find("Node", &(chance(&mut self.state) % self.plan.nodes).to_string()).unwrap().at;
                let (from, of) = (node.at, TYPES[(chance(&mut self.state) % 9) as usize]);
                drop(read);
                let made = self.store.write_ticket(|write| write.create_relationship(of, from, to, &[]));
                let ticket = made.unwrap().1;
                if ticket > Ticket::SETTLED {
                    return self.waiting.push_back((ticket, due));
                }
            }
            1 => drop(read.around(node.at, Around::default())),
            _ => {}
        }
        self.times.push((due.elapsed(), self.is_snapshot_running));
    }

    /// Takes note of what was settled; waits for it as long as it is told to.
    fn hear(&mut self, wait: Option<Duration>) {
        let mut settled = self.inbox.0.lock().unwrap();
        if let (None, Some(wait)) = (&*settled, wait) {
            settled = self.inbox.1.wait_timeout(settled, wait.min(Duration::from_secs(60))).unwrap().0;
        }
        let Some(up_to) = settled.take() else { return };
        drop(settled);
        while let Some((_, due)) = self.waiting.front().copied().filter(|(ticket, _)| *ticket <= up_to) {
            self.waiting.pop_front();
            self.times.push((due.elapsed(), self.is_snapshot_running));
        }
    }

    fn print(&self, rate: f64) {
        println!("open load, 80 %: {rate:.0} operations/s for {} s", self.plan.seconds);
        let of = |is_wanted: &dyn Fn(bool) -> bool| {
            let mut times: Vec<Duration> =
                self.times.iter().filter(|time| is_wanted(time.1)).map(|time| time.0).collect();
            times.sort_unstable();
            times
        };
        let sets: [(&str, &dyn Fn(bool) -> bool); 3] = [
            ("all", &|_| true),
            ("without a snapshot", &|running| !running),
            ("while one was written", &|running| running),
        ];
        for (name, is_wanted) in sets {
            let times = of(is_wanted);
            let at = |share: f64| times.get((times.len() as f64 * share) as usize).or(times.last());
            let told: Vec<String> = [0.5, 0.99, 0.999, 0.9999, 1.0]
                .iter()
                .filter_map(|share| at(*share).map(|time| format!("{:.2}", time.as_secs_f64() * 1e3)))
                .collect();
            println!(
                "{name}: {} operations; p50, p99, p99.9, p99.99, max: {} ms",
                times.len(),
                told.join(", ")
            );
        }
    }
}

/// Of each thread of this process, those of one name together.
fn processor_times() -> BTreeMap<String, Duration> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let on_cpu = read("schedstat").split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        *times.entry(read("comm").trim().to_owned()).or_default() += Duration::from_nanos(on_cpu);
    }
    times
}

fn chance(state: &mut u64) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u32
}
