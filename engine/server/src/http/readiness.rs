//! `/live` and `/ready`: whether the process responds, and whether requests should be sent to it now. Anybody may ask, so there are
//! names of sources and a word for each fault, and neither paths nor texts of databases; those are in `/health` and the log.

use std::{path::PathBuf, time::Duration};

use futures_util::future::join_all;
use http::StatusCode;
use prony_source::{NotReady, Source, SourceSession};
use serde::Serialize;

use super::reply::{JSON, Reply, reply};
use crate::graphql::{CoreEngine, ExecutionContext as _};

/// A source that says nothing for so long has much to do, which is no reason to send requests elsewhere. Probes of Kubernetes wait for
/// a second by default.
const SOURCE_WAIT: Duration = Duration::from_millis(750);

/// A disk with less room is full: a write may not fit.
const ROOM_BYTES: u64 = 1 << 20;

#[derive(Debug, Serialize)]
struct Readiness<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Reason<'a>>,
    /// What is no reason to send requests elsewhere: other servers of the same sources have it too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Reason<'a>>,
}

#[derive(Debug, Serialize)]
struct Reason<'a> {
    source: &'a str,
    reason: &'static str,
}

/// The thread of a core responds.
pub(super) fn live() -> Reply {
    reply(StatusCode::OK, JSON, &b"{\"status\":\"live\"}"[..])
}

/// 200 when every source can be asked and its disk has room, 503 otherwise, and once the server is about to stop.
pub(super) async fn ready(core: &CoreEngine) -> Reply {
    if core.site().is_stopping() {
        return respond(&Readiness { status: "stopping", reasons: Vec::new(), warnings: Vec::new() });
    }
    let all = core.engine().sources().iter().zip(core.sessions());
    let reasons = all.map(|(source, session)| async move {
        let reason = of_source(&*source.source, session).await?;
        Some(Reason { source: &source.name, reason: reason.label() })
    });
    let reasons: Vec<Reason<'_>> = join_all(reasons).await.into_iter().flatten().collect();
    let status = if reasons.is_empty() { "ready" } else { "unavailable" };
    let served = core.current();
    let sources = core.engine().sources().iter().zip(&*served.refused);
    let is_old =
        sources.filter(|(source, refused)| refused.is_some() || source.source.schema_fault().is_some());
    let is_old = is_old.map(|(source, _)| Reason { source: &source.name, reason: "schema_refused" });
    let of_sources = core
        .engine()
        .sources()
        .iter()
        .filter_map(|source| Some(Reason { source: &source.name, reason: source.source.warning()? }));
    let warnings = is_old.chain(of_sources).collect();
    respond(&Readiness { status, reasons, warnings })
}

fn respond(readiness: &Readiness<'_>) -> Reply {
    let body = serde_json::to_vec(readiness).expect("plain texts are JSON");
    let is_ready = readiness.status == "ready";
    reply(if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, JSON, body)
}

async fn of_source(source: &dyn Source, session: &dyn SourceSession) -> Option<NotReady> {
    let asked = async {
        if let Err(reason) = session.readiness().await {
            return Some(reason);
        }
        let directory = source.written_directory()?;
        is_full(directory).await.then_some(NotReady::DiskFull)
    };
    tokio::time::timeout(SOURCE_WAIT, asked).await.ok().flatten()
}

/// Asked on another thread: a file system over a network may take its time.
async fn is_full(directory: PathBuf) -> bool {
    let asked = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&directory));
    let Ok(Ok(found)) = asked.await else { return false };
    let room_bytes = found.f_bavail.saturating_mul(found.f_frsize);
    // Some file systems count nothing.
    found.f_blocks > 0 && room_bytes < ROOM_BYTES
}
