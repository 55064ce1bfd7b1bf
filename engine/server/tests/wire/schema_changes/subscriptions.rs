//! Live queries and events of changes while the tables become others.

use prony_testkit::postgres::TestDatabase;

use super::{CHECKED, Database, SHOP, Site, install_triggers};

fn next(result: &str) -> String {
    format!(r#"{{"id":"a","type":"next","payload":{result}}}"#)
}

pub(super) const COMPLETE: &str = r#"{"id":"a","type":"complete"}"#;

#[test]
fn live_queries_go_on_where_what_they_ask_is_there_and_end_where_not() {
    for site in Site::both(CHECKED) {
        let mut live = site.subscribe("subscription { shelves(where: {id: {lte: 2}}) { label } }");
        assert_eq!(live.next(), next(r#"{"data":{"shelves":[{"label":"a"},{"label":"b"}]}}"#));
        site.database.execute(
            "ALTER TABLE shelf ADD COLUMN size INTEGER; CREATE TABLE a_first (id INTEGER PRIMARY KEY)",
        );
        site.until("{ shelves(limit: 1) { size } a_firsts { id } }", r#"[{"size":null}]"#);
        // By the schema of now, which has other tables before this one.
        assert!(
            site.ask("mutation { updateShelf(pk_columns: {id: 1}, label: \"z\", size: 3) { result } }")
                .contains("true")
        );
        assert_eq!(live.next(), next(r#"{"data":{"shelves":[{"label":"z"},{"label":"b"}]}}"#));
        site.database.execute("ALTER TABLE shelf DROP COLUMN label");
        let told = live.next();
        assert!(told.contains(r#""code":"SCHEMA_CHANGED""#), "{told}");
        assert_eq!(live.next(), COMPLETE);
    }
}

#[test]
fn events_go_on_where_what_they_ask_is_there_and_end_where_not() {
    for site in Site::both(CHECKED) {
        let mut events =
            site.subscribe("subscription { onShelfChanged(where: {place: {eq: \"north\"}}) { operation shelf { id label } } }");
        site.until_metric("prony_subscriptions{} 1.0");
        let change = |label: &str, size: &str| {
            let text = format!(
                "mutation {{ updateShelf(pk_columns: {{id: 1}}, label: \"{label}\"{size}) {{ result }} }}"
            );
            assert!(site.ask(&text).contains("true"), "{}", site.ask(&text));
        };
        let event = |label: &str| {
            next(&format!(
                r#"{{"data":{{"onShelfChanged":{{"operation":"UPDATE","shelf":{{"id":1,"label":"{label}"}}}}}}}}"#
            ))
        };
        change("x", "");
        assert_eq!(events.next(), event("x"));
        // Columns and tables before those that are asked for, by which all places are others.
        site.database.execute(
            "ALTER TABLE shelf ADD COLUMN size INTEGER; CREATE TABLE a_first (id INTEGER PRIMARY KEY)",
        );
        site.until("{ shelves(limit: 1) { size } a_firsts { id } }", r#"[{"size":null}]"#);
        change("y", ", size: 3");
        assert_eq!(events.next(), event("y"));
        site.database
            .execute("ALTER TABLE shelf DROP COLUMN size; CREATE TABLE a_second (id INTEGER PRIMARY KEY)");
        site.until("{ a_seconds { id } }", r#"{"data":{"a_seconds":[]}}"#);
        change("w", "");
        assert_eq!(events.next(), event("w"));
        // The same columns at other places, in a table that was made anew.
        site.database.execute(
            "BEGIN; DROP TABLE shelf;
             CREATE TABLE shelf (place TEXT, size INTEGER, label TEXT NOT NULL, id INTEGER PRIMARY KEY);
             INSERT INTO shelf VALUES ('north', 5, 'a', 1), ('south', 6, 'b', 2); COMMIT",
        );
        site.until("{ shelves(where: {id: {eq: 2}}) { size } }", r#"[{"size":6}]"#);
        change("u", "");
        assert_eq!(events.next(), event("u"));
        site.database.execute("ALTER TABLE shelf RENAME COLUMN place TO spot");
        let told = events.next();
        assert!(
            told.contains(r#""code":"SUBSCRIPTION_ENDED""#)
                && told.contains("`place` of")
                && told.contains("not served any more"),
            "{told}"
        );
        assert_eq!(events.next(), COMPLETE);
        // Those that begin now are of the tables of now.
        site.until("{ shelves(limit: 1) { spot } }", "north");
        let mut again = site.subscribe("subscription { onShelfChanged { shelf { id spot } } }");
        site.until_metric("prony_subscriptions{} 1.0");
        change("v", "");
        assert_eq!(again.next(), next(r#"{"data":{"onShelfChanged":{"shelf":{"id":1,"spot":"north"}}}}"#));
        site.database.execute("DROP TABLE shelf");
        let told = again.next();
        assert!(
            told.contains(r#""code":"SUBSCRIPTION_ENDED""#) && told.contains("not served any more"),
            "{told}"
        );
    }
}

/// A row that an event is about was compared byte by byte: by `ne` it was told to those who do not see it in a list.
#[test]
fn events_are_compared_by_the_collations_of_their_columns() {
    let in_sqlite = Database::sqlite();
    in_sqlite.execute(
        "CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT COLLATE RTRIM, place TEXT COLLATE NOCASE);
         INSERT INTO shelf VALUES (1, 'a', 'south')",
    );
    let in_postgres = Database::Postgres(TestDatabase::create());
    in_postgres.execute(
        "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TABLE shelf (id INTEGER PRIMARY KEY, label CHAR(4), place TEXT COLLATE any_case);
         INSERT INTO shelf VALUES (1, 'a', 'south')",
    );
    for database in [in_sqlite, in_postgres] {
        let site = Site::of(database, CHECKED, "", |_| {});
        let subscribe = |clause: &str| {
            site.subscribe(&format!(
                "subscription {{ onShelfChanged(where: {{{clause}}}) {{ shelf {{ place }} }} }}"
            ))
        };
        let mut others = subscribe(r#"place: {not_in: ["NORTH"]}, not: {label: {eq: "b"}}"#);
        let mut named = subscribe(r#"place: {eq: "NORTH"}, label: {in: ["b"]}"#);
        site.until_metric("prony_subscriptions{} 2.0");
        for (label, place) in [("a", "north"), ("b ", "south"), ("b  ", "North"), ("c", "South")] {
            let change = format!(
                r#"mutation {{ updateShelf(pk_columns: {{id: 1}}, label: "{label}", place: "{place}") {{ result }} }}"#
            );
            let changed = site.ask(&change);
            assert!(changed.contains("true"), "{changed}");
        }
        let event = |place: &str| {
            next(&format!(r#"{{"data":{{"onShelfChanged":{{"shelf":{{"place":"{place}"}}}}}}}}"#))
        };
        assert_eq!(others.next(), event("South"));
        assert_eq!(named.next(), event("North"));
    }
}

/// What triggers have written down is read by the tables of now.
#[test]
fn what_others_change_is_told_by_the_tables_of_now() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    install_triggers(&database);
    let options = format!("{CHECKED}\nlisten = true");
    let site = Site::of(Database::Postgres(database), &options, "", |_| {});
    let mut events = site.subscribe("subscription { onShelfChanged { shelf { id place } } }");
    site.until_metric("prony_subscriptions{} 1.0");
    let event = |place: &str| {
        next(&format!(r#"{{"data":{{"onShelfChanged":{{"shelf":{{"id":1,"place":"{place}"}}}}}}}}"#))
    };
    site.database.execute("UPDATE shelf SET place = 'x' WHERE id = 1");
    assert_eq!(events.next(), event("x"));
    site.database.execute("ALTER TABLE shelf DROP COLUMN label, ADD COLUMN size INTEGER");
    site.until("{ shelves(limit: 1) { size } }", r#"[{"size":null}]"#);
    site.database.execute("UPDATE shelf SET place = 'y', size = 7 WHERE id = 1");
    assert_eq!(events.next(), event("y"));
    let mut with_size = site.subscribe("subscription { onShelfChanged { shelf { size } } }");
    site.until_metric("prony_subscriptions{} 2.0");
    site.database.execute("UPDATE shelf SET size = 8 WHERE id = 1");
    assert_eq!(with_size.next(), next(r#"{"data":{"onShelfChanged":{"shelf":{"size":8}}}}"#));
    assert_eq!(events.next(), event("y"));
}
