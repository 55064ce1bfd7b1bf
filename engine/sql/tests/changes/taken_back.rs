//! What is told of each mutation of a request that is taken back.

use expect_test::{Expect, expect};
use serde_json::Value as Json;

use crate::harness::{Bed, Made, on_a_core};

const TABLES: &str = "
    create table shelf (id integer primary key, label varchar(20) not null unique);
    create table item (id integer primary key,
                       shelf_id integer references shelf (id) deferrable initially deferred);
    insert into shelf values (1, 'a');";

/// Errors of a response, each on a line. Databases say in words of their own why the one failed.
fn errors(response: &str) -> String {
    let response: Json = serde_json::from_str(response).unwrap();
    let line = |error: &Json| {
        let message = error["message"].as_str().unwrap();
        let told = if message.starts_with("nothing was changed: `") { message } else { "why it failed" };
        let code = error["extensions"]["code"].as_str().unwrap();
        format!("{} {code} {told}\n", error["path"])
    };
    let lines: String = response["errors"].as_array().unwrap().iter().map(line).collect();
    format!("{}\n{lines}", response["data"])
}

/// Both databases tell the same, and have changed nothing.
fn check(request: &str, expected: &Expect) {
    let told = Made::both(TABLES).map(|made| {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let told = errors(&bed.ask(request).await);
            assert_eq!(bed.ask("{ shelves { id } items { id } }").await, UNCHANGED, "{request}");
            told
        })
    });
    assert_eq!(told[0], told[1], "SQLite and PostgreSQL differ");
    expected.assert_eq(&told[0]);
}

const UNCHANGED: &str = r#"{"data":{"shelves":[{"id":1}],"items":[]}}"#;

#[test]
fn each_mutation_that_is_taken_back_says_which_one_failed() {
    check(
        r#"mutation { a: createShelf(id: 2, label: "b") { id }
                      b: createShelf(id: 3, label: "a") { id }
                      c: createItem(id: 1) { id } }"#,
        &expect![[r#"
            {"a":null,"b":null,"c":null}
            ["a"] CONSTRAINT_VIOLATION nothing was changed: `b` failed, and a request's mutations of one source are all done or none
            ["b"] CONSTRAINT_VIOLATION why it failed
            ["c"] CONSTRAINT_VIOLATION nothing was changed: `b` failed, and a request's mutations of one source are all done or none
        "#]],
    );
}

#[test]
fn a_commit_that_fails_belongs_to_no_mutation_and_is_told_of_each() {
    check(
        r#"mutation { a: createShelf(id: 2, label: "b") { id } b: createItem(id: 1, shelf_id: 99) { id } }"#,
        &expect![[r#"
            {"a":null,"b":null}
            ["a"] CONSTRAINT_VIOLATION why it failed
            ["b"] CONSTRAINT_VIOLATION why it failed
        "#]],
    );
}
