//! A statement or transaction under way that survives the request that began it: when the request is
//! dropped, reads are cancelled at the database, writes run to their end, and the connection's place is freed
//! only when it is free.

use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;

use crate::connect::link::{Chore, Link, Progress};

/// What becomes of the work when nobody waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenDropped {
    Cancel,
    Finish,
}

pub(crate) struct Running<T: 'static> {
    /// `None` once it has given its result.
    work: Option<LocalBoxFuture<'static, T>>,
    link: Rc<Link>,
    progress: Rc<Progress>,
    when_dropped: WhenDropped,
    chores: mpsc::UnboundedSender<Chore>,
}

impl<T> Running<T> {
    pub(crate) fn new(
        work: LocalBoxFuture<'static, T>,
        link: Rc<Link>,
        progress: Rc<Progress>,
        when_dropped: WhenDropped,
        chores: mpsc::UnboundedSender<Chore>,
    ) -> Self {
        Self { work: Some(work), link, progress, when_dropped, chores }
    }
}

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let work = self.work.as_mut().expect("a finished run is not polled again");
        let poll = work.as_mut().poll(context);
        if poll.is_ready() {
            self.work = None;
        }
        poll
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        if self.when_dropped == WhenDropped::Cancel {
            // Without a number nothing of it is at the database.
            let Some(number) = self.progress.number.get() else { return };
            self.progress.is_unwanted.set(true);
            self.link.give_up(number);
        }
        // Fails only when the core is being torn down, and then the connection is closed anyway.
        let _ = self.chores.send(Box::pin(async move {
            work.await;
        }));
    }
}
