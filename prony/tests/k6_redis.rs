//! `k6/experimental/redis` against a real Redis.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::RedisServer;
use prony_testkit::certificates::Certificates;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What `out()` of the script wrote, and all that the process said.
fn run(folder: &Path, head: &str, body: &str) -> (Vec<Value>, String) {
    let script = format!(
        r#"import redis from "k6/experimental/redis";
        const out = (value) => console.log("OUT " + JSON.stringify(value));
        const failed = (promise) => promise.then((value) => out(["none", value]), (error) => out(String(error)));
        {head}
        export default async function () {{ {body} }}"#
    );
    fs::write(folder.join("script.js"), script).unwrap();
    // With a k6 in the place of ours, the same has to be said.
    let program = std::env::var_os("K6").unwrap_or_else(|| env!("CARGO_BIN_EXE_prony").into());
    let output = Command::new(program)
        .current_dir(folder)
        .env("XDG_CONFIG_HOME", folder)
        .args(["run", "--quiet", "--log-format", "raw", "script.js"])
        .output()
        .unwrap();
    let all = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let told = all.lines().filter_map(|line| line.strip_prefix("OUT "));
    (told.map(|line| serde_json::from_str(line).unwrap()).collect(), all)
}

fn check(head: &str, body: &str, expected: &[Value]) {
    let folder = tempfile::tempdir().unwrap();
    let (lines, all) = run(folder.path(), head, body);
    assert_eq!(lines, expected, "{all}");
}

fn client(redis: &RedisServer) -> String {
    format!(r#"const client = new redis.Client("redis://127.0.0.1:{}");"#, redis.port())
}

#[test]
fn keys_have_values_counts_and_times() {
    let redis = RedisServer::start(&[]);
    let body = r#"
        out(client.isConnected());
        out([await client.set("a", "ä b", 0), await client.get("a"), await client.set("n", 41.5), await client.get("n"), await client.set("t", true), await client.get("t")]);
        out(client.isConnected());
        out([await client.getSet("a", 2), await client.exists("a", "a", "no"), await client.incr("a"), await client.incrBy("a", 10), await client.decr("a"), await client.decrBy("a", 2)]);
        out([await client.expire("a", 100), await client.ttl("a"), await client.persist("a"), await client.ttl("a"), await client.persist("a"), await client.expire("no", 1)]);
        out([await client.mget("a", "no", "n"), await client.getDel("a"), await client.del("n", "t", "no"), await client.set("k", 1, 60), await client.ttl("k"), await client.randomKey()]);
        await failed(client.get("no"));
        await failed(client.set("a", { an: "object" }));
        await failed(client.set("a"));
        await client.lpush("list", 1);
        await failed(client.incr("list"));
        await client.del("list", "k");
        await failed(client.randomKey());"#;
    let expected = [
        json!(false),
        json!(["OK", "ä b", "OK", "41.5", "OK", "1"]),
        json!(true),
        json!(["ä b", 2, 3, 13, 12, 10]),
        json!([true, 100, true, -1e-9, false, false]),
        json!([["10", null, "41.5"], "10", 2, "OK", 60, "k"]),
        json!("redis: nil"),
        json!(
            "unsupported type provided for argument at index 1, supported types are string, number, and boolean"
        ),
        json!(
            "unsupported type provided for argument at index 1, supported types are string, number, and boolean"
        ),
        json!("WRONGTYPE Operation against a key holding the wrong kind of value"),
        json!("redis: nil"),
    ];
    check(&client(&redis), body, &expected);
}

#[test]
fn lists_hashes_and_sets_are_there() {
    let redis = RedisServer::start(&[]);
    let body = r#"
        out([await client.lpush("l", "b", "a"), await client.rpush("l", "c", 4), await client.lrange("l", 0, -1), await client.lindex("l", 1), await client.lset("l", 0, "z"), await client.lrem("l", 1, "c"), await client.llen("l"), await client.lpop("l"), await client.rpop("l")]);
        out([await client.hset("h", "f", 1), await client.hsetnx("h", "f", "2"), await client.hsetnx("h", "g", "x"), await client.hget("h", "f"), await client.hgetall("h"), await client.hkeys("h"), await client.hvals("h"), await client.hlen("h"), await client.hincrby("h", "f", 5), await client.hdel("h", "f", "g", "no")]);
        out([await client.sadd("s", "m", 2), await client.sismember("s", "m"), await client.sismember("s", "no"), (await client.smembers("s")).sort(), await client.srem("s", 2), await client.srandmember("s"), await client.spop("s"), await client.smembers("s")]);
        out([await client.sendCommand("ECHO", "hello"), await client.sendCommand("SET", "x", 1), await client.sendCommand("MGET", "x", "no"), await client.sendCommand("EXISTS", "x")]);
        await failed(client.lpop("no"));
        await failed(client.sendCommand("NOPE", 1));
        await failed(client.sendCommand("GET", "no"));"#;
    let folder = tempfile::tempdir().unwrap();
    let (lines, all) = run(folder.path(), &client(&redis), body);
    let expected = [
        json!([2, 4, ["a", "b", "c", "4"], "b", "OK", 1, 3, "z", "4"]),
        json!([1, false, true, "1", { "f": "1", "g": "x" }, ["f", "g"], ["1", "x"], 2, 6, 2]),
        json!([2, true, false, ["2", "m"], 1, "m", "m", []]),
        json!(["hello", "OK", ["1", null], 1]),
        json!("redis: nil"),
    ];
    assert_eq!(lines[..5], expected, "{all}");
    assert!(lines[5].as_str().is_some_and(|text| text.starts_with("ERR unknown command")), "{all}");
    assert_eq!(lines[6], json!("redis: nil"));
}

#[test]
fn commands_wait_for_a_connection_and_connections_stay() {
    let redis = RedisServer::start(&[]);
    let head = format!(
        r#"const client = new redis.Client({{ socket: {{ host: "127.0.0.1", port: {}, poolSize: 2 }}, database: 3 }});
        export const options = {{ iterations: 3 }};"#,
        redis.port()
    );
    let body = r#"
        await Promise.all([1, 2, 3, 4, 5, 6].map((number) => client.incr("n")));
        if (__ITER === 2) {
          const text = await client.sendCommand("INFO", "stats");
          out([await client.get("n"), Number(text.match(/total_connections_received:(\d+)/)[1])]);
          out((await client.sendCommand("CLIENT", "INFO")).match(/ db=(\d+)/)[1]);
        }"#;
    // One connection is that of the test, which waited for the server.
    check(&head, body, &[json!(["18", 3]), json!("3")]);
}

#[test]
fn who_is_not_let_in_and_what_is_not_there_is_said() {
    let redis = RedisServer::start(&["--requirepass", "secret"]);
    let head = format!(
        r#"const of = (options) => new redis.Client(options);
        const socket = {{ host: "127.0.0.1", port: {port} }};
        const tried = (work) => {{ try {{ work(); }} catch (error) {{ return error.message; }} }};
        const early = [tried(() => new redis.Client()), tried(() => of({{}})), tried(() => of({{ cluster: {{ nodes: ["redis://a"] }} }})), tried(() => of("ftp://x"))];
        of({{ socket }}).get("x").catch((error) => console.log("OUT " + JSON.stringify(error.message)));"#,
        port = redis.port()
    );
    let body = r#"
        out(early);
        await failed(of({ socket }).get("x"));
        await failed(of({ socket, password: "wrong" }).get("x"));
        out(await of({ socket, password: "secret" }).set("x", 1));
        await failed(of("redis://127.0.0.1:1").get("x"));
        await failed(of({ socket: { ...socket, readTimeout: 50 }, password: "secret" }).sendCommand("BLPOP", "nothing", 0));"#;
    let expected = [
        json!([
            "must specify one argument",
            "invalid options; reason: empty socket options",
            "invalid options; reason: clusters are not supported; name one node with `socket`",
            "invalid options; reason: redis: invalid URL scheme: ftp"
        ]),
        json!("NOAUTH Authentication required."),
        json!("WRONGPASS invalid username-password pair or user is disabled."),
        json!("OK"),
        json!("dial tcp 127.0.0.1:1: connect: connection refused"),
        json!("i/o timeout"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (lines, all) = run(folder.path(), &head, body);
    let own: Vec<_> = lines.into_iter().filter(|line| *line != json!(INIT)).collect();
    assert_eq!(own, expected, "{all}");
    assert!(all.contains(INIT), "{all}");
}

const INIT: &str = "connecting to a redis server in the init context is not supported";

#[test]
fn tls_trusts_what_the_script_gives() {
    let certificates = Certificates::new();
    let (certificate, key) = certificates.server_files(&["localhost"]);
    let folder = tempfile::tempdir().unwrap();
    let port = prony_testkit::free_port().to_string();
    let path = |path: &Path| path.display().to_string();
    let _redis = RedisServer::start(&[
        "--tls-port",
        &port,
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &path(&certificate),
        "--tls-key-file",
        &path(&key),
        "--tls-ca-cert-file",
        &path(&certificates.ca_path()),
    ]);
    fs::copy(certificates.ca_path(), folder.path().join("ca.pem")).unwrap();
    let head = format!(
        r#"const ca = open("ca.pem");
        const of = (tls) => new redis.Client({{ socket: {{ host: "localhost", port: {port}, tls }} }});"#
    );
    let body = r#"out(await of({ ca: [ca] }).set("x", 1)); await failed(of({}).get("x"));"#;
    let (lines, all) = run(folder.path(), &head, body);
    let expected = [
        json!("OK"),
        json!("tls: failed to verify certificate: x509: certificate signed by unknown authority"),
    ];
    assert_eq!(lines, expected, "{all}");
}
