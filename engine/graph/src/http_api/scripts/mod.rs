//! `POST /db/{graph}/lua`: a script is read, waits for one of a few threads, and runs there, so that a core goes on with other requests
//! meanwhile. What it asks of the graph are calls as clients make them, by whoever sent it (`calls`).

mod calls;
mod failure;
mod pool;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::future::LocalBoxFuture;
use prony_graph_lua::{SCRIPT_BYTES_MAX, ScriptFault};
use prony_source::http_api::{AsyncResponder, AsyncResponse, RequestBody};
use tokio::sync::oneshot;

pub(crate) use self::pool::ScriptSettings;
use self::{
    failure::{NotQueued, ScriptFailure},
    pool::{Job, Pool},
};
use super::{
    json::begin_ok,
    script_call::{RunScripts, ScriptRequest},
};

/// The threads that run scripts.
#[derive(Debug)]
pub(crate) struct Scripts {
    settings: ScriptSettings,
    pool: Pool,
}

impl Scripts {
    pub(crate) fn new(settings: ScriptSettings) -> Self {
        Self { settings, pool: Pool::default() }
    }
}

impl RunScripts for Scripts {
    fn responder(&self, request: ScriptRequest) -> AsyncResponder {
        let (settings, queue) = (self.settings, self.pool.queue());
        Box::new(move |body| -> LocalBoxFuture<'static, AsyncResponse> {
            Box::pin(async move {
                let mut made = AsyncResponse::default();
                let outcome = match read(body).await {
                    Ok(script) => {
                        let is_cancelled = CancelledOnDrop::default();
                        let (done, outcome) = oneshot::channel();
                        let job = Job::new(request, script, settings, Arc::clone(&is_cancelled.0), done);
                        match queue.push(job) {
                            Ok(()) => {
                                outcome.await.unwrap_or(Err(ScriptFailure::NotQueued(NotQueued::Stopping)))
                            }
                            Err(not_queued) => Err(ScriptFailure::NotQueued(not_queued)),
                        }
                    }
                    Err(failure) => {
                        // What is left of the body would be taken for the next request.
                        made.closes_connection = true;
                        Err(failure)
                    }
                };
                match outcome {
                    Ok(json) => begin_ok(&mut made.response).extend_from_slice(&json),
                    Err(failure) => failure.write(&mut made.response),
                }
                made
            })
        })
    }
}

/// Tells a script whose client has gone.
#[derive(Debug, Default)]
struct CancelledOnDrop(Arc<AtomicBool>);

impl Drop for CancelledOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The whole script; one that is too long is not read to its end.
async fn read(mut body: Box<dyn RequestBody>) -> Result<Vec<u8>, ScriptFailure> {
    let mut script = Vec::new();
    while let Some(piece) = body.next().await {
        script.extend_from_slice(&piece.map_err(ScriptFailure::Body)?);
        if script.len() > SCRIPT_BYTES_MAX {
            return Err(ScriptFailure::Script(ScriptFault::too_long()));
        }
    }
    Ok(script)
}
