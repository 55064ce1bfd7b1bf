//! The five tables, each beside what the study published, with who was the limit and what differs.

mod cell;
mod memory;
mod subscriptions;
mod throughput;

use prony_model::Conclusion;

use super::{
    control::{ControlRun, compare},
    micro::MicroRow,
    outcome::ResolversOutcome,
    published::{
        CONDITIONS, CPU_DIFFERENCE, GRAPHQL_PER_S, MICRO_MEDIAN_US, REST_PER_S, STUDY, THROUGHPUT_DIFFERENCE,
    },
    study::{Manner, ResolversPace, USERS_EACH, thinking_cap_per_s},
    subscriptions::Heard,
};
use crate::{
    display::count_of_processors,
    frame::{self, Head},
    markdown::{Table, document, milliseconds, seconds, thousands},
};
use cell::{NONE, percent};
use memory::memory_parts;
use subscriptions::subscriptions_parts;
use throughput::throughput_parts;

impl frame::Outcome for ResolversOutcome {
    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn render(&self) -> String {
        render(self)
    }

    fn conclusion(&self) -> Conclusion {
        let requests: u64 = self.control.iter().map(|run| run.requests).sum();
        let failures: u64 = self.control.iter().map(|run| run.failures).sum();
        frame::conclusion_of(requests, requests.saturating_sub(failures))
    }
}

/// The whole result as Markdown.
fn render(outcome: &ResolversOutcome) -> String {
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
    if !outcome.subscriptions.is_empty() {
        parts.extend(subscriptions_parts(&outcome.subscriptions, &outcome.pace));
    }
    if !outcome.memory.is_empty() {
        parts.extend(memory_parts(&outcome.memory, &outcome.pace));
    }
    document(parts, &notes(outcome))
}

fn setting(outcome: &ResolversOutcome) -> String {
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

fn control_parts(runs: &[ControlRun], pace: &ResolversPace) -> Vec<String> {
    let users = 2 * USERS_EACH;
    let mut parts = vec![
        "## 2. GraphQL beside REST".to_owned(),
        format!(
            "{USERS_EACH} users read donut 1 and {USERS_EACH} write it, over GraphQL and over REST in the same process: {}, in \
             which both take turns. Figures are medians over rounds; a ratio is that of one round, with the least and the \
             greatest behind it. Processor time is the engine's, of all its threads.",
            if pace.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", pace.rounds) }
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

/// What a reader must know before believing the figures.
fn notes(outcome: &ResolversOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.stopped {
        notes.push("The run was stopped: what is missing was not measured.".to_owned());
    }
    notes.extend(outcome.assignment.note());
    notes.extend(limit_note(&outcome.control));
    notes.extend(outcome.subscriptions.iter().filter_map(missing_note));
    let failures: u64 = outcome.control.iter().map(|run| run.failures).sum::<u64>()
        + outcome.memory.iter().map(|profile| profile.failures).sum::<u64>();
    if failures > 0 {
        notes.push(format!("{} requests failed in tables 2 and 5.", thousands(failures)));
    }
    notes
}

/// One for all runs whose figures are not the engine's alone.
fn limit_note(runs: &[ControlRun]) -> Option<String> {
    let limited: Vec<(&ControlRun, &String)> =
        runs.iter().filter_map(|run| Some((run, run.used.outside_limit.as_ref()?))).collect();
    let (first, limit) = limited.first()?;
    Some(format!(
        "{} of the {} runs of table 2 show lower bounds, because the engine was not the only limit, beginning with {}, {}, in \
         round {} ({limit}); then requests/s differ less than they would, and the processor time of a request is the better \
         comparison.",
        limited.len(),
        runs.len(),
        first.side.label(),
        first.manner.name(),
        first.round
    ))
}

/// Of subscriptions that never came into force no event was due.
fn missing_note(heard: &Heard) -> Option<String> {
    (heard.subscribed < heard.subscriptions).then(|| {
        format!(
            "Of table 4, {}: only {} of {} subscriptions came into force, so its figures are of fewer events.",
            heard.audience.label(),
            thousands(heard.subscribed),
            thousands(heard.subscriptions)
        )
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prony_model::{Nanos, subscription::tally::EventCounts};

    use super::{
        super::{
            control::tests::run,
            memory::{ProfileKind, tests::profile},
            micro::Executions,
            study::{Audience, Part, Side},
            subscriptions::{Heard, Times},
            throughput::{Busy, End, Peak, Second, Throughput},
        },
        throughput::{bound, end_text, peak_text},
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

    fn heard(audience: Audience) -> Heard {
        let times = |p50| Times { p50: Some(p50), p99: Some(p50 * 4.0), max: Some(p50 * 9.0) };
        Heard {
            audience,
            clients: 500,
            subscriptions: 1_000,
            subscribed: 1_000,
            mutations_per_second: 7_800.0,
            events_per_second: 15_600.0,
            from_send: times(0.4),
            from_acknowledgement: times(0.2),
            counts: EventCounts { acknowledged: 62_400, due: 124_800, missed: 1, ..EventCounts::default() },
            troubles: 0,
            used: run(Side::GraphQl, Manner::Thinking, 1, 100_000.0).used,
            file: "x".into(),
        }
    }

    fn outcome() -> ResolversOutcome {
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
        ResolversOutcome {
            head: Head::example("resolvers"),
            pace: ResolversPace { rounds: 2, ..ResolversPace::QUICK },
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
            subscriptions: Audience::ALL.map(heard).to_vec(),
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

            Bytes to bytes, with variables read and the answer written, in one thread of a process of its own and without HTTP: 20 000 executions of each request, and 2 000 without the plan cache, where each document is new. The study's are medians of its own requests of these kinds, on a desktop with Zen 3.

            | Request                             |  Median |     p99 | Allocations | Median, no cache | p99, no cache | Allocations, no cache | GraphQL ASP.NET, median |
            | ----------------------------------- | ------: | ------: | ----------: | ---------------: | ------------: | --------------------: | ----------------------: |
            | Single object                       | 0.87 µs | 1.90 µs |           5 |          21.8 µs |       47.5 µs |                   161 |                   91 µs |
            | List, batch field, nested object    | 2.61 µs | 5.70 µs |           5 |          65.2 µs |        143 µs |                   161 |                  183 µs |
            | Three actions, a variable           | 3.48 µs | 7.60 µs |           5 |          87.0 µs |        190 µs |                   161 |                  179 µs |
            | Six variables, skip, include, lists | 6.96 µs | 15.2 µs |           5 |           174 µs |        380 µs |                   161 |                  638 µs |
            | Full introspection                  | 87.0 µs |  190 µs |           5 |         2 175 µs |      4 750 µs |                   161 |                       - |

            ## 2. GraphQL beside REST

            300 users read donut 1 and 300 write it, over GraphQL and over REST in the same process: 2 rounds, in which both take turns. Figures are medians over rounds; a ratio is that of one round, with the least and the greatest behind it. Processor time is the engine's, of all its threads.

            With 0 to 75 ms between an answer and the next request, 4 s a round, as in the study's plans. 600 such users can ask at most 16 000 times a second, of any server; the study, which published more, says elsewhere that requests were at most 30 ms apart (REST: 15 ms).

            |                      |  GraphQL |     REST | Ratio |    of rounds |        GraphQL ASP.NET, GraphQL / REST |
            | -------------------- | -------: | -------: | ----: | -----------: | -------------------------------------: |
            | Requests/s           |   15 811 |   15 821 | 0.999 | 1.00 to 1.00 |               36 509 / 37 360 (-2.3 %) |
            | Engine CPU a request | 63.25 µs | 63.21 µs | 1.001 | 1.00 to 1.00 |                                      - |
            | Engine processors    |     0.99 |     0.99 | 1.000 | 1.00 to 1.00 | 1-3 % / 0.01-2 % of the machine (+1 %) |
            | p50                  |   6.1 ms |   6.1 ms | 1.000 | 1.00 to 1.00 |                                      - |
            | p99                  |   9.7 ms |   9.7 ms | 1.000 | 1.00 to 1.00 |                                      - |
            | Lab's busiest thread |     70 % |     70 % | 1.000 | 1.00 to 1.00 |                                      - |

            Without think time, 3 s a round, which the study did not measure:

            |                      |  GraphQL |     REST | Ratio |    of rounds | GraphQL ASP.NET, GraphQL / REST |
            | -------------------- | -------: | -------: | ----: | -----------: | ------------------------------: |
            | Requests/s           |   92 000 |   99 000 | 0.929 | 0.91 to 0.95 |                               - |
            | Engine CPU a request | 10.87 µs | 10.10 µs | 1.076 | 1.05 to 1.10 |                               - |
            | Engine processors    |     0.99 |     0.99 | 1.000 | 1.00 to 1.00 |                               - |
            | p50                  |   6.1 ms |   6.1 ms | 1.000 | 1.00 to 1.00 |                               - |
            | p99                  |   9.7 ms |   9.7 ms | 1.000 | 1.00 to 1.00 |                               - |
            | Lab's busiest thread |     70 % |     70 % | 1.000 | 1.00 to 1.00 |                               - |

            ## 3. Maximum throughput

            20 users join in each second, up to 1 200; each reads donut 1 by GraphQL, waits 0 to 15 ms and reads again, until answers fail or more users bring no more of them. After 38 s and with 760 users it ended without an error: for 8 s more users had brought no more answers.

            The limit was the engine: it used 99 % of its 1 processor, the lab 70 % of its 1 processor.

            |                                |   Prony | GraphQL ASP.NET |
            | ------------------------------ | ------: | --------------: |
            | Requests/s, best three seconds |  78 000 |        ≥ 57 919 |
            | Users                          |     640 |               - |
            | p50                            | 0.30 ms |               - |
            | p99                            |  3.0 ms |               - |
            | Engine's processors in use     |    99 % |             5 % |
            | Lab's processors in use        |    70 % |               - |

            How it went:

            | Second | Users | Requests/s | Failures |     p50 |     p99 | Engine |  Lab |
            | ------ | ----: | ---------: | -------: | ------: | ------: | -----: | ---: |
            | 2      |    40 |      5 200 |        0 | 0.30 ms | 0.20 ms |   99 % | 70 % |
            | 6      |   120 |     15 600 |        0 | 0.30 ms | 0.60 ms |   99 % | 70 % |
            | 10     |   200 |     26 000 |        0 | 0.30 ms |  1.0 ms |   99 % | 70 % |
            | 14     |   280 |     36 400 |        0 | 0.30 ms |  1.4 ms |   99 % | 70 % |
            | 18     |   360 |     46 800 |        0 | 0.30 ms |  1.8 ms |   99 % | 70 % |
            | 22     |   440 |     57 200 |        0 | 0.30 ms |  2.2 ms |   99 % | 70 % |
            | 26     |   520 |     67 600 |        0 | 0.30 ms |  2.6 ms |   99 % | 70 % |
            | 30     |   600 |     78 000 |        0 | 0.30 ms |  3.0 ms |   99 % | 70 % |
            | 34     |   680 |     78 000 |        0 | 0.30 ms |  3.4 ms |   99 % | 70 % |
            | 38     |   760 |     78 000 |        0 | 0.30 ms |  3.8 ms |   99 % | 70 % |

            ## 4. Subscriptions

            500 clients with 2 subscriptions each, over WebSockets (graphql-transport-ws), for 8 s. First each event is for two of them, while 300 users change donuts with 0 to 75 ms between; then each is for half of them, and 2 changes a second make about 1 000 events. Times are from when a mutation was sent, and from when its answer had come, to each receipt; an event may come before the answer. The study announced this table and has not published it.

            |                         | Mutations/s | Events/s | p50 from sending |    p99 |    Max | p50 from answer |     p99 |    Max | Engine processors |
            | ----------------------- | ----------: | -------: | ---------------: | -----: | -----: | --------------: | ------: | -----: | ----------------: |
            | An event to two         |       7 800 |   15 600 |          0.40 ms | 1.6 ms | 3.6 ms |         0.20 ms | 0.80 ms | 1.8 ms |              0.99 |
            | An event to half of all |       7 800 |   15 600 |          0.40 ms | 1.6 ms | 3.6 ms |         0.20 ms | 0.80 ms | 1.8 ms |              0.99 |

            What became of the events, over the whole run:

            |                         |     Subscribed | Mutations | Events due | Missed | Cut off | Doubled | Out of order | Unexpected | Connections refused or lost |
            | ----------------------- | -------------: | --------: | ---------: | -----: | ------: | ------: | -----------: | ---------: | --------------------------: |
            | An event to two         | 1 000 of 1 000 |    62 400 |    124 800 |      1 |       0 |       0 |            0 |          0 |                           0 |
            | An event to half of all | 1 000 of 1 000 |    62 400 |    124 800 |      1 |       0 |       0 |            0 |          0 |                           0 |

            ## 5. Memory

            Resident memory of a new server: 15 users with 1 500 requests each (the study: 10 000, as `--full` does), at most 30 ms apart; then many more on the same server, as fast as they are answered. Warm is when a fifth of the requests have been answered; flat means never more than 5 % above that. The study found no object that outlived a collection, and published no figure.

            | Requests | Users | Before |    Warm |    40 % |    60 % |    80 % |   After | Highest once warm | Growth | Verdict |
            | -------- | ----: | -----: | ------: | ------: | ------: | ------: | ------: | ----------------: | -----: | ------- |
            | 600      |    15 | 9.0 MB | 10.0 MB | 10.0 MB | 10.0 MB | 10.0 MB | 10.0 MB |           10.0 MB |  0.0 % | flat    |
            | 600 more |    15 | 9.0 MB | 11.0 MB | 11.0 MB | 12.0 MB | 12.0 MB | 12.0 MB |           12.0 MB |  9.1 % | grows   |

            ## Limits of these figures

            * 1 of the 8 runs of table 2 show lower bounds, because the engine was not the only limit, beginning with GraphQL, saturated, in round 1 (the lab was busy); then requests/s differ less than they would, and the processor time of a request is the better comparison.
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
    fn subscriptions_that_never_came_into_force_are_told() {
        let mut outcome = outcome();
        outcome.subscriptions[1].subscribed = 566;
        let told = "* Of table 4, an event to half of all: only 566 of 1 000 subscriptions came into force";
        assert!(render(&outcome).contains(told), "{}", render(&outcome));
    }

    #[test]
    fn what_is_missing_has_no_table() {
        let outcome = ResolversOutcome {
            micro: Vec::new(),
            control: Vec::new(),
            throughput: None,
            subscriptions: Vec::new(),
            memory: Vec::new(),
            stopped: true,
            ..outcome()
        };
        let text = render(&outcome);
        assert!(!text.contains('|') && text.contains("* The run was stopped"), "{text}");
    }
}
