//! Clients that write, each over a connection of its own, one key after another, until they are told to stop. What they are told is kept.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// After a response that is no acknowledgement, or none, a client waits as long before it goes on, as people's clients do.
const PAUSE: Duration = Duration::from_millis(100);
/// Of a connection or response that does not come: longer than the server lets a statement wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
/// For how long all clients are waited for.
const SERVED_LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(20);
/// Each client's keys are its own.
const KEYS_OF_A_CLIENT: u64 = 10_000_000;

/// What became of a write, as the client is told. The texts begin with the status and what clients can match on, up to a colon.
#[derive(Debug)]
pub(crate) enum Fate {
    Acknowledged,
    /// Nothing was done.
    Refused(String),
    /// Nobody knows: the response says so, or there is none.
    Unknown(String),
}

/// How a key is written, and what a response says of it.
pub(crate) trait Call: Send + Sync + 'static {
    /// The whole request.
    fn request(&self, key: u64) -> Vec<u8>;
    fn fate(&self, status: u16, body: &str) -> Fate;
}

/// A write that was acknowledged; times are from the clients' start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    pub(crate) key: u64,
    pub(crate) at: Duration,
}

/// Another response, or that there was none.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) at: Duration,
    /// Of a write whose fate nobody knows.
    pub(crate) unknown: Option<u64>,
}

/// What clients were told.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) failures: Vec<Failure>,
}

pub(crate) struct Clients {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<Written>>,
}

struct Shared {
    begin: Instant,
    is_over: AtomicBool,
    /// When each client began its last write that was acknowledged, in microseconds from the start; 0 before the first.
    served: Vec<AtomicU64>,
}

pub(crate) fn client_of(key: u64) -> u64 {
    key / KEYS_OF_A_CLIENT
}

impl Clients {
    pub(crate) fn start(address: SocketAddr, call: impl Call, number: u64) -> Self {
        let served = (0..number).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { begin: Instant::now(), is_over: AtomicBool::new(false), served });
        let call = Arc::new(call);
        let threads = (0..number).map(|client| {
            let (shared, call) = (Arc::clone(&shared), Arc::clone(&call));
            let run = move || write(client, address, &*call, &shared);
            let thread = thread::Builder::new().stack_size(128 << 10).spawn(run);
            thread.expect("a thread for each client")
        });
        let threads = threads.collect();
        Self { shared, threads }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.shared.begin.elapsed()
    }

    /// From the clients' start.
    pub(crate) fn time_of(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.shared.begin)
    }

    /// Waits until each client has been told that a write has succeeded which it began behind `since`. How many have not, after a minute and
    /// a half.
    pub(crate) fn wait_for_all(&self, since: Duration) -> usize {
        let begin = Instant::now();
        loop {
            let since = since.as_micros() as u64;
            let is_unserved = |client: &&AtomicU64| client.load(Relaxed) <= since;
            let unserved = self.shared.served.iter().filter(is_unserved).count();
            if unserved == 0 || begin.elapsed() > SERVED_LIMIT {
                return unserved;
            }
            thread::sleep(POLL);
        }
    }

    pub(crate) fn stop(self) -> Written {
        self.shared.is_over.store(true, Relaxed);
        let mut all = Written::default();
        for thread in self.threads {
            let one = thread.join().expect("a client does not panic");
            all.acknowledged.extend(one.acknowledged);
            all.failures.extend(one.failures);
        }
        all.acknowledged.sort_unstable_by_key(|write| write.at);
        all
    }
}

fn write(client: u64, address: SocketAddr, call: &impl Call, shared: &Shared) -> Written {
    let mut written = Written::default();
    let mut connection = None;
    let mut key = client * KEYS_OF_A_CLIENT;
    while !shared.is_over.load(Relaxed) {
        key += 1;
        let began = shared.begin.elapsed();
        let fate = send(&mut connection, address, key, call);
        let at = shared.begin.elapsed();
        let (what, unknown) = match fate {
            Fate::Acknowledged => {
                written.acknowledged.push(Acknowledged { key, at });
                shared.served[client as usize].store((began.as_micros() as u64).max(1), Relaxed);
                continue;
            }
            Fate::Refused(what) => (what, None),
            Fate::Unknown(what) => (what, Some(key)),
        };
        written.failures.push(Failure { what, at, unknown });
        thread::sleep(PAUSE);
    }
    written
}

/// Over the connection that there is, or a new one; it is kept where the server keeps it.
fn send(
    connection: &mut Option<BufReader<TcpStream>>,
    address: SocketAddr,
    key: u64,
    call: &impl Call,
) -> Fate {
    let mut stream = match connection.take().map_or_else(|| connect(address), Ok) {
        Ok(stream) => stream,
        Err(error) => return Fate::Refused(format!("no connection: {:?}", error.kind())),
    };
    match exchange(&mut stream, &call.request(key)) {
        Ok(response) => {
            *connection = (!response.closes).then_some(stream);
            call.fate(response.status, &response.body)
        }
        Err(error) => Fate::Unknown(format!("no response: {:?}", error.kind())),
    }
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(BufReader::with_capacity(1024, stream))
}

#[derive(Default)]
struct Response {
    status: u16,
    body: String,
    /// The server takes nothing more over this connection.
    closes: bool,
}

fn exchange(stream: &mut BufReader<TcpStream>, request: &[u8]) -> io::Result<Response> {
    stream.get_mut().write_all(request)?;
    let (mut line, mut response, mut length) = (String::new(), Response::default(), 0);
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        } else if let Some(rest) = line.strip_prefix("http/1.1 ") {
            response.status = rest.get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("content-length:") {
            length = rest.trim().parse().unwrap_or(0);
        } else if line == "connection: close" {
            response.closes = true;
        } else if line.starts_with("transfer-encoding:") {
            return Err(io::ErrorKind::Unsupported.into());
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    response.body = String::from_utf8_lossy(&body).into_owned();
    Ok(response)
}
