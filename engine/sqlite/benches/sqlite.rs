//! What a request costs on SQLite, beside a bare loop that steps the same statements and writes the bytes
//! nowhere; beside JSON made by SQLite itself and by SQL functions of our own; and the three resolver models.
//!
//! `cargo bench -p prony-sqlite --bench sqlite`; the data set is made in a temporary directory.

#![expect(unsafe_code, reason = "SQLite's C interface is called as directly as can be, to compare with")]
#![allow(clippy::print_stdout, reason = "its figures are its output")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should say where")]

use std::{ffi::CString, hint::black_box, path::Path, ptr, sync::Arc, time::Duration};

use futures_util::FutureExt;
use prony_graphql::{
    document::{Operation, limits::Limits},
    schema::{Schema, SourceId},
    variables::Variables,
};
use prony_sql::{
    contribution::contribution,
    database::Prepared,
    lower::{RootIndex, lower},
    model::Model,
    session::FieldSession,
    settings::{RelationalSettings, ResolverModel},
};
use prony_sqlite::SqliteDatabase;
use rusqlite::{Connection, OpenFlags, config::DbConfig, ffi, functions::FunctionFlags, types::ValueRef};
use rustix::time::{ClockId, clock_gettime};

const ROWS: i64 = 100_000;
const ROUND: Duration = Duration::from_millis(200);
const ROUNDS: usize = 5;

const QUERIES: [(&str, &str); 3] = [
    ("Q1", "venues(limit: $n, offset: $o, where: {id: {gt: $g}}) { id name postal_code }"),
    (
        "Q2",
        "venues(limit: $n, offset: $o, where: {id: {gt: $g}}) { id name postal_code
           meetups(limit: $n, sort: {id: desc}) { id title } }",
    ),
    (
        "Q3",
        "meetups(limit: $n, offset: $o, where: {id: {gt: $g}}) { id title
           meetups_members(limit: $n) { member { id email } } }",
    ),
];

/// The outer statement of each query and, where there is one, the statement run for each of its rows.
const BARE: [(&str, Option<&str>); 3] = [
    ("SELECT id, name, postal_code FROM venues WHERE id > ?1 ORDER BY id LIMIT ?3 OFFSET ?2", None),
    (
        "SELECT id, name, postal_code FROM venues WHERE id > ?1 ORDER BY id LIMIT ?3 OFFSET ?2",
        Some("SELECT id, title FROM meetups WHERE venue_id = ?1 ORDER BY id DESC LIMIT ?2"),
    ),
    (
        "SELECT id, title FROM meetups WHERE id > ?1 ORDER BY id LIMIT ?3 OFFSET ?2",
        Some(
            "SELECT m.id, m.email FROM meetups_members b LEFT JOIN members m ON m.id = b.member_id
              WHERE b.meetup_id = ?1 ORDER BY b.meetup_id, b.member_id LIMIT ?2",
        ),
    ),
];

/// One statement that gives the whole answer as JSON. `ARRAY(`, `OBJECT(` and `NESTED(` stand for functions.
const JSON: [&str; 3] = [
    "SELECT ARRAY(OBJECT('id', id, 'name', name, 'postal_code', postal_code))
       FROM (SELECT * FROM venues WHERE id > ?1 ORDER BY id LIMIT ?3 OFFSET ?2)",
    "SELECT ARRAY(OBJECT('id', id, 'name', name, 'postal_code', postal_code, 'meetups', NESTED((
         SELECT ARRAY(OBJECT('id', m.id, 'title', m.title))
           FROM (SELECT id, title FROM meetups WHERE venue_id = v.id ORDER BY id DESC LIMIT ?3) m))))
       FROM (SELECT * FROM venues WHERE id > ?1 ORDER BY id LIMIT ?3 OFFSET ?2) v",
    "SELECT ARRAY(OBJECT('id', id, 'title', title, 'meetups_members', NESTED((
         SELECT ARRAY(OBJECT('member', NESTED(b.member))) FROM (
           SELECT (SELECT OBJECT('id', m.id, 'email', m.email) FROM members m WHERE m.id = l.member_id) AS member
             FROM meetups_members l WHERE l.meetup_id = v.id ORDER BY l.meetup_id, l.member_id LIMIT ?3) b))))
       FROM (SELECT * FROM meetups WHERE id > ?1 ORDER BY id LIMIT ?3 OFFSET ?2) v",
];

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meetups.db");
    make(&path);
    println!(
        "SQLite {}, {ROWS} rows a table; best of {ROUNDS} rounds, processor microseconds a request\n",
        rusqlite::version()
    );
    let heads = ["bare loop", "subquery", "ratio", "json_group", "functions", "per-nest", "bucket"];
    println!("{:<8}{}", "", heads.map(|head| format!("{head:>12}")).concat());
    for limit in [50, 100] {
        for (index, (name, _)) in QUERIES.iter().enumerate() {
            let bare = bare(&path, index, limit);
            let subquery = served(&path, index, limit, ResolverModel::Subquery);
            let figures = [
                bare,
                subquery,
                bare / subquery,
                json(&path, index, limit, "json_group_array(", "json_object(", "json("),
                json(&path, index, limit, "own_array(", "own_object(", "own_nested("),
                served(&path, index, limit, ResolverModel::PerNest),
                served(&path, index, limit, ResolverModel::Bucket),
            ];
            println!(
                "{:<8}{}",
                format!("{name}/{limit}"),
                figures.map(|figure| format!("{figure:>12.2}")).concat()
            );
        }
    }
}

/// The smallest mean of several rounds, in microseconds of the processor, over random offsets and keys as the study has them.
fn measure(mut request: impl FnMut(i64, i64)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut random = Random(88_172_645_463_325_252);
        let (started, mut count) = (processor_time(), 0);
        while processor_time().saturating_sub(started) < ROUND {
            for _ in 0..16 {
                request(random.below(ROWS), random.below(101));
            }
            count += 16;
        }
        best = best.min(processor_time().saturating_sub(started).as_secs_f64() * 1e6 / f64::from(count));
    }
    best
}

/// Of this thread: what other processes take does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.unsigned_abs()).cast_signed()
    }
}

fn make(path: &Path) {
    let mut connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF;
             CREATE TABLE venues (id INTEGER PRIMARY KEY, name VARCHAR(128), postal_code VARCHAR(16));
             CREATE TABLE meetups (id INTEGER PRIMARY KEY, title VARCHAR(128), start_at TIMESTAMP,
                                   venue_id INTEGER REFERENCES venues (id));
             CREATE INDEX meetups_venue ON meetups (venue_id);
             CREATE TABLE members (id INTEGER PRIMARY KEY, first_name VARCHAR(64), last_name VARCHAR(64),
                                   email VARCHAR(128));
             CREATE TABLE meetups_members (meetup_id INTEGER REFERENCES meetups (id),
                                           member_id INTEGER REFERENCES members (id),
                                           PRIMARY KEY (meetup_id, member_id));",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    let mut random = Random(7);
    let add = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        transaction.prepare_cached(sql).unwrap().execute(values).unwrap();
    };
    for id in 1..=ROWS {
        let code = format!("{:05}", id % 99_999);
        add("INSERT INTO venues VALUES (?, ?, ?)", &[&id, &format!("venue name {id}"), &code]);
        let (title, venue) = (format!("meetup title {id}"), 1 + random.below(ROWS));
        add("INSERT INTO meetups VALUES (?, ?, ?, ?)", &[&id, &title, &"2021-01-01T18:00:00", &venue]);
        let email = format!("member{id}@example.com");
        add(
            "INSERT INTO members VALUES (?, ?, ?, ?)",
            &[&id, &format!("first{id}"), &format!("last{id}"), &email],
        );
        let pair = (1 + random.below(ROWS), 1 + random.below(ROWS));
        add("INSERT OR IGNORE INTO meetups_members VALUES (?, ?)", &[&pair.0, &pair.1]);
    }
    transaction.commit().unwrap();
    connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
}

struct Served {
    session: FieldSession<SqliteDatabase>,
    prepared: Prepared<SqliteDatabase>,
    operation: Operation,
    schema: Schema,
}

impl Served {
    fn new(path: &Path, query: &str, resolver: ResolverModel) -> Self {
        let settings = RelationalSettings { resolver, ..RelationalSettings::default() };
        let (database, catalog) = SqliteDatabase::open(path, &settings).unwrap();
        let model = Arc::new(Model::build(&catalog, &settings).unwrap());
        let schema = Schema::merge(vec![(SourceId(0), contribution(&model))]).unwrap();
        let text = format!("query ($g: Int, $o: Int, $n: Int) {{ {query} }}");
        let operation = Operation::parse(&schema, &text, None, &Limits::default()).unwrap();
        let variables = Self::variables(&operation, &schema, 0, 0, 50);
        let selection = operation.select(&schema, &variables).unwrap();
        let plan = lower(&model, &RootIndex::new(&model), selection.kind, &selection.fields[0]).unwrap();
        let prepared = Prepared::new(&database, &model, &plan).unwrap();
        Self { session: FieldSession::attach(&Arc::new(database)), prepared, operation, schema }
    }

    fn variables(operation: &Operation, schema: &Schema, key: i64, offset: i64, limit: i64) -> Variables {
        let given = serde_json::json!({ "g": key, "o": offset, "n": limit });
        let serde_json::Value::Object(given) = given else { unreachable!("an object was written") };
        operation.coerce(schema, given).unwrap().0
    }
}

fn served(path: &Path, query: usize, limit: i64, resolver: ResolverModel) -> f64 {
    let served = Served::new(path, QUERIES[query].1, resolver);
    // Coercing variables is the request's cost, not the database's.
    let mut random = Random(88_172_645_463_325_252);
    let variables: Vec<Variables> = (0..4096)
        .map(|_| {
            let (key, offset) = (random.below(ROWS), random.below(101));
            Served::variables(&served.operation, &served.schema, key, offset, limit)
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut next = 0;
    measure(|_, _| {
        let mut query = Box::pin(served.session.query(&served.prepared, &variables[next % variables.len()]));
        next += 1;
        let done = query.as_mut().now_or_never();
        let result = done.unwrap_or_else(|| runtime.block_on(query));
        assert!(result.errors.is_empty(), "{:?}", result.errors);
        black_box(result.data);
    })
}

fn reader(path: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    connection.pragma_update(None, "cache_size", -16 * 1024).unwrap();
    connection
}

/// A statement of SQLite's C interface.
struct Bare(*mut ffi::sqlite3_stmt);

impl Bare {
    fn new(connection: &Connection, sql: &str) -> Self {
        let (text, mut pointer) = (CString::new(sql).unwrap(), ptr::null_mut());
        // SAFETY: the connection is open and the text ends in NUL.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                connection.handle(),
                text.as_ptr(),
                -1,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &raw mut pointer,
                ptr::null_mut(),
            )
        };
        assert_eq!(code, ffi::SQLITE_OK, "{sql}");
        Self(pointer)
    }

    fn bind(&self, values: &[i64]) {
        for (number, &value) in (1..).zip(values) {
            // SAFETY: the statement is valid until drop.
            unsafe { ffi::sqlite3_bind_int64(self.0, number, value) };
        }
    }

    fn step(&self) -> bool {
        // SAFETY: the statement is valid until drop.
        unsafe { ffi::sqlite3_step(self.0) == ffi::SQLITE_ROW }
    }

    fn integer(&self, column: i32) -> i64 {
        // SAFETY: the statement is valid until drop.
        unsafe { ffi::sqlite3_column_int64(self.0, column) }
    }

    fn text(&self, column: i32) -> &[u8] {
        // SAFETY: the statement is valid until drop, the text until the next step.
        unsafe {
            let start = ffi::sqlite3_column_text(self.0, column);
            let length = ffi::sqlite3_column_bytes(self.0, column);
            if start.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(start, length.unsigned_abs() as usize)
            }
        }
    }

    fn reset(&self) {
        // SAFETY: the statement is valid until drop.
        unsafe { ffi::sqlite3_reset(self.0) };
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: the statement is valid and not used again.
        unsafe { ffi::sqlite3_finalize(self.0) };
    }
}

fn bare(path: &Path, query: usize, limit: i64) -> f64 {
    let connection = reader(path);
    let outer = Bare::new(&connection, BARE[query].0);
    let inner = BARE[query].1.map(|sql| Bare::new(&connection, sql));
    measure(|key, offset| {
        outer.bind(&[key, offset, limit]);
        while outer.step() {
            black_box(outer.text(1));
            let id = outer.integer(0);
            match &inner {
                None => {
                    black_box((id, outer.text(2)));
                }
                Some(inner) => {
                    inner.bind(&[id, limit]);
                    while inner.step() {
                        black_box((inner.integer(0), inner.text(1)));
                    }
                    inner.reset();
                }
            }
        }
        outer.reset();
    })
}

/// One statement that gives JSON, by SQLite's functions or our own.
fn json(path: &Path, query: usize, limit: i64, array: &str, object: &str, nested: &str) -> f64 {
    let connection = reader(path);
    register(&connection);
    let sql = JSON[query].replace("ARRAY(", array).replace("OBJECT(", object).replace("NESTED(", nested);
    let statement = Bare::new(&connection, &sql);
    let mut out = Vec::new();
    measure(|key, offset| {
        out.clear();
        statement.bind(&[key, offset, limit]);
        assert!(statement.step());
        out.extend_from_slice(statement.text(0));
        statement.reset();
        black_box(&out);
    })
}

/// Objects as text, arrays as an aggregate over them, in Rust.
fn register(connection: &Connection) {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("own_object", -1, flags, |context| {
            let mut out = b"{".to_vec();
            for index in (0..context.len()).step_by(2) {
                if index > 0 {
                    out.push(b',');
                }
                prony_graphql::json::write_string(&mut out, context.get_raw(index).as_str()?);
                out.push(b':');
                match context.get_raw(index + 1) {
                    ValueRef::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
                    ValueRef::Text(text) => {
                        prony_graphql::json::write_string(&mut out, &String::from_utf8_lossy(text));
                    }
                    ValueRef::Blob(json) => out.extend_from_slice(json),
                    ValueRef::Null | ValueRef::Real(_) => out.extend_from_slice(b"null"),
                }
            }
            out.push(b'}');
            Ok(out)
        })
        .unwrap();
    connection
        .create_scalar_function("own_nested", 1, flags, |context| Ok(context.get_raw(0).as_bytes()?.to_vec()))
        .unwrap();
    connection.create_aggregate_function("own_array", 1, flags, OwnArray).unwrap();
}

struct OwnArray;

impl rusqlite::functions::Aggregate<Vec<u8>, Vec<u8>> for OwnArray {
    fn init(&self, _: &mut rusqlite::functions::Context<'_>) -> rusqlite::Result<Vec<u8>> {
        Ok(b"[".to_vec())
    }

    fn step(
        &self,
        context: &mut rusqlite::functions::Context<'_>,
        out: &mut Vec<u8>,
    ) -> rusqlite::Result<()> {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(context.get_raw(0).as_bytes()?);
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut rusqlite::functions::Context<'_>,
        out: Option<Vec<u8>>,
    ) -> rusqlite::Result<Vec<u8>> {
        let mut out = out.unwrap_or_else(|| b"[".to_vec());
        out.push(b']');
        Ok(out)
    }
}
