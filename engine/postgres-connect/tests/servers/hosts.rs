//! Several hosts, services, and servers that are not up yet.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use prony_postgres_connect::{Address, ConnectErrorKind, Connector, Environment};
use prony_testkit::{free_port, postgres::Cluster};

use crate::{ask, connect, connector, run};

const PORT: &str = "show port";

#[test]
fn the_first_server_that_is_wanted_is_taken() {
    let (one, two) = (Cluster::start_new().unwrap(), Cluster::start_new().unwrap());
    one.execute("postgres", "alter system set default_transaction_read_only = on").unwrap();
    one.restart().unwrap();
    let (nobody, one_port, two_port) = (free_port(), one.port().to_string(), two.port().to_string());
    let address = |wanted: &str| {
        format!(
            "postgres://postgres@127.0.0.1:{nobody},127.0.0.1:{one_port},127.0.0.1:{two_port}/postgres{wanted}"
        )
    };
    run(async {
        for (wanted, expected) in [
            ("", &one_port),
            ("?target_session_attrs=read-write", &two_port),
            ("?target_session_attrs=read-only", &one_port),
            ("?target_session_attrs=primary", &one_port),
            ("?target_session_attrs=prefer-standby", &one_port),
        ] {
            let port = ask(connect(&address(wanted)).await.unwrap(), PORT).await;
            assert_eq!(port.as_ref(), Some(expected), "{wanted}");
        }
        let error = connect(&address("?target_session_attrs=standby")).await.unwrap_err();
        assert_eq!(error.kind, ConnectErrorKind::NotReady);
        assert!(error.to_string().contains("a primary"), "{error}");
    });
}

#[test]
fn a_new_primary_is_found() {
    let (one, two) = (Cluster::start_new().unwrap(), Cluster::start_new().unwrap());
    let address = format!(
        "host=127.0.0.1,127.0.0.1 port={},{} user=postgres dbname=postgres target_session_attrs=read-write",
        one.port(),
        two.port()
    );
    let connector = connector(&address).unwrap();
    run(async {
        let port = ask(connector.connect().await.unwrap(), PORT).await;
        assert_eq!(port, Some(one.port().to_string()));
        one.stop().unwrap();
        let port = ask(connector.connect().await.unwrap(), PORT).await;
        assert_eq!(port, Some(two.port().to_string()));
    });
}

#[test]
fn a_service_says_where_the_database_is() {
    let cluster = Cluster::start_new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("services.conf");
    fs::write(&file, format!("[shop]\nhost=127.0.0.1\nport={}\nuser=postgres\n", cluster.port())).unwrap();
    let environment =
        Environment::of(&[("PGSERVICEFILE", file.to_str().unwrap()), ("PGAPPNAME", "of the environment")]);
    let address = Address::resolve("postgres:///?service=shop", &environment, "prony").unwrap();
    run(async {
        let connected = Connector::new(address).connect().await.unwrap();
        assert_eq!(ask(connected, "show application_name").await.as_deref(), Some("of the environment"));
    });
}

#[test]
fn a_start_waits_for_a_server_that_is_not_up_yet() {
    let cluster = Cluster::start_new().unwrap();
    cluster.stop().unwrap();
    let connector = connector(&cluster.url("postgres")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            cluster.start().unwrap();
        });
        let connected = run(async { connector.connect_patiently(Duration::from_secs(60)).await.map(drop) });
        connected.unwrap();
    });
    // What does not pass by itself is told at once, what may pass in the end.
    run(async {
        let started = Instant::now();
        let unknown = connect(&cluster.url("no_such")).await.unwrap_err();
        assert_eq!(unknown.kind, ConnectErrorKind::NoSuchDatabase);
        cluster.stop().unwrap();
        let error = connector.connect_patiently(Duration::from_millis(300)).await.unwrap_err();
        assert_eq!(error.kind, ConnectErrorKind::Unreachable);
        assert!(error.to_string().contains("tried for"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(60));
    });
}
