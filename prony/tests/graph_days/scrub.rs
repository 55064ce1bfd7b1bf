//! A byte of a file that changes under a running server: it is found, told in every place where one looks, and the graph is written anew.

use crate::client::Client;
use crate::serve::{Server, command, configured, start_command};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn begin(directory: &Path, scrub_every_s: u32) -> Server {
    let path = directory.join("prony.toml");
    let url = format!("graph:{}", directory.join("graphs").display());
    fs::write(&path, format!("[[source]]\nurl = {url:?}\nscrub_every_s = {scrub_every_s}\n")).unwrap();
    start_command(configured(Command::new(env!("CARGO_BIN_EXE_prony")), &path))
}

fn log_of(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory.join("graphs/rage")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("log-0")).max().unwrap()
}

fn flip(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let open = fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&open, &[bytes[50] ^ 1], 50).unwrap();
}

fn get(server: &Server, path: &str) -> String {
    let mut response = ureq::get(format!("{}{path}", server.url)).call().unwrap();
    response.body_mut().read_to_string().unwrap()
}

fn check(directory: &Path) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    let output = command.args(["graph", "check", "graphs"]).current_dir(directory).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

#[test]
fn damage_under_a_running_server_is_found_and_mended() {
    let directory = tempfile::tempdir().unwrap();
    let server = begin(directory.path(), 1);
    let client = Client::new(&server.url);
    for number in 0..5 {
        assert_eq!(client.ask("POST", &format!("/node/User/{number}"), None).0, 201);
    }
    wait_for(&server, "/health", "\"last_scrub\"");
    assert_eq!(get(&server, "/ready"), "{\"status\":\"ready\"}");
    let log = log_of(directory.path());
    flip(&log);
    let found = wait_for(&server, "/health", "\"problems\"");
    assert!(found.contains(&*log.file_name().unwrap().to_string_lossy()), "{found}");
    assert!(found.contains("\"rewritten\":true"), "{found}");
    let warning = "\"warnings\":[{\"source\":\"graphs\",\"reason\":\"files_damaged\"}]";
    assert!(get(&server, "/ready").contains(warning), "{}", get(&server, "/ready"));
    let metrics = get(&server, "/metrics");
    assert!(
        metrics.lines().any(|line| line.starts_with("prony_graph_damaged_files{") && line.ends_with(" 1.0"))
    );
    assert!(server.process.stderr().contains("is damaged"), "{}", server.process.stderr());
    let finished = server.process.stop();
    assert!(finished.stderr.contains("the graph was written anew"), "{}", finished.stderr);
    let server = begin(directory.path(), 0);
    let client = Client::new(&server.url);
    assert_eq!(client.ask("GET", "/nodes", None).1.as_array().unwrap().len(), 5);
    server.process.stop();
}

#[test]
fn a_graph_that_is_served_can_be_checked_as_far_as_its_files_go() {
    let directory = tempfile::tempdir().unwrap();
    let server = begin(directory.path(), 0);
    let client = Client::new(&server.url);
    for number in 0..5 {
        assert_eq!(client.ask("POST", &format!("/node/User/{number}"), None).0, 201);
    }
    let (text, code) = check(directory.path());
    assert_eq!(code, Some(0), "{text}");
    for said in ["up to frame 5", "every frame is as it was written", "Not checked: whether nodes"] {
        assert!(text.contains(said), "{text}");
    }
    let log = log_of(directory.path());
    flip(&log);
    let (text, code) = check(directory.path());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("it is damaged at byte 24") && text.contains("1 problem"), "{text}");
    assert_eq!(client.ask("GET", "/nodes", None).1.as_array().unwrap().len(), 5);
    server.process.stop();
    drop(command(directory.path()));
}

fn wait_for(server: &Server, path: &str, text: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let found = get(server, path);
        if found.contains(text) {
            return found;
        }
        assert!(Instant::now() < until, "{path} never has {text}: {found}\n{}", server.process.stderr());
        std::thread::sleep(Duration::from_millis(20));
    }
}
