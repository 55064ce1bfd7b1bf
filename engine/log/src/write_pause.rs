//! Writes that wait while something is done beside which nothing may be changed and taken back.

use crate::commit::{CommitQueue, Logged};

/// As long as one is there no write is taken: whoever makes one waits, as where there is no room for it. What was written before goes its
/// way, and where the queue is closed nobody waits.
#[must_use = "writes go on when it is dropped"]
#[derive(Debug)]
pub struct WritePause<'q, S: Logged>(&'q CommitQueue<S>);

impl<S: Logged> CommitQueue<S> {
    pub fn pause_writes(&self) -> WritePause<'_, S> {
        self.lock().pauses += 1;
        WritePause(self)
    }
}

impl<S: Logged> Drop for WritePause<'_, S> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.pauses -= 1;
        self.0.tell_of_room(queue);
    }
}
