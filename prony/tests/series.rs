//! `prony serve series:DIR` from outside: notified, queried, killed, and started again. `PRONY_SERIES_KILLS=200` for more of that, `PRONY_SEED`
//! to repeat it.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::{PronyProcess, process::Signal, seed::Seeded};
use rand::RngExt as _;
use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Notifications by each client until the server is killed, at most.
const NOTIFICATIONS_MAX: u64 = 400;
const CLIENTS: u64 = 4;
const KILLS: u64 = 3;

fn start(directory: &Path, arguments: &[&str]) -> (PronyProcess, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("series:{}", directory.display())).args(["--listen", "127.0.0.1:0"]);
    let mut process = PronyProcess::start_command({
        command.args(arguments);
        command
    });
    let url = process.wait_for_url();
    (process, url)
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(20)))
        .http_status_as_error(false)
        .build()
        .into()
}

fn get(url: &str, path: &str) -> String {
    let mut response = agent().get(format!("{url}{path}")).call().unwrap();
    response.body_mut().read_to_string().unwrap()
}

/// The status; none where there is no response.
fn notify(agent: &ureq::Agent, url: &str, entities: &str) -> Option<u16> {
    let body = format!("{{\"data\":[{entities}]}}");
    let request = agent.post(format!("{url}/v2/notify")).content_type("application/json");
    request.send(body).ok().map(|response| response.status().as_u16())
}

/// Two entities that always come together, a second after those before them.
fn pair(client: u64, number: u64) -> String {
    let (day, hour, minute, second) =
        (1 + number / 86_400, number / 3600 % 24, number / 60 % 60, number % 60);
    let entity = |id: &str| {
        format!(
            r#"{{"id":"{id}:{client}","type":"Pair","number":{{"type":"Integer","value":{number}}},"observedAt":"2024-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z"}}"#,
        )
    };
    format!("{},{}", entity("left"), entity("right"))
}

fn numbers(url: &str, id: &str) -> Vec<u64> {
    let text = get(url, &format!("/v2/entities/{id}/attrs/number/value?limit=1000000"));
    let Some((_, values)) = text.split_once("\"values\":[") else { return Vec::new() };
    values.trim_end_matches("]}").split(',').map(|number| number.parse().unwrap()).collect()
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let kills = std::env::var("PRONY_SERIES_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut chance = Seeded::new();
    let directory = tempfile::tempdir().unwrap();
    let mut known = [0; CLIENTS as usize];
    let mut unacknowledged = 0;
    for kill in 0..kills {
        let limit = chance.random_range(1..=NOTIFICATIONS_MAX);
        let acknowledged = notify_until_killed(directory.path(), &known, limit);
        let (_process, url) = start(directory.path(), &[]);
        for client in 0..CLIENTS {
            let (left, right) =
                (numbers(&url, &format!("left:{client}")), numbers(&url, &format!("right:{client}")));
            let place = format!("client {client} after kill {kill} of seed {}", chance.seed());
            assert_eq!(left, right, "there is no half notification: {place}");
            let count = left.len() as u64;
            assert_eq!(left, (0..count).collect::<Vec<_>>(), "{place}");
            let least = acknowledged[client as usize];
            assert!((least..=least + 1).contains(&count), "{count} of {least} acknowledged: {place}");
            unacknowledged += count - least;
            known[client as usize] = count;
        }
    }
    println!(
        "{kills} kills of seed {}: {known:?} notifications, {unacknowledged} unacknowledged",
        chance.seed()
    );
    assert!(known.iter().all(|count| *count > 0));
}

/// All clients notify what comes behind what is known, until the server is killed after so many notifications of the first client; how
/// many of each are known or were acknowledged.
fn notify_until_killed(directory: &Path, known: &[u64], limit: u64) -> Vec<u64> {
    let (process, url) = start(directory, &[]);
    let over = AtomicU64::new(0);
    let notified = |agent: &ureq::Agent, client: usize, number: u64| {
        let is_acknowledged = notify(agent, &url, &pair(client as u64, number)) == Some(200);
        if client == 0 && is_acknowledged && over.fetch_add(1, Ordering::Relaxed) + 1 == limit {
            process.signal(Signal::KILL);
        }
        is_acknowledged
    };
    thread::scope(|threads| {
        let notified = &notified;
        let clients: Vec<_> = (known.iter().enumerate())
            .map(|(client, from)| {
                threads.spawn(move || {
                    let agent = agent();
                    (*from..u64::MAX).take_while(|number| notified(&agent, client, *number)).count() as u64
                        + from
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

fn series_command(arguments: &[&str], paths: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("series").args(arguments).args(paths);
    command
}

#[test]
fn a_backup_of_a_served_directory_is_whole_or_called_part() {
    let directory = tempfile::tempdir().unwrap();
    let targets = tempfile::tempdir().unwrap();
    let (process, url) = start(directory.path(), &[]);
    let acknowledged = Arc::new(AtomicU64::new(0));
    let client = {
        let (url, acknowledged) = (url.clone(), Arc::clone(&acknowledged));
        thread::spawn(move || {
            let agent = agent();
            while notify(&agent, &url, &pair(0, acknowledged.load(Ordering::Relaxed))) == Some(200) {
                acknowledged.fetch_add(1, Ordering::Release);
            }
        })
    };
    let mut whole = Vec::new();
    for place in 0..12 {
        let target = targets.path().join(place.to_string());
        let least = acknowledged.load(Ordering::Acquire);
        let mut backup = series_command(&["backup"], &[directory.path(), &target]);
        let mut backup = backup.stdout(Stdio::null()).spawn().unwrap();
        if place % 4 < 3 {
            thread::sleep(Duration::from_millis(place * 5));
            backup.kill().unwrap();
        }
        let is_done = backup.wait().unwrap().success();
        assert!(is_done <= target.exists(), "{place}");
        if target.exists() {
            assert!(series_command(&["check"], &[&target]).status().unwrap().success());
            whole.push((target, least));
        }
    }
    process.signal(Signal::KILL);
    client.join().unwrap();
    drop(process);
    assert!(series_command(&["check"], &[directory.path()]).status().unwrap().success());
    assert!(whole.len() >= 3);
    for (place, (target, least)) in whole.iter().enumerate() {
        if place + 3 < whole.len() {
            continue;
        }
        let (_process, url) = start(target, &[]);
        let left = numbers(&url, "left:0");
        assert_eq!(left, numbers(&url, "right:0"), "there is no half notification");
        assert_eq!(left, (0..left.len() as u64).collect::<Vec<_>>());
        assert!(left.len() as u64 >= *least, "{} of {least}", left.len());
    }
}

#[test]
fn one_process_at_a_time_has_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (_process, url) = start(directory.path(), &[]);
    let mut second = Command::new(env!("CARGO_BIN_EXE_prony"));
    second.arg("serve").arg(format!("series:{}", directory.path().display()));
    let finished = PronyProcess::start_command(second).wait();
    assert_eq!(finished.status.code(), Some(2));
    assert!(finished.stderr.contains("another process has the series in"), "{}", finished.stderr);
    assert_eq!(get(&url, "/version"), "{\"version\":\"1.0.1-dev\"}");
}

#[test]
fn series_are_configured_in_a_file_and_shown_by_graphql_health_and_metrics() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("prony.toml");
    let url = format!("series:{}", directory.path().join("series").display());
    std::fs::write(
        &file,
        format!("[[source]]\nurl = {url:?}\non_duplicate = \"replace\"\nversion = \"1.0.0\"\nretention = [\"Old=1d\"]\n"),
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    for value in [1, 2] {
        let entity = format!(
            r#"{{"id":"x","type":"T","n":{{"type":"Number","value":{value}}},"observedAt":"2024-01-01T00:00:00Z"}}"#
        );
        assert_eq!(notify(&agent(), &url, &entity), Some(200));
    }
    assert!(get(&url, "/v2/entities/x/attrs/n/value").ends_with("\"values\":[2.0]}"));
    assert_eq!(get(&url, "/version"), "{\"version\":\"1.0.0\"}");
    let query = "/graphql?query=%7BseriesTypes%7Bname%20entityCount%20attributes%7Bname%20type%7D%7D%7D";
    assert_eq!(
        get(&url, query),
        r#"{"data":{"seriesTypes":[{"name":"T","entityCount":1,"attributes":[{"name":"n","type":"Number"}]}]}}"#
    );
    assert_eq!(get(&url, "/health"), "{\"status\":\"pass\"}");
    assert!(get(&url, "/metrics").contains("prony_series_rows{source="), "{}", get(&url, "/metrics"));
}

/// Beside others, the server speaks for all.
#[test]
fn series_beside_another_source_are_a_part_of_its_health() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    for source in ["series", "graph"] {
        command.arg(format!("{source}:{}", directory.path().join(source).display()));
    }
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    let health = get(&url, "/health");
    assert!(health.starts_with("{\"status\":\"ok\""), "{health}");
    assert!(health.contains("\"series\":{\"durability\":\"sync\",\"rows\":0"), "{health}");
}

#[test]
fn files_are_checked_and_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let series = directory.path().join("series");
    let run = |command: &str| {
        let mut prony = Command::new(env!("CARGO_BIN_EXE_prony"));
        prony.args(["series", command, "series"]).current_dir(directory.path());
        let finished = PronyProcess::start_command(prony).wait();
        (finished.status.code(), format!("{}{}", finished.stdout, finished.stderr))
    };
    assert_eq!(run("check"), (Some(2), "error: there are no series in series\n".to_owned()));
    let (process, url) = start(&series, &[]);
    assert_eq!(notify(&agent(), &url, &pair(1, 1)), Some(200));
    let (status, said) = run("compact");
    assert!(status == Some(2) && said.contains("another process has the series in series open"), "{said}");
    process.stop();
    let (status, said) = run("check");
    assert!(
        status == Some(0)
            && said.starts_with("series: 1 type, 2 entities, 2 rows, in 0 segments and a log of"),
        "{said}"
    );
    let (status, said) = run("compact");
    assert!(status == Some(0) && said.contains(" became ") && said.ends_with(" of 1\n"), "{said}");
    let (status, said) = run("check");
    assert!(
        status == Some(0) && said.starts_with("series: 1 type, 2 entities, 2 rows, in 1 segment"),
        "{said}"
    );
}

#[test]
fn what_is_exported_is_imported_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (process, url) = start(&path("series"), &[]);
    for number in 0..3 {
        assert_eq!(notify(&agent(), &url, &pair(0, number)), Some(200));
    }
    assert_eq!(numbers(&url, "left:0"), [0, 1, 2]);
    process.signal(Signal::TERM);
    drop(process.wait());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.arg("series").args(arguments).current_dir(directory.path());
        PronyProcess::start_command(command).wait()
    };
    let exported = run(&["export", "series", "rows.ndjson"]);
    assert!(
        exported.stdout.contains("6 rows of 1 type were exported"),
        "{}{}",
        exported.stdout,
        exported.stderr
    );
    assert_eq!(run(&["export", "series", "rows.ndjson"]).status.code(), Some(2), "a file is not overwritten");
    let text = std::fs::read_to_string(path("rows.ndjson")).unwrap();
    let cut = text.rsplit_once("{\"end\"").unwrap().0;
    std::fs::write(path("cut.ndjson"), cut).unwrap();
    let refused = run(&["import", "copy", "cut.ndjson"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("was cut off after 6 rows"), "{}", refused.stderr);
    assert!(!path("copy").exists() && !path("copy.part").exists());
    // It was made within the directory that it was to become.
    let imported = run(&["import", "copy/", "rows.ndjson"]);
    assert!(
        imported.stdout.contains("6 rows of 1 type were imported"),
        "{}{}",
        imported.stdout,
        imported.stderr
    );
    assert_eq!(
        run(&["import", "copy", "rows.ndjson"]).status.code(),
        Some(2),
        "nothing is added to what is there"
    );
    assert!(!path("copy/.part").exists() && !path("copy.part").exists());
    let (_process, url) = start(&path("copy"), &[]);
    assert_eq!(numbers(&url, "right:0"), [0, 1, 2]);
}

/// Over HTTP the server has to let the coding of the body through.
#[test]
fn lines_that_are_coded_are_taken_and_other_paths_refuse_codings() {
    let directory = tempfile::tempdir().unwrap();
    let (_process, url) = start(directory.path(), &[]);
    let post = |path: &str, coding: &str, body: &[u8]| {
        let request = agent().post(format!("{url}{path}")).header("content-encoding", coding);
        request.send(body).unwrap().status().as_u16()
    };
    // What gzip makes of `m,id=x n=1i 1` and a line feed, stored.
    let line = b"m,id=x n=1i 1\n";
    let mut coded =
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, line.len() as u8, 0, !(line.len() as u8), 255];
    coded.extend_from_slice(line);
    coded.extend_from_slice(&crc32(line).to_le_bytes());
    coded.extend_from_slice(&(line.len() as u32).to_le_bytes());
    assert_eq!(post("/write?precision=s", "gzip", &coded), 204);
    assert_eq!(post("/v2/notify", "gzip", &coded), 415);
    assert_eq!(post("/graphql", "snappy", b""), 415);
    assert_eq!(numbers(&url, "x").len(), 0);
    assert!(get(&url, "/v2/entities/x/attrs/n/value").ends_with("\"values\":[1]}"));
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
