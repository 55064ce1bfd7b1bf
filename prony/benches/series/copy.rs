//! Series in PostgreSQL, notified over 64 connections, beside `COPY` of the same rows in pieces of the same size over as many connections into
//! a table with the same columns and the same index. The pieces of `COPY` are made before and sent again and again: they cost the client nothing.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_util::SinkExt as _;
use prony_experiments::clock::rfc3339;
use tokio_postgres::{Client, NoTls};

use crate::{
    ROUNDS, SECONDS,
    bodies::{VARIANTS, notification, values},
    statistics::{median, median_ratio, print_table},
    subject::Subject,
    wrk::{Posts, STEP_MS, TimeForm},
};

const DATABASE: &str = "prony_bench_series";
const CONNECTIONS: u32 = 64;
/// The time of the first row: the first of November 2026.
const FIRST_S: u64 = 1_793_491_200;
const SIZES: [u32; 3] = [1, 10, 1_000];
/// As the engine makes that of a type, but in one part.
const TABLE: &str = "create sequence row_order cache 1000; create table copied (series integer not null, time timestamptz not null, \
    seq bigint not null default nextval('row_order'), time_instant timestamptz, temperature double precision, pressure bigint, \
    primary key (series, time, seq))";

pub(crate) fn beside_copy() {
    let server = std::env::var("POSTGRES")
        .expect("POSTGRES has the address of a PostgreSQL: postgres://USER@HOST/DATABASE");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let url = runtime.block_on(async {
        let admin = connect(&server).await;
        admin
            .batch_execute(&format!("drop database if exists {DATABASE} with (force)"))
            .await
            .expect("no database");
        admin.batch_execute(&format!("create database {DATABASE}")).await.expect("a database");
        let url = other_database(&server);
        connect(&url).await.batch_execute(TABLE).await.expect("a table");
        url
    });
    let engine = Subject::start(&format!("series+{url}"), &[], None);
    let head = ["rows a piece, 64 connections", "COPY, rows/s", "Prony, rows/s", "ratio"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for size in SIZES {
        let posts = Posts::new(("/v2/notify", TimeForm::Iso), (size, CONNECTIONS), |variant| {
            notification(size, variant)
        });
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(runtime.block_on(copy(&url, size)));
            ours.push(posts.measure_beside(&engine.url, engine.pid()).rows_per_s);
        }
        rows.push(vec![
            size.to_string(),
            format!("{:.0}", median(&theirs)),
            format!("{:.0}", median(&ours)),
            format!("{:.2}", median_ratio(&ours, &theirs)),
        ]);
    }
    print_table(&rows);
    drop(engine);
    runtime.block_on(async {
        let drop = format!("drop database if exists {DATABASE} with (force)");
        connect(&server).await.batch_execute(&drop).await.expect("the database goes");
    });
}

/// The same server with the database of the measurement.
fn other_database(url: &str) -> String {
    let (before, _) = url.rsplit_once('/').expect("an address names a database");
    format!("{before}/{DATABASE}")
}

async fn connect(url: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL is at this address");
    tokio::spawn(connection);
    client
}

/// Rows a second; each piece is a transaction of its own, which is durable when it is counted.
async fn copy(url: &str, size: u32) -> f64 {
    let (is_over, count, number) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(connect(url).await);
    }
    let pieces: Arc<[Bytes]> = (0..PIECES).map(|number| piece(size, number)).collect();
    let began = Instant::now();
    let writers = clients.into_iter().map(|client| {
        let (is_over, count, number) = (Arc::clone(&is_over), Arc::clone(&count), Arc::clone(&number));
        let pieces = Arc::clone(&pieces);
        tokio::spawn(async move {
            let statement = client.prepare(COPY).await.expect("COPY is understood");
            while !is_over.load(Ordering::Relaxed) {
                let piece = pieces[number.fetch_add(1, Ordering::Relaxed) as usize % pieces.len()].clone();
                let sink = client.copy_in::<_, Bytes>(&statement).await.expect("COPY begins");
                let mut sink = Box::pin(sink);
                sink.send(piece).await.expect("it takes rows");
                sink.as_mut().finish().await.expect("COPY ends");
                count.fetch_add(u64::from(size), Ordering::Relaxed);
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    tokio::time::sleep(Duration::from_secs(SECONDS.into())).await;
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("a writer ends");
    }
    count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

const COPY: &str = "copy copied (series, time, time_instant, temperature, pressure) from stdin";
/// Pieces that differ.
const PIECES: u64 = 1_000;

/// Rows of one time in the text format.
fn piece(size: u32, number: u64) -> Bytes {
    let mut text = String::new();
    let milliseconds = number * STEP_MS;
    let time = rfc3339(UNIX_EPOCH + Duration::from_secs(FIRST_S + milliseconds / 1000));
    let time = format!("{}.{:03}Z", time.trim_end_matches('Z'), milliseconds % 1000);
    for entity in 0..size {
        let (hundredths, pressure) = values(entity, (number % u64::from(VARIANTS)) as u32);
        let (whole, part) = (hundredths / 100, hundredths % 100);
        writeln!(text, "{entity}\t{time}\t{time}\t{whole}.{part:02}\t{pressure}")
            .expect("writing into memory does not fail");
    }
    text.into()
}
