//! Subscriptions to rows: what they hear, and in which form.

use std::{cell::Cell, rc::Rc, sync::Arc};

use expect_test::{Expect, expect};
use futures_util::{FutureExt as _, StreamExt as _};
use prony_graphql::response::FieldResult;
use prony_source::CommonSettings;
use tokio::sync::Semaphore;

use crate::harness::{Bed, Made, on_a_core};
use prony_sql::{
    changes::{KEPT_TRANSACTIONS, events::Watch, names::ChangeIndex, plan::ChangesPlan},
    settings::{RelationalSettings, ResolverModel},
};

const SHOP: &str = "
    create table shelf (id integer primary key, label varchar(20) not null, size integer);
    create table item (shelf_id integer not null references shelf, place integer not null, note text,
                       price numeric(12, 1), primary key (shelf_id, place));
    create table log (line text);
    insert into shelf values (1, 'a', 1), (2, 'b', 20);
    insert into item values (1, 1, 'x', 1.5), (1, 2, 'y', null);";

/// The last mutation of each test: its event is the last one.
const LAST: &str = r#"mutation { createShelf(id: 99, label: "last", size: 99) { id } }"#;

/// What both databases tell alike.
fn check(subscription: &str, variables: &str, mutations: &[&str], last: &str, expected: &Expect) {
    let told = Made::both(SHOP).map(|made| {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut subscribed = bed.subscribe(subscription, variables);
            for mutation in mutations {
                let answer = bed.ask(mutation).await;
                assert!(!answer.contains("errors"), "{answer}");
            }
            subscribed.until(last).await
        })
    });
    assert_eq!(told[0], told[1], "SQLite and PostgreSQL differ");
    expected.assert_eq(&told[0]);
}

#[test]
fn rows_are_told_as_their_transaction_left_them() {
    check(
        "subscription { onShelfChanged { operation key { id } previous_key { id } shelf { label size __typename } } }",
        "{}",
        &[
            r#"mutation { createShelf(id: 3, label: "c\"'") { id } a: updateShelf(pk_columns: {id: 3}, size: 5) { result } }"#,
            "mutation { updateShelf(pk_columns: {id: 3}, id: 4) { result } }",
            "mutation { deleteShelf(pk_columns: {id: 4}) { result } }",
            LAST,
        ],
        "last",
        &expect![[r#"
            {"data":{"onShelfChanged":{"operation":"INSERT","key":{"id":3},"previous_key":null,"shelf":{"label":"c\"'","size":null,"__typename":"Shelf"}}}}
            {"data":{"onShelfChanged":{"operation":"UPDATE","key":{"id":3},"previous_key":null,"shelf":{"label":"c\"'","size":5,"__typename":"Shelf"}}}}
            {"data":{"onShelfChanged":{"operation":"UPDATE","key":{"id":4},"previous_key":{"id":3},"shelf":{"label":"c\"'","size":5,"__typename":"Shelf"}}}}
            {"data":{"onShelfChanged":{"operation":"DELETE","key":{"id":4},"previous_key":null,"shelf":{"label":"c\"'","size":5,"__typename":"Shelf"}}}}
            {"data":{"onShelfChanged":{"operation":"INSERT","key":{"id":99},"previous_key":null,"shelf":{"label":"last","size":99,"__typename":"Shelf"}}}}
        "#]],
    );
}

#[test]
fn the_filter_is_held_against_the_row_of_the_change() {
    check(
        "subscription ($size: Int) { onShelfChanged(operations: [UPDATE, DELETE, INSERT], where: {size: {gt: $size}}) {
            operation key { id } } }",
        r#"{"size": 10}"#,
        &[
            r#"mutation { a: createShelf(id: 3, label: "small", size: 10) { id } b: createShelf(id: 4, label: "big", size: 11) { id } }"#,
            "mutation { a: updateShelf(pk_columns: {id: 3}, size: 12) { result } b: updateShelf(pk_columns: {id: 4}, size: 1) { result } }",
            "mutation { a: deleteShelf(pk_columns: {id: 4}) { result } b: deleteShelf(pk_columns: {id: 2}) { result } }",
            LAST,
        ],
        "99",
        &expect![[r#"
            {"data":{"onShelfChanged":{"operation":"INSERT","key":{"id":4}}}}
            {"data":{"onShelfChanged":{"operation":"UPDATE","key":{"id":3}}}}
            {"data":{"onShelfChanged":{"operation":"DELETE","key":{"id":2}}}}
            {"data":{"onShelfChanged":{"operation":"INSERT","key":{"id":99}}}}
        "#]],
    );
}

#[test]
fn operations_can_be_chosen() {
    check(
        "subscription ($wanted: [ChangeOperation!]) { onShelfChanged(operations: $wanted) { operation shelf { id } } }",
        r#"{"wanted": "INSERT"}"#,
        &["mutation { updateShelf(pk_columns: {id: 1}, size: 1) { result } }", LAST],
        "99",
        &expect![[r#"
            {"data":{"onShelfChanged":{"operation":"INSERT","shelf":{"id":99}}}}
        "#]],
    );
}

#[test]
fn relations_and_filters_across_them_are_answered_by_the_database() {
    check(
        r#"subscription { e: onItemChanged(where: {or: [{shelf: {label: {like: "a%"}}}, {price: {gt: 10}}]}) {
            operation k: key { shelf_id place } it: item { price note shelf { label items(limit: 3) { place } items_aggregate { count } } }
            again: item { n: note } } }"#,
        "{}",
        &[
            "mutation { createItem(shelf_id: 2, place: 1, price: 9) { place } }",
            "mutation { createItem(shelf_id: 1, place: 3, price: 9.5) { place } }",
            "mutation { deleteItem(pk_columns: {shelf_id: 1, place: 1}) { result } }",
            r#"mutation { createItem(shelf_id: 2, place: 2, price: 10.1, note: "last") { place } }"#,
        ],
        "last",
        &expect![[r#"
            {"data":{"e":{"operation":"INSERT","k":{"shelf_id":1,"place":3},"it":{"price":9.5,"note":null,"shelf":{"label":"a","items":[{"place":2},{"place":3}],"items_aggregate":{"count":2}}},"again":{"n":null}}}}
            {"data":{"e":{"operation":"DELETE","k":{"shelf_id":1,"place":1},"it":{"price":1.5,"note":"x","shelf":{"label":"a","items":[{"place":2},{"place":3}],"items_aggregate":{"count":2}}},"again":{"n":"x"}}}}
            {"data":{"e":{"operation":"INSERT","k":{"shelf_id":2,"place":2},"it":{"price":10.1,"note":"last","shelf":{"label":"b","items":[{"place":1},{"place":2}],"items_aggregate":{"count":2}}},"again":{"n":"last"}}}}
        "#]],
    );
}

/// Whatever a column may hold goes to the database and comes back as it was.
#[test]
fn values_of_all_types_survive_the_way_through_the_database() {
    let kinds = [
        Made::sqlite(
            "create table kind (id integer primary key, other integer references kind, i integer, big bigint, f real,
                 b boolean, t text, j json, x blob, d decimal(10, 2), at timestamp, u uuid)",
        ),
        Made::postgres(
            "create table kind (id int primary key, other int references kind, i smallint, big bigint, f float8,
                 b boolean, t text, j jsonb, x bytea, d numeric(30, 10), at timestamptz, u uuid)",
        ),
    ];
    for made in kinds {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let columns = "i big f b t j x d at u";
            let direct = format!("subscription {{ onKindChanged {{ kind {{ {columns} }} }} }}");
            let asked = format!(
                "subscription {{ onKindChanged(where: {{id: {{gt: 0}}}}) {{ kind {{ {columns} }} }} }}"
            );
            let (mut direct, mut asked) = (bed.subscribe(&direct, "{}"), bed.subscribe(&asked, "{}"));
            let create = r#"mutation { createKind(id: 1, i: -7, big: 9007199254740993, f: 1.5e300, b: true, t: "ü\n\"", d: 12345678.25,
                j: {a: [1, null]}, x: "AP8=", at: "2021-01-01T18:00:00", u: "6f0e2a4c-0c43-4b59-9d61-1d4f4a3b9a11") { id } }"#;
            assert_eq!(bed.ask(create).await, r#"{"data":{"createKind":{"id":1}}}"#);
            let event = direct.next().await;
            assert_eq!(event, asked.next().await);
            let query = bed.ask(&format!("{{ kinds {{ {columns} }} }}")).await;
            let row = |text: &str, from: &str, to: &str| {
                text[text.find(from).unwrap()..text.rfind(to).unwrap()].to_owned()
            };
            assert_eq!(row(&event, "{\"i\"", "}}}"), row(&query, "{\"i\"", "]}}"));
            bed.ask("mutation { createKind(id: 2, other: 1) { id } }").await;
            assert_eq!(direct.next().await, asked.next().await);
        });
    }
}

#[test]
fn one_that_falls_behind_is_told_and_goes_on() {
    let made = Made::sqlite(SHOP);
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let mut slow = bed.subscribe("subscription { onShelfChanged { key { id } } }", "{}");
        for _ in 0..KEPT_TRANSACTIONS + 2 {
            bed.ask("mutation { updateShelf(pk_columns: {id: 1}, size: 1) { result } }").await;
        }
        expect![[r#"{"data":null,"errors":[{"message":"2 transactions are lost to this subscription, which is behind by more than 1024 of them or 16777216 bytes; ask for the state again","locations":[{"line":1,"column":16}],"path":["onShelfChanged"],"extensions":{"code":"EVENTS_LOST"}}]}"#]]
            .assert_eq(&slow.next().await);
        assert_eq!(slow.next().await, r#"{"data":{"onShelfChanged":{"key":{"id":1}}}}"#);
    });
}

#[test]
fn rows_of_transactions_that_wait_are_asked_for_together_and_told_in_order() {
    let made = Made::sqlite(SHOP);
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let text = "subscription { onShelfChanged(where: {size: {gt: 0}}) { shelf { size } } }";
        let (selection, _, variables) = bed.plan(text, "{}");
        let index = ChangeIndex::new(bed.model(), &mut Vec::new());
        let names = index.find("onShelfChanged").unwrap();
        let plan = ChangesPlan::lower(bed.model(), names, &selection.fields[0], None, |_, _| Ok(())).unwrap();
        let (asked, gate) = (Rc::new(Cell::new(0)), Rc::new(Semaphore::new(0)));
        let numbers = Rc::clone(&asked);
        let watch = Watch {
            model: Arc::clone(bed.model()),
            plan: Arc::new(plan),
            variables,
            ask: Box::new({
                let gate = Rc::clone(&gate);
                move |(), _| {
                    let (number, gate) = (numbers.replace(numbers.get() + 1), Rc::clone(&gate));
                    async move {
                        gate.acquire().await.unwrap().forget();
                        FieldResult::data(format!("[{number}]").into_bytes())
                    }
                    .boxed_local()
                }
            }),
        };
        let mut events = watch.events(bed.listen(&["shelf"]));
        for _ in 0..20 {
            bed.ask("mutation { updateShelf(pk_columns: {id: 1}, size: 1) { result } }").await;
        }
        assert!(events.next().now_or_never().is_none());
        assert_eq!(asked.get(), 16, "more than one, and not all");
        gate.add_permits(20);
        for number in 0..20 {
            let event = events.next().await.unwrap().data.unwrap();
            assert_eq!(String::from_utf8(event).unwrap(), format!("{{\"shelf\":{number}}}"));
        }
    });
}

#[test]
fn other_tables_end_those_who_need_what_is_not_in_them() {
    let gone = |what: &str| format!("the {what} is not served any more");
    let other_type = "the column `label` of `shelf` is served with another type now".to_owned();
    for (change, reason) in [
        ("drop table shelf", gone("table `shelf`")),
        ("alter table shelf rename column label to title", gone("column `label` of `shelf`")),
        // Of the same type in GraphQL, and of another.
        (
            "drop table shelf; create table shelf (id integer primary key, label text not null)",
            other_type.clone(),
        ),
        ("drop table shelf; create table shelf (id integer primary key, label integer not null)", other_type),
    ] {
        let made = Made::sqlite(
            "create table box (id integer primary key);
             create table shelf (id integer primary key, label varchar(20) not null);",
        );
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut shelves = bed.subscribe(
                "subscription { onShelfChanged(where: {label: {ne: \"b\"}}) { key { id } } }",
                "{}",
            );
            let mut boxes = bed.subscribe("subscription { onBoxChanged { key { id } } }", "{}");
            made.execute(change);
            bed.renew(Bed::over(&made.address()).await.model());
            let expected = format!(
                r#"{{"data":null,"errors":[{{"message":"{reason}; subscribe again, by the schema of now","locations":[{{"line":1,"column":16}}],"path":["onShelfChanged"],"extensions":{{"code":"SUBSCRIPTION_ENDED"}}}}]}}"#
            );
            assert_eq!(shelves.next().await, expected, "{change}");
            bed.ask("mutation { createBox(id: 1) { id } }").await;
            assert_eq!(boxes.next().await, r#"{"data":{"onBoxChanged":{"key":{"id":1}}}}"#, "{change}");
        });
    }
}

#[test]
fn tables_without_a_key_views_and_collisions() {
    let made = Made::sqlite(
        "create table member (id integer primary key); create table member_change (id integer primary key);
         create table operation (id integer primary key); create table change_operation (id integer primary key);
         create table log (line text); create view members_view as select id from member;",
    );
    on_a_core(async {
        let bed = Bed::over(&made.address()).await;
        let names = |bed: &Bed| {
            let contribution = bed.source_schema.contribution();
            let fields =
                contribution.subscription.iter().map(|field| format!("{}: {}", field.name, field.ty));
            fields.collect::<Vec<_>>().join("\n")
        };
        expect![[r#"
            onChangeOperationTableChanged: ChangeOperationTableChange!
            onMemberChanged: MemberRowChange!
            onMemberChangeChanged: MemberChangeChange!
            onOperationChanged: OperationChange!
            change_operations: [ChangeOperationTable!]!
            change_operations_aggregate: ChangeOperationTableAggregate!
            logs: [Log!]!
            logs_aggregate: LogAggregate!
            members: [Member!]!
            members_aggregate: MemberAggregate!
            member_changes: [MemberChange!]!
            member_changes_aggregate: MemberChangeAggregate!
            members_views: [MembersView!]!
            members_views_aggregate: MembersViewAggregate!
            operations: [Operation!]!
            operations_aggregate: OperationAggregate!"#]]
        .assert_eq(&names(&bed));
        expect![[r#"
            table `change_operation` gets the type `ChangeOperationTable` because `ChangeOperation` is already in use
            subscriptions have `MemberRowChange` because `MemberChange` is already in use"#]]
        .assert_eq(&bed.source_schema.notes().join("\n"));
        let mut operations =
            bed.subscribe("subscription { onOperationChanged { operation row { id } } }", "{}");
        bed.ask("mutation { createOperation(id: 5) { id } }").await;
        assert_eq!(
            operations.next().await,
            r#"{"data":{"onOperationChanged":{"operation":"INSERT","row":{"id":5}}}}"#
        );
        let off = RelationalSettings {
            common: CommonSettings { subscriptions: false, ..CommonSettings::default() },
            ..RelationalSettings::default()
        };
        assert_eq!(names(&Bed::with(&made.address(), off).await), "");
    });
}

#[test]
fn an_event_of_which_nothing_is_included_is_an_empty_object() {
    check(
        "subscription ($no: Boolean = false) { onShelfChanged { operation @include(if: $no) } }",
        "{}",
        &[LAST],
        "{}",
        &expect![[r#"
            {"data":{"onShelfChanged":{}}}
        "#]],
    );
    check(
        "subscription ($no: Boolean = false) { onShelfChanged {
            key { id @include(if: $no) } previous_key { id @include(if: $no) } shelf { size @include(if: $no) } } }",
        "{}",
        &["mutation { updateShelf(pk_columns: {id: 2}, id: 3) { result } }"],
        "previous_key",
        &expect![[r#"
            {"data":{"onShelfChanged":{"key":{},"previous_key":{},"shelf":{}}}}
        "#]],
    );
}

/// A client that compares keys as text finds the row that it knows.
#[test]
fn a_previous_key_is_written_as_rows_are() {
    let kinds = [
        Made::sqlite("create table thing (id uuid primary key, note text)"),
        Made::postgres("create table thing (id uuid primary key, note text)"),
    ];
    for made in kinds {
        on_a_core(async {
            let bed = Bed::over(&made.address()).await;
            let mut told =
                bed.subscribe("subscription { onThingChanged { key { id } previous_key { id } } }", "{}");
            let known = "6f0e2a4c-0c43-4b59-9d61-1d4f4a3b9a11";
            bed.ask(&format!("mutation {{ createThing(id: \"{known}\") {{ id }} }}")).await;
            told.next().await;
            let update = |to: &str| {
                let given = known.to_uppercase();
                let given = if matches!(made, Made::Sqlite(_)) { known } else { &given };
                format!(
                    "mutation {{ updateThing(pk_columns: {{id: \"{given}\"}}, id: \"{to}\") {{ result }} }}"
                )
            };
            assert_eq!(bed.ask(&update(known)).await, r#"{"data":{"updateThing":{"result":true}}}"#);
            assert_eq!(
                told.next().await,
                format!(
                    r#"{{"data":{{"onThingChanged":{{"key":{{"id":"{known}"}},"previous_key":null}}}}}}"#
                )
            );
            let other = known.replace("6f", "7f");
            bed.ask(&update(&other)).await;
            assert_eq!(
                told.next().await,
                format!(
                    r#"{{"data":{{"onThingChanged":{{"key":{{"id":"{other}"}},"previous_key":{{"id":"{known}"}}}}}}}}"#
                )
            );
        });
    }
}

#[test]
fn answers_of_which_nothing_is_included_are_empty_objects() {
    let resolvers = [ResolverModel::Subquery, ResolverModel::PerNest, ResolverModel::Bucket];
    let all = Made::both(SHOP);
    for (made, resolver) in all.iter().flat_map(|made| resolvers.map(|resolver| (made, resolver))) {
        on_a_core(async {
            let settings = RelationalSettings { resolver, ..RelationalSettings::default() };
            let bed = Bed::with(&made.address(), settings).await;
            for (text, expected) in [
                (
                    "{ shelves(limit: 1) { items(limit: 1) { note @skip(if: true) } items_aggregate { sum { price @skip(if: true) } } } }",
                    r#"{"data":{"shelves":[{"items":[{}],"items_aggregate":{"sum":{}}}]}}"#,
                ),
                ("{ shelves(limit: 1) { id @include(if: false) } }", r#"{"data":{"shelves":[{}]}}"#),
                (
                    "{ items(limit: 1) { shelf { id @skip(if: true) } } }",
                    r#"{"data":{"items":[{"shelf":{}}]}}"#,
                ),
                (
                    "{ shelves_aggregate { __typename } }",
                    r#"{"data":{"shelves_aggregate":{"__typename":"ShelfAggregate"}}}"#,
                ),
                (
                    "{ shelves(limit: 1) { items_aggregate { count @skip(if: true) } } }",
                    r#"{"data":{"shelves":[{"items_aggregate":{}}]}}"#,
                ),
                (
                    "{ shelves(limit: 1) { items_aggregate { __typename } } }",
                    r#"{"data":{"shelves":[{"items_aggregate":{"__typename":"ItemAggregate"}}]}}"#,
                ),
                ("{ shelves_aggregate { count @skip(if: true) } }", r#"{"data":{"shelves_aggregate":{}}}"#),
                (
                    "{ shelves_aggregate { max { size @skip(if: true) } } }",
                    r#"{"data":{"shelves_aggregate":{"max":{}}}}"#,
                ),
                (
                    r#"mutation { createShelf(id: 7, label: "g") { id @skip(if: true) } }"#,
                    r#"{"data":{"createShelf":{}}}"#,
                ),
                (
                    "mutation { deleteShelf(pk_columns: {id: 7}) { result @skip(if: true) } }",
                    r#"{"data":{"deleteShelf":{}}}"#,
                ),
            ] {
                assert_eq!(bed.ask(text).await, expected, "{text}");
            }
        });
    }
}
