//! GraphQL over `series:DIR` from outside: live, joined with a table and a graph in both directions, and by roles.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

use prony_testkit::PronyProcess;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a loaded machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

struct Server {
    _process: PronyProcess,
    url: String,
}

/// A server with this configuration, in which `DIR` is the directory's path.
fn serve(directory: &TempDir, text: &str) -> Server {
    let path = directory.path().join("prony.toml");
    fs::write(&path, text.replace("DIR", directory.path().to_str().unwrap())).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--cpus", "1", "--config"]).arg(&path);
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    Server { _process: process, url }
}

impl Server {
    /// Status and body.
    fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let request = http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header("content-type", "application/json").body(body.to_owned()).unwrap();
        let mut response = agent.run(request).unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    }

    fn notify(&self, entities: &Value) {
        let (status, body) = self.send("POST", "/v2/notify", &json!({ "data": entities }).to_string());
        assert_eq!(status, 200, "{body}");
    }

    fn graphql(&self, query: &str) -> Value {
        let (_, body) = self.send("POST", "/graphql", &json!({ "query": query }).to_string());
        serde_json::from_str(&body).unwrap()
    }

    /// The data of a query, once the schema has what it asks for.
    fn data(&self, query: &str) -> Value {
        let begun = Instant::now();
        loop {
            let response = self.graphql(query);
            if response["errors"].is_null() {
                return response["data"].clone();
            }
            assert!(begun.elapsed() < PATIENCE, "{response}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Events of a subscription, as server-sent events.
    fn subscribe(&self, query: &str) -> BufReader<TcpStream> {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = json!({ "query": query }).to_string();
        let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        BufReader::new(stream)
    }
}

/// The next event's data.
fn next(events: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    while events.read_line(&mut line).unwrap() > 0 {
        if let Some(data) = line.trim().strip_prefix("data:").filter(|data| !data.trim().is_empty()) {
            return serde_json::from_str(data).unwrap();
        }
        line.clear();
    }
    panic!("the events have ended");
}

fn room(id: &str, minute: u32, temperature: f64) -> Value {
    let time = format!("2024-05-06T07:{minute:02}:00Z");
    json!({"id": id, "type": "Room", "observedAt": time, "temperature": {"type": "Number", "value": temperature}})
}

const JOINED: &str = r#"
[[source]]
name = "rooms"
url = "series:DIR/rooms"
[[source]]
name = "shop"
url = "sqlite:DIR/shop.db"
[[source]]
name = "places"
url = "graph:DIR/places"

[[join]]
field = "Device.room"
key = "room_id"
to = "Query.rooms"
argument = "where.id.in"
match = "id"
[[join]]
field = "Room.devices"
key = "id"
to = "Query.devices"
argument = "where.room_id.in"
match = "room_id"
many = true
[[join]]
field = "Place.room"
key = "_key"
to = "Query.rooms"
argument = "where.id.in"
match = "id"
[[join]]
field = "Room.place"
key = "id"
to = "Query.places"
argument = "where._key.in"
match = "_key"
"#;

#[test]
fn series_are_joined_with_a_table_and_a_graph_in_both_directions() {
    let directory = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(directory.path().join("shop.db")).unwrap();
    let script = "create table devices (id integer primary key, room_id text);
        insert into devices (room_id) values ('Room:1'), ('Room:2'), ('Room:1'), ('Room:9'), (null);";
    database.execute_batch(script).unwrap();
    let server = serve(&directory, JOINED);
    server.notify(&json!([room("Room:1", 0, 20.5), room("Room:1", 1, 21.5), room("Room:2", 0, 18.0)]));
    assert!(server.send("POST", "/db/rage/schema/nodes/Place", "").0 < 300);
    assert!(server.send("POST", "/db/rage/schema/nodes/Place/properties/floor/integer", "").0 < 300);
    for (key, floor) in [("Room:1", 3), ("Room:7", 4)] {
        let made =
            server.send("POST", &format!("/db/rage/node/Place/{key}"), &json!({"floor": floor}).to_string());
        assert!(made.0 < 300, "{made:?}");
    }
    let data = server.data(
        "{ devices(sort: {id: asc}) { id room { id temperature(last: 1) { value } place { floor } } } }",
    );
    let one = json!({"id": "Room:1", "temperature": [{"value": 21.5}], "place": {"floor": 3}});
    let other = json!({"id": "Room:2", "temperature": [{"value": 18.0}], "place": null});
    let device = |id: u32, room: &Value| json!({"id": id, "room": room});
    let rooms = [&one, &other, &one, &Value::Null, &Value::Null];
    let expected: Value = (1..).zip(rooms).map(|(id, room)| device(id, room)).collect();
    assert_eq!(data["devices"], expected);
    let data = server.data("{ rooms { devices { id room { id } } place { _key } } places(sort: {floor: asc}) { floor room { temperature_aggregate { avg } devices { id } } } }");
    let back = json!({"id": "Room:1"});
    assert_eq!(
        data,
        json!({
            "rooms": [
                {"devices": [{"id": 1, "room": back}, {"id": 3, "room": back}], "place": {"_key": "Room:1"}},
                {"devices": [{"id": 2, "room": {"id": "Room:2"}}], "place": null},
            ],
            "places": [
                {"floor": 3, "room": {"temperature_aggregate": [{"avg": 21.0}], "devices": [{"id": 1}, {"id": 3}]}},
                {"floor": 4, "room": null},
            ],
        })
    );
}

#[test]
fn attributes_that_come_later_leave_joined_fields_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(directory.path().join("shop.db")).unwrap();
    let script = "create table devices (id integer primary key, room_id text);
        insert into devices (room_id) values ('Room:1');";
    database.execute_batch(script).unwrap();
    let server = serve(&directory, JOINED);
    server.notify(&json!([room("Room:1", 0, 20.5)]));
    let joined = "{ rooms { devices { id } } }";
    let expected = json!({"rooms": [{"devices": [{"id": 1}]}]});
    assert_eq!(server.data(joined), expected);
    let mut with_name = room("Room:1", 1, 21.5);
    with_name["devices"] = json!({"type": "Number", "value": 7});
    server.notify(&json!([with_name]));
    let data = server.data("{ rooms { devices_attribute(last: 1) { value } devices { id } } }");
    assert_eq!(data, json!({"rooms": [{"devices_attribute": [{"value": 7.0}], "devices": [{"id": 1}]}]}));
    assert_eq!(server.data(joined), expected);
}

#[test]
fn properties_and_types_that_come_later_leave_joined_fields_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(directory.path().join("shop.db")).unwrap();
    database.execute_batch("create table devices (id integer primary key, room_id text)").unwrap();
    let server = serve(&directory, JOINED);
    let call = |path: &str, body: &str| {
        let made = server.send("POST", &format!("/db/rage/{path}"), body);
        assert!(made.0 < 300, "{path}: {made:?}");
    };
    server.notify(&json!([room("Room:1", 0, 20.5)]));
    call("schema/nodes/Place", "");
    call("node/Place/Room:1", "{}");
    let joined = "{ places { room { id } } }";
    let expected = json!({"places": [{"room": {"id": "Room:1"}}]});
    assert_eq!(server.data(joined), expected);
    call("schema/nodes/Place/properties/room/string", "");
    call("schema/nodes/Door", "");
    call("schema/nodes/Door/properties/room/string", "");
    call("node/Place/Cellar", &json!({"room": "dark"}).to_string());
    call("node/Door/D1", &json!({"room": "dark"}).to_string());
    let data = server.data(
        "{ places(where: {room_property: {eq: \"dark\"}}) { _key room_property room { id } } doors { room }
           graph_nodes(where: {room: {eq: \"dark\"}}, sort: {_type: asc}) { _type ... on Place { room_property room { id } } } }",
    );
    assert_eq!(
        data,
        json!({
            "places": [{"_key": "Cellar", "room_property": "dark", "room": null}],
            "doors": [{"room": "dark"}],
            "graph_nodes": [
                {"_type": "Door"},
                {"_type": "Place", "room_property": "dark", "room": null},
            ],
        })
    );
    assert_eq!(server.data("{ places(where: {_key: {eq: \"Room:1\"}}) { room { id } } }"), expected);
}

#[test]
fn new_rows_and_live_queries_reach_subscribers() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(&directory, "[[source]]\nname = \"rooms\"\nurl = \"series:DIR/rooms\"\n");
    server.notify(&json!([room("Room:1", 0, 20.5)]));
    server.data("{ rooms { id } }");
    let mut live =
        server.subscribe("subscription { room(id: \"Room:1\") { temperature(last: 1) { value } } }");
    let value = |value: f64| json!({"data": {"room": {"temperature": [{"value": value}]}}});
    assert_eq!(next(&mut live), value(20.5));
    let mut rows =
        server.subscribe("subscription { onRoomRow(where: {id: {eq: \"Room:1\"}}) { time temperature } }");
    // The subscription is open once its first event comes.
    let begun = Instant::now();
    let mut sent = 0;
    loop {
        sent += 1;
        server.notify(&json!([room("Room:2", 0, 1.0), room("Room:1", sent, f64::from(sent))]));
        rows.get_ref().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        if rows.fill_buf().is_ok_and(|read| String::from_utf8_lossy(read).contains("data:")) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "no event comes");
        assert!(sent < 59, "no event comes");
    }
    rows.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let first = next(&mut rows)["data"]["onRoomRow"]["temperature"].as_f64().unwrap();
    assert!(first >= 1.0 && first <= f64::from(sent), "{first}");
    for more in 1..=3 {
        server.notify(&json!([room("Room:2", 0, 1.0), room("Room:1", 59, f64::from(sent + more))]));
    }
    let told: Vec<f64> = (0..f64::from(sent) as u32 + 3 - first as u32)
        .map(|_| next(&mut rows)["data"]["onRoomRow"]["temperature"].as_f64().unwrap())
        .collect();
    let expected: Vec<f64> = (first as u32 + 1..=sent + 3).map(f64::from).collect();
    assert_eq!(told, expected, "each row once, in order");
    while next(&mut live) != value(f64::from(sent + 3)) {}
}

/// Slashes at the end of a path say nothing to calls, and let clients out of the rules for them.
#[test]
fn rules_hold_for_calls_whatever_slashes_end_their_paths() {
    let directory = tempfile::tempdir().unwrap();
    let text = r#"
[auth]
anonymous = "visitor"
[[source]]
name = "rooms"
url = "series:DIR/rooms"
[roles.visitor]
unrestricted = true
[[operation]]
match = "POST /v2/notify"
quota = [{ by = "everybody", day = 1 }]
[[operation]]
match = "GET /ngsi-ld/v1/temporal/entities/{id}"
scopes = ["rooms:read"]
"#;
    let server = serve(&directory, text);
    server.notify(&json!([room("Room:1", 0, 20.5)]));
    let more = json!({"data": [room("Room:2", 0, 3.0)]}).to_string();
    for slashes in ["", "/", "//"] {
        let (status, body) = server.send("POST", &format!("/v2/notify{slashes}"), &more);
        assert_eq!(status, 429, "{slashes}: {body}");
        let path = format!("/ngsi-ld/v1/temporal/entities/Room:1{slashes}");
        assert_eq!(server.send("GET", &path, "").0, 403, "{path}");
    }
}

/// Directions are words in letters of any size to calls, and let clients out of the rules for them.
#[test]
fn rules_hold_for_calls_however_directions_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let text = r#"
[auth]
anonymous = "visitor"
[[source]]
name = "social"
url = "graph:DIR/social"
[roles.visitor]
unrestricted = true
[[operation]]
match = "GET /db/{graph}/node/{type}/{key}/neighbors/out"
scopes = ["social:read"]
"#;
    let server = serve(&directory, text);
    for (direction, status) in [("out", 403), ("OUT", 403), ("oUt", 403), ("in", 404), ("IN", 404)] {
        let (found, body) =
            server.send("GET", &format!("/db/social/node/User/Max/neighbors/{direction}"), "");
        assert_eq!(found, status, "{direction}: {body}");
    }
}

#[test]
fn roles_have_the_types_that_they_are_granted() {
    let directory = tempfile::tempdir().unwrap();
    let text = r#"
[auth]
anonymous = "visitor"
[[source]]
name = "rooms"
url = "series:DIR/rooms"
[roles.visitor.sources.rooms.tables.Room]
select = { columns = ["temperature"], rows = { id = { like = "Room:%" } } }
insert = { columns = "*", check = { id = { like = "%" } } }
"#;
    let server = serve(&directory, text);
    server.notify(&json!([room("Room:1", 0, 20.5), room("Secret:1", 0, 1.0)]));
    let mut with_more = room("Room:2", 0, 3.0);
    with_more["code"] = json!({"type": "Text", "value": "1234"});
    server.notify(&json!([with_more]));
    let data = server.data("{ rooms { id temperature { value } } }");
    let of = |id: &str, value: f64| json!({"id": id, "temperature": [{"value": value}]});
    assert_eq!(data["rooms"], json!([of("Room:1", 20.5), of("Room:2", 3.0)]));
    let (_, body) = server.send("POST", "/graphql", r#"{"query":"{ rooms { code { value } } }"}"#);
    assert!(body.contains("does not have a field `code`"), "{body}");
    let get = |path: &str| server.send("GET", path, "").1;
    assert_eq!(get("/v2/entities/Secret:1"), "[]");
    assert!(
        get("/v2/entities/Room:2")
            .contains("\"attributes\":[{\"attrName\":\"temperature\",\"values\":[3.0]}]")
    );
    let street = json!({"data": [{"id": "x", "type": "Street"}]}).to_string();
    assert_eq!(server.send("POST", "/v2/notify", &street).0, 403);
    assert_eq!(server.send("DELETE", "/v2/entities/Room:1", ""), (200, "[]".to_owned()));
}
