//! `prony run --workers` and `prony worker` as a user meets them: processes, exit codes, what is printed and what is left.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn prony(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony")).current_dir(directory).args(arguments).output().unwrap()
}

fn plan(directory: &Path, peer: &ScriptedPeer) {
    let text = format!(
        "target = \"{}\"\nusers = 7\nshared_iterations = 50\nthresholds = [\"errors<1%\"]\n\
         requests = [{{ name = \"größe\", path = \"/\" }}]\n",
        peer.url()
    );
    fs::write(directory.join("plan.toml"), text).unwrap();
}

#[test]
fn three_local_workers_make_one_result() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer);
    let server = prony_testkit::nats::program().display().to_string();
    let flags = ["run", "plan.toml", "--workers", "local:3", "--nats-server", &server, "--json", "--quiet"];
    let output = prony(directory.path(), &flags);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let workers = result["workers"].as_array().unwrap();
    let users: u64 = workers.iter().map(|worker| worker["users"].as_u64().unwrap()).sum();
    assert_eq!((workers.len(), users), (3, 7));
    let whole = result["windows"].as_array().unwrap().last().unwrap();
    assert_eq!(whole["all"]["successes"], 50);
    assert_eq!(result["series"]["workers_missing"][0], 0);
    assert!(told.contains("waiting for 3 workers\n") && told.contains("worker `local-2` on "), "{told}");
    assert_eq!(fs::read_dir(directory.path().join("results")).unwrap().count(), 1, "workers left nothing");
}

#[test]
fn a_url_is_loaded_by_two_local_workers() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("größe.txt"), "@ä ${not a variable}").unwrap();
    let (server, url) =
        (prony_testkit::nats::program().display().to_string(), format!("{}/x?y=1", peer.url()));
    let flags = ["run", &url, "-c", "5", "-d", "1s", "-R", "41", "-H", "X-Test: ja", "--body", "@größe.txt"];
    let workers = ["--workers", "local:2", "--nats-server", &server, "--quiet"];
    let output = prony(directory.path(), &[&flags[..], &workers[..]].concat());
    let (printed, told) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() || output.status.code() == Some(3), "{printed}{told}");
    assert!(printed.contains("Running 1s test @ ") && printed.contains("41 requests in "), "{printed}{told}");
    let seen: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    let seen = String::from_utf8(seen).unwrap();
    assert_eq!(seen.matches("POST /x?y=1 HTTP/1.1\r\n").count(), 41);
    assert_eq!(
        (seen.matches("@ä ${not a variable}").count(), seen.matches("X-Test: ja\r\n").count()),
        (41, 41)
    );
}

const SCRIPT: &str = r#"
local threads, count = {}, 0
local paths = {}
for line in io.lines('wege größer.txt') do paths[#paths + 1] = line end
local shared = require 'lib.shared'

function setup(thread)
   count = count + 1
   thread:set('id', count)
   thread:set('labels', { 'ä', nested = { count, true } })
   threads[#threads + 1] = thread
end

function init(arguments)
   sent = 0
   started = labels.nested[1] == id and arguments[1]
   template = io.open('template.txt'):read('*a')
end

function request()
   sent = sent + 1
   return wrk.format('GET', shared.path(paths[(sent - 1) % #paths + 1], id), { ['X-Template'] = template })
end

function done(summary, latency, requests)
   local all, ids = 0, {}
   for _, thread in ipairs(threads) do
      all = all + thread:get('sent')
      ids[#ids + 1] = thread:get('id') .. '/' .. thread:get('started')
   end
   print('threads ' .. table.concat(ids, ' ') .. ', requests ' .. summary.requests .. ' of ' .. all)
end
"#;

#[test]
fn a_wrk_script_sets_up_and_reports_the_threads_of_all_workers() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    fs::create_dir_all(directory.path().join("scripts/lib")).unwrap();
    write("scripts/load.lua", SCRIPT);
    write(
        "scripts/lib/shared.lua",
        "return { path = function(path, id) return '/' .. path .. '/' .. id end }",
    );
    write("wege größer.txt", "first\nsecond\n");
    write("template.txt", "t-7");
    let (server, url) = (prony_testkit::nats::program().display().to_string(), peer.url());
    let flags = ["run", "scripts/load.lua", &url, "-c", "5", "-d", "1s", "-R", "41"];
    let workers = ["--workers", "local:3", "--nats-server", &server, "--quiet", "--", "arg,1"];
    let output = prony(directory.path(), &[&flags[..], &workers[..]].concat());
    let (printed, told) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{printed}{told}");
    let line = printed.lines().find(|line| line.starts_with("threads ")).unwrap_or_default();
    let (ids, counts) = line.strip_prefix("threads ").unwrap().split_once(", ").unwrap();
    let ids: Vec<_> = ids.split(' ').collect();
    // Each worker has as many threads as processors, none without a connection: of five at least three.
    let expected: Vec<_> = (1..=ids.len()).map(|id| format!("{id}/arg,1")).collect();
    assert!((3..=5).contains(&ids.len()) && ids == expected, "{line}");
    assert_eq!(counts, "requests 41 of 41");
    let seen: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    let seen = String::from_utf8(seen).unwrap();
    assert_eq!((seen.matches("X-Template: t-7\r\n").count(), seen.matches("GET /").count()), (41, 41));
    for id in 1..=ids.len() {
        assert!(seen.contains(&format!("GET /first/{id} HTTP")), "{id}: {seen}");
    }
}

#[test]
fn what_cannot_be_shared_out_is_exit_2_with_the_reason() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer);
    let refused = |arguments: &[&str], reason: &str| {
        let output = prony(directory.path(), arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code().is_some_and(|code| code != 0), "{arguments:?}");
        assert!(told.contains(reason), "{arguments:?}: {told}");
    };
    refused(&["run", "plan.toml", "--workers", "2"], "name it with --nats");
    // Neither is run on this machine alone.
    let nats = ["--nats", "nats://127.0.0.1:1"];
    refused(&[&["run", "plan.toml"][..], &nats].concat(), "say with --workers COUNT");
    let local = ["--workers", "local:2"];
    refused(&[&["run", "plan.toml"][..], &local, &nats].concat(), "starts a NATS server of its own");
    refused(
        &["run", "plan.toml", "--workers", "local:2", "--nats-server", "/no/nats"],
        "install nats-server",
    );
    refused(&["run", "plan.toml", "--workers", "0"], "not a number from 1 to 1000");
    refused(
        &["run", "plan.toml", "--workers", "2", "--on-worker-lost", "spread"],
        "none of `continue`, `respread`",
    );
    refused(&["run", "plan.toml", "--workers", "2", "--threads", "1"], "prony worker --threads");
    refused(
        &["run", "plan.toml", "--workers", "2", "--nats", "nats://127.0.0.1:1"],
        "cannot connect to the NATS server",
    );
    refused(&["run", "plan.toml", "--workers", "2", "--nats", "127.0.0.1"], "is no address of a NATS server");
    refused(&["worker"], "--nats is missing");
    refused(&["worker", "--nats", "nats://127.0.0.1:1", "--labels", "zone"], "`zone` is no label");
    refused(&["worker", "--take-up", "plan.toml"], "is not what a worker kept of a run");
}

/// Of all processes on this machine, as everybody on it may read them.
fn command_lines() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap();
    // Some of them end meanwhile.
    let lines = processes.filter_map(|process| fs::read(process.ok()?.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

/// Who knows the token of their server could hand them a script.
#[test]
fn local_workers_have_no_address_of_their_server_on_their_command_lines() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let server = prony_testkit::nats::program().display().to_string();
    let mut run = Command::new(env!("CARGO_BIN_EXE_prony"))
        .current_dir(directory.path())
        .args(["run", &peer.url(), "-c", "2", "-d", "2s", "--workers", "local:2", "--quiet"])
        .args(["--nats-server", &server])
        // What is set for other runs has nothing to do with this one.
        .env("PRONY_NATS_FILE", "/nowhere/nats")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while peer.connections() == 0 && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(10));
    }
    let lines = command_lines();
    let status = run.wait().unwrap();
    assert!(matches!(status.code(), Some(0 | 3)), "{status}");
    let is_worker = |line: &&String| line.contains(" worker --once ") && line.contains(" local-1 ");
    let workers: Vec<_> = lines.iter().filter(is_worker).collect();
    assert!(!workers.is_empty(), "{lines:?}");
    assert!(workers.iter().all(|line| !line.contains("nats://")), "{workers:?}");
}

#[test]
fn the_server_s_address_may_be_in_the_environment_or_in_a_file() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer);
    let file = directory.path().join("größe");
    fs::write(&file, "nats://lab:geheim@127.0.0.1:2\n").unwrap();
    let told = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.current_dir(directory.path()).args(arguments).env("PRONY_NATS", "");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (variable, in_file) = (("PRONY_NATS", "nats://lab:geheim@127.0.0.1:1"), file.display().to_string());
    for arguments in [&["worker"][..], &["run", "plan.toml", "--workers", "2"]] {
        let (code, text) = told(arguments, &[variable]);
        assert!(code == Some(2) && text.contains("server nats://127.0.0.1:1: "), "{arguments:?}: {text}");
        let (code, text) = told(&[arguments, &["--nats", "nats://127.0.0.1:3"]].concat(), &[variable]);
        assert!(code == Some(2) && text.contains("server nats://127.0.0.1:3: "), "{arguments:?}: {text}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.current_dir(directory.path()).args(arguments).env_remove("PRONY_NATS");
        let output = command.env("PRONY_NATS_FILE", &in_file).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("server nats://127.0.0.1:2: "), "{arguments:?}: {text}");
        let (code, text) = told(arguments, &[("PRONY_NATS", "lab:geheim@127.0.0.1")]);
        assert!(code == Some(2) && text.contains("`PRONY_NATS` is no address"), "{arguments:?}: {text}");
        assert!(!text.contains("geheim"), "{text}");
    }
    let (_, text) = told(&["worker"], &[]);
    assert!(text.contains("--nats is missing"), "{text}");
    // Who has set it for all runs makes some of them without workers.
    let (code, text) = told(&["run", "plan.toml", "--quiet"], &[variable]);
    assert!(matches!(code, Some(0 | 3)), "{text}");
}
