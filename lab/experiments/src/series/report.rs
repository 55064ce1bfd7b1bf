//! The study's table with the published figures beside ours, what notifications reach beyond it, and the queries of the large table.

use prony_model::Conclusion;

use super::{
    ingest::Ingest,
    outcome::SeriesOutcome,
    published::{self, CONDITIONS},
    reads::{LOADS, ReadStep},
    study::{BATCH_USERS, INTERVAL, READERS, ReadQuestion, USERS, WRITES_BESIDE_READS, WriteForm},
    writes::{Restart, WriteStep},
};
use crate::{
    display::count_of_processors,
    frame::{self, Head},
    markdown::{Table, document, megabytes, milliseconds, seconds, thousands},
};

const NONE: &str = "-";

impl frame::Outcome for SeriesOutcome {
    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn render(&self) -> String {
        let mut parts = vec![
            "# Time series over NGSI: how many notifications, how fast queries?".to_owned(),
            setting(self),
            format!("What differs from the study: {CONDITIONS}."),
        ];
        if !self.writes.is_empty() {
            parts.extend(study_parts(self));
            parts.extend(writes_parts(self));
        }
        if let Some(ingest) = &self.ingest {
            parts.extend(table_parts(ingest));
        }
        if !self.reads.is_empty() {
            parts.extend(reads_parts(self));
        }
        document(parts, &notes(self))
    }

    fn conclusion(&self) -> Conclusion {
        let writes = self.writes.iter().map(|step| &step.statistics);
        let all = writes.chain(self.reads.iter().map(|step| &step.statistics));
        let (requests, good) = all.fold((0, 0), |(all, good), one| (all + one.requests, good + one.ok));
        frame::conclusion_of(requests, good)
    }
}

fn setting(outcome: &SeriesOutcome) -> String {
    let cost = outcome.sync_cost.map_or(String::new(), |cost| {
        format!(" One fdatasync takes {:.0} µs on the disk under the data.", cost.as_secs_f64() * 1e6)
    });
    format!(
        "Prony {} (`prony serve series:DIR`) on {}, {}; seed {}. Machine: {}.{cost}",
        outcome.head.prony_version,
        count_of_processors(outcome.assignment.server.len()),
        outcome.head.started_at,
        outcome.seed,
        outcome.head.machine_text(),
    )
}

fn time(ms: Option<f64>) -> String {
    ms.map_or(NONE.to_owned(), milliseconds)
}

fn per_second(rate: f64) -> String {
    thousands(rate.round() as u64)
}

// ---- the study

fn study_parts(outcome: &SeriesOutcome) -> Vec<String> {
    let mut parts = vec!["## The study".to_owned()];
    let step = outcome.writes.iter().find(|step| step.form == WriteForm::Published);
    let took = step.map_or(String::new(), |_| format!(", for {}", seconds(outcome.pace.published)));
    parts.push(format!(
        "{USERS} users, each of whom begins a notification of `Room:1` (temperature and pressure) every {} ms{took}. Statements are the most \
         that the study's database saw in a second.",
        INTERVAL.0 / 1_000_000
    ));
    parts.push(study_table(step).render());
    if let Some(limited) = step.and_then(|step| step.offered_load_limited.as_ref()) {
        parts.push(format!(
            "Finding `offered-load-limited`: {limited}. The script asks for 100 requests a second and no more, so neither this figure nor \
             the study's best two (95 and 100) say what a server can take; the next table does."
        ));
    }
    parts
}

fn study_table(step: Option<&WriteStep>) -> Table {
    let mut table = Table::new(&["Server", "Reqs/s", "Mean", "p99", "SELECT/s", "INSERT/s", "Failed"]);
    for row in published::ROWS {
        let statements = row.statements;
        table.push(vec![
            format!("QuantumLeap, {} (published)", row.setting),
            thousands(row.per_second.into()),
            time(row.mean_ms.map(f64::from)),
            NONE.to_owned(),
            statements.map_or(NONE.to_owned(), |(select, _)| thousands(select.into())),
            statements.map_or(NONE.to_owned(), |(_, insert)| thousands(insert.into())),
            NONE.to_owned(),
        ]);
    }
    if let Some(step) = step {
        table.push(vec![
            format!("Prony, {}", step.durability),
            per_second(step.statistics.requests_per_second),
            time(step.statistics.mean_ms),
            time(step.statistics.p99_ms),
            NONE.to_owned(),
            NONE.to_owned(),
            thousands(step.statistics.ko),
        ]);
    }
    table
}

// ---- faster notifications

fn writes_parts(outcome: &SeriesOutcome) -> Vec<String> {
    let mut parts = vec![
        "## Notifications as fast as they are taken".to_owned(),
        format!(
            "{USERS} users of one entity, and {BATCH_USERS} of {} entities a notification, who notify again as soon as they have their \
             response, for {} each.",
            thousands(WriteForm::Batches.entities().into()),
            seconds(outcome.pace.write)
        ),
        writes_table(&outcome.writes).render(),
    ];
    parts.extend(outcome.restart.as_ref().map(restart_text));
    parts
}

fn writes_table(steps: &[WriteStep]) -> Table {
    let header = [
        "Notifications",
        "Durability",
        "Rows/s",
        "Reqs/s",
        "p50",
        "p99",
        "Max",
        "Failed",
        "Engine CPU a request",
        "Engine memory",
    ];
    let mut table = Table::new(&header);
    for step in steps.iter().filter(|step| step.form != WriteForm::Published) {
        let statistics = &step.statistics;
        table.push(vec![
            step.form.label().to_owned(),
            step.durability.to_string(),
            per_second(step.rows_per_second),
            per_second(statistics.requests_per_second),
            time(statistics.p50_ms),
            time(statistics.p99_ms),
            time(statistics.max_ms),
            thousands(statistics.ko),
            step.used.us_per_request.map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
            step.used.resident_bytes.map_or(NONE.to_owned(), megabytes),
        ]);
    }
    table
}

fn restart_text(restart: &Restart) -> String {
    format!(
        "Killed (SIGKILL) and started again, the engine listened after {} and had {} rows of {} that were acknowledged; {} on the disk.",
        milliseconds(restart.time.as_millis_f64()),
        thousands(restart.found_rows),
        thousands(restart.acknowledged_rows),
        megabytes(restart.data_bytes),
    )
}

// ---- the large table

fn table_parts(ingest: &Ingest) -> Vec<String> {
    vec![
        "## The large table".to_owned(),
        format!(
            "{} rows of {} entities, one a minute, written by one connection in notifications of 1,000 rows, each durable before the next: {} \
             rows/s. Put together (`prony series compact`, {}) they take {}: {:.2} bytes a value, names and indexes included.",
            thousands(ingest.rows),
            thousands(ingest.entities.into()),
            per_second(ingest.rows_per_second()),
            seconds_of(ingest.compact_time.as_secs_f64()),
            megabytes(ingest.compact_bytes),
            ingest.bytes_a_value(),
        ),
    ]
}

fn seconds_of(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

fn reads_parts(outcome: &SeriesOutcome) -> Vec<String> {
    vec![
        "## Queries".to_owned(),
        format!(
            "By one user and by {READERS}, who ask again as soon as they have their response, of random entities and days, for {} each; \"beside \
             writes\" is one user while {} notifications a second come. Each response was held against the rows before.",
            seconds(outcome.pace.read),
            thousands(WRITES_BESIDE_READS.into()),
        ),
        reads_table(&outcome.reads).render(),
        "Other stores, one query at a time, of 10 million rows of 1,000 entities, on a machine with two processors, without HTTP (medians in \
         milliseconds, ±25 %)."
            .to_owned(),
        others_table().render(),
    ]
}

fn reads_table(steps: &[ReadStep]) -> Table {
    let many = format!("Reqs/s, {READERS} users");
    let header =
        ["Query", "p50", "p99", &many, "p99", "p50 beside writes", "p99", "Failed", "Engine CPU a request"];
    let mut table = Table::new(&header);
    for question in ReadQuestion::ALL {
        let of = |(users, beside_writes)| {
            steps.iter().find(|step| {
                (step.question, step.users, step.beside_writes) == (question, users, beside_writes)
            })
        };
        let [alone, many, beside] = LOADS.map(of);
        let Some(first) = alone.or(many).or(beside) else { continue };
        let cell = |step: Option<&ReadStep>, get: fn(&ReadStep) -> Option<f64>| time(step.and_then(get));
        let failed: u64 = [alone, many, beside].iter().flatten().map(|step| step.statistics.ko).sum();
        table.push(vec![
            first.question.label().to_owned(),
            cell(alone, |step| step.statistics.p50_ms),
            cell(alone, |step| step.statistics.p99_ms),
            many.map_or(NONE.to_owned(), |step| per_second(step.statistics.requests_per_second)),
            cell(many, |step| step.statistics.p99_ms),
            cell(beside, |step| step.statistics.p50_ms),
            cell(beside, |step| step.statistics.p99_ms),
            thousands(failed),
            many.and_then(|step| step.used.us_per_request)
                .map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
        ]);
    }
    table
}

fn others_table() -> Table {
    let mut table = Table::new(&["Query", "PostgreSQL 15", "QuestDB 9.3", "InfluxDB 1.6", "DuckDB 2.0"]);
    for question in ReadQuestion::ALL {
        let of = published::read(question);
        let cells = [of.postgres, of.questdb, of.influxdb, of.duckdb].map(str::to_owned);
        table.push([vec![question.label().to_owned()], cells.to_vec()].concat());
    }
    table
}

// ---- notes

fn notes(outcome: &SeriesOutcome) -> Vec<String> {
    let mut notes: Vec<String> = outcome.assignment.note().into_iter().collect();
    let writes = outcome.writes.iter().filter(|step| step.form != WriteForm::Published);
    let limits = writes.map(|step| &step.used).chain(outcome.reads.iter().map(|step| &step.used));
    let limits: Vec<&String> = limits.filter_map(|used| used.outside_limit.as_ref()).collect();
    if let Some(first) = limits.first() {
        notes.push(format!(
            "In {} of the runs the engine was not the only limit, so their rates are lower bounds; the first of them: {first}.",
            limits.len()
        ));
    }
    notes.push(
        "A metadata cache and the re-use of connections are no settings of a store without a database behind it; the study's five rows were not \
         measured again."
            .to_owned(),
    );
    if outcome.stopped {
        notes.push("The run was stopped; what is missing was not measured.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prony_model::Nanos;

    use super::*;
    use crate::{
        durability::Durability,
        frame::Outcome as _,
        processors::Assignment,
        runs::Used,
        series::study::{SeriesPace, SeriesPart},
        statistics::Statistics,
    };

    fn statistics(per_second: f64) -> Statistics {
        Statistics {
            requests: 1_200,
            ok: 1_199,
            ko: 1,
            requests_per_second: per_second,
            p50_ms: Some(1.9),
            p99_ms: Some(4.1),
            max_ms: Some(21.0),
            mean_ms: Some(2.0),
            ..Statistics::default()
        }
    }

    fn used() -> Used {
        Used { us_per_request: Some(31.26), resident_bytes: Some(64_000_000), ..Used::default() }
    }

    fn write(form: WriteForm, per_second: f64) -> WriteStep {
        let limited = "100/s of the 100/s that 30 users with a wait of 300 ms can ask for";
        WriteStep {
            form,
            durability: Durability::Sync,
            statistics: statistics(per_second),
            rows_per_second: per_second * f64::from(form.entities()),
            offered_load_limited: (form == WriteForm::Published).then(|| limited.to_owned()),
            used: used(),
            file: "x".to_owned(),
        }
    }

    fn read(question: ReadQuestion, (users, beside_writes): (u32, bool)) -> ReadStep {
        ReadStep {
            question,
            users,
            beside_writes,
            statistics: statistics(1_000.0),
            used: used(),
            file: "x".to_owned(),
        }
    }

    fn outcome() -> SeriesOutcome {
        SeriesOutcome {
            head: Head::example("series"),
            pace: SeriesPace::QUICK,
            seed: 42,
            parts: SeriesPart::ALL.to_vec(),
            durabilities: vec![Durability::Sync],
            assignment: Assignment::new(&[0, 1], 1).unwrap(),
            sync_cost: Some(Nanos::from_micros(405)),
            writes: vec![
                write(WriteForm::Published, 100.0),
                write(WriteForm::Saturated, 20_000.0),
                write(WriteForm::Batches, 400.0),
            ],
            restart: Some(Restart {
                acknowledged_rows: 500_000,
                found_rows: 500_003,
                data_bytes: 40_000_000,
                time: Nanos::from_millis(150),
            }),
            ingest: Some(Ingest {
                rows: 1_000_000,
                entities: 100,
                time: Nanos::from_secs(4),
                compact_bytes: 1_400_000,
                compact_time: Nanos::from_millis(900),
            }),
            reads: LOADS.map(|load| read(ReadQuestion::LastTen, load)).to_vec(),
            stopped: false,
        }
    }

    #[test]
    fn tables_have_the_published_figures_beside_ours() {
        expect![[r##"
            # Time series over NGSI: how many notifications, how fast queries?

            Prony 0.1.0 (`prony serve series:DIR`) on 1 processor, 2026-11-21T02:03:04Z; seed 42. Machine: 2 × Example 3000, Linux 6.1. One fdatasync takes 405 µs on the disk under the data.

            What differs from the study: the study's QuantumLeap wrote to a database beside it, whose metadata it cached and whose connections it used again in four of five rows; here the store is part of the server, which knows its metadata and has no connections, so that one row of ours stands beside the five.

            ## The study

            30 users, each of whom begins a notification of `Room:1` (temperature and pressure) every 300 ms, for 12 s. Statements are the most that the study's database saw in a second.

            | Server                                                                 | Reqs/s |   Mean |    p99 | SELECT/s | INSERT/s | Failed |
            | ---------------------------------------------------------------------- | -----: | -----: | -----: | -------: | -------: | -----: |
            | QuantumLeap, as it was (published)                                     |     44 | 600 ms |      - |      111 |       54 |      - |
            | QuantumLeap, connections are used again (published)                    |     55 | 400 ms |      - |      177 |       86 |      - |
            | QuantumLeap, metadata in Redis (published)                             |     60 |      - |      - |        - |        - |      - |
            | QuantumLeap, metadata in memory (published)                            |     95 |      - |      - |        - |        - |      - |
            | QuantumLeap, metadata in Redis, connections are used again (published) |    100 | 208 ms |      - |        7 |      142 |      - |
            | Prony, sync                                                            |    100 | 2.0 ms | 4.1 ms |        - |        - |      1 |

            Finding `offered-load-limited`: 100/s of the 100/s that 30 users with a wait of 300 ms can ask for. The script asks for 100 requests a second and no more, so neither this figure nor the study's best two (95 and 100) say what a server can take; the next table does.

            ## Notifications as fast as they are taken

            30 users of one entity, and 8 of 1 000 entities a notification, who notify again as soon as they have their response, for 5 s each.

            | Notifications                 | Durability |  Rows/s | Reqs/s |    p50 |    p99 |   Max | Failed | Engine CPU a request | Engine memory |
            | ----------------------------- | ---------- | ------: | -----: | -----: | -----: | ----: | -----: | -------------------: | ------------: |
            | the same without its pace     | sync       |  20 000 | 20 000 | 1.9 ms | 4.1 ms | 21 ms |      1 |              31.3 µs |         64 MB |
            | 1 000 entities a notification | sync       | 400 000 |    400 | 1.9 ms | 4.1 ms | 21 ms |      1 |              31.3 µs |         64 MB |

            Killed (SIGKILL) and started again, the engine listened after 150 ms and had 500 003 rows of 500 000 that were acknowledged; 40 MB on the disk.

            ## The large table

            1 000 000 rows of 100 entities, one a minute, written by one connection in notifications of 1,000 rows, each durable before the next: 250 000 rows/s. Put together (`prony series compact`, 0.9 s) they take 1.4 MB: 0.70 bytes a value, names and indexes included.

            ## Queries

            By one user and by 8, who ask again as soon as they have their response, of random entities and days, for 3 s each; "beside writes" is one user while 500 notifications a second come. Each response was held against the rows before.

            | Query                 |    p50 |    p99 | Reqs/s, 8 users |    p99 | p50 beside writes |    p99 | Failed | Engine CPU a request |
            | --------------------- | -----: | -----: | --------------: | -----: | ----------------: | -----: | -----: | -------------------: |
            | last 10 of one entity | 1.9 ms | 4.1 ms |           1 000 | 4.1 ms |            1.9 ms | 4.1 ms |      3 |              31.3 µs |

            Other stores, one query at a time, of 10 million rows of 1,000 entities, on a machine with two processors, without HTTP (medians in milliseconds, ±25 %).

            | Query                          | PostgreSQL 15 | QuestDB 9.3 | InfluxDB 1.6 | DuckDB 2.0 |
            | ------------------------------ | ------------: | ----------: | -----------: | ---------: |
            | last 10 of one entity          |          0.10 |  0.4 to 1.7 |          1.2 |        3.8 |
            | a day of one attribute         |           3.9 |  1.2 to 2.6 |          4.0 |    9 to 16 |
            | hourly averages of one entity  |            31 |      2 to 7 |          5.4 |    6 to 45 |
            | daily averages of all entities |         8 000 |         144 |        1 970 |      1 150 |

            ## Limits of these figures

            * A metadata cache and the re-use of connections are no settings of a store without a database behind it; the study's five rows were not measured again.
        "##]].assert_eq(&outcome().render());
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let outcome = SeriesOutcome {
            writes: Vec::new(),
            restart: None,
            ingest: None,
            reads: Vec::new(),
            stopped: true,
            ..outcome()
        };
        let text = outcome.render();
        assert!(!text.contains("## The study") && !text.contains("## Queries"), "{text}");
        assert!(text.ends_with("* The run was stopped; what is missing was not measured.\n"), "{text}");
        assert_eq!(outcome.conclusion(), Conclusion::Passed);
    }
}
