//! Schemas of roles: what a role may not see or write is not in its schema, and what it writes is completed by presets.

use std::{collections::BTreeMap, fmt::Write as _};

use expect_test::{expect, expect_file};
use prony_source::permissions::{
    Columns, DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames,
    TablePermissions, UpdatePermission,
};
use prony_sql::settings::RelationalSettings;
use serde_json::{Value as Json, json};

use crate::tests::harness::{MODELS, Made, Served, with_model};

/// Names in the database that are no GraphQL names, keys of several columns and of texts, a table without a key.
const SHOP: &str = r#"
    CREATE TABLE "order line" ("order" TEXT NOT NULL, "no." INTEGER NOT NULL, price REAL, cost REAL, owner TEXT,
                               customer TEXT REFERENCES customer (login), PRIMARY KEY ("order", "no."));
    CREATE TABLE customer (login TEXT PRIMARY KEY, secret TEXT, tier INTEGER NOT NULL DEFAULT 1);
    CREATE TABLE remark (text TEXT, author TEXT);
    INSERT INTO customer VALUES ('ada', 'x', 1), ('bob', 'y', 2);
    INSERT INTO "order line" VALUES ('b', 2, 5, 1, 'ada', 'ada'), ('a', 1, 7, 2, 'bob', 'bob'), ('b', 1, 3, 3, 'ada', 'bob'),
                                    ('c', 1, 4, 4, 'ada', NULL);"#;

fn only(names: &[&str]) -> Columns {
    Columns::Only(names.iter().map(|name| (*name).to_owned()).collect())
}

fn permissions() -> Permissions {
    let mut names = SessionNames::default();
    let mut condition = |written: Json| names.condition(&written).unwrap();
    let own = condition(json!({"owner": {"eq": "$login"}}));
    let set = BTreeMap::from([("owner".to_owned(), condition(json!("$login")))]);
    let mut lines = SelectPermission::of_rows(own.clone());
    lines.columns = only(&["order", "no.", "price", "customer"]);
    lines.filter = Some(only(&["order"]));
    lines.sort = Some(only(&["price"]));
    lines.aggregate = Some(only(&["price"]));
    lines.limit = Some(2);
    let mut customers = SelectPermission::of_rows(condition(json!({})));
    customers.columns = only(&["login"]);
    customers.aggregates = false;
    let new_line = InsertPermission {
        columns: only(&["order", "no.", "price", "owner"]),
        set: set.clone(),
        check: condition(json!({"price": {"lt": 100}})),
    };
    let changed = UpdatePermission {
        rows: own.clone(),
        columns: only(&["price"]),
        set: BTreeMap::from([("cost".to_owned(), condition(json!(0)))]),
        check: condition(json!({"price": {"lt": 100}})),
    };
    let lines = TablePermissions {
        select: Some(lines),
        insert: Some(new_line),
        update: Some(changed),
        delete: Some(DeletePermission { rows: own }),
    };
    let customers = TablePermissions { select: Some(customers), ..TablePermissions::default() };
    let remarks = InsertPermission {
        columns: only(&["text"]),
        set: BTreeMap::from([("author".to_owned(), condition(json!("$login")))]),
        check: condition(json!({})),
    };
    let remarks = TablePermissions { insert: Some(remarks), ..TablePermissions::default() };
    let tables = [("order line", lines), ("customer", customers), ("remark", remarks)];
    let tables = tables.map(|(name, granted)| (name.to_owned(), granted.into())).into();
    Permissions { tables, ..Permissions::default() }
}

fn serve(made: &Made) -> Served {
    made.serve(&RelationalSettings::default()).restricted(&permissions(), &[json!("ada")])
}

/// Descriptions of relations named columns that a role does not see.
#[test]
fn relations_are_described_by_columns_that_are_seen() {
    let made = Made::new(
        "CREATE TABLE shelf (id INTEGER PRIMARY KEY, label TEXT);
         CREATE TABLE book (id INTEGER PRIMARY KEY, shelf_id INTEGER REFERENCES shelf, title TEXT);",
    );
    let described = |shelf: &[&str], book: &[&str]| {
        let reads = |columns: &[&str]| {
            let rows = SessionNames::default().condition(&json!({})).unwrap();
            let mut select = SelectPermission::of_rows(rows);
            select.columns = only(columns);
            TablePermissions { select: Some(select), ..TablePermissions::default() }
        };
        let tables = [("shelf", shelf), ("book", book)];
        let tables = tables.map(|(name, columns)| (name.to_owned(), reads(columns).into())).into();
        let granted = Permissions { tables, ..Permissions::default() };
        made.serve(&RelationalSettings::default()).restricted(&granted, &[]).sdl()
    };
    let of_all = described(&["id", "label"], &["shelf_id", "title"]);
    assert!(of_all.contains("The row of `shelf` whose `id` is this row's `shelf_id`."), "{of_all}");
    for (shelf, book) in
        [(&["label"][..], &["title"][..]), (&["label"], &["shelf_id"]), (&["id"], &["title"])]
    {
        let of_some = described(shelf, book);
        assert!(of_some.contains("The row of `shelf` that belongs to this one."), "{of_some}");
        assert!(of_some.contains("The rows of `book` that belong to this one."), "{of_some}");
        assert!(!of_some.contains("this row's"), "{of_some}");
    }
}

#[test]
fn a_schema_of_a_role_has_what_it_may_ask_for() {
    let made = Made::new(SHOP);
    expect_file!["roles.graphql"].assert_eq(&serve(&made).sdl());
}

#[test]
fn a_list_has_no_more_rows_than_its_role_may_have() {
    let made = Made::new(SHOP);
    for model in MODELS {
        let served = made.serve(&with_model(model)).restricted(&permissions(), &[json!("ada")]);
        let all = served.answer("{ order_lines { order } }", "{}");
        assert_eq!(all, r#"{"data":{"order_lines":[{"order":"b"},{"order":"b"}]}}"#, "{model:?}");
        let one =
            served.answer("query($n: Int) { order_lines(limit: $n, offset: 2) { order } }", r#"{"n": 2}"#);
        assert_eq!(one, r#"{"data":{"order_lines":[{"order":"c"}]}}"#, "{model:?}");
        let below = served.answer("{ customers { order_lines(limit: 1) { order no } } }", "{}");
        let expected = r#"{"data":{"customers":[{"order_lines":[{"order":"b","no":2}]},{"order_lines":[{"order":"b","no":1}]}]}}"#;
        assert_eq!(below, expected, "{model:?}");
        let too_many = served.answer("{ customers { order_lines(limit: 3) { order } } }", "{}");
        assert!(too_many.contains("above the highest of 2 (of your role)"), "{model:?}: {too_many}");
    }
}

#[test]
fn presets_are_written_whatever_is_asked() {
    let made = Made::new(SHOP);
    let served = serve(&made);
    let mut told = String::new();
    for request in [
        r#"mutation { createOrderLine(order: "d", no: 1, price: 9) { order no } }"#,
        r#"mutation { updateOrderLine(pk_columns: {order: "b", no: 2}, price: 6) { result } }"#,
        r#"mutation { updateOrderLine(pk_columns: {order: "a", no: 1}, price: 6) { result } }"#,
        r#"mutation { updateOrderLine(pk_columns: {order: "b", no: 1}) { result } }"#,
        r#"mutation { createOrderLine(order: "e", no: 1, price: 100) { order } }"#,
        r#"mutation { createRemark(text: "hm") { text } }"#,
        "{ order_lines_aggregate { count sum { price } } }",
    ] {
        told.push_str(&served.answer(request, "{}"));
        told.push('\n');
    }
    expect![[r#"
            {"data":{"createOrderLine":{"order":"d","no":1}}}
            {"data":{"updateOrderLine":{"result":true}}}
            {"data":{"updateOrderLine":{"result":false}}}
            {"data":{"updateOrderLine":{"result":true}}}
            {"data":{"createOrderLine":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["createOrderLine"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"createRemark":{"text":"hm"}}}
            {"data":{"order_lines_aggregate":{"count":4,"sum":{"price":22}}}}
        "#]].assert_eq(&told);
    let connection = made.connection();
    let mut rows = connection
        .prepare(r#"SELECT "order" || "no." || price || coalesce(cost, '-') || owner FROM "order line" UNION ALL SELECT text || author FROM remark"#)
        .unwrap();
    let rows: Result<Vec<String>, _> = rows.query_map([], |row| row.get(0)).unwrap().collect();
    assert_eq!(
        rows.unwrap(),
        ["b26.00.0ada", "a17.02.0bob", "b13.03.0ada", "c14.04.0ada", "d19.0-ada", "hmada"]
    );
}

#[test]
fn a_condition_that_may_be_a_mistake_is_one() {
    let made = Made::new(SHOP);
    let served = made.serve(&RelationalSettings::default());
    let mut told = String::new();
    for written in [
        json!({"owner": "$login"}),
        json!({"owner": {}}),
        json!({"owner": {"eq": {"eq": 1}}}),
        json!({"price": {"lt": "much"}}),
        json!({"price": {"in": 5}}),
        json!({"price": {"like": 5}}),
        json!({"or": {"price": {"lt": 5}}}),
        json!({"customer_login": {"login": {"is_null": "$login"}}}),
        json!({"customer": "$login"}),
        json!("$login"),
    ] {
        let rows = SessionNames::default().condition(&written).unwrap();
        let select = Some(SelectPermission::of_rows(rows));
        let granted = TablePermissions { select, ..TablePermissions::default() };
        let permissions = Permissions {
            tables: BTreeMap::from([("order line".to_owned(), granted.into())]),
            ..Permissions::default()
        };
        writeln!(told, "{written}\n{}", served.refused(&permissions)).unwrap();
    }
    let nothing = || SessionNames::default().condition(&json!({})).unwrap();
    let preset = |value: Json| SessionNames::default().condition(&value).unwrap();
    let granted = TablePermissions {
        select: Some(SelectPermission { columns: only(&["prise"]), ..SelectPermission::of_rows(nothing()) }),
        update: Some(UpdatePermission {
            columns: only(&[]),
            set: BTreeMap::from([
                ("cost".to_owned(), preset(json!({"eq": 1}))),
                ("price".to_owned(), preset(json!("much"))),
                ("cots".to_owned(), preset(json!(1))),
            ]),
            ..UpdatePermission::of_rows(nothing(), nothing())
        }),
        ..TablePermissions::default()
    };
    let permissions = Permissions {
        tables: BTreeMap::from([("order line".to_owned(), granted.into())]),
        ..Permissions::default()
    };
    told.push_str(&served.refused(&permissions));
    expect![[r#"
        {"owner":"$login"}
        `order line`: `rows` of `select`: `owner` is compared by operators, as in `owner = { eq = … }`, not with a variable
        {"owner":{}}
        `order line`: `rows` of `select`: `owner` is compared with nothing; write an operator, as in `owner = { eq = … }`
        {"owner":{"eq":{"eq":1}}}
        `order line`: `rows` of `select`: `owner` does not take a table
        {"price":{"lt":"much"}}
        `order line`: `rows` of `select`: `price` takes a number, not "much"
        {"price":{"in":5}}
        `order line`: `rows` of `select`: `in` of `price` is a list, not a single value
        {"price":{"like":5}}
        `order line`: `rows` of `select`: `price` has values that are not compared by `like`
        {"or":{"price":{"lt":5}}}
        `order line`: `rows` of `select`: `or` is a list of conditions, not a table
        {"customer_login":{"login":{"is_null":"$login"}}}
        `order line`: `rows` of `select`: `order line` has no field `customer_login`; did you mean `customer`?
        {"customer":"$login"}
        `order line`: `rows` of `select`: `customer` is compared by operators, as in `customer = { eq = … }`, not with a variable
        "$login"
        `order line`: `rows` of `select`: a condition of `order line` is a table of fields, not a variable
        `order line`: `columns` of `select`: there is no column `prise`; did you mean `price`?
        `order line`: `set` of `update`: `cost` does not take a table
        `order line`: `set` of `update`: there is no column `cots`; did you mean `cost`?
        `order line`: `set` of `update`: `price` takes a number, not "much""#]].assert_eq(&told);
}

/// A list with nothing in it was unlike every truth, so that all rows were seen.
#[test]
fn a_list_that_is_known_of_a_session_is_no_truth() {
    let made = Made::new(
        "CREATE TABLE visit (id INTEGER PRIMARY KEY, hidden BOOLEAN, note);
         INSERT INTO visit VALUES (1, 1, 'a'), (2, 0, 'b');",
    );
    let mut told = String::new();
    for (column, operator, known) in [
        ("hidden", "ne", json!(true)),
        ("hidden", "eq", json!(true)),
        ("hidden", "ne", json!([])),
        ("hidden", "eq", json!([true])),
        ("hidden", "in", json!([true])),
        ("note", "ne", json!("a")),
        ("note", "ne", json!(["a"])),
        ("note", "ne", Json::Null),
    ] {
        let rows = SessionNames::default().condition(&json!({column: {operator: "$known"}})).unwrap();
        let select = Some(SelectPermission::of_rows(rows));
        let granted = TablePermissions { select, ..TablePermissions::default() };
        let tables = BTreeMap::from([("visit".to_owned(), granted.into())]);
        let permissions = Permissions { tables, ..Permissions::default() };
        let known_text = known.to_string();
        let served = made.serve(&RelationalSettings::default()).restricted(&permissions, &[known]);
        let answer = served.answer("{ visits { id } }", "{}");
        let answer = if answer.contains("FORBIDDEN") { "FORBIDDEN" } else { &answer };
        writeln!(told, "{column} {operator} {known_text}: {answer}").unwrap();
    }
    expect![[r#"
        hidden ne true: {"data":{"visits":[{"id":2}]}}
        hidden eq true: {"data":{"visits":[{"id":1}]}}
        hidden ne []: FORBIDDEN
        hidden eq [true]: FORBIDDEN
        hidden in [true]: {"data":{"visits":[{"id":1}]}}
        note ne "a": {"data":{"visits":[{"id":2}]}}
        note ne ["a"]: FORBIDDEN
        note ne null: {"data":{"visits":[]}}
    "#]]
    .assert_eq(&told);
}
