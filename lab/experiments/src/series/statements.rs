//! Statements that a database saw while a step went, by its own counts.

use prony_model::{ResultFile, measurement::observation::Observation};
use serde::Serialize;

/// A second: the most, and the mean over the step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Statements {
    pub select_max: f64,
    pub select_mean: f64,
    pub insert_max: f64,
    pub insert_mean: f64,
}

impl Statements {
    /// `None` where no database was watched; else why there are none.
    pub(super) fn of(result: &ResultFile) -> Option<Result<Self, String>> {
        let seen = result.observers.iter().find(|observation| observation.name.starts_with("PostgreSQL"))?;
        let [select, insert] = ["select", "insert"].map(|kind| rates(seen, kind));
        Some(match (select, insert) {
            (Some((select_max, select_mean)), Some((insert_max, insert_mean))) => {
                Ok(Self { select_max, select_mean, insert_max, insert_mean })
            }
            _ => Err(seen
                .faults
                .first()
                .map_or_else(|| "the step was too short for a rate".to_owned(), |(_, fault)| fault.clone())),
        })
    }
}

/// The largest and the mean of a kind's rates.
fn rates(seen: &Observation, kind: &str) -> Option<(f64, f64)> {
    let name = format!("{kind} statements a second");
    let points = &seen.series.iter().find(|series| series.name == name)?.points;
    let rates = || points.iter().map(|(_, rate)| *rate);
    (!points.is_empty()).then(|| (rates().fold(0.0, f64::max), rates().sum::<f64>() / points.len() as f64))
}

#[cfg(test)]
mod tests {
    use prony_model::Nanos;
    use prony_model::measurement::observation::{ObservedSeries, ObservedUnit};

    use super::*;

    fn observation(series: &[(&str, &[f64])], faults: &[&str]) -> Observation {
        let series = series.iter().map(|(name, rates)| ObservedSeries {
            name: (*name).to_owned(),
            unit: ObservedUnit::PerSecond,
            points: rates.iter().enumerate().map(|(at, rate)| (Nanos::from_secs(at as u64), *rate)).collect(),
        });
        Observation {
            name: "PostgreSQL shop on 127.0.0.1:5432".to_owned(),
            series: series.collect(),
            faults: faults.iter().map(|fault| (Nanos::ZERO, (*fault).to_owned())).collect(),
            ..Observation::default()
        }
    }

    #[test]
    fn the_most_and_the_mean_are_those_of_the_rates() {
        let seen = observation(
            &[("commits a second", &[9.0]), ("select statements a second", &[1.0, 7.0, 4.0])],
            &[],
        );
        assert_eq!(rates(&seen, "select"), Some((7.0, 4.0)));
        assert_eq!(rates(&seen, "insert"), None);
        assert_eq!(rates(&observation(&[("insert statements a second", &[])], &[]), "insert"), None);
    }
}
