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
        // Also of an event that a subscription heard which was not in force yet when its mutation was sent.
        let heard = of(&whole["due"]) + of(&whole["not_due"]);
        assert_eq!(heard, of(&whole["fan_out_latency"]["count"]), "{protocol}: {whole}");
        assert!(of(&whole["due"]) > 0 && of(&whole["unexpected"]) == 0, "{protocol}: {whole}");
    }
}

/// Without `fan_out` subscribers are dealt out to workers; with it that is refused, with the reason and what to try.
#[test]
fn subscribers_are_shared_out_over_workers_where_events_are_only_counted() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["example", "donuts", "--listen", "127.0.0.1:0", "--cpus", "2"]);
    let mut server = PronyProcess::start_command(command);
    let matched = plan(&server.wait_for_url(), "graphql-transport-ws", "/graphql");
    let folder = tempfile::tempdir().expect("a folder");
    let nats = prony_testkit::nats::program().display().to_string();
    let run = |text: &str| {
        fs::write(folder.path().join("plan.toml"), text).expect("it is written");
        let output = Command::new(env!("CARGO_BIN_EXE_prony"))
            .current_dir(folder.path())
            .args(["run", "plan.toml", "--quiet", "--json", "--workers", "local:3", "--nats-server", &nats])
            .output()
            .expect("it runs");
        (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (_, said) = run(&matched);
    assert!(said.contains("the subscriptions `updates` match events with mutations (`fan_out`)"), "{said}");
    assert!(said.contains("leave `fan_out` out") && !said.contains("waiting for"), "{said}");
    let (counted, _) = matched.split_once("[subscriptions.fan_out]").expect("the example has it");
    let counted = counted.replace("missed == 0, duplicated == 0, out_of_order == 0, lost == 0", "lost == 0");
    let (result, said) = run(&counted);
    let result: serde_json::Value = serde_json::from_slice(&result).expect("JSON");
    let (group, workers) = (&result["subscribers"]["groups"][0], &result["workers"]);
    let users: Vec<_> =
        workers.as_array().into_iter().flatten().map(|worker| worker["users"].as_u64()).collect();
    assert_eq!(users, [Some(2), Some(1), Some(1)], "{said}");
    assert_eq!((&group["links"]["made"], &group["links"]["subscribed"]), (&20.into(), &40.into()), "{said}");
    let whole = group["windows"].as_array().and_then(|windows| windows.last()).expect("the whole run");
    assert!(whole["events"].as_u64() > Some(0) && whole["due"] == 0, "{said} {whole}");
}
