//! What each role is served, over HTTP.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::{Value as Json, json};

use prony_server::config::{self, CommandLine};

use super::{ACCESS, ask, bearer, body, serve, signed, token, token_for, unix_now};
use crate::support::{KINDS, Server, get};

#[test]
fn each_role_sees_its_own() {
    let server = serve(ACCESS);
    let (two, admin) = (bearer(&token("customer", 2)), bearer(&token("admin", 0)));
    let mut told = String::new();
    for (headers, query) in [
        ("", "{ albums { AlbumId Title } }"),
        ("", "{ albums { ArtistId } }"),
        ("", "{ invoices { InvoiceId } }"),
        ("", "{ __schema { queryType { fields { name } } } }"),
        (&*two, "{ invoices { InvoiceId Total } }"),
        (&*two, "{ invoices(where: {InvoiceId: {eq: 2}}) { InvoiceId } albums { Title } }"),
        (&*two, "{ invoices_aggregate { count sum { Total } } }"),
        (&*two, "{ invoices(where: {CustomerId: {eq: 4}}) { InvoiceId } }"),
        (&*two, "{ invoices(limit: 1) { CustomerId } }"),
        (&*admin, "{ invoices_aggregate { count } albums_aggregate { count } }"),
    ] {
        told.push_str(&body(&server, headers, query));
        told.push('\n');
    }
    expect![[r#"
        {"data":{"albums":[{"AlbumId":1,"Title":"For Those About To Rock We Salute You"},{"AlbumId":2,"Title":"Balls to the Wall"}]}}
        {"errors":[{"message":"type `Album` does not have a field `ArtistId`","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"errors":[{"message":"type `Query` does not have a field `invoices`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"data":{"__schema":{"queryType":{"fields":[{"name":"albums"}]}}}}
        {"data":{"invoices":[{"InvoiceId":1,"Total":1.98},{"InvoiceId":12,"Total":13.86},{"InvoiceId":67,"Total":8.91},{"InvoiceId":196,"Total":1.98},{"InvoiceId":219,"Total":3.96},{"InvoiceId":241,"Total":5.94},{"InvoiceId":293,"Total":0.99}]}}
        {"data":{"invoices":[],"albums":[{"Title":"For Those About To Rock We Salute You"},{"Title":"Balls to the Wall"}]}}
        {"data":{"invoices_aggregate":{"count":7,"sum":{"Total":37.62}}}}
        {"errors":[{"message":"field `CustomerId` does not exist on `InvoiceClauses`","locations":[{"line":1,"column":32}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"errors":[{"message":"type `Invoice` does not have a field `CustomerId`","locations":[{"line":1,"column":24}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"data":{"invoices_aggregate":{"count":412},"albums_aggregate":{"count":347}}}
    "#]].assert_eq(&told);
}

/// What a console shows is of what the role sees, and can be asked.
#[test]
fn consoles_name_nothing_that_is_hidden() {
    let server = serve(ACCESS);
    let mut told = String::new();
    for role in [None, Some("customer"), Some("clerk"), Some("admin")] {
        let headers = role.map(|role| bearer(&token(role, 2))).unwrap_or_default();
        let response = server.ask(get("/console.json").replace("\r\n\r\n", &format!("\r\n{headers}\r\n")));
        let description = response.lines().last().expect("there is a body");
        let description: Json = serde_json::from_str(description).expect("it is JSON");
        let example = description["example"].as_str().expect("it is a text");
        let contents = description["sources"][0]["contents"].as_str().unwrap_or_default();
        writeln!(told, "{role:?}: {contents}\n{example}").expect("writing to a string");
        let answer = body(&server, &headers, &example.replace(['\n', '"'], " "));
        assert!(answer.starts_with("{\"data\":") && !answer.contains("errors"), "{example}: {answer}");
    }
    expect![[r#"
        None: 1 table
        query Example {
          albums(limit: 2) {
            AlbumId
            Title
          }
        }

        Some("customer"): 2 tables
        query Example {
          albums(limit: 2) {
            AlbumId
            Title
          }
        }

        Some("clerk"): 
        { __typename }
        Some("admin"): 11 tables
        query Example {
          employees(limit: 5) {
            EmployeeId
            LastName
            FirstName
            customers(limit: 3) {
              CustomerId
              FirstName
              LastName
            }
          }
        }

    "#]]
    .assert_eq(&told);
}

#[test]
fn what_is_written_is_of_who_writes() {
    let server = serve(ACCESS);
    let (two, admin) = (bearer(&token("customer", 2)), bearer(&token("admin", 0)));
    let create = |id: u32, total: u32| {
        format!(
            "mutation {{ createInvoice(InvoiceId: {id}, InvoiceDate: \"2026-01-01\", Total: {total}) {{ InvoiceId }} }}"
        )
    };
    let nobody = bearer(&token_for("customer", &Json::Null, 600));
    let mut told = String::new();
    for (headers, query) in [
        (&two, create(9001, 5)),
        (&two, create(9002, 500)),
        (&nobody, create(9003, 5)),
        (&nobody, "{ invoices { InvoiceId } }".to_owned()),
        (&two, "mutation { deleteInvoice(pk_columns: {InvoiceId: 9001}) { result } }".to_owned()),
        (&admin, "{ invoices(where: {InvoiceId: {gt: 9000}}) { InvoiceId CustomerId } }".to_owned()),
        (
            &bearer(&token("clerk", 1)),
            "mutation { createGenre(GenreId: 99, Name: \"Noise\") { GenreId } }".to_owned(),
        ),
        (&bearer(&token("clerk", 1)), "{ __schema { queryType { fields { name } } } no_queries }".to_owned()),
    ] {
        told.push_str(&body(&server, headers, &query));
        told.push('\n');
    }
    expect![[r#"
        {"data":{"createInvoice":{"InvoiceId":9001}}}
        {"data":{"createInvoice":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["createInvoice"],"extensions":{"code":"FORBIDDEN"}}]}
        {"data":{"createInvoice":null},"errors":[{"message":"what your role writes into such a row is not known of your session","extensions":{"code":"FORBIDDEN"}}]}
        {"data":{"invoices":[]}}
        {"errors":[{"message":"type `Mutation` does not have a field `deleteInvoice`; did you mean `createInvoice`?","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"data":{"invoices":[{"InvoiceId":9001,"CustomerId":2}]}}
        {"data":{"createGenre":{"GenreId":99}}}
        {"data":{"__schema":{"queryType":{"fields":[{"name":"no_queries"}]}},"no_queries":null}}
    "#]].assert_eq(&told);
}

/// The column that rows are kept by may be hidden from who asks.
#[test]
fn what_does_not_fit_of_a_session_names_no_column() {
    let server = serve(ACCESS);
    let headers = bearer(&token_for("customer", &Json::from("nobody's"), 600));
    for query in [
        "{ invoices { InvoiceId } }",
        "{ albums(limit: 1) { Title } invoices(limit: 1) { InvoiceId } }",
        "mutation { createInvoice(InvoiceId: 9001, InvoiceDate: \"2026-01-01\", Total: 5) { InvoiceId } }",
    ] {
        let told = body(&server, &headers, query);
        assert!(told.contains("FORBIDDEN") && told.contains("what is known of your session"), "{told}");
        assert!(!told.contains("CustomerId") && !told.contains("nobody's"), "{told}");
    }
}

/// The status, the challenge, and the code.
fn refusal(response: &str) -> (u16, Option<&str>, Option<String>) {
    let status = response["HTTP/1.1 ".len()..][..3].parse().expect("there is a status");
    let challenge = response.lines().find_map(|line| line.strip_prefix("www-authenticate: "));
    let body: Json =
        response.lines().last().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
    let code = body["errors"][0]["extensions"]["code"].as_str().map(str::to_owned);
    (status, challenge, code)
}

#[test]
fn a_wrong_credential_is_never_none() {
    let server = serve(ACCESS);
    let without_anonymous = serve(&ACCESS.replace("anonymous = \"visitor\"", ""));
    let invalid = (401, Some("Bearer error=\"invalid_token\""), Some("UNAUTHENTICATED".to_owned()));
    let forbidden = (403, Some("Bearer error=\"insufficient_scope\""), Some("FORBIDDEN".to_owned()));
    let good = token("customer", 2);
    let expired = signed(
        &json!({"iss": "https://login.test/", "aud": "shop", "exp": unix_now() - 1, "role": "customer"}),
    );
    let other_audience = signed(
        &json!({"iss": "https://login.test/", "aud": "other", "exp": unix_now() + 60, "role": "customer"}),
    );
    for (headers, expected) in [
        (bearer("x.y.z"), &invalid),
        (bearer(&good[..good.len() - 2]), &invalid),
        (bearer(&expired), &invalid),
        (bearer(&other_audience), &invalid),
        (format!("cookie: session={expired}\r\n"), &invalid),
        (format!("{}x-prony-role: admin\r\n", bearer(&good)), &forbidden),
        ("authorization: Basic YTpi\r\n".to_owned(), &invalid),
        ("x-api-key: prony_00000000_x\r\n".to_owned(), &invalid),
    ] {
        for get_too in [
            ask(&server, &headers, "{ __typename }"),
            server.ask(
                get("/graphql?query=%7B__typename%7D")
                    .replace("host: localhost\r\n", &format!("host: localhost\r\n{headers}")),
            ),
        ] {
            assert_eq!(&refusal(&get_too), expected, "{headers}");
        }
        // Nobody but who is known sees what there is.
        let description = get("/console.json").replace("\r\n\r\n", &format!("\r\n{headers}\r\n"));
        assert_eq!(&refusal(&server.ask(description)), expected, "{headers}");
    }
    let none = (401, Some("Bearer"), Some("UNAUTHENTICATED".to_owned()));
    assert_eq!(refusal(&ask(&without_anonymous, "", "{ __typename }")), none);
    for headers in [
        bearer(&good),
        format!("cookie: other=1; session={good}\r\n"),
        format!("{}x-prony-role: visitor\r\n", bearer(&good)),
    ] {
        assert_eq!(
            body(&server, &headers, "{ __typename }"),
            r#"{"data":{"__typename":"Query"}}"#,
            "{headers}"
        );
    }
}

/// The calls of a graph know no permissions.
#[test]
fn the_api_of_a_source_is_for_those_who_may_do_everything() {
    let access = super::access(ACCESS);
    let directory = tempfile::tempdir().expect("a directory can be made");
    let graph = format!("graph:{}", directory.path().display());
    let server = Server::with(|settings| {
        let line = CommandLine { sources: vec![graph], ..CommandLine::default() };
        let with = config::load(KINDS, None, line, &|_| None).expect("the source is right");
        settings.sources.extend(with.sources);
        settings.access = access;
    });
    let admin = bearer(&token("admin", 2));
    for (way, headers) in [("fast", ""), ("hyper", "connection: any\r\n")] {
        for (credentials, expected) in
            [("", 403), (&*bearer("x.y.z"), 401), (&*bearer(&token("customer", 2)), 403), (&*admin, 201)]
        {
            let request = format!(
                "POST /db/rage/node/User/{way}{expected} HTTP/1.1\r\nhost: localhost\r\n{credentials}{headers}content-length: 0\r\n\r\n"
            );
            let response = server.ask(request);
            assert!(
                response.starts_with(&format!("HTTP/1.1 {expected}")),
                "{credentials}{headers}{response}"
            );
        }
    }
    for (key, expected) in [("fast201", 200), ("hyper201", 200), ("fast403", 404), ("hyper403", 404)] {
        let request = format!("GET /db/rage/node/User/{key} HTTP/1.1\r\nhost: localhost\r\n{admin}\r\n");
        let response = server.ask(request);
        assert!(response.starts_with(&format!("HTTP/1.1 {expected}")), "{key}: {response}");
    }
}
