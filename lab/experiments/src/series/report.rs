//! The study's table with the published figures beside ours, what notifications reach beyond it, and the queries of the large table.

use prony_model::Conclusion;
use prony_report::StudyData;

use super::{
    outcome::SeriesOutcome,
    page,
    published::CONDITIONS,
    study::{BATCH_USERS, INTERVAL, READERS, USERS, WRITES_BESIDE_READS, WriteForm},
    tables::{
        has_writes, ingest_table, limited_text, notes, others_table, published_steps, reads_table, setting,
        study_table, writes_table,
    },
    writes::Restart,
};
use crate::{
    frame::{self, Head},
    markdown::{document, megabytes, milliseconds, seconds, thousands},
};

impl frame::Outcome for SeriesOutcome {
    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn render(&self) -> String {
        let mut parts = vec![
            format!("# {}", page::TITLE),
            setting(self),
            format!("What differs from the study: {CONDITIONS}."),
        ];
        let tables = [study_table(self), writes_table(self), ingest_table(&self.ingests), reads_table(self)];
        let [study, writes, ingests, reads] = tables.map(|table| (!table.is_empty()).then(|| table.render()));
        if has_writes(self) {
            parts.extend(study.map(|table| study_parts(self, table)).into_iter().flatten());
            parts.extend(writes.map(|table| writes_parts(self, table)).into_iter().flatten());
        }
        parts.extend(ingests.map(|table| ingest_parts(self, table)).into_iter().flatten());
        parts.extend(reads.map(|table| reads_parts(self, table)).into_iter().flatten());
        document(parts, &notes(self))
    }

    /// With the runs of the study's script, which show what the database saw over time.
    fn page(&self) -> Option<(StudyData, Vec<&str>)> {
        Some((page::study(self), published_steps(self).map(|step| step.file.as_str()).collect()))
    }

    fn conclusion(&self) -> Conclusion {
        let writes = self.writes.iter().map(|step| &step.statistics);
        let all = writes.chain(self.reads.iter().map(|step| &step.statistics));
        let (requests, good) = all.fold((0, 0), |(all, good), one| (all + one.requests, good + one.ok));
        if requests == 0 && !self.not_measured.is_empty() {
            return Conclusion::Void;
        }
        frame::conclusion_of(requests, good)
    }
}

fn study_parts(outcome: &SeriesOutcome, table: String) -> Vec<String> {
    let mut parts = vec![
        "## The study".to_owned(),
        format!(
            "{USERS} users, each of whom begins a notification of `Room:1` (temperature and pressure) every {} ms, for {}. SELECT/s and INSERT/s \
             are the most statements in a second that the database saw, by the study's count and by `pg_stat_statements`.",
            INTERVAL.0 / 1_000_000,
            seconds(outcome.pace.published),
        ),
        table,
    ];
    parts.extend(limited_text(outcome));
    parts
}

fn writes_parts(outcome: &SeriesOutcome, table: String) -> Vec<String> {
    let mut parts = vec![
        "## Notifications as fast as they are taken".to_owned(),
        format!(
            "{USERS} users of one entity, and {BATCH_USERS} of {} entities a notification, who notify again as soon as they have their \
             response, for {} each.",
            thousands(WriteForm::Batches.entities().into()),
            seconds(outcome.pace.write)
        ),
        table,
    ];
    parts.extend(outcome.restart.as_ref().map(restart_text));
    parts
}

fn restart_text(restart: &Restart) -> String {
    format!(
        "Killed (SIGKILL) and started again, the embedded engine listened after {} and had {} rows of {} that were acknowledged; {} on the disk.",
        milliseconds(restart.time.as_millis_f64()),
        thousands(restart.found_rows),
        thousands(restart.acknowledged_rows),
        megabytes(restart.data_bytes),
    )
}

fn ingest_parts(outcome: &SeriesOutcome, table: String) -> Vec<String> {
    let first = outcome.ingests.first();
    let (rows, entities) = first.map_or((0, 0), |ingest| (ingest.rows, ingest.entities));
    vec![
        "## The large table".to_owned(),
        format!(
            "{} rows of {} entities, one a minute, written by one connection in notifications of 1,000 rows, each durable before the next. Then \
             they are put together (`prony series compact`, `VACUUM`); names and indexes are in the bytes.",
            thousands(rows),
            thousands(entities.into()),
        ),
        table,
    ]
}

fn reads_parts(outcome: &SeriesOutcome, table: String) -> Vec<String> {
    vec![
        "## Queries".to_owned(),
        format!(
            "By one user and by {READERS}, who ask again as soon as they have their response, of random entities and days, for {} each; \"beside \
             writes\" is one user while {} notifications a second come. Each response was held against the rows before.",
            seconds(outcome.pace.read),
            thousands(WRITES_BESIDE_READS.into()),
        ),
        table,
        page::OTHERS.to_owned(),
        others_table().render(),
    ]
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
        series::{
            engines::{EngineSetting, SeriesEngine},
            ingest::Ingest,
            outcome::NotMeasured,
            places::Servers,
            reads::{LOADS, ReadStep},
            statements::Statements,
            study::{MetadataCache, ReadQuestion, SeriesPace, SeriesPart},
            writes::WriteStep,
        },
        statistics::Statistics,
    };

    const BASELINE: EngineSetting =
        EngineSetting::Postgres { metadata_cache: MetadataCache::None, connection_reuse: false };
    const WITH_REDIS: EngineSetting =
        EngineSetting::Postgres { metadata_cache: MetadataCache::Redis, connection_reuse: true };
    const REASON: &str = "`redis-server` is not in PATH; install it";

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

    fn write(setting: EngineSetting, form: WriteForm, per_second: f64) -> WriteStep {
        let limited = "100/s of the 100/s that 30 users with a wait of 300 ms can ask for";
        let has_database = setting.engine() == SeriesEngine::Postgres;
        WriteStep {
            form,
            setting,
            statistics: statistics(per_second),
            rows_per_second: per_second * f64::from(form.entities()),
            offered_load_limited: (form == WriteForm::Published).then(|| limited.to_owned()),
            statements: has_database.then_some(Statements {
                select_max: 5.4,
                select_mean: 2.0,
                insert_max: 99.6,
                insert_mean: 88.0,
            }),
            without_statements: None,
            used: used(),
            file: "x".to_owned(),
        }
    }

    fn read(engine: SeriesEngine, question: ReadQuestion, (users, beside_writes): (u32, bool)) -> ReadStep {
        ReadStep {
            setting: engine.usual(),
            question,
            users,
            beside_writes,
            statistics: statistics(if users == 1 { 1_000.0 } else { 4.26 }),
            used: used(),
            file: "x".to_owned(),
        }
    }

    fn ingest(engine: SeriesEngine, compact_bytes: u64) -> Ingest {
        Ingest {
            setting: engine.usual(),
            rows: 1_000_000,
            entities: 100,
            time: Nanos::from_secs(4),
            compact_bytes,
            compact_time: Nanos::from_millis(900),
        }
    }

    /// Without a Redis, and nothing of the large table on PostgreSQL.
    fn outcome() -> SeriesOutcome {
        SeriesOutcome {
            head: Head::example("series"),
            pace: SeriesPace::QUICK,
            seed: 42,
            parts: SeriesPart::ALL.to_vec(),
            engines: vec![SeriesEngine::Postgres, SeriesEngine::Embedded],
            durabilities: vec![Durability::Sync],
            assignment: Assignment::new(&[0, 1], 1).unwrap(),
            sync_cost: Some(Nanos::from_micros(405)),
            servers: Servers {
                postgres: Some("PostgreSQL 15.14".to_owned()),
                postgres_is_own: true,
                postgres_elsewhere: Some("/tmp".to_owned()),
                redis: None,
                questdb: None,
                questdb_is_own: false,
            },
            writes: vec![
                write(BASELINE, WriteForm::Published, 100.0),
                write(BASELINE, WriteForm::Saturated, 3_000.0),
                write(SeriesEngine::Postgres.usual(), WriteForm::Published, 100.0),
                write(SeriesEngine::Embedded.usual(), WriteForm::Published, 100.0),
                write(SeriesEngine::Embedded.usual(), WriteForm::Saturated, 20_000.0),
                write(SeriesEngine::Embedded.usual(), WriteForm::Batches, 400.0),
            ],
            restart: Some(Restart {
                acknowledged_rows: 500_000,
                found_rows: 500_003,
                data_bytes: 40_000_000,
                time: Nanos::from_millis(150),
            }),
            ingests: vec![
                ingest(SeriesEngine::Postgres, 140_000_000),
                ingest(SeriesEngine::Embedded, 1_400_000),
            ],
            reads: LOADS.map(|load| read(SeriesEngine::Embedded, ReadQuestion::LastTen, load)).to_vec(),
            not_measured: vec![
                NotMeasured { part: SeriesPart::Writes, setting: WITH_REDIS, reason: REASON.to_owned() },
                NotMeasured {
                    part: SeriesPart::Reads,
                    setting: SeriesEngine::Postgres.usual(),
                    reason: "it has gone".to_owned(),
                },
            ],
            stopped: false,
        }
    }

    #[test]
    fn tables_have_the_published_figures_beside_ours() {
        expect![[r##"
            # Time series over NGSI: how many notifications, how fast queries?

            Prony 0.1.0 (`prony serve`) on 1 processor, 2026-11-21T02:03:04Z; seed 42. Beside it PostgreSQL 15.14 of its own on the lab's processors, with 256 MB of shared buffers and its defaults for what is durable, its files in /tmp. Machine: 2 × Example 3000, Linux 6.1. One fdatasync takes 405 µs on the disk under the results.

            What differs from the study: the study's QuantumLeap is a Python server that asked its database for metadata and wrote each notification by itself; Prony always knows the metadata that it has written itself, so that its caches are about what other servers add, and it writes all notifications that come while a transaction is under way with one statement, on its own processors, with the database on the lab's.

            ## The study

            30 users, each of whom begins a notification of `Room:1` (temperature and pressure) every 300 ms, for 8 s. SELECT/s and INSERT/s are the most statements in a second that the database saw, by the study's count and by `pg_stat_statements`.

            | Engine, settings                                                 | Study: reqs/s |   Mean | SELECT/s | INSERT/s | Prony: reqs/s |   Mean |    p99 | SELECT/s | INSERT/s | Failed |
            | ---------------------------------------------------------------- | ------------: | -----: | -------: | -------: | ------------- | -----: | -----: | -------: | -------: | -----: |
            | PostgreSQL: metadata asked for each time, a connection each time |            44 | 600 ms |      111 |       54 | 100           | 2.0 ms | 4.1 ms |        5 |      100 |      1 |
            | PostgreSQL: metadata asked for each time, connections used again |            55 | 400 ms |      177 |       86 | not measured  |      - |      - |        - |        - |      - |
            | PostgreSQL: metadata in Redis, a connection each time            |            60 |      - |        - |        - | not measured  |      - |      - |        - |        - |      - |
            | PostgreSQL: metadata in memory, a connection each time           |            95 |      - |        - |        - | not measured  |      - |      - |        - |        - |      - |
            | PostgreSQL: metadata in Redis, connections used again            |           100 | 208 ms |        7 |      142 | not measured  |      - |      - |        - |        - |      - |
            | PostgreSQL: metadata in memory, connections used again           |             - |      - |        - |        - | 100           | 2.0 ms | 4.1 ms |        5 |      100 |      1 |
            | embedded: sync                                                   |             - |      - |        - |        - | 100           | 2.0 ms | 4.1 ms |        - |        - |      1 |

            Finding `offered-load-limited` in 3 of 3 rows: 100/s of the 100/s that 30 users with a wait of 300 ms can ask for. The script asks for 100 requests a second and no more, so neither these figures nor the study's best two (95 and 100) say what a server can take; the next table does.

            ## Notifications as fast as they are taken

            30 users of one entity, and 8 of 1 000 entities a notification, who notify again as soon as they have their response, for 4 s each.

            | Engine, settings                                                 | Notifications                 | Rows/s       | Reqs/s |    p50 |    p99 |   Max | SELECT/s | INSERT/s | Failed | Engine CPU a request | Engine memory |
            | ---------------------------------------------------------------- | ----------------------------- | ------------ | -----: | -----: | -----: | ----: | -------: | -------: | -----: | -------------------: | ------------: |
            | PostgreSQL: metadata asked for each time, a connection each time | the same without its pace     | 3 000        |  3 000 | 1.9 ms | 4.1 ms | 21 ms |        5 |      100 |      1 |              31.3 µs |         64 MB |
            | embedded: sync                                                   | the same without its pace     | 20 000       | 20 000 | 1.9 ms | 4.1 ms | 21 ms |        - |        - |      1 |              31.3 µs |         64 MB |
            | PostgreSQL: metadata in Redis, connections used again            | the same without its pace     | not measured |      - |      - |      - |     - |        - |        - |      - |                    - |             - |
            | embedded: sync                                                   | 1 000 entities a notification | 400 000      |    400 | 1.9 ms | 4.1 ms | 21 ms |        - |        - |      1 |              31.3 µs |         64 MB |

            Killed (SIGKILL) and started again, the embedded engine listened after 150 ms and had 500 003 rows of 500 000 that were acknowledged; 40 MB on the disk.

            ## The large table

            1 000 000 rows of 100 entities, one a minute, written by one connection in notifications of 1,000 rows, each durable before the next. Then they are put together (`prony series compact`, `VACUUM`); names and indexes are in the bytes.

            | Engine     |  Rows/s | Put together in | On the disk | Bytes a value |
            | ---------- | ------: | --------------: | ----------: | ------------: |
            | PostgreSQL | 250 000 |           0.9 s |      140 MB |         70.00 |
            | embedded   | 250 000 |           0.9 s |      1.4 MB |          0.70 |

            ## Queries

            By one user and by 8, who ask again as soon as they have their response, of random entities and days, for 2 s each; "beside writes" is one user while 500 notifications a second come. Each response was held against the rows before.

            | Query                          | Engine     | p50          |    p99 | Reqs/s, 8 users |    p99 | p50 beside writes |    p99 | Failed | Engine CPU a request |
            | ------------------------------ | ---------- | ------------ | -----: | --------------: | -----: | ----------------: | -----: | -----: | -------------------: |
            | last 10 of one entity          | PostgreSQL | not measured |      - |               - |      - |                 - |      - |      - |                    - |
            | last 10 of one entity          | embedded   | 1.9 ms       | 4.1 ms |             4.3 | 4.1 ms |            1.9 ms | 4.1 ms |      3 |              31.3 µs |
            | a day of one attribute         | PostgreSQL | not measured |      - |               - |      - |                 - |      - |      - |                    - |
            | hourly averages of one entity  | PostgreSQL | not measured |      - |               - |      - |                 - |      - |      - |                    - |
            | daily averages of all entities | PostgreSQL | not measured |      - |               - |      - |                 - |      - |      - |                    - |

            Other stores, one query at a time, of 10 million rows of 1,000 entities, on a machine with two processors, without HTTP (medians in milliseconds, ±25 %).

            | Query                          | PostgreSQL 15 | QuestDB 9.3 | InfluxDB 1.6 | DuckDB 2.0 |
            | ------------------------------ | ------------: | ----------: | -----------: | ---------: |
            | last 10 of one entity          |          0.10 |  0.4 to 1.7 |          1.2 |        3.8 |
            | a day of one attribute         |           3.9 |  1.2 to 2.6 |          4.0 |    9 to 16 |
            | hourly averages of one entity  |            31 |      2 to 7 |          5.4 |    6 to 45 |
            | daily averages of all entities |         8 000 |         144 |        1 970 |      1 150 |

            ## Limits of these figures

            * Not measured: PostgreSQL: metadata in Redis, connections used again. `redis-server` is not in PATH; install it.
            * Not measured: PostgreSQL: metadata in memory, connections used again. it has gone.
            * PostgreSQL's own processor time is in no column: it runs on the lab's processors, beside the load.
            * PostgreSQL does not run as root, and its user cannot reach the results' directory: its files were elsewhere, on what may be another disk than the embedded engine's.
        "##]].assert_eq(&outcome().render());
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let outcome = SeriesOutcome {
            writes: Vec::new(),
            restart: None,
            ingests: Vec::new(),
            reads: Vec::new(),
            not_measured: Vec::new(),
            stopped: true,
            ..outcome()
        };
        let text = outcome.render();
        assert!(!text.contains("## The study") && !text.contains("## Queries"), "{text}");
        assert!(text.ends_with("* The run was stopped; what is missing was not measured.\n"), "{text}");
        assert_eq!(outcome.conclusion(), Conclusion::Passed);
    }

    #[test]
    fn where_nothing_that_was_asked_for_is_there_nothing_is_shown() {
        let (writes, ingests, reads) = (Vec::new(), Vec::new(), Vec::new());
        let without = SeriesOutcome { writes, ingests, reads, ..outcome() };
        assert!(!without.not_measured.is_empty());
        assert_eq!((without.conclusion(), outcome().conclusion()), (Conclusion::Void, Conclusion::Passed));
    }

    #[test]
    fn the_page_has_the_same_tables_and_the_runs_of_the_script() {
        let outcome = outcome();
        let (study, files) = outcome.page().unwrap();
        let titles: Vec<&str> = study.tables.iter().map(|table| &*table.title).collect();
        assert_eq!(
            titles,
            [
                "The study's script",
                "Notifications as fast as they are taken",
                "The large table",
                "Queries of the large table",
                "Other stores"
            ]
        );
        let text = outcome.render();
        for table in &study.tables {
            assert!(table.rows.iter().flatten().all(|cell| text.contains(cell)), "{}", table.title);
        }
        assert_eq!((files.len(), study.bars[0].groups.len()), (3, 3));
        assert!(
            study.bars[0].note.ends_with("published means: 600 ms with postgres-none"),
            "{:?}",
            study.bars[0].note
        );
    }

    #[test]
    fn the_study_s_figures_stand_also_where_nothing_is_measured_beside_them() {
        let outcome =
            SeriesOutcome { engines: vec![SeriesEngine::Embedded], writes: Vec::new(), ..outcome() };
        let text = outcome.render();
        assert_eq!(text.matches("| not measured").count(), 5 + 1, "{text}");
        assert!(text.contains("Not measured: PostgreSQL: metadata in Redis, connections used again. `redis-server` is not in PATH; install it."));
    }
}
