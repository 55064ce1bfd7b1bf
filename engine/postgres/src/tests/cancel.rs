//! Statements that take too long, and clients that go away.

use prony_source::CommonSettings;
use std::time::Duration;

use prony_testkit::postgres::TestDatabase;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::tests::*;

/// A view whose every row takes a while, and a table.
const SLOW: &str = "
    create table t (id int primary key); insert into t select generate_series(1, 100);
    create function nap(seconds float8) returns float8 language plpgsql as
        $$ begin perform pg_sleep(seconds); return seconds; end $$;
    create view slow as select id, nap(20) as nap from t;
    create view brief as select id, nap(0.002) as nap from t;";

fn running(database: &TestDatabase) -> usize {
    let count = database.query(
        "select count(*) from pg_stat_activity where application_name = 'prony' and state = 'active'
         and datname = current_database()",
    );
    count[0][0].as_deref().unwrap().parse().unwrap()
}

async fn until_running(database: &TestDatabase, wanted: usize) {
    for _ in 0..1000 {
        if running(database) == wanted {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("{} statements run, not {wanted}", running(database));
}

fn one_connection() -> RelationalSettings {
    RelationalSettings { connections_per_core: 1, ..RelationalSettings::default() }
}

#[test]
fn a_statement_over_its_time_is_cancelled() {
    let database = TestDatabase::create();
    database.execute(SLOW);
    on_a_core(async {
        let settings = RelationalSettings {
            common: CommonSettings { statement_timeout_ms: 300, ..CommonSettings::default() },
            ..one_connection()
        };
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        let slow = served.plan("{ slows(limit: 1) { nap } }", none());
        let (first, second) = tokio::join!(slow.results(&session), slow.results(&session));
        for mut results in [first, second] {
            let error = results.remove(0).errors.remove(0);
            assert_eq!(error.code, ErrorCode::Timeout, "{error:?}");
            assert!(error.message.contains("300 ms"), "{error}");
        }
        until_running(&database, 0).await;
        assert!(served.plan("{ ts { id } }", none()).outcome(&session).await.is_ok());
    });
}

#[test]
fn a_client_that_goes_takes_its_statement_along() {
    let database = TestDatabase::create();
    database.execute(SLOW);
    for model in MODELS {
        on_a_core(async {
            let settings = RelationalSettings { resolver: model, ..one_connection() };
            let served = Served::open(&database.url(), &settings).await;
            let session = served.session();
            let slow = served.plan("{ slows(limit: 1) { nap } }", none());
            let quick = served.plan("{ ts(limit: 1) { id } }", none());
            assert!(quick.outcome(&session).await.is_ok());
            let asked = timeout(Duration::from_millis(300), slow.outcome(&session)).await;
            assert!(asked.is_err(), "{asked:?}");
            // Answered by the only connection, long before the slow statement would have ended.
            let next = timeout(Duration::from_secs(15), quick.outcome(&session)).await;
            assert_eq!(next.unwrap(), Ok("[{\"id\":1}]".into()));
            until_running(&database, 0).await;
        });
    }
}

/// Statements behind the one that is dropped are not harmed, those that are dropped while they wait their
/// turn are cancelled when it comes.
#[test]
fn others_on_the_connection_are_not_harmed() {
    let database = TestDatabase::create();
    database.execute(SLOW);
    on_a_core(async {
        let served = Served::open(&database.url(), &one_connection()).await;
        let session = served.session();
        let slow = served.plan("{ slows(limit: 1) { nap } }", none());
        let brief = served.plan("{ briefs(limit: 3) { id } }", none());
        assert!(brief.outcome(&session).await.is_ok());
        let is_running = Notify::new();
        let dropped = async {
            let slows = async { tokio::join!(slow.outcome(&session), slow.outcome(&session)) };
            let limit = async {
                is_running.notified().await;
                sleep(Duration::from_millis(200)).await;
            };
            tokio::select! { ended = slows => panic!("{ended:?}"), () = limit => {} }
        };
        let innocent = async {
            until_running(&database, 1).await;
            is_running.notify_one();
            futures_util::future::join_all((0..10).map(|_| brief.outcome(&session))).await
        };
        let all = async { tokio::join!(dropped, innocent) };
        let ((), outcomes) = timeout(Duration::from_secs(15), all).await.expect("nothing waits for the slow");
        for outcome in outcomes {
            assert!(outcome.is_ok(), "{outcome:?}");
        }
    });
}

#[test]
fn many_clients_that_come_and_go_leave_nothing_behind() {
    let database = TestDatabase::create();
    database.execute(SLOW);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let brief = served.plan("{ briefs(limit: 4) { id } }", none());
        assert!(brief.outcome(&session).await.is_ok());
        for round in 0..30u64 {
            let patient = (0..4).map(|_| async { Some(brief.outcome(&session).await) });
            let patient = futures_util::future::join_all(patient);
            let hasty = (0..8u64).map(|user| {
                let limit = Duration::from_millis((round * 7 + user * 5) % 40);
                async move { limit }
            });
            let hasty = hasty.map(|limit| async {
                let _ = timeout(limit.await, brief.outcome(&session)).await;
            });
            let (outcomes, _) = tokio::join!(patient, futures_util::future::join_all(hasty));
            for outcome in outcomes.into_iter().flatten() {
                assert!(outcome.is_ok(), "{outcome:?}");
            }
        }
        until_running(&database, 0).await;
        assert!(brief.outcome(&session).await.is_ok());
    });
}

/// A write whose client is gone is finished, not torn in two.
#[test]
fn a_write_is_finished_without_its_client() {
    let database = TestDatabase::create();
    database.execute(
        "create table slow (id int primary key);
         create function wait() returns trigger language plpgsql as
         $$ begin perform pg_sleep(0.3); return new; end $$;
         create trigger wait before insert on slow for each row execute function wait();",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &one_connection()).await;
        let session = served.session();
        let write =
            served.plan("mutation { a: createSlow(id: 1) { id } b: createSlow(id: 2) { id } }", none());
        tokio::select! {
            outcome = write.outcome(&session) => panic!("it ended before its client went: {outcome:?}"),
            () = until_running(&database, 1) => {}
        }
        until_running(&database, 0).await;
        sleep(Duration::from_millis(50)).await;
        let read = served.plan("{ slows { id } }", none());
        for _ in 0..200 {
            if read.outcome(&session).await == Ok("[{\"id\":1},{\"id\":2}]".into()) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("the write was lost");
    });
}
