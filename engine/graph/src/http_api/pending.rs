//! What the response to a call waits for: a write that is not durable yet, or what others have written and the call has read.

use std::{
    cell::Cell,
    fmt, mem,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::future::LocalBoxFuture;
use prony_graph_store::{Read, Waiting};
use prony_source::http_api::{ApiResponse, AsyncResponse, Progress};

use super::{
    error::CallError,
    write::{Begun, NotBegun, WriteProgress},
};
use crate::databases::{
    Database,
    settle::{self, RefusedWrite},
};

/// What a response waits for.
#[derive(Default)]
pub(super) struct Pending {
    write: Option<Waiting>,
    /// Of writes that the response tells of.
    read: Option<Waiting>,
    /// Only once the write is durable.
    detached: Option<LocalBoxFuture<'static, ()>>,
    /// The write that is begun once more, as there may be room for it now; set by what was waited for, so that it is not there where
    /// nobody waited to the end.
    refused: Rc<Cell<Option<RefusedWrite>>>,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("write", &self.write)
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}

impl Pending {
    /// Responds by a look at the graph, once all that was seen may be told. `respond` begins the response anew each time.
    pub(super) fn look(
        &mut self,
        database: &Arc<Database>,
        response: &mut ApiResponse,
        mut respond: impl FnMut(&Read, &mut ApiResponse) -> Result<Progress, CallError>,
    ) -> Progress {
        let (progress, fence) = settle::look(database, |read| match respond(read, response) {
            Ok(progress) => progress,
            Err(error) => {
                error.write(response);
                Progress::Done
            }
        });
        self.behind(settle::behind(database, fence), progress, response)
    }

    /// What is to be done with a response that tells of what was read.
    fn behind(&mut self, read: Waiting, progress: Progress, response: &mut ApiResponse) -> Progress {
        if read.is_over() {
            return progress;
        }
        match progress {
            Progress::Done => {
                self.read = Some(read);
                Progress::Waits
            }
            Progress::Streams(rest) => {
                let response = mem::take(response);
                let made = AsyncResponse { response, rest: Some(rest), closes_connection: false };
                Progress::Asynchronous(Box::new(move |_body| Box::pin(told(made, read))))
            }
            Progress::Asynchronous(respond) => Progress::Asynchronous(Box::new(move |body| {
                Box::pin(async move { told(respond(body).await, read).await })
            })),
            // They tell of nothing that was read.
            Progress::Waits | Progress::NeedsBody | Progress::NotReady(_) | Progress::Refused => progress,
        }
    }

    /// What is to be done once a write has begun, or has not.
    pub(super) fn begun(
        &mut self,
        database: &Arc<Database>,
        begun: Begun,
        response: &mut ApiResponse,
    ) -> Result<Progress, CallError> {
        let refused = self.refused.take();
        match begun {
            Ok(WriteProgress::Over(progress)) => Ok(progress),
            Ok(WriteProgress::Waits(accepted)) => {
                self.write = Some(accepted);
                Ok(Progress::Waits)
            }
            Ok(WriteProgress::WaitsForDetached(accepted, detached)) => {
                self.write = Some(accepted);
                self.detached = Some(detached);
                Ok(Progress::Waits)
            }
            Err(NotBegun::Refused(CallError::DiskFull, _)) => {
                let refused = refused.unwrap_or_default();
                if refused.is_final() {
                    return Err(CallError::DiskFull);
                }
                let (store, slot) = (Arc::clone(&database.store), Rc::clone(&self.refused));
                Ok(Progress::NotReady(Box::pin(async move { slot.set(Some(refused.again(&store).await)) })))
            }
            Err(NotBegun::Refused(error, read)) => {
                error.write(response);
                Ok(self.behind(read, Progress::Done, response))
            }
            Err(NotBegun::Error(error)) => Err(error),
            Err(NotBegun::NotPermitted) => Ok(Progress::Refused),
            Err(NotBegun::NoRoom) => {
                self.refused.set(refused);
                let store = Arc::clone(&database.store);
                Ok(Progress::NotReady(Box::pin(async move { store.room().await })))
            }
        }
    }

    /// Ready when there is the response: what was asked for, or why it is not.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, response: &mut ApiResponse) -> Poll<()> {
        if let Some(waiting) = &mut self.write {
            let outcome = ready!(waiting.poll(context));
            self.write = None;
            if let Err(error) = outcome {
                self.detached = None;
                CallError::NotDurable(error).write(response);
            }
        }
        if let Some(waiting) = &mut self.read {
            let outcome = ready!(waiting.poll(context));
            self.read = None;
            if let Err(error) = outcome {
                CallError::ReadNotDurable(error).write(response);
            }
        }
        if let Some(detached) = &mut self.detached {
            ready!(detached.as_mut().poll(context));
            self.detached = None;
        }
        Poll::Ready(())
    }
}

/// The response once what was read for it may be told.
async fn told(made: AsyncResponse, read: Waiting) -> AsyncResponse {
    match read.outcome().await {
        Ok(()) => made,
        Err(error) => {
            let mut refused =
                AsyncResponse { closes_connection: made.closes_connection, ..AsyncResponse::default() };
            CallError::ReadNotDurable(error).write(&mut refused.response);
            refused
        }
    }
}

/// Responds with a body that a look at the graph writes, once all that was seen may be told.
pub(super) async fn look_and_wait(
    database: &Arc<Database>,
    mut write: impl FnMut(&Read, &mut ApiResponse),
) -> AsyncResponse {
    let mut made = AsyncResponse::default();
    let ((), fence) = settle::look(database, |read| write(read, &mut made.response));
    told(made, settle::behind(database, fence)).await
}
