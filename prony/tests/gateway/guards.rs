//! Directives of an upstream's schema file that want to know who asks: what they refuse is not asked of the upstream.

use std::fs;

use prony_testkit::peer::ScriptedPeer;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{directory, ok, server::Server};

const SDL: &str = "type Query { open: Int mine: Int @authenticated book: Book named: Named thing: Thing } \
    type Mutation { sell: Int @requiresScopes(scopes: [[\"books:sell\"]]) } \
    interface Named { name: String } \
    type Book implements Named { name: String @policy(policies: [[\"staff\"]]) title: String \
        price: Int @requiresScopes(scopes: [[\"prices:read\"], [\"admin\"]]) } \
    type Secret @authenticated { text: String } \
    union Thing = Book | Secret";

const ACCESS: &str = r#"
[auth]
anonymous = "guest"
[[auth.api_key]]
name = "clerk"
prefix = "195a2080"
hash = "sha256:q9RwXBOQUTb5qM_jVh5U2SC6StTZJew3oaOS2a11D_M"
role = "clerk"
scopes = ["prices:read"]
[roles.guest.sources.peer]
fields = ["*"]
[roles.clerk]
policies = ["staff"]
[roles.clerk.sources.peer]
fields = ["*"]
"#;

const KEY: &str = "prony_195a2080_6nnxF99oyFvamWQTXzAvmzNjTq4zlLtSwbj5dqLartg";

fn gateway(directory: &TempDir, peer: &ScriptedPeer, more: &str) -> Server {
    let schema = directory.path().join("schema.graphql");
    fs::write(&schema, SDL).expect("the file can be written");
    let text = format!(
        "[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\n{more}{ACCESS}",
        peer.url(),
        schema.display()
    );
    Server::configured(directory, &text)
}

fn ask(gateway: &Server, key: Option<&str>, query: &str) -> Value {
    let head = match key {
        // The version behind it is the value of a field that nobody reads.
        Some(key) => format!("POST /graphql HTTP/1.1\r\nx-api-key: {key}\r\nx-version:"),
        None => "POST /graphql".to_owned(),
    };
    let (head, body) = gateway.ask(&head, &json!({ "query": query }).to_string());
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {head}\n{body}"))
}

/// Path and code of each refusal; what the peer responds is of no interest.
fn refused(response: &Value) -> Vec<String> {
    let errors = response["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let codes = [json!("UNAUTHENTICATED"), json!("FORBIDDEN")];
    let refusals = errors.iter().filter(|error| codes.contains(&error["extensions"]["code"]));
    refusals.map(|error| format!("{} {}", error["path"], error["extensions"]["code"])).collect()
}

/// All that the peer has been sent.
fn sent(peer: &ScriptedPeer) -> String {
    let all = (0..peer.connections()).map(|index| peer.received(index));
    all.map(|received| String::from_utf8_lossy(&received).into_owned()).collect()
}

/// They were read over, and everything was forwarded for everybody.
#[test]
fn what_does_not_hold_of_who_asks_is_not_forwarded() {
    for more in ["", "field_prefix = \"x_\"\ntype_prefix = \"X\"\n"] {
        let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{}}"#)));
        let gateway = gateway(&directory, &peer, more);
        let prefix = if more.is_empty() { "" } else { "x_" };
        let of_type = if more.is_empty() { "" } else { "X" };
        for (key, selected, expected) in [
            (None, "mine", vec![r#"["a"] "UNAUTHENTICATED""#]),
            (None, "book { price }", vec![r#"["a"] "FORBIDDEN""#]),
            (None, "book { name }", vec![r#"["a"] "FORBIDDEN""#]),
            (None, "named { name }", vec![r#"["a"] "FORBIDDEN""#]),
            (None, "thing { ... on TSecret { text } }", vec![r#"["a"] "UNAUTHENTICATED""#]),
            (None, "book { title price @skip(if: true) }", vec![]),
            (None, "open", vec![]),
            (Some(KEY), "mine", vec![]),
            (Some(KEY), "book { price name }", vec![]),
            (Some(KEY), "named { name }", vec![]),
            (Some(KEY), "thing { ... on TSecret { text } }", vec![]),
        ] {
            let selected = selected.replace("TSecret", &format!("{of_type}Secret"));
            let (before, query) = (sent(&peer).len(), format!("{{ a: {prefix}{selected} }}"));
            let response = ask(&gateway, key, &query);
            assert_eq!(refused(&response), expected, "{query}: {response}");
            assert_eq!(sent(&peer).len() > before, expected.is_empty(), "{query}: {response}");
        }
        let query = format!("{{ a: {prefix}open b: {prefix}mine c: {prefix}book {{ title }} }}");
        assert_eq!(refused(&ask(&gateway, None, &query)), [r#"["b"] "UNAUTHENTICATED""#]);
        let mutation = format!("mutation {{ a: {prefix}sell }}");
        assert_eq!(refused(&ask(&gateway, Some(KEY), &mutation)), [r#"["a"] "FORBIDDEN""#]);
        assert!(!sent(&peer).contains("sell"), "{}", sent(&peer));
    }
}
