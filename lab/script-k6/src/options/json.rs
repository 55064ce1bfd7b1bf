//! Options as scripts see them in `exec.test.options`: k6's names, `null` for what nobody gave.

use super::table::OPTIONS;
use super::tier::Tier;
use super::value::{Stage, Value};
use super::written::{COMMON, WrittenScenario};
use serde_json::{Map, Value as Json, json};

pub(super) fn options(tier: &Tier, trend_stats: &[&str], system_tags: &[&str]) -> Json {
    let mut all = Map::new();
    // Scripts test for options by their presence: those of shortcuts are only there where they are given.
    let is_shortcut = |name: &str| ["vus", "duration", "iterations", "stages"].contains(&name);
    // k6 has it for the command line alone.
    for row in OPTIONS.iter().filter(|row| row.name != "localIPs") {
        let value = match (row.name, tier.values.get(row.name)) {
            ("scenarios", _) => scenarios(tier.scenarios.as_deref().unwrap_or_default()),
            ("dns", value) => dns(value),
            (_, Some(value)) => shown(value),
            ("summaryTrendStats", None) => json!(trend_stats),
            ("systemTags", None) => json!(system_tags),
            (name, None) if is_shortcut(name) => continue,
            (_, None) => Json::Null,
        };
        all.insert(row.name.to_owned(), value);
    }
    Json::Object(all)
}

fn dns(given: Option<&Value>) -> Json {
    let mut table = json!({ "ttl": null, "select": null, "policy": null });
    if let (Some(Value::Json(Json::Object(given))), Json::Object(table)) = (given, &mut table) {
        table.extend(given.clone());
    }
    table
}

fn scenarios(written: &[WrittenScenario]) -> Json {
    let entry = |scenario: &WrittenScenario| (scenario.name.clone(), self::scenario(scenario));
    Json::Object(written.iter().map(entry).collect())
}

fn scenario(written: &WrittenScenario) -> Json {
    let keys = COMMON.iter().chain(written.kind.keys());
    let entry = |key: &str| match (key, written.values.get(key)) {
        ("executor", _) => json!(written.kind.name()),
        (_, Some(value)) => shown(value),
        (_, None) => Json::Null,
    };
    let is_there = |key: &str| key != "options" || written.values.contains_key(key);
    let keys = keys.map(|(key, _)| *key).filter(|key| is_there(key));
    Json::Object(keys.map(|key| (key.to_owned(), entry(key))).collect())
}

fn shown(value: &Value) -> Json {
    match value {
        Value::Integer(number) => json!(number),
        Value::Duration(span) => json!(span.to_string()),
        Value::Boolean(flag) => json!(flag),
        Value::Text(text) => json!(text),
        Value::TextList(texts) => json!(texts),
        Value::TextMap(map) => json!(map),
        Value::Stages(stages) => stages.iter().map(stage).collect(),
        Value::Json(json) => json.clone(),
    }
}

fn stage(stage: &Stage) -> Json {
    json!({ "duration": stage.duration.map(|span| span.to_string()), "target": stage.target })
}
