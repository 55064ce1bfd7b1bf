//! What the threads of one machine recorded in about a second, in a form that can leave the process: names stand in the place of
//! numbers, and values keep all of their bits, so that merged machines have the figures of one.

use crate::metric::{Contains, Kind, MetricId};
use crate::registry::{Definition, MetricError, Registry};
use crate::samples::{Batch, CheckCount, Pending};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Samples added up by metric, and checks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MetricsSnapshot {
    /// Those with samples.
    metrics: Vec<MetricSnapshot>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checks: Vec<CheckSnapshot>,
    /// Groups that were entered for the first time, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<(String, Nanos)>,
    new_sets: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct MetricSnapshot {
    /// With the tags in braces for a submetric.
    name: String,
    kind: Kind,
    contains: Contains,
    samples: Samples,
}

/// Numbers as their bits: JSON has neither infinity nor, for all readers, the last digit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Samples {
    Counter { count: u64, sum: u64 },
    Gauge { count: u64, last: u64, last_at: Nanos, min: u64, max: u64 },
    Rate { passes: u64, total: u64 },
    Trend(TrendSnapshot),
}

/// Each value once, with how often it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TrendSnapshot {
    /// Rising; eight bytes each, little-endian, in base64.
    values: String,
    /// By value; nothing where each came once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counts: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CheckSnapshot {
    group: String,
    name: String,
    passes: u64,
    fails: u64,
    first_at: Nanos,
}

/// A snapshot that does not belong to this run's metrics.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error("the samples of metric '{name}' are no {kind}")]
    Samples { name: String, kind: Kind },
    #[error("metric '{name}' is a part of another, and none of the thresholds here asks for it")]
    Part { name: String },
}

impl MetricsSnapshot {
    /// Of what threads handed over; times are counted from `origin`.
    pub(super) fn of(batches: &[(u32, Batch)], registry: &Registry, origin: Nanos) -> Self {
        let mut by_metric: Vec<Option<Pending>> = Vec::new();
        let mut snapshot = Self::default();
        for (_, batch) in batches {
            by_metric.resize(by_metric.len().max(batch.by_metric.len()), None);
            let filled =
                by_metric.iter_mut().zip(&batch.by_metric).filter(|(_, pending)| !pending.is_empty());
            for (merged, pending) in filled {
                match merged {
                    Some(merged) => merged.merge(pending),
                    None => *merged = Some(pending.clone()),
                }
            }
            let check = |count: &CheckCount| CheckSnapshot {
                group: count.group.to_string(),
                name: count.name.to_string(),
                passes: count.passes,
                fails: count.fails,
                first_at: count.first_at.since(origin),
            };
            snapshot.checks.extend(batch.checks.iter().map(check));
            let groups = batch.groups.iter().map(|(path, at)| (path.to_string(), at.since(origin)));
            snapshot.groups.extend(groups);
            snapshot.new_sets += batch.new_sets;
        }
        let definitions = registry.definitions();
        let metrics = by_metric.into_iter().zip(definitions).filter_map(|(pending, definition)| {
            let Definition { name, kind, contains, .. } = definition;
            let samples = Samples::of(pending?, origin);
            Some(MetricSnapshot { name: name.to_string(), kind, contains, samples })
        });
        snapshot.metrics = metrics.collect();
        snapshot
    }

    /// As a thread would hand it over here; times begin at `origin`.
    pub(super) fn to_batch(&self, registry: &Registry, origin: Nanos) -> Result<Batch, SnapshotError> {
        let mut pending = Vec::with_capacity(self.metrics.len());
        for metric in &self.metrics {
            let id = metric.id(registry)?;
            pending.push((id, metric.pending(origin)?));
        }
        let mut by_metric: Vec<Pending> = registry.kinds_from(0).into_iter().map(Pending::new).collect();
        for (id, samples) in pending {
            by_metric[id.index()] = samples;
        }
        let check = |check: &CheckSnapshot| CheckCount {
            group: check.group.as_str().into(),
            name: check.name.as_str().into(),
            passes: check.passes,
            fails: check.fails,
            first_at: origin.plus(check.first_at),
        };
        let groups = self.groups.iter().map(|(path, at)| (Arc::from(path.as_str()), origin.plus(*at)));
        Ok(Batch {
            by_metric,
            checks: self.checks.iter().map(check).collect(),
            groups: groups.collect(),
            new_sets: self.new_sets,
            ..Batch::default()
        })
    }
}

impl MetricSnapshot {
    fn id(&self, registry: &Registry) -> Result<MetricId, SnapshotError> {
        if !self.name.contains('{') {
            return Ok(registry.define(&self.name, self.kind, self.contains)?);
        }
        let known: HashMap<Arc<str>, usize> = registry
            .definitions()
            .into_iter()
            .enumerate()
            .map(|(id, definition)| (definition.name, id))
            .collect();
        let id =
            known.get(self.name.as_str()).ok_or_else(|| SnapshotError::Part { name: self.name.clone() })?;
        Ok(MetricId(*id as u32))
    }

    fn pending(&self, origin: Nanos) -> Result<Pending, SnapshotError> {
        let number = |bits: &u64| f64::from_bits(*bits);
        let wrong = || SnapshotError::Samples { name: self.name.clone(), kind: self.kind };
        Ok(match (self.kind, &self.samples) {
            (Kind::Counter, Samples::Counter { count, sum }) => {
                Pending::Counter { count: *count, sum: number(sum) }
            }
            (Kind::Rate, Samples::Rate { passes, total }) => Pending::Rate { passes: *passes, total: *total },
            (Kind::Gauge, Samples::Gauge { count, last, last_at, min, max }) => Pending::Gauge {
                count: *count,
                last: number(last),
                last_at: origin.plus(*last_at),
                min: number(min),
                max: number(max),
            },
            (Kind::Trend, Samples::Trend(values)) => Pending::Trend(values.all().ok_or_else(wrong)?),
            _ => return Err(wrong()),
        })
    }
}

impl Samples {
    fn of(pending: Pending, origin: Nanos) -> Self {
        match pending {
            Pending::Counter { count, sum } => Self::Counter { count, sum: sum.to_bits() },
            Pending::Rate { passes, total } => Self::Rate { passes, total },
            Pending::Gauge { count, last, last_at, min, max } => Self::Gauge {
                count,
                last: last.to_bits(),
                last_at: last_at.since(origin),
                min: min.to_bits(),
                max: max.to_bits(),
            },
            Pending::Trend(values) => Self::Trend(TrendSnapshot::of(values)),
        }
    }
}

impl TrendSnapshot {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let (mut bytes, mut counts) = (Vec::with_capacity(values.len() * 8), Vec::new());
        for same in values.chunk_by(|a, b| a.to_bits() == b.to_bits()) {
            bytes.extend_from_slice(&same[0].to_le_bytes());
            counts.push(u32::try_from(same.len()).unwrap_or(u32::MAX));
        }
        if counts.iter().all(|count| *count == 1) {
            counts.clear();
        }
        Self { values: STANDARD.encode(bytes), counts }
    }

    /// Nothing where it is torn.
    fn all(&self) -> Option<Vec<f64>> {
        let bytes = STANDARD.decode(&self.values).ok()?;
        let (values, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || !self.counts.is_empty() && self.counts.len() != values.len() {
            return None;
        }
        let count = |at: usize| self.counts.get(at).map_or(1, |count| *count as usize);
        let all = values
            .iter()
            .enumerate()
            .flat_map(|(at, value)| std::iter::repeat_n(f64::from_le_bytes(*value), count(at)));
        Some(all.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Recorder, RecorderOptions};
    use crate::sink::Statistic;
    use crate::thresholds::{self, Thresholds};
    use crate::{Engine, SystemTags, builtin};
    use proptest::prelude::*;
    use serde_json::json;

    /// Metric, value in eighths (sums of which do not depend on their order), when in seconds, and the machine that recorded it.
    type Drawn = (usize, i32, u64, usize);

    const NAMES: [(&str, Kind); 4] = [
        ("sizes_of_orders_in_the_basket", Kind::Trend),
        ("orders", Kind::Counter),
        ("queue", Kind::Gauge),
        ("good", Kind::Rate),
    ];

    /// An engine whose script has defined its metrics in an order of its own.
    fn engine(turn: usize) -> (Engine, Recorder, Vec<MetricId>) {
        let registry = Arc::new(Registry::new());
        let mut ids = vec![MetricId(0); NAMES.len()];
        for at in 0..NAMES.len() {
            let at = (at + turn) % NAMES.len();
            let (name, kind) = NAMES[at];
            ids[at] = registry.define(name, kind, Contains::Time).unwrap();
        }
        let all =
            thresholds::read(&json!({"orders{vip:yes}": ["count>0"], "http_reqs{vip:yes}": ["count>0"]}));
        let thresholds = Thresholds::resolve(all.unwrap(), &registry, SystemTags::default()).unwrap();
        let options = RecorderOptions {
            registry,
            system_tags: SystemTags::default(),
            run_tags: Vec::new(),
            has_outputs: false,
        };
        let recorder = Recorder::new(&options);
        (Engine::new(&options, thresholds, Vec::new()), recorder, ids)
    }

    fn record(recorder: &mut Recorder, ids: &[MetricId], origin: Nanos, drawn: &Drawn) {
        let (metric, eighths, at, _) = *drawn;
        let root = recorder.root();
        let vip = recorder.sets().with(root.set, "vip", if eighths % 2 == 0 { "yes" } else { "no" });
        let tags = crate::Tags { set: vip, ..root };
        let at = origin.plus(Nanos::from_secs(at));
        recorder.set_now(at);
        recorder.record(ids[metric], tags, f64::from(eighths) / 8.0);
        recorder.record(builtin::HTTP_REQS, tags, 1.0);
        recorder.record_check(tags, if eighths > 0 { "größer" } else { "not" }, eighths % 5 == 0);
    }

    /// All figures that a run has, as bits.
    fn figures(engine: &Engine) -> Vec<(String, Vec<Option<u64>>)> {
        engine.finish(Nanos::from_secs(9));
        engine.read(|totals| {
            let mut figures: Vec<_> = totals
                .definitions
                .iter()
                .zip(totals.sinks.iter_mut())
                .map(|(definition, sink)| {
                    let all = [
                        Statistic::Value,
                        Statistic::Count,
                        Statistic::Rate,
                        Statistic::Min,
                        Statistic::Max,
                        Statistic::Percentile(37.0),
                    ];
                    let of = |statistic| Some(sink.figure(statistic, Nanos::from_secs(9))?.to_bits());
                    (definition.name.to_string(), all.map(of).to_vec())
                })
                .collect();
            // Checks that were first met at the same moment have no order.
            figures.extend(totals.root.checks_by_name().into_iter().map(|check| {
                let counts = [check.passes, check.fails].map(Some);
                (check.name.to_string(), counts.to_vec())
            }));
            figures.sort();
            figures
        })
    }

    proptest! {
        #[test]
        fn machines_together_have_the_figures_of_one(
            drawn in prop::collection::vec((0_usize..4, -30_i32..90, 0_u64..9, 0_usize..3), 0..60)
        ) {
            // A gauge's last value is that of the latest moment: the order in which equal moments come does not count here.
            let mut drawn = drawn;
            drawn.sort_by_key(|drawn| (drawn.2, drawn.0));
            drawn.dedup_by_key(|drawn| drawn.2 * 4 + drawn.0 as u64);
            let (whole, mut recorder, ids) = engine(0);
            let origin = Nanos::from_secs(100);
            for drawn in &drawn {
                record(&mut recorder, &ids, origin, drawn);
            }
            whole.receive(0, &mut recorder);
            let (merged, _, _) = engine(1);
            for machine in 0..3 {
                let (own, mut recorder, ids) = engine(machine);
                let its_origin = Nanos::from_secs(7 * machine as u64);
                for (at, drawn) in drawn.iter().filter(|drawn| drawn.3 == machine).enumerate() {
                    record(&mut recorder, &ids, its_origin, drawn);
                    own.receive(at as u32 % 2, &mut recorder);
                }
                let text = serde_json::to_string(&own.take_snapshot(its_origin)).unwrap();
                let read: MetricsSnapshot = serde_json::from_str(&text).unwrap();
                merged.add_snapshot(&read, origin).unwrap();
                prop_assert_eq!(own.take_snapshot(its_origin), MetricsSnapshot::default(), "it is taken once");
            }
            prop_assert_eq!(figures(&merged), figures(&whole));
        }
    }

    #[test]
    fn infinite_and_equal_values_come_as_they_were() {
        let values = vec![f64::INFINITY, 0.1, -0.0, 0.0, 0.1, f64::NEG_INFINITY, 5e-324];
        let sent = TrendSnapshot::of(values.clone());
        assert_eq!((sent.counts.len(), sent.counts.iter().max()), (6, Some(&2)));
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(sent.all().unwrap()), bits(sorted));
    }

    #[test]
    fn what_belongs_to_another_script_is_refused() {
        let (engine, ..) = engine(0);
        let refused = |name: &str, kind, samples| {
            let metric = MetricSnapshot { name: name.to_owned(), kind, contains: Contains::Time, samples };
            let snapshot = MetricsSnapshot { metrics: vec![metric], ..MetricsSnapshot::default() };
            engine.add_snapshot(&snapshot, Nanos::ZERO).unwrap_err().to_string()
        };
        let rate = || Samples::Rate { passes: 1, total: 2 };
        assert_eq!(
            refused("orders", Kind::Rate, rate()),
            "metric 'orders' is a counter already and cannot be a rate too"
        );
        assert_eq!(refused("orders", Kind::Counter, rate()), "the samples of metric 'orders' are no counter");
        assert!(refused("orders{a:b}", Kind::Counter, rate()).contains("none of the thresholds here"));
        let torn = Samples::Trend(TrendSnapshot { values: "AAAA".to_owned(), counts: Vec::new() });
        assert_eq!(
            refused("http_req_duration", Kind::Trend, torn),
            "the samples of metric 'http_req_duration' are no trend"
        );
    }
}
