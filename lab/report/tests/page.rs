//! The page of results: what it holds, that names stay texts, and that a day is small.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod common;

use common::{
    closed, day, hostile, named, named_comparison, named_search, open, statuses, study, subscribed,
    subscribed_alone,
};
use expect_test::{Expect, expect};
use prony_model::Nanos;
use prony_model::measurement::observation::{Observation, ObservedSeries, ObservedUnit};
use prony_model::measurement::record::OutcomeKind;
use prony_model::result::{OverTime, ResultFile};
use prony_model::verdict::finding::{Finding, FindingKind, TimeSpan};
use prony_report::{NamedDocument, PageForm, html, study_html};

/// The data within a page; nothing where the program is built without npm.
fn data(documents: &[NamedDocument]) -> Option<serde_json::Value> {
    data_of(&html(documents, PageForm::Plots))
}

fn data_of(page: &str) -> Option<serde_json::Value> {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">")?;
    let (json, _) = rest.split_once("</script>").unwrap();
    Some(serde_json::from_str(json).unwrap())
}

/// Names and lengths of what is drawn.
fn check(documents: &[NamedDocument], expected: &Expect) {
    let Some(data) = data(documents) else { return };
    let mut lines = vec![format!("{}: {} runs", data["title"], data["runs"].as_array().unwrap().len())];
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let length = |value: &serde_json::Value| value.as_array().map_or(0, Vec::len);
    let run = &data["runs"][0];
    let plots = list(&run["plots"]).into_iter().chain(list(&run["observers"]["plots"]));
    for plot in plots {
        let names: Vec<_> = list(&plot["lines"]).iter().map(|line| line["name"].to_string()).collect();
        lines.push(format!(
            "{} {} points {}: {}",
            plot["id"],
            plot["unit"],
            length(&plot["times"]),
            names.join(" ")
        ));
        for line in list(&plot["lines"]) {
            assert_eq!(length(&line["values"]), length(&plot["times"]));
        }
    }
    lines.extend(list(&run["spectra"]).iter().map(|s| format!("spectrum {} {}", s["name"], s["samples"])));
    lines.extend(list(&run["tables"]).iter().map(|table| format!("table {}", table["title"])));
    for (name, part) in [("search", &data["search"]), ("comparison", &data["comparison"])] {
        if !part.is_null() {
            lines.push(format!("{name}: {}, void {}", part["answer"], part["is_void"]));
        }
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn a_run_has_its_plots_and_tables() {
    check(
        &[named("r", closed())],
        &expect![[r#"
            "shop": 1 runs
            "throughput" "per_second" points 30: "requests started" "successes" "failures" "users"
            "percentiles" "milliseconds" points 30: "p50" "p95" "p99" "max"
            "failures" "per_second" points 30: "status 503"
            "received" "bytes_per_second" points 30: "received"
            spectrum "response time" 190
            table "Figures"
            table "by request (steady state)"
            table "status codes (steady state)"
            table "failures (steady state)"
        "#]],
    );
}

#[test]
fn each_status_has_a_line_where_several_are_expected() {
    check(
        &[named("r", statuses())],
        &expect![[r#"
            "shop": 1 runs
            "throughput" "per_second" points 30: "requests started" "successes" "failures" "users"
            "percentiles" "milliseconds" points 30: "p50" "p95" "p99" "max"
            "failures" "per_second" points 30: "status 503"
            "statuses" "per_second" points 30: "status 200" "status 201" "status 204" "status 503"
            "received" "bytes_per_second" points 30: "received"
            spectrum "response time" 190
            table "Figures"
            table "by request (steady state)"
            table "status codes (steady state)"
            table "failures (steady state)"
        "#]],
    );
    let lines = |result| {
        let data = data(&[named("r", result)])?;
        let plots = data["runs"][0]["plots"].as_array().unwrap().clone();
        let sum = |line: &serde_json::Value| -> f64 {
            let values = line["values"].as_array().unwrap();
            values.iter().filter_map(serde_json::Value::as_f64).sum()
        };
        Some(plots.into_iter().find(|plot| plot["id"] == "statuses").map(|plot| {
            assert_eq!(plot["axis"], "responses a second");
            let lines = plot["lines"].as_array().unwrap().iter();
            let lines = lines.map(|line| format!("{} {}", line["name"].as_str().unwrap(), sum(line)));
            lines.collect::<Vec<_>>().join(", ")
        }))
    };
    let Some(drawn) = lines(statuses()) else { return };
    assert_eq!(drawn.as_deref(), Some("status 200 176, status 201 95, status 204 14, status 503 15"));
    // One request expects it, and another does not.
    let mut shared = statuses();
    shared.over_time.statuses.insert(204, vec![2; 30]);
    let drawn = lines(shared).flatten();
    assert_eq!(drawn.as_deref(), Some("status 200 176, status 201 95, status 204 74, status 503 15"));
    // More than can be told apart: the most frequent are drawn.
    let mut many = statuses();
    many.over_time.expected_statuses.extend((0..9).map(|more| (220 + more, vec![u64::from(more) + 1; 30])));
    let drawn = lines(many).flatten().unwrap();
    assert!(drawn.starts_with("status 200 176, status 201 95, status 223 120, "), "{drawn}");
    assert_eq!(drawn.split(", ").count(), 8);
    let mut old = statuses();
    old.over_time.expected_statuses.clear();
    assert_eq!(lines(old), Some(None));
}

#[test]
fn the_plot_of_failures_says_what_it_counts() {
    let note = |result| {
        let data = data(&[named("r", result)])?;
        let plots = data["runs"][0]["plots"].as_array().unwrap().clone();
        let plot = plots.into_iter().find(|plot| plot["id"] == "failures").unwrap();
        assert_eq!(plot["axis"], "failures a second");
        Some(plot["note"].as_str().unwrap().to_owned())
    };
    let Some(of_seconds) = note(closed()) else { return };
    assert_eq!(of_seconds, "requests that failed; those with an expected status are the successes");
    assert_eq!(note(day()).unwrap(), format!("{of_seconds}; means over 5m00s"));
}

#[test]
fn subscribers_have_plots_and_a_spectrum_of_their_own() {
    check(
        &[named("r", subscribed())],
        &expect![[r#"
            "shop": 1 runs
            "throughput" "per_second" points 20: "requests started" "successes" "failures" "users"
            "percentiles" "milliseconds" points 20: "p50" "p95" "p99" "max"
            "received" "bytes_per_second" points 20: "received"
            "events" "per_second" points 20: "events" "missed" "subscriptions"
            "fan-out" "milliseconds" points 20: "p50" "p99" "max"
            spectrum "response time" 200
            spectrum "fan-out latency of prices" 4000
            table "Figures"
            table "subscribers (whole run)"
            table "events (steady state)"
            table "deliveries (whole run)"
            table "subscribers, what went wrong (whole run)"
            table "status codes (steady state)"
        "#]],
    );
}

#[test]
fn subscribers_alone_have_no_figures_of_requests() {
    check(
        &[named("r", subscribed_alone())],
        &expect![[r#"
        "shop": 1 runs
        "events" "per_second" points 20: "events" "missed" "subscriptions"
        "fan-out" "milliseconds" points 20: "p50" "p99" "max"
        spectrum "response time" 200
        spectrum "fan-out latency of prices" 4000
        table "subscribers (whole run)"
        table "events (steady state)"
        table "deliveries (whole run)"
        table "subscribers, what went wrong (whole run)"
        table "status codes (steady state)"
    "#]],
    );
}

#[test]
fn a_day_is_drawn_from_few_points_and_keeps_its_extremes() {
    let documents = [named("day", day())];
    check(
        &documents,
        &expect![[r#"
            "steady rate": 1 runs
            "throughput" "per_second" points 1000: "starts asked" "requests started" "successes" "failures" "starts dropped" "users"
            "percentiles" "milliseconds" points 1000: "p50" "p95" "p99" "max"
            "failures" "per_second" points 288: "status 503"
            "received" "bytes_per_second" points 1000: "received"
            "observed-0" "processors" points 1000: "process nginx (4711)" "lab"
            "observed-1" "bytes" points 1000: "process nginx (4711)" "lab"
            spectrum "response time" 2994
            spectrum "service time" 2994
            table "Figures"
            table "iterations (steady state)"
            table "checks (whole run)"
            table "status codes (steady state)"
            table "failures (steady state)"
        "#]],
    );
    let Some(data) = data(&documents) else { return };
    let lines = data["runs"][0]["plots"][1]["lines"].as_array().unwrap();
    let highest = |name: &str| {
        let line = lines.iter().find(|line| line["name"] == name).unwrap();
        line["values"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).fold(0.0, f64::max)
    };
    assert!((highest("max") - 4_000.0).abs() < 1e-9, "the one slow second is there");
    let page = html(&documents, PageForm::Plots);
    assert!(page.len() < 400_000, "{}", page.len());
}

/// A folder often holds runs beside the search that came after them.
#[test]
fn beside_other_results_a_search_says_its_interval() {
    let documents = [named("shop", closed()), named_search(), named_comparison()];
    let answer = "shop: the limit is between 310/s and 340/s";
    let plain = html(&documents, PageForm::Plain("it is a test"));
    assert!(plain.contains(answer), "{plain}");
    let Some(data) = data(&documents) else { return };
    let texts: Vec<_> =
        data["conclusions"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with(answer), "{texts:?}");
    for alone in [vec![named_search()], vec![named("shop", closed()), named("open", open())]] {
        let data = self::data(&alone).unwrap();
        assert!(data.get("conclusions").is_none(), "{data}");
    }
}

#[test]
fn searches_and_comparisons_have_their_answers() {
    check(
        &[named_search()],
        &expect![[r#"
            "shop": 22 runs
            "throughput" "per_second" points 10: "starts asked" "requests started" "successes" "failures" "users"
            "percentiles" "milliseconds" points 10: "p50" "p95" "p99" "max"
            "received" "bytes_per_second" points 10: "received"
            spectrum "response time" 1000
            spectrum "service time" 1000
            table "Figures"
            table "status codes (steady state)"
            search: "the limit is between 310/s and 340/s: the first kept every objective, the second did not (9.7 % apart)", void false
        "#]],
    );
    check(
        &[named_comparison()],
        &expect![[r#"
            "after.toml against before.toml": 10 runs
            "throughput" "per_second" points 10: "starts asked" "requests started" "successes" "failures" "users"
            "percentiles" "milliseconds" points 10: "p50" "p95" "p99" "max"
            "received" "bytes_per_second" points 10: "received"
            spectrum "response time" 3000
            spectrum "service time" 3000
            table "Figures"
            table "status codes (steady state)"
            comparison: "B is worse: mean, p50, p75, p90, p95, p99, p100", void false
        "#]],
    );
}

#[test]
fn an_experiment_stands_before_its_runs() {
    let documents = [named("a", open()), named("b", closed())];
    let page = study_html(study(), &documents, PageForm::Plots);
    assert!(page.contains("<title>What does it carry?</title>"));
    // Tables and words stand on the page without scripts too.
    for text in
        ["What differs from the study: all of it.", "Ended early.", "<th scope=\"col\">Published</th>"]
    {
        assert!(page.contains(text), "{text}");
    }
    let Some(data) = data_of(&page) else { return };
    assert_eq!(data["study"]["plots"][0]["lines"][1]["values"], serde_json::json!([2261.0, null]));
    assert!(data["side_by_side"].is_null() && data["runs"].as_array().unwrap().len() == 2);
}

#[test]
fn names_are_never_markup() {
    let documents = [named("r", hostile())];
    for form in [PageForm::Plots, PageForm::Plain("<b>")] {
        let page = html(&documents, form);
        assert!(!page.contains("<img") && !page.contains("<script>") && !page.contains("<b>"));
    }
    if let Some(data) = data(&documents) {
        assert_eq!(data["title"], hostile().plan.name);
    }
}

#[test]
fn the_plain_page_has_the_tables_and_says_what_is_missing() {
    let page = html(&[named("r", closed())], PageForm::Plain("npm is not installed"));
    let body = page.split_once("</style>").unwrap().1;
    expect![[r#"

        <main>
        <p>This page has tables but no plots: npm is not installed.</p>
        <h1>shop</h1>
        <h2>shop</h2>
        <p>FAILED: errors&lt;1%: 5.00 %</p>
        <p><strong>too-few-samples</strong>: 190 successes, under 500: high percentiles are left out. Cause: a percentile needs at least five samples beyond it. Try: run longer or with more users.</p>
        <ul>
        <li>kept: p95&lt;500ms, measured 48.0 ms</li>
        <li>FAILED: errors&lt;1%, measured 5.00 %</li>
        <li>UNDECIDED: p99&lt;1s, measured too few samples</li>
        </ul>
        <div class="wide" role="group" aria-label="Figures" tabindex="0"><table><caption>Figures</caption>
        <tr><td></td><th scope="col">steady state</th><th scope="col">whole run</th></tr>
        <tr><th scope="row">from, to</th><td>10.0 s – 30.0 s</td><td>0 s – 30.0 s</td></tr>
        <tr><th scope="row">requests</th><td>200</td><td>300</td></tr>
        <tr><th scope="row">successes a second</th><td>9.5</td><td>9.5</td></tr>
        <tr><th scope="row">errors</th><td>5.00 %</td><td>5.00 %</td></tr>
        <tr><th scope="row">received</th><td>400.0 kB</td><td>600.0 kB</td></tr>
        <tr><th scope="row">response time min</th><td>1.00 ms</td><td>1.00 ms</td></tr>
        <tr><th scope="row">mean</th><td>25.7 ms</td><td>25.7 ms</td></tr>
        <tr><th scope="row">p50</th><td>26.0 ms</td><td>26.0 ms</td></tr>
        <tr><th scope="row">p75</th><td>38.0 ms</td><td>38.0 ms</td></tr>
        <tr><th scope="row">p90</th><td>46.0 ms</td><td>46.0 ms</td></tr>
        <tr><th scope="row">p95</th><td>48.0 ms</td><td>48.0 ms</td></tr>
        <tr><th scope="row">max</th><td>50.0 ms</td><td>50.0 ms</td></tr>
        </table></div>
        <div class="wide" role="group" aria-label="by request (steady state)" tabindex="0"><table><caption>by request (steady state)</caption>
        <tr><td></td><th scope="col">requests</th><th scope="col">a second</th><th scope="col">errors</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th><th scope="col">max</th></tr>
        <tr><th scope="row">list</th><td>134</td><td>6.4</td><td>5.22 %</td><td>26.0 ms</td><td>48.0 ms</td><td>-</td><td>50.0 ms</td></tr>
        <tr><th scope="row">buy</th><td>66</td><td>3.2</td><td>4.55 %</td><td>25.0 ms</td><td>-</td><td>-</td><td>50.0 ms</td></tr>
        </table></div>
        <div class="wide" role="group" aria-label="status codes (steady state)" tabindex="0"><table><caption>status codes (steady state)</caption>
        <tr><td></td><th scope="col">responses</th><th scope="col">of all</th></tr>
        <tr><th scope="row">status 200</th><td>190</td><td>95.00 %</td></tr>
        <tr><th scope="row">status 503</th><td>10</td><td>5.00 %</td></tr>
        </table></div>
        <div class="wide" role="group" aria-label="failures (steady state)" tabindex="0"><table><caption>failures (steady state)</caption>
        <tr><td></td><th scope="col">requests</th><th scope="col">of all</th></tr>
        <tr><th scope="row">status 503</th><td>10</td><td>5.00 %</td></tr>
        </table></div>
        <dl>
        <dt>target</dt><dd>http://shop.test</dd>
        <dt>load</dt><dd>closed loop, up to 100 users, think time 2.00 s</dd>
        <dt>seed</dt><dd>1</dd>
        <dt>lab</dt><dd>2 threads, busiest 5 %, 0 connections (0 again)</dd>
        <dt>longest silence</dt><dd>0 s</dd>
        </dl>
        </main>
        </html>
    "#]].assert_eq(body);
}

#[test]
fn plots_are_marked_with_what_happened_and_with_what_was_asked() {
    let mut result = closed();
    let series = |name: &str, unit, points| ObservedSeries { name: name.to_owned(), unit, points };
    let at = Nanos::from_secs;
    result.observers = vec![Observation {
        name: "collector größe.log".to_owned(),
        series: vec![
            series("pause (mixed)", ObservedUnit::Nanoseconds, vec![(at(12), 2.5e7), (at(3), 4e6)]),
            series(
                "compactions",
                ObservedUnit::Count,
                vec![(at(1), 0.0), (at(7), 1.0), (at(8), 2.0), (at(9), 0.0)],
            ),
            series("heap", ObservedUnit::Bytes, vec![(at(1), 1e6)]),
        ],
        summary: Vec::new(),
        faults: vec![(at(20), "the file was rotated".to_owned())],
    }];
    result.series[25].workers_missing = 2;
    let span = |from_ns, to_ns| Some(TimeSpan { from_ns, to_ns });
    let finding = |kind: FindingKind, seen: &str, span| Finding {
        kind,
        voids_claim: false,
        seen: seen.to_owned(),
        cause: String::new(),
        try_next: String::new(),
        span,
    };
    result.findings = vec![
        finding(FindingKind::TimeoutsCensor, "4 requests timed out", span(at(14), at(17))),
        finding(FindingKind::Clock, "the wall clock was set", span(at(18), at(18))),
        finding(FindingKind::TooShort, "of the whole run", None),
    ];
    let Some(data) = data(&[named("r", result)]) else { return };
    let run = &data["runs"][0];
    let marks: Vec<_> = run["annotations"].as_array().unwrap().iter().map(ToString::to_string).collect();
    expect![[r#"
        {"at_s":3.0,"kind":"pause","text":"collector größe.log: pause (mixed) 4.00 ms"}
        {"at_s":7.0,"kind":"compaction","text":"collector größe.log: compactions"}
        {"at_s":10.0,"kind":"stage","text":"100 users"}
        {"at_s":12.0,"kind":"pause","text":"collector größe.log: pause (mixed) 25.0 ms"}
        {"at_s":14.0,"to_s":17.0,"kind":"finding","text":"timeouts-censor: 4 requests timed out"}
        {"at_s":18.0,"kind":"finding","text":"clock: the wall clock was set"}
        {"at_s":20.0,"kind":"fault","text":"collector größe.log: the file was rotated"}
        {"at_s":25.0,"to_s":26.0,"kind":"worker","text":"2 workers are missing"}"#]]
    .assert_eq(&marks.join("\n"));
    let spans: Vec<_> =
        run["findings"].as_array().unwrap().iter().map(|found| found["span_s"].clone()).collect();
    let expected =
        [serde_json::json!([14.0, 17.0]), serde_json::json!([18.0, 18.0]), serde_json::Value::Null];
    assert_eq!(spans, expected);
    let lines: Vec<_> = run["objectives"].as_array().unwrap().iter().map(ToString::to_string).collect();
    expect![[r#"
        {"plot":"percentiles","value":500.0,"text":"p95<500ms"}
        {"plot":"percentiles","value":1000.0,"text":"p99<1s"}"#]]
    .assert_eq(&lines.join("\n"));
}

/// As of one that was stopped: what ended in it ended in 1.9 s, not in the one whole second of them.
#[test]
fn the_last_interval_is_as_long_as_the_run_went_on() {
    let mut result = closed();
    result.over_time = OverTime {
        interval_ns: Nanos::from_secs(2),
        latencies: vec![Vec::new(); 15],
        failures: [(OutcomeKind::Read, [vec![40; 14], vec![38]].concat())].into(),
        ..OverTime::default()
    };
    result.windows.last_mut().unwrap().window.to_ns = Nanos::from_millis(29_900);
    let Some(data) = data(&[named("r", result)]) else { return };
    let plots = data["runs"][0]["plots"].as_array().unwrap();
    let plot = plots.iter().find(|plot| plot["id"] == "failures").unwrap();
    assert_eq!(plot["lines"][0]["values"], serde_json::json!(vec![20.0; 15]));
    assert_eq!(plot["times"].as_array().unwrap().last(), Some(&serde_json::json!(29.9)));
    // What is counted anew of a chosen part has no plot that says so.
    assert_eq!(data["runs"][0]["over_time"]["end_s"], serde_json::json!(29.9));
}

#[test]
fn latencies_by_interval_are_those_of_the_run_and_fewer_with_many_runs() {
    let counted = |documents: &[NamedDocument]| {
        let data = data(documents)?;
        let over_time = data["runs"][0]["over_time"].clone();
        let latencies = over_time["latencies"].as_array().unwrap().clone();
        let counts = latencies.iter().flat_map(|counts| counts.as_array().unwrap().iter().skip(1));
        let successes: u64 = counts.map(|count| count.as_u64().unwrap()).sum();
        let failures = over_time["failures"].as_array().unwrap();
        let failures: u64 = failures.iter().map(|count| count.as_u64().unwrap()).sum();
        Some((over_time["interval_s"].as_f64().unwrap(), latencies.len(), successes, failures))
    };
    let Some(one) = counted(&[named("one", closed())]) else { return };
    assert_eq!(one, (1.0, 30, 285, 15));
    let many: Vec<_> = (0..100).map(|run| named(&format!("{run}"), closed())).collect();
    assert_eq!(counted(&many), Some((1.0, 30, 285, 15)), "a short run keeps its seconds");
    let of_a_day = ResultFile { observers: Vec::new(), ..day() };
    let days: Vec<_> = (0..6).map(|run| named(&format!("{run}"), of_a_day.clone())).collect();
    let (length_s, intervals, _, failures) = counted(&days).unwrap();
    assert_eq!((length_s, intervals), (600.0, 144));
    assert_eq!(failures, counted(&[named("day", of_a_day)]).unwrap().3, "nothing is lost");
    let mut old = closed();
    old.over_time = OverTime::default();
    assert!(data(&[named("old", old)]).unwrap()["runs"][0]["over_time"].is_null());
}
