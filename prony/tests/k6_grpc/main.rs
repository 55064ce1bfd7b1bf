//! `k6/net/grpc` against a server of gRPC: what scripts get, and what is counted.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod server;

use prony_testkit::certificates::Certificates;
use serde_json::Value;
use server::{Server, Settings, write_protos};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// What a script's `out()` wrote, line by line, and the process.
struct Ran {
    lines: Vec<Value>,
    all: String,
    code: Option<i32>,
    samples: Vec<Value>,
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_protos(folder.path());
    folder
}

/// The body of the default function; `client` has loaded the files, `out` writes JSON.
fn run_body(folder: &TempDir, address: &str, body: &str) -> Ran {
    let script = format!(
        r#"import grpc from "k6/net/grpc";
        import {{ sleep }} from "k6";
        const client = new grpc.Client();
        const loaded = client.load(["protos"], "shop.proto");
        const out = (value) => console.log("OUT " + JSON.stringify(value));
        const address = "{address}";
        export default async function () {{ {body} }}"#
    );
    run(folder, &script)
}

fn run(folder: &TempDir, script: &str) -> Ran {
    let ran = run_with(folder, script, env!("CARGO_BIN_EXE_prony"));
    // Where there is a k6, it has to say and to count the same.
    if let Some(k6) = std::env::var_os("K6") {
        let theirs = run_with(folder, script, k6);
        assert_eq!(ran.lines, theirs.lines, "{}", theirs.all);
        for metric in
            ["grpc_req_duration", "grpc_streams", "grpc_streams_msgs_sent", "grpc_streams_msgs_received"]
        {
            let sorted = |mut tags: Vec<BTreeMap<String, String>>| {
                // k6 samples its questions of reflection 0 to 3 times in runs of the same script.
                tags.retain(|tags| tags.contains_key("method") || !script.contains("reflect: true"));
                tags.sort_unstable();
                tags
            };
            assert_eq!(sorted(ran.tags(metric)), sorted(theirs.tags(metric)), "{metric}");
        }
    }
    ran
}

/// How many visit a server in a [`run`].
fn programs() -> u32 {
    1 + u32::from(std::env::var_os("K6").is_some())
}

fn run_with(folder: &TempDir, script: &str, program: impl AsRef<std::ffi::OsStr>) -> Ran {
    fs::write(folder.path().join("script.js"), script).unwrap();
    let output = Command::new(program)
        .current_dir(folder.path())
        .env("XDG_CONFIG_HOME", folder.path())
        .args(["run", "--quiet", "--log-format", "raw", "--out", "json=samples.json", "script.js"])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    let told = error.lines().filter_map(|line| line.strip_prefix("OUT "));
    let lines = told.map(|line| serde_json::from_str(line).unwrap()).collect();
    let samples = fs::read_to_string(folder.path().join("samples.json")).unwrap_or_default();
    let samples = samples.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Ran { lines, all: format!("{out}{error}"), code: output.status.code(), samples }
}

impl Ran {
    /// The tags of each sample of a metric.
    fn tags(&self, metric: &str) -> Vec<BTreeMap<String, String>> {
        let of = |sample: &&Value| sample["metric"] == metric && sample["type"] == "Point";
        let tags = |sample: &Value| serde_json::from_value(sample["data"]["tags"].clone()).unwrap();
        self.samples.iter().filter(of).map(tags).collect()
    }
}

fn check(body: &str, expected: &[Value]) -> Ran {
    let folder = folder();
    let server = Server::start(folder.path(), Settings::default());
    let connect = format!("client.connect(address, {{ plaintext: true }}); {body} client.close();");
    let ran = run_body(&folder, &server.address.to_string(), &connect);
    assert_eq!(ran.lines, expected, "{}", ran.all);
    assert_eq!(ran.code, Some(0), "{}", ran.all);
    ran
}

#[test]
fn a_call_has_its_message_headers_trailers_and_status() {
    let ran = check(
        r#"out(loaded);
        const r = client.invoke("shop.v1.Shop/Get", { id: 3, note: "a" }, { metadata: { "X-One": "1", "x-two-bin": new Uint8Array([1, 2]) }, tags: { own: "tag" } });
        out([r.status === grpc.StatusOK, r.error, r.headers, r.trailers]);
        out(r.message);
        out(client.invoke("/shop.v1.Shop/Get", { id: "4" }).message.name);
        out(client.invoke("/shop.v1.Shop/Get", { id: 5 }, { discardResponseMessage: true }).message);"#,
        &[
            serde_json::json!([
                { "package": "shop.v1", "service": "Shop", "full_method": "/shop.v1.Shop/Get",
                    "name": "Get", "is_client_stream": false, "is_server_stream": false },
                { "package": "shop.v1", "service": "Shop", "full_method": "/shop.v1.Shop/Watch",
                    "name": "Watch", "is_client_stream": false, "is_server_stream": true },
                { "package": "shop.v1", "service": "Shop", "full_method": "/shop.v1.Shop/Sum",
                    "name": "Sum", "is_client_stream": true, "is_server_stream": false },
                { "package": "shop.v1", "service": "Shop", "full_method": "/shop.v1.Shop/Echo",
                    "name": "Echo", "is_client_stream": true, "is_server_stream": true },
            ]),
            serde_json::json!([true, null,
                { "content-type": ["application/grpc"], "seen-x-one": ["1"], "seen-x-two-bin": ["\u{1}\u{2}"] },
                { "x-trailer": ["at the end"] }]),
            serde_json::json!({ "id": "3", "name": "item a", "color": "RED", "labels": [], "sizes": {}, "size": null,
                "text": "cheap", "weight": 0.1, "raw": "", "made": null }),
            serde_json::json!("item "),
            serde_json::json!(null),
        ],
    );
    let tags = ran.tags("grpc_req_duration");
    assert_eq!(tags.len(), 3);
    let of = |name: &str| tags[0].get(name).map(String::as_str);
    assert_eq!((of("method"), of("service"), of("status")), (Some("Get"), Some("shop.v1.Shop"), Some("0")));
    assert_eq!((of("name"), of("own"), of("group")), (Some("/shop.v1.Shop/Get"), Some("tag"), Some("")));
    assert!(of("url").is_some_and(|url| url.ends_with("/shop.v1.Shop/Get") && url.starts_with("127.0.0.1:")));
    assert_eq!(of("ip"), None, "`ip` is none of the usual system tags");
    assert!(ran.all.contains("grpc_req_duration"), "{}", ran.all);
}

#[test]
fn errors_have_codes_messages_and_details() {
    let ran = check(
        r#"const missing = client.invoke("shop.v1.Shop/Get", { id: 7, note: "missing" });
        out([missing.status === grpc.StatusNotFound, missing.error]);
        out(missing.message.id);
        const of = (note, params) => { const r = client.invoke("shop.v1.Shop/Get", { id: 1, note }, params); return [r.status, r.error.message]; };
        out(of("slow", { timeout: "100ms" }));
        out(of("reset"));
        out(of("empty"));
        out(of("big"));
        const tried = (work) => { try { return work(); } catch (error) { return `${error.name}: ${error.message}`; } };
        out(tried(() => client.invoke("shop.v1.Shop/Nope", {})));
        out(tried(() => client.invoke("", {})));
        out(tried(() => client.invoke("shop.v1.Shop/Get")));
        out(tried(() => client.invoke("shop.v1.Shop/Get", {}, { nope: 1 })));
        out(tried(() => client.invoke("shop.v1.Shop/Get", {}, { metadata: { a: 1 } })));
        out(tried(() => client.invoke("shop.v1.Shop/Get", { nope: 1 })).split(":").slice(0, 2).join(":"));
        out(tried(() => client.load([], "shop.proto")));
        out(tried(() => new grpc.Client().invoke("shop.v1.Shop/Get", {})));"#,
        &[
            serde_json::json!([true, { "code": 5, "message": "no such item", "details": [
                { "@type": "type.googleapis.com/shop.v1.Why", "reason": "sold out" }] }]),
            serde_json::json!("0"),
            serde_json::json!([4, "context deadline exceeded"]),
            serde_json::json!([8, "stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM"]),
            serde_json::json!([
                13,
                "cardinality violation: received no response message from non-server-streaming RPC"
            ]),
            serde_json::json!([8, "grpc: received message larger than max (5242901 vs. 4194304)"]),
            serde_json::json!("GoError: method \"/shop.v1.Shop/Nope\" not found in file descriptors"),
            serde_json::json!("GoError: method to invoke cannot be empty"),
            serde_json::json!("GoError: request cannot be nil"),
            serde_json::json!("GoError: invalid GRPC's client.invoke() parameters: unknown param: \"nope\""),
            serde_json::json!(
                "GoError: invalid GRPC's client.invoke() parameters: invalid metadata param: \"a\" value must be a string"
            ),
            serde_json::json!("GoError: unable to serialise request object to protocol buffer"),
            serde_json::json!("GoError: load must be called in the init context"),
            serde_json::json!("GoError: no gRPC connection, you must call connect first"),
        ],
    );
    let statuses: Vec<_> =
        ran.tags("grpc_req_duration").into_iter().map(|tags| tags["status"].clone()).collect();
    assert_eq!(statuses, ["5", "8", "13", "8"], "k6 has no sample of a call whose own time was over");
}

#[test]
fn limits_of_messages_are_those_of_the_connection() {
    let folder = folder();
    let server = Server::start(folder.path(), Settings::default());
    let body = r#"
        client.connect(address, { plaintext: true, maxReceiveSize: 20 * 1024 * 1024, maxSendSize: 3000000 });
        out(client.invoke("shop.v1.Shop/Get", { note: "big" }).message.name.length);
        out(client.invoke("shop.v1.Shop/Get", { note: "y".repeat(2500000) }).message.name);
        const r = client.invoke("shop.v1.Shop/Get", { note: "y".repeat(4000000) });
        out([r.status, r.error.message]);"#;
    let ran = run_body(&folder, &server.address.to_string(), body);
    let expected = [
        serde_json::json!(5 * 1024 * 1024),
        serde_json::json!("2500000"),
        serde_json::json!([8, "trying to send message larger than max (4000005 vs. 3000000)"]),
    ];
    assert_eq!(ran.lines, expected, "{}", ran.all);
}

#[test]
fn streams_of_all_kinds_tell_of_data_errors_and_their_end() {
    let ran = check(
        r#"const told = (method, writes, ends = true, params = {}) => new Promise((resolve) => {
            const stream = new grpc.Stream(client, method, { tags: { own: "tag" }, ...params }), seen = [];
            stream.on("data", (data, meta) => seen.push(data.name ?? data.sum, typeof meta.ts));
            stream.on("error", (error) => seen.push(error));
            stream.on("end", () => { seen.push("end"); resolve(seen); });
            writes.forEach((write) => stream.write(write));
            if (ends) stream.end();
            stream.write({ id: 9 });
        });
        out(await told("shop.v1.Shop/Watch", [{ id: 2 }]));
        out(await told("shop.v1.Shop/Sum", [{ id: 2 }, { id: 3 }, { id: 4 }]));
        out(await told("shop.v1.Shop/Echo", [{ id: 2, note: "one" }, { id: 3, note: "two" }]));
        out(await told("shop.v1.Shop/Watch", [{ id: 1, note: "fails" }]));
        out(await told("shop.v1.Shop/Watch", [{ id: 0, note: "cancels" }]));
        out(await told("shop.v1.Shop/Echo", [{ nope: 1 }], false).then((seen) => [seen[0].code, seen[1]]));
        out(await told("shop.v1.Shop/Watch", [{ id: 0, note: "forever" }], true, { timeout: "200ms" }));"#,
        &[
            serde_json::json!(["watched 0", "number", "watched 1", "number", "end"]),
            serde_json::json!(["9", "number", "end"]),
            serde_json::json!(["one", "number", "two", "number", "end"]),
            serde_json::json!(["watched 0", "number", { "code": 9, "details": [], "message": "it is over, ä" }, "end"]),
            serde_json::json!([{ "code": 2, "details": [], "message": "canceled by client (k6)" }, "end"]),
            serde_json::json!([2, "end"]),
            serde_json::json!([{ "code": 4, "details": [], "message": "context deadline exceeded" }, "end"]),
        ],
    );
    let count = |metric| ran.tags(metric).len();
    assert_eq!(
        (count("grpc_streams"), count("grpc_streams_msgs_sent"), count("grpc_streams_msgs_received")),
        (7, 9, 6)
    );
    let sent = &ran.tags("grpc_streams_msgs_sent")[0];
    assert_eq!((sent["own"].as_str(), sent["method"].as_str(), sent.get("status")), ("tag", "Watch", None));
    let statuses: Vec<_> =
        ran.tags("grpc_req_duration").into_iter().map(|tags| tags["status"].clone()).collect();
    assert_eq!(statuses, ["0", "0", "0", "9", "1", "1"]);
}

#[test]
fn calls_do_not_hold_each_other_up_and_a_closed_client_ends_its_streams() {
    check(
        r#"const names = await Promise.all([1, 2, 3].map((id) => client.asyncInvoke("shop.v1.Shop/Get", { id, note: String(id) })));
        out(names.map((response) => response.message.name));
        const tried = (method) => client.asyncInvoke(method, {}).catch((error) => error);
        const refused = await tried("shop.v1.Shop/Nope");
        out([String(refused), refused.error(), refused.message, refused instanceof Error]);
        out(String(await tried("")));
        const seen = [];
        const stream = new grpc.Stream(client, "shop.v1.Shop/Watch", { timeout: "10s" });
        stream.on("end", () => { seen.push("end"); out(seen); });
        stream.on("error", (error) => seen.push(error.message));
        // A stream that is closed before its server has it is sometimes begun again by k6's library.
        const begun = new Promise((resolve) => stream.on("data", resolve));
        stream.write({ id: 1, note: "forever" });
        await begun;"#,
        &[
            serde_json::json!(["item 1", "item 2", "item 3"]),
            serde_json::json!([
                "method \"/shop.v1.Shop/Nope\" not found in file descriptors",
                "method \"/shop.v1.Shop/Nope\" not found in file descriptors",
                null,
                false
            ]),
            serde_json::json!("method to invoke cannot be empty"),
            serde_json::json!(["canceled by client (k6)", "end"]),
        ],
    );
}

#[test]
fn health_is_asked_for() {
    let ran = check(
        r#"out([client.healthCheck(), client.healthCheck("down").status === grpc.HealthCheckNotServing]);
        try { client.healthCheck("unknown"); } catch (error) { out(error.message); }"#,
        &[
            serde_json::json!([{ "status": 1 }, true]),
            serde_json::json!("rpc error: code = NotFound desc = unknown service"),
        ],
    );
    assert_eq!(ran.tags("grpc_req_duration")[0].get("method"), None);
}

#[test]
fn what_a_server_has_is_found_by_reflection_or_in_a_protoset() {
    for version in ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"] {
        let folder = folder();
        let server =
            Server::start(folder.path(), Settings { reflection: Some(version), ..Settings::default() });
        let script = format!(
            r#"import grpc from "k6/net/grpc";
            const client = new grpc.Client();
            export const options = {{ vus: 2, iterations: 4 }};
            export default function () {{
                client.connect("{}", {{ plaintext: true, reflect: true }});
                console.log("OUT " + JSON.stringify(client.invoke("shop.v1.Shop/Get", {{ id: 2, note: "x" }}).message.name));
                client.close();
            }}"#,
            server.address
        );
        let ran = run(&folder, &script);
        assert_eq!(ran.lines, vec![serde_json::json!("item x"); 4], "{}", ran.all);
        assert_eq!(server.connections(), 4 * programs(), "each connect() is a connection");
    }
    let folder = folder();
    let server = Server::start(folder.path(), Settings::default());
    let script = format!(
        r#"import {{ Client, StatusOK }} from "k6/net/grpc";
        const client = new Client();
        const found = client.loadProtoset("shop.protoset");
        export const options = {{ iterations: 3 }};
        export default function () {{
            if (__ITER === 0) client.connect("{}", {{ plaintext: true }});
            console.log("OUT " + JSON.stringify([found.length, client.invoke("shop.v1.Shop/Get", {{}}).status === StatusOK]));
            if (__ITER < 1) try {{ new Client().connect("{}", {{ plaintext: true, reflect: true }}); }} catch (error) {{ console.log("OUT " + JSON.stringify(error.message)); }}
        }}"#,
        server.address, server.address
    );
    let ran = run(&folder, &script);
    let expected = [
        serde_json::json!([4, true]),
        serde_json::json!(
            "can't list services: rpc error: code = Unimplemented desc = unknown service grpc.reflection.v1alpha.ServerReflection"
        ),
        serde_json::json!([4, true]),
        serde_json::json!([4, true]),
    ];
    assert_eq!(ran.lines, expected, "{}", ran.all);
    assert_eq!(server.connections(), 2 * programs(), "a connection stays from one iteration to the next");
}

#[test]
fn connections_that_cannot_be_opened_say_why() {
    let folder = folder();
    let body = r#"
        const tried = (address, params) => { try { return client.connect(address, params); } catch (error) { return error.message; } };
        out(tried("127.0.0.1:1", { plaintext: true }));
        out(tried("127.0.0.1:1", { nope: true }));
        out(tried("127.0.0.1:1", { plaintext: "yes" }));
        out(tried("127.0.0.1:1", { timeout: "soon" }));
        out(tried("127.0.0.1:1", { tls: { cacerts: 1 } }));"#;
    let ran = run_body(&folder, "", body);
    let expected = [
        r#"connection error: desc = "transport: error while dialing: dial tcp 127.0.0.1:1: connect: connection refused""#,
        r#"invalid grpc.connect() parameters: unknown connect param: "nope""#,
        r#"invalid grpc.connect() parameters: invalid plaintext value: '"yes"', it needs to be boolean"#,
        r#"invalid grpc.connect() parameters: invalid timeout value: time: invalid duration "soon""#,
        r#"invalid grpc.connect() parameters: invalid tls cacerts value: 'map[string]interface {}{"cacerts":1}', it needs to be a string or an array of PEM formatted strings"#,
    ];
    assert_eq!(ran.lines, expected.map(Value::from), "{}", ran.all);
    let script =
        r#"import grpc from "k6/net/grpc"; new grpc.Client().connect("x:1"); export default function () {}"#;
    let ran = run(&folder, script);
    assert!(
        ran.all.contains("connecting to a gRPC server in the init context is not supported"),
        "{}",
        ran.all
    );
}

#[test]
fn tls_trusts_what_the_script_gives() {
    let folder = folder();
    let certificates = Certificates::new();
    let identity = certificates.server(&["localhost"], prony_testkit::certificates::Validity::Now);
    let mut config =
        rustls::ServerConfig::builder_with_provider(rustls::crypto::aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate], identity.key)
            .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::start(folder.path(), Settings { tls: Some(config), ..Settings::default() });
    fs::copy(certificates.ca_path(), folder.path().join("ca.pem")).unwrap();
    let script = format!(
        r#"import grpc from "k6/net/grpc";
        const client = new grpc.Client();
        client.load(["protos"], "shop.proto");
        const ca = open("ca.pem");
        const out = (value) => console.log("OUT " + JSON.stringify(value));
        export default function () {{
            try {{ client.connect("localhost:{port}"); }} catch (error) {{ out(error.message); }}
            try {{ client.connect("localhost:{port}", {{ tls: {{ cacerts: "no" }} }}); }} catch (error) {{ out(error.message.includes("failed to append ca certificate [0] from PEM")); }}
            client.connect("localhost:{port}", {{ tls: {{ cacerts: [ca] }} }});
            out(client.invoke("shop.v1.Shop/Get", {{ note: "safe" }}).message.name);
        }}"#,
        port = server.address.port()
    );
    let ran = run(&folder, &script);
    let expected = [
        serde_json::json!(
            r#"context deadline exceeded: connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority""#
        ),
        serde_json::json!(true),
        serde_json::json!("item safe"),
    ];
    assert_eq!(ran.lines, expected, "{}", ran.all);
}
