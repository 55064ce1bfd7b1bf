//! Processor time of this process and memory from a database of 5,000 tables (six columns and two foreign keys each) to its valid schema,
//! for both databases: `cargo bench -p prony-sql --bench many_tables`.
#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use prony_graphql::schema::{Schema, SourceId};
use prony_sql::{catalog::Catalog, contribution::contribution, model::Model, settings::RelationalSettings};
use prony_testkit::TestDatabase;
use rusqlite::Connection;
use tokio_postgres::NoTls;

const TABLES: usize = 5_000;
const RUNS: usize = 5;

/// Counts the bytes in use.
struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the caller's arguments unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("many.sqlite");
    let filling = Connection::open(&path).expect("a new file can be opened");
    filling.execute_batch(&format!("BEGIN; {} COMMIT", sql("INTEGER"))).expect("the tables can be made");
    drop(filling);
    report("sqlite", || {
        let connection = Connection::open(&path).expect("the file can be opened");
        prony_sqlite::file::discover::discover(&connection).expect("the catalog can be read")
    });

    let database = TestDatabase::create();
    // One transaction would need a lock for each table.
    for part in sql("serial").split_inclusive(';').collect::<Vec<_>>().chunks(500) {
        database.execute(&part.concat());
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    report("postgresql", || {
        runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&database.url(), NoTls).await.expect("the database answers");
            tokio::spawn(connection);
            prony_postgres::discover::discover(&client, &[]).await.expect("the catalog can be read")
        })
    });
}

/// Each table refers to the one before it and to one of seven in the middle of many.
fn sql(key_type: &str) -> String {
    let mut sql = String::new();
    for number in 0..TABLES {
        let (previous, hub) = (number.saturating_sub(1), number % 7);
        write!(
            sql,
            "CREATE TABLE things_{number} (id {key_type} PRIMARY KEY, name varchar(40) NOT NULL, \
             amount NUMERIC(10, 2), made_at TIMESTAMP, hub_id INTEGER REFERENCES things_{hub} (id), \
             previous_id INTEGER REFERENCES things_{previous} (id));"
        )
        .expect("strings can be written to");
    }
    sql
}

fn report(name: &str, discover: impl Fn() -> Catalog) {
    println!("{name}: {TABLES} tables, {RUNS} runs");
    for _ in 0..RUNS {
        let bytes_before = LIVE_BYTES.load(Ordering::Relaxed);
        let mut stage = Stage::start(bytes_before);
        let catalog = discover();
        stage.end("discover");
        let model = Model::build(&catalog, &RelationalSettings::default()).expect("the defaults fit");
        stage.end("model");
        let contribution = contribution(&model);
        stage.end("contribution");
        drop(catalog);
        let schema = Schema::merge(vec![(SourceId(0), contribution)]).expect("the schema is valid");
        stage.end("merge");
        println!("{} peak RSS {} MB", stage.line, peak_rss_kb() / 1024);
        drop((model, schema));
    }
}

struct Stage {
    line: String,
    started: Duration,
    bytes_before: usize,
}

impl Stage {
    fn start(bytes_before: usize) -> Self {
        Self { line: String::new(), started: processor_time(), bytes_before }
    }

    fn end(&mut self, name: &str) {
        let ms = processor_time().saturating_sub(self.started).as_secs_f64() * 1e3;
        let megabytes = (LIVE_BYTES.load(Ordering::Relaxed) - self.bytes_before) as f64 / 1e6;
        write!(self.line, "  {name} {ms:.0} ms ({megabytes:.1} MB in use)")
            .expect("strings can be written to");
        self.started = processor_time();
    }
}

/// Unlike the clock on the wall, it means something on a busy machine.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}
