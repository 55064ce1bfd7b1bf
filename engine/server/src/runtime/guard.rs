//! What ends a connection from outside of its requests: a client that is silent too long, and the server's stop.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use super::{
    connections::{Connections, DrainPhase, Entry},
    stream::Progress,
};
use crate::graphql::{CoreEngine, ExecutionContext as _};

/// Has hyper serve a connection until it ends, its client is silent too long, or the server stops: `shut_down` tells it to end
/// behind what it has begun, once that `is_due`.
pub(super) async fn drive<C>(
    mut connection: Pin<&mut C>,
    guard: &mut Guard,
    connections: &Connections,
    is_due: impl Fn(DrainPhase, &Progress) -> bool,
    shut_down: impl Fn(Pin<&mut C>),
) -> hyper::Result<()>
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut is_shutting_down = false;
    poll_fn(|context| {
        if guard.is_silent_too_long(context) {
            if is_shutting_down {
                return Poll::Ready(Ok(()));
            }
            // A client of HTTP/2 is told which of its requests were taken (RFC 9113, section 9.1); one that is gone is not waited for long.
            shut_down(connection.as_mut());
            is_shutting_down = true;
            guard.header_timeout.put_off(context);
        }
        let phase = connections.phase();
        guard.progress.note_phase(phase);
        // Polled before it is shut down, so that it knows of the request for which it was given the connection, and of what has come.
        let mut polled = connection.as_mut().poll(context);
        while polled.is_pending() && !is_shutting_down && is_due(phase, &guard.progress) {
            shut_down(connection.as_mut());
            is_shutting_down = true;
            polled = connection.as_mut().poll(context);
        }
        polled
    })
    .await
}

/// What a connection has all its life: its line in the table of connections, and the time that its client may be silent.
pub(super) struct Guard {
    pub(super) entry: Entry,
    pub(super) progress: Rc<Progress>,
    header_timeout: HeaderTimeout,
    is_registered: bool,
}

impl Guard {
    pub(super) fn new(entry: Entry, engine: &CoreEngine, progress: Rc<Progress>) -> Self {
        let header_timeout = HeaderTimeout::new(engine.settings().header_timeout);
        Self { entry, progress, header_timeout, is_registered: false }
    }

    /// Call it whenever the connection is polled.
    pub(super) fn is_silent_too_long(&mut self, context: &mut Context<'_>) -> bool {
        if !self.is_registered {
            self.entry.register(context.waker());
            self.is_registered = true;
        }
        self.header_timeout.is_over(context, &self.progress)
    }
}

/// How long a client may take over the headers of a request, counted from its connection's start or its last answer. It
/// looks eight times in that time, so that requests need not set a timer: a client gets up to an eighth more.
struct HeaderTimeout {
    timer: Pin<Box<Sleep>>,
    slice: Duration,
    /// What had been answered and written when it last looked, and how often it has found that nothing has come since.
    steps: u64,
    quiet_slices: u32,
    is_registered: bool,
}

impl HeaderTimeout {
    const SLICES: u32 = 8;

    fn new(timeout: Duration) -> Self {
        let slice = (timeout / Self::SLICES).max(Duration::from_millis(1));
        let timer = Box::pin(tokio::time::sleep(slice));
        Self { timer, slice, steps: 0, quiet_slices: 0, is_registered: false }
    }

    /// Looks once more, a slice from now.
    fn put_off(&mut self, context: &mut Context<'_>) {
        self.quiet_slices = Self::SLICES - 1;
        self.timer.as_mut().reset(Instant::now() + self.slice);
        self.is_registered = self.timer.as_mut().poll(context).is_pending();
    }

    /// Call it whenever the connection is polled: the timer wakes the same task.
    fn is_over(&mut self, context: &mut Context<'_>, progress: &Progress) -> bool {
        while !self.is_registered || self.timer.is_elapsed() {
            if self.timer.as_mut().poll(context).is_pending() {
                self.is_registered = true;
                return false;
            }
            if progress.is_busy() || progress.steps() != self.steps {
                self.steps = progress.steps();
                self.quiet_slices = 0;
            } else {
                self.quiet_slices += 1;
            }
            if self.quiet_slices >= Self::SLICES {
                return true;
            }
            self.timer.as_mut().reset(Instant::now() + self.slice);
            self.is_registered = false;
        }
        false
    }
}
