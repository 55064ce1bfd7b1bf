//! What goes wrong while functions run: errors, nulls, panics, waiting for ever, and values that do not fit.

use std::sync::Arc;

use expect_test::expect;
use futures_util::StreamExt as _;
use prony_resolvers::{Error, Events, Schema, outputs};
use serde::{Serialize, Serializer};

use crate::support::{ask, check, on_clock, pretty, shop, subscribe};

#[derive(Debug, Clone, Serialize)]
struct Shelf {
    name: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct Book {
    title: String,
}

/// One that cannot be written where it is `!`.
#[derive(Debug, Clone)]
struct Sound(&'static str);

impl Serialize for Sound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(self.0 != "!", "too loud");
        serde_json::json!({ "text": self.0 }).serialize(serializer)
    }
}

outputs!(Shelf, Book, Sound);

#[test]
fn a_subscription_goes_on_behind_an_event_that_panics() {
    const SDL: &str = "type Query { a: Int } type Subscription { sound: Sound } type Sound { text: String }";
    let events = Arc::new(Events::<(), Sound>::default());
    let resolvers = Schema::sharing(SDL, Arc::clone(&events))
        .field("Query.a", |_: &Events<(), Sound>, (): ()| 1_i32)
        .event_field("Subscription.sound", |events: &Events<(), Sound>, (): ()| events.subscribe(()))
        .build()
        .unwrap_or_else(|faults| panic!("{faults}"));
    let heard = on_clock(async {
        let heard = subscribe(&resolvers, "subscription { sound { text } }");
        events.publish(&(), Sound("!"));
        events.publish(&(), Sound("a whisper"));
        heard.take(2).collect::<Vec<_>>().await
    });
    assert_eq!(heard[0].data.as_deref(), Some(&b"null"[..]));
    assert_eq!(heard[0].errors[0].message, "the field could not be answered");
    assert_eq!(heard[1].data.as_deref(), Some(&br#"{"text":"a whisper"}"#[..]));
}

/// The books of the next shelf had what functions said of those that were not written.
#[test]
fn a_list_that_ends_with_an_error_leaves_the_next_ones_their_answers() {
    const SDL: &str =
        "type Query { shelves: [Shelf!]! stacks: [[Book!]]! } type Shelf { name: String!, books: [Book!] }
                       type Book { title: String!, isbn: String! }";
    let books = |name: &str| [1, 2, 3].map(|number| Book { title: format!("{name}{number}") }).to_vec();
    let resolvers = Schema::sharing(SDL, Arc::new(()))
        .field("Query.shelves", |(): &(), (): ()| vec![Shelf { name: "a" }, Shelf { name: "b" }])
        .field("Query.stacks", move |(): &(), (): ()| vec![Some(books("a")), None, Some(books("b"))])
        .batch_field("Shelf.books", move |(): &(), shelves: &[&Shelf], (): ()| {
            shelves.iter().map(|shelf| books(shelf.name)).collect::<Vec<_>>()
        })
        .field("Book.isbn", |(): &(), book: &Book, (): ()| {
            if book.title == "a1" { Err(Error::new("none")) } else { Ok(format!("isbn of {}", book.title)) }
        })
        .build()
        .unwrap_or_else(|faults| panic!("{faults}"));
    let query = "{ shelves { name books { title isbn } } stacks { title isbn } }";
    expect![[r#"
        {"shelves":[{"name":"a","books":null},{"name":"b","books":[{"title":"b1","isbn":"isbn of b1"},{"title":"b2","isbn":"isbn of b2"},{"title":"b3","isbn":"isbn of b3"}]}],"stacks":[null,null,[{"title":"b1","isbn":"isbn of b1"},{"title":"b2","isbn":"isbn of b2"},{"title":"b3","isbn":"isbn of b3"}]]}
        none at ["shelves",0,"books",0,"isbn"] {"code":"SOURCE_FAILED"}
        none at ["stacks",0,0,"isbn"] {"code":"SOURCE_FAILED"}
    "#]]
    .assert_eq(&pretty(on_clock(ask(&resolvers, query, "{}"))));
}

#[test]
fn errors_carry_their_extensions_and_paths() {
    check(
        r#"{ trouble(kind: "error") { id } b: trouble(kind: "?") { id } }"#,
        "{}",
        &expect![[r#"
        {"trouble":null,"b":null}
        sold out at ["trouble"] {"code":"SOLD_OUT","left":0}
        no such trouble: ? at ["b"] {"code":"SOURCE_FAILED"}
    "#]],
    );
    check(
        "{ artists { name rating } }",
        "{}",
        &expect![[r#"
        {"artists":[{"name":"Queen","rating":1.0},{"name":"Nina","rating":2.0},{"name":"Grün","rating":null}]}
        not rated at ["artists",2,"rating"] {"code":"SOURCE_FAILED"}
    "#]],
    );
}

#[test]
fn errors_of_other_kinds_are_masked() {
    check(
        r#"{ trouble(kind: "io") { id } }"#,
        "{}",
        &expect![[r#"
        {"trouble":null}
        the field could not be answered at ["trouble"] {"code":"SOURCE_FAILED","detail":"No such file or directory (os error 2)"}
    "#]],
    );
}

#[test]
fn panics_are_masked() {
    check(
        r#"{ trouble(kind: "panic") { id } fine: trouble(kind: "fine") { id } }"#,
        "{}",
        &expect![[r#"
        {"trouble":null,"fine":{"id":1}}
        the field could not be answered at ["trouble"] {"code":"SOURCE_FAILED","detail":"a function panicked: the roof is on fire"}
    "#]],
    );
    check(
        "{ slow(ms: 13) }",
        "{}",
        &expect![[r#"
        {"slow":null}
        the field could not be answered at ["slow"] {"code":"SOURCE_FAILED","detail":"a function panicked: bad luck"}
    "#]],
    );
}

#[test]
fn hanging_functions_are_given_up() {
    check(
        "{ slow(ms: 100) b: slow(ms: 100000) }",
        "{}",
        &expect![[r#"
        {"slow":"100 ms","b":null}
        the field was not answered within 200 ms at ["b"] {"code":"TIMEOUT"}
    "#]],
    );
}

#[test]
fn nulls_rise_to_the_nearest_place_for_them() {
    check(
        r#"{ a: trouble(kind: "missing") { id text } b: trouble(kind: "inner") { text inner { id } } c: trouble(kind: "missing") { id } many { id text } manyStrict { id } }"#,
        "{}",
        &expect![[r#"
            {"a":null,"b":{"text":"a","inner":null},"c":{"id":1},"many":[{"id":1,"text":"a"},{"id":null,"text":"a"},null,null,null],"manyStrict":null}
            the field could not be answered at ["a","text"] {"code":"SOURCE_FAILED","detail":"the object of Trouble has no member text"}
            the field could not be answered at ["b","inner","id"] {"code":"SOURCE_FAILED","detail":"the object of Strict has no member id"}
            the field could not be answered at ["many",1,"id"] {"code":"SOURCE_FAILED","detail":"expected an Int, found the text \"five\""}
            the field could not be answered at ["many",3,"text"] {"code":"SOURCE_FAILED","detail":"the object of Trouble has no member text"}
            sold out at ["many",4] {"code":"SOLD_OUT","left":0}
            the field could not be answered at ["manyStrict",1] {"code":"SOURCE_FAILED","detail":"the schema allows no null here"}
        "#]],
    );
    check(
        r#"{ artist(id: "1") { name } strict(kind: "missing") { id text } }"#,
        "{}",
        &expect![[r#"
        {"artist":{"name":"Queen"},"strict":{"id":1,"text":null}}
    "#]],
    );
    check(
        r#"{ artist(id: "1") { name } strict(kind: "wrong") { id text } }"#,
        "{}",
        &expect![[r#"
            null
            the field could not be answered at ["strict","id"] {"code":"SOURCE_FAILED","detail":"expected an Int, found the text \"five\""}
        "#]],
    );
    check(
        r#"{ strict(kind: "nothing") { id } }"#,
        "{}",
        &expect![[r#"
        null
        nothing there at ["strict"] {"code":"SOURCE_FAILED"}
    "#]],
    );
}

#[test]
fn values_that_do_not_fit_are_refused() {
    check(
        r#"{ a: trouble(kind: "wrong") { id text } b: trouble(kind: "wrong text") { id text } c: trouble(kind: "big") { id } d: trouble(kind: "scalar") { id } }"#,
        "{}",
        &expect![[r#"
            {"a":{"id":null,"text":"a"},"b":null,"c":{"id":null},"d":null}
            the field could not be answered at ["a","id"] {"code":"SOURCE_FAILED","detail":"expected an Int, found the text \"five\""}
            the field could not be answered at ["b","text"] {"code":"SOURCE_FAILED","detail":"expected a String, found a list"}
            the field could not be answered at ["c","id"] {"code":"SOURCE_FAILED","detail":"expected an Int, found 3000000000"}
            the field could not be answered at ["d"] {"code":"SOURCE_FAILED","detail":"expected an object of Trouble, found 5"}
        "#]],
    );
}

/// The null stood where the schema allows none, and the next directive was asked to change it.
#[test]
fn a_directive_that_gives_null_is_held_against_the_schema() {
    const SDL: &str = "directive @hide repeatable on FIELD
                       type Query { strict: [String!], free: [String] }";
    let resolvers = Schema::new(SDL, ())
        .field("Query.strict", |(): &(), (): ()| vec!["a".to_owned()])
        .field("Query.free", |(): &(), (): ()| vec!["a".to_owned()])
        .directive("@hide", |_: String, (): ()| None::<String>)
        .build()
        .unwrap_or_else(|faults| panic!("{faults}"));
    let body = on_clock(ask(&resolvers, "{ strict @hide free @hide @hide }", "{}"));
    expect![[r#"
        {"strict":null,"free":[null]}
        the field could not be answered at ["strict",0] {"code":"SOURCE_FAILED","detail":"the schema allows no null here"}
    "#]]
    .assert_eq(&pretty(body));
}

#[test]
fn an_early_member_that_fails_leaves_nothing_behind() {
    let (_, resolvers) = shop();
    let query =
        r#"{ a: trouble(kind: "wrong") { text id } b: trouble(kind: "fine") { inner { id } text id } }"#;
    let body = on_clock(ask(&resolvers, query, "{}"));
    expect![[r#"
        {"a":{"text":"a","id":null},"b":{"inner":{"id":2},"text":"a","id":1}}
        the field could not be answered at ["a","id"] {"code":"SOURCE_FAILED","detail":"expected an Int, found the text \"five\""}
    "#]].assert_eq(&pretty(body));
}
