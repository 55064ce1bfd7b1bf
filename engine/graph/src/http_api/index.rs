//! An index that is made of what is there: beside all other calls, on a thread of its own.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use prony_graph_store::{Side, WriteError};
use prony_source::http_api::{ApiResponse, AsyncResponder, AsyncResponse};

use super::error::{CallError, not_changed};
use crate::databases::Database;

/// Makes it, and responds once it is durable; after the time limit with 202: it is being made then, and will be there.
pub(super) fn responder(database: &Arc<Database>, side: Side, of: &str, name: &str) -> AsyncResponder {
    let (database, of, name) = (Arc::clone(database), of.to_owned(), name.to_owned());
    Box::new(move |_body| {
        Box::pin(async move {
            let limit = database.time_limit.unwrap_or(Duration::MAX);
            let making = tokio::task::spawn_blocking(move || database.store.make_index(side, &of, &name));
            let mut made = AsyncResponse::default();
            match tokio::time::timeout(limit, making).await {
                Err(_) => made.response.set_empty(StatusCode::ACCEPTED),
                Ok(Ok(outcome)) => respond(outcome, &mut made.response),
                Ok(Err(error)) => {
                    tracing::error!(%error, "cannot make an index");
                    let text = "cannot make the index; the server's log says why";
                    CallError::Failed(text.into()).write(&mut made.response);
                }
            }
            made
        })
    })
}

fn respond(outcome: Result<(), WriteError>, response: &mut ApiResponse) {
    match outcome {
        Ok(()) => response.set_empty(StatusCode::CREATED),
        Err(WriteError::Refused(refusal)) => not_changed(&refusal).write(response),
        Err(WriteError::Log(error)) => CallError::NotDurable(error).write(response),
    }
}
