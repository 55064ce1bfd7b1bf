//! Saturates a PostgreSQL with one query through the engine's PostgreSQL source, without HTTP, and prints
//! requests per second and the CPU time per request of this process and of the server's backends.
//!
//! `cargo run --release -p prony-postgres --example postgres_saturation -- URL QUERY [RESOLVER] [SECONDS]`,
//! where QUERY is `flat`, `one`, `two` (the meetup data set) or GraphQL text with `$limit`, `$offset` and
//! `$id_gt`.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::{
    cell::Cell,
    error::Error,
    fs,
    rc::Rc,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use prony_graphql::{
    document::{Operation, limits::Limits},
    schema::{Schema, SourceId},
};
use prony_postgres::PostgresDatabase;
use prony_sql::{
    contribution::contribution,
    database::Prepared,
    lower::{RootIndex, lower},
    model::Model,
    session::FieldSession,
    settings::{RelationalSettings, ResolverModel},
};
use serde_json::{Value as Json, json};
use tokio::task::LocalSet;

const CORES: usize = 2;
const USERS_PER_CORE: usize = 32;

/// The published study's queries: no, one and two nests.
const FLAT: &str = "query($limit: Int!, $offset: Int!, $id_gt: Int!) {
    venues(limit: $limit, offset: $offset, where: {id: {gt: $id_gt}}) { id name postal_code } }";
const ONE: &str = "query($limit: Int!, $offset: Int!, $id_gt: Int!) {
    venues(limit: $limit, offset: $offset, where: {id: {gt: $id_gt}}) { id name postal_code
    meetups(limit: $limit, sort: {id: desc}) { id title } } }";
const TWO: &str = "query($limit: Int!, $offset: Int!, $id_gt: Int!) {
    meetups(limit: $limit, offset: $offset, where: {id: {gt: $id_gt}}) { id title
    meetups_members(limit: $limit) { member { id first_name } } } }";

struct Target {
    database: Arc<PostgresDatabase>,
    prepared: Prepared<PostgresDatabase>,
    operation: Operation,
    schema: Schema,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments.first().ok_or("give the database's URL")?;
    let text = match arguments.get(1).map_or("flat", String::as_str) {
        "flat" => FLAT,
        "one" => ONE,
        "two" => TWO,
        text => text,
    };
    let resolver = match arguments.get(2).map_or("subquery", String::as_str) {
        "per-nest" => ResolverModel::PerNest,
        "bucket" => ResolverModel::Bucket,
        _ => ResolverModel::Subquery,
    };
    let seconds: u64 = arguments.get(3).map_or(Ok(5), |text| text.parse())?;
    let settings = RelationalSettings { resolver, ..RelationalSettings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let target = Arc::new(runtime.block_on(open(url, text, settings))?);
    for statement in target.prepared.texts() {
        println!("{statement}");
    }
    let before = (own_cpu_seconds()?, server_cpu_seconds());
    let started = Instant::now();
    let cores: Vec<_> = (0..CORES)
        .map(|core| {
            let target = Arc::clone(&target);
            thread::spawn(move || drive(&target, core as u64, Duration::from_secs(seconds)))
        })
        .collect();
    let (mut requests, mut bytes) = (0, 0);
    for core in cores {
        let (some_requests, some_bytes) = core.join().map_err(|_| "a core panicked")?;
        requests += some_requests;
        bytes += some_bytes;
    }
    let elapsed = started.elapsed().as_secs_f64();
    let micros = |after: f64, before: f64| (after - before) * 1e6 / requests as f64;
    println!(
        "{:.0} requests/s, {:.0} bytes each, own CPU {:.1} us, server's CPU {:.1} us",
        requests as f64 / elapsed,
        bytes as f64 / requests as f64,
        micros(own_cpu_seconds()?, before.0),
        micros(server_cpu_seconds(), before.1),
    );
    Ok(())
}

async fn open(url: &str, text: &str, settings: RelationalSettings) -> Result<Target, Box<dyn Error>> {
    let (database, catalog) = PostgresDatabase::open(url, &settings).await?;
    let model = Arc::new(Model::build(&catalog, &settings).map_err(|faults| format!("{faults:?}"))?);
    let schema =
        Schema::merge(vec![(SourceId(0), contribution(&model))]).map_err(|faults| format!("{faults:?}"))?;
    let operation =
        Operation::parse(&schema, text, None, &Limits::default()).map_err(|errors| errors[0].clone())?;
    let Json::Object(given) = variables(1) else { unreachable!("an object") };
    let (coerced, _) = operation.coerce(&schema, given).map_err(|errors| errors[0].clone())?;
    let selection = operation.select(&schema, &coerced).map_err(|errors| errors[0].clone())?;
    let plan = lower(&model, &RootIndex::new(&model), selection.kind, &selection.fields[0])?;
    let prepared = Prepared::new(&database, &model, &plan)?;
    Ok(Target { database: Arc::new(database), prepared, operation, schema })
}

/// A different page for each request, from a fixed sequence.
fn variables(number: u64) -> Json {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    json!({"limit": 50, "offset": (mixed >> 32) % 101, "id_gt": (mixed >> 40) % 100_001})
}

fn drive(target: &Target, core: u64, span: Duration) -> (u64, u64) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    LocalSet::new().block_on(&runtime, async {
        let session = Rc::new(FieldSession::attach(&target.database));
        let end = Instant::now() + span;
        let (requests, bytes) = (Cell::new(0u64), Cell::new(0u64));
        let users = (0..USERS_PER_CORE as u64).map(|user| {
            let (session, requests, bytes) = (Rc::clone(&session), &requests, &bytes);
            async move {
                let mut number = core << 48 | user << 32;
                while Instant::now() < end {
                    number += 1;
                    let Json::Object(given) = variables(number) else { unreachable!("an object") };
                    let (coerced, _) = target.operation.coerce(&target.schema, given).expect("variables fit");
                    let result = session.query(&target.prepared, &coerced).await;
                    assert!(result.errors.is_empty(), "{:?}", result.errors);
                    requests.set(requests.get() + 1);
                    bytes.set(bytes.get() + result.data.map_or(0, |data| data.len() as u64));
                }
            }
        });
        futures_util::future::join_all(users).await;
        (requests.get(), bytes.get())
    })
}

fn own_cpu_seconds() -> Result<f64, Box<dyn Error>> {
    Ok(cpu_seconds(&fs::read_to_string("/proc/self/stat")?).ok_or("no CPU time in /proc/self/stat")?)
}

/// CPU time of all processes named `postgres`.
fn server_cpu_seconds() -> f64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0.0 };
    let stats =
        processes.flatten().filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    stats.filter(|stat| stat.contains("(postgres)")).filter_map(|stat| cpu_seconds(&stat)).sum()
}

/// User and system time: fields 14 and 15 of `/proc/PID/stat` (proc(5)), in hundredths of a second.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}
