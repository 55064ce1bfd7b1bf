//! Fan-out: 500 clients with two subscriptions each, and mutations at a constant rate of which half of the subscriptions
//! hear; the lab matches each event with its mutation.

use prony_load_model::{Nanos, ResultFile, WindowKind};

use crate::statistics::print_table;
use crate::subject::Subject;
use crate::tool::prony_result;

const CLIENTS: usize = 500;
const EACH: usize = 2;
const SECONDS: u32 = 20;

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
         processors; times are from the sending of the mutation\n"
    );
    let columns = [
        "",
        "mutations/s",
        "events/s",
        "p50, ms",
        "p99, ms",
        "max, ms",
        "due",
        "missed, cut off",
        "doubled, out of order, unexpected",
    ];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for case in &CASES {
        let donuts = Subject::example("donuts", &[], None);
        rows.push(row(case, &case.run(&donuts.url)));
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
        prony_result(&[file.path().display().to_string()]).0
    }
}

fn row(case: &Case, result: &ResultFile) -> Vec<String> {
    let group = result.subscribers.groups.first().expect("the plan has one");
    let links = &group.links;
    assert_eq!(links.subscribed as usize, CLIENTS * EACH, "{links:?}");
    let whole = group.windows.iter().find(|window| window.window.kind == WindowKind::Whole);
    let whole = whole.expect("a result always holds the whole run");
    let (counts, latency) = (&whole.counts, &whole.fan_out_latency);
    let milliseconds =
        |time: Option<Nanos>| time.map_or("-".to_owned(), |time| format!("{:.2}", time.as_millis_f64()));
    vec![
        case.name.to_owned(),
        case.changes_per_s.to_string(),
        format!("{:.0}", whole.events_per_s),
        milliseconds(latency.percentile(50.0)),
        milliseconds(latency.percentile(99.0)),
        milliseconds(latency.max_ns),
        counts.due.to_string(),
        format!("{}, {}", counts.missed, counts.cut_off),
        format!("{}, {}, {}", counts.duplicated, counts.out_of_order, counts.unexpected),
    ]
}
