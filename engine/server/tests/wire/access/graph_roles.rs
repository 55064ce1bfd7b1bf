//! Calls on a graph by several roles, held against an oracle: what an admin is responded with, without what the role may not see.
//! Names and keys need percent-encoding, are the words of routes, or look like ids.

use std::collections::{BTreeMap, BTreeSet};

use prony_testkit::Seeded;
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use super::{access, bearer, graph_calls::of_graph, token};
use crate::support::{PATIENCE, Server};

const ACCESS: &str = r#"
[auth]
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", "user.id" = "/customer" }

[roles.reader.sources.graph.types]
Us_er = { select = { columns = ["na me/%", "age"], filter_columns = ["age", "na me/%"], rows = { age = { gt = "$user.id" } }, aggregates = true } }
Place = { select = { columns = [], filter_columns = ["size"], rows = { or = [{ _key = { in = ["..", "neighbors"] } }, { size = { is_null = true } }] } } }
KNO_WS = { select = { columns = "*", rows = { from = { _type = { eq = "Us er" } } }, aggregates = true } }
NEAR = { select = { columns = "*", rows = { not = { to = { _key = { eq = ".." } } } } } }

[roles.few.sources.graph.types]
Us_er = { select = { columns = ["na me/%", "age"], filter_columns = ["age", "na me/%"], rows = { age = { gt = "$user.id" } }, limit = 3 } }
Place = { select = { columns = [], filter_columns = ["size"], rows = { or = [{ _key = { in = ["..", "neighbors"] } }, { size = { is_null = true } }] } } }
KNO_WS = { select = { columns = "*", rows = { from = { _type = { eq = "Us er" } } }, aggregates = true } }
NEAR = { select = { columns = "*", rows = { not = { to = { _key = { eq = ".." } } } } } }

[roles.nobody]
[roles.admin]
unrestricted = true
"#;

const USER: &str = "Us er";
const KEYS: [&str; 14] = [
    "1026",
    "a/b",
    "\u{43a}\u{43b}\u{44e}\u{447} %",
    "..",
    ".",
    "neighbors",
    "degree",
    "%2F",
    "a&b",
    "\"",
    "0",
    "+ ?#",
    "properties",
    "\u{1f600}",
];

/// Each byte, so that no key is a word of a route.
pub(super) fn encoded(segment: &str) -> String {
    segment.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"))
}

pub(super) struct Client<'s> {
    pub(super) server: &'s Server,
    pub(super) headers: String,
}

impl Client<'_> {
    pub(super) fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let (headers, length) = (&self.headers, body.len());
        let response = self.server.ask(format!(
            "{method} /db/rage/{path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
        ));
        let status = response["HTTP/1.1 ".len()..][..3].parse().expect("a status is a number");
        (status, response.lines().last().unwrap_or_default().to_owned())
    }

    pub(super) fn get(&self, path: &str) -> Json {
        self.json("GET", path, "")
    }

    fn json(&self, method: &str, path: &str, body: &str) -> Json {
        let (status, text) = self.call(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{method} {path}: {error}: {text}"))
    }
}

/// What a role may see, as its part of the configuration says it.
struct Oracle {
    nodes: BTreeMap<u64, Json>,
    user: i64,
    limit: usize,
}

impl Oracle {
    fn sees_node(&self, node: &Json) -> bool {
        let property = |name: &str| node["properties"][name].as_i64();
        match node["type"].as_str() {
            Some(USER) => property("age").is_some_and(|age| age > self.user),
            Some("Place") => {
                matches!(node["key"].as_str(), Some(".." | "neighbors")) || property("size").is_none()
            }
            _ => false,
        }
    }

    fn sees(&self, thing: &Json) -> bool {
        let Some((from, to)) = thing["from"].as_u64().zip(thing["to"].as_u64()) else {
            return self.sees_node(thing);
        };
        let (from, to) = (&self.nodes[&from], &self.nodes[&to]);
        let passes = match thing["type"].as_str() {
            Some("KNO WS") => from["type"] == USER,
            Some("NEAR") => to["key"] != "..",
            _ => false,
        };
        passes && self.sees_node(from) && self.sees_node(to)
    }

    /// Without properties that cannot be read.
    fn shown(thing: &Json) -> Json {
        let mut shown = thing.clone();
        let properties = shown["properties"].as_object_mut().expect("it has properties");
        match thing["type"].as_str() {
            Some(USER) => properties.retain(|name, _| name == "age" || name == "na me/%"),
            Some("Place") => properties.clear(),
            _ => {}
        }
        shown
    }

    fn list(&self, all: &Json, skip: usize, limit: usize) -> Json {
        let seen = all.as_array().expect("it is a list").iter().filter(|thing| self.sees(thing));
        seen.skip(skip).take(limit.min(self.limit)).map(Self::shown).collect()
    }
}

fn fill(admin: &Client<'_>, chance: &mut Seeded) {
    let mut made: Vec<(String, String)> = Vec::new();
    let post = |path: &str, body: Json| {
        let (status, text) = admin.call("POST", path, &body.to_string());
        assert_eq!(status, 201, "{path}: {text}");
    };
    for (of, properties) in [
        (USER, vec![("na me/%", "string"), ("age", "integer"), ("secret", "string")]),
        ("Place", vec![("size", "integer"), ("na me/%", "string")]),
        ("Hidden", vec![("age", "integer")]),
    ] {
        post(&format!("schema/nodes/{}", encoded(of)), json!({}));
        for (name, kind) in properties {
            post(&format!("schema/nodes/{}/properties/{}/{kind}", encoded(of), encoded(name)), json!({}));
        }
        for key in KEYS {
            let mut properties = json!({"na me/%": format!("{key}!"), "secret": key});
            if chance.random_range(0..4) > 0 {
                properties["age"] = json!(chance.random_range(10..50));
                properties["size"] = json!(chance.random_range(0..5));
            }
            post(&format!("node/{}/{}", encoded(of), encoded(key)), properties);
            made.push((of.to_owned(), key.to_owned()));
        }
    }
    post("schema/nodes/User/properties/age/integer", json!({}));
    for of in ["KNO WS", "NEAR", "HATES"] {
        post(&format!("schema/relationships/{}/properties/since/integer", encoded(of)), json!({}));
    }
    for _ in 0..220 {
        let mut any = || made[chance.random_range(0..made.len())].clone();
        let ((from_type, from), (to_type, to)) = (any(), any());
        let of = ["KNO WS", "NEAR", "HATES"][chance.random_range(0..3)];
        let [from_type, from, to_type, to, of] = [&*from_type, &*from, &*to_type, &*to, of].map(encoded);
        let path = format!("node/{from_type}/{from}/relationship/{to_type}/{to}/{of}");
        post(&path, json!({"since": chance.random_range(1990..2020)}));
    }
}

#[test]
fn calls_of_roles_are_those_of_the_oracle() {
    let (server, _directory) = of_graph(access(ACCESS));
    let admin = Client { server: &server, headers: bearer(&token("admin", 0)) };
    let mut chance = Seeded::new();
    fill(&admin, &mut chance);
    let nodes = admin.get("nodes?limit=1000");
    let relationships = admin.get("relationships?limit=1000");
    let by_id = |node: &Json| (node["id"].as_u64().expect("it has an id"), node.clone());
    let nodes_by_id: BTreeMap<u64, Json> = nodes.as_array().expect("a list").iter().map(by_id).collect();
    for (role, user, limit) in [("reader", 20, 1000), ("reader", 60, 1000), ("few", 15, 3)] {
        let client = Client { server: &server, headers: bearer(&token(role, user)) };
        let oracle = Oracle { nodes: nodes_by_id.clone(), user: user.cast_signed(), limit };
        wait_for_schema(&client);
        let highest = limit.min(1000);
        for path in [
            "nodes",
            "nodes/Us%20er",
            "relationships",
            "relationships/KNO%20WS",
            "nodes/Hidden",
            "relationships/HATES",
            "nodes/None",
        ] {
            let all = admin.get(&format!("{path}?limit=1000"));
            // Other types have no limit of their own.
            let own = if path.starts_with("nodes") { highest } else { 1000 };
            let oracle = Oracle { nodes: nodes_by_id.clone(), user: oracle.user, limit: own };
            assert_eq!(client.get(path), oracle.list(&all, 0, 100), "{role} {path}");
            for skip in [0, 1, 5, 500] {
                let paged = format!("{path}?limit=2&skip={skip}");
                assert_eq!(client.get(&paged), oracle.list(&all, skip, 2), "{role} {paged}");
            }
        }
        check_finds(&admin, &client, &oracle, role);
        check_neighborhoods(&admin, &client, &oracle, (&nodes, &relationships), role);
    }
    check_refusals(&server);
}

fn wait_for_schema(client: &Client<'_>) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while client.get("schema/relationships") != json!(["KNO WS", "NEAR"]) {
        assert!(std::time::Instant::now() < deadline, "{}", client.get("schema/relationships"));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(client.get("schema/nodes"), json!(["Place", USER]));
    assert_eq!(client.get("schema/nodes/Us%20er"), json!({"age": "integer", "na me/%": "string"}));
    assert_eq!(client.get("schema/nodes/Us%20er/properties/secret"), json!({"secret": ""}));
    assert_eq!(client.get("schema/nodes/Hidden"), json!({}));
}

const OPERATIONS: [&str; 12] = [
    "EQ",
    "NEQ",
    "GT",
    "GTE",
    "LT",
    "LTE",
    "IS_NULL",
    "NOT_IS_NULL",
    "STARTS_WITH",
    "NOT_CONTAINS",
    "ENDS_WITH",
    "NOT_EQ",
];

/// A property that may not be filtered by and cannot be read is as one that is not declared.
fn check_finds(admin: &Client<'_>, client: &Client<'_>, oracle: &Oracle, role: &str) {
    for (of, property, known, value) in [
        (USER, "age", true, json!(30)),
        (USER, "na me/%", true, json!("a/b!")),
        (USER, "secret", false, json!("a/b")),
        (USER, "secret", false, Json::Null),
        (USER, "age", true, Json::Null),
        ("Place", "size", true, json!(2)),
        ("Place", "na me/%", false, json!("..!")),
        ("Hidden", "age", true, json!(30)),
    ] {
        for operation in OPERATIONS {
            let path = |property: &str| {
                format!("nodes/{}/{}/{operation}?limit=1000", encoded(of), encoded(property))
            };
            let asked =
                admin.call("POST", &path(if known { property } else { "undeclared" }), &value.to_string());
            let limit = oracle.limit;
            let path = path(property).replace("1000", &limit.to_string());
            let found = client.call("POST", &path, &value.to_string());
            if asked.0 == 200 {
                let all = serde_json::from_str(&asked.1).expect("it is JSON");
                let expected = oracle.list(&all, 0, limit);
                assert_eq!(found.0, 200, "{role} {path} {found:?}");
                let found: Json = serde_json::from_str(&found.1).expect("it is JSON");
                assert_eq!(found, expected, "{role} {path} {value}");
            } else {
                assert_eq!(found, asked, "{role} {path}");
            }
        }
    }
}

fn check_neighborhoods(
    admin: &Client<'_>,
    client: &Client<'_>,
    oracle: &Oracle,
    (nodes, relationships): (&Json, &Json),
    role: &str,
) {
    let all = |list: &Json| list.as_array().expect("a list").clone();
    for thing in all(nodes).iter().chain(&all(relationships)) {
        let kind = if thing["from"].is_null() { "node" } else { "relationship" };
        let path = format!("{kind}/{}", thing["id"]);
        let (status, text) = client.call("GET", &path, "");
        if oracle.sees(thing) {
            assert_eq!(serde_json::from_str::<Json>(&text).ok(), Some(Oracle::shown(thing)), "{role} {path}");
        } else {
            assert_eq!((status, &*text), (404, ""), "{role} {path}");
        }
        let properties = client.get(&format!("{path}/properties"));
        let expected =
            if oracle.sees(thing) { Oracle::shown(thing)["properties"].clone() } else { json!({}) };
        assert_eq!(properties, expected, "{role} {path}");
    }
    for (index, node) in all(nodes).iter().enumerate() {
        let named = [&node["type"], &node["key"]].map(|text| encoded(text.as_str().expect("a text")));
        let name = if index % 2 == 0 { node["id"].to_string() } else { named.join("/") };
        for behind in ["", "/out", "/in/KNO%20WS", "/all/NEAR&HATES", "/out/KNO%20WS%26NEAR&None"] {
            let path = |aspect: &str| format!("node/{name}/{aspect}{behind}");
            let around = all(&admin.get(&path("relationships")));
            let neighbors = all(&admin.get(&path("neighbors")));
            let seen = |node: &&Json| oracle.sees(node);
            let is_seen = oracle.sees(node);
            let links: Vec<Json> =
                around.iter().filter(seen).filter(|_| is_seen).map(Oracle::shown).collect();
            assert_eq!(client.get(&path("relationships")), json!(links), "{role} {}", path("relationships"));
            let reached = around.iter().zip(&neighbors).filter(|(link, _)| is_seen && oracle.sees(link));
            let reached: Vec<Json> =
                reached.map(|(_, node)| Oracle::shown(node)).take(oracle.limit).collect();
            assert_eq!(client.get(&path("neighbors")), json!(reached), "{role} {}", path("neighbors"));
            // The number of relationships of type NEAR may not be known.
            let (status, text) = client.call("GET", &path("degree"), "");
            if behind == "/in/KNO%20WS" {
                assert_eq!(text, format!("{{\"degree\": {}}}", links.len()), "{role} {}", path("degree"));
            } else {
                assert_eq!(status, 403, "{role} {}: {text}", path("degree"));
            }
        }
    }
    let ends: BTreeSet<(u64, u64)> = all(relationships)
        .iter()
        .filter_map(|link| Some((link["from"].as_u64()?, link["to"].as_u64()?)))
        .collect();
    for (from, to) in ends {
        let path = format!("node/{from}/connected/{to}");
        let links = all(&admin.get(&path)).into_iter().filter(|link| oracle.sees(link));
        let expected = Json::Array(links.collect());
        assert_eq!(client.get(&path), expected, "{role} {path}");
    }
}

/// What a role may not ask is refused whatever is there, and closes nothing but that call.
fn check_refusals(server: &Server) {
    let client = |role: &str| Client { server, headers: bearer(&token(role, 15)) };
    let few = client("few");
    let refused = (403, "\"the role is not allowed\"".to_owned());
    for (method, path) in [
        ("POST", "node/Us%20er/new"),
        ("DELETE", "node/Us%20er/1026"),
        ("PUT", "node/Us%20er/1026/properties"),
        ("POST", "nodes"),
        ("DELETE", "schema"),
        ("PUT", "nodes/Us%20er/age/EQ"),
        ("POST", "node/Us%20er/0/relationship/Us%20er/1026/NEAR"),
    ] {
        assert_eq!(few.call(method, path, "30"), refused, "{method} {path}");
    }
    let over = few.call("GET", "nodes?limit=4", "");
    assert_eq!(over, (400, "\"Invalid limit parameter: the highest of your role is 3\"".to_owned()));
    assert_eq!(few.call("GET", "node/Us%20er/%FF", "").0, 400);
    // A role without types of the graph has no part in it.
    assert_eq!(client("nobody").call("GET", "nodes", ""), refused);
    let elsewhere = server.ask(format!("GET /dbs HTTP/1.1\r\nhost: localhost\r\n{}\r\n", few.headers));
    assert!(elsewhere.starts_with("HTTP/1.1 403"), "{elsewhere}");
}

/// Of a node with very many relationships a role gets those that it may see, in their order, however they are put together.
#[test]
fn large_neighborhoods_are_filtered_in_passes() {
    let (server, _directory) = of_graph(access(ACCESS));
    let admin = Client { server: &server, headers: bearer(&token("admin", 0)) };
    for path in [
        "schema/nodes/Us%20er/properties/age/integer",
        "schema/nodes/Us%20er/properties/na%20me%2F%25/string",
        "schema/relationships/KNO%20WS",
    ] {
        assert_eq!(admin.call("POST", path, "").0, 201);
    }
    let create = |path: &str, line: &dyn Fn(usize) -> Json| {
        let lines: Vec<String> = (0..6000).map(|key| line(key).to_string()).collect();
        let (body, headers) = (lines.join("\n"), &admin.headers);
        let mut wire = server.connect();
        wire.send(format!(
            "POST /db/rage/{path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let (_, report) = wire.head_and_body();
        assert!(report.contains("{\"created\": 6000, \"failed\": 0"), "{report}");
    };
    create("nodes", &|key| json!({"type": USER, "key": key.to_string(), "properties": {"age": key % 100}}));
    let end = |key: usize| json!({"type": USER, "key": key.to_string()});
    create("relationships", &|key| json!({"type": "KNO WS", "from": end(99), "to": end(key)}));
    let reader = Client { server: &server, headers: bearer(&token("reader", 20)) };
    let deadline = std::time::Instant::now() + PATIENCE;
    while reader.call("GET", "schema/relationships", "").1 != r#"["KNO WS"]"# {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let stream = |client: &Client<'_>, path: &str| {
        let mut wire = server.connect();
        wire.send(format!("GET /db/rage/{path} HTTP/1.1\r\nhost: localhost\r\n{}\r\n", client.headers));
        serde_json::from_str::<Json>(&wire.chunked()).expect("it is JSON")
    };
    let ages = |list: &Json| -> Vec<i64> {
        let list = list.as_array().expect("a list");
        list.iter().filter_map(|node| node["properties"]["age"].as_i64()).collect()
    };
    // The node is its own neighbour in both directions.
    let seen = 6000 / 100 * 79 + 1;
    let neighbors = ages(&stream(&reader, "node/Us%20er/99/neighbors"));
    assert!(neighbors.len() == seen && neighbors.iter().all(|age| *age > 20), "{}", neighbors.len());
    let links = stream(&reader, "node/Us%20er/99/relationships/out");
    assert_eq!(links.as_array().map(Vec::len), Some(seen - 1));
    let (status, degree) = reader.call("GET", "node/Us%20er/99/degree/all/KNO%20WS", "");
    assert_eq!((status, &*degree), (200, &*format!("{{\"degree\": {seen}}}")));
    let few = Client { server: &server, headers: bearer(&token("few", 20)) };
    let (_, found) = few.call("GET", "node/Us%20er/99/neighbors", "");
    assert_eq!(ages(&serde_json::from_str(&found).expect("it is JSON")), neighbors[..3]);
}
