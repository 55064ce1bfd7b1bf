//! Faults of PostgreSQL behind the server.

use std::{net::SocketAddr, thread, time::Duration};

use prony_testkit::{
    PronyProcess,
    postgres::{Cluster, PgBouncer},
};
use serde_json::Value;

use crate::{
    TARGET_CORE,
    clients::{Call, Clients, Fate},
    table::Row,
};

const BEFORE: Duration = Duration::from_secs(6);
const LASTS: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(8);

/// Acknowledged is what has reached the log, as the settings of no test's cluster have it: a crash would lose the last writes.
const TABLE: &str =
    "CREATE TABLE writes (id bigint PRIMARY KEY); ALTER DATABASE postgres SET synchronous_commit = on;";

struct Site {
    /// The one that takes writes, until another is promoted.
    primary: Cluster,
    standby: Option<Cluster>,
    bouncer: Option<PgBouncer>,
}

type Harm = fn(&mut Site);

/// What stands between the server and the database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Alone,
    WithStandby,
    BehindPool,
}

pub(crate) fn faults(each: &mut dyn FnMut(Row)) {
    let all: [(&str, Setting, Harm); 6] = [
        ("all sessions are ended (pg_terminate_backend)", Setting::Alone, |site| {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \
                       backend_type = 'client backend'";
            site.primary.query("postgres", end).expect("the server runs");
        }),
        ("the database is restarted in order", Setting::Alone, |site| {
            site.primary.restart().expect("it starts again");
        }),
        ("it crashes, and starts again", Setting::Alone, |site| {
            site.primary.kill().and_then(|()| site.primary.start()).expect("it starts again");
        }),
        ("the table is locked for 3 s", Setting::Alone, |site| {
            let hold = "BEGIN; LOCK TABLE writes IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3); COMMIT;";
            site.primary.execute("postgres", hold).expect("the server runs");
        }),
        (
            "the primary crashes, and its synchronous standby is promoted after 3 s",
            Setting::WithStandby,
            |site| {
                site.primary.kill().expect("it runs");
                thread::sleep(LASTS);
                let standby = site.standby.as_ref().expect("there is one");
                standby.promote().expect("it follows");
                // It would wait for a standby of its own.
                let alone = "ALTER SYSTEM RESET synchronous_standby_names";
                standby
                    .execute("postgres", alone)
                    .and_then(|()| standby.execute("postgres", "SELECT pg_reload_conf()"))
                    .expect("it takes writes");
            },
        ),
        ("PgBouncer is killed, and there again after 3 s", Setting::BehindPool, |site| {
            let bouncer = site.bouncer.take().expect("there is one");
            let port = bouncer.port();
            drop(bouncer);
            thread::sleep(LASTS);
            site.bouncer = Some(PgBouncer::start_at(&site.primary, "transaction", 40, port));
        }),
    ];
    for (name, setting, harm) in all {
        let mut site = Site::start(setting);
        let mut process = site.serve(setting);
        let address: SocketAddr = process
            .wait_for_url()
            .trim_start_matches("http://")
            .parse()
            .expect("a server says where it listens");
        let clients = Clients::start(address, InsertRow);
        thread::sleep(BEFORE);
        let begin = clients.elapsed();
        harm(&mut site);
        thread::sleep(AFTER);
        let written = clients.stop();
        each(Row::of(name, begin, &written, &site.keys(setting)));
    }
}

impl Site {
    fn start(setting: Setting) -> Self {
        let primary = Cluster::start_new().unwrap_or_else(|error| panic!("{error}"));
        primary.execute("postgres", TABLE).expect("a database takes a table");
        let standby = (setting == Setting::WithStandby).then(|| {
            let standby = primary.start_standby().unwrap_or_else(|error| panic!("{error}"));
            // Acknowledged is then what the standby has, too.
            for statement in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
                primary.execute("postgres", statement).expect("a superuser may");
            }
            standby
        });
        let bouncer = (setting == Setting::BehindPool).then(|| PgBouncer::start(&primary, "transaction", 40));
        Self { primary, standby, bouncer }
    }

    fn serve(&self, setting: Setting) -> PronyProcess {
        let url = match (setting, &self.standby, &self.bouncer) {
            (_, Some(standby), _) => format!(
                "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
                self.primary.port(),
                standby.port()
            ),
            (_, _, Some(bouncer)) => bouncer.url("postgres"),
            _ => self.primary.url("postgres"),
        };
        let binary = env!("CARGO_BIN_EXE_prony");
        let arguments = ["-c", TARGET_CORE, binary, "serve", &url, "--listen", "127.0.0.1:0", "--cpus", "1"];
        PronyProcess::start("taskset", arguments)
    }

    fn keys(&self, setting: Setting) -> Vec<u64> {
        let server =
            self.standby.as_ref().filter(|_| setting == Setting::WithStandby).unwrap_or(&self.primary);
        let rows = server.query("postgres", "SELECT id FROM writes").expect("the server runs");
        let keys = rows.into_iter().filter_map(|row| row.into_iter().next().flatten()?.parse().ok());
        keys.collect()
    }
}

struct InsertRow;

impl Call for InsertRow {
    fn request(&self, key: u64) -> Vec<u8> {
        let body = format!(
            "{{\"query\":\"mutation($id: BigInt!) {{ createWrite(id: $id) {{ id }} }}\",\"variables\":{{\"id\":{key}}}}}"
        );
        let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    fn fate(&self, status: u16, body: &str) -> Fate {
        let response: Value = serde_json::from_str(body).unwrap_or_default();
        let error = &response["errors"][0];
        if status == 200 && error.is_null() {
            return Fate::Acknowledged;
        }
        let message = error["message"].as_str().unwrap_or(body);
        let code = error["extensions"]["code"].as_str().unwrap_or_default();
        let what = format!("{status} {code} {}", message.chars().take(60).collect::<String>());
        if message.contains("unknown") { Fate::Unknown(what) } else { Fate::Refused(what) }
    }
}
