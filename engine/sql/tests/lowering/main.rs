//! From GraphQL text to plans: what is lowered, printed with conditions as SQL of a dialect that shows
//! everything it was given.
#![allow(clippy::unwrap_used, reason = "helpers of a test, which fails by panicking")]

mod printer;

use expect_test::{Expect, expect};
use printer::print;
use prony_graphql::{
    document::{Operation, limits::Limits},
    schema::{Schema, SourceId},
};
use prony_sql::{
    contribution::contribution,
    lower::{RootIndex, lower},
    model::Model,
    settings::RelationalSettings,
};
use prony_sqlite::file::discover::discover;

const TABLES: &str = "
    CREATE TABLE venues (id INTEGER PRIMARY KEY, name VARCHAR(128) NOT NULL, open BOOLEAN);
    CREATE TABLE meetups (id INTEGER PRIMARY KEY, title VARCHAR(128) NOT NULL,
                          venue_id INTEGER REFERENCES venues (id));
    CREATE TABLE attendances (meetup_id INTEGER NOT NULL REFERENCES meetups (id), seat INTEGER NOT NULL,
                              \"or\" TEXT, PRIMARY KEY (meetup_id, seat));
    CREATE VIEW titles AS SELECT title FROM meetups;";

fn check(query: &str, variables: &str, expected: &Expect) {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(TABLES).unwrap();
    let model = Model::build(&discover(&connection).unwrap(), &RelationalSettings::default()).unwrap();
    let schema = Schema::merge(vec![(SourceId(0), contribution(&model))]).unwrap();
    let operation = Operation::parse(&schema, query, None, &Limits::default()).unwrap();
    let (variables, _) = operation.coerce(&schema, serde_json::from_str(variables).unwrap()).unwrap();
    let selection = operation.select(&schema, &variables).unwrap();
    let roots = RootIndex::new(&model);
    let text: String = selection
        .fields
        .iter()
        .map(|field| match lower(&model, &roots, selection.kind, field) {
            Ok(plan) => print(&model, &plan),
            Err(error) => format!("error at {:?}: {error}\n", error.positions),
        })
        .collect();
    expected.assert_eq(&text);
}

#[test]
fn lists_are_ordered_by_key_and_nest() {
    check(
        "query ($n: Int) { halls: venues(limit: $n, offset: 3) { __typename id meetups(limit: 2) { t: title } } }",
        r#"{"n": 5}"#,
        &expect![[r#"
            halls: list venues where TRUE ORDER BY t.id asc limit Slot(0) offset 3
              __typename: "Venue"
              id: column id
              meetups: many list meetups where TRUE ORDER BY t.id asc limit 2
                t: column title
        "#]],
    );
}

#[test]
fn sort_keys_keep_their_order_and_the_key_breaks_ties() {
    check(
        "query ($d: SortOperator) { attendances(sort: { or: $d, seat: asc }) { seat } titles { title } }",
        r#"{"d": "desc"}"#,
        &expect![[r#"
            attendances: list attendances where TRUE ORDER BY t.or desc, t.seat asc, t.meetup_id asc
              seat: column seat
            titles: list titles where TRUE
              title: column title
        "#]],
    );
}

#[test]
fn a_list_of_sort_inputs() {
    check(
        "{ venues(sort: [{ name: desc }, { id: desc }, { name: asc }]) { id } }",
        "{}",
        &expect![[r#"
            venues: list venues where TRUE ORDER BY t.name desc, t.id desc
              id: column id
        "#]],
    );
}

#[test]
fn filters_combine() {
    check(
        r#"query ($x: Int!, $w: VenueClauses) {
            a: venues(where: { id: { gt: 1, lte: $x }, or: [{ name: { like: "H%" } }, { open: { eq: true } }] }) { id }
            b: venues(where: { not: { and: [{ id: { in: [1, $x] } }, {}] }, or: [] }) { id }
            c: venues(where: $w) { id }
        }"#,
        r#"{"x": 7, "w": {"name": {"eq": "a", "ilike": "b"}, "id": {"in": [1, 2]}}}"#,
        &expect![[r#"
            a: list venues where (("t"."id" > {1} AND "t"."id" <= {Slot(0)}) AND ("t"."name" like {"H%"} OR "t"."open" = {true})) ORDER BY t.id asc
              id: column id
            b: list venues where (NOT ("t"."id" in {[1, Slot(0)]}) AND FALSE) ORDER BY t.id asc
              id: column id
            c: list venues where (("t"."name" = {Slot(1.name.eq)} AND "t"."name" ilike {Slot(1.name.ilike)}) AND "t"."id" in {Slot(1.id.in)}) ORDER BY t.id asc
              id: column id
        "#]],
    );
}

#[test]
fn nulls_in_filters() {
    check(
        "query ($none: Int, $w: VenueClauses) {
            a: venues(where: { name: { eq: null } }) { id }
            b: venues(where: { name: { ne: null }, id: { gt: $none } }) { id }
            c: venues(where: { id: { in: null } }) { id }
            d: venues(where: { id: null, and: null, not: null }) { id }
            e: venues(where: { id: { gt: null, is_null: null } }) { id }
            g: venues(where: { not: { id: { lt: null } } }) { id }
            f: venues(where: $w, limit: $none) { id }
        }",
        r#"{"w": null}"#,
        &expect![[r#"
            a: list venues where "t"."name" IS NULL ORDER BY t.id asc
              id: column id
            b: list venues where "t"."name" IS NOT NULL ORDER BY t.id asc
              id: column id
            c: list venues where NULL ORDER BY t.id asc
              id: column id
            d: list venues where TRUE ORDER BY t.id asc
              id: column id
            e: list venues where NULL ORDER BY t.id asc
              id: column id
            g: list venues where NOT (NULL) ORDER BY t.id asc
              id: column id
            f: list venues where TRUE ORDER BY t.id asc
              id: column id
        "#]],
    );
}

#[test]
fn filters_cross_relations() {
    check(
        r#"{ meetups(where: { venue: { name: { eq: "x" } }, attendances: { or: { eq: "y" } } }) { id } }"#,
        "{}",
        &expect![[r#"
            meetups: list meetups where (EXISTS (SELECT 1 FROM "venues" AS t0 WHERE t0."id" = "t"."venue_id" AND t0."name" = {"x"}) AND EXISTS (SELECT 1 FROM "attendances" AS t1 WHERE t1."meetup_id" = "t"."id" AND t1."or" = {"y"})) ORDER BY t.id asc
              id: column id
        "#]],
    );
}

#[test]
fn aggregates() {
    check(
        "{ venues_aggregate(where: { id: { lt: 3 } }) { count max { id n: name __typename } } \
           venues { meetups_aggregate { count } } }",
        "{}",
        &expect![[r#"
            venues_aggregate: aggregate venues where "t"."id" < {3}
              count: count
              max: Max { id: id, n: name, __typename: "VenueFields" }
            venues: list venues where TRUE ORDER BY t.id asc
              meetups_aggregate: aggregate meetups where TRUE
                count: count
        "#]],
    );
}

#[test]
fn mutations() {
    check(
        r#"mutation ($n: String!) {
            createVenue(name: $n, open: true) { id }
            updateVenue(pk_columns: { id: 4 }, name: null) { result }
            deleteAttendance(pk_columns: { seat: 2, meetup_id: 1 }) { __typename result }
        }"#,
        r#"{"n": "x"}"#,
        &expect![[r#"
            createVenue: INSERT INTO "venues" ("name", "open") VALUES ({Slot(0)}, {true})
              id: column id
            updateVenue: UPDATE "venues" AS t0 SET "name" = NULL WHERE t0."id" = {4}
              result: Changed
            deleteAttendance: DELETE FROM "attendances" AS t0 WHERE t0."meetup_id" = {1} AND t0."seat" = {2}
              __typename: Typename("Result")
              result: Changed
        "#]],
    );
}
