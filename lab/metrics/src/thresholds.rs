//! Thresholds: what the option says, checked against the metrics of the run, and their verdicts.

use crate::metric::{Kind, MetricId};
use crate::registry::Registry;
use crate::sink::{Sink, Statistic};
use crate::system_tag::{SystemTag, SystemTags};
use crate::tag_set::TagSet;
use prony_model::units::Nanos;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Longer operators come before those that they begin with.
const OPERATORS: [(&str, Operator); 7] = [
    ("<=", Operator::LessOrEqual),
    ("<", Operator::Less),
    (">=", Operator::GreaterOrEqual),
    (">", Operator::Greater),
    ("===", Operator::Equal),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
];

/// The submetric that is there without a threshold, where the run has the tag.
const EXPECTED_RESPONSES: (&str, &str) = ("http_req_duration", "expected_response:true");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Operator {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            // Exactly, as a script that says `count==0` or `rate==1` means it.
            #[expect(clippy::float_cmp, reason = "k6 compares the numbers themselves")]
            Self::Equal => left == right,
            #[expect(clippy::float_cmp, reason = "k6 compares the numbers themselves")]
            Self::NotEqual => left != right,
        }
    }
}

/// `p(95)<500` and what to do when it does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// As the script has it.
    pub source: String,
    pub statistic: Statistic,
    pub operator: Operator,
    pub limit: f64,
    pub abort_on_fail: bool,
    /// Before this moment of the run it does not abort.
    pub delay_abort_eval: Option<Nanos>,
}

/// The conditions of one metric, as the option has them.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricConditions {
    /// `http_req_duration` or `http_req_duration{status:200}`
    pub metric: String,
    pub conditions: Vec<Condition>,
}

/// What is wrong with a threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("threshold on {metric}: {fault}")]
pub struct ThresholdError {
    pub metric: String,
    pub fault: ThresholdFault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdFault {
    #[error("thresholds are an object of lists, such as {{ http_req_duration: ['p(95)<500'] }}")]
    NoList,
    #[error(
        "{text} is neither a condition such as 'p(95)<500' nor {{ threshold, abortOnFail, delayAbortEval }}"
    )]
    NoCondition { text: String },
    #[error("'{source_text}' has no operator; write a condition such as 'p(95)<500' or 'rate>=0.99'")]
    NoOperator { source_text: String },
    #[error(
        "'{source_text}': '{method}' is none of value, count, rate, avg, min, med, max and p(N) with N from 0 to 100"
    )]
    Method { source_text: String, method: String },
    #[error("'{source_text}': '{limit}' is not a number")]
    Limit { source_text: String, limit: String },
    #[error("delayAbortEval '{text}' is not a duration such as '10s'")]
    Delay { text: String },
    #[error("no metric of this name is built in or defined by the script's init code")]
    UnknownMetric,
    #[error("'{source_text}': a {kind} has {methods} and no {method}")]
    Unsupported { source_text: String, kind: Kind, method: String, methods: &'static str },
    #[error("the tags are not written as {{name:value,other:value}} at the end")]
    Tags,
}

/// Reads option `thresholds`; all faults at once.
pub fn read(option: &Value) -> Result<Vec<MetricConditions>, Vec<ThresholdError>> {
    let fault_of = |metric: &str, fault| ThresholdError { metric: metric.to_owned(), fault };
    if option.is_null() {
        return Ok(Vec::new());
    }
    let Some(metrics) = option.as_object() else {
        return Err(vec![fault_of("all metrics", ThresholdFault::NoList)]);
    };
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for (metric, list) in metrics {
        let Some(list) = list.as_array() else {
            faults.push(fault_of(metric, ThresholdFault::NoList));
            continue;
        };
        let read = list.iter().map(read_condition);
        let mut conditions = Vec::new();
        for result in read {
            match result {
                Ok(condition) => conditions.push(condition),
                Err(fault) => faults.push(fault_of(metric, fault)),
            }
        }
        all.push(MetricConditions { metric: metric.clone(), conditions });
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

fn read_condition(value: &Value) -> Result<Condition, ThresholdFault> {
    let no_condition = || ThresholdFault::NoCondition { text: value.to_string() };
    if let Some(source) = value.as_str() {
        return Condition::parse(source);
    }
    let fields = value.as_object().ok_or_else(no_condition)?;
    let source = fields.get("threshold").and_then(Value::as_str).ok_or_else(no_condition)?;
    let abort_on_fail = match fields.get("abortOnFail") {
        None | Some(Value::Null) => false,
        Some(flag) => flag.as_bool().ok_or_else(no_condition)?,
    };
    let delay_abort_eval = fields.get("delayAbortEval").map(read_delay).transpose()?.flatten();
    Ok(Condition { abort_on_fail, delay_abort_eval, ..Condition::parse(source)? })
}

/// A duration as text, or milliseconds.
fn read_delay(value: &Value) -> Result<Option<Nanos>, ThresholdFault> {
    let fault = || ThresholdFault::Delay { text: value.to_string() };
    let from_millis = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
    match value {
        Value::Null => Ok(None),
        Value::Number(millis) => Ok(millis.as_f64().map(from_millis)),
        Value::String(text) => match text.parse::<f64>() {
            Ok(millis) => Ok(Some(from_millis(millis))),
            Err(_) => Nanos::parse(text).map(Some).map_err(|_| fault()),
        },
        _ => Err(fault()),
    }
}

impl Condition {
    /// `method op number`, with spaces or without.
    pub fn parse(source: &str) -> Result<Self, ThresholdFault> {
        let found = OPERATORS.iter().find_map(|(text, operator)| {
            source.split_once(text).map(|(method, limit)| (method.trim(), *operator, limit.trim()))
        });
        let source_text = || source.to_owned();
        let (method, operator, limit) =
            found.ok_or_else(|| ThresholdFault::NoOperator { source_text: source_text() })?;
        let statistic = Statistic::parse(method).ok_or_else(|| ThresholdFault::Method {
            source_text: source_text(),
            method: method.to_owned(),
        })?;
        let limit = limit
            .parse()
            .map_err(|_| ThresholdFault::Limit { source_text: source_text(), limit: limit.to_owned() })?;
        let (abort_on_fail, delay_abort_eval) = (false, None);
        Ok(Self { source: source_text(), statistic, operator, limit, abort_on_fail, delay_abort_eval })
    }

    /// The text before the operator.
    pub fn method(&self) -> &str {
        let end = self.source.find(['<', '>', '=', '!']).unwrap_or(self.source.len());
        self.source[..end].trim()
    }
}

impl Statistic {
    /// `value`, `count`, `rate`, `avg`, `min`, `med`, `max`, `p(99.9)`
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "value" => Self::Value,
            "count" => Self::Count,
            "rate" => Self::Rate,
            "avg" => Self::Avg,
            "min" => Self::Min,
            "med" => Self::Med,
            "max" => Self::Max,
            _ => {
                let number: f64 = text.strip_prefix("p(")?.strip_suffix(')')?.trim().parse().ok()?;
                return (0.0..=100.0).contains(&number).then_some(Self::Percentile(number));
            }
        })
    }
}

/// What thresholds may ask of a kind of metric.
const fn methods_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "count, rate",
        Kind::Gauge => "value",
        Kind::Rate => "rate",
        Kind::Trend => "avg, min, max, med, p(N)",
    }
}

fn is_supported(kind: Kind, statistic: Statistic) -> bool {
    match kind {
        Kind::Counter => matches!(statistic, Statistic::Count | Statistic::Rate),
        Kind::Gauge => statistic == Statistic::Value,
        Kind::Rate => statistic == Statistic::Rate,
        Kind::Trend => !matches!(statistic, Statistic::Value | Statistic::Count | Statistic::Rate),
    }
}

/// The thresholds of a run, each on a metric or submetric that exists.
#[derive(Debug, Clone, Default)]
pub struct Thresholds {
    pub by_metric: Vec<MetricThresholds>,
}

/// The thresholds of one metric.
#[derive(Debug, Clone)]
pub struct MetricThresholds {
    pub metric: MetricId,
    pub name: Arc<str>,
    pub conditions: Vec<Condition>,
    /// Which of the conditions held when they were last evaluated.
    pub holds: Vec<bool>,
}

impl Thresholds {
    /// Finds each metric, once the script's init code has defined its own, and makes the submetrics; all faults at
    /// once. To be called before the first recorder is made, also where there are no thresholds.
    pub fn resolve(
        all: Vec<MetricConditions>,
        registry: &Registry,
        system_tags: SystemTags,
    ) -> Result<Self, Vec<ThresholdError>> {
        let (mut thresholds, mut faults) = (Self::default(), Vec::new());
        for MetricConditions { metric, conditions } in all {
            match find_metric(&metric, &conditions, registry) {
                Ok(id) => thresholds.insert(id, conditions, registry),
                Err(found) => {
                    let found =
                        found.into_iter().map(|fault| ThresholdError { metric: metric.clone(), fault });
                    faults.extend(found);
                }
            }
        }
        if system_tags.has(SystemTag::ExpectedResponse) {
            let (parent, suffix) = EXPECTED_RESPONSES;
            let parent = registry.get(parent).expect("it is built in");
            registry.define_part(parent, suffix, tags_of(suffix).expect("it is well formed"));
        }
        if faults.is_empty() { Ok(thresholds) } else { Err(faults) }
    }

    fn insert(&mut self, metric: MetricId, conditions: Vec<Condition>, registry: &Registry) {
        let holds = vec![true; conditions.len()];
        let name = registry.definition(metric).name;
        self.by_metric.push(MetricThresholds { metric, name, conditions, holds });
    }

    pub fn is_empty(&self) -> bool {
        self.by_metric.is_empty()
    }

    /// Names of metrics with tags that cannot be matched, because k6 made them metadata: their thresholds see nothing.
    pub fn blind(&self, registry: &Registry) -> Vec<Arc<str>> {
        let has_metadata = |of: &&MetricThresholds| {
            let part = registry.definition(of.metric).part_of;
            part.is_some_and(|part| ["vu", "iter"].iter().any(|tag| part.tags.get(tag).is_some()))
        };
        self.by_metric.iter().filter(has_metadata).map(|of| Arc::clone(&of.name)).collect()
    }
}

/// What a look at the thresholds found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Metrics with a condition that does not hold, sorted.
    pub crossed: Vec<Arc<str>>,
    /// One of them asks for the end of the run.
    pub aborts: bool,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crossed thresholds on {}", self.crossed.join(", "))?;
        if self.aborts { f.write_str("; one of them has abortOnFail, so the run ends early") } else { Ok(()) }
    }
}

impl MetricThresholds {
    /// Evaluates all conditions; gives whether all hold and whether the run is to be aborted.
    pub(super) fn evaluate(&mut self, sink: &mut Sink, elapsed: Nanos) -> (bool, bool) {
        let mut aborts = false;
        for (condition, holds) in self.conditions.iter().zip(&mut self.holds) {
            // A rate of nothing is no number, and so nothing that could be crossed.
            let figure = sink.figure(condition.statistic, elapsed);
            *holds = figure.is_none_or(|figure| condition.operator.holds(figure, condition.limit));
            let is_due = condition.delay_abort_eval.is_none_or(|delay| delay < elapsed);
            aborts |= !*holds && condition.abort_on_fail && is_due;
        }
        (self.holds.iter().all(|holds| *holds), aborts)
    }
}

fn find_metric(
    name: &str,
    conditions: &[Condition],
    registry: &Registry,
) -> Result<MetricId, Vec<ThresholdFault>> {
    let (base, suffix) = split_name(name).ok_or_else(|| vec![ThresholdFault::Tags])?;
    let parent = registry.get(base).ok_or_else(|| vec![ThresholdFault::UnknownMetric])?;
    let kind = registry.definition(parent).kind;
    let unsupported = conditions.iter().filter(|condition| !is_supported(kind, condition.statistic));
    let faults: Vec<ThresholdFault> = unsupported
        .map(|condition| ThresholdFault::Unsupported {
            source_text: condition.source.clone(),
            kind,
            method: condition.method().to_owned(),
            methods: methods_of(kind),
        })
        .collect();
    let tags = suffix.map(|suffix| tags_of(suffix).ok_or_else(|| vec![ThresholdFault::Tags])).transpose()?;
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(match suffix.zip(tags) {
        Some((suffix, tags)) => registry.define_part(parent, suffix.trim(), tags),
        None => parent,
    })
}

/// The metric's name, and the text between the braces.
fn split_name(name: &str) -> Option<(&str, Option<&str>)> {
    match (name.find('{'), name.rfind('}')) {
        (None, None) => Some((name, None)),
        (Some(open), Some(close)) if open < close && close == name.len() - 1 => {
            Some((&name[..open], Some(&name[open + 1..close])))
        }
        _ => None,
    }
}

/// `status:200,name:"a"`: quotes around names and values are taken off.
fn tags_of(suffix: &str) -> Option<TagSet> {
    let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let pairs: Option<Vec<(String, String)>> = suffix
        .split(',')
        .map(|pair| {
            let (name, value) = pair.split_once(':')?;
            (!value.is_empty()).then(|| (bare(name), bare(value)))
        })
        .collect();
    let pairs = pairs?;
    Some(TagSet::from_pairs(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Contains;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(option: &Value, expected: &Expect) {
        let registry = Registry::new();
        for (name, kind) in [("my_gauge", Kind::Gauge), ("my_counter", Kind::Counter)] {
            registry.define(name, kind, Contains::Default).expect("a good name");
        }
        let resolved =
            read(option).and_then(|all| Thresholds::resolve(all, &registry, SystemTags::default()));
        let text = match resolved {
            Ok(thresholds) => describe(&thresholds),
            Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        };
        expected.assert_eq(&text);
    }

    fn describe(thresholds: &Thresholds) -> String {
        let mut lines = Vec::new();
        for of in &thresholds.by_metric {
            for condition in &of.conditions {
                let Condition { statistic, operator, limit, abort_on_fail, delay_abort_eval, .. } = condition;
                let abort =
                    if *abort_on_fail { format!(" abort after {delay_abort_eval:?}") } else { String::new() };
                lines.push(format!("{}: {statistic:?} {operator:?} {limit}{abort}", of.name));
            }
        }
        lines.join("\n")
    }

    #[test]
    fn conditions_of_every_form_are_read() {
        check(
            &json!({
                "http_req_duration": ["p(95)<500", " p(99.9) <= 1e3", "avg<1", "min>=0", "med!=7", "max > 1.5"],
                "http_req_failed": [{"threshold": "rate<0.01", "abortOnFail": true, "delayAbortEval": "10s"}],
                "http_reqs{status:200}": ["count===1", "rate==2"],
                "http_req_duration{name:\"a b\", status:200}": [
                    {"threshold": "max<1", "abortOnFail": true, "delayAbortEval": 1500},
                ],
                "my_gauge": ["value<-3"],
            }),
            &expect![[r#"
                http_req_duration: Percentile(95.0) Less 500
                http_req_duration: Percentile(99.9) LessOrEqual 1000
                http_req_duration: Avg Less 1
                http_req_duration: Min GreaterOrEqual 0
                http_req_duration: Med NotEqual 7
                http_req_duration: Max Greater 1.5
                http_req_failed: Rate Less 0.01 abort after Some(Nanos(10000000000))
                http_reqs{status:200}: Count Equal 1
                http_reqs{status:200}: Rate Equal 2
                http_req_duration{name:"a b", status:200}: Max Less 1 abort after Some(Nanos(1500000000))
                my_gauge: Value Less -3"#]],
        );
        check(&Value::Null, &expect![""]);
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        check(
            &json!({
                "a": "p(95)<1",
                "b": ["p(95)", "p95<1", "p(101)<1", "avg<x", "rate<", 7, {"abortOnFail": true}],
                "c": [{"threshold": "avg<1", "delayAbortEval": "soon"}],
            }),
            &expect![[r#"
                threshold on a: thresholds are an object of lists, such as { http_req_duration: ['p(95)<500'] }
                threshold on b: 'p(95)' has no operator; write a condition such as 'p(95)<500' or 'rate>=0.99'
                threshold on b: 'p95<1': 'p95' is none of value, count, rate, avg, min, med, max and p(N) with N from 0 to 100
                threshold on b: 'p(101)<1': 'p(101)' is none of value, count, rate, avg, min, med, max and p(N) with N from 0 to 100
                threshold on b: 'avg<x': 'x' is not a number
                threshold on b: 'rate<': '' is not a number
                threshold on b: 7 is neither a condition such as 'p(95)<500' nor { threshold, abortOnFail, delayAbortEval }
                threshold on b: {"abortOnFail":true} is neither a condition such as 'p(95)<500' nor { threshold, abortOnFail, delayAbortEval }
                threshold on c: delayAbortEval '"soon"' is not a duration such as '10s'"#]],
        );
        check(
            &json!({
                "nothing": ["rate<1"],
                "my_counter": ["avg<1", "count<1", "p(95)<2"],
                "my_gauge": ["max<1"],
                "http_reqs{status}": ["count<1"],
                "http_reqs{status:200": ["count<1"],
                "http_reqs}status:200{": ["count<1"],
            }),
            &expect![[r#"
                threshold on nothing: no metric of this name is built in or defined by the script's init code
                threshold on my_counter: 'avg<1': a counter has count, rate and no avg
                threshold on my_counter: 'p(95)<2': a counter has count, rate and no p(95)
                threshold on my_gauge: 'max<1': a gauge has value and no max
                threshold on http_reqs{status}: the tags are not written as {name:value,other:value} at the end
                threshold on http_reqs{status:200: the tags are not written as {name:value,other:value} at the end
                threshold on http_reqs}status:200{: the tags are not written as {name:value,other:value} at the end"#]],
        );
    }
}
