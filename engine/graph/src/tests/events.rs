//! Changes of the graph as the events of subscriptions.

use expect_test::{Expect, expect};
use futures_util::{FutureExt as _, StreamExt as _};
use prony_graph_store::{Keep, Kind, Side, Value, Write};
use prony_graphql::{
    document::{Operation, limits::Limits},
    response::{Detail, assemble, refuse},
    selection::Field,
};

use crate::tests::harness::{Offered, Served, block_on, friends, runtime};
use prony_source::{Events, FieldRequest, Source as _};

/// An open subscription.
pub(super) struct Subscribed {
    pub(super) events: Events,
    pub(super) fields: Vec<Field>,
    runtime: tokio::runtime::Runtime,
}

impl Served {
    pub(super) fn subscribe(&self, text: &str) -> Subscribed {
        self.try_subscribe(&self.offered(), text, "{}").unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    fn try_subscribe(&self, offered: &Offered, text: &str, variables: &str) -> Result<Subscribed, String> {
        let begin = || {
            let schema = &offered.schema;
            let operation = Operation::parse(schema, text, None, &Limits::default())?;
            let given = serde_json::from_str(variables).unwrap();
            let (variables, _) = operation.coerce(schema, given)?;
            let selection = operation.select(schema, &variables)?;
            let root =
                offered.source.plan(&FieldRequest { kind: selection.kind, field: &selection.fields[0] });
            let events = root.and_then(|root| self.source.attach().subscribe(&root, &variables));
            Ok((events.map_err(|error| vec![error])?, selection.fields))
        };
        let (events, fields) =
            begin().map_err(|errors: Vec<_>| String::from_utf8(refuse(&errors, Detail::Shown)).unwrap())?;
        Ok(Subscribed { events, fields, runtime: runtime() })
    }
}

impl Subscribed {
    /// The next event, which must come; none at the end.
    fn next(&mut self) -> Option<String> {
        let result = block_on(&self.runtime, self.events.next())?;
        Some(String::from_utf8(assemble(&self.fields, &[result], Detail::Shown)).unwrap())
    }

    /// What has come. The log tells of a write after it has acknowledged it, and before it acknowledges the next.
    fn so_far(&mut self, served: &Served) -> String {
        served.write(|_| Ok(()));
        let mut came = String::new();
        while let Some(event) = block_on(&self.runtime, async { self.events.next().now_or_never() }) {
            let Some(result) = event else { return came + "(end)\n" };
            came += std::str::from_utf8(&assemble(&self.fields, &[result], Detail::Shown)).unwrap();
            came.push('\n');
        }
        came
    }
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check(text: &str, change: impl FnOnce(&Served), expected: Expect) {
    let served = friends();
    let mut subscribed = served.subscribe(text);
    change(&served);
    expected.assert_eq(&subscribed.so_far(&served));
}

/// One of each, in one write and in several, from all that can write.
fn changes(served: &Served) {
    served.write(|write| {
        let eve = write.create_node("User", "Eve", &[("age", Value::Integer(20))])?;
        write.set_node(eve, &[("age", Value::Integer(21))], Keep::Others)?;
        let max = write.find("User", "Max").unwrap();
        write.create_relationship("FRIEND", eve, max, &[("since", Value::Integer(2026))])
    });
    served.store.write_and_wait(|write| write.create_node("User", "Eve", &[])).unwrap_err();
    let update = r#"mutation { updateUser(pk_columns: {_key: "Eve"}, name: "Eva") { result } updateProduct(pk_columns: {_key: "p1"}, price: 21) { result } }"#;
    served.answer(update, "{}");
    served.write(|write| {
        let eve = write.find("User", "Eve").unwrap();
        write.delete_node(eve)
    });
}

#[test]
fn every_change_of_a_type_is_told_in_order() {
    check(
        "subscription { onUserChanged { operation node { _key age name neighbors { _key } degree friends: users_aggregate { count } } __typename } }",
        changes,
        expect![[r#"
            {"data":{"onUserChanged":{"operation":"INSERT","node":{"_key":"Eve","age":20,"name":null,"neighbors":[],"degree":0,"friends":{"count":0}},"__typename":"UserChange"}}}
            {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","age":21,"name":null,"neighbors":[],"degree":0,"friends":{"count":0}},"__typename":"UserChange"}}}
            {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","age":21,"name":"Eva","neighbors":[],"degree":0,"friends":{"count":0}},"__typename":"UserChange"}}}
            {"data":{"onUserChanged":{"operation":"DELETE","node":{"_key":"Eve","age":21,"name":"Eva","neighbors":[],"degree":0,"friends":{"count":0}},"__typename":"UserChange"}}}
        "#]],
    );
    check(
        "subscription { onFRIENDChanged { operation relationship { _type since from { _key } to { _key } node { _key } } } }",
        changes,
        expect![[r#"
            {"data":{"onFRIENDChanged":{"operation":"INSERT","relationship":{"_type":"FRIEND","since":2026,"from":null,"to":{"_key":"Max"},"node":{"_key":"Max"}}}}}
            {"data":{"onFRIENDChanged":{"operation":"DELETE","relationship":{"_type":"FRIEND","since":2026,"from":null,"to":{"_key":"Max"},"node":{"_key":"Max"}}}}}
        "#]],
    );
    check("subscription { onLIKESChanged { operation } }", changes, expect![[""]]);
}

#[test]
fn what_is_not_asked_for_is_not_told() {
    let of = |arguments: &str| {
        format!("subscription {{ onUserChanged({arguments}) {{ operation node {{ _key name age }} }} }}")
    };
    let others = |served: &Served| {
        changes(served);
        served.write(|write| {
            let max = write.find("User", "Max").unwrap();
            write.set_node(max, &[("age", Value::Integer(43))], Keep::Others)
        });
    };
    check(
        &of("operations: [DELETE, INSERT]"),
        others,
        expect![[r#"
        {"data":{"onUserChanged":{"operation":"INSERT","node":{"_key":"Eve","name":null,"age":20}}}}
        {"data":{"onUserChanged":{"operation":"DELETE","node":{"_key":"Eve","name":"Eva","age":21}}}}
    "#]],
    );
    check(
        &of("operations: UPDATE"),
        others,
        expect![[r#"
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","name":null,"age":21}}}}
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","name":"Eva","age":21}}}}
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Max","name":"max","age":43}}}}
    "#]],
    );
    check(&of("operations: []"), others, expect![[""]]);
    check(
        &of(r#"_key: "Max""#),
        others,
        expect![[r#"
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Max","name":"max","age":43}}}}
    "#]],
    );
    check(
        &of("_id: 1027"),
        others,
        expect![[r#"
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Max","name":"max","age":43}}}}
    "#]],
    );
    check(&of(r#"_id: 1027, _key: "Eve""#), others, expect![[""]]);
    check(
        &of("where: {age: {gt: 20}, name: {is_null: true}}"),
        others,
        expect![[r#"
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","name":null,"age":21}}}}
    "#]],
    );
    let ends = r#"subscription { onFRIENDChanged(where: {to: {_key: {eq: "Max"}}}) { operation } }"#;
    check(
        ends,
        others,
        expect![[r#"
        {"data":{"onFRIENDChanged":{"operation":"INSERT"}}}
        {"data":{"onFRIENDChanged":{"operation":"DELETE"}}}
    "#]],
    );
}

#[test]
fn each_follower_of_one_node_hears_of_it_alone_in_order() {
    let served = friends();
    let by_key = |key: &str| {
        served.subscribe(&format!(
            "subscription {{ onUserChanged(_key: \"{key}\") {{ operation node {{ _key age }} }} }}"
        ))
    };
    let mut eves = [by_key("Eve"), by_key("Eve")];
    let (mut max, mut nobody) = (by_key("Max"), by_key("Zoe"));
    let mut max_by_id =
        served.subscribe("subscription { onUserChanged(_id: 1027) { operation node { _key age } } }");
    let age = |write: &mut Write<'_>, key: &str, age| {
        let user = write.find("User", key).unwrap();
        write.set_node(user, &[("age", Value::Integer(age))], Keep::Others).unwrap();
    };
    served.write(|write| {
        write.create_node("User", "Eve", &[("age", Value::Integer(20))])?;
        age(write, "Max", 43);
        age(write, "Eve", 21);
        Ok(())
    });
    // What is told to all stands between.
    served.write(|write| {
        age(write, "Max", 44);
        write.declare(Side::Nodes, "User", "email", Kind::String)?;
        age(write, "Eve", 22);
        Ok(())
    });
    let [mut first, mut second] = eves;
    let of_eve = first.so_far(&served);
    expect![[r#"
        {"data":{"onUserChanged":{"operation":"INSERT","node":{"_key":"Eve","age":20}}}}
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","age":21}}}}
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","age":22}}}}
    "#]]
    .assert_eq(&of_eve);
    drop(first);
    served.write(|write| {
        age(write, "Eve", 23);
        Ok(())
    });
    let more =
        concat!(r#"{"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Eve","age":23}}}}"#, "\n");
    assert_eq!(second.so_far(&served), of_eve + more);
    eves = [by_key("Eve"), second];
    assert_eq!(eves[0].so_far(&served), "", "it came later");
    let of_max = max.so_far(&served);
    expect![[r#"
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Max","age":43}}}}
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"_key":"Max","age":44}}}}
    "#]]
    .assert_eq(&of_max);
    assert_eq!(max_by_id.so_far(&served), of_max);
    assert_eq!(nobody.so_far(&served), "");
    drop((eves, max, max_by_id, nobody));
    assert!(served.source.readers().are_idle());
}

#[test]
fn values_come_from_variables_too() {
    let served = friends();
    let text = "subscription ($key: String, $operations: [ChangeOperation!], $min: BigInt) { onUserChanged(_key: $key, operations: $operations, where: {age: {gte: $min}}) { operation node { age } } }";
    let variables = r#"{"key": "Eve", "operations": ["UPDATE"], "min": 21}"#;
    let mut subscribed =
        served.try_subscribe(&served.offered(), text, variables).unwrap_or_else(|_| panic!());
    changes(&served);
    expect![[r#"
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"age":21}}}}
        {"data":{"onUserChanged":{"operation":"UPDATE","node":{"age":21}}}}
    "#]]
    .assert_eq(&subscribed.so_far(&served));
    let refused = |text: &str| served.try_subscribe(&served.offered(), text, "{}").err().unwrap_or_default();
    expect![[r#"{"errors":[{"message":"`_id` of `onUserChanged` is not what any node or relationship has","locations":[{"line":1,"column":16}],"extensions":{"code":"BAD_USER_INPUT"}}]}"#]].assert_eq(&refused("subscription { onUserChanged(_id: -5) { operation } }"));
    expect![[r#"{"errors":[{"message":"`limit` is 1000000, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":39}],"extensions":{"code":"LIMIT_EXCEEDED"}}]}"#]].assert_eq(&refused(
        "subscription { onUserChanged { node { neighbors(limit: 1000000) { _key } } } }",
    ));
    expect![[r#"{"errors":[{"message":"anonymous subscription can only have one root field","locations":[{"line":1,"column":1}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}"#]].assert_eq(&refused("subscription { onUserChanged { operation } onLIKESChanged { operation } }"));
    let twice = "subscription { ...F onUserChanged { operation } } fragment F on Subscription { onUserChanged { node { age } } }";
    assert_eq!(refused(twice), "", "it is one field");
}

#[test]
fn a_deleted_node_has_no_neighbours_though_another_has_its_id() {
    check(
        "subscription { onUserChanged(operations: [DELETE]) { node { _id _key name degree neighbors { _key } friends: users_aggregate { count } } } }",
        |served| {
            served.write(|write| {
                let max = write.find("User", "Max").unwrap();
                write.delete_node(max)
            });
            served.write(|write| {
                // Keys until one falls on the place that has become free.
                for number in 0..100 {
                    let key = format!("other{number}");
                    let other = write.create_node("User", &key, &[])?;
                    let helene = write.find("User", "Helene").unwrap();
                    write.create_relationship("FRIEND", other, helene, &[])?;
                }
                Ok(())
            });
            let query = "{ graph_node(_id: 1027) { _key degree } }";
            expect![[r#"{"data":{"graph_node":{"_key":"other1","degree":1}}}"#]]
                .assert_eq(&served.answer(query, "{}"));
        },
        expect![[r#"
            {"data":{"onUserChanged":{"node":{"_id":1027,"_key":"Max","name":"max","degree":0,"neighbors":[],"friends":{"count":0}}}}}
        "#]],
    );
}

#[test]
fn a_deleted_relationship_has_no_end_that_went_with_it_though_another_has_its_id() {
    check(
        "subscription { onFRIENDChanged(operations: [DELETE]) { relationship { since from { _key } to { _key } node { _key } } } }",
        |served| {
            served.write(|write| {
                let max = write.find("User", "Max").unwrap();
                write.delete_node(max)
            });
            served.write(|write| {
                // Keys until one falls on the place that has become free.
                (0..100).try_for_each(|number| {
                    write.create_node("User", &format!("other{number}"), &[]).map(|_| ())
                })
            });
            expect![[r#"{"data":{"graph_node":{"_key":"other1"}}}"#]]
                .assert_eq(&served.answer("{ graph_node(_id: 1027) { _key } }", "{}"));
        },
        expect![[r#"
            {"data":{"onFRIENDChanged":{"relationship":{"since":2011,"from":null,"to":{"_key":"Helene"},"node":{"_key":"Helene"}}}}}
            {"data":{"onFRIENDChanged":{"relationship":{"since":2020,"from":{"_key":"Ada"},"to":null,"node":null}}}}
        "#]],
    );
}

/// The node was deleted in a later write than the relationship, and a subscriber that is slow was shown the node that has its id.
#[test]
fn an_end_that_went_in_a_later_write_is_null_though_another_has_its_id() {
    check(
        "subscription { onFRIENDChanged(where: {since: {eq: 1}}) { operation relationship { from { _key } to { _key } } } }",
        |served| {
            let made = served.write(|write| {
                let (max, bob) = (write.find("User", "Max").unwrap(), write.find("User", "Bob").unwrap());
                write.create_relationship("FRIEND", max, bob, &[("since", Value::Integer(1))])
            });
            served.write(|write| write.delete_relationship(made));
            served.write(|write| {
                let max = write.find("User", "Max").unwrap();
                write.delete_node(max)
            });
            served.write(|write| {
                (0..100).try_for_each(|number| {
                    write.create_node("User", &format!("other{number}"), &[]).map(drop)
                })
            });
        },
        expect![[r#"
            {"data":{"onFRIENDChanged":{"operation":"INSERT","relationship":{"from":null,"to":{"_key":"Bob"}}}}}
            {"data":{"onFRIENDChanged":{"operation":"DELETE","relationship":{"from":null,"to":{"_key":"Bob"}}}}}
        "#]],
    );
}

/// The filter looked at the node that has its id by then.
#[test]
fn a_filter_finds_no_end_that_went_with_its_relationship_though_another_has_its_id() {
    let reused = |served: &Served| {
        served.write(|write| {
            let max = write.find("User", "Max").unwrap();
            write.delete_node(max)
        });
        served.write(|write| {
            (0..100)
                .try_for_each(|number| write.create_node("User", &format!("other{number}"), &[]).map(drop))
        });
    };
    let of = |filter: &str| {
        format!(
            "subscription {{ onFRIENDChanged(operations: [DELETE], where: {filter}) {{ relationship {{ since }} }} }}"
        )
    };
    check(&of(r#"{from: {_key: {eq: "other1"}}}"#), reused, expect![[""]]);
    check(
        &of(r#"{to: {_key: {eq: "Helene"}}}"#),
        reused,
        expect![[r#"
            {"data":{"onFRIENDChanged":{"relationship":{"since":2011}}}}
        "#]],
    );
}

/// A node of more than 1,024 relationships goes before them, and they are told in other writes.
#[test]
fn the_relationships_of_a_hub_have_no_end_that_went_before_them_though_another_has_its_id() {
    let served = friends();
    let max = served.write(|write| {
        let (max, bob) = (write.find("User", "Max").unwrap(), write.find("User", "Bob").unwrap());
        (0..1100).try_for_each(|_| write.create_relationship("LIKED", max, bob, &[]).map(drop))?;
        Ok(max)
    });
    let of = |filter: &str| {
        let text = format!(
            "subscription {{ onLIKEDChanged(operations: [DELETE], where: {filter}) {{ relationship {{ to {{ _key }} from {{ _key }} }} }} }}"
        );
        served.subscribe(&text)
    };
    let mut by_from = of(r#"{from: {_key: {ne: ""}}}"#);
    let mut by_to = of(r#"{to: {_key: {ne: ""}}}"#);
    served.write(|write| write.delete_node(max));
    while !served.store.detached(max).is_over() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    served.write(|write| {
        (0..100).try_for_each(|number| write.create_node("User", &format!("other{number}"), &[]).map(drop))
    });
    assert_eq!(by_from.so_far(&served), "");
    let told = by_to.so_far(&served);
    let line = r#"{"data":{"onLIKEDChanged":{"relationship":{"to":{"_key":"Bob"},"from":null}}}}"#;
    assert!(told.lines().count() == 1100 && told.lines().all(|told| told == line), "{told:.300}");
}

#[test]
fn a_subscription_outlives_changes_of_types_that_leave_its_own() {
    let served = friends();
    let mut subscribed = served.subscribe("subscription { onUserChanged { operation node { _key age } } }");
    served.write(|write| {
        write.declare(Side::Nodes, "User", "email", Kind::String)?;
        write.create_node("User", "a", &[("age", Value::Integer(1)), ("email", Value::String("x".into()))])
    });
    served.write(|write| {
        write.undeclare(Side::Nodes, "User", "age")?;
        write.drop_type(Side::Relationships, "NEAR").ok();
        write.create_node("User", "b", &[])
    });
    expect![[r#"
        {"data":{"onUserChanged":{"operation":"INSERT","node":{"_key":"a","age":1}}}}
        {"data":{"onUserChanged":{"operation":"INSERT","node":{"_key":"b","age":null}}}}
    "#]]
    .assert_eq(&subscribed.so_far(&served));
}

#[test]
fn a_subscription_ends_with_its_type() {
    let ends = |change: fn(&mut Write<'_>)| {
        let served = friends();
        let mut subscribed =
            served.subscribe("subscription { onProductChanged { operation node { _key } } }");
        served.write(|write| {
            change(write);
            Ok(())
        });
        let last: Vec<String> = std::iter::from_fn(|| subscribed.next()).collect();
        last.join("\n")
    };
    expect![[r#"
        {"data":{"onProductChanged":{"operation":"DELETE","node":{"_key":"p1"}}}}
        {"data":{"onProductChanged":{"operation":"DELETE","node":{"_key":"p2"}}}}
        {"data":{"onProductChanged":{"operation":"DELETE","node":{"_key":"p3"}}}}
        {"data":null,"errors":[{"message":"the type `Product` is gone from the graph","locations":[{"line":1,"column":16}],"path":["onProductChanged"],"extensions":{"code":"SUBSCRIPTION_ENDED"}}]}"#]].assert_eq(&ends(|write| {
        for key in ["p1", "p2", "p3"] {
            let product = write.find("Product", key).unwrap();
            write.delete_node(product).unwrap();
        }
        write.drop_type(Side::Nodes, "Product").unwrap();
        // Whoever reads later finds a type of this name.
        write.make_type(Side::Nodes, "Product").unwrap();
        write.create_node("Product", "new", &[]).unwrap();
    }));
    expect![[r#"{"data":null,"errors":[{"message":"the graph was cleared: nothing is left of it","locations":[{"line":1,"column":16}],"path":["onProductChanged"],"extensions":{"code":"SUBSCRIPTION_ENDED"}}]}"#]].assert_eq(&ends(|write| {
        write.clear();
        write.create_node("Product", "new", &[]).unwrap();
    }));
}

#[test]
fn who_falls_behind_is_told_how_much_is_lost_and_goes_on() {
    let served = friends();
    let mut subscribed = served.subscribe("subscription { onUserChanged { node { _key } } }");
    served.write(|write| {
        for number in 0..(1 << 16) + 2 {
            write.create_node("User", &format!("n{number}"), &[])?;
        }
        Ok(())
    });
    expect![[r#"
        {"data":null,"errors":[{"message":"65536 changes are lost: they came faster than they could be told; ask for the state anew","locations":[{"line":1,"column":16}],"path":["onUserChanged"],"extensions":{"code":"EVENTS_LOST"}}]}
        {"data":{"onUserChanged":{"node":{"_key":"n65536"}}}}
        {"data":{"onUserChanged":{"node":{"_key":"n65537"}}}}
    "#]].assert_eq(&subscribed.so_far(&served));
}

#[test]
fn nobody_is_told_when_nobody_listens() {
    let served = friends();
    let text = "subscription { onUserChanged { node { _key } } }";
    let (mut first, second) = (served.subscribe(text), served.subscribe(text));
    drop(second);
    changes(&served);
    // All is told by then: who comes later hears nothing of it.
    assert!(first.so_far(&served).contains("Eve"));
    drop(first);
    assert!(served.source.readers().are_idle());
    let mut later = served.subscribe(text);
    served.write(|write| write.create_node("User", "Zoe", &[]));
    expect![[r#"
        {"data":{"onUserChanged":{"node":{"_key":"Zoe"}}}}
    "#]]
    .assert_eq(&later.so_far(&served));
}
