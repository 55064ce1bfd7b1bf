//! What recordings become; `prony/tests/drafts.rs` runs such plans.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn entry(at_ms: u64, method: &str, url: &str, extra: Value) -> Value {
    let mut entry = json!({
        "startedDateTime": format!("2026-03-01T10:00:{:02}.{:03}Z", at_ms / 1000, at_ms % 1000), "time": 40.5,
        "request": { "method": method, "url": url, "headers": [
            { "name": "Host", "value": "shop.example" }, { "name": "Accept", "value": "application/json" },
            { "name": "Sec-Fetch-Mode", "value": "cors" }, { "name": "Accept-Encoding", "value": "gzip" }
        ] },
        "response": { "status": 200, "headers": [], "content": { "mimeType": "application/json" } }
    });
    merge(&mut entry, extra);
    entry
}

fn merge(into: &mut Value, extra: Value) {
    match (into, extra) {
        (Value::Object(into), Value::Object(extra)) => {
            for (name, value) in extra {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(extra)) => into.extend(extra),
        (into, extra) => *into = extra,
    }
}

fn made(entries: &[Value], options: &HarOptions) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let har = directory.path().join("shop.har");
    fs::write(&har, format!("\u{feff}{}", json!({ "log": { "entries": entries } }))).unwrap();
    let plan = match from_har(&har, options) {
        Ok(draft) => draft.write("prony from-har shop.har").plan,
        Err(error) => return Err(error.to_string().replace(&har.display().to_string(), "shop.har")),
    };
    Ok(plan)
}

fn session() -> Vec<Value> {
    let token = "eyJhbGciOiJIUzI1NiJ9.e30.x-y_z";
    let bearer = json!([{ "name": "Authorization", "value": format!("Bearer {token}") },
        { "name": "Cookie", "value": "theme=dark; sid=3f2a9c" }]);
    vec![
        entry(
            0,
            "GET",
            "https://cdn.example/logo.png",
            json!({ "response": { "content": { "mimeType": "image/png" } } }),
        ),
        entry(
            100,
            "POST",
            "https://shop.example/login",
            json!({
                "request": {
                    "headers": [{ "name": "Content-Type", "value": "application/json" }],
                    "postData": { "mimeType": "application/json", "text": "{\"user\":\"ada\",\"price\":\"${x}\"}" }
                },
                "response": {
                    "headers": [{ "name": "Set-Cookie", "value": "sid=3f2a9c; Path=/; HttpOnly" }],
                    "content": { "text": json!({ "session": { "access/token": token }, "cart": { "id": 48213 } }).to_string() }
                }
            }),
        ),
        entry(
            2_300,
            "GET",
            "https://shop.example/carts/48213?page=1",
            json!({ "request": { "headers": bearer } }),
        ),
        entry(2_350, "GET", "https://stats.example/hit", json!({})),
        entry(
            2_400,
            "GET",
            "https://shop.example/carts/48213?page=1",
            json!({ "request": { "headers": bearer } }),
        ),
        entry(
            9_000,
            "OPTIONS",
            "https://shop.example/x",
            json!({ "request": { "headers": [{ "name": "Access-Control-Request-Method", "value": "PUT" }] } }),
        ),
        entry(
            9_100,
            "DELETE",
            "https://shop.example/carts/48213",
            json!({ "request": { "headers": bearer }, "response": { "status": 302 } }),
        ),
        entry(9_200, "GET", "wss://shop.example/live", json!({ "response": { "status": 101 } })),
        entry(9_300, "GET", "https://shop.example/gone", json!({ "response": { "status": 0 } })),
    ]
}

#[test]
fn a_session_takes_its_own_tokens() {
    expect![[r##"
        # Drafted by `prony from-har shop.har`. docs/plans.md says what a plan may hold.
        # Left out: 1 for images, styles, scripts and the like (--assets keeps them).
        # Left out: 1 by which the browser asked whether it may ask (CORS preflights).
        # Left out: 1 for WebSockets; docs/subscriptions-load.md says how plans subscribe over them.
        # Left out: 1 that had no response.
        # Left out: 1 to stats.example (--host stats.example keeps them).
        # Taken from responses, because later requests sent it back: id, access_token, sid.
        name = "shop.example"
        target = "https://shop.example"
        # The load: change it to what you want to know. `prony run --explain` says what it would do.
        users = 5
        duration = "30s"
        headers = { Accept = "application/json" }
        steps = [
          { request = "POST /login", think_time = "2100ms" },
          "GET /carts/{id}",
          { request = "GET /carts/{id}", think_time = "6600ms" },
          "DELETE /carts/{id}",
        ]

        [[requests]]
        name = "POST /login"
        path = "/login"
        json = { user = "ada", price = "$${x}" }

        [requests.captures]
        id = { json = "/cart/id" }
        access_token = { json = "/session/access~1token" }
        sid = { header = "Set-Cookie", matches = "^sid=([^;]+)" }

        [[requests]]
        name = "GET /carts/{id}"
        path = "/carts/${id}?page=1"
        headers = { Authorization = "Bearer ${access_token}", Cookie = "theme=dark; sid=${sid}" }

        [[requests]]
        name = "DELETE /carts/{id}"
        method = "DELETE"
        path = "/carts/${id}"
        headers = { Authorization = "Bearer ${access_token}", Cookie = "theme=dark; sid=${sid}" }
        expect_status = [302]
    "##]]
    .assert_eq(&made(&session(), &HarOptions::default()).unwrap());
}

#[test]
fn other_hosts_and_assets_are_kept_on_demand() {
    let options =
        HarOptions { hosts: vec!["cdn.example".to_owned(), "stats.example".to_owned()], assets: true };
    let plan = made(&session(), &options).unwrap();
    assert!(plan.contains("\"cdn.example\" = \"https://cdn.example\""), "{plan}");
    assert!(plan.contains("target = \"stats.example\""), "{plan}");
    assert_eq!(plan.matches("[[requests]]").count(), 2, "{plan}");
}

#[test]
fn forms_addresses_and_headers_give_values_too() {
    let form = "<form><input type=\"hidden\" name=\"csrf\" value=\"a1b2c3d4e5\"></form>";
    let kind = json!([{ "name": "Content-Type", "value": "application/x-www-form-urlencoded" }]);
    let entries = vec![
        entry(
            0,
            "GET",
            "http://h/login",
            json!({ "response": {
                "headers": [{ "name": "X-Session-Id", "value": "s9t8u7" }], "content": { "mimeType": "text/html", "text": form } } }),
        ),
        entry(
            9,
            "POST",
            "http://h/orders",
            json!({
                "request": { "headers": kind, "postData": {
                    "mimeType": "application/x-www-form-urlencoded", "text": "csrf=a1b2c3d4e5&plus=x%2By1234" } },
                "response": { "status": 201, "headers": [{ "name": "location", "value": "/orders/o765432" }],
                    "content": { "text": "{\"plus\":\"x+y1234\"}" } }
            }),
        ),
        entry(
            20,
            "GET",
            "http://h/orders/o765432?plus=x%2By1234",
            json!({ "request": { "headers": [{ "name": "X-Session-Id", "value": "s9t8u7" }] } }),
        ),
    ];
    let plan = made(&entries, &HarOptions::default()).unwrap();
    for part in [
        r#"csrf = { matches = '\sname=\"csrf\"[^>]*\svalue="([^"]+)' }"#,
        r#"x_session_id = { header = "X-Session-Id" }"#,
        r#"body = "csrf=${csrf}&plus=x%2By1234""#,
        r#"orders = { header = "Location", matches = "^(?:https?://[^/]*)?/orders/([^/?#]+)" }"#,
        r#"path = "/orders/${orders}?plus=x%2By1234""#,
    ] {
        assert!(plan.contains(part), "{part} in {plan}");
    }
}

#[test]
fn values_that_the_user_knew_stay() {
    let entries = vec![
        entry(
            0,
            "GET",
            "http://h/find?order=A123456",
            json!({ "response": { "content": { "text": "{\"order\":\"A123456\"}" } } }),
        ),
        entry(9, "GET", "http://h/orders/A123456", json!({})),
    ];
    let plan = made(&entries, &HarOptions::default()).unwrap();
    assert!(plan.contains("path = \"/orders/A123456\"") && !plan.contains("captures"), "{plan}");
}

/// Each cookie with a line of its own, as over HTTP/2, and what is not known as `null`.
#[test]
fn what_programs_write_in_their_own_ways_is_read() {
    let cookies = json!([{ "name": "cookie", "value": "a=1" }, { "name": "cookie", "value": "b=2" }]);
    let entries = vec![
        entry(0, "GET", "http://h/a", json!({ "request": { "headers": cookies }, "time": null })),
        entry(
            9,
            "GET",
            "http://h/lost",
            json!({ "response": { "status": null, "headers": null, "content": null } }),
        ),
    ];
    let plan = made(&entries, &HarOptions::default()).unwrap();
    assert!(plan.contains("cookie = \"a=1; b=2\""), "{plan}");
    assert!(plan.contains("Left out: 1 that had no response."), "{plan}");
}

/// Of a form with files browsers record the names of its fields alone.
#[test]
fn forms_whose_parts_are_not_recorded_are_left_out() {
    let form = json!({ "mimeType": "multipart/form-data; boundary=x", "params": [{ "name": "file" }] });
    let entries = vec![
        entry(0, "GET", "http://h/a", json!({})),
        entry(9, "POST", "http://h/upload", json!({ "request": { "postData": form } })),
    ];
    let plan = made(&entries, &HarOptions::default()).unwrap();
    assert!(plan.contains("Left out: 1 whose bodies are no text") && !plan.contains("upload"), "{plan}");
}

#[test]
fn recordings_without_requests_are_refused() {
    let options = HarOptions::default();
    let image = json!({ "response": { "content": { "mimeType": "image/png" } } });
    for (entries, expected) in [
        (vec![], "shop.har holds no request for a plan: it has no entries"),
        (
            vec![entry(0, "GET", "http://h/x.png", image)],
            "shop.har holds no request for a plan: it has 1 entries. Left out: 1 for images, styles, scripts and the like (--assets keeps them).",
        ),
    ] {
        assert_eq!(made(&entries, &options).unwrap_err(), expected);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("no.har");
    fs::write(&path, "{\"log\":").unwrap();
    let refused = from_har(&path, &options).unwrap_err().to_string();
    assert!(refused.contains("a recording is JSON with `log.entries`"), "{refused}");
}
