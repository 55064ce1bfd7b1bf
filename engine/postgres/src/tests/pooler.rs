//! `PgBouncer` between us and the server, in both of its modes.

use prony_sql::settings::PoolMode;
use prony_testkit::postgres::{Cluster, PgBouncer};

use crate::{OpenErrorKind, tests::*};

const TABLES: &str = "
    create type mood as enum ('sad', 'froh');
    create table place (id int primary key, name text not null, mood mood, opened timestamptz, area interval);
    create table visit (id int primary key, place_id int not null references place, at date);
    insert into place values (7, 'Köln', 'froh', '2020-02-02 02:02:02+02', '1 day 2 hours'), (3, 'Pará', null, null, null);
    insert into visit values (11, 7, '1999-12-31'), (5, 7, null);";

fn settings_in(resolver: ResolverModel, pool_mode: PoolMode) -> RelationalSettings {
    RelationalSettings { pool_mode, ..settings(resolver) }
}

const READ: &str = "{ places(sort: {id: asc}, where: {id: {gt: 2}}) { id name mood opened area visits(sort: {id: asc}) { id at } } }";
const WRITE: &str = "mutation($id: Int!) { createVisit(id: $id, place_id: 3, at: \"2024-02-29\") { id } }";

#[test]
fn both_modes_answer_as_the_server_does() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", TABLES).unwrap();
    // Sessions that differ in everything that could change a value's form.
    cluster.execute("postgres", "alter role postgres set datestyle = 'German'").unwrap();
    cluster.execute("postgres", "alter role postgres set intervalstyle = 'iso_8601'").unwrap();
    cluster.execute("postgres", "alter role postgres set timezone = 'Asia/Tokyo'").unwrap();
    let modes = [("session", PoolMode::Session), ("transaction", PoolMode::Transaction)];
    let mut next = 100;
    for resolver in MODELS {
        let direct = on_a_core(async {
            let served = Served::open(&cluster.url("postgres"), &settings(resolver)).await;
            served.data(&served.session(), READ, none()).await
        });
        for (mode, pool_mode) in modes {
            let bouncer = PgBouncer::start(&cluster, mode, 20);
            next += 1;
            on_a_core(async {
                let served = Served::open(&bouncer.url("postgres"), &settings_in(resolver, pool_mode)).await;
                let (one, two) = (served.session(), served.session());
                for session in [&one, &two, &one] {
                    assert_eq!(served.data(session, READ, none()).await, direct, "{mode} {resolver:?}");
                }
                let written = served.data(&one, WRITE, json!({"id": next})).await;
                let found =
                    served.data(&two, "{ places(where: {id: {eq: 3}}) { visits { at } } }", none()).await;
                assert_eq!(found, json!({"places": [{"visits": [{"at": "2024-02-29"}]}]}));
                assert_eq!(written, json!({"createVisit": {"id": next}}));
            });
            cluster.execute("postgres", "delete from visit where id > 100").unwrap();
        }
    }
}

#[test]
fn many_at_once_share_two_connections_and_leave_nothing_behind() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", TABLES).unwrap();
    let bouncer = PgBouncer::start(&cluster, "transaction", 2);
    on_a_core(async {
        let settings = RelationalSettings {
            connections_per_core: 8,
            ..settings_in(ResolverModel::PerNest, PoolMode::Transaction)
        };
        let served = Served::open(&bouncer.url("postgres"), &settings).await;
        let session = served.session();
        let read = served.plan(READ, none());
        let expected = read.outcome(&session).await.unwrap();
        for _ in 0..5 {
            let all = futures_util::future::join_all((0..40).map(|_| read.outcome(&session))).await;
            assert!(all.iter().all(|outcome| outcome.as_ref() == Ok(&expected)), "{all:?}");
        }
    });
    // What others find in the sessions that we had.
    on_a_core(async {
        let (client, connection) =
            tokio_postgres::connect(&bouncer.url("postgres"), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let rows = client.simple_query(
            "select current_setting('statement_timeout'), current_setting('jit'), current_setting('lock_timeout'), \
             (select count(*) from pg_prepared_statements)",
        );
        let rows = rows.await.unwrap();
        let values = rows.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => {
                Some([0, 1, 2, 3].map(|column| row.get(column).unwrap().to_owned()))
            }
            _ => None,
        });
        assert_eq!(values.unwrap(), ["0", "on", "0", "0"]);
    });
}

#[test]
fn a_setting_that_the_server_refuses_is_left_out_of_transactions() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", TABLES).unwrap();
    let bouncer = PgBouncer::start(&cluster, "transaction", 2);
    on_a_core(async {
        let settings = RelationalSettings {
            // More than PostgreSQL has room for.
            lock_timeout_ms: u32::MAX,
            ..settings_in(ResolverModel::Subquery, PoolMode::Transaction)
        };
        let served = Served::open(&bouncer.url("postgres"), &settings).await;
        let session = served.session();
        served.data(&session, READ, none()).await;
        served.data(&session, WRITE, json!({"id": 100})).await;
        assert!(served.database.target.is_refused("lock_timeout"));
        assert!(!served.database.target.is_refused("jit"));
    });
}

#[test]
fn listening_needs_a_session() {
    let cluster = Cluster::start_new().unwrap();
    on_a_core(async {
        let settings = RelationalSettings {
            listen: true,
            ..settings_in(ResolverModel::Subquery, PoolMode::Transaction)
        };
        let Err(error) = Served::try_open(&cluster.url("postgres"), &settings).await else {
            panic!("it was opened")
        };
        assert_eq!(error.kind, OpenErrorKind::Config);
        assert!(error.to_string().contains("pool_mode"), "{error}");
    });
}
