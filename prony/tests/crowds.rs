//! More clients than the server takes: it refuses them in words, lives, and takes the next ones as soon as there is room.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

use prony_testkit::PronyProcess;
use rustix::net::sockopt::set_socket_linger;

/// Only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of donuts that may have so many files open; the answer is its address too.
fn server(open_files: u32) -> (PronyProcess, String) {
    let mut command = Command::new("sh");
    let limited = format!("ulimit -n {open_files} && exec \"$0\" \"$@\"");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_prony")]);
    command.args(["example", "donuts", "--listen", "127.0.0.1:0", "--cpus", "1"]);
    let mut process = PronyProcess::start_command(command);
    let address = process.wait_for_url().replace("http://", "");
    (process, address)
}

/// Closing sends a reset, so that no port waits for stragglers.
fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the kernel takes connections for the server");
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("TCP has the option");
    stream.set_read_timeout(Some(PATIENCE)).expect("the timeout is not zero");
    stream
}

/// The status of an answer; none where the connection was closed without one.
fn ask(mut stream: TcpStream, path: &str) -> Option<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    // The server may have closed it already; what it said before is read all the same.
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("answers are UTF-8");
    Some(answer.lines().next()?.to_owned()).filter(|line| !line.is_empty())
}

fn until_it_answers(address: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask(connect(address), "/health").as_deref() {
            Some("HTTP/1.1 200 OK") => return,
            other => assert!(Instant::now() < deadline, "it does not recover: {other:?}"),
        }
    }
}

/// 300 are open at a time, of which the server takes half; every twentieth asks for something.
#[test]
fn a_hundred_thousand_connections_are_taken_or_refused() {
    const AT_A_TIME: usize = 300;
    let (process, address) = server(256);
    let mut open = VecDeque::new();
    let (mut answered, mut refused, mut closed) = (0, 0, 0);
    for number in 0..100_000 {
        open.push_back(connect(&address));
        let oldest = if open.len() > AT_A_TIME { open.pop_front() } else { None };
        let Some(oldest) = oldest.filter(|_| number % 20 == 0) else { continue };
        match ask(oldest, "/health").as_deref() {
            Some("HTTP/1.1 200 OK") => answered += 1,
            Some("HTTP/1.1 503 Service Unavailable") => refused += 1,
            None => closed += 1,
            Some(other) => panic!("{other}"),
        }
    }
    drop(open);
    until_it_answers(&address);
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused, {closed} closed");
    assert_eq!(process.stop().status.code(), Some(0));
}

/// With so few descriptors not even refusals have one each.
#[test]
fn a_server_without_descriptors_recovers() {
    let (mut process, address) = server(32);
    let open: Vec<TcpStream> = (0..200).map(|_| connect(&address)).collect();
    process.wait_for_text("cannot accept a connection");
    drop(open);
    until_it_answers(&address);
    assert_eq!(process.stop().status.code(), Some(0));
}

/// A WebSocket whose client was let in; it says nothing more.
fn open_socket(address: &str) -> TcpStream {
    let mut stream = connect(address);
    let opening = "GET /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        sec-websocket-protocol: graphql-transport-ws\r\n\r\n";
    stream.write_all(opening.as_bytes()).expect("the server reads");
    until_it_says(&mut stream, b"\r\n\r\n");
    // A whole text of 26 bytes, whose mask changes nothing (RFC 6455, section 5.2).
    stream.write_all(b"\x81\x9a\0\0\0\0{\"type\":\"connection_init\"}").expect("the server reads");
    until_it_says(&mut stream, b"{\"type\":\"connection_ack\"}");
    stream
}

fn until_it_says(stream: &mut TcpStream, end: &[u8]) {
    let mut said = Vec::new();
    while !said.ends_with(end) {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the server says more");
        said.push(byte[0]);
    }
}

/// Pages of 4 KiB.
fn resident_bytes(process: &PronyProcess) -> usize {
    let path = format!("/proc/{}/statm", process.id());
    let statm = std::fs::read_to_string(path).expect("the server runs");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a count") * 4096
}

/// The first ones are not counted: they make what all share.
#[test]
fn sockets_that_do_nothing_keep_nothing_of_their_opening() {
    const COUNTED: usize = 700;
    const MOST_BYTES_EACH: usize = 6_000;
    let (process, address) = server(2048);
    let first: Vec<_> = (0..200).map(|_| open_socket(&address)).collect();
    let before = resident_bytes(&process);
    let counted: Vec<_> = (0..COUNTED).map(|_| open_socket(&address)).collect();
    let bytes_each = (resident_bytes(&process) - before) / COUNTED;
    assert!(bytes_each < MOST_BYTES_EACH, "{bytes_each} bytes each; the limit is {MOST_BYTES_EACH}");
    drop((first, counted));
    assert_eq!(process.stop().status.code(), Some(0));
}

/// What the first ones have made stays.
#[test]
fn memory_of_a_crowd_that_has_gone_goes_back_to_the_system() {
    let (process, address) = server(2048);
    drop((0..50).map(|_| open_socket(&address)).collect::<Vec<_>>());
    until_it_answers(&address);
    let before = resident_bytes(&process);
    let crowd: Vec<_> = (0..900).map(|_| open_socket(&address)).collect();
    let most = resident_bytes(&process);
    drop(crowd);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = resident_bytes(&process);
        if left.saturating_sub(before) < (most - before) / 3 {
            break;
        }
        assert!(Instant::now() < deadline, "{before} bytes before, {most} at most, {left} left");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(process.stop().status.code(), Some(0));
}
