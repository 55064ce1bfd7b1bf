//! Roles against an oracle: of generated graphs and roles, what the role may not see is deleted from a copy of the graph, which is asked
//! without permissions. A restricted request at the whole graph must have the same response, byte by byte. Of mutations, a plain model
//! says what becomes of them.

mod data;
mod mutations;
mod request;
mod role;

use prony_testkit::Seeded;
use serde_json::json;

use self::{data::Data, role::Role};

/// The value of the session's one variable.
const USER: i64 = 2;

/// Generated graphs, roles of each, and requests of each role.
const GRAPHS: usize = 6;
const ROLES: usize = 4;
const REQUESTS: usize = 24;

#[test]
fn queries_of_roles_are_those_of_the_oracle() {
    let mut chance = Seeded::new();
    let mut hidden = 0;
    for _ in 0..GRAPHS {
        let data = Data::generate(&mut chance);
        let (whole, places) = data.make();
        for _ in 0..ROLES {
            let role = Role::generate(&mut chance);
            let visible = role.visible(&data);
            let count = "{ graph_nodes(limit: 1000) { _id } graph_relationships(limit: 1000) { _id } }";
            hidden += usize::from(whole.answer(count, "{}") != visible.answer(count, "{}"));
            let seen = whole.offered_to(&role.permissions(), &[json!(USER)]);
            for _ in 0..REQUESTS {
                let (text, unlimited) = request::query(&mut chance, &places, &role);
                let expected = visible.answer(&text, "{}");
                assert!(!expected.contains("errors"), "{text}: {expected}");
                let found = whole.answer_by(&seen, &unlimited, "{}");
                assert_eq!(found, expected, "{unlimited}\n{role:#?}\n{data:#?}");
            }
        }
    }
    assert!(hidden > 0, "all roles see everything");
}

#[test]
fn mutations_of_roles_are_those_of_the_oracle() {
    let (mut chance, mut outcomes) = (Seeded::new(), Vec::new());
    for _ in 0..GRAPHS {
        let data = Data::generate(&mut chance);
        let (served, _) = data.make();
        let mut known = mutations::Known::read(&served);
        for _ in 0..ROLES {
            let role = Role::generate(&mut chance);
            let offered = served.offered_to(&role.permissions(), &[json!(USER)]);
            for _ in 0..2 * REQUESTS {
                let Some(mutation) = mutations::Mutation::generate(&mut chance, &known, &role) else {
                    continue;
                };
                let mut expected = known.clone();
                let outcome = mutation.apply(&mut expected, &role);
                let text = mutation.text();
                let response = served.answer_by(&offered, &text, "{}");
                assert_eq!(
                    mutations::outcome(&response),
                    outcome,
                    "{text}: {response}\n{role:#?}\n{known:#?}"
                );
                known = mutations::Known::read(&served);
                if !outcomes.contains(&outcome) {
                    outcomes.push(outcome);
                }
                expected.take_new_ids(&known);
                assert_eq!(known, expected, "{text}: {response}\n{role:#?}");
            }
        }
    }
    assert_eq!(outcomes.len(), 5, "{outcomes:?}");
}
