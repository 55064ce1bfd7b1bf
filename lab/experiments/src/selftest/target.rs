//! The built-in target: a server whose faults are known because they are asked for by path, with a log of its own.
//!
//! | path | does |
//! |---|---|
//! | `/fixed/MS` | answers after so many milliseconds |
//! | `/stall/MS` | the same, but is frozen for 1 s in every 5 s, counted from the first such request |
//! | `/reset/N` | resets the connection of every N-th such request, answers the others at once |
//! | `/slow/N/MS` | answers in N pieces, so many milliseconds before each |
//! | `/log` | gives the log of all others and empties it |
//!
//! A thread a connection and blocking calls, on purpose: nothing here is shared with what it tests.

use super::log::{Ending, Entry};
use prony_model::Nanos;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const LOG_PATH: &str = "/log";
/// Frozen from here to there, in every period.
pub(super) const FREEZE_FROM: Nanos = Nanos::from_secs(2);
pub(super) const FREEZE_TO: Nanos = Nanos::from_secs(3);
pub(super) const FREEZE_PERIOD: Nanos = Nanos::from_secs(5);
/// Of each answer, however it is sent.
const BODY: &[u8] = b"0123456789012345678901234567890123456789";
/// A thread for each connection reads one small request at a time.
const STACK_BYTES: usize = 64 * 1024;
const REQUEST_BYTES_MAX: usize = 8 * 1024;

/// Serves on a free port of 127.0.0.1, says so on standard output, and returns when standard input ends.
pub fn serve() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let line = format!("{}{}\n", super::READY, listener.local_addr()?);
    io::stdout().write_all(line.as_bytes())?;
    io::stdout().flush()?;
    let shared = Arc::new(Shared {
        begin: Instant::now(),
        stalls_from: Mutex::new(None),
        resets: AtomicU64::new(0),
        log: Mutex::new(Vec::new()),
    });
    thread::spawn(move || accept(&listener, &shared));
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming().flatten() {
        let shared = Arc::clone(shared);
        let serve = move || {
            // A client that is gone is no fault of the target.
            let _ = serve_connection(stream, &shared);
        };
        // Without a thread the connection is closed, which the lab counts.
        let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn(serve);
    }
}

struct Shared {
    begin: Instant,
    /// When the first request came that may meet a stall, since the log was last emptied.
    stalls_from: Mutex<Option<Nanos>>,
    resets: AtomicU64,
    log: Mutex<Vec<Entry>>,
}

impl Shared {
    fn now(&self) -> Nanos {
        Nanos(self.begin.elapsed().as_nanos() as u64)
    }

    fn log(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.log.lock().expect("nothing panics while it holds the log")
    }

    fn note(&self, start: Option<u64>, arrived: Nanos, ended: Nanos, ending: Ending) {
        self.log().push(Entry { start, arrived, ended, ending });
    }

    fn stalls_from(&self) -> MutexGuard<'_, Option<Nanos>> {
        self.stalls_from.lock().expect("nothing panics while it holds the time")
    }

    /// When a request that is ready at this moment can be answered.
    fn thawed(&self, ready: Nanos) -> Nanos {
        let from = *self.stalls_from().get_or_insert(ready);
        let within = Nanos(ready.since(from).0 % FREEZE_PERIOD.0);
        let is_frozen = (FREEZE_FROM..FREEZE_TO).contains(&within);
        if is_frozen { ready.plus(FREEZE_TO.since(within)) } else { ready }
    }

    fn take_log(&self) -> String {
        *self.stalls_from() = None;
        self.resets.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.log()).iter().fold(String::new(), |mut text, entry| {
            let _ = writeln!(text, "{entry}");
            text
        })
    }
}

fn serve_connection(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(path) = read_path(&mut stream)? {
        let arrived = shared.now();
        let (path, start) = split_start(&path);
        let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0_u64);
        match words.first().copied() {
            Some("fixed") => sleep_until(shared, arrived.plus(Nanos::from_millis(number(1)))),
            Some("stall") => {
                sleep_until(shared, shared.thawed(arrived));
                sleep_until(shared, shared.now().plus(Nanos::from_millis(number(1))));
            }
            Some("slow") => {
                write_slowly(&mut stream, number(1) as usize, Duration::from_millis(number(2)))?;
                shared.note(start, arrived, shared.now(), Ending::Answered);
                continue;
            }
            Some("reset") => {
                let count = shared.resets.fetch_add(1, Ordering::Relaxed) + 1;
                if count.is_multiple_of(number(1).max(1)) {
                    shared.note(start, arrived, shared.now(), Ending::Reset);
                    return reset(&stream);
                }
            }
            Some("log") => return stream.write_all(whole(shared.take_log().as_bytes()).as_slice()),
            _ => return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        }
        // Noted first: who has its answer may ask for the log.
        shared.note(start, arrived, shared.now(), Ending::Answered);
        stream.write_all(&whole(BODY))?;
    }
    Ok(())
}

fn sleep_until(shared: &Shared, moment: Nanos) {
    thread::sleep(Duration::from_nanos(moment.since(shared.now()).0));
}

fn whole(body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn write_slowly(stream: &mut TcpStream, pieces: usize, pause: Duration) -> io::Result<()> {
    let answer = whole(BODY);
    for piece in answer.chunks(answer.len().div_ceil(pieces.max(1))) {
        thread::sleep(pause);
        stream.write_all(piece)?;
    }
    Ok(())
}

/// A linger time of zero makes closing send RST.
fn reset(stream: &TcpStream) -> io::Result<()> {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
    Ok(())
}

/// `/stall/10?n=7` is the request of start 7.
fn split_start(path: &str) -> (&str, Option<u64>) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    (path, query.strip_prefix("n=").and_then(|number| number.parse().ok()))
}

/// The path of the next request; nothing where the client closes. Requests have no bodies.
fn read_path(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut buffer)?;
        if count == 0 || head.len() > REQUEST_BYTES_MAX {
            return Ok(None);
        }
        head.extend_from_slice(&buffer[..count]);
    }
    let line = String::from_utf8_lossy(&head);
    Ok(line.split(' ').nth(1).map(str::to_owned))
}
