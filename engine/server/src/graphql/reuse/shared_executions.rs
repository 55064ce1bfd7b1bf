//! Queries that ask the same at the same time are executed once, for all cores. Whoever comes first has it executed on its core;
//! the others wait for the response, or for its errors. It ends when the last of them has gone, and not before.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::{sync::watch, task::AbortHandle};

use super::response_cache::ResponseKey;
use crate::graphql::{outcome::RequestError, prepared::Finished};

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct SharedExecutions(Mutex<HashMap<ResponseKey, Arc<Execution>>>);

pub(super) type Outcome = Option<Result<Finished, RequestError>>;

/// One execution that is under way.
#[derive(Debug)]
pub(super) struct Execution {
    /// Of what the response depends on, when it began.
    version: u64,
    outcome: watch::Receiver<Outcome>,
    participants: Mutex<usize>,
    task: OnceLock<AbortHandle>,
}

/// One who waits for it; the last that is dropped ends it.
pub(super) struct Participant<'e> {
    executions: &'e SharedExecutions,
    key: &'e ResponseKey,
    execution: Arc<Execution>,
}

impl SharedExecutions {
    /// Joins what is under way, or begins; who begins is to send the outcome.
    pub(super) fn participate<'e>(
        &'e self,
        key: &'e ResponseKey,
        version: u64,
    ) -> (Participant<'e>, Option<watch::Sender<Outcome>>) {
        let mut under_way = self.lock();
        let can_be_joined = |known: &&Arc<Execution>| known.version == version && !known.is_broken();
        if let Some(known) = under_way.get(key).filter(can_be_joined) {
            *known.participants() += 1;
            let execution = Arc::clone(known);
            return (Participant { executions: self, key, execution }, None);
        }
        let (sender, outcome) = watch::channel(None);
        let execution =
            Arc::new(Execution { version, outcome, participants: Mutex::new(1), task: OnceLock::new() });
        // One of an older version goes on for those who wait for it.
        under_way.insert(key.clone(), Arc::clone(&execution));
        (Participant { executions: self, key, execution }, Some(sender))
    }

    /// Nobody joins it any more.
    pub(super) fn close(&self, key: &ResponseKey, execution: &Arc<Execution>) {
        let mut under_way = self.lock();
        if under_way.get(key).is_some_and(|known| Arc::ptr_eq(known, execution)) {
            under_way.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ResponseKey, Arc<Execution>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Execution {
    /// Whether nobody will send its outcome: it has panicked, or its core has ended.
    fn is_broken(&self) -> bool {
        self.outcome.has_changed().is_err() && self.outcome.borrow().is_none()
    }

    fn participants(&self) -> MutexGuard<'_, usize> {
        self.participants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Participant<'_> {
    /// What was begun, for the task that ends it.
    pub(super) fn execution(&self) -> Arc<Execution> {
        Arc::clone(&self.execution)
    }

    /// The task that executes it ends with the last who waits. It is set once, by who begins.
    pub(super) fn is_executed_by(&self, task: AbortHandle) {
        let _ = self.execution.task.set(task);
    }

    /// None where the execution has panicked, or its core has ended.
    pub(super) async fn outcome(&self) -> Outcome {
        let mut outcome = self.execution.outcome.clone();
        let outcome = outcome.wait_for(Option::is_some).await;
        outcome.ok().and_then(|outcome| outcome.clone())
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        let mut under_way = self.executions.lock();
        let is_last = {
            let mut participants = self.execution.participants();
            *participants -= 1;
            *participants == 0
        };
        if !is_last {
            return;
        }
        if under_way.get(self.key).is_some_and(|known| Arc::ptr_eq(known, &self.execution)) {
            under_way.remove(self.key);
        }
        drop(under_way);
        if let Some(task) = self.execution.task.get() {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphql::reuse::response_cache::tests::key;

    #[test]
    fn an_execution_that_has_panicked_is_not_joined() {
        let executions = SharedExecutions::default();
        let key = key("a");
        let (first, sender) = executions.participate(&key, 1);
        assert!(executions.participate(&key, 1).1.is_none(), "it is under way");
        assert!(executions.participate(&key, 2).1.is_some(), "it is of another version");
        let (second, other) = executions.participate(&key, 1);
        assert!(other.is_some(), "the newest one is joined alone");
        drop((sender, other));
        assert!(executions.participate(&key, 1).1.is_some(), "nobody sends what those wait for");
        drop((first, second));
    }
}
