//! Functions that panic, hang and answer nonsense, over the wire: the request gets an error, and everybody else their
//! answers.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use expect_test::expect;
use prony_server::{
    config::{CoreChoice, Settings},
    outputs,
    resolvers::{Error, Events, Resolvers, Schema},
};
use serde::{Serialize, Serializer};
use tokio::sync::Notify;

use crate::support::{PATIENCE, Server, query};

const SDL: &str = "
    type Query {
        fine: Int!
        panics: Int
        wrong: [Wrong]
        never: Int
        gate: Int
        secret: Int
    }
    type Mutation { open: Int! break: Int! }
    type Subscription { broken: Broken! }
    type Wrong { number: Int! word: Word }
    type Broken { id: Int! }
    enum Word { YES NO }";

/// After which functions are given up.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Troubles {
    gate: Notify,
    broken: Events<(), Broken>,
}

/// Serde's view of it differs from the schema, in ways that no check at the start can see.
#[derive(Clone, Serialize)]
struct Wrong {
    number: serde_json::Value,
    word: &'static str,
}

#[derive(Clone)]
struct Broken;

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("it cannot be written")
    }
}

outputs!(Wrong, Broken);

fn functions(timeout: Duration) -> Resolvers {
    let wrong = |number: serde_json::Value, word| Some(Wrong { number, word });
    Schema::new(SDL, Troubles::default())
        .function_timeout(timeout)
        .field("Query.fine", |_: &Troubles, (): ()| 1)
        .field("Query.panics", |_: &Troubles, (): ()| -> Option<i32> { panic!("the roof is on fire") })
        .field("Query.wrong", move |_: &Troubles, (): ()| {
            let numbers = [7.into(), "seven".into(), serde_json::Value::Null, 1e10.into(), vec![1].into()];
            let words = ["MAYBE", "YES", "NO", "YES", "NO"];
            numbers.into_iter().zip(words).map(|(number, word)| wrong(number, word)).collect::<Vec<_>>()
        })
        .async_field("Query.never", |_: Arc<Troubles>, (): ()| std::future::pending::<i32>())
        .async_field("Query.gate", |troubles: Arc<Troubles>, (): ()| async move {
            troubles.gate.notified().await;
            2
        })
        .field("Query.secret", |_: &Troubles, (): ()| -> Result<i32, Error> {
            Err(std::io::Error::other("password `hunter2` was refused"))?
        })
        .field("Mutation.open", |troubles: &Troubles, (): ()| {
            troubles.gate.notify_waiters();
            1
        })
        .field("Mutation.break", |troubles: &Troubles, (): ()| {
            i32::try_from(troubles.broken.publish(&(), Broken)).expect("they are few")
        })
        .event_field("Subscription.broken", |troubles: &Troubles, (): ()| troubles.broken.subscribe(()))
        .build()
        .expect("no check at the start can see its troubles")
}

/// One core, so that whatever holds it up is seen.
pub(crate) fn server(timeout: Duration, change: impl FnOnce(&mut Settings)) -> Server {
    Server::functions(functions(timeout), |settings| {
        settings.cores = CoreChoice::Count(1);
        change(settings);
    })
}

/// The body without the references to the log, which differ each time.
fn body(response: &str) -> String {
    let mut body = response.trim_end().lines().last().expect("there is one").to_owned();
    while let Some(from) = body.find(r#","reference":""#) {
        let length = body[from + 14..].find('"').expect("a text ends") + 15;
        body.replace_range(from..from + length, "");
    }
    body
}

#[test]
fn functions_that_fail_spoil_their_own_fields() {
    let server = server(SHORT, |_| {});
    let mut table = String::new();
    for text in ["{ fine panics }", "{ wrong { number word } fine }", "{ never fine }", "{ secret fine }"] {
        let answer = body(&server.ask(query(text))).replace("}},{", "}},\n   {");
        let _ = writeln!(table, "{text}\n  {answer}");
    }
    expect![[r#"
        { fine panics }
          {"data":{"fine":1,"panics":null},"errors":[{"message":"the field could not be answered","locations":[{"line":1,"column":8}],"path":["panics"],"extensions":{"code":"SOURCE_FAILED"}}]}
        { wrong { number word } fine }
          {"data":{"wrong":[{"number":7,"word":null},null,null,null,null],"fine":1},"errors":[{"message":"the field could not be answered","locations":[{"line":1,"column":18}],"path":["wrong",0,"word"],"extensions":{"code":"SOURCE_FAILED"}},
           {"message":"the field could not be answered","locations":[{"line":1,"column":11}],"path":["wrong",1,"number"],"extensions":{"code":"SOURCE_FAILED"}},
           {"message":"the field could not be answered","locations":[{"line":1,"column":11}],"path":["wrong",2,"number"],"extensions":{"code":"SOURCE_FAILED"}},
           {"message":"the field could not be answered","locations":[{"line":1,"column":11}],"path":["wrong",3,"number"],"extensions":{"code":"SOURCE_FAILED"}},
           {"message":"the field could not be answered","locations":[{"line":1,"column":11}],"path":["wrong",4,"number"],"extensions":{"code":"SOURCE_FAILED"}}]}
        { never fine }
          {"data":{"never":null,"fine":1},"errors":[{"message":"the field was not answered within 50 ms","locations":[{"line":1,"column":3}],"path":["never"],"extensions":{"code":"TIMEOUT"}}]}
        { secret fine }
          {"data":{"secret":null,"fine":1},"errors":[{"message":"the field could not be answered","locations":[{"line":1,"column":3}],"path":["secret"],"extensions":{"code":"SOURCE_FAILED"}}]}
    "#]].assert_eq(&table);
}

#[test]
fn the_log_alone_has_what_a_masked_error_was() {
    let hidden = server(SHORT, |_| {}).ask(query("{ secret panics }"));
    assert!(!hidden.contains("hunter2") && !hidden.contains("roof"), "{hidden}");
    assert_eq!(hidden.matches(r#""reference":""#).count(), 2, "{hidden}");
    let shown =
        server(SHORT, |settings| settings.expose_database_errors = true).ask(query("{ secret panics }"));
    assert!(shown.contains("hunter2") && shown.contains("the roof is on fire"), "{shown}");
}

#[test]
fn functions_that_wait_hold_nobody_up() {
    let server = server(PATIENCE, |_| {});
    let mut waiting: Vec<_> = (0..100).map(|_| server.connect()).collect();
    for wire in &mut waiting {
        wire.send(query("{ gate }"));
    }
    // The one that asks for it is in flight too.
    server.until_metric("prony_requests_in_flight", 101);
    for _ in 0..100 {
        assert!(server.ask(query("{ fine }")).ends_with("{\"data\":{\"fine\":1}}\n"));
    }
    server.ask(query("mutation { open }"));
    for wire in &mut waiting {
        assert!(wire.response().ends_with("{\"data\":{\"gate\":2}}\n"));
    }
}
