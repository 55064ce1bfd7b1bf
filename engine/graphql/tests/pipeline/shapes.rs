//! Coercion of variables: what they become, which faults they have, and which of them share a shape.

use expect_test::{Expect, expect};
use prony_graphql::{
    document::{Operation, limits::Limits},
    variables::{Variables, shape::Shape},
};

use crate::fixture::{lines, schema};

const QUERY: &str = "query ($where: VenueClauses, $limit: Int = 10, $ids: [Int!], $sort: [VenueSort!], $yes: Boolean = true, \
                     $way: SortOperator, $required: Int!) { venues(where: $where, limit: $limit, sort: $sort) { id @include(if: $yes) } \
                     members(where: {id: {in: $ids, gt: $required}}, sort: {id: $way}) { id } }";

fn coerce(variables: &str) -> Result<(Variables, Shape), String> {
    let schema = schema();
    let operation =
        Operation::parse(&schema, QUERY, None, &Limits::default()).map_err(|errors| lines(&errors)).unwrap();
    operation.coerce(&schema, serde_json::from_str(variables).unwrap()).map_err(|errors| lines(&errors))
}

fn check(variables: &str, expected: &Expect) {
    let outcome = coerce(variables).map(|(variables, _)| {
        let values = (0..7).map(|index| match variables.value(index) {
            Some(value) => format!("{value}\n"),
            None => "-\n".into(),
        });
        values.collect::<String>()
    });
    expected.assert_eq(&outcome.unwrap_or_else(|errors| errors));
}

#[test]
fn values() {
    check(
        r#"{"required": 1}"#,
        &expect![[r#"
        -
        10
        -
        -
        true
        -
        1
    "#]],
    );
    check(
        r#"{"required": 1.0, "limit": null, "ids": 5, "sort": {"title": "asc", "id": "desc"}, "yes": false, "way": "desc",
            "where": {"title": {"eq": null}, "and": {"id": {"in": [1, 2]}}}, "unknown": [1]}"#,
        &expect![[r#"
            {"title":{"eq":null},"and":[{"id":{"in":[1,2]}}]}
            null
            [5]
            [{"title":"asc","id":"desc"}]
            false
            "desc"
            1
        "#]],
    );
}

#[test]
fn all_faults_at_once() {
    check(
        "{}",
        &expect![[r#"
        BAD_USER_INPUT 1:125: variable "$required": expected a value of type Int!, found none
    "#]],
    );
    check(
        r#"{"required": null, "limit": "ten", "ids": [1, null, "3"], "sort": [{"id": "up"}, 4], "yes": 1, "way": 3,
            "where": {"id": {"gt": "x", "in": 2147483648}, "and": [{}, {"title": {"eq": 1}}], "nothing": 1, "not": []}}"#,
        &expect![[r#"
            BAD_USER_INPUT 1:8: variable "$where": field "id.gt": expected an Int (-2147483648 to 2147483647), found the string "x"
            BAD_USER_INPUT 1:8: variable "$where": field "id.in": expected an Int (-2147483648 to 2147483647), found 2147483648
            BAD_USER_INPUT 1:8: variable "$where": field "and[1].title.eq": expected a String, found 1
            BAD_USER_INPUT 1:8: variable "$where": type VenueClauses has no field "nothing"
            BAD_USER_INPUT 1:8: variable "$where": field "not": expected an object of type VenueClauses, found a list
            BAD_USER_INPUT 1:30: variable "$limit": expected an Int (-2147483648 to 2147483647), found the string "ten"
            BAD_USER_INPUT 1:48: variable "$ids": field "[1]": expected a value of type Int!, found null
            BAD_USER_INPUT 1:48: variable "$ids": field "[2]": expected an Int (-2147483648 to 2147483647), found the string "3"
            BAD_USER_INPUT 1:62: variable "$sort": field "[0].id": expected a value of the enum SortOperator, found the string "up"
            BAD_USER_INPUT 1:62: variable "$sort": field "[1]": expected an object of type VenueSort, found 4
            BAD_USER_INPUT 1:83: variable "$yes": expected a Boolean, found 1
            BAD_USER_INPUT 1:105: variable "$way": expected a value of the enum SortOperator, found 3
            BAD_USER_INPUT 1:125: variable "$required": expected a value of type Int!, found null
        "#]],
    );
    check(
        r#"{"required": 1, "where": "all"}"#,
        &expect![[r#"
        BAD_USER_INPUT 1:8: variable "$where": expected an object of type VenueClauses, found the string "all"
    "#]],
    );
}

#[test]
fn shapes() {
    let alike = |left: &str, right: &str| coerce(left).unwrap().1 == coerce(right).unwrap().1;
    let with = |rest: &str| format!(r#"{{"required": 1{rest}}}"#);
    assert!(alike(&with(""), r#"{"required": 2}"#), "values of scalars do not count");
    assert!(
        alike(&with(r#", "ids": [1]"#), &with(r#", "ids": [2, 3]"#)),
        "lengths of lists of scalars do not count"
    );
    assert!(alike(&with(r#", "where": {"id": {"gt": 1}}"#), &with(r#", "where": {"id": {"gt": 7}}"#)));
    for (left, right) in [
        ("", r#", "where": null"#),
        ("", r#", "limit": null"#),
        (r#", "where": {"id": {"gt": 1}}"#, r#", "where": {"id": {"lt": 1}}"#),
        (r#", "where": {"id": {"gt": 1}}"#, r#", "where": {"id": {"gt": null}}"#),
        (r#", "where": {"id": {"in": [1]}}"#, r#", "where": {"id": {"eq": 1}}"#),
        (r#", "where": {"and": [{}]}"#, r#", "where": {"and": [{}, {}]}"#),
        (r#", "where": {"active": {"eq": true}}"#, r#", "where": {"active": {"eq": false}}"#),
        (r#", "sort": {"id": "asc", "title": "asc"}"#, r#", "sort": {"title": "asc", "id": "asc"}"#),
        (r#", "way": "asc""#, r#", "way": "desc""#),
        (r#", "yes": false"#, ""),
    ] {
        assert!(!alike(&with(left), &with(right)), "{left} and {right}");
    }
}

#[test]
fn large_shapes_are_refused() {
    let clauses = vec![r#"{"id": {"gt": 1, "lt": 3}}"#; 2_000].join(",");
    check(
        &format!(r#"{{"required": 1, "where": {{"and": [{clauses}]}}}}"#),
        &expect![[r#"
        LIMIT_EXCEEDED: the variables hold so many input objects that their shape has more than 16384 bytes (max_shape_bytes); send lists of scalars, or several requests
    "#]],
    );
    let ids = vec!["1"; 50_000].join(",");
    assert!(coerce(&format!(r#"{{"required": 1, "ids": [{ids}]}}"#)).is_ok(), "lists of scalars may be long");
}
