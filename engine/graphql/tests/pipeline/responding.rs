//! Bodies of responses.

use expect_test::{Expect, expect};
use prony_graphql::{
    document::{Operation, limits::Limits},
    error::{ErrorCode, GraphqlError, PathSegment, Position},
    response::{self, Detail, FieldResult},
    variables::Variables,
};

use crate::fixture::schema;

fn check(query: &str, results: &[FieldResult], expected: &Expect) {
    let schema = schema();
    let operation = Operation::parse(&schema, query, None, &Limits::default()).unwrap();
    let selection = operation.select(&schema, &Variables::default()).unwrap();
    let body = response::assemble(&selection.fields, results, Detail::Hidden);
    serde_json::from_slice::<serde_json::Value>(&body).unwrap();
    expected.assert_eq(&String::from_utf8(body).unwrap());
}

fn error() -> GraphqlError {
    let mut error = GraphqlError::new(ErrorCode::ConstraintViolation, "id must be \"unique\"")
        .at(Position { line: 1, column: 2 })
        .with_path(vec![PathSegment::Key("b".into()), PathSegment::Index(3), PathSegment::Key("id".into())])
        .with_detail("duplicate key\nvalue");
    error.refer("q4711");
    error
}

#[test]
fn data() {
    let results = [FieldResult::data(b"[1]".to_vec()), FieldResult::data(b"[]".to_vec())];
    check("{ venues { id } b: venues { id } }", &results, &expect![[r#"{"data":{"venues":[1],"b":[]}}"#]]);
}

#[test]
fn nullable_fields_become_null() {
    let results = [FieldResult::data(b"{\"id\":1}".to_vec()), FieldResult::failed(error())];
    check(
        "mutation { a: createVenue(id: 1) { id } b: createVenue(id: 2) { id } }",
        &results,
        &expect![[
            r#"{"data":{"a":{"id":1},"b":null},"errors":[{"message":"id must be \"unique\"","locations":[{"line":1,"column":2}],"path":["b",3,"id"],"extensions":{"code":"CONSTRAINT_VIOLATION","reference":"q4711"}}]}"#
        ]],
    );
}

#[test]
fn non_null_fields_null_everything() {
    let results = [FieldResult::data(b"[1]".to_vec()), FieldResult::failed(error())];
    check(
        "{ venues { id } b: venues { id } }",
        &results,
        &expect![[
            r#"{"data":null,"errors":[{"message":"id must be \"unique\"","locations":[{"line":1,"column":2}],"path":["b",3,"id"],"extensions":{"code":"CONSTRAINT_VIOLATION","reference":"q4711"}}]}"#
        ]],
    );
}

#[test]
fn data_and_errors_of_one_field() {
    let results = [FieldResult { data: Some(b"[null]".to_vec()), errors: vec![error(), error()] }];
    check(
        "{ venues { id } }",
        &results,
        &expect![[
            r#"{"data":{"venues":[null]},"errors":[{"message":"id must be \"unique\"","locations":[{"line":1,"column":2}],"path":["b",3,"id"],"extensions":{"code":"CONSTRAINT_VIOLATION","reference":"q4711"}},{"message":"id must be \"unique\"","locations":[{"line":1,"column":2}],"path":["b",3,"id"],"extensions":{"code":"CONSTRAINT_VIOLATION","reference":"q4711"}}]}"#
        ]],
    );
}

#[test]
fn an_operation_without_fields() {
    check("{ venues @skip(if: true) { id } }", &[], &expect![[r#"{"data":{}}"#]]);
}

#[test]
fn refusals_have_no_data() {
    let body = response::refuse(&[error(), GraphqlError::new(ErrorCode::Timeout, "late")], Detail::Shown);
    expect![[r#"{"errors":[{"message":"id must be \"unique\"","locations":[{"line":1,"column":2}],"path":["b",3,"id"],"extensions":{"code":"CONSTRAINT_VIOLATION","reference":"q4711","detail":"duplicate key\nvalue"}},{"message":"late","extensions":{"code":"TIMEOUT"}}]}"#]].assert_eq(&String::from_utf8(body).unwrap());
}

#[test]
fn extensions_of_a_resolver_stand_beside_the_code_or_replace_it() {
    let mut sold_out = GraphqlError::new(ErrorCode::SourceFailed, "sold out");
    sold_out.extensions =
        serde_json::json!({ "code": "SOLD_OUT", "left": 0 }).as_object().cloned().map(Box::new);
    let mut late = GraphqlError::new(ErrorCode::Timeout, "late");
    late.extensions = serde_json::json!({ "after": "3 s" }).as_object().cloned().map(Box::new);
    let body = response::refuse(&[sold_out, late], Detail::Hidden);
    expect![[r#"{"errors":[{"message":"sold out","extensions":{"code":"SOLD_OUT","left":0}},{"message":"late","extensions":{"code":"TIMEOUT","after":"3 s"}}]}"#]].assert_eq(&String::from_utf8(body).unwrap());
}
