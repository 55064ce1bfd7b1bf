//! Scripts over HTTP: what they see and change, what stays of those that fail, and who else goes on meanwhile.

use std::{
    thread,
    time::{Duration, Instant},
};

use expect_test::expect;

use super::{Client, Graph};
use crate::support::{PATIENCE, Wire, give_options};

fn start(options: &str) -> Graph {
    Graph::with(|settings| give_options(settings, &format!("graph_lua = true\n{options}")))
}

fn restart(graph: Graph, options: &str) -> Graph {
    let options = format!("graph_lua = true\n{options}");
    graph.restart_with(|settings| give_options(settings, &options)).expect("it starts again")
}

/// Sends a script, and leaves the response for later.
fn send(wire: &mut Wire, script: &str) {
    let length = script.len();
    wire.send(format!(
        "POST /db/rage/lua HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{script}"
    ));
}

#[test]
fn scripts_are_off_where_nobody_turns_them_on() {
    let mut graph = Graph::start();
    graph.check(expect![[r#"
        POST /lua return 1
          403 "scripts are not run here: `graph_lua = true` in the [[source]] of the graph turns them on"
        GET /lua
          404 {"message": "Not found", "code": 404}
    "#]]);
}

#[test]
fn scripts_read_and_write_as_ragedb_has_them() {
    let mut graph = start("");
    let script = r#"NodePropertyTypeAdd("User", "name", "string")
NodePropertyTypeAdd("User", "age", "integer")
NodePropertyTypeAdd("User", "tags", "string_list")
RelationshipPropertyTypeAdd("KNOWS", "weight", "double")
for i, name in ipairs({"Ada", "Grace", "Barbara"}) do
  NodeAdd("User", "user"..i, "{\"name\":\""..name.."\", \"age\": "..(30 + i).."}")
end
NodeAdd("User", "x/y &%", {tags = {"a", "b"}})
for i = 1, 3 do
  for j = 1, 3 do
    if i ~= j then RelationshipAdd("KNOWS", "User", "user"..i, "User", "user"..j, {weight = i / j}) end
  end
end
NodeTypesGetCount("User"), RelationshipTypesGetCount("KNOWS"), NodeAdd("User", "user1"), NodeGet("User", "x/y &%")"#;
    let made = graph.ask(&format!("POST /lua {script}"));
    expect![[r#"200 [4, 6, 0, {"id": 67109888, "type": "User", "key": "x/y &%", "properties": {"tags": ["a", "b"]}}]"#]].assert_eq(&made);
    graph.check(expect![[r#"
        POST /lua NodeGetId("User", "user1"), NodeGetId("User", "nobody"), NodeTypesGetCount(), NodeTypesGet()
          200 [1025, 0, 1, ["User"]]
        POST /lua NodeGet("User", "user2")
          200 [{"id": 1024, "type": "User", "key": "user2", "properties": {"age": 32, "name": "Grace"}}]
        POST /lua return NodeGet("User", "user2")
          200 {"id": 1024, "type": "User", "key": "user2", "properties": {"age": 32, "name": "Grace"}}
        POST /lua return NodeGetRelationships("User", "user1", Direction.OUT, "KNOWS")
          200 [{"id": 1025, "type": "KNOWS", "from": 1025, "to": 1024, "properties": {"weight": 0.5}}, {"id": 67109889, "type": "KNOWS", "from": 1025, "to": 1026, "properties": {"weight": 0.3333333333333333}}]
        POST /lua return NodeGetDegree("User", "user1"), NodeGetDegree("User", "user1", Direction.IN, {"KNOWS", "LIKES"})
          200 [4, 2]
        POST /lua names = {} for _, link in ipairs(NodeGetLinks("User", "user1", Direction.OUT)) do names[#names + 1] = NodeGetProperty(link:getNodeId(), "name") end table.sort(names) return names
          200 ["Barbara", "Grace"]
        POST /lua return FindNodeIds("User", "age", Operation.GT, 31), FindNodeCount("User", "name", Operation.NOT_IS_NULL), #FindNodes("User", "name", Operation.STARTS_WITH, "G")
          200 [[1024, 1026], 3, 1]
        POST /lua return #AllNodes(), #AllNodes("User", 1, 2), AllNodesCount(), AllRelationshipsCount("KNOWS"), #AllRelationshipIds()
          200 [4, 2, 4, 6, 6]
        POST /lua return NodeTypeGet("User"), RelationshipTypeGet("KNOWS"), NodeTypeGetType(1), NodeTypeGetType(9)
          200 [{"age": "integer", "name": "string", "tags": "string_list"}, {"weight": "double"}, "User", null]
        POST /lua return NodeSetProperty("User", "user1", "age", 40), NodeSetProperty("User", "user1", "age", "old"), NodeSetProperty("User", "user1", "none", 1), NodeGetProperties("User", "user1")
          200 [true, false, false, {"age": 40, "name": "Ada"}]
        POST /lua return NodeSetPropertyFromJson("User", "user1", "tags", '["c"]'), NodeDeleteProperty("User", "user1", "age"), NodeGetProperty("User", "user1", "age"), NodeGetProperty("User", "user1", "tags")
          200 [true, true, null, ["c"]]
        POST /lua return #NodeGetConnected("User", "user1", "User", "user2"), NodeGetConnected("User", "user1", "User", "user2", Direction.OUT)[1]:getProperty("weight")
          200 [2, 0.5]
        POST /lua local id = NodeGetId("User", "user3") return NodeRemove(id), NodeRemove(id), NodeGet(id), RelationshipTypesGetCount("KNOWS")
          200 [true, false, null, 2]
        POST /lua return NodePropertyTypeAdd("User", "age", "text")
          400 "the script has failed: line 1: Allowed data types: \"boolean\", \"integer\", \"double\", \"string\", \"boolean_list\", \"integer_list\", \"double_list\", \"string_list\""
        POST /lua return NodeAdd("User", "late", "{")
          400 "the script has failed: line 1: Invalid JSON"
        POST /lua error("mine")
          400 "the script has failed: line 1: mine"
        POST /lua x = = 1
          400 "the script cannot be read: line 1: '<eof>' expected near '='"
        POST /lua return NodeGet("User", "user1"):getName()
          400 "the script has failed: line 1: attempt to call method 'getName' (a nil value)"
        POST //db/other/lua return 1
          404 {"message": "Not found", "code": 404}
        POST //dbs/other
          200 {"key": "other", "nodes": [], "relationships": []}
        POST //db/other/lua return NodeAdd("Item", "a"), AllNodesCount()
          200 [1024, 1]
        GET /node/Item/a
          404
        PUT /lua return 1
          404 {"message": "Not found", "code": 404}
    "#]]);
}

#[test]
fn what_a_script_wrote_stays_also_where_it_fails() {
    let mut graph = start("");
    let failed = graph.ask("POST /lua NodeAdd('User', 'a')\nNodeAdd('User', 'b')\nerror('half-way')");
    assert_eq!(failed, "400 \"the script has failed: line 3: half-way\"");
    let mut graph = restart(graph, "");
    let kept = "POST /lua return NodeGet('User', 'a'):getKey() .. NodeGet('User', 'b'):getKey()";
    assert_eq!(graph.ask(kept), "200 \"ab\"");
    // More than wait for the disk at a time.
    let many =
        graph.ask("POST /lua for i = 1, 1000 do NodeAdd('Item', tostring(i)) end\nNodeTypesGetCount('Item')");
    assert_eq!(many, "200 1000");
    let mut graph = restart(graph, "");
    assert_eq!(graph.ask("POST /lua AllNodesCount()"), "200 1002");
}

/// What it could not create had the id 0, as where a key exists, and it went on.
#[test]
fn a_script_on_a_database_that_is_dropped_meanwhile_fails() {
    let mut graph = start("");
    graph.ask("POST //dbs/other");
    let mut wire = Wire::to(graph.address());
    let script = "n = 0 while true do n = n + 1 NodeAdd('User', tostring(n)) end";
    let length = script.len();
    wire.send(format!(
        "POST /db/other/lua HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{script}"
    ));
    while graph.ask("GET //db/other/nodes") == "200 []" {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(graph.ask("DELETE //dbs/other"), "204");
    let told = wire.response();
    assert!(told.starts_with("HTTP/1.1 400") && told.contains("was dropped"), "{told}");
}

#[test]
fn a_script_on_a_graph_for_reading_only_reads() {
    let mut graph = start("");
    assert_eq!(graph.ask("POST /lua return NodeAdd('User', 'a') > 0"), "200 true");
    let mut graph = restart(graph, "read_only = true");
    assert_eq!(graph.ask("POST /lua return NodeGet('User', 'a'):getKey()"), "200 \"a\"");
    for script in ["NodeAdd('User', 'b')", "NodeRemove('User', 'a')", "NodeTypeInsert('Item')"] {
        let refused = graph.ask(&format!("POST /lua x = 1\n{script}"));
        assert!(
            refused.starts_with("403 ") && refused.contains("line 2: ") && refused.contains("read_only"),
            "{refused}"
        );
    }
    assert_eq!(graph.ask("POST /lua AllNodesCount()"), "200 1");
}

#[test]
fn limits_are_named() {
    let mut graph =
        start("statement_timeout_ms = 200\ngraph_lua_max_memory_bytes = 4194304\nmax_response_bytes = 1000");
    graph.check(expect![[r#"
        POST /lua while true do end
          400 "the script was ended: it takes longer than 200 ms (statement_timeout_ms)"
        POST /lua while true do pcall(NodeAdd, 'User', 'a') end
          400 "the script was ended: it takes longer than 200 ms (statement_timeout_ms)"
        POST /lua s = 'x' while true do s = s .. s end
          400 "the script was ended: it needs more memory than 4194304 bytes (graph_lua_max_memory_bytes)"
        POST /lua return ('x'):rep(2000)
          400 "the script was ended: its result is longer than 1000 bytes (max_response_bytes)"
    "#]]);
    let long = format!("POST /lua return 1 -- {}", "x".repeat(300_000));
    let refused = graph.ask(&long);
    assert!(refused.starts_with("400 ") && refused.contains("262144 bytes"), "{refused}");
}

/// As many scripts as there are threads, on each core.
#[test]
fn others_go_on_while_scripts_run() {
    let mut graph = start("statement_timeout_ms = 60000");
    assert!(graph.ask("POST /node/User/a").starts_with("201"));
    let mut spinning: Vec<Wire> = (0..8).map(|_| Wire::to(graph.address())).collect();
    for wire in &mut spinning {
        send(wire, "while true do end");
    }
    for _ in 0..8 {
        let mut other = Client::to(graph.address());
        for _ in 0..20 {
            assert!(other.ask("GET /node/User/a").starts_with("200"));
        }
    }
    // Those that run end with their clients, so that there are threads again.
    drop(spinning);
    assert_eq!(graph.ask("POST /lua return 1"), "200 1");
}

#[test]
fn too_many_scripts_are_told_to_come_again() {
    let graph = start("statement_timeout_ms = 1000");
    let mut wires: Vec<Wire> = (0..80).map(|_| Wire::to(graph.address())).collect();
    for wire in &mut wires {
        send(wire, "while true do end");
    }
    let responses: Vec<String> = wires.iter_mut().map(Wire::response).collect();
    let told = |text: &str| responses.iter().filter(|response| response.contains(text)).count();
    assert!(told("scripts wait already") > 0, "{responses:?}");
    assert!(told("statement_timeout_ms") > 0, "{responses:?}");
    let unavailable: Vec<_> =
        responses.iter().filter(|response| response.starts_with("HTTP/1.1 503")).collect();
    assert!(unavailable.iter().all(|response| response.contains("retry-after: 1")), "{unavailable:?}");
}

#[test]
fn a_script_ends_with_its_client() {
    let mut graph = start("statement_timeout_ms = 3600000");
    let mut gone = Wire::to(graph.address());
    send(&mut gone, "i = 0 while true do i = i + 1 NodeAdd('User', tostring(i)) end");
    let mut count = || graph.ask("POST /lua AllNodesCount()");
    let deadline = Instant::now() + PATIENCE;
    while count() == "200 0" {
        assert!(Instant::now() < deadline, "the script never begins");
    }
    drop(gone);
    let mut last = count();
    loop {
        thread::sleep(Duration::from_millis(100));
        let now = count();
        if now == last {
            break;
        }
        assert!(Instant::now() < deadline, "the script goes on");
        last = now;
    }
}

/// Its thread has let go of the graph, which is opened again.
#[test]
fn a_server_stops_while_a_script_runs() {
    let graph = start("statement_timeout_ms = 3600000");
    let mut wire = Wire::to(graph.address());
    send(&mut wire, "NodeAdd('User', 'a') while true do end");
    let mut other = Client::to(graph.address());
    let deadline = Instant::now() + PATIENCE;
    while !other.ask("GET /node/User/a").starts_with("200") {
        assert!(Instant::now() < deadline, "the script never begins");
    }
    let mut graph = restart(graph, "");
    assert!(graph.ask("GET /node/User/a").starts_with("200"));
}

/// As with all calls that may change something.
#[test]
fn pages_of_others_run_no_scripts() {
    let graph = start("");
    let mut wire = Wire::to(graph.address());
    let script = "return 1";
    wire.send(format!(
        "POST /db/rage/lua HTTP/1.1\r\nhost: localhost\r\norigin: https://elsewhere.test\r\ncontent-type: text/plain\r\n\
         content-length: {}\r\n\r\n{script}",
        script.len()
    ));
    assert!(wire.response().starts_with("HTTP/1.1 403"));
}
