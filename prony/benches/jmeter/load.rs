//! The same plans with JMeter and with Prony, in turns: requests a second, processor time of a request, memory at 1,000 users.

use crate::nginx::Nginx;
use crate::process::{cpu_seconds, peak_resident_kib};
use crate::statistics::{median, median_ratio, print_table};
use crate::studies::{ANSWER, Length, STUDIES, Study, rows};
use crate::{PRONY, TOOL_CORE};
use prony_testkit::JMeter;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Alternating rounds; the median is quoted.
pub(crate) const ROUNDS: usize = 5;
/// Java needs long to compile what it runs, and on slow machines until its rate is what it stays at.
const JAVA_WARM_UP: Duration = Duration::from_secs(42);
const WARM_UP: Duration = Duration::from_secs(5);
const COUNTED: Duration = Duration::from_secs(9);
/// What is counted is not the end.
const REST: Duration = Duration::from_secs(2);
const USERS: u32 = 100;
const MANY_USERS: u32 = 1_000;

/// What one run showed.
struct Run {
    per_s: f64,
    cpu_us: f64,
    failures: u64,
    median_ms: f64,
    peak_mb: f64,
}

pub(crate) fn beside_jmeter(rounds: usize) {
    let jmeter = JMeter::fetch().unwrap_or_else(|error| panic!("{error}"));
    let nginx = Nginx::start_answering(200, ANSWER);
    let port = nginx.port();
    let mut table = vec![
        [
            "plan",
            "users",
            "JMeter/s",
            "Prony/s",
            "ratio",
            "JMeter µs",
            "Prony µs",
            "ratio",
            "JMeter MB",
            "Prony MB",
            "ratio",
            "median ms",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for study in &STUDIES {
        for users in [USERS, MANY_USERS] {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for round in 1..=rounds {
                theirs.push(run(study, port, users, JAVA_WARM_UP, |folder| {
                    let command = jmeter.command();
                    let given = command.get_args().map(OsString::from).collect::<Vec<_>>();
                    let log = folder.join("jmeter.log").display().to_string();
                    start(folder, "java", &given, &["-t", "plan.jmx", "-l", "out.jtl", "-j", &log])
                }));
                ours.push(run(study, port, users, WARM_UP, |folder| {
                    start(folder, PRONY, &[], &["run", "plan.jmx", "-l", "out.jtl", "--quiet", "-t", "1"])
                }));
                println!("{}", of_round(study.name, users, (round, rounds), theirs.last(), ours.last()));
            }
            table.push(line(study.name, users, &theirs, &ours));
        }
    }
    print_table(&table);
    println!("medians of {rounds} rounds in turns; ratios are Prony's to JMeter's of the same round");
}

/// What one round showed, said when it ends: the whole takes half an hour, and what was measured before it is interrupted is not lost.
fn of_round(
    name: &str,
    users: u32,
    (round, rounds): (usize, usize),
    theirs: Option<&Run>,
    ours: Option<&Run>,
) -> String {
    let of = |run: Option<&Run>| {
        run.map(|run| format!("{:.0}/s, {:.1} µs, {:.0} MB", run.per_s, run.cpu_us, run.peak_mb))
            .unwrap_or_default()
    };
    format!("{name}, {users} users, round {round} of {rounds}: JMeter {}; Prony {}", of(theirs), of(ours))
}

fn line(name: &str, users: u32, theirs: &[Run], ours: &[Run]) -> Vec<String> {
    let all = |runs: &[Run], value: fn(&Run) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
    let pair = |value: fn(&Run) -> f64, digits: usize| {
        let (theirs, ours) = (all(theirs, value), all(ours, value));
        [
            format!("{:.digits$}", median(&theirs)),
            format!("{:.digits$}", median(&ours)),
            format!("{:.2}", median_ratio(&ours, &theirs)),
        ]
    };
    assert!(
        theirs.iter().chain(ours).all(|run| run.failures == 0),
        "{name}: samples failed, which compare with nothing"
    );
    let medians = format!(
        "{:.1}, {:.1}",
        median(&all(theirs, |run| run.median_ms)),
        median(&all(ours, |run| run.median_ms))
    );
    let mut cells = vec![name.to_owned(), users.to_string()];
    cells.extend(pair(|run| run.per_s, 0));
    cells.extend(pair(|run| run.cpu_us, 1));
    cells.extend(pair(|run| run.peak_mb, 0));
    cells.push(medians);
    cells
}

/// One run in a folder of its own, looked at between its warm-up and its end.
fn run(study: &Study, port: u16, users: u32, warm_up: Duration, start: impl FnOnce(&Path) -> Child) -> Run {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let length = Length::Seconds((warm_up + COUNTED + REST).as_secs() as u32);
    fs::write(folder.path().join("plan.jmx"), (study.plan)(port, users, length)).expect("room for a plan");
    fs::write(folder.path().join("rows.csv"), rows()).expect("room for rows");
    let mut child = start(folder.path());
    let pid = child.id();
    thread::sleep(warm_up);
    let (from_ms, cpu_before) = (now_ms(), cpu_seconds(pid));
    thread::sleep(COUNTED);
    let (until_ms, cpu_after) = (now_ms(), cpu_seconds(pid));
    let peak_mb = peak_resident_kib(pid) as f64 * 1024.0 / 1e6;
    child.wait().expect("it was started");
    let (count, failures, median_ms) = samples(&folder.path().join("out.jtl"), from_ms, until_ms);
    assert!(count > 0, "{}: no samples between {from_ms} and {until_ms}", study.name);
    Run {
        per_s: count as f64 * 1e3 / (until_ms - from_ms) as f64,
        cpu_us: (cpu_after - cpu_before) * 1e6 / count as f64,
        failures,
        median_ms,
        peak_mb,
    }
}

/// On the tools' processor, without its output. `taskset` becomes the program, so that its process is the program's.
fn start(folder: &Path, program: &str, given: &[OsString], arguments: &[&str]) -> Child {
    Command::new("taskset")
        .current_dir(folder)
        .args(["-c", TOOL_CORE, program])
        .args(given)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("taskset and {program} are needed: {error}"))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Requests that began in a window, those of them that failed, and the median of their milliseconds. Transactions are none: they have no
/// URL.
fn samples(jtl: &Path, from_ms: u64, until_ms: u64) -> (u64, u64, f64) {
    let file = fs::File::open(jtl).unwrap_or_else(|error| panic!("no rows were written: {error}"));
    let mut elapsed = Vec::new();
    let mut failures = 0;
    for line in BufReader::new(file).lines().skip(1) {
        let line = line.expect("a file of this machine can be read");
        let mut cells = line.splitn(3, ',');
        let (Some(begun), Some(took), Some(rest)) = (cells.next(), cells.next(), cells.next()) else {
            continue;
        };
        let Ok(begun) = begun.parse::<u64>() else { continue };
        if (from_ms..until_ms).contains(&begun) && rest.contains("http://") {
            elapsed.push(took.parse::<f64>().unwrap_or(f64::NAN));
            failures += u64::from(rest.contains(",false,"));
        }
    }
    (elapsed.len() as u64, failures, median(&elapsed))
}
