//! Caches: what they find, what they refuse, what they push out.

use prony_graphql::{
    cache::{Cache, Weight},
    document::{Operation, limits::Limits},
    schema::Schema,
    variables::shape::Shape,
};

use crate::fixture::schema;

struct Plan(usize);

impl Weight for Plan {
    fn weight_bytes(&self) -> usize {
        self.0
    }
}

fn parse(schema: &Schema, text: &str, name: Option<&str>) -> Operation {
    Operation::parse(schema, text, name, &Limits::default()).unwrap()
}

#[test]
fn operations_by_text_and_name() {
    let (schema, cache) = (schema(), Cache::<Plan>::new(1 << 20, 1 << 20));
    let text = "query A { venues { id } } query B { venues { title } }";
    assert!(cache.operation(text, Some("A")).is_none());
    let first = cache.insert_operation(text, Some("A"), parse(&schema, text, Some("A")));
    let second = cache.insert_operation(text, Some("B"), parse(&schema, text, Some("B")));
    assert_eq!(cache.operation(text, Some("A")).unwrap().id(), first.id());
    assert_eq!(cache.operation(text, Some("B")).unwrap().id(), second.id());
    assert!(cache.operation(text, None).is_none());
    assert!(cache.operation("query A { venues { id } }", Some("A")).is_none());
    let statistics = cache.operation_statistics();
    assert_eq!((statistics.hits, statistics.misses, statistics.entries), (2, 3, 2));
}

#[test]
fn what_is_refused_is_parsed_once() {
    let (schema, cache) = (schema(), Cache::<Plan>::new(1 << 20, 1 << 20));
    let parsed = std::cell::Cell::new(0);
    let find = |text: &str, name: Option<&str>| {
        let limits = Limits { max_aliases: 3, ..Limits::default() };
        cache.find_operation(text, name, || {
            parsed.set(parsed.get() + 1);
            Operation::parse(&schema, text, name, &limits)
        })
    };
    let two = "query A { venues { id } } query B { venues { title } }";
    let many = "{ a: __typename b: __typename c: __typename d: __typename }";
    for (text, name, is_refused) in [
        (many, None, true),
        ("{ nothing }", None, true),
        ("{", None, true),
        // Two operations and no name, one that is not there, and one that is.
        (two, None, true),
        (two, Some("C"), true),
        (two, Some("A"), false),
        ("{ venues { id } }", None, false),
    ] {
        parsed.set(0);
        let first = find(text, name);
        assert_eq!(first.is_err(), is_refused, "{text}");
        for _ in 0..3 {
            let again = find(text, name);
            assert_eq!(again.as_ref().err(), first.as_ref().err(), "{text}");
        }
        assert_eq!(parsed.get(), 1, "{text}");
    }
    assert_eq!(cache.refusal_statistics().entries, 5);
    // With another schema all is another matter.
    let (cache, parsed) = (Cache::<Plan>::new(1 << 20, 1 << 20), std::cell::Cell::new(0));
    let _ = cache.find_operation("{ nothing }", None, || {
        parsed.set(parsed.get() + 1);
        Operation::parse(&schema, "{ nothing }", None, &Limits::default())
    });
    assert_eq!(parsed.get(), 1);
}

#[test]
fn what_is_refused_takes_little_room() {
    let (schema, cache) = (schema(), Cache::<Plan>::new(64 << 20, 1 << 20));
    for index in 0..5_000 {
        let text = format!("{{ nothing{index} }}");
        let parse = || Operation::parse(&schema, &text, None, &Limits::default());
        assert!(cache.find_operation(&text, None, parse).is_err());
    }
    let statistics = cache.refusal_statistics();
    assert!(statistics.bytes <= 512 << 10 && statistics.entries > 200, "{statistics:?}");
    assert!(statistics.evicted > 1_000, "{statistics:?}");
    assert_eq!(cache.operation_statistics().entries, 0);
}

#[test]
fn plans_by_operation_and_shape() {
    let (schema, cache) = (schema(), Cache::<Plan>::new(1 << 20, 1 << 20));
    let text = "query ($limit: Int) { venues(limit: $limit) { id } }";
    let operation = parse(&schema, text, None);
    let shape =
        |variables: &str| operation.coerce(&schema, serde_json::from_str(variables).unwrap()).unwrap().1;
    cache.insert_plan(operation.id(), shape(r#"{"limit": 1}"#), Plan(10));
    assert!(cache.plan(operation.id(), &shape(r#"{"limit": 2}"#)).is_some());
    assert!(cache.plan(operation.id(), &shape("{}")).is_none());
    assert!(cache.plan(parse(&schema, text, None).id(), &shape(r#"{"limit": 2}"#)).is_none());
}

#[test]
fn bytes_are_bounded() {
    let (schema, capacity) = (schema(), 1 << 20);
    let cache = Cache::<Plan>::new(capacity, capacity);
    for index in 0..2_000 {
        let text = format!("{{ venues(limit: {index}) {{ id title active }} }}");
        cache.insert_operation(&text, None, parse(&schema, &text, None));
        let id = parse(&schema, "{ venues { id } }", None).id();
        cache.insert_plan(id, Shape::default(), Plan(5_000));
    }
    for statistics in [cache.operation_statistics(), cache.plan_statistics()] {
        assert!(statistics.bytes <= capacity as u64, "{statistics:?}");
        assert!(statistics.bytes > capacity as u64 / 2, "{statistics:?}");
        assert!(statistics.evicted > 1_000, "{statistics:?}");
    }
}

#[test]
fn large_entries_are_not_kept() {
    let (schema, cache) = (schema(), Cache::<Plan>::new(1 << 20, 1 << 20));
    let id = parse(&schema, "{ venues { id } }", None).id();
    let plan = cache.insert_plan(id, Shape::default(), Plan(1 << 19));
    assert_eq!(plan.0, 1 << 19, "it is still given back");
    assert!(cache.plan(id, &Shape::default()).is_none());
    assert_eq!(cache.plan_statistics().oversized, 1);
}

#[test]
fn who_comes_second_has_what_the_first_has_kept() {
    let (schema, cache) = (schema(), Cache::<Plan>::new(1 << 20, 1 << 20));
    let text = "{ venues { id } }";
    let first = cache.insert_operation(text, None, parse(&schema, text, None));
    let second = cache.insert_operation(text, None, parse(&schema, text, None));
    assert_eq!(first.id(), second.id());
    let first = cache.insert_plan(first.id(), Shape::default(), Plan(10));
    let second = cache.insert_plan(second.id(), Shape::default(), Plan(10));
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert_eq!((cache.operation_statistics().entries, cache.plan_statistics().entries), (1, 1));
}
