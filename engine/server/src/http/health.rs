//! `/health`: whether every source answers just now. 200 when all do, 503 otherwise.

use futures_util::future::join_all;
use http::StatusCode;
use prony_graphql::response::Detail;
use serde::Serialize;
use serde_json::{Map, Value};

use super::reply::{JSON, Reply, reply};
use crate::{
    access::{KeySetHealth, SharedLimitsHealth},
    graphql::{CoreEngine, ExecutionContext as _},
    tls::TlsHealth,
};

#[derive(Debug, Serialize)]
struct Health<'a> {
    status: &'static str,
    version: &'static str,
    sources: Vec<SourceHealth<'a>>,
    /// Of issuers whose keys are fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    key_sets: Vec<KeySetHealth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<TlsHealth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_limits: Option<SharedLimitsHealth>,
    /// What sources tell beside that, by their keys.
    #[serde(flatten)]
    details: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct SourceHealth<'a> {
    name: &'a str,
    database: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Types that are served under other names than their own, because another source has those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collisions: Vec<String>,
    /// Its schema as it is now is refused: it is served by that of before, or without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_fault: Option<String>,
}

pub(super) async fn answer(core: &CoreEngine) -> Reply {
    // The database's own text, as in the errors of requests.
    let shown = core.engine().detail() == Detail::Shown;
    let served = core.current();
    let schemas = served.sources.iter().zip(&*served.refused);
    let all = core.engine().sources().iter().zip(core.sessions()).zip(schemas);
    let sources = all.map(|((source, session), (schema, refused))| async move {
        let failure = session.health().await.err();
        let fault = source.source.schema_fault().or_else(|| refused.clone());
        SourceHealth {
            name: &source.name,
            database: source.source.product(),
            status: if failure.is_none() { "ok" } else { "unreachable" },
            message: failure.filter(|_| shown),
            collisions: schema.collisions().to_vec(),
            schema_fault: fault.map(|faults| {
                if shown { faults } else { "the schema is refused; the log says why".to_owned() }
            }),
        }
    });
    let sources = join_all(sources).await;
    let ok = sources.iter().all(|source| source.status == "ok");
    let details = core.engine().sources().iter().filter_map(|source| source.source.health_details());
    let details = details.map(|(key, value)| (key.to_owned(), value)).collect();
    let health = Health {
        status: if ok { "ok" } else { "unavailable" },
        version: env!("CARGO_PKG_VERSION"),
        sources,
        key_sets: core.site().access.key_set_health(),
        tls: core.site().tls.as_ref().map(|tls| tls.health()),
        shared_limits: core.site().access.shared().map(|shared| shared.health(shown)),
        details,
    };
    let body = serde_json::to_vec(&health).expect("plain texts are JSON");
    reply(if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, JSON, body)
}
