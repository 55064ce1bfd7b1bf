//! Queries that ask the same at the same time are executed once, for all cores. Whoever comes first has it executed on its core;
//! the others wait for the response, or for its errors. It ends when the last of them has gone, and not before.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use prony_graphql::error::{ErrorCode, GraphqlError};
use tokio::{sync::watch, task::AbortHandle};

use super::{
    control::in_place, core::CoreEngine, core::ExecutionContext as _, outcome::RequestError,
    pipeline::Finished, pipeline::Prepared, response_cache::ResponseKey, stages::StageClock,
};

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct SharedExecutions(Mutex<HashMap<ResponseKey, Arc<Execution>>>);

type Outcome = Option<Result<Finished, RequestError>>;

/// One execution that is under way.
#[derive(Debug)]
struct Execution {
    /// Of what the response depends on, when it began.
    version: u64,
    outcome: watch::Receiver<Outcome>,
    participants: Mutex<usize>,
    task: OnceLock<AbortHandle>,
}

/// One who waits for it; the last that is dropped ends it.
struct Participant<'e> {
    executions: &'e SharedExecutions,
    key: &'e ResponseKey,
    execution: Arc<Execution>,
}

/// The response to a query whose response depends on what has this version: of an execution that has begun since, or of a new one.
pub(super) async fn join(
    core: &CoreEngine,
    key: &ResponseKey,
    version: u64,
    prepared: &Prepared,
) -> Result<Finished, RequestError> {
    let executions = &core.site().shared_executions;
    loop {
        let (participant, begins) = executions.participate(key, version);
        let is_first = begins.is_some();
        if let Some(outcome) = begins {
            participant.begin(core, prepared.clone(), outcome);
        }
        match participant.outcome().await {
            Some(Err(_)) if !is_first => {
                // Who began it was not let in, which says nothing of others.
            }
            Some(outcome) => return outcome,
            None => return Err(broken()),
        }
    }
}

fn broken() -> RequestError {
    let message = "the request could not be answered: the server's log has more";
    RequestError::Invalid(vec![GraphqlError::new(ErrorCode::SourceFailed, message)])
}

impl SharedExecutions {
    /// Joins what is under way, or begins; who begins is to send the outcome.
    fn participate<'e>(
        &'e self,
        key: &'e ResponseKey,
        version: u64,
    ) -> (Participant<'e>, Option<watch::Sender<Outcome>>) {
        let mut under_way = self.lock();
        if let Some(known) = under_way.get(key).filter(|known| known.version == version) {
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
    fn close(&self, key: &ResponseKey, execution: &Arc<Execution>) {
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
    fn participants(&self) -> MutexGuard<'_, usize> {
        self.participants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Participant<'_> {
    /// Executes the operation in a task of its own, so that nobody who leaves takes it along.
    fn begin(&self, core: &CoreEngine, prepared: Prepared, sender: watch::Sender<Outcome>) {
        let (core, key, execution) = (core.this(), self.key.clone(), Arc::clone(&self.execution));
        let task = tokio::task::spawn_local(async move {
            let outcome = in_place(&*core, &prepared, &mut StageClock::start()).await;
            core.site().shared_executions.close(&key, &execution);
            let _ = sender.send(Some(outcome));
        });
        // It is set once, by who begins.
        let _ = self.execution.task.set(task.abort_handle());
    }

    /// None where the execution has panicked, or its core has ended.
    async fn outcome(&self) -> Outcome {
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
