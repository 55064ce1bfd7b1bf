//! How it is noticed that the tables that may be served have become others.

use std::time::Duration;

use prony_sql::{database::Database as _, follow::CatalogReader as _};
use prony_testkit::postgres::Cluster;
use tokio::time::{sleep, timeout};

use crate::tests::*;

const NEVER_LONGER: Duration = Duration::from_secs(60);

/// It refuses `LISTEN`, by which a primary tells of changes.
#[test]
fn tables_of_a_standby_are_followed() {
    let primary = Cluster::start_new().unwrap();
    primary.execute("postgres", "create table t (id int primary key)").unwrap();
    let standby = primary.start_standby().unwrap();
    on_a_core(async {
        let served = Served::open(&standby.url("postgres"), &settings(ResolverModel::Subquery)).await;
        let (mut reader, seen) = served.database.follow();
        assert_eq!(reader.version().await, Ok(seen));
        assert!(!reader.is_told());
        primary.execute("postgres", "create table u (id int primary key)").unwrap();
        let followed = async {
            while reader.version().await.unwrap() == seen {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(NEVER_LONGER, followed).await.expect("the new table is seen");
        let (_, catalog) = reader.read().await.unwrap();
        let names: Vec<&str> = catalog.tables.iter().map(|table| &*table.name).collect();
        assert_eq!(names, ["t", "u"]);
    });
}

#[test]
fn tables_that_a_membership_grants_are_seen() {
    let cluster = Cluster::start_new().unwrap();
    let tables = "create role team; create role ann login; create table own (id int primary key); grant select on own to ann;
                  create table shared (id int primary key); grant select on shared to team";
    cluster.execute("postgres", tables).unwrap();
    on_a_core(async {
        let address = format!("postgres://ann@127.0.0.1:{}/postgres", cluster.port());
        let served = Served::open(&address, &settings(ResolverModel::Subquery)).await;
        let (mut reader, seen) = served.database.follow();
        assert_eq!(reader.version().await, Ok(seen));
        cluster.execute("postgres", "grant team to ann").unwrap();
        assert_ne!(reader.version().await, Ok(seen));
        let (granted, catalog) = reader.read().await.unwrap();
        let names: Vec<&str> = catalog.tables.iter().map(|table| &*table.name).collect();
        assert_eq!(names, ["own", "shared"]);
        cluster.execute("postgres", "create role other; grant team to other").unwrap();
        assert_eq!(reader.version().await, Ok(granted));
    });
}
