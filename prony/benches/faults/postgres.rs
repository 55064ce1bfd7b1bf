//! Faults of PostgreSQL behind the server, and of what stands between the two.

use std::{
    collections::HashSet,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use prony_testkit::{
    PronyProcess,
    postgres::{Cluster, PgBouncer},
    process::Signal,
};
use rustix::process::{Pid, kill_process};
use serde_json::Value;

use crate::{
    PRONY, TARGET_CORE,
    clients::{Call, Fate, PATIENCE},
    injection::{Fault, Found, LASTS, Sign, Site},
    network::Network,
    process::children,
    syscalls::Injection,
};

/// A fault of 3 s is felt for at least as long.
const FELT: Duration = Duration::from_millis(2_500);
/// Of a fault that is as long as the server takes to see it.
const NOTICED: Duration = Duration::from_secs(1);
const POOL_SIZE: u32 = 40;
/// Longer than `lock_timeout_ms` by default.
const LOCKED_LONG_S: u32 = 7;
/// Requests that come while all clients wait: with them more wait than `max_waiting` (1,024) by default.
const MORE_REQUESTS: usize = 200;

/// Acknowledged is what has reached the log, and the standby's; other tests' clusters do not wait for that.
const TABLES: &str = "
    CREATE TABLE writes (id bigint PRIMARY KEY);
    CREATE TABLE pairs (id bigint PRIMARY KEY);
    CREATE TABLE others (id bigint PRIMARY KEY);
    ALTER DATABASE postgres SET synchronous_commit = on;";

pub(crate) struct Database {
    primary: Cluster,
    standby: Option<Cluster>,
    bouncer: Option<PgBouncer>,
    setting: Setting,
    /// Where the server finds it.
    url: String,
    network: Option<Network>,
    /// The standby takes the writes.
    is_promoted: bool,
    process: Option<PronyProcess>,
    address: SocketAddr,
}

/// What stands between the server and the database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Alone,
    WithStandby,
    /// In transaction mode.
    BehindPool,
    /// In session mode.
    BehindSessionPool,
    BehindNetwork,
}

impl Setting {
    /// Of `PgBouncer`, where there is one.
    fn pool_mode(self) -> Option<&'static str> {
        match self {
            Self::BehindPool => Some("transaction"),
            Self::BehindSessionPool => Some("session"),
            Self::Alone | Self::WithStandby | Self::BehindNetwork => None,
        }
    }
}

pub(crate) const FAULTS: [Fault<Database>; 17] = [
    Fault {
        name: "all sessions are ended (pg_terminate_backend)",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| database.end_sessions(),
    },
    Fault {
        name: "a session's process is killed (SIGKILL), so that PostgreSQL begins anew",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| {
            let sessions =
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'prony' AND query LIKE 'INSERT%'";
            let session = column(&database.primary, sessions).first().copied();
            signal(session.expect("somebody writes") as u32, Signal::KILL);
        },
    },
    Fault {
        name: "PostgreSQL is restarted in order",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| database.primary.restart().expect("it starts again"),
    },
    Fault {
        name: "it crashes, and is started again at once",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| {
            database.primary.kill().and_then(|()| database.primary.start()).expect("it starts again");
        },
    },
    Fault {
        name: "it stands still for 3 s (SIGSTOP)",
        setting: Setting::Alone,
        sign: Sign::Interruption(FELT),
        harm: |database| stand_still(&database.primary),
    },
    Fault {
        name: "it takes no connections for 3 s (ALLOW_CONNECTIONS false), and its sessions are ended",
        setting: Setting::Alone,
        sign: Sign::Interruption(FELT),
        harm: |database| {
            let primary = &database.primary;
            execute(primary, "template1", "ALTER DATABASE postgres ALLOW_CONNECTIONS false");
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'";
            execute(primary, "template1", end);
            thread::sleep(LASTS);
            execute(primary, "template1", "ALTER DATABASE postgres ALLOW_CONNECTIONS true");
        },
    },
    Fault {
        name: "a table is locked for 3 s",
        setting: Setting::Alone,
        sign: Sign::Interruption(FELT),
        harm: |database| lock(&database.primary, 3),
    },
    Fault {
        name: "a table is locked for 7 s, longer than lock_timeout_ms",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| lock(&database.primary, LOCKED_LONG_S),
    },
    Fault {
        name: "200 more requests come while a table is locked for 3 s: more wait than max_waiting",
        setting: Setting::Alone,
        sign: Sign::Interruption(FELT),
        harm: |database| database.overload(),
    },
    Fault {
        name: "the server is stopped, and started 3 s before its database is",
        setting: Setting::Alone,
        sign: Sign::Interruption(FELT),
        harm: Database::start_before,
    },
    Fault {
        name: "it takes no writes for 3 s (default_transaction_read_only)",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| {
            let primary = &database.primary;
            set(primary, "default_transaction_read_only = on");
            thread::sleep(LASTS);
            set(primary, "default_transaction_read_only = off");
        },
    },
    Fault {
        name: "its disk is full for 3 s (ENOSPC for a table's file)",
        setting: Setting::Alone,
        sign: Sign::Failures,
        harm: |database| {
            let primary = &database.primary;
            let path = primary.query("postgres", "SHOW data_directory").expect("the server runs");
            let file =
                primary.query("postgres", "SELECT pg_relation_filepath('writes')").expect("it has a file");
            let path = [path, file].map(|rows| rows[0][0].clone().expect("a text")).join("/");
            let injection = Injection::begin(
                &processes(primary),
                "pwrite64",
                "error=ENOSPC",
                Some(std::path::Path::new(&path)),
            );
            thread::sleep(LASTS);
            injection.end();
        },
    },
    Fault {
        name: "connections are lost without a word, as when a machine loses its power",
        setting: Setting::BehindNetwork,
        sign: Sign::Interruption(NOTICED),
        harm: |database| database.network.as_ref().expect("there is one").lose_connections(),
    },
    Fault {
        name: "the primary crashes, and its synchronous standby is promoted after 3 s",
        setting: Setting::WithStandby,
        sign: Sign::Interruption(FELT),
        harm: Database::promote,
    },
    Fault {
        name: "the synchronous standby stands still for 3 s (SIGSTOP)",
        setting: Setting::WithStandby,
        sign: Sign::Interruption(FELT),
        harm: |database| stand_still(database.standby.as_ref().expect("there is one")),
    },
    Fault {
        name: "PgBouncer is killed, and there again after 3 s",
        setting: Setting::BehindPool,
        sign: Sign::Interruption(FELT),
        harm: Database::kill_pool,
    },
    Fault {
        name: "PgBouncer in session mode is killed, and there again after 3 s",
        setting: Setting::BehindSessionPool,
        sign: Sign::Interruption(FELT),
        harm: Database::kill_pool,
    },
];

impl Site for Database {
    type Setting = Setting;

    fn start(setting: Setting) -> Self {
        let primary = Cluster::start_new().unwrap_or_else(|error| panic!("{error}"));
        execute(&primary, "postgres", TABLES);
        let standby = (setting == Setting::WithStandby).then(|| {
            let standby = primary.start_standby().unwrap_or_else(|error| panic!("{error}"));
            // Acknowledged is then what the standby has, too.
            set(&primary, "synchronous_standby_names = '*'");
            standby
        });
        let bouncer = setting.pool_mode().map(|mode| PgBouncer::start(&primary, mode, POOL_SIZE));
        let network = (setting == Setting::BehindNetwork).then(|| Network::to(primary.port()));
        let url = match (&standby, &bouncer, &network) {
            (Some(standby), ..) => format!(
                "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
                primary.port(),
                standby.port()
            ),
            (_, Some(bouncer), _) => bouncer.url("postgres"),
            (.., Some(network)) => format!("postgres://postgres@127.0.0.1:{}/postgres", network.port),
            _ => primary.url("postgres"),
        };
        let mut server = Starting::begin(&url, setting, "127.0.0.1:0");
        let address = server.wait();
        let process = Some(server.process);
        Self { primary, standby, bouncer, setting, url, network, is_promoted: false, process, address }
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn call() -> impl Call {
        InsertRows
    }

    fn found(&mut self) -> Found {
        let stopped = self.process.take().expect("it is served").stop();
        assert!(stopped.status.success(), "the server has survived: {}", stopped.stderr);
        let server = self.standby.as_ref().filter(|_| self.is_promoted).unwrap_or(&self.primary);
        server.kill().and_then(|()| server.start()).expect("it starts again");
        let keys = |table: &str| -> HashSet<u64> {
            column(server, &format!("SELECT id FROM {table}")).into_iter().collect()
        };
        let (writes, pairs) = (keys("writes"), keys("pairs"));
        let in_part =
            writes.symmetric_difference(&pairs).filter(|key| has_pair(**key) || pairs.contains(key));
        let keys = writes.union(&pairs).copied().collect();
        Found { in_part: in_part.count(), keys, ..Found::default() }
    }
}

impl Database {
    fn end_sessions(&self) {
        let end =
            "SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity WHERE application_name = 'prony'";
        let ended: u64 = column(&self.primary, end).iter().sum();
        assert!(ended > 0, "there were sessions");
    }

    /// All clients wait for the lock when more requests come, of which most are refused at once.
    fn overload(&self) {
        let (primary, address) = (&self.primary, self.address);
        thread::scope(|scope| {
            let held = scope.spawn(|| lock(primary, 3));
            thread::sleep(Duration::from_secs(1));
            let more = (0..MORE_REQUESTS).map(|id| scope.spawn(move || once(address, id)));
            let more: Vec<_> = more.collect();
            let statuses = more.into_iter().map(|request| request.join().expect("it has a response"));
            let refused = statuses.filter(|status| *status == 503).count();
            assert!(refused > 0, "none of {MORE_REQUESTS} more requests was refused");
            held.join().expect("the lock was held");
        });
    }

    fn start_before(&mut self) {
        let stopped = self.process.take().expect("it is served").stop();
        assert!(stopped.status.success(), "it stops in order: {}", stopped.stderr);
        self.primary.stop().expect("it runs");
        let mut server = Starting::begin(&self.url, self.setting, &self.address.to_string());
        thread::sleep(LASTS);
        self.primary.start().expect("it starts again");
        server.wait();
        self.process = Some(server.process);
    }

    fn kill_pool(&mut self) {
        let bouncer = self.bouncer.take().expect("there is one");
        let port = bouncer.port();
        drop(bouncer);
        thread::sleep(LASTS);
        let mode = self.setting.pool_mode().expect("there is one");
        self.bouncer = Some(PgBouncer::start_at(&self.primary, mode, POOL_SIZE, port));
    }

    fn promote(&mut self) {
        self.primary.kill().expect("it runs");
        thread::sleep(LASTS);
        let standby = self.standby.as_ref().expect("there is one");
        standby.promote().expect("it follows");
        self.is_promoted = true;
    }
}

/// A server that is being started, with the file that it reads.
struct Starting {
    process: PronyProcess,
    _settings: tempfile::NamedTempFile,
}

impl Starting {
    fn begin(url: &str, setting: Setting, listen: &str) -> Self {
        let mut arguments = vec!["-c", TARGET_CORE, PRONY, "serve"];
        let settings = tempfile::Builder::new().suffix(".toml").tempfile().expect("a temporary file");
        let path = settings.path().to_str().expect("paths of temporary files are text");
        if setting == Setting::BehindPool {
            let text = format!("[[source]]\nurl = \"{url}\"\npool_mode = \"transaction\"\n");
            std::fs::write(settings.path(), text).expect("room for a small file");
            arguments.extend(["--config", path]);
        } else {
            arguments.push(url);
        }
        arguments.extend(["--listen", listen, "--cpus", "1"]);
        let process = PronyProcess::start("taskset", arguments);
        Self { process, _settings: settings }
    }

    /// Returns when it listens, and where.
    fn wait(&mut self) -> SocketAddr {
        let address = self.process.wait_for_url();
        address.trim_start_matches("http://").parse().expect("a server says where it listens")
    }
}

/// The status of a write to a table that nobody looks at, over a connection of its own.
fn once(address: SocketAddr, id: usize) -> u16 {
    let body = format!(r#"{{"query":"mutation {{ createOther(id: {id}) {{ id }} }}"}}"#);
    let request = post(&body);
    let mut stream = TcpStream::connect(address).expect("the server takes connections");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time that is not 0");
    stream.write_all(&request).expect("the server reads");
    let mut line = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut line).expect("there is a response");
    let status = std::str::from_utf8(&line).ok().and_then(|line| line.rsplit(' ').next()?.parse().ok());
    status.expect("a response begins with its status")
}

/// A whole request.
fn post(body: &str) -> Vec<u8> {
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Nobody writes to the table for so long.
fn lock(server: &Cluster, seconds: u32) {
    let hold =
        format!("BEGIN; LOCK TABLE writes IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({seconds}); COMMIT;");
    execute(server, "postgres", &hold);
}

fn execute(server: &Cluster, database: &str, statements: &str) {
    server.execute(database, statements).unwrap_or_else(|error| panic!("{error}"));
}

/// For all sessions, those that there are included.
fn set(server: &Cluster, setting: &str) {
    execute(server, "template1", &format!("ALTER SYSTEM SET {setting}"));
    execute(server, "template1", "SELECT pg_reload_conf()");
}

/// The only column of a query's rows.
fn column(server: &Cluster, query: &str) -> Vec<u64> {
    let rows = server.query("postgres", query).unwrap_or_else(|error| panic!("{error}"));
    rows.iter().filter_map(|row| row[0].as_deref()?.parse().ok()).collect()
}

fn processes(server: &Cluster) -> Vec<u32> {
    let mut all = vec![server.pid()];
    all.extend(children(server.pid()));
    all
}

fn stand_still(server: &Cluster) {
    let processes = processes(server);
    let tell = |what: Signal| {
        for process in &processes {
            signal(*process, what);
        }
    };
    tell(Signal::STOP);
    thread::sleep(LASTS);
    tell(Signal::CONT);
}

fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).expect("no process has the number 0");
    // One that has ended meanwhile needs no signal.
    let _ = kill_process(process, signal);
}

/// Every second key is written to two tables, by one request.
fn has_pair(key: u64) -> bool {
    key % 2 == 1
}

struct InsertRows;

impl Call for InsertRows {
    fn request(&self, key: u64) -> Vec<u8> {
        let pair = if has_pair(key) { " createPair(id: $id) { id }" } else { "" };
        let query = format!("mutation($id: BigInt!) {{ createWrite(id: $id) {{ id }}{pair} }}");
        post(&serde_json::json!({"query": query, "variables": {"id": key}}).to_string())
    }

    fn fate(&self, status: u16, body: &str) -> Fate {
        let response: Value = serde_json::from_str(body).unwrap_or_default();
        let error = &response["errors"][0];
        if status == 200 && error.is_null() && response["data"].is_object() {
            return Fate::Acknowledged;
        }
        let message = error["message"].as_str().unwrap_or(body);
        let code = error["extensions"]["code"].as_str().unwrap_or("no code");
        let what = format!("{status} {code}: {message}");
        if code == "OUTCOME_UNKNOWN" { Fate::Unknown(what) } else { Fate::Refused(what) }
    }
}
