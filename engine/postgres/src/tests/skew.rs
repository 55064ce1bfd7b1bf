//! A filter on a rare value, for which the plan that is held for all values reads the whole table: the guard
//! moves the statement to plans of its own, and leaves the others alone.

use prony_sql::database::FieldStatements;
use prony_testkit::postgres::TestDatabase;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::{connect::config::PlanMode, tests::*};

const ROWS: u64 = 200_000;

fn skewed() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(&format!(
        "create table event (id int primary key, kind text not null, weight int not null);
         insert into event select n, case when n > {ROWS} - 20 then 'rare' else 'common' end, n
         from generate_series(1, {ROWS}) n;
         create index on event (kind); analyze event;"
    ));
    database
}

/// Rows that the statement's scans read and threw away, for one way of planning.
async fn rows_discarded(database: &TestDatabase, statement: &str, mode: &str) -> u64 {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::task::spawn_local(connection);
    client
        .batch_execute(&format!(
            "set plan_cache_mode = {mode}; set jit = off; prepare p (text) as {statement}"
        ))
        .await
        .unwrap();
    let explained =
        client.simple_query("explain (analyze, timing off, costs off) execute p ('rare')").await.unwrap();
    let lines = explained.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    let discarded =
        lines.filter_map(|line| line.trim().strip_prefix("Rows Removed by Filter: ")?.parse::<u64>().ok());
    discarded.sum()
}

#[test]
fn a_held_plan_that_reads_the_whole_table_is_given_up() {
    let database = skewed();
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let text = "query($kind: String!) { events(where: {kind: {eq: $kind}}, limit: 10) { id } }";
        let rare = served.plan(text, json!({"kind": "rare"}));
        let statement = rare.prepared[0].texts()[0].to_owned();

        // Without the guard: the held plan walks the key and discards nearly the whole table each time.
        assert!(rows_discarded(&database, &statement, "force_generic_plan").await > ROWS / 2);
        assert_eq!(rows_discarded(&database, &statement, "force_custom_plan").await, 0);

        let wanted = rare.outcome(&session).await.unwrap();
        assert_eq!(wanted.matches("\"id\"").count(), 10);
        for _ in 0..60 {
            assert_eq!(rare.outcome(&session).await.unwrap(), wanted);
        }
        let FieldStatements::Select(read) = &rare.prepared[0].statements else { panic!("one statement") };
        assert_eq!(read.statement.preferred_mode(), PlanMode::Custom);
    });
}
