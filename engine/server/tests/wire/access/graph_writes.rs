//! Calls that write a graph by roles that may not do everything, held against an oracle: a model of the graph and of what the roles
//! are granted, which decides for each call what its response is and what is there afterwards. Names, keys and ends are awkward:
//! keys that look like ids and routes, hidden keys, nulls, relationships of a node with itself, cycles.

use std::collections::BTreeMap;

use expect_test::expect;
use prony_testkit::Seeded;
use rand::RngExt as _;
use serde_json::{Map, Value as Json, json};

use super::{
    access, bearer,
    graph_calls::{of_graph, of_graph_with},
    graph_roles::{Client, encoded},
    token,
};
use crate::support::{PATIENCE, Server, give_options_to};

const ISSUER: &str = r#"
[auth]
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", "user.id" = "/customer" }
[roles.admin]
unrestricted = true
"#;

const PROBE: &str = "[roles.probe.sources.graph.types]\nNEAR = { select = true }\n";

const PROPERTIES: [&str; 3] = ["age", "na me/%", "owner"];
const KEYS: [&str; 7] = ["1026", "a/b", "..", "properties", "%2F", "\u{1f600}", "x"];
const USER: u64 = 7;

/// A type of nodes or relationships: its name in the store and in GraphQL.
const NODE_TYPES: [(&str, &str); 3] = [("Us er", "Us_er"), ("Place", "Place"), ("Hidden", "Hidden")];
const RELATIONSHIP_TYPES: [(&str, &str); 2] = [("KNO WS", "KNO_WS"), ("NEAR", "NEAR")];

/// A condition of a role, as the oracle knows it.
#[derive(Debug, Clone)]
enum Condition {
    Everything,
    AgeOver(i64),
    NotAgeOver(i64),
    AgeIsNull,
    IsOwn,
    /// Of nodes.
    KeyIn(Vec<&'static str>),
    Either(Box<Condition>, Box<Condition>),
    /// Of the node where a relationship begins.
    From(Box<Condition>),
}

impl Condition {
    fn any(chance: &mut Seeded, of_relationships: bool) -> Self {
        match chance.random_range(0..8) {
            0 | 1 => Self::Everything,
            2 => Self::AgeOver(chance.random_range(0..40)),
            3 => Self::NotAgeOver(chance.random_range(0..40)),
            4 => Self::AgeIsNull,
            5 => Self::IsOwn,
            6 if of_relationships => Self::From(Box::new(Self::any(chance, false))),
            6 => Self::KeyIn(KEYS.into_iter().filter(|_| chance.random_range(0..2) == 0).collect()),
            _ => Self::Either(
                Box::new(Self::any(chance, of_relationships)),
                Box::new(Self::AgeOver(chance.random_range(0..40))),
            ),
        }
    }

    fn toml(&self) -> String {
        match self {
            Self::Everything => "{}".to_owned(),
            Self::AgeOver(age) => format!("{{ age = {{ gt = {age} }} }}"),
            Self::NotAgeOver(age) => format!("{{ not = {{ age = {{ gt = {age} }} }} }}"),
            Self::AgeIsNull => "{ age = { is_null = true } }".to_owned(),
            Self::IsOwn => "{ owner = { eq = \"$user.id\" } }".to_owned(),
            Self::KeyIn(keys) => format!("{{ _key = {{ in = {} }} }}", json!(keys)),
            Self::Either(a, b) => format!("{{ or = [{}, {}] }}", a.toml(), b.toml()),
            Self::From(of) => format!("{{ from = {} }}", of.toml()),
        }
    }

    /// None where it is neither true nor false.
    fn holds(&self, model: &Model, thing: &Thing) -> Option<bool> {
        let age = || thing.properties.get("age").and_then(Json::as_i64);
        match self {
            Self::Everything => Some(true),
            Self::AgeOver(over) => age().map(|age| age > *over),
            Self::NotAgeOver(over) => age().map(|age| age <= *over),
            Self::AgeIsNull => Some(age().is_none()),
            Self::IsOwn => thing.properties.get("owner").map(|owner| *owner == json!(USER)),
            Self::KeyIn(keys) => Some(keys.contains(&&*thing.key)),
            Self::Either(a, b) => match (a.holds(model, thing), b.holds(model, thing)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::From(of) => of.holds(model, model.nodes.get(&thing.ends?.0)?),
        }
    }

    fn passes(&self, model: &Model, thing: &Thing) -> bool {
        self.holds(model, thing) == Some(true)
    }
}

/// What a role may do with one type.
#[derive(Debug, Clone, Default)]
struct Grants {
    select: Option<(Vec<&'static str>, Condition)>,
    /// Columns, whether the owner is preset, and the check.
    insert: Option<(Vec<&'static str>, bool, Condition)>,
    /// Columns (none for all), rows and check.
    update: Option<(Option<Vec<&'static str>>, Condition, Condition)>,
    delete: Option<Condition>,
}

impl Grants {
    fn any(chance: &mut Seeded, of_relationships: bool) -> Self {
        let condition = |chance: &mut Seeded| Condition::any(chance, of_relationships);
        let columns = |chance: &mut Seeded| -> Vec<&'static str> {
            PROPERTIES.into_iter().filter(|_| chance.random_range(0..3) > 0).collect()
        };
        let has = |chance: &mut Seeded| chance.random_range(0..4) > 0;
        Self {
            select: has(chance).then(|| (columns(chance), condition(chance))),
            insert: has(chance).then(|| {
                let presets = chance.random_range(0..3) == 0;
                let columns = columns(chance).into_iter().filter(|name| !presets || *name != "owner");
                (columns.collect(), presets, condition(chance))
            }),
            update: has(chance).then(|| {
                let columns = (chance.random_range(0..3) > 0).then(|| columns(chance));
                (columns, condition(chance), condition(chance))
            }),
            delete: has(chance).then(|| condition(chance)),
        }
    }

    fn toml(&self) -> String {
        let mut text = String::new();
        let mut add =
            |operation: &str, content: String| text.extend([format!("{operation} = {{ {content} }}\n")]);
        if let Some((columns, rows)) = &self.select {
            add("select", format!("columns = {}, rows = {}", json!(columns), rows.toml()));
        }
        if let Some((columns, presets, check)) = &self.insert {
            let set = if *presets { ", set = { owner = \"$user.id\" }" } else { "" };
            add("insert", format!("columns = {}, check = {}{set}", json!(columns), check.toml()));
        }
        if let Some((columns, rows, check)) = &self.update {
            let columns =
                columns.as_ref().map_or_else(|| "\"*\"".to_owned(), |columns| json!(columns).to_string());
            add("update", format!("columns = {columns}, rows = {}, check = {}", rows.toml(), check.toml()));
        }
        if let Some(rows) = &self.delete {
            add("delete", format!("rows = {}", rows.toml()));
        }
        text
    }

    fn can_update(&self, name: &str) -> bool {
        match &self.update {
            Some((Some(columns), ..)) => columns.contains(&name),
            Some((None, ..)) => PROPERTIES.contains(&name),
            None => false,
        }
    }

    fn reads(&self, name: &str) -> bool {
        self.select.as_ref().is_some_and(|(columns, _)| columns.contains(&name))
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Thing {
    of: &'static str,
    /// Empty of relationships.
    key: String,
    ends: Option<(u64, u64)>,
    properties: Map<String, Json>,
}

/// The graph, and what the role may do with its types.
#[derive(Clone)]
struct Model {
    nodes: BTreeMap<u64, Thing>,
    relationships: BTreeMap<u64, Thing>,
    grants: BTreeMap<&'static str, Grants>,
}

/// What a call comes to.
#[derive(Debug, PartialEq)]
enum Expected {
    /// 403 by what the role is granted of the type.
    NotPermitted,
    /// 403 by a check, or a hidden key.
    RowRefused,
    /// 400
    Invalid,
    /// 304
    NotChanged,
    /// 204
    Changed,
    /// 201, with these properties.
    Created(Map<String, Json>),
}

impl Model {
    fn grants(&self, of: &str) -> Grants {
        self.grants.get(of).cloned().unwrap_or_default()
    }

    fn sees(&self, thing: &Thing) -> bool {
        let grants = self.grants(thing.of);
        let shown = grants.select.is_some_and(|(_, rows)| rows.passes(self, thing));
        let end = |id: &u64| self.nodes.get(id).is_some_and(|node| self.sees(node));
        shown && thing.ends.is_none_or(|(from, to)| end(&from) && end(&to))
    }

    fn node(&self, of: &str, key: &str) -> Option<u64> {
        self.nodes.iter().find(|(_, node)| node.of == of && node.key == key).map(|(id, _)| *id)
    }

    /// The properties that a role gives, or none where it gives one that it can only read.
    fn given(
        body: &Map<String, Json>,
        may: impl Fn(&str) -> bool,
        reads: impl Fn(&str) -> bool,
    ) -> Option<Map<String, Json>> {
        let mut given = Map::new();
        for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
            if may(name) {
                given.insert(name.clone(), value.clone());
            } else if reads(name) {
                return None;
            }
        }
        Some(given)
    }

    fn has_wrong_kind(given: &Map<String, Json>) -> bool {
        given.iter().any(|(name, value)| if name == "na me/%" { !value.is_string() } else { !value.is_i64() })
    }

    /// A creation; the id is that of the response.
    fn create(&mut self, mut thing: Thing, body: &Map<String, Json>, id: Option<u64>) -> Expected {
        let grants = self.grants(thing.of);
        let Some((columns, presets, check)) = grants.insert.clone() else { return Expected::NotPermitted };
        let given = Self::given(body, |name| columns.contains(&name), |name| grants.reads(name));
        let Some(given) = given else { return Expected::NotPermitted };
        if Self::has_wrong_kind(&given) {
            return Expected::Invalid;
        }
        thing.properties = given;
        if presets {
            thing.properties.insert("owner".to_owned(), json!(USER));
        }
        match thing.ends {
            None => {
                if let Some(known) = self.node(thing.of, &thing.key) {
                    let is_seen = self.sees(&self.nodes[&known]);
                    return if is_seen { Expected::Invalid } else { Expected::RowRefused };
                }
            }
            Some((from, to)) => {
                let sees = |id| self.nodes.get(id).is_some_and(|node| self.sees(node));
                if !sees(&from) || !sees(&to) {
                    return Expected::Invalid;
                }
            }
        }
        if !check.passes(self, &thing) {
            return Expected::RowRefused;
        }
        let mut shown = Map::new();
        if self.sees(&thing) {
            shown.clone_from(&thing.properties);
            shown.retain(|name, _| grants.reads(name));
        }
        if let Some(id) = id {
            let things = if thing.ends.is_some() { &mut self.relationships } else { &mut self.nodes };
            things.insert(id, thing);
        }
        Expected::Created(shown)
    }

    fn things(&mut self, is_node: bool) -> &mut BTreeMap<u64, Thing> {
        if is_node { &mut self.nodes } else { &mut self.relationships }
    }

    /// A change of what is there or not, by what becomes of its properties; `of` is its type.
    fn change(
        &mut self,
        (is_node, of, id): (bool, &str, Option<u64>),
        change: impl FnOnce(&Model, &Thing, &Grants) -> Result<Map<String, Json>, Expected>,
    ) -> Expected {
        let grants = self.grants(of);
        let Some((_, rows, check)) = grants.update.clone() else { return Expected::NotPermitted };
        let known = id.and_then(|id| self.things(is_node).get(&id).cloned());
        let nothing = Thing { of: "", key: String::new(), ends: None, properties: Map::new() };
        let is_there = known.as_ref().is_some_and(|known| rows.passes(self, known));
        // What the role may not ask at all is refused whatever is there.
        let changed = change(self, known.as_ref().unwrap_or(&nothing), &grants);
        let properties = match changed {
            Err(Expected::NotPermitted) => return Expected::NotPermitted,
            _ if !is_there => return Expected::NotChanged,
            Err(other) => return other,
            Ok(properties) => properties,
        };
        let mut thing = known.expect("it is there");
        thing.properties = properties;
        if !check.passes(self, &thing) {
            return Expected::RowRefused;
        }
        self.things(is_node).insert(id.expect("it is there"), thing);
        Expected::Changed
    }

    fn delete(&mut self, (is_node, of, id): (bool, &str, Option<u64>)) -> Expected {
        let Some(rows) = self.grants(of).delete else { return Expected::NotPermitted };
        let known = id.and_then(|id| self.things(is_node).get(&id).cloned());
        if !known.is_some_and(|known| rows.passes(self, &known)) {
            return Expected::NotChanged;
        }
        let id = id.expect("it is there");
        self.things(is_node).remove(&id);
        if is_node {
            self.relationships.retain(|_, link| link.ends.is_some_and(|(from, to)| from != id && to != id));
        }
        Expected::Changed
    }
}

/// The response of a call; its id, where something was created.
fn outcome((status, text): &(u16, String)) -> (Expected, Option<u64>) {
    let expected = match status {
        201 => {
            let made: Json = serde_json::from_str(text).expect("it is JSON");
            let properties = made["properties"].as_object().expect("it has properties").clone();
            return (Expected::Created(properties), made["id"].as_u64());
        }
        204 => Expected::Changed,
        304 => Expected::NotChanged,
        400 => {
            assert_eq!(text, "\"Invalid Request\"");
            Expected::Invalid
        }
        403 if text == "\"the role is not allowed\"" => Expected::NotPermitted,
        403 => {
            assert_eq!(text, "\"a row with these values may not be written; nothing was changed\"");
            Expected::RowRefused
        }
        other => panic!("{other}: {text}"),
    };
    (expected, None)
}

fn any_body(chance: &mut Seeded) -> Map<String, Json> {
    let mut body = Map::new();
    for (name, value) in [
        ("age", json!(chance.random_range(0..50))),
        ("na me/%", json!("\u{2603}")),
        ("owner", json!(if chance.random_range(0..2) == 0 { USER } else { 8 })),
        ("undeclared", json!([1])),
    ] {
        match chance.random_range(0..12) {
            0..6 => {}
            6 => drop(body.insert(name.to_owned(), Json::Null)),
            7 if name == "age" => drop(body.insert(name.to_owned(), json!({"no": "number"}))),
            _ => drop(body.insert(name.to_owned(), value)),
        }
    }
    body
}

struct Run<'s> {
    admin: Client<'s>,
    client: Client<'s>,
    model: Model,
}

impl Run<'_> {
    /// A node by its key or by its id, and the part of a path that names it.
    fn any_node(&self, chance: &mut Seeded) -> (&'static str, String, Option<u64>, String) {
        let (of, _) = NODE_TYPES[chance.random_range(0..NODE_TYPES.len())];
        let key = KEYS[chance.random_range(0..KEYS.len())];
        let id = self.model.node(of, key);
        let by_id = id.filter(|_| chance.random_range(0..3) == 0);
        let name =
            by_id.map_or_else(|| format!("node/{}/{}", encoded(of), encoded(key)), |id| format!("node/{id}"));
        (of, key.to_owned(), id, name)
    }

    fn step(&mut self, chance: &mut Seeded) {
        let before = self.model.clone();
        let body = any_body(chance);
        let text = Json::Object(body.clone()).to_string();
        let (path, method, found, expected) = match chance.random_range(0..10) {
            0 | 1 => {
                let (of, key, ..) = self.any_node(chance);
                let path = format!("node/{}/{}", encoded(of), encoded(&key));
                let response = self.client.call("POST", &path, &text);
                let (found, id) = outcome(&response);
                let thing = Thing { of, key, ends: None, properties: Map::new() };
                (path, "POST", found, self.model.create(thing, &body, id))
            }
            2 | 3 => self.create_relationship(chance, &body, &text),
            4 => {
                let (path, target) = self.any_target(chance);
                let (found, _) = outcome(&self.client.call("DELETE", &path, ""));
                (path, "DELETE", found, self.model.delete(target))
            }
            5 | 6 => self.set(chance, &body, &text),
            _ => self.one_property(chance),
        };
        assert_eq!(found, expected, "{method} {path} {text}\n{:?}\n{:?}", before.grants, before.nodes);
    }

    /// A node or relationship: the part of a path that names it, whether it is a node, its type and its id.
    fn any_target(&self, chance: &mut Seeded) -> (String, (bool, &'static str, Option<u64>)) {
        let links: Vec<u64> = self.model.relationships.keys().copied().collect();
        if links.is_empty() || chance.random_range(0..2) == 0 {
            let (of, _, id, name) = self.any_node(chance);
            return (name, (true, of, id));
        }
        let id = links[chance.random_range(0..links.len())];
        (format!("relationship/{id}"), (false, self.model.relationships[&id].of, Some(id)))
    }

    fn create_relationship(
        &mut self,
        chance: &mut Seeded,
        body: &Map<String, Json>,
        text: &str,
    ) -> (String, &'static str, Expected, Expected) {
        let (of, _) = RELATIONSHIP_TYPES[chance.random_range(0..RELATIONSHIP_TYPES.len())];
        let (from_type, from_key, from, _) = self.any_node(chance);
        let (to_type, to_key, to, _) = self.any_node(chance);
        let by_id = from.zip(to).filter(|_| chance.random_range(0..3) == 0);
        let path = if let Some((from, to)) = by_id {
            format!("node/{from}/relationship/{to}/{}", encoded(of))
        } else {
            let [a, b, c, d] = [from_type, &*from_key, to_type, &*to_key].map(encoded);
            format!("node/{a}/{b}/relationship/{c}/{d}/{}", encoded(of))
        };
        let (found, id) = outcome(&self.client.call("POST", &path, text));
        // No node has this id.
        let ends = Some((from.unwrap_or(0), to.unwrap_or(0)));
        let thing = Thing { of, key: String::new(), ends, properties: Map::new() };
        (path, "POST", found, self.model.create(thing, body, id))
    }

    fn set(
        &mut self,
        chance: &mut Seeded,
        body: &Map<String, Json>,
        text: &str,
    ) -> (String, &'static str, Expected, Expected) {
        let (name, target) = self.any_target(chance);
        let path = format!("{name}/properties");
        let method = ["PUT", "POST", "DELETE"][chance.random_range(0..3)];
        let (found, _) =
            outcome(&self.client.call(method, &path, if method == "DELETE" { "" } else { text }));
        let expected = self.model.change(target, |_, thing, grants| {
            let has_all = matches!(grants.update, Some((None, ..)));
            if method != "PUT" && !has_all {
                return Err(Expected::NotPermitted);
            }
            if method == "DELETE" {
                return Ok(Map::new());
            }
            let given = Model::given(body, |name| grants.can_update(name), |name| grants.reads(name));
            let given = given.ok_or(Expected::NotPermitted)?;
            if Model::has_wrong_kind(&given) {
                return Err(Expected::NotChanged);
            }
            let mut properties = if method == "PUT" { thing.properties.clone() } else { Map::new() };
            properties.extend(given);
            Ok(properties)
        });
        (path, method, found, expected)
    }

    fn one_property(&mut self, chance: &mut Seeded) -> (String, &'static str, Expected, Expected) {
        let (name, target) = self.any_target(chance);
        let property = ["age", "na me/%", "owner", "undeclared"][chance.random_range(0..4)];
        let path = format!("{name}/property/{}", encoded(property));
        let method = ["PUT", "DELETE"][chance.random_range(0..2)];
        let value = if property == "na me/%" { json!("new") } else { json!(chance.random_range(0..50)) };
        let (found, _) = outcome(&self.client.call(method, &path, &value.to_string()));
        let expected = self.model.change(target, |model, thing, grants| {
            if !grants.can_update(property) {
                let is_read = grants.reads(property);
                return Err(if is_read { Expected::NotPermitted } else { Expected::NotChanged });
            }
            let mut properties = thing.properties.clone();
            if method == "PUT" {
                properties.insert(property.to_owned(), value.clone());
            } else if properties.remove(property).is_none() && grants.reads(property) && model.sees(thing) {
                return Err(Expected::NotChanged);
            }
            Ok(properties)
        });
        (path, method, found, expected)
    }

    /// Whether the graph is what the model says.
    fn compare(&self) {
        for (path, known) in [("nodes", &self.model.nodes), ("relationships", &self.model.relationships)] {
            let all = self.admin.get(&format!("{path}?limit=1000"));
            let found: BTreeMap<u64, Json> = all
                .as_array()
                .expect("a list")
                .iter()
                .map(|thing| (thing["id"].as_u64().expect("it has an id"), thing["properties"].clone()))
                .collect();
            let known: BTreeMap<u64, Json> =
                known.iter().map(|(id, thing)| (*id, Json::Object(thing.properties.clone()))).collect();
            assert_eq!(found, known, "{path}");
        }
    }
}

fn declare(admin: &Client<'_>) {
    for (side, types) in [("nodes", &NODE_TYPES[..]), ("relationships", &RELATIONSHIP_TYPES[..])] {
        for (of, _) in types {
            for (name, kind) in PROPERTIES.into_iter().zip(["integer", "string", "integer"]) {
                let path = format!("schema/{side}/{}/properties/{}/{kind}", encoded(of), encoded(name));
                assert_eq!(admin.call("POST", &path, "").0, 201);
            }
        }
    }
}

/// An admin makes some of each, loops among them.
fn fill(admin: &Client<'_>, chance: &mut Seeded, model: &mut Model) {
    let create = |path: &str, body: &Map<String, Json>, thing: Thing| {
        let (status, text) = admin.call("POST", path, &Json::Object(body.clone()).to_string());
        assert_eq!(status, 201, "{path}: {text}");
        let made: Json = serde_json::from_str(&text).expect("it is JSON");
        let properties = made["properties"].as_object().expect("it has properties").clone();
        (made["id"].as_u64().expect("it has an id"), Thing { properties, ..thing })
    };
    let any_body = |chance: &mut Seeded| {
        let mut body = any_body(chance);
        body.retain(|_, value| !value.is_object());
        body
    };
    for (of, _) in NODE_TYPES {
        for key in KEYS {
            if chance.random_range(0..4) == 0 {
                continue;
            }
            let thing = Thing { of, key: key.to_owned(), ends: None, properties: Map::new() };
            let path = format!("node/{}/{}", encoded(of), encoded(key));
            let (id, made) = create(&path, &any_body(chance), thing);
            model.nodes.insert(id, made);
        }
    }
    let ids: Vec<u64> = model.nodes.keys().copied().collect();
    for _ in 0..40 {
        let mut end = || ids[chance.random_range(0..ids.len())];
        let (from, to) = (end(), end());
        let (of, _) = RELATIONSHIP_TYPES[chance.random_range(0..RELATIONSHIP_TYPES.len())];
        let path = format!("node/{from}/relationship/{to}/{}", encoded(of));
        let thing = Thing { of, key: String::new(), ends: Some((from, to)), properties: Map::new() };
        let (id, made) = create(&path, &any_body(chance), thing);
        model.relationships.insert(id, made);
    }
}

#[test]
fn writing_calls_of_roles_are_those_of_the_oracle() {
    const ROLES: usize = 8;
    let mut chance = Seeded::new();
    let mut text = format!("{ISSUER}{PROBE}");
    let mut all_grants = Vec::new();
    for role in 0..ROLES {
        let mut grants = BTreeMap::new();
        // Odd roles have what they inherit, and one type of their own.
        let base = format!("role{role}");
        for (index, (of, name)) in NODE_TYPES.iter().chain(&RELATIONSHIP_TYPES).enumerate() {
            let granted = Grants::any(&mut chance, index >= NODE_TYPES.len());
            let holder = if role % 2 == 1 && index > 0 { format!("{base}_base") } else { base.clone() };
            text.extend([format!("[roles.{holder}.sources.graph.types.{name}]\n{}", granted.toml())]);
            grants.insert(*of, granted);
        }
        if role % 2 == 1 {
            text.extend([format!("[roles.{base}]\ninherits = [\"{base}_base\"]\n")]);
        }
        all_grants.push(grants);
    }
    let (server, _directory) = of_graph(access(&text));
    let admin = || Client { server: &server, headers: bearer(&token("admin", 0)) };
    declare(&admin());
    let mut model = Model { nodes: BTreeMap::new(), relationships: BTreeMap::new(), grants: BTreeMap::new() };
    fill(&admin(), &mut chance, &mut model);
    wait_for_types(&server);
    for (role, grants) in all_grants.into_iter().enumerate() {
        model.grants = grants;
        let client = Client { server: &server, headers: bearer(&token(&format!("role{role}"), USER)) };
        let mut run = Run { admin: admin(), client, model };
        for step in 0..60 {
            run.step(&mut chance);
            if step % 20 == 19 {
                run.compare();
            }
        }
        model = run.model;
    }
}

/// Until roles are served what was declared last: their schemas follow the graph's.
fn wait_for_types(server: &Server) {
    let probe = Client { server, headers: bearer(&token("probe", 0)) };
    let deadline = std::time::Instant::now() + PATIENCE;
    while probe.get("schema/relationships/NEAR").as_object().map_or(0, Map::len) < PROPERTIES.len() {
        assert!(std::time::Instant::now() < deadline, "roles never see what was declared");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

const IN_BULK: &str = r#"
[roles.clerk.sources.graph.types]
Us_er = { select = { columns = ["age"], rows = { owner = { eq = "$user.id" } } }, insert = { columns = ["age", "na me/%"], set = { owner = "$user.id" }, check = { age = { lt = 100 } } } }
NEAR = { select = { columns = ["owner"] }, insert = { columns = ["age"], check = { from = { age = { gt = 5 } } } } }
"#;

/// Each line for itself: what is refused leaves nothing, what is hidden is as what is not there, and the others are made.
#[test]
fn many_lines_are_made_as_far_as_the_role_may() {
    let (server, _directory) = of_graph(access(&format!("{ISSUER}{PROBE}{IN_BULK}")));
    let admin = Client { server: &server, headers: bearer(&token("admin", 0)) };
    declare(&admin);
    for (key, owner) in [("hidden", 8), ("mine", 7)] {
        let body = json!({"age": 50, "owner": owner}).to_string();
        assert_eq!(admin.call("POST", &format!("node/Us%20er/{key}"), &body).0, 201);
    }
    let id = |key: &str| admin.get(&format!("node/Us%20er/{key}"))["id"].to_string();
    let (hidden, mine) = (id("hidden"), id("mine"));
    let missing = (mine.parse::<u64>().expect("an id") + (1 << 30)).to_string();
    wait_for_types(&server);
    let clerk = Client { server: &server, headers: bearer(&token("clerk", USER)) };
    let report = clerk.call(
        "POST",
        "nodes",
        r#"{"type": "Us er", "key": "a", "properties": {"age": 9, "na me/%": "\u2603", "other": 1}}
{"type": "Us er", "key": "b", "properties": {"age": 100}}
{"type": "Us er", "key": "c"}
{"type": "Us er", "key": "hidden", "properties": {"age": 9}}
{"type": "Us er", "key": "mine", "properties": {"age": 9}}
{"type": "Us er", "key": "d", "properties": {"age": "x"}}
{"type": "Us er", "key": "e", "properties": {"age": 9, "owner": 8}}
{"type": "Place", "key": "f", "properties": {"age": 9}}
{"type": "None", "key": "g"}
["Us er", "h"]
{"type": "Us er", "key": "i", "properties": {"age": 1}}"#,
    );
    expect![[r#"
        {"created": 3, "failed": 8, "last_line": 11, "errors": [{"line": 2, "error": "a row with these values may not be written; nothing was changed"},
        {"line": 3, "error": "a row with these values may not be written; nothing was changed"},
        {"line": 4, "error": "a row with these values may not be written; nothing was changed"},
        {"line": 5, "error": "a node of type `Us er` with this key exists"},
        {"line": 6, "error": "the value of `age` is no integer"},
        {"line": 8, "error": "your role may not create anything of type `Place`"},
        {"line": 9, "error": "your role may not create anything of type `None`"},
        {"line": 10, "error": "it is no object"}]}"#]].assert_eq(&report.1.replace("}, {", "},\n{"));
    let lines = |end: &str| format!("{{\"type\": \"NEAR\", \"from\": {end}, \"to\": {mine}}}\n");
    let ends = [
        r#"{"type": "Us er", "key": "a"}"#,
        r#"{"type": "Us er", "key": "i"}"#,
        r#"{"type": "Us er", "key": "hidden"}"#,
        r#"{"type": "Us er", "key": "missing"}"#,
        &hidden,
        &missing,
        &mine,
    ];
    let with_owner = lines(&mine).replace("}\n", ", \"properties\": {\"owner\": 1}}\n");
    let report = clerk.call("POST", "relationships", &(ends.map(lines).concat() + &with_owner));
    expect![[r#"
        {"created": 2, "failed": 6, "last_line": 8, "errors": [{"line": 2, "error": "a row with these values may not be written; nothing was changed"},
        {"line": 3, "error": "`from`: there is no node of this type and key"},
        {"line": 4, "error": "`from`: there is no node of this type and key"},
        {"line": 5, "error": "there is no such node"},
        {"line": 6, "error": "there is no such node"},
        {"line": 8, "error": "your role may not give `owner`"}]}"#]].assert_eq(&report.1.replace("}, {", "},\n{"));
    let keys: Vec<Json> = admin
        .get("nodes/Us%20er")
        .as_array()
        .expect("a list")
        .iter()
        .map(|node| node["key"].clone())
        .collect();
    let mut keys: Vec<&str> = keys.iter().filter_map(Json::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["a", "e", "hidden", "i", "mine"]);
    // What is written whatever is asked is not for the client to give.
    assert_eq!(admin.get("node/Us%20er/e/properties"), json!({"age": 9, "owner": 7}));
    assert_eq!(admin.get("node/Us%20er/a/properties"), json!({"age": 9, "na me/%": "\u{2603}", "owner": 7}));
    assert_eq!(admin.get("relationships").as_array().map(Vec::len), Some(2));
    assert_eq!(admin.get("nodes/Place"), json!([]));
    // A role that may create nothing of a side has no such call.
    assert_eq!(
        Client { server: &server, headers: bearer(&token("probe", 0)) }.call("POST", "nodes", "").0,
        403
    );
}

const DELETES: &str = "[roles.clerk.sources.graph.types]\nPlace = { select = true, delete = true }\n";

/// However soon the deletion is as durable as was asked for. The response came before the relationships were dropped.
#[test]
fn after_a_role_has_deleted_a_hub_the_ids_of_its_relationships_are_free() {
    let (server, _directory) = of_graph_with(|settings| {
        settings.access = access(&format!("{ISSUER}{PROBE}{DELETES}"));
        give_options_to(settings, 1, "durability = \"off\"");
    });
    let admin = Client { server: &server, headers: bearer(&token("admin", 0)) };
    declare(&admin);
    let make = |path: &str| {
        let (status, text) = admin.call("POST", path, "");
        assert_eq!(status, 201, "{path}: {text}");
        serde_json::from_str::<Json>(&text).expect("it is JSON")["id"].to_string()
    };
    let (hub, other) = (make("node/Place/hub"), make("node/Place/x"));
    let first = make("node/Place/hub/relationship/Place/x/NEAR");
    let line = format!("{{\"type\": \"NEAR\", \"from\": {hub}, \"to\": {other}}}\n");
    let (status, report) = admin.call("POST", "relationships", &line.repeat(5_000));
    assert!(status == 200 && report.contains("\"created\": 5000"), "{status} {report}");
    wait_for_types(&server);
    let clerk = Client { server: &server, headers: bearer(&token("clerk", USER)) };
    assert_eq!(clerk.call("DELETE", "node/Place/hub", "").0, 204);
    assert_eq!(make("node/Place/hub"), hub);
    assert_eq!(make("node/Place/hub/relationship/Place/x/NEAR"), first, "the lowest id is free");
}
