//! Microseconds that the engine spends on a request before and after the database: cold, with a text that it has
//! never seen, and warm, with one from its plan cache. The engine tells them itself, in `Server-Timing`.

use crate::{
    data,
    queries::QUERIES,
    statistics::{median, print_table},
    subject::Subject,
};

/// The engine's own stages; `execute` is the database's time and left out.
const STAGES: [&str; 4] = ["parse", "validate", "plan", "assemble"];
const REQUESTS: usize = 500;
const VARIABLES: &str = r#"{"limit":1,"offset":0,"id_gt":7}"#;

/// Prints medians over distinct texts and over repeated ones, alternating.
pub(crate) fn cold_and_warm() {
    let subject = Subject::start(&data::sqlite_source(), &[], None);
    let mut rows = vec![vec!["query".to_owned(), "request".to_owned()]];
    rows[0].extend(STAGES.iter().map(|stage| format!("{stage}, µs")));
    rows[0].push("all four, µs".to_owned());
    for query in &QUERIES {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for number in 0..REQUESTS {
            let unknown = query.graphql.replacen("query query", &format!("query cold{number}"), 1);
            cold.push(stages(&subject, &unknown));
            warm.push(stages(&subject, query.graphql));
        }
        rows.push(row(query.name, "cold", &cold));
        rows.push(row("", "warm", &warm[1..]));
    }
    print_table(&rows);
}

/// Microseconds of each stage of one request.
fn stages(subject: &Subject, text: &str) -> [f64; STAGES.len()] {
    let answer = subject.post(text, VARIABLES, "X-Prony-Timing: 1\r\n");
    let header = answer.lines().find_map(|line| line.strip_prefix("server-timing: "));
    let header = header.unwrap_or_else(|| panic!("no Server-Timing in\n{answer}"));
    STAGES.map(|stage| {
        let entry = header.split(", ").find_map(|entry| entry.strip_prefix(stage)?.strip_prefix(";dur="));
        let milliseconds: f64 = entry.and_then(|text| text.parse().ok()).expect("a stage with its duration");
        milliseconds * 1e3
    })
}

fn row(query: &str, kind: &str, requests: &[[f64; STAGES.len()]]) -> Vec<String> {
    let of_stage = |stage: usize| requests.iter().map(|times| times[stage]).collect::<Vec<_>>();
    let sums: Vec<f64> = requests.iter().map(|times| times.iter().sum()).collect();
    let mut cells = vec![query.to_owned(), kind.to_owned()];
    cells.extend((0..STAGES.len()).map(|stage| format!("{:.0}", median(&of_stage(stage)))));
    cells.push(format!("{:.0}", median(&sums)));
    cells
}
