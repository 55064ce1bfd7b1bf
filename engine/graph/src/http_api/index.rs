//! An index that is made of what is there: beside all other calls, on a thread of its own.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use prony_graph_store::{Side, WriteError};
use prony_source::http_api::{AsyncResponder, AsyncResponse};

use super::error::{CallError, not_changed};
use crate::databases::{Database, settle};

/// Makes it, and responds once it is durable; after the time limit with 202: it is being made then, and will be there.
pub(super) fn responder(database: &Arc<Database>, side: Side, of: &str, name: &str) -> AsyncResponder {
    let (database, of, name) = (Arc::clone(database), of.to_owned(), name.to_owned());
    Box::new(move |_body| {
        Box::pin(async move {
            let limit = database.time_limit.unwrap_or(Duration::MAX);
            let (begun, store) = (database.store.begin_read(), Arc::clone(&database.store));
            let making = tokio::task::spawn_blocking(move || store.make_index(side, &of, &name));
            let mut made = AsyncResponse::default();
            match tokio::time::timeout(limit, making).await {
                Err(_) => made.response.set_empty(StatusCode::ACCEPTED),
                Ok(Ok(Err(WriteError::Refused(refusal)))) => {
                    let fence = settle::refused(&database, begun);
                    let told = settle::behind(&database, fence).outcome().await;
                    let error = told.map_or_else(CallError::ReadNotDurable, |()| not_changed(&refusal));
                    error.write(&mut made.response);
                }
                Ok(Ok(Err(WriteError::Log(error)))) => CallError::NotDurable(error).write(&mut made.response),
                Ok(Ok(Ok(()))) => made.response.set_empty(StatusCode::CREATED),
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
