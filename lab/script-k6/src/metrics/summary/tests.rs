//! The summary against texts that k6 1.8 printed: `testdata/` has the samples of two runs of k6, as its `--out json`
//! wrote them, and what it printed at their ends.

use super::*;
use expect_test::{expect, expect_file};
use prony_metrics::{
    Recorder, RecorderOptions, Registry, SystemTags, TagSets, Tags, Thresholds, builtin, thresholds,
};
use std::sync::Arc;

const COMPACT: (&str, &str) =
    (include_str!("../testdata/compact.points.jsonl"), include_str!("../testdata/compact.txt"));
const COMPACT_DURATION: Nanos = Nanos(200_627_795);
const LEGACY: (&str, &str) =
    (include_str!("../testdata/legacy.points.jsonl"), include_str!("../testdata/legacy.txt"));
const LEGACY_DURATION: Nanos = Nanos(191_484_190);

/// The thresholds of the script that k6 ran.
fn thresholds_of_script() -> Value {
    json!({
        "http_req_duration": ["p(95)<500", "p(99.9)<600", "avg<0.0001"],
        "http_req_duration{status:200}": ["max<1000"],
        "http_reqs{never:1}": ["count==0"],
        "my_rate": [{"threshold": "rate>0.9", "abortOnFail": false}],
        "my_gauge": ["value<100"],
        "my_counter": ["count<1", "rate>=0"],
        "checks": ["rate>0.99"],
        "checks{kind:a}": ["rate==1"],
    })
}

fn options_of(duration: Nanos) -> SummaryOptions {
    SummaryOptions {
        duration,
        trend_stats: DEFAULT_TREND_STATS.map(str::to_owned).to_vec(),
        setup_data: Some(json!({"token": "abc", "n": 1.5})),
        ..SummaryOptions::default()
    }
}

/// Records the samples of a run of k6 again.
fn replay(points: &str, option: &Value, options: SummaryOptions) -> Summary {
    let registry = Arc::new(Registry::new());
    let defined = [
        ("my_counter", Kind::Counter, Contains::Default),
        ("my_gauge", Kind::Gauge, Contains::Default),
        ("my_rate", Kind::Rate, Contains::Default),
        ("my_trend", Kind::Trend, Contains::Time),
        ("untimed", Kind::Trend, Contains::Default),
    ];
    for (name, kind, contains) in defined {
        registry.define(name, kind, contains).expect("a new name");
    }
    let conditions = thresholds::read(option).expect("good conditions");
    let resolved =
        Thresholds::resolve(conditions, &registry, SystemTags::default()).expect("good thresholds");
    let recording = RecorderOptions {
        registry,
        system_tags: SystemTags::default(),
        run_tags: Vec::new(),
        has_outputs: false,
    };
    let engine = Engine::new(&recording, resolved, Vec::new());
    let mut recorder = Recorder::new(&recording);
    for (number, line) in points.lines().enumerate() {
        recorder.set_now(Nanos(number as u64));
        record_point(&mut recorder, &serde_json::from_str(line).expect("a line of JSON"));
    }
    engine.receive(0, &mut recorder);
    engine.finish(options.duration);
    Summary::of(&engine, options)
}

fn record_point(recorder: &mut Recorder, line: &Value) {
    let metric = recorder.registry().get(line["metric"].as_str().expect("a name")).expect("a known metric");
    let value = line["data"]["value"].as_f64().expect("a number");
    let tags = line["data"]["tags"].as_object().expect("tags");
    let pairs: Vec<(&str, &str)> = tags
        .iter()
        .filter(|(name, _)| *name != "check")
        .map(|(name, value)| (name.as_str(), value.as_str().expect("a text")))
        .collect();
    let tags_of_point = Tags { set: recorder.sets().derive(TagSets::ROOT, &pairs), ..recorder.root() };
    let now = recorder.now();
    match metric {
        builtin::CHECKS => {
            recorder.record_check(tags_of_point, tags["check"].as_str().expect("a name"), value != 0.0);
        }
        builtin::GROUP_DURATION => {
            recorder.record_group(tags_of_point, now, Nanos::from_secs_f64(value / 1e3));
        }
        _ => recorder.record(metric, tags_of_point, value),
    }
}

#[test]
fn the_compact_text_is_what_k6_prints() {
    let (points, text) = COMPACT;
    let summary = replay(points, &thresholds_of_script(), options_of(COMPACT_DURATION));
    assert_eq!(summary.text(SummaryMode::Compact, false), text);
}

#[test]
fn the_legacy_text_is_what_k6_prints() {
    let (points, text) = LEGACY;
    let summary = replay(points, &thresholds_of_script(), options_of(LEGACY_DURATION));
    assert_eq!(summary.text(SummaryMode::Legacy, false), text);
}

/// Keeps the indentation that all lines have in common: `expect!` would take it from the expected text.
fn fenced(text: &str) -> String {
    text.split('\n').map(|line| format!("|{line}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn colours_mark_verdicts_and_figures() {
    let points = COMPACT.0.lines().filter(|line| line.contains("checks") || line.contains("my_counter"));
    let points = points.collect::<Vec<_>>().join("\n");
    let option = json!({"my_counter": ["count<1"]});
    let summary = replay(&points, &option, options_of(Nanos::from_secs(1)));
    let visible = |text: String| fenced(&text.replace('\u{1b}', "^"));
    expect![[r#"
        |
        |
        |  █ ^[1mTHRESHOLDS^[0m 
        |
        |    my_counter
        |    ^[31m✗^[0m ^[37m'count<1'^[0m ^[37mcount^[0m=^[36m7^[0m
        |
        |
        |  █ ^[1mTOTAL RESULTS^[0m 
        |
        |    checks_total^[2;37m.......:^[0m ^[36m8^[0m      ^[2;36m8/s^[0m
        |    checks_succeeded^[2;37m...:^[0m ^[36m62.50%^[0m ^[2;36m5 out of 8^[0m
        |    checks_failed^[2;37m......:^[0m ^[36m37.50%^[0m ^[2;36m3 out of 8^[0m
        |
        |    ^[32m✓ status is 200^[0m
        |    ^[31m✗ never^[0m
        |      ^[31m↳  0% — ✓ 0 / ✗ 2^[0m
        |    ^[31m✗ in inner^[0m
        |      ^[31m↳  50% — ✓ 1 / ✗ 1^[0m
        |
        |    ^[1mCUSTOM^[0m
        |    my_counter^[2;37m...:^[0m ^[36m7^[0m ^[2;36m7/s^[0m
        |
        |
        |
        |"#]]
    .assert_eq(&visible(summary.text(SummaryMode::Compact, true)));
    expect![[r#"
        |
        |^[32m     ✓ status is 200^[0m
        |^[31m     ✗ never
        |      ↳  0% — ✓ 0 / ✗ 2^[0m
        |
        |     █ outer
        |
        |^[32m       ✓ status is 200^[0m
        |
        |       █ inner
        |
        |^[31m         ✗ in inner
        |          ↳  50% — ✓ 1 / ✗ 1^[0m
        |
        |     checks^[2m.......:^[0m ^[36m62.50%^[0m ^[36;2m5 out of 8^[0m
        |   ^[31m✗^[0m my_counter^[2m...:^[0m ^[36m7^[0m      ^[36;2m7/s^[0m
        |
        |"#]]
    .assert_eq(&visible(summary.text(SummaryMode::Legacy, true)));
}

#[test]
fn the_data_has_the_shape_that_scripts_read() {
    let points = COMPACT
        .0
        .lines()
        .filter(|line| ["checks", "my_", "data_sent"].iter().any(|name| line.contains(name)));
    let points = points.collect::<Vec<_>>().join("\n");
    let option = json!({"my_counter": ["count<1", "rate>=0"]});
    let mut summary = replay(&points, &option, options_of(Nanos::from_secs(2)));
    expect_file!["../testdata/data.json"].assert_eq(&format!("{:#}\n", summary.data()));
    summary.options.setup_data = None;
    expect_file!["../testdata/export.json"].assert_eq(&format!("{}\n", summary.export()));
}

#[test]
fn options_of_text_summary_change_units_statistics_and_marks() {
    let data = json!({
        "options": {"summaryTrendStats": ["avg"], "summaryTimeUnit": "ms"},
        "metrics": {
            "wait": {"type": "trend", "contains": "time", "values": {"avg": 1500.25, "p(99)": 2000.5, "count": 7}},
            "ok": {"type": "rate", "contains": "default", "values": {"rate": 0.75, "passes": 3, "fails": 1}},
            "odd": {"type": "other", "contains": "default", "values": {}},
        },
    });
    let show = |options: Value, rates| text_summary(&data, &LegacyOptions::from_json(&options, rates));
    let plain = show(json!({"indent": "", "enableColors": false}), RateStyle::OutOf);
    expect![[r#"
        |    ok.....: 75.00% 3 out of 4
        |    wait...: avg=1500.25ms"#]]
    .assert_eq(&fenced(&plain));
    let other = json!({"indent": "> ", "enableColors": false, "summaryTimeUnit": "s", "summaryTrendStats": ["count", "p(99)", "max"]});
    expect![[r#"
        |>     ok.....: 75.00% ✓ 3 ✗ 1
        |>     wait...: count=7 p(99)=2.00s max=-"#]]
    .assert_eq(&fenced(&show(other, RateStyle::Marks)));
}

#[test]
fn percentiles_that_are_not_exact_are_said_to_be_so() {
    let recording = RecorderOptions {
        registry: Arc::default(),
        system_tags: SystemTags::default(),
        run_tags: Vec::new(),
        has_outputs: false,
    };
    let engine = Engine::new(&recording, Thresholds::default(), Vec::new());
    let mut recorder = Recorder::new(&recording);
    for number in 0..=EXACT_SAMPLES_MAX {
        recorder.record(builtin::WS_PING, recorder.root(), number as f64);
    }
    engine.receive(0, &mut recorder);
    let text = Summary::of(&engine, options_of(Nanos::from_secs(1))).text(SummaryMode::Compact, false);
    expect![[r#"
        |
        |
        |  █ TOTAL RESULTS 
        |
        |    WEBSOCKET
        |    ws_ping...: avg=8m20s min=0s med=8m20s max=16m40s p(90)=14m59s p(95)=15m49s
        |
        |
        |
        |  Percentiles of ws_ping are within 0.024 %: they have more than 1000000 samples.
        |
        |"#]]
    .assert_eq(&fenced(&text));
}
