//! A property graph over HTTP: the databases of a graph source, and RageDB's calls on them. What a graph holds, and when
//! a write is durable, is the store's; which paths lead here is decided in `http`.
//!
//! The road of a call: path → [`path::Call`] → what the store says → JSON text. A read is answered at once; a write
//! waits, without holding up its core, until the store has told that it is durable.

mod answer;
mod databases;
mod given;
mod json;
mod list;
mod manage;
mod path;
mod read;
mod schema;
mod write;

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

pub use self::databases::DatabasesError;
pub(crate) use self::databases::{DEFAULT_DATABASE, Databases};
use self::{answer::Answer, path::BadPath};
use crate::{config::Settings, http::reply::Reply};

/// Whether a path is one of the graph's.
pub(crate) fn has(path: &str) -> bool {
    path.starts_with("/db/") || path == "/dbs" || path.starts_with("/dbs/")
}

/// Answers a request below `/db/` or `/dbs`.
pub(crate) async fn answer(
    settings: &Settings,
    databases: &Arc<Databases>,
    request: Request<Incoming>,
) -> Reply {
    let path = request.uri().path();
    let Some(rest) = path.strip_prefix("/db/") else {
        return manage::answer(databases, request.method(), path).await.into_reply();
    };
    let (name, call) = rest.split_once('/').unwrap_or((rest, ""));
    let other = if name == DEFAULT_DATABASE {
        None
    } else {
        match path::decode(name).ok().and_then(|name| databases.get(&name)) {
            Some(database) => Some(database),
            None => return unknown(),
        }
    };
    let database = other.as_ref().unwrap_or_else(|| databases.default());
    if request.method() == Method::GET || request.method() == Method::HEAD {
        let call = path::read(call);
        let query = request.uri().query();
        return call.map_or_else(bad_path, |call| read::answer(database, &call, query)).into_reply();
    }
    let from = path.len() - call.len();
    let (head, body) = request.into_parts();
    match path::read(&head.uri.path()[from..]) {
        Ok(call) => write::answer(settings, database, &call, &head, body).await,
        Err(fault) => bad_path(fault),
    }
    .into_reply()
}

fn bad_path(fault: BadPath) -> Answer {
    match fault {
        BadPath::Unknown => Answer::unknown_route(),
        BadPath::Invalid(text) => Answer::bad(text),
    }
}

/// The answer to a path that nobody serves, where there is a graph.
pub(crate) fn unknown() -> Reply {
    Answer::unknown_route().into_reply()
}
