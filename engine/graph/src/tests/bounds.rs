//! Answers that are long: made on another thread, within bounds of time and bytes, and dropped when nobody waits.

use std::time::Duration;

use expect_test::expect;
use futures_util::FutureExt as _;
use prony_graph_store::{Kind, Side, Value};

use crate::tests::harness::Served;
use prony_source::{CommonSettings, Source as _};

/// More than a core looks at in place.
const MANY: usize = 6000;

/// A node with many neighbours, each of which has it alone.
fn hub(settings: CommonSettings) -> Served {
    let served = Served::with(settings);
    served.write(|write| {
        write.make_type(Side::Nodes, "Hub")?;
        let hub = write.create_node("Hub", "hub", &[])?;
        for index in 0..MANY {
            let leaf = write.create_node("Leaf", &format!("{index:05}"), &[])?;
            write.create_relationship("HAS", hub, leaf, &[])?;
        }
        Ok(())
    });
    served
}

#[test]
fn a_long_answer_is_the_same_as_a_short_one() {
    let served = hub(CommonSettings::default());
    let long = r#"{ hub(_key: "hub") { degree leafs(sort: {_key: desc}, limit: 3, offset: 10) { _key neighbors { _key } } } }"#;
    let expected = r#"{"data":{"hub":{"degree":6000,"leafs":[{"_key":"05989","neighbors":[{"_key":"hub"}]},{"_key":"05988","neighbors":[{"_key":"hub"}]},{"_key":"05987","neighbors":[{"_key":"hub"}]}]}}}"#;
    assert_eq!(served.answer(long, "{}"), expected);
    let whole = served.answer(
        "{ leafs(limit: 10000) { _key } leafs_aggregate(where: {_key: {gt: \"0\"}}) { count } }",
        "{}",
    );
    assert_eq!(whole.matches("_key").count(), MANY);
    assert!(whole.ends_with(r#""leafs_aggregate":{"count":6000}}}"#), "{}", &whole[whole.len() - 60..]);
}

#[test]
fn an_answer_takes_no_longer_than_it_may() {
    // From each leaf to the hub and to all leaves again, three times.
    let level = |below: &str| format!("leafs(limit: 10000) {{ hubs {{ {below} }} }}");
    let query = format!("{{ {} }}", level(&level(&level("_key"))));
    let served = hub(CommonSettings { statement_timeout_ms: 50, ..CommonSettings::default() });
    let answer = served.answer(&query, "{}");
    assert!(answer.contains(r#""code":"TIMEOUT""#) && answer.contains("longer than 50 ms"), "{answer}");
    let served = hub(CommonSettings { max_response_bytes: 100_000, ..CommonSettings::default() });
    let answer = served.answer(&query, "{}");
    assert!(answer.contains("more than 100000 bytes (max_response_bytes)"), "{answer}");
}

/// Five nodes are few, but a pattern that is searched for in long texts takes the time of many.
#[test]
fn patterns_over_long_texts_count_for_the_time_of_an_answer() {
    let served = Served::with(CommonSettings { statement_timeout_ms: 0, ..CommonSettings::default() });
    let text = "a".repeat(300_000);
    served.write(|write| {
        write.make_type(Side::Nodes, "Page")?;
        write.declare(Side::Nodes, "Page", "text", Kind::String)?;
        for number in 0..5 {
            write.create_node(
                "Page",
                &number.to_string(),
                &[("text", Value::String(text.as_str().into()))],
            )?;
        }
        Ok(())
    });
    let found = |pattern: &str| {
        let query = "query ($pattern: String) { pages(where: { text: { like: $pattern } }) { _key } }";
        served.answer(query, &format!(r#"{{"pattern":"{pattern}"}}"#))
    };
    assert!(found("%b%").contains("TIMEOUT"), "{}", found("%b%"));
    let long = format!("%_{}%", "a".repeat(20_000));
    expect![[r#"{"data":null,"errors":[{"message":"a `like` pattern has more than 16384 characters between two `%`, and `_` among them: ask for fewer","locations":[{"line":1,"column":28}],"path":["pages"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}"#]].assert_eq(&found(&long));
}

/// One text can take longer than an answer may, however few nodes there are.
#[test]
fn a_search_of_one_long_text_ends_with_the_time_of_its_answer() {
    let pattern = format!("%{}b%", "_".repeat(16_383));
    let find = |statement_timeout_ms: u32, text: &str| {
        let served = Served::with(CommonSettings { statement_timeout_ms, ..CommonSettings::default() });
        served.write(|write| {
            write.make_type(Side::Nodes, "Page")?;
            write.declare(Side::Nodes, "Page", "text", Kind::String)?;
            write.create_node("Page", "long", &[("text", Value::String(text.into()))])
        });
        let query = "query ($pattern: String) { pages(where: { text: { like: $pattern } }) { _key } }";
        served.answer(query, &format!(r#"{{"pattern":"{pattern}"}}"#))
    };
    // Longer than a core searches in place: a thread of its own finds the same.
    let text = "a".repeat(40_000);
    assert_eq!(find(600_000, &text), r#"{"data":{"pages":[]}}"#);
    assert_eq!(find(600_000, &format!("{text}b")), r#"{"data":{"pages":[{"_key":"long"}]}}"#);
    let stopped = find(0, &text);
    assert!(stopped.contains("TIMEOUT"), "{stopped}");
}

/// A list of values that each node is compared with, and one of keys that are looked up, take the time of many nodes.
#[test]
fn long_lists_of_values_count_for_the_time_of_an_answer() {
    let served = Served::with(CommonSettings { statement_timeout_ms: 0, ..CommonSettings::default() });
    served.write(|write| {
        write.make_type(Side::Nodes, "Page")?;
        write.declare(Side::Nodes, "Page", "rank", Kind::Integer)?;
        write.create_node("Page", "1", &[("rank", Value::Integer(1))])?;
        write.create_node("Page", "2", &[("rank", Value::Integer(2))])
    });
    let find = |field: &str, of: &str, values: String| {
        let query = format!(
            "query ($values: [{of}!]) {{ pages(where: {{ {field}: {{ in: $values }} }}) {{ _key }} }}"
        );
        served.answer(&query, &format!(r#"{{"values":[{values}]}}"#))
    };
    let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let keys = |count: usize| (0..count).map(|number| format!("\"{number}\"")).collect::<Vec<_>>().join(",");
    let both = r#"{"data":{"pages":[{"_key":"1"},{"_key":"2"}]}}"#;
    let sorted =
        |answer: String| answer.replace(r#"{"_key":"2"},{"_key":"1"}"#, r#"{"_key":"1"},{"_key":"2"}"#);
    assert_eq!(sorted(find("rank", "BigInt", numbers(100))), both);
    assert_eq!(sorted(find("_key", "String", keys(100))), both);
    let long = find("rank", "BigInt", numbers(200_000));
    assert!(long.contains("TIMEOUT"), "{long:.300}");
    let long = find("_key", "String", keys(10_000));
    assert!(long.contains("TIMEOUT"), "{long:.300}");
}

#[test]
fn long_answers_and_those_that_wait_are_counted() {
    let served = Served::empty();
    let value = |name: &str| {
        let metrics = served.source.metrics("graph");
        metrics.iter().find(|metric| metric.name == name).unwrap().samples[0].value
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let most = value("prony_graph_long_answers_max");
        let mut places = Vec::new();
        for _ in 0..most as usize {
            places.push(served.source.graph().place(Duration::from_secs(60)).await.unwrap());
        }
        let mut one_more = Box::pin(served.source.graph().place(Duration::from_secs(60)));
        assert!(one_more.as_mut().now_or_never().is_none());
        let busy = || value("prony_graph_long_answers");
        let waiting = || value("prony_graph_long_answers_waiting");
        assert_eq!((busy(), waiting()), (most, 1.0));
        drop(places);
        assert!(one_more.as_mut().now_or_never().flatten().is_some());
        assert_eq!((busy(), waiting()), (0.0, 0.0));
    });
}
