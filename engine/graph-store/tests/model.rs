//! The store against a plain model in memory: the same operations, with reopenings and snapshots in between, give the
//! same graph, the same ids and the same orders.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{
    Around, Condition, Direction, Durability, Keep, Kind, Options, Read, Ref, Refusal, Relationship, Side,
    Store, Test, Value, WriteError, shard_of,
};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const TYPES: [&str; 3] = ["User", "Item", "Ort ö/%"];
const RELATIONSHIP_TYPES: [&str; 3] = ["KNOWS", "HAS", ""];
const OPTIONS: Options = Options::new(Durability::Off);

#[derive(Debug, Clone)]
enum Step {
    CreateNode { of: usize, key: u8, age: Option<i64>, name: Option<String> },
    SetNode { of: usize, key: u8, age: Option<i64>, keep: bool },
    DeleteNode { of: usize, key: u8 },
    Relate { of: usize, from: (usize, u8), to: (usize, u8), weight: Option<f64> },
    DeleteRelationship { pick: usize },
    Clear,
    Reopen,
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..24_u8;
    let node = || (0..TYPES.len(), 0..24_u8);
    let age = prop::option::of(any::<i64>());
    prop_oneof![
        8 => (0..TYPES.len(), key.clone(), age.clone(), prop::option::of(".{0,8}"))
            .prop_map(|(of, key, age, name)| Step::CreateNode { of, key, age, name }),
        3 => (0..TYPES.len(), key.clone(), age, any::<bool>())
            .prop_map(|(of, key, age, keep)| Step::SetNode { of, key, age, keep }),
        3 => (0..TYPES.len(), key).prop_map(|(of, key)| Step::DeleteNode { of, key }),
        12 => (0..RELATIONSHIP_TYPES.len(), node(), node(), prop::option::of(-1e9..1e9_f64))
            .prop_map(|(of, from, to, weight)| Step::Relate { of, from, to, weight }),
        4 => any::<usize>().prop_map(|pick| Step::DeleteRelationship { pick }),
        1 => Just(Step::Clear),
        2 => Just(Step::Reopen),
        2 => Just(Step::Snapshot),
    ]
}

/// What the store must hold.
#[derive(Debug, Default)]
struct Model {
    nodes: BTreeMap<Ref, (String, String, BTreeMap<String, Value<'static>>)>,
    relationships: BTreeMap<Ref, (String, Ref, Ref, Option<f64>)>,
    node_types: Vec<String>,
    relationship_types: Vec<String>,
    /// Slots that have been used, by type and shard.
    node_ends: BTreeMap<(u16, u8), u32>,
    relationship_ends: BTreeMap<(u16, u8), u32>,
}

impl Model {
    fn find(&self, of: usize, key: u8) -> Option<Ref> {
        let wanted = (TYPES[of], format!("key {key}"));
        self.nodes
            .iter()
            .find(|(_, node)| (node.0.as_str(), &node.1) == (wanted.0, &wanted.1))
            .map(|(at, _)| *at)
    }

    /// The lowest slot that is free.
    fn slot(
        is_taken: impl Fn(Ref) -> bool,
        ends: &mut BTreeMap<(u16, u8), u32>,
        number: u16,
        shard: u8,
    ) -> Ref {
        let end = ends.entry((number, shard)).or_default();
        let index = (0..*end).find(|index| !is_taken(Ref::new(number, shard, *index))).unwrap_or(*end);
        *end = (*end).max(index + 1);
        Ref::new(number, shard, index)
    }

    fn number(types: &mut Vec<String>, name: &str) -> u16 {
        let place = types.iter().position(|known| known == name).unwrap_or_else(|| {
            types.push(name.to_owned());
            types.len() - 1
        });
        place as u16 + 1
    }
}

struct Subject {
    store: Option<Store>,
    model: Model,
}

impl Subject {
    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn declare(&self) {
        let declared = self.store().write_and_wait(|write| {
            for of in TYPES {
                write.make_type(Side::Nodes, of)?;
                write.declare(Side::Nodes, of, "name", Kind::String)?;
                write.declare(Side::Nodes, of, "age", Kind::Integer)?;
            }
            for of in RELATIONSHIP_TYPES {
                write.make_type(Side::Relationships, of)?;
                write.declare(Side::Relationships, of, "weight", Kind::Double)?;
            }
            Ok(())
        });
        declared.unwrap();
    }

    fn take(&mut self, step: &Step, directory: &Path) {
        match step {
            Step::CreateNode { of, key, age, name } => self.create_node(*of, *key, *age, name.as_deref()),
            Step::SetNode { of, key, age, keep } => self.set_node(*of, *key, *age, *keep),
            Step::DeleteNode { of, key } => {
                let Some(at) = self.model.find(*of, *key) else { return };
                self.store().write_and_wait(|write| write.delete_node(at)).unwrap();
                self.model.nodes.remove(&at);
                self.model.relationships.retain(|_, (_, from, to, _)| *from != at && *to != at);
            }
            Step::Relate { of, from, to, weight } => self.relate(*of, *from, *to, *weight),
            Step::DeleteRelationship { pick } => {
                let count = self.model.relationships.len();
                let Some(at) =
                    self.model.relationships.keys().nth(pick.checked_rem(count).unwrap_or(0)).copied()
                else {
                    return;
                };
                self.store().write_and_wait(|write| write.delete_relationship(at)).unwrap();
                self.model.relationships.remove(&at);
            }
            Step::Clear => {
                let cleared = self.store().write_and_wait(|write| {
                    write.clear();
                    Ok(())
                });
                cleared.unwrap();
                self.model = Model::default();
                self.declare();
                self.number_types();
            }
            Step::Reopen => {
                self.store = None;
                self.store = Some(Store::open(directory, OPTIONS).unwrap());
            }
            Step::Snapshot => {
                let report = self.store().snapshot().unwrap();
                assert_eq!(report.nodes, self.model.nodes.len() as u64);
                assert_eq!(report.relationships, self.model.relationships.len() as u64);
            }
        }
    }

    fn number_types(&mut self) {
        for name in TYPES {
            Model::number(&mut self.model.node_types, name);
        }
        for name in RELATIONSHIP_TYPES {
            Model::number(&mut self.model.relationship_types, name);
        }
    }

    fn create_node(&mut self, of: usize, key: u8, age: Option<i64>, name: Option<&str>) {
        let mut given: Vec<(&str, Value<'_>)> = vec![("unknown", Value::Boolean(true))];
        given.extend(name.map(|name| ("name", Value::String(Cow::Borrowed(name)))));
        given.extend(age.map(|age| ("age", Value::Integer(age))));
        let text = format!("key {key}");
        let made = self.store().write_and_wait(|write| write.create_node(TYPES[of], &text, &given));
        if self.model.find(of, key).is_some() {
            assert!(matches!(made, Err(WriteError::Refused(Refusal::KeyExists { .. }))), "{made:?}");
            return;
        }
        let number = Model::number(&mut self.model.node_types, TYPES[of]);
        let taken: BTreeSet<Ref> = self.model.nodes.keys().copied().collect();
        let shard = shard_of(TYPES[of], &text);
        let wanted = Model::slot(|at| taken.contains(&at), &mut self.model.node_ends, number, shard);
        assert_eq!(made.unwrap(), wanted);
        let known = given.into_iter().filter(|(name, _)| *name != "unknown");
        let properties = known.map(|(name, value)| (name.to_owned(), value.into_owned())).collect();
        self.model.nodes.insert(wanted, (TYPES[of].to_owned(), text, properties));
    }

    fn set_node(&mut self, of: usize, key: u8, age: Option<i64>, keep: bool) {
        let Some(at) = self.model.find(of, key) else { return };
        let given: Vec<_> = age.map(|age| ("age", Value::Integer(age))).into_iter().collect();
        let mode = if keep { Keep::Others } else { Keep::Nothing };
        self.store().write_and_wait(|write| write.set_node(at, &given, mode)).unwrap();
        let properties = &mut self.model.nodes.get_mut(&at).unwrap().2;
        if !keep {
            properties.clear();
        }
        properties.extend(given.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())));
    }

    fn relate(&mut self, of: usize, from: (usize, u8), to: (usize, u8), weight: Option<f64>) {
        let (Some(start), Some(end)) = (self.model.find(from.0, from.1), self.model.find(to.0, to.1)) else {
            return;
        };
        let given: Vec<_> = weight.map(|weight| ("weight", Value::Double(weight))).into_iter().collect();
        let name = RELATIONSHIP_TYPES[of];
        let made = self.store().write_and_wait(|write| write.create_relationship(name, start, end, &given));
        let number = Model::number(&mut self.model.relationship_types, name);
        let taken: BTreeSet<Ref> = self.model.relationships.keys().copied().collect();
        let ends = &mut self.model.relationship_ends;
        let wanted = Model::slot(|at| taken.contains(&at), ends, number, start.shard());
        assert_eq!(made.unwrap(), wanted);
        self.model.relationships.insert(wanted, (name.to_owned(), start, end, weight));
    }

    fn compare(&self) {
        let checked = self.store().check();
        assert_eq!(checked.problems, Vec::<String>::new());
        let counts = (checked.nodes, checked.relationships);
        assert_eq!(counts, (self.model.nodes.len() as u64, self.model.relationships.len() as u64));
        let read = self.store().read();
        let nodes: Vec<_> = read
            .nodes(None)
            .map(|node| {
                let properties: Vec<_> =
                    node.properties().map(|(name, value)| (name.to_owned(), value.into_owned())).collect();
                (node.at, (node.of.name.to_string(), node.key.to_owned(), properties))
            })
            .collect();
        let wanted: Vec<_> = self
            .model
            .nodes
            .iter()
            .map(|(at, (of, key, properties))| {
                let properties: Vec<_> = properties.iter().map(|(a, b)| (a.clone(), b.clone())).collect();
                (*at, (of.clone(), key.clone(), properties))
            })
            .collect();
        let mut wanted = wanted;
        wanted.sort_by_key(|(at, _)| (at.type_number(), at.shard(), at.index()));
        assert_eq!(nodes, wanted);
        let relationships: BTreeMap<_, _> = read
            .relationships(None)
            .map(|one| {
                let weight = one.property("weight").map(|value| match value {
                    Value::Double(weight) => weight,
                    other => panic!("{other:?}"),
                });
                (one.at, (one.of.name.to_string(), one.from, one.to, weight))
            })
            .collect();
        assert_eq!(relationships, self.model.relationships);
        assert_eq!(read.count(Side::Nodes, None), self.model.nodes.len() as u64);
        self.compare_where(&read);
        for (at, other) in self.model.nodes.keys().zip(self.model.nodes.keys().rev()) {
            self.compare_around(&read, *at);
            Self::compare_between(&read, *at, *other);
        }
    }

    /// Against the same condition on every node.
    fn compare_where(&self, read: &Read) {
        for (operation, value) in [
            ("GT", Some(Value::Integer(0))),
            ("NOT_LTE", Some(Value::Double(1e18))),
            ("IS_NULL", None),
            ("NEQ", Some(Value::String("x".into()))),
        ] {
            let (test, not) = Test::parse(operation).unwrap();
            let age = [Condition { property: "age", test, not, value }];
            let all = read.nodes(None).filter(|node| age[0].holds(node.property("age").as_ref()));
            let found: Vec<_> = read.nodes_where(None, &age).map(|node| node.at).collect();
            assert_eq!(found, all.map(|node| node.at).collect::<Vec<_>>(), "{operation}");
            let of = read.schema().side(Side::Nodes).number(TYPES[1]);
            let found = read.nodes_where(of, &age).filter(|node| Some(node.at.type_number()) != of).count();
            assert_eq!(found, 0);
        }
        let weight =
            Condition { property: "weight", test: Test::Less, not: false, value: Some(Value::Integer(0)) };
        let lighter =
            self.model.relationships.values().filter(|one| one.3.is_some_and(|weight| weight < 0.0));
        assert_eq!(read.relationships_where(None, &[weight]).count(), lighter.count());
    }

    fn compare_between(read: &Read, a: Ref, b: Ref) {
        for types in [None, Some(&RELATIONSHIP_TYPES[..2])] {
            for direction in [None, Some(Direction::Outgoing), Some(Direction::Incoming)] {
                let around = Around { direction, types };
                let ids = |found: Vec<(Direction, Relationship<'_>)>| {
                    found.into_iter().map(|(way, one)| (way, one.at.id())).collect::<Vec<_>>()
                };
                let mut wanted = read.around(a, around);
                wanted.retain(|(way, one)| one.other(*way) == b);
                assert_eq!(ids(read.between(a, b, around)), ids(wanted), "{a:?} {b:?} {around:?}");
            }
        }
    }

    fn compare_around(&self, read: &Read, node: Ref) {
        let type_of =
            |name: &str| self.model.relationship_types.iter().position(|known| known == name).unwrap();
        for direction in [None, Some(Direction::Outgoing), Some(Direction::Incoming)] {
            for types in [None, Some(&RELATIONSHIP_TYPES[..1]), Some(&RELATIONSHIP_TYPES[1..])] {
                let mut wanted = Vec::new();
                for (at, (name, from, to, _)) in &self.model.relationships {
                    if types.is_some_and(|types| !types.contains(&name.as_str())) {
                        continue;
                    }
                    for (own, other, way) in
                        [(from, to, Direction::Outgoing), (to, from, Direction::Incoming)]
                    {
                        if *own == node && direction.is_none_or(|direction| direction == way) {
                            wanted.push((at.shard(), way, type_of(name), other.id(), at.id()));
                        }
                    }
                }
                wanted.sort_unstable();
                let around = Around { direction, types };
                let found: Vec<_> =
                    read.around(node, around).into_iter().map(|(_, one)| one.at.id()).collect();
                let ids: Vec<_> = wanted.iter().map(|key| key.4).collect();
                assert_eq!(found, ids, "{node:?} {around:?}");
                assert_eq!(read.degree(node, around), ids.len() as u64);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 400, ..ProptestConfig::default() })]
    #[test]
    fn the_store_is_what_a_plain_model_is(steps in prop::collection::vec(step(), 0..160)) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), OPTIONS).unwrap();
        let mut subject = Subject { store: Some(store), model: Model::default() };
        subject.declare();
        subject.number_types();
        for step in &steps {
            subject.take(step, directory.path());
        }
        subject.compare();
        subject.take(&Step::Reopen, directory.path());
        subject.compare();
        prop_assert!(subject.store().recovery().lost.is_empty());
    }
}
