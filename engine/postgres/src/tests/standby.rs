//! A standby as a source.

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
