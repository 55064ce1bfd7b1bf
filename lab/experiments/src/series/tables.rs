//! What the page and the text of the experiment have in common: the tables, on what they were measured, and their limits.

use super::{
    engines::{EngineSetting, SeriesEngine},
    ingest::Ingest,
    outcome::{NotMeasured, SeriesOutcome},
    places::Servers,
    published,
    reads::{LOADS, ReadStep},
    study::{READERS, ReadQuestion, SeriesPart, WriteForm},
    writes::WriteStep,
};
use crate::{
    display::count_of_processors,
    markdown::{Table, megabytes, milliseconds, thousands},
};

const NONE: &str = "-";
/// In place of the first figure of a row.
const NOT_MEASURED: &str = "not measured";

/// On what it was measured.
pub(super) fn setting(outcome: &SeriesOutcome) -> String {
    let cost = outcome.sync_cost.map_or(String::new(), |cost| {
        format!(" One fdatasync takes {:.0} µs on the disk under the results.", cost.as_secs_f64() * 1e6)
    });
    let servers = &outcome.servers;
    let postgres = servers.postgres.as_ref().map(|version| {
        let own = if servers.postgres_is_own {
            " of its own on the lab's processors, with 256 MB of shared buffers and its defaults for what is durable"
        } else {
            " at the address that was given"
        };
        let elsewhere = servers.postgres_elsewhere.as_ref();
        let elsewhere = elsewhere.map_or(String::new(), |directory| format!(", its files in {directory}"));
        let redis = servers.redis.as_ref().map_or(String::new(), |version| format!(", {version}"));
        format!(" Beside it {version}{own}{elsewhere}{redis}.")
    });
    let questdb = servers.questdb.as_ref().map(|version| {
        let own = if servers.questdb_is_own { " of its own" } else { " at the address that was given" };
        format!(" Beside it {version}{own}, with its defaults.")
    });
    format!(
        "Prony {} (`prony serve`) on {}, {}; seed {}.{}{} Machine: {}.{cost}",
        outcome.head.prony_version,
        count_of_processors(outcome.assignment.server.len()),
        outcome.head.started_at,
        outcome.seed,
        postgres.unwrap_or_default(),
        questdb.unwrap_or_default(),
        outcome.head.machine_text(),
    )
}

pub(super) fn time(ms: Option<f64>) -> String {
    ms.map_or(NONE.to_owned(), milliseconds)
}

pub(super) fn per_second(rate: f64) -> String {
    thousands(rate.round() as u64)
}

fn count(number: Option<f64>) -> String {
    number.map_or(NONE.to_owned(), per_second)
}

// ---- the study

/// Each setting of the study with its figures and ours, then those that it had not.
pub(super) fn study_table(outcome: &SeriesOutcome) -> Table {
    let mut table = Table::new(&[
        "Engine, settings",
        "Study: reqs/s",
        "Mean",
        "SELECT/s",
        "INSERT/s",
        "Prony: reqs/s",
        "Mean",
        "p99",
        "SELECT/s",
        "INSERT/s",
        "Failed",
    ]);
    let steps = || published_steps(outcome);
    let measured = |setting| steps().find(|step| step.setting == setting);
    // The study's own figures stand there also where nothing is measured beside them.
    let has_postgres = outcome.engines.contains(&SeriesEngine::Postgres);
    let study = EngineSetting::of_study().filter(|setting| has_postgres || setting.published().is_some());
    let others = steps().map(|step| step.setting);
    for setting in study.chain(others.filter(|setting| setting.engine() != SeriesEngine::Postgres)) {
        let row = setting.published();
        let statements = row.and_then(|row| row.statements);
        let published = [
            row.map_or(NONE.to_owned(), |row| thousands(row.per_second.into())),
            time(row.and_then(|row| row.mean_ms).map(f64::from)),
            statements.map_or(NONE.to_owned(), |(select, _)| thousands(select.into())),
            statements.map_or(NONE.to_owned(), |(_, insert)| thousands(insert.into())),
        ];
        let ours = match measured(setting) {
            Some(step) => [
                per_second(step.statistics.requests_per_second),
                time(step.statistics.mean_ms),
                time(step.statistics.p99_ms),
                count(step.statements.map(|seen| seen.select_max)),
                count(step.statements.map(|seen| seen.insert_max)),
                thousands(step.statistics.ko),
            ],
            None => [NOT_MEASURED, NONE, NONE, NONE, NONE, NONE].map(str::to_owned),
        };
        table.push([vec![setting.label()], published.to_vec(), ours.to_vec()].concat());
    }
    table
}

pub(super) fn published_steps(outcome: &SeriesOutcome) -> impl Iterator<Item = &WriteStep> {
    outcome.writes.iter().filter(|step| step.form == WriteForm::Published)
}

/// Whether there were notifications to measure.
pub(super) fn has_writes(outcome: &SeriesOutcome) -> bool {
    !outcome.writes.is_empty() || outcome.not_measured.iter().any(|row| row.part == SeriesPart::Writes)
}

/// What the finding of the study's script says of the figures, where it was found.
pub(super) fn limited_text(outcome: &SeriesOutcome) -> Option<String> {
    let limited = || published_steps(outcome).filter(|step| step.offered_load_limited.is_some());
    let first = limited().next()?.offered_load_limited.as_ref()?;
    let (of, all) = (limited().count(), published_steps(outcome).count());
    Some(format!(
        "Finding `offered-load-limited` in {of} of {all} rows: {first}. The script asks for 100 requests a second and no more, so neither \
         these figures nor the study's best two (95 and 100) say what a server can take; the next table does."
    ))
}

// ---- faster notifications

pub(super) fn writes_table(outcome: &SeriesOutcome) -> Table {
    let header = [
        "Engine, settings",
        "Notifications",
        "Rows/s",
        "Reqs/s",
        "p50",
        "p99",
        "Max",
        "SELECT/s",
        "INSERT/s",
        "Failed",
        "Engine CPU a request",
        "Engine memory",
    ];
    let mut table = Table::new(&header);
    for form in [WriteForm::Saturated, WriteForm::Batches] {
        for step in outcome.writes.iter().filter(|step| step.form == form) {
            let statistics = &step.statistics;
            table.push(vec![
                step.setting.label(),
                step.form.label().to_owned(),
                per_second(step.rows_per_second),
                per_second(statistics.requests_per_second),
                time(statistics.p50_ms),
                time(statistics.p99_ms),
                time(statistics.max_ms),
                count(step.statements.map(|seen| seen.select_max)),
                count(step.statements.map(|seen| seen.insert_max)),
                thousands(statistics.ko),
                step.used.us_per_request.map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
                step.used.resident_bytes.map_or(NONE.to_owned(), megabytes),
            ]);
        }
        let missing = outcome.not_measured.iter().filter(|row| row.part == SeriesPart::Writes);
        for NotMeasured { setting, .. } in missing.filter(|_| form == WriteForm::Saturated) {
            let figures = [NOT_MEASURED].into_iter().chain(std::iter::repeat_n(NONE, 9)).map(str::to_owned);
            let row = [setting.label(), form.label().to_owned()].into_iter().chain(figures);
            table.push(row.collect());
        }
    }
    table
}

// ---- the large table

pub(super) fn ingest_table(ingests: &[Ingest]) -> Table {
    let header = ["Engine", "Rows/s", "Put together in", "On the disk", "Bytes a value"];
    let mut table = Table::new(&header);
    for ingest in ingests {
        table.push(vec![
            ingest.setting.engine().label().to_owned(),
            per_second(ingest.rows_per_second()),
            format!("{:.1} s", ingest.compact_time.as_secs_f64()),
            megabytes(ingest.compact_bytes),
            format!("{:.2}", ingest.bytes_a_value()),
        ]);
    }
    table
}

/// Engines of the same query stand together.
pub(super) fn reads_table(outcome: &SeriesOutcome) -> Table {
    let many = format!("Reqs/s, {READERS} users");
    let header = [
        "Query",
        "Engine",
        "p50",
        "p99",
        &many,
        "p99",
        "p50 beside writes",
        "p99",
        "Failed",
        "Engine CPU a request",
    ];
    let mut table = Table::new(&header);
    for question in ReadQuestion::ALL {
        for engine in &outcome.engines {
            let label = [question.label(), engine.label()].map(str::to_owned);
            let is_missing =
                |row: &&NotMeasured| row.part == SeriesPart::Reads && row.setting.engine() == *engine;
            if let Some(figures) = reads_figures(&outcome.reads, question, *engine) {
                table.push([label.to_vec(), figures.to_vec()].concat());
            } else if outcome.not_measured.iter().any(|row| is_missing(&row)) {
                let figures =
                    [NOT_MEASURED].into_iter().chain(std::iter::repeat_n(NONE, 7)).map(str::to_owned);
                table.push(label.into_iter().chain(figures).collect());
            }
        }
    }
    table
}

fn reads_figures(steps: &[ReadStep], question: ReadQuestion, engine: SeriesEngine) -> Option<[String; 8]> {
    let of = |(users, beside_writes)| {
        steps.iter().find(|step| {
            step.setting.engine() == engine
                && (step.question, step.users, step.beside_writes) == (question, users, beside_writes)
        })
    };
    let [alone, many, beside] = LOADS.map(of);
    alone.or(many).or(beside)?;
    let cell = |step: Option<&ReadStep>, get: fn(&ReadStep) -> Option<f64>| time(step.and_then(get));
    let failed: u64 = [alone, many, beside].iter().flatten().map(|step| step.statistics.ko).sum();
    Some([
        cell(alone, |step| step.statistics.p50_ms),
        cell(alone, |step| step.statistics.p99_ms),
        many.map_or(NONE.to_owned(), |step| rate(step.statistics.requests_per_second)),
        cell(many, |step| step.statistics.p99_ms),
        cell(beside, |step| step.statistics.p50_ms),
        cell(beside, |step| step.statistics.p99_ms),
        thousands(failed),
        many.and_then(|step| step.used.us_per_request).map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
    ])
}

/// A query of all entities may take seconds.
fn rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.1}") } else { self::per_second(per_second) }
}

pub(super) fn others_table() -> Table {
    let mut table = Table::new(&["Query", "PostgreSQL 15", "QuestDB 9.3", "InfluxDB 1.6", "DuckDB 2.0"]);
    for question in ReadQuestion::ALL {
        let of = published::read(question);
        let cells = [of.postgres, of.questdb, of.influxdb, of.duckdb].map(str::to_owned);
        table.push([vec![question.label().to_owned()], cells.to_vec()].concat());
    }
    table
}

// ---- notes

pub(super) fn notes(outcome: &SeriesOutcome) -> Vec<String> {
    let mut notes: Vec<String> = outcome.assignment.note().into_iter().collect();
    notes.extend(missing(&outcome.not_measured));
    let writes = outcome.writes.iter().filter(|step| step.form != WriteForm::Published);
    let limits = writes.map(|step| &step.used).chain(outcome.reads.iter().map(|step| &step.used));
    let limits: Vec<&String> = limits.filter_map(|used| used.outside_limit.as_ref()).collect();
    if let Some(first) = limits.first() {
        notes.push(format!(
            "In {} of the runs the engine was not the only limit, so their rates are lower bounds; the first of them: {first}.",
            limits.len()
        ));
    }
    if let Some(why) = outcome.writes.iter().find_map(|step| step.without_statements.as_ref()) {
        notes.push(format!("Statements at the database are not known of all rows: {why}."));
    }
    let Servers { postgres, questdb, .. } = &outcome.servers;
    for product in
        [postgres.as_ref().map(|_| "PostgreSQL"), questdb.as_ref().map(|_| "QuestDB")].into_iter().flatten()
    {
        notes.push(format!(
            "{product}'s own processor time is in no column: it runs on the lab's processors, beside the load."
        ));
    }
    if outcome.servers.postgres_elsewhere.is_some() {
        notes.push(
            "PostgreSQL does not run as root, and its user cannot reach the results' directory: its files were elsewhere, on what may be another \
             disk than the embedded engine's."
                .to_owned(),
        );
    }
    if outcome.stopped {
        notes.push("The run was stopped; what is missing was not measured.".to_owned());
    }
    notes
}

/// Rows with the same reason together.
fn missing(rows: &[NotMeasured]) -> Vec<String> {
    let mut reasons: Vec<&str> = rows.iter().map(|row| &*row.reason).collect();
    reasons.dedup();
    let of = |reason: &str| {
        let mut rows: Vec<String> =
            rows.iter().filter(|row| row.reason == reason).map(|row| row.setting.label()).collect();
        rows.dedup();
        rows.join("; ")
    };
    reasons.into_iter().map(|reason| format!("Not measured: {}. {reason}.", of(reason))).collect()
}
