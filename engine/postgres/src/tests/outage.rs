//! The database is wrong, away, restarted, or changed under the engine.

use std::{sync::Arc, time::Duration};

use prony_graphql::budget::TooLarge;
use prony_source::NotReady;
use prony_testkit::{
    port::free_port,
    postgres::{Cluster, TestDatabase},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    time::{Instant, sleep, timeout},
};

use crate::{
    OpenErrorKind,
    connect::reachability::PROBE_INTERVAL,
    error::{Failure, FailureKind},
    tests::*,
};

/// Nothing may wait longer than this for an answer, whatever the database does.
const NEVER_LONGER: Duration = Duration::from_secs(20);

#[test]
fn a_database_that_cannot_be_opened_says_why() {
    let database = TestDatabase::create();
    let here = database.url();
    let nowhere = format!("postgres://postgres:secret@127.0.0.1:{}/postgres", free_port());
    on_a_core(async {
        for (url, kind, text) in [
            (nowhere.as_str(), OpenErrorKind::Unreachable, "check that the server runs"),
            (&here.replace(database.name(), "no_such"), OpenErrorKind::NoSuchDatabase, "no_such"),
            (
                &here.replace("postgres@", "nobody:secret@"),
                OpenErrorKind::Rejected,
                "check user and password",
            ),
            ("postgres://u:secret@host:port/db", OpenErrorKind::Config, "postgres://user:password@host"),
            ("postgres://u:secret@127.0.0.1/db?sslmode=verify-full", OpenErrorKind::Config, "sslrootcert"),
            (&format!("{here}?sslmode=require"), OpenErrorKind::Tls, "sslmode"),
        ] {
            let settings = RelationalSettings { connect_wait_ms: 500, ..RelationalSettings::default() };
            let opened = timeout(NEVER_LONGER, Served::try_open(url, &settings));
            let Err(error) = opened.await.expect("opening ends") else { panic!("{url} was opened") };
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.to_string().contains(text), "{error}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
        let settings = RelationalSettings { schemas: vec!["nope".into()], ..RelationalSettings::default() };
        let Err(error) = Served::try_open(&here, &settings).await else { panic!("no such schema") };
        assert_eq!(error.kind, OpenErrorKind::Discovery);
        assert!(error.to_string().contains("nope"), "{error}");
    });
}

#[test]
fn unix_sockets_and_key_value_texts_are_understood() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", "create table t (id int primary key); insert into t values (7)").unwrap();
    let pairs = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", cluster.port());
    on_a_core(async {
        for url in [cluster.socket_url("postgres"), pairs] {
            let served = Served::open(&url, &settings(ResolverModel::Subquery)).await;
            let session = served.session();
            assert_eq!(served.data(&session, "{ ts { id } }", none()).await, json!({"ts": [{"id": 7}]}));
        }
    });
}

/// Asks until the outcome is as wanted; every answer in between must come within the bound.
async fn until(
    planned: &Planned,
    session: &Session,
    mut is_wanted: impl FnMut(&Result<String, ErrorCode>) -> bool,
) {
    let started = Instant::now();
    loop {
        let outcome = timeout(NEVER_LONGER, planned.outcome(session)).await.expect("a request ends");
        if is_wanted(&outcome) {
            return;
        }
        let is_told =
            matches!(outcome, Ok(_) | Err(ErrorCode::SourceUnavailable | ErrorCode::OutcomeUnknown));
        assert!(is_told, "{outcome:?}");
        assert!(started.elapsed() < NEVER_LONGER, "still {outcome:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_restart_is_survived_and_requests_meanwhile_are_told() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", "create table t (id int primary key); insert into t values (7)").unwrap();
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&cluster.url("postgres"), &settings(model)).await;
            let session = served.session();
            let read = served.plan("{ ts { id } }", none());
            let write = served.plan("mutation { updateT(pk_columns: {id: 7}) { result } }", none());
            assert_eq!(read.outcome(&session).await, Ok("[{\"id\":7}]".into()));
            assert!(write.outcome(&session).await.is_ok());
            assert_eq!(session.connections().health(), Ok(()));
            cluster.stop().unwrap();
            until(&read, &session, |outcome| *outcome == Err(ErrorCode::SourceUnavailable)).await;
            until(&write, &session, |outcome| *outcome == Err(ErrorCode::SourceUnavailable)).await;
            assert!(session.connections().health().is_err());
            cluster.start().unwrap();
            until(&read, &session, Result::is_ok).await;
            until(&write, &session, Result::is_ok).await;
            assert_eq!(session.connections().health(), Ok(()));
        });
    }
}

/// Those that read may connect a second before those that write, whose attempts have failed before.
#[test]
fn once_anybody_has_connected_again_nobody_is_told_that_the_database_is_away() {
    let cluster = Arc::new(Cluster::start_new().unwrap());
    cluster.execute("postgres", "create table t (id int primary key); insert into t values (7)").unwrap();
    on_a_core(async {
        let served = Served::open(&cluster.url("postgres"), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let read = served.plan("{ ts { id } }", none());
        let write = served.plan("mutation { updateT(pk_columns: {id: 7}) { result } }", none());
        assert!(write.outcome(&session).await.is_ok());
        cluster.stop().unwrap();
        until(&write, &session, |outcome| *outcome == Err(ErrorCode::SourceUnavailable)).await;
        // Until the pauses between attempts are the longest.
        sleep(Duration::from_secs(2)).await;
        let starting = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || starting.start()).await.unwrap().unwrap();
        let fresh = served.session();
        until(&read, &fresh, Result::is_ok).await;
        let written = timeout(NEVER_LONGER, write.outcome(&session)).await.expect("a request ends");
        assert!(written.is_ok(), "{written:?}");
    });
}

/// Asks how the database is until that is as wanted.
async fn until_ready(session: &Session, wanted: Result<(), NotReady>) {
    let asked = async {
        while session.readiness().await != wanted {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(NEVER_LONGER, asked).await.unwrap_or_else(|_| panic!("never {wanted:?}"));
}

/// A core whose only connection was given back to another core.
#[test]
fn a_core_without_connections_knows_how_the_database_is() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", "create table t (id int primary key); insert into t values (7)").unwrap();
    on_a_core(async {
        let settings = RelationalSettings { max_connections: 1, ..settings(ResolverModel::Subquery) };
        let served = Served::open(&cluster.url("postgres"), &settings).await;
        let target = Arc::clone(&served.database.target);
        let (quiet, other) = (served.session(), served.session());
        let read = served.plan("{ ts { id } }", none());
        assert!(read.outcome(&quiet).await.is_ok());
        assert!(read.outcome(&other).await.is_ok());
        assert_eq!(quiet.readiness().await, Ok(()));
        // The other core's connection breaks, and it tries again.
        cluster.stop().unwrap();
        until_ready(&quiet, Err(NotReady::Unreachable)).await;
        assert!(quiet.health().await.is_err());
        cluster.start().unwrap();
        until_ready(&quiet, Ok(())).await;
        // Nobody tries: it has to look for itself.
        drop(other);
        let given_up = async {
            while target.budget.taken() > 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(NEVER_LONGER, given_up).await.expect("its connection ends");
        cluster.stop().unwrap();
        let a_while_ago = || Instant::now().into_std().checked_sub(PROBE_INTERVAL).unwrap();
        target.reachability.record(None, a_while_ago());
        assert_eq!(quiet.readiness().await, Err(NotReady::Unreachable));
        cluster.start().unwrap();
        target.reachability.record(Some("away".into()), a_while_ago());
        until_ready(&quiet, Ok(())).await;
        assert!(read.outcome(&quiet).await.is_ok());
    });
}

#[test]
fn a_single_broken_connection_is_not_noticed() {
    let database = TestDatabase::create();
    database.execute("create table t (id int primary key); insert into t values (7)");
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let read = served.plan("{ ts { id } }", none());
        for _ in 0..10 {
            assert_eq!(read.results(&session).await[0].errors, []);
            database.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where application_name = 'prony' and datname = current_database() limit 1",
            );
        }
        assert!(read.outcome(&session).await.is_ok());
    });
}

#[test]
fn changed_tables_are_prepared_anew() {
    let database = TestDatabase::create();
    database.execute("create table t (id int primary key, v text); insert into t values (7, '1')");
    for model in MODELS {
        on_a_core(async {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let read = served.plan("{ ts { v } }", none());
            for _ in 0..4 {
                assert_eq!(read.outcome(&session).await, Ok("[{\"v\":\"1\"}]".into()));
            }
            // The result's type changes: prepared statements refuse to run.
            database.execute("alter table t alter v type varchar(10)");
            for _ in 0..4 {
                assert_eq!(read.outcome(&session).await, Ok("[{\"v\":\"1\"}]".into()));
            }
            database.execute("alter table t alter v type text");
            let gone = served.plan("{ ts { v } }", none());
            database.execute("alter table t rename v to w");
            assert_eq!(gone.outcome(&session).await, Err(ErrorCode::SchemaChanged));
            database.execute("alter table t rename w to v");
            assert_eq!(read.outcome(&session).await, Ok("[{\"v\":\"1\"}]".into()));
        });
    }
}

#[test]
fn sqlstates_are_sorted_into_kinds() {
    let kinds = [
        (FailureKind::Unavailable, ErrorCode::SourceUnavailable),
        (FailureKind::Overloaded, ErrorCode::Overloaded),
        (FailureKind::LockTimeout, ErrorCode::Timeout),
        (FailureKind::Timeout, ErrorCode::Timeout),
        (FailureKind::BadValue, ErrorCode::BadUserInput),
        (FailureKind::BadNumber, ErrorCode::BadUserInput),
        (FailureKind::TooLarge(TooLarge::Field { max_bytes: 1 }), ErrorCode::LimitExceeded),
        (FailureKind::ReadOnly, ErrorCode::SourceFailed),
    ];
    for (kind, code) in kinds {
        let error = Failure::new(kind, "inside").to_graphql(&[], 1000);
        assert_eq!(error.code, code);
        assert!(!error.message.contains("inside"));
        assert_eq!(error.detail.as_deref(), Some("inside"));
    }
}

/// How a server's only response counts.
async fn kind_of_response(severity: &str, code: &str) -> FailureKind {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("host=127.0.0.1 port={} user=u", listener.local_addr().unwrap().port());
    let fields = format!("S{severity}\0V{severity}\0C{code}\0Mwhy\0\0");
    let serve = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = [0; 1024];
        assert!(socket.read(&mut asked).await.unwrap() > 0);
        socket.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").await.unwrap();
        assert!(socket.read(&mut asked).await.unwrap() > 0);
        let length = u32::try_from(4 + fields.len()).unwrap().to_be_bytes();
        socket.write_all(&[b"E", &length[..], fields.as_bytes()].concat()).await.unwrap();
    };
    let ask = async {
        let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        let (response, _) = tokio::join!(client.batch_execute("COMMIT"), connection);
        Failure::from(response.unwrap_err()).kind
    };
    let both = async { tokio::join!(serve, ask) };
    timeout(NEVER_LONGER, both).await.expect("both end").1
}

/// A disk that is full interrupts a commit in one of two ways: the transaction is rolled back, or the server starts anew and may find
/// it committed.
#[test]
fn a_response_that_ends_the_session_is_a_connection_that_broke_whatever_its_code() {
    on_a_core(async {
        for (severity, code, kind) in [
            ("ERROR", "53100", FailureKind::DiskFull),
            ("FATAL", "53100", FailureKind::ConnectionLost),
            ("PANIC", "53100", FailureKind::ConnectionLost),
            ("PANIC", "58030", FailureKind::ConnectionLost),
            ("ERROR", "58030", FailureKind::Failed),
            ("ERROR", "40001", FailureKind::Conflict),
            ("FATAL", "25P03", FailureKind::ConnectionLost),
            ("ERROR", "53000", FailureKind::Exhausted),
            ("ERROR", "53300", FailureKind::Exhausted),
            ("ERROR", "53400", FailureKind::BeyondGrant),
        ] {
            assert_eq!(kind_of_response(severity, code).await, kind, "{severity} {code}");
        }
    });
}

#[test]
fn passwords_are_asked_for_and_never_shown() {
    let cluster = Cluster::start_new().unwrap();
    cluster
        .execute(
            "postgres",
            "create role app login password 'right-secret'; create table t (id int primary key)",
        )
        .unwrap();
    cluster.execute("postgres", "grant select on t to app").unwrap();
    let file = cluster.query("postgres", "show hba_file").unwrap()[0][0].clone().unwrap();
    let rules = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("host all app 127.0.0.1/32 scram-sha-256\n{rules}")).unwrap();
    cluster.restart().unwrap();
    let url = |user: &str| cluster.url("postgres").replace("postgres@", &format!("{user}@"));
    on_a_core(async {
        let served = Served::open(&url("app:right-secret"), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        assert_eq!(served.data(&session, "{ ts { id } }", none()).await, json!({"ts": []}));
        for user in ["app", "app:wrong-secret"] {
            let opened = Served::try_open(&url(user), &RelationalSettings::default()).await;
            let Err(error) = opened else { panic!("{user} was let in") };
            assert_eq!(error.kind, OpenErrorKind::Rejected, "{error}");
            assert!(error.to_string().contains("password"), "{error}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
        // What was right is wrong from now on: requests are told so at once.
        cluster.execute("postgres", "alter role app password 'other'").unwrap();
        cluster.restart().unwrap();
        let read = served.plan("{ ts { id } }", none());
        until(&read, &session, |outcome| *outcome == Err(ErrorCode::SourceUnavailable)).await;
        assert!(!session.connections().health().unwrap_err().contains("secret"));
    });
}
