//! Series that are served for reading only: nothing of the database is made, changed or let go.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_postgres::{OpenError, PostgresEngine, PostgresSettings};
use prony_series_store::{Engine, Kind, Refusal, Retention, TimeRange, Value, Write};
use prony_testkit::TestDatabase;
use std::time::Duration;

fn open(database: &TestDatabase, is_read_only: bool) -> Result<PostgresEngine, OpenError> {
    let mut settings = PostgresSettings::new(database.url());
    settings.is_read_only = is_read_only;
    if is_read_only {
        // Who puts the tables in order keeps nothing of 1970.
        settings.retention = vec![Retention { type_name: None, keep: Duration::from_secs(86_400) }];
    }
    PostgresEngine::open(settings)
}

fn tables(database: &TestDatabase) -> Vec<Vec<Option<String>>> {
    database.query("select schemaname, tablename from pg_tables where schemaname like 'prony%' order by 1, 2")
}

fn row(write: &mut Write<'_>) -> Result<(), Refusal> {
    let table = write.table("", "Größe")?;
    let series = write.series(table, "urn:1", "/")?;
    let (attribute, _) = write.attribute(table, "n", "Number", || Kind::Double)?;
    write.row(series, 1, &[(attribute, Value::Double(1.5))])
}

#[test]
fn a_database_without_series_stays_as_it_is() {
    let database = TestDatabase::create();
    let error = open(&database, true).unwrap_err();
    assert!(matches!(error, OpenError::Absent { .. }), "{error}");
    assert!(error.to_string().contains("read_only"), "{error}");
    assert_eq!(tables(&database), Vec::<Vec<Option<String>>>::new());
}

#[test]
fn rows_are_read_and_nothing_is_put_in_order() {
    let database = TestDatabase::create();
    let engine = open(&database, false).unwrap();
    (&engine as &dyn Engine).write_and_wait(row).unwrap();
    drop(engine);
    let before = tables(&database);
    let engine = open(&database, true).unwrap();
    let read = (&engine as &dyn Engine).read().unwrap();
    let series = read.with_catalog(|catalog| {
        let table = catalog.find_table("", "Größe").unwrap();
        catalog.find_series(table, "urn:1", "/").unwrap()
    });
    assert_eq!(read.series(series, TimeRange::ALL, &[]).count().unwrap(), 1);
    drop(read);
    assert!(engine.put_in_order().is_err(), "the database refuses it to a session that only reads");
    (&engine as &dyn Engine).write_and_wait(row).unwrap_err();
    drop(engine);
    assert_eq!(tables(&database), before);
    assert_eq!(database.query("select count(*) from prony_tenant.gr__e_1")[0][0].as_deref(), Some("1"));
}
