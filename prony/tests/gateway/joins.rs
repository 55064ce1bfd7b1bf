//! Joins: what they ask for, which keys they take for the same, and what they say where something cannot be had.

use std::fs;

use prony_testkit::peer::ScriptedPeer;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{directory, failure, ok, server::Server};

/// A database in a file.
fn database(directory: &TempDir, name: &str, script: &str) -> String {
    let path = directory.path().join(name);
    let database = rusqlite::Connection::open(&path).expect("the database can be made");
    database.execute_batch(script).expect("the tables can be made");
    format!("[[source]]\nname = \"{}\"\nurl = \"sqlite:{}\"\n", name.replace('.', "_"), path.display())
}

const PEOPLE: &str = "create table people (id integer primary key, name text not null);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
    insert into people (name) select 'person ' || i from n;";

const ORDERS: &str = "create table orders (id integer primary key, person_id integer not null);
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 199)
    insert into orders (person_id) select i % 20 + 1 from n;";

const ORDERS_OF_PERSON: &str = "[[join]]\nfield = \"Person.orders\"\nkey = \"id\"\nto = \"Query.orders\"\n\
    argument = \"where.person_id.in\"\nmatch = \"person_id\"\nmany = true\n";

fn lengths(response: &Value) -> Vec<Option<usize>> {
    let people = response["data"]["people"].as_array().unwrap_or_else(|| panic!("no list: {response}"));
    people.iter().map(|person| person["orders"].as_array().map(Vec::len)).collect()
}

/// `default_limit` is for clients that ask for a list, and not for a batch of keys.
#[test]
fn a_batch_is_asked_for_without_the_default_limit_of_its_target() {
    let directory = directory();
    let text = database(&directory, "people.db", PEOPLE)
        + &database(&directory, "shop.db", ORDERS)
        + ORDERS_OF_PERSON;
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ people(limit: 20) { orders { id } } }");
    assert!(response["errors"].is_null(), "{response}");
    assert_eq!(lengths(&response), vec![Some(10); 20], "{response}");
}

#[test]
fn a_batch_of_more_keys_than_the_default_limit_finds_one_for_each() {
    let notes = "create table notes (id integer primary key, author integer not null);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
        insert into notes (author) select i from n;";
    let join = "[[join]]\nfield = \"Note.person\"\nkey = \"author\"\nto = \"Query.people\"\nargument = \"where.id.in\"\n\
        match = \"id\"\nbatch = 500\n";
    for more in ["", "default_limit = 7\nmax_limit = 50\n"] {
        let directory = directory();
        let people = database(&directory, "people.db", PEOPLE);
        let notes = database(&directory, "notes.db", notes);
        let gateway = Server::configured(&directory, &format!("{people}{more}{notes}{join}"));
        let response = gateway.graphql("{ notes(limit: 500) { author person { name } } }");
        assert!(response["errors"].is_null(), "{more}: {response}");
        let notes = response["data"]["notes"].as_array().expect("a list");
        assert_eq!(notes.len(), 500);
        for note in notes {
            assert_eq!(note["person"]["name"], json!(format!("person {}", note["author"])), "{more}");
        }
    }
}

/// As many items as the limit may be a part of what there is.
#[test]
fn what_may_not_be_whole_is_null_beside_an_error() {
    for (of_source, of_join) in
        [("default_limit = 5\nmax_limit = 150\n", ""), ("", "arguments = { limit = 150 }\n")]
    {
        let directory = directory();
        let (people, shop) =
            (database(&directory, "people.db", PEOPLE), database(&directory, "shop.db", ORDERS));
        let gateway =
            Server::configured(&directory, &format!("{people}{shop}{of_source}{ORDERS_OF_PERSON}{of_join}"));
        let response = gateway.graphql("{ people(limit: 20) { orders { id } } }");
        assert_eq!(lengths(&response), vec![None; 20], "{response}");
        assert_eq!(
            failure(&response),
            "LIMIT_EXCEEDED: what Person.orders joins may not be whole: Query.orders gave 150 items for 20 keys, \
             as many as its `limit`; raise that, or lower `batch` of the join"
        );
        // Fewer keys find less than the limit.
        let response = gateway.graphql("{ people(limit: 14) { orders { id } } }");
        assert!(response["errors"].is_null(), "{response}");
        assert_eq!(lengths(&response), vec![Some(10); 14], "{response}");
    }
}

/// What a role may ask for bounds a join too.
#[test]
fn the_limit_of_a_role_is_that_of_its_joins() {
    let directory = directory();
    let roles = "[auth]\nanonymous = \"guest\"\n\
        [roles.guest.sources.people_db.tables.people]\nselect = { columns = \"*\" }\n\
        [roles.guest.sources.shop_db.tables.orders]\nselect = { columns = \"*\", limit = 30 }\n";
    let text = database(&directory, "people.db", PEOPLE)
        + &database(&directory, "shop.db", ORDERS)
        + ORDERS_OF_PERSON
        + roles;
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ people(limit: 2) { orders { id } } }");
    assert_eq!(lengths(&response), vec![Some(10); 2], "{response}");
    let response = gateway.graphql("{ people(limit: 3) { orders { id } } }");
    assert_eq!(lengths(&response), vec![None; 3], "{response}");
}

/// An error of what is joined has the path of the field that is null by it, and not that of another source's root field.
#[test]
fn errors_of_what_is_joined_have_the_path_in_the_response() {
    let directory = directory();
    let orders = "create table orders (id integer primary key, person_id integer);
        insert into orders (person_id) values (null), (7), (8), (7);";
    let shop = database(&directory, "shop.db", orders);
    let people = r#"{"data":{"peopleByIds":[{"name":null,"friends":[{"name":null}],"prony_key_match_id":"7"},null]},"errors":[
        {"message":"no name","path":["peopleByIds",0,"friends",0,"name"]},{"message":"gone","path":["peopleByIds",1]}]}"#;
    let peer = ScriptedPeer::answering(ok(people));
    let schema = directory.path().join("schema.graphql");
    let sdl = "type Query { peopleByIds(ids: [ID!]!): [Person] } type Person { id: ID! name: String friends: [Person] }";
    fs::write(&schema, sdl).expect("it can be written");
    let text = format!(
        "{shop}[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\n\
         [[join]]\nfield = \"Order.person\"\nkey = \"person_id\"\nto = \"Query.peopleByIds\"\nargument = \"ids\"\nmatch = \"id\"\n",
        peer.url(),
        schema.display()
    );
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ all: orders { id of: person { name friends { name } } } }");
    let person = json!({"name": null, "friends": [{"name": null}]});
    let order = |id: i64, person: &Value| json!({"id": id, "of": person});
    let expected = [order(1, &Value::Null), order(2, &person), order(3, &Value::Null), order(4, &person)];
    assert_eq!(response["data"]["all"], json!(expected), "{response}");
    let errors = response["errors"].as_array().unwrap_or_else(|| panic!("no errors: {response}"));
    let told: Vec<_> = errors.iter().map(|error| (&error["message"], &error["path"])).collect();
    let (name, gone) = (json!("no name"), json!("gone"));
    let of_name = json!(["all", 1, "of", "friends", 0, "name"]);
    // Nobody knows whose item it would have been: it is the key for which nothing has come.
    let of_gone = json!(["all", 2, "of"]);
    assert_eq!(told.len(), 2, "{response}");
    assert!(told.contains(&(&name, &of_name)) && told.contains(&(&gone, &of_gone)), "{response}");
    let field = gateway.graphql("{\n  all: orders {\n    of: person { name friends { name } } } }");
    assert_eq!(field["errors"][0]["locations"], json!([{"line": 3, "column": 5}]), "{field}");
}

/// The client has not asked for the key, and does not see what it is called.
#[test]
fn errors_of_keys_have_the_path_of_what_is_joined_by_them() {
    let directory = directory();
    let notes = "create table notes (id integer primary key, person_id integer, next_id integer);
        insert into notes values (1, 1, 2), (2, 5000000000, null);";
    let join = |field: &str, key: &str, to: &str| {
        format!(
            "[[join]]\nfield = \"Note.{field}\"\nkey = \"{key}\"\nto = \"Query.{to}\"\nargument = \"where.id.in\"\nmatch = \"id\"\n"
        )
    };
    let text = database(&directory, "people.db", PEOPLE)
        + &database(&directory, "notes.db", notes)
        + &join("person", "person_id", "people")
        + &join("next", "next_id", "notes");
    let gateway = Server::configured(&directory, &text);
    for (query, path) in [
        ("{ notes { person { name } } }", json!(["notes", 1, "person"])),
        ("{ all: notes { of: person { name } by: person { id } } }", json!(["all", 1, "of"])),
        ("{ notes(limit: 1) { next { person { name } } } }", json!(["notes", 0, "next", "person"])),
    ] {
        let response = gateway.graphql(query);
        assert!(failure(&response).starts_with("VALUE_OUT_OF_RANGE"), "{query}: {response}");
        assert_eq!(response["errors"][0]["path"], path, "{query}: {response}");
    }
}

/// The path of a join below a join leads through both.
#[test]
fn errors_of_joins_below_joins_lead_through_them() {
    let directory = directory();
    let text = database(&directory, "people.db", PEOPLE)
        + &database(&directory, "shop.db", ORDERS)
        + "max_limit = 150\n"
        + ORDERS_OF_PERSON
        + &database(&directory, "notes.db", "create table notes (id integer primary key, author integer not null);
            insert into notes (author) values (2), (1), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15);")
        + "[[join]]\nfield = \"Note.person\"\nkey = \"author\"\nto = \"Query.people\"\nargument = \"where.id.in\"\nmatch = \"id\"\n";
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ notes { person { orders { id } } } }");
    assert!(failure(&response).starts_with("LIMIT_EXCEEDED"), "{response}");
    // The first person of the batch is the author of the second note.
    let path = response["errors"][0]["path"].clone();
    assert_eq!(path, json!(["notes", 1, "person", "orders"]), "{response}");
    assert_eq!(response["data"]["notes"][0], json!({"person": {"orders": null}}));
}

/// Numbers are the same by their values; a key that the target cannot take is that of nothing, and of no others.
#[test]
fn keys_are_compared_by_what_they_are() {
    let directory = directory();
    let notes = "create table notes (id integer primary key, by_number real, by_text text, by_uuid text);
        insert into notes (by_number, by_text, by_uuid) values
            (1.0, '2', '123E4567-E89B-12D3-A456-42661417400A'), (1.5, 'x', 'no uuid'), (3e2, '1.0', null);";
    let devices = r#"{"data":{"devices":[{"name":"pump","prony_key_match_id":"123e4567-e89b-12d3-a456-42661417400a"}]}}"#;
    let peer = ScriptedPeer::answering(ok(devices));
    let schema = directory.path().join("schema.graphql");
    let sdl =
        "type Query { devices(ids: [UUID!]!): [Device] } type Device { id: UUID! name: String } scalar UUID";
    fs::write(&schema, sdl).expect("it can be written");
    let join = |field: &str, key: &str| {
        format!(
            "[[join]]\nfield = \"Note.{field}\"\nkey = \"{key}\"\nto = \"Query.people\"\nargument = \"where.id.in\"\nmatch = \"id\"\n"
        )
    };
    let text = format!(
        "{}{}[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\n{}{}\
         [[join]]\nfield = \"Note.device\"\nkey = \"by_uuid\"\nto = \"Query.devices\"\nargument = \"ids\"\nmatch = \"id\"\n",
        database(&directory, "people.db", PEOPLE),
        database(&directory, "notes.db", notes),
        peer.url(),
        schema.display(),
        join("numbered", "by_number"),
        join("named", "by_text"),
    );
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ notes { numbered { id } named { id } device { name } } }");
    assert!(response["errors"].is_null(), "{response}");
    let person = |id: i64| json!({ "id": id });
    let expected = json!([
        {"numbered": person(1), "named": person(2), "device": {"name": "pump"}},
        {"numbered": null, "named": null, "device": null},
        {"numbered": person(300), "named": person(1), "device": null},
    ]);
    assert_eq!(response["data"]["notes"], expected);
}

/// Notes with a text each, which are joined to an upstream's paints by an enumeration.
fn painted(directory: &TempDir, peer: &ScriptedPeer, more: &str) -> Server {
    let notes = "create table notes (id integer primary key, color text);
        insert into notes (color) values ('RED'), ('red'), ('');";
    let schema = directory.path().join("schema.graphql");
    let sdl = "type Query { paints(of: [Color!]!, finish: Finish, by: By, any: Any): [Paint] } \
        type Paint { color: Color name: String } enum Color { RED BLUE } enum Finish { MATT GLOSS } \
        input By { n: Int! finish: [Finish!] id: ID } scalar Any";
    fs::write(&schema, sdl).expect("it can be written");
    let text = format!(
        "{}[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\n\
         [[join]]\nfield = \"Note.paint\"\nkey = \"color\"\nto = \"Query.paints\"\nargument = \"of\"\nmatch = \"color\"\n{more}",
        database(directory, "notes.db", notes),
        peer.url(),
        schema.display(),
    );
    Server::configured(directory, &text)
}

/// A text that is no value of the enumeration is not asked for, and the others are.
#[test]
fn keys_that_an_enumeration_lacks_are_those_of_nothing() {
    let directory = directory();
    let paints = r#"{"data":{"paints":[{"name":"vermilion","prony_key_match_color":"RED"}]}}"#;
    let peer = ScriptedPeer::answering(ok(paints));
    let gateway = painted(&directory, &peer, "");
    let response = gateway.graphql("{ notes { paint { name } } }");
    let expected = json!([{"paint": {"name": "vermilion"}}, {"paint": null}, {"paint": null}]);
    assert_eq!(response["data"]["notes"], expected, "{response}");
    assert!(response["errors"].is_null(), "{response}");
    let request = String::from_utf8_lossy(&peer.received(peer.connections() - 1)).into_owned();
    assert!(request.contains("[\"RED\"]"), "{request}");
}

/// An enumeration's value was sent as a text, which no server takes.
#[test]
fn arguments_of_the_configuration_are_values_of_their_types() {
    let directory = directory();
    let peer = ScriptedPeer::answering(ok(r#"{"data":{"paints":[]}}"#));
    let given = r#"arguments = { finish = "MATT", by = { id = 7, n = 1, finish = "GLOSS" }, any = "MATT" }"#;
    let gateway = painted(&directory, &peer, &format!("{given}\n"));
    let response = gateway.graphql("{ notes { paint { name } } }");
    assert!(response["errors"].is_null(), "{response}");
    let request = String::from_utf8_lossy(&peer.received(peer.connections() - 1)).into_owned();
    let expected = r#"finish:MATT by:{n:1 finish:[GLOSS ] id:\"7\" } any:\"MATT\" "#;
    assert!(request.contains(expected), "{request}");
}

/// What is given beside the keys within one argument was left out.
#[test]
fn what_is_given_beside_the_keys_counts() {
    let directory = directory();
    let text = database(&directory, "people.db", PEOPLE)
        + &database(&directory, "shop.db", ORDERS)
        + ORDERS_OF_PERSON
        + "arguments = { where = { id = { gt = 20 } } }\n";
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ people(limit: 20) { orders { id } } }");
    assert!(response["errors"].is_null(), "{response}");
    assert_eq!(lengths(&response), vec![Some(9); 20], "{response}");
}

/// It was taken for an empty list, which says that there is none.
#[test]
fn an_answer_that_is_no_list_is_an_error() {
    for answer in [r#"{"name":"x","prony_key_match_color":"RED"}"#, r#""RED""#, "7"] {
        let directory = directory();
        let peer = ScriptedPeer::answering(ok(&format!("{{\"data\":{{\"paints\":{answer}}}}}")));
        let gateway = painted(&directory, &peer, "many = true\n");
        let response = gateway.graphql("{ notes { paint { name } } }");
        assert_eq!(failure(&response), "SOURCE_FAILED: what is joined cannot be read", "{answer}");
        assert_eq!(response["data"]["notes"][0], json!({"paint": null}), "{response}");
    }
}

/// What is joined to many parents stands in the response once for each, which nothing counted: a query of a line made gigabytes.
#[test]
fn what_is_joined_to_many_parents_counts_for_each() {
    let directory = directory();
    let orders = "create table orders (id integer primary key, person_id integer not null);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
        insert into orders (person_id) select 1 from n;";
    let text = "[graphql]\nmax_operation_bytes = 200000\n".to_owned()
        + &database(&directory, "people.db", PEOPLE)
        + &database(&directory, "shop.db", orders)
        + ORDERS_OF_PERSON
        + "[[join]]\nfield = \"Order.person\"\nkey = \"person_id\"\nto = \"Query.people\"\n\
           argument = \"where.id.in\"\nmatch = \"id\"\n";
    let gateway = Server::configured(&directory, &text);
    let few = gateway.graphql("{ orders(limit: 3) { person { orders { id } } } }");
    assert!(few["errors"].is_null(), "{few}");
    assert_eq!(few["data"]["orders"][2]["person"]["orders"].as_array().map(Vec::len), Some(300), "{few}");
    let many = gateway.graphql("{ orders(limit: 300) { person { orders { id } } } }");
    assert!(
        failure(&many).starts_with("LIMIT_EXCEEDED") && failure(&many).contains("max_operation_bytes"),
        "{many}"
    );
    assert_eq!(many["errors"][0]["path"], json!(["orders"]), "{many}");
    // The same a level below: what is around it stays.
    let below = gateway.graphql("{ orders(limit: 2) { id person { orders { person { orders { id } } } } } }");
    assert!(failure(&below).starts_with("LIMIT_EXCEEDED"), "{below}");
    assert_eq!(below["errors"][0]["path"], json!(["orders", 0, "person", "orders"]), "{below}");
    assert_eq!(below["data"]["orders"][1], json!({"id": 2, "person": {"orders": null}}), "{below}");
}

/// Each error was looked for at each parent: thousands took a core for seconds.
#[test]
fn as_many_errors_as_parents_are_placed() {
    const COUNT: usize = 3_000;
    let directory = directory();
    let orders = format!(
        "create table orders (id integer primary key, person_id integer);
         with recursive n(i) as (select 1 union all select i + 1 from n where i < {COUNT})
         insert into orders (person_id) select i from n;"
    );
    let shop = database(&directory, "shop.db", &orders);
    let items: Vec<Value> = (1..=COUNT).map(|id| json!({"name": null, "prony_key_match_id": id})).collect();
    let error = |index: usize| json!({"message": "no name", "path": ["peopleByIds", index, "name"]});
    let errors: Vec<Value> = (0..COUNT).map(error).collect();
    let people = json!({"data": {"peopleByIds": items}, "errors": errors}).to_string();
    let peer = ScriptedPeer::answering(ok(&people));
    let schema = directory.path().join("schema.graphql");
    let sdl = "type Query { peopleByIds(ids: [ID!]!): [Person] } type Person { id: ID! name: String }";
    fs::write(&schema, sdl).expect("it can be written");
    let text = format!(
        "{shop}[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\n\
         [[join]]\nfield = \"Order.person\"\nkey = \"person_id\"\nto = \"Query.peopleByIds\"\nargument = \"ids\"\nmatch = \"id\"\nbatch = {COUNT}\n",
        peer.url(),
        schema.display()
    );
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql(&format!("{{ orders(limit: {COUNT}) {{ person {{ name }} }} }}"));
    let errors = response["errors"].as_array().expect("each name has one");
    assert_eq!(errors.len(), COUNT);
    for (index, error) in errors.iter().enumerate() {
        assert_eq!(error["path"], json!(["orders", index, "person", "name"]));
    }
}
