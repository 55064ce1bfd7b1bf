//! Sockets that a service manager opens and hands over (`sd_listen_fds(3)`): requests wait for a server that is started, or started again,
//! instead of being refused.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::{
        fd::{AsFd, AsRawFd as _},
        unix::net::UnixListener,
    },
    process::Command,
};

use prony_testkit::{PronyProcess, chinook::sqlite_copy};
use rustix::io::{FdFlags, fcntl_setfd};

/// The server with a socket as its first that is handed over.
fn serve(socket: &impl AsFd, source: &str, arguments: &[&str]) -> PronyProcess {
    fcntl_setfd(socket, FdFlags::empty()).unwrap();
    let script = "eval \"exec 3<&$FD\"; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"";
    // Debian's `sh` knows descriptors of one digit alone.
    let mut command = Command::new("/bin/bash");
    command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_prony"), "serve", source]).args(arguments);
    command.env("FD", socket.as_fd().as_raw_fd().to_string());
    PronyProcess::start_command(command)
}

/// A request that is sent, whose response comes once somebody serves.
fn send(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    stream
}

fn response(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn requests_wait_for_the_server_that_is_started_and_started_again() {
    let database = sqlite_copy();
    let source = format!("sqlite:{}", database.path().display());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let early = send(address);
    let mut process = serve(&listener, &source, &["--listen", "127.0.0.1:1"]);
    assert_eq!(process.wait_for_url(), format!("http://{address}"), "the address to listen on is not used");
    assert!(response(early).starts_with("HTTP/1.1 200"));
    assert_eq!(process.stop().status.code(), Some(0));
    let between = send(address);
    let mut process = serve(&listener, &source, &[]);
    process.wait_for_url();
    assert!(response(between).starts_with("HTTP/1.1 200"));
}

#[test]
fn what_cannot_be_served_is_told() {
    let database = sqlite_copy();
    let source = format!("sqlite:{}", database.path().display());
    let open = TcpListener::bind("0.0.0.0:0").unwrap();
    let refused = serve(&open, &source, &[]).wait();
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("can be reached from other machines"), "{}", refused.stderr);
    let directory = tempfile::tempdir().unwrap();
    let local = UnixListener::bind(directory.path().join("socket")).unwrap();
    let refused = serve(&local, &source, &[]).wait();
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("socket 1 of those that the service manager has opened"),
        "{}",
        refused.stderr
    );
}
