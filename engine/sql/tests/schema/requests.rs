//! Requests against the schema of a database: what clients may write.

use expect_test::{Expect, expect};
use prony_graphql::document::{Operation, limits::Limits};
use serde_json::json;

use crate::support::{model, schema, sqlite_catalog};

const DATABASE: &str = "
    CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT);
    CREATE TABLE reserved (\"and\" INTEGER PRIMARY KEY, \"or\" INT, \"not\" INT, pk_columns INT, \"limit\" INT);
    CREATE TABLE log (message TEXT NOT NULL, at TIMESTAMP);
    CREATE VIEW named AS SELECT name FROM members;";

/// The selection, or the errors.
fn check(request: &str, variables: &serde_json::Value, expected: &Expect) {
    let schema = schema(&model(&sqlite_catalog(DATABASE), ""));
    let variables = variables.as_object().cloned().unwrap_or_default();
    let outcome = Operation::parse(&schema, request, None, &Limits::default()).and_then(|operation| {
        let (variables, _) = operation.coerce(&schema, variables)?;
        operation.select(&schema, &variables)
    });
    expected.assert_eq(&match outcome {
        Ok(selection) => selection.to_string(),
        Err(errors) => errors.iter().fold(String::new(), |text, error| text + &error.message + "\n"),
    });
}

#[test]
fn sort_takes_one_input_or_a_list() {
    let nothing = json!({});
    check(
        "{ members(sort: {id: desc}) { id } }",
        &nothing,
        &expect![[r#"
        query
          Query.members(sort: [{id: desc}]) [Member!]! @1:3
            Member.id Int! @1:31
    "#]],
    );
    check(
        "{ members(sort: [{name: asc}, {id: desc}]) { id } }",
        &nothing,
        &expect![[r#"
        query
          Query.members(sort: [{name: asc}, {id: desc}]) [Member!]! @1:3
            Member.id Int! @1:46
    "#]],
    );
    check(
        "{ members(sort: {age: asc, id: desc}) { id } }",
        &nothing,
        &expect![[r#"
        query
          Query.members(sort: [{age: asc, id: desc}]) [Member!]! @1:3
            Member.id Int! @1:41
    "#]],
    );
}

#[test]
fn sort_takes_variables_of_either_type() {
    let one = json!({"s": {"id": "desc"}});
    let many = json!({"s": [{"name": "asc"}, {"id": "desc"}]});
    check(
        "query ($s: MemberSort) { members(sort: $s) { id } }",
        &one,
        &expect![[r#"
        query
          Query.members(sort: [{id: desc}]) [Member!]! @1:26
            Member.id Int! @1:46
    "#]],
    );
    check(
        "query ($s: MemberSort!) { members(sort: $s) { id } }",
        &one,
        &expect![[r#"
        query
          Query.members(sort: [{id: desc}]) [Member!]! @1:27
            Member.id Int! @1:47
    "#]],
    );
    check(
        "query ($s: MemberSort = {id: asc}) { members(sort: $s) { id } }",
        &json!({}),
        &expect![[r#"
        query
          Query.members(sort: [{id: asc}]) [Member!]! @1:38
            Member.id Int! @1:58
    "#]],
    );
    check(
        "query ($s: [MemberSort!]) { members(sort: $s) { id } }",
        &many,
        &expect![[r#"
        query
          Query.members(sort: [{name: asc}, {id: desc}]) [Member!]! @1:29
            Member.id Int! @1:49
    "#]],
    );
    check(
        "query ($s: MemberSort) { members(sort: $s) { id } }",
        &json!({"s": null}),
        &expect![[r#"
        query
          Query.members(sort: null) [Member!]! @1:26
            Member.id Int! @1:46
    "#]],
    );
    check(
        "query ($o: SortOperator) { members(sort: {id: $o}) { id } }",
        &json!({"o": "asc"}),
        &expect![[r#"
            query
              Query.members(sort: [{id: asc}]) [Member!]! @1:28
                Member.id Int! @1:54
        "#]],
    );
}

/// In brackets it is an item, as the GraphQL specification has it (section 5.8.5); it was refused.
#[test]
fn sort_takes_variables_as_items_of_a_list() {
    let one = json!({"s": {"name": "desc"}});
    check(
        "query ($s: MemberSort!) { members(sort: [$s, {id: asc}]) { id } }",
        &one,
        &expect![[r#"
        query
          Query.members(sort: [{name: desc}, {id: asc}]) [Member!]! @1:27
            Member.id Int! @1:60
    "#]],
    );
    check(
        "query ($s: MemberSort!) { ...f } fragment f on Query { members(sort: [$s]) { id } }",
        &one,
        &expect![[r#"
        query
          Query.members(sort: [{name: desc}]) [Member!]! @1:56
            Member.id Int! @1:78
    "#]],
    );
}

#[test]
fn columns_named_like_operators() {
    check(
        "mutation { createReserved(pk_columns: 1, limit: 2) { and }
                    updateReserved(pk_columns: {and: 1}, or: 2, not: 3) { result } }",
        &json!({}),
        &expect![[r#"
            mutation
              Mutation.createReserved(pk_columns: 1, limit: 2) ReservedPks @1:12
                ReservedPks.and Int! @1:54
              Mutation.updateReserved(pk_columns: {and: 1}, or: 2, not: 3) Result @2:21
                Result.result Boolean! @2:75
        "#]],
    );
    check(
        "{ reserveds(where: {and: {eq: 1}, or: {gt: 2}, limit: {lt: 3}}) { and or limit } }",
        &json!({}),
        &expect![[r#"
            query
              Query.reserveds(where: {and: {eq: 1}, or: {gt: 2}, limit: {lt: 3}}) [Reserved!]! @1:3
                Reserved.and Int! @1:67
                Reserved.or Int @1:71
                Reserved.limit Int @1:74
        "#]],
    );
}

#[test]
fn what_is_not_there() {
    check(
        "mutation { createMember(age: 1) { id } }",
        &json!({}),
        &expect![[r#"
        the required argument `Mutation.createMember(name:)` is not provided
    "#]],
    );
    check(
        "mutation { createLog(message: \"x\") { message at } }",
        &json!({}),
        &expect![[r#"
        mutation
          Mutation.createLog(message: "x") LogPks @1:12
            LogPks.message String! @1:38
            LogPks.at String @1:46
    "#]],
    );
    check(
        "mutation { deleteLog(pk_columns: {}) { result } }",
        &json!({}),
        &expect![[r#"
        type `Mutation` does not have a field `deleteLog`
    "#]],
    );
    check(
        "mutation { createNamed(name: \"x\") { name } }",
        &json!({}),
        &expect![[r#"
        type `Mutation` does not have a field `createNamed`
    "#]],
    );
    check(
        "{ members(where: {age: {like: \"x\"}}) { id } }",
        &json!({}),
        &expect![[r#"
        field `like` does not exist on `IntWhere`
    "#]],
    );
}
