//! A server to talk to, and a client that shows exactly what comes back.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use expect_test::Expect;
use http::{Request, Response};
use prony_graph::GraphKind;
use prony_postgres::PostgresKind;
use prony_server::{
    config::{self, CommandLine, Kinds, Reload, Reloaded, Settings},
    examples::donuts,
    resolvers::Resolvers,
    runtime::{self, Running},
};
use prony_sqlite::SqliteKind;
use prony_testkit::chinook::{SqliteCopy, sqlite_copy};

/// The kinds that tests serve.
pub(crate) static KINDS: Kinds<'static> = &[&SqliteKind, &PostgresKind, &GraphKind];

/// Long enough for a loaded machine; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) running: Running,
    _database: Option<SqliteCopy>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let database = sqlite_copy();
        let running = runtime::start(settings(&database.path(), change)).expect("the server starts");
        Self { running, _database: Some(database) }
    }

    /// Donuts, which raise an event with each mutation.
    pub(crate) fn donuts(change: impl FnOnce(&mut Settings)) -> Self {
        let running = donuts::server(local(change)).start().expect("the server starts");
        Self { running, _database: None }
    }

    /// Functions as a program serves them.
    pub(crate) fn functions(resolvers: Resolvers, change: impl FnOnce(&mut Settings)) -> Self {
        let server = prony_server::Server::with_settings(local(change), resolvers);
        Self { running: server.start().expect("the server starts"), _database: None }
    }

    /// Donuts, and beside them a function that answers all paths below a prefix.
    pub(crate) fn route(
        prefix: &str,
        handler: impl Fn(Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let server = donuts::server(local(|_| {})).route(prefix, handler);
        Self { running: server.start().expect("the server starts"), _database: None }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    pub(crate) fn connect(&self) -> Wire {
        Wire::to(self.address())
    }

    /// Asks for a metric again and again until it has the value, which is what the test waits for.
    pub(crate) fn until_metric(&self, name: &str, value: u64) {
        let deadline = Instant::now() + PATIENCE;
        let wanted = format!("{name}{{}} {value}.0");
        let mut wire = self.connect();
        loop {
            // One connection for all questions: those that end are counted for a moment more.
            wire.send(get("/metrics"));
            let metrics = wire.response();
            if metrics.lines().any(|line| line == wanted) {
                return;
            }
            let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            assert!(Instant::now() < deadline, "{line} is not {value}");
        }
    }

    /// One request over a connection of its own.
    pub(crate) fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut wire = self.connect();
        wire.send(request);
        wire.response()
    }
}

/// Settings without a source.
fn local(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings { cores: config::CoreChoice::Count(2), ..Settings::default() };
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    change(&mut settings);
    settings
}

pub(crate) fn settings(database: &Path, change: impl FnOnce(&mut Settings)) -> Settings {
    let line =
        CommandLine { sources: vec![format!("sqlite:{}", database.display())], ..CommandLine::default() };
    let mut settings = config::load(KINDS, None, line, &|_| None).expect("the source is right");
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    settings.cores = config::CoreChoice::Count(2);
    "chinook".clone_into(&mut settings.sources[0].name);
    change(&mut settings);
    settings
}

/// Configures the first source anew, with options as they stand in its section of a file.
pub(crate) fn give_options(settings: &mut Settings, options: &str) {
    give_options_to(settings, 0, options);
}

/// The same with another source.
pub(crate) fn give_options_to(settings: &mut Settings, place: usize, options: &str) {
    let source = &settings.sources[place];
    let text = format!("[[source]]\nurl = {:?}\nname = {:?}\n{options}\n", source.url.0, source.name);
    let file = Some((Path::new("prony.toml"), &*text));
    let with = config::load(KINDS, file, CommandLine::default(), &|_| None).expect("the options are right");
    settings.sources.splice(place..=place, with.sources);
}

/// The text of a configuration that is written anew while a server runs by it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rewritten(Arc<Mutex<Rewriting>>);

#[derive(Debug, Default)]
struct Rewriting {
    text: String,
    written: u64,
    /// Of those that were written, the last that a server has read.
    read: u64,
}

impl Rewritten {
    pub(crate) fn new(text: &str) -> Self {
        let new = Self::default();
        new.write(text);
        new
    }

    fn lock(&self) -> MutexGuard<'_, Rewriting> {
        self.0.lock().expect("no test panics with it")
    }

    pub(crate) fn text(&self) -> String {
        self.lock().text.clone()
    }

    pub(crate) fn write(&self, text: &str) {
        let mut rewriting = self.lock();
        text.clone_into(&mut rewriting.text);
        rewriting.written += 1;
    }

    /// Writes what has a mistake, and waits until a server has read it and had the time to take it.
    pub(crate) fn write_mistake(&self, text: &str) {
        self.write(text);
        let deadline = Instant::now() + PATIENCE;
        let is_read = || {
            let rewriting = self.lock();
            rewriting.read == rewriting.written
        };
        while !is_read() {
            assert!(Instant::now() < deadline, "nobody reads it");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
    }

    /// For settings of a server, with what makes settings of the text.
    pub(crate) fn reload<R: Into<Reloaded>>(
        &self,
        read: impl Fn(&str) -> Result<R, String> + Send + Sync + 'static,
    ) -> Reload {
        let (to_read, to_stamp) = (self.clone(), self.clone());
        let read = move || {
            let text = {
                let mut rewriting = to_read.lock();
                rewriting.read = rewriting.written;
                rewriting.text.clone()
            };
            read(&text)
        };
        Reload::new(read, move || Some(SystemTime::UNIX_EPOCH + Duration::from_secs(to_stamp.lock().written)))
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire<S = TcpStream> {
    pub(crate) stream: S,
    received: Vec<u8>,
}

impl Wire {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self::over(tcp(address))
    }
}

/// A socket whose reads end.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("the timeout is not zero");
    stream.set_nodelay(true).expect("TCP has the option");
    stream
}

impl<S: Read + Write> Wire<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, received: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("the server reads");
    }

    /// The next response without its body's length and date, which say nothing.
    pub(crate) fn response(&mut self) -> String {
        let (head, body) = self.head_and_body();
        let telling = |line: &&str| !line.starts_with("content-length: ") && !line.starts_with("date: ");
        let head: Vec<&str> = head.lines().filter(telling).collect();
        format!("{}\n{body}\n", head.join("\n").trim_end())
    }

    /// The next response as it comes.
    pub(crate) fn head_and_body(&mut self) -> (String, String) {
        let head_end = loop {
            if let Some(found) = self.received.windows(4).position(|window| window == b"\r\n\r\n") {
                break found + 4;
            }
            assert!(self.read() > 0, "closed after {:?}", String::from_utf8_lossy(&self.received));
        };
        let head = String::from_utf8(self.received[..head_end].to_vec()).expect("heads are ASCII");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
            .unwrap_or(0);
        while self.received.len() < head_end + length {
            assert!(self.read() > 0, "closed in the middle of a body");
        }
        let rest = self.received.split_off(head_end + length);
        let body = String::from_utf8(self.received[head_end..].to_vec()).expect("bodies are UTF-8");
        self.received = rest;
        (head, body)
    }

    /// What comes until the server closes; an error of the connection counts as its end.
    pub(crate) fn rest(&mut self) -> String {
        while self.read() > 0 {}
        String::from_utf8_lossy(&std::mem::take(&mut self.received)).into_owned()
    }

    /// What has come when `end` has; a stream has no length to wait for.
    pub(crate) fn until(&mut self, end: &str) -> String {
        let mut from = 0;
        loop {
            let found = self.received[from..].windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(found) = found {
                let rest = self.received.split_off(from + found + end.len());
                let text = String::from_utf8(std::mem::replace(&mut self.received, rest));
                return text.expect("streams are UTF-8");
            }
            from = self.received.len().saturating_sub(end.len());
            assert!(self.read() > 0, "closed after {:?}", String::from_utf8_lossy(&self.received));
        }
    }

    /// The body of the next response, which succeeds and comes in chunks.
    pub(crate) fn chunked(&mut self) -> String {
        let head = self.until("\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("transfer-encoding: chunked"), "{head}");
        let mut body = String::new();
        loop {
            let size = self.until("\r\n");
            let size = usize::from_str_radix(size.trim_end(), 16).expect("a chunk has a size");
            let chunk = self.exactly(size + 2);
            if size == 0 {
                return body;
            }
            body.push_str(&chunk[..size]);
        }
    }

    /// The next so many bytes.
    pub(crate) fn exactly(&mut self, bytes: usize) -> String {
        while self.received.len() < bytes {
            assert!(self.read() > 0, "closed after {:?}", String::from_utf8_lossy(&self.received));
        }
        let rest = self.received.split_off(bytes);
        let text = String::from_utf8(std::mem::replace(&mut self.received, rest));
        text.expect("streams are UTF-8")
    }

    fn read(&mut self) -> usize {
        let mut piece = [0; 8192];
        match self.stream.read(&mut piece) {
            Ok(count) => {
                self.received.extend_from_slice(&piece[..count]);
                count
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
            // Of TLS, without its own word of the end.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => 0,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => self.read(),
            Err(error) => {
                panic!("nothing came: {error}; so far {:?}", String::from_utf8_lossy(&self.received))
            }
        }
    }
}

pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// A GraphQL request by POST.
pub(crate) fn post(body: &str) -> String {
    post_with("content-type: application/json\r\n", body)
}

pub(crate) fn post_with(headers: &str, body: &str) -> String {
    format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A GraphQL request with only a query.
pub(crate) fn query(text: &str) -> String {
    post(&serde_json::json!({ "query": text }).to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the bytes beside it")]
pub(crate) fn check(server: &Server, request: impl AsRef<[u8]>, expected: Expect) {
    expected.assert_eq(&server.ask(request));
}
