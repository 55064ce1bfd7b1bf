//! Tables that the configuration does not fit, and databases that cannot be asked at that moment.

use std::fs;

use prony_testkit::postgres::{Cluster, TestDatabase};

use super::{ALL, BOTH, CHECKED, Database, Site, settings};
use crate::support::Rewritten;

const NOT_READ: &str = r#"prony_schema_refused{source="shop"} 1.0"#;
const SERVED: &str = r#"prony_schema_refused{source="shop"} 0.0"#;
const WARNING: &str = r#"{"status":"ready","warnings":[{"source":"shop","reason":"schema_refused"}]}"#;

fn databases() -> [Database; 2] {
    [Database::sqlite(), Database::Postgres(TestDatabase::create())]
}

#[test]
fn a_table_of_the_configuration_that_is_gone_keeps_the_schema_of_before() {
    for database in databases() {
        database.execute("CREATE TABLE box (id INTEGER PRIMARY KEY)");
        let site = Site::with(database, CHECKED, "[source.tables.box]\ntype_name = \"Crate\"\n", |_| {});
        site.database.execute("DROP TABLE box; ALTER TABLE shelf ADD COLUMN size INTEGER");
        site.until_metric(NOT_READ);
        assert_eq!(site.get("/ready"), WARNING);
        assert!(site.get("/health").contains("schema_fault"), "{}", site.get("/health"));
        assert_eq!(site.ask(ALL), BOTH, "what is still there is served");
        let refused = site.ask("{ boxes { id } }");
        assert!(refused.contains("SCHEMA_CHANGED"), "{refused}");
        assert!(site.ask("{ shelves { size } }").contains("GRAPHQL_VALIDATION_FAILED"));
        site.database.execute("CREATE TABLE box (id INTEGER PRIMARY KEY, weight INTEGER)");
        site.until("{ boxes { id weight } }", r#"{"data":{"boxes":[]}}"#);
        site.until_metric(SERVED);
        assert_eq!(site.get("/ready"), r#"{"status":"ready"}"#);
        assert!(site.ask("{ shelves(limit: 1) { size } }").contains(r#"[{"size":null}]"#));
    }
}

#[test]
fn names_that_another_source_has_keep_the_schema_of_before() {
    for database in databases() {
        let other = Database::sqlite();
        other.execute("CREATE TABLE box (id INTEGER PRIMARY KEY, weight TEXT)");
        let rest = format!("[[source]]\nurl = {:?}\nname = \"other\"\nschema_check_ms = 20\n", other.url());
        let site = Site::with(database, CHECKED, &rest, |_| {});
        site.database.execute("CREATE TABLE box (id INTEGER PRIMARY KEY, size INTEGER)");
        site.until_metric(NOT_READ);
        assert_eq!(site.get("/ready"), WARNING);
        assert_eq!(site.ask(ALL), BOTH);
        assert_eq!(site.ask("{ boxes { weight } }"), r#"{"data":{"boxes":[]}}"#, "the other's is served");
        // The other source goes on by itself meanwhile.
        other.execute("ALTER TABLE box ADD COLUMN height TEXT");
        site.until("{ boxes { height } }", r#"{"data":{"boxes":[]}}"#);
        other.execute("DROP TABLE box; CREATE TABLE crate (id INTEGER PRIMARY KEY)");
        site.until("{ boxes { size } }", r#"{"data":{"boxes":[]}}"#);
        site.until_metric(SERVED);
    }
}

const ROLES: &str = r#"
[auth]
anonymous = "visitor"
[roles.visitor.sources.shop.tables.shelf]
select = { columns = ["id", "label"], rows = { label = { ne = "b" } } }
"#;

/// A role must not be served by half of its permissions: as at SIGHUP, what does not fit is refused.
#[test]
fn a_role_that_names_what_is_gone_keeps_the_schema_of_before_until_one_of_both_fits() {
    for database in databases() {
        database.execute("CREATE TABLE box (id INTEGER PRIMARY KEY)");
        let url = database.url();
        let file = Rewritten::new(ROLES);
        let reload = file.reload(move |text| Ok(settings(&url, CHECKED, text).access));
        let site = Site::with(database, CHECKED, ROLES, |settings| settings.reload = Some(reload));
        let one = r#"{"data":{"shelves":[{"id":1,"label":"a"}]}}"#;
        assert_eq!(site.ask(ALL), one);
        // Another table is no matter of the role.
        site.database.execute("ALTER TABLE shelf ADD COLUMN size INTEGER; DROP TABLE box");
        site.until_metric("prony_catalog_reads_total{source=\"shop\"} 1.0");
        site.until_metric(SERVED);
        site.database.execute("ALTER TABLE shelf RENAME COLUMN label TO title");
        site.until_metric(NOT_READ);
        assert_eq!(site.get("/ready"), WARNING);
        assert!(
            site.ask("{ shelves { id } }").contains("SCHEMA_CHANGED"),
            "its rows cannot be told any more"
        );
        assert!(site.ask("{ shelves { title } }").contains("GRAPHQL_VALIDATION_FAILED"));
        site.database.execute("ALTER TABLE shelf RENAME COLUMN title TO label");
        site.until_metric(SERVED);
        assert_eq!(site.ask(ALL), one);
        // What names a column that is not there at all is refused by both.
        site.database.execute("ALTER TABLE shelf RENAME COLUMN label TO title");
        site.until_metric(NOT_READ);
        file.write_mistake(&ROLES.replace("label", "heading"));
        site.until_metric(NOT_READ);
        file.write(&ROLES.replace("label", "title"));
        site.until("{ shelves { id title } }", r#"{"data":{"shelves":[{"id":1,"title":"a"}]}}"#);
        site.until_metric(SERVED);
    }
}

#[test]
fn a_file_that_is_away_or_locked_is_read_when_it_is_back() {
    let site = Site::with(Database::sqlite(), CHECKED, "", |_| {});
    let Database::Sqlite(directory) = &site.database else { unreachable!("it was made so") };
    let (place, aside) = (directory.path().join("shop.db"), directory.path().join("aside.db"));
    fs::rename(&place, &aside).expect("it can be moved");
    site.until_metric("prony_catalog_failures_total{source=\"shop\"} 1.0");
    fs::rename(&aside, &place).expect("it can be moved");
    // Without the WAL's shared memory, whoever holds the lock keeps all others out.
    let locker = rusqlite::Connection::open(&place).expect("it can be opened");
    locker.busy_timeout(crate::support::PATIENCE).expect("it is open");
    locker.execute_batch("BEGIN IMMEDIATE; ALTER TABLE shelf ADD COLUMN size INTEGER").expect("it may");
    assert_eq!(site.ask(ALL), BOTH, "what is not committed is not there");
    assert!(site.ask("{ shelves { size } }").contains("GRAPHQL_VALIDATION_FAILED"));
    locker.execute_batch("COMMIT").expect("it may");
    site.until("{ shelves(limit: 1) { size } }", r#"[{"size":null}]"#);
    // Another file in its place.
    let other = Database::sqlite();
    other.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)");
    let Database::Sqlite(from) = &other else { unreachable!("it was made so") };
    drop(locker);
    for suffix in ["-wal", "-shm"] {
        let _maybe_none = fs::remove_file(directory.path().join(format!("shop.db{suffix}")));
    }
    fs::rename(from.path().join("shop.db"), &place).expect("it can be moved");
    site.until("{ others { id } }", r#"{"data":{"others":[]}}"#);
}

#[test]
fn a_server_that_is_down_is_asked_when_it_is_back() {
    let cluster: &'static Cluster = Box::leak(Box::new(Cluster::start_new().expect("there are binaries")));
    let site = Site::with(Database::Cluster(cluster), CHECKED, "", |_| {});
    assert_eq!(site.ask(ALL), BOTH);
    cluster.stop().expect("it stops");
    site.wait("1", || {
        let metrics = site.metrics();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("prony_catalog_failures_total{source=\"shop\"} "));
        if line == Some("0.0") { String::new() } else { "1".to_owned() }
    });
    cluster.start().expect("it starts");
    site.database.execute("ALTER TABLE shelf ADD COLUMN size INTEGER");
    site.until("{ shelves(limit: 1) { size } }", r#"[{"size":null}]"#);
    cluster.stop().expect("it stops");
}
