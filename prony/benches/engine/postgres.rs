//! The engine on PostgreSQL against pgbench running the best equivalent statement, and against PostGraphile.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{port::free_port, postgres::Cluster};

use crate::{
    ROUNDS, SECONDS, drivers, process,
    queries::{QUERIES, StudyQuery, wrk_script},
    statistics::{median, median_ratio, print_table},
    subject::Subject,
};

/// Connections that the others hold and that the engine may open (4 on each of 2 cores). On one machine with the
/// database it mostly uses one a core: the contenders do not have the same number at work.
const DATABASE_CONNECTIONS: u32 = 8;
/// HTTP connections that wrk opens.
const HTTP_CONNECTIONS: u32 = 32;

/// What one run of a contender gave.
#[derive(Default)]
struct Series {
    per_second: Vec<f64>,
    /// Processor microseconds of the contender and of PostgreSQL, a request.
    own_us: Vec<f64>,
    postgres_us: Vec<f64>,
}

impl Series {
    fn measure(&mut self, contender: Option<u32>, postgres: u32, run: impl FnOnce() -> f64) {
        let own_before = contender.map_or(0.0, process::cpu_seconds);
        let postgres_before = process::cpu_seconds(postgres);
        let started = Instant::now();
        let per_second = run();
        let requests = per_second * started.elapsed().as_secs_f64();
        let own = contender.map_or(0.0, process::cpu_seconds) - own_before;
        let postgres = process::cpu_seconds(postgres) - postgres_before;
        self.per_second.push(per_second);
        self.own_us.push(own / requests * 1e6);
        self.postgres_us.push(postgres / requests * 1e6);
    }
}

/// Requests/s of the engine over transactions/s of pgbench, and processor time beside PostgreSQL's.
pub(crate) fn against_pgbench() {
    let cluster = cluster_with_study_data();
    let subject = Subject::start(&cluster.url("postgres"), &[], None);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = vec![row(&[
        "query",
        "pgbench/s",
        "Prony/s",
        "ratio",
        "engine µs",
        "PostgreSQL µs",
        "engine / PostgreSQL",
    ])];
    for query in &QUERIES {
        check(&subject, query);
        let lua = drivers::script_file(folder.path(), "query.lua", &wrk_script(query.graphql));
        let sql = format!("\\set g random(0, 100000)\n\\set o random(0, 100)\n{}\n", query.sql);
        let sql = drivers::script_file(folder.path(), "query.sql", &sql);
        let (mut theirs, mut ours) = (Series::default(), Series::default());
        for _ in 0..ROUNDS {
            let url = cluster.url("postgres");
            let program = cluster.program("pgbench");
            theirs.measure(None, cluster.pid(), || {
                drivers::pgbench(&program, &url, &sql, DATABASE_CONNECTIONS, SECONDS)
            });
            ours.measure(Some(subject.pid()), cluster.pid(), || {
                drivers::wrk(&subject.graphql_url(), &lua, HTTP_CONNECTIONS, SECONDS)
            });
        }
        rows.push(vec![
            query.name.to_owned(),
            format!("{:.0}", median(&theirs.per_second)),
            format!("{:.0}", median(&ours.per_second)),
            format!("{:.2}", median_ratio(&ours.per_second, &theirs.per_second)),
            format!("{:.0}", median(&ours.own_us)),
            format!("{:.0}", median(&ours.postgres_us)),
            format!("{:.0} %", 100.0 * median_ratio(&ours.own_us, &ours.postgres_us)),
        ]);
    }
    print_table(&rows);
}

/// Requests/s, processor time and memory beside PostGraphile on the same database.
pub(crate) fn against_postgraphile() {
    let cluster = cluster_with_study_data();
    let subject = Subject::start(&cluster.url("postgres"), &[], None);
    let peer = PostGraphile::start(&cluster.url("postgres"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = vec![row(&["query", "PostGraphile/s", "Prony/s", "ratio", "PostGraphile µs", "Prony µs"])];
    for query in &QUERIES {
        check(&subject, query);
        let ours_lua = drivers::script_file(folder.path(), "ours.lua", &wrk_script(query.graphql));
        let theirs_lua = drivers::script_file(folder.path(), "theirs.lua", &wrk_script(query.postgraphile));
        let (mut theirs, mut ours) = (Series::default(), Series::default());
        for _ in 0..ROUNDS {
            theirs.measure(Some(peer.child.id()), cluster.pid(), || {
                drivers::wrk(&peer.url, &theirs_lua, HTTP_CONNECTIONS, SECONDS)
            });
            ours.measure(Some(subject.pid()), cluster.pid(), || {
                drivers::wrk(&subject.graphql_url(), &ours_lua, HTTP_CONNECTIONS, SECONDS)
            });
        }
        rows.push(vec![
            query.name.to_owned(),
            format!("{:.0}", median(&theirs.per_second)),
            format!("{:.0}", median(&ours.per_second)),
            format!("{:.1}", median_ratio(&ours.per_second, &theirs.per_second)),
            format!("{:.0}", median(&theirs.own_us)),
            format!("{:.0}", median(&ours.own_us)),
        ]);
    }
    print_table(&rows);
    println!(
        "resident memory after the runs: PostGraphile {:.0} MB, Prony {:.0} MB",
        process::resident_mb(peer.child.id()),
        process::resident_mb(subject.pid())
    );
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// A figure about wrong answers is worth nothing: one request is looked at first.
fn check(subject: &Subject, query: &StudyQuery) {
    let answer = subject.post(query.graphql, r#"{"limit":50,"offset":3,"id_gt":500}"#, "");
    assert!(!answer.contains("\"errors\"") && answer.contains("\"id\":504"), "wrong answer:\n{answer}");
}

fn cluster_with_study_data() -> Cluster {
    let cluster = Cluster::start_new().unwrap_or_else(|error| panic!("{error}"));
    crate::data::load_postgres(&cluster.url("postgres"));
    cluster
}

/// PostGraphile in production mode, from `benches/peers/postgraphile`.
struct PostGraphile {
    child: Child,
    url: String,
}

impl PostGraphile {
    fn start(database: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/postgraphile");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgraphile");
        fs::create_dir_all(&folder).expect("the build folder is writable");
        for file in ["package.json", "package-lock.json", ".npmrc", "graphile.config.mjs"] {
            fs::copy(source.join(file), folder.join(file)).expect("the peer's files can be copied");
        }
        let installed = Command::new("npm").arg("ci").current_dir(&folder).stdout(Stdio::null()).status();
        assert!(installed.is_ok_and(|status| status.success()), "npm ci failed in {}", folder.display());
        let port = free_port();
        let child = Command::new(folder.join("node_modules/.bin/node"))
            .args(["node_modules/.bin/postgraphile", "-C", "graphile.config.mjs"])
            .current_dir(&folder)
            .env("DATABASE_URL", database)
            .env("CONNECTIONS", DATABASE_CONNECTIONS.to_string())
            .env("PORT", port.to_string())
            .env("NODE_ENV", "production")
            .stdout(Stdio::null())
            .spawn()
            .expect("node from npm can be started");
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "PostGraphile did not listen within 30 s");
            thread::sleep(Duration::from_millis(100));
        }
        Self { child, url: format!("http://127.0.0.1:{port}/graphql") }
    }
}

impl Drop for PostGraphile {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
