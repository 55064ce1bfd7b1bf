//! Scripts on a graph by roles that may not do everything: they see and change what calls of the role see and change.

use std::{fmt::Write as _, thread, time::Duration};

use expect_test::expect;

use super::{
    access, bearer,
    graph_calls::{ACCESS, ask, of_graph_with},
    token,
};
use crate::support::{PATIENCE, Server, give_options_to};

/// Beside the roles of [`ACCESS`].
const WRITER: &str = r#"
[roles.writer.sources.graph.types]
User = { select = true, insert = { columns = ["name", "age"], check = { age = { lt = 50 } } }, update = { columns = ["name"], rows = { age = { lt = 45 } } } }
"#;

fn script(server: &Server, headers: &str, path: &str, script: &str) -> String {
    ask(server, headers, "POST", path, script)
}

/// A server of a graph that an admin's script has filled.
fn filled() -> (Server, tempfile::TempDir) {
    let (server, directory) = of_graph_with(|settings| {
        settings.access = access(&format!("{ACCESS}{WRITER}"));
        give_options_to(settings, 1, "graph_lua = true");
    });
    let fill = r#"
        NodePropertyTypeAdd("User", "name", "string") NodePropertyTypeAdd("User", "age", "integer")
        NodeTypeInsert("Secret") RelationshipTypeInsert("KNOWS") RelationshipTypeInsert("HATES")
        NodeAdd("User", "Old", {name = "Ann", age = 40}) NodeAdd("User", "Elder", {name = "Bea", age = 50})
        NodeAdd("User", "Young", {name = "Cid", age = 20}) NodeAdd("Secret", "s")
        RelationshipAdd("KNOWS", "User", "Old", "User", "Elder") RelationshipAdd("KNOWS", "User", "Old", "User", "Young")
        RelationshipAdd("HATES", "User", "Old", "User", "Elder")
        return AllNodesCount()"#;
    assert_eq!(script(&server, &bearer(&token("admin", 0)), "/db/rage/lua", fill), "200 4");
    (server, directory)
}

/// What is asked by whoever only reads, and then by who may write.
const READ: [&str; 12] = [
    "return NodeGet('User', 'Old'), NodeGet('User', 'Young'), NodeGetId('Secret', 's')",
    "return NodeGetProperty('User', 'Old', 'age'), NodeGetProperties('User', 'Young')",
    "return NodeTypesGet(), NodeTypesGetCount(), NodeTypeGet('User'), NodeTypeGetType(1), NodeTypeGetType(2)",
    "return #AllNodes(), NodeGetDegree('User', 'Old', 'KNOWS'), #NodeGetNeighbors('User', 'Old'), #AllRelationshipIds()",
    "return FindNodeIds('User', 'name', Operation.EQ, 'Cid'), #FindNodeIds('User', 'name', Operation.EQ, 'Ann')",
    "x = 1\nreturn NodeTypesGetCount('User')",
    "return FindNodeCount('User', 'name', Operation.EQ, 'Cid')",
    "return AllNodesCount()",
    "return NodeAdd('User', 'New')",
    "return pcall(NodeAdd, 'User', 'New')",
    "return NodeTypeInsert('Mine')",
    "return NodeRemove('User', 'Old')",
];
const WRITTEN: [&str; 6] = [
    "return NodeAdd('User', 'New', {name = 'Dee', age = 20}) > 0",
    "return NodeAdd('User', 'Newer', {name = 'Dee', age = 60}) > 0",
    "return NodeSetProperty('User', 'Old', 'name', 'Anna'), NodeSetProperty('User', 'Elder', 'name', 'Bee')",
    "return NodeSetProperty('User', 'Old', 'age', 1)",
    "return NodeRemove('User', 'New')",
    "return NodeGetProperty('User', 'Old', 'name'), NodeGetProperty('User', 'Elder', 'name')",
];

#[test]
fn scripts_of_roles_see_and_change_what_the_role_may() {
    let (server, _directory) = filled();
    let (reader, writer) = (bearer(&token("visitor", 30)), bearer(&token("writer", 0)));
    // The schemas of the roles follow that of the graph.
    let deadline = std::time::Instant::now() + PATIENCE;
    let is_seen = "return NodeGetId('User', 'Old') > 0";
    while [&reader, &writer].iter().any(|role| script(&server, role, "/db/rage/lua", is_seen) != "200 true") {
        assert!(std::time::Instant::now() < deadline, "the roles never see it");
        thread::sleep(Duration::from_millis(20));
    }
    let mut told = String::new();
    let of_reader = READ.iter().map(|text| ("reader", &reader, text));
    for (who, role, text) in of_reader.chain(WRITTEN.iter().map(|text| ("writer", &writer, text))) {
        let response = script(&server, role, "/db/rage/lua", text);
        let _ = writeln!(told, "{who}: {text}\n  {response}");
    }
    expect![[r#"
        reader: return NodeGet('User', 'Old'), NodeGet('User', 'Young'), NodeGetId('Secret', 's')
          200 [{"id": 1025, "type": "User", "key": "Old", "properties": {"name": "Ann"}}, null, 0]
        reader: return NodeGetProperty('User', 'Old', 'age'), NodeGetProperties('User', 'Young')
          200 [null, {}]
        reader: return NodeTypesGet(), NodeTypesGetCount(), NodeTypeGet('User'), NodeTypeGetType(1), NodeTypeGetType(2)
          200 [["User"], 1, {"name": "string"}, "User", null]
        reader: return #AllNodes(), NodeGetDegree('User', 'Old', 'KNOWS'), #NodeGetNeighbors('User', 'Old'), #AllRelationshipIds()
          200 [2, 1, 1, 1]
        reader: return FindNodeIds('User', 'name', Operation.EQ, 'Cid'), #FindNodeIds('User', 'name', Operation.EQ, 'Ann')
          200 [[], 1]
        reader: x = 1
        return NodeTypesGetCount('User')
          403 "the script has failed: line 2: how many there are is not told to a role, which may not see all of them: ask GraphQL's aggregates, which count what the role sees"
        reader: return FindNodeCount('User', 'name', Operation.EQ, 'Cid')
          403 "the script has failed: line 1: how many there are is not told to a role, which may not see all of them: ask GraphQL's aggregates, which count what the role sees"
        reader: return AllNodesCount()
          403 "the script has failed: line 1: how many there are is not told to a role, which may not see all of them: ask GraphQL's aggregates, which count what the role sees"
        reader: return NodeAdd('User', 'New')
          403 "the script has failed: line 1: the role is not allowed to make this call"
        reader: return pcall(NodeAdd, 'User', 'New')
          200 [false, "the role is not allowed to make this call"]
        reader: return NodeTypeInsert('Mine')
          403 "the script has failed: line 1: the role is not allowed to make this call"
        reader: return NodeRemove('User', 'Old')
          403 "the script has failed: line 1: the role is not allowed to make this call"
        writer: return NodeAdd('User', 'New', {name = 'Dee', age = 20}) > 0
          200 true
        writer: return NodeAdd('User', 'Newer', {name = 'Dee', age = 60}) > 0
          403 "the script has failed: line 1: a row with these values may not be written; nothing was changed"
        writer: return NodeSetProperty('User', 'Old', 'name', 'Anna'), NodeSetProperty('User', 'Elder', 'name', 'Bee')
          200 [true, false]
        writer: return NodeSetProperty('User', 'Old', 'age', 1)
          403 "the script has failed: line 1: the role is not allowed to make this call"
        writer: return NodeRemove('User', 'New')
          403 "the script has failed: line 1: the role is not allowed to make this call"
        writer: return NodeGetProperty('User', 'Old', 'name'), NodeGetProperty('User', 'Elder', 'name')
          200 ["Anna", "Bea"]
    "#]].assert_eq(&told);
    // There is only one database for roles.
    let admin = bearer(&token("admin", 0));
    assert!(
        server
            .ask(format!("POST /dbs/other HTTP/1.1\r\nhost: localhost\r\n{admin}content-length: 0\r\n\r\n"))
            .contains(" 200 ")
    );
    assert_eq!(script(&server, &admin, "/db/other/lua", "return 1"), "200 1");
    assert!(script(&server, &reader, "/db/other/lua", "return 1").starts_with("403 "));
}

/// A rule decides who may run scripts.
#[test]
fn a_rule_is_for_scripts_too() {
    let rules =
        format!("{ACCESS}[[operation]]\nmatch = \"POST /db/{{graph}}/lua\"\nscopes = [\"graph:scripts\"]\n");
    let (server, _directory) = of_graph_with(|settings| {
        settings.access = access(&rules);
        give_options_to(settings, 1, "graph_lua = true");
    });
    let refused = script(&server, &bearer(&token("admin", 0)), "/db/rage/lua", "return 1");
    assert!(refused.starts_with("403 ") && refused.contains("a scope is missing"), "{refused}");
}
