//! Processor time of the gateway for one request, by stage, of one client that asks again as soon as it has its response: whatever the
//! gateway's thread does then, it does for that request. The gateway tells the stages' itself (`X-Prony-Timing: processor`); that of a whole
//! request is what the process used. What is left reads the request, finds out who asks, and writes the response.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

use prony_model::WindowKind;

use crate::{
    ROUNDS, SECONDS,
    gateway::{self, Gateway, OPERATIONS},
    process::cpu_seconds,
    statistics::{median, print_table},
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
/// Whose stages are told, after as many that are not counted.
const TIMED: usize = 2_000;
/// Over which the processor time of the process is taken, in each round.
const UNTIMED: usize = 5_000;
const CONNECTIONS: u32 = 64;

pub(crate) fn by_operation() {
    let backend = gateway::backend();
    let gateway = Gateway::before(&backend.url, "");
    let mut head = vec!["operation".to_owned()];
    head.extend(STAGES.iter().map(|(_, name)| format!("{name}, µs")));
    head.extend(["read and write, µs", "all, µs", "all with 64 clients, µs"].map(str::to_owned));
    let mut rows = vec![head];
    for (name, query) in OPERATIONS {
        rows.push(row(&format!("{name}, whole"), &gateway, query));
        // What the schema is asked of itself is answered by the gateway: the rest is forwarded in parts and spliced.
        let parts = query.replacen('{', "{ __typename ", 1);
        rows.push(row(&format!("{name}, in parts"), &gateway, &parts));
    }
    print_table(&rows);
}

fn row(name: &str, gateway: &Gateway, query: &str) -> Vec<String> {
    let mut timed = Client::new(&gateway.subject.url, query, "x-prony-timing: processor\r\n");
    let stages: Vec<[f64; STAGES.len()]> = (0..2 * TIMED).map(|_| stages(&timed.ask())).collect();
    let of_stage = |stage: usize| stages[TIMED..].iter().map(|times| times[stage]).collect::<Vec<_>>();
    let stages: Vec<f64> = (0..STAGES.len()).map(|stage| median(&of_stage(stage))).collect();
    let one = median(&(0..ROUNDS).map(|_| of_one_client(gateway, query)).collect::<Vec<_>>());
    let many = median(&(0..ROUNDS).map(|_| under_load(gateway, query)).collect::<Vec<_>>());
    let figures = stages.iter().copied().chain([one - stages.iter().sum::<f64>(), one, many]);
    std::iter::once(name.to_owned()).chain(figures.map(|us| format!("{us:.1}"))).collect()
}

/// Microseconds of processor time of each stage of a request, from the head of its response.
fn stages(head: &str) -> [f64; STAGES.len()] {
    let header = head.lines().find_map(|line| line.strip_prefix("server-timing: "));
    let header = header.unwrap_or_else(|| panic!("no Server-Timing in\n{head}"));
    STAGES.map(|(stage, _)| {
        let entry = header.split(", ").find_map(|entry| entry.strip_prefix(stage)?.strip_prefix(";dur="));
        let milliseconds: f64 = entry.and_then(|text| text.parse().ok()).expect("a stage with its duration");
        milliseconds * 1e3
    })
}

/// Microseconds of processor time of the whole process for a request of one client.
fn of_one_client(gateway: &Gateway, query: &str) -> f64 {
    let mut client = Client::new(&gateway.subject.url, query, "");
    client.ask();
    let before = cpu_seconds(gateway.subject.pid());
    (0..UNTIMED).for_each(|_| drop(client.ask()));
    (cpu_seconds(gateway.subject.pid()) - before) * 1e6 / UNTIMED as f64
}

/// The same of many.
fn under_load(gateway: &Gateway, query: &str) -> f64 {
    let before = cpu_seconds(gateway.subject.pid());
    let load = format!("users = {CONNECTIONS}\nduration = \"{SECONDS}s\"");
    let result = gateway::run(&gateway.subject.url, query, &load);
    let used = cpu_seconds(gateway.subject.pid()) - before;
    let whole = result.window(WindowKind::Whole).expect("a result always holds the whole run");
    used * 1e6 / whole.all.requests as f64
}

/// A client with one connection, which asks the same again and again.
struct Client {
    reader: BufReader<TcpStream>,
    request: Vec<u8>,
}

impl Client {
    fn new(url: &str, query: &str, headers: &str) -> Self {
        let address = url.trim_start_matches("http://");
        let stream = TcpStream::connect(address).expect("the gateway listens");
        stream.set_nodelay(true).expect("it is a TCP stream");
        let body = serde_json::json!({ "query": query }).to_string();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        Self { reader: BufReader::new(stream), request: [head, body].concat().into_bytes() }
    }

    /// The head of the response, whose body has no errors.
    fn ask(&mut self) -> String {
        self.reader.get_mut().write_all(&self.request).expect("the gateway reads");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let count = self.reader.read_line(&mut head).expect("the gateway responds in lines");
            assert!(count > 0, "it ended: {head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or_else(|| panic!("no length in\n{head}"))];
        self.reader.read_exact(&mut body).expect("the gateway sends the whole response");
        assert!(body.starts_with(b"{\"data\":{"), "{}", String::from_utf8_lossy(&body));
        head
    }
}
