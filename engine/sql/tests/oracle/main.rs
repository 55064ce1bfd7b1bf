//! Roles against an oracle: of generated schemas, rows and roles, the data is filtered first, put into a database of its own, and
//! asked without permissions. A restricted request at the whole data must have the same response, byte by byte, on SQLite and
//! PostgreSQL and in all resolver models.

#![allow(clippy::unwrap_used, reason = "a test says where it fails")]

mod condition;
mod databases;
mod mutations;
mod request;
mod tables;

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
                    (0..REQUESTS).map(|_| request::query(&mut chance, &data)).collect();
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
