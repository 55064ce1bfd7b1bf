//! The phases of stopping, told to every connection by one watch channel.

use std::time::Duration;

use tokio::sync::watch;

/// How far stopping has come; it never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopPhase {
    Running,
    /// It is known that the server will stop; all goes on.
    Announced,
    /// No new connections; requests in flight finish, then their connections close.
    Draining,
    /// Whatever is left is dropped.
    Now,
}

/// Raises the phase.
#[derive(Debug, Clone)]
pub(crate) struct Stopper(watch::Sender<StopPhase>);

/// Waits for a phase.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<StopPhase>);

pub(crate) fn channel() -> (Stopper, Stopping) {
    let (sender, receiver) = watch::channel(StopPhase::Running);
    (Stopper(sender), Stopping(receiver))
}

impl Stopper {
    pub(crate) fn raise(&self, phase: StopPhase) {
        self.0.send_if_modified(|current| {
            let higher = phase > *current;
            *current = (*current).max(phase);
            higher
        });
    }

    /// Drains, and returns when `grace` is over.
    pub(crate) async fn drain(&self, grace: Duration) {
        self.raise(StopPhase::Draining);
        tokio::time::sleep(grace).await;
    }
}

impl Stopping {
    /// Whether the phase is `phase` or later.
    pub(crate) fn has_reached(&self, phase: StopPhase) -> bool {
        *self.0.borrow() >= phase
    }

    /// Returns once the phase is `phase` or later; also when nobody is left to raise it.
    pub(crate) async fn reached(&mut self, phase: StopPhase) {
        let _ = self.0.wait_for(|current| *current >= phase).await;
    }
}
