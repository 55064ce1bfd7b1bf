//! First plans: made by the program, explained by the program, and run against a server.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use prony_testkit::peer::ScriptedPeer;
use serde_json::json;
use tempfile::TempDir;

fn prony(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(folder).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony runs");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// What a command prints, which must succeed.
fn printed(folder: &Path, arguments: &[&str], input: &str) -> String {
    let output = prony(folder, arguments, input);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = prony(folder, arguments, "");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One user carries a plan out once, without a failure.
fn run_once(folder: &Path, plan: &str) {
    let text = fs::read_to_string(folder.join(plan)).expect("it was written");
    let once = text.replace(
        "users = 5\nduration = \"30s\"\n",
        "users = 1\niterations = 1\nthresholds = [\"checks>99%\"]\n",
    );
    assert_ne!(once, text, "the load stands there");
    fs::write(folder.join("once.toml"), once).expect("the folder is writable");
    let output = prony(folder, &["run", "--json", "--quiet", "once.toml"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    let result: serde_json::Value = serde_json::from_str(&text).expect("a result is JSON");
    let windows = result["windows"].as_array().expect("a result has windows");
    let whole = windows.iter().find(|window| window["kind"] == "whole").expect("one is the whole run");
    assert_eq!(whole["all"]["requests"], whole["all"]["successes"], "{whole:#}");
}

fn peer(body: &str) -> ScriptedPeer {
    let length = body.len();
    ScriptedPeer::answering(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: theme=dark\r\nSet-Cookie: old_sid=none\r\n\
         Set-Cookie: sid=own-session-1; Path=/\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

/// Over all connections; one may be a first try that asks nothing.
fn sent_to(peer: &ScriptedPeer) -> String {
    let sent: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    String::from_utf8_lossy(&sent).into_owned()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

#[test]
fn a_command_of_curl_becomes_a_plan() {
    let (folder, peer) = (folder(), peer("{}"));
    let folder = folder.path();
    let command = format!("curl -H 'X-Tag: a b' --json '{{\"name\":\"Zoë\"}}' '{}/items?x=1'", peer.url());
    let told = printed(folder, &["from-curl", &command, "-o", "plan.toml"], "");
    assert!(
        told.starts_with("plan.toml: 1 request\n") && told.contains("prony run --explain plan.toml"),
        "{told}"
    );
    assert!(printed(folder, &["run", "--explain", "plan.toml"], "").contains("POST /items?x=1 HTTP/1.1"));
    run_once(folder, "plan.toml");
    let sent = sent_to(&peer);
    assert!(sent.contains("X-Tag: a b\r\n") && sent.ends_with("{\"name\":\"Zoë\"}"), "{sent}");
    // What is there is not lost.
    let told = refused(folder, &["from-curl", "curl http://other/", "-o", "plan.toml"]);
    assert!(told.contains("plan.toml is there already; --force replaces it"), "{told}");
    printed(
        folder,
        &["from-curl", "-o", "plan.toml", "--force", "--", "curl", "-XPATCH", "http://other/x"],
        "",
    );
    let plan = fs::read_to_string(folder.join("plan.toml")).expect("it is there");
    assert!(plan.contains("method = \"PATCH\"") && plan.contains("target = \"http://other\""), "{plan}");
    let plan = printed(folder, &["from-curl", "-"], "curl \\\n  http://third/");
    assert!(plan.contains("target = \"http://third\""), "{plan}");
}

/// The token, the cookie and the id of the recording have ended: the server gives others.
#[test]
fn a_recording_becomes_a_plan_with_values_of_its_own() {
    let (folder, peer) = (folder(), peer(r#"{"token":"own.token.1","cart":{"id":99001}}"#));
    let folder = folder.path();
    let headers = json!([{ "name": "Authorization", "value": "Bearer recorded.token.7" }, { "name": "Cookie", "value": "sid=recorded-session" }]);
    let har = json!({ "log": { "entries": [
        {
            "startedDateTime": "2026-03-01T10:00:00.000+01:00", "time": 10,
            "request": { "method": "POST", "url": format!("{}/login", peer.url()), "headers": [], "postData": { "mimeType": "application/json", "text": "{\"user\":\"ada\"}" } },
            "response": {
                "status": 200, "headers": [{ "name": "set-cookie", "value": "sid=recorded-session; Path=/" }],
                "content": { "mimeType": "application/json", "text": "{\"token\":\"recorded.token.7\",\"cart\":{\"id\":48213}}" }
            }
        },
        {
            "startedDateTime": "2026-03-01T10:00:00.050+01:00", "time": 10,
            "request": { "method": "GET", "url": format!("{}/carts/48213", peer.url()), "headers": headers },
            "response": { "status": 304, "headers": [], "content": {} }
        }
    ] } });
    fs::write(folder.join("shop.har"), har.to_string()).expect("the folder is writable");
    printed(folder, &["from-har", "shop.har", "--output", "plan.toml"], "");
    run_once(folder, "plan.toml");
    let sent = sent_to(&peer);
    assert!(sent.contains("GET /carts/99001 HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains("Authorization: Bearer own.token.1\r\n"), "{sent}");
    assert!(sent.contains("Cookie: sid=own-session-1\r\n"), "{sent}");
    assert!(!sent.contains("recorded"), "{sent}");
}

#[test]
fn a_description_becomes_a_plan() {
    let (folder, peer) = (folder(), peer("[]"));
    let folder = folder.path();
    let description = "openapi: 3.1.0\ninfo: { title: Shop, version: '1' }\nservers: [{ url: /v2 }]\npaths:\n  /items/{id}:\n    get:\n      \
        parameters: [{ name: id, in: path, required: true, schema: { type: string }, example: 'a/b' }]\n      responses: { 200: {} }\n    \
        delete: { responses: { 204: {} } }\n";
    fs::write(folder.join("api.yaml"), description).expect("the folder is writable");
    let told = refused(folder, &["from-openapi", "api.yaml"]);
    assert!(told.contains("add --target http://HOST[:PORT]"), "{told}");
    let target = format!("{}/v2", peer.url());
    let told = printed(folder, &["from-openapi", "api.yaml", "--target", &target, "-o", "plan.toml"], "");
    assert!(told.contains("(--writes has them): DELETE /items/{id}."), "{told}");
    run_once(folder, "plan.toml");
    let sent = sent_to(&peer);
    assert!(
        sent.starts_with("GET /v2/items/a/b HTTP/1.1\r\n")
            || sent.starts_with("GET /v2/items/a%2Fb HTTP/1.1\r\n"),
        "{sent}"
    );
}
