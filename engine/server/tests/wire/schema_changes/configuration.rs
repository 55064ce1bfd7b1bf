//! A configuration that says something else of tables and joins while it is served: what is served then, what becomes of requests and
//! subscriptions under way, and what of a configuration with a mistake.

use prony_testkit::postgres::TestDatabase;

use super::{ALL, BOTH, CHECKED, Database, Site, read, subscriptions::COMPLETE};
use crate::support::Rewritten;

/// A name that is no name of GraphQL, words of SQL, keys that no double holds, keys that lead nowhere, and none.
const LINES: &str = r#"
    CREATE TABLE "order line" (id INTEGER PRIMARY KEY, "select" BIGINT, "Größe" TEXT);
    INSERT INTO "order line" VALUES (1, 9007199254740993, 'L'), (2, NULL, ''), (3, 5, '"quoted"'), (4, 9007199254740993, NULL);"#;
const CUSTOMERS: &str = "
    CREATE TABLE customer (id BIGINT PRIMARY KEY, name TEXT NOT NULL);
    INSERT INTO customer VALUES (9007199254740993, 'Ünal'), (9007199254740992, 'another');
    CREATE VIEW slow AS SELECT 1 AS id, name FROM customer, (SELECT pg_sleep(3)) AS waited WHERE name = 'another';";

const AT_START: &str = r#"
[source.tables."order line"]
type_name = "Line"
list_name = "lines"
[source.tables."order line".columns.select]
name = "customer_key"
"#;
const JOIN: &str = r#"
[[join]]
field = "Line.customer"
key = "customer_key"
to = "Query.customers"
argument = "where.id.in"
match = "id"
"#;
const VIEW: &str = "[source.tables.slow]\nprimary_key = [\"id\"]\n";

/// Lines in SQLite, their customers in PostgreSQL.
struct Pair {
    site: Site,
    file: Rewritten,
    urls: [String; 2],
    _shop: Database,
}

impl Pair {
    fn start() -> Self {
        let (shop, crm) = (Database::sqlite(), TestDatabase::create());
        shop.execute(LINES);
        crm.execute(CUSTOMERS);
        let (urls, crm) = ([shop.url(), crm.url()], Database::Postgres(crm));
        let file = Rewritten::new(&text(&urls, AT_START, VIEW, JOIN));
        let reload = file.reload(read);
        let mut settings = read(&file.text()).expect("it is right");
        settings.reload = Some(reload);
        let running = prony_server::runtime::start(settings).expect("the server starts");
        Self { site: Site { running, database: crm }, file, urls, _shop: shop }
    }

    fn text(&self, shop: &str, crm: &str, joins: &str) -> String {
        text(&self.urls, shop, crm, joins)
    }

    fn write(&self, shop: &str, crm: &str, joins: &str) {
        self.file.write(&self.text(shop, crm, joins));
    }

    fn write_mistake(&self, shop: &str, crm: &str, joins: &str) {
        self.file.write_mistake(&self.text(shop, crm, joins));
    }
}

fn text([shop, crm]: &[String; 2], of_shop: &str, of_crm: &str, joins: &str) -> String {
    format!(
        "[[source]]\nurl = {shop:?}\nname = \"shop\"\n{CHECKED}\n{of_shop}\n[[source]]\nurl = {crm:?}\nname = \"crm\"\n{CHECKED}\n\
         {of_crm}\n{joins}"
    )
}

const LINE: &str = "{ lines(where: {id: {lte: 2}}) { id customer_key customer { name } } }";
const LINE_DATA: &str = r#"{"data":{"lines":[{"id":1,"customer_key":9007199254740993,"customer":{"name":"Ünal"}},{"id":2,"customer_key":null,"customer":null}]}}"#;

fn is_unknown(site: &Site, text: &str) -> bool {
    site.ask(text).contains("GRAPHQL_VALIDATION_FAILED")
}

#[test]
fn tables_and_the_join_between_them_are_renamed_as_one() {
    let pair = Pair::start();
    let site = &pair.site;
    assert_eq!(site.ask(LINE), LINE_DATA);
    // The time of each source: of the one with the root field, and of the one with what is joined to it.
    let metrics = site.metrics();
    for (source, fields) in [("shop", 1), ("crm", 0)] {
        let times = format!("prony_source_seconds_count{{source=\"{source}\"}} 1\n");
        let fields = format!("prony_source_fields_total{{source=\"{source}\"}} {fields}");
        assert!(metrics.contains(&times) && metrics.contains(&fields), "{times}{fields}: {metrics}");
    }
    let renamed = AT_START
        .replace("\"Line\"", "\"Position\"")
        .replace("\"lines\"", "\"positions\"")
        .replace("customer_key", "buyer_key");
    let clients =
        format!("{VIEW}[source.tables.customer]\ntype_name = \"Client\"\nlist_name = \"clients\"\n");
    let join = JOIN
        .replace("Line.customer", "Position.buyer")
        .replace("customer_key", "buyer_key")
        .replace("customers", "clients");
    let new = "{ positions(where: {id: {gte: 3}}) { id Gr__e buyer { name } } clients { name } }";
    // The columns' names stay what the rules of names make of them.
    let types = site.ask(r#"{ __type(name: "Line") { fields { name } } }"#);
    let grown =
        types.split('"').find(|name| name.starts_with("Gr")).expect("the column is served").to_owned();
    let new = new.replace("Gr__e", &grown);
    assert!(is_unknown(site, &new));
    pair.write(&renamed, &clients, &join);
    let expected = format!(
        r#"{{"data":{{"positions":[{{"id":3,"{grown}":"\"quoted\"","buyer":null}},{{"id":4,"{grown}":null,"buyer":{{"name":"Ünal"}}}}],"clients":[{{"name":"another"}},{{"name":"Ünal"}}]}}}}"#
    );
    site.until(&new, &expected);
    assert!(is_unknown(site, LINE));
    // The join alone, and nothing else.
    pair.write(&renamed, &clients, "");
    site.until("{ positions { buyer { name } } }", "GRAPHQL_VALIDATION_FAILED");
    assert!(site.ask("{ positions(limit: 1) { id } }").contains(r#"[{"id":1}]"#));
    pair.write(AT_START, VIEW, JOIN);
    site.until(LINE, LINE_DATA);
}

/// Of a file with one mistake nothing counts, and the next right one does.
#[test]
fn a_configuration_that_does_not_fit_changes_nothing() {
    let pair = Pair::start();
    let site = &pair.site;
    let other = AT_START.replace("\"lines\"", "\"other_lines\"");
    let is_as_before = || {
        assert_eq!(site.ask(LINE), LINE_DATA);
        assert!(is_unknown(site, "{ other_lines { id } }"));
        assert_eq!(site.get("/ready"), r#"{"status":"ready"}"#);
    };
    let gone = format!("{VIEW}[source.tables.gone]\ntype_name = \"Gone\"\n");
    let with_mistakes = [
        // No table, no column, no TOML, a role's table that the file withdraws, and a name that the other source has.
        (other.clone(), gone, JOIN.to_owned()),
        (format!("{other}[source.tables.\"order line\".columns.price]\nname = \"a\"\n"), VIEW.to_owned(), JOIN.to_owned()),
        (other.clone(), VIEW.to_owned(), format!("{JOIN}[[")),
        (other.clone(), VIEW.to_owned(), JOIN.replace("Query.customers", "Query.clients")),
        (
            "exclude_tables = [\"order line\"]\n".to_owned(),
            VIEW.to_owned(),
            "[auth]\nanonymous = \"visitor\"\n[roles.visitor.sources.shop.tables.\"order line\"]\nselect = { columns = [\"id\"] }\n".to_owned(),
        ),
        (AT_START.replace("\"Line\"", "\"Customer\"").replace("\"lines\"", "\"customers\""), VIEW.to_owned(), String::new()),
    ];
    for (shop, crm, joins) in with_mistakes {
        pair.write_mistake(&shop, &crm, &joins);
        is_as_before();
    }
    pair.write(&other, VIEW, JOIN);
    site.until("{ other_lines(limit: 1) { customer { name } } }", r#"[{"customer":{"name":"Ünal"}}]"#);
}

/// Waits until the database reads the slow view.
const BEGUN: &str = "
    DO $$ BEGIN
        WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%slow%' AND pid <> pg_backend_pid()) LOOP
            PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
        END LOOP;
    END $$";

#[test]
fn what_is_under_way_ends_as_it_began_and_subscriptions_to_a_withdrawn_table_are_told() {
    let pair = Pair::start();
    let site = &pair.site;
    let mut live =
        site.subscribe("subscription { customers(where: {id: {gt: \"9007199254740992\"}}) { name } }");
    assert!(live.next().contains("Ünal"));
    let mut events = site.subscribe("subscription { onCustomerChanged { customer { name } } }");
    let mut of_lines = site.subscribe("subscription { lines(limit: 1) { id } }");
    assert!(of_lines.next().contains(r#"[{"id":1}]"#));
    site.until_metric("prony_subscriptions{} 3.0");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| site.ask("{ slows { id name } }"));
        site.database.execute(BEGUN);
        pair.write(AT_START, "exclude_tables = [\"customer\", \"slow\"]", "");
        site.until("{ customers { name } }", "GRAPHQL_VALIDATION_FAILED");
        let slow = slow.join().expect("it ends");
        assert_eq!(slow, r#"{"data":{"slows":[{"id":1,"name":"another"}]}}"#);
    });
    assert!(is_unknown(site, "{ slows { id } }"));
    let told = live.next();
    assert!(
        told.contains(r#""code":"SCHEMA_CHANGED""#)
            && told.contains("`public.customer` is not served any more"),
        "{told}"
    );
    assert_eq!(live.next(), COMPLETE);
    let told = events.next();
    assert!(
        told.contains(r#""code":"SUBSCRIPTION_ENDED""#) && told.contains("not served any more"),
        "{told}"
    );
    // Those of the other source go on.
    assert!(site.ask("mutation { deleteLine(pk_columns: {id: 1}) { result } }").contains("true"));
    assert!(of_lines.next().contains(r#"[{"id":2}]"#));
}

/// Whether rows can be changed is said by the file, too, of what was opened for changes.
#[test]
fn mutations_are_taken_away_and_given_back() {
    let pair = Pair::start();
    let site = &pair.site;
    let change =
        "mutation { updateLine(pk_columns: {id: 3}, customer_key: \"9007199254740992\") { result } }";
    pair.write(&format!("read_only = true\n{AT_START}"), VIEW, JOIN);
    site.until(change, "GRAPHQL_VALIDATION_FAILED");
    assert_eq!(site.ask(LINE), LINE_DATA);
    pair.write(AT_START, VIEW, JOIN);
    site.until(change, r#"{"result":true}"#);
    // Of one table, and one of them alone.
    let switched = AT_START.replace("list_name = \"lines\"", "list_name = \"lines\"\nupdate = false");
    pair.write(&switched, VIEW, JOIN);
    site.until(change, "GRAPHQL_VALIDATION_FAILED");
    assert!(site.ask("mutation { deleteLine(pk_columns: {id: 4}) { result } }").contains("true"));
    pair.write(AT_START, VIEW, JOIN);
    site.until(change, r#"{"result":true}"#);
}

/// What was opened for reading only is not written by a file that says otherwise; what it says else does not count either.
#[test]
fn what_was_opened_for_reading_only_stays_so() {
    for database in [Database::sqlite(), Database::Postgres(TestDatabase::create())] {
        let of =
            |url: &str, options: &str| format!("[[source]]\nurl = {url:?}\nname = \"shop\"\n{options}\n");
        let (url, other) = (database.url(), "[source.tables.shelf]\nlist_name = \"racks\"\n");
        let file = Rewritten::new(&of(&url, "read_only = true"));
        let reload = file.reload(read);
        let site = Site::with(database, "read_only = true", "", |settings| settings.reload = Some(reload));
        file.write_mistake(&of(&url, other));
        assert_eq!(site.ask(ALL), BOTH);
        assert!(is_unknown(&site, "mutation { deleteShelf(pk_columns: {id: 1}) { result } }"));
        file.write(&of(&url, &format!("read_only = true\n{other}")));
        site.until("{ racks { id label } }", r#"[{"id":1,"label":"a"},{"id":2,"label":"b"}]"#);
        assert!(is_unknown(&site, ALL));
    }
}

/// What the tables do not fit any more is mended by the file, without a restart.
#[test]
fn a_file_that_fits_the_tables_of_now_ends_the_refusal() {
    let pair = Pair::start();
    let site = &pair.site;
    site.database.execute("ALTER TABLE customer RENAME TO client");
    site.until_metric(r#"prony_schema_refused{source="crm"} 1.0"#);
    assert!(site.ask("{ customers { name } }").contains("SCHEMA_CHANGED"));
    pair.write(AT_START, VIEW, &JOIN.replace("customers", "clients"));
    site.until(LINE, LINE_DATA);
    site.until_metric(r#"prony_schema_refused{source="crm"} 0.0"#);
    let named = format!("{VIEW}[source.tables.client]\nlist_name = \"people\"\n");
    pair.write(AT_START, &named, &JOIN.replace("customers", "people"));
    site.until("{ people(limit: 1) { name } }", r#"[{"name":"another"}]"#);
    // Settings of a table that is gone, which the source itself refuses.
    site.database.execute("ALTER TABLE client RENAME TO person");
    site.until_metric(r#"prony_schema_refused{source="crm"} 1.0"#);
    pair.write(
        AT_START,
        &named.replace("tables.client", "tables.person"),
        &JOIN.replace("customers", "people"),
    );
    site.until(LINE, LINE_DATA);
    site.until_metric(r#"prony_schema_refused{source="crm"} 0.0"#);
    assert_eq!(site.get("/ready"), r#"{"status":"ready"}"#);
}
