//! The tables: Gatling's columns for each step and durability, the published rate beneath; rates and latencies of reads.

use prony_model::Conclusion;
use prony_model::search::SearchAnswer;

use super::{
    outcome::GraphOutcome,
    published::{self, CLOSED_PER_S, CONDITIONS, FAILED_PER_S, HELD_MAX_MS, HELD_PER_S, STUDY},
    rates::{RateStep, Rates, Spectrum, Sustained},
    steps::StepRow,
    study::{CONNECTIONS, GraphPace, GraphStep, OBJECTIVES},
};
use crate::{
    display::count_of_processors,
    frame::{self, Head},
    markdown::{Table, document, megabytes, milliseconds, seconds, thousands},
    processors::Assignment,
    statistics::Statistics,
};

const NONE: &str = "-";
/// Behind the step and what it is of.
const COLUMNS: [&str; 12] =
    ["Requests", "OK", "KO", "Reqs/s", "Min", "p50", "p75", "p95", "p99", "Max", "Mean", "Deviation"];

impl frame::Outcome for GraphOutcome {
    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn render(&self) -> String {
        render(self)
    }

    fn conclusion(&self) -> Conclusion {
        let all =
            self.steps.iter().map(|row| row.statistics).chain(self.rates.iter().map(|rates| rates.closed));
        let (requests, ok) = all.fold((0, 0), |(requests, ok), one| (requests + one.requests, ok + one.ok));
        frame::conclusion_of(requests, ok)
    }
}

/// The whole result as Markdown.
fn render(outcome: &GraphOutcome) -> String {
    let mut parts = vec![
        "# A property graph over HTTP: how many requests a second?".to_owned(),
        setting(outcome),
        method(outcome),
        format!("What differs from the study: {}.", differences()),
    ];
    for assignment in &outcome.assignments {
        let processors = assignment.server.len();
        let rows: Vec<&StepRow> = outcome.steps.iter().filter(|row| row.processors == processors).collect();
        parts.push(format!("## The four steps, {}", count_of_processors(processors)));
        parts.push(steps_table(&rows).render());
        parts.push(format!("What it took, {}:", count_of_processors(processors)));
        parts.push(usage_table(&rows).render());
    }
    parts.extend(outcome.rates.iter().flat_map(rates_parts));
    document(parts, &notes(outcome))
}

fn setting(outcome: &GraphOutcome) -> String {
    let cost = outcome.sync_cost.map_or(String::new(), |cost| {
        format!(" One `fdatasync` of 4 kB on the disk of the data takes {cost} (median).")
    });
    format!(
        "Prony {} serving an empty graph, {}; seed {}. Machine: {}.{cost}",
        outcome.head.prony_version,
        outcome.head.started_at,
        outcome.seed,
        outcome.head.machine_text(),
    )
}

fn method(outcome: &GraphOutcome) -> String {
    let pace = &outcome.pace;
    let short = if *pace == GraphPace::FULL { "" } else { "; the study took 60 s a step, as `--full` does" };
    format!(
        "{CONNECTIONS} connections (the study's 32 users with six each) ask without a pause and without bodies: create nodes \
         with keys 0, 1, 2, … (at most {} and {}), get nodes, create relationships of nine types between nodes, get all \
         relationships of nodes ({} each{short}). Nodes are drawn evenly from those that were created. Every status is \
         checked (OK is 201 or 200), and after each step the engine's own counts of nodes and relationships were those that \
         it had acknowledged. Times are of what is OK.",
        thousands(pace.nodes.into()),
        seconds(pace.create),
        seconds(pace.step),
    )
}

fn differences() -> String {
    format!(
        "{CONDITIONS}; here engine and load share one machine, each with its own processors, and each durability is shown: \
         `sync` acknowledges a write when it is on the disk, `interval` when the system has it, `off` at once"
    )
}

fn steps_table(rows: &[&StepRow]) -> Table {
    let mut table = Table::new(&[&["Step", ""], COLUMNS.as_slice()].concat());
    for step in GraphStep::ALL {
        let mut label = step.label();
        for row in rows.iter().filter(|row| row.step == step) {
            let of = format!("Prony, {}", row.durability);
            table.push(own_row(std::mem::take(&mut label), &of, &row.statistics));
        }
        if !label.is_empty() {
            continue;
        }
        let published = format!("{STUDY}, 4 cores");
        let mut cells = vec![String::new(), published];
        cells.resize(COLUMNS.len() + 2, NONE.to_owned());
        cells[2 + COLUMNS.iter().position(|name| *name == "Reqs/s").unwrap_or(0)] =
            thousands(published::per_s(step).into());
        table.push(cells);
    }
    table
}

fn own_row(label: &str, of: &str, statistics: &Statistics) -> Vec<String> {
    let Statistics { min_ms, p50_ms, p75_ms, p95_ms, p99_ms, max_ms, mean_ms, deviation_ms, .. } =
        *statistics;
    let counts = [statistics.requests, statistics.ok, statistics.ko];
    let rate = statistics.requests_per_second.round() as u64;
    let times = [min_ms, p50_ms, p75_ms, p95_ms, p99_ms, max_ms, mean_ms, deviation_ms];
    let mut cells = vec![label.to_owned(), of.to_owned()];
    cells.extend(counts.map(thousands));
    cells.push(thousands(rate));
    cells.extend(times.map(time));
    cells
}

fn time(ms: Option<f64>) -> String {
    ms.map_or(NONE.to_owned(), milliseconds)
}

fn usage_table(rows: &[&StepRow]) -> Table {
    let header = [
        "Step",
        "",
        "Engine CPU a request",
        "Engine processors",
        "Others",
        "Engine memory",
        "Data",
        "Lab busy",
    ];
    let mut table = Table::new(&header);
    for step in GraphStep::ALL {
        let mut label = step.label();
        for row in rows.iter().filter(|row| row.step == step) {
            table.push(vec![
                std::mem::take(&mut label).to_owned(),
                row.durability.to_string(),
                row.used.us_per_request.map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
                row.used.processors.map_or(NONE.to_owned(), |share| format!("{share:.2}")),
                row.used.others.map_or(NONE.to_owned(), |share| format!("{share:.2}")),
                row.used.resident_bytes.map_or(NONE.to_owned(), megabytes),
                megabytes(row.data_bytes),
                format!("{:.0} %", row.used.lab_busy_share * 100.0),
            ]);
        }
    }
    table
}

fn rates_parts(rates: &Rates) -> Vec<String> {
    let heading = format!("## Reads of random nodes, {}", count_of_processors(rates.processors));
    let method = format!(
        "Durability {} (reads touch neither log nor disk). A rate holds where `{OBJECTIVES}`; times count from when a \
         request was due. The search is that of `prony find`.",
        rates.durability
    );
    let mut parts = vec![heading, method, summary_table(rates).render()];
    if !rates.steps.is_empty() {
        parts.push("The search:".to_owned());
        parts.push(search_table(&rates.steps).render());
    }
    if let Some(sustained) = &rates.sustained {
        parts.push(format!(
            "### Latency at {}/s for {}",
            thousands(sustained.asked_per_second.into()),
            seconds(sustained.length)
        ));
        parts.push(latency_table(sustained, rates.collapses()).render());
    }
    parts
}

fn summary_table(rates: &Rates) -> Table {
    let mut table = Table::new(&["", "Prony/s", &format!("{STUDY}/s")]);
    let mut push = |label: &str, ours: String, theirs: String| {
        table.push(vec![label.to_owned(), ours, theirs]);
    };
    push(
        "Closed loop (theirs by wrk)",
        thousands(rates.closed.requests_per_second.round() as u64),
        thousands(CLOSED_PER_S.into()),
    );
    let prefix = match rates.answer {
        Some(SearchAnswer::AtLeast { .. } | SearchAnswer::LabLimited { .. }) => "≥ ",
        _ => "",
    };
    let holds = rates.holds().map_or(NONE.to_owned(), |rate| format!("{prefix}{}", thousands(rate.into())));
    push("Highest rate that holds", holds, thousands(HELD_PER_S.into()));
    let slowest = rates.sustained.as_ref().and_then(|sustained| sustained.latency.at(100.0));
    push("… its slowest answer", time(slowest), format!("{HELD_MAX_MS} ms"));
    let collapses = rates.collapses().map(|step| thousands(step.asked_per_second.into()));
    push(
        "Lowest rate that does not",
        collapses.unwrap_or_else(|| NONE.to_owned()),
        thousands(FAILED_PER_S.into()),
    );
    table
}

fn search_table(steps: &[RateStep]) -> Table {
    let mut table = Table::new(&["Asked/s", "Reached", "p50", "p99", "p99.9", "Max", "Verdict"]);
    for step in steps {
        let reached = step.latency.reached_share;
        let verdict = match step.verdict {
            None => "stopped".to_owned(),
            Some(_) if step.reason.is_empty() => "holds".to_owned(),
            Some(_) => step.reason.clone(),
        };
        let at = |percentile| time(step.latency.at(percentile));
        table.push(vec![
            thousands(step.asked_per_second.into()),
            reached.map_or(NONE.to_owned(), percent),
            at(50.0),
            at(99.0),
            at(99.9),
            at(100.0),
            verdict,
        ]);
    }
    table
}

/// Rounded down: what is under a limit must not be shown as the limit.
fn percent(share: f64) -> String {
    format!("{:.1} %", (share * 1_000.0).floor() / 10.0)
}

fn latency_table(sustained: &Sustained, collapse: Option<&RateStep>) -> Table {
    let rate = |asked: u32| format!("at {}/s", thousands(asked.into()));
    let mut header = vec!["Percentile".to_owned(), rate(sustained.asked_per_second)];
    header.extend(collapse.map(|step| format!("{} (does not hold)", rate(step.asked_per_second))));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    for (percentile, ms) in &sustained.latency.percentiles_ms {
        let beside = |spectrum: &Spectrum| time(spectrum.at(*percentile));
        let mut row = vec![format!("{percentile} %"), time(*ms)];
        row.extend(collapse.map(|step| beside(&step.latency)));
        table.push(row);
    }
    table
}

/// What a reader must know before believing the figures.
fn notes(outcome: &GraphOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.stopped {
        notes.push("The run was stopped: what is missing was not measured.".to_owned());
    }
    notes.extend(outcome.assignments.iter().filter_map(Assignment::note));
    notes.extend(steps_note(&outcome.steps));
    notes.extend(outcome.rates.iter().flat_map(rates_notes));
    notes
}

/// One for all steps whose figures are not the engine's alone.
fn steps_note(rows: &[StepRow]) -> Option<String> {
    let limited: Vec<(&StepRow, &String)> =
        rows.iter().filter_map(|row| Some((row, row.used.outside_limit.as_ref()?))).collect();
    let (first, limit) = limited.first()?;
    let (count, all) = (limited.len(), rows.len());
    Some(format!(
        "{count} of the {all} steps show lower bounds, because the engine was not the only limit, beginning with \"{}\", \
         {} ({limit}); \"Others\" above is what other processes took of the engine's processors.",
        first.step.label(),
        first.durability
    ))
}

fn rates_notes(rates: &Rates) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(limit) = &rates.outside_limit {
        notes.push(format!(
            "Reads in a closed loop: a lower bound, because the engine was not the only limit ({limit})."
        ));
    }
    if let Some(SearchAnswer::LabLimited { lab_limited, .. }) = rates.answer {
        notes.push(format!(
            "At {}/s the lab itself was the limit: which rate the engine fails at is not known.",
            thousands(lab_limited.into())
        ));
    }
    if let Some(sustained) = &rates.sustained
        && let Some(limit) = &sustained.outside_limit
    {
        notes.push(format!(
            "Whether {}/s hold for {} cannot be judged ({limit}).",
            thousands(sustained.asked_per_second.into()),
            seconds(sustained.length)
        ));
    }
    let failed = |sustained: &&Sustained| !sustained.is_kept && sustained.outside_limit.is_none();
    if let Some(sustained) = rates.sustained.as_ref().filter(failed) {
        notes.push(format!(
            "{}/s held in the search and not for {}: the rate that holds for long is lower.",
            thousands(sustained.asked_per_second.into()),
            seconds(sustained.length)
        ));
    }
    if let Some(sustained) = rates.sustained.as_ref().filter(|sustained| sustained.ko > 0) {
        notes.push(format!("{} requests failed at the sustained rate.", thousands(sustained.ko)));
    }
    notes
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prony_model::{Nanos, search::StepVerdict};

    use super::*;
    use crate::{durability::Durability, frame::Head, runs::Used};

    fn statistics(per_second: f64) -> Statistics {
        Statistics {
            requests: 300_001,
            ok: 300_000,
            ko: 1,
            requests_per_second: per_second,
            min_ms: Some(0.11),
            p50_ms: Some(1.9),
            p75_ms: Some(2.2),
            p95_ms: Some(3.0),
            p99_ms: Some(4.1),
            max_ms: Some(21.0),
            mean_ms: Some(2.0),
            deviation_ms: Some(0.4),
        }
    }

    fn row(step: GraphStep, durability: Durability) -> StepRow {
        StepRow {
            processors: 1,
            durability,
            step,
            statistics: statistics(75_000.4),
            used: Used {
                us_per_request: Some(12.34),
                resident_bytes: Some(123_000_000),
                processors: Some(0.98),
                others: Some(0.01),
                lab_busy_share: 0.61,
                outside_limit: (step == GraphStep::GetNodes).then(|| "the lab was busy".to_owned()),
            },
            data_bytes: 45_000_000,
            file: "x".into(),
        }
    }

    fn spectrum(factor: f64) -> Spectrum {
        let percentiles_ms = vec![
            (50.0, Some(0.2 * factor)),
            (99.0, Some(factor)),
            (99.99, None),
            (100.0, Some(9.0 * factor)),
        ];
        Spectrum { reached_share: Some(0.9999), percentiles_ms }
    }

    fn outcome() -> GraphOutcome {
        let step = |asked_per_second, reason: &str, factor| RateStep {
            asked_per_second,
            verdict: Some(if reason.is_empty() { StepVerdict::Passed } else { StepVerdict::Failed }),
            runs: 1,
            reason: reason.to_owned(),
            latency: spectrum(factor),
        };
        let rates = Rates {
            processors: 1,
            durability: Durability::Sync,
            closed: statistics(101_000.0),
            closed_engine_us: Some(9.9),
            outside_limit: None,
            answer: Some(SearchAnswer::Between { passed: 95_000, failed: 99_000 }),
            steps: vec![step(95_000, "", 1.0), step(99_000, "p99.9 is 320 ms", 100.0)],
            sustained: Some(Sustained {
                asked_per_second: 95_000,
                length: Nanos::from_secs(10),
                ok: 950_000,
                ko: 0,
                is_kept: false,
                outside_limit: None,
                latency: spectrum(1.5),
                file: "y".into(),
            }),
        };
        let both = |step| [row(step, Durability::Sync), row(step, Durability::Off)];
        GraphOutcome {
            head: Head::example("graph"),
            pace: GraphPace::QUICK,
            seed: 42,
            durabilities: vec![Durability::Sync, Durability::Off],
            assignments: vec![Assignment { server: vec![0], lab: vec![1], shared: false }],
            sync_cost: Some(Nanos::from_micros(812)),
            steps: [both(GraphStep::CreateNodes), both(GraphStep::GetNodes)].concat(),
            rates: vec![rates],
            stopped: false,
        }
    }

    #[test]
    fn the_tables_stand_beside_the_published_ones() {
        expect![[r##"
            # A property graph over HTTP: how many requests a second?

            Prony 0.1.0 serving an empty graph, 2026-11-21T02:03:04Z; seed 42. Machine: 2 × Example 3000, Linux 6.1. One `fdatasync` of 4 kB on the disk of the data takes 812 µs (median).

            192 connections (the study's 32 users with six each) ask without a pause and without bodies: create nodes with keys 0, 1, 2, … (at most 1 000 000 and 5 s), get nodes, create relationships of nine types between nodes, get all relationships of nodes (4 s each; the study took 60 s a step, as `--full` does). Nodes are drawn evenly from those that were created. Every status is checked (OK is 201 or 200), and after each step the engine's own counts of nodes and relationships were those that it had acknowledged. Times are of what is OK.

            What differs from the study: RageDB ran on 4 cores (AWS R5.2xlarge without hyper-threading) and kept its graph in memory only, so that its writes waited for no disk; Gatling, wrk and wrk2 drove it from a second machine (C5.2xlarge) in the same zone, with up to 3 000 000 nodes and 60 s a step; here engine and load share one machine, each with its own processors, and each durability is shown: `sync` acknowledges a write when it is on the disk, `interval` when the system has it, `off` at once.

            ## The four steps, 1 processor

            | Step         |                 | Requests |      OK |  KO |  Reqs/s |     Min |    p50 |    p75 |    p95 |    p99 |   Max |   Mean | Deviation |
            | ------------ | --------------- | -------: | ------: | --: | ------: | ------: | -----: | -----: | -----: | -----: | ----: | -----: | --------: |
            | Create nodes | Prony, sync     |  300 001 | 300 000 |   1 |  75 000 | 0.11 ms | 1.9 ms | 2.2 ms | 3.0 ms | 4.1 ms | 21 ms | 2.0 ms |   0.40 ms |
            |              | Prony, off      |  300 001 | 300 000 |   1 |  75 000 | 0.11 ms | 1.9 ms | 2.2 ms | 3.0 ms | 4.1 ms | 21 ms | 2.0 ms |   0.40 ms |
            |              | RageDB, 4 cores |        - |       - |   - | 103 844 |       - |      - |      - |      - |      - |     - |      - |         - |
            | Get nodes    | Prony, sync     |  300 001 | 300 000 |   1 |  75 000 | 0.11 ms | 1.9 ms | 2.2 ms | 3.0 ms | 4.1 ms | 21 ms | 2.0 ms |   0.40 ms |
            |              | Prony, off      |  300 001 | 300 000 |   1 |  75 000 | 0.11 ms | 1.9 ms | 2.2 ms | 3.0 ms | 4.1 ms | 21 ms | 2.0 ms |   0.40 ms |
            |              | RageDB, 4 cores |        - |       - |   - | 103 108 |       - |      - |      - |      - |      - |     - |      - |         - |

            What it took, 1 processor:

            | Step         |      | Engine CPU a request | Engine processors | Others | Engine memory |  Data | Lab busy |
            | ------------ | ---- | -------------------: | ----------------: | -----: | ------------: | ----: | -------: |
            | Create nodes | sync |              12.3 µs |              0.98 |   0.01 |        123 MB | 45 MB |     61 % |
            |              | off  |              12.3 µs |              0.98 |   0.01 |        123 MB | 45 MB |     61 % |
            | Get nodes    | sync |              12.3 µs |              0.98 |   0.01 |        123 MB | 45 MB |     61 % |
            |              | off  |              12.3 µs |              0.98 |   0.01 |        123 MB | 45 MB |     61 % |

            ## Reads of random nodes, 1 processor

            Durability sync (reads touch neither log nor disk). A rate holds where `p99.9<11ms,errors<0.1%,rate>=99%`; times count from when a request was due. The search is that of `prony find`.

            |                             | Prony/s | RageDB/s |
            | --------------------------- | ------: | -------: |
            | Closed loop (theirs by wrk) | 101 000 |  188 931 |
            | Highest rate that holds     |  95 000 |  190 000 |
            | … its slowest answer        |   14 ms |    11 ms |
            | Lowest rate that does not   |  99 000 |  195 000 |

            The search:

            | Asked/s | Reached |     p50 |    p99 | p99.9 |    Max | Verdict         |
            | ------- | ------: | ------: | -----: | ----: | -----: | --------------- |
            | 95 000  |  99.9 % | 0.20 ms | 1.0 ms |     - | 9.0 ms | holds           |
            | 99 000  |  99.9 % |   20 ms | 100 ms |     - | 900 ms | p99.9 is 320 ms |

            ### Latency at 95 000/s for 10 s

            | Percentile | at 95 000/s | at 99 000/s (does not hold) |
            | ---------- | ----------: | --------------------------: |
            | 50 %       |     0.30 ms |                       20 ms |
            | 99 %       |      1.5 ms |                      100 ms |
            | 99.99 %    |           - |                           - |
            | 100 %      |       14 ms |                      900 ms |

            ## Limits of these figures

            * 2 of the 4 steps show lower bounds, because the engine was not the only limit, beginning with "Get nodes", sync (the lab was busy); "Others" above is what other processes took of the engine's processors.
            * 95 000/s held in the search and not for 10 s: the rate that holds for long is lower.
        "##]].assert_eq(&render(&outcome()));
    }

    #[test]
    fn what_is_not_known_is_not_shown() {
        let mut outcome = outcome();
        outcome.stopped = true;
        outcome.rates[0].answer =
            Some(SearchAnswer::LabLimited { passed: Some(95_000), lab_limited: 99_000 });
        assert!(notes(&outcome)[0].starts_with("The run was stopped"));
        let table = summary_table(&outcome.rates[0]).render();
        assert!(table.contains("≥ 95 000") && !table.contains("99 000"), "{table}");
        assert!(
            notes(&outcome).iter().any(|note| note.starts_with("At 99 000/s the lab itself was the limit"))
        );
    }
}
