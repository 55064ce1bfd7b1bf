//! The page of the experiment: throughput and response times by users beside the published ones, percentiles as bars, the tables.

use prony_report::{BarData, BarGroupData, BarsData, StudyData, StudyLineData, StudyPlotData, Unit};

use super::{
    outcome::GatewayOutcome,
    published::{self, CONDITIONS, GatewayPublished},
    steps::UserStep,
    study::Query,
    tables::{layers_of, layers_table, notes, published_table, setting, users_table},
};
use crate::markdown::{milliseconds, thousands};

pub(super) const TITLE: &str = "A GraphQL gateway: what does it carry, and what does each layer cost?";

/// What a plot shows of a step, and of a cell of the study's table.
struct Shown {
    title: &'static str,
    unit: Unit,
    of_step: fn(&UserStep) -> Option<f64>,
    of_cell: fn(GatewayPublished) -> u32,
}

const SHOWN: [Shown; 3] = [
    Shown {
        title: "Throughput",
        unit: Unit::PerSecond,
        of_step: |step| Some(step.requests_per_second),
        of_cell: |cell| cell.per_second,
    },
    Shown {
        title: "Response time, mean",
        unit: Unit::Milliseconds,
        of_step: |step| step.mean_ms,
        of_cell: |cell| cell.mean_ms,
    },
    Shown {
        title: "Response time, p95",
        unit: Unit::Milliseconds,
        of_step: |step| step.p95_ms,
        of_cell: |cell| cell.p95_ms,
    },
];

pub(super) fn study(outcome: &GatewayOutcome) -> StudyData {
    let steps = &outcome.steps;
    let mut users: Vec<u32> = steps.iter().map(|step| step.users).collect();
    users.sort_unstable();
    users.dedup();
    let plots = if users.is_empty() {
        Vec::new()
    } else {
        SHOWN.iter().map(|shown| plot(shown, steps, &users)).collect()
    };
    let mut tables = Vec::new();
    if !steps.is_empty() {
        tables.push(users_table(steps).into_data("Operations by users", ""));
        let note = "requests/s, mean, p95";
        tables.push(published_table(steps).into_data("Beside the study's figures", note));
    }
    for (query, runs) in layers_of(outcome) {
        let title = format!("What each layer costs: {}", query.label());
        tables.push(
            layers_table(query, &runs).into_data(&title, "each against the bare proxy of the same round"),
        );
    }
    StudyData {
        title: TITLE.to_owned(),
        setting: setting(outcome).replace('`', ""),
        differs: format!("What differs from the study: {CONDITIONS}."),
        users,
        plots,
        bars: queries(steps).map(|query| bars(query, steps)).collect(),
        tables,
        notes: notes(outcome),
    }
}

/// Those that were measured.
fn queries(steps: &[UserStep]) -> impl Iterator<Item = Query> {
    Query::ALL.into_iter().filter(|query| steps.iter().any(|step| step.query == *query))
}

/// A line for each operation, and one for what was published of it.
fn plot(shown: &Shown, steps: &[UserStep], users: &[u32]) -> StudyPlotData {
    let lines = queries(steps).flat_map(|query| {
        let measured = |users: &u32| {
            let step = steps.iter().find(|step| step.query == query && step.users == *users)?;
            (shown.of_step)(step)
        };
        let published =
            |users: &u32| published::of(query, *users).map(|cell| f64::from((shown.of_cell)(cell)));
        let line = |name: String, is_published, values| StudyLineData {
            name,
            place: query as usize,
            is_published,
            values,
        };
        [
            line(query.label().to_owned(), false, users.iter().map(measured).collect()),
            line(format!("{}, published", query.label()), true, users.iter().map(published).collect()),
        ]
    });
    // Where no number of users is the study's, there is nothing to show of it.
    let lines = lines.filter(|line| line.values.iter().any(Option::is_some)).collect();
    StudyPlotData { title: shown.title.to_owned(), unit: shown.unit, lines }
}

fn bars(query: Query, steps: &[UserStep]) -> BarsData {
    let of_query = || steps.iter().filter(|step| step.query == query);
    let bar = |name, ms| BarData { name, ms };
    let groups = of_query().map(|step| BarGroupData {
        name: thousands(step.users.into()),
        bars: vec![bar("p90", step.p90_ms), bar("p95", step.p95_ms), bar("p99", step.p99_ms)],
    });
    let published = of_query().filter_map(|step| {
        let cell = published::of(query, step.users)?;
        Some(format!("{} with {}", milliseconds(cell.p95_ms.into()), thousands(step.users.into())))
    });
    let published: Vec<String> = published.collect();
    let note = if published.is_empty() {
        "by users".to_owned()
    } else {
        format!("by users; published p95: {}", published.join(", "))
    };
    BarsData { title: query.label().to_owned(), note, groups: groups.collect() }
}

#[cfg(test)]
mod tests {
    use prony_model::Nanos;

    use super::*;
    use crate::{
        frame::Head,
        gateway::study::{GatewayPace, GatewayPart},
        processors::Assignment,
        runs::Used,
    };

    fn step(users: u32, query: Query, per_second: f64, p95_ms: Option<f64>) -> UserStep {
        UserStep {
            users,
            query,
            requests: 1_000,
            error_share: 0.0,
            requests_per_second: per_second,
            mean_ms: Some(2.0),
            deviation_ms: None,
            p90_ms: Some(3.0),
            p95_ms,
            p99_ms: None,
            min_ms: Some(1.0),
            max_ms: Some(9.0),
            used: Used::default(),
            file: format!("{query}-{users}.prony.json"),
        }
    }

    #[test]
    fn what_was_published_stands_where_its_users_are() {
        let steps = vec![
            step(50, Query::Q1, 9_000.0, Some(4.0)),
            step(200, Query::Q1, 9_500.0, None),
            step(50, Query::Q3, 3_000.0, Some(8.0)),
        ];
        let outcome = GatewayOutcome {
            head: Head::example("gateway"),
            pace: GatewayPace { hold: Nanos::from_secs(3), ..GatewayPace::QUICK },
            seed: 1,
            parts: vec![GatewayPart::Users],
            assignment: Assignment::new(&[0, 1], 1).expect("there are two"),
            steps,
            layers: Vec::new(),
            stopped: true,
        };
        let study = study(&outcome);
        assert_eq!(study.users, [50, 200]);
        let lines: Vec<_> =
            study.plots[0].lines.iter().map(|line| (line.name.as_str(), line.values.as_slice())).collect();
        let expected: [(&str, &[Option<f64>]); 4] = [
            ("Q1", &[Some(9_000.0), Some(9_500.0)]),
            ("Q1, published", &[Some(2_234.0), None]),
            ("Q3", &[Some(3_000.0), None]),
            ("Q3, published", &[Some(823.0), None]),
        ];
        assert_eq!(lines, expected);
        assert_eq!(study.bars.len(), 2);
        assert_eq!(study.bars[0].note, "by users; published p95: 50 ms with 50");
        assert_eq!((study.bars[0].groups.len(), study.tables.len()), (2, 2));
        assert_eq!(study.notes, ["Ended early; what is missing was not measured."]);
    }
}
