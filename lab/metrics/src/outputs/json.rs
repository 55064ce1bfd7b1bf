//! Lines of JSON: one for each metric before its first point, one for each point.

use super::time::write_rfc3339;
use super::{Asked, LineFormat, OutputContext, OutputError, OutputFormat, OutputSpec, Point, file_of};
use crate::registry::{Definition, Registry};
use crate::tag_set::TagSet;
use crate::thresholds::{Condition, MetricConditions};
use serde_json::{Map, Value, json};
use std::io::Write as _;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Json;

impl OutputFormat for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn lines(&self, context: &OutputContext) -> Box<dyn LineFormat> {
        Box::new(JsonLines::new(context.thresholds.clone()))
    }
}

/// `FILE`
#[expect(clippy::unnecessary_wraps, reason = "others of FORMATS can be written wrongly")]
pub(super) fn parse(asked: &Asked<'_>) -> Result<OutputSpec, OutputError> {
    Ok(OutputSpec { format: Arc::new(Json), file: file_of(asked.argument) })
}

#[derive(Debug)]
struct JsonLines {
    thresholds: Vec<MetricConditions>,
}

impl JsonLines {
    fn new(thresholds: Vec<MetricConditions>) -> Self {
        Self { thresholds }
    }
}

impl LineFormat for JsonLines {
    fn metric(&self, definition: &Definition, registry: &Registry, out: &mut Vec<u8>) -> bool {
        let Definition { name, kind, contains, submetrics, .. } = definition;
        let of_metric = self.thresholds.iter().filter(|of| *of.metric == **name);
        let thresholds: Vec<Value> = of_metric.flat_map(|of| of.conditions.iter().map(condition)).collect();
        let parts: Vec<Value> = submetrics.iter().map(|id| part(&registry.definition(*id))).collect();
        let line = json!({
            "type": "Metric",
            "data": {
                "name": &**name,
                "type": kind.as_str(),
                "contains": contains.as_str(),
                "thresholds": thresholds,
                "submetrics": if parts.is_empty() { Value::Null } else { parts.into() },
            },
            "metric": &**name,
        });
        writeln!(out, "{line}").expect("memory can be written");
        true
    }

    fn tags(&self, tags: &TagSet) -> Vec<u8> {
        object(tags).to_string().into_bytes()
    }

    fn metadata(&self, metadata: &TagSet) -> Vec<u8> {
        if metadata.iter().next().is_none() {
            return Vec::new();
        }
        format!(",\"metadata\":{}", object(metadata)).into_bytes()
    }

    fn point(&self, point: &Point<'_>, out: &mut Vec<u8>) {
        // Names of metrics are plain words and need no escapes.
        out.extend_from_slice(b"{\"metric\":\"");
        out.extend_from_slice(point.metric.as_bytes());
        out.extend_from_slice(b"\",\"type\":\"Point\",\"data\":{\"time\":\"");
        write_rfc3339(point.unix_ns, out);
        out.extend_from_slice(b"\",\"value\":");
        if point.value.is_finite() {
            write!(out, "{}", point.value).expect("memory can be written");
        } else {
            out.extend_from_slice(b"null");
        }
        out.extend_from_slice(b",\"tags\":");
        out.extend_from_slice(point.tags);
        out.extend_from_slice(point.metadata);
        out.extend_from_slice(b"}}\n");
    }
}

fn object(tags: &TagSet) -> Value {
    tags.iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect::<Map<_, _>>().into()
}

/// As text, unless it aborts the run.
fn condition(condition: &Condition) -> Value {
    if !condition.abort_on_fail {
        return Value::from(&*condition.source);
    }
    let delay = condition.delay_abort_eval.map(|delay| format!("{}ms", delay.as_millis_f64()));
    json!({"threshold": condition.source, "abortOnFail": true, "delayAbortEval": delay})
}

fn part(definition: &Definition) -> Value {
    let part = definition.part_of.as_ref().expect("a submetric is part of a metric");
    json!({"name": &*definition.name, "suffix": part.suffix, "tags": object(&part.tags)})
}
