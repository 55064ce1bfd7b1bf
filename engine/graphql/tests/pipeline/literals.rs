//! Values of every scalar written in documents and sent as variables, defaults, and fields of abstract types.

use expect_test::{Expect, expect};
use prony_graphql::document::limits::Limits;

use crate::fixture::{from_sdl, lines, parameters, pipeline};

const SDL: &str = r#"
    scalar BigInt scalar Decimal scalar UUID scalar Bytes scalar JSON scalar Date
    enum Colour { RED BLUE }
    input In { n: Int = 7, colour: Colour = RED, list: [Int!] = 3, must: Boolean! }
    type Query {
      f(int: Int, float: Float, string: String, boolean: Boolean, id: ID, big: BigInt, decimal: Decimal, uuid: UUID, bytes: Bytes,
        json: JSON, date: Date, colours: [Colour!], flags: [Boolean], lists: [[Int]], in: In, ins: [In!], d: Int! = 5): Int
      pet: Pet any: [Any!]!
    }
    interface Pet { name: String other: Pet }
    type Cat implements Pet { name: String other: Pet lives: Int }
    type Dog implements Pet { name: String other: Pet lives: String }
    union Any = Cat | Dog
"#;

fn check(query: &str, variables: &str, expected: &Expect) {
    let outcome = pipeline(&from_sdl(SDL), parameters(query, variables), &Limits::default());
    expected.assert_eq(&outcome.unwrap_or_else(|errors| lines(&errors)));
}

#[test]
fn scalars() {
    check(
        r#"{ f(int: -1, float: 1e3, string: """block
           text""", boolean: false, id: 5, big: 9223372036854775807, decimal: 12345678901234567890.10,
           uuid: "123e4567-e89b-12d3-a456-426614174000", bytes: "AA==", json: {a: [1, null, true, ENUM, "s"]}, date: "x") }"#,
        "{}",
        &expect![[r#"
            query
              Query.f(int: -1, float: 1000.0, string: "block\ntext", boolean: false, id: "5", big: 9223372036854775807, decimal: "12345678901234567890.10", uuid: "123e4567-e89b-12d3-a456-426614174000", bytes: "AA==", json: {"a":[1,null,true,"ENUM","s"]}, date: "x", d: 5) Int @1:3
        "#]],
    );
    check(
        r#"{ f(big: 9223372036854775808, decimal: "1,5", uuid: 4, bytes: "A", float: 1e999, json: 1e999) }"#,
        "{}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:75: float cannot represent non-finite 64-bit floating point value
        "#]],
    );
    check(
        "{ f(big: 9223372036854775808, decimal: \"1,5\", uuid: 4, bytes: \"A\", json: 1e99) }",
        "{}",
        &expect![[r#"
            BAD_USER_INPUT 1:10: argument "big": expected a BigInt (an integer of 64 bits, or a string of its digits), found 9223372036854775808
            BAD_USER_INPUT 1:40: argument "decimal": expected a Decimal (a number, or a string of its digits), found the string "1,5"
            BAD_USER_INPUT 1:53: argument "uuid": expected a UUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx), found 4
            BAD_USER_INPUT 1:63: argument "bytes": expected Bytes (a string of base64 with padding), found the string "A"
        "#]],
    );
}

#[test]
fn lists_enums_and_defaults() {
    check(
        "{ f(colours: RED, flags: [true, null], lists: 1, in: {must: true}, ins: {must: false, n: null, list: []}) }",
        "{}",
        &expect![[r#"
            query
              Query.f(colours: [RED], flags: [true, null], lists: [[1]], in: {must: true, n: 7, colour: RED, list: [3]}, ins: [{must: false, n: null, list: [], colour: RED}], d: 5) Int @1:3
        "#]],
    );
    check(
        "{ f(lists: [[1, 2], 3, null], d: 1) }",
        "{}",
        &expect![[r#"
        query
          Query.f(lists: [[1, 2], [3], null], d: 1) Int @1:3
    "#]],
    );
}

#[test]
fn variables_are_decided_by_shape() {
    check(
        "query ($colours: [Colour!], $flags: [Boolean], $lists: [[Int]], $in: In, $ins: [In!], $json: JSON, $d: Int = 4) {
           f(colours: $colours, flags: $flags, lists: $lists, in: $in, ins: $ins, json: $json, d: $d) }",
        r#"{"colours": ["RED", "BLUE"], "flags": true, "lists": [1, [2, 3]], "in": {"must": false}, "ins": [{"must": true, "list": [1]}],
            "json": {"deep": [true]}}"#,
        &expect![[r#"
            query
              Query.f(json: $5, colours: [RED, BLUE], flags: [true], lists: $2, in: {must: false, n: $3.n, colour: RED, list: $3.list}, ins: [{must: true, list: $4[0].list, n: $4[0].n, colour: RED}], d: $6) Int @2:12
        "#]],
    );
}

#[test]
fn variables_within_json() {
    check(
        "query ($n: Int, $s: [String], $absent: Int) { f(json: {a: $n, b: [$s, 1, $absent], c: {d: RED}}) }",
        r#"{"n": 4, "s": ["x"]}"#,
        &expect![[r#"
            query
              Query.f(json: {a: $0, b: [$1, 1, null], c: {d: "RED"}}, d: 5) Int @1:47
        "#]],
    );
}

#[test]
fn absent_and_null_variables() {
    let query =
        "query ($n: Int, $d: Int = 3, $must: Boolean = true) { f(int: $n, d: $d, in: {n: $n, must: $must}) }";
    check(
        query,
        "{}",
        &expect![[r#"
        query
          Query.f(in: {n: 7, must: true, colour: RED, list: [3]}, d: $1) Int @1:55
    "#]],
    );
    check(
        query,
        r#"{"n": null}"#,
        &expect![[r#"
        query
          Query.f(int: null, in: {n: null, must: true, colour: RED, list: [3]}, d: $1) Int @1:55
    "#]],
    );
    check(
        query,
        r#"{"d": null, "must": null}"#,
        &expect![[r#"
            BAD_USER_INPUT 1:91: argument "in.must": variable "$must" is null where Boolean! is expected
            BAD_USER_INPUT 1:69: argument "d": variable "$d" is null where Int! is expected
        "#]],
    );
    check(
        "query ($d: Int) { f(d: $d) }",
        "{}",
        &expect![[r#"
        query
          Query.f(d: 5) Int @1:19
    "#]],
    );
}

#[test]
fn abstract_types_keep_fragments_apart() {
    check(
        "{ pet { name ... on Cat { lives } ... on Dog { barks: lives other { ... on Pet { name } __typename } } ...P }
           any { __typename ... on Pet { name } ... on Cat { name other { name } } } } fragment P on Pet { name other { ... on Cat { name } } }",
        "{}",
        &expect![[r#"
            query
              Query.pet Pet @1:3
                Pet.name String @1:9
                Cat.lives Int @1:27
                barks: Dog.lives String @1:48
                Dog.other Pet @1:61
                  Pet.name String @1:82
                  Pet.__typename String! @1:89
                Pet.other Pet @2:113
                  Cat.name String @2:134
              Query.any [Any!]! @2:12
                Any.__typename String! @2:18
                Pet.name String @2:42
                Cat.name String @2:62
                Cat.other Pet @2:67
                  Pet.name String @2:75
        "#]],
    );
    check(
        "{ pet { ... on Cat { lives } ... on Dog { lives } } }",
        "{}",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:43: operation must not select different types using the same name `lives`
    "#]],
    );
}
