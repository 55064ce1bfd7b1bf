//! `prony lab series` from outside: a tiny run with the real program, which starts itself as the engine.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{
    PronyProcess, QuestServer, RedisServer, TestDatabase, free_port, process::Signal, questdb_program,
};
use serde_json::Value;

fn start(directory: &Path, arguments: &[&str]) -> PronyProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["lab", "series"]).args(arguments).current_dir(directory);
    PronyProcess::start_command(command)
}

fn results(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory.join("results")).expect("results were written");
    entries.flatten().map(|entry| entry.path()).next().expect("the run has a directory")
}

fn run(directory: &Path, arguments: &[&str]) -> (String, PathBuf) {
    let finished = start(directory, arguments).wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    (finished.stdout, results(directory))
}

/// What engines and databases have left.
fn data_directories(results: &Path) -> Vec<String> {
    let names = fs::read_dir(results).unwrap().flatten().map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with("data-")).collect()
}

fn outcome(results: &Path) -> Value {
    serde_json::from_slice(&fs::read(results.join("series.json")).unwrap()).unwrap()
}

/// Every step failed nothing, and its result file is there.
fn check_steps(steps: &Value, results: &Path) {
    for step in steps.as_array().unwrap() {
        assert!(step["ok"].as_u64().unwrap() > 0 && step["ko"] == 0, "{step}");
        assert!(results.join(step["file"].as_str().unwrap()).is_file(), "{step}");
    }
}

#[test]
fn the_studys_script_is_its_own_limit_and_a_kill_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    // A database server runs as another user where this one is root: then it can keep its files beside the results.
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let arguments =
        ["--parts", "writes", "--durability", "sync,off", "--published", "3s", "--write", "500ms"];
    let program = questdb_program().unwrap();
    let questdb = ["--questdb", program.to_str().unwrap()];
    let (printed, results) = run(directory.path(), &[&arguments[..], &questdb].concat());
    assert!(printed.contains("Finding `offered-load-limited`"), "{printed}");
    assert!(!printed.contains("not measured"), "{printed}");
    let outcome = outcome(&results);
    check_steps(&outcome["writes"], &results);
    let steps = outcome["writes"].as_array().unwrap();
    assert_eq!(steps.len(), (5 * 2 + 3) + 3 + (3 + 2));
    for step in steps.iter().filter(|step| step["engine"] == "postgres" && step["form"] == "published") {
        // A group of notifications is a statement; with it the database is asked where nothing is cached, and for each new connection.
        let is_asked = step["metadata_cache"] == "none" || step["connection_reuse"] == false;
        let [selects, inserts] =
            ["select_mean", "insert_mean"].map(|of| step["statements"][of].as_f64().unwrap());
        assert!(inserts > 1.0 && (selects >= inserts) == is_asked, "{step}");
    }
    let (acknowledged, found) = (&outcome["restart"]["acknowledged_rows"], &outcome["restart"]["found_rows"]);
    assert!(acknowledged.as_u64().unwrap() > 0 && found.as_u64() >= acknowledged.as_u64(), "{outcome}");
    assert_eq!(data_directories(&results), [""; 0]);
    let page = fs::read_to_string(results.join("report.html")).unwrap();
    assert!(page.contains("PostgreSQL: metadata in Redis, connections used again"));
}

#[test]
fn queries_are_held_against_the_rows_and_measured() {
    let directory = tempfile::tempdir().unwrap();
    let questdb = QuestServer::shared();
    let arguments = ["--parts", "reads", "--rows", "30000", "--read", "300ms", "--questdb", &questdb.url()];
    let (printed, results) = run(directory.path(), &arguments);
    for text in ["30 000 rows of 10 entities", "| hourly averages of one entity", "| PostgreSQL 15"] {
        assert!(printed.contains(text), "{text}\n{printed}");
    }
    let outcome = outcome(&results);
    check_steps(&outcome["reads"], &results);
    assert_eq!(outcome["reads"].as_array().unwrap().len(), 3 * 4 * 3);
    let ingests = outcome["ingests"].as_array().unwrap();
    assert!(
        ingests.len() == 3 && ingests.iter().all(|ingest| ingest["compact_bytes"].as_u64() > Some(30_000))
    );
    assert_eq!(outcome["servers"]["questdb_is_own"], false);
    let body = ureq::get(format!("http://127.0.0.1:{}/exec?query=tables()", questdb.http_port()));
    let left = body.call().unwrap().body_mut().read_to_string().unwrap();
    assert!(left.contains("table_name") && !left.contains("lab_"), "{left}");
}

#[test]
fn what_is_not_there_is_said_and_the_rest_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let nobody = format!("postgres://bob:geheim@127.0.0.1:{}/shop", free_port());
    let (printed, results) = run(
        directory.path(),
        &[
            "--parts",
            "writes",
            "--durability",
            "off",
            "--published",
            "300ms",
            "--write",
            "300ms",
            "--postgres",
            &nobody,
            "--questdb",
            &format!("questdb://bob:geheim@127.0.0.1:{}", free_port()),
        ],
    );
    assert!(printed.contains("Connection refused") && !printed.contains("geheim"), "{printed}");
    let outcome = outcome(&results);
    assert_eq!(outcome["writes"].as_array().unwrap().len(), 3);
    assert_eq!(outcome["not_measured"].as_array().unwrap().len(), 7);
    assert!(!outcome.to_string().contains("geheim"), "{outcome}");
}

#[test]
fn a_given_database_is_left_as_it_was() {
    let (database, redis) = (TestDatabase::create(), RedisServer::start(&[]));
    let directory = tempfile::tempdir().unwrap();
    let (url, redis_url) = (database.url(), format!("redis://127.0.0.1:{}", redis.port()));
    let given = ["--postgres", &url, "--redis", &redis_url];
    let arguments =
        ["--engines", "postgres", "--parts", "writes", "--published", "300ms", "--write", "300ms"];
    let (printed, results) = run(directory.path(), &[&arguments[..], &given].concat());
    // The server has not been started with its library.
    assert!(printed.contains("Statements at the database are not known of all rows"), "{printed}");
    let outcome = outcome(&results);
    check_steps(&outcome["writes"], &results);
    assert_eq!(outcome["servers"]["postgres_is_own"], false);
    let left = database.query("select count(*) from pg_database where datname like 'prony_lab%'");
    assert_eq!(left, [[Some("0".to_owned())]]);
    assert_eq!(redis.command(&["DBSIZE"]).trim(), "0");
}

#[test]
fn an_interrupted_run_stops_the_servers_and_removes_their_data() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let child = start(directory.path(), &["--published", "60s"]);
    let began = Instant::now();
    let is_under_way = || {
        let Ok(mut entries) = fs::read_dir(directory.path().join("results")) else { return false };
        let found = entries.next().and_then(Result::ok).map(|entry| entry.path());
        found.is_some_and(|results| {
            fs::read_to_string(results.join("engine.log")).is_ok_and(|log| log.contains("listening on"))
        })
    };
    while !is_under_way() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not begin");
        thread::sleep(Duration::from_millis(50));
    }
    let results = results(directory.path());
    assert!(data_directories(&results).iter().any(|name| name.starts_with("data-postgres-")), "{results:?}");
    child.signal(Signal::INT);
    let finished = child.wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stdout.contains("The run was stopped"), "{}", finished.stdout);
    assert_eq!(data_directories(&results), [""; 0]);
    // Whoever still ran on it would have it in its command line.
    let place = results.canonicalize().unwrap();
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|of| fs::read(of.path().join("cmdline")).ok());
    let running = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    assert_eq!(running.filter(|line| line.contains(&*place.to_string_lossy())).count(), 0);
}
