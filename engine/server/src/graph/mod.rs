//! A property graph over HTTP: the databases of a graph source, and RageDB's calls on them. What a graph holds, and when
//! a write is durable, is the store's; which paths lead here is decided in `http`.
//!
//! The pipeline of a call: path → [`path::Call`] → what the store says → JSON text. A read is answered at once; a write
//! waits, without holding up its core, until the store has told that it is durable.

mod answer;
mod around;
mod bulk;
mod given;
mod json;
mod lane;
mod list;
mod manage;
mod path;
mod pieces;
mod read;
mod schema;
mod write;

use prony_graph::databases::{DEFAULT_DATABASE, Database, Databases};
use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

pub(crate) use self::lane::{Lane, Served};
use self::{
    answer::Answer,
    path::{BadPath, Call},
};
use crate::{config::Settings, http::reply::Reply};

/// Whether a path is one of the graph's.
pub(crate) fn has(path: &str) -> bool {
    path.starts_with("/db/") || path == "/dbs" || path.starts_with("/dbs/")
}

/// Answers a GET below `/db/`; none where the path is another.
fn look(databases: &Databases, path: &str, query: Option<&str>) -> Option<Answer> {
    let (name, call) = split(path)?;
    let answer = |database: &Arc<Database>| {
        path::read(call).map_or_else(bad_path, |call| read::answer(database, &call, query))
    };
    Some(at(databases, name, answer).unwrap_or_else(Answer::unknown_route))
}

/// Answers a request below `/db/` or `/dbs`.
pub(crate) async fn answer(
    settings: &Settings,
    databases: &Arc<Databases>,
    request: Request<Incoming>,
) -> Reply {
    let path = request.uri().path();
    let Some((name, call)) = split(path) else {
        return manage::answer(databases, request.method(), path).await.into_reply();
    };
    if request.method() == Method::GET || request.method() == Method::HEAD {
        let uri = request.uri();
        return look(databases, uri.path(), uri.query()).unwrap_or_else(Answer::unknown_route).into_reply();
    }
    let Some(database) = at(databases, name, Arc::clone) else { return unknown() };
    let from = path.len() - call.len();
    let (head, body) = request.into_parts();
    match path::read(&head.uri.path()[from..]) {
        Ok(Call::List(side, None)) if head.method == Method::POST => {
            return bulk::answer(settings, &database.store, side, &head, body).await;
        }
        Ok(call) => write::answer(settings, &database, &call, &head, body).await,
        Err(fault) => bad_path(fault),
    }
    .into_reply()
}

/// A database's name and what follows it; none where the path is not below `/db/`.
fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/db/")?;
    let end = rest.bytes().position(|byte| byte == b'/');
    Some(end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..])))
}

/// What `take` makes of the database with a name.
fn at<T>(databases: &Databases, name: &str, take: impl FnOnce(&Arc<Database>) -> T) -> Option<T> {
    if name == DEFAULT_DATABASE {
        return Some(take(databases.default()));
    }
    let name = path::decode(name).ok()?;
    databases.get(&name).map(|database| take(&database))
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
