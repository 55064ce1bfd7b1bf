//! The observer of databases against temporary servers.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_model::measurement::observation::Observation;
use prony_observe::Observers;
use prony_testkit::port::free_port;
use prony_testkit::postgres::{Cluster, TestDatabase};
use std::time::{Duration, Instant};

fn open(url: &str) -> Result<Observers, String> {
    let specs = Observers::parse(&[format!("pg:{url}")]).map_err(|errors| errors[0].to_string())?;
    Observers::open(&specs).map_err(|errors| errors[0].to_string())
}

fn started(url: &str) -> Observers {
    let mut observers = open(url).unwrap();
    observers.start(Instant::now());
    observers
}

/// Does `work` again and again until `holds`, which the observer needs a second or two for.
fn until(observers: &Observers, work: impl Fn(), holds: impl Fn(&Observation) -> bool) -> Observation {
    let begin = Instant::now();
    loop {
        work();
        let seen = observers.observations();
        if let Some(found) = seen.into_iter().find(|one| one.name.starts_with("PostgreSQL") && holds(one)) {
            return found;
        }
        let seen = observers.observations();
        assert!(begin.elapsed() < Duration::from_secs(60), "not within a minute: {seen:#?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn values(seen: &Observation, series: &str) -> Vec<f64> {
    let found = seen.series.iter().find(|one| one.name == series);
    found.map(|series| series.points.iter().map(|(_, value)| *value).collect()).unwrap_or_default()
}

fn moves(seen: &Observation, series: &str) -> bool {
    values(seen, series).iter().any(|value| *value > 0.0)
}

fn has_fault(seen: &Observation, text: &str) -> bool {
    seen.faults.iter().any(|(_, fault)| fault.contains(text))
}

#[test]
fn counters_move_and_resets_give_no_negative_rates() {
    let database = TestDatabase::create();
    database.execute("CREATE TABLE item (id int)");
    let observers = started(&database.url());
    let work = || database.execute("INSERT INTO item VALUES (1); UPDATE item SET id = 2; SELECT * FROM item");
    let rows =
        ["commits a second", "rows inserted a second", "rows updated a second", "rows returned a second"];
    until(&observers, work, |seen| rows.iter().all(|series| moves(seen, series)));
    database.execute("SELECT pg_stat_reset()");
    let seen = until(&observers, work, |seen| has_fault(seen, "statistics were reset"));
    assert!(seen.name.ends_with(&format!(":{}", database.cluster().port())), "{}", seen.name);
    assert!(has_fault(&seen, "CREATE EXTENSION pg_stat_statements in this database"), "{:?}", seen.faults);
    assert!(values(&seen, "select statements a second").is_empty());
    assert!(seen.series.iter().flat_map(|series| &series.points).all(|(_, value)| *value >= 0.0));
    assert!(seen.summary.iter().any(|figure| figure.name == "blocks found in the server's memory"));
}

#[test]
fn statements_are_counted_by_kind_and_a_lost_server_comes_back() {
    let cluster = Cluster::start_new().unwrap();
    let run = |statements: &str| cluster.execute("postgres", statements).unwrap();
    run("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
    cluster.restart().unwrap();
    run("CREATE SCHEMA \"Odd one\"; CREATE EXTENSION pg_stat_statements SCHEMA \"Odd one\"");
    run("CREATE TABLE item (id int)");
    let observers = started(&cluster.url("postgres"));
    let kinds = ["select", "insert", "delete", "other"].map(|kind| format!("{kind} statements a second"));
    let work = || {
        run("/* a; b */ (SELECT 1)");
        run("-- select\n INSERT INTO item VALUES (1)");
        run("delete FROM item");
        run("CREATE TEMPORARY TABLE other (id int)");
    };
    let seen = until(&observers, work, |seen| kinds.iter().all(|series| moves(seen, series)));
    assert!(seen.faults.is_empty(), "{:?}", seen.faults);
    assert!(!moves(&seen, "update statements a second"));

    cluster.stop().unwrap();
    until(&observers, || (), |seen| has_fault(seen, "administrator command") && has_fault(seen, "refused"));
    cluster.start().unwrap();
    let seen = until(&observers, || (), |seen| has_fault(seen, "it answers again"));
    let before = values(&seen, "commits a second").len();
    until(&observers, || (), |seen| values(seen, "commits a second").len() > before);
}

#[test]
fn the_observer_does_not_count_its_own_statements() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'").unwrap();
    cluster.restart().unwrap();
    cluster.execute("postgres", "CREATE EXTENSION pg_stat_statements").unwrap();
    let observers = started(&cluster.url("postgres"));
    let select = "select statements a second";
    let is_seen = |seen: &Observation| values(seen, select).len() > 2 && moves(seen, "commits a second");
    let seen = until(&observers, || (), is_seen);
    assert!(!moves(&seen, select), "{:?}", values(&seen, select));
}

#[test]
fn a_role_that_may_not_see_others_is_told() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", "CREATE ROLE bob LOGIN").unwrap();
    let url = cluster.url("postgres").replace("//postgres@", "//bob@");
    // Holds a connection of another role.
    let other = open(&cluster.url("postgres")).unwrap();
    let seen = until(&started(&url), || (), |seen| has_fault(seen, "GRANT pg_read_all_stats"));
    assert!(!seen.name.contains("bob"), "{}", seen.name);
    drop(other);
}

#[test]
fn what_cannot_be_reached_is_told_without_its_password() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", "CREATE ROLE bob LOGIN PASSWORD 'richtig'").unwrap();
    let rules = cluster.directory().join("data/pg_hba.conf");
    std::fs::write(rules, "host all bob 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n")
        .unwrap();
    cluster.restart().unwrap();
    let at = |port: u16, database: &str| format!("postgresql://bob:geheim@127.0.0.1:{port}/{database}");
    for (url, told) in [
        (at(cluster.port(), "postgres"), "password authentication failed for user \"bob\"; see that `psql`"),
        (at(cluster.port(), "postgres").replace("geheim", "richtig") + "x", "\"postgresx\" does not exist"),
        (at(free_port(), "postgres"), "Connection refused"),
        (at(1, "postgres?nonsense=1"), "nonsense"),
        ("http://bob:geheim@127.0.0.1/shop".to_owned(), "pg:postgres://"),
    ] {
        let error = open(&url).unwrap_err();
        assert!(error.contains(told) && error.contains("bob:***@"), "{error}");
        assert!(!error.contains("geheim") && !error.contains("richtig"), "{error}");
        println!("{error}");
    }
}
