//! Scripts that wait for a thread, and that are ended by a server that stops.

use std::{
    iter,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{
    FutureExt as _,
    future::{LocalBoxFuture, join, join_all},
    poll,
};
use http::{HeaderMap, Method};
use prony_source::{
    CommonSettings, Source as _,
    http_api::{ApiLimits, ApiRequest, ApiResponse, Progress, WholeBody},
};

use crate::{
    GraphSettings,
    tests::harness::{Served, block_on, runtime},
};

/// Longer than anything takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// As many as there are threads at most.
const SCRIPTS: usize = 4;
const SPINS: &str = "while true do end";

/// An empty graph, whose scripts may take so long; 0 where they may take any time.
fn served(statement_timeout_ms: u32) -> Served {
    let common = CommonSettings { statement_timeout_ms, ..CommonSettings::default() };
    Served::open(&GraphSettings { common, ..GraphSettings::default() })
}

/// Status and body of the response to a script, which is on its way once this is polled.
fn send(served: &Served, script: &'static str) -> LocalBoxFuture<'static, String> {
    let mut connection = served.source.http_api().unwrap().connect(ApiLimits { max_body_bytes: 1 << 20 });
    let headers = HeaderMap::new();
    let request = ApiRequest {
        method: &Method::POST,
        path: "/db/rage/lua",
        query: None,
        headers: &headers,
        body: Some(script.as_bytes()),
    };
    let Progress::Asynchronous(respond) = connection.begin(&request, &mut ApiResponse::default()) else {
        panic!("scripts run on threads of their own")
    };
    async move {
        let response =
            respond(Box::new(WholeBody::from(Bytes::from_static(script.as_bytes())))).await.response;
        format!("{} {}", response.status.as_u16(), String::from_utf8_lossy(&response.body))
    }
    .boxed_local()
}

/// Its time began anew with its run, so that both were twice the limit.
#[test]
fn the_time_for_which_a_script_waits_for_a_thread_counts() {
    let limit = Duration::from_secs(3);
    let served = served(3_000);
    block_on(&runtime(), async {
        let before = join_all(iter::repeat_with(|| send(&served, SPINS)).take(SCRIPTS));
        let behind = async {
            tokio::time::sleep(limit / 2).await;
            let sent = Instant::now();
            (send(&served, SPINS).await, sent.elapsed())
        };
        let (_, (told, took)) = join(before, behind).await;
        assert!(told.contains("statement_timeout_ms"), "{told}");
        // With a time of its own for its run it is at least one and a half of the limit.
        assert!(took < limit * 7 / 5, "{took:?}");
    });
}

/// Its sender was told to send it again.
#[test]
fn a_script_that_a_stopping_server_ends_may_have_written() {
    let served = served(0);
    let runtime = runtime();
    let mut script = send(&served, "NodeAdd('User', 'a') while true do end");
    block_on(&runtime, async {
        let until = Instant::now() + PATIENCE;
        while served.store.read().find("User", "a").is_none() {
            assert!(poll!(script.as_mut()).is_pending());
            assert!(Instant::now() < until, "it never begins");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    // As it goes when a server stops.
    drop(served.source);
    let told = block_on(&runtime, script);
    assert!(
        told.starts_with("503 ") && told.contains("unknown") && !told.contains("when it is back"),
        "{told}"
    );
}
