//! Calls on a graph whose request is simple: answered straight into bytes, through the same stages as the
//! others from the path on. Reading and writing them is `runtime`'s.

use std::{
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::Method;
use prony_graph_store::Side;

use super::{
    answer::{Accepted, Answer},
    at, bad_path, look, path,
    path::Call,
    split,
    write::{self, Begun},
};
use crate::{
    graphql::{CoreEngine, ExecutionContext as _},
    http::simple::SimpleRequest,
};

/// One connection's calls, one after the other.
#[derive(Debug)]
pub(crate) struct Lane {
    core: Rc<CoreEngine>,
    waiting: Option<Accepted>,
}

/// What has become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Answered,
    /// [`Lane::poll`] writes the answer.
    Waits,
    /// It is somebody else's; nothing was done.
    NotHere,
}

impl Lane {
    /// None where there is no graph.
    pub(crate) fn new(core: &Rc<CoreEngine>) -> Option<Self> {
        core.engine().databases().map(|_| Self { core: Rc::clone(core), waiting: None })
    }

    /// Answers a request. None may be waiting.
    pub(crate) fn serve(&mut self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> Served {
        let Some(begun) = begin(&self.core, request) else { return Served::NotHere };
        match begun {
            Begun::Answered(answer) => {
                if !answer.write(out) {
                    return Served::NotHere;
                }
                drop(self.core.metrics().request_begins());
                Served::Answered
            }
            // What waits for room is no answer of a moment.
            Begun::NoRoom => Served::NotHere,
            Begun::Waits(accepted) => {
                self.core.metrics().request_begins().goes_on();
                self.waiting = Some(accepted);
                Served::Waits
            }
        }
    }

    /// Ready when nothing is waiting; what was is then answered.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<()> {
        let Some(accepted) = &mut self.waiting else { return Poll::Ready(()) };
        let answer = ready!(accepted.poll(context));
        self.end_waiting();
        let is_written = answer.write(out);
        debug_assert!(is_written, "only what is wrong with a body ends a connection");
        Poll::Ready(())
    }

    fn end_waiting(&mut self) {
        if self.waiting.take().is_some() {
            self.core.metrics().request_ends();
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.end_waiting();
    }
}

/// None where it is no call on a graph that has an answer of one piece.
fn begin(core: &CoreEngine, request: &SimpleRequest<'_>) -> Option<Begun> {
    let databases = core.engine().databases()?;
    if request.method == Method::GET {
        return look(databases, request.path, request.query).map(Begun::Answered);
    }
    let (name, call) = split(request.path)?;
    let call = match path::read(call) {
        // Many at a time; its answer may come in pieces.
        Ok(Call::List(Side::Nodes | Side::Relationships, None)) => return None,
        Ok(call) => call,
        Err(fault) => return Some(bad_path(fault).into()),
    };
    let begin =
        |database: &Arc<_>| write::begin(database, &request.method, &call, request.query, request.body);
    Some(at(databases, name, begin).unwrap_or_else(|| Answer::unknown_route().into()))
}
