//! What mutations of this server tell.

use expect_test::{Expect, expect};
use futures_util::{FutureExt as _, future::join_all};
use prony_source::permissions::{
    Permissions, SelectPermission, SessionNames, TablePermissions, UpdatePermission,
};
use serde_json::{Value as Json, json};

use crate::harness::{Bed, Made, on_a_core};

const SHOP: &str = "
    create table shelf (id integer primary key, label varchar(20) not null unique, size integer);
    create table item (shelf_id integer not null, place integer not null, note text, price numeric(12, 1),
                       primary key (shelf_id, place));
    create table log (line text);
    create table other (id integer primary key);
    insert into shelf values (1, 'a', 1), (2, 'b', 2);
    insert into item values (1, 1, 'x', 1.5), (1, 2, 'y', null);";

const SHOP_TABLES: &[&str] = &["shelf", "item", "log"];

/// Both databases tell the same of requests that come one after the other.
fn check(requests: &[&str], expected: &Expect) {
    let told = Made::both(SHOP).map(|made| {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut reader = bed.listen(SHOP_TABLES);
            for request in requests {
                bed.ask(request).await;
            }
            bed.heard(&mut reader)
        })
    });
    assert_eq!(told[0], told[1], "SQLite and PostgreSQL differ");
    expected.assert_eq(&told[0]);
}

#[test]
fn every_committed_mutation_is_told_once_and_in_order() {
    check(
        &[
            r#"mutation { createShelf(id: 3, label: "c'\"", size: null) { id } }"#,
            r#"mutation { updateShelf(pk_columns: {id: 3}, label: "d") { result } }"#,
            "mutation { createOther(id: 1) { id } }",
            r#"mutation { createLog(line: "without a key") { line } }"#,
            "mutation { deleteShelf(pk_columns: {id: 3}) { result } }",
        ],
        &expect![[r#"
            Insert shelf 3,"c'\"",null
            Update shelf 3,"d",null
            Insert log "without a key"
            Delete shelf 3,"d",null
        "#]],
    );
}

#[test]
fn a_request_is_one_transaction() {
    check(
        &[r#"mutation { a: createShelf(id: 7, label: "g") { id }
                        b: createItem(shelf_id: 7, place: 1, price: 0.1) { place }
                        c: deleteItem(pk_columns: {shelf_id: 1, place: 1}) { result }
                        none: deleteItem(pk_columns: {shelf_id: 9, place: 9}) { result } }"#],
        &expect![[r#"
            Insert shelf 7,"g",null; Insert item 7,1,null,0.1; Delete item 1,1,"x",1.5
        "#]],
    );
}

#[test]
fn what_is_taken_back_is_not_told() {
    check(
        &[
            r#"mutation { a: createShelf(id: 8, label: "h") { id } b: createShelf(id: 9, label: "a") { id } }"#,
            r#"mutation { updateShelf(pk_columns: {id: 1}, label: "b") { result } }"#,
            "mutation { deleteShelf(pk_columns: {id: 99}) { result } }",
            "mutation { updateShelf(pk_columns: {id: 99}, size: 1) { result } }",
        ],
        &expect![""],
    );
}

#[test]
fn an_update_of_the_key_tells_both_keys() {
    check(
        &[
            "mutation { updateItem(pk_columns: {shelf_id: 1, place: 2}, place: 5) { result } }",
            "mutation { updateItem(pk_columns: {shelf_id: 1, place: 5}, place: 5, note: null) { result } }",
        ],
        &expect![[r#"
            Update item 1,5,"y",null was 1,2
            Update item 1,5,null,null
        "#]],
    );
}

/// One of them alone was told of.
#[test]
fn all_rows_of_a_key_that_inherited_tables_share_are_told_of() {
    let made = Made::postgres(
        "create table animal (id int primary key, name text);
         create table dog (primary key (id)) inherits (animal);
         insert into animal values (1, 'a'); insert into dog values (1, 'b'), (2, 'c');",
    );
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let mut reader = bed.listen(&["animal"]);
        bed.ask("mutation { updateAnimal(pk_columns: {id: 1}, name: \"x\") { result } }").await;
        bed.ask("mutation { deleteAnimal(pk_columns: {id: 1}) { result } }").await;
        expect![[r#"
            Update animal 1,"x"; Update animal 1,"x"
            Delete animal 1,"x"; Delete animal 1,"x"
        "#]]
        .assert_eq(&bed.heard(&mut reader));
    });
}

#[test]
fn only_tables_that_are_wanted_are_told_of() {
    for made in Made::both(SHOP) {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let create = |id: u32| format!("mutation {{ createShelf(id: {id}, label: \"{id}\") {{ id }} }}");
            bed.ask(&create(10)).await;
            let mut reader = bed.listen(&["shelf"]);
            let mut other = bed.listen(&["item"]);
            bed.ask(&create(11)).await;
            assert_eq!(bed.heard(&mut reader), "Insert shelf 11,\"11\",null\n");
            drop(reader);
            bed.ask(&create(12)).await;
            let mut again = bed.listen(&["shelf"]);
            bed.ask(&create(13)).await;
            assert_eq!(bed.heard(&mut again), "Insert shelf 13,\"13\",null\n");
            assert_eq!(bed.heard(&mut other), "");
        });
    }
}

#[test]
fn concurrent_updates_of_a_row_are_told_in_the_order_of_their_commits() {
    for made in Made::both(SHOP) {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut reader = bed.listen(&["shelf"]);
            let updates: Vec<String> = (0..40)
                .map(|size| {
                    format!(
                        "mutation {{ a: updateShelf(pk_columns: {{id: 1}}, size: {size}) {{ result }} \
                                         b: updateShelf(pk_columns: {{id: 2}}, size: {size}) {{ result }} }}"
                    )
                })
                .collect();
            for _ in 0..5 {
                join_all(updates.iter().map(|update| bed.ask(update))).await;
            }
            let told = bed.heard(&mut reader);
            assert_eq!(told.lines().count(), 200, "{told}");
            let last = told.lines().last().unwrap().split(',').next_back().unwrap().to_owned();
            let now = bed.ask("{ shelves(where: {id: {eq: 2}}) { size } }").await;
            assert_eq!(now, format!("{{\"data\":{{\"shelves\":[{{\"size\":{last}}}]}}}}"));
        });
    }
}

#[test]
fn triggers_and_cascades_of_sqlite_are_told_with_what_caused_them() {
    let made = Made::sqlite(
        "create table shelf (id integer primary key, label text, touched integer not null default 0);
         create table item (id text primary key, shelf_id integer references shelf on delete cascade) without rowid;
         create table audit (line text);
         create trigger touch after update of label on shelf
             begin update shelf set touched = touched + 1 where id = new.id; end;
         create trigger audited after delete on item begin insert into audit values (old.id); end;
         insert into shelf values (1, 'a', 0); insert into item values ('x', 1), ('y', 1);",
    );
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let mut reader = bed.listen(&["shelf", "item", "audit"]);
        bed.ask("mutation { updateShelf(pk_columns: {id: 1}, label: \"b\") { result } }").await;
        bed.ask("mutation { deleteShelf(pk_columns: {id: 1}) { result } }").await;
        expect![[r#"
            Update shelf 1,"b",0; Update shelf 1,"b",1
            Delete item "x",1; Insert audit "x"; Delete item "y",1; Insert audit "y"; Delete shelf 1,"b",1
        "#]]
        .assert_eq(&bed.heard(&mut reader));
    });
}

#[test]
fn a_change_of_sqlites_schema_does_not_hinder_mutations() {
    let made = Made::sqlite(SHOP);
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let mut reader = bed.listen(&["shelf", "item"]);
        let create = |id: u32| format!("mutation {{ createShelf(id: {id}, label: \"{id}\") {{ id }} }}");
        bed.ask(&create(10)).await;
        made.execute("alter table shelf add column more text");
        bed.ask(&create(11)).await;
        made.execute("alter table shelf drop column size");
        assert_eq!(bed.ask(&create(12)).await, r#"{"data":{"createShelf":{"id":12}}}"#);
        bed.ask("mutation { createItem(shelf_id: 5, place: 5) { place } }").await;
        expect![[r#"
            Insert shelf 10,"10",null
            Insert shelf 11,"11",null
            Unknown
            Insert item 5,5,null,null
            Unknown
        "#]]
        .assert_eq(&bed.heard(&mut reader));
    });
}

#[test]
fn wide_tables_are_told_whole() {
    let columns: Vec<String> = (0..250).map(|number| format!("c{number} integer")).collect();
    for made in Made::both(&format!("create table wide (id integer primary key, {})", columns.join(", "))) {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut reader = bed.listen(&["wide"]);
            bed.ask("mutation { createWide(id: 1, c0: 10, c99: 11, c100: 12, c249: 13) { id } }").await;
            let told = bed.heard(&mut reader);
            let values: Vec<&str> = told.trim_end().trim_start_matches("Insert wide ").split(',').collect();
            assert_eq!(values.len(), 251);
            assert_eq!(
                [values[1], values[100], values[101], values[250], values[2]],
                ["10", "11", "12", "13", "null"]
            );
        });
    }
}

/// PostgreSQL does not say what a cascade does, also where it starts from a unique column that is not the key.
#[test]
fn a_live_query_hears_of_updates_that_cascade_from_any_unique_column() {
    let sql = "create table country (id integer primary key, code text unique);
               create table city (id integer primary key, code text references country (code) on update cascade);
               insert into country values (1, 'a'); insert into city values (1, 'a');";
    for made in Made::both(sql) {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut news = bed.watch("subscription { cities { code } }");
            bed.ask("mutation { updateCountry(pk_columns: {id: 1}, code: \"b\") { result } }").await;
            assert!(news.changed().now_or_never().is_some());
            assert_eq!(bed.ask("{ cities { code } }").await, r#"{"data":{"cities":[{"code":"b"}]}}"#);
        });
    }
}

/// What a role sees of a row that others refer to can depend on tables that the query does not name.
#[test]
fn a_live_query_depends_on_what_a_condition_on_a_has_one_asks_for() {
    let both = Made::both(
        "create table region (id integer primary key, is_open boolean);
         create table country (id integer primary key, region_id integer references region);
         create table city (id integer primary key, country_id integer references country);
         insert into region values (1, true); insert into country values (1, 1); insert into city values (1, 1);",
    );
    let condition = |written: &Json| SessionNames::default().condition(written).unwrap();
    let all = || condition(&json!({}));
    let granted = |rows| TablePermissions {
        select: Some(SelectPermission::of_rows(rows)),
        update: Some(UpdatePermission::of_rows(all(), all())),
        ..TablePermissions::default()
    };
    let open = condition(&json!({"region": {"is_open": {"eq": true}}}));
    let tables = [("region", granted(all())), ("country", granted(open)), ("city", granted(all()))];
    let tables = tables.map(|(name, granted)| (name.to_owned(), granted.into())).into();
    let role = Permissions { tables, ..Permissions::default() };
    for made in both {
        on_a_core(async {
            let bed = Bed::for_role(&made, &role).await;
            let mut signal = bed.watch("subscription { cities { id country { id } } }");
            bed.ask("mutation { updateRegion(pk_columns: {id: 1}, is_open: false) { result } }").await;
            assert!(signal.changed().now_or_never().is_some());
            let cities = bed.ask("{ cities { id country { id } } }").await;
            assert_eq!(cities, r#"{"data":{"cities":[{"id":1,"country":null}]}}"#);
        });
    }
}

/// An update that shows a row to a role which could not see it before is no event for that role, and neither is one that hides it.
#[test]
fn an_update_is_told_to_those_who_see_its_row_before_and_after() {
    let both = Made::both(
        "create table note (id integer primary key, is_open boolean, text text, p0 smallint, p__1 smallint);
         insert into note values (1, false, 'a', 1, 1), (2, true, 'b', 2, 1), (3, true, 'c', 3, 1);",
    );
    let condition = |written: &Json| SessionNames::default().condition(written).unwrap();
    let all = || condition(&json!({}));
    let note = TablePermissions {
        select: Some(SelectPermission::of_rows(condition(&json!({"is_open": {"eq": true}})))),
        update: Some(UpdatePermission::of_rows(all(), all())),
        ..TablePermissions::default()
    };
    let tables = [("note".to_owned(), note.into())].into();
    let role = Permissions { tables, ..Permissions::default() };
    for made in both {
        on_a_core(async {
            let bed = Bed::for_role(&made, &role).await;
            let subscription = "subscription { onNoteChanged { previous_key { id } note { id text } } }";
            let mut events = bed.subscribe(subscription, "{}");
            for (id, change) in [
                (1, "is_open: true"),
                (1, "text: \"shown\""),
                (2, "is_open: false"),
                (2, "text: \"hidden\""),
                (3, "id: 4, text: \"moved\""),
                (4, "id: 4, is_open: true"),
            ] {
                let mutation =
                    format!("mutation {{ updateNote(pk_columns: {{id: {id}}}, {change}) {{ result }} }}");
                let response = bed.ask(&mutation).await;
                assert_eq!(response, r#"{"data":{"updateNote":{"result":true}}}"#, "{mutation}");
            }
            for expected in [
                r#""previous_key":null,"note":{"id":1,"text":"shown"}"#,
                r#""previous_key":{"id":3},"note":{"id":4,"text":"moved"}"#,
                r#""previous_key":null,"note":{"id":4,"text":"moved"}"#,
            ] {
                let event = events.next().await;
                assert!(event.contains(expected), "{event}");
            }
            assert!(events.next().now_or_never().is_none());
        });
    }
}

/// A cascade may take any number of rows with it: what is kept of them is bounded.
#[test]
fn a_mutation_that_changes_more_rows_than_are_kept_is_told_as_lost() {
    let made = Made::sqlite(
        "create table shelf (id integer primary key);
         create table item (id integer primary key, shelf_id integer references shelf on delete cascade, note text);
         create index item_shelf on item (shelf_id);
         insert into shelf values (1), (2);
         with recursive n (i) as (select 1 union all select i + 1 from n where i < 40)
             insert into item select i, 1, hex(zeroblob(500000)) from n;",
    );
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let mut reader = bed.listen(&["shelf", "item"]);
        bed.ask("mutation { deleteShelf(pk_columns: {id: 1}) { result } }").await;
        bed.ask("mutation { deleteShelf(pk_columns: {id: 2}) { result } }").await;
        expect![[r#"
            Unknown
            Delete shelf 2
        "#]]
        .assert_eq(&bed.heard(&mut reader));
    });
}
