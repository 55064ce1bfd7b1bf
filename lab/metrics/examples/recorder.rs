//! How long a sample takes: one thread records requests as a script's `http.get` with a check does, and hands over a
//! hundred times. In time of the processor, which other work on the machine does not change.
//! `cargo run --release -p prony-metrics --example recorder`
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use prony_metrics::{
    Engine, Phases, Recorder, RecorderOptions, Registry, RequestSample, RequestTags, SystemTag, SystemTags,
    TagSets, Tags, Thresholds, builtin, thresholds,
};
use prony_model::units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

const HAND_OVERS: u64 = 100;
const REQUESTS_PER_HAND_OVER: u64 = 20_000;
/// `http_reqs`, seven times, `http_req_failed`.
const SAMPLES_PER_REQUEST: u64 = 9;

fn main() {
    let registry = Arc::new(Registry::new());
    let option = serde_json::json!({"http_req_duration{status:200}": ["p(95)<500"]});
    let conditions = thresholds::read(&option).expect("a good condition");
    let thresholds =
        Thresholds::resolve(conditions, &registry, SystemTags::default()).expect("a good threshold");
    let options = RecorderOptions {
        registry,
        system_tags: SystemTags::default(),
        run_tags: Vec::new(),
        has_outputs: false,
    };
    let engine = Engine::new(&options, thresholds, Vec::new());
    let mut recorder = Recorder::new(&options);
    let set = recorder.sets().with_system(TagSets::ROOT, SystemTag::Scenario, "default");
    let user = Tags { set, ..recorder.root() };
    measure("a request (9 samples)", SAMPLES_PER_REQUEST, &engine, &mut recorder, |recorder, number| {
        recorder.record_request(user, &request(number));
    });
    measure("a check", 1, &engine, &mut recorder, |recorder, number| {
        recorder.record_check(user, "status is 200", number % 100 > 0);
    });
    measure("a sample", 1, &engine, &mut recorder, |recorder, number| {
        recorder.record(builtin::WS_PING, user, number as f64);
    });
}

fn request(number: u64) -> RequestSample<'static> {
    let tags = RequestTags {
        method: "GET",
        url: "http://127.0.0.1:8080/items?first=10",
        status: 200,
        proto: Some("HTTP/1.1"),
        is_expected: Some(true),
        ..RequestTags::default()
    };
    let waiting = Nanos(500_000 + number % 1_000 * 1_000);
    let phases = Phases { sending: Nanos(9_000), waiting, receiving: Nanos(30_000), ..Phases::default() };
    RequestSample { tags, ended: Nanos(number), phases }
}

fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64).plus(Nanos(time.tv_nsec as u64))
}

/// Recording and adding up apart: they happen on different threads.
fn measure(
    name: &str,
    samples: u64,
    engine: &Engine,
    recorder: &mut Recorder,
    mut record: impl FnMut(&mut Recorder, u64),
) {
    let (mut recording, mut adding) = (0, 0);
    for _ in 0..HAND_OVERS {
        let start = cpu_time();
        for number in 0..REQUESTS_PER_HAND_OVER {
            record(recorder, number);
        }
        engine.receive(0, recorder);
        recording += cpu_time().since(start).0;
        let start = cpu_time();
        engine.tick(Nanos::ZERO);
        adding += cpu_time().since(start).0;
    }
    let count = f64::from((HAND_OVERS * REQUESTS_PER_HAND_OVER) as u32);
    let (recording, adding) = (recording as f64 / count, adding as f64 / count);
    let each = recording / samples as f64;
    println!(
        "{name}: {recording:.0} ns to record ({each:.1} ns a sample), {adding:.0} ns to add up elsewhere"
    );
}
