//! What each layer of a gateway costs: runs in turns, and each layer held against the bare proxy.

use std::collections::BTreeMap;

use prony_model::comparison::{Comparison, Pair};
use prony_model::measurement::figures::Figures;
use prony_model::{Nanos, ResultFile};
use serde::{Serialize, ser::SerializeStruct as _};

use super::{
    gateways::Gateway,
    layers::Layer,
    study::{GatewayPace, LAYER_USERS, Query},
};
use crate::{
    display::Display,
    error::LabError,
    markdown::{milliseconds, thousands},
    medians::{median, sorted},
    runs::{Runs, Used},
};

/// One layer in one round.
#[derive(Debug, Clone)]
pub struct LayerRun {
    pub layer: Layer,
    pub query: Query,
    /// From 1.
    pub round: u32,
    pub used: Used,
    /// The result file, next to the table.
    pub file: String,
    /// Of the steady state.
    pub(super) figures: Figures,
}

impl Serialize for LayerRun {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut run = serializer.serialize_struct("LayerRun", 7)?;
        run.serialize_field("layer", &self.layer)?;
        run.serialize_field("query", &self.query)?;
        run.serialize_field("round", &self.round)?;
        run.serialize_field("requests_per_second", &self.figures.rate_per_s)?;
        run.serialize_field("error_share", &self.figures.error_share())?;
        run.serialize_field("used", &self.used)?;
        run.serialize_field("file", &self.file)?;
        run.end()
    }
}

/// Measures all layers in turns, who is first changing with each round, so that what drifts favours nobody.
pub(super) fn measure(
    gateways: &BTreeMap<Layer, Gateway>,
    query: Query,
    pace: &GatewayPace,
    runs: &Runs<'_>,
    display: &Display,
    done: &mut Vec<LayerRun>,
) -> Result<(), LabError> {
    let mut left = pace.layer.0 * u64::from(pace.rounds) * gateways.len() as u64;
    for round in 1..=pace.rounds {
        let mut order: Vec<_> = gateways.iter().collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for (layer, gateway) in order {
            left -= pace.layer.0;
            let warm_up = Nanos(pace.layer.0 / 5);
            let plan = gateway.requests().plan(query, LAYER_USERS, warm_up, Nanos(pace.layer.0 - warm_up.0));
            let title = format!("{}, {}, round {round} of {}", query.label(), layer.label(), pace.rounds);
            let file = format!("layer-{}-{}-{round}.prony.json", query.name(), layer.name());
            let watch = display.begin(title, pace.layer, Nanos(left));
            let Some((result, used)) = runs.measure(&plan, &file, gateway.measured(), watch)? else {
                return Ok(());
            };
            let run = run_of(*layer, query, round, &result, used, file);
            display.line(&line(&run));
            done.push(run);
        }
    }
    Ok(())
}

fn run_of(layer: Layer, query: Query, round: u32, result: &ResultFile, used: Used, file: String) -> LayerRun {
    LayerRun { layer, query, round, used, file, figures: result.headline().all.clone() }
}

fn line(run: &LayerRun) -> String {
    let p50 = run.figures.response_time.percentile(50.0).map(Nanos::as_millis_f64);
    let cpu = run.used.us_per_request.map_or("-".to_owned(), |us| format!("{us:.1} µs"));
    format!(
        "{}, {:<28} round {}: {:>7}/s, p50 {}, {cpu} of the gateway a request, {:.1} % errors",
        run.query.label(),
        run.layer.label(),
        run.round,
        thousands(run.figures.rate_per_s.round() as u64),
        p50.map_or("-".to_owned(), milliseconds),
        run.figures.error_share() * 100.0,
    )
}

/// A layer held against the bare proxy, from the rounds of one operation that both have.
pub(super) fn compare(runs: &[LayerRun], query: Query, layer: Layer) -> Option<Comparison> {
    let of =
        |layer, round| runs.iter().find(|run| (run.layer, run.query, run.round) == (layer, query, round));
    let rounds = runs.iter().map(|run| run.round).max()?;
    let both: Vec<_> =
        (1..=rounds).filter_map(|round| Some((of(Layer::Proxy, round)?, of(layer, round)?))).collect();
    let pairs: Vec<_> = both.iter().map(|(a, b)| Pair::new(&a.figures, &b.figures)).collect();
    (!pairs.is_empty()).then(|| Comparison::of(&pairs, &[]))
}

/// The median over rounds of the gateway's processor time for a request, in microseconds.
pub(super) fn processor_time(runs: &[LayerRun], query: Query, layer: Layer) -> Option<f64> {
    let of = runs.iter().filter(|run| run.layer == layer && run.query == query);
    median(&sorted(of.filter_map(|run| run.used.us_per_request)))
}

#[cfg(test)]
mod tests {
    use prony_model::measurement::figures::{Histograms, LatencyFigures};
    use prony_model::measurement::status_counts::StatusCounts;

    use super::*;

    fn run(layer: Layer, round: u32, rate_per_s: f64) -> LayerRun {
        let figures = Figures {
            requests: 1_000,
            successes: 1_000,
            failures: 0,
            answered: 1_000,
            rate_per_s,
            outcomes: BTreeMap::new(),
            statuses: BTreeMap::new(),
            responses: StatusCounts::default(),
            bytes_sent: 0,
            bytes_received: 0,
            response_time: LatencyFigures::default(),
            service_time: None,
            first_byte_time: LatencyFigures::default(),
            histograms: Histograms::default(),
        };
        let used = Used { us_per_request: Some(1e6 / rate_per_s), ..Used::default() };
        LayerRun { layer, query: Query::Q2, round, used, file: "x".into(), figures }
    }

    #[test]
    fn layers_are_held_against_the_proxy_of_the_same_round() {
        let runs: Vec<LayerRun> = (1..=4)
            .flat_map(|round| {
                // What drifts does so for both.
                let drift = 1.0 + f64::from(round) / 10.0;
                [run(Layer::Proxy, round, 1_000.0 * drift), run(Layer::Jwt, round, 900.0 * drift)]
            })
            .collect();
        let throughput = compare(&runs, Query::Q2, Layer::Jwt).unwrap().figures.remove(0);
        assert!((throughput.change - 0.9).abs() < 1e-9, "{throughput:?}");
        let (low, high) = throughput.interval.unwrap();
        assert!(0.899 < low && high < 0.901, "{throughput:?}");
        assert!(compare(&runs, Query::Q1, Layer::Jwt).is_none());
        assert!(
            (processor_time(&runs, Query::Q2, Layer::Proxy).unwrap() - f64::midpoint(1e3 / 1.2, 1e3 / 1.3))
                .abs()
                < 1e-6
        );
    }
}
