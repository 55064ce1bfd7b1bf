//! New rows as events, live queries and versions of what responses depend on.

use expect_test::expect;
use futures_util::FutureExt as _;
use prony_source::{PreparedField, Source as _};

use super::queries::rooms;
use crate::tests::harness::Harness;

fn write(harness: &Harness, id: &str, value: u32, path: &str) {
    let body = format!(
        r#"[{{"id":"{id}","type":"Room","temperature":{{"type":"Number","value":{value}}},"TimeInstant":{{"type":"DateTime","value":"2025"}}}}]"#
    );
    harness.notify(&body, &[&format!("fiware-servicepath: {path}")]);
}

#[test]
pub(crate) fn each_row_is_told_once_and_in_order() {
    let harness = rooms();
    let offered = harness.offered();
    let of = |arguments: &str| {
        format!(
            "subscription {{ onRoomRow{arguments} {{ id servicePath time temperature name __typename }} }}"
        )
    };
    let mut all = harness.subscribe(&offered, &of(""));
    let mut some = harness.subscribe(&offered, &of(r#"(where: {id: {in: ["Room:2", "Room:9"]}})"#));
    let mut below = harness.subscribe(&offered, &of(r#"(where: {servicePath: {like: "/a%"}})"#));
    for (number, id) in ["Room:1", "Room:2", "Room:3", "Room:9"].into_iter().enumerate() {
        write(&harness, id, number as u32, if number % 2 == 0 { "/a" } else { "/" });
    }
    harness.notify(
        r#"[{"id":"Room:1","type":"Room","name":{"type":"Text","value":"x"},"TimeInstant":{"type":"DateTime","value":"1970"}},{"id":"Street:1","type":"Street","name":{"type":"Text","value":"x"}}]"#,
        &[],
    );
    let refused = harness.request(
        "POST",
        "/v2/notify",
        &[],
        r#"{"data":[{"id":"Room:1","type":"Room","name":{"type":"Text","value":"y"}},{"id":"x"}]}"#,
    );
    assert_eq!(refused.status.as_u16(), 400);
    expect![[r#"
        {"data":{"onRoomRow":{"id":"Room:1","servicePath":"/a","time":"2025-01-01T00:00:00.000+00:00","temperature":0.0,"name":null,"__typename":"RoomRow"}}}
        {"data":{"onRoomRow":{"id":"Room:2","servicePath":"/","time":"2025-01-01T00:00:00.000+00:00","temperature":1.0,"name":null,"__typename":"RoomRow"}}}
        {"data":{"onRoomRow":{"id":"Room:3","servicePath":"/a","time":"2025-01-01T00:00:00.000+00:00","temperature":2.0,"name":null,"__typename":"RoomRow"}}}
        {"data":{"onRoomRow":{"id":"Room:9","servicePath":"/","time":"2025-01-01T00:00:00.000+00:00","temperature":3.0,"name":null,"__typename":"RoomRow"}}}
        {"data":{"onRoomRow":{"id":"Room:1","servicePath":"/","time":"1970-01-01T00:00:00.000+00:00","temperature":null,"name":"x","__typename":"RoomRow"}}}
    "#]].assert_eq(&all.so_far(&harness));
    expect![[r#"
        {"data":{"onRoomRow":{"id":"Room:2","servicePath":"/","time":"2025-01-01T00:00:00.000+00:00","temperature":1.0,"name":null,"__typename":"RoomRow"}}}
        {"data":{"onRoomRow":{"id":"Room:9","servicePath":"/","time":"2025-01-01T00:00:00.000+00:00","temperature":3.0,"name":null,"__typename":"RoomRow"}}}
    "#]].assert_eq(&some.so_far(&harness));
    expect![[r#"
        {"data":{"onRoomRow":{"id":"Room:1","servicePath":"/a","time":"2025-01-01T00:00:00.000+00:00","temperature":0.0,"name":null,"__typename":"RoomRow"}}}
        {"data":{"onRoomRow":{"id":"Room:3","servicePath":"/a","time":"2025-01-01T00:00:00.000+00:00","temperature":2.0,"name":null,"__typename":"RoomRow"}}}
    "#]].assert_eq(&below.so_far(&harness));
    harness.request("DELETE", "/v2/types/Room?dropTable=true", &[], "");
    write(&harness, "Room:1", 7, "/");
    expect![[r#"
        {"data":null,"errors":[{"message":"the type `Room` is gone from the series","locations":[{"line":1,"column":16}],"path":["onRoomRow"],"extensions":{"code":"SUBSCRIPTION_ENDED"}}]}
        (end)
    "#]].assert_eq(&all.so_far(&harness));
}

#[test]
fn who_is_gone_is_told_nothing_and_costs_nothing() {
    let harness = rooms();
    assert!(harness.source.is_idle());
    let offered = harness.offered();
    let query = offered.plan("{ rooms { id } }", "{}").unwrap();
    let subscribed =
        harness.subscribe(&offered, r#"subscription { onRoomRow(where: {id: {eq: "x"}}) { id } }"#);
    assert!(!harness.source.is_idle());
    drop(subscribed);
    assert!(harness.source.is_idle());
    let version = harness.source.attach().data_version(&query.roots[0]).unwrap();
    assert!(!harness.source.is_idle());
    drop(version);
    assert!(harness.source.is_idle());
}

#[test]
pub(crate) fn live_queries_are_signalled_what_they_depend_on() {
    let harness = rooms();
    harness.notify(r#"[{"id":"Street:1","type":"Street","name":{"type":"Text","value":"x"}}]"#, &[]);
    let offered = harness.offered();
    let plan = |text: &str| -> PreparedField { offered.plan(text, "{}").unwrap().roots.remove(0) };
    let session = harness.source.attach();
    let live = plan("subscription { rooms { id temperature(last: 1) { value } } }");
    let types = plan("subscription { seriesTypes { name } }");
    let events = plan("subscription { onRoomRow { id } }");
    assert!(session.change_signal(&events).is_none());
    let mut signals = [&live, &types].map(|field| session.change_signal(field).unwrap());
    let versions = [&live, &types].map(|field| session.data_version(field).unwrap());
    let mut told = || {
        let came = signals.each_mut().map(|signal| signal.changed().now_or_never().is_some());
        (came, versions.each_ref().map(|version| version.current()))
    };
    assert_eq!(told(), ([false, false], [0, 0]));
    harness.notify(r#"[{"id":"Street:1","type":"Street","name":{"type":"Text","value":"y"}}]"#, &[]);
    assert_eq!(told(), ([false, true], [0, 1]));
    write(&harness, "Room:1", 1, "/");
    write(&harness, "Room:1", 2, "/");
    assert_eq!(told(), ([true, true], [2, 3]));
    harness.request("DELETE", "/v2/entities/Room:1", &[], "");
    assert_eq!(told(), ([true, true], [3, 4]));
    harness.notify(r#"[{"id":"x","type":"Room","new":{"type":"Text","value":"y"}}]"#, &[]);
    harness.request("DELETE", "/v2/types/Street?dropTable=true", &[], "");
    assert_eq!(told(), ([true, true], [4, 6]));
    write(&harness, "Room:1", 3, "/");
    for signal in &mut signals {
        signal.mark_seen();
    }
    assert!(signals.iter_mut().all(|signal| signal.changed().now_or_never().is_none()));
}

/// A reader that does not read loses rows, of which it is told; the writer goes on.
#[test]
fn a_slow_reader_is_told_what_it_has_lost() {
    let harness = rooms();
    let offered = harness.offered();
    let mut slow = harness.subscribe(&offered, "subscription { onRoomRow { id temperature } }");
    for _ in 0..7 {
        let entity = |number: u32| {
            format!(r#"{{"id":"Room:1","type":"Room","temperature":{{"type":"Number","value":{number}}}}}"#)
        };
        let all: Vec<String> = (0..10_000).map(entity).collect();
        harness.notify(&format!("[{}]", all.join(",")), &[]);
    }
    let came = slow.so_far(&harness);
    let lines: Vec<&str> = came.lines().collect();
    assert!(lines[0].contains("EVENTS_LOST") && lines[0].contains("65536 rows are lost"), "{}", lines[0]);
    assert_eq!(lines.len(), 1 + 70_000 - 65_536);
    assert_eq!(lines[lines.len() - 1], r#"{"data":{"onRoomRow":{"id":"Room:1","temperature":9999.0}}}"#);
}
