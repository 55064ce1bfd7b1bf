//! Arguments and values that others than clients and sources have given.

use expect_test::{Expect, expect};
use prony_graphql::{
    completion::complete,
    document::{Operation, limits::Limits},
    schema::Schema,
    selection::{Field, Selection},
    variables::Variables,
};
use serde_json::{Map, Value as Json, json};

use crate::fixture::{from_sdl, lines};

const SDL: &str = "
    type Query { items(where: Where, limit: Int = 5, kinds: [Kind!], exact: Boolean, of: BigInt!): [Item!]! any: Any }
    input Where { id: IntWhere, or: [Where!] } input IntWhere { eq: Int, in: [Int!] } enum Kind { A B } scalar BigInt
    scalar Decimal interface Any { id: Int! } type Item implements Any { id: Int! name: String kind: Kind big: BigInt sum: Decimal }";

fn selected(schema: &Schema, query: &str) -> (Selection, Variables) {
    let operation = Operation::parse(schema, query, None, &Limits::default()).unwrap();
    let (variables, _) = operation.coerce(schema, Map::new()).unwrap();
    (operation.select(schema, &variables).unwrap(), variables)
}

fn changed(arguments: Json, expected: &Expect) {
    let schema = from_sdl(SDL);
    let (mut selection, mut variables) = selected(&schema, "{ items(limit: 1, of: 1) { id } }");
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    let text = match selection.fields[0].with_arguments(&schema, arguments, &mut variables) {
        Ok(field) => {
            selection.fields = vec![field];
            format!("{selection}{}\n", serde_json::to_string(variables.values()).unwrap())
        }
        Err(errors) => lines(&errors),
    };
    expected.assert_eq(&text);
}

#[test]
fn arguments_become_places_in_the_variables() {
    changed(
        json!({
            "where": {"or": [{"id": {"eq": 1}}, {"id": {"in": [2, 3]}}]}, "kinds": "A", "exact": true, "of": "9007199254740993"
        }),
        &expect![[r#"
            query
              Query.items(where: {or: [{id: {eq: $0.or[0].id.eq}}, {id: {in: $0.or[1].id.in}}]}, limit: 5, kinds: [A], exact: true, of: $3) [Item!]! @1:3
                Item.id Int! @1:28
            [{"or":[{"id":{"eq":1}},{"id":{"in":[2,3]}}]},["A"],true,9007199254740993]
        "#]],
    );
    changed(
        json!({"of": 1}),
        &expect![[r#"
        query
          Query.items(limit: 5, of: $0) [Item!]! @1:3
            Item.id Int! @1:28
        [1]
    "#]],
    );
    changed(
        json!({"where": {"id": {"eq": "x"}, "no": 1}, "limit": null, "wher": 1}),
        &expect![[r#"
        BAD_USER_INPUT 1:3: argument "where": field "id.eq": expected an Int (-2147483648 to 2147483647), found the string "x"
        BAD_USER_INPUT 1:3: argument "where": type Where has no field "no"
        BAD_USER_INPUT: argument "of": expected a value of type BigInt!, found none
        BAD_USER_INPUT: Query.items has no argument "wher"
    "#]],
    );
}

fn completed(query: &str, value: Json, expected: &Expect) {
    let schema = from_sdl(SDL);
    let field: Field = selected(&schema, query).0.fields.remove(0);
    let text = complete(&schema, &field, value).map(|bytes| String::from_utf8(bytes).unwrap());
    expected.assert_eq(&text.unwrap_or_else(|fault| fault));
}

#[test]
fn values_are_written_in_the_order_of_the_selection() {
    let query = "{ items(of: 1) { sum big kind n: name __typename id } }";
    let item = json!({"id": 1, "n": "a\"b", "kind": "B", "big": "9007199254740993", "sum": 1.5, "__typename": "Item"});
    completed(
        query,
        json!([item]),
        &expect![[
            r#"[{"sum":"1.5","big":9007199254740993,"kind":"B","n":"a\"b","__typename":"Item","id":1}]"#
        ]],
    );
    completed("{ any { id ... on Item { name } } }", json!({"id": 1}), &expect![[r#"{"id":1}"#]]);
}

#[test]
fn values_that_do_not_fit_are_refused_with_what_was_expected() {
    let check = |value: Json, expected: &Expect| completed("{ items(of: 1) { id kind } }", value, expected);
    check(json!(null), &expect!["expected a value of type [Item!]!, found null"]);
    check(json!({"id": 1}), &expect!["expected a list of type [Item!]!, found an object"]);
    check(
        json!([{"id": 1, "kind": null}, null]),
        &expect!["[1]: expected a value of type Item!, found null"],
    );
    check(
        json!([{"id": "x", "kind": null}]),
        &expect![[r#"[0].id: expected an Int (-2147483648 to 2147483647), found the string "x""#]],
    );
    check(
        json!([{"id": 1, "kind": "C"}]),
        &expect![[r#"[0].kind: expected a value of the enum Kind, found the string "C""#]],
    );
    check(json!([{"kind": "A"}]), &expect!["[0]: expected Item.id, found an object without it"]);
    check(
        json!([{"id": 1, "kind": "A", "name": "n"}]),
        &expect![[r#"[0]: expected members of Item that were selected (id, kind), found "name""#]],
    );
}
