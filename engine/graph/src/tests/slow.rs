//! Fields and calls that take long are written down without the values of variables and keys.

use std::time::Duration;

use http::{HeaderMap, Method};
use prony_graph_store::Side;
use prony_source::{
    Source as _,
    http_api::{ApiLimits, ApiRequest, ApiResponse, Progress},
};
use prony_testkit::log::logged;

use crate::tests::harness::Served;

/// What is logged where so much is slow: of a query, a mutation and a call.
fn log_of(slow_after: Duration) -> String {
    let served = Served::telling_from(slow_after);
    served.write(|write| {
        write.make_type(Side::Nodes, "User")?;
        write.create_node("User", "Max", &[]).map(drop)
    });
    logged(|| {
        let text = "query ($is: String, $few: Int) {
            people: users(where: {_key: {ne: $is}}, sort: {_key: desc}, limit: $few) { _key } }";
        let answer = served.answer(text, r#"{"is": "geheim", "few": 1}"#);
        assert!(answer.contains("Max"), "{answer}");
        let answer = served.answer("mutation { createUser(_key: \"geheim\") { _key } }", "{}");
        assert!(answer.contains("geheim"), "{answer}");
        let mut connection = served.source.http_api().unwrap().connect(ApiLimits { max_body_bytes: 1000 });
        let headers = HeaderMap::new();
        let request = ApiRequest {
            method: &Method::GET,
            path: "/db/rage/node/User/geheim",
            query: None,
            headers: &headers,
            body: None,
        };
        let mut response = ApiResponse::default();
        assert!(matches!(connection.begin(&request, &mut response), Progress::Done));
        assert!(response.status.is_success(), "{response:?}");
    })
}

#[test]
fn what_is_slow_is_written_down_without_its_values() {
    let log = log_of(Duration::from_nanos(1));
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("slow statement")).collect();
    for parts in [
        ["people: list User", "$1 string(6), $2 int"],
        ["createUser: create User", "duration_ms="],
        ["GET /db/{graph}/node/{type}/{key}", "duration_ms="],
    ] {
        let is_told = |line: &&str| parts.iter().all(|part| line.contains(part));
        assert!(lines.iter().any(is_told), "{parts:?}: {log}");
    }
    assert!(!log.contains("geheim"), "{log}");
}

#[test]
fn nothing_is_written_down_where_nobody_wants_it() {
    assert!(!log_of(Duration::MAX).contains("slow statement"));
}
