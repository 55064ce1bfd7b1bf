//! A thousand clients that write, each over a connection of its own, one key after another, until they are told to stop. What they are told
//! is kept.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

pub(crate) const CLIENTS: u64 = 1_000;

/// After an answer that is no acknowledgement, or none, a client waits as long before it goes on, as people's clients do.
const PAUSE: Duration = Duration::from_millis(100);
/// Of a connection or response that does not come.
const PATIENCE: Duration = Duration::from_secs(15);
/// Each client's keys are its own.
const KEYS_OF_A_CLIENT: u64 = 10_000_000;

/// What became of a write.
pub(crate) enum Fate {
    Acknowledged,
    /// Refused in words that promise that nothing was done.
    Refused(String),
    /// Nobody knows, and the answer says so, or there is none.
    Unknown(String),
}

/// How a key is written, and what an answer says of it.
pub(crate) trait Call: Send + Sync + 'static {
    /// The whole request.
    fn request(&self, key: u64) -> Vec<u8>;
    fn fate(&self, status: u16, body: &str) -> Fate;
}

/// What all clients were told.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Keys, and when their acknowledgement came, from the clients' start.
    pub(crate) acknowledged: Vec<(u64, Duration)>,
    pub(crate) unknown: Vec<u64>,
    /// Other answers by what they say.
    pub(crate) others: BTreeMap<String, u64>,
    /// How long the clients wrote.
    pub(crate) lasted: Duration,
}

pub(crate) struct Clients {
    begin: Instant,
    is_over: Arc<AtomicBool>,
    all: Arc<Mutex<Written>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Clients {
    pub(crate) fn start(address: SocketAddr, call: impl Call) -> Self {
        let (begin, is_over, all) =
            (Instant::now(), Arc::<AtomicBool>::default(), Arc::<Mutex<Written>>::default());
        let call = Arc::new(call);
        let threads = (0..CLIENTS).map(|client| {
            let (is_over, all, call) = (Arc::clone(&is_over), Arc::clone(&all), Arc::clone(&call));
            let run = move || {
                let written = write(client, address, &*call, begin, &is_over);
                all.lock().unwrap_or_else(PoisonError::into_inner).add(written);
            };
            let thread = thread::Builder::new().stack_size(128 << 10).spawn(run);
            thread.expect("a thousand threads are few")
        });
        let threads = threads.collect();
        Self { begin, is_over, all, threads }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(crate) fn stop(self) -> Written {
        let lasted = self.begin.elapsed();
        self.is_over.store(true, Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("a client does not panic"));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        Written { lasted, ..std::mem::take(&mut all) }
    }
}

impl Written {
    fn add(&mut self, one: Self) {
        self.acknowledged.extend(one.acknowledged);
        self.unknown.extend(one.unknown);
        for (what, count) in one.others {
            *self.others.entry(what).or_default() += count;
        }
    }
}

fn write(
    client: u64,
    address: SocketAddr,
    call: &impl Call,
    begin: Instant,
    is_over: &AtomicBool,
) -> Written {
    let mut written = Written::default();
    let mut connection = None;
    let mut key = client * KEYS_OF_A_CLIENT;
    while !is_over.load(Relaxed) {
        key += 1;
        let mut stream = match connection.take().map_or_else(|| connect(address), Ok) {
            Ok(stream) => stream,
            Err(error) => {
                *written.others.entry(format!("no connection ({:?})", error.kind())).or_default() += 1;
                thread::sleep(PAUSE);
                continue;
            }
        };
        let fate = match exchange(&mut stream, &call.request(key)) {
            Ok((status, body)) => {
                connection = Some(stream);
                call.fate(status, &body)
            }
            Err(error) => Fate::Unknown(format!("no response ({:?})", error.kind())),
        };
        let what = match fate {
            Fate::Acknowledged => {
                written.acknowledged.push((key, begin.elapsed()));
                continue;
            }
            Fate::Refused(what) => what,
            Fate::Unknown(what) => {
                written.unknown.push(key);
                what
            }
        };
        *written.others.entry(what).or_default() += 1;
        thread::sleep(PAUSE);
    }
    written
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(BufReader::with_capacity(1024, stream))
}

/// Status and body.
fn exchange(stream: &mut BufReader<TcpStream>, request: &[u8]) -> io::Result<(u16, String)> {
    stream.get_mut().write_all(request)?;
    let (mut line, mut status, mut length) = (String::new(), 0, 0);
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        } else if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest.get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("content-length:") {
            length = rest.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}
