//! `prony find`, `compare` and `sweep` with `--workers`: each of their runs is shared out, by the same workers from the first to the last.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

struct Ended {
    code: Option<i32>,
    printed: String,
    told: String,
}

/// With so many workers on this machine.
fn prony(directory: &Path, workers: u32, arguments: &[&str]) -> Ended {
    let (server, count) = (prony_testkit::nats::program(), format!("local:{workers}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).args(arguments);
    command.args(["--workers", &count, "--nats-server"]).arg(server);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), printed: text(output.stdout), told: text(output.stderr) }
}

fn found(ended: &Ended) -> Value {
    serde_json::from_str(&ended.printed)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.printed, ended.told))
}

/// The users of each worker.
fn users(result: &Value) -> Vec<u64> {
    result["workers"].as_array().unwrap().iter().map(|worker| worker["users"].as_u64().unwrap()).collect()
}

fn requests(result: &Value) -> u64 {
    result["windows"].as_array().unwrap().last().unwrap()["all"]["requests"].as_u64().unwrap()
}

fn seen(peer: &ScriptedPeer) -> String {
    let seen: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    String::from_utf8(seen).unwrap()
}

const STEP: [&str; 8] = ["--repeats", "1", "--ramp", "0s", "--hold", "400ms", "--json", "--quiet"];

/// A load of two users has two workers of three; what is set of the script's users is set on all machines.
#[test]
fn a_search_over_a_plan_shares_out_each_of_its_steps() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::create_dir(directory.path().join("größen")).unwrap();
    fs::write(directory.path().join("größen/rows.csv"), "id\nä\nb\n").unwrap();
    let text = format!(
        "target = \"{}\"\nusers = 40\nduration = \"9s\"\nthink_time = \"20ms\"\n[variables]\nrow = {{ csv = \"rows.csv\" }}\n\
         [[requests]]\nname = \"a\"\npath = \"/${{row.id}}\"\n",
        peer.url()
    );
    fs::write(directory.path().join("größen/plan.toml"), text).unwrap();
    let search = ["find", "größen/plan.toml", "--slo", "errors<50%", "--from", "2", "--max", "7"];
    let ended = prony(directory.path(), 3, &[&search[..], &STEP[..]].concat());
    let file = found(&ended);
    let steps = file["steps"].as_array().unwrap();
    assert!(steps.len() > 1 && steps[0]["load"] == 2, "{}", ended.told);
    for step in steps {
        let (load, result) = (step["load"].as_u64().unwrap(), &step["runs"][0]["result"]);
        let users = users(result);
        assert_eq!((users.len() as u64, users.iter().sum::<u64>()), (load.min(3), load), "{}", ended.told);
        assert_eq!(result["plan"]["scenarios"][0]["load"]["stages"][0]["users"], load, "{result}");
        assert!(requests(result) >= load);
    }
    let all: u64 = steps.iter().map(|step| requests(&step["runs"][0]["result"])).sum();
    assert_eq!(seen(&peer).matches("GET /").count() as u64, all, "each is counted once, and in its own run");
    assert_eq!(ended.told.matches("worker `local-").count(), 3, "they are waited for once: {}", ended.told);
    assert_eq!(fs::read_dir(directory.path().join("results")).unwrap().count(), 1, "workers left nothing");
}

const SCRIPT: &str = "import http from 'k6/http';\nexport const options = { vus: 2, duration: '1s' };\n\
    export function setup() { return { from: 'setup' }; }\n\
    export default function (data) { http.get(`${__ENV.BASE}/${data.from}`); }\n";
const LUA: &str = "function setup(thread) thread:set('mark', 'set') end\n\
    request = function() return wrk.format('GET', '/lua/' .. mark) end\n";

#[test]
fn a_comparison_of_a_page_with_a_script_has_the_same_workers_for_both() {
    let (page, script, directory) =
        (ScriptedPeer::answering(OK), ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("test.js"), SCRIPT).unwrap();
    let (url, base) = (page.url(), format!("BASE={}", script.url()));
    let compare = ["compare", &url, "test.js", "--env", &base, "--runs", "2", "--users", "5"];
    let ended =
        prony(directory.path(), 2, &[&compare[..], &["--duration", "500ms", "--json", "--quiet"]].concat());
    let file = found(&ended);
    let runs = file["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["side"].as_str().unwrap()).collect::<String>(), "abba");
    for run in runs {
        let expected = if run["side"] == "a" { vec![3, 2] } else { vec![1, 1] };
        assert_eq!(users(&run["result"]), expected, "{}", ended.told);
    }
    let of = |side: &str| {
        let own = runs.iter().filter(|run| run["side"] == side);
        own.map(|run| requests(&run["result"])).sum::<u64>() as usize
    };
    assert_eq!(seen(&page).matches("GET / ").count(), of("a"));
    assert_eq!(
        seen(&script).matches("GET /setup ").count(),
        of("b"),
        "what setup returned came to all users"
    );
}

#[test]
fn a_sweep_hands_messages_and_settings_to_workers() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let text = format!(
        "target = \"{}\"\nusers = 4\nduration = \"1s\"\nthink_time = \"10ms\"\n[variables]\npayload = {{ list = [\"\"] }}\n\
         art = {{ list = [\"x\"] }}\n[[requests]]\nname = \"a\"\nmethod = \"POST\"\npath = \"/${{art}}\"\nbody = \"${{payload}}\"\n",
        peer.url()
    );
    fs::write(directory.path().join("plan.toml"), text).unwrap();
    let sweep = ["sweep", "plan.toml", "--users", "3", "--payload", "20,40", "--set", "art=größe,7"];
    let short = ["--ramp=0s", "--warm-up=0s", "--hold=400ms", "--json", "--quiet"];
    let ended = prony(directory.path(), 2, &[&sweep[..], &short].concat());
    let file = found(&ended);
    assert_eq!(file["state"], "completed", "{}", ended.told);
    let states = file["steps"].as_array().unwrap().iter().map(|step| step["state"].as_str().unwrap());
    assert_eq!(states.collect::<Vec<_>>(), ["measured"; 4], "{}", ended.told);
    let seen = seen(&peer);
    for (art, length) in [("/7 ", 20), ("/7 ", 40), ("/gr%C3%B6%C3%9Fe ", 20), ("/gr%C3%B6%C3%9Fe ", 40)] {
        let is_its =
            |text: &&str| text.starts_with(art) && text.contains(&format!("Content-Length: {length}\r\n"));
        assert!(seen.split("POST ").any(|text| is_its(&text)), "{art}{length}: {seen}");
    }
}

#[test]
fn a_wrk_script_is_searched_with_the_threads_of_all_workers() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("load.lua"), LUA).unwrap();
    let url = peer.url();
    let search = ["find", "load.lua", &url, "--slo", "errors<50%", "--from", "3", "--max", "3"];
    let ended = prony(directory.path(), 2, &[&search[..], &STEP[..]].concat());
    let result = &found(&ended)["steps"][0]["runs"][0]["result"];
    assert_eq!(users(result), [2, 1], "{}", ended.told);
    assert_eq!(seen(&peer).matches("GET /lua/set ").count() as u64, requests(result));
}

#[test]
fn what_workers_cannot_run_ends_a_search_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("plan.toml"),
        "target = \"http://127.0.0.1:1\"\nusers = 4\nduration = \"1s\"\nrequests = [{ path = \"/\" }]\n",
    )
    .unwrap();
    let search = ["find", "plan.toml", "--slo", "errors<50%", "--threads", "2"];
    let ended = prony(directory.path(), 2, &search);
    assert!(ended.code == Some(2) && ended.told.contains("each worker has its own"), "{}", ended.told);
    let search = ["find", "plan.toml", "--slo", "errors<50%", "--quiet"];
    let ended = prony(directory.path(), 2, &search);
    assert!(ended.code == Some(2) && ended.told.contains("worker `local-"), "{}", ended.told);
    assert!(ended.told.contains("cannot run its share: "), "{}", ended.told);
}
