//! Roles against an oracle: of generated schemas, rows and roles, the data is filtered first, put into a database of its own, and
//! asked without permissions. A restricted request at the whole data must have the same response, byte by byte, on SQLite and
//! PostgreSQL and in all resolver models.

#![allow(clippy::unwrap_used, reason = "a test says where it fails")]

mod condition;
mod databases;
mod mutations;
mod request;
mod tables;

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use prony_graphql::response::FieldResult;
use prony_source::Events;
use prony_sql::settings::ResolverModel;
use prony_testkit::Seeded;

use self::{
    condition::Role,
    databases::{Kind, Server, on_a_core},
    tables::Data,
};

/// Generated schemas a run.
const fn schemas(kind: Kind) -> usize {
    // Each role has a database of its own, which takes PostgreSQL long to make.
    match kind {
        Kind::Sqlite => 12,
        Kind::Postgres => 2,
    }
}

/// Roles of each, and requests of each role.
const ROLES: usize = 3;
const REQUESTS: usize = 12;

const MODELS: [ResolverModel; 3] = [ResolverModel::Subquery, ResolverModel::PerNest, ResolverModel::Bucket];

fn check_reads(kind: Kind) {
    let mut chance = Seeded::new();
    on_a_core(async {
        for _ in 0..schemas(kind) {
            let data = Data::generate(&mut chance);
            let whole = kind.make(&data);
            for _ in 0..ROLES {
                let role = Role::generate(&mut chance, &data);
                let oracle = kind.make(&role.visible(&data));
                let requests: Vec<String> =
                    (0..REQUESTS).map(|_| request::query(&mut chance, &data, 2)).collect();
                let all_seen = Server::open(&oracle, ResolverModel::Subquery, None).await;
                for model in MODELS {
                    let restricted = Server::open(&whole, model, Some(&role)).await;
                    for text in &requests {
                        let expected = all_seen.ask(text).await;
                        assert!(!expected.contains("errors"), "{text}: {expected}");
                        let found = restricted.ask(text).await;
                        assert_eq!(found, expected, "{model:?} {text}\n{role:#?}\n{}", data.sql());
                    }
                }
            }
        }
    });
}

#[test]
fn reads_on_sqlite_are_those_of_the_oracle() {
    check_reads(Kind::Sqlite);
}

#[test]
fn reads_on_postgres_are_those_of_the_oracle() {
    check_reads(Kind::Postgres);
}

fn check_writes(kind: Kind) {
    let mut chance = Seeded::new();
    on_a_core(async {
        for _ in 0..schemas(kind) {
            let mut data = Data::generate(&mut chance);
            let whole = kind.make(&data);
            let role = Role::generate(&mut chance, &data);
            let restricted = Server::open(&whole, ResolverModel::Subquery, Some(&role)).await;
            let all_seen = Server::open(&whole, ResolverModel::Subquery, None).await;
            for _ in 0..4 * REQUESTS {
                let mutation = mutations::Mutation::generate(&mut chance, &data);
                let expected = mutation.apply(&mut data, &role);
                let text = mutation.text();
                let found = restricted.ask(&text).await;
                assert_eq!(
                    mutations::outcome(&found),
                    expected,
                    "{text}: {found}\n{role:#?}\n{}",
                    data.sql()
                );
                let rows = all_seen.ask(&request::everything(&data)).await;
                assert_eq!(rows, data.response(), "{text}: {found}\n{role:#?}");
            }
        }
    });
}

#[test]
fn writes_on_sqlite_are_those_of_the_oracle() {
    check_writes(Kind::Sqlite);
}

#[test]
fn writes_on_postgres_are_those_of_the_oracle() {
    check_writes(Kind::Postgres);
}

/// Events come to those who see their row, and a live query whose response has become another has been told of it.
fn check_changes(kind: Kind) {
    const PATIENCE: Duration = Duration::from_secs(20);
    let mut chance = Seeded::new();
    on_a_core(async {
        for _ in 0..schemas(kind) {
            let mut data = Data::generate(&mut chance);
            let whole = kind.make(&data);
            let role = Role::generate(&mut chance, &data);
            let (writer, reader) = Server::open_both(&whole, &role).await;
            let (everything, query) = (Role::of_everything(&data), request::query(&mut chance, &data, 1));
            let mut signal = reader.watch(&format!("subscription {query}"));
            let mut response = reader.ask(&query).await;
            let subscription = |table: usize| {
                reader
                    .subscribe(&format!("subscription {{ onT{table}Changed {{ operation key {{ id }} }} }}"))
            };
            let mut events: Vec<Events> = (0..data.tables.len()).map(subscription).collect();
            let told = |result: FieldResult| String::from_utf8(result.data.unwrap_or_default()).unwrap();
            for _ in 0..4 * REQUESTS {
                let mutation = mutations::Mutation::generate(&mut chance, &data);
                let (before, text) = (data.clone(), mutation.text());
                let outcome = mutation.apply(&mut data, &everything);
                assert_eq!(mutations::outcome(&writer.ask(&text).await), outcome, "{text}");
                let is_told = signal.changed().now_or_never().is_some();
                let now = reader.ask(&query).await;
                assert!(is_told || now == response, "{text}: {query}: {response} {now}\n{role:#?}");
                response = now;
                let has_changed =
                    matches!(outcome, mutations::Outcome::Created | mutations::Outcome::Changed(true));
                let event = has_changed.then(|| mutation.event(&before, &data, &role)).flatten();
                let events = &mut events[mutation.table()];
                let Some(expected) = event else {
                    // What is around its row is looked at now, and not when there is another event.
                    let more = tokio::time::timeout(Duration::from_millis(5), events.next()).await;
                    let more = more.ok().flatten().map(told);
                    assert_eq!(more, None, "{text}\n{role:#?}\n{}", data.sql());
                    continue;
                };
                let next = tokio::time::timeout(PATIENCE, events.next()).await;
                let next = next.unwrap_or_else(|_| panic!("no event of {text}\n{role:#?}\n{}", data.sql()));
                assert_eq!(told(next.unwrap()), expected, "{text}\n{role:#?}\n{}", data.sql());
            }
            for events in &mut events {
                let more = tokio::time::timeout(Duration::from_millis(50), events.next()).await;
                assert!(more.is_err(), "{}\n{role:#?}", told(more.unwrap().unwrap()));
            }
        }
    });
}

#[test]
fn changes_on_sqlite_are_those_of_the_oracle() {
    check_changes(Kind::Sqlite);
}

#[test]
fn changes_on_postgres_are_those_of_the_oracle() {
    check_changes(Kind::Postgres);
}
