//! The engine inside another server: a `tower` service that any stack can hold, and bytes in to bytes out.

use std::sync::Arc;

use bytes::Bytes;
use expect_test::{Expect, expect};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use prony_server::{
    Service,
    examples::{donuts, music},
    resolvers::{Error, Schema},
};
use tower_service::Service as _;

/// What axum asks of a service's future.
fn sendable<F: Future + Send>(future: F) -> F {
    future
}

async fn send(service: &Service, request: Request<Full<Bytes>>) -> String {
    let response: Response<_> = sendable(service.clone().call(request)).await.expect("it cannot fail");
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("it is whole").to_bytes();
    let kind = head.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap_or_default());
    format!("{} {kind} {}\n", head.status, String::from_utf8_lossy(&body))
}

fn check(service: &Service, requests: Vec<Request<Full<Bytes>>>, expected: &Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it starts");
    let answers = requests.into_iter().map(|request| runtime.block_on(send(service, request)));
    expected.assert_eq(&answers.collect::<String>());
}

fn post(body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::post("/anywhere").header("content-type", "application/json");
    request.body(Full::from(body)).expect("it is a request")
}

#[test]
fn a_tower_service_speaks_graphql_over_http() {
    let service = Service::new(music::functions()).expect("the example is sound");
    let get = Request::get("/x?query=%7Bartist(id:1)%7Bname%7D%7D").body(Full::default()).expect("a request");
    let plain = Request::post("/x").body(Full::from("{}")).expect("a request");
    let strict = Request::post("/x")
        .header("content-type", "application/json")
        .header("accept", "application/graphql-response+json")
        .body(Full::from(r#"{"query":"{ nothing }"}"#));
    check(
        &service,
        vec![
            post(r#"{"query":"{ artist(id: 2) { name records(searchText: \"1\") { name } } }"}"#),
            post(r#"{"query":"mutation { createArtist(artistName: \"Can\", recordCompanyId: 1) { id } }"}"#),
            get,
            plain,
            strict.expect("a request"),
            post("[]"),
        ],
        &expect![[r#"
            200 OK application/json; charset=utf-8 {"data":{"artist":{"name":"Queens of the Stone Age","records":[{"name":"Queens of the Stone Age, volume 1"}]}}}
            200 OK application/json; charset=utf-8 {"data":{"createArtist":{"id":13}}}
            200 OK application/json; charset=utf-8 {"data":{"artist":{"name":"Queen"}}}
            415 Unsupported Media Type application/json; charset=utf-8 {"errors":[{"message":"the body must be JSON in UTF-8: send `content-type: application/json`"}]}
            400 Bad Request application/graphql-response+json; charset=utf-8 {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            400 Bad Request application/json; charset=utf-8 {"errors":[{"message":"batches are not taken: send each request by itself, or several root fields in one"}]}
        "#]],
    );
    assert!(service.sdl().contains("directive @toUpper on FIELD"));
}

#[test]
fn what_waits_is_awaited() {
    let functions = Schema::new("type Query { a: String, b: String }", ())
        .async_field("Query.a", |_: Arc<()>, (): ()| async {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            "waited".to_owned()
        })
        .async_field("Query.b", |_: Arc<()>, (): ()| async { Err::<String, _>(Error::new("no").code("NO")) })
        .build()
        .expect("it fits");
    let service = Service::new(functions).expect("there is nothing to open");
    check(
        &service,
        vec![post(r#"{"query":"{ a b }"}"#)],
        &expect![[r#"
        200 OK application/json; charset=utf-8 {"data":{"a":"waited","b":null},"errors":[{"message":"no","locations":[{"line":1,"column":5}],"path":["b"],"extensions":{"code":"NO"}}]}
    "#]],
    );
}

#[tokio::test]
async fn bytes_in_bytes_out() {
    let service = Service::new(donuts::functions()).expect("the example is sound");
    let mut lines = String::new();
    for request in [
        r#"{"query":"{ retrieveDonut(id: \"1\") { flavor } }"}"#,
        r#"{"query":"{ nothing }"}"#,
        r#"{"query":"subscription { onDonutUpdated(id: \"1\") { id } }"}"#,
        "{",
    ] {
        lines.push_str(&String::from_utf8_lossy(&service.execute(request.as_bytes()).await));
        lines.push('\n');
    }
    expect![[r#"
        {"data":{"retrieveDonut":{"flavor":"CHOCOLATE"}}}
        {"errors":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"errors":[{"message":"subscriptions have more than one answer"}]}
        {"errors":[{"message":"the request is not JSON: EOF while parsing an object at line 1, column 1"}]}
    "#]].assert_eq(&lines);
}
