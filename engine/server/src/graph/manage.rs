//! `/dbs`: the databases themselves, listed, made, emptied and dropped. What blocks goes to a thread of its own.

use std::{borrow::Cow, sync::Arc};

use http::{Method, StatusCode};
use prony_graph::databases::{ChangeError, Database, Databases};
use prony_graph_store::Side;
use prony_graphql::json::write_string;

use super::{answer::Answer, json::write_list, path, write};

pub(super) async fn answer(databases: &Arc<Databases>, method: &Method, path: &str) -> Answer {
    let rest = path.strip_prefix("/dbs").unwrap_or_default();
    let Some(name) = rest.strip_prefix('/') else {
        return if *method == Method::GET || *method == Method::HEAD {
            list(databases)
        } else {
            Answer::unknown_route()
        };
    };
    let name = match path::decode(name) {
        Ok(name) if !name.contains('/') || name.is_empty() => name,
        _ => return Answer::unknown_route(),
    };
    match *method {
        Method::GET | Method::HEAD => {
            Answer::found(databases.get(&name).map(|database| described(&database)))
        }
        Method::POST => changed(databases, name, Databases::create).await,
        Method::PUT => clear(databases, &name).await,
        Method::DELETE => changed(databases, name, Databases::drop_one).await,
        _ => Answer::unknown_route(),
    }
}

fn list(databases: &Databases) -> Answer {
    let mut body = Vec::new();
    write_list(&mut body, databases.all().keys(), |out, name| write_string(out, name));
    Answer::ok(body)
}

/// `{"key": "rage", "nodes": ["User"], "relationships": ["KNOWS"]}`
fn described(database: &Database) -> Vec<u8> {
    let read = database.store.read();
    let mut body = b"{\"key\": ".to_vec();
    write_string(&mut body, &database.name);
    for (side, member) in [(Side::Nodes, "nodes"), (Side::Relationships, "relationships")] {
        body.extend_from_slice(b", ");
        write_string(&mut body, member);
        body.extend_from_slice(b": ");
        super::schema::write_types(&mut body, &read, side);
    }
    body.push(b'}');
    body
}

async fn changed(
    databases: &Arc<Databases>,
    name: Cow<'_, str>,
    change: impl FnOnce(&Databases, &str) -> Result<(), ChangeError> + Send + 'static,
) -> Answer {
    let (on, of) = (Arc::clone(databases), name.into_owned());
    let done = tokio::task::spawn_blocking(move || {
        change(&on, &of).map(|()| on.get(&of).map(|database| described(&database)))
    });
    match done.await {
        Ok(Ok(Some(body))) => Answer::ok(body),
        Ok(Ok(None)) => Answer::bare(StatusCode::NO_CONTENT),
        Ok(Err(ChangeError::Missing)) => Answer::bare(StatusCode::NOT_MODIFIED),
        Ok(Err(error @ (ChangeError::Directory { .. } | ChangeError::Open(_)))) => {
            tracing::error!(%error, "cannot change a database");
            Answer::said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
        }
        Ok(Err(error)) => Answer::bad(&error.to_string()),
        Err(error) => {
            tracing::error!(%error, "cannot change a database");
            Answer::said(
                StatusCode::INTERNAL_SERVER_ERROR,
                "cannot change the database; the server's log says why",
            )
        }
    }
}

async fn clear(databases: &Databases, name: &str) -> Answer {
    let Some(database) = databases.get(name) else { return Answer::bad(&ChangeError::Missing.to_string()) };
    match write::cleared(&database).await {
        Ok(()) => Answer::ok(described(&database)),
        Err(response) => response,
    }
}
