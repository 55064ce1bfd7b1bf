//! What readers are told of writes that are not durable yet, in all ways in which a graph is read: on a disk that is slow, and then fails.

use std::{
    future::poll_fn,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, future::LocalBoxFuture, poll};
use http::{HeaderMap, Method};
use prony_graph_store::{Keep, Kind, Refusal, Side, Value, Write};
use prony_graphql::response::{Detail, assemble, refuse};
use prony_log::power_loss::{Held, Journal};
use prony_source::{
    ReservedNames, Source as _,
    http_api::{ApiLimits, ApiRequest, ApiResponse, Progress, ResponseStream, WholeBody},
};

use crate::{
    GraphSettings, Reads,
    tests::harness::{Offered, Served, block_on, runtime},
};

/// Longer than anything takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Files of the log.
const LOG: &str = "log-0";
/// More than a core looks at in one go, and than one part of a list has.
const MANY: usize = 6_000;
const NOT_KNOWN: &str = "not known to be durable";

/// A graph whose log can be held up.
struct SlowDisk {
    served: Served,
    journal: Arc<Journal>,
}

impl SlowDisk {
    /// With Max, and so many others.
    fn new(reads: Reads, others: usize) -> Self {
        let served = Served::open(&GraphSettings { reads, ..GraphSettings::default() });
        served.write(|write| {
            write.make_type(Side::Nodes, "User")?;
            write.declare(Side::Nodes, "User", "name", Kind::String)?;
            write.make_type(Side::Relationships, "FRIEND")?;
            write.create_node("User", "Max", &[])?;
            (0..others).try_for_each(|number| write.create_node("User", &format!("ä{number}"), &[]).map(drop))
        });
        let journal = Journal::begin(served.directory());
        Self { served, journal }
    }

    /// Makes a write, of which the log is held up.
    fn write_held(&self) -> Held {
        let held = self.journal.hold(LOG);
        self.served.store.write(change, drop).unwrap();
        assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
        held
    }

    /// Reads that wait until they may be told.
    fn waiting_reads(&self) -> u64 {
        let metrics = self.served.source.metrics("graph");
        let reads = metrics.iter().find(|metric| metric.name == "prony_graph_waiting_reads");
        reads.unwrap().samples[0].value as u64
    }

    /// Returns once a read waits for the log.
    async fn until_it_waits(&self, read: &mut LocalBoxFuture<'_, String>) {
        let until = Instant::now() + PATIENCE;
        while self.waiting_reads() == 0 {
            if let Poll::Ready(told) = poll!(read.as_mut()) {
                panic!("it was told before it was durable: {told}");
            }
            assert!(Instant::now() < until, "it does not come to its end");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn ask(&self, way: &Way, offered: &Offered) -> String {
        match way {
            Way::Call(method, target, body) => self.call(method, target, body).await,
            Way::Operation(text) => match self.served.execute(offered, text, "{}").await {
                Ok(body) => String::from_utf8(body).unwrap(),
                Err(errors) => String::from_utf8(refuse(&errors, Detail::Shown)).unwrap(),
            },
        }
    }

    /// Status and body of the response.
    async fn call(&self, method: &Method, target: &str, body: &str) -> String {
        let limits = ApiLimits { max_body_bytes: 1 << 20 };
        let mut connection = self.served.source.http_api().unwrap().connect(limits);
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let headers = HeaderMap::new();
        let request = ApiRequest { method, path, query, headers: &headers, body: Some(body.as_bytes()) };
        let (mut response, mut rest) = (ApiResponse::default(), None);
        loop {
            match connection.begin(&request, &mut response) {
                Progress::Done => break,
                Progress::Waits => {
                    poll_fn(|context| connection.poll(context, &mut response)).await;
                    break;
                }
                Progress::Streams(stream) => {
                    rest = Some(stream);
                    break;
                }
                Progress::NotReady(ready) => ready.await,
                Progress::Asynchronous(respond) => {
                    let body = WholeBody::from(Bytes::copy_from_slice(body.as_bytes()));
                    let made = respond(Box::new(body)).await;
                    (response, rest) = (made.response, made.rest);
                    break;
                }
                Progress::NeedsBody | Progress::Refused => {
                    panic!("{target}: its body is there, and anybody may")
                }
            }
        }
        let mut text = format!("{} {}", response.status.as_u16(), String::from_utf8_lossy(&response.body));
        if let Some(rest) = rest {
            text.push_str(&whole(rest).await);
        }
        text
    }
}

/// What comes of a body, and why no more does.
async fn whole(mut rest: ResponseStream) -> String {
    let mut text = String::new();
    while let Some(part) = rest.next().await {
        match part {
            Ok(part) => text.push_str(std::str::from_utf8(&part).unwrap()),
            Err(cut) => text.push_str(&cut.to_string()),
        }
    }
    text
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.journal.end();
    }
}

/// A friend of Max, and something of a new type.
fn change(write: &mut Write<'_>) -> Result<(), Refusal> {
    let max = write.find("User", "Max").unwrap();
    let zoe = write.create_node("User", "Zoë", &[("name", Value::String("Zoë".into()))])?;
    write.create_relationship("FRIEND", max, zoe, &[])?;
    write.create_node("Ort", "Köln", &[]).map(drop)
}

/// A way to read the graph, or to write what is refused for what there is.
enum Way {
    Call(Method, &'static str, &'static str),
    Operation(&'static str),
}

/// Each with a part of what it tells of the write.
fn ways() -> Vec<(Way, &'static str)> {
    let get = |target| Way::Call(Method::GET, target, "");
    let script = |text| Way::Call(Method::POST, "/db/rage/lua", text);
    vec![
        (get("/db/rage/node/User/Zo%C3%AB"), "Zoë"),
        (get("/db/rage/node/User/Zo%C3%AB/properties"), "Zoë"),
        (get("/db/rage/node/User/Zo%C3%AB/property/name"), "Zoë"),
        (get("/db/rage/node/User/Max/neighbors"), "Zoë"),
        (get("/db/rage/node/User/Max/relationships/out"), "FRIEND"),
        (get("/db/rage/node/User/Max/degree"), "\"degree\": 1"),
        (get("/db/rage/node/User/Max/connected/User/Zo%C3%AB"), "FRIEND"),
        (get("/db/rage/nodes/User"), "Zoë"),
        (get("/db/rage/relationships"), "FRIEND"),
        (get("/db/rage/schema/nodes"), "Ort"),
        (get("/dbs/rage"), "Ort"),
        (Way::Call(Method::POST, "/db/rage/nodes/User/name/EQ", "\"Zoë\""), "\"key\": \"Zoë\""),
        (Way::Call(Method::POST, "/db/rage/node/User/Zo%C3%AB", ""), "Invalid Request"),
        (script("AllNodesCount(\"User\")"), "200 2"),
        (script("NodeGet(\"User\", \"Zoë\")"), "Zoë"),
        (script("NodeTypesGet()"), "Ort"),
        (Way::Operation(r#"{ user(_key: "Zoë") { name } }"#), r#""name":"Zoë""#),
        (Way::Operation(r#"{ user(_key: "Max") { neighbors { _key } } }"#), "Zoë"),
        (Way::Operation("{ users { name } users_aggregate { count } }"), r#""count":2"#),
        (Way::Operation(r#"mutation { createUser(_key: "Zoë") { _key } }"#), "exists"),
    ]
}

#[test]
fn readers_of_what_is_durable_are_told_once_it_is() {
    for (way, part) in ways() {
        let disk = SlowDisk::new(Reads::Durable, 0);
        let offered = disk.served.offered();
        block_on(&runtime(), async {
            let held = disk.write_held();
            let mut read = disk.ask(&way, &offered).boxed_local();
            disk.until_it_waits(&mut read).await;
            drop(held);
            let told = tokio::time::timeout(PATIENCE, read).await.expect("it is told once it is durable");
            assert!(told.contains(part), "{part}: {told}");
        });
        assert_eq!(disk.waiting_reads(), 0);
    }
}

#[test]
fn readers_of_what_is_durable_are_never_told_what_is_not() {
    for (way, part) in ways() {
        let disk = SlowDisk::new(Reads::Durable, 0);
        let offered = disk.served.offered();
        block_on(&runtime(), async {
            disk.journal.fail_next_sync(LOG);
            let held = disk.write_held();
            let mut read = disk.ask(&way, &offered).boxed_local();
            disk.until_it_waits(&mut read).await;
            drop(held);
            let told = tokio::time::timeout(PATIENCE, read).await.expect("it is told that it failed");
            assert!(told.contains(NOT_KNOWN) && !told.contains(part), "{part}: {told}");
            match way {
                Way::Call(..) => assert!(told.starts_with("500 "), "{told}"),
                Way::Operation(_) => assert!(told.contains("OUTCOME_UNKNOWN"), "{told}"),
            }
        });
    }
}

#[test]
fn readers_of_the_latest_are_told_at_once() {
    for (way, part) in ways() {
        let disk = SlowDisk::new(Reads::Latest, 0);
        let offered = disk.served.offered();
        block_on(&runtime(), async {
            let held = disk.write_held();
            let read = tokio::time::timeout(PATIENCE, disk.ask(&way, &offered));
            let told = read.await.expect("it waits for nothing");
            assert!(told.contains(part), "{part}: {told}");
            assert_eq!(disk.waiting_reads(), 0);
            drop(held);
        });
    }
}

#[test]
fn where_nothing_is_pending_nothing_waits() {
    let disk = SlowDisk::new(Reads::Durable, 0);
    let offered = disk.served.offered();
    block_on(&runtime(), async {
        for (way, _) in ways() {
            let is_at_once = match &way {
                Way::Call(method, ..) => *method == Method::GET,
                Way::Operation(text) => !text.starts_with("mutation"),
            };
            if is_at_once {
                assert!(disk.ask(&way, &offered).now_or_never().is_some());
            }
        }
    });
}

#[test]
fn long_answers_are_told_once_they_are_durable() {
    let query =
        Way::Operation(r#"{ users(where: {_key: {ne: "Max"}}, sort: {_key: asc}, limit: 1) { _key } }"#);
    for fails in [false, true] {
        let disk = SlowDisk::new(Reads::Durable, MANY);
        let offered = disk.served.offered();
        block_on(&runtime(), async {
            if fails {
                disk.journal.fail_next_sync(LOG);
            }
            let held = disk.write_held();
            let mut read = disk.ask(&query, &offered).boxed_local();
            disk.until_it_waits(&mut read).await;
            drop(held);
            let told = tokio::time::timeout(PATIENCE, read).await.expect("it comes to its end");
            assert_eq!((told.contains("Zoë"), told.contains(NOT_KNOWN)), (!fails, fails), "{told}");
        });
    }
}

/// Its first part is sent before the write.
#[test]
fn each_part_of_a_list_is_sent_once_it_is_durable() {
    for fails in [false, true] {
        let disk = SlowDisk::new(Reads::Durable, MANY);
        block_on(&runtime(), async {
            if fails {
                disk.journal.fail_next_sync(LOG);
            }
            let mut connection =
                disk.served.source.http_api().unwrap().connect(ApiLimits { max_body_bytes: 1 << 20 });
            let headers = HeaderMap::new();
            let request = ApiRequest {
                method: &Method::GET,
                path: "/db/rage/nodes/User",
                query: Some("limit=1000000"),
                headers: &headers,
                body: None,
            };
            let mut response = ApiResponse::default();
            let Progress::Streams(rest) = connection.begin(&request, &mut response) else {
                panic!("a long list comes in parts")
            };
            let held = disk.write_held();
            let mut read = whole(rest).boxed_local();
            disk.until_it_waits(&mut read).await;
            drop(held);
            let told = tokio::time::timeout(PATIENCE, read).await.expect("it comes to its end");
            assert_eq!((told.contains("Zoë"), told.contains(NOT_KNOWN)), (!fails, fails));
        });
    }
}

/// The first event is of a change that is durable; what is around it is not.
#[test]
fn events_tell_of_nothing_that_is_not_durable() {
    for (reads, fails) in [(Reads::Durable, false), (Reads::Durable, true), (Reads::Latest, false)] {
        let disk = SlowDisk::new(reads, 0);
        let mut subscribed = disk
            .served
            .subscribe("subscription { onUserChanged { operation node { _key neighbors { _key } } } }");
        let fields = std::mem::take(&mut subscribed.fields);
        let text = |result| String::from_utf8(assemble(&fields, &[result], Detail::Shown)).unwrap();
        block_on(&runtime(), async {
            disk.served.write(|write| {
                let max = write.find("User", "Max").unwrap();
                write.set_node(max, &[("name", Value::String("Maß".into()))], Keep::Others)
            });
            if fails {
                disk.journal.fail_next_sync(LOG);
            }
            let held = disk.write_held();
            let events = &mut subscribed.events;
            let mut read = async { text(events.next().await.unwrap()) }.boxed_local();
            if reads == Reads::Durable {
                disk.until_it_waits(&mut read).await;
            }
            let held = if reads == Reads::Latest {
                Some(held)
            } else {
                drop(held);
                None
            };
            let told = tokio::time::timeout(PATIENCE, read).await.expect("it comes to its end");
            assert_eq!((told.contains("Zoë"), told.contains(NOT_KNOWN)), (!fails, fails), "{told}");
            assert_eq!(told.contains("UPDATE"), !fails, "{told}");
            let next = subscribed.events.next();
            if let Some(held) = held {
                let mut next = std::pin::pin!(next);
                assert!(poll!(next.as_mut()).is_pending(), "an event comes once it is durable");
                drop(held);
                let told = text(tokio::time::timeout(PATIENCE, next).await.unwrap().unwrap());
                assert!(told.contains("INSERT") && told.contains("Zoë"), "{told}");
            } else if fails {
                assert!(next.now_or_never().is_none(), "what was taken back is told to nobody");
            } else {
                let told = text(tokio::time::timeout(PATIENCE, next).await.unwrap().unwrap());
                assert!(told.contains("INSERT") && told.contains("Zoë"), "{told}");
            }
        });
    }
}

#[test]
fn types_are_offered_once_they_are_durable() {
    for (reads, fails) in [(Reads::Durable, false), (Reads::Durable, true), (Reads::Latest, false)] {
        let disk = SlowDisk::new(reads, 0);
        let has_type = || {
            let offered = disk.served.source.schema(&ReservedNames::default());
            offered.table_names().iter().any(|name| name == "Ort")
        };
        assert!(!has_type());
        block_on(&runtime(), async {
            if fails {
                disk.journal.fail_next_sync(LOG);
            }
            let held = disk.write_held();
            assert_eq!(has_type(), reads == Reads::Latest);
            let mut changed = disk.served.source.changed();
            assert!(reads == Reads::Latest || poll!(changed.as_mut()).is_pending());
            drop(held);
            if fails {
                let ((), fence) = disk.served.store.read_fenced(|_| ());
                while disk.served.store.outcome(fence).is_none() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                assert!(poll!(changed.as_mut()).is_pending() && !has_type());
            } else if reads == Reads::Durable {
                tokio::time::timeout(PATIENCE, changed).await.expect("it is told");
                assert!(has_type());
            }
        });
    }
}
