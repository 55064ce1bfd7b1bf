//! What another server writes to the same database is heard by those who listen here, once, with its values; and nobody tells anything while
//! nobody listens.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_postgres::{PostgresEngine, PostgresSettings};
use prony_series_store::{
    Catalog, Engine, Event, Events, Kind, OnDuplicate, Registration, TimeMs, TimeRange, Value,
};
use prony_testkit::TestDatabase;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn open(database: &TestDatabase, on_duplicate: OnDuplicate) -> PostgresEngine {
    let mut settings = PostgresSettings::new(database.url());
    settings.on_duplicate = on_duplicate;
    PostgresEngine::open(settings).unwrap()
}

/// What was heard, as text.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn of(engine: &dyn Engine) -> (Self, Registration) {
        let heard = Self::default();
        let taken = heard.clone();
        let registration = engine.listen(Arc::new(move |events: &Events<'_>| {
            events.each(|catalog, event| {
                let text = match event {
                    Event::Row(row) => {
                        let of = catalog.series(row.series);
                        let (rows, table) = (row.to_rows(), catalog.table(of.table));
                        let values = table
                            .ids()
                            .map(|(id, attribute)| format!(" {}={:?}", attribute.name, rows.get(0, id)));
                        let values: String = values.filter(|text| !text.ends_with("=Null")).collect();
                        format!(
                            "{}/{} {}{} at {}{values}",
                            table.tenant, table.name, of.entity, of.path, row.time_ms
                        )
                    }
                    Event::Deleted(table) => format!("deleted of {}", catalog.table(table).name),
                    Event::Dropped(table) => format!("dropped {}", catalog.table(table).name),
                    Event::Named(_) => return,
                };
                taken.0.lock().unwrap().push(text);
            });
        }));
        (heard, registration)
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits for so many, and for no more.
    fn take(&self, count: usize) -> Vec<String> {
        let began = Instant::now();
        while self.all().len() < count {
            assert!(
                began.elapsed() < PATIENCE,
                "{count} are awaited, and these were heard: {:?}",
                self.all()
            );
            std::thread::park_timeout(Duration::from_millis(5));
        }
        std::thread::park_timeout(Duration::from_millis(50));
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Rows of one time with a number and a text.
fn write(
    engine: &dyn Engine,
    (tenant, type_name): (&str, &str),
    entities: &[&str],
    time_ms: TimeMs,
    number: f64,
) {
    let written = engine.write_and_wait(|write| {
        let table = write.table(tenant, type_name)?;
        let (height, _) = write.attribute(table, "höhe", "Number", || Kind::Double)?;
        let (note, _) = write.attribute(table, "note", "Text", || Kind::Text)?;
        for entity in entities {
            let series = write.series(table, entity, "/a")?;
            let text = format!("'{entity}'");
            write.row(series, time_ms, &[(height, Value::Double(number)), (note, Value::Text(&text))])?;
        }
        Ok(())
    });
    written.unwrap();
}

/// Until the one has heard that the other listens.
fn get_through(from: &dyn Engine, heard: &Heard) {
    let began = Instant::now();
    while heard.all().is_empty() {
        assert!(began.elapsed() < PATIENCE, "nothing is heard");
        write(from, ("", "Probe"), &["p"], 0, 0.0);
        std::thread::park_timeout(Duration::from_millis(20));
    }
    std::thread::park_timeout(Duration::from_millis(100));
    heard.0.lock().unwrap().clear();
}

#[test]
fn writes_of_another_server_are_heard_once_with_their_values() {
    let database = TestDatabase::create();
    let (one, other) = (open(&database, OnDuplicate::Append), open(&database, OnDuplicate::Append));
    let (heard, _listening) = Heard::of(&other);
    get_through(&one, &heard);
    // Names that the listening server does not know, a time before 1970, two types and two tenants.
    write(&one, ("Ü", "Straße"), &["urn:x:2", "urn:x:1"], -5, 1.25);
    write(&one, ("", "Straße"), &["urn:x:1"], 1_700_000_000_123, f64::MAX);
    let mut rows = heard.take(3);
    rows[..2].sort();
    let expected = [
        "Ü/Straße urn:x:1/a at -5 höhe=Double(1.25) note=Text(\"'urn:x:1'\")".to_owned(),
        "Ü/Straße urn:x:2/a at -5 höhe=Double(1.25) note=Text(\"'urn:x:2'\")".to_owned(),
        format!("/Straße urn:x:1/a at 1700000000123 höhe=Double({:?}) note=Text(\"'urn:x:1'\")", f64::MAX),
    ];
    assert_eq!(rows, expected);
    // The same row again is another one; a server's own is heard as it always was.
    write(&one, ("Ü", "Straße"), &["urn:x:2"], -5, 7.0);
    write(&other, ("Ü", "Straße"), &["urn:x:2"], -5, 8.0);
    let mut rows = heard.take(2);
    rows.sort();
    assert!(rows[0].contains("Double(7.0)") && rows[1].contains("Double(8.0)"), "{rows:?}");
    (&one as &dyn Engine)
        .write_and_wait(|write| {
            let table = write.catalog().find_table("Ü", "Straße").unwrap();
            write.delete_all(table, TimeRange { from_ms: -5, to_ms: -5 });
            Ok(())
        })
        .unwrap();
    assert_eq!(heard.take(1), ["deleted of Straße"]);
    (&one as &dyn Engine)
        .write_and_wait(|write| {
            let table = write.catalog().find_table("Ü", "Straße").unwrap();
            write.drop_table(table);
            Ok(())
        })
        .unwrap();
    assert_eq!(heard.take(1), ["dropped Straße"]);
}

#[test]
fn many_entities_of_one_write_are_all_heard() {
    let database = TestDatabase::create();
    let (one, other) = (open(&database, OnDuplicate::Replace), open(&database, OnDuplicate::Replace));
    let names: Vec<String> = (0..30_000).map(|number| format!("entity {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    write(&one, ("", "T"), &names, 1, 1.0);
    let (heard, _listening) = Heard::of(&other);
    get_through(&one, &heard);
    // Every third: their numbers do not fit into a notification, and what stands between them was written by others.
    let some: Vec<&str> = names.iter().step_by(3).copied().collect();
    write(&one, ("", "T"), &some, 1, 2.0);
    let rows = heard.take(some.len());
    assert_eq!(rows.len(), some.len());
    assert!(rows.iter().all(|row| row.contains("at 1 höhe=Double(2.0)")));
    // All: there are more than are asked for one by one.
    write(&one, ("", "T"), &names, 1, 3.0);
    assert_eq!(heard.take(names.len()).len(), names.len());
}

#[test]
fn nobody_is_told_while_nobody_listens() {
    let database = TestDatabase::create();
    let one = open(&database, OnDuplicate::Append);
    // It has found that it is alone.
    let began = Instant::now();
    let locks = "select count(*) from pg_locks l join pg_database d on d.oid = l.database where d.datname = current_database() and l.locktype = 'advisory' and l.objsubid = 2";
    while database.query(locks) != [[Some("1".to_owned())]] {
        assert!(began.elapsed() < PATIENCE, "it does not hear");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    std::thread::park_timeout(Duration::from_millis(200));
    write(&one, ("", "T"), &["a"], 1, 1.0);
    write(&one, ("", "T"), &["a"], 2, 1.0);
    // A write that is told of is a transaction of several statements, whose last one is another.
    let last = "select count(*) from pg_stat_activity where datname = current_database() and query like 'insert into%'";
    assert_eq!(database.query(last), [[Some("1".to_owned())]]);
    let (heard, listening) = Heard::of(&one);
    write(&one, ("", "T"), &["a"], 3, 1.0);
    assert_eq!(heard.take(1).len(), 1, "its own, once");
    drop(listening);
}

/// What was written meanwhile cannot be heard any more: queries are to be asked anew.
#[test]
fn a_connection_that_was_away_is_told_as_a_change_of_everything() {
    let database = TestDatabase::create();
    let (one, other) = (open(&database, OnDuplicate::Append), open(&database, OnDuplicate::Append));
    write(&one, ("", "T"), &["a"], 1, 1.0);
    let (heard, _listening) = Heard::of(&other);
    get_through(&one, &heard);
    let closed = database.query(
        "select pg_terminate_backend(a.pid) from pg_stat_activity a join pg_locks l on l.pid = a.pid \
         where a.datname = current_database() and l.locktype = 'advisory' and l.objsubid = 2",
    );
    assert_eq!(closed.len(), 2, "both hear");
    let mut found = heard.take(2);
    found.sort();
    assert_eq!(found, ["deleted of Probe", "deleted of T"]);
    get_through(&one, &heard);
    write(&one, ("", "T"), &["b"], 2, 2.0);
    assert_eq!(heard.take(1).len(), 1, "it hears again");
}

/// The read of all types failed with it.
#[test]
fn a_type_that_another_server_deletes_during_a_read_leaves_the_others() {
    let database = TestDatabase::create();
    let (one, other) = (open(&database, OnDuplicate::Append), open(&database, OnDuplicate::Append));
    write(&one, ("", "Gone"), &["a"], 1, 1.0);
    write(&one, ("", "Stays"), &["a"], 1, 1.0);
    let read = (&one as &dyn Engine).read().unwrap();
    let series_of = |name: &str| {
        let of = |catalog: &Catalog| catalog.find_series(catalog.find_table("", name)?, "a", "/a");
        read.with_catalog(of).unwrap()
    };
    let (gone, stays) = (series_of("Gone"), series_of("Stays"));
    (&other as &dyn Engine)
        .write_and_wait(|write| {
            let table = write.table("", "Gone")?;
            write.drop_table(table);
            Ok(())
        })
        .unwrap();
    let count = |series| read.series(series, TimeRange::ALL, &[]).count().unwrap();
    assert_eq!((count(gone), count(stays)), (0, 1));
}

/// Waits until the entities of a type are these, each with its last row.
fn await_rows(engine: &dyn Engine, type_name: &str, expected: &[(&str, TimeMs)]) {
    let began = Instant::now();
    loop {
        let read = engine.read().unwrap();
        let series = read.with_catalog(|catalog| {
            let Some(table) = catalog.find_table("", type_name) else { return Vec::new() };
            let of = catalog.table(table).series.iter();
            of.map(|id| (catalog.series(*id).entity.to_string(), *id)).collect::<Vec<_>>()
        });
        let last_of = |(entity, id)| {
            let last = read.series(id, TimeRange::ALL, &[]).last_time().ok()??;
            Some((entity, last))
        };
        let mut rows: Vec<(String, TimeMs)> = series.into_iter().filter_map(last_of).collect();
        rows.sort();
        let found: Vec<(&str, TimeMs)> = rows.iter().map(|(entity, time)| (&**entity, *time)).collect();
        if found == expected {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{expected:?} are awaited, and there are {found:?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Rows of entities that a server knew before another one deleted their type went where nobody else found them, and those of the other
/// server were not seen.
#[test]
fn a_type_that_two_servers_make_anew_has_the_same_rows_for_both() {
    let database = TestDatabase::create();
    let (one, other) = (open(&database, OnDuplicate::Append), open(&database, OnDuplicate::Append));
    write(&one, ("", "T"), &["a", "b", "c"], 1, 1.0);
    await_rows(&other, "T", &[("a", 1), ("b", 1), ("c", 1)]);
    (&other as &dyn Engine)
        .write_and_wait(|write| {
            let table = write.table("", "T")?;
            write.drop_table(table);
            Ok(())
        })
        .unwrap();
    write(&other, ("", "T"), &["a"], 2, 2.0);
    // It has not heard of that: the first write finds that the table is gone, the second is of an entity that it knew.
    write(&one, ("", "T"), &["b"], 3, 3.0);
    write(&one, ("", "T"), &["c"], 4, 4.0);
    for engine in [&one, &other] {
        await_rows(engine, "T", &[("a", 2), ("b", 3), ("c", 4)]);
    }
    // So it is for a server that starts.
    await_rows(&open(&database, OnDuplicate::Append), "T", &[("a", 2), ("b", 3), ("c", 4)]);
}

/// It was refused with all writes of its group.
#[test]
fn a_deletion_of_what_is_gone_with_its_type_does_nothing() {
    let database = TestDatabase::create();
    let (one, other) = (open(&database, OnDuplicate::Append), open(&database, OnDuplicate::Append));
    write(&one, ("", "T"), &["a"], 1, 1.0);
    await_rows(&other, "T", &[("a", 1)]);
    let ids = [&one, &other].map(|engine| {
        let read = (engine as &dyn Engine).read().unwrap();
        read.with_catalog(|catalog| {
            let table = catalog.find_table("", "T").unwrap();
            (table, catalog.find_series(table, "a", "/a").unwrap())
        })
    });
    (&one as &dyn Engine)
        .write_and_wait(|write| {
            write.drop_table(ids[0].0);
            Ok(())
        })
        .unwrap();
    for (engine, (table, series)) in [&one, &other].into_iter().zip(ids) {
        (engine as &dyn Engine)
            .write_and_wait(|write| {
                write.delete(series, TimeRange::ALL);
                write.delete_all(table, TimeRange::ALL);
                write.drop_table(table);
                Ok(())
            })
            .unwrap();
    }
    await_rows(&other, "T", &[]);
    await_rows(&open(&database, OnDuplicate::Append), "T", &[]);
}
