//! `prony serve` below a limit on open files: it takes as many as the system grants, and no more connections than fit.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    time::Duration,
};

use prony_testkit::PronyProcess;

const HINT: &str = "the limit on open files is lower than max_connections";

/// A server below these limits of the shell that starts it.
fn serve(soft: u32, hard: u32, max_connections: u32) -> (PronyProcess, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let mut command = Command::new("sh");
    let script = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_prony")]).current_dir(folder.path());
    command.args(["serve", "graph:people", "--listen", "127.0.0.1:0", "--cpus", "1"]);
    command.args(["--max-connections", &max_connections.to_string()]);
    (PronyProcess::start_command(command), folder)
}

/// The soft and the hard limit of a process.
fn limits(process: &PronyProcess) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{}/limits", process.id())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files")).expect("it is listed");
    line.split_whitespace().take(2).map(str::to_owned).collect()
}

fn health(mut stream: &TcpStream) -> String {
    stream.write_all(b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("it reads");
    let mut bytes = [0; 1024];
    let count = stream.read(&mut bytes).expect("it responds");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn connections_are_as_many_as_the_systems_limit_has_room_for() {
    let (mut process, _folder) = serve(160, 256, 1_000);
    let address = process.wait_for_url().trim_start_matches("http://").to_owned();
    assert_eq!(limits(&process), ["256", "256"], "the soft limit is raised");
    let connect = || {
        let stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it has a socket");
        stream
    };
    // 128 are for listeners, logs and databases.
    let held: Vec<TcpStream> = (0..128).map(|_| connect()).collect();
    for stream in &held {
        assert!(health(stream).starts_with("HTTP/1.1 200"), "there is room for it");
    }
    let mut told = String::new();
    // Nothing is sent: what nobody reads would take the response with it.
    connect().read_to_string(&mut told).expect("it is closed");
    assert!(told.starts_with("HTTP/1.1 503"), "one more is refused, and told so: {told}");
    assert!(health(&held[0]).starts_with("HTTP/1.1 200"), "the others go on");
    let said = process.stop().stderr;
    let line = said.lines().find(|line| line.contains(HINT)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("WARN") && line.contains("wanted=1000") && line.contains("room=128"), "{line}");
}

#[test]
fn nothing_is_said_where_all_connections_fit() {
    let (mut process, _folder) = serve(160, 1_024, 896);
    process.wait_for_url();
    assert_eq!(limits(&process), ["1024", "1024"]);
    let said = process.stop().stderr;
    assert!(!said.contains(HINT), "{said}");
}
