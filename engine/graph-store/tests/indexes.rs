//! Indexes of properties: with them, conditions give what they give without, in the same order.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{
    Condition, Durability, Keep, Kind, ManyNamed, Options, Ref, Refusal, Side, Store, Test, Value, WriteError,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::path::Path;

const OPTIONS: Options = Options::new(Durability::Off);
const PROPERTIES: [(&str, Kind); 4] =
    [("b", Kind::Boolean), ("i", Kind::Integer), ("d", Kind::Double), ("s", Kind::String)];

fn value_of(kind: Kind) -> BoxedStrategy<Value<'static>> {
    let integers = vec![i64::MIN, -1, 0, 1, 2, 3, 1 << 53, (1 << 53) + 1, i64::MAX];
    let texts = vec!["", "a", "ab", "customer", "customer-1", "customer-12", "customer-2", "\u{10ffff}", "ä"];
    match kind {
        Kind::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Kind::Integer => select(integers).prop_map(Value::Integer).boxed(),
        Kind::Double => {
            select(vec![-1.5, -0.0, 0.0, 0.5, 1.0, 2.0, 9_007_199_254_740_992.0, 1e300, f64::NAN])
                .prop_map(Value::Double)
                .boxed()
        }
        _ => select(texts).prop_map(|text| Value::String(text.into())).boxed(),
    }
}

fn any_value() -> impl Strategy<Value = Value<'static>> {
    select(PROPERTIES.to_vec()).prop_flat_map(|(_, kind)| value_of(kind))
}

fn condition() -> impl Strategy<Value = Condition<'static>> {
    let tests = [
        Test::Equal,
        Test::Greater,
        Test::GreaterOrEqual,
        Test::Less,
        Test::LessOrEqual,
        Test::IsNull,
        Test::StartsWith,
        Test::Contains,
        Test::EndsWith,
        Test::In,
    ];
    let lists = prop_oneof![
        prop::collection::vec(-1..4_i64, 0..4).prop_map(Value::IntegerList),
        prop::collection::vec(select(vec!["a", "customer-1", "customer-2"]), 0..4)
            .prop_map(|all| Value::StringList(all.into_iter().map(Into::into).collect())),
    ];
    let near = select(PROPERTIES.to_vec()).prop_flat_map(|(property, kind)| {
        (Just(property), prop_oneof![3 => value_of(kind), 1 => any_value()])
    });
    (near, lists, select(tests.to_vec()), prop::bool::weighted(0.2), prop::bool::weighted(0.05)).prop_map(
        |((property, value), list, test, not, is_null)| {
            let value = if test == Test::In { list } else { value };
            Condition { property, test, not, value: (!is_null).then_some(value) }
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Create(Vec<(usize, Value<'static>)>),
    Set(usize, usize, Value<'static>),
    Remove(usize, usize),
    Delete(usize),
    Index(usize, bool),
    Undeclare(usize),
    Reopen(bool),
    /// A write that changes much and is refused at its end.
    Refused(usize, Value<'static>),
}

fn step() -> impl Strategy<Value = Step> {
    let property = || 0..PROPERTIES.len();
    let own = || property().prop_flat_map(|place| (Just(place), value_of(PROPERTIES[place].1)));
    prop_oneof![
        8 => prop::collection::vec(own(), 0..5).prop_map(Step::Create),
        4 => (any::<usize>(), own()).prop_map(|(pick, (place, value))| Step::Set(pick, place, value)),
        2 => (any::<usize>(), property()).prop_map(|(pick, place)| Step::Remove(pick, place)),
        2 => any::<usize>().prop_map(Step::Delete),
        3 => (property(), prop::bool::weighted(0.8)).prop_map(|(place, is_made)| Step::Index(place, is_made)),
        1 => property().prop_map(Step::Undeclare),
        1 => any::<bool>().prop_map(Step::Reopen),
        2 => (any::<usize>(), any_value()).prop_map(|(pick, value)| Step::Refused(pick, value)),
    ]
}

fn declare(store: &Store) {
    let declared = store.write_and_wait(|write| {
        for (side, of) in [(Side::Nodes, "N"), (Side::Relationships, "R")] {
            write.make_type(side, of)?;
            for (name, kind) in PROPERTIES {
                write.declare(side, of, name, kind)?;
            }
        }
        write.create_node("M", "m", &[])
    });
    declared.unwrap();
}

fn given(values: &[(usize, Value<'static>)]) -> Vec<(&'static str, Value<'static>)> {
    values.iter().map(|(place, value)| (PROPERTIES[*place].0, value.clone())).collect()
}

/// Each node has a relationship with the same properties.
fn take(store: Store, directory: &Path, nodes: &mut Vec<(Ref, Ref)>, made: &mut u32, step: &Step) -> Store {
    let picked = |pick: usize| nodes.get(pick.checked_rem(nodes.len()).unwrap_or(0)).copied();
    match step {
        Step::Create(values) => {
            *made += 1;
            let (key, values) = (made.to_string(), given(values));
            let both = store.write_and_wait(|write| {
                let node = write.create_node("N", &key, &values)?;
                let other = write.find("M", "m").unwrap();
                Ok((node, write.create_relationship("R", node, other, &values)?))
            });
            nodes.push(both.unwrap());
        }
        Step::Set(pick, place, value) => {
            if let Some((node, relationship)) = picked(*pick) {
                let values = given(&[(*place, value.clone())]);
                let set = store.write_and_wait(|write| {
                    write.set_node(node, &values, Keep::Others)?;
                    write.set_relationship(relationship, &values, Keep::Others)
                });
                set.unwrap();
            }
        }
        Step::Remove(pick, place) => {
            if let Some((node, relationship)) = picked(*pick) {
                let name = PROPERTIES[*place].0;
                // Refused where it has none.
                let _ = store.write_and_wait(|write| write.remove_node_property(node, name));
                let _ = store.write_and_wait(|write| write.remove_relationship_property(relationship, name));
            }
        }
        Step::Delete(pick) => {
            if let Some((node, _)) = picked(*pick) {
                store.write_and_wait(|write| write.delete_node(node)).unwrap();
                nodes.retain(|(own, _)| *own != node);
            }
        }
        Step::Index(place, is_made) => {
            let name = PROPERTIES[*place].0;
            let done = store.write_and_wait(|write| {
                for (side, of) in [(Side::Nodes, "N"), (Side::Relationships, "R")] {
                    if *is_made { write.index(side, of, name)? } else { write.unindex(side, of, name)? }
                }
                Ok(())
            });
            done.unwrap();
        }
        Step::Undeclare(place) => {
            let (name, kind) = PROPERTIES[*place];
            let done = store.write_and_wait(|write| {
                write.undeclare(Side::Nodes, "N", name)?;
                write.declare(Side::Nodes, "N", name, kind)
            });
            done.unwrap();
        }
        Step::Refused(pick, value) => {
            let picked = picked(*pick);
            let refused = store.write_and_wait(|write| {
                write.create_node("N", "refused", &[])?;
                write.undeclare(Side::Nodes, "N", "i")?;
                write.unindex(Side::Nodes, "N", "s")?;
                write.index(Side::Nodes, "N", "b")?;
                if let Some((node, _)) = picked {
                    let _ = write.set_node(node, &[("d", value.clone())], Keep::Nothing);
                    write.delete_node(node)?;
                }
                write.create_node("M", "m", &[])
            });
            assert!(matches!(refused, Err(WriteError::Refused(Refusal::KeyExists { .. }))), "{refused:?}");
        }
        Step::Reopen(with_snapshot) => {
            if *with_snapshot {
                store.snapshot().unwrap();
            }
            drop(store);
            return Store::open(directory, OPTIONS).unwrap();
        }
    }
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 400, ..ProptestConfig::default() })]
    #[test]
    fn an_index_changes_no_answer(
        steps in prop::collection::vec(step(), 0..60),
        conditions in prop::collection::vec(prop::collection::vec(condition(), 1..4), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path(), OPTIONS).unwrap();
        declare(&store);
        let (mut nodes, mut made) = (Vec::new(), 0);
        for step in &steps {
            store = take(store, directory.path(), &mut nodes, &mut made, step);
        }
        prop_assert_eq!(store.check().problems, Vec::<String>::new());
        let read = store.read();
        prop_assert_eq!(read.nodes(None).count(), nodes.len() + 1);
        for conditions in &conditions {
            let plain: Vec<_> = read.nodes(None)
                .filter(|node| conditions.iter().all(|of| of.holds(node.property(of.property).as_ref())))
                .map(|node| node.at)
                .collect();
            let found: Vec<_> = read.nodes_where(None, conditions).map(|node| node.at).collect();
            prop_assert_eq!(found, plain, "{:?}", conditions);
            let plain: Vec<_> = read.relationships(None)
                .filter(|one| conditions.iter().all(|of| of.holds(one.property(of.property).as_ref())))
                .map(|one| one.at)
                .collect();
            let found: Vec<_> = read.relationships_where(None, conditions).map(|one| one.at).collect();
            prop_assert_eq!(found, plain, "{:?}", conditions);
        }
    }
}

#[test]
fn an_index_is_kept_and_what_can_have_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    declare(&store);
    let refused = store.write_and_wait(|write| {
        write.declare(Side::Nodes, "N", "list", Kind::IntegerList)?;
        write.index(Side::Nodes, "N", "list")
    });
    assert!(matches!(refused, Err(WriteError::Refused(Refusal::NotIndexable { kind: "integer_list" }))));
    let refused = store.write_and_wait(|write| write.index(Side::Nodes, "N", "unknown"));
    assert!(matches!(refused, Err(WriteError::Refused(Refusal::NoProperty))));
    store.write_and_wait(|write| write.index(Side::Nodes, "N", "i")).unwrap();
    drop(store);
    for _ in 0..3 {
        let store = Store::open(directory.path(), OPTIONS).unwrap();
        let read = store.read();
        let is_indexed =
            |name: &str| read.schema().side(Side::Nodes).get(1).unwrap().properties[name].is_indexed;
        assert!(is_indexed("i") && !is_indexed("s"));
        drop(read);
        store.snapshot().unwrap();
    }
}

/// Enough nodes that a range of many of them is walked slot by slot, and one of few is looked up.
#[test]
fn ranges_of_few_and_of_many_are_in_the_order_of_slots() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    declare(&store);
    for key in 0..4000_i64 {
        let given = [("i", Value::Integer(key * 7919 % 4000))];
        store.write(|write| write.create_node("N", &key.to_string(), &given), drop).unwrap();
    }
    store.write_and_wait(|write| write.index(Side::Nodes, "N", "i")).unwrap();
    let read = store.read();
    for limit in [0, 1, 900, 1300, 3999, 5000] {
        let conditions =
            [Condition { property: "i", test: Test::Less, not: false, value: Some(Value::Integer(limit)) }];
        let found: Vec<_> = read.nodes_where(Some(1), &conditions).map(|node| node.at).collect();
        assert_eq!(i64::try_from(found.len()), Ok(limit.min(4000)));
        assert!(found.is_sorted_by_key(|at| (at.shard(), at.index())));
        // Whoever may collect no more than 500 at a time is told, where slots are not to be walked all the same.
        let few = read.candidate_nodes(1, &conditions, 500);
        match limit {
            0..=499 => {
                let few: Vec<_> = few.unwrap().map(|node| node.at).collect();
                assert!(found.iter().all(|at| few.contains(at)) && few.len() <= 500, "{limit}");
            }
            _ => assert_eq!(few.err(), Some(ManyNamed), "{limit}"),
        }
    }
}

/// Others write while an index is made of what is there; what they change is in it, and nothing else is.
#[test]
fn an_index_is_made_while_others_write() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Off) };
    let store = Store::open(directory.path(), options).unwrap();
    let write = |number: i64| [("n", Value::Integer(number))];
    let all = store
        .write_and_wait(|of| {
            of.make_type(Side::Nodes, "N")?;
            of.declare(Side::Nodes, "N", "n", Kind::Integer)?;
            (0..40_000)
                .map(|key| of.create_node("N", &key.to_string(), &write(key % 100)))
                .collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let making = scope.spawn(|| {
            let made = store.make_index(Side::Nodes, "N", "n");
            is_over.store(true, std::sync::atomic::Ordering::Release);
            made
        });
        let mut rounds = 0_i64;
        while !is_over.load(std::sync::atomic::Ordering::Acquire) {
            let at = all[(rounds as usize * 7919) % all.len()];
            store.write(|of| of.set_node(at, &write(1000 + rounds), Keep::Nothing), drop).unwrap();
            store.write(|of| of.create_node("N", &format!("new {rounds}"), &write(rounds)), drop).unwrap();
            if rounds % 3 == 0 {
                let _ = store.write(|of| of.delete_node(all[(rounds as usize * 104_729) % all.len()]), drop);
            }
            // It may be deleted: set as many as there are.
            rounds += 1;
            if rounds % 50 == 0 {
                std::thread::yield_now();
            }
        }
        making.join().unwrap().unwrap();
        rounds
    });
    assert!(rounds > 0);
    assert!(store.read().schema().side(Side::Nodes).get(1).unwrap().properties["n"].is_indexed);
    assert_eq!(store.check().problems, Vec::<String>::new());
    // Again there is nothing to do; of what is not there, there is none.
    store.make_index(Side::Nodes, "N", "n").unwrap();
    assert!(store.make_index(Side::Nodes, "N", "missing").is_err());
    assert!(store.make_index(Side::Nodes, "Missing", "n").is_err());
    drop(store);
    let store = Store::open(directory.path(), options).unwrap();
    assert!(store.read().schema().side(Side::Nodes).get(1).unwrap().properties["n"].is_indexed);
    assert_eq!(store.check().problems, Vec::<String>::new());
}

/// What takes the property or the graph away in the middle ends the making.
#[test]
fn an_index_whose_property_goes_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Off) };
    let store = Store::open(directory.path(), options).unwrap();
    for clears in [false, true] {
        store
            .write_and_wait(|of| {
                of.make_type(Side::Nodes, "N")?;
                of.declare(Side::Nodes, "N", "n", Kind::Integer)?;
                for key in 0..20_000 {
                    let n = [("n", Value::Integer(key))];
                    of.create_node("N", &format!("{clears} {key}"), &n)?;
                }
                Ok(())
            })
            .unwrap();
        let made = std::thread::scope(|scope| {
            let making = scope.spawn(|| store.make_index(Side::Nodes, "N", "n"));
            store
                .write_and_wait(|of| {
                    if clears {
                        of.clear();
                        return Ok(());
                    }
                    of.undeclare(Side::Nodes, "N", "n")
                })
                .unwrap();
            making.join().unwrap()
        });
        // It may have been made before.
        if let Err(error) = made {
            assert!(matches!(error, WriteError::Refused(_)), "{error}");
        }
        assert_eq!(store.check().problems, Vec::<String>::new());
    }
}
