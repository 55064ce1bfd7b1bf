//! Slow statements are written down, with their plans, and without their values.

use prony_source::RequestRecord;
use prony_testkit::{log::logged, postgres::TestDatabase};

use crate::tests::*;

/// What is logged while a quick and a slow statement are run.
fn log_of(settings: &RelationalSettings) -> String {
    let database = TestDatabase::create();
    database.execute(
        "create table t (id int primary key, v text not null); insert into t values (7, 'a'), (8, 'b');
         create function nap(seconds float8) returns float8 language plpgsql as
             $$ begin perform pg_sleep(seconds); return seconds; end $$;
         create view slow as select id, v, nap(0.15) as nap from t;",
    );
    let work = async {
        let served = Served::open(&database.url(), settings).await;
        let session = served.session();
        let record = RequestRecord::new("request-7".into());
        let work = async {
            let text = "{ slows(where: {v: {ne: \"geheim\"}}) { id nap } }";
            assert!(served.plan(text, none()).outcome(&session).await.is_ok());
            assert!(served.plan("{ ts { id } }", none()).outcome(&session).await.is_ok());
        };
        prony_source::Recorded::new(record, work).await;
        // A plan is asked for beside the requests.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    };
    logged(|| on_a_core(work))
}

#[test]
fn a_slow_statement_is_written_down_without_its_values() {
    let log = log_of(&RelationalSettings {
        slow_statement_ms: 200,
        slow_statement_plan: true,
        ..RelationalSettings::default()
    });
    let slow: Vec<_> = log
        .lines()
        .filter(|line| line.contains("prony_source::slow_statements") && !line.contains("plan of"))
        .collect();
    assert_eq!(slow.len(), 1, "{log}");
    for part in ["rows=2", "text(6)", "request_id=\"request-7\"", "nap"] {
        assert!(slow[0].contains(part), "{part}: {log}");
    }
    assert!(!slow[0].contains("geheim"), "{log}");
    assert!(log.contains("plan of a slow statement") && log.contains("Seq Scan"), "{log}");
}

#[test]
fn nothing_is_written_down_where_nobody_wants_it() {
    assert!(!log_of(&RelationalSettings::default()).contains("slow statement"));
}
