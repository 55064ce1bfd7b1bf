//! Scopes and limits by operation.

use serde_json::json;

use super::{ACCESS, ask, bearer, body, serve, signed, token, unix_now};
use crate::{
    sockets::{Socket, TRANSPORT, subscribe},
    support::get,
};

const RULES: &str = r#"
[[operation]]
match = "Query.albums"
rate_limit = [{ by = "user", rate = "1/h", burst = 3 }]
[[operation]]
match = "Query.invoices"
scopes = ["invoices:read"]
[[operation]]
name = "Dear"
quota = [{ by = "user", day = 1 }]
"#;

fn rules() -> String {
    format!("{}{RULES}", ACCESS.replace("claims = {", "claims = { scopes = \"/scope\","))
}

#[test]
fn a_limit_is_of_its_user_and_its_field() {
    let server = serve(&rules());
    let (ann, bob) = (bearer(&token("customer", 2)), bearer(&named("bob")));
    // An operation with two root fields counts twice.
    assert!(body(&server, &ann, "{ a: albums { AlbumId } b: albums { AlbumId } }").contains("\"b\":[{"));
    let refused = ask(&server, &ann, "{ a: albums { AlbumId } b: albums { AlbumId } }");
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("TOO_MANY_REQUESTS"), "{refused}");
    let seconds = |name: &str| refused.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    assert!(
        seconds("retry-after: ").and_then(|value| value.parse::<u64>().ok()).is_some_and(|value| value > 0)
    );
    assert!(seconds("ratelimit-policy: ").is_some_and(|value| value.contains("q=3")), "{refused}");
    assert!(seconds("ratelimit: ").is_some_and(|value| value.contains("r=0")), "{refused}");
    // What was refused took nothing.
    assert!(ask(&server, &ann, "{ albums { AlbumId } }").starts_with("HTTP/1.1 200"));
    assert!(ask(&server, &ann, "{ albums { AlbumId } }").starts_with("HTTP/1.1 429"));
    assert!(ask(&server, &bob, "{ albums { AlbumId } }").starts_with("HTTP/1.1 200"));
    assert!(ask(&server, &ann, "{ __typename }").starts_with("HTTP/1.1 200"));
    let by_get =
        get("/graphql?query=%7Balbums%7BAlbumId%7D%7D").replace("\r\n\r\n", &format!("\r\n{ann}\r\n"));
    assert!(server.ask(by_get).starts_with("HTTP/1.1 429"));
}

fn named(user: &str) -> String {
    signed(
        &json!({"iss": "https://login.test/", "aud": "shop", "exp": unix_now() + 60, "sub": user, "role": "customer", "customer": 4, "scope": "other invoices:read"}),
    )
}

#[test]
fn a_scope_and_a_quota_are_asked_for_by_field_and_by_name() {
    let server = serve(&rules());
    let refused = ask(&server, &bearer(&token("customer", 2)), "{ invoices(limit: 1) { InvoiceId } }");
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("insufficient_scope"), "{refused}");
    let granted = bearer(&named("bob"));
    assert!(ask(&server, &granted, "{ invoices(limit: 1) { InvoiceId } }").starts_with("HTTP/1.1 200"));
    let dear = "query Dear { __typename albums { AlbumId } }";
    assert!(ask(&server, &granted, "query Dear { albums { AlbumId } }").starts_with("HTTP/1.1 200"));
    assert!(ask(&server, &granted, dear).starts_with("HTTP/1.1 429"));
    let mut socket = Socket::open(&server, TRANSPORT);
    let authorization = format!("Bearer {}", named("bob"));
    socket.send(&json!({"type": "connection_init", "payload": {"authorization": authorization}}).to_string());
    assert!(socket.next().contains("connection_ack"));
    socket.send(&subscribe("a", dear));
    let refused = socket.next();
    assert!(refused.contains("TOO_MANY_REQUESTS") && refused.contains("\"type\":\"error\""), "{refused}");
}
