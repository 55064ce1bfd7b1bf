//! A day of 10,000 entities that are notified once a minute, in twenty minutes: at a fixed rate, each entity in a notification of its own, with
//! queries beside them. What is told: the slowest notifications, counted from when they were due, and the engine's memory by quarter.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use prony_model::{Nanos, ResultFile, WindowKind};
use tempfile::NamedTempFile;

use crate::{
    process::{cpu_seconds, resident_mb},
    statistics::print_table,
    subject::Subject,
    tool::prony_result_beside,
};

const ENTITIES: u32 = 10_000;
const MINUTES_OF_THE_DAY: u32 = 24 * 60;
/// In which the day passes.
const MINUTES: u32 = 20;
/// A notification an entity and minute: 12,000.
const NOTIFICATIONS_PER_S: u32 = ENTITIES * MINUTES_OF_THE_DAY / (MINUTES * 60);
const QUERIES_PER_S: u32 = 30;
/// What counts as one.
const PAUSE_NS: u64 = 50_000_000;

pub(crate) fn in_twenty_minutes() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target's folder");
    let engine = Subject::start(&format!("series:{}", directory.path().display()), &[], None);
    let (notifications, queries) = (script(&notifications()), script(&queries()));
    let over = AtomicBool::new(false);
    let (notified, asked, memory) = thread::scope(|threads| {
        let memory = threads.spawn(|| {
            let mut seen = Vec::new();
            while !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_secs(1));
                seen.push(resident_mb(engine.pid()));
            }
            seen
        });
        let asked = threads.spawn(|| run(&engine, &queries, QUERIES_PER_S, 8));
        let notified = run(&engine, &notifications, NOTIFICATIONS_PER_S, 64);
        let asked = asked.join().expect("queries ran");
        over.store(true, Ordering::Relaxed);
        (notified, asked, memory.join().expect("memory was read"))
    });
    let head = [
        "at a fixed rate, from when they were due",
        "requests",
        "failed",
        "p50, ms",
        "p99, ms",
        "p99.9, ms",
        "slowest, ms",
    ];
    let rows = [("notifications", &notified), ("queries", &asked)].map(|(name, result)| row(name, result));
    print_table(&[vec![head.map(str::to_owned).to_vec()], rows.to_vec()].concat());
    let pauses = notified
        .series
        .iter()
        .filter(|second| second.max_ns.is_some_and(|slowest| slowest.0 > PAUSE_NS))
        .count();
    let quarters: Vec<String> = memory
        .chunks(memory.len().div_ceil(4).max(1))
        .map(|quarter| format!("{:.0}", quarter.iter().copied().fold(0.0, f64::max)))
        .collect();
    println!("seconds with a notification that took more than 50 ms: {pauses} of {}", MINUTES * 60);
    println!("most memory in each quarter, MB: {}", quarters.join(", "));
    println!("the engine's processor time: {:.0} s", cpu_seconds(engine.pid()));
    let bytes: u64 = fs::read_dir(directory.path())
        .expect("the series' directory")
        .flatten()
        .filter_map(|file| file.metadata().ok())
        .map(|file| file.len())
        .sum();
    println!("on the disk: {:.0} MB", bytes as f64 / 1e6);
}

fn run(engine: &Subject, script: &NamedTempFile, rate: u32, connections: u32) -> ResultFile {
    let flags = [
        "-t1",
        &format!("-c{connections}"),
        &format!("-d{MINUTES}m"),
        &format!("-R{rate}"),
        "-s",
        &script.path().display().to_string(),
        &engine.url,
    ];
    prony_result_beside(&flags.map(str::to_owned))
}

fn script(text: &str) -> NamedTempFile {
    let file = NamedTempFile::with_suffix(".lua").expect("a temporary file");
    fs::write(file.path(), text).expect("room for a script");
    file
}

/// Entity after entity; the day has ended when the run does.
fn notifications() -> String {
    let step_ms = 24.0 * 3_600_000.0 / f64::from(ENTITIES * MINUTES_OF_THE_DAY);
    format!(
        "local now, count = (os.time() - 86400) * 1000, 0\n\
         wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\n\
         function request()\n count = count + 1\n now = now + {step_ms}\n\
         local entity = count * 7919 % {ENTITIES}\n\
         local time = os.date('!%Y-%m-%dT%H:%M:%S', math.floor(now / 1000)) .. string.format('.%03dZ', math.floor(now % 1000))\n\
         local body = string.format('{{\"data\":[{{\"id\":\"Room:%d\",\"type\":\"Room\",\"TimeInstant\":{{\"type\":\"DateTime\",\"value\":\"%s\"}},\
         \"temperature\":{{\"type\":\"Number\",\"value\":%.2f}},\"pressure\":{{\"type\":\"Integer\",\"value\":%d}}}}]}}',\
         entity, time, 19 + entity % 50 / 10 + count * 31 % 40 / 100, 700 + (entity + count) % 40)\n\
         return wrk.format(nil, '/v2/notify', nil, body)\nend\n"
    )
}

/// In turn: the last ten of an entity, its hourly averages, all that it has of an attribute, and
/// the last hundred rows of all entities.
fn queries() -> String {
    format!(
        "local count = 0\n\
         function request()\n count = count + 1\n local entity = 'Room:' .. count * 6007 % {ENTITIES}\n\
         local asked = {{\n\
         '/v2/entities/' .. entity .. '/attrs/temperature?type=Room&lastN=10',\n\
         '/v2/entities/' .. entity .. '/attrs/temperature?type=Room&aggrMethod=avg&aggrPeriod=hour',\n\
         '/v2/entities/' .. entity .. '/attrs/temperature?type=Room',\n\
         '/v2/types/Room/attrs/temperature?lastN=100' }}\n\
         return wrk.format('GET', asked[count % 4 + 1])\nend\n"
    )
}

fn row(name: &str, result: &ResultFile) -> Vec<String> {
    let whole = result.window(WindowKind::Whole).expect("a result always holds the whole run");
    let times = &whole.all.response_time;
    let milliseconds =
        |time: Option<Nanos>| time.map_or("-".to_owned(), |time| format!("{:.2}", time.0 as f64 / 1e6));
    let at = |percentile| milliseconds(times.percentile(percentile));
    vec![
        name.to_owned(),
        whole.all.requests.to_string(),
        whole.all.failures.to_string(),
        at(50.0),
        at(99.0),
        at(99.9),
        milliseconds(times.max_ns),
    ]
}
