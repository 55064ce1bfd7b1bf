//! `/dbs`: the databases themselves, listed, made, emptied and dropped. What blocks goes to a thread of its own.

use std::sync::Arc;

use http::{Method, StatusCode};
use prony_graph_store::{Read, Side};
use prony_graphql::json::write_string;
use prony_source::http_api::{ApiRequest, ApiResponse, AsyncResponder, AsyncResponse, Progress};

use super::{
    access::with_view,
    error::CallError,
    json::{begin_ok, write_list},
    path,
    pending::{Pending, look_and_wait},
    read::schema::write_types,
    write,
};
use crate::databases::{ChangeError, Database, Databases};

/// Responds to what is not below `/db/`.
pub(super) fn respond(
    databases: &Arc<Databases>,
    request: &ApiRequest<'_>,
    waiting: &mut Pending,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    let rest = request.path.strip_prefix("/dbs").ok_or(CallError::UnknownRoute)?;
    let Some(name) = rest.strip_prefix('/') else {
        if !rest.is_empty() || !path::is_read(request.method) {
            return Err(CallError::UnknownRoute);
        }
        let body = begin_ok(response);
        write_list(body, databases.all().keys(), |out, name| write_string(out, name));
        return Ok(Progress::Done);
    };
    let name = match path::decode(name) {
        Ok(name) if !name.contains('/') || name.is_empty() => name,
        _ => return Err(CallError::UnknownRoute),
    };
    let responder = match *request.method {
        Method::GET | Method::HEAD => {
            let database = databases.get(&name).ok_or(CallError::NotFound)?;
            return Ok(waiting.look(&database, response, |read, response| {
                describe(&database, read, response);
                Ok(Progress::Done)
            }));
        }
        Method::POST => change(databases, &name, |databases, name| databases.create(name).map(Some)),
        Method::PUT => clear(databases, &name)?,
        Method::DELETE => change(databases, &name, |databases, name| databases.drop_one(name).map(|()| None)),
        _ => return Err(CallError::UnknownRoute),
    };
    Ok(Progress::Asynchronous(responder))
}

/// `{"key": "rage", "nodes": ["User"], "relationships": ["KNOWS"]}`
fn describe(database: &Database, read: &Read, response: &mut ApiResponse) {
    let body = begin_ok(response);
    body.extend_from_slice(b"{\"key\": ");
    write_string(body, &database.name);
    for (side, member) in [(Side::Nodes, "nodes"), (Side::Relationships, "relationships")] {
        body.extend_from_slice(b", ");
        write_string(body, member);
        body.extend_from_slice(b": ");
        with_view(read, None, |view| write_types(body, view, side));
    }
    body.push(b'}');
}

/// Makes or drops a database, and describes the one that was made.
fn change(
    databases: &Arc<Databases>,
    name: &str,
    change: impl FnOnce(&Databases, &str) -> Result<Option<Arc<Database>>, ChangeError> + Send + 'static,
) -> AsyncResponder {
    let (databases, name) = (Arc::clone(databases), name.to_owned());
    Box::new(move |_body| {
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || change(&databases, &name)).await {
                Ok(Ok(Some(database))) => described(&database).await,
                Ok(Ok(None)) => whole(|response| response.set_empty(StatusCode::NO_CONTENT)),
                Ok(Err(error)) => whole(|response| not_changed(&error).write(response)),
                Err(error) => {
                    tracing::error!(%error, "cannot change a database");
                    let text = "cannot change the database; the server's log says why";
                    whole(|response| CallError::Failed(text.into()).write(response))
                }
            }
        })
    })
}

fn not_changed(error: &ChangeError) -> CallError {
    match error {
        ChangeError::Missing => CallError::NotModified,
        ChangeError::Open(error) if error.is_disk_full() => CallError::DiskFull,
        ChangeError::Directory { .. } | ChangeError::Open(_) => {
            tracing::error!(%error, "cannot change a database");
            CallError::Failed(error.to_string().into())
        }
        error => CallError::BadRequest(error.to_string().into()),
    }
}

/// Empties a database, and describes it when that is durable.
fn clear(databases: &Databases, name: &str) -> Result<AsyncResponder, CallError> {
    let missing = || CallError::BadRequest(ChangeError::Missing.to_string().into());
    let database = databases.get(name).ok_or_else(missing)?;
    Ok(Box::new(move |_body| {
        Box::pin(async move {
            match write::clear_and_wait(&database).await {
                Ok(()) => described(&database).await,
                Err(error) => whole(|response| error.write(response)),
            }
        })
    }))
}

async fn described(database: &Arc<Database>) -> AsyncResponse {
    look_and_wait(database, |read, response| describe(database, read, response)).await
}

fn whole(write: impl FnOnce(&mut ApiResponse)) -> AsyncResponse {
    let mut made = AsyncResponse::default();
    write(&mut made.response);
    made
}

#[cfg(test)]
mod tests {
    use std::{io, path::PathBuf};

    use prony_graph_store::OpenError;

    use super::*;

    /// It was a 500, as if the directory could not be used.
    #[test]
    fn a_database_that_has_no_room_is_refused_as_a_write_is() {
        let refused = |kind: io::ErrorKind| {
            not_changed(&ChangeError::Open(OpenError::Write { path: PathBuf::new(), cause: kind.into() }))
        };
        assert!(matches!(refused(io::ErrorKind::StorageFull), CallError::DiskFull));
        assert!(matches!(refused(io::ErrorKind::PermissionDenied), CallError::Failed(_)));
    }
}
