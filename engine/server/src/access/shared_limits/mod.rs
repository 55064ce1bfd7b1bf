//! Limits whose counts several servers share in a Redis. What this server has of them, and when it asks, is decided in
//! `prony-access`; here is the waiting. A thread of its own asks for all cores, so that no core waits for the network.

mod state;
mod store;
mod worker;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::sync_channel,
    },
    thread::JoinHandle,
};

use prony_access::{
    Asker, OperationRefusal, Operations, Progress, RuleId, SharedAdmission, SharedCounts, SharedSettings,
    StoreCall, Times, Verdict,
};
use prony_source::{Metric, Sample};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use self::state::{LimitOrder, SharedState};
use crate::config::RedisSettings;

/// What one server shares with others; shared by all its cores. Its thread ends with it.
#[derive(Debug)]
pub(crate) struct SharedLimits {
    settings: RedisSettings,
    state: Arc<SharedState>,
    orders: mpsc::UnboundedSender<LimitOrder>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How the store fares, for `/health`.
#[derive(Debug, Serialize)]
pub(crate) struct SharedLimitsHealth {
    redis: String,
    status: &'static str,
    /// What is done meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl SharedLimits {
    /// Begins to reach the store, and waits for the first attempt. None where servers share nothing.
    pub(crate) fn start(settings: &RedisSettings) -> Option<Arc<Self>> {
        if settings.url.is_empty() {
            return None;
        }
        let RedisSettings { ahead, when_unreachable, .. } = *settings;
        let hold_ns = u64::try_from(ahead.as_nanos()).unwrap_or(u64::MAX);
        let state = Arc::new(SharedState {
            counts: SharedCounts::new(SharedSettings { when_unreachable, hold_ns }),
            address: store::shown(&settings.url),
            failure: Mutex::default(),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        });
        let (orders, received) = mpsc::unbounded_channel();
        let (tried, has_tried) = sync_channel(1);
        let own = settings.clone();
        let (at, settings) = (Arc::clone(&state), settings.clone());
        let spawned = std::thread::Builder::new()
            .name("limits".to_owned())
            .spawn(move || worker::run(&at, received, &settings, &tried));
        let thread = match spawned {
            Ok(thread) => {
                // The thread says so, or has ended; either is enough.
                let _ = has_tried.recv();
                Some(thread)
            }
            Err(error) => {
                state.lost(&format!("its thread cannot be started: {error}"));
                None
            }
        };
        Some(Arc::new(Self { settings: own, state, orders, thread: Mutex::new(thread) }))
    }

    /// Whether it is shared by these settings.
    pub(crate) fn is_of(&self, settings: &RedisSettings) -> bool {
        self.settings == *settings
    }

    /// Lets an operation in by what this server has: false where it must wait, and nothing is counted.
    pub(super) fn try_admit(
        &self,
        operations: &Operations,
        rules: &[RuleId],
        asker: &Asker<'_>,
        times: Times,
    ) -> Result<bool, OperationRefusal> {
        let mut admission = SharedAdmission::new(operations, &self.state.counts, rules, asker, times)?;
        match admission.advance(None)? {
            Progress::Admitted => {
                admission.finish();
                Ok(true)
            }
            Progress::Waits(_) => Ok(false),
        }
    }

    /// Lets an operation in, and asks the store for what this server does not have.
    pub(super) async fn admit(
        &self,
        operations: &Operations,
        rules: &[RuleId],
        asker: &Asker<'_>,
        times: Times,
    ) -> Result<(), OperationRefusal> {
        let mut admission = SharedAdmission::new(operations, &self.state.counts, rules, asker, times)?;
        loop {
            let mut decided = None;
            let mut waiter = || {
                let (sender, receiver) = oneshot::channel();
                decided = Some(receiver);
                sender
            };
            match admission.advance(Some(&mut waiter))? {
                Progress::Admitted => {
                    admission.finish();
                    return Ok(());
                }
                Progress::Waits(call) => {
                    if let Some(call) = call {
                        self.ask(call);
                    }
                    let verdict = match decided {
                        Some(decided) => decided.await.unwrap_or(Verdict::Unreachable),
                        None => Verdict::Unreachable,
                    };
                    admission.decided(verdict)?;
                }
            }
        }
    }

    fn ask(&self, call: StoreCall) {
        if self.orders.send(LimitOrder::Call(call)).is_err() {
            self.state.lost("its thread has ended");
            self.state.fail_all([&call]);
        }
    }

    /// Gives back what is not used, and ends.
    pub(crate) fn finish(&self) {
        let _ = self.orders.send(LimitOrder::End);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of shared limits has panicked");
        }
    }

    /// With the reason of a failure, where that may be shown.
    pub(crate) fn health(&self, is_shown: bool) -> SharedLimitsHealth {
        let failure = self.state.failure().clone();
        SharedLimitsHealth {
            redis: self.state.address.clone(),
            status: if failure.is_none() { "ok" } else { "unreachable" },
            limits: failure.as_ref().map(|_| self.state.choice()),
            failing_since: failure.as_ref().map(|failure| failure.since),
            message: failure.map(|failure| failure.reason).filter(|_| is_shown),
        }
    }

    /// For `/metrics`.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let SharedState { counts, calls, failures, .. } = &*self.state;
        let single = |value: u64| Sample::single(value as f64);
        let choice = vec![("limits", self.state.choice().to_owned())];
        let fallbacks = Sample { labels: choice, value: counts.fallbacks() as f64 };
        vec![
            Metric::gauge(
                "prony_shared_limits_reachable",
                "Whether the Redis is reached in which servers share limits",
                single(counts.is_reachable().into()),
            ),
            Metric::counter(
                "prony_shared_limits_calls",
                "Calls that were made to it; one can be for many limits",
                single(calls.load(Relaxed)),
            ),
            Metric::counter(
                "prony_shared_limits_failures",
                "Connections to it that have failed or could not be made",
                single(failures.load(Relaxed)),
            ),
            Metric::counter(
                "prony_shared_limits_fallbacks",
                "Limits that were decided without it, by what is done then",
                vec![fallbacks],
            ),
        ]
    }
}
