//! Tables that become others while they are served, on both databases: what is served then, what becomes of requests, live queries and
//! subscriptions under way, and what of changes that the configuration does not fit.

mod configuration;
mod faults;
mod load;
mod subscriptions;
mod withdrawn;

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use prony_interceptors::JavaScriptLoader;
use prony_postgres::changes::triggers::{Triggers, TriggersRequest};
use prony_server::{
    config::{self, CommandLine, CoreChoice, Program, Settings},
    runtime::{self, Running},
};
use prony_testkit::postgres::{Cluster, TestDatabase};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{
    sockets::Socket,
    support::{KINDS, PATIENCE, Wire, get, query},
};

/// Often enough that tests need not wait.
const CHECKED: &str = "schema_check_ms = 20";

const SHOP: &str = "
    CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT NOT NULL, place TEXT);
    INSERT INTO shelf VALUES (1, 'a', 'north'), (2, 'b', 'south');";

enum Database {
    Sqlite(TempDir),
    Postgres(TestDatabase),
    Cluster(&'static Cluster),
}

impl Database {
    fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("there is room"))
    }

    fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(directory) => {
                let connection =
                    Connection::open(directory.path().join("shop.db")).expect("it can be opened");
                connection.busy_timeout(PATIENCE).expect("it is open");
                connection.execute_batch(sql).expect("the statements are right");
            }
            Self::Postgres(database) => database.execute(sql),
            Self::Cluster(cluster) => cluster.execute("postgres", sql).expect("the statements are right"),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(directory) => format!("sqlite:{}", directory.path().join("shop.db").display()),
            Self::Postgres(database) => database.url(),
            Self::Cluster(cluster) => cluster.url("postgres"),
        }
    }
}

/// A server of a database with the tables of [`SHOP`].
struct Site {
    running: Running,
    database: Database,
}

impl Site {
    fn with(database: Database, options: &str, rest: &str, change: impl FnOnce(&mut Settings)) -> Self {
        database.execute(SHOP);
        Self::of(database, options, rest, change)
    }

    /// The tables are there already.
    fn of(database: Database, options: &str, rest: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = settings(&database.url(), options, rest);
        change(&mut settings);
        Self { running: runtime::start(settings).expect("the server starts"), database }
    }

    fn both(options: &str) -> [Self; 2] {
        [Database::sqlite(), Database::Postgres(TestDatabase::create())]
            .map(|database| Self::with(database, options, "", |_| {}))
    }

    fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    fn get(&self, path: &str) -> String {
        let mut wire = Wire::to(self.address());
        wire.send(get(path));
        wire.response().lines().last().unwrap_or_default().to_owned()
    }

    /// The body of the response.
    fn ask(&self, text: &str) -> String {
        let mut wire = Wire::to(self.address());
        wire.send(query(text));
        wire.response().lines().last().unwrap_or_default().to_owned()
    }

    /// Asks again and again until that is the response.
    fn until(&self, text: &str, expected: &str) {
        self.wait(expected, || self.ask(text));
    }

    fn wait(&self, expected: &str, look: impl Fn() -> String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = look();
            if found.contains(expected) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{found} does not become {expected}, of {}",
                self.database.url()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks `/metrics` until a line is there.
    fn until_metric(&self, line: &str) {
        self.wait(line, || self.metrics());
    }

    fn metrics(&self) -> String {
        let mut wire = Wire::to(self.address());
        wire.send(get("/metrics"));
        wire.response()
    }

    fn subscribe(&self, text: &str) -> Socket {
        let mut socket = Socket::ready_at(self.address());
        socket.send(&crate::sockets::subscribe("a", text));
        socket
    }
}

fn settings(url: &str, options: &str, rest: &str) -> Settings {
    let text = format!("[[source]]\nurl = {url:?}\nname = \"shop\"\n{options}\n{rest}");
    read(&text).expect("it is right")
}

/// Settings of a file.
fn read(text: &str) -> Result<Settings, String> {
    read_beside(Path::new(""), text)
}

/// Settings of a file that names others in a folder.
fn read_beside(folder: &Path, text: &str) -> Result<Settings, String> {
    let program = Program { kinds: KINDS, interceptors: Some(&JavaScriptLoader) };
    let path = folder.join("prony.toml");
    let loaded = config::load_for(program, Some((&path, text)), CommandLine::default(), &|_| None);
    let mut settings = loaded.map_err(|faults| faults.to_string())?;
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    settings.cores = CoreChoice::Count(2);
    settings.subscriptions.live_interval = Duration::from_millis(1);
    Ok(settings)
}

const ALL: &str = "{ shelves { id label } }";
const BOTH: &str = r#"{"data":{"shelves":[{"id":1,"label":"a"},{"id":2,"label":"b"}]}}"#;

#[test]
fn columns_and_tables_come_and_go() {
    for site in Site::both(CHECKED) {
        assert_eq!(site.ask(ALL), BOTH);
        assert!(site.get("/console.json").contains("1 table\""));
        site.database.execute("ALTER TABLE shelf ADD COLUMN size INTEGER");
        site.until("{ shelves(limit: 1) { size id } }", r#"{"data":{"shelves":[{"size":null,"id":1}]}}"#);
        site.database.execute(
            "CREATE TABLE box (id INTEGER PRIMARY KEY, shelf_id INTEGER REFERENCES shelf (id)); INSERT INTO box VALUES (7, 2)",
        );
        let nested = "{ shelves(where: {id: {eq: 2}}) { boxes { id } } }";
        site.until(nested, r#"{"data":{"shelves":[{"boxes":[{"id":7}]}]}}"#);
        assert_eq!(site.ask("mutation { createBox(id: 8) { id } }"), r#"{"data":{"createBox":{"id":8}}}"#);
        let types = r#"{ __type(name: "Box") { fields { name } } }"#;
        assert!(site.ask(types).contains(r#""shelf_id""#), "{}", site.ask(types));
        assert!(site.get("/console.json").contains("2 tables"));
        site.database.execute("ALTER TABLE shelf RENAME COLUMN label TO title");
        site.until("{ shelves { title } }", r#"[{"title":"a"},{"title":"b"}]"#);
        let refused = site.ask(ALL);
        assert!(refused.contains("GRAPHQL_VALIDATION_FAILED") && refused.contains("label"), "{refused}");
        site.database.execute("DROP TABLE box");
        site.until(nested, "GRAPHQL_VALIDATION_FAILED");
        site.database.execute("ALTER TABLE shelf DROP COLUMN size; ALTER TABLE shelf RENAME TO rack");
        site.until("{ racks(limit: 1) { id title place } }", r#"[{"id":1,"title":"a","place":"north"}]"#);
        assert!(site.get("/console.json").contains("1 table\""));
        assert!(site.get("/ready").contains(r#"{"status":"ready"}"#), "{}", site.get("/ready"));
    }
}

/// Without looking of its own, a statement that fails because of the tables has them read.
#[test]
fn a_statement_that_fails_so_has_the_tables_read() {
    for site in Site::both("schema_check_ms = 0") {
        assert_eq!(site.ask(ALL), BOTH);
        site.database.execute("ALTER TABLE shelf RENAME COLUMN label TO title");
        let refused = site.ask(ALL);
        assert!(refused.contains(r#""code":"SCHEMA_CHANGED""#), "{refused}");
        site.until("{ shelves { title } }", r#"[{"title":"a"},{"title":"b"}]"#);
        site.database.execute("DROP TABLE shelf; CREATE TABLE box (id INTEGER PRIMARY KEY)");
        let refused = site.ask("mutation { deleteShelf(pk_columns: {id: 1}) { result } }");
        assert!(refused.contains(r#""code":"SCHEMA_CHANGED""#), "{refused}");
        site.until("{ boxes { id } }", r#"{"data":{"boxes":[]}}"#);
    }
}

/// Bytes of a number of another type are no whole number.
#[test]
fn a_column_of_another_type_gives_no_wrong_values() {
    let database = Database::Postgres(TestDatabase::create());
    let site = Site::with(database, "schema_check_ms = 0", "", |_| {});
    site.database.execute("ALTER TABLE shelf ADD COLUMN size real, ADD COLUMN kind text DEFAULT 'abcd'; UPDATE shelf SET size = 1.5");
    let plain = "{ shelves(limit: 1) { id } }";
    assert_eq!(site.ask(plain), r#"{"data":{"shelves":[{"id":1}]}}"#);
    for kind in ["real", "text"] {
        site.database.execute(&format!("ALTER TABLE shelf ALTER COLUMN id TYPE {kind} USING id::{kind}"));
        let refused = site.ask(plain);
        assert!(refused.contains(r#""code":"SCHEMA_CHANGED""#), "{kind}: {refused}");
        let expected = if kind == "real" { r#"[{"id":1}]"# } else { r#"[{"id":"1"}]"# };
        site.until(plain, expected);
    }
}

/// Whether the database tells of its schema then.
fn install_triggers(database: &TestDatabase) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    runtime.block_on(async {
        let triggers =
            Triggers::open(&database.url(), TriggersRequest::default()).await.expect("it is there");
        triggers.install().await.expect("it may");
        triggers.tells_of_schema().await.expect("it can be asked")
    })
}

/// The database tells of it by event triggers, so that it need not be asked.
#[test]
fn what_event_triggers_tell_is_seen_without_looking() {
    let database = TestDatabase::create();
    database.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)");
    assert!(install_triggers(&database));
    // The first look is by the interval; from then on the database tells.
    let site = Site::with(Database::Postgres(database), CHECKED, "", |_| {});
    site.database.execute("ALTER TABLE shelf ADD COLUMN size INTEGER");
    site.until("{ shelves(limit: 1) { size } }", r#"[{"size":null}]"#);
    for round in 0..3 {
        site.database.execute(&format!("ALTER TABLE shelf ADD COLUMN size{round} INTEGER"));
        site.until(&format!("{{ shelves(limit: 1) {{ size{round} }} }}"), r#":null}]"#);
    }
    site.database.execute("DROP TABLE shelf");
    site.until("{ shelves { id } }", "GRAPHQL_VALIDATION_FAILED");
}
