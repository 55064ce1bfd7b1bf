//! Answers of functions that do what they should.

use std::{
    fmt::Write as _,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use expect_test::expect;
use futures_util::StreamExt as _;
use prony_resolvers::{Concrete, Output, Schema, outputs};
use serde::Serialize;

use crate::support::{ask, check, on_clock, pretty, shop, subscribe};

#[test]
fn members_come_in_the_order_of_the_selection() {
    check(
        r#"{ artist(id: "1") { name id __typename genre n: name since address { lines street } } }"#,
        "{}",
        &expect![[r#"
            {"artist":{"name":"Queen","id":"1","__typename":"Artist","genre":"ROCK","n":"Queen","since":{"year":1971},"address":{"lines":["1st",null],"street":"Queen Lane"}}}
        "#]],
    );
    check(
        r#"{ artist(id: "9") { name } a: artist(id: 2) { address { street } } }"#,
        "{}",
        &expect![[r#"
        {"artist":null,"a":{"address":null}}
    "#]],
    );
}

#[test]
fn singles_have_their_own_digits() {
    let resolvers = Schema::new("type Query { a: Float, b: [Float!] }", ())
        .field("Query.a", |(): &(), (): ()| 0.1_f32)
        .field("Query.b", |(): &(), (): ()| vec![16.4_f32, -2.5e-9, 3.0])
        .build()
        .unwrap_or_else(|faults| panic!("{faults}"));
    let body = on_clock(ask(&resolvers, "{ a b }", "{}"));
    assert_eq!(pretty(body), "{\"a\":0.1,\"b\":[16.4,-2.5e-9,3.0]}\n");
}

#[test]
fn arguments_come_from_literals_variables_and_defaults() {
    check(
        "query($first: Int, $genres: [Genre!]) { artists(first: $first, genres: $genres) { name } b: artists(genres: JAZZ) { name } }",
        r#"{"first": 1, "genres": ["JAZZ", "ROCK"]}"#,
        &expect![[r#"
            {"artists":[{"name":"Queen"}],"b":[{"name":"Nina"}]}
        "#]],
    );
    check(
        r#"query($filter: Filter, $after: ID) { page(filter: $filter) b: page(filter: {text: "x", page: {after: $after}}) c: page }"#,
        r#"{"filter": {"genres": ["JAZZ"], "page": {"size": 2}}, "after": 7}"#,
        &expect![[r#"
            {"page":"Some(Filter { text: None, genres: [Jazz], page: Some(Page { size: 2, after: None }) })","b":"Some(Filter { text: Some(\"x\"), genres: [Rock], page: Some(Page { size: 5, after: Some(\"7\") }) })","c":"None"}
        "#]],
    );
}

#[test]
fn a_batch_function_is_called_once_for_a_level() {
    let (shop, resolvers) = shop();
    let query =
        r#"{ artists { name records { name year } found: records(search: "J") { name } company { name } } }"#;
    let body = on_clock(ask(&resolvers, query, "{}"));
    expect![[r#"
        {"artists":[{"name":"Queen","records":[{"name":"Jazz","year":1978},{"name":"Innuendo","year":null}],"found":[{"name":"Jazz"}],"company":{"name":"Queen Ltd"}},{"name":"Nina","records":[{"name":"Pastel","year":1966}],"found":[],"company":{"name":"Nina Ltd"}},{"name":"Grün","records":[],"found":[],"company":null}]}
    "#]].assert_eq(&pretty(body));
    assert_eq!(shop.batches.load(Ordering::Relaxed), 3, "two selections of records and one of companies");
}

#[test]
fn functions_below_functions_wait_together() {
    check(
        r#"{ artists(first: 2) { name rating(scale: 10) records { name artist { id company { name } records { year } } } } }"#,
        "{}",
        &expect![[r#"
            {"artists":[{"name":"Queen","rating":10.0,"records":[{"name":"Jazz","artist":{"id":"1","company":{"name":"Queen Ltd"},"records":[{"year":1978},{"year":null}]}},{"name":"Innuendo","artist":{"id":"1","company":{"name":"Queen Ltd"},"records":[{"year":1978},{"year":null}]}}]},{"name":"Nina","rating":20.0,"records":[{"name":"Pastel","artist":{"id":"2","company":{"name":"Nina Ltd"},"records":[{"year":1966}]}}]}]}
        "#]],
    );
}

#[derive(Debug, Clone, Default, Serialize)]
struct Sloth {}
#[derive(Debug, Clone, Default, Serialize)]
struct Snail {}
outputs!(Sloth, Snail);

#[derive(Debug, Serialize)]
enum Slow {
    Sloth(Sloth),
    Snail(Snail),
}

impl Output for Slow {
    const NAME: &'static str = "Slow";

    fn concrete(&self) -> &dyn Concrete {
        match self {
            Self::Sloth(sloth) => sloth,
            Self::Snail(snail) => snail,
        }
    }
}

#[test]
fn functions_of_different_types_wait_together() {
    let sdl = "type Query { all: [Slow!]! } union Slow = Sloth | Snail type Sloth { legs: Int! } type Snail { legs: Int! }";
    let wait = || tokio::time::sleep(Duration::from_millis(100));
    let resolvers = Schema::new(sdl, ())
        .field("Query.all", |(): &(), (): ()| vec![Slow::Sloth(Sloth {}), Slow::Snail(Snail {})])
        .async_field("Sloth.legs", move |_: Arc<()>, _: Sloth, (): ()| async move {
            wait().await;
            4_i32
        })
        .async_field("Snail.legs", move |_: Arc<()>, _: Snail, (): ()| async move {
            wait().await;
            0_i32
        })
        .build()
        .unwrap_or_else(|faults| panic!("{faults}"));
    let (body, took) = on_clock(async {
        let begun = tokio::time::Instant::now();
        let body = ask(&resolvers, "{ all { ... on Sloth { legs } ... on Snail { legs } } }", "{}").await;
        (body, begun.elapsed())
    });
    assert_eq!(pretty(body), "{\"all\":[{\"legs\":4},{\"legs\":0}]}\n");
    assert!(took < Duration::from_millis(150), "{took:?}");
}

/// All conditions of fragments within fragments must hold.
#[test]
fn fragments_within_fragments_are_of_the_objects_of_all_their_types() {
    let sdl = "type Query { all: [Slow!]! } union Slow = Sloth | Snail
        interface Legged { legs: Int! } interface Shelled { shell: Int! }
        type Sloth implements Legged { legs: Int! } type Snail implements Legged & Shelled { legs: Int! shell: Int! }";
    let resolvers = Schema::new(sdl, ())
        .field("Query.all", |(): &(), (): ()| vec![Slow::Sloth(Sloth {}), Slow::Snail(Snail {})])
        .field("Sloth.legs", |(): &(), _: &Sloth, (): ()| 4_i32)
        .field("Snail.legs", |(): &(), _: &Snail, (): ()| 0_i32)
        .field("Snail.shell", |(): &(), _: &Snail, (): ()| 1_i32)
        .build()
        .unwrap_or_else(|faults| panic!("{faults}"));
    for (query, expected) in [
        ("{ all { ... on Shelled { ... on Legged { legs } } } }", r#"[{},{"legs":0}]"#),
        ("{ all { ... on Shelled { ... on Slow { ... on Legged { legs } } } } }", r#"[{},{"legs":0}]"#),
        (
            "{ all { ... on Legged { ... on Sloth { legs } ... on Slow { ... on Shelled { shell } } } } }",
            r#"[{"legs":4},{"shell":1}]"#,
        ),
    ] {
        let body = on_clock(ask(&resolvers, query, "{}"));
        assert_eq!(pretty(body), format!("{{\"all\":{expected}}}\n"), "{query}");
    }
}

#[test]
fn interfaces_and_unions_are_told_apart() {
    check(
        r#"{ search(text: "n") { __typename ... on Named { name } ... on Record { year artist { name } } ... on Artist { id name records { name } } }
             named(text: "Pa") { name ... on Record { year } } none: named(text: "zzz") { name } }"#,
        "{}",
        &expect![[r#"
            {"search":[{"__typename":"Artist","name":"Queen","id":"1","records":[{"name":"Jazz"},{"name":"Innuendo"}]},{"__typename":"Artist","name":"Nina","id":"2","records":[{"name":"Pastel"}]},{"__typename":"Artist","name":"Grün","id":"3","records":[]},{"__typename":"Record","name":"Innuendo","year":null,"artist":{"name":"Queen"}}],"named":{"name":"Pastel","year":1966},"none":null}
        "#]],
    );
}

#[test]
fn directives_change_values() {
    check(
        r#"query($at: Int!) { artist(id: "1") { name @toUpper a: name @cut(at: $at) b: name @cut @toUpper shout
             address { lines @toUpper street @cut(at: 1) } } artists { shout name @include(if: false) } }"#,
        r#"{"at": 2}"#,
        &expect![[r#"
            {"artist":{"name":"QUEEN","a":"Qu","b":"QUE","shout":"THE \"QUEEN\"","address":{"lines":["1ST",null],"street":"Q"}},"artists":[{"shout":"THE \"QUEEN\""},{"shout":"THE \"NINA\""},{"shout":null}]}
        "#]],
    );
    check(
        r#"{ artist(id: "1") @toUpper { name } }"#,
        "{}",
        &expect![[r#"
        @toUpper applies to values, not to objects; put it on their fields {"code":"GRAPHQL_VALIDATION_FAILED"}
    "#]],
    );
    check(
        r#"{ artist(id: "1") { address { street } since @toUpper } }"#,
        "{}",
        &expect![[r#"
        {"artist":{"address":{"street":"Queen Lane"},"since":null}}
        @toUpper does not fit the field's value: invalid type: map, expected a string at ["artist","since"] {"code":"BAD_USER_INPUT"}
    "#]],
    );
}

#[test]
fn mutations_run_one_after_the_other() {
    check(
        r#"mutation { a: rename(id: "1", name: "Kween") { name records { name } } b: rename(id: "1", name: "Q") { name } c: rename(id: "7", name: "") { name } }"#,
        "{}",
        &expect![[r#"
            {"a":{"name":"Kween","records":[{"name":"Jazz"},{"name":"Innuendo"}]},"b":{"name":"Q"},"c":null}
        "#]],
    );
}

#[test]
fn the_schema_keeps_its_descriptions() {
    check(
        r#"{ __type(name: "Artist") { interfaces { name } fields { name description } } __schema { directives { name isRepeatable } } }"#,
        "{}",
        &expect![[r#"
            {"__type":{"interfaces":[{"name":"Named"}],"fields":[{"name":"id","description":null},{"name":"name","description":null},{"name":"genre","description":null},{"name":"shout","description":"As on the cover."},{"name":"since","description":null},{"name":"address","description":null},{"name":"records","description":null},{"name":"company","description":null},{"name":"rating","description":null}]},"__schema":{"directives":[{"name":"skip","isRepeatable":false},{"name":"include","isRepeatable":false},{"name":"deprecated","isRepeatable":false},{"name":"specifiedBy","isRepeatable":false},{"name":"toUpper","isRepeatable":false},{"name":"cut","isRepeatable":true}]}}
        "#]],
    );
}

#[test]
fn events_are_answered_with_what_the_subscription_selects() {
    let (_, resolvers) = shop();
    let heard = on_clock(async {
        let mut events = subscribe(
            &resolvers,
            "subscription { renamed { name @toUpper records { name } company { name } } }",
        );
        for name in ["Kween", "Q"] {
            let query = format!(r#"mutation {{ rename(id: "1", name: "{name}") {{ id }} }}"#);
            ask(&resolvers, &query, "{}").await;
        }
        let mut heard = String::new();
        for _ in 0..2 {
            let event = events.next().await.expect("there are two");
            let _ = writeln!(heard, "{}", String::from_utf8_lossy(&event.data.expect("it is fine")));
        }
        heard
    });
    expect![[r#"
        {"name":"KWEEN","records":[{"name":"Jazz"},{"name":"Innuendo"}],"company":{"name":"Kween Ltd"}}
        {"name":"Q","records":[{"name":"Jazz"},{"name":"Innuendo"}],"company":{"name":"Q Ltd"}}
    "#]]
    .assert_eq(&heard);
    check(
        "subscription { a: renamed { name } }",
        "{}",
        &expect![[r#"
        {"a":null}
        a has events, and no single answer {"code":"GRAPHQL_VALIDATION_FAILED"}
    "#]],
    );
}
