//! The tables: the study's columns, ours for the hold window and the whole run, the published row beneath.

use prony_model::Conclusion;

use super::{
    capacity::Capacity,
    measure::{Columns, SearchStep},
    outcome::{DatabaseKind, RelationalOutcome},
    published::{CONDITIONS, Published, STUDY},
    resolvers::{CONNECTIONS, ResolverRow},
    study::{ERROR_SHARE_MAX, Operation, P95_MAX, RelationalPace},
};
use crate::{
    display::count_of_processors,
    frame::{self, Head},
    markdown::{Table, document, megabytes, milliseconds, seconds, thousands},
    processors::Assignment,
};

/// Where there is no figure to stand behind.
const NOT_KNOWN: &str = "-";
const HEADER: [&str; 8] = ["Query", "", "Max VUs", "Reqs/s", "p(95)", "Min", "Max", "Reqs"];

impl frame::Outcome for RelationalOutcome {
    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn render(&self) -> String {
        render(self)
    }

    /// Void where a dash is all that there is to show.
    fn conclusion(&self) -> Conclusion {
        let steps = || self.cells.iter().flat_map(|cell| &cell.steps).map(|step| step.whole);
        let successes = |whole: Columns| (whole.requests as f64 * (1.0 - whole.error_share)).round() as u64;
        let counted =
            frame::conclusion_of(steps().map(|whole| whole.requests).sum(), steps().map(successes).sum());
        let is_shown = self.cells.is_empty() || self.cells.iter().any(|cell| users_text(cell) != NOT_KNOWN);
        if counted == Conclusion::Passed && !is_shown { Conclusion::Void } else { counted }
    }
}

/// The whole result as Markdown.
fn render(outcome: &RelationalOutcome) -> String {
    let mut parts = vec![
        "# GraphQL from a relational database: how many users are served?".to_owned(),
        setting(outcome),
        method(outcome),
        format!("What differs from the study: {}.", differences(outcome)),
    ];
    for (heading, cells) in groups(outcome) {
        parts.push(format!("## {heading}"));
        parts.push(capacity_table(&cells, &outcome.resolver).render());
    }
    if !outcome.resolvers.is_empty() {
        parts.push("## Resolver models".to_owned());
        let length = seconds(outcome.pace.saturation);
        parts.push(format!("{CONNECTIONS} connections without think time, {length} each."));
        parts.push(resolver_table(&outcome.resolvers).render());
    }
    document(parts, &notes(outcome))
}

fn setting(outcome: &RelationalOutcome) -> String {
    format!(
        "Prony {} serving from {} (`--resolver {}`), {}; seed {}, {} rows in each table. Machine: {}.",
        outcome.head.prony_version,
        outcome.database.label(),
        outcome.resolver,
        outcome.head.started_at,
        outcome.dataset.seed,
        thousands(outcome.dataset.rows.into()),
        outcome.head.machine_text(),
    )
}

fn method(outcome: &RelationalOutcome) -> String {
    let pace = &outcome.pace;
    let as_in_study = if (pace.ramp, pace.hold) == (RelationalPace::FULL.ramp, RelationalPace::FULL.hold) {
        "as in the study"
    } else {
        "short: the study took 30 s and 30 s, as `--full` does"
    };
    let percent = (pace.resolution - 1.0) * 100.0;
    let script = if outcome.script {
        " The users are k6 scripts (`scripts/`, `--script`); a step that their thresholds end, or that does not keep \
         them from its beginning to its end, has failed."
    } else {
        ""
    };
    format!(
        "Each user asks, reads the whole answer, thinks for 2 s (create: 1 s), and asks again. Served means p95 < {} ms \
         and errors < {} % in the hold window. Each step is a ramp of {} and a hold of {} ({as_in_study}); the \
         search ends when the least users that fail are within {percent:.0} % of the most that pass.{script}",
        P95_MAX.as_millis_f64(),
        ERROR_SHARE_MAX * 100.0,
        seconds(pace.ramp),
        seconds(pace.hold),
    )
}

fn differences(outcome: &RelationalOutcome) -> String {
    let here = match outcome.database {
        DatabaseKind::Sqlite => {
            "here the database is inside the engine, and engine and load share one machine"
        }
        DatabaseKind::Postgres => "here engine, PostgreSQL and load share one machine",
    };
    format!("{CONDITIONS}; {here}, with references spread evenly over all rows")
}

/// Cells in the order of their tables.
fn groups(outcome: &RelationalOutcome) -> Vec<(String, Vec<&Capacity>)> {
    let mut groups: Vec<(String, Vec<&Capacity>)> = Vec::new();
    for cell in &outcome.cells {
        let processors = count_of_processors(cell.processors);
        let heading = match cell.workload.operation {
            Operation::Create => format!("Create mutation, {processors}"),
            _ => format!("{processors}, limit {}", cell.workload.limit),
        };
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((heading, vec![cell])),
        }
    }
    groups
}

fn capacity_table(cells: &[&Capacity], resolver: &str) -> Table {
    let mut table = Table::new(&HEADER);
    for cell in cells {
        let label = cell.workload.operation.label();
        let users = users_text(cell);
        if let Some(step) = cell.best() {
            table.push(own_row(label, "Prony, hold", &users, &step.hold));
            table.push(own_row("", "Prony, whole run", "", &step.whole));
        } else {
            let mut row = vec![label.to_owned(), "Prony".to_owned(), users];
            row.resize(HEADER.len(), NOT_KNOWN.to_owned());
            table.push(row);
        }
        if let Some(row) = cell.workload.operation.published(resolver, cell.processors, cell.workload.limit) {
            table.push(published_row(&row));
        }
    }
    table
}

/// The most users that were served; `≥` where more may be, and the least that were not.
fn users_text(cell: &Capacity) -> String {
    let failed = cell.interval.failed.map(|users| thousands(users.into()));
    match (cell.interval.passed, failed) {
        (Some(passed), _) if cell.outside_limit.is_some() => format!("≥ {}", thousands(passed.into())),
        (Some(passed), Some(failed)) => format!("{} ({failed} fail)", thousands(passed.into())),
        (Some(passed), None) => format!("≥ {}", thousands(passed.into())),
        (None, Some(failed)) if cell.outside_limit.is_none() => format!("< {failed}"),
        (None, _) => NOT_KNOWN.to_owned(),
    }
}

fn own_row(label: &str, of: &str, users: &str, columns: &Columns) -> Vec<String> {
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), milliseconds);
    vec![
        label.to_owned(),
        of.to_owned(),
        users.to_owned(),
        thousands(columns.requests_per_second.round() as u64),
        time(columns.p95_ms),
        time(columns.min_ms),
        time(columns.max_ms),
        thousands(columns.requests),
    ]
}

fn published_row(row: &Published) -> Vec<String> {
    // Whole milliseconds, as they were published.
    let ms = |ms: u32| format!("{} ms", thousands(ms.into()));
    vec![
        String::new(),
        STUDY.to_owned(),
        thousands(row.users.into()),
        thousands(row.requests_per_second.into()),
        ms(row.p95_ms),
        ms(row.min_ms),
        ms(row.max_ms),
        thousands(row.requests.into()),
    ]
}

fn resolver_table(rows: &[ResolverRow]) -> Table {
    let header = ["Query", "Resolver", "Reqs/s", "p(95)", "Engine CPU a request", "Engine memory", "Errors"];
    let mut table = Table::new(&header);
    let mut last = None;
    for row in rows {
        let label = if last == Some(row.operation) { "" } else { row.operation.label() };
        last = Some(row.operation);
        let cpu = row.engine_us_per_request.map_or("-".to_owned(), |us| format!("{us:.0} µs"));
        let memory = row.engine_resident_bytes.map_or("-".to_owned(), megabytes);
        table.push(vec![
            label.to_owned(),
            row.resolver.to_owned(),
            thousands(row.requests_per_second.round() as u64),
            row.p95_ms.map_or("-".to_owned(), milliseconds),
            cpu,
            memory,
            format!("{:.1} %", row.error_share * 100.0),
        ]);
    }
    table
}

/// What a reader must know before believing the figures.
fn notes(outcome: &RelationalOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.stopped {
        notes
            .push("The run was stopped: searches that had not ended are as far as they had come.".to_owned());
    }
    notes.extend(outcome.assignments.iter().filter_map(Assignment::note));
    for cell in &outcome.cells {
        notes.extend(limit_note(cell));
    }
    notes.extend(usage_note(outcome));
    notes
}

/// Of a cell whose engine was not the limit: what is shown is a lower bound, or nothing is.
fn limit_note(cell: &Capacity) -> Option<String> {
    let limit = cell.outside_limit.as_ref()?;
    let fewest = cell.steps.iter().map(|step| step.users).min();
    let said = match (cell.interval.passed, fewest) {
        (Some(_), _) => format!("at least what is shown, because the engine was not the limit ({limit})"),
        (None, Some(fewest)) => format!(
            "no number of users is known, because already at {} the engine was not the limit ({limit})",
            thousands(fewest.into())
        ),
        (None, None) => format!("no number of users is known ({limit})"),
    };
    Some(format!(
        "{}: {said}. Saturated by a few connections it answered {} requests a second.",
        cell_name(cell),
        thousands(cell.saturation_per_second.round() as u64),
    ))
}

/// `1 nest, limit 50, 1 processor`.
fn cell_name(cell: &Capacity) -> String {
    let processors = count_of_processors(cell.processors);
    match cell.workload.operation {
        Operation::Create => format!("Create, {processors}"),
        operation => format!("{}, limit {}, {processors}", operation.label(), cell.workload.limit),
    }
}

/// What the engine used in the steps that the table shows.
fn usage_note(outcome: &RelationalOutcome) -> Option<String> {
    let best: Vec<&SearchStep> = outcome.cells.iter().filter_map(Capacity::best).collect();
    let range = |values: Vec<f64>| -> Option<(f64, f64)> {
        let low = values.iter().copied().reduce(f64::min)?;
        Some((low, values.iter().copied().reduce(f64::max)?))
    };
    let (low, high) = range(best.iter().filter_map(|step| step.engine_processors).collect())?;
    let (_, memory) =
        range(best.iter().filter_map(|step| step.engine_resident_bytes).map(|b| b as f64).collect())?;
    let (_, busy) = range(best.iter().map(|step| step.lab_busy_share).collect())?;
    Some(format!(
        "In the steps shown the engine used {low:.2} to {high:.2} processors and at most {}; the lab's busiest \
         thread was busy for at most {:.0} % of the time.",
        megabytes(memory as u64),
        busy * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::{dataset::DatasetPlan, study::Workload},
        *,
    };
    use crate::frame::Head;
    use prony_model::search::{Interval, Trial};

    fn step(users: u32, passed: bool) -> SearchStep {
        let hold = Columns {
            requests_per_second: 9_876.4,
            p95_ms: Some(412.3),
            min_ms: Some(0.42),
            max_ms: Some(1_069.0),
            requests: 39_505,
            error_share: 0.0,
        };
        SearchStep {
            users,
            passed,
            trial: if passed { Trial::Passed } else { Trial::Failed },
            hold,
            whole: Columns { requests: 51_111, ..hold },
            engine_processors: Some(0.98),
            engine_resident_bytes: Some(123_000_000),
            lab_busy_share: 0.61,
            others_processors: Some(0.02),
            outside_limit: None,
            crossed: None,
            file: "x".into(),
        }
    }

    fn cell(operation: Operation, passed: Option<u32>, failed: Option<u32>) -> Capacity {
        Capacity {
            workload: Workload { operation, limit: 50, rows: 100_000, seed: 42 },
            processors: 1,
            saturation_per_second: 10_000.0,
            interval: Interval { passed, failed, ..Interval::default() },
            steps: passed.iter().map(|users| step(*users, true)).collect(),
            outside_limit: None,
            stopped: false,
        }
    }

    fn outcome() -> RelationalOutcome {
        let limited = Capacity {
            outside_limit: Some("the busiest thread was busy for 91 % of the run".into()),
            ..cell(Operation::OneNest, Some(9_000), Some(9_500))
        };
        let resolver = |resolver| ResolverRow {
            resolver,
            operation: Operation::NoNest,
            limit: 50,
            requests_per_second: 10_500.0,
            p95_ms: Some(7.5),
            error_share: 0.0,
            engine_us_per_request: Some(93.4),
            engine_resident_bytes: Some(45_000_000),
            lab_busy_share: 0.5,
        };
        RelationalOutcome {
            head: Head::example("relational"),
            database: DatabaseKind::Sqlite,
            dataset: DatasetPlan { seed: 42, rows: 100_000 },
            pace: RelationalPace::QUICK,
            resolver: "subquery".into(),
            script: false,
            assignments: vec![Assignment { server: vec![0], lab: vec![1], shared: false }],
            cells: vec![
                cell(Operation::NoNest, Some(21_000), Some(22_500)),
                limited,
                cell(Operation::TwoNests, None, Some(10)),
                cell(Operation::Create, Some(5_000), Some(5_500)),
            ],
            resolvers: vec![resolver("subquery"), resolver("per-nest")],
            stopped: false,
        }
    }

    #[test]
    fn the_tables_stand_beside_the_published_ones() {
        expect![[r#"
            # GraphQL from a relational database: how many users are served?

            Prony 0.1.0 serving from SQLite inside the engine (`--resolver subquery`), 2026-11-21T02:03:04Z; seed 42, 100 000 rows in each table. Machine: 2 × Example 3000, Linux 6.1.

            Each user asks, reads the whole answer, thinks for 2 s (create: 1 s), and asks again. Served means p95 < 500 ms and errors < 1 % in the hold window. Each step is a ramp of 2 s and a hold of 4 s (short: the study took 30 s and 30 s, as `--full` does); the search ends when the least users that fail are within 15 % of the most that pass.

            What differs from the study: Phrag ran on the JVM in an AWS ECS task of 1 or 2 vCPU with PostgreSQL on a machine of its own (RDS db.t3.micro, 2 vCPU), k6 drove it from a computer at home through the internet, and its scripts gave meetups to the first 1 000 venues only; here the database is inside the engine, and engine and load share one machine, with references spread evenly over all rows.

            ## 1 processor, limit 50

            | Query   |                  |              Max VUs | Reqs/s |  p(95) |     Min |      Max |   Reqs |
            | ------- | ---------------- | -------------------: | -----: | -----: | ------: | -------: | -----: |
            | No nest | Prony, hold      | 21 000 (22 500 fail) |  9 876 | 412 ms | 0.42 ms | 1 069 ms | 39 505 |
            |         | Prony, whole run |                      |  9 876 | 412 ms | 0.42 ms | 1 069 ms | 51 111 |
            |         | Phrag 0.4.6      |                1 300 |    442 | 427 ms |    7 ms |   845 ms | 27 510 |
            | 1 nest  | Prony, hold      |              ≥ 9 000 |  9 876 | 412 ms | 0.42 ms | 1 069 ms | 39 505 |
            |         | Prony, whole run |                      |  9 876 | 412 ms | 0.42 ms | 1 069 ms | 51 111 |
            |         | Phrag 0.4.6      |                  800 |    273 | 406 ms |    7 ms |   889 ms | 17 003 |
            | 2 nests | Prony            |                 < 10 |      - |      - |       - |        - |      - |
            |         | Phrag 0.4.6      |                  700 |    240 | 427 ms |    9 ms |   991 ms | 15 068 |

            ## Create mutation, 1 processor

            | Query  |                  |            Max VUs | Reqs/s |  p(95) |     Min |      Max |   Reqs |
            | ------ | ---------------- | -----------------: | -----: | -----: | ------: | -------: | -----: |
            | Create | Prony, hold      | 5 000 (5 500 fail) |  9 876 | 412 ms | 0.42 ms | 1 069 ms | 39 505 |
            |        | Prony, whole run |                    |  9 876 | 412 ms | 0.42 ms | 1 069 ms | 51 111 |
            |        | Phrag 0.4.6      |              1 500 |    926 | 394 ms |    7 ms |   667 ms | 56 689 |

            ## Resolver models

            64 connections without think time, 1.5 s each.

            | Query   | Resolver | Reqs/s |  p(95) | Engine CPU a request | Engine memory | Errors |
            | ------- | -------- | -----: | -----: | -------------------: | ------------: | -----: |
            | No nest | subquery | 10 500 | 7.5 ms |                93 µs |         45 MB |  0.0 % |
            |         | per-nest | 10 500 | 7.5 ms |                93 µs |         45 MB |  0.0 % |

            ## Limits of these figures

            * 1 nest, limit 50, 1 processor: at least what is shown, because the engine was not the limit (the busiest thread was busy for 91 % of the run). Saturated by a few connections it answered 10 000 requests a second.
            * In the steps shown the engine used 0.98 to 0.98 processors and at most 123 MB; the lab's busiest thread was busy for at most 61 % of the time.
        "#]].assert_eq(&render(&outcome()));
    }

    #[test]
    fn open_intervals_are_lower_bounds() {
        assert_eq!(users_text(&cell(Operation::NoNest, Some(60_000), None)), "≥ 60 000");
        assert_eq!(users_text(&cell(Operation::NoNest, None, None)), "-");
    }

    #[test]
    fn a_dash_is_no_lower_bound() {
        let limited = |passed, failed| {
            let mut cell = cell(Operation::NoNest, passed, failed);
            cell.steps = vec![step(10, false)];
            cell.outside_limit = Some("the lab was busy".into());
            cell
        };
        let only = |cell| RelationalOutcome { cells: vec![cell], ..outcome() };
        let nothing = only(limited(None, Some(10)));
        let note = &notes(&nothing)[0];
        assert!(note.contains("no number of users is known, because already at 10 the engine"), "{note}");
        assert!(!render(&nothing).contains("at least what is shown"));
        assert_eq!(frame::Outcome::conclusion(&nothing), Conclusion::Void);
        let bound = only(limited(Some(9_000), Some(9_500)));
        assert!(notes(&bound)[0].contains("at least what is shown"), "{}", notes(&bound)[0]);
        assert_eq!(frame::Outcome::conclusion(&bound), Conclusion::Passed);
        let mut failing = only(limited(None, Some(10)));
        failing.cells[0].steps[0].whole.error_share = 1.0;
        assert_eq!(frame::Outcome::conclusion(&failing), Conclusion::Failed);
    }

    #[test]
    fn a_stopped_run_says_so_first() {
        let notes = notes(&RelationalOutcome { stopped: true, ..outcome() });
        assert!(notes[0].starts_with("The run was stopped"), "{}", notes[0]);
    }
}
