//! A table of donuts in memory, served as GraphQL and, as a control, by REST in the same process.
//!
//! Donut "1" stays as it is whatever is written to it, so that plans which count on it run again and again: the published
//! ones expect CHOCOLATE of GraphQL and vanilla of REST.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use prony_resolvers::{Error, Events, Faults, Resolvers, Schema, outputs};
use prony_source::http_api::percent;
use serde::{Deserialize, Serialize};

use crate::{config::Settings, library::Server};

pub const SDL: &str = include_str!("donuts.graphql");

/// Where it listens when nothing else is said.
pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3000);

/// Donuts that the table takes; a mutation storm ends there.
const MAX_DONUTS: usize = 100_000;

/// The one that stays as it is.
const FIXED_ID: &str = "1";

/// What REST says of it.
const FIXED_REST_FLAVOR: &str = "vanilla";
/// The first of the ids that are given to donuts which come without one.
const FIRST_GIVEN_ID: u64 = 9000;

const REST_PREFIX: &str = "/api/donuts/";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Donut {
    id: String,
    name: Option<String>,
    flavor: Flavor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Flavor {
    #[serde(alias = "vanilla")]
    Vanilla,
    #[serde(alias = "strawberry")]
    Strawberry,
    #[serde(alias = "chocolate")]
    Chocolate,
}

outputs!(Donut);

#[derive(Debug, Deserialize)]
struct DonutInput {
    id: Option<String>,
    name: Option<String>,
    flavor: Flavor,
}

#[derive(Debug, Deserialize)]
struct DonutById {
    id: String,
}

#[derive(Debug, Deserialize)]
struct AddOrUpdate {
    donut: DonutInput,
}

/// The table, and who is told of its changes.
#[derive(Debug)]
struct Donuts {
    table: RwLock<HashMap<String, Arc<Donut>>>,
    next_id: AtomicU64,
    updated: Events<String, Arc<Donut>>,
}

impl Donuts {
    fn new() -> Self {
        let donuts = [
            (FIXED_ID, "Super Mega Donut", Flavor::Chocolate),
            ("2", "Plain Ring", Flavor::Vanilla),
            ("3", "Pink Sprinkles", Flavor::Strawberry),
        ];
        let row = |(id, name, flavor): (&str, &str, Flavor)| {
            (id.to_owned(), Arc::new(Donut { id: id.to_owned(), name: Some(name.to_owned()), flavor }))
        };
        Self {
            table: RwLock::new(donuts.into_iter().map(row).collect()),
            next_id: AtomicU64::new(FIRST_GIVEN_ID),
            updated: Events::default(),
        }
    }

    fn get(&self, id: &str) -> Option<Arc<Donut>> {
        // Nothing panics while the table is held.
        self.table.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// An id that no donut has.
    fn new_id(&self) -> String {
        let mut ids = std::iter::repeat_with(|| self.next_id.fetch_add(1, Ordering::Relaxed).to_string());
        ids.find(|id| self.get(id).is_none()).expect("a bounded table has not all numbers")
    }

    /// Writes, then tells those who listen to the donut. One without an id is a new one.
    fn put(&self, input: DonutInput) -> Result<Arc<Donut>, Error> {
        let id = input.id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.new_id());
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let donut = store(&mut table, Donut { id, name: input.name, flavor: input.flavor })?;
        // While the table is held: the events of a donut come in the order of its changes, so that the last one is what it is.
        self.updated.publish(&donut.id, Arc::clone(&donut));
        Ok(donut)
    }
}

fn store(table: &mut HashMap<String, Arc<Donut>>, donut: Donut) -> Result<Arc<Donut>, Error> {
    match table.get(&donut.id) {
        Some(fixed) if donut.id == FIXED_ID => return Ok(Arc::clone(fixed)),
        None if table.len() >= MAX_DONUTS => {
            let message = format!("the table holds {MAX_DONUTS} donuts, and takes no more");
            return Err(Error::new(message).code("LIMIT_EXCEEDED"));
        }
        _ => {}
    }
    let donut = Arc::new(donut);
    table.insert(donut.id.clone(), Arc::clone(&donut));
    Ok(donut)
}

fn resolvers(donuts: &Arc<Donuts>) -> Result<Resolvers, Faults> {
    Schema::sharing(SDL, Arc::clone(donuts))
        .field("Query.retrieveDonut", |donuts: &Donuts, DonutById { id }: DonutById| donuts.get(&id))
        .field("Mutation.addOrUpdateDonut", |donuts: &Donuts, AddOrUpdate { donut }: AddOrUpdate| {
            donuts.put(donut)
        })
        .event_field("Subscription.onDonutUpdated", |donuts: &Donuts, DonutById { id }: DonutById| {
            donuts.updated.subscribe(id)
        })
        .build()
}

/// The functions of the schema over a new table.
///
/// # Panics
/// Never: a test builds them.
pub fn functions() -> Resolvers {
    resolvers(&Arc::new(Donuts::new())).expect("the schema is ours")
}

/// The whole server: GraphQL and REST over one table, and requests without a content type are taken.
///
/// # Panics
/// Never: a test builds it.
pub fn server(settings: Settings) -> Server {
    let donuts = Arc::new(Donuts::new());
    let resolvers = resolvers(&donuts).expect("the schema is ours");
    Server::with_settings(settings, resolvers)
        .lenient_content_type()
        .route(REST_PREFIX, move |request| rest(&donuts, &request))
}

/// REST: `GET` and `PUT /api/donuts/{id}`.
fn rest(donuts: &Donuts, request: &Request<Bytes>) -> Response<Bytes> {
    let id = request.uri().path().strip_prefix(REST_PREFIX).unwrap_or_default();
    let Some(id) = percent::text(id) else {
        return refuse("the id is not UTF-8 in percent-encoding, such as %2F for a slash");
    };
    match *request.method() {
        Method::GET | Method::HEAD | Method::PUT if id.is_empty() => {
            refuse(format!("name the donut: {REST_PREFIX}ID"))
        }
        // Of a HEAD the server sends no body.
        Method::GET | Method::HEAD => match donuts.get(&id) {
            Some(donut) => respond(StatusCode::OK, &Payload::of(Some(&donut))),
            None => respond(StatusCode::NOT_FOUND, &Payload::of(None)),
        },
        Method::PUT => put(donuts, id.into_owned(), request.body()),
        _ => {
            let message = "use GET or PUT".to_owned();
            let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, &Refusal { message });
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, PUT"));
            response
        }
    }
}

fn put(donuts: &Donuts, id: String, body: &[u8]) -> Response<Bytes> {
    // A struct can be read of a list too.
    if !body.trim_ascii_start().starts_with(b"{") {
        return refuse("the body must be a JSON object, as {\"name\":\"Ann\",\"flavor\":\"vanilla\"}");
    }
    match serde_json::from_slice::<DonutInput>(body) {
        Ok(input) => match donuts.put(DonutInput { id: Some(id), ..input }) {
            Ok(donut) => respond(StatusCode::OK, &Payload::of(Some(&donut))),
            Err(error) => refuse(format!("{error:?}")),
        },
        Err(error) => refuse(error.to_string()),
    }
}

fn refuse(message: impl Into<String>) -> Response<Bytes> {
    respond(StatusCode::BAD_REQUEST, &Refusal { message: message.into() })
}

#[derive(Serialize)]
struct Payload<'a> {
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    single_donut: Option<RestDonut<'a>>,
}

#[derive(Serialize)]
struct RestDonut<'a> {
    id: &'a str,
    name: Option<&'a str>,
    flavor: &'static str,
}

#[derive(Serialize)]
struct Refusal {
    message: String,
}

impl<'a> Payload<'a> {
    fn of(donut: Option<&'a Arc<Donut>>) -> Self {
        let rest = |donut: &'a Arc<Donut>| RestDonut {
            id: &donut.id,
            name: donut.name.as_deref(),
            flavor: match donut.flavor {
                _ if donut.id == FIXED_ID => FIXED_REST_FLAVOR,
                Flavor::Vanilla => "vanilla",
                Flavor::Strawberry => "strawberry",
                Flavor::Chocolate => "chocolate",
            },
        };
        Self { data: Data { single_donut: donut.map(rest) } }
    }
}

fn respond(status: StatusCode, payload: &impl Serialize) -> Response<Bytes> {
    let body = serde_json::to_vec(payload).expect("texts are JSON");
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_util::FutureExt as _;

    use super::*;

    /// Two who write at the same time told of their changes in an order of their own.
    #[test]
    fn the_last_event_of_a_donut_is_what_the_table_has() {
        let donuts = Donuts::new();
        for round in 0..500 {
            let id = format!("donut {round}");
            let mut events = donuts.updated.subscribe(id.clone());
            let write = |flavor| {
                let input = DonutInput { id: Some(id.clone()), name: None, flavor };
                donuts.put(input).expect("there is room");
            };
            thread::scope(|scope| {
                scope.spawn(|| write(Flavor::Vanilla));
                scope.spawn(|| write(Flavor::Chocolate));
            });
            let mut last = None;
            while let Some(Some(Ok(event))) = events.next().now_or_never() {
                last = Some(event);
            }
            assert_eq!(last, donuts.get(&id), "round {round}");
        }
    }
}
