//! Directives of authority against an oracle: generated schemas and roles, and who asks; which fields a role is served, which are null, and
//! whose functions are called.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prony_graphql::{
    compiler::schema::ExtendedType,
    document::{Operation, limits::Limits},
    response::{self, Detail},
    schema::{Schema as Merged, SourceId},
    variables::{Authority, Policies},
};
use prony_resolvers::{Concrete, Output, Resolvers, Schema, outputs};
use prony_source::{
    FieldRequest, ReservedNames, Source as _, SourceSchema,
    permissions::{FieldPermissions, Permissions},
};
use prony_testkit::{
    Seeded,
    type_map::{FieldOutput, SchemaType, TypeKind, TypeMap, is_granted},
};
use rand::RngExt as _;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::support::on_clock;

const SCHEMAS: usize = 30;
const ASKERS: usize = 4;
const QUERIES: usize = 12;
const SCOPES: [&str; 3] = ["read", "write", "all"];
const POLICIES: [&str; 2] = ["staff", "adult"];

#[derive(Debug, Clone, Serialize)]
struct A {
    n: i32,
}
#[derive(Debug, Clone, Serialize)]
struct B {
    n: i32,
}
#[derive(Debug, Clone, Serialize)]
struct C {
    n: i32,
}
outputs!(A, B, C);

#[derive(Debug, Clone, Serialize)]
struct Named(B);

impl Output for Named {
    const NAME: &'static str = "Named";

    fn concrete(&self) -> &dyn Concrete {
        &self.0
    }
}

/// Type, field, what it returns, whether a list. `n` is a member of the object, all others have functions.
const FIELDS: [(&str, &str, Option<&str>, bool); 19] = [
    ("Query", "a", Some("A"), false),
    ("Query", "b", Some("B"), false),
    ("Query", "bs", Some("B"), true),
    ("Query", "c", Some("C"), false),
    ("Query", "named", Some("Named"), false),
    ("Query", "n", None, false),
    ("A", "n", None, false),
    ("A", "f", None, false),
    ("A", "b", Some("B"), false),
    ("A", "bs", Some("B"), true),
    ("B", "n", None, false),
    ("B", "f", None, false),
    ("B", "a", Some("A"), false),
    ("B", "c", Some("C"), false),
    ("B", "cs", Some("C"), true),
    ("C", "n", None, false),
    ("C", "f", None, false),
    ("C", "named", Some("Named"), false),
    ("Named", "n", None, false),
];

/// Objects that implement `Named`.
const NAMED: [&str; 2] = ["B", "C"];

#[derive(Debug, Clone)]
enum Requirement {
    Authenticated,
    Scopes(Vec<Vec<&'static str>>),
    Policies(Vec<Vec<&'static str>>),
}

/// Who asks.
#[derive(Debug)]
struct Asker {
    is_authenticated: bool,
    scopes: Vec<&'static str>,
    policies: Vec<&'static str>,
}

impl Requirement {
    fn generate(chance: &mut Seeded) -> Self {
        let lists = |chance: &mut Seeded, names: &[&'static str]| {
            let one = |chance: &mut Seeded| {
                let mut list: Vec<_> = names.iter().copied().filter(|_| chance.random()).collect();
                if list.is_empty() {
                    list.push(names[0]);
                }
                list
            };
            (0..chance.random_range(1..3)).map(|_| one(chance)).collect()
        };
        match chance.random_range(0..3) {
            0 => Self::Authenticated,
            1 => Self::Scopes(lists(chance, &SCOPES)),
            _ => Self::Policies(lists(chance, &POLICIES)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Authenticated => " @authenticated".to_owned(),
            Self::Scopes(lists) => format!(" @requiresScopes(scopes: {})", json!(lists)),
            Self::Policies(lists) => format!(" @policy(policies: {})", json!(lists)),
        }
    }

    fn holds(&self, asker: &Asker) -> bool {
        let any = |lists: &[Vec<&'static str>], has: &[&'static str]| {
            lists.iter().any(|list| list.iter().all(|one| has.contains(one)))
        };
        match self {
            Self::Authenticated => asker.is_authenticated,
            Self::Scopes(lists) => any(lists, &asker.scopes),
            Self::Policies(lists) => any(lists, &asker.policies),
        }
    }
}

impl Asker {
    fn generate(chance: &mut Seeded) -> Self {
        let some = |chance: &mut Seeded, names: &[&'static str]| {
            names.iter().copied().filter(|_| chance.random()).collect::<Vec<_>>()
        };
        let is_authenticated = chance.random_range(0..3) > 0;
        Self { is_authenticated, scopes: some(chance, &SCOPES), policies: some(chance, &POLICIES) }
    }

    fn authority(&self) -> Authority {
        let mut scopes: Vec<Box<str>> = self.scopes.iter().map(|scope| Box::from(*scope)).collect();
        scopes.sort_unstable();
        let policies = self.policies.iter().map(|policy| (*policy).to_owned()).collect();
        let is_authenticated = self.is_authenticated;
        Authority { is_authenticated, scopes: scopes.into(), policies: Policies::Only(Arc::new(policies)) }
    }
}

/// What is generated of the schema: directives, and what may not be null.
struct Generated {
    of_types: BTreeMap<&'static str, Vec<Requirement>>,
    of_fields: BTreeMap<(&'static str, &'static str), Vec<Requirement>>,
    /// Fields, and items of their lists.
    non_null: BTreeSet<(&'static str, &'static str)>,
    non_null_items: BTreeSet<(&'static str, &'static str)>,
}

type Calls = Arc<Mutex<BTreeSet<(&'static str, &'static str)>>>;

fn lock(calls: &Calls) -> MutexGuard<'_, BTreeSet<(&'static str, &'static str)>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Generated {
    fn new(chance: &mut Seeded) -> Self {
        let some = |chance: &mut Seeded, one_in: u32| {
            let has = chance.random_range(0..one_in) == 0;
            if has { vec![Requirement::generate(chance)] } else { Vec::new() }
        };
        let of_types = ["A", "B", "C", "Named"].map(|name| (name, some(chance, 6))).into();
        let fields = || FIELDS.iter().map(|(of, field, ..)| (*of, *field));
        let of_fields = fields().map(|field| (field, some(chance, 4))).collect();
        // As the interface has it, its objects have it.
        let is_strict = chance.random_range(0..4) == 0;
        let mut chosen = |one_in: u32| -> BTreeSet<_> {
            let strict = |(of, field): &(&str, &str)| {
                let is_named = *field == "n" && (NAMED.contains(of) || *of == "Named");
                if is_named { is_strict } else { chance.random_range(0..one_in) == 0 }
            };
            fields().filter(strict).collect()
        };
        Self { of_types, of_fields, non_null: chosen(4), non_null_items: chosen(3) }
    }

    fn sdl(&self) -> String {
        let mut text = String::new();
        for of in ["Query", "A", "B", "C", "Named"] {
            let keyword = if of == "Named" { "interface" } else { "type" };
            let implements = if NAMED.contains(&of) { " implements Named" } else { "" };
            let requirements = self.of_types.get(of).into_iter().flatten().map(Requirement::text);
            let requirements: String = requirements.collect();
            let _ = write!(text, "{keyword} {of}{implements}{requirements} {{");
            for (_, field, returns, is_list) in FIELDS.iter().filter(|(known, ..)| *known == of) {
                let mut output = returns.unwrap_or("Int").to_owned();
                if *is_list {
                    let item = if self.non_null_items.contains(&(of, field)) { "!" } else { "" };
                    output = format!("[{output}{item}]");
                }
                let end = if self.non_null.contains(&(of, field)) { "!" } else { "" };
                let requirements = self.of_fields[&(of, *field)].iter().map(Requirement::text);
                let requirements: String = requirements.collect();
                let _ = write!(text, " {field}: {output}{end}{requirements}");
            }
            text += " }\n";
        }
        text
    }

    fn resolvers(&self, calls: &Calls) -> Resolvers {
        let note = |of: &'static str, field: &'static str| {
            let calls = Arc::clone(calls);
            move || {
                lock(&calls).insert((of, field));
            }
        };
        macro_rules! at_root {
            ($schema:expr, $($field:literal => $value:expr),*) => {
                $schema$(.field(concat!("Query.", $field), { let note = note("Query", $field); move |(): &(), (): ()| { note(); $value } }))*
            };
        }
        macro_rules! of_parent {
            ($schema:expr, $($of:ident . $field:literal => $value:expr),*) => {
                $schema$(.field(concat!(stringify!($of), ".", $field), { let note = note(stringify!($of), $field); move |(): &(), _: &$of, (): ()| { note(); $value } }))*
            };
        }
        let schema = at_root!(Schema::new(self.sdl(), ()),
            "a" => A { n: 1 }, "b" => B { n: 2 }, "bs" => vec![B { n: 2 }, B { n: 2 }], "c" => C { n: 3 },
            "named" => Named(B { n: 2 }), "n" => 0);
        let schema = of_parent!(schema,
            A."f" => 10, A."b" => B { n: 2 }, A."bs" => vec![B { n: 2 }, B { n: 2 }],
            B."f" => 20, B."a" => A { n: 1 }, B."c" => C { n: 3 }, B."cs" => vec![C { n: 3 }, C { n: 3 }],
            C."f" => 30, C."named" => Named(B { n: 2 }));
        schema.build().unwrap_or_else(|error| panic!("{error}\n{}", self.sdl()))
    }

    /// What a field of an object wants.
    fn requirements(&self, of: &'static str, field: &'static str) -> Vec<&Requirement> {
        let returns = FIELDS.iter().find(|known| known.0 == of && known.1 == field).and_then(|known| known.2);
        let interface = (NAMED.contains(&of) && field == "n").then_some(("Named", field));
        let of_fields =
            [(of, field)].into_iter().chain(interface).filter_map(|field| self.of_fields.get(&field));
        let of_types = [Some(of), returns].into_iter().flatten().filter_map(|of| self.of_types.get(of));
        of_fields.chain(of_types).flatten().collect()
    }

    fn is_refused(&self, of: &'static str, field: &'static str, asker: &Asker) -> bool {
        self.requirements(of, field).iter().any(|requirement| !requirement.holds(asker))
    }

    fn code(&self, of: &'static str, field: &'static str, asker: &Asker) -> &'static str {
        let mut unmet =
            self.requirements(of, field).into_iter().filter(|requirement| !requirement.holds(asker));
        let is_unknown = unmet.any(|requirement| matches!(requirement, Requirement::Authenticated));
        if is_unknown { "UNAUTHENTICATED" } else { "FORBIDDEN" }
    }

    /// The response to what is selected of an object; none where null may not stand.
    fn object(&self, of: &'static str, selected: &[Selected], asker: &Asker) -> Option<Json> {
        let mut members = Map::new();
        for one in selected {
            let value = self.value(of, one, asker);
            if value.is_null() && self.non_null.contains(&(of, one.field)) {
                return None;
            }
            members.insert(one.key.clone(), value);
        }
        Some(Json::Object(members))
    }

    fn value(&self, of: &'static str, one: &Selected, asker: &Asker) -> Json {
        if self.is_refused(of, one.field, asker) {
            return Json::Null;
        }
        let (_, _, returns, is_list) =
            FIELDS.iter().find(|known| known.0 == of && known.1 == one.field).expect("it is one");
        let number = |of| match of {
            "A" => 1,
            "B" => 2,
            "C" => 3,
            _ => 0,
        };
        let Some(returns) = *returns else {
            return json!(if one.field == "f" { number(of) * 10 } else { number(of) });
        };
        let object = || {
            let concrete = if returns == "Named" { "B" } else { returns };
            self.object(concrete, &one.below, asker).unwrap_or(Json::Null)
        };
        if !is_list {
            return object();
        }
        let items = [object(), object()];
        let loses_all = items[0].is_null() && self.non_null_items.contains(&(of, one.field));
        if loses_all { Json::Null } else { json!(items) }
    }

    /// The schema for an oracle of what roles are served.
    fn types() -> TypeMap {
        let mut types: BTreeMap<String, SchemaType> = BTreeMap::new();
        for (of, field, returns, is_list) in FIELDS {
            let kind = if of == "Named" { TypeKind::Interface } else { TypeKind::Object };
            let ty = types.entry(of.to_owned()).or_insert_with(|| SchemaType::of(kind));
            let output = FieldOutput { of: returns.map(str::to_owned), is_list };
            ty.fields.insert(field.to_owned(), output);
            ty.others.extend(NAMED.contains(&of).then(|| "Named".to_owned()));
        }
        TypeMap(types)
    }
}

/// A field of a query.
#[derive(Debug)]
struct Selected {
    key: String,
    field: &'static str,
    below: Vec<Selected>,
}

impl Selected {
    fn any(chance: &mut Seeded, of: &'static str, depth: usize, keys: &mut usize) -> Vec<Self> {
        let known: Vec<_> =
            FIELDS.iter().filter(|known| known.0 == of && (depth > 0 || known.2.is_none())).collect();
        let mut selected = Vec::new();
        for _ in 0..chance.random_range(1..4) {
            let (_, field, returns, _) = known[chance.random_range(0..known.len())];
            *keys += 1;
            let key = format!("k{keys}");
            let below = returns.map_or_else(Vec::new, |of| Self::any(chance, of, depth - 1, keys));
            selected.push(Self { key, field, below });
        }
        selected
    }

    fn text(all: &[Self]) -> String {
        let one = |one: &Self| {
            let below = if one.below.is_empty() { String::new() } else { Self::text(&one.below) };
            format!("{}: {} {below}", one.key, one.field)
        };
        format!("{{ {}}} ", all.iter().map(one).collect::<String>())
    }

    /// By keys, the object's type and the field.
    fn places(all: &[Self], of: &'static str, found: &mut BTreeMap<String, (&'static str, &'static str)>) {
        for one in all {
            found.insert(one.key.clone(), (of, one.field));
            let returns =
                FIELDS.iter().find(|known| known.0 == of && known.1 == one.field).and_then(|known| known.2);
            if let Some(returns) = returns {
                Self::places(&one.below, if returns == "Named" { "B" } else { returns }, found);
            }
        }
    }
}

/// The response.
fn ask(resolvers: &Resolvers, offered: &dyn SourceSchema, asker: &Asker, query: &str) -> Json {
    let merged = Merged::merge(vec![(SourceId(0), offered.contribution())]).expect("it is a schema");
    let operation = Operation::parse(&merged, query, None, &Limits::default())
        .unwrap_or_else(|errors| panic!("{query}: {errors:?}"));
    let (variables, _) = operation.coerce(&merged, Map::new()).expect("there are none");
    let variables = variables.with_authority(Some(Arc::new(asker.authority())));
    let selection = operation.select(&merged, &variables).expect("it can be selected");
    let plan =
        |field| offered.plan(&FieldRequest { kind: selection.kind, field }).expect("it can be planned");
    let results: Vec<_> =
        selection.fields.iter().map(|field| on_clock(resolvers.query(&plan(field), &variables))).collect();
    let body = response::assemble(&selection.fields, &results, Detail::Shown);
    serde_json::from_slice(&body).expect("it is JSON")
}

#[test]
fn what_directives_refuse_is_what_the_oracle_says() {
    let mut chance = Seeded::new();
    for _ in 0..SCHEMAS {
        let (generated, calls) = (Generated::new(&mut chance), Calls::default());
        let resolvers = generated.resolvers(&calls);
        for _ in 0..ASKERS {
            let asker = Asker::generate(&mut chance);
            for _ in 0..QUERIES {
                let selected = Selected::any(&mut chance, "Query", 3, &mut 0);
                let query = Selected::text(&selected);
                lock(&calls).clear();
                let response = ask(&resolvers, &resolvers, &asker, &query);
                let about = format!("{query}\n{response}\n{asker:?}\n{}", generated.sdl());
                let expected = generated.object("Query", &selected, &asker).unwrap_or(Json::Null);
                assert_eq!(response["data"], expected, "{about}");
                let refused =
                    |(of, field): &&(&'static str, &'static str)| generated.is_refused(of, field, &asker);
                assert_eq!(lock(&calls).iter().find(refused), None, "{about}");
                let mut places = BTreeMap::new();
                Selected::places(&selected, "Query", &mut places);
                for error in response["errors"].as_array().into_iter().flatten() {
                    let keys = error["path"].as_array().expect("it has a path").iter();
                    let key = keys.filter_map(Json::as_str).next_back().expect("it has a key");
                    let (of, field) = places[key];
                    assert!(generated.is_refused(of, field, &asker), "{key}: {about}");
                    assert_eq!(
                        error["extensions"]["code"],
                        generated.code(of, field, &asker),
                        "{key}: {about}"
                    );
                }
                let has_null = expected.to_string().contains("null");
                assert_eq!(response["errors"].is_array(), has_null, "{about}");
            }
        }
    }
}

#[test]
fn roles_are_served_the_fields_that_the_oracle_says() {
    let mut chance = Seeded::new();
    let types = Generated::types();
    for _ in 0..SCHEMAS {
        let generated = Generated::new(&mut chance);
        let resolvers = generated.resolvers(&Calls::default());
        for _ in 0..ASKERS {
            let asker = Asker::generate(&mut chance);
            let granted = FIELDS.iter().filter(|_| chance.random_range(0..3) > 0);
            let grants: BTreeSet<String> = granted.map(|(of, field, ..)| format!("{of}.{field}")).collect();
            let permissions = Permissions {
                fields: FieldPermissions::new(grants.iter().cloned()),
                policies: asker.policies.iter().map(|policy| (*policy).to_owned()).collect(),
                ..Permissions::default()
            };
            let seen = types.seen(&|of, field| {
                let (of, field, ..) =
                    FIELDS.iter().find(|known| known.0 == of && known.1 == field).expect("it is one");
                let requirements = generated.requirements(of, field);
                let mut policies =
                    requirements.iter().filter(|requirement| matches!(requirement, Requirement::Policies(_)));
                is_granted(&grants, of, field) && policies.all(|policy| policy.holds(&asker))
            });
            let offered = resolvers.schema_for(&ReservedNames::default(), &permissions).expect("they fit");
            let contribution = offered.contribution();
            let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (name, definition) in &contribution.types {
                let fields = match definition {
                    ExtendedType::Object(object) => &object.fields,
                    ExtendedType::Interface(interface) => &interface.fields,
                    _ => continue,
                };
                found.insert(name.to_string(), fields.keys().map(ToString::to_string).collect());
            }
            let query: BTreeSet<String> =
                contribution.query.iter().map(|field| field.name.to_string()).collect();
            if !query.is_empty() {
                found.insert("Query".to_owned(), query);
            }
            assert_eq!(found, seen.described(), "{grants:?} {asker:?}\n{}", generated.sdl());
        }
    }
}
