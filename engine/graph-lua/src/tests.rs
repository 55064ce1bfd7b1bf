//! Scripts on a graph that only repeats what it is asked, and attacks on the sandbox.

use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};

use crate::{
    CallError, CallReply, GraphCall, GraphCalls, Limits, Method, SCRIPT_BYTES_MAX, STACK_BYTES, ScriptFault,
    Side, run,
};

/// Notes what it is asked, and has one node and one relationship, whatever is asked for.
#[derive(Debug, Default)]
struct Echo(Vec<String>);

const NODE: &str = r#"{"id": 1026, "type": "User", "key": "Max", "properties": {}}"#;
const RELATIONSHIP: &str =
    r#"{"id": 7, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {"since": 2001, "a": 1.5}}"#;

impl GraphCalls for Echo {
    fn call(&mut self, call: &GraphCall<'_>) -> Result<CallReply, CallError> {
        let GraphCall { method, path, query, body, .. } = call;
        let query = query.filter(|query| !query.is_empty()).map(|query| format!("?{query}"));
        let body = String::from_utf8_lossy(body);
        self.0.push(format!("{method:?} {path}{} {body}", query.unwrap_or_default()).trim_end().to_owned());
        let (status, body) = match (method, *path) {
            (_, path) if path.contains("%66orbidden") => (403, "\"your role may not ask this\"".to_owned()),
            (_, path) if path.contains("%66ull") => {
                return Err(CallError { status: 507, message: "the disk is full".to_owned() });
            }
            (_, path) if path.contains("%70anics") => panic!("as it was asked to"),
            (_, path) if path.contains("%6Eone") => (404, String::new()),
            (_, path) if path.contains("%62ad") => (400, "\"Invalid Request\"".to_owned()),
            (Method::Get, path) if path.starts_with("schema/") => (200, r#"["Item", "User"]"#.to_owned()),
            (Method::Get, path) if path.contains("/degree") => (200, r#"{"degree": 2}"#.to_owned()),
            (Method::Get, path) if path.ends_with("/properties") => (200, "{}".to_owned()),
            (Method::Get, path) if path.contains("/property/") => (200, r#"{"name": "max"}"#.to_owned()),
            (Method::Get, path) if path.contains("/relationships") => (200, format!("[{RELATIONSHIP}]")),
            (Method::Get, path) if path.contains("/connected/") => (200, format!("[{RELATIONSHIP}]")),
            (Method::Get, path) if path.contains("/neighbors") => (200, format!("[{NODE}, {NODE}]")),
            (Method::Get, path) if path.starts_with("nodes") => (200, format!("[{NODE}]")),
            (Method::Get, path) if path.starts_with("relationship") => (200, RELATIONSHIP.to_owned()),
            (Method::Get, _) => (200, NODE.to_owned()),
            (Method::Post, path) if path.starts_with("nodes/") => (200, format!("[{NODE}]")),
            (Method::Post, path) if path.contains("/relationship/") => (201, RELATIONSHIP.to_owned()),
            (Method::Post, path) if path.starts_with("node/") && !path.ends_with("/properties") => {
                (201, NODE.to_owned())
            }
            _ => (204, String::new()),
        };
        Ok(CallReply { status, body: body.into_bytes() })
    }

    fn count(&mut self, side: Side, type_name: Option<&str>) -> Result<u64, CallError> {
        self.0.push(format!("count {side:?} {}", type_name.unwrap_or("*")));
        Ok(3)
    }

    fn type_name(&mut self, _: Side, number: u16) -> Option<String> {
        (number == 1).then(|| "User".to_owned())
    }

    fn type_number(&mut self, _: Side, name: &str) -> Option<u16> {
        (name == "User").then_some(1)
    }
}

fn limits() -> Limits {
    let time = Duration::from_secs(60);
    Limits {
        memory_bytes: 16 << 20,
        result_bytes: 1 << 20,
        time: Some((time, Instant::now() + time)),
        is_cancelled: Arc::new(AtomicBool::new(false)),
    }
}

/// Runs a script on a thread with the stack that scripts need.
fn run_within(script: &[u8], limits: &Limits) -> (Result<String, ScriptFault>, Vec<String>) {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || {
            let mut graph = Echo::default();
            let result = run(script, &mut graph, limits);
            (result.map(|json| String::from_utf8(json).expect("JSON is UTF-8")), graph.0)
        });
        thread.expect("a thread can be started").join().expect("it does not panic")
    })
}

fn shown(script: &str) -> String {
    match run_within(script.as_bytes(), &limits()).0 {
        Ok(json) => json,
        Err(fault) => format!("{} {fault}", fault.status()),
    }
}

/// Scripts, each with what it comes to on the line below.
#[expect(clippy::needless_pass_by_value, reason = "reads like the transcript beside it")]
fn check(transcript: Expect) {
    let scripts = transcript.data().lines().map(str::trim).filter_map(|line| line.strip_prefix("> "));
    let told = scripts.map(|script| format!("> {script}\n{}\n", shown(&script.replace("\\n", "\n"))));
    transcript.assert_eq(&told.collect::<String>());
}

#[test]
fn the_value_is_that_of_the_last_line() {
    check(expect![[r##"
        > 1 + 1
        2
        > a = 1\na, 2, nil
        [1, 2, null]
        > "a\"b", "c\\", 2
        ["a\"b", "c\\", 2]
        > "a\", b"
        "a\", b"
        > names = {"a", "b"}\nnames
        ["a", "b"]
        > NodeGet("User", "Max")
        [{"id": 1026, "type": "User", "key": "Max", "properties": {}}]
        > return NodeGet("User", "Max")
        {"id": 1026, "type": "User", "key": "Max", "properties": {}}
        > return 1, 2
        [1, 2]
        > return
        null
        > x = 1
        null
        > for i = 1, 3 do x = i end
        null
        > "Tom, Jerry"
        "Tom, Jerry"
        > "Tom", "Jerry"
        ["Tom", "Jerry"]
        > x = [[\nabc]]
        null
        > string.format(\n  "%d", 7)
        null
        > local function f() return 1, 2 end\nf()
        1
        > x = 7 -- of a week\nx -- and no more
        7
        > if true then return 5 end\n7
        5
        > if true then return 5, 6 end\n7
        [5, 6]
        > if true then return end\n7, 8
        null
        > if false then return 5 end\n7, 8
        [7, 8]
        > select("#", ...), ...
        [0]
        > local a = ...\na
        null
        > return ...
        null
        > x = {...}\n#x
        0
    "##]]);
}

#[test]
fn values_are_json() {
    check(expect![[r##"
        > return {}, {1, 2.5, "a"}, {b = true, a = {c = {}}}
        [[], [1, 2.5, "a"], {"a": {"c": []}, "b": true}]
        > return 230.0, -0.5, 2^53, 1e300, 1/3, 1026
        [230, -0.5, 9007199254740992, 1e+300, 0.3333333333333333, 1026]
        > return 1e16, 2^60, -2^62, 2^63, 0 * -1
        [10000000000000000, 1152921504606846976, -4611686018427387904, 9.223372036854776e+18, 0]
        > return -2^63, -(2^63 + 2048)
        [-9223372036854775808, -9.223372036854778e+18]
        > local t = {}; for i = 1, 9000 do t["k" .. i] = {i} end; return json.decode(json.encode(t)).k9000
        [9000]
        > return 1/0
        400 the script has failed: the number inf cannot be JSON
        > return 0/0
        400 the script has failed: the number NaN cannot be JSON
        > return "caf\195\169\0\""
        "café\u0000\""
        > return "\255"
        400 the script has failed: a text that is not UTF-8 cannot be JSON
        > return {1, nil, 3}
        400 the script has failed: a list with gaps cannot be JSON: put `false`, or another value, in place of nil
        > local t = {1, nil, 3, 4}; t[9] = 9; return t
        400 the script has failed: a list with gaps cannot be JSON: put `false`, or another value, in place of nil
        > return {[1] = "a", b = 2}
        400 the script has failed: a table cannot be JSON whose keys are neither the numbers from 1 on nor texts: make texts of them with tostring
        > return {[1027] = 2}
        400 the script has failed: a table cannot be JSON whose keys are neither the numbers from 1 on nor texts: make texts of them with tostring
        > local t = {}; t.t = t; return t
        400 the script has failed: a table that contains itself cannot be JSON
        > return print
        400 the script has failed: a function cannot be JSON
        > return 1LL
        400 the script has failed: a 64-bit integer of LuaJIT cannot be JSON
        > return NodeGet("User", "Max"), RelationshipGet(7), NodeGetLinks(1026)[1]
        [{"id": 1026, "type": "User", "key": "Max", "properties": {}}, {"id": 7, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {"a": 1.5, "since": 2001}}, {"node_id": 1027, "rel_id": 7}]
        > return NodeGetProperties(1026)
        {}
        > return json.encode({a = {}}), json.decode('{"a": [1, null, {"b": {}}]}')
        400 the script has failed: a list with gaps cannot be JSON: put `false`, or another value, in place of nil
        > return json.decode("{")
        400 the script has failed: line 1: this is no JSON: EOF while parsing an object at line 1 column 1
        > return json.decode(string.rep("[", 200))
        400 the script has failed: line 1: this is no JSON: recursion limit exceeded at line 1 column 128
        > local t = {}; for i = 1, 200 do t = {t} end; return t
        400 the script has failed: tables that are nested more than 127 deep cannot be JSON
        > return pcall(error, {1})
        [false, [1]]
        > return pcall(NodeAdd, "User", "full")
        [false, "the disk is full"]
        > local done, why = pcall(NodeAdd, "User", "full"); return done, type(why), "it says: " .. why
        [false, "string", "it says: the disk is full"]
        > return select(2, xpcall(NodeAdd, function(why) return tostring(why) .. "!" end, "User", "full"))
        "the disk is full!"
        > return select("#", pcall(function() return 1, nil, nil end)), pcall(error)
        [4, false, null]
    "##]]);
}

#[test]
fn faults_have_their_line() {
    check(expect![[r#"
        > x = 1\ny = = 2
        400 the script cannot be read: line 2: '<eof>' expected near '='
        > for i = 1, 3 do
        400 the script cannot be read: line 1: 'end' expected near '<eof>'
        > x = nil\n\nreturn x.y
        400 the script has failed: line 3: attempt to index global 'x' (a nil value)
        > error("mine")
        400 the script has failed: line 1: mine
        > x = 1\nerror(7)
        400 the script has failed: line 2: 7
        > x = 1\nerror({code = 1})
        400 the script has failed: line 2: it raised a table, and no text: raise what json.encode makes of it
        > error(setmetatable({}, {__tostring = function() return "its own words" end}))
        400 the script has failed: line 1: its own words
        > x = 1\nif true then return NodeGet() end\nx
        400 the script has failed: a name is expected, and this is a nil
        > NodeGet()
        400 the script has failed: line 1: a name is expected, and this is a nil
        > x = 1\nNodeGet("User", {})
        400 the script has failed: line 2: a name is expected, and this is a table
        > NodeGetDegree(1026, 7)
        400 the script has failed: line 1: there is no direction 7; use Direction.BOTH, IN or OUT
        > x = 1\nNodeRemove(5 / 2)
        400 the script has failed: line 2: an id is a whole number from 0 on, and this is 2.5
        > NodeGet(1 / 0)
        400 the script has failed: line 1: an id is a whole number from 0 on, and this is inf
        > AllNodes("User", 0, -1)
        400 the script has failed: line 1: a limit is a whole number from 0 on, and this is -1
        > return NodeAdd("forbidden", "x")
        403 the script has failed: line 1: your role may not ask this
        > x = 1\nreturn NodeAdd("User", "full")
        507 the script has failed: line 2: the disk is full
        > KHopIds(1026, 2)
        400 the script has failed: line 1: KHopIds of RageDB is not there: use NodeGetNeighbors in a loop
        > Roar.new()
        400 the script has failed: line 1: Roar of RageDB is not there: keep ids as keys of a table, and compare those
        > return NodeSetProperty(1, "name", 1/0)
        400 the script has failed: line 1: the number inf cannot be JSON
        > string.rep()
        400 the script has failed: line 1: bad argument #1 to 'rep' (string expected, got no value)
        > string.find("a", "[a")
        400 the script has failed: line 1: malformed pattern (missing ']')
    "#]]);
}

/// What each function asks of the graph, and what it returns.
fn check_calls(transcript: &Expect) {
    let scripts = transcript.data().lines().map(str::trim).filter_map(|line| line.strip_prefix("> "));
    let told = scripts.map(|script| {
        let (result, asked) = run_within(format!("return {script}").as_bytes(), &limits());
        let result = result.unwrap_or_else(|fault| fault.to_string());
        format!("> {script}\n{} => {result}\n", asked.join("; "))
    });
    transcript.assert_eq(&told.collect::<String>());
}

#[test]
fn functions_are_calls() {
    check_calls(&expect![[r#"
        > NodeTypesGet()
        Get schema/nodes => ["Item", "User"]
        > NodeTypesGetCount(), NodeTypesGetCount("User"), NodeTypesGetCount(1), NodeTypesGetCountByType("User")
        Get schema/nodes; count Nodes User; count Nodes User; count Nodes User => [2, 3, 3, 3]
        > RelationshipTypesGetCount(9)
         => 0
        > NodeTypeGetType(70000), NodeTypeGetType(-1), NodeTypeGetType(1.5), NodeTypesGetCount(70000)
         => [null, null, null, 0]
        > NodeTypeGet("User")
        Get schema/nodes/%55ser => ["Item", "User"]
        > NodeTypeInsert("User"), NodeTypeGetType(1), NodeTypeGetType(2)
        Post schema/nodes/%55ser => [1, "User", null]
        > NodePropertyTypeAdd("User", "age", "integer"), RelationshipPropertyTypeDelete("KNOWS", "since")
        Post schema/nodes/%55ser/properties/%61ge/%69nteger; Delete schema/relationships/%4BNOWS/properties/%73ince => [true, true]
        > NodeAdd("User", "Max"), NodeAdd("User", "bad"), NodeAddEmpty("User", 7)
        Post node/%55ser/%4Dax; Post node/%55ser/%62ad; Post node/%55ser/%37 => [1026, 0, 1026]
        > NodeAdd("User", "Max", '{"age": 7}'), NodeAdd("User", "Max", {age = 7}), NodeAdd("User", "Max", {})
        Post node/%55ser/%4Dax {"age": 7}; Post node/%55ser/%4Dax {"age": 7}; Post node/%55ser/%4Dax {} => [1026, 1026, 1026]
        > NodeAdd("User", {"a", "b"}, {'{"age": 7}'})
        Post node/%55ser/%61 {"age": 7}; Post node/%55ser/%62 => [1026, 1026]
        > NodeGet("none", "x"), NodeGetId("User", "Max"), NodeGetId("none", "x"), NodeGetById(1026):getKey()
        Get node/%6Eone/%78; Get node/%55ser/%4Dax; Get node/%6Eone/%78; Get node/1026 => [null, 1026, 0, "Max"]
        > NodeGetType(1026), NodeGetKey("none", "a"), NodeRemove(1026), NodeRemove("none", "x")
        Get node/1026; Get node/%6Eone/%61; Delete node/1026; Delete node/%6Eone/%78 => ["User", null, true, false]
        > NodeGetProperty("User", "Max", "name"), NodeGetProperty(1026, "name"), NodeGetProperties("User", "Max")
        Get node/%55ser/%4Dax/property/%6Eame; Get node/1026/property/%6Eame; Get node/%55ser/%4Dax/properties => ["max", "max", {}]
        > NodeSetProperty("User", "Max", "age", 7), NodeSetProperty(1026, "tags", {"a", "b"}), NodeSetProperty(1026, "age", nil)
        Put node/%55ser/%4Dax/property/%61ge 7; Put node/1026/property/%74ags ["a", "b"] => [true, true, false]
        > NodeSetPropertyFromJson(1026, "age", "7"), NodeSetPropertiesFromJson("User", "Max", '{"age": 7}'), NodeResetPropertiesFromJson(1026, "{}")
        Put node/1026/property/%61ge 7; Put node/%55ser/%4Dax/properties {"age": 7}; Post node/1026/properties {} => [true, true, true]
        > NodeDeleteProperty(1026, "age"), NodeDeleteProperties("User", "Max"), RelationshipDeleteProperties(7)
        Delete node/1026/property/%61ge; Delete node/%55ser/%4Dax/properties; Delete relationship/7/properties => [true, true, true]
        > RelationshipAdd("KNOWS", "User", "a", "User", "b"), RelationshipAdd("KNOWS", 1, 2, '{"since": 1}')
        Post node/%55ser/%61/relationship/%55ser/%62/%4BNOWS; Post node/1/relationship/2/%4BNOWS {"since": 1} => [7, 7]
        > RelationshipGetStartingNodeId(7), RelationshipGetEndingNodeId(7), RelationshipGetType(7), RelationshipRemove(7)
        Get relationship/7; Get relationship/7; Get relationship/7; Delete relationship/7 => [1026, 1027, "KNOWS", true]
        > RelationshipGet(7):getProperty("since"), RelationshipSetProperty(7, "since", 2002)
        Get relationship/7; Put relationship/7/property/%73ince 2002 => [2001, true]
    "#]]);
}

#[test]
fn functions_around_a_node_are_calls() {
    check_calls(&expect![[r#"
        > NodeGetDegree(1026), NodeGetDegree("User", "Max", Direction.OUT, "KNOWS"), NodeGetDegree(1026, {"A", "B&C"})
        Get node/1026/degree/all; Get node/%55ser/%4Dax/degree/out/%4BNOWS; Get node/1026/degree/all/%41&%42%26C => [2, 2, 2]
        > NodeGetDegree(1026, nil, "KNOWS"), NodeGetDegree(1026, nil, nil)
        Get node/1026/degree/all/%4BNOWS; Get node/1026/degree/all => [2, 2]
        > NodeGetNeighborIds(1026, Direction.IN), NodeGetNeighborsByIdForDirectionForTypes(1026, Direction.BOTH, {"A", "B"})[1]:getType()
        Get node/1026/neighbors/in; Get node/1026/neighbors/all/%41&%42 => [[1026, 1026], "User"]
        > NodeGetRelationshipsIds("User", "Max")[1].node_id, NodeGetRelationshipsIdsById(1026)[1].rel_id
        Get node/%55ser/%4Dax; Get node/%55ser/%4Dax/relationships/all; Get node/1026/relationships/all => [1027, 7]
        > NodeGetLinksForTypeId("User", "Max", 1)[1].node_id, NodeGetDegreeByIdForDirectionForTypeId(1026, Direction.OUT, 1)
        Get node/%55ser/%4Dax; Get node/%55ser/%4Dax/relationships/all/%55ser; Get node/1026/degree/out/%55ser => [1027, 2]
        > NodeGetDegree(NodeGet(1026)), #NodeGetLinks(NodeGet(1026), Direction.OUT), #Connected(NodeGet(1026), 1027)
        Get node/1026; Get node/1026/degree/all; Get node/1026; Get node/1026/relationships/out; Get node/1026; Get node/1026/connected/1027/all => [2, 1, 1]
        > RelationshipRemove(RelationshipGet(7)), RelationshipAdd("KNOWS", NodeGet(1026), 1027), RelationshipAddByTypeIdByIds(1, 2, 3)
        Get relationship/7; Delete relationship/7; Get node/1026; Post node/1026/relationship/1027/%4BNOWS; Post node/2/relationship/3/%55ser => [true, 7, 7]
        > NodeGetLinks("User", "Max", Direction.OUT)[1]:getNodeId(), NodeGetLinks(1027)[1]:getNodeId(), NodeGetLinks(1026)[1]:getRelationshipId()
        Get node/%55ser/%4Dax; Get node/%55ser/%4Dax/relationships/out; Get node/1027/relationships/all; Get node/1026/relationships/all => [1027, 1026, 7]
        > NodeGetConnected(1026, 1027), #NodeGetConnected("User", "a", "User", "b", "KNOWS")
        Get node/1026/connected/1027/all; Get node/%55ser/%61/connected/%55ser/%62/all/%4BNOWS => [[{"id": 7, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {"a": 1.5, "since": 2001}}], 1]
        > AllNodeIds(), AllNodes("User", 10, 5)[1]:getId(), AllNodeIds(0, 2), AllNodesCount(), AllNodesCount("User")
        Get nodes; Get nodes/%55ser?skip=10&limit=5; Get nodes?skip=0&limit=2; count Nodes *; count Nodes User => [[1026], 1026, [1026], 3, 3]
        > FindNodeIds("User", "age", Operation.GTE, 7, 0, 10), FindNodeCount("User", "age", Operation.NOT_IS_NULL)
        Post nodes/%55ser/%61ge/%47TE?skip=0&limit=10 7; count Nodes User; Post nodes/%55ser/%61ge/%4EOT%5FIS%5FNULL?skip=0&limit=3 null => [[1026], 1]
        > #NodesGet({1026, 1027}), #NodesGet(NodeGetLinks(1026)), RelationshipsGet({7})[1]:getId()
        Get node/1026; Get node/1027; Get node/1026/relationships/all; Get node/1027; Get relationship/7 => [2, 1, 7]
        > NodeGet("properties", "neighbors/x y"), NodeGetProperty("123", "", "Ünï")
        Get node/%70roperties/%6Eeighbors%2Fx%20y; Get node/%3123//property/%C3%9Cn%C3%AF => [{"id": 1026, "type": "User", "key": "Max", "properties": {}}, null]
    "#]]);
}

/// What a sandbox must not let out: what is not there is nil, so that to use it is an error.
#[test]
fn nothing_leads_out_of_the_sandbox() {
    check(expect![[r#"
        > return io, debug, package, require, module, ffi, jit, bit, coroutine
        [null, null, null, null, null, null, null, null, null]
        > return load, loadstring, loadfile, dofile, string.dump, collectgarbage, gcinfo, newproxy
        [null, null, null, null, null, null, null, null]
        > return getfenv, setfenv, getmetatable, string.gfind, table.getn, table.foreach
        [null, null, null, null, null, null]
        > return os.execute, os.exit, os.getenv, os.remove, os.rename, os.tmpname, os.setlocale
        [null, null, null, null, null, null, null]
        > io.open("/etc/passwd")
        400 the script has failed: line 1: attempt to index global 'io' (a nil value)
        > os.execute("true")
        400 the script has failed: line 1: attempt to call field 'execute' (a nil value)
        > require("ffi")
        400 the script has failed: line 1: attempt to call global 'require' (a nil value)
        > ("x"):dump()
        400 the script has failed: line 1: attempt to call method 'dump' (a nil value)
        > local names = {}; for name in pairs(_G) do if _G[name] == nil then names[#names + 1] = name end end; return names
        []
        > local n = {}; for name in pairs(string) do n[#n + 1] = name end; table.sort(n); return n
        ["byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper"]
        > local n = {}; for name in pairs(os) do n[#n + 1] = name end; table.sort(n); return n
        ["clock", "date", "difftime", "time"]
        > setmetatable(NodeGet("User", "Max"), {})
        400 the script has failed: line 1: cannot change a protected metatable
        > setmetatable("", {__index = {}})
        400 the script has failed: line 1: bad argument #1 to 'setmetatable' (table expected, got string)
        > NodeGet = nil; string.find = nil; return NodeGetId("User", "Max")
        1026
        > ipairs = nil; unpack = nil; return NodeGetNeighborIds(1026)
        [1026, 1026]
        > _G = nil; rawset(_ENV or {}, "x", 1); return NodeGetId("User", "Max")
        1026
        > local ok, fault = pcall(NodeAdd, "User", "full"); return fault.cause
        null
        > local ok, fault = pcall(NodeAdd, "User", "full"); setmetatable(fault, {})
        400 the script has failed: line 1: bad argument #1 to 'setmetatable' (table expected, got string)
        > return tostring(1LL), pcall(function() return (1LL).x end)
        ["1LL", false, "script:1: 'int64_t' has no member named 'x'"]
        > return type(os.clock()), type(os.time()), os.date("!%Y", 0), pcall(os.date, "%")
        ["number", "number", "1970", true, "%"]
    "#]]);
    let bytecode = b"\x1bLJ\x02\x02\x06\x00\x02\x00\x00\x01";
    let refused = run_within(bytecode, &limits()).0;
    assert!(matches!(refused, Err(ScriptFault::Syntax { .. })), "{refused:?}");
}

/// Each would run for ever, or for hours.
#[test]
fn a_script_is_ended_in_time() {
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() return f() end f()",
        "local function f() while true do xpcall(function() while true do end end, f) end end f()",
        "::again:: goto again",
        "repeat local x = {} until false",
        "local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x",
        "return tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        "return ('a'):rep(30000):find(('.-'):rep(20) .. 'b')",
        "return ('a'):rep(30000):match(('a*'):rep(20) .. 'b')",
        "for x in ('a'):rep(30000):gmatch(('a?'):rep(100) .. ('a*'):rep(5) .. 'b') do end",
        "return ('a'):rep(30000):gsub(('.-'):rep(20) .. 'b', 'x')",
        "return ('a'):rep(30000):gsub(('.-'):rep(20) .. 'b', function() end)",
        "return ('x'):rep(30000):find(('%w+'):rep(8) .. '%d')",
        "return (('('):rep(60000)):find(('%b()'):rep(1) .. ('.-'):rep(6) .. 'x')",
        "local t = {} for i = 1, 100000 do t[i] = i end while true do table.sort(t) end",
        "table.sort({3, 2, 1}, function() while true do end end)",
        "table.move({}, 1, 1e15, 2)",
        "local s = ('x'):rep(1000000) while true do local x = s .. s end",
        "local function f() pcall(f) f() end f()",
        "while true do json.encode({1, 2, 3}) end",
        "while true do NodeGet('User', 'Max') end",
        "while true do pcall(NodeAdd, 'User', 'full') end",
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
    ] {
        let time = Duration::from_millis(100);
        let limits = Limits { time: Some((time, Instant::now() + time)), ..limits() };
        let ended = run_within(script.as_bytes(), &limits).0;
        let is_ended = matches!(&ended, Err(ScriptFault::Limit { message, .. }) if message.contains("statement_timeout_ms"));
        assert!(is_ended, "{script}: {ended:?}");
    }
}

/// Each wants more memory, stack or room for its result than there is.
#[test]
fn a_script_is_ended_where_it_takes_too_much() {
    let deep = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let wide = format!("x = {}1", "x.".repeat(80_000));
    let gotos = "goto a ".repeat(30_000);
    for (script, expected) in [
        ("local t = {} while true do t[#t + 1] = {} end", "graph_lua_max_memory_bytes"),
        ("local s = 'x' while true do s = s .. s end", "graph_lua_max_memory_bytes"),
        ("return #('x'):rep(1e9)", "memory"),
        ("return #('x'):rep(2^40)", ""),
        ("return #('x'):rep(1e6):gsub('x', ('y'):rep(1e5))", "graph_lua_max_memory_bytes"),
        (
            "return #('x'):rep(1e6):gsub('x', function() return ('y'):rep(1e5) end)",
            "graph_lua_max_memory_bytes",
        ),
        ("local t = {} for i = 1, 1e9 do t[i] = i end", "graph_lua_max_memory_bytes"),
        (
            "local t = {} while true do t[#t + 1] = pcall(error, ('x'):rep(1e5) .. #t) and 1 or ('x'):rep(1e5) .. #t end",
            "graph_lua_max_memory_bytes",
        ),
        ("table.insert({}, -2^31, 1)", "out of bounds"),
        ("table.insert({1}, 2^53, 1)", "out of bounds"),
        ("table.concat(setmetatable({}, {__index = function() return 'x' end}), '', 1, 1e9)", "'concat'"),
        ("return unpack({}, 1, 1e8)", "unpack"),
        ("local function f() return 1 + f() end f()", "stack overflow"),
        ("local function f() return pcall(f) end return f()", ""),
        ("local function f() ('x'):gsub('x', f) end f()", "stack overflow"),
        (
            "local t t = setmetatable({}, {__tostring = function() return string.format('%s', t) end}) tostring(t)",
            "stack overflow",
        ),
        (
            "local t t = setmetatable({}, {__index = function(_, k) return t[k] end}) return t.x .. ''",
            "stack overflow",
        ),
        (
            "local t = setmetatable({}, {}) local m = t for i = 1, 1000 do m = setmetatable({}, {__index = m}) end return m.x",
            "loop",
        ),
        ("local t = {} for i = 1, 40 do t = {t, t} end return t", "max_response_bytes"),
        ("return ('x'):rep(2e6)", "max_response_bytes"),
        ("local t = {} for i = 1, 40 do t = {t, t} end return json.encode(t)", "max_response_bytes"),
        ("return json.decode('[' .. ('[],'):rep(1e6) .. '1]')", "graph_lua_max_memory_bytes"),
        (&deep, "cannot be read"),
        (&wide, ""),
        (&gotos, "cannot be read"),
    ] {
        let ended = run_within(script.as_bytes(), &limits()).0;
        let told = ended.as_ref().map_or_else(ToString::to_string, Clone::clone);
        let script: String = script.chars().take(100).collect();
        assert!(told.contains(expected), "{script}: {ended:?}");
        assert!(ended.is_err() || expected.is_empty(), "{script}: {ended:?}");
    }
    let long = vec![b' '; SCRIPT_BYTES_MAX + 1];
    let refused = run_within(&long, &limits()).0;
    assert!(
        matches!(&refused, Err(ScriptFault::Limit { message, .. }) if message.contains("262144")),
        "{refused:?}"
    );
}

#[test]
fn a_script_is_ended_where_nobody_waits_for_it() {
    let limits = Limits { is_cancelled: Arc::new(AtomicBool::new(true)), time: None, ..limits() };
    assert_eq!(run_within(b"while true do end", &limits).0, Err(ScriptFault::Cancelled));
}

/// It is a fault of ours, and none of the script's.
#[test]
fn what_panics_is_caught_by_no_script() {
    for script in [
        "return NodeGet('User', 'panics')",
        "return pcall(NodeGet, 'User', 'panics')",
        "return pcall(pcall, NodeGet, 'User', 'panics')",
        "return xpcall(NodeGet, function() return 1 end, 'User', 'panics')",
    ] {
        let ended = std::panic::catch_unwind(|| run_within(script.as_bytes(), &limits()));
        assert!(ended.is_err(), "{script}: {ended:?}");
    }
}

/// What stands in place of Lua's own functions does what they do.
#[test]
fn replaced_functions_are_as_lua_has_them() {
    check(expect![[r#"
        > return ("hello world"):find("o w"), ("a.b"):find(".", 2, true), ("abc"):find("b", -1), ("abc"):find("")
        [5, 2, null, 1, 0]
        > return ("k=v, x=y"):gsub("(%w+)=(%w+)", "%2=%1"), ("abc"):gsub("", "-"), ("abc"):gsub("%w", "%0%0", 2)
        ["v=k, y=x", "-a-b-c-", "aabbc", 2]
        > return ("$name is $age"):gsub("%$(%w+)", {name = "Max", age = 42}), ("abc"):gsub("b", function() return false end)
        ["Max is 42", "abc", 1]
        > local t = {}; for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[#t + 1] = k .. v end; return t
        ["a1", "b2"]
        > local t = {}; for w in ("one two"):gmatch("%a*") do t[#t + 1] = w end; return t
        ["one", "", "two", ""]
        > return ("2026-11-27"):match("(%d+)-(%d+)-(%d+)")
        ["2026", "11", "27"]
        > return ("abc"):match("()b()"), ("abc"):match("^b"), ("abc"):match("b", 2), ("hello"):gsub("^h", "j")
        [2, null, "b", "jello", 1]
        > local t = {5, 2, 9, 1, 7}; table.sort(t); return t
        [1, 2, 5, 7, 9]
        > local t = {"b", "a", "c"}; table.sort(t, function(a, b) return a > b end); return t
        ["c", "b", "a"]
        > local t = {1, 2}; table.insert(t, 3); table.insert(t, 1, 0); table.remove(t, 2); return t
        [0, 2, 3]
        > return table.move({1, 2, 3, 4}, 2, 3, 1), table.move({1, 2, 3}, 1, 2, 2), table.move({1, 2}, 1, 5, 1, {})
        [[2, 3, 3, 4], [1, 1, 2], [1, 2]]
        > return ("x"):rep(3, ","), ("abc"):gsub(".", {a = 1, b = true})
        400 the script has failed: line 1: invalid replacement value (a boolean)
        > return ("%d"):gsub("%%d", "%%1"), pcall(string.gsub, "a", "a", "%2")
        ["%1", false, "invalid capture index"]
        > local t = {}; for digit in string.gmatch(2026, "%d") do t[#t + 1] = digit end; return t
        ["2", "0", "2", "6"]
        > return string.gsub(2026, "2", {["2"] = "x"})
        ["x0x6", 2]
        > string.gmatch(nil, "a")
        400 the script has failed: line 1: bad argument #1 to 'gmatch' (string expected, got nil)
        > print("a", nil, {}); return tostring(nil), tonumber("0x10"), select("-1", nil, 3)
        ["nil", 16, 3]
    "#]]);
}
