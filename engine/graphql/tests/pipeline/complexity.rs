//! What operations are estimated to cost.

use prony_graphql::document::{
    Operation,
    complexity::{Complexity, check_depth, check_estimate, depth},
    limits::Limits,
    weights::{FieldWeight, FieldWeights},
};

use crate::fixture::{parameters, shared_schema};

fn estimate(query: &str, variables: &str) -> (Complexity, prony_graphql::variables::Variables) {
    let parameters = parameters(query, variables);
    let operation = Operation::parse(shared_schema(), &parameters.query, None, &Limits::default()).unwrap();
    let (variables, _) = operation.coerce(shared_schema(), parameters.variables).unwrap();
    let selection = operation.select(shared_schema(), &variables).unwrap();
    (Complexity::of(&selection.fields, &FieldWeights::default()), variables)
}

#[track_caller]
fn check(query: &str, variables: &str, expected: u64) {
    let (complexity, variables) = estimate(query, variables);
    assert_eq!(complexity.with(&variables), expected);
}

#[test]
fn lists_multiply_what_is_below_them() {
    check("{ venues(limit: 3) { id title } }", "{}", 1 + 3 * 2);
    check("{ venues(limit: 3) { id meetups(limit: 5) { id } } }", "{}", 1 + 3 * (1 + 1 + 5));
    check("{ a: venues(limit: 3) { id } b: venues(limit: 4) { id } }", "{}", (1 + 3) + (1 + 4));
    check("{ venues(limit: 0) { id } }", "{}", 1);
}

#[test]
fn a_list_without_a_limit_counts_for_ten() {
    check("{ venues { id meetups { id } } }", "{}", 1 + 10 * (1 + 1 + 10));
    check("{ venues(limit: null) { id } }", "{}", 1 + 10);
}

#[test]
fn variables_decide_as_literals_do() {
    let query = "query ($n: Int, $m: Int) { venues(limit: $n) { id meetups(limit: 2) { members(limit: $m) { id } } } }";
    let expected = |n: u64, m: u64| 1 + n * (1 + 1 + 2 * (1 + m));
    check(query, r#"{"n": 7, "m": 11}"#, expected(7, 11));
    check(query, r#"{"n": 7, "m": null}"#, expected(7, 10));
    check(query, "{}", expected(10, 10));
}

#[test]
fn introspection_has_limits_of_its_own() {
    check("{ __typename __schema { types { name } } venues(limit: 1) { __typename } }", "{}", 1);
}

#[test]
fn over_the_limit_the_estimate_is_told_and_does_not_wrap() {
    let query = "query ($n: Int) { venues(limit: $n) { meetups(limit: $n) { members(limit: $n) { meetups(limit: $n) { \
                 members(limit: $n) { meetups(limit: $n) { members(limit: $n) { id } } } } } } } }";
    let (complexity, variables) = estimate(query, r#"{"n": 2147483647}"#);
    assert_eq!(complexity.with(&variables), u64::MAX);
    let (complexity, variables) = estimate("{ venues(limit: 1000) { id } }", "{}");
    let estimate = complexity.with(&variables);
    assert!(check_estimate(estimate, 1001).is_ok());
    let refused = check_estimate(estimate, 1000).unwrap_err();
    assert!(refused.message.contains("up to 1001 fields") && refused.message.contains("max_complexity"));
}

#[test]
fn fields_count_by_their_weights_and_lists_by_their_items() {
    let weight = |parent: &str, field: &str, weight, items| {
        (parent.to_owned(), field.to_owned(), FieldWeight { weight, items })
    };
    let weights = FieldWeights::new([
        weight("Query", "venues", Some(100), Some(3)),
        weight("Venue", "meetups", None, Some(7)),
        weight("Venue", "title", Some(0), None),
        weight("Meetup", "id", Some(5), None),
        weight("Query", "nothing", Some(1), None),
    ]);
    for (query, variables, expected) in [
        ("{ venues { id title } }", "{}", 100 + 3),
        ("{ venues(limit: 2) { meetups { id } } }", "{}", 100 + 2 * (1 + 7 * 5)),
        ("query ($n: Int) { venues(limit: $n) { id } }", "{}", 100 + 3),
        ("query ($n: Int) { venues(limit: $n) { id } }", r#"{"n": 4}"#, 100 + 4),
        ("{ a: venues { title } b: venues { title } }", "{}", 200),
    ] {
        let parameters = parameters(query, variables);
        let operation =
            Operation::parse(shared_schema(), &parameters.query, None, &Limits::default()).unwrap();
        let (variables, _) = operation.coerce(shared_schema(), parameters.variables).unwrap();
        let selection = operation.select(shared_schema(), &variables).unwrap();
        assert_eq!(Complexity::of(&selection.fields, &weights).with(&variables), expected, "{query}");
    }
    let mut names: Vec<_> = weights.names().collect();
    names.sort_unstable();
    assert_eq!(names.len(), 5);
    assert_eq!(names[0], ("Meetup", "id"));
}

#[test]
fn depth_is_that_of_nested_objects() {
    for (query, expected) in [
        ("{ __typename }", 0),
        ("{ venues { id } }", 1),
        ("{ venues { id meetups { members { id } } } a: venues { id } }", 3),
        ("{ __schema { types { fields { name } } } }", 0),
    ] {
        let operation = Operation::parse(shared_schema(), query, None, &Limits::default()).unwrap();
        let (variables, _) = operation.coerce(shared_schema(), serde_json::Map::new()).unwrap();
        let selection = operation.select(shared_schema(), &variables).unwrap();
        assert_eq!(depth(&selection.fields), expected, "{query}");
    }
    assert!(check_depth(3, 3).is_ok());
    let refused = check_depth(4, 3).unwrap_err();
    assert_eq!(refused.extensions.unwrap()["highest"], 3);
}
