//! Documents and operation names that are refused, and with which words.

use expect_test::{Expect, expect};
use prony_graphql::{
    document::{Operation, limits::Limits},
    error::ErrorCode,
    request::RequestParameters,
};

use crate::fixture::{lines, parameters, pipeline, shared_schema};

fn check(query: &str, expected: &Expect) {
    check_with(parameters(query, "{}"), expected);
}

fn check_with(parameters: RequestParameters, expected: &Expect) {
    let outcome = pipeline(shared_schema(), parameters, &Limits::default());
    expected.assert_eq(&outcome.unwrap_or_else(|errors| lines(&errors)));
}

#[test]
fn syntax() {
    check(
        "",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 1:1: syntax error: unexpected end of the document
        "#]],
    );
    check(
        "{",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 1:2: syntax error: expected at least one Selection in Selection Set
            GRAPHQL_PARSE_FAILED 1:2: syntax error: expected }, got the end of the document
        "#]],
    );
    check(
        "{ venues { id }",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 1:16: syntax error: expected }, got the end of the document
        "#]],
    );
    check(
        "query {\n  venues { id ! }\n}",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 2:15: syntax error: expected }, got !
            GRAPHQL_PARSE_FAILED 2:15: syntax error: expected a StringValue, Name or OperationDefinition
            GRAPHQL_PARSE_FAILED 2:17: syntax error: expected a StringValue, Name or OperationDefinition
            GRAPHQL_PARSE_FAILED 3:1: syntax error: expected a StringValue, Name or OperationDefinition
        "#]],
    );
    check(
        "{ venues(limit limit: 1) { id } }",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 1:16: syntax error: expected : behind limit
        "#]],
    );
    check(
        "{ venues(where: {title: {eq: \"\nopen\"}}) { id } }",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 1:30: syntax error: unterminated string value
        "#]],
    );
    check(
        "{ venues \0 { id } }",
        &expect![[r#"
            GRAPHQL_PARSE_FAILED 1:10: syntax error: Unexpected character "\u{0}"
        "#]],
    );
    check(
        "{ venues(where: {title: {eq: \"open}}) { id } }",
        &expect![[r#"
        GRAPHQL_PARSE_FAILED 1:30: syntax error: unterminated string value
        GRAPHQL_PARSE_FAILED 1:47: syntax error: expected a valid Value
    "#]],
    );
    check(
        "type Query { a: Int }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:1: an executable document must not contain an object type definition
    "#]],
    );
}

#[test]
fn validation() {
    check(
        "{ venues { nothing } planets { id } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:12: type `Venue` does not have a field `nothing`
            GRAPHQL_VALIDATION_FAILED 1:22: type `Query` does not have a field `planets`
        "#]],
    );
    check(
        "{ venues }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:3: interface, union and object types must have a subselection set
    "#]],
    );
    check(
        "{ venues { id { id } } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:12: field selection of scalar type `Int` must not have subselections
        "#]],
    );
    check(
        "{ venues(limit: \"many\") { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:17: expected value of type Int, found a string
    "#]],
    );
    check(
        "{ venues(limit: 3000000000, where: {nothing: 1}) { id } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:17: int cannot represent non 32-bit signed integer value
            GRAPHQL_VALIDATION_FAILED 1:46: field `nothing` does not exist on `VenueClauses`
        "#]],
    );
    check(
        "{ venues(sort: {id: sideways}) { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:21: value `sideways` does not exist on `SortOperator`
    "#]],
    );
    check(
        "query ($a: Int) { venues { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:8: unused variable: `$a`
    "#]],
    );
    check(
        "{ venues(limit: $a) { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:17: variable `$a` is not defined
    "#]],
    );
    check(
        "query ($a: String) { venues(limit: $a) { id } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:36: variable "$a" of type String cannot be used where Int is expected
        "#]],
    );
    check(
        "query ($a: Venue) { venues(limit: 1) { id @include(if: $a) } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:8: `$a` variable must be of an input type
        "#]],
    );
}

#[test]
fn what_was_probably_meant() {
    let query = "{ venuse { id } venues(limt: 1, where: {titel: {eq: \"a\"}}, sort: {id: DSC}) { TITLE titel members { nothing } } }";
    check(
        query,
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:3: type `Query` does not have a field `venuse`; did you mean `venues`?
            GRAPHQL_VALIDATION_FAILED 1:24: the argument `limt` is not supported by `Query.venues`; did you mean `limit`?
            GRAPHQL_VALIDATION_FAILED 1:48: field `titel` does not exist on `VenueClauses`; did you mean `title`?
            GRAPHQL_VALIDATION_FAILED 1:71: value `DSC` does not exist on `SortOperator`; did you mean `asc`?
            GRAPHQL_VALIDATION_FAILED 1:79: type `Venue` does not have a field `TITLE`; did you mean `title`?
            GRAPHQL_VALIDATION_FAILED 1:85: type `Venue` does not have a field `titel`; did you mean `title`?
            GRAPHQL_VALIDATION_FAILED 1:91: type `Venue` does not have a field `members`
        "#]],
    );
    // Names are the schema, which is nobody's to know where it is not told.
    let secretive = Limits { introspection: false, ..Limits::default() };
    let refusal = pipeline(shared_schema(), parameters(query, "{}"), &secretive).unwrap_err();
    assert!(!lines(&refusal).contains("did you mean"), "{refusal:?}");
    let long = "v".repeat(100_000);
    let refusal = pipeline(shared_schema(), parameters(&format!("{{ {long} }}"), "{}"), &Limits::default());
    assert!(!lines(&refusal.unwrap_err()).contains("did you mean"));
}

#[test]
fn fragments_and_directives() {
    check(
        "{ venues { ...F } } fragment F on Venue { ...G } fragment G on Venue { ...F }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:21: `F` fragment cannot reference itself
    "#]],
    );
    check(
        "{ venues { ...F } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:12: cannot find fragment `F` in this document
    "#]],
    );
    check(
        "{ venues { id } } fragment F on Venue { id }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:19: fragment `F` must be used in an operation
    "#]],
    );
    check(
        "{ venues { ... on Meetup { id } } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:12: inline fragment with type condition `Meetup` cannot be applied to `Venue`
    "#]],
    );
    check(
        "{ venues { id: title id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:22: operation must not select different types using the same name `id`
        GRAPHQL_VALIDATION_FAILED 1:22: cannot select different fields into the same alias `id`
    "#]],
    );
    check(
        "{ venues(where: {id: {eq: 1}, id: {eq: 2}}) { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:31: the input object has the field id more than once
    "#]],
    );
    check(
        "{ venues @nothing { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:10: cannot find directive `@nothing` in this document
    "#]],
    );
    check(
        "mutation { createVenue { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:12: the required argument `Mutation.createVenue(id:)` is not provided
    "#]],
    );
    check(
        "subscription { venues { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:1: `subscription` root operation type is not defined
    "#]],
    );
    check(
        "query ($a: Int = \"x\") { venues(limit: $a) { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:18: expected value of type Int, found a string
    "#]],
    );
}

#[test]
fn operation_names() {
    let both = "query A { venues { id } } mutation B { createVenue(id: 1) { id } }";
    let named = |query: &str, name: &str| RequestParameters {
        operation_name: Some(name.into()),
        ..parameters(query, "{}")
    };
    check_with(
        named(both, "B"),
        &expect![[r#"
        mutation
          Mutation.createVenue(id: 1) Venue @1:40
            Venue.id Int! @1:61
    "#]],
    );
    check_with(
        named(both, "C"),
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED: the document has no operation named "C"; it has A, B
    "#]],
    );
    check_with(
        named("{ venues { id } }", "A"),
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED: the document has no operation named "A"; it has an anonymous one
    "#]],
    );
    check(
        both,
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED: the document has several operations; choose one of A, B with operationName
    "#]],
    );
    check(
        "fragment F on Venue { id }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:1: fragment `F` must be used in an operation
    "#]],
    );
    check(
        "query A { venues { id } } query A { venues { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:33: the operation `A` is defined multiple times in the document
    "#]],
    );
    check(
        "{ venues { id } } query A { venues { id } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:1: anonymous operation cannot be selected when the document contains other operations
    "#]],
    );
}

#[test]
fn depth() {
    let nested = |levels: usize| {
        let open = "meetups { members { ".repeat(levels);
        format!("{{ venues {{ {open} id {} }} }}", "} }".repeat(levels))
    };
    let limits = Limits::default();
    assert!(
        pipeline(shared_schema(), parameters(&nested(7), "{}"), &limits).is_ok(),
        "15 levels are allowed"
    );
    check(
        &nested(8),
        &expect![[r#"
        LIMIT_EXCEEDED 1:1: Exceeded maximum nest level.
    "#]],
    );
    check(
        &nested(1_000),
        &expect![[r#"
            LIMIT_EXCEEDED: the document is nested 2002 levels deep; the limit is 64 (max_nesting): ask for fewer levels, or send values as variables
        "#]],
    );
    let through_fragments = "{ venues { ...A } } fragment A on Venue { meetups { ...B } } fragment B on Meetup { members { id } }";
    let limits = Limits { max_depth: 2, ..limits };
    let errors = pipeline(shared_schema(), parameters(through_fragments, "{}"), &limits).unwrap_err();
    assert_eq!(errors[0].message, "Exceeded maximum nest level.");
    assert_eq!(errors[0].code, ErrorCode::LimitExceeded);
    let introspection =
        "{ __schema { types { fields { type { ofType { ofType { name } } } } } } venues { id } }";
    assert!(
        pipeline(shared_schema(), parameters(introspection, "{}"), &limits).is_ok(),
        "introspection is exempt"
    );
}

/// They are none of the specification's tokens (section 2.1.7), so the limit does not count them.
#[test]
fn commas_and_blanks_are_no_tokens() {
    let (commas, blanks) = (", ".repeat(20_000), " ".repeat(20_000));
    let limits = Limits::default();
    let outcome = pipeline(
        shared_schema(),
        parameters(&format!("{{ {commas} venues {blanks} {{ id }} }}"), "{}"),
        &limits,
    );
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// Commas may stand between any two tokens (section 2.1.5), and what can be named may be described (section 2.4 of September 2025).
#[test]
fn commas_stand_anywhere_and_descriptions_before_definitions() {
    for document in [
        "{ venues {..., on Venue {a,:id}..., {id}, ...,F} } fragment F on Venue { id }",
        "\"All.\" query A(\"\"\"How many.\"\"\" $a: Int = 1, \"From.\" $b: Int) { venues(limit: $a, offset: $b) { id } }",
        "{ venues { ...F } } \"Of a venue.\" fragment F on Venue { id }",
    ] {
        let outcome = pipeline(shared_schema(), parameters(document, "{}"), &Limits::default());
        assert!(outcome.is_ok(), "{document}: {outcome:?}");
    }
}

#[test]
fn bombs() {
    let aliases: String = (0..10_000).map(|index| format!("a{index}:id ")).collect();
    check(
        &format!("{{ venues {{ {aliases} }} }}"),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 30005 tokens; the limit is 10000 (max_tokens): ask for less at a time
        "#]],
    );
    check(
        &format!("{{ venues {{ {} }} }}", &aliases[..10_890]),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 1333 aliases; the limit is 1000 (max_aliases): send several requests
        "#]],
    );
    let roots: String = (0..101).map(|index| format!("a{index}:venues{{id}}")).collect();
    check(
        &format!("{{ {roots} }}"),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 101 root fields; the limit is 100 (max_root_fields): send several requests
        "#]],
    );
    check(
        &format!("{{ venues {{ id {} }} }}", "@include(if:true)".repeat(501)),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 501 directives; the limit is 500 (max_directives): ask for fewer at a time
        "#]],
    );
    let doubling = |level: usize| format!("fragment F{level} on Venue {{ ...F{0} ...F{0} }}", level + 1);
    let fragments: String = (0..50).map(doubling).collect();
    check(
        &format!("{{ venues {{ ...F0 }} }} {fragments} fragment F50 on Venue {{ id }}"),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 1125899906842625 fields when its fragments are expanded; the limit is 2500 (max_fields): ask for fewer at a time
        "#]],
    );
    let chain = |level: usize| format!("fragment F{level} on Venue {{ ...F{} }}", level + 1);
    let fragments: String = (0..90).map(chain).collect();
    check(
        &format!("{{ venues {{ ...F0 }} }} {fragments} fragment F90 on Venue {{ id }}"),
        &expect![[r#"
            LIMIT_EXCEEDED: selections are nested deeper than 64 levels (max_nesting): ask for fewer, or in several requests
        "#]],
    );
    let fragments: String = (0..200).map(chain).collect();
    check(
        &format!("{{ venues {{ id }} }} {fragments}"),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 201 operations and fragments; the limit is 100 (max_definitions): send only the operation that is to run
        "#]],
    );
    check(
        &format!("{{ venues(where: {}) {{ id }} }}", "{and:".repeat(3_000)),
        &expect![[r#"
            LIMIT_EXCEEDED: the document is nested 3002 levels deep; the limit is 64 (max_nesting): ask for fewer levels, or send values as variables
        "#]],
    );
    check(
        &format!("query ($a: {}Int{}) {{ venues {{ id }} }}", "[".repeat(500), "]".repeat(500)),
        &expect![[r#"
            LIMIT_EXCEEDED: the document is nested 500 levels deep; the limit is 64 (max_nesting): ask for fewer levels, or send values as variables
        "#]],
    );
    check(
        &format!("# {}", "x".repeat(200_000)),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 200002 bytes; the limit is 131072 (max_document_bytes): send values as variables, or several requests
        "#]],
    );
    let variables: String = (0..300).map(|index| format!("$v{index}: Int ")).collect();
    check(
        &format!("query ({variables}) {{ venues {{ id }} }}"),
        &expect![[r#"
            LIMIT_EXCEEDED 1:1: the document has 300 variables; the limit is 256 (max_variables): gather values in input objects
        "#]],
    );
    let operations: String =
        (0..100).map(|index| format!("query A{index} {{ venues {{ ...F }} }}")).collect();
    check(
        &format!("{operations} fragment F on Venue {{ {} }}", "id ".repeat(100)),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 101 operations and fragments; the limit is 100 (max_definitions): send only the operation that is to run
        "#]],
    );
}

#[test]
fn repeated_introspection() {
    let fields: String = (0..5).map(|index| format!("a{index}: __schema {{ types {{ name }} }} ")).collect();
    check(
        &format!("{{ {fields} }}"),
        &expect![[r#"
            LIMIT_EXCEEDED: the document has 5 introspecting fields; the limit is 4 (max_introspection_fields): ask for __schema once
        "#]],
    );
}

#[test]
fn positions_count_characters() {
    check(
        "{\r\n  # gr\u{fc}n\r\n  venues(where: {title: {eq: \"\u{1f600}\u{fc}\"}}, nothing: 1) { id } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 3:42: the argument `nothing` is not supported by `Query.venues`
        "#]],
    );
}

#[test]
fn introspection_switched_off() {
    let limits = Limits { introspection: false, ..Limits::default() };
    let refusal = |query| lines(&Operation::parse(shared_schema(), query, None, &limits).unwrap_err());
    let expected = expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:1: introspection is switched off on this server; ask its operator for the schema, or for `introspection` to be switched on
    "#]];
    expected.assert_eq(&refusal("{ __schema { types { name } } }"));
    expected.assert_eq(&refusal("{ ...F } fragment F on Query { __type(name: \"A\") { name } }"));
    assert!(Operation::parse(shared_schema(), "{ __typename venues { __typename } }", None, &limits).is_ok());
}

#[test]
fn variables_in_places_that_do_not_take_them() {
    let check = |declared: &str, used: &str, expected: &Expect| {
        check(&format!("query ($v: {declared}) {{ members({used}) {{ id }} }}"), expected);
    };
    check(
        "[Int!]",
        "where: {id: {eq: $v}}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:47: variable "$v" of type [Int!] cannot be used where Int is expected
        "#]],
    );
    check(
        "[Int]",
        "where: {id: {in: $v}}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:46: variable "$v" of type [Int] cannot be used where [Int!] is expected
        "#]],
    );
    check(
        "Int",
        "where: {id: {in: $v}}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:44: variable "$v" of type Int cannot be used where [Int!] is expected
        "#]],
    );
    check(
        "Int",
        "where: {id: {in: [1, $v]}}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:48: variable "$v" of type Int cannot be used where Int! is expected
        "#]],
    );
    check(
        "Int = 3",
        "where: {id: {in: [1, $v]}}",
        &expect![[r#"
        query
          Query.members(where: {id: {in: [1, $0]}}) [Member!]! @1:23
            Member.id Int! @1:61
    "#]],
    );
    check(
        "[Int!]!",
        "where: {id: {in: $v}}",
        &expect![[r#"
        BAD_USER_INPUT 1:8: variable "$v": expected a value of type [Int!]!, found none
    "#]],
    );
    check(
        "IntWhere",
        "where: {and: [{id: $v}]}",
        &expect![[r#"
        query
          Query.members(where: {and: [{}]}) [Member!]! @1:24
            Member.id Int! @1:60
    "#]],
    );
    check(
        "[MemberClauses]",
        "where: {and: $v}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:52: variable "$v" of type [MemberClauses] cannot be used where [MemberClauses!] is expected
        "#]],
    );
    check(
        "MemberClauses",
        "where: {and: [{not: $v}]}",
        &expect![[r#"
        query
          Query.members(where: {and: [{}]}) [Member!]! @1:29
            Member.id Int! @1:66
    "#]],
    );
    check(
        "MemberClauses",
        "where: {and: $v}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:50: variable "$v" of type MemberClauses cannot be used where [MemberClauses!] is expected
        "#]],
    );
    check(
        "MeetupClauses",
        "where: {not: $v}",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:50: variable "$v" of type MeetupClauses cannot be used where MemberClauses is expected
        "#]],
    );
}

#[test]
fn conflicting_fields() {
    check(
        "{ members(where: {id: {in: [1]}}) { id } members(where: {id: {in: [1, 2]}}) { title } }",
        &expect![[r#"
            BAD_USER_INPUT 1:42: fields named members have different arguments; give one an alias
        "#]],
    );
    check(
        "{ members(limit: 1) { id } members(limit: 2) { title } }",
        &expect![[r#"
        GRAPHQL_VALIDATION_FAILED 1:28: operation must not provide conflicting field arguments for the same name `members`
    "#]],
    );
    check(
        "{ members(where: {id: {gt: 1, lt: 5}}) { id } members(where: {id: {lt: 5, gt: 1}}) { title } }",
        &expect![[r#"
            query
              Query.members(where: {id: {gt: 1, lt: 5}}) [Member!]! @1:3
                Member.id Int! @1:42
                Member.title String @1:86
        "#]],
    );
}

#[test]
fn null_conditions() {
    check(
        "query ($b: Boolean = null) { venues { id @skip(if: $b) } }",
        &expect![[r#"
            GRAPHQL_VALIDATION_FAILED 1:52: variable "$b" of type Boolean cannot be used where Boolean! is expected
        "#]],
    );
    check_with(
        parameters("query ($b: Boolean = true) { venues { id @skip(if: $b) } }", r#"{"b": null}"#),
        &expect![[r#"
            BAD_USER_INPUT 1:52: variable "$b" is null where @skip expects Boolean!
        "#]],
    );
}
