//! A collector of traces for tests: takes OTLP over HTTP and reads it by a schema of its own.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, Value};

/// Long enough for a loaded machine; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Export {
    pub(crate) head: String,
    pub(crate) resource: BTreeMap<String, String>,
    pub(crate) spans: Vec<Span>,
    /// As it came, decompressed.
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) state: String,
    pub(crate) name: String,
    /// 1 internal, 2 server, 3 client.
    pub(crate) kind: u32,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) has_failed: bool,
    pub(crate) flags: u32,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    exports: Arc<Mutex<Vec<Export>>>,
    is_over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

/// What it responds with: the first, then the next, and with success from then on.
pub(crate) type Responses = Vec<Vec<u8>>;

pub(crate) const SUCCESS: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";

impl Collector {
    pub(crate) fn start() -> Self {
        Self::responding("127.0.0.1:0".parse().expect("it is an address"), Vec::new())
    }

    pub(crate) fn responding(address: SocketAddr, responses: Responses) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("sockets have it");
        let (exports, is_over) = (Arc::<Mutex<Vec<Export>>>::default(), Arc::<AtomicBool>::default());
        let (kept, over) = (Arc::clone(&exports), Arc::clone(&is_over));
        let responses = Arc::new(Mutex::new(responses.into_iter()));
        let acceptor = thread::spawn(move || {
            while !over.load(Relaxed) {
                let Ok((stream, _)) = listener.accept() else {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                };
                let (kept, responses) = (Arc::clone(&kept), Arc::clone(&responses));
                thread::spawn(move || {
                    let mut next = || responses.lock().expect("no test has panicked with it").next();
                    serve(stream, &kept, &mut next);
                });
            }
        });
        Self { address, exports, is_over, acceptor: Some(acceptor) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn exports(&self) -> Vec<Export> {
        self.exports.lock().expect("no test has panicked with it").clone()
    }

    /// What has come is of no interest any more.
    pub(crate) fn forget(&self) {
        self.exports.lock().expect("no test has panicked with it").clear();
    }

    /// All spans that have come.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.exports().into_iter().flat_map(|export| export.spans).collect()
    }

    /// The spans of the trace to which a span belongs for which this holds, once that has come.
    pub(crate) fn trace_with(&self, what: &str, is_it: impl Fn(&Span) -> bool) -> Vec<Span> {
        let begun = Instant::now();
        loop {
            let all = self.spans();
            if let Some(found) = all.iter().find(|span| is_it(span)) {
                return all.iter().filter(|span| span.trace == found.trace).cloned().collect();
            }
            assert!(begun.elapsed() < PATIENCE, "{what} has not come, but {all:#?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Export>>, next: &mut dyn FnMut() -> Option<Vec<u8>>) {
    stream.set_nonblocking(false).expect("sockets have it");
    stream.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
    let mut bytes = Vec::new();
    loop {
        let Some((head, body, rest)) = request(&mut stream, bytes) else { return };
        bytes = rest;
        let response = next();
        // What it does not take is as if it had not come.
        if response.as_ref().is_none_or(|response| response.starts_with(b"HTTP/1.1 200")) {
            kept.lock().expect("no test has panicked with it").push(read(head, body));
        }
        if stream.write_all(response.as_deref().unwrap_or(SUCCESS)).is_err() {
            return;
        }
    }
}

/// Head, body, and what is behind them.
fn request(stream: &mut TcpStream, mut bytes: Vec<u8>) -> Option<(String, Vec<u8>, Vec<u8>)> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).expect("heads are text").to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().expect("it is a number"));
            if bytes.len() >= end + 4 + length {
                let rest = bytes.split_off(end + 4 + length);
                return Some((head, bytes.split_off(end + 4), rest));
            }
        }
        let mut piece = [0; 8 << 10];
        match stream.read(&mut piece) {
            Ok(count @ 1..) => bytes.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
}

fn read(head: String, body: Vec<u8>) -> Export {
    let mut bytes = Vec::new();
    if head.contains("content-encoding: gzip") {
        GzDecoder::new(&body[..]).read_to_end(&mut bytes).expect("it is gzip");
    } else {
        bytes = body;
    }
    let message = DynamicMessage::decode(
        pool().get_message_by_name("otlp.ExportRequest").expect("it is there"),
        &*bytes,
    );
    let message = message.expect("it is OTLP");
    let resources = list(&message, "resource_spans");
    let resource = resources.first().map(|first| attributes(&child(first, "resource"))).unwrap_or_default();
    let scopes = resources.iter().flat_map(|resource| list(resource, "scope_spans"));
    let spans = scopes.flat_map(|scope| list(&scope, "spans")).map(|span| read_span(&span)).collect();
    Export { head, resource, spans, bytes }
}

fn pool() -> DescriptorPool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let set = protox::compile(["trace.proto"], [folder]).expect("the schema is valid");
    DescriptorPool::from_file_descriptor_set(set).expect("the schema is valid")
}

fn field(message: &DynamicMessage, name: &str) -> Value {
    assert!(message.descriptor().get_field_by_name(name).is_some(), "{name}");
    message.get_field_by_name(name).map(Cow::into_owned).expect("the schema has it")
}

fn child(message: &DynamicMessage, name: &str) -> DynamicMessage {
    field(message, name).as_message().expect("it is a message").clone()
}

fn list(message: &DynamicMessage, name: &str) -> Vec<DynamicMessage> {
    let list = field(message, name);
    let items = list.as_list().expect("it is a list").iter();
    items.map(|item| item.as_message().expect("it is a message").clone()).collect()
}

fn text(message: &DynamicMessage, name: &str) -> String {
    field(message, name).as_str().expect("it is a text").to_owned()
}

fn hexadecimal(message: &DynamicMessage, name: &str) -> String {
    let bytes = field(message, name);
    bytes
        .as_bytes()
        .expect("it has bytes")
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn attributes(message: &DynamicMessage) -> BTreeMap<String, String> {
    let pair = |pair: DynamicMessage| {
        let value = child(&pair, "value");
        let found = text(&value, "string_value");
        let number = || field(&value, "int_value").as_i64().expect("it is a number").to_string();
        (text(&pair, "key"), if found.is_empty() { number() } else { found })
    };
    list(message, "attributes").into_iter().map(pair).collect()
}

fn read_span(message: &DynamicMessage) -> Span {
    let number = |name: &str| field(message, name).as_u64().expect("it is a number");
    Span {
        trace: hexadecimal(message, "trace_id"),
        id: hexadecimal(message, "span_id"),
        parent: hexadecimal(message, "parent_span_id"),
        state: text(message, "trace_state"),
        name: text(message, "name"),
        kind: field(message, "kind").as_u32().expect("it is a number"),
        began: number("start_time_unix_nano"),
        ended: number("end_time_unix_nano"),
        attributes: attributes(message),
        has_failed: field(&child(message, "status"), "code").as_u32() == Some(2),
        flags: field(message, "flags").as_u32().expect("it is a number"),
    }
}

/// Each span with what stands above it: `name < parent's name`, those that began first before the others.
pub(crate) fn tree(spans: &[Span]) -> Vec<String> {
    let parent = |span: &Span| spans.iter().find(|other| other.id == span.parent);
    // Stages and what happens within them are timed by two clocks, so that what is within may begin some microseconds before.
    let place = |span: &&Span| {
        let around: Vec<&Span> = std::iter::successors(parent(span), |span| parent(span)).collect();
        let began = around.iter().map(|span| span.began).fold(span.began, Ord::max);
        (began, around.len(), std::cmp::Reverse(span.ended))
    };
    let mut sorted: Vec<&Span> = spans.iter().collect();
    sorted.sort_by_key(place);
    let above = |span: &Span| {
        let above = spans.iter().find(|other| other.id == span.parent);
        above.map_or_else(|| "-".to_owned(), |above| above.name.clone())
    };
    sorted.iter().map(|span| format!("{} < {}", span.name, above(span))).collect()
}

pub(crate) fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {:#?}", tree(spans)))
}
