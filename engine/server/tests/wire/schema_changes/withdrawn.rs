//! Subscriptions while the configuration that is read again takes tables, columns and names from them, on both databases: who loses what it
//! asks for is told what that is, over each protocol, and all others go on without missing anything.

use std::{fs, time::Duration};

use prony_server::config::Settings;
use prony_testkit::postgres::TestDatabase;

use super::{CHECKED, Database, Site, read, read_beside, subscriptions::COMPLETE};
use crate::{
    sockets::{INIT, LEGACY, Socket},
    support::{PATIENCE, Rewritten, Wire, post_with},
};

/// Shelves in two kinds of rooms, with boxes on them.
const SHELVES: &str = "
    CREATE TABLE room (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT NOT NULL, place TEXT, room_id INTEGER REFERENCES room (id));
    CREATE TABLE box (id INTEGER PRIMARY KEY, size INTEGER, shelf_id INTEGER REFERENCES shelf (id));
    INSERT INTO room VALUES (1, 'cellar');
    INSERT INTO shelf VALUES (1, 'a', 'north', 1), (2, 'b', 'south', 1);
    INSERT INTO box VALUES (1, 10, 1);";

/// A server whose configuration is written anew.
struct Configured {
    site: Site,
    file: Rewritten,
    url: String,
}

impl Configured {
    fn start(database: Database) -> Self {
        database.execute(SHELVES);
        Self::of(database, "", read)
    }

    /// The tables are there already.
    fn of(
        database: Database,
        rest: &str,
        read: impl Fn(&str) -> Result<Settings, String> + Send + Sync + 'static,
    ) -> Self {
        let url = database.url();
        let file = Rewritten::new(&text(&url, "", rest));
        let mut settings = read(&file.text()).expect("it is right");
        let reload = file.reload(read);
        settings.reload = Some(reload);
        let running = prony_server::runtime::start(settings).expect("the server starts");
        Self { site: Site { running, database }, file, url }
    }

    fn both() -> [Self; 2] {
        [Database::sqlite(), Database::Postgres(TestDatabase::create())].map(Self::start)
    }

    fn write(&self, options: &str) {
        self.file.write(&text(&self.url, options, ""));
    }

    /// A subscription that has begun.
    fn events(&self, query: &str, number: usize) -> Socket {
        let socket = self.site.subscribe(query);
        self.site.until_metric(&format!("prony_subscriptions{{}} {number}.0"));
        socket
    }

    fn change(&self, mutation: &str) {
        let response = self.site.ask(&format!("mutation {{ {mutation} }}"));
        assert!(response.contains("true"), "{response}");
    }
}

fn text(url: &str, options: &str, rest: &str) -> String {
    format!("[[source]]\nurl = {url:?}\nname = \"shop\"\n{CHECKED}\n{options}\n{rest}")
}

/// The name of a table in messages: PostgreSQL's has its schema.
fn name(configured: &Configured, table: &str) -> String {
    match configured.site.database {
        Database::Sqlite(_) => table.to_owned(),
        _ => format!("public.{table}"),
    }
}

/// The last result of a live query and of events, whose field has this name.
fn ended(code: &str, reason: &str, field: &str) -> String {
    format!(
        r#"{{"data":null,"errors":[{{"message":"{reason}; subscribe again, by the schema of now","locations":[{{"line":1,"column":16}}],"path":["{field}"],"extensions":{{"code":"{code}"}}}}]}}"#
    )
}

fn next(result: &str) -> String {
    format!(r#"{{"id":"a","type":"next","payload":{result}}}"#)
}

/// What comes next is the end, with this result.
fn assert_ends(socket: &mut Socket, result: &str) {
    assert_eq!(socket.next(), next(result));
    assert_eq!(socket.next(), COMPLETE);
}

const LIVE: &str = "subscription { shelves(where: {id: {eq: 1}}) { label } }";
const LIVE_DATA: &str = r#"{"data":{"shelves":[{"label":"a"}]}}"#;
const EVENTS: &str = "subscription { onShelfChanged { shelf { id label } } }";

#[test]
fn a_table_that_the_file_withdraws_ends_what_asks_for_it_and_nothing_else() {
    for configured in Configured::both() {
        let site = &configured.site;
        let gone = format!("the table `{}` is not served any more", name(&configured, "shelf"));
        let mut live = site.subscribe(LIVE);
        assert_eq!(live.next(), next(LIVE_DATA));
        let mut above = site.subscribe("subscription { rooms { shelves { id } } }");
        assert!(above.next().contains(r#"[{"shelves":[{"id":1},{"id":2}]}]"#));
        let mut filtered =
            site.subscribe("subscription { boxes(where: {shelf: {label: {eq: \"a\"}}}) { id } }");
        assert!(filtered.next().contains(r#"[{"id":1}]"#));
        let mut counted = site.subscribe("subscription { shelves_aggregate { count } }");
        assert!(counted.next().contains(r#""count":2"#));
        let mut boxes = site.subscribe("subscription { boxes { size } }");
        assert_eq!(boxes.next(), next(r#"{"data":{"boxes":[{"size":10}]}}"#));
        let mut events = configured.events(EVENTS, 6);
        let mut nested = configured.events("subscription { onBoxChanged { box { shelf { label } } } }", 7);
        let mut of_boxes = configured.events("subscription { onBoxChanged { box { size } } }", 8);
        configured.write("exclude_tables = [\"shelf\"]");
        assert_ends(&mut live, &ended("SCHEMA_CHANGED", &gone, "shelves"));
        assert_ends(&mut counted, &ended("SCHEMA_CHANGED", &gone, "shelves_aggregate"));
        assert_ends(&mut events, &ended("SUBSCRIPTION_ENDED", &gone, "onShelfChanged"));
        assert_ends(&mut nested, &ended("SUBSCRIPTION_ENDED", &gone, "onBoxChanged"));
        assert_ends(&mut above, &ended("SCHEMA_CHANGED", &gone, "rooms"));
        assert_ends(&mut filtered, &ended("SCHEMA_CHANGED", &gone, "boxes"));
        site.until("{ shelves { id } }", "GRAPHQL_VALIDATION_FAILED");
        // The first that the others hear is what has changed after that.
        configured.change("updateBox(pk_columns: {id: 1}, size: 11) { result }");
        assert_eq!(boxes.next(), next(r#"{"data":{"boxes":[{"size":11}]}}"#));
        assert_eq!(of_boxes.next(), next(r#"{"data":{"onBoxChanged":{"box":{"size":11}}}}"#));
        // It comes back, and can be asked for anew over the connection that is open.
        configured.write("");
        site.until("{ shelves { id } }", r#"[{"id":1},{"id":2}]"#);
        live.send(&crate::sockets::subscribe("a", LIVE));
        assert_eq!(live.next(), next(LIVE_DATA));
    }
}

/// What such a subscription asks for is not there under its name, whatever else is.
#[test]
fn other_names_end_what_asks_by_those_of_before() {
    for configured in Configured::both() {
        let site = &configured.site;
        let shelf = name(&configured, "shelf");
        let other = |what: &str| format!("the {what} is served under another name now");
        let mut live = site.subscribe(LIVE);
        assert_eq!(live.next(), next(LIVE_DATA));
        let mut events = configured.events(EVENTS, 2);
        // The name of the list is none of events.
        configured.write("[source.tables.shelf]\nlist_name = \"racks\"\n");
        assert_ends(&mut live, &ended("SCHEMA_CHANGED", &other(&format!("table `{shelf}`")), "shelves"));
        site.until("{ racks(limit: 1) { id } }", r#"[{"id":1}]"#);
        configured.change("updateShelf(pk_columns: {id: 2}, label: \"c\") { result }");
        assert_eq!(events.next(), next(r#"{"data":{"onShelfChanged":{"shelf":{"id":2,"label":"c"}}}}"#));
        let racks = "subscription { racks(where: {id: {eq: 1}}) { label } }";
        let mut live = site.subscribe(racks);
        assert!(live.next().contains(r#"[{"label":"a"}]"#));
        configured.write("[source.tables.shelf]\nlist_name = \"racks\"\ntype_name = \"Rack\"\n");
        let reason = other(&format!("table `{shelf}`"));
        assert_ends(&mut live, &ended("SCHEMA_CHANGED", &reason, "racks"));
        assert_ends(&mut events, &ended("SUBSCRIPTION_ENDED", &reason, "onShelfChanged"));
        site.until_metric("prony_subscriptions{} 0.0");
        // Of a column, those that show it or filter by it.
        configured.write("");
        site.until("{ shelves(limit: 1) { id } }", r#"[{"id":1}]"#);
        let mut shows = site.subscribe(LIVE);
        assert_eq!(shows.next(), next(LIVE_DATA));
        let mut filters = site.subscribe("subscription { shelves(where: {label: {eq: \"a\"}}) { place } }");
        assert!(filters.next().contains("north"));
        let mut other_columns = site.subscribe("subscription { shelves(where: {id: {eq: 1}}) { id place } }");
        assert!(other_columns.next().contains("north"));
        let mut events = configured.events(EVENTS, 4);
        let mut other_events = configured.events("subscription { onShelfChanged { shelf { place } } }", 5);
        configured.write("[source.tables.shelf.columns.label]\nname = \"title\"\n");
        let reason = other(&format!("column `label` of `{shelf}`"));
        assert_ends(&mut shows, &ended("SCHEMA_CHANGED", &reason, "shelves"));
        assert_ends(&mut filters, &ended("SCHEMA_CHANGED", &reason, "shelves"));
        assert_ends(&mut events, &ended("SUBSCRIPTION_ENDED", &reason, "onShelfChanged"));
        configured.change("updateShelf(pk_columns: {id: 1}, title: \"z\", place: \"east\") { result }");
        assert!(other_columns.next().contains(r#"[{"id":1,"place":"east"}]"#));
        assert!(other_events.next().contains(r#"{"place":"east"}"#));
        configured.write("[source.tables.shelf]\nexclude_columns = [\"place\"]\n");
        let reason = format!("the column `place` of `{shelf}` is not served any more");
        assert_ends(&mut other_columns, &ended("SCHEMA_CHANGED", &reason, "shelves"));
        assert_ends(&mut other_events, &ended("SUBSCRIPTION_ENDED", &reason, "onShelfChanged"));
    }
}

/// A stream of server-sent events with one operation.
fn stream(site: &Site, query: &str) -> Wire {
    let mut wire = Wire::to(site.address());
    let body = serde_json::json!({ "query": query }).to_string();
    wire.send(post_with("accept: text/event-stream\r\ncontent-type: application/json\r\n", &body));
    wire.until(":\n\n");
    wire
}

#[test]
fn each_protocol_tells_of_the_end() {
    for configured in Configured::both() {
        let site = &configured.site;
        let gone = format!("the table `{}` is not served any more", name(&configured, "shelf"));
        let live_end = ended("SCHEMA_CHANGED", &gone, "shelves");
        let events_end = ended("SUBSCRIPTION_ENDED", &gone, "onShelfChanged");
        let mut legacy = Socket::at(site.address(), LEGACY);
        legacy.send(INIT);
        while !legacy.next().contains("connection_ack") {}
        for (id, query) in [("live", LIVE), ("events", EVENTS)] {
            let start = serde_json::json!({"id": id, "type": "start", "payload": {"query": query}});
            legacy.send(&start.to_string());
        }
        let (mut live, mut events) = (stream(site, LIVE), stream(site, EVENTS));
        live.until(&format!("event: next\ndata: {LIVE_DATA}\n\n"));
        site.until_metric("prony_subscriptions{} 4.0");
        configured.write("exclude_tables = [\"shelf\"]");
        for (wire, result) in [(&mut live, &live_end), (&mut events, &events_end)] {
            let told = wire.until("\r\n0\r\n\r\n");
            let expected = format!("event: next\ndata: {result}\n\n");
            assert!(told.contains(&expected) && told.contains("event: complete\n"), "{told}");
        }
        let mut told = String::new();
        while told.matches(r#""type":"complete""#).count() < 2 {
            let came = legacy.next();
            assert!(came.starts_with('{'), "{came}");
            told.push_str(&came);
        }
        for (id, result) in [("live", &live_end), ("events", &events_end)] {
            assert!(told.contains(&format!(r#"{{"id":"{id}","type":"data","payload":{result}}}"#)), "{told}");
            assert!(told.contains(&format!(r#"{{"id":"{id}","type":"complete"}}"#)), "{told}");
        }
        site.until_metric("prony_subscriptions{} 0.0");
    }
}

/// Of a file that is refused nothing is taken, so that no subscription hears of it.
#[test]
fn a_refused_file_ends_nothing() {
    for configured in Configured::both() {
        let site = &configured.site;
        let mut live = site.subscribe(LIVE);
        assert_eq!(live.next(), next(LIVE_DATA));
        let mut events = configured.events(EVENTS, 2);
        let refused = [
            // What is excluded has a role and settings.
            text(
                &configured.url,
                "exclude_tables = [\"shelf\"]",
                "[auth]\nanonymous = \"visitor\"\n[roles.visitor.sources.shop.tables.shelf]\nselect = { columns = [\"id\"] }\n",
            ),
            text(
                &configured.url,
                "exclude_tables = [\"shelf\"]",
                "[source.tables.gone]\nlist_name = \"racks\"\n",
            ),
            text(&configured.url, "exclude_tables = [\"shelf\"]", "[["),
        ];
        for (number, file) in refused.iter().enumerate() {
            configured.file.write_mistake(file);
            configured
                .change(&format!("updateShelf(pk_columns: {{id: 1}}, label: \"{number}\") {{ result }}"));
            let (live, events) = (live.next(), events.next());
            assert_eq!(live, next(&format!(r#"{{"data":{{"shelves":[{{"label":"{number}"}}]}}}}"#)));
            assert!(events.contains(&format!(r#"{{"id":1,"label":"{number}"}}"#)), "{events}");
        }
    }
}

/// Enumerated types have other places once those of another table are not served.
#[test]
fn a_table_with_enumerated_columns_is_not_touched_by_another_that_goes() {
    let database = Database::Postgres(TestDatabase::create());
    database.execute(
        "CREATE TYPE a_mood AS ENUM ('GOOD', 'BAD');
         CREATE TYPE b_state AS ENUM ('OPEN', 'SHUT');
         CREATE TABLE person (id INTEGER PRIMARY KEY, mood a_mood);
         CREATE TABLE door (id INTEGER PRIMARY KEY, state b_state, states b_state[]);
         INSERT INTO door VALUES (1, 'OPEN', '{OPEN}');",
    );
    let configured = Configured::of(database, "", read);
    let site = &configured.site;
    let mut live = site.subscribe("subscription { doors(where: {state: {eq: SHUT}}) { id state states } }");
    assert_eq!(live.next(), next(r#"{"data":{"doors":[]}}"#));
    let mut events = configured.events("subscription { onDoorChanged { door { id state states } } }", 2);
    configured.write("exclude_tables = [\"person\"]");
    site.until("{ people { id } }", "GRAPHQL_VALIDATION_FAILED");
    configured.change("updateDoor(pk_columns: {id: 1}, state: SHUT) { result }");
    let door = r#"{"id":1,"state":"SHUT","states":["OPEN"]}"#;
    assert_eq!(live.next(), next(&format!(r#"{{"data":{{"doors":[{door}]}}}}"#)));
    assert_eq!(events.next(), next(&format!(r#"{{"data":{{"onDoorChanged":{{"door":{door}}}}}}}"#)));
}

/// What functions of the operator's are called around ends as other subscriptions do.
#[test]
fn subscriptions_with_interceptors_end_too() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // An event has its row below itself.
    let module = "export function after(result) {
        for (const one of [result].flat()) { const row = one.shelf ?? one; if (row.label) row.label += '!'; }
    }";
    fs::write(folder.path().join("shelf.js"), module).expect("it can be written");
    let rest = "[interceptors.sources.shop.tables]\nshelf = \"shelf.js\"\n";
    for database in [Database::sqlite(), Database::Postgres(TestDatabase::create())] {
        database.execute(SHELVES);
        let beside = folder.path().to_owned();
        let configured = Configured::of(database, rest, move |text| read_beside(&beside, text));
        let site = &configured.site;
        let mut live = site.subscribe(LIVE);
        assert_eq!(live.next(), next(&LIVE_DATA.replace("\"a\"", "\"a!\"")));
        let mut events = configured.events(EVENTS, 2);
        // Functions are called before it begins, which is seen by what it hears.
        let short = Some(Duration::from_millis(200));
        events.0.get_ref().set_read_timeout(short).expect("it is not zero");
        let mut heard = String::new();
        for label in 0..50 {
            configured
                .change(&format!("updateShelf(pk_columns: {{id: 2}}, label: \"{label}\") {{ result }}"));
            heard = events.next();
            if heard.contains("!\"") {
                break;
            }
        }
        assert!(heard.contains("!\""), "{heard}");
        events.0.get_ref().set_read_timeout(Some(PATIENCE)).expect("it is not zero");
        let renamed = text(
            &configured.url,
            "[source.tables.shelf]\ntype_name = \"Rack\"\nlist_name = \"racks\"\n",
            rest,
        );
        configured.file.write(&renamed);
        let reason = format!("the table `{}` is served under another name now", name(&configured, "shelf"));
        assert_ends(&mut live, &ended("SCHEMA_CHANGED", &reason, "shelves"));
        let (mut told, expected) =
            (events.next(), next(&ended("SUBSCRIPTION_ENDED", &reason, "onShelfChanged")));
        while told.contains("!\"") {
            told = events.next();
        }
        assert_eq!(told, expected);
        assert_eq!(events.next(), COMPLETE);
    }
}
