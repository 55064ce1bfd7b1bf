//! What the page of a run that goes on costs: runs with `--live` and one open page on it, and runs without, in turns.

use crate::closed;
use crate::nginx::{Nginx, SIZES};
use crate::statistics::print_table;
use crate::tool::{Outcome, prony};
use prony_testkit::free_port;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: u32 = 32;
/// Long enough for several pages: they are drawn about once a second.
const LENGTH_S: u32 = 6;
/// The rate of the aim.
const RATE: u32 = 100_000;
/// How long the page may take until it can be opened.
const OPENED_WITHIN: Duration = Duration::from_secs(5);
/// A reader hears something more often than that, or the run is gone.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Each page that is sent begins so.
const PAGE: &[u8] = b"event: page\n";

pub(crate) fn cost() {
    let nginx = Nginx::start();
    let url = nginx.url(SIZES[0].0);
    let flags = ["-t1".to_owned(), format!("-c{CONNECTIONS}"), format!("-d{LENGTH_S}s"), url];
    let mut rated = vec![format!("-R{RATE}")];
    rated.extend(flags.iter().cloned());
    let mut rows = vec![closed::head("load (theirs: no page)")];
    rows.push(closed::compare(&format!("{RATE} requests/s"), || (prony(&rated), with_a_page(&rated))));
    rows.push(closed::compare("closed loop", || (prony(&flags), with_a_page(&flags))));
    print_table(&rows);
}

/// The processor time is that of the lab and of its page; who reads it is a thread of this process, which is not counted.
fn with_a_page(flags: &[String]) -> Outcome {
    let port = free_port();
    let mut all = vec![format!("--live=127.0.0.1:{port}")];
    all.extend_from_slice(flags);
    let reader = thread::spawn(move || pages_read(port));
    let outcome = prony(&all);
    let pages = reader.join().expect("the reader does not panic");
    assert!(pages >= 2, "{pages} pages were drawn while somebody looked");
    outcome
}

/// Reads the stream of pages, as an open page does, until the run ends it; how many came.
fn pages_read(port: u16) -> usize {
    let mut socket = opened(port);
    socket.set_read_timeout(Some(SILENCE_MAX)).expect("a timeout above zero");
    let request =
        format!("GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("the page takes a request");
    let (mut text, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    let mut pages = 0;
    // A run that has ended closes the connection, whichever way.
    while let Ok(length @ 1..) = socket.read(&mut piece) {
        text.extend_from_slice(&piece[..length]);
        pages += text.windows(PAGE.len()).filter(|window| *window == PAGE).count();
        // The beginning of one may be the end of what came.
        text.drain(..text.len().saturating_sub(PAGE.len() - 1));
    }
    pages
}

fn opened(port: u16) -> TcpStream {
    let begin = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(socket) => return socket,
            Err(error) => assert!(begin.elapsed() < OPENED_WITHIN, "there is no page: {error}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}
