//! An API with a store of its own, and requests to it.

use std::{cell::Cell, future::poll_fn, path::Path, sync::Arc};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use prony_series_postgres::PostgresEngine;
use prony_series_questdb::QuestEngine;
use prony_series_store::{Engine, Store};
use prony_source::http_api::{
    ApiConnection, ApiLimits, ApiRequest, ApiResponse, HttpApi as _, Progress, WholeBody,
};
use prony_testkit::{QuestServer, TestDatabase};
use tempfile::TempDir;
use tokio::{runtime::Runtime, task::LocalSet};

use crate::{SeriesSource, http_api::SeriesApi, series::Series, settings::SeriesSettings};

pub(crate) const LIMITS: ApiLimits = ApiLimits { max_body_bytes: 16 << 20 };

thread_local! {
    /// Where this thread's tests have their series.
    static PLACE: Cell<Place> = const { Cell::new(Place::Directory) };
}

/// Where series are.
#[derive(Debug, Clone, Copy)]
enum Place {
    Directory,
    Postgres,
    QuestDb,
}

/// Runs a test whose series are on PostgreSQL, each in an empty database.
pub(crate) fn on_postgres(test: impl FnOnce()) {
    PLACE.set(Place::Postgres);
    test();
}

/// Runs a test whose series are on QuestDB, each in tables of its own.
pub(crate) fn on_questdb(test: impl FnOnce()) {
    PLACE.set(Place::QuestDb);
    test();
}

/// An API of an empty store.
pub(crate) struct Harness {
    /// The embedded store, where it keeps the series.
    store: Option<Arc<Store>>,
    pub(crate) series: Arc<Series>,
    pub(crate) source: SeriesSource,
    api: SeriesApi,
    /// One for all requests, as a core's thread has: what waits for a write is woken there.
    pub(crate) runtime: Runtime,
    pub(crate) tasks: LocalSet,
    /// Its own, until it is not used any more.
    _directory: Option<TempDir>,
}

/// A response, whole.
#[derive(Debug, PartialEq)]
pub(crate) struct Responded {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// It was made by a thread of its own.
    pub(crate) is_long: bool,
    /// The server has ended it before its end.
    pub(crate) is_cut: bool,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with(SeriesSettings::default())
    }

    pub(crate) fn with(settings: SeriesSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        Self::make(&path, settings, Some(directory))
    }

    /// Of a directory that stays, where the series are not in a database.
    pub(crate) fn open(directory: &Path, settings: SeriesSettings) -> Self {
        Self::make(directory, settings, None)
    }

    fn make(directory: &Path, settings: SeriesSettings, own: Option<TempDir>) -> Self {
        let (store, engine): (_, Arc<dyn Engine>) = match PLACE.get() {
            Place::Postgres => {
                let settings = settings.on_postgres(TestDatabase::create().url());
                (None, Arc::new(PostgresEngine::open(settings).unwrap()))
            }
            Place::QuestDb => {
                let settings = settings.on_questdb(QuestServer::shared().fresh_url());
                (None, Arc::new(QuestEngine::open(settings).unwrap()))
            }
            Place::Directory => {
                let store = Arc::new(Store::open(directory, settings.options()).unwrap());
                (Some(Arc::clone(&store)), store)
            }
        };
        let series = Arc::new(Series::new(engine, settings));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let api = SeriesApi::new(Arc::clone(&series));
        let source = SeriesSource::new(Arc::clone(&series));
        Self { api, store, series, source, runtime, tasks: LocalSet::new(), _directory: own }
    }

    /// The embedded store.
    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// One request on a connection of its own. Headers are `name: value`.
    pub(crate) fn request(&self, method: &str, target: &str, headers: &[&str], body: &str) -> Responded {
        self.request_bytes(method, target, headers, body.as_bytes())
    }

    /// As [`Self::request`], with any body.
    pub(crate) fn request_bytes(
        &self,
        method: &str,
        target: &str,
        headers: &[&str],
        body: &[u8],
    ) -> Responded {
        let (mut responded, whole) = self.send(method, target, headers, body);
        responded.body = String::from_utf8(whole).unwrap();
        responded
    }

    /// A request without a body; the bytes of the response's are beside it.
    pub(crate) fn request_whole(&self, method: &str, target: &str, headers: &[&str]) -> (Responded, Vec<u8>) {
        self.send(method, target, headers, b"")
    }

    fn send(&self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> (Responded, Vec<u8>) {
        let (responded, whole) = self.send_over(self.api.connect(LIMITS), method, target, headers, body);
        assert!(!responded.is_cut, "{target}: it is whole");
        (responded, whole)
    }

    /// A request whose response may end before its end.
    pub(crate) fn request_part(&self, target: &str, headers: &[&str]) -> (Responded, Vec<u8>) {
        self.send_over(self.api.connect(LIMITS), "GET", target, headers, b"")
    }

    /// Over a connection, which may be a role's.
    pub(crate) fn send_over(
        &self,
        mut connection: Box<dyn ApiConnection>,
        method: &str,
        target: &str,
        headers: &[&str],
        body: &[u8],
    ) -> (Responded, Vec<u8>) {
        let work = async {
            let (path, query) =
                target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
            let mut map = HeaderMap::new();
            map.insert(http::header::CONTENT_LENGTH, body.len().into());
            for header in headers {
                let (name, value) = header.split_once(": ").unwrap();
                map.insert(name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap());
            }
            let method: Method = method.parse().unwrap();
            respond(&mut *connection, &method, (path, query), &map, body).await
        };
        self.tasks.block_on(&self.runtime, work)
    }

    pub(crate) fn get(&self, target: &str) -> String {
        let Responded { status, body, .. } = self.request("GET", target, &[], "");
        format!("{} {body}", status.as_u16())
    }

    /// Notifies of entities, as a list in JSON.
    pub(crate) fn notify(&self, entities: &str, headers: &[&str]) {
        let body = format!("{{\"data\":{entities}}}");
        let responded = self.request("POST", "/v2/notify", headers, &body);
        assert_eq!(
            (responded.status, &*responded.body),
            (StatusCode::OK, "\"Notification successfully processed\""),
            "{entities}"
        );
    }
}

async fn respond(
    connection: &mut dyn ApiConnection,
    method: &Method,
    (path, query): (&str, Option<&str>),
    headers: &HeaderMap,
    body: &[u8],
) -> (Responded, Vec<u8>) {
    let mut response = ApiResponse::default();
    let mut request = ApiRequest { method, path, query, headers, body: None };
    loop {
        let rest = match connection.begin(&request, &mut response) {
            Progress::NeedsBody => {
                request.body = Some(body);
                continue;
            }
            Progress::NotReady(room) => {
                room.await;
                continue;
            }
            Progress::Done => None,
            Progress::Waits => {
                poll_fn(|context| connection.poll(context, &mut response)).await;
                None
            }
            Progress::Streams(rest) => Some(rest),
            Progress::Refused => {
                response.status = StatusCode::FORBIDDEN;
                None
            }
            Progress::Asynchronous(respond) => {
                let body = Box::new(WholeBody::from(Bytes::copy_from_slice(body)));
                let responded = respond(body).await;
                let (mut whole, mut is_cut) = (responded.response.body.clone(), false);
                if let Some(mut rest) = responded.rest {
                    while let Some(part) = rest.next().await {
                        match part {
                            Ok(part) => whole.extend_from_slice(&part),
                            Err(_) => is_cut = true,
                        }
                    }
                }
                return (Responded { is_cut, ..finished(&responded.response, true) }, whole);
            }
        };
        let mut whole = response.body.clone();
        if let Some(mut rest) = rest {
            while let Some(part) = rest.next().await {
                whole.extend_from_slice(&part.expect("it is whole"));
            }
        }
        return (finished(&response, false), whole);
    }
}

/// Without the body.
fn finished(response: &ApiResponse, is_long: bool) -> Responded {
    let shown =
        |(name, value): &(HeaderName, HeaderValue)| (name.to_string(), value.to_str().unwrap().to_owned());
    Responded {
        status: response.status,
        headers: response.headers.iter().map(shown).collect(),
        body: String::new(),
        is_long,
        is_cut: false,
    }
}
