//! Stored values that fit their type badly, and nulls that rise.

use expect_test::{Expect, expect};

use crate::tests::harness::{Made, same_answer};
use prony_sql::settings::RelationalSettings;

const TABLES: &str = "
    CREATE TABLE parents (id INTEGER PRIMARY KEY, big INTEGER, note TEXT);
    CREATE TABLE children (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES parents (id),
                           strict INTEGER NOT NULL, data JSON, picture BLOB);
    INSERT INTO parents VALUES (1, 5000000000, 'ok'), (2, 7, CAST(x'ff41' AS TEXT)), (3, 'seven', NULL);
    INSERT INTO children VALUES (10, 1, 1, '{\"a\": [1, null]}', x'00ff'), (11, 1, 5000000000, 'no json', NULL),
                                (12, 2, 2, 7, 'text');
    CREATE TABLE texts (code TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE by_text (id INTEGER PRIMARY KEY, text_code BLOB REFERENCES texts (code));
    INSERT INTO texts VALUES ('1'), ('a\"b'), (CAST(x'ff' AS TEXT)), (x'00ff');
    INSERT INTO by_text VALUES (1, 1), (2, 'a\"b'), (3, CAST(x'ff' AS TEXT)), (4, x'00ff'), (5, 2.5), (6, NULL);";

fn check(query: &str, expected: &Expect) {
    expected.assert_eq(&same_answer(&Made::new(TABLES), query, "{}"));
}

#[test]
fn a_nullable_member_that_does_not_fit_is_null() {
    check(
        "{ parents { id big note } }",
        &expect![[
            r#"{"data":{"parents":[{"id":1,"big":null,"note":"ok"},{"id":2,"big":7,"note":null},{"id":3,"big":null,"note":null}]},"errors":[{"message":"`parents.big` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":16}],"path":["parents",0,"big"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}},{"message":"`parents.note` holds bytes that are not UTF-8 (from byte 0)","locations":[{"line":1,"column":20}],"path":["parents",1,"note"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}},{"message":"`parents.big` holds text, which is not an Int","locations":[{"line":1,"column":16}],"path":["parents",2,"big"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
}

#[test]
fn a_non_null_member_that_does_not_fit_takes_its_parents_along() {
    check(
        "{ parents { id children { strict } } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`children.strict` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":27}],"path":["parents",0,"children",1,"strict"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
    check(
        "{ children(where: {id: {eq: 11}}) { strict } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`children.strict` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":37}],"path":["children",0,"strict"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
}

#[test]
fn errors_come_in_the_order_of_the_members() {
    check(
        "{ children(where: {id: {eq: 11}}) { parent { id big } data } }",
        &expect![[
            r#"{"data":{"children":[{"parent":{"id":1,"big":null},"data":null}]},"errors":[{"message":"`parents.big` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":49}],"path":["children",0,"parent","big"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}},{"message":"`children.data` holds text that is not JSON (expected ident at line 1 column 2)","locations":[{"line":1,"column":55}],"path":["children",0,"data"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
    check(
        "{ children(where: {id: {eq: 11}}) { parent { big } strict } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`parents.big` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":46}],"path":["children",0,"parent","big"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}},{"message":"`children.strict` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":52}],"path":["children",0,"strict"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
}

#[test]
fn a_has_one_stops_a_rising_null() {
    check(
        "{ children(where: {id: {ne: 11}}) { id parent { children(where: {id: {eq: 11}}) { strict } } } }",
        &expect![[
            r#"{"data":{"children":[{"id":10,"parent":null},{"id":12,"parent":{"children":[]}}]},"errors":[{"message":"`children.strict` is 5000000000, outside the 32 bits of Int: configure the column as BigInt","locations":[{"line":1,"column":83}],"path":["children",0,"parent","children",0,"strict"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
}

#[test]
fn json_is_spliced_and_blobs_are_base64() {
    check(
        "{ children { id data picture } }",
        &expect![[
            r#"{"data":{"children":[{"id":10,"data":{"a": [1, null]},"picture":"AP8="},{"id":11,"data":null,"picture":null},{"id":12,"data":7,"picture":"dGV4dA=="}]},"errors":[{"message":"`children.data` holds text that is not JSON (expected ident at line 1 column 2)","locations":[{"line":1,"column":17}],"path":["children",1,"data"],"extensions":{"code":"VALUE_OUT_OF_RANGE"}}]}"#
        ]],
    );
}

#[test]
fn keys_of_any_storage_class_find_their_rows() {
    check(
        "{ texts(where: {code: {in: [\"1\", \"a\\\"b\"]}}) { code by_texts { id } } }",
        &expect![[
            r#"{"data":{"texts":[{"code":"1","by_texts":[]},{"code":"a\"b","by_texts":[{"id":2}]}]}}"#
        ]],
    );
    check(
        "{ by_texts { id text_code_text { __typename } } }",
        &expect![[
            r#"{"data":{"by_texts":[{"id":1,"text_code_text":{"__typename":"Text"}},{"id":2,"text_code_text":{"__typename":"Text"}},{"id":3,"text_code_text":{"__typename":"Text"}},{"id":4,"text_code_text":{"__typename":"Text"}},{"id":5,"text_code_text":null},{"id":6,"text_code_text":null}]}}"#
        ]],
    );
}

#[test]
fn sums_do_not_overflow() {
    let made = Made::new(
        "CREATE TABLE huge (id INTEGER PRIMARY KEY, n BIGINT);
         INSERT INTO huge VALUES (1, 9223372036854775807), (2, 9223372036854775807), (3, 2);",
    );
    expect![[r#"{"data":{"huges_aggregate":{"sum":{"n":18446744073709551616},"avg":{"n":6.148914691236517e+18},"max":{"n":9223372036854775807}}}}"#]].assert_eq(&same_answer(
        &made,
        "{ huges_aggregate { sum { n } avg { n } max { n } } }",
        "{}",
    ));
}

/// What is served as a truth is found by it, however it is stored.
#[test]
fn filters_find_truths_as_they_are_served() {
    let made = Made::new(
        "CREATE TABLE switches (id INTEGER PRIMARY KEY, state BOOLEAN, word BOOL_TEXT);
         CREATE INDEX by_state ON switches (state);
         INSERT INTO switches VALUES (1, 1, 'true'), (2, 0, 'False'), (3, 'true', '1'), (4, 'F', '0'), (5, 'TRUE', 't'),
             (6, NULL, NULL), (7, 1.0, 'tRuE'), (8, '0', 'f'), (9, 't', 'T');",
    );
    let found = |filter: &str| {
        let query = format!("{{ switches(where: {{{filter}}}) {{ id }} }}");
        let answer: serde_json::Value = serde_json::from_str(&same_answer(&made, &query, "{}")).unwrap();
        let rows = answer["data"]["switches"].as_array().unwrap_or_else(|| panic!("{answer}"));
        rows.iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    for column in ["state", "word"] {
        let query = format!("{{ switches {{ id {column} }} }}");
        let answer: serde_json::Value = serde_json::from_str(&same_answer(&made, &query, "{}")).unwrap();
        let rows = answer["data"]["switches"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let served = |wanted: bool| -> Vec<i64> {
            let rows = rows.iter().filter(|row| row[column] == wanted);
            rows.map(|row| row["id"].as_i64().unwrap()).collect()
        };
        assert_eq!(served(true), [1, 3, 5, 7, 9], "{column}");
        for truth in [true, false] {
            assert_eq!(found(&format!("{column}: {{eq: {truth}}}")), served(truth), "{column}");
            assert_eq!(found(&format!("{column}: {{ne: {truth}}}")), served(!truth), "{column}");
            assert_eq!(found(&format!("{column}: {{in: [{truth}]}}")), served(truth), "{column}");
            assert_eq!(found(&format!("{column}: {{not_in: [{truth}]}}")), served(!truth), "{column}");
        }
        assert_eq!(found(&format!("{column}: {{in: [true, false]}}")).len(), 8, "{column}");
        assert_eq!(found(&format!("{column}: {{eq: null}}")), [6], "{column}");
    }
}

/// The texts of one column of the rows that a query gives.
fn texts(made: &Made, query: &str, (list, column): (&str, &str)) -> Vec<String> {
    let answer: serde_json::Value = serde_json::from_str(&same_answer(made, query, "{}")).unwrap();
    let rows = answer["data"][list].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
    rows.iter().map(|row| row[column].as_str().unwrap().to_owned()).collect()
}

/// What a view computes has no type: it is served as text, and compared as what it is.
#[test]
fn filters_find_what_views_compute_as_it_is_served() {
    let made = Made::new(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, page TEXT);
         INSERT INTO visits (page) VALUES ('a'), ('a');
         INSERT INTO visits (page) SELECT 'b' FROM json_each('[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]');
         CREATE VIEW pages AS SELECT page, count(*) AS visits, avg(id) AS middle, upper(page) AS loud
                              FROM visits GROUP BY page;",
    );
    assert_eq!(texts(&made, "{ pages(sort: {page: asc}) { visits } }", ("pages", "visits")), ["2", "10"]);
    for (filter, pages) in [
        ("visits: {eq: \"2\"}", vec!["a"]),
        ("visits: {ne: \"2\"}", vec!["b"]),
        ("visits: {in: [\"2\", \"10\", \"x\"]}", vec!["a", "b"]),
        ("visits: {not_in: [\"2\"]}", vec!["b"]),
        ("visits: {gt: \"9\"}", vec!["b"]),
        ("visits: {lt: \"9\"}", vec!["a"]),
        ("visits: {gte: \"2.0\", lte: \"2\"}", vec!["a"]),
        ("visits: {eq: \"x\"}", vec![]),
        ("not: {visits: {lt: \"9\"}}", vec!["b"]),
        ("middle: {eq: \"1.5\"}", vec!["a"]),
        ("middle: {gt: \"1.5\"}", vec!["b"]),
        ("loud: {eq: \"A\"}", vec!["a"]),
        ("loud: {gt: \"A\"}", vec!["b"]),
    ] {
        let query = format!("{{ pages(where: {{{filter}}}, sort: {{page: asc}}) {{ page }} }}");
        assert_eq!(texts(&made, &query, ("pages", "page")), pages, "{filter}");
    }
}

/// A column that is declared without a type keeps numbers and texts as they came; also where it is the key.
#[test]
fn keys_without_a_type_find_their_rows() {
    let made = Made::new(
        "CREATE TABLE notes (id PRIMARY KEY NOT NULL, body TEXT NOT NULL);
         INSERT INTO notes VALUES (5, 'five'), ('k', 'k'), (2.5, 'half'), ('10', 'ten');",
    );
    for (filter, bodies) in [
        ("eq: \"5\"", vec!["five"]),
        ("eq: \"2.5\"", vec!["half"]),
        ("eq: \"10\"", vec!["ten"]),
        ("in: [\"k\", \"5\"]", vec!["five", "k"]),
        ("gt: \"3\"", vec!["five", "k"]),
    ] {
        let query = format!("{{ notes(where: {{id: {{{filter}}}}}) {{ body }} }}");
        assert_eq!(texts(&made, &query, ("notes", "body")), bodies, "{filter}");
    }
    let served = made.serve(&RelationalSettings::default());
    let changed = served.answer(
        "mutation { a: updateNote(pk_columns: {id: \"5\"}, body: \"5\") { result }
                    b: deleteNote(pk_columns: {id: \"10\"}) { result } c: deleteNote(pk_columns: {id: \"6\"}) { result } }",
        "{}",
    );
    assert_eq!(changed, r#"{"data":{"a":{"result":true},"b":{"result":true},"c":{"result":false}}}"#);
    assert_eq!(texts(&made, "{ notes { body } }", ("notes", "body")), ["half", "5", "k"]);
}
