//! Functions of a program: which fields roles are served, and what directives of the schema want to know of who asks.

use expect_test::expect;
use prony_server::{
    graphql::Engine,
    resolvers::{Resolvers, Schema},
};
use serde_json::json;

use super::{access, bearer, body, signed, unix_now};
use crate::{
    sockets::{Socket, TRANSPORT, subscribe},
    support::Server,
};

const SDL: &str = r#"
    type Query { open: Int mine: Int @authenticated prices: Int @requiresScopes(scopes: [["prices:read"]]) staff: Int @policy(policies: [["staff"]]) hidden: Int }
    type Subscription { ticks: Int @authenticated }"#;

const ACCESS: &str = r#"
[auth]
anonymous = "visitor"
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", scopes = "/scope" }

[roles.visitor.sources.functions]
fields = ["Query.open", "Query.mine", "Query.prices", "Query.staff", "Subscription.*"]
[roles.clerk]
inherits = ["visitor"]
policies = ["staff"]
[roles.admin]
unrestricted = true
"#;

fn functions() -> Resolvers {
    let mut schema = Schema::new(SDL, ());
    for (number, field) in (0i32..).zip(["open", "mine", "prices", "staff", "hidden"]) {
        schema = schema.field(&format!("Query.{field}"), move |(): &(), (): ()| number);
    }
    let ticks: std::sync::Arc<prony_server::resolvers::Events<(), i32>> = std::sync::Arc::default();
    schema
        .event_field("Subscription.ticks", move |(): &(), (): ()| ticks.subscribe(()))
        .build()
        .expect("it fits")
}

fn token(role: &str, scopes: &str) -> String {
    signed(
        &json!({"iss": "https://login.test/", "aud": "shop", "exp": unix_now() + 600, "role": role, "scope": scopes}),
    )
}

#[test]
fn roles_ask_what_they_are_granted_and_directives_are_held_to() {
    let server = Server::functions(functions(), |settings| settings.access = access(ACCESS));
    let mut told = String::new();
    for (headers, query) in [
        (String::new(), "{ open mine prices }"),
        (String::new(), "{ staff }"),
        (String::new(), "{ hidden }"),
        (bearer(&token("visitor", "prices:read")), "{ open mine prices }"),
        (bearer(&token("clerk", "prices:write")), "{ staff mine prices }"),
        (bearer(&token("admin", "")), "{ staff mine prices hidden }"),
    ] {
        told.push_str(&body(&server, &headers, query));
        told.push('\n');
    }
    expect![[r#"
        {"data":{"open":0,"mine":null,"prices":null},"errors":[{"message":"credentials are needed for this field","locations":[{"line":1,"column":8}],"path":["mine"],"extensions":{"code":"UNAUTHENTICATED"}},{"message":"a scope is missing for this field","locations":[{"line":1,"column":13}],"path":["prices"],"extensions":{"code":"FORBIDDEN"}}]}
        {"errors":[{"message":"type `Query` does not have a field `staff`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"errors":[{"message":"type `Query` does not have a field `hidden`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        {"data":{"open":0,"mine":1,"prices":2}}
        {"data":{"staff":3,"mine":1,"prices":null},"errors":[{"message":"a scope is missing for this field","locations":[{"line":1,"column":14}],"path":["prices"],"extensions":{"code":"FORBIDDEN"}}]}
        {"data":{"staff":3,"mine":1,"prices":null,"hidden":4},"errors":[{"message":"a scope is missing for this field","locations":[{"line":1,"column":14}],"path":["prices"],"extensions":{"code":"FORBIDDEN"}}]}
    "#]].assert_eq(&told);
    let mut socket = Socket::open(&server, TRANSPORT);
    socket.send(r#"{"type":"connection_init"}"#);
    assert_eq!(socket.next(), r#"{"type":"connection_ack"}"#);
    socket.send(&subscribe("t", "subscription { ticks }"));
    assert!(socket.next().contains("UNAUTHENTICATED"));
}

/// Where nothing says who asks, nobody is known.
#[test]
fn directives_hold_without_roles() {
    let server = Server::functions(functions(), |_| {});
    expect![[r#"{"data":{"open":0,"mine":null},"errors":[{"message":"credentials are needed for this field","locations":[{"line":1,"column":8}],"path":["mine"],"extensions":{"code":"UNAUTHENTICATED"}}]}"#]].assert_eq(&body(&server, "", "{ open mine }"));
}

#[test]
fn what_a_role_may_ask_is_explained() {
    let mut settings = prony_server::config::Settings { access: access(ACCESS), ..Default::default() };
    settings.functions.resolvers = Some(functions());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let engine = tokio::task::LocalSet::new().block_on(&runtime, Engine::open(&settings));
    let told = engine.expect("it opens").explain_role(&settings.access, "clerk");
    expect![[r#"
        role clerk

        source functions
          TABLE  MAY  COLUMNS                                                            WITH
                 ask  Query.mine, Query.open, Query.prices, Query.staff, Subscription.*  policies staff

        directive @authenticated on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        directive @requiresScopes(scopes: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        directive @policy(policies: [[String!]!]!) on FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM

        type Query {
          open: Int
          mine: Int @authenticated
          prices: Int @requiresScopes(scopes: [["prices:read"]])
          staff: Int @policy(policies: [["staff"]])
        }

        type Subscription {
          ticks: Int @authenticated
        }
    "#]].assert_eq(&told.expect("there is the role"));
}
