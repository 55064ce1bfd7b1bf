//! Slow clients beside fast ones: does the gateway keep the fast ones' latency while thousands send their requests byte by byte, or read
//! their responses so?

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use crate::{
    ROUNDS,
    gateway::{Gateway, OPERATIONS, backend, percentile_ms, run},
    process::resident_mb,
    statistics::{median, median_ratio, print_table},
};

const SLOW: usize = 10_000;
const FAST: u32 = 1_000;
/// Of all fast clients: a load that the gateway carries with room.
const PER_SECOND: u32 = 2_000;
const RUN_SECONDS: u32 = 10;
/// Each slow client sends a byte, or reads a few, so often.
const PACE: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 64;

pub(crate) fn beside_fast_ones() {
    raise_descriptor_limit();
    let backend = backend();
    let gateway = Gateway::before(&backend.url, "");
    let address: SocketAddr = gateway.subject.url.trim_start_matches("http://").parse().expect("an address");
    let load = format!("users = {FAST}\nrate = {PER_SECOND}\nduration = \"{RUN_SECONDS}s\"");
    let fast = || {
        let result = run(&gateway.subject.url, OPERATIONS[0].1, &load);
        [50.0, 99.0, 99.9].map(|percentile| percentile_ms(&result, percentile))
    };
    let (mut alone, mut beside, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    let (mut open, mut reopened) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        alone.push(fast());
        let crowd = Crowd::start(address);
        open.push(crowd.wait() as f64);
        beside.push(fast());
        resident.push(resident_mb(gateway.subject.pid()));
        reopened += crowd.stop();
    }
    let column = |runs: &[[f64; 3]], at: usize| runs.iter().map(|run| run[at]).collect::<Vec<_>>();
    let mut rows = vec![["", "alone", "beside slow ones", "ratio"].map(str::to_owned).to_vec()];
    for (at, name) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        let (alone, beside) = (column(&alone, at), column(&beside, at));
        rows.push(vec![
            name.to_owned(),
            format!("{:.2} ms", median(&alone)),
            format!("{:.2} ms", median(&beside)),
            format!("{:.2}", median_ratio(&beside, &alone)),
        ]);
    }
    println!(
        "{FAST} clients, {PER_SECOND} requests a second, beside {:.0} slow ones (half send a byte a second, half read {READ_BYTES}); \
         {reopened} were ended by the gateway and came again; medians of {ROUNDS}; the gateway has {:.0} MB then\n",
        median(&open),
        median(&resident)
    );
    print_table(&rows);
}

/// Slow clients on a thread of their own.
struct Crowd {
    is_over: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
    thread: JoinHandle<usize>,
}

impl Crowd {
    fn start(address: SocketAddr) -> Self {
        let (is_over, open) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (over, counted) = (Arc::clone(&is_over), Arc::clone(&open));
        let thread = thread::spawn(move || be_slow(address, &over, &counted));
        Self { is_over, open, thread }
    }

    /// Until all are connected; how many.
    fn wait(&self) -> usize {
        let begun = Instant::now();
        while self.open.load(Relaxed) < SLOW {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} are open", self.open.load(Relaxed));
            thread::sleep(Duration::from_millis(50));
        }
        self.open.load(Relaxed)
    }

    /// How many were ended by the gateway.
    fn stop(self) -> usize {
        self.is_over.store(true, Relaxed);
        self.thread.join().expect("slow clients do not panic")
    }
}

/// One slow client; of its request so many bytes are sent.
struct SlowClient {
    stream: TcpStream,
    request: Vec<u8>,
    sent: usize,
}

fn be_slow(address: SocketAddr, is_over: &AtomicBool, open: &AtomicUsize) -> usize {
    let mut clients: Vec<SlowClient> = Vec::with_capacity(SLOW);
    let mut ended = 0;
    while !is_over.load(Relaxed) {
        let round = Instant::now();
        // All at once would be more than the gateway lets wait for its backend.
        let wanted = (clients.len() + SLOW / 20).min(SLOW);
        while clients.len() < wanted && !is_over.load(Relaxed) {
            clients.push(SlowClient::connect(address, clients.len().is_multiple_of(2)));
            open.store(clients.len(), Relaxed);
        }
        let before = clients.len();
        clients.retain_mut(SlowClient::go_on);
        ended += before - clients.len();
        thread::sleep(PACE.saturating_sub(round.elapsed()));
    }
    ended
}

impl SlowClient {
    /// One that sends slowly has all of its head sent at once, and one that reads slowly the whole request.
    fn connect(address: SocketAddr, sends_slowly: bool) -> Self {
        let body = serde_json::json!({ "query": OPERATIONS[2].1 }).to_string();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are descriptors");
        // Small, so that the rest of the response stays with the gateway.
        socket.set_recv_buffer_size(4_096).expect("a size that the system knows");
        socket.connect(&address.into()).expect("the gateway listens");
        socket.set_nonblocking(true).expect("a socket can be asked without waiting");
        let sent = if sends_slowly { head.len() } else { head.len() + body.len() };
        let mut client = Self { stream: socket.into(), request: [head, body].concat().into_bytes(), sent };
        let _ = client.stream.write(&client.request[..sent]);
        client
    }

    /// False when the gateway has ended the connection.
    fn go_on(&mut self) -> bool {
        if self.sent < self.request.len() {
            let written = self.stream.write(&self.request[self.sent..=self.sent]);
            self.sent += 1;
            return written.is_ok();
        }
        match self.stream.read(&mut [0; READ_BYTES]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }
}

fn raise_descriptor_limit() {
    const WANTED: u64 = 12_000;
    let hard = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit { current: hard, maximum: hard };
    let raised = setrlimit(Resource::Nofile, limit).is_ok();
    assert!(raised && hard.is_none_or(|hard| hard >= WANTED), "{WANTED} open files are needed, not {hard:?}");
}
