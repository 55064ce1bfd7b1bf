//! Mutations: answers, transactions, constraints.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use futures_util::future::join_all;
use prony_graphql::response::FieldResult;

use crate::tests::harness::{MEETUPS, Made, Served, runtime};
use prony_sql::settings::RelationalSettings;

fn check(mutation: &str, query: &str, expected: &Expect) {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    let text = format!("{}\n{}\n", served.answer(mutation, "{}"), served.answer(query, "{}"));
    expected.assert_eq(&text);
}

#[test]
fn create_answers_the_key() {
    check(
        r#"mutation { createVenue(name: "New", postal_code: null) { id __typename }
                      createMeetupsMember(meetup_id: 4, member_id: 2) { meetup_id member: member_id } }"#,
        "{ venues(where: {id: {gt: 3}}) { id name postal_code } meetups_members(where: {meetup_id: {eq: 4}}) { member_id } }",
        &expect![[r#"
            {"data":{"createVenue":{"id":4,"__typename":"VenuePks"},"createMeetupsMember":{"meetup_id":4,"member":2}}}
            {"data":{"venues":[{"id":4,"name":"New","postal_code":null}],"meetups_members":[{"member_id":2}]}}
        "#]],
    );
}

#[test]
fn update_and_delete_say_whether_there_was_a_row() {
    check(
        r#"mutation { a: updateVenue(pk_columns: {id: 1}, name: "Hall 2") { result __typename }
                      b: updateVenue(pk_columns: {id: 99}, name: "x") { result }
                      c: deleteVenue(pk_columns: {id: 3}) { done: result }
                      d: deleteVenue(pk_columns: {id: 3}) { result }
                      e: deleteMeetupsMember(pk_columns: {meetup_id: 1, member_id: 2}) { result }
                      f: updateVenue(pk_columns: {id: 2}) { result } }"#,
        "{ venues { id name } meetups_members(where: {meetup_id: {eq: 1}}) { member_id } }",
        &expect![[r#"
            {"data":{"a":{"result":true,"__typename":"Result"},"b":{"result":false},"c":{"done":true},"d":{"result":false},"e":{"result":true},"f":{"result":true}}}
            {"data":{"venues":[{"id":1,"name":"Hall 2"},{"id":2,"name":"Loft"}],"meetups_members":[{"member_id":1}]}}
        "#]],
    );
}

/// SQLite has no constraint for it, and speaks of types.
#[test]
fn a_key_that_numbers_the_rows_is_not_set_to_null() {
    check(
        "mutation { updateVenue(pk_columns: {id: 3}, id: null) { result } }",
        "{ venues(where: {id: {eq: 3}}) { id } }",
        &expect![[r#"
            {"data":{"updateVenue":null},"errors":[{"message":"a primary key that is the number of the row must be a whole number (not null)","locations":[{"line":1,"column":12}],"path":["updateVenue"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"venues":[{"id":3}]}}
        "#]],
    );
}

#[test]
fn a_failed_mutation_takes_the_others_of_its_request_back() {
    check(
        r#"mutation { a: createVenue(name: "New") { id } b: createMember(email: "ada@x") { id }
                      c: deleteVenue(pk_columns: {id: 3}) { result } }"#,
        "{ venues_aggregate { count } }",
        &expect![[r#"
            {"data":{"a":null,"b":null,"c":null},"errors":[{"message":"nothing was changed: `b` failed, and a request's mutations of one source are all done or none","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"CONSTRAINT_VIOLATION"}},{"message":"another row has the same value in `members.email`","locations":[{"line":1,"column":47}],"path":["b"],"extensions":{"code":"CONSTRAINT_VIOLATION"}},{"message":"nothing was changed: `b` failed, and a request's mutations of one source are all done or none","locations":[{"line":2,"column":23}],"path":["c"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"venues_aggregate":{"count":3}}}
        "#]],
    );
}

#[test]
fn constraints_are_named_without_the_databases_text() {
    let made = Made::new(
        "CREATE TABLE owners (id INTEGER PRIMARY KEY, code TEXT UNIQUE, age INTEGER CHECK (age > 0), name TEXT NOT NULL);
         CREATE TABLE pets (owner_id INTEGER NOT NULL REFERENCES owners (id), n INTEGER NOT NULL, PRIMARY KEY (owner_id, n));
         CREATE TRIGGER no_bob BEFORE INSERT ON owners WHEN new.name = 'bob' BEGIN SELECT RAISE(ABORT, 'secret'); END;
         INSERT INTO owners VALUES (1, 'a', 5, 'x'); INSERT INTO pets VALUES (1, 1);",
    );
    let served = made.serve(&RelationalSettings::default());
    let mut table = String::new();
    for mutation in [
        r#"createOwner(name: "y", code: "a")"#,
        r#"createOwner(name: "y", id: 1)"#,
        r#"createOwner(name: "y", age: 0)"#,
        r#"createOwner(name: "bob")"#,
        "createPet(owner_id: 1, n: 1)",
        "createPet(owner_id: 7, n: 1)",
    ] {
        let answer = served.answer(&format!("mutation {{ m: {mutation} {{ __typename }} }}"), "{}");
        writeln!(table, "{mutation}: {answer}").unwrap();
    }
    let answer = served.answer("mutation { deleteOwner(pk_columns: {id: 1}) { result } }", "{}");
    table.push_str(&answer);
    expect![[r#"
        createOwner(name: "y", code: "a"): {"data":{"m":null},"errors":[{"message":"another row has the same value in `owners.code`","locations":[{"line":1,"column":12}],"path":["m"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
        createOwner(name: "y", id: 1): {"data":{"m":null},"errors":[{"message":"another row has the same primary key (`owners.id`)","locations":[{"line":1,"column":12}],"path":["m"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
        createOwner(name: "y", age: 0): {"data":{"m":null},"errors":[{"message":"a check constraint refuses the values","locations":[{"line":1,"column":12}],"path":["m"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
        createOwner(name: "bob"): {"data":{"m":null},"errors":[{"message":"a trigger of the database refuses the change","locations":[{"line":1,"column":12}],"path":["m"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
        createPet(owner_id: 1, n: 1): {"data":{"m":null},"errors":[{"message":"another row has the same primary key (`pets.owner_id`, `pets.n`)","locations":[{"line":1,"column":12}],"path":["m"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
        createPet(owner_id: 7, n: 1): {"data":{"m":null},"errors":[{"message":"a foreign key does not fit: the row it refers to is missing, or other rows refer to this one","locations":[{"line":1,"column":12}],"path":["m"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
        {"data":{"deleteOwner":null},"errors":[{"message":"a foreign key does not fit: the row it refers to is missing, or other rows refer to this one","locations":[{"line":1,"column":12}],"path":["deleteOwner"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}"#]].assert_eq(&table);
}

#[test]
fn values_are_bound_with_their_types() {
    let made = Made::new(
        "CREATE TABLE kinds (id INTEGER PRIMARY KEY, i INTEGER, big BIGINT, f REAL, b BOOLEAN, t TEXT, j JSON, x BLOB, d DECIMAL(10, 2));",
    );
    let served = made.serve(&RelationalSettings::default());
    let create = served.answer(
        r#"mutation ($big: BigInt, $j: JSON) { createKind(i: -1, big: $big, f: 3, b: true, t: "'; --\u0001", j: $j, x: "AP8=", d: 1.5) { id } }"#,
        r#"{"big": "9007199254740993", "j": {"a": "b'"}}"#,
    );
    let read = served.answer("{ kinds { i big f b t j x d } }", "{}");
    let stored: String = made
        .connection()
        .query_row(
            "SELECT typeof(i)||typeof(big)||typeof(f)||typeof(b)||typeof(t)||typeof(j)||typeof(x)||typeof(d) FROM kinds",
            [],
            |row| row.get(0),
        )
        .unwrap();
    expect![[r#"
        {"data":{"createKind":{"id":1}}}
        {"data":{"kinds":[{"i":-1,"big":9007199254740993,"f":3,"b":true,"t":"'; --\u0001","j":{"a":"b'"},"x":"AP8=","d":1.5}]}}
        integerintegerrealintegertexttextblobreal"#]].assert_eq(&format!("{create}\n{read}\n{stored}"));
}

#[test]
fn a_query_sees_what_was_written_before_it() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    runtime().block_on(async {
        let session = served.session();
        let (_, count, variables) = served.plan("{ venues_aggregate { count } }", "{}");
        for round in 0..20 {
            let before = session.query(&count[0], &variables).await;
            assert_eq!(before.data, Some(format!("{{\"count\":{}}}", 3 + round).into_bytes()));
            let (_, create, values) = served.plan(r#"mutation { createVenue(name: "n") { id } }"#, "{}");
            let done = served.mutate(&create, &values).await;
            assert_eq!(done[0].errors, []);
        }
    });
}

/// Requests that share a commit must not share their fate.
#[test]
fn concurrent_requests_stand_alone() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    let results = runtime().block_on(async {
        let requests = (0..100).map(|number| {
            let good = r#"a: createVenue(name: "n") { id }"#;
            let bad = r#"b: createMember(email: "ada@x") { id }"#;
            let both = if number % 3 == 0 { format!("{good} {bad}") } else { good.to_owned() };
            mutate(&served, format!("mutation {{ {both} }}"))
        });
        join_all(requests).await
    });
    let done = results.iter().filter(|fields| fields.iter().all(|field| field.errors.is_empty())).count();
    assert_eq!(done, 66);
    assert_eq!(
        served.answer("{ venues_aggregate { count } }", "{}"),
        r#"{"data":{"venues_aggregate":{"count":69}}}"#
    );
}

/// A deferred foreign key fails at COMMIT, which a batch shares.
#[test]
fn a_commit_that_fails_fails_its_request_only() {
    let made = Made::new(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);",
    );
    let served = made.serve(&RelationalSettings::default());
    let results = runtime().block_on(async {
        let requests = (1..=30).map(|number| {
            let parent = if number % 10 == 0 { 999 } else { number };
            mutate(&served, format!("mutation {{ createA(id: {number}, a_id: {parent}) {{ id }} }}"))
        });
        join_all(requests).await
    });
    let failed: Vec<_> = results.iter().flatten().filter(|field| field.data.is_none()).collect();
    assert_eq!(failed.len(), 3);
    assert!(failed[0].errors[0].message.contains("foreign key"), "{:?}", failed[0]);
}

async fn mutate(served: &Served, text: String) -> Vec<FieldResult> {
    let (_, prepared, variables) = served.plan(&text, "{}");
    served.mutate(&prepared, &variables).await
}
