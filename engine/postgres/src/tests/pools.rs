//! How many connections there are, how many requests wait, and servers that come, go and take no writes any more.

use std::{cell::Cell, collections::BTreeSet, sync::atomic::Ordering::Relaxed, time::Duration};

use futures_util::future::join_all;
use prony_graphql::variables::RequestClient;
use prony_source::CommonSettings;
use prony_sql::database::FieldStatements;
use prony_testkit::postgres::{Cluster, PostgresError, TestDatabase};
use tokio::time::{sleep, timeout};

use crate::{connect::load::Pace, tests::*};

const NEVER_LONGER: Duration = Duration::from_secs(30);

const TABLES: &str = "
    create table t (id int primary key, v text);
    insert into t select n, 'ä' || n from generate_series(1, 50) as n;
    create function nap(seconds float8) returns float8 language plpgsql as
        $$ begin perform pg_sleep(seconds); return seconds; end $$;
    create view brief as select id, nap(0.02) as nap from t where id < 3;";

fn connections(database: &TestDatabase) -> usize {
    let count = database.query(
        "select count(*) from pg_stat_activity where application_name = 'prony' and datname = current_database()",
    );
    count[0][0].as_deref().unwrap().parse().unwrap()
}

fn insert(id: usize) -> String {
    format!("mutation {{ createT(id: {id}, v: \"é\") {{ id }} }}")
}

#[test]
fn connections_are_opened_when_they_are_needed() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    on_a_core(async {
        let settings = RelationalSettings { connections_per_core: 8, ..RelationalSettings::default() };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        assert!(served.plan("{ ts { id } }", none()).outcome(&session).await.is_ok());
        assert_eq!(connections(&database), 1);
    });
}

#[test]
fn a_connection_that_the_server_ends_for_being_idle_is_opened_again_when_it_is_needed() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", TABLES).unwrap();
    cluster.execute("postgres", "alter role postgres set idle_session_timeout = '500ms'").unwrap();
    on_a_core(async {
        let served = Served::open(&cluster.url("postgres"), &settings(ResolverModel::Subquery)).await;
        let (session, target) = (served.session(), &served.database.target);
        let (read, write) = (served.plan("{ ts { id } }", none()), served.plan(&insert(500), none()));
        assert!(read.outcome(&session).await.is_ok() && write.outcome(&session).await.is_ok());
        let ended = async {
            while target.budget.taken() > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(NEVER_LONGER, ended).await.expect("the server ends them");
        let opened = target.counts.opened.load(Relaxed);
        // Longer than the first pauses between attempts are.
        sleep(Duration::from_millis(500)).await;
        assert_eq!(target.counts.opened.load(Relaxed), opened);
        assert_eq!(session.connections().health(), Ok(()));
        assert!(read.outcome(&session).await.is_ok());
        assert_eq!(target.counts.opened.load(Relaxed), opened + 1);
    });
}

#[test]
fn all_cores_together_have_no_more_connections_than_they_may() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    on_a_core(async {
        let settings = RelationalSettings {
            connections_per_core: 4,
            max_connections: 3,
            ..RelationalSettings::default()
        };
        let served = Served::open(&database.url(), &settings).await;
        // As many pools want connections as there are cores and kinds of use.
        let sessions: Vec<_> = (0..3).map(|_| served.session()).collect();
        let slow = served.plan("{ briefs { id nap } }", none());
        let work = join_all((0..60).map(|number| {
            let (session, served, slow) = (&sessions[number % 3], &served, &slow);
            async move {
                if number % 4 == 0 {
                    served.plan(&insert(1000 + number), none()).outcome(session).await
                } else {
                    slow.outcome(session).await
                }
            }
        }));
        let most = Cell::new(0);
        let watch = async {
            loop {
                most.set(connections(&database).max(most.get()));
                sleep(Duration::from_millis(5)).await;
            }
        };
        let outcomes = tokio::select! {
            outcomes = timeout(NEVER_LONGER, work) => outcomes.expect("all requests end"),
            () = watch => unreachable!(),
        };
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        // One that is being closed may still be seen beside the one in its place.
        assert!((1..=4).contains(&most.get()), "{}", most.get());
        assert!(served.database.target.budget.taken() <= 3);
    });
}

#[test]
fn more_than_may_wait_are_refused_at_once() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    on_a_core(async {
        let settings =
            RelationalSettings { connections_per_core: 1, max_waiting: 2, ..RelationalSettings::default() };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        assert!(served.plan(&insert(99), none()).outcome(&session).await.is_ok());
        let (client, connection) =
            tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("begin; lock table t in share mode").await.unwrap();
        let plans: Vec<_> = (100..106).map(|id| served.plan(&insert(id), none())).collect();
        let all = join_all(plans.iter().map(|plan| plan.outcome(&session)));
        let release = async {
            let overloads = || served.database.target.counts.refused.load(Relaxed);
            while overloads() < 3 {
                sleep(Duration::from_millis(5)).await;
            }
            client.batch_execute("commit").await.unwrap();
        };
        let (outcomes, ()) = timeout(NEVER_LONGER, async { tokio::join!(all, release) }).await.unwrap();
        let refused = outcomes.iter().filter(|outcome| **outcome == Err(ErrorCode::Overloaded)).count();
        assert_eq!(
            (refused, outcomes.iter().filter(|outcome| outcome.is_ok()).count()),
            (3, 3),
            "{outcomes:?}"
        );
        assert_eq!(database.query("select count(*) from t where id >= 100")[0][0].as_deref(), Some("3"));
    });
}

/// One client has many mutations waiting, another one has one: it does not wait for all of the other's.
#[test]
fn clients_take_turns_at_the_connections() {
    let database = TestDatabase::create();
    database.execute("create table t (id int primary key, place serial)");
    on_a_core(async {
        let settings = RelationalSettings {
            connections_per_core: 1,
            lock_timeout_ms: 60_000,
            ..RelationalSettings::default()
        };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        let first = served.plan("mutation { createT(id: 1000) { id } }", none());
        assert!(first.outcome(&session).await.is_ok(), "the connection is open");
        let (client, connection) =
            tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("begin; lock table t in share mode").await.unwrap();
        let of_client = |id: usize| {
            let mut plan = served.plan(&format!("mutation {{ createT(id: {id}) {{ id }} }}"), none());
            let address = [u8::from(id == 99); 16];
            plan.variables = plan.variables.with_client(RequestClient::Address(address));
            plan
        };
        let plans: Vec<_> = [0, 1, 2, 3, 4, 5, 99].map(of_client).into();
        let all = join_all(plans.iter().map(|plan| plan.outcome(&session)));
        let release = async {
            while served.database.target.counts.waiting.load(Relaxed) < 6 {
                sleep(Duration::from_millis(5)).await;
            }
            client.batch_execute("commit").await.unwrap();
        };
        let (outcomes, ()) = timeout(NEVER_LONGER, async { tokio::join!(all, release) }).await.unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    });
    let order = database.query("select id from t where id < 1000 order by place");
    let order: Vec<_> = order.iter().map(|row| row[0].as_deref().unwrap()).collect();
    // The first has the connection, and it is the second's turn, when the other client comes.
    assert_eq!(order, ["0", "1", "99", "2", "3", "4", "5"]);
}

/// Reads that wait as long as somebody holds a lock.
const HELD: &str = "
    create table t (id int primary key); insert into t values (7);
    create function held() returns int language plpgsql as
        $$ begin perform pg_advisory_xact_lock_shared(7); return 1; end $$;
    create view gate as select id, held() as held from t;";

fn is_known_to_be_quick(planned: &Planned) -> bool {
    let FieldStatements::Select(read) = &planned.prepared[0].statements else { panic!("one statement") };
    read.statement.pace() == Pace::Quick
}

/// Runs a statement until it is known to be quick: on a machine that does much else its first times may be long.
async fn learn(planned: &Planned, session: &Session) {
    let learned = async {
        for _ in 0..8 {
            assert!(planned.outcome(session).await.is_ok());
        }
        while !is_known_to_be_quick(planned) {
            assert!(planned.outcome(session).await.is_ok());
        }
    };
    timeout(NEVER_LONGER, learned).await.expect("one row is read within some milliseconds");
}

/// It was sent before them, and is answered before them, though it is not prepared there.
#[test]
fn a_quick_statement_that_is_new_to_a_connection_stays_before_slow_ones() {
    let database = TestDatabase::create();
    database.execute(HELD);
    on_a_core(async {
        let settings = RelationalSettings { connections_per_core: 1, ..RelationalSettings::default() };
        let served = Served::open(&database.url(), &settings).await;
        let (quick, slow) =
            (served.plan("{ ts { id } }", none()), served.plan("{ gates { id held } }", none()));
        learn(&quick, &served.session()).await;
        let session = served.session();
        assert!(slow.outcome(&session).await.is_ok(), "it is prepared");
        let (client, connection) =
            tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("select pg_advisory_lock(7)").await.unwrap();
        assert!(is_known_to_be_quick(&quick));
        let first = async {
            let asked = timeout(NEVER_LONGER, quick.outcome(&session)).await;
            client.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
            asked
        };
        let (asked, behind) = tokio::join!(first, slow.outcome(&session));
        assert!(asked.expect("nothing that was sent later holds it up").is_ok());
        assert!(behind.is_ok(), "{behind:?}");
        assert!(quick.outcome(&session).await.is_ok(), "it is prepared by now");
    });
}

/// Far more slow statements than connections take at once, on a database of this machine or on another one, leave room for a quick one.
#[test]
fn quick_statements_have_a_lane() {
    let database = TestDatabase::create();
    database.execute(HELD);
    for (is_here, connections_per_core) in [(true, 2), (false, 2), (false, 3)] {
        on_a_core(async {
            let settings = RelationalSettings {
                connections_per_core,
                lock_timeout_ms: 60_000,
                common: CommonSettings { statement_timeout_ms: 60_000, ..CommonSettings::default() },
                ..RelationalSettings::default()
            };
            let mut served = Served::open(&database.url(), &settings).await;
            let opened = Arc::get_mut(&mut served.database).expect("nobody else has it yet");
            Arc::get_mut(&mut opened.target).expect("nobody else has it yet").shares_processors = is_here;
            let session = served.session();
            let quick = served.plan("{ ts { id } }", none());
            let is_known = || is_known_to_be_quick(&quick);
            learn(&quick, &session).await;
            let (client, connection) =
                tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute("select pg_advisory_lock(7)").await.unwrap();
            let slow = served.plan("{ gates { id held } }", none());
            let all = join_all((0..64).map(|_| slow.outcome(&session)));
            let meanwhile = async {
                while served.database.target.counts.waiting.load(Relaxed) < 8 {
                    sleep(Duration::from_millis(5)).await;
                }
                assert!(is_known());
                for _ in (0..8).take_while(|_| is_known()) {
                    let asked = timeout(NEVER_LONGER, quick.outcome(&session)).await;
                    assert!(asked.expect("slow ones do not hold it up").is_ok());
                }
                client.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
            };
            let (outcomes, ()) =
                timeout(2 * NEVER_LONGER, async { tokio::join!(all, meanwhile) }).await.unwrap();
            assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        });
    }
}

#[test]
fn a_lock_of_others_is_not_waited_for_for_ever() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    on_a_core(async {
        let settings = RelationalSettings { lock_timeout_ms: 200, ..RelationalSettings::default() };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        let (client, connection) =
            tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("begin; update t set v = '' where id = 7").await.unwrap();
        let update = served.plan("mutation { updateT(pk_columns: {id: 7}, v: \"x\") { result } }", none());
        let error = update.results(&session).await.remove(0).errors.remove(0);
        assert_eq!(error.code, ErrorCode::Timeout);
        assert!(error.message.contains("lock_timeout_ms"), "{error}");
        client.batch_execute("rollback").await.unwrap();
        assert!(update.outcome(&session).await.is_ok());
    });
}

#[test]
fn a_setting_that_the_server_refuses_is_no_refused_start() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    on_a_core(async {
        // More than PostgreSQL has room for.
        let settings = RelationalSettings { lock_timeout_ms: u32::MAX, ..RelationalSettings::default() };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        assert!(served.plan(&insert(200), none()).outcome(&session).await.is_ok());
        assert!(served.database.target.is_refused("lock_timeout"));
        assert!(!served.database.target.is_refused("jit"));
        let shown = database.query("select count(*) from pg_stat_activity where application_name = 'prony'");
        assert_ne!(shown[0][0].as_deref(), Some("0"));
    });
}

#[test]
fn writes_go_to_the_new_primary() {
    let (old, new) = (Cluster::start_new().unwrap(), Cluster::start_new().unwrap());
    for cluster in [&old, &new] {
        cluster.execute("postgres", TABLES).unwrap();
    }
    let address = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        old.port(),
        new.port()
    );
    on_a_core(async {
        let served = Served::open(&address, &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        assert!(served.plan(&insert(300), none()).outcome(&session).await.is_ok());
        // As a primary that was told to be none, without a disconnect.
        old.execute("postgres", "alter system set default_transaction_read_only = on").unwrap();
        old.execute("postgres", "select pg_reload_conf()").unwrap();
        while old.query("postgres", "show default_transaction_read_only").unwrap()[0][0].as_deref()
            != Some("on")
        {
            sleep(Duration::from_millis(10)).await;
        }
        for id in 301..311 {
            let written = timeout(NEVER_LONGER, served.plan(&insert(id), none()).outcome(&session)).await;
            assert!(written.expect("it ends").is_ok());
        }
        assert_eq!(served.database.target.failovers(), 1);
    });
    let count =
        |cluster: &Cluster| cluster.query("postgres", "select count(*) from t where id >= 300").unwrap();
    assert_eq!(count(&old)[0][0].as_deref(), Some("1"));
    assert_eq!(count(&new)[0][0].as_deref(), Some("10"));
}

#[test]
fn a_database_that_takes_no_writes_at_all_is_said_and_not_looked_for() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", TABLES).unwrap();
    cluster.execute("postgres", "alter database postgres set default_transaction_read_only = on").unwrap();
    on_a_core(async {
        let served = Served::open(&cluster.url("postgres"), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for _ in 0..3 {
            let written = served.plan(&insert(400), none()).outcome(&session).await;
            assert_eq!(written, Err(ErrorCode::SourceFailed));
        }
        assert_eq!(served.database.target.failovers(), 0);
    });
}

/// Sessions that were opened before keep the setting to their end.
#[test]
fn a_database_that_takes_writes_again_is_written() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", TABLES).unwrap();
    cluster.execute("postgres", "alter database postgres set default_transaction_read_only = on").unwrap();
    for connections_per_core in [1, 4] {
        on_a_core(async {
            let settings = RelationalSettings { connections_per_core, ..settings(ResolverModel::Subquery) };
            let served = Served::open(&cluster.url("postgres"), &settings).await;
            let session = served.session();
            let write = served.plan(&insert(600 + usize::from(connections_per_core)), none());
            assert_eq!(write.outcome(&session).await, Err(ErrorCode::SourceFailed));
            let reset = "alter database postgres reset default_transaction_read_only";
            cluster.execute("template1", reset).unwrap();
            let written = async {
                while write.outcome(&session).await.is_err() {
                    sleep(Duration::from_millis(50)).await;
                }
            };
            timeout(NEVER_LONGER, written).await.expect("it is written");
            assert_eq!(served.database.target.failovers(), 0);
        });
        let set = "alter database postgres set default_transaction_read_only = on";
        cluster.execute("template1", set).unwrap();
    }
}

/// On another thread, so that requests go on meanwhile.
async fn aside(
    cluster: &Arc<Cluster>,
    work: impl FnOnce(&Cluster) -> Result<(), PostgresError> + Send + 'static,
) {
    let cluster = Arc::clone(cluster);
    tokio::task::spawn_blocking(move || work(&cluster)).await.unwrap().unwrap();
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_server_goes_and_comes() {
    let cluster = Arc::new(Cluster::start_new().unwrap());
    cluster.execute("postgres", "create table t (id int primary key, v text)").unwrap();
    // What a crash of the test's server would lose otherwise.
    cluster.execute("postgres", "alter role postgres set synchronous_commit = on").unwrap();
    let (mut acknowledged, mut open) = (BTreeSet::new(), BTreeSet::new());
    on_a_core(async {
        let served = Served::open(&cluster.url("postgres"), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let (is_over, made) = (Cell::new(false), Cell::new(0));
        let writers = join_all((0..16_usize).map(|writer| {
            let (served, session, is_over, made) = (&served, &session, &is_over, &made);
            async move {
                let (mut done, mut unknown) = (Vec::new(), Vec::new());
                for round in 0.. {
                    let id = writer * 1_000_000 + round;
                    let plan = served.plan(&insert(id), none());
                    let outcome = timeout(NEVER_LONGER, plan.outcome(session)).await.expect("a request ends");
                    match outcome {
                        Ok(_) => {
                            done.push(id);
                            made.set(made.get() + 1);
                        }
                        Err(code @ (ErrorCode::SourceUnavailable | ErrorCode::OutcomeUnknown)) => {
                            // Of all others it is known that they are not there.
                            unknown.extend((code == ErrorCode::OutcomeUnknown).then_some(id));
                            sleep(Duration::from_millis(5)).await;
                        }
                        Err(code) => panic!("{code:?}"),
                    }
                    if is_over.get() {
                        return (done, unknown);
                    }
                }
                unreachable!()
            }
        }));
        // However slow the machine is, writes are under way at each fault.
        let more_are_made = async || {
            let before = made.get();
            let waits = async {
                while made.get() < before + 40 {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(NEVER_LONGER, waits).await.expect("writes are made");
        };
        let faults = async {
            for is_orderly in [true, false, true] {
                more_are_made().await;
                aside(&cluster, move |cluster| if is_orderly { cluster.stop() } else { cluster.kill() })
                    .await;
                sleep(Duration::from_millis(200)).await;
                aside(&cluster, Cluster::start).await;
            }
            let probe = served.plan("{ ts(limit: 1) { id } }", none());
            while probe.outcome(&session).await.is_err() {
                sleep(Duration::from_millis(10)).await;
            }
            more_are_made().await;
            is_over.set(true);
        };
        let (written, ()) = tokio::join!(writers, faults);
        for (done, unknown) in written {
            acknowledged.extend(done);
            open.extend(unknown);
        }
    });
    let rows = cluster.query("postgres", "select id from t").unwrap();
    let found: BTreeSet<usize> = rows.iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect();
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let strange: Vec<_> = found.difference(&acknowledged).filter(|id| !open.contains(id)).collect();
    assert!(strange.is_empty(), "{strange:?}");
}
