//! Queries on a small database, answered the same by the three models.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::tests::harness::{MEETUPS, MODELS, Made, same_answer, with_model};
use prony_sql::settings::{ColumnSettings, ColumnTypeOverride, RelationalSettings, TableSettings};

fn check(query: &str, expected: &Expect) {
    check_with(query, "{}", expected);
}

fn check_with(query: &str, variables: &str, expected: &Expect) {
    expected.assert_eq(&same_answer(&Made::new(MEETUPS), query, variables));
}

#[test]
fn nested_lists_and_has_ones() {
    check(
        "{ venues { __typename id name meetups { id venue { postal_code } meetups_members { member { email } } } } }",
        &expect![[
            r#"{"data":{"venues":[{"__typename":"Venue","id":1,"name":"Hall","meetups":[{"id":1,"venue":{"postal_code":"10115"},"meetups_members":[{"member":{"email":"ada@x"}},{"member":{"email":"bob@x"}}]},{"id":2,"venue":{"postal_code":"10115"},"meetups_members":[{"member":{"email":"ada@x"}}]},{"id":5,"venue":{"postal_code":"10115"},"meetups_members":[{"member":{"email":"ada@x"}},{"member":{"email":"dee@x"}}]}]},{"__typename":"Venue","id":2,"name":"Loft","meetups":[{"id":3,"venue":{"postal_code":null},"meetups_members":[{"member":{"email":"cy@x"}}]}]},{"__typename":"Venue","id":3,"name":"Empty","meetups":[]}]}}"#
        ]],
    );
}

#[test]
fn a_missing_has_one_is_null_and_an_empty_has_many_is_a_list() {
    check(
        "{ meetups(where: {id: {gte: 4}}) { id venue { id name } meetups_members { member_id } } }",
        &expect![[
            r#"{"data":{"meetups":[{"id":4,"venue":null,"meetups_members":[]},{"id":5,"venue":{"id":1,"name":"Hall"},"meetups_members":[{"member_id":1},{"member_id":4}]}]}}"#
        ]],
    );
}

#[test]
fn the_same_relation_twice_under_aliases() {
    check(
        "{ v: venues(limit: 1) { first: meetups(limit: 1) { id } last: meetups(limit: 1, sort: {id: desc}) { id }
             all: meetups_aggregate { count max { title } } } }",
        &expect![[
            r#"{"data":{"v":[{"first":[{"id":1}],"last":[{"id":5}],"all":{"count":3,"max":{"title":"Zig"}}}]}}"#
        ]],
    );
}

#[test]
fn limit_and_offset_hold_for_each_parent() {
    check(
        "{ venues { id meetups(limit: 1, offset: 1) { id } } }",
        &expect![[
            r#"{"data":{"venues":[{"id":1,"meetups":[{"id":2}]},{"id":2,"meetups":[]},{"id":3,"meetups":[]}]}}"#
        ]],
    );
    check(
        "{ venues(limit: 1, offset: 2) { id meetups(offset: 1) { id } } }",
        &expect![[r#"{"data":{"venues":[{"id":3,"meetups":[]}]}}"#]],
    );
}

#[test]
fn self_references_both_ways() {
    check(
        "{ members { id recruiter { id recruiter { email } } members { id members { id } } } }",
        &expect![[
            r#"{"data":{"members":[{"id":1,"recruiter":null,"members":[{"id":2,"members":[{"id":4}]},{"id":3,"members":[]}]},{"id":2,"recruiter":{"id":1,"recruiter":null},"members":[{"id":4,"members":[]}]},{"id":3,"recruiter":{"id":1,"recruiter":null},"members":[]},{"id":4,"recruiter":{"id":2,"recruiter":{"email":"ada@x"}},"members":[]}]}}"#
        ]],
    );
}

#[test]
fn filters_across_relations() {
    check(
        r#"{ venues(where: {meetups: {title: {like: "%u%"}}}) { id } }"#,
        &expect![[r#"{"data":{"venues":[{"id":1}]}}"#]],
    );
    check(
        r#"{ meetups(where: {not: {venue: {name: {eq: "Hall"}}}}) { id } }"#,
        &expect![[r#"{"data":{"meetups":[{"id":3},{"id":4}]}}"#]],
    );
    check(
        r#"{ venues { id meetups(where: {meetups_members: {member: {email: {in: ["ada@x", "cy@x"]}}}}) { id } } }"#,
        &expect![[
            r#"{"data":{"venues":[{"id":1,"meetups":[{"id":1},{"id":2},{"id":5}]},{"id":2,"meetups":[{"id":3}]},{"id":3,"meetups":[]}]}}"#
        ]],
    );
}

/// Foreign keys compare by the collating sequence of the column that they refer to; relations do so from either side.
#[test]
fn relations_go_by_the_collating_sequence_of_the_key() {
    let made = Made::new(
        "CREATE TABLE cities (name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, country TEXT NOT NULL);
         CREATE TABLE streets (id INTEGER PRIMARY KEY, city TEXT REFERENCES cities (name));
         CREATE INDEX streets_city ON streets (city);
         CREATE TABLE words (word TEXT PRIMARY KEY NOT NULL);
         CREATE TABLE notes (id INTEGER PRIMARY KEY, about TEXT COLLATE NOCASE REFERENCES words (word));
         INSERT INTO cities VALUES ('Graz', 'AT'), ('Linz', 'AT');
         INSERT INTO streets VALUES (1, 'GRAZ'), (2, 'graz'), (3, 'Wels');
         INSERT INTO words VALUES ('Polish'), ('polish');
         INSERT INTO notes VALUES (1, 'Polish'), (2, 'polish');",
    );
    expect![[r#"{"data":{"cities":[{"name":"Graz","streets":[{"id":1},{"id":2}],"streets_aggregate":{"count":2}},{"name":"Linz","streets":[],"streets_aggregate":{"count":0}}]}}"#]].assert_eq(&same_answer(
        &made,
        "{ cities { name streets { id } streets_aggregate { count } } }",
        "{}",
    ));
    expect![[r#"{"data":{"cities":[{"name":"Graz"}],"streets":[{"id":1,"city_city":{"name":"Graz"}},{"id":2,"city_city":{"name":"Graz"}}]}}"#]].assert_eq(&same_answer(
        &made,
        r#"{ cities(where: {streets: {id: {eq: 2}}}) { name }
             streets(where: {city_city: {country: {eq: "AT"}}}) { id city_city { name } } }"#,
        "{}",
    ));
    expect![[r#"{"data":{"words":[{"word":"Polish","notes":[{"id":1}]},{"word":"polish","notes":[{"id":2}]}],"notes":[{"id":1,"about_word":{"word":"Polish"}},{"id":2,"about_word":{"word":"polish"}}],"words_aggregate":{"count":1}}}"#]].assert_eq(&same_answer(
        &made,
        "{ words { word notes { id } } notes { id about_word { word } }
           words_aggregate(where: {notes: {id: {eq: 2}}}) { count } }",
        "{}",
    ));
}

#[test]
fn operators() {
    let ids = |filter: &str| format!("{{ members(where: {{{filter}}}) {{ id }} }}");
    let made = Made::new(MEETUPS);
    let mut table = String::new();
    for filter in [
        "score: {gt: 1.5}",
        "score: {gte: 1.5, lt: 2}",
        "score: {lte: 0}",
        "score: {eq: null}",
        "score: {ne: 2}",
        "score: {is_null: false}",
        "score: {in: [2, 1.5]}",
        "score: {not_in: [2]}",
        "id: {in: []}",
        "id: {not_in: []}",
        "active: {eq: true}",
        "active: {ne: true}",
        r#"email: {like: "%A%"}"#,
        r#"email: {ilike: "%A%"}"#,
        r#"email: {like: "_o%"}"#,
        "or: [{id: {eq: 1}}, {id: {eq: 4}}]",
        "or: []",
        "and: []",
        "and: [{id: {gt: 1}}, {id: {lt: 4}}], id: {ne: 2}",
        "not: {score: {gt: 0}}",
        "score: {gt: null}",
        "not: {score: {gt: null}}",
        "not: {score: {in: null}}",
        "or: [{not: {score: {gt: null}}}, {id: {eq: 4}}]",
    ] {
        let answer = same_answer(&made, &ids(filter), "{}");
        writeln!(table, "{filter}: {answer}").unwrap();
    }
    expect![[r#"
        score: {gt: 1.5}: {"data":{"members":[{"id":2}]}}
        score: {gte: 1.5, lt: 2}: {"data":{"members":[{"id":1}]}}
        score: {lte: 0}: {"data":{"members":[{"id":4}]}}
        score: {eq: null}: {"data":{"members":[{"id":3}]}}
        score: {ne: 2}: {"data":{"members":[{"id":1},{"id":4}]}}
        score: {is_null: false}: {"data":{"members":[{"id":1},{"id":2},{"id":4}]}}
        score: {in: [2, 1.5]}: {"data":{"members":[{"id":1},{"id":2}]}}
        score: {not_in: [2]}: {"data":{"members":[{"id":1},{"id":4}]}}
        id: {in: []}: {"data":{"members":[]}}
        id: {not_in: []}: {"data":{"members":[{"id":1},{"id":2},{"id":3},{"id":4}]}}
        active: {eq: true}: {"data":{"members":[{"id":1},{"id":4}]}}
        active: {ne: true}: {"data":{"members":[{"id":2}]}}
        email: {like: "%A%"}: {"data":{"members":[]}}
        email: {ilike: "%A%"}: {"data":{"members":[{"id":1}]}}
        email: {like: "_o%"}: {"data":{"members":[{"id":2}]}}
        or: [{id: {eq: 1}}, {id: {eq: 4}}]: {"data":{"members":[{"id":1},{"id":4}]}}
        or: []: {"data":{"members":[]}}
        and: []: {"data":{"members":[{"id":1},{"id":2},{"id":3},{"id":4}]}}
        and: [{id: {gt: 1}}, {id: {lt: 4}}], id: {ne: 2}: {"data":{"members":[{"id":3}]}}
        not: {score: {gt: 0}}: {"data":{"members":[{"id":4}]}}
        score: {gt: null}: {"data":{"members":[]}}
        not: {score: {gt: null}}: {"data":{"members":[]}}
        not: {score: {in: null}}: {"data":{"members":[]}}
        or: [{not: {score: {gt: null}}}, {id: {eq: 4}}]: {"data":{"members":[{"id":4}]}}
    "#]]
    .assert_eq(&table);
}

/// SQLite has a bound on the depth of an expression.
#[test]
fn conditions_may_have_many_parts() {
    let made = Made::new(MEETUPS);
    let ask = |joint: &str, operator: &str, parts: u32| {
        let parts = (3..parts + 3).map(|id| format!(r#"{{"id":{{"{operator}":{id}}}}}"#));
        let variables = format!(r#"{{"w":{{"{joint}":[{}]}}}}"#, parts.collect::<Vec<_>>().join(","));
        same_answer(&made, "query($w: MemberClauses) { members(where: $w) { id } }", &variables)
    };
    for parts in [64, 65, 300, 1_000] {
        let any = ask("or", "eq", parts);
        assert_eq!(any, r#"{"data":{"members":[{"id":3},{"id":4}]}}"#, "{parts}");
        let all = ask("and", "ne", parts);
        assert_eq!(all, r#"{"data":{"members":[{"id":1},{"id":2}]}}"#, "{parts}");
    }
}

#[test]
fn nulls_come_last_ascending_and_first_descending() {
    check(
        "{ members(sort: {score: asc}) { id score } }",
        &expect![[
            r#"{"data":{"members":[{"id":4,"score":-0.25},{"id":1,"score":1.5},{"id":2,"score":2},{"id":3,"score":null}]}}"#
        ]],
    );
    check(
        "{ members(sort: {score: desc}) { id score } }",
        &expect![[
            r#"{"data":{"members":[{"id":3,"score":null},{"id":2,"score":2},{"id":1,"score":1.5},{"id":4,"score":-0.25}]}}"#
        ]],
    );
    check(
        "{ members(sort: [{active: asc}, {id: desc}]) { id } }",
        &expect![[r#"{"data":{"members":[{"id":2},{"id":4},{"id":1},{"id":3}]}}"#]],
    );
}

#[test]
fn aggregates() {
    check(
        "{ members_aggregate { count sum { score id } avg { id score } max { email } min { score __typename } } }",
        &expect![[
            r#"{"data":{"members_aggregate":{"count":4,"sum":{"score":3.25,"id":10},"avg":{"id":2.5,"score":1.0833333333333333},"max":{"email":"dee@x"},"min":{"score":-0.25,"__typename":"MemberFields"}}}}"#
        ]],
    );
    check(
        "{ members_aggregate(where: {id: {gt: 9}}) { __typename count max { id } } }",
        &expect![[
            r#"{"data":{"members_aggregate":{"__typename":"MemberAggregate","count":0,"max":{"id":null}}}}"#
        ]],
    );
    check(
        "{ venues { id meetups_aggregate(where: {id: {lt: 3}}) { count sum { id } } } meetups { id venue { meetups_aggregate { count } } } }",
        &expect![[
            r#"{"data":{"venues":[{"id":1,"meetups_aggregate":{"count":2,"sum":{"id":3}}},{"id":2,"meetups_aggregate":{"count":0,"sum":{"id":null}}},{"id":3,"meetups_aggregate":{"count":0,"sum":{"id":null}}}],"meetups":[{"id":1,"venue":{"meetups_aggregate":{"count":3}}},{"id":2,"venue":{"meetups_aggregate":{"count":3}}},{"id":3,"venue":{"meetups_aggregate":{"count":1}}},{"id":4,"venue":null},{"id":5,"venue":{"meetups_aggregate":{"count":3}}}]}}"#
        ]],
    );
}

#[test]
fn views_are_read_and_aggregated() {
    check(
        "{ busies(sort: {meetup_id: desc}, limit: 2) { meetup_id attendance } busies_aggregate { sum { attendance } } }",
        &expect![[
            r#"{"data":{"busies":[{"meetup_id":5,"attendance":"2"},{"meetup_id":3,"attendance":"1"}],"busies_aggregate":{"sum":{"attendance":null}}}}"#
        ]],
    );
}

#[test]
fn variables_fill_slots() {
    check_with(
        "query ($g: Int, $n: Int, $o: Int, $t: [Int!]) {
           venues(where: {id: {gt: $g}}, limit: $n, offset: $o) { id meetups(where: {id: {in: $t}}) { id } } }",
        r#"{"g": 0, "n": 2, "o": 1, "t": [3, 4]}"#,
        &expect![[r#"{"data":{"venues":[{"id":2,"meetups":[{"id":3}]},{"id":3,"meetups":[]}]}}"#]],
    );
}

#[test]
fn limits_and_wrong_values_are_errors() {
    check(
        "{ venues(limit: 10001) { id } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`limit` is 10001, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["venues"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}"#
        ]],
    );
    // No venue has this key, and so there are no keys to ask for meetups by.
    check(
        "{ venues(where: {id: {eq: 9}}) { meetups(limit: 10001) { id } } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`limit` is 10001, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":34}],"path":["venues"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}"#
        ]],
    );
    check(
        "{ venues { meetups(limit: -1) { id } } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`limit` is -1, it must be a whole number from 0","locations":[{"line":1,"column":12}],"path":["venues"],"extensions":{"code":"BAD_USER_INPUT"}}]}"#
        ]],
    );
    check(
        "{ a: venues(offset: -1) { id } b: venues { id } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`offset` is -1, it must be a whole number from 0","locations":[{"line":1,"column":3}],"path":["a"],"extensions":{"code":"BAD_USER_INPUT"}}]}"#
        ]],
    );
}

#[test]
fn aliases_and_values_cannot_inject() {
    check(
        r#"{ a: venues(where: {name: {eq: "' OR 1=1 --"}}) { id }
             b: venues(where: {name: {like: "%'); DROP TABLE venues; --"}}) { id }
             c: venues(where: {name: {in: ["\"]') --", "Hall"]}}) { x: id _: name __a: id } }"#,
        &expect![[r#"{"data":{"a":[],"b":[],"c":[{"x":1,"_":"Hall","__a":1}]}}"#]],
    );
}

/// Clients of the dialect declare their variables so, whatever the width of a column.
#[test]
fn variables_of_int_are_taken_where_a_bigint_stands() {
    const ORDERS: &str = "CREATE TABLE person (id BIGINT PRIMARY KEY, name TEXT);
         CREATE TABLE person_order (number BIGINT PRIMARY KEY, person_id BIGINT REFERENCES person (id));
         INSERT INTO person VALUES (-3, 'Cy'), (9007199254740993, 'Di');
         INSERT INTO person_order VALUES (70, -3), (8, -3), (9, 9007199254740993);";
    let check = |query: &str, variables: &str, expected: Expect| {
        expected.assert_eq(&same_answer(&Made::new(ORDERS), query, variables));
    };
    check(
        "query ($id: Int, $ids: [Int], $number: IntWhere, $most: Int = 1) {
             people(where: {id: {eq: $id}}, limit: $most) { name person_orders(where: {number: $number}) { number } }
             person_orders(where: {person: {id: {in: $ids, lt: $most}}}) { number } }",
        r#"{"id": -3, "ids": [-3, 7], "number": {"gt": 8, "in": [70, 8]}}"#,
        expect![[r#"{"data":{"people":[{"name":"Cy","person_orders":[{"number":70}]}],"person_orders":[{"number":8},{"number":70}]}}"#]],
    );
    check(
        "query ($id: Int!) { people(where: {id: {ne: $id}}) { id } }",
        r#"{"id": 4}"#,
        expect![[r#"{"data":{"people":[{"id":-3},{"id":9007199254740993}]}}"#]],
    );
}

#[test]
fn sums_of_what_is_no_number_are_null() {
    check(
        "{ members_aggregate { sum { id email } avg { email id } max { email } } }",
        &expect![[
            r#"{"data":{"members_aggregate":{"sum":{"id":10,"email":null},"avg":{"email":null,"id":2.5},"max":{"email":"dee@x"}}}}"#
        ]],
    );
}

/// Such a table may have no rowid either.
#[test]
fn rows_come_in_the_order_of_a_key_that_is_not_served() {
    let made = Made::new(
        "CREATE TABLE shelves (id INTEGER PRIMARY KEY);
         CREATE TABLE items (shelf_id INTEGER REFERENCES shelves (id), code TEXT, name TEXT,
                             PRIMARY KEY (shelf_id, code)) WITHOUT ROWID;
         CREATE INDEX by_name ON items (name);
         INSERT INTO shelves VALUES (1), (2);
         INSERT INTO items VALUES (1, 'c', 'x'), (1, 'b', 'y'), (2, 'a', 'x');",
    );
    for model in MODELS {
        let table = TableSettings { exclude_columns: vec!["code".to_owned()], ..TableSettings::default() };
        let settings =
            RelationalSettings { tables: [("items".to_owned(), table)].into(), ..with_model(model) };
        let answer = made.serve(&settings).answer(
            "{ items { name } shelves { items(limit: 2) { name } } sorted: items(sort: {name: asc}) { shelf_id } }",
            "{}",
        );
        let expected = r#"{"data":{"items":[{"name":"y"},{"name":"x"},{"name":"x"}],"shelves":[{"items":[{"name":"y"},{"name":"x"}]},{"items":[{"name":"x"}]}],"sorted":[{"shelf_id":1},{"shelf_id":2},{"shelf_id":1}]}}"#;
        assert_eq!(answer, expected, "{model:?}");
    }
}

/// A filter by a relation compared the numbers of the two columns, and found a row for `7` by `'007'`.
#[test]
fn a_relation_between_columns_of_different_types_leads_and_filters_alike() {
    let made = Made::new(
        "CREATE TABLE codes (code TEXT PRIMARY KEY NOT NULL, loose);
         CREATE TABLE uses (id INTEGER PRIMARY KEY, code_id INTEGER REFERENCES codes (code), loose_id REFERENCES codes (code));
         INSERT INTO codes VALUES ('007', 1), ('8', 2);
         PRAGMA foreign_keys = OFF;
         INSERT INTO uses VALUES (1, 7, 8), (2, 8, '8'), (3, NULL, NULL);",
    );
    let answer = same_answer(
        &made,
        "{ uses { id code { code } loose { code } } a: uses(where: {code: {}}) { id } b: uses(where: {loose: {}}) { id }
           codes { code uses_on_code_id { id } uses_on_loose_id { id } }
           c: codes(where: {uses_on_code_id: {}}) { code } d: codes(where: {uses_on_loose_id: {id: {eq: 1}}}) { code } }",
        "{}",
    );
    let expected = r#"{"data":{"uses":[{"id":1,"code":null,"loose":{"code":"8"}},{"id":2,"code":{"code":"8"},"loose":{"code":"8"}},{"id":3,"code":null,"loose":null}],"a":[{"id":2}],"b":[{"id":1},{"id":2}],"codes":[{"code":"007","uses_on_code_id":[{"id":1}],"uses_on_loose_id":[]},{"code":"8","uses_on_code_id":[{"id":2}],"uses_on_loose_id":[{"id":2}]}],"c":[{"code":"007"},{"code":"8"}],"d":[]}}"#;
    assert_eq!(answer, expected);
}

/// `in` missed what `eq` found: SQLite makes a text of a number that is compared with such a column, and did not of those in a list.
#[test]
fn texts_that_are_served_as_numbers_are_found_in_lists() {
    let made = Made::new(
        "CREATE TABLE prices (id INTEGER PRIMARY KEY, amount TEXT, pieces VARCHAR(9));
         INSERT INTO prices VALUES (1, '2.50', '1'), (2, '0.10', '20'), (3, NULL, NULL);",
    );
    let typed = |given| ColumnSettings { r#type: Some(given), ..ColumnSettings::default() };
    for model in MODELS {
        let columns = [
            ("amount".to_owned(), typed(ColumnTypeOverride::Decimal)),
            ("pieces".to_owned(), typed(ColumnTypeOverride::Int)),
        ];
        let table = TableSettings { columns: columns.into(), ..TableSettings::default() };
        let settings =
            RelationalSettings { tables: [("prices".to_owned(), table)].into(), ..with_model(model) };
        let answer = made.serve(&settings).answer(
            r#"{ a: prices(where: {amount: {in: ["2.50"]}}) { id amount } b: prices(where: {amount: {not_in: ["2.50"]}}) { id }
                 c: prices(where: {pieces: {in: [20]}}) { id pieces } d: prices(where: {pieces: {not_in: [20]}}) { id } }"#,
            "{}",
        );
        let expected = r#"{"data":{"a":[{"id":1,"amount":"2.50"}],"b":[{"id":2}],"c":[{"id":2,"pieces":20}],"d":[{"id":1}]}}"#;
        assert_eq!(answer, expected, "{model:?}");
    }
}

/// SQLite takes `TRUE` and `FALSE` for columns, where a table has columns of these names.
#[test]
fn columns_that_are_named_as_constants_are_not_taken_for_them() {
    let made = Made::new(
        "CREATE TABLE flags (id INTEGER PRIMARY KEY, \"true\" BOOLEAN, \"false\" TEXT);
         CREATE TABLE notes (id INTEGER PRIMARY KEY, flag_id INTEGER REFERENCES flags (id), \"false\" BOOLEAN, \"true\" INTEGER);
         INSERT INTO flags VALUES (1, 0, '1'), (2, NULL, '7'), (3, 1, NULL);
         INSERT INTO notes VALUES (1, 1, 1, 0), (2, 1, 0, 1), (3, 3, 1, NULL);",
    );
    let answer = same_answer(
        &made,
        "{ all: flags(where: {and: []}) { id } none: flags(where: {or: []}) { id }
           others: flags(where: {not: {or: []}}) { id } count: flags_aggregate(where: {or: []}) { count }
           below: flags(where: {notes: {and: []}}) { id notes(where: {or: []}) { id } notes_aggregate(where: {and: []}) { count } } }",
        "{}",
    );
    let expected = r#"{"data":{"all":[{"id":1},{"id":2},{"id":3}],"none":[],"others":[{"id":1},{"id":2},{"id":3}],"count":{"count":0},"below":[{"id":1,"notes":[],"notes_aggregate":{"count":2}},{"id":3,"notes":[],"notes_aggregate":{"count":1}}]}}"#;
    assert_eq!(answer, expected);
}

/// Rows without a key come in the order in which they are stored, also where a column has the name of their number.
#[test]
fn a_column_that_is_named_rowid_is_not_taken_for_the_rows_number() {
    let answer = same_answer(
        &Made::new(
            "CREATE TABLE logs (rowid TEXT, line TEXT);
             INSERT INTO logs VALUES ('z', 'first'), ('a', 'second'), ('m', 'third');",
        ),
        "{ logs { line } page: logs(limit: 1, offset: 1) { rowid line } sorted: logs(sort: {rowid: asc}) { line } }",
        "{}",
    );
    let expected = r#"{"data":{"logs":[{"line":"first"},{"line":"second"},{"line":"third"}],"page":[{"rowid":"a","line":"second"}],"sorted":[{"line":"second"},{"line":"third"},{"line":"first"}]}}"#;
    assert_eq!(answer, expected);
}

/// Lists of values, and the keys of a level's parents, come through SQLite's function of this name.
#[test]
fn a_table_that_is_named_json_each_stands_in_nobodys_way() {
    let answer = same_answer(
        &Made::new(
            "CREATE TABLE json_each (id INTEGER PRIMARY KEY, value TEXT);
             CREATE TABLE notes (id INTEGER PRIMARY KEY, json_each_id INTEGER REFERENCES json_each (id));
             INSERT INTO json_each VALUES (1, 'a'), (2, 'b'), (3, 'c');
             INSERT INTO notes VALUES (1, 2), (2, 3), (3, 2);",
        ),
        "{ json_eaches(where: {value: {in: [\"b\", \"c\"]}}) { id notes(where: {id: {not_in: [1]}}) { id json_each { value } } } }",
        "{}",
    );
    let expected = r#"{"data":{"json_eaches":[{"id":2,"notes":[{"id":3,"json_each":{"value":"b"}}]},{"id":3,"notes":[{"id":2,"json_each":{"value":"c"}}]}]}}"#;
    assert_eq!(answer, expected);
}
