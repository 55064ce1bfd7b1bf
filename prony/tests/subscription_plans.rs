//! The example plan of subscribers, over every protocol, against `prony example donuts`: each event comes once, to everybody.

use prony_testkit::PronyProcess;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The example in small: 20 clients, and users who mutate for two seconds.
fn plan(url: &str, protocol: &str, path: &str) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plans/donuts-live.toml");
    let mut text = fs::read_to_string(example).expect("the example");
    let protocol = format!("clients = 20\nprotocol = \"{protocol}\"\npath = \"{path}\"");
    for (from, to) in [
        ("http://127.0.0.1:3000", url),
        ("users = 50", "users = 4"),
        ("duration = \"10s\"", "duration = \"2s\""),
        ("range = [2, 101]", "range = [2, 11]"),
        ("clients = 500", &protocol),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn the_plan_of_subscribers_misses_nothing_over_any_protocol() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["example", "donuts", "--listen", "127.0.0.1:0", "--cpus", "2"]);
    let mut server = PronyProcess::start_command(command);
    let url = server.wait_for_url();
    for (protocol, path) in [
        ("graphql-transport-ws", "/graphql"),
        ("graphql-ws", "/graphql"),
        ("sse", "/graphql"),
        ("sse-single", "/graphql/stream"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("plan.toml"), plan(&url, protocol, path)).expect("it is written");
        let output = Command::new(env!("CARGO_BIN_EXE_prony"))
            .current_dir(folder.path())
            .args(["run", "plan.toml", "--quiet", "--json"])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let group = &result["subscribers"]["groups"][0];
        let links = &group["links"];
        let whole = group["windows"].as_array().and_then(|windows| windows.last()).expect("the whole run");
        let of = |value: &serde_json::Value| value.as_u64().expect("a count");
        // The plan's thresholds hold that nothing is missed, doubled, out of order or lost.
        assert_eq!(output.status.code(), Some(0), "{protocol}: {said} {links} {whole}");
        assert_eq!((of(&links["subscribed"]), &links["refused"]), (40, &serde_json::json!({})), "{protocol}");
        assert_eq!(of(&whole["due"]), of(&whole["fan_out_latency"]["count"]), "{protocol}: {whole}");
        assert!(of(&whole["due"]) > 0 && of(&whole["unexpected"]) == 0, "{protocol}: {whole}");
    }
}
