//! A k6 script that subscribes over a WebSocket, unchanged, against `prony example donuts`: what it counts.

use prony_testkit::PronyProcess;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_script_subscribes_and_counts_as_k6_does() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["example", "donuts", "--listen", "127.0.0.1:0", "--cpus", "1"]);
    let mut server = PronyProcess::start_command(command);
    let url = server.wait_for_url().replace("http://", "");
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/k6/subscriptions.js");
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .current_dir(folder.path())
        .args(["run", "--quiet", "--summary-export", "export.json", "-e", &format!("URL={url}")])
        .arg(&script)
        .env("XDG_CONFIG_HOME", folder.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let export = fs::read(folder.path().join("export.json")).expect("a summary");
    let export: serde_json::Value = serde_json::from_slice(&export).expect("JSON");
    let count = |metric: &str| export["metrics"][metric]["count"].as_u64().unwrap_or_default();
    // Each session: an acknowledgement and an event, maybe another before the close; three messages the other way.
    assert_eq!((count("iterations"), count("ws_sessions"), count("ws_msgs_sent")), (2, 2, 6), "{said}");
    assert!(count("ws_msgs_received") >= 4, "{said}");
    assert_eq!(export["metrics"]["checks"]["fails"], 0, "{said}");
    assert!(said.contains("ws_connecting") && said.contains("ws_session_duration"), "{said}");
    // The WebSockets' bytes are among all: their heads alone are more than this.
    let (requests, sent) = (count("http_reqs"), count("data_sent"));
    assert!(requests >= 2 && sent > requests * 300 + 400, "{requests} requests, {sent} bytes\n{said}");
}
