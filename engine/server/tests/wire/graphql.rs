//! GraphQL over HTTP: media types, statuses, methods, and the errors that a client sees.

use std::fmt::Write as _;

use expect_test::expect;

use crate::support::{Server, check, get, post, post_with, query};

/// Status and body of each combination.
#[test]
fn the_matrix_of_methods_and_media_types() {
    let server = Server::start();
    let json = "content-type: application/json\r\n";
    let documents = [
        ("fine", "{\"query\":\"{ __typename }\"}"),
        ("syntax", "{\"query\":\"{\"}"),
        ("invalid", "{\"query\":\"{ nothing }\"}"),
        ("coercion", "{\"query\":\"query($x: Int!) { artists(limit: $x) { Name } }\"}"),
        ("field error", "{\"query\":\"{ artists(limit: 1000000) { Name } }\"}"),
        ("no query", "{}"),
        ("wrong type", "{\"query\":5}"),
        ("batch", "[{\"query\":\"{ __typename }\"}]"),
        ("no json", "query"),
    ];
    let mut table = String::new();
    for accept in ["", "accept: application/json\r\n", "accept: application/graphql-response+json\r\n"] {
        let _ = writeln!(table, "{}", if accept.is_empty() { "no accept" } else { accept.trim_end() });
        for (name, body) in documents {
            let response = server.ask(post_with(&format!("{json}{accept}"), body));
            let mut lines = response.lines();
            let status = lines.next().unwrap_or_default();
            let _ = writeln!(table, "  {name}: {status}\n    {}", lines.last().unwrap_or_default());
        }
    }
    expect![[r#"
        no accept
          fine: HTTP/1.1 200 OK
            {"data":{"__typename":"Query"}}
          syntax: HTTP/1.1 200 OK
            {"errors":[{"message":"syntax error: expected at least one Selection in Selection Set","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}},{"message":"syntax error: expected }, got the end of the document","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}
          invalid: HTTP/1.1 200 OK
            {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
          coercion: HTTP/1.1 200 OK
            {"errors":[{"message":"variable \"$x\": expected a value of type Int!, found none","locations":[{"line":1,"column":7}],"extensions":{"code":"BAD_USER_INPUT"}}]}
          field error: HTTP/1.1 200 OK
            {"data":null,"errors":[{"message":"`limit` is 1000000, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["artists"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
          no query: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"query is missing: send the text of a GraphQL document in it"}]}
          wrong type: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"query must be a string, not a number"}]}
          batch: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"batches are not taken: send each request by itself, or several root fields in one"}]}
          no json: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"the request is not JSON: expected value at line 1, column 1"}]}
        accept: application/json
          fine: HTTP/1.1 200 OK
            {"data":{"__typename":"Query"}}
          syntax: HTTP/1.1 200 OK
            {"errors":[{"message":"syntax error: expected at least one Selection in Selection Set","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}},{"message":"syntax error: expected }, got the end of the document","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}
          invalid: HTTP/1.1 200 OK
            {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
          coercion: HTTP/1.1 200 OK
            {"errors":[{"message":"variable \"$x\": expected a value of type Int!, found none","locations":[{"line":1,"column":7}],"extensions":{"code":"BAD_USER_INPUT"}}]}
          field error: HTTP/1.1 200 OK
            {"data":null,"errors":[{"message":"`limit` is 1000000, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["artists"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
          no query: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"query is missing: send the text of a GraphQL document in it"}]}
          wrong type: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"query must be a string, not a number"}]}
          batch: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"batches are not taken: send each request by itself, or several root fields in one"}]}
          no json: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"the request is not JSON: expected value at line 1, column 1"}]}
        accept: application/graphql-response+json
          fine: HTTP/1.1 200 OK
            {"data":{"__typename":"Query"}}
          syntax: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"syntax error: expected at least one Selection in Selection Set","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}},{"message":"syntax error: expected }, got the end of the document","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}
          invalid: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
          coercion: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"variable \"$x\": expected a value of type Int!, found none","locations":[{"line":1,"column":7}],"extensions":{"code":"BAD_USER_INPUT"}}]}
          field error: HTTP/1.1 200 OK
            {"data":null,"errors":[{"message":"`limit` is 1000000, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["artists"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
          no query: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"query is missing: send the text of a GraphQL document in it"}]}
          wrong type: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"query must be a string, not a number"}]}
          batch: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"batches are not taken: send each request by itself, or several root fields in one"}]}
          no json: HTTP/1.1 400 Bad Request
            {"errors":[{"message":"the request is not JSON: expected value at line 1, column 1"}]}
    "#]].assert_eq(&table);
}

#[test]
fn what_is_not_acceptable_or_not_json_is_refused() {
    let server = Server::start();
    let fine = "{\"query\":\"{ __typename }\"}";
    check(
        &server,
        post_with("content-type: application/json\r\naccept: text/html\r\n", fine),
        expect![[r#"
            HTTP/1.1 406 Not Acceptable
            content-type: application/json; charset=utf-8
            {"errors":[{"message":"the client accepts neither application/graphql-response+json nor application/json"}]}
        "#]],
    );
    for content_type in
        ["", "content-type: text/plain\r\n", "content-type: application/x-www-form-urlencoded\r\n"]
    {
        let response = server.ask(post_with(content_type, fine));
        assert!(response.starts_with("HTTP/1.1 415 Unsupported Media Type"), "{response}");
    }
}

#[test]
fn get_takes_queries_only() {
    let server = Server::start();
    check(
        &server,
        get("/graphql?query=query(%24n:Int)%7Bartists(limit:%24n)%7BName%7D%7D&variables=%7B%22n%22:1%7D"),
        expect![[r#"
            HTTP/1.1 200 OK
            content-type: application/json; charset=utf-8
            {"data":{"artists":[{"Name":"AC/DC"}]}}
        "#]],
    );
    check(
        &server,
        get("/graphql?query=mutation%7BcreateGenre(GenreId:99,Name:%22x%22)%7BGenreId%7D%7D"),
        expect![[r#"
            HTTP/1.1 405 Method Not Allowed
            content-type: application/json; charset=utf-8
            allow: POST, OPTIONS
            {"errors":[{"message":"GET may only query; send mutations with POST"}]}
        "#]],
    );
    check(
        &server,
        get("/graphql"),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"query is missing: send the text of a GraphQL document in it"}]}
    "#]],
    );
    check(
        &server,
        get("/graphql?query=%7B__typename%7D&variables=%5B%5D"),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"variables must be an object, not a list"}]}
    "#]],
    );
    assert!(server.ask(query("{ genres(where: {GenreId: {eq: 99}}) { Name } }")).contains("[]"));
}

#[test]
fn one_of_several_operations_is_chosen() {
    let server = Server::start();
    let both = r#""query":"query A { __typename } query B { genres(limit: 1) { Name } }""#;
    check(
        &server,
        post(&format!("{{{both},\"operationName\":\"B\"}}")),
        expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"data":{"genres":[{"Name":"Rock"}]}}
    "#]],
    );
    check(
        &server,
        post(&format!("{{{both}}}")),
        expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"the document has several operations; choose one of A, B with operationName","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
    "#]],
    );
}

#[test]
fn mutations_run_in_order_and_all_or_none() {
    let server = Server::start();
    check(
        &server,
        query(
            "mutation { a: createGenre(GenreId: 98, Name: \"Skiffle\") { GenreId } \
             b: updateGenre(pk_columns: {GenreId: 98}, Name: \"Ska\") { result } }",
        ),
        expect![[r#"
            HTTP/1.1 200 OK
            content-type: application/json; charset=utf-8
            {"data":{"a":{"GenreId":98},"b":{"result":true}}}
        "#]],
    );
    let refused = server.ask(query(
        "mutation { a: createGenre(GenreId: 99, Name: \"Polka\") { GenreId } \
         b: createGenre(GenreId: 98, Name: \"Again\") { GenreId } }",
    ));
    assert!(refused.contains("CONSTRAINT_VIOLATION"), "{refused}");
    assert!(!refused.contains("UNIQUE constraint"), "the database's text is not for clients: {refused}");
    check(
        &server,
        query("{ genres(where: {GenreId: {gte: 98}}) { GenreId Name } }"),
        expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"data":{"genres":[{"GenreId":98,"Name":"Ska"}]}}
    "#]],
    );
}

#[test]
fn the_databases_text_is_shown_where_that_is_configured() {
    let server = Server::with(|settings| settings.expose_database_errors = true);
    let text = "mutation { createGenre(GenreId: 1, Name: \"Again\") { GenreId } }";
    let response = server.ask(query(text));
    assert!(response.contains("\"detail\":\"") && response.contains("\"reference\":\""), "{response}");
}

/// It is parsed beside the core where it is not known, however the request is read.
#[test]
fn a_long_document_is_answered_as_a_short_one() {
    let server = Server::start();
    let comment = format!("# {}\n", "x".repeat(9_000));
    let asked = |text: &str| {
        let body = serde_json::json!({ "query": text, "variables": { "limit": 1 } }).to_string();
        let by_hyper = post_with("content-type: application/json\r\nx-prony-timing: 1\r\n", &body);
        let (by_hyper, plain) = (server.ask(by_hyper), server.ask(post(&body)));
        let body_of = |response: &str| response.lines().last().unwrap_or_default().to_owned();
        let (one, other) = (body_of(&by_hyper), body_of(&plain));
        assert_eq!(one, other, "{text}");
        one
    };
    for (text, locations) in [
        ("query($limit: Int) { artists(limit: $limit) { Name } }", false),
        ("query($limit: String) { artists(limit: $limit) { Name } }", true),
        ("query($limit: Int) { artists(limit: $limit) { Nome } }", true),
        ("query($limit: Int) { artists(limit: $limit) { Name ", true),
    ] {
        let short = asked(&format!("# {}\n{text}", "y"));
        for _ in 0..2 {
            let long = asked(&format!("{comment}{text}"));
            assert_eq!(long, short);
            assert_eq!(long.contains("locations"), locations, "{long}");
        }
    }
    assert!(asked(&"{ artists(limit: 1) { Name } }".repeat(400)).contains("400 operations and fragments"));
}

#[test]
fn stages_are_timed_on_request() {
    let server = Server::start();
    for request in [
        post_with(
            "content-type: application/json\r\nx-prony-timing: 1\r\n",
            "{\"query\":\"{ artists(limit: 1) { Name } }\"}",
        ),
        get("/graphql?timing&query=%7B__typename%7D"),
    ] {
        let response = server.ask(request);
        let timing =
            response.lines().find(|line| line.starts_with("server-timing: ")).expect("it was asked for");
        let names: Vec<&str> = timing["server-timing: ".len()..]
            .split(", ")
            .map(|entry| entry.split(';').next().unwrap_or_default())
            .collect();
        assert_eq!(names, ["parse", "validate", "plan", "execute", "assemble"]);
    }
    assert!(!server.ask(query("{ __typename }")).contains("server-timing"));
}
