//! GraphQL beside the REST control of the same process, in turns: with the study's think times, then as fast as users get
//! their answers.

use prony_model::{Nanos, ResultFile};
use serde::Serialize;
use serde_json::{Value, json};

use super::study::{MUTATION, Manner, QUERY, REST_PATH, ResolversPace, ResolversQuestions, Side, rest_body};
use crate::{
    ask::{AnswerError, look},
    display::Display,
    error::LabError,
    markdown::{milliseconds, thousands},
    medians::{median, sorted},
    runs::{Measured, Runs, Used},
};

/// One side in one round. The figures are those of the steady state; what the engine used is of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlRun {
    pub side: Side,
    pub manner: Manner,
    /// From 1.
    pub round: u32,
    pub requests: u64,
    pub failures: u64,
    pub requests_per_second: f64,
    /// Absent with too few samples.
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    #[serde(flatten)]
    pub used: Used,
    /// The result file, next to the table.
    pub file: String,
}

/// Asks both sides once, so that figures are not of wrong answers.
pub(super) fn check(address: &str) -> Result<(), AnswerError> {
    let graphql = |text: &str| json!({ "query": text }).to_string();
    let (query, mutation, put) = (graphql(QUERY), graphql(MUTATION), rest_body().to_string());
    let id_at = |pointer: &'static str| {
        move |json: &Value| {
            let is_there = json.pointer(pointer).and_then(Value::as_str) == Some("1");
            (!is_there).then(|| format!("`{pointer}` is not \"1\""))
        }
    };
    look(address, ("POST", "/graphql", Some(&query)), "the query", id_at("/data/retrieveDonut/id"))?;
    look(address, ("POST", "/graphql", Some(&mutation)), "the mutation", id_at("/data/addOrUpdateDonut/id"))?;
    look(address, ("GET", REST_PATH, None), "GET", id_at("/data/singleDonut/id"))?;
    look(address, ("PUT", REST_PATH, Some(&put)), "PUT", id_at("/data/singleDonut/id"))
}

/// Measures all rounds; those that were made before a stop are kept.
pub(super) fn measure(
    questions: &ResolversQuestions,
    engine: Measured<'_>,
    pace: &ResolversPace,
    runs: &Runs<'_>,
    display: &Display,
    done: &mut Vec<ControlRun>,
) -> Result<(), LabError> {
    let mut left: u64 =
        Manner::ALL.iter().map(|manner| pace.control(*manner).0 * u64::from(2 * pace.rounds)).sum();
    for manner in Manner::ALL {
        for (round, side) in turns(pace.rounds) {
            let time = pace.control(manner);
            left -= time.0;
            let plan = questions.control(side, manner, round, time);
            let title = format!("{}, {}, round {round} of {}", side.label(), manner.name(), pace.rounds);
            let file = format!("{}-{}-{round}.prony.json", side.name(), manner.name());
            let watch = display.begin(title, time, Nanos(left));
            let Some((result, used)) = runs.measure(&plan, &file, engine, watch)? else { return Ok(()) };
            let run = run_of(side, manner, round, &result, used, file);
            display.line(&line(&run));
            done.push(run);
        }
    }
    Ok(())
}

/// Rounds from 1, each with both sides; who is first changes, so that what drifts favours nobody.
fn turns(rounds: u32) -> impl Iterator<Item = (u32, Side)> {
    (1..=rounds).flat_map(|round| {
        let mut sides = [Side::GraphQl, Side::Rest];
        if round % 2 == 0 {
            sides.reverse();
        }
        sides.map(|side| (round, side))
    })
}

fn run_of(
    side: Side,
    manner: Manner,
    round: u32,
    result: &ResultFile,
    used: Used,
    file: String,
) -> ControlRun {
    let steady = &result.headline().all;
    let at = |percentile| steady.response_time.percentile(percentile).map(Nanos::as_millis_f64);
    ControlRun {
        side,
        manner,
        round,
        requests: steady.requests,
        failures: steady.failures,
        requests_per_second: steady.rate_per_s,
        p50_ms: at(50.0),
        p99_ms: at(99.0),
        used,
        file,
    }
}

fn line(run: &ControlRun) -> String {
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), milliseconds);
    let cpu = run.used.us_per_request.map_or("-".to_owned(), |us| format!("{us:.1} µs"));
    format!(
        "{:<7} {:<9} round {}: {:>7}/s, p50 {}, p99 {}, {cpu} of the engine a request, {} failures",
        run.side.label(),
        run.manner.name(),
        run.round,
        thousands(run.requests_per_second.round() as u64),
        time(run.p50_ms),
        time(run.p99_ms),
        thousands(run.failures),
    )
}

/// A figure of both sides over all rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Compared {
    pub graphql: f64,
    pub rest: f64,
    /// GraphQL over REST: the median of the rounds, the least, the most.
    pub ratio: [f64; 3],
}

/// Medians over rounds that both sides have a figure of. `None` without any.
pub(super) fn compare(
    runs: &[ControlRun],
    manner: Manner,
    figure: impl Fn(&ControlRun) -> Option<f64>,
) -> Option<Compared> {
    let of = |side, round| {
        let run = runs.iter().find(|run| (run.side, run.manner, run.round) == (side, manner, round))?;
        figure(run)
    };
    let rounds = runs.iter().map(|run| run.round).max()?;
    let pairs: Vec<(f64, f64)> =
        (1..=rounds).filter_map(|round| Some((of(Side::GraphQl, round)?, of(Side::Rest, round)?))).collect();
    let ratios = sorted(pairs.iter().filter(|(_, rest)| *rest > 0.0).map(|(graphql, rest)| graphql / rest));
    Some(Compared {
        graphql: median(&sorted(pairs.iter().map(|(graphql, _)| *graphql)))?,
        rest: median(&sorted(pairs.iter().map(|(_, rest)| *rest)))?,
        ratio: [median(&ratios)?, *ratios.first()?, *ratios.last()?],
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn run(side: Side, manner: Manner, round: u32, per_second: f64) -> ControlRun {
        ControlRun {
            side,
            manner,
            round,
            requests: 100_000,
            failures: 0,
            requests_per_second: per_second,
            p50_ms: Some(6.1),
            p99_ms: Some(9.7),
            used: Used {
                us_per_request: Some(1e6 / per_second),
                resident_bytes: Some(12_000_000),
                processors: Some(0.99),
                others: Some(0.01),
                lab_busy_share: 0.7,
                outside_limit: None,
            },
            file: "x".into(),
        }
    }

    #[test]
    fn ratios_are_those_of_rounds() {
        let rates = [(Side::GraphQl, [90.0, 80.0, 99.0]), (Side::Rest, [100.0, 100.0, 110.0])];
        let runs: Vec<ControlRun> = rates
            .iter()
            .flat_map(|(side, rates)| {
                (1..).zip(rates).map(|(round, rate)| run(*side, Manner::Saturated, round, *rate))
            })
            .collect();
        let rate = |run: &ControlRun| Some(run.requests_per_second);
        let compared = compare(&runs, Manner::Saturated, rate).unwrap();
        assert_eq!((compared.graphql, compared.rest, compared.ratio), (90.0, 100.0, [0.9, 0.8, 0.9]));
        assert_eq!(compare(&runs, Manner::Thinking, rate), None);
        let half = compare(&runs[..5], Manner::Saturated, rate).unwrap();
        assert_eq!((half.graphql, half.ratio[0]), (85.0, f64::midpoint(0.8, 0.9)));
    }

    #[test]
    fn who_is_first_changes() {
        use Side::{GraphQl, Rest};
        assert_eq!(turns(2).collect::<Vec<_>>(), [(1, GraphQl), (1, Rest), (2, Rest), (2, GraphQl)]);
    }
}
