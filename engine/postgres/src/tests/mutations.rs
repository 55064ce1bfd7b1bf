//! Mutations: what they answer, what they leave behind, and what refuses them.

use prony_source::NotReady;
use prony_testkit::postgres::{Cluster, TestDatabase};

use crate::tests::*;

const SHOP: &str = "
    create table shelf (id serial primary key, label text not null unique, size int check (size > 0));
    create table item (shelf_id int not null references shelf, place int, note text, primary key (shelf_id, place));
    create table deferred (id int primary key, other int references shelf deferrable initially deferred);
    create table log (line text);
    insert into shelf (label, size) values ('a', 1), ('b', 2);
    insert into item values (1, 1, 'x'), (1, 2, 'y');";

/// Each request's response, then what the query sees.
fn check(cases: &[(&str, &str)], query: &str, wanted: &[&str]) {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for (text, response) in cases {
            assert_eq!(served.ask(&session, text, none()).await, *response, "{text}");
        }
    });
    let rows: Vec<String> = database
        .query(query)
        .into_iter()
        .map(|row| row.into_iter().map(|value| value.unwrap_or("null".into())).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(rows, wanted);
}

#[test]
fn nulls_in_lists_are_written_whatever_sessions_begin_with() {
    let database = TestDatabase::create();
    database.execute("create table t (id int primary key, words text[])");
    database.execute(&format!("alter database \"{}\" set array_nulls = off", database.name()));
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        served.data(&session, "mutation { createT(id: 7, words: [\"a\", null]) { id } }", none()).await;
        let read = served.data(&session, "{ ts { words } }", none()).await;
        assert_eq!(read, json!({"ts": [{"words": ["a", null]}]}));
    });
}

#[test]
fn rows_are_created_changed_and_deleted() {
    check(
        &[
            (
                "mutation { createShelf(label: \"c'\", size: null) { id __typename } }",
                r#"{"data":{"createShelf":{"id":3,"__typename":"ShelfPks"}}}"#,
            ),
            (
                "mutation { createItem(shelf_id: 3, place: 7) { p: place shelf_id } }",
                r#"{"data":{"createItem":{"p":7,"shelf_id":3}}}"#,
            ),
            (
                "mutation { updateItem(pk_columns: {shelf_id: 1, place: 2}, note: \"z\") { result __typename } }",
                r#"{"data":{"updateItem":{"result":true,"__typename":"Result"}}}"#,
            ),
            (
                "mutation { updateItem(pk_columns: {shelf_id: 1, place: 9}, note: \"z\") { result } }",
                r#"{"data":{"updateItem":{"result":false}}}"#,
            ),
            (
                "mutation { a: deleteItem(pk_columns: {shelf_id: 1, place: 1}) { result }
                 b: deleteItem(pk_columns: {shelf_id: 1, place: 1}) { result }
                 c: updateShelf(pk_columns: {id: 2}) { result } }",
                r#"{"data":{"a":{"result":true},"b":{"result":false},"c":{"result":true}}}"#,
            ),
        ],
        "select i.*, label from item i join shelf on id = shelf_id order by 1, 2",
        &["1,2,z,a", "3,7,null,c'"],
    );
}

/// A column without a default of its own has that of its type, and its argument may be left out.
#[test]
fn defaults_of_domains_fill_columns() {
    let database = TestDatabase::create();
    database.execute(
        "create domain state as text not null default 'open'; create domain narrow as state;
         create domain bare as text not null;
         create table task (id int primary key, a state, b narrow, c bare);",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        served.data(&session, "mutation { createTask(id: 1, c: \"x\") { id } }", none()).await;
        let read = served.data(&session, "{ tasks { a b c } }", none()).await;
        assert_eq!(read, json!({"tasks": [{"a": "open", "b": "open", "c": "x"}]}));
    });
}

/// A key that the database alone gives must not be set, be it to what it is.
#[test]
fn an_update_without_values_finds_rows_whose_keys_the_database_gives() {
    let database = TestDatabase::create();
    database.execute(
        "create table badge (id bigint generated always as identity primary key, label text);
         insert into badge (label) values ('a');",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let text = "mutation ($label: String) { a: updateBadge(pk_columns: {id: 1}) { result }
                    b: updateBadge(pk_columns: {id: 9}) { result } c: updateBadge(pk_columns: {id: 1}, label: $label) { result } }";
        let response = served.ask(&session, text, none()).await;
        assert_eq!(response, r#"{"data":{"a":{"result":true},"b":{"result":false},"c":{"result":true}}}"#);
    });
    let labels = database.query("select label from badge");
    assert_eq!(labels[0][0].as_deref(), Some("a"));
}

#[test]
fn a_request_is_written_whole_or_not_at_all() {
    let refused = "{\"data\":{\"a\":null,\"b\":null},\"errors\":[{\"message\":";
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for (second, code, message) in [
            ("createShelf(label: \"a\") { id }", "CONSTRAINT_VIOLATION", "unique key"),
            ("createItem(shelf_id: 99, place: 1) { place }", "CONSTRAINT_VIOLATION", "refers to a row"),
            ("createShelf(label: \"e\", size: -1) { id }", "CONSTRAINT_VIOLATION", "a check of the table"),
            (
                "updateShelf(pk_columns: {id: 1}, label: null) { result }",
                "CONSTRAINT_VIOLATION",
                "column label",
            ),
            ("deleteShelf(pk_columns: {id: 1}) { result }", "CONSTRAINT_VIOLATION", "another row refers"),
            ("createDeferred(id: 1, other: 99) { id }", "CONSTRAINT_VIOLATION", "refers to a row"),
        ] {
            let text = format!("mutation {{ a: createShelf(label: \"new\") {{ id }} b: {second} }}");
            let response = served.ask(&session, &text, none()).await;
            assert!(response.starts_with(refused), "{response}");
            assert!(response.contains(code) && response.contains(message), "{response}");
            assert!(response.contains("\"path\":[\"b\"]"), "{response}");
            assert!(!response.contains("SQLSTATE") && !response.contains("violates"), "{response}");
        }
        let single = served.ask(&session, "mutation { b: createShelf(label: \"a\") { id } }", none()).await;
        assert!(single.contains("CONSTRAINT_VIOLATION"), "{single}");
    });
    assert_eq!(database.query("select count(*) from shelf")[0][0].as_deref(), Some("2"));
}

#[test]
fn a_read_only_server_says_so() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    database.execute(&format!("alter database {} set default_transaction_read_only = on", database.name()));
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let response = served.ask(&session, "mutation { createShelf(label: \"x\") { id } }", none()).await;
        assert!(response.contains("the database is read-only"), "{response}");
    });
}

#[test]
fn an_invalid_value_names_its_column() {
    let database = TestDatabase::create();
    database.execute(
        "create table t (id smallint primary key, at timestamp, label varchar(3), ratio real, places int,
                         marks smallint[])",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for (values, message) in [
            ("id: 1, at: \"never again\"", "the value of at does not fit"),
            ("id: 1, label: \"four\"", "the value of label does not fit"),
            ("id: 70000", "the value of id does not fit the type of its column"),
            ("id: 70000, at: \"2021-01-01\", label: \"x\"", "the value of id does not fit"),
            ("id: 1, label: \"x\", ratio: 1e300, places: 1", "the value of one of id, ratio does not fit"),
            ("id: 1, label: \"x\", marks: [1, 99999]", "the value of one of id, marks does not fit"),
        ] {
            let text = format!("mutation {{ createT({values}) {{ id }} }}");
            let response = served.ask(&session, &text, none()).await;
            assert!(response.contains(message) && response.contains("BAD_USER_INPUT"), "{response}");
        }
    });
}

/// `raise exception`, as triggers say no: as the row is written, or as it is committed. In a read it is no refusal of a change.
#[test]
fn an_exception_of_a_trigger_is_a_constraint() {
    let database = TestDatabase::create();
    database.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'a secret'; end $$;
         create function fail() returns int language plpgsql as $$ begin raise exception 'a secret'; end $$;
         create table early (id int primary key);
         create table late (like early including all);
         create trigger refuse before insert on early for each row execute function refuse();
         create constraint trigger refuse after insert on late deferrable initially deferred
             for each row execute function refuse();
         create view failing as select fail() as n;",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for text in [
            "mutation { createEarly(id: 1) { id } }",
            "mutation { createLate(id: 1) { id } }",
            "mutation { a: createLate(id: 1) { id } b: createLate(id: 2) { id } }",
        ] {
            let response = served.ask(&session, text, none()).await;
            assert!(response.contains("a trigger of the database refuses the change"), "{response}");
            assert!(response.contains("CONSTRAINT_VIOLATION") && !response.contains("secret"), "{response}");
        }
        let read = served.plan("{ failings { n } }", none());
        assert_eq!(read.outcome(&session).await, Err(ErrorCode::SourceFailed));
    });
}

/// Those who write triggers choose codes of their own, and PL/pgSQL has some for what a function demands.
#[test]
fn a_code_that_a_trigger_has_chosen_is_a_constraint() {
    let database = TestDatabase::create();
    database.execute(
        "create table t (id int primary key, code text);
         create function refuse() returns trigger language plpgsql as
             $$ begin if new.code <> '' then raise 'a secret' using errcode = new.code; end if; return new; end $$;
         create trigger refuse before insert on t for each row execute function refuse();",
    );
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        for (code, expected) in [
            ("P0004", "CONSTRAINT_VIOLATION"),
            ("45000", "CONSTRAINT_VIOLATION"),
            ("UE001", "CONSTRAINT_VIOLATION"),
            ("58030", "SOURCE_FAILED"),
            ("XX000", "SOURCE_FAILED"),
        ] {
            let text = format!("mutation {{ createT(id: 1, code: \"{code}\") {{ id }} }}");
            let response = served.ask(&session, &text, none()).await;
            assert!(response.contains(expected) && !response.contains("secret"), "{code}: {response}");
        }
    });
}

/// Tables whose rows are refused as by a database that has run out of something: as they are written, or as they are committed.
const EXHAUSTED: &str = "
    create table fine (id int primary key);
    create table early (like fine including all);
    create table late (like fine including all);
    create table memory (like fine including all);
    create table granted (like fine including all);
    create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = tg_argv[0]; end $$;
    create trigger refuse before insert on early for each row execute function refuse('53100');
    create constraint trigger refuse after insert on late deferrable initially deferred
        for each row execute function refuse('53100');
    create trigger refuse before insert on memory for each row execute function refuse('53200');
    create trigger refuse before insert on granted for each row execute function refuse('53400');";

#[test]
fn a_database_that_has_run_out_of_something_has_changed_nothing_and_says_of_what() {
    let database = TestDatabase::create();
    database.execute(EXHAUSTED);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let (session, other_core) = (served.session(), served.session());
        let read = served.plan("{ fines { id } }", none());
        for session in [&session, &other_core] {
            assert!(read.outcome(session).await.is_ok(), "it is connected");
        }
        let fine = served.plan("mutation { updateFine(pk_columns: {id: 1}) { result } }", none());
        let full = "nothing was changed: the disk of the database is full; try again when there is room";
        for (table, code, message, readiness) in [
            ("Early", "SOURCE_UNAVAILABLE", full, Err(NotReady::DiskFull)),
            ("Late", "SOURCE_UNAVAILABLE", full, Err(NotReady::DiskFull)),
            ("Memory", "OVERLOADED", "nothing was changed: the database has run out of memory", Ok(())),
            ("Granted", "LIMIT_EXCEEDED", "nothing was changed: the field needs more", Ok(())),
        ] {
            let refused = format!("b: create{table}(id: 1) {{ id }}");
            for first in ["", "a: createFine(id: 1) { id } "] {
                assert!(fine.outcome(&session).await.is_ok());
                assert_eq!(session.readiness().await, Ok(()), "a write succeeds");
                let text = format!("mutation {{ {first}{refused} }}");
                let response = served.ask(&session, &text, none()).await;
                assert!(response.contains(code) && response.contains(message), "{table}: {response}");
                assert!(response.contains("\"path\":[\"b\"]") && !response.contains("extend"), "{response}");
                assert_eq!(session.readiness().await, readiness, "{table}");
                assert_eq!(other_core.readiness().await, readiness, "{table}");
            }
        }
    });
    for table in ["fine", "early", "late", "memory", "granted"] {
        let count = database.query(&format!("select count(*) from {table}"));
        assert_eq!(count[0][0].as_deref(), Some("0"), "{table}");
    }
}

/// The server dies while a statement that commits by itself runs: nobody can know whether it was written.
#[test]
fn a_connection_lost_in_a_write_leaves_the_outcome_open() {
    let cluster = Cluster::start_new().unwrap();
    cluster
        .execute(
            "postgres",
            "create table slow (id int primary key);
             create function wait() returns trigger language plpgsql as
             $$ begin perform pg_sleep(30); return new; end $$;
             create trigger wait before insert on slow for each row execute function wait();",
        )
        .unwrap();
    on_a_core(async {
        let served = Served::open(&cluster.url("postgres"), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let single = served.plan("mutation { createSlow(id: 1) { id } }", none());
        let both =
            served.plan("mutation { a: createSlow(id: 1) { id } b: createSlow(id: 2) { id } }", none());
        let stop = async {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            cluster.kill().unwrap();
        };
        let (single, both, ()) = tokio::join!(single.results(&session), both.results(&session), stop);
        assert_eq!(single[0].errors[0].code, ErrorCode::OutcomeUnknown, "{:?}", single[0]);
        assert_eq!(both[0].errors[0].code, ErrorCode::SourceUnavailable, "{:?}", both[0]);
        assert!(both[0].errors[0].message.contains("nothing was changed"), "{:?}", both[0]);
    });
}
