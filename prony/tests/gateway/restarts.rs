//! A service that is killed and started again at random moments while a gateway in front of it is asked: no response is another's, no
//! mutation is sent twice, and every error says what has happened.

use std::{
    collections::{HashMap, HashSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use prony_testkit::Seeded;
use rand::RngExt as _;
use serde_json::{Value, json};
use socket2::SockRef;

use super::server::{PATIENCE, Server};

/// How often the service is killed, where the environment does not say.
const RESTARTS: usize = 10;
const CLIENTS: usize = 4;
const SDL: &str =
    "type Query { echo(token: String!): String } type Mutation { once(token: String!): String }";

/// What the service knows for ever, however often it is killed.
#[derive(Default)]
struct Known {
    /// How often each token has come with a mutation.
    mutations: Mutex<HashMap<String, usize>>,
}

/// A service of GraphQL from one start to the next kill.
struct Service {
    is_over: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    acceptor: JoinHandle<()>,
}

impl Service {
    fn start(address: SocketAddr, known: &Arc<Known>) -> (Self, SocketAddr) {
        let begun = Instant::now();
        let listener = loop {
            match TcpListener::bind(address) {
                Ok(listener) => break listener,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            thread::sleep(Duration::from_millis(1));
        };
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("it can be asked without waiting");
        let (is_over, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (over, accepted, known) = (Arc::clone(&is_over), Arc::clone(&connections), Arc::clone(known));
        let acceptor = thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let Ok((stream, _)) = listener.accept() else {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                };
                stream.set_nonblocking(false).expect("it can be waited for");
                let own = stream.try_clone().expect("there are descriptors");
                accepted.lock().expect("no thread panics with it").push(own);
                let known = Arc::clone(&known);
                thread::spawn(move || serve(&stream, &known));
            }
        });
        (Self { is_over, connections, acceptor }, address)
    }

    /// As the kernel ends a process: at once, in the middle of whatever is written.
    fn kill(self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.acceptor.join().expect("it has not panicked");
        for stream in self.connections.lock().expect("no thread panics with it").drain(..) {
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Responds to each request with its own token, in pieces.
fn serve(stream: &TcpStream, known: &Known) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().expect("it is a number");
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8(body).expect("requests are text");
        let token = body.split("token-").nth(1).expect("each request has a token");
        let token: String = token.chars().take_while(char::is_ascii_digit).collect();
        let field = if body.contains("once") { "once" } else { "echo" };
        if field == "once" {
            *known.mutations.lock().expect("no thread panics with it").entry(token.clone()).or_insert(0) += 1;
        }
        let content = format!("{{\"data\":{{\"{field}\":\"token-{token}\"}}}}");
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{content}",
            content.len()
        );
        let middle = response.len() - content.len() / 2;
        for piece in [&response[..40], &response[40..middle], &response[middle..]] {
            if writer.write_all(piece.as_bytes()).is_err() {
                return;
            }
            thread::sleep(Duration::from_micros(300));
        }
    }
}

/// What one client was told.
#[derive(Default)]
struct Told {
    right: usize,
    failed: usize,
    /// Tokens of mutations that have succeeded.
    written: Vec<String>,
}

/// Asks until it is over; whatever is neither the own response nor an error that says why is none.
fn ask(gateway: &Server, tokens: &AtomicU64, is_over: &AtomicBool) -> Told {
    let mut told = Told::default();
    while !is_over.load(Ordering::SeqCst) {
        let number = tokens.fetch_add(1, Ordering::SeqCst);
        let token = format!("token-{number}");
        let (query, field) = match number % 3 {
            0 => ("mutation ($t: String!) { once(token: $t) }", "once"),
            1 => ("query ($t: String!) { echo(token: $t) }", "echo"),
            // Not forwarded as it is.
            _ => ("query ($t: String!) { __typename echo(token: $t) }", "echo"),
        };
        let response = gateway.graphql_with(query, &json!({ "t": token }));
        if response["data"][field] == token {
            assert!(response["errors"].is_null(), "{response}");
            told.right += 1;
            if field == "once" {
                told.written.push(number.to_string());
            }
            continue;
        }
        assert!(response["data"][field].is_null(), "{token} has another's response: {response}");
        let errors = response["errors"].as_array().map_or(&[][..], Vec::as_slice);
        let code = |error: &Value| error["extensions"]["code"].as_str().unwrap_or_default().to_owned();
        assert!(
            matches!(errors, [error] if ["SOURCE_UNAVAILABLE", "OUTCOME_UNKNOWN", "TIMEOUT", "OVERLOADED"].contains(&&*code(error))),
            "{token}: {response}"
        );
        assert!(code(&errors[0]) != "OUTCOME_UNKNOWN" || field == "once", "{response}");
        told.failed += 1;
    }
    told
}

#[test]
fn a_service_that_is_killed_under_load_gives_no_wrong_response_and_gets_no_mutation_twice() {
    let restarts =
        std::env::var("PRONY_RESTARTS").ok().and_then(|count| count.parse().ok()).unwrap_or(RESTARTS);
    let mut chance = Seeded::new();
    let known = Arc::new(Known::default());
    let (mut service, address) = Service::start(SocketAddr::from(([127, 0, 0, 1], 0)), &known);
    let directory = tempfile::tempdir().expect("a directory can be made");
    let schema = directory.path().join("schema.graphql");
    std::fs::write(&schema, SDL).expect("the file can be written");
    let text = format!(
        "[[source]]\nname = \"killed\"\nupstream = \"http://{address}/graphql\"\nschema_file = {:?}\n\
         breaker_failures = 3\nbreaker_open_ms = 20\n",
        schema.display()
    );
    let gateway = Server::configured(&directory, &text);
    let (tokens, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut recoveries = Vec::new();
    let told = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| ask(&gateway, &tokens, &is_over))).collect();
        for _ in 0..restarts {
            thread::sleep(Duration::from_micros(chance.random_range(1_000..60_000)));
            service.kill();
            thread::sleep(Duration::from_micros(chance.random_range(0..40_000)));
            let restarted = Instant::now();
            (service, _) = Service::start(address, &known);
            gateway.wait_until("it is asked again", |gateway| {
                let probe = json!({"t": format!("token-{}", u64::MAX)});
                let response = gateway.graphql_with("query ($t: String!) { echo(token: $t) }", &probe);
                response["errors"].is_null()
            });
            recoveries.push(restarted.elapsed());
        }
        is_over.store(true, Ordering::SeqCst);
        let told: Vec<Told> =
            clients.into_iter().map(|client| client.join().expect("it was told nothing wrong")).collect();
        service.kill();
        told
    });
    let mutations = known.mutations.lock().expect("no thread panics with it");
    let twice: Vec<_> = mutations.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "mutations were sent twice: {twice:?}");
    let written: HashSet<&String> = told.iter().flat_map(|told| &told.written).collect();
    assert!(
        written.iter().all(|token| mutations.contains_key(*token)),
        "a mutation that was not sent has succeeded"
    );
    let (right, failed) =
        told.iter().fold((0, 0), |(right, failed), told| (right + told.right, failed + told.failed));
    let longest = recoveries.iter().max().copied().unwrap_or_default();
    assert!(right > restarts && longest < Duration::from_secs(10), "{right} {failed} {longest:?}");
    println!(
        "{restarts} restarts: {right} responses, {failed} errors, asked again after at most {longest:?}"
    );
}
