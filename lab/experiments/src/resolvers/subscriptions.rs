//! Subscriptions: clients that listen to donuts while users change them, and whether each event came, once, in order and
//! how soon. The study announced this and never published it.

use prony_model::{
    Nanos, ResultFile,
    measurement::figures::LatencyFigures,
    subscription::{figures::SubscriberGroup, tally::EventCounts},
};
use serde::Serialize;

use super::study::{Audience, ResolversPace, ResolversQuestions};
use crate::{
    display::Display,
    error::LabError,
    markdown::{milliseconds, thousands},
    runs::{Measured, Runs, Used},
};

/// Milliseconds from a mutation to each receipt; absent with too few samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    #[serde(rename = "p50_ms")]
    pub p50: Option<f64>,
    #[serde(rename = "p99_ms")]
    pub p99: Option<f64>,
    #[serde(rename = "max_ms")]
    pub max: Option<f64>,
}

impl Times {
    fn of(figures: &LatencyFigures) -> Self {
        let at = |percentile| figures.percentile(percentile).map(Nanos::as_millis_f64);
        Self { p50: at(50.0), p99: at(99.0), max: figures.max_ns.map(Nanos::as_millis_f64) }
    }
}

/// What one audience heard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heard {
    pub audience: Audience,
    pub clients: u32,
    pub subscriptions: u64,
    /// In force at some time.
    pub subscribed: u64,
    /// In the steady state, as the times are.
    pub mutations_per_second: f64,
    pub events_per_second: f64,
    pub from_send: Times,
    pub from_acknowledgement: Times,
    /// Over the whole run.
    #[serde(flatten)]
    pub counts: EventCounts,
    /// Connections that were refused or lost, and operations that were refused.
    pub troubles: u64,
    #[serde(flatten)]
    pub used: Used,
    /// The result file, next to the table.
    pub file: String,
}

/// Measures both audiences; those that were measured before a stop are kept.
pub(super) fn measure(
    questions: &ResolversQuestions,
    engine: Measured<'_>,
    pace: &ResolversPace,
    runs: &Runs<'_>,
    display: &Display,
    done: &mut Vec<Heard>,
) -> Result<(), LabError> {
    for (index, audience) in Audience::ALL.into_iter().enumerate() {
        let plan = questions.subscriptions(audience, pace.subscriptions);
        let (time, left) = (plan.duration(), Audience::ALL.len() - 1 - index);
        let title = format!("Subscriptions, {}", audience.label());
        let watch = display.begin(title, time, Nanos(time.0 * left as u64));
        let file = format!("subscriptions-{}.prony.json", audience.name());
        let Some((result, used)) = runs.measure(&plan, &file, engine, watch)? else { return Ok(()) };
        if let Some(heard) = heard(audience, &result, used, file) {
            display.line(&line(&heard));
            done.push(heard);
        }
    }
    Ok(())
}

fn heard(audience: Audience, result: &ResultFile, used: Used, file: String) -> Option<Heard> {
    let group: &SubscriberGroup = result.subscribers.groups.first()?;
    let (steady, whole) = (group.headline()?, group.whole()?);
    let links = &group.links;
    Some(Heard {
        audience,
        clients: group.clients,
        subscriptions: group.subscriptions(),
        subscribed: links.subscribed,
        mutations_per_second: result.headline().all.rate_per_s,
        events_per_second: steady.events_per_s,
        from_send: Times::of(&steady.fan_out_latency),
        from_acknowledgement: Times::of(&steady.fan_out_latency_acknowledged),
        counts: whole.counts,
        troubles: links.refused_count() + links.lost_count() + links.rejected_count(),
        used,
        file,
    })
}

fn line(heard: &Heard) -> String {
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), milliseconds);
    format!(
        "Subscriptions, {}: {} events/s, p50 {}, p99 {}, {} missed, {} doubled",
        heard.audience.label(),
        thousands(heard.events_per_second.round() as u64),
        time(heard.from_send.p50),
        time(heard.from_send.p99),
        thousands(heard.counts.missed),
        thousands(heard.counts.duplicated)
    )
}
