//! The five tables, each beside what the study published, with who was the limit and what differs.

use prony_load_model::Nanos;

use super::{
    control::{ControlRun, compare},
    memory::{GROWTH_MAX, Profile, ProfileKind},
    micro::MicroRow,
    outcome::Outcome,
    published::{
        CONDITIONS, CPU_DIFFERENCE, GRAPHQL_PER_S, MAX_PER_S, MICRO_MEDIAN_US, REST_PER_S, STUDY,
        THROUGHPUT_DIFFERENCE,
    },
    study::{Manner, Pace, USERS_EACH, USERS_PER_S, thinking_cap_per_s},
    throughput::{Busy, End, Peak, Second, Throughput},
};
use crate::{
    display::count_of_processors,
    markdown::{Table, document, milliseconds, seconds, thousands},
};

const NONE: &str = "-";
/// Rows of the course of the search for the maximum.
const COURSE_ROWS: usize = 10;
const LIMIT_IN_CONTROL: Manner = Manner::Saturated;

/// The whole result as Markdown.
pub(super) fn render(outcome: &Outcome) -> String {
    let mut parts = vec![
        "# GraphQL by functions in process: what does it cost, and what does it carry?".to_owned(),
        setting(outcome),
        format!("What differs from the study: {CONDITIONS}."),
    ];
    if !outcome.micro.is_empty() {
        parts.extend(micro_parts(&outcome.micro));
    }
    if !outcome.control.is_empty() {
        parts.extend(control_parts(&outcome.control, &outcome.pace));
    }
    if let Some(throughput) = &outcome.throughput {
        parts.extend(throughput_parts(throughput, outcome));
    }
    if !outcome.memory.is_empty() {
        parts.extend(memory_parts(&outcome.memory, &outcome.pace));
    }
    document(parts, &notes(outcome))
}

fn setting(outcome: &Outcome) -> String {
    format!(
        "Prony {} serving its examples donuts and music on {}, {}; seed {}. Machine: {}.",
        outcome.head.prony_version,
        count_of_processors(outcome.assignment.server.len()),
        outcome.head.started_at,
        outcome.seed,
        outcome.head.machine_text(),
    )
}

fn micro_parts(rows: &[MicroRow]) -> Vec<String> {
    let (warm, cold) = rows.first().map_or((0, 0), |row| (row.warm.count, row.cold.count));
    vec![
        "## 1. Micro-benchmarks".to_owned(),
        format!(
            "Bytes to bytes, with variables read and the answer written, in one thread of a process of its own and without HTTP: \
             {} executions of each request, and {} without the plan cache, where each document is new. The study's are medians \
             of its own requests of these kinds, on a desktop with Zen 3.",
            thousands(warm.into()),
            thousands(cold.into())
        ),
        micro_table(rows).render(),
    ]
}

fn micro_table(rows: &[MicroRow]) -> Table {
    let header = [
        "Request",
        "Median",
        "p99",
        "Allocations",
        "Median, no cache",
        "p99, no cache",
        "Allocations, no cache",
        &format!("{STUDY}, median"),
    ];
    let mut table = Table::new(&header);
    for (index, row) in rows.iter().enumerate() {
        let published = MICRO_MEDIAN_US.get(index).copied().flatten();
        table.push(vec![
            micro_label(&row.name).to_owned(),
            microseconds(row.warm.median_ns),
            microseconds(row.warm.p99_ns),
            thousands(row.warm.allocations),
            microseconds(row.cold.median_ns),
            microseconds(row.cold.p99_ns),
            thousands(row.cold.allocations),
            published.map_or(NONE.to_owned(), |us| format!("{us} µs")),
        ]);
    }
    table
}

/// What the engine's short names stand for.
fn micro_label(name: &str) -> &str {
    match name {
        "single" => "Single object",
        "list" => "List, batch field, nested object",
        "three" => "Three actions, a variable",
        "six" => "Six variables, skip, include, lists",
        "introspection" => "Full introspection",
        other => other,
    }
}

/// `0.87 µs`, `12.3 µs`, `638 µs`
fn microseconds(ns: u64) -> String {
    let us = ns as f64 / 1e3;
    match us {
        us if us < 10.0 => format!("{us:.2} µs"),
        us if us < 100.0 => format!("{us:.1} µs"),
        us => format!("{} µs", thousands(us.round() as u64)),
    }
}

fn control_parts(runs: &[ControlRun], pace: &Pace) -> Vec<String> {
    let users = 2 * USERS_EACH;
    let mut parts = vec![
        "## 2. GraphQL beside REST".to_owned(),
        format!(
            "{USERS_EACH} users read donut 1 and {USERS_EACH} write it, over GraphQL and over REST in the same process: {} rounds, in \
             which both take turns. Figures are medians over rounds; a ratio is that of one round, with the least and the \
             greatest behind it. Processor time is the engine's, of all its threads.",
            pace.rounds
        ),
    ];
    for manner in Manner::ALL.into_iter().filter(|manner| runs.iter().any(|run| run.manner == *manner)) {
        let length = seconds(pace.control(manner));
        parts.push(match manner {
            Manner::Thinking => format!(
                "With 0 to 75 ms between an answer and the next request, {length} a round, as in the study's plans. {users} such \
                 users can ask at most {} times a second, of any server; the study, which published more, says elsewhere that \
                 requests were at most 30 ms apart (REST: 15 ms).",
                thousands(thinking_cap_per_s() as u64)
            ),
            Manner::Saturated => format!("Without think time, {length} a round, which the study did not measure:"),
        });
        parts.push(control_table(runs, manner).render());
    }
    parts
}

fn control_table(runs: &[ControlRun], manner: Manner) -> Table {
    let published = format!("{STUDY}, GraphQL / REST");
    let mut table = Table::new(&["", "GraphQL", "REST", "Ratio", "of rounds", &published]);
    let mut push = |label: &str,
                    figure: &dyn Fn(&ControlRun) -> Option<f64>,
                    write: &dyn Fn(f64) -> String,
                    theirs: String| {
        let row = match compare(runs, manner, figure) {
            Some(compared) => {
                let [median, least, most] = compared.ratio;
                let range = format!("{least:.2} to {most:.2}");
                vec![
                    label.to_owned(),
                    write(compared.graphql),
                    write(compared.rest),
                    format!("{median:.3}"),
                    range,
                    theirs,
                ]
            }
            None => vec![
                label.to_owned(),
                NONE.to_owned(),
                NONE.to_owned(),
                NONE.to_owned(),
                NONE.to_owned(),
                theirs,
            ],
        };
        table.push(row);
    };
    let is_thinking = manner == Manner::Thinking;
    let theirs = |text: String| if is_thinking { text } else { NONE.to_owned() };
    let rates = format!(
        "{} / {} ({THROUGHPUT_DIFFERENCE})",
        thousands(GRAPHQL_PER_S.into()),
        thousands(REST_PER_S.into())
    );
    push(
        "Requests/s",
        &|run| Some(run.requests_per_second),
        &|rate| thousands(rate.round() as u64),
        theirs(rates),
    );
    push(
        "Engine CPU a request",
        &|run| run.used.us_per_request,
        &|us| format!("{us:.2} µs"),
        NONE.to_owned(),
    );
    let used = format!("1-3 % / 0.01-2 % of the machine ({CPU_DIFFERENCE})");
    push("Engine processors", &|run| run.used.processors, &|used| format!("{used:.2}"), theirs(used));
    push("p50", &|run| run.p50_ms, &milliseconds, NONE.to_owned());
    push("p99", &|run| run.p99_ms, &milliseconds, NONE.to_owned());
    push(
        "Lab's busiest thread",
        &|run| Some(run.used.lab_busy_share),
        &|share| percent(Some(share)),
        NONE.to_owned(),
    );
    table
}

fn percent(share: Option<f64>) -> String {
    share.map_or(NONE.to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn throughput_parts(found: &Throughput, outcome: &Outcome) -> Vec<String> {
    let mut parts = vec![
        "## 3. Maximum throughput".to_owned(),
        format!(
            "{USERS_PER_S} users join in each second, up to {}; each reads donut 1 by GraphQL, waits 0 to 15 ms and reads again, until \
             answers fail or more users bring no more of them. {}",
            thousands(outcome.pace.users_max.into()),
            end_text(found)
        ),
    ];
    if let Some(peak) = &found.peak {
        parts.push(peak_text(peak, outcome));
        parts.push(peak_table(peak).render());
        parts.push("How it went:".to_owned());
        parts.push(course_table(&found.seconds).render());
    }
    parts
}

fn end_text(found: &Throughput) -> String {
    let (length, users) = (found.seconds.len(), found.seconds.last().map_or(0, |second| second.users));
    let after = format!("After {length} s and with {} users", thousands(users.into()));
    match found.end {
        End::Errors { share } => {
            format!("{after} it ended with errors: {:.1} % of a second's requests failed.", share * 100.0)
        }
        End::Plateau { seconds } => {
            format!(
                "{after} it ended without an error: for {seconds} s more users had brought no more answers."
            )
        }
        End::UsersMax { .. } => {
            format!("{after} it ended without an error, and with answers still becoming more.")
        }
    }
}

/// Whose limit the maximum is.
fn peak_text(peak: &Peak, outcome: &Outcome) -> String {
    let engine = count_of_processors(outcome.assignment.server.len());
    let lab = count_of_processors(outcome.assignment.lab.len());
    let (engine_used, lab_used) = (percent(peak.engine_share), percent(peak.lab_share));
    match peak.busy {
        Busy::Engine => format!(
            "The limit was the engine: it used {engine_used} of its {engine}, the lab {lab_used} of its {lab}."
        ),
        Busy::Lab => format!(
            "The limit was the lab: it used {lab_used} of its {lab}, the engine {engine_used} of its {engine}. So this is what the lab could \
             ask for, and the engine's maximum is higher."
        ),
        Busy::Both => format!(
            "Engine and lab were busy at the same time: the engine used {engine_used} of its {engine}, the lab {lab_used} of its {lab}. So this \
             is a lower bound."
        ),
        Busy::Nobody => format!(
            "Neither was busy: the engine used {engine_used} of its {engine}, the lab {lab_used} of its {lab}. Users, or other work on this \
             machine, were the limit."
        ),
    }
}

/// Where somebody else than the engine was short, figures are lower bounds.
fn bound(busy: Busy) -> &'static str {
    if busy == Busy::Engine { "" } else { "≥ " }
}

fn peak_table(peak: &Peak) -> Table {
    let mut table = Table::new(&["", "Prony", STUDY]);
    let mut push = |label: &str, ours: String, theirs: String| {
        table.push(vec![label.to_owned(), ours, theirs]);
    };
    let rate = thousands(peak.requests_per_second.round() as u64);
    // The study had no more machines to ask from.
    let theirs = format!("≥ {}", thousands(MAX_PER_S.into()));
    push("Requests/s, best three seconds", format!("{}{rate}", bound(peak.busy)), theirs);
    push("Users", thousands(peak.users.into()), NONE.to_owned());
    push("p50", time(peak.p50_ns), NONE.to_owned());
    push("p99", time(peak.p99_ns), NONE.to_owned());
    push("Engine's processors in use", percent(peak.engine_share), "5 %".to_owned());
    push("Lab's processors in use", percent(peak.lab_share), NONE.to_owned());
    table
}

fn time(time: Option<Nanos>) -> String {
    time.map_or(NONE.to_owned(), |time| milliseconds(time.as_millis_f64()))
}

/// Some of the seconds, the last one among them.
fn course_table(seconds: &[Second]) -> Table {
    let mut table = Table::new(&["Second", "Users", "Requests/s", "Failures", "p50", "p99", "Engine", "Lab"]);
    let step = seconds.len().div_ceil(COURSE_ROWS).max(1);
    for (index, second) in
        seconds.iter().enumerate().rev().step_by(step).collect::<Vec<_>>().into_iter().rev()
    {
        table.push(vec![
            (index + 1).to_string(),
            thousands(second.users.into()),
            thousands(second.successes),
            thousands(second.failures),
            time(second.p50_ns),
            time(second.p99_ns),
            percent(second.engine_share),
            percent(second.lab_share),
        ]);
    }
    table
}

fn memory_parts(profiles: &[Profile], pace: &Pace) -> Vec<String> {
    let fewer = if pace.memory_requests == Pace::FULL.memory_requests {
        String::new()
    } else {
        format!(" (the study: {}, as `--full` does)", thousands(Pace::FULL.memory_requests))
    };
    vec![
        "## 5. Memory".to_owned(),
        format!(
            "Resident memory of a new server: 15 users with {} requests each{fewer}, at most 30 ms apart; then many more on the same \
             server, as fast as they are answered. Warm is when a fifth of the requests have been answered; flat means never more than \
             {:.0} % above that. The study found no object that outlived a collection, and published no figure.",
            thousands(pace.memory_requests),
            GROWTH_MAX * 100.0
        ),
        memory_table(profiles).render(),
    ]
}

fn memory_table(profiles: &[Profile]) -> Table {
    let header = [
        "Requests",
        "Users",
        "Before",
        "Warm",
        "40 %",
        "60 %",
        "80 %",
        "After",
        "Highest once warm",
        "Growth",
        "Verdict",
    ];
    let mut table = Table::new(&header);
    let text = |bytes: Option<u64>| bytes.map_or(NONE.to_owned(), tenths);
    for profile in profiles {
        let label = match profile.kind {
            ProfileKind::Study => thousands(profile.requests),
            ProfileKind::Soak => format!("{} more", thousands(profile.requests)),
        };
        let verdict = match profile.is_flat() {
            Some(true) => "flat",
            Some(false) => "grows",
            None => "too short to say",
        };
        table.push(vec![
            label,
            profile.users.to_string(),
            tenths(profile.before_bytes),
            text(profile.warm().map(|sample| sample.resident_bytes)),
            text(profile.at(0.4)),
            text(profile.at(0.6)),
            text(profile.at(0.8)),
            tenths(profile.after_bytes),
            text(profile.highest_bytes()),
            profile.growth().map_or(NONE.to_owned(), |growth| format!("{:.1} %", growth * 100.0)),
            verdict.to_owned(),
        ]);
    }
    table
}

/// Five per cent of little memory are less than a megabyte.
fn tenths(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// What a reader must know before believing the figures.
fn notes(outcome: &Outcome) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.stopped {
        notes.push("The run was stopped: what is missing was not measured.".to_owned());
    }
    notes.extend(outcome.assignment.note());
    notes.extend(limit_note(&outcome.control));
    let failures: u64 = outcome.control.iter().map(|run| run.failures).sum::<u64>()
        + outcome.memory.iter().map(|profile| profile.failures).sum::<u64>();
    if failures > 0 {
        notes.push(format!("{} requests failed in tables 2 and 5.", thousands(failures)));
    }
    notes
}

/// One for all saturated runs whose figures are not the engine's alone.
fn limit_note(runs: &[ControlRun]) -> Option<String> {
    let saturated: Vec<&ControlRun> = runs.iter().filter(|run| run.manner == LIMIT_IN_CONTROL).collect();
    let limited: Vec<(&ControlRun, &String)> =
        saturated.iter().filter_map(|run| Some((*run, run.used.outside_limit.as_ref()?))).collect();
    let (first, limit) = limited.first()?;
    Some(format!(
        "{} of the {} saturated runs show lower bounds, because the engine was not the only limit, beginning with {} in round {} \
         ({limit}); then requests/s differ less than they would, and the processor time of a request is the better comparison.",
        limited.len(),
        saturated.len(),
        first.side.label(),
        first.round
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{
        super::{
            control::tests::run,
            memory::tests::profile,
            micro::Executions,
            study::{Part, Side},
        },
        *,
    };
    use crate::{frame::Head, processors::Assignment};

    fn executions(factor: u64, allocations: u64) -> Executions {
        Executions { count: 20_000, median_ns: 870 * factor, p99_ns: 1_900 * factor, allocations }
    }

    fn seconds_of_it(count: u32) -> Vec<Second> {
        let second = |number: u32| Second {
            users: number * 20,
            successes: u64::from(number.min(30)) * 2_600,
            failures: 0,
            p50_ns: Some(Nanos::from_micros(300)),
            p99_ns: Some(Nanos::from_micros(u64::from(number) * 100)),
            engine_share: Some(0.99),
            lab_share: Some(0.7),
        };
        (1..=count).map(second).collect()
    }

    fn outcome() -> Outcome {
        let micro = |name: &str, factor| MicroRow {
            name: name.to_owned(),
            warm: executions(factor, 5),
            cold: Executions { count: 2_000, ..executions(25 * factor, 161) },
        };
        let rounds = |side, manner, rates: [f64; 2]| {
            (1..).zip(rates).map(move |(round, rate)| run(side, manner, round, rate))
        };
        let mut control: Vec<ControlRun> = Vec::new();
        control.extend(rounds(Side::GraphQl, Manner::Thinking, [15_812.0, 15_810.0]));
        control.extend(rounds(Side::Rest, Manner::Thinking, [15_820.0, 15_822.0]));
        control.extend(rounds(Side::GraphQl, Manner::Saturated, [91_000.0, 93_000.0]));
        control.extend(rounds(Side::Rest, Manner::Saturated, [100_000.0, 98_000.0]));
        control[4].used.outside_limit = Some("the lab was busy".into());
        let seconds = seconds_of_it(38);
        let peak = Peak {
            requests_per_second: 78_000.4,
            users: 640,
            p50_ns: Some(Nanos::from_micros(300)),
            p99_ns: Some(Nanos::from_millis(3)),
            engine_share: Some(0.99),
            lab_share: Some(0.7),
            busy: Busy::Engine,
        };
        Outcome {
            head: Head::example("resolvers"),
            pace: Pace { rounds: 2, ..Pace::QUICK },
            seed: 42,
            parts: Part::ALL.to_vec(),
            assignment: Assignment { server: vec![0], lab: vec![1], shared: false },
            micro: vec![
                micro("single", 1),
                micro("list", 3),
                micro("three", 4),
                micro("six", 8),
                micro("introspection", 100),
            ],
            control,
            throughput: Some(Throughput {
                end: End::Plateau { seconds: 8 },
                peak: Some(peak),
                requests: 1_900_000,
                failures: 0,
                seconds,
                file: "throughput.prony.json",
            }),
            memory: vec![
                profile(ProfileKind::Study, &[9, 10, 10, 10, 10, 10]),
                profile(ProfileKind::Soak, &[10, 11, 11, 12, 12, 12]),
            ],
            stopped: false,
        }
    }

    #[test]
    fn the_tables_stand_beside_the_published_figures() {
        expect![[r#"
            # GraphQL by functions in process: what does it cost, and what does it carry?

            Prony 0.1.0 serving its examples donuts and music on 1 processor, 2026-11-21T02:03:04Z; seed 42. Machine: 2 × Example 3000, Linux 6.1.

            What differs from the study: GraphQL ASP.NET ran on .NET 7 with the whole of a server, JMeter drove it from other machines through a wired gigabit network, and processor use was read from Process Explorer as a share of that machine; here engine and load share one machine, each with its own processors.

            ## 1. Micro-benchmarks

            Bytes to bytes, with variables read and the answer written, in one thread of a process of its own and without HTTP: 20,000 executions of each request, and 2,000 without the plan cache, where each document is new. The study's are medians of its own requests of these kinds, on a desktop with Zen 3.

            | Request                             |  Median |     p99 | Allocations | Median, no cache | p99, no cache | Allocations, no cache | GraphQL ASP.NET, median |
            | ----------------------------------- | ------: | ------: | ----------: | ---------------: | ------------: | --------------------: | ----------------------: |
            | Single object                       | 0.87 µs | 1.90 µs |           5 |          21.8 µs |       47.5 µs |                   161 |                   91 µs |
            | List, batch field, nested object    | 2.61 µs | 5.70 µs |           5 |          65.2 µs |        143 µs |                   161 |                  183 µs |
            | Three actions, a variable           | 3.48 µs | 7.60 µs |           5 |          87.0 µs |        190 µs |                   161 |                  179 µs |
            | Six variables, skip, include, lists | 6.96 µs | 15.2 µs |           5 |           174 µs |        380 µs |                   161 |                  638 µs |
            | Full introspection                  | 87.0 µs |  190 µs |           5 |         2,175 µs |      4,750 µs |                   161 |                       - |

            ## 2. GraphQL beside REST

            300 users read donut 1 and 300 write it, over GraphQL and over REST in the same process: 2 rounds, in which both take turns. Figures are medians over rounds; a ratio is that of one round, with the least and the greatest behind it. Processor time is the engine's, of all its threads.

            With 0 to 75 ms between an answer and the next request, 4 s a round, as in the study's plans. 600 such users can ask at most 16,000 times a second, of any server; the study, which published more, says elsewhere that requests were at most 30 ms apart (REST: 15 ms).

            |                      |  GraphQL |     REST | Ratio |    of rounds |        GraphQL ASP.NET, GraphQL / REST |
            | -------------------- | -------: | -------: | ----: | -----------: | -------------------------------------: |
            | Requests/s           |   15,811 |   15,821 | 0.999 | 1.00 to 1.00 |               36,509 / 37,360 (-2.3 %) |
            | Engine CPU a request | 63.25 µs | 63.21 µs | 1.001 | 1.00 to 1.00 |                                      - |
            | Engine processors    |     0.99 |     0.99 | 1.000 | 1.00 to 1.00 | 1-3 % / 0.01-2 % of the machine (+1 %) |
            | p50                  |   6.1 ms |   6.1 ms | 1.000 | 1.00 to 1.00 |                                      - |
            | p99                  |   9.7 ms |   9.7 ms | 1.000 | 1.00 to 1.00 |                                      - |
            | Lab's busiest thread |     70 % |     70 % | 1.000 | 1.00 to 1.00 |                                      - |

            Without think time, 3 s a round, which the study did not measure:

            |                      |  GraphQL |     REST | Ratio |    of rounds | GraphQL ASP.NET, GraphQL / REST |
            | -------------------- | -------: | -------: | ----: | -----------: | ------------------------------: |
            | Requests/s           |   92,000 |   99,000 | 0.929 | 0.91 to 0.95 |                               - |
            | Engine CPU a request | 10.87 µs | 10.10 µs | 1.076 | 1.05 to 1.10 |                               - |
            | Engine processors    |     0.99 |     0.99 | 1.000 | 1.00 to 1.00 |                               - |
            | p50                  |   6.1 ms |   6.1 ms | 1.000 | 1.00 to 1.00 |                               - |
            | p99                  |   9.7 ms |   9.7 ms | 1.000 | 1.00 to 1.00 |                               - |
            | Lab's busiest thread |     70 % |     70 % | 1.000 | 1.00 to 1.00 |                               - |

            ## 3. Maximum throughput

            20 users join in each second, up to 1,200; each reads donut 1 by GraphQL, waits 0 to 15 ms and reads again, until answers fail or more users bring no more of them. After 38 s and with 760 users it ended without an error: for 8 s more users had brought no more answers.

            The limit was the engine: it used 99 % of its 1 processor, the lab 70 % of its 1 processor.

            |                                |   Prony | GraphQL ASP.NET |
            | ------------------------------ | ------: | --------------: |
            | Requests/s, best three seconds |  78,000 |        ≥ 57,919 |
            | Users                          |     640 |               - |
            | p50                            | 0.30 ms |               - |
            | p99                            |  3.0 ms |               - |
            | Engine's processors in use     |    99 % |             5 % |
            | Lab's processors in use        |    70 % |               - |

            How it went:

            | Second | Users | Requests/s | Failures |     p50 |     p99 | Engine |  Lab |
            | ------ | ----: | ---------: | -------: | ------: | ------: | -----: | ---: |
            | 2      |    40 |      5,200 |        0 | 0.30 ms | 0.20 ms |   99 % | 70 % |
            | 6      |   120 |     15,600 |        0 | 0.30 ms | 0.60 ms |   99 % | 70 % |
            | 10     |   200 |     26,000 |        0 | 0.30 ms |  1.0 ms |   99 % | 70 % |
            | 14     |   280 |     36,400 |        0 | 0.30 ms |  1.4 ms |   99 % | 70 % |
            | 18     |   360 |     46,800 |        0 | 0.30 ms |  1.8 ms |   99 % | 70 % |
            | 22     |   440 |     57,200 |        0 | 0.30 ms |  2.2 ms |   99 % | 70 % |
            | 26     |   520 |     67,600 |        0 | 0.30 ms |  2.6 ms |   99 % | 70 % |
            | 30     |   600 |     78,000 |        0 | 0.30 ms |  3.0 ms |   99 % | 70 % |
            | 34     |   680 |     78,000 |        0 | 0.30 ms |  3.4 ms |   99 % | 70 % |
            | 38     |   760 |     78,000 |        0 | 0.30 ms |  3.8 ms |   99 % | 70 % |

            ## 5. Memory

            Resident memory of a new server: 15 users with 1,500 requests each (the study: 10,000, as `--full` does), at most 30 ms apart; then many more on the same server, as fast as they are answered. Warm is when a fifth of the requests have been answered; flat means never more than 5 % above that. The study found no object that outlived a collection, and published no figure.

            | Requests | Users | Before |    Warm |    40 % |    60 % |    80 % |   After | Highest once warm | Growth | Verdict |
            | -------- | ----: | -----: | ------: | ------: | ------: | ------: | ------: | ----------------: | -----: | ------- |
            | 600      |    15 | 9.0 MB | 10.0 MB | 10.0 MB | 10.0 MB | 10.0 MB | 10.0 MB |           10.0 MB |  0.0 % | flat    |
            | 600 more |    15 | 9.0 MB | 11.0 MB | 11.0 MB | 12.0 MB | 12.0 MB | 12.0 MB |           12.0 MB |  9.1 % | grows   |

            ## Limits of these figures

            * 1 of the 4 saturated runs show lower bounds, because the engine was not the only limit, beginning with GraphQL in round 1 (the lab was busy); then requests/s differ less than they would, and the processor time of a request is the better comparison.
        "#]].assert_eq(&render(&outcome()));
    }

    #[test]
    fn whose_limit_it_was_is_said() {
        let outcome = outcome();
        let peak = outcome.throughput.as_ref().unwrap().peak.unwrap();
        let text = |busy| (peak_text(&Peak { busy, ..peak }, &outcome), bound(busy));
        assert!(
            text(Busy::Engine)
                .0
                .starts_with("The limit was the engine: it used 99 % of its 1 processor, the lab 70 %")
        );
        let (lab, bound) = text(Busy::Lab);
        assert!(lab.starts_with("The limit was the lab") && bound == "≥ ", "{lab}");
        let found = |end| end_text(&Throughput { end, ..outcome.throughput.clone().unwrap() });
        assert_eq!(
            found(End::Errors { share: 0.0234 }),
            "After 38 s and with 760 users it ended with errors: 2.3 % of a second's requests failed."
        );
        assert!(found(End::UsersMax { users: 760 }).contains("with answers still becoming more"));
    }

    #[test]
    fn what_is_missing_has_no_table() {
        let outcome = Outcome {
            micro: Vec::new(),
            control: Vec::new(),
            throughput: None,
            memory: Vec::new(),
            stopped: true,
            ..outcome()
        };
        let text = render(&outcome);
        assert!(!text.contains('|') && text.contains("* The run was stopped"), "{text}");
    }
}
