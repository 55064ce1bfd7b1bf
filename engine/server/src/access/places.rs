//! Places among the operations that run at a time: who has none waits for one, so long and as one of so many as the rule says.
//! Who comes next is decided in `prony_source::fair_queue`; here is the waiting. A place is given back when it is dropped, and who goes
//! away while waiting leaves the queue.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use prony_access::{Asker, LimitState, Operations, PlaceRequest, RuleId};
use prony_source::fair_queue::{FairQueue, QueueOutcome, WaiterId};
use tokio::sync::oneshot;

/// The queues of all rules that have one, by their matches and bounds. A configuration hands them to the next, so that those
/// who run by a rule that stays are counted on.
#[derive(Debug, Default)]
pub(crate) struct Queues(Mutex<HashMap<String, Arc<ConcurrencyQueue>>>);

/// Who runs and who waits by one rule; shared by all cores.
#[derive(Debug)]
pub(crate) struct ConcurrencyQueue {
    state: Mutex<FairQueue<oneshot::Sender<()>>>,
}

/// The places of one operation.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<Place>);

/// One place; dropping it lets the next run.
#[derive(Debug)]
struct Place {
    queue: Arc<ConcurrencyQueue>,
    key: Box<[u8]>,
    weight: u64,
}

/// One who waits; dropping it leaves the queue.
struct PlaceWait<'q> {
    queue: &'q Arc<ConcurrencyQueue>,
    key: &'q [u8],
    weight: u64,
    id: WaiterId,
    may_run: oneshot::Receiver<()>,
    has_run: bool,
}

impl Places {
    /// Whether none was needed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Queues {
    /// A queue for each rule that bounds how many run at a time. Those that stay as they are keep theirs.
    pub(super) fn of(&self, operations: &Operations) -> Box<[Option<Arc<ConcurrencyQueue>>]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *known);
        let queue = |rule: &prony_access::OperationRule| {
            let concurrency = rule.concurrency.as_ref()?;
            let name = format!("{} by {} {:?}", rule.matches, concurrency.by, concurrency.bounds);
            let queue = before.get(&name).cloned().unwrap_or_else(|| {
                Arc::new(ConcurrencyQueue { state: Mutex::new(FairQueue::new(concurrency.bounds)) })
            });
            known.insert(name, Arc::clone(&queue));
            Some(queue)
        };
        operations.rules().map(queue).collect()
    }
}

impl ConcurrencyQueue {
    /// Nothing panics while it is held.
    fn state(&self) -> MutexGuard<'_, FairQueue<oneshot::Sender<()>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, key: &[u8], weight: u64) {
        let granted = self.state().leave(key, weight);
        wake(granted);
    }
}

/// A place that nobody takes any more is given back by who left it.
fn wake(granted: Vec<oneshot::Sender<()>>) {
    for waiter in granted {
        let _ = waiter.send(());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.leave(&self.key, self.weight);
    }
}

impl Drop for PlaceWait<'_> {
    fn drop(&mut self) {
        if self.has_run {
            return;
        }
        let (did_wait, granted) = self.queue.state().cancel(self.key, self.id);
        wake(granted);
        if !did_wait {
            // It was given a place in the last moment.
            self.queue.leave(self.key, self.weight);
        }
    }
}

/// Takes the places that an operation needs, of each rule one after the other. `queues` are by [`RuleId`].
pub(super) async fn take(
    queues: &[Option<Arc<ConcurrencyQueue>>],
    operations: &Operations,
    rules: &[RuleId],
    asker: &Asker<'_>,
) -> Result<Places, LimitState> {
    let mut places = Vec::new();
    for request in operations.places(rules, asker) {
        let Some(queue) = &queues[request.rule.index()] else { continue };
        places.push(take_one(queue, &request).await?);
    }
    Ok(Places(places))
}

/// Takes the places that a subscription needs, where such count and without waiting.
pub(super) fn take_for_subscription(
    queues: &[Option<Arc<ConcurrencyQueue>>],
    operations: &Operations,
    rules: &[RuleId],
    asker: &Asker<'_>,
) -> Result<Places, LimitState> {
    let mut places = Vec::new();
    for request in operations.places(rules, asker).into_iter().filter(|found| found.settings.subscriptions) {
        let Some(queue) = &queues[request.rule.index()] else { continue };
        let (sender, may_run) = oneshot::channel();
        let entered = queue.state().enter(&request.key, request.weight, sender);
        match entered {
            QueueOutcome::Runs => places.push(place(queue, &request)),
            QueueOutcome::Waits(id) => {
                drop(PlaceWait::new(queue, &request, id, may_run));
                return Err(request.refusal());
            }
            QueueOutcome::Full => return Err(request.refusal()),
        }
    }
    Ok(Places(places))
}

async fn take_one(queue: &Arc<ConcurrencyQueue>, request: &PlaceRequest<'_>) -> Result<Place, LimitState> {
    let (sender, may_run) = oneshot::channel();
    let entered = queue.state().enter(&request.key, request.weight, sender);
    match entered {
        QueueOutcome::Runs => Ok(place(queue, request)),
        QueueOutcome::Full => Err(request.refusal()),
        QueueOutcome::Waits(id) => {
            let mut waiting = PlaceWait::new(queue, request, id, may_run);
            let longest = Duration::from_millis(request.settings.max_wait_ms);
            match tokio::time::timeout(longest, &mut waiting.may_run).await {
                Ok(Ok(())) => {
                    waiting.has_run = true;
                    Ok(place(queue, request))
                }
                Ok(Err(_)) | Err(_) => Err(request.refusal()),
            }
        }
    }
}

impl<'q> PlaceWait<'q> {
    fn new(
        queue: &'q Arc<ConcurrencyQueue>,
        request: &'q PlaceRequest<'_>,
        id: WaiterId,
        may_run: oneshot::Receiver<()>,
    ) -> Self {
        Self { queue, key: &request.key, weight: request.weight, id, may_run, has_run: false }
    }
}

fn place(queue: &Arc<ConcurrencyQueue>, request: &PlaceRequest<'_>) -> Place {
    Place { queue: Arc::clone(queue), key: (*request.key).into(), weight: request.weight }
}
