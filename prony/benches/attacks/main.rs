//! A bank of attacks on `prony serve`, each with a calm client beside it: what its requests take alone and meanwhile. Prints the table that
//! `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench attacks` for all of them, `-- CLASS` for those of one class: graphql, filters, framing, sockets, streams, stores,
//! graph, postgres, tls, http2.
//!
//! Needs taskset and chrt, and PostgreSQL for its class: the server has one processor, the calm client, the attackers and PostgreSQL the other, on
//! which the attackers give way. Nothing but the loopback is attacked.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod bank;
mod calm;
mod exchange;
mod filters;
mod framing;
mod graph;
mod graphql;
mod http2;
mod postgres;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
mod site;
mod sockets;
#[path = "../common/statistics.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod statistics;
mod stores;
mod streams;
mod tls;

use std::{
    collections::BTreeMap,
    fmt,
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use bank::{Answer, Attack, Field};
use calm::Calm;
use site::Site;
use statistics::{median, median_ratio};

/// Rounds of each attack; the median is quoted.
const ROUNDS: usize = 3;
/// For which the calm client asks alone, and then beside the attack.
const STAGE: Duration = Duration::from_secs(2);
/// Between two acts of an attacker: attacks are of what one request costs, not of how many come.
const PAUSE: Duration = Duration::from_millis(25);
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";
/// The aim: of the calm client's 99th percentile with the attack, to that without.
const RATIO_MAX: f64 = 2.0;
/// Where the aim is missed with less than this, the table says so in a word of its own: it is missed all the same.
const SLIGHT_MS: f64 = 2.0;

fn main() {
    // `cargo bench` adds `--bench`.
    let class = std::env::args().skip(1).find(|argument| argument != "--bench");
    let pid = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-cp", TOOL_CORE, &pid]).output();
    assert!(pinned.is_ok_and(|output| output.status.success()), "taskset is needed");
    let attacks = bank::all();
    let is_chosen = |attack: &&Attack| class.as_deref().is_none_or(|class| class == attack.class);
    assert!(attacks.iter().any(|attack| is_chosen(&attack)), "no attack is of the class {class:?}");
    let head = [
        "class",
        "attack",
        "calm p99, ms",
        "attacked p99, ms",
        "ratio",
        "calm refused",
        "",
        "answers",
        "memory, MB",
    ];
    print_line(&head.map(str::to_owned));
    print_line(&head.map(|_| "---".to_owned()));
    let mut names: BTreeMap<Verdict, Vec<&str>> = BTreeMap::new();
    for attack in attacks.iter().filter(is_chosen) {
        let outcome = tried(attack);
        names.entry(outcome.verdict()).or_default().push(attack.name);
        print_line(&outcome.row(attack));
    }
    println!();
    for (verdict, names) in &names {
        let which = if *verdict == Verdict::Met { String::new() } else { format!(": {}", names.join("; ")) };
        println!("{verdict}: {}{which}", names.len());
    }
}

/// A row of a Markdown table, as soon as it is known: all take half an hour.
fn print_line(row: &[String]) {
    println!("| {} |", row.join(" | "));
}

/// Whether the calm client was served as the aim asks: none refused, and at most twice the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Met,
    /// More than twice the time, which is still below [`SLIGHT_MS`].
    Slight,
    Missed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met => formatter.write_str("met"),
            Self::Slight => write!(formatter, "missed, below {SLIGHT_MS} ms"),
            Self::Missed => formatter.write_str("**missed**"),
        }
    }
}

/// What was seen of an attack, round by round.
#[derive(Debug, Default)]
struct Outcome {
    calm_ms: Vec<f64>,
    attacked_ms: Vec<f64>,
    refused: u64,
    answers: BTreeMap<Answer, u64>,
    memory_mb: f64,
}

impl Outcome {
    fn ratio(&self) -> f64 {
        median_ratio(&self.attacked_ms, &self.calm_ms)
    }

    fn verdict(&self) -> Verdict {
        let is_within = self.ratio() <= RATIO_MAX;
        if self.refused == 0 && is_within {
            Verdict::Met
        } else if self.refused == 0 && median(&self.attacked_ms) < SLIGHT_MS {
            Verdict::Slight
        } else {
            Verdict::Missed
        }
    }

    fn row(&self, attack: &Attack) -> [String; 9] {
        let answers: Vec<String> =
            self.answers.iter().map(|(answer, count)| format!("{answer} × {count}")).collect();
        [
            attack.class.to_owned(),
            attack.name.to_owned(),
            format!("{:.2}", median(&self.calm_ms)),
            format!("{:.2}", median(&self.attacked_ms)),
            format!("{:.2}", self.ratio()),
            self.refused.to_string(),
            self.verdict().to_string(),
            answers.join(", "),
            format!("{:.0}", self.memory_mb),
        ]
    }
}

/// An attack on a server of its own.
fn tried(attack: &Attack) -> Outcome {
    let site = Site::start(attack.served);
    let mut outcome = Outcome::default();
    Calm::asks(&site, STAGE);
    for round in 0..ROUNDS {
        (attack.prepare)(&site, round);
        let alone = Calm::asks(&site, STAGE);
        let beside = attacked(&site, attack, &mut outcome.answers);
        outcome.calm_ms.push(alone.p99_ms());
        outcome.attacked_ms.push(beside.p99_ms());
        outcome.refused += alone.refused + beside.refused;
    }
    outcome.memory_mb = process::peak_resident_kib(site.pid()) as f64 / 1000.0;
    outcome
}

/// The calling thread has its processor while nobody else wants it: the calm client's times are the server's, and not those of requests that
/// are being made beside it.
fn give_way() {
    let thread = std::fs::read_link("/proc/thread-self").expect("Linux says which thread this is");
    let thread = thread.file_name().expect("it has a number");
    let done = Command::new("chrt").args(["--idle", "--pid", "0"]).arg(thread).output();
    assert!(done.is_ok_and(|output| output.status.success()), "chrt is needed");
}

fn attacked(site: &Site, attack: &Attack, answers: &mut BTreeMap<Answer, u64>) -> Calm {
    let over = AtomicBool::new(false);
    let seen = Mutex::new(answers);
    thread::scope(|threads| {
        for client in 0..attack.clients {
            let (seen, over) = (&seen, &over);
            threads.spawn(move || {
                give_way();
                let mut number = 0;
                while !over.load(Ordering::Relaxed) {
                    let answer = (attack.act)(&Field { site, over, client, number });
                    *seen.lock().unwrap_or_else(PoisonError::into_inner).entry(answer).or_default() += 1;
                    number += 1;
                    thread::sleep(PAUSE);
                }
            });
        }
        // What the attackers hold open is there by then.
        thread::sleep(STAGE / 4);
        let calm = Calm::asks(site, STAGE);
        over.store(true, Ordering::Relaxed);
        calm
    })
}
