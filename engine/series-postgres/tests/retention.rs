//! Rows that are older than their type's retention go, of each tenant its own, whole partitions where they can; all others stay. And months get
//! their partitions while rows of them come.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_postgres::{PostgresEngine, PostgresSettings};
use prony_series_store::calendar::days_of_date;
use prony_series_store::{Engine, Kind, Retention, TimeMs, TimeRange, Value};
use prony_testkit::postgres::TestDatabase;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HOUR_MS: TimeMs = 3_600_000;
const DAY_MS: TimeMs = 24 * HOUR_MS;
const TENANTS: [&str; 2] = ["", "Åland & Søn"];
/// The two whose names are alike have tables of their own.
const TYPES: [&str; 3] = ["Room", "room", "Straße"];

fn open(database: &TestDatabase, retention: &[(Option<&str>, u64)]) -> PostgresEngine {
    let mut settings = PostgresSettings::new(database.url());
    let keep = |(name, days): &(Option<&str>, u64)| Retention {
        type_name: name.map(str::to_owned),
        keep: Duration::from_secs(days * 86_400),
    };
    settings.retention = retention.iter().map(keep).collect();
    PostgresEngine::open(settings).unwrap()
}

fn now_ms() -> TimeMs {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as TimeMs
}

/// A row of each time, whose value tells of whom it is.
fn write(engine: &dyn Engine, (tenant, type_name): (&str, &str), times: &[TimeMs]) {
    let written = engine.write_and_wait(|write| {
        let table = write.table(tenant, type_name)?;
        let (attribute, _) = write.attribute(table, "owner", "Text", || Kind::Text)?;
        let series = write.series(table, "urn:ngsi-ld:é:1", "/")?;
        let owner = format!("{tenant}/{type_name}");
        times.iter().try_for_each(|time| write.row(series, *time, &[(attribute, Value::Text(&owner))]))
    });
    written.unwrap();
}

fn times(engine: &dyn Engine, (tenant, type_name): (&str, &str)) -> Vec<TimeMs> {
    let read = engine.read().unwrap();
    let (series, attribute) = read.with_catalog(|catalog| {
        let table = catalog.find_table(tenant, type_name).unwrap();
        let (attribute, _) = catalog.table(table).attribute("owner").unwrap();
        (catalog.find_series(table, "urn:ngsi-ld:é:1", "/").unwrap(), attribute)
    });
    let mut rows = read.series(series, TimeRange::ALL, &[attribute]);
    let (count, owner) = (rows.count().unwrap(), format!("{tenant}/{type_name}"));
    let mut found = Vec::new();
    let visited = rows.visit(0..count, &[attribute], |rows, range| {
        for row in range {
            assert_eq!(rows.get(row, attribute), Value::Text(&owner));
            found.push(rows.times[row]);
        }
        true
    });
    visited.unwrap();
    found
}

/// Types with their tenants, and the months of which they have partitions.
fn parts(database: &TestDatabase) -> Vec<(String, i64)> {
    let rows = database.query(
        "select t.tenant || '/' || t.name, p.month from prony_series.parts p join prony_series.types t on t.id = p.type_id order by 1, 2",
    );
    let text = |cell: &Option<String>| cell.clone().unwrap();
    let noted: Vec<_> = rows.iter().map(|row| (text(&row[0]), text(&row[1]).parse().unwrap())).collect();
    let found = database.query(
        "select count(*) from pg_inherits i join pg_class c on c.oid = i.inhrelid where c.relname not like '%\\_other' and c.relkind = 'r'",
    );
    assert_eq!(found, [[Some(noted.len().to_string())]], "what is noted is what there is");
    noted
}

#[test]
fn old_rows_go_by_type_and_the_others_stay() {
    let database = TestDatabase::create();
    let now = now_ms();
    // Far before all partitions, in months that go as a whole, around the retention of 30 days, and to come.
    let old = [now - 40_000 * DAY_MS, now - 200 * DAY_MS, now - 90 * DAY_MS, now - 30 * DAY_MS - HOUR_MS];
    let young = [now - 30 * DAY_MS + HOUR_MS, now - DAY_MS, now, now + 400 * DAY_MS];
    let all = [&old[..], &young[..]].concat();
    let everybody = || TENANTS.into_iter().flat_map(|tenant| TYPES.map(|name| (tenant, name)));
    let engine = open(&database, &[]);
    everybody().for_each(|of| write(&engine, of, &all));
    engine.put_in_order().unwrap();
    let before = parts(&database);
    everybody()
        .for_each(|of| assert_eq!(times(&engine, of), all, "{of:?}: nothing goes without a retention"));
    drop(engine);

    let engine = open(&database, &[(Some("Room"), 30), (Some("Straße"), 100_000)]);
    engine.put_in_order().unwrap();
    for of in everybody() {
        let stays = if of.1 == "Room" { &young[..] } else { &all[..] };
        assert_eq!(times(&engine, of), stays, "{of:?}");
    }
    let after = parts(&database);
    // Months since the year 0; those of 200 and 90 days ago are among them.
    let end_of = |month: i64| {
        days_of_date(((month + 1).div_euclid(12), (month + 1).rem_euclid(12) as u32 + 1, 1)) * DAY_MS
    };
    let goes = |(of, month): &(String, i64)| of.ends_with("/Room") && end_of(*month) <= now - 30 * DAY_MS;
    let (gone, stay): (Vec<_>, Vec<_>) = before.into_iter().partition(goes);
    assert!(gone.len() >= 2 * 2, "{gone:?}");
    assert_eq!(after, stay);
    let left = database.query("select schema_name, table_name from prony_series.types where name = 'Room'");
    for row in left {
        let [Some(schema), Some(table)] = &row[..] else { panic!("{row:?}") };
        let other = database.query(&format!("select count(*) from only \"{schema}\".\"{table}_other\""));
        assert_eq!(other, [[Some("0".to_owned())]], "the row of long ago has gone too");
    }
    drop(engine);

    // What is not named has the retention of all others.
    let engine = open(&database, &[(Some("Straße"), 100_000), (None, 60)]);
    engine.put_in_order().unwrap();
    let (room, straße) = (times(&engine, ("", "room")), times(&engine, ("", "Straße")));
    assert_eq!((room, straße), (all[3..].to_vec(), all.clone()));
    // An old row that comes later goes too, and brings no partition.
    let parts_before = parts(&database);
    write(&engine, ("", "room"), &[now - 90 * DAY_MS]);
    engine.put_in_order().unwrap();
    assert_eq!(times(&engine, ("", "room")), all[3..]);
    assert_eq!(parts(&database), parts_before);
}

/// Rows that come while a month's partition is made are neither lost nor in its way.
#[test]
fn a_month_gets_its_partition_while_rows_of_it_come() {
    let database = TestDatabase::create();
    let engine = open(&database, &[]);
    let is_done = AtomicBool::new(false);
    let first = now_ms() - 200 * DAY_MS;
    let month = move |database: &TestDatabase| {
        let sql = "select count(*) from prony_series.parts where month < (select max(month) - 5 from prony_series.parts)";
        database.query(sql)[0][0].clone().unwrap()
    };
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (engine, is_done) = (&engine, &is_done);
                scope.spawn(move || {
                    let mut times = Vec::new();
                    let mut next = first;
                    while !is_done.load(Ordering::Relaxed) {
                        write(engine, ("", TYPES[writer]), &[next]);
                        times.push(next);
                        next += 1;
                    }
                    times
                })
            })
            .collect();
        let began = std::time::Instant::now();
        while month(&database) != "2" && began.elapsed() < Duration::from_secs(20) {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        is_done.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(month(&database), "2", "both types have a partition for it");
    for (writer, times_of) in written.iter().enumerate() {
        assert_eq!(&times(&engine, ("", TYPES[writer])), times_of);
    }
}
