//! Fan-out: 500 clients with two subscriptions each, and mutations at a constant rate of which half of the subscriptions
//! hear; the lab matches each event with its mutation.

use prony_model::{
    Nanos, ResultFile, WindowKind,
    subscription::{figures::SubscriberWindow, tally::EventCounts},
};

use crate::statistics::print_table;
use crate::subject::Subject;
use crate::tool::prony_result_beside;

const CLIENTS: usize = 500;
const EACH: usize = 2;
const SECONDS: u32 = 20;
/// In 40 bursts of 20 s, one bad moment of the machine is the 99th percentile.
const ROUNDS: usize = 3;

/// Donuts with subscribers, donuts that are changed, and how often.
struct Case {
    name: &'static str,
    /// Subscriptions ask for these in turn.
    heard: usize,
    /// The first of them, chosen at random.
    changed: usize,
    changes_per_s: u32,
}

const CASES: [Case; 4] = [
    Case { name: "each event to one", heard: CLIENTS * EACH, changed: CLIENTS, changes_per_s: 1_000 },
    Case { name: "each event to 500", heard: EACH, changed: 1, changes_per_s: 2 },
    Case { name: "each event to 500", heard: EACH, changed: 1, changes_per_s: 20 },
    Case { name: "each event to 500", heard: EACH, changed: 1, changes_per_s: 100 },
];

pub(crate) fn to_half() {
    println!(
        "{CLIENTS} clients × {EACH} subscriptions over graphql-transport-ws, {SECONDS} s each; server and lab share all \
         processors; times are from the sending of the mutation, of the round with the middle p99 of {ROUNDS}\n"
    );
    let columns = [
        "",
        "mutations/s",
        "events/s",
        "p50, ms",
        "p99, ms",
        "its rounds, ms",
        "max, ms",
        "read late by the lab, p99, ms",
        "due",
        "missed, cut off",
        "doubled, out of order, unexpected",
    ];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for case in &CASES {
        let donuts = Subject::example("donuts", &[], None);
        let mut results: Vec<_> = (0..ROUNDS).map(|_| case.run(&donuts.url)).collect();
        results.sort_by_key(|result| whole(result).fan_out_latency.percentile(99.0));
        rows.push(row(case, &results));
    }
    print_table(&rows);
}

impl Case {
    fn run(&self, url: &str) -> ResultFile {
        let names = |count: usize| {
            let names: Vec<String> = (0..count).map(|number| format!("\"d{number}\"")).collect();
            names.join(", ")
        };
        let plan = format!(
            r#"target = "{url}"
rate = {rate}
users = 50
duration = "{SECONDS}s"

[variables]
token = {{ token = "t" }}
changed = {{ list = [{changed}] }}
heard = {{ list = [{heard}], order = "sequential" }}

[[requests]]
name = "change"
graphql.query = "mutation($id: String!, $name: String!) {{ addOrUpdateDonut(donut: {{ id: $id, name: $name, flavor: VANILLA }}) {{ id }} }}"
graphql.variables = {{ id = "${{changed}}", name = "${{token}}" }}

[[subscriptions]]
name = "changes"
query = "subscription($id: String!) {{ onDonutUpdated(id: $id) {{ id name flavor }} }}"
variables = {{ id = "${{heard}}" }}
clients = {CLIENTS}
per_client = {EACH}
fan_out = {{ request = "change", token = "/data/onDonutUpdated/name", key = "${{heard}}", request_key = "${{changed}}" }}
"#,
            rate = self.changes_per_s,
            changed = names(self.changed),
            heard = names(self.heard),
        );
        let file = tempfile::NamedTempFile::with_suffix(".toml").expect("a temporary file");
        std::fs::write(file.path(), plan).expect("room for a small file");
        prony_result_beside(&[file.path().display().to_string()])
    }
}

fn whole(result: &ResultFile) -> &SubscriberWindow {
    let group = result.subscribers.groups.first().expect("the plan has one");
    let whole = group.windows.iter().find(|window| window.window.kind == WindowKind::Whole);
    whole.expect("a result always holds the whole run")
}

/// Of rounds by their p99.
fn row(case: &Case, rounds: &[ResultFile]) -> Vec<String> {
    for result in rounds {
        let links = &result.subscribers.groups[0].links;
        assert_eq!(links.subscribed as usize, CLIENTS * EACH, "{links:?}");
    }
    let milliseconds =
        |time: Option<Nanos>| time.map_or("-".to_owned(), |time| format!("{:.2}", time.as_millis_f64()));
    let p99 = |result| milliseconds(whole(result).fan_out_latency.percentile(99.0));
    let sum = |count: fn(&EventCounts) -> u64| {
        rounds.iter().map(|result| count(&whole(result).counts)).sum::<u64>()
    };
    let middle = &rounds[rounds.len() / 2];
    let latency = &whole(middle).fan_out_latency;
    vec![
        case.name.to_owned(),
        case.changes_per_s.to_string(),
        format!("{:.0}", whole(middle).events_per_s),
        milliseconds(latency.percentile(50.0)),
        p99(middle),
        rounds.iter().map(p99).collect::<Vec<_>>().join(", "),
        milliseconds(latency.max_ns),
        milliseconds(middle.subscribers.read_lateness.percentile(99.0)),
        sum(|counts| counts.due).to_string(),
        format!("{}, {}", sum(|counts| counts.missed), sum(|counts| counts.cut_off)),
        format!(
            "{}, {}, {}",
            sum(|counts| counts.duplicated),
            sum(|counts| counts.out_of_order),
            sum(|counts| counts.unexpected)
        ),
    ]
}
