//! Processor time of the gateway for one request, by stage. The gateway tells the stages' itself (`X-Prony-Timing: processor`), with
//! one client at a time; that of a whole request is what the process used under load. What is left reads the request, finds out
//! who asks, and writes the response.

use prony_model::WindowKind;

use crate::{
    ROUNDS, SECONDS,
    gateway::{self, Gateway, OPERATIONS},
    process::cpu_seconds,
    statistics::{median, print_table},
    subject::Subject,
};

/// As `Server-Timing` names them, and as the table does.
const STAGES: [(&str, &str); 6] = [
    ("parse", "parse"),
    ("validate", "validate"),
    ("plan", "plan"),
    ("admit", "limits"),
    ("execute", "forward"),
    ("assemble", "splice"),
];
/// Asked one by one, after as many that are not counted.
const REQUESTS: usize = 1_000;
const CONNECTIONS: u32 = 64;

pub(crate) fn by_operation() {
    let backend = gateway::backend();
    let gateway = Gateway::before(&backend.url, "");
    let mut head = vec!["operation".to_owned()];
    head.extend(STAGES.iter().map(|(_, name)| format!("{name}, µs")));
    head.extend(["read and write, µs", "all, µs"].map(str::to_owned));
    let mut rows = vec![head];
    for (name, query) in OPERATIONS {
        let whole = "in one piece, its bytes passed on";
        rows.push(row(&format!("{name}, {whole}"), &gateway, query));
        // What the schema is asked of itself is answered by the gateway: the rest is forwarded in parts and spliced.
        let parts = query.replacen('{', "{ __typename ", 1);
        rows.push(row(&format!("{name}, in parts"), &gateway, &parts));
    }
    print_table(&rows);
}

fn row(name: &str, gateway: &Gateway, query: &str) -> Vec<String> {
    let asked: Vec<[f64; STAGES.len()]> =
        (0..2 * REQUESTS).map(|_| stages(&gateway.subject, query)).collect();
    let of_stage = |stage: usize| asked[REQUESTS..].iter().map(|times| times[stage]).collect::<Vec<_>>();
    let medians: Vec<f64> = (0..STAGES.len()).map(|stage| median(&of_stage(stage))).collect();
    let all = median(&(0..ROUNDS).map(|_| under_load(gateway, query)).collect::<Vec<_>>());
    let mut cells = vec![name.to_owned()];
    cells.extend(medians.iter().map(|us| format!("{us:.1}")));
    cells.push(format!("{:.1}", all - medians.iter().sum::<f64>()));
    cells.push(format!("{all:.1}"));
    cells
}

/// Microseconds of processor time of each stage of one request.
fn stages(subject: &Subject, query: &str) -> [f64; STAGES.len()] {
    let response = subject.post(query, "{}", "X-Prony-Timing: processor\r\n");
    assert!(!response.contains("\"errors\""), "{response}");
    let header = response.lines().find_map(|line| line.strip_prefix("server-timing: "));
    let header = header.unwrap_or_else(|| panic!("no Server-Timing in\n{response}"));
    STAGES.map(|(stage, _)| {
        let entry = header.split(", ").find_map(|entry| entry.strip_prefix(stage)?.strip_prefix(";dur="));
        let milliseconds: f64 = entry.and_then(|text| text.parse().ok()).unwrap_or_default();
        milliseconds * 1e3
    })
}

/// Microseconds of processor time of the whole process for each request.
fn under_load(gateway: &Gateway, query: &str) -> f64 {
    let before = cpu_seconds(gateway.subject.pid());
    let load = format!("users = {CONNECTIONS}\nduration = \"{SECONDS}s\"");
    let result = gateway::run(&gateway.subject.url, query, &load);
    let used = cpu_seconds(gateway.subject.pid()) - before;
    let whole = result.window(WindowKind::Whole).expect("a result always holds the whole run");
    used * 1e6 / whole.all.requests as f64
}
