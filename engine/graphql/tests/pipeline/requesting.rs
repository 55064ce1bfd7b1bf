//! Parameters from JSON and from texts.

use expect_test::{Expect, expect};
use prony_graphql::request::RequestParameters;
use serde_json::Value as Json;

fn check(body: &str, expected: &Expect) {
    let outcome = match RequestParameters::from_json(body.as_bytes()) {
        Ok(parameters) => format!("{parameters:?}"),
        Err(fault) => fault.to_string(),
    };
    expected.assert_eq(&outcome);
}

#[test]
fn bodies() {
    check(
        r#" {"query":"{ a }","operationName":null,"variables":{"a":[1]},"extensions":null,"id":7}"#,
        &expect![[
            r#"RequestParameters { query: "{ a }", document_id: None, operation_name: None, variables: {"a": Array [Number(1)]}, extensions: {}, sent_variables: None }"#
        ]],
    );
    check(
        r#"{"query":"{ \"\u0000 }","operationName":"A"}"#,
        &expect![[
            r#"RequestParameters { query: "{ \"\0 }", document_id: None, operation_name: Some("A"), variables: {}, extensions: {}, sent_variables: None }"#
        ]],
    );
}

/// As `serde_json` reads them, or not at all.
#[test]
fn escapes_in_texts() {
    for text in [
        r"",
        r"{ a }",
        r#"\\\"\/\b\f\n\r\t"#,
        r#"a\"b\\"#,
        r"é\n☃",
        r"\u00e9\n\ud83c\udf69",
        r"\n\ud83c",
        r"\x",
        r"\",
        "\n",
        "\u{7f}",
    ] {
        let body = format!(
            r#"{{"operationName": "{text}", "query": "{text}", "extensions": {{"persistedQuery": 1}}}}"#
        );
        let read = RequestParameters::from_json(body.as_bytes()).ok();
        let read = read.map(|parameters| [parameters.operation_name, Some(parameters.query)]);
        let expected = serde_json::from_str::<Json>(&body).ok();
        let expected = expected
            .map(|body| ["operationName", "query"].map(|member| body[member].as_str().map(str::to_owned)));
        assert_eq!(read, expected, "{text}");
    }
    check(
        r#"{"query": "\ud83c"}"#,
        &expect!["the request is not JSON: unexpected end of hex escape at line 1, column 18"],
    );
}

#[test]
fn a_document_may_be_named_instead() {
    check(
        r#"{"documentId":"names"}"#,
        &expect![[
            r#"RequestParameters { query: "", document_id: Some("names"), operation_name: None, variables: {}, extensions: {}, sent_variables: None }"#
        ]],
    );
    check(
        r#"{"extensions":{"persistedQuery":{}}}"#,
        &expect![[
            r#"RequestParameters { query: "", document_id: None, operation_name: None, variables: {}, extensions: {"persistedQuery": Object {}}, sent_variables: None }"#
        ]],
    );
    check(r#"{"documentId":7}"#, &expect!["documentId must be a string, not a number"]);
}

#[test]
fn faults() {
    check("", &expect!["the request is not JSON: EOF while parsing a value at line 1, column 0"]);
    check(
        "{\"query\":\n  \"{ a }\",}",
        &expect!["the request is not JSON: trailing comma at line 2, column 11"],
    );
    check("[{\"query\": \"{ a }\"}]", &expect!["the request must be a JSON object, not a list"]);
    check("\"{ a }\"", &expect!["the request must be a JSON object, not a string"]);
    check("{}", &expect!["query is missing: send the text of a GraphQL document in it"]);
    check(r#"{"query": null}"#, &expect!["query is missing: send the text of a GraphQL document in it"]);
    check(r#"{"query": ""}"#, &expect!["query is missing: send the text of a GraphQL document in it"]);
    check(r#"{"query": 1}"#, &expect!["query must be a string, not a number"]);
    check(r#"{"query": "a", "operationName": []}"#, &expect!["operationName must be a string, not a list"]);
    check(r#"{"query": "a", "variables": "{}"}"#, &expect!["variables must be an object, not a string"]);
    check(r#"{"query": "a", "extensions": 3}"#, &expect!["extensions must be an object, not a number"]);
    check(
        r#"{"query": "a", "query": "b"}"#,
        &expect!["the request is not JSON: duplicate field `query` at line 1, column 22"],
    );
    check(
        r#"{"query": "a"} {"#,
        &expect!["the request is not JSON: trailing characters at line 1, column 16"],
    );
    check(
        &format!(r#"{{"query": "a", "variables": {}"#, "[".repeat(10_000)),
        &expect!["the request is not JSON: recursion limit exceeded at line 1, column 155"],
    );
    let latin = RequestParameters::from_json(b"{\"query\": \"\xfc\"}").unwrap_err();
    expect!["the request is not JSON: invalid UTF-8 at line 1, column 12"].assert_eq(&latin.to_string());
    let unlooked = RequestParameters::from_json(b"{\"query\": \"a\",\n\"x\": \"\xff\"}").unwrap_err();
    expect!["the request is not JSON: invalid UTF-8 at line 2, column 7"].assert_eq(&unlooked.to_string());
}

#[test]
fn texts() {
    let from = |variables| {
        RequestParameters::from_texts(Some("{ a }".into()), None, Some(String::new()), variables, None)
    };
    let parameters = from(Some(r#"{"a": 1}"#)).unwrap();
    assert_eq!((parameters.operation_name, parameters.variables["a"].as_i64()), (None, Some(1)));
    expect!["variables is not JSON: key must be a string at line 1, column 2"]
        .assert_eq(&from(Some("{a}")).unwrap_err().to_string());
    expect!["variables must be an object, not a list"].assert_eq(&from(Some("[]")).unwrap_err().to_string());
    expect!["query is missing: send the text of a GraphQL document in it"]
        .assert_eq(&RequestParameters::from_texts(None, None, None, None, None).unwrap_err().to_string());
}
