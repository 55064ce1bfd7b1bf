//! Stored values that fit their type badly, and nulls that rise.

use expect_test::{Expect, expect};

use crate::tests::harness::{Made, same_answer};

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
