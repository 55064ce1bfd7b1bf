//! Restricted plans: what cannot be seen is absent on every way to it, and what may not be written is not.

use expect_test::{Expect, expect};
use prony_source::permissions::{
    Columns, DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames,
    TablePermissions, UpdatePermission,
};
use prony_sql::settings::{RelationalSettings, ResolverModel, TableSettings};
use serde_json::{Value as Json, json};

use crate::tests::harness::{MEETUPS, MODELS, Made, Served, with_model};

/// What the session knows, in the order in which [`granted`] names it.
fn session() -> [Json; 2] {
    [json!("10115"), json!("bob@x")]
}

/// All rows may be written, and those seen that pass.
fn read(names: &mut SessionNames, condition: &Json) -> TablePermissions {
    TablePermissions {
        select: Some(SelectPermission::of_rows(names.condition(condition).unwrap())),
        insert: Some(InsertPermission::checked(names_nothing())),
        update: Some(UpdatePermission::of_rows(names_nothing(), names_nothing())),
        delete: Some(DeletePermission { rows: names_nothing() }),
    }
}

fn names_nothing() -> prony_graphql::selection::Value {
    SessionNames::default().condition(&json!({})).unwrap()
}

/// Venues of the session's postal code and their meetups; all members but the one with the session's address; attendance
/// is not restricted. `change` gives a table other permissions.
fn granted(change: impl FnOnce(&mut SessionNames, &mut Permissions)) -> Permissions {
    let mut names = SessionNames::default();
    let mut permissions = Permissions::default();
    for (table, condition) in [
        ("venues", json!({"postal_code": {"eq": "$postal_code"}})),
        ("meetups", json!({"venue": {"postal_code": {"eq": "$postal_code"}}})),
        ("members", json!({"not": {"email": {"eq": "$address"}}})),
        ("meetups_members", json!({})),
        ("busy", json!({"meetup_id": {"gt": 1}})),
    ] {
        permissions.tables.insert(table.to_owned(), read(&mut names, &condition).into());
    }
    change(&mut names, &mut permissions);
    assert_eq!(names.names().collect::<Vec<_>>(), ["postal_code", "address"]);
    permissions
}

fn serve(made: &Made, model: ResolverModel) -> Served {
    made.serve(&with_model(model)).restricted(&granted(|_, _| ()), &session())
}

/// The answer of all models.
fn check(query: &str, expected: &Expect) {
    let made = Made::new(MEETUPS);
    let answers = MODELS.map(|model| serve(&made, model).answer(query, "{}"));
    assert_eq!(answers[0], answers[1], "subquery and per-nest differ for {query}");
    assert_eq!(answers[0], answers[2], "subquery and bucket differ for {query}");
    expected.assert_eq(&answers[0]);
}

#[test]
fn lists_and_relations_to_one_row_show_what_may_be_seen() {
    check(
        "{ venues { id meetups { id } } members { id recruiter { id email } recruits: members { id } } }",
        &expect![[
            r#"{"data":{"venues":[{"id":1,"meetups":[{"id":1},{"id":2},{"id":5}]}],"members":[{"id":1,"recruiter":null,"recruits":[{"id":3}]},{"id":3,"recruiter":{"id":1,"email":"ada@x"},"recruits":[]},{"id":4,"recruiter":null,"recruits":[]}]}}"#
        ]],
    );
}

#[test]
fn views_and_rows_between_tables_are_restricted() {
    check(
        "{ meetups_members { meetup_id meetup { title venue { id } } member { id } } busies { meetup_id attendance } }",
        &expect![[
            r#"{"data":{"meetups_members":[{"meetup_id":1,"meetup":{"title":"Rust","venue":{"id":1}},"member":{"id":1}},{"meetup_id":1,"meetup":{"title":"Rust","venue":{"id":1}},"member":null},{"meetup_id":2,"meetup":{"title":"SQL","venue":{"id":1}},"member":{"id":1}},{"meetup_id":3,"meetup":null,"member":{"id":3}},{"meetup_id":5,"meetup":{"title":"Zig","venue":{"id":1}},"member":{"id":1}},{"meetup_id":5,"meetup":{"title":"Zig","venue":{"id":1}},"member":{"id":4}}],"busies":[{"meetup_id":2,"attendance":"1"},{"meetup_id":3,"attendance":"1"},{"meetup_id":5,"attendance":"2"}]}}"#
        ]],
    );
}

/// A statement joins some relations only; those behind them have statements of their own.
#[test]
fn a_relation_too_deep_to_be_joined_is_restricted() {
    let made = Made::new(MEETUPS);
    for id in 101..=120 {
        let address = if id == 107 { "bob@x".to_owned() } else { format!("m{id}@x") };
        let row = format!("({id}, '{address}', 0, 1, {})", id - 1);
        let sql = "PRAGMA foreign_keys = OFF; DELETE FROM members WHERE id = 2; INSERT INTO members VALUES";
        made.connection().execute_batch(&format!("{sql} {row}")).unwrap();
    }
    let nested = (0..13).fold("id".to_owned(), |inner, _| format!("id recruiter {{ {inner} }}"));
    let query = format!("{{ members(where: {{id: {{eq: 120}}}}) {{ {nested} }} }}");
    for model in MODELS {
        let answer = serve(&made, model).answer(&query, "{}");
        assert!(answer.contains(r#""id":108,"recruiter":null"#), "{model:?}: {answer}");
    }
}

#[test]
fn aggregates_count_what_may_be_seen() {
    check(
        "{ venues_aggregate { count max { id } } meetups_aggregate { count }
           venues { meetups_aggregate { count } } members { members_aggregate { count } } }",
        &expect![[
            r#"{"data":{"venues_aggregate":{"count":1,"max":{"id":1}},"meetups_aggregate":{"count":3},"venues":[{"meetups_aggregate":{"count":3}}],"members":[{"members_aggregate":{"count":1}},{"members_aggregate":{"count":0}},{"members_aggregate":{"count":0}}]}}"#
        ]],
    );
}

#[test]
fn filters_through_relations_find_nothing_that_is_hidden() {
    check(
        r#"{ guessed: members(where: {recruiter: {email: {like: "bob%"}}}) { id }
             negated: members(where: {not: {recruiter: {email: {like: "bob%"}}}}) { id }
             deep: meetups_members(where: {or: [{member: {recruiter: {id: {eq: 2}}}}, {meetup: {venue: {id: {eq: 2}}}}]}) { meetup_id } }"#,
        &expect![[r#"{"data":{"guessed":[],"negated":[{"id":1},{"id":3},{"id":4}],"deep":[]}}"#]],
    );
}

#[test]
fn a_session_without_the_variable_sees_nothing() {
    let made = Made::new(MEETUPS);
    for model in MODELS {
        let served = made.serve(&with_model(model)).restricted(&granted(|_, _| ()), &[]);
        let answer = served.answer("{ venues { id } members { id } meetups_aggregate { count } }", "{}");
        assert_eq!(answer, r#"{"data":{"venues":[],"members":[],"meetups_aggregate":{"count":0}}}"#);
    }
}

#[test]
fn a_table_without_restrictions_of_its_own_is_closed() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    let served = served.restricted(&Permissions::default(), &[]);
    let text = r#"mutation { createVenue(name: "x") { id } }"#;
    assert_eq!(served.answer("{ venues { id } }", "{}"), r#"{"data":{"venues":[]}}"#);
    assert!(served.answer(text, "{}").contains("FORBIDDEN"));
    let text = "mutation { a: updateVenue(pk_columns: {id: 1}, name: \"x\") { result }
                           b: deleteVenue(pk_columns: {id: 3}) { result } }";
    assert_eq!(served.answer(text, "{}"), r#"{"data":{"a":{"result":false},"b":{"result":false}}}"#);
}

/// Mutations that are restricted, and what the table holds then.
fn check_mutations(
    change: impl FnOnce(&mut SessionNames, &mut Permissions),
    steps: &[&str],
    expected: &Expect,
) {
    let made = Made::new(MEETUPS);
    made.connection()
        .execute_batch(
            "CREATE TRIGGER raise_score AFTER UPDATE OF score ON members WHEN new.score = 7
             BEGIN UPDATE members SET score = 1000 WHERE id = new.id; END;",
        )
        .unwrap();
    let served = made.serve(&RelationalSettings::default()).restricted(&granted(change), &session());
    let mut told = String::new();
    for step in steps {
        told.push_str(&served.answer(step, "{}"));
        told.push('\n');
    }
    expected.assert_eq(&told);
}

/// All rows may be seen and changed, as long as what is written passes.
fn checked(names: &mut SessionNames, check: &Json) -> TablePermissions {
    let check = names.condition(check).unwrap();
    TablePermissions {
        insert: Some(InsertPermission::checked(check.clone())),
        update: Some(UpdatePermission::of_rows(names_nothing(), check)),
        ..read(names, &json!({}))
    }
}

#[test]
fn updates_and_deletes_reach_rows_that_pass() {
    check_mutations(
        |names, permissions| {
            let rows = names.condition(&json!({"venue": {"postal_code": {"eq": "$postal_code"}}})).unwrap();
            permissions.tables.insert(
                "meetups".to_owned(),
                TablePermissions {
                    select: Some(SelectPermission::of_rows(names_nothing())),
                    insert: Some(InsertPermission::checked(names_nothing())),
                    update: Some(UpdatePermission::of_rows(rows.clone(), names_nothing())),
                    delete: Some(DeletePermission { rows }),
                }
                .into(),
            );
        },
        &[
            r#"mutation { a: updateMeetup(pk_columns: {id: 2}, title: "Postgres") { result }
                          b: updateMeetup(pk_columns: {id: 3}, title: "Never") { result }
                          c: deleteMeetup(pk_columns: {id: 4}) { result }
                          d: updateMeetup(pk_columns: {id: 3}) { result }
                          new: createMeetup(id: 6, title: "New", venue_id: 1) { id }
                          e: deleteMeetup(pk_columns: {id: 6}) { result } }"#,
            "{ meetups { id title } }",
        ],
        &expect![[r#"
            {"data":{"a":{"result":true},"b":{"result":false},"c":{"result":false},"d":{"result":false},"new":{"id":6},"e":{"result":true}}}
            {"data":{"meetups":[{"id":1,"title":"Rust"},{"id":2,"title":"Postgres"},{"id":3,"title":"Go"},{"id":4,"title":"Lost"},{"id":5,"title":"Zig"}]}}
        "#]],
    );
}

#[test]
fn a_row_that_does_not_pass_its_check_takes_its_request_back() {
    check_mutations(
        |names, permissions| {
            let check = json!({"or": [{"postal_code": {"eq": "$postal_code"}}, {"name": {"eq": "Moved"}}]});
            permissions.tables.insert("venues".to_owned(), checked(names, &check).into());
        },
        &[
            r#"mutation { a: createVenue(name: "Kept", postal_code: "10115") { id } }"#,
            r#"mutation { a: createVenue(name: "Gone", postal_code: "10115") { id }
                          b: createVenue(name: "Other", postal_code: "20095") { id } }"#,
            r#"mutation { a: updateVenue(pk_columns: {id: 1}, postal_code: "1") { result } }"#,
            r#"mutation { a: updateVenue(pk_columns: {id: 99}, postal_code: "1") { result } }"#,
            r#"mutation { a: updateVenue(pk_columns: {id: 3}, id: 77, postal_code: null, name: "Moved") { result } }"#,
            r#"mutation { a: updateVenue(pk_columns: {id: 77}, id: 78, name: "Back") { result } }"#,
            "{ venues { id name postal_code } }",
        ],
        &expect![[r#"
            {"data":{"a":{"id":4}}}
            {"data":{"a":null,"b":null},"errors":[{"message":"nothing was changed: `b` failed, and a request's mutations of one source are all done or none","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}},{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":2,"column":27}],"path":["b"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"a":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"a":{"result":false}}}
            {"data":{"a":{"result":true}}}
            {"data":{"a":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"venues":[{"id":1,"name":"Hall","postal_code":"10115"},{"id":2,"name":"Loft","postal_code":null},{"id":4,"name":"Kept","postal_code":"10115"},{"id":77,"name":"Moved","postal_code":null}]}}
        "#]],
    );
}

/// A check sees the row itself through relations, and what triggers have made of it.
#[test]
fn a_check_looks_at_what_was_written() {
    check_mutations(
        |names, permissions| {
            let score = json!({"or": [{"score": {"lt": 100}}, {"score": {"is_null": true}}]});
            let check = json!({"and": [{"recruiter": {"id": {"gt": 0}}}, score]});
            permissions.tables.insert("members".to_owned(), checked(names, &check).into());
        },
        &[
            r#"mutation { createMember(id: 50, email: "own", recruiter_id: 50) { id } }"#,
            r#"mutation { createMember(id: 51, email: "nobody's") { id } }"#,
            "mutation { updateMember(pk_columns: {id: 50}, score: 7) { result } }",
            "mutation { updateMember(pk_columns: {id: 50}, score: 8) { result } }",
            "{ members(where: {id: {gte: 50}}) { id email score } }",
        ],
        &expect![[r#"
            {"data":{"createMember":{"id":50}}}
            {"data":{"createMember":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["createMember"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"updateMember":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["updateMember"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"updateMember":{"result":true}}}
            {"data":{"members":[{"id":50,"email":"own","score":8}]}}
        "#]],
    );
}

/// A row of a table without a primary key cannot be found again.
#[test]
fn a_table_without_a_key_takes_no_checked_rows() {
    let made = Made::new("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('old');");
    let mut permissions = Permissions::default();
    let notes = checked(&mut SessionNames::default(), &json!({"text": {"eq": "old"}}));
    permissions.tables.insert("notes".to_owned(), notes.into());
    let served = made.serve(&RelationalSettings::default()).restricted(&permissions, &[]);
    assert!(served.answer(r#"mutation { createNote(text: "old") { text } }"#, "{}").contains("FORBIDDEN"));
    assert_eq!(served.answer("{ notes { text } }", "{}"), r#"{"data":{"notes":[{"text":"old"}]}}"#);
}

#[test]
fn permissions_that_do_not_fit_are_all_named() {
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    let mut names = SessionNames::default();
    let mut permissions = Permissions::default();
    permissions.tables.insert("venue".to_owned(), read(&mut names, &json!({})).into());
    permissions.tables.insert("members".to_owned(), read(&mut names, &json!({"emial": {"eq": "x"}})).into());
    permissions
        .tables
        .insert("meetups".to_owned(), read(&mut names, &json!({"venue": {"id": {"is": 1}}})).into());
    let faults = served.refused(&permissions);
    expect![[r#"
        `meetups`: `rows` of `select`: `id` has no operator `is`; did you mean `is_null`?
        `members`: `rows` of `select`: `members` has no field `emial`; did you mean `email`?
        `venue`: no such table is served; did you mean `venues`?"#]]
    .assert_eq(&faults);
}

/// Members of the first venue's city see themselves: others have addresses, keys and friends that are not theirs to know.
fn hides_rows_and_columns(names: &mut SessionNames, permissions: &mut Permissions) {
    let own = names.condition(&json!({"not": {"email": {"eq": "$address"}}})).unwrap();
    let check = names.condition(&json!({"score": {"lt": 10}})).unwrap();
    let mut select = SelectPermission::of_rows(own);
    select.columns = Columns::Only(["id", "score", "active"].map(str::to_owned).into());
    let insert = InsertPermission::checked(check.clone());
    let update = UpdatePermission::of_rows(names_nothing(), check);
    let members = TablePermissions {
        select: Some(select),
        insert: Some(insert),
        update: Some(update),
        ..TablePermissions::default()
    };
    permissions.tables.insert("members".to_owned(), members.into());
}

/// What stands in the way is named where it can be seen; all else is as a row that does not pass its check.
#[test]
fn constraints_tell_nothing_of_what_is_hidden() {
    const STEPS: [(&str, &str); 11] = [
        // Bob is hidden, and ada is not.
        (r#"createMember(id: 2, email: "new@x", score: 1) { id }"#, "FORBIDDEN"),
        (r#"createMember(id: 1, email: "new@x", score: 1) { id }"#, "same primary key (`members.id`)"),
        (r#"createMember(id: 1, email: "bob@x", score: 99) { id }"#, "same primary key (`members.id`)"),
        // Addresses cannot be read.
        (r#"createMember(id: 9, email: "ada@x", score: 1) { id }"#, "FORBIDDEN"),
        (r#"createMember(id: 9, email: "ada@x", score: 99) { id }"#, "FORBIDDEN"),
        (r#"createMember(id: 9, email: "new@x", score: 99) { id }"#, "FORBIDDEN"),
        (r#"updateMember(pk_columns: {id: 3}, email: "bob@x") { result }"#, "FORBIDDEN"),
        (r#"updateMember(pk_columns: {id: 3}, id: 2) { result }"#, "FORBIDDEN"),
        (r#"updateMember(pk_columns: {id: 3}, id: 1) { result }"#, "same primary key (`members.id`)"),
        // A row that is not there, and one that is hidden, which could be referred to.
        (r#"createMember(email: "new@x", score: 99, recruiter_id: 77) { id }"#, "FORBIDDEN"),
        (r#"createMember(email: "new@x", score: 99, recruiter_id: 2) { id }"#, "FORBIDDEN"),
    ];
    let made = Made::new(MEETUPS);
    let served = made.serve(&RelationalSettings::default());
    let served = served.restricted(&granted(hides_rows_and_columns), &session());
    let refused = served.answer(&format!("mutation {{ m: {} }}", STEPS[5].0), "{}");
    for (step, expected) in STEPS {
        let answer = served.answer(&format!("mutation {{ m: {step} }}"), "{}");
        assert!(answer.contains(expected), "{step}: {answer}");
        // Not by a word are they told from each other.
        assert!(
            expected != "FORBIDDEN" || answer.replace("updateM", "createM") == refused,
            "{step}: {answer}"
        );
    }
}

/// Of a key of several columns, an update leaves some as they are; a row does not stand in its own way.
#[test]
fn an_update_is_told_of_the_row_in_its_way_that_can_be_seen() {
    let made = Made::new(&format!(
        "{MEETUPS} CREATE TABLE seats (id INTEGER PRIMARY KEY, hall TEXT, place INTEGER, guest TEXT, UNIQUE (hall, place));
         CREATE UNIQUE INDEX seats_guest ON seats (lower(guest));
         CREATE UNIQUE INDEX seats_first ON seats (guest) WHERE place = 1;
         INSERT INTO seats VALUES (1, 'a', 1, 'x'), (2, 'a', 2, 'y'), (3, 'a', 3, 'z'), (4, 'b', 2, 'w');"
    ));
    let rights = granted(|names, permissions| {
        let rows = names.condition(&json!({"id": {"ne": 3}})).unwrap();
        permissions.tables.insert("seats".to_owned(), {
            let all = read(names, &json!({}));
            TablePermissions { select: Some(SelectPermission::of_rows(rows)), ..all }.into()
        });
    });
    let served = made.serve(&RelationalSettings::default()).restricted(&rights, &session());
    for (change, expected) in [
        ("place: 2", "same value in `seats.hall`, `seats.place`"),
        ("place: 3", "FORBIDDEN"),
        ("place: 1, hall: \"a\"", "true"),
        ("hall: \"b\", place: 2", "same value in `seats.hall`, `seats.place`"),
        // By an expression nobody can be found.
        ("guest: \"Y\"", "FORBIDDEN"),
        ("guest: \"Z\"", "FORBIDDEN"),
        ("hall: null, place: 2", "true"),
    ] {
        let answer = served.answer(
            &format!("mutation {{ updateSeat(pk_columns: {{id: 1}}, {change}) {{ result }} }}"),
            "{}",
        );
        assert!(answer.contains(expected), "{change}: {answer}");
    }
}

/// A row that passes let others through that have its key, as the settings name it.
#[test]
fn all_rows_that_are_written_must_pass() {
    let made = Made::new(
        "CREATE TABLE notes (number INTEGER, owner TEXT, text TEXT);
         INSERT INTO notes VALUES (1, 'ann', 'a'), (1, 'bob', 'b'), (2, 'ann', 'c'), (2, 'ann', 'd');",
    );
    let table = TableSettings { primary_key: vec!["number".to_owned()], ..TableSettings::default() };
    let settings = RelationalSettings {
        tables: [("notes".to_owned(), table)].into(),
        ..with_model(ResolverModel::Subquery)
    };
    let own = SessionNames::default().condition(&json!({"owner": {"eq": "ann"}})).unwrap();
    let notes = TablePermissions {
        select: Some(SelectPermission::of_rows(names_nothing())),
        insert: Some(InsertPermission::checked(own.clone())),
        update: Some(UpdatePermission::of_rows(names_nothing(), own)),
        ..TablePermissions::default()
    };
    let mut permissions = Permissions::default();
    permissions.tables.insert("notes".to_owned(), notes.into());
    let served = made.serve(&settings).restricted(&permissions, &[]);
    for (change, expected) in [
        (r#"updateNote(pk_columns: {number: 1}, text: "x") { result }"#, "FORBIDDEN"),
        (r#"updateNote(pk_columns: {number: 2}, text: "x") { result }"#, "true"),
        (r#"createNote(number: 2, owner: "bob") { number }"#, "FORBIDDEN"),
        (r#"createNote(number: 2, owner: "ann") { number }"#, r#""number":2"#),
    ] {
        let answer = served.answer(&format!("mutation {{ {change} }}"), "{}");
        assert!(answer.contains(expected), "{change}: {answer}");
    }
}
