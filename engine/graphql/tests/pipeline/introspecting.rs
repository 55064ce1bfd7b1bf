//! Answers from the schema, held against apollo-compiler's own.

use expect_test::expect;
use prony_graphql::{
    compiler::{
        ExecutableDocument, introspection::partial_execute, request::coerce_variable_values,
        response::JsonMap,
    },
    document::{Operation, limits::Limits},
    introspection,
    response::{self, Detail, FieldResult},
    schema::Schema,
};
use serde_json::Value as Json;

use crate::fixture::{from_sdl, schema};

/// What graphql-js and GraphiQL send (graphql-js, `getIntrospectionQuery` with all options).
const FULL: &str = "query IntrospectionQuery { __schema { description queryType { name kind } mutationType { name kind }
  subscriptionType { name kind } types { ...FullType }
  directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL
  fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef }
    isDeprecated deprecationReason }
  inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
  ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";

fn ours(schema: &Schema, query: &str, variables: &str, limits: &Limits) -> String {
    let operation = Operation::parse(schema, query, None, limits).unwrap();
    let (variables, _) = operation.coerce(schema, serde_json::from_str(variables).unwrap()).unwrap();
    let selection = operation.select(schema, &variables).unwrap();
    let answers: Vec<FieldResult> = selection
        .fields
        .iter()
        .map(|field| introspection::answer(schema, field, &variables, limits))
        .collect();
    String::from_utf8(response::assemble(&selection.fields, &answers, Detail::Hidden)).unwrap()
}

fn theirs(schema: &Schema, query: &str, variables: &str) -> String {
    let valid = schema.valid();
    let document = ExecutableDocument::parse_and_validate(valid, query, "query").unwrap();
    let operation = document.operations.get(None).unwrap();
    let given: JsonMap = serde_json::from_str(variables).unwrap();
    let values = coerce_variable_values(valid, operation, &given).unwrap();
    let answer = partial_execute(valid, schema.implementers(), &document, operation, &values).unwrap();
    serde_json::to_string(&answer).unwrap()
}

fn check(schema: &Schema, query: &str, variables: &str) {
    let (ours, theirs) =
        (ours(schema, query, variables, &Limits::default()), theirs(schema, query, variables));
    let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
    assert!(read(&ours) == read(&theirs), "{query}\nours:   {ours}\ntheirs: {theirs}");
}

#[test]
fn equals_apollo_compilers_answers() {
    let schema = schema();
    for (query, variables) in [
        (FULL, "{}"),
        ("{ __typename a: __typename __type(name: \"SortOperator\") { name enumValues { name } __typename } }", "{}"),
        ("{ __type(name: \"None\") { name } }", "{}"),
        ("query ($n: String!, $d: Boolean) { __type(name: $n) { ...F fields(includeDeprecated: $d) { name type { name } } } }
          fragment F on __Type { kind possibleTypes { name } interfaces { name } inputFields { name } }", r#"{"n": "Venue"}"#),
        ("{ __schema { types { name ofType { name } } directives { name locations isRepeatable __typename } } }", "{}"),
    ] {
        check(&schema, query, variables);
    }
}

#[test]
fn deprecated_interfaces_and_unions() {
    let schema = deprecating();
    check(&schema, FULL, "{}");
    for include in ["true", "false", "null"] {
        let query = format!(
            "{{ __schema {{ types {{ fields(includeDeprecated: {include}) {{ name args(includeDeprecated: {include}) {{ name }} }} \
             enumValues(includeDeprecated: {include}) {{ name deprecationReason }} \
             inputFields(includeDeprecated: {include}) {{ name defaultValue isDeprecated }} }} }} }}"
        );
        check(&schema, &query, "{}");
    }
}

/// A schema with everything that relational sources leave out.
fn deprecating() -> Schema {
    let text = r#"
        type Query { a(x: Int = 3, y: [In!]! = [{k: "v\"", e: RED}] @deprecated): Node @deprecated(reason: "gone") b: [[Either!]!]! }
        interface Named { name: String } interface Node implements Named { id: ID! name: String }
        type One implements Node & Named { id: ID! name: String } type Two implements Named { name: String @deprecated }
        union Either = One | Two  enum Colour { RED "warm" BLUE @deprecated(reason: "cold") }
        input In { k: String = "d" e: Colour n: In old: Int @deprecated }
        "what it is" scalar Url @specifiedBy(url: "https://example.com")
        type Three { url: Url }"#;
    from_sdl(text)
}

#[test]
fn by_hand() {
    let query = "{ __type(name: \"UUID\") { kind name specifiedByURL fields { name } ofType { name } } }";
    expect![[r#"{"data":{"__type":{"kind":"SCALAR","name":"UUID","specifiedByURL":"https://tools.ietf.org/html/rfc4122","fields":null,"ofType":null}}}"#]].assert_eq(&ours(&schema(), query, "{}", &Limits::default()));
    let query = "{ __type(name: \"Venue\") { description fields { name type { kind ofType { kind ofType { kind ofType { name } } } } } } }";
    expect![[r#"{"data":{"__type":{"description":"A row.","fields":[{"name":"id","type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","ofType":null}}},{"name":"title","type":{"kind":"SCALAR","ofType":null}},{"name":"active","type":{"kind":"SCALAR","ofType":null}},{"name":"meetups","type":{"kind":"NON_NULL","ofType":{"kind":"LIST","ofType":{"kind":"NON_NULL","ofType":{"name":"Meetup"}}}}}]}}}"#]].assert_eq(&ours(&schema(), query, "{}", &Limits::default()));
}

#[test]
fn answers_are_bounded() {
    let limits = Limits { max_introspection_bytes: 1_000, ..Limits::default() };
    expect![[r#"{"data":null,"errors":[{"message":"introspection answers with more than 1000 bytes (max_introspection_bytes); ask for fewer types, or for the schema as a file","locations":[{"line":1,"column":28}],"path":["__schema"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}"#]].assert_eq(&ours(&schema(), FULL, "{}", &limits));
}
