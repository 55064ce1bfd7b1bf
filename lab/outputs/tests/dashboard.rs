//! The dashboard that stands in `deploy/`: it asks for metrics that are sent, and is one that Grafana takes.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_outputs::METRICS;
use serde_json::Value;
use std::collections::BTreeSet;

const DASHBOARD: &str = include_str!("../../../deploy/grafana/prony-load.json");

/// All names in a query that begin as ours do.
fn metrics(query: &str) -> Vec<&str> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("prony_")).collect()
}

#[test]
fn every_query_asks_for_a_metric_that_is_sent() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut asked = BTreeSet::new();
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let named = metrics(expression);
            assert!(!named.is_empty(), "{expression} asks for nothing of ours");
            asked.extend(named);
            assert!(expression.contains("run=~\"$run\""), "{expression} mixes runs");
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        asked.extend(variable["definition"].as_str().map(metrics).unwrap_or_default());
    }
    let sent: BTreeSet<_> = METRICS.into_iter().collect();
    let unknown: Vec<_> = asked.difference(&sent).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not sent");
    let unseen: Vec<_> = sent.difference(&asked).collect();
    assert!(unseen.is_empty(), "{unseen:?} are in no panel");
}

/// What Grafana's schema of dashboards (version 39) demands of each panel.
#[test]
fn panels_have_what_grafana_demands() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["schemaVersion"].as_u64() >= Some(36) && dashboard["title"].is_string());
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "panels share an id: {panel}");
        assert!(panel["type"].is_string() && panel["title"].is_string(), "{panel}");
        let place = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(place[0] + place[2] <= 24, "{panel} is wider than a row");
        let references: BTreeSet<_> = panel["targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|target| target["refId"].as_str().unwrap())
            .collect();
        assert_eq!(references.len(), panel["targets"].as_array().unwrap().len(), "{panel}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
    }
}
