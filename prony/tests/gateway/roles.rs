//! Roles against an oracle: of generated schemas, roles and operations, a role's schema is what the oracle says, operations within it are
//! forwarded, and of what is hidden neither an operation nor a name reaches the upstream, which records what it is sent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
};

use prony_testkit::{
    Seeded,
    peer::ScriptedPeer,
    type_map::{FieldOutput, SchemaType, TypeKind, TypeMap, is_granted},
};
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::{directory, ok, server::Server};

const SCHEMAS: usize = 3;
const ROLES: usize = 3;
const OPERATIONS: usize = 60;

/// A schema of objects, an interface and a union, any of which leads to any other.
fn generate(chance: &mut Seeded) -> TypeMap {
    let objects = chance.random_range(3..7);
    let mut types: BTreeMap<String, SchemaType> =
        (0..objects).map(|index| (format!("O{index}"), SchemaType::of(TypeKind::Object))).collect();
    types.insert("I0".to_owned(), SchemaType::of(TypeKind::Interface));
    types.insert("U0".to_owned(), SchemaType::of(TypeKind::Union));
    let names: Vec<String> = types.keys().cloned().collect();
    let any = |chance: &mut Seeded| FieldOutput {
        of: Some(names[chance.random_range(0..names.len())].clone()),
        is_list: chance.random(),
    };
    let number = || FieldOutput { of: None, is_list: false };
    let of_interface = BTreeMap::from([("i_a".to_owned(), number()), ("i_b".to_owned(), any(chance))]);
    for (name, ty) in &mut types {
        let prefix = name.to_lowercase();
        match ty.kind {
            TypeKind::Interface => ty.fields = of_interface.clone(),
            TypeKind::Union => {
                let members = (0..objects).filter(|_| chance.random());
                ty.others = members.map(|index| format!("O{index}")).chain(["O0".to_owned()]).collect();
            }
            TypeKind::Object => {
                for index in 0..chance.random_range(1..3) {
                    ty.fields.insert(format!("{prefix}_n{index}"), number());
                }
                for index in 0..chance.random_range(0..3) {
                    ty.fields.insert(format!("{prefix}_r{index}"), any(chance));
                }
                if name == "O0" || chance.random() {
                    ty.others.insert("I0".to_owned());
                    ty.fields.extend(of_interface.clone());
                }
            }
        }
    }
    for (root, prefix, count) in [("Query", 'q', 6), ("Mutation", 'm', 3)] {
        let fields = (0..count).map(|index| (format!("{prefix}{index}"), any(chance)));
        types.insert(
            root.to_owned(),
            SchemaType { fields: fields.collect(), ..SchemaType::of(TypeKind::Object) },
        );
    }
    TypeMap(types)
}

/// Fields that a role is granted: some roots, and of some types all or a few.
fn grants(chance: &mut Seeded, schema: &TypeMap) -> BTreeSet<String> {
    let mut grants = BTreeSet::new();
    for (name, ty) in &schema.0 {
        let is_root = ["Query", "Mutation"].contains(&name.as_str());
        if ty.kind == TypeKind::Union || (!is_root && chance.random_range(0..5) < 2) {
            continue;
        }
        if chance.random_range(0..6) == 0 {
            grants.insert(format!("{name}.*"));
        } else {
            let fields = ty.fields.keys().filter(|_| chance.random_range(0..3) > 0);
            grants.extend(fields.map(|field| format!("{name}.{field}")).collect::<Vec<_>>());
        }
    }
    grants
}

/// An operation on a schema, and the fields that it uses of which types.
struct Operation {
    text: String,
    name: Option<&'static str>,
    used: BTreeSet<(String, String)>,
    fragments: String,
    has_variable: bool,
    keys: usize,
}

impl Operation {
    fn generate(chance: &mut Seeded, schema: &TypeMap, wanted: &TypeMap) -> Self {
        let mut operation = Self {
            text: String::new(),
            name: None,
            used: BTreeSet::new(),
            fragments: String::new(),
            has_variable: false,
            keys: 0,
        };
        let kinds: &[(&str, &str)] = &[("query", "Query"), ("mutation", "Mutation")];
        let (keyword, root) = kinds[usize::from(chance.random_range(0..4) == 0)];
        let mut body = String::new();
        for _ in 0..chance.random_range(1..3) {
            operation.field(chance, (schema, wanted), root, &mut body, 3);
        }
        if chance.random_range(0..4) == 0 {
            // What the schema says of itself is not forwarded, and all else in parts.
            body.push_str("own: __typename ");
        }
        let variables = if operation.has_variable { "($v: Int = 3)" } else { "" };
        operation.text = format!("{keyword} A{variables} {{ {body}}} ");
        if chance.random_range(0..4) == 0 {
            let mut other = String::new();
            let has_variable = std::mem::take(&mut operation.has_variable);
            operation.field(chance, (schema, wanted), "Query", &mut other, 2);
            let variables = if operation.has_variable { "($v: Int)" } else { "" };
            let _ = write!(operation.text, "query B{variables} {{ {other}}} ");
            operation.has_variable = has_variable;
            operation.name = Some("A");
        }
        operation.text.push_str(&operation.fragments);
        operation
    }

    /// Mostly one that is wanted.
    fn field(
        &mut self,
        chance: &mut Seeded,
        (schema, wanted): (&TypeMap, &TypeMap),
        of: &str,
        text: &mut String,
        depth: usize,
    ) {
        let known = &schema.0[of].fields;
        let is_wanted = chance.random_range(0..12) > 0;
        let fields: Vec<(&String, &FieldOutput)> = known
            .iter()
            .filter(|(name, output)| {
                let is_seen = wanted.0.get(of).is_some_and(|ty| ty.fields.contains_key(*name));
                (depth > 0 || output.of.is_none()) && (is_seen || !is_wanted)
            })
            .collect();
        if fields.is_empty() {
            text.push_str("__typename ");
            self.used.insert((of.to_owned(), "__typename".to_owned()));
            return;
        }
        let (name, output) = fields[chance.random_range(0..fields.len())];
        self.used.insert((of.to_owned(), name.clone()));
        self.keys += 1;
        let _ = write!(text, "a{}: {name}", self.keys);
        match chance.random_range(0..6) {
            0 => {
                text.push_str("(by: $v)");
                self.has_variable = true;
            }
            1 => text.push_str(" @include(if: false)"),
            _ => {}
        }
        text.push(' ');
        let Some(of) = &output.of else { return };
        let mut inner = String::new();
        for _ in 0..chance.random_range(1..3) {
            self.selection(chance, (schema, wanted), of, &mut inner, depth.saturating_sub(1));
        }
        let _ = write!(text, "{{ {inner}}} ");
    }

    fn selection(
        &mut self,
        chance: &mut Seeded,
        schemas: (&TypeMap, &TypeMap),
        of: &str,
        text: &mut String,
        depth: usize,
    ) {
        let (schema, wanted) = schemas;
        let is_wanted = chance.random_range(0..12) > 0;
        let mut possible = schema.possible(of);
        possible.retain(|name| !is_wanted || wanted.0.contains_key(name));
        let has_fields = schema.0[of].kind != TypeKind::Union;
        if possible.is_empty() || (has_fields && chance.random_range(0..3) > 0) {
            return if has_fields {
                self.field(chance, schemas, of, text, depth);
            } else {
                self.used.insert((of.to_owned(), "__typename".to_owned()));
                text.push_str("__typename ");
            };
        }
        let object = &possible[chance.random_range(0..possible.len())];
        let mut inner = String::new();
        self.field(chance, schemas, object, &mut inner, depth);
        if chance.random() || inner.contains('$') {
            let _ = write!(text, "... on {object} {{ {inner}}} ");
        } else {
            let fragment = format!("F{}", self.fragments.len());
            let _ = write!(text, "...{fragment} ");
            let _ = write!(self.fragments, "fragment {fragment} on {object} {{ {inner}}} ");
        }
    }
}

/// The schema as the role's server describes it.
fn described(gateway: &Server) -> BTreeMap<String, BTreeSet<String>> {
    let response =
        gateway.graphql("{ __schema { types { name kind fields { name } possibleTypes { name } } } }");
    let names = |list: &Value| -> BTreeSet<String> {
        let list = list.as_array().into_iter().flatten();
        list.map(|one| one["name"].as_str().expect("it has a name").to_owned()).collect()
    };
    let types =
        response["data"]["__schema"]["types"].as_array().unwrap_or_else(|| panic!("{response}")).iter();
    let of_type = |ty: &Value| {
        let name = ty["name"].as_str().expect("it has a name");
        let members = match ty["kind"].as_str() {
            Some("OBJECT" | "INTERFACE") => names(&ty["fields"]),
            Some("UNION") => names(&ty["possibleTypes"]),
            _ => return None,
        };
        (!name.starts_with("__")).then(|| (name.to_owned(), members))
    };
    types.filter_map(of_type).collect()
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').collect()
}

fn recorded(upstream: &ScriptedPeer) -> String {
    let all = (0..upstream.connections()).flat_map(|index| upstream.received(index));
    String::from_utf8(all.collect()).expect("it is text")
}

/// What one role is served of a schema; how many operations were forwarded.
fn check(chance: &mut Seeded, schema: &TypeMap, grants: &BTreeSet<String>, seen: &TypeMap) -> usize {
    let directory = directory();
    let file = directory.path().join("schema.graphql");
    fs::write(&file, schema.sdl()).expect("the file can be written");
    let fields: Vec<&String> = grants.iter().collect();
    let upstream = ScriptedPeer::answering(ok(r#"{"data":null,"errors":[{"message":"recorded"}]}"#));
    // One connection, so that what is recorded is in the order in which it was sent.
    let text = format!(
        "[[source]]\nupstream = \"{}/graphql\"\nname = \"peer\"\nschema_file = {:?}\nmax_upstream_connections = 1\n\
         [auth]\nanonymous = \"guest\"\n[roles.guest.sources.peer]\nfields = {}\n",
        upstream.url(),
        file.display(),
        json!(fields)
    );
    let gateway = Server::configured(&directory, &text);
    let context = format!("{}\n{grants:?}", schema.sdl());
    assert_eq!(described(&gateway), seen.described(), "{context}");
    let hidden: BTreeSet<String> = schema.names().difference(&seen.names()).cloned().collect();
    let mut forwarded = 0;
    for _ in 0..OPERATIONS {
        let operation = Operation::generate(chance, schema, seen);
        let is_allowed = operation.used.iter().all(|used| seen.has(used));
        let before = recorded(&upstream).len();
        let body = json!({"query": operation.text, "operationName": operation.name});
        let (_, response) = gateway.ask("POST /graphql", &body.to_string());
        let all = recorded(&upstream);
        let sent = &all[before..];
        forwarded += usize::from(!sent.is_empty());
        let about = format!("{}\n{response}\n{sent}\n{context}", operation.text);
        if is_allowed {
            assert!(!response.contains("GRAPHQL_VALIDATION_FAILED"), "{about}");
            assert!(words(sent).into_iter().all(|word| !hidden.contains(word)), "{about}");
        } else {
            assert!(response.contains("GRAPHQL_VALIDATION_FAILED"), "{about}");
            assert_eq!(sent, "", "{about}");
            let asked = words(&operation.text);
            let is_told = |word: &&str| hidden.contains(*word) && !asked.contains(word);
            assert!(!words(&response).iter().any(is_told), "{about}");
        }
    }
    forwarded
}

#[test]
fn roles_of_generated_schemas_see_and_reach_what_the_oracle_says() {
    let mut chance = Seeded::new();
    let mut forwarded = 0;
    for _ in 0..SCHEMAS {
        let schema = generate(&mut chance);
        for _ in 0..ROLES {
            let (grants, seen) = loop {
                let grants = grants(&mut chance, &schema);
                let seen = schema.seen(&|ty, field| is_granted(&grants, ty, field));
                if seen.0.contains_key("Query") {
                    break (grants, seen);
                }
            };
            forwarded += check(&mut chance, &schema, &grants, &seen);
        }
    }
    assert!(forwarded > SCHEMAS * ROLES * OPERATIONS / 10, "{forwarded}");
}
