//! The summary for machines (`--new-machine-readable-summary`). With a k6 in the variable `K6`, the same has to hold of it.

use serde_json::json;
use std::fs;
use std::process::Command;

#[test]
fn the_summary_for_machines_has_k6s_form() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        import { check, group } from "k6";
        import { Counter, Gauge, Rate, Trend } from "k6/metrics";
        const counter = new Counter("my_counter"), gauge = new Gauge("level"), unused = new Counter("unused"), rate = new Rate("my_rate"), trend = new Trend("my_trend", true);
        export const options = { iterations: 4, thresholds: { "my_trend{a:b}": ["p(95)<9"], unused: ["count<1"], "checks{group:::g}": ["rate>0"] } };
        export default function () {
            group("g", () => check(1, { yes: () => true, no: () => false }));
            counter.add(2); gauge.add(3); rate.add(__ITER === 0); trend.add(5, { a: "b" });
        }
        export function handleSummary(data) { return { "own.json": JSON.stringify(data) }; }
    "#;
    fs::write(folder.path().join("script.js"), script).unwrap();
    let program = std::env::var_os("K6").unwrap_or_else(|| env!("CARGO_BIN_EXE_prony").into());
    let mut command = Command::new(program);
    command.current_dir(folder.path()).env("XDG_CONFIG_HOME", folder.path());
    let arguments =
        ["run", "-q", "--new-machine-readable-summary", "--summary-export", "export.json", "script.js"];
    let output = command.args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.path().join(name)).unwrap()).unwrap()
    };
    for summary in [read("export.json"), read("own.json")] {
        assert_eq!(
            (&summary["version"], &summary["metadata"]["k6_version"]),
            (&json!("1.0.0"), &json!("1.8.1"))
        );
        assert!(summary["metadata"]["generated_at"].as_str().unwrap().ends_with('Z'));
        assert!(summary["config"]["duration"].as_f64().unwrap() > 0.0);
        assert_eq!(
            (&summary["config"]["execution"], &summary["config"]["script"]),
            (&json!("local"), &json!(script))
        );
        let rate = |name: &str| json!({"name": name, "type": "rate", "contains": "default", "values": {"rate": 0.5, "matches": 4, "total": 8}});
        let total =
            json!({"name": "checks_total", "type": "counter", "contains": "default", "values": {"count": 8}});
        assert_eq!(
            summary["results"]["checks"],
            json!({
                "metrics": [total, rate("checks_failed"), rate("checks_succeeded")],
                "results": [{"name": "yes", "passes": 4, "fails": 0}, {"name": "no", "passes": 0, "fails": 4}],
            })
        );
        let all = summary["results"]["metrics"].as_array().unwrap();
        let times = json!({"avg": 5, "max": 5, "med": 5, "min": 5, "p90": 5, "p95": 5});
        for (name, kind, contains, values) in [
            ("my_counter", "counter", "default", json!({"count": 8})),
            ("my_rate", "rate", "default", json!({"rate": 0.25, "matches": 1, "total": 4})),
            ("my_trend", "trend", "time", times.clone()),
            ("my_trend{a:b}", "trend", "time", times),
            ("iterations", "counter", "default", json!({"count": 4})),
            ("level", "gauge", "default", json!({"value": 3, "min": 3, "max": 3})),
            ("unused", "counter", "default", json!({"count": 0})),
        ] {
            let expected = json!({"name": name, "type": kind, "contains": contains, "values": values});
            assert!(all.contains(&expected), "{expected} is not in {summary}");
        }
        assert!(all.iter().all(|metric| !metric["name"].as_str().unwrap().starts_with("checks")));
    }
}

/// The legacy summary has its own data, and what is not in `summaryTrendStats` is null.
#[test]
fn the_legacy_summary_keeps_its_form_and_statistics_that_are_not_asked_for_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        import { Trend } from "k6/metrics";
        const trend = new Trend("my_trend");
        export const options = { summaryTrendStats: ["avg", "p(99)"] };
        export default function () { trend.add(2); }
        export function handleSummary(data) { return { "own.json": JSON.stringify(data) }; }
    "#;
    fs::write(folder.path().join("script.js"), script).unwrap();
    let own = |mode: &str| -> serde_json::Value {
        let program = std::env::var_os("K6").unwrap_or_else(|| env!("CARGO_BIN_EXE_prony").into());
        let mut command = Command::new(program);
        command.current_dir(folder.path()).env("XDG_CONFIG_HOME", folder.path());
        command.env("K6_NEW_MACHINE_READABLE_SUMMARY", "1");
        let output = command.args(["run", "-q", "--summary-mode", mode, "script.js"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice(&fs::read(folder.path().join("own.json")).unwrap()).unwrap()
    };
    assert!(own("legacy")["metrics"]["my_trend"].is_object());
    let summary = own("full");
    let metrics = summary["results"]["metrics"].as_array().unwrap();
    let trend = metrics.iter().find(|metric| metric["name"] == "my_trend").unwrap();
    assert_eq!(
        trend["values"],
        json!({"avg": 2, "max": null, "med": null, "min": null, "p90": null, "p95": null})
    );
    assert_eq!(summary["results"]["checks"], json!({"metrics": [], "results": []}));
}
