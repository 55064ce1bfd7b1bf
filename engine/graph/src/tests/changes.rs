//! Types and properties that change while requests are answered.

use expect_test::expect;
use futures_util::poll;
use prony_graph_store::{Kind, Side, Value};
use prony_source::Source as _;

use crate::tests::harness::friends;

#[test]
fn a_request_is_answered_by_the_schema_that_it_began_with() {
    let served = friends();
    let before = served.offered();
    let query =
        r#"{ users(sort: {_key: asc}) { _key age } graph_nodes(where: {_key: {gt: "p2"}}) { _type _key } }"#;
    served.write(|write| {
        write.undeclare(Side::Nodes, "User", "age")?;
        write.declare(Side::Nodes, "User", "age", Kind::String)?;
        write.make_type(Side::Nodes, "Shop")?;
        let shop = write.create_node("Shop", "z", &[])?;
        let max = write.find("User", "Max").unwrap();
        write.set_node(max, &[("age", Value::String("old".into()))], prony_graph_store::Keep::Others)?;
        write.create_relationship("NEAR", max, shop, &[])?;
        Ok(())
    });
    // What the schema does not know is not there, and a value of another kind is none.
    expect![[r#"{"data":{"users":[{"_key":"Ada","age":null},{"_key":"Bob","age":null},{"_key":"Helene","age":null},{"_key":"Max","age":null}],"graph_nodes":[{"_type":"Product","_key":"p3"}]}}"#]].assert_eq(&served.answer_by(&before, query, "{}"));
    let around = r#"{ user(_key: "Max") { neighbors { _type } relationships { _type } } }"#;
    expect![[r#"{"data":{"user":{"neighbors":[{"_type":"User"},{"_type":"Product"},{"_type":"User"}],"relationships":[{"_type":"FRIEND"},{"_type":"LIKES"},{"_type":"FRIEND"}]}}}"#]].assert_eq(&served.answer_by(&before, around, "{}"));
    expect![[r#"{"data":{"users":[{"_key":"Ada","age":null},{"_key":"Bob","age":null},{"_key":"Helene","age":null},{"_key":"Max","age":"old"}],"graph_nodes":[{"_type":"Product","_key":"p3"},{"_type":"Shop","_key":"z"}]}}"#]].assert_eq(&served.answer(query, "{}"));
    expect![[r#"{"data":{"user":{"neighbors":[{"_type":"User"},{"_type":"Product"},{"_type":"Shop"},{"_type":"User"}],"relationships":[{"_type":"FRIEND"},{"_type":"LIKES"},{"_type":"NEAR"},{"_type":"FRIEND"}]}}}"#]].assert_eq(&served.answer(around, "{}"));
}

#[test]
fn a_graph_that_was_emptied_answers_with_nothing() {
    let served = friends();
    let before = served.offered();
    served.write(|write| {
        write.clear();
        write.make_type(Side::Nodes, "Product")?;
        write.create_node("Product", "first", &[])
    });
    let query =
        r#"{ users { _key } products { _key name } user(_key: "Max") { _key } users_aggregate { count } }"#;
    expect![[r#"{"data":{"users":[],"products":[{"_key":"first","name":null}],"user":null,"users_aggregate":{"count":0}}}"#]].assert_eq(&served.answer_by(&before, query, "{}"));
    let mutation = r#"mutation { updateUser(pk_columns: {_id: 1027}, age: 1) { result } }"#;
    expect![[r#"{"data":{"updateUser":{"result":false}}}"#]]
        .assert_eq(&served.answer_by(&before, mutation, "{}"));
}

#[test]
fn a_change_of_types_is_told_and_other_writes_are_not() {
    let served = friends();
    let _ = served.offered();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        served.write(|write| write.create_node("User", "Eve", &[]));
        let changed = served.source.changed();
        tokio::pin!(changed);
        assert!(poll!(changed.as_mut()).is_pending(), "no type was changed");
        served.write(|write| write.declare(Side::Nodes, "User", "email", Kind::String));
        changed.await;
        let _ = served.offered();
        let changed = served.source.changed();
        tokio::pin!(changed);
        assert!(poll!(changed).is_pending(), "that was told already");
    });
}
