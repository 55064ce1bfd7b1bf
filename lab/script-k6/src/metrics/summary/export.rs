//! The file of `--summary-export`: the summary's data in its older shape, where metrics hold their figures directly,
//! thresholds say whether they were crossed, and groups and checks are found by name.

use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Serializer, Value};

/// Four spaces a level, as k6 writes it.
const INDENT: &[u8] = b"    ";

pub(super) fn to_text(data: &Value) -> String {
    let mut exported = Map::new();
    exported.insert("root_group".to_owned(), group(&data["root_group"]));
    let metrics = data["metrics"].as_object().into_iter().flatten();
    let metrics: Map<String, Value> = metrics.map(|(name, of)| (name.clone(), metric(of))).collect();
    exported.insert("metrics".to_owned(), metrics.into());
    if let Some(setup_data) = data.get("setup_data") {
        exported.insert("setup_data".to_owned(), setup_data.clone());
    }
    pretty(&exported.into())
}

fn metric(metric: &Value) -> Value {
    let mut figures = Map::new();
    let is_rate = metric["type"] == "rate";
    for (name, value) in metric["values"].as_object().into_iter().flatten() {
        let name = if is_rate && name == "rate" { "value" } else { name };
        figures.insert(name.to_owned(), value.clone());
    }
    if let Some(thresholds) = metric["thresholds"].as_object() {
        let crossed = thresholds.iter().map(|(source, of)| (source.clone(), Value::Bool(of["ok"] != true)));
        figures.insert("thresholds".to_owned(), crossed.collect::<Map<_, _>>().into());
    }
    figures.into()
}

fn group(of: &Value) -> Value {
    let by_name = |list: &Value, change: fn(&Value) -> Value| -> Value {
        let items = list.as_array().into_iter().flatten();
        let named = items.map(|item| (item["name"].as_str().unwrap_or_default().to_owned(), change(item)));
        named.collect::<Map<_, _>>().into()
    };
    let mut changed = of.clone();
    changed["groups"] = by_name(&of["groups"], group);
    changed["checks"] = by_name(&of["checks"], Value::clone);
    changed
}

/// JSON as k6 writes it to files.
pub fn pretty(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(INDENT));
    serde::Serialize::serialize(value, &mut serializer).expect("JSON in memory can be written to memory");
    String::from_utf8(bytes).expect("JSON is written as UTF-8")
}
