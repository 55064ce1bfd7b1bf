//! The thread that asks the store for all cores: it gathers what is asked at the same time into one call, has several calls under way,
//! and makes the connection anew when that has failed.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering::Relaxed, mpsc::SyncSender},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use prony_access::{StoreCall, StoreReply};
use tokio::sync::mpsc;

use super::{
    state::{LimitOrder, SharedState},
    store::Store,
};
use crate::{clock::monotonic_ns, config::RedisSettings};

/// Limits of one call.
const MAX_LIMITS: usize = 64;
/// Calls under way at a time.
const MAX_CALLS: usize = 16;
/// After so long a connection that has failed is made anew.
const RETRY: Duration = Duration::from_millis(500);
/// How often it is looked for what is to be given back.
const LOOK: Duration = Duration::from_millis(100);
/// A connection that nobody uses is asked for a response after so many of these.
const LOOKS_A_PING: u32 = 10;

/// Why a connection is used no more.
enum ConnectionEnd {
    /// What it has failed by is noted.
    Failed,
    /// Nobody asks any more.
    Over,
}

/// Runs until it is to end; `tried` is told when the store was reached, or was not, for the first time.
pub(super) fn run(
    state: &Arc<SharedState>,
    mut orders: mpsc::UnboundedReceiver<LimitOrder>,
    settings: &RedisSettings,
    tried: &SyncSender<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return state.lost(&format!("its thread cannot run: {error}")),
    };
    // What TLS computes with, where the program has not said.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    runtime.block_on(async {
        loop {
            let connected = Store::connect(settings).await;
            match connected {
                Ok(store) => {
                    state.reached();
                    let _ = tried.try_send(());
                    match serve(state, store, &mut orders).await {
                        ConnectionEnd::Failed => {}
                        ConnectionEnd::Over => return,
                    }
                }
                Err(reason) => state.lost(&reason),
            }
            let _ = tried.try_send(());
            if pause(state, &mut orders).await.is_none() {
                return;
            }
        }
    });
}

/// Waits until the connection may be made anew; what is asked meanwhile fails at once. None where nobody asks any more.
async fn pause(state: &SharedState, orders: &mut mpsc::UnboundedReceiver<LimitOrder>) -> Option<()> {
    let retry = tokio::time::sleep(RETRY);
    tokio::pin!(retry);
    loop {
        tokio::select! {
            () = &mut retry => return Some(()),
            order = orders.recv() => match order? {
                LimitOrder::Call(call) => state.fail_all([&call]),
                LimitOrder::End => return None,
            },
        }
    }
}

/// Asks the store by one connection until that fails.
async fn serve(
    state: &SharedState,
    store: Store,
    orders: &mut mpsc::UnboundedReceiver<LimitOrder>,
) -> ConnectionEnd {
    let mut waiting: VecDeque<StoreCall> = VecDeque::new();
    let mut under_way = FuturesUnordered::new();
    let (mut ping, mut looks) = (store.clone(), 0_u32);
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let end = loop {
        while !waiting.is_empty() && under_way.len() < MAX_CALLS {
            let calls: Vec<_> = waiting.drain(..waiting.len().min(MAX_LIMITS)).collect();
            under_way.push(call(state, store.clone(), calls));
        }
        tokio::select! {
            biased;
            Some((calls, outcome)) = under_way.next() => match outcome {
                Ok(replies) => waiting.extend(replied_to(state, &calls, &replies)),
                Err(reason) => {
                    // Nobody else begins to wait.
                    state.lost(&reason);
                    state.fail_all(&calls);
                    break ConnectionEnd::Failed;
                }
            },
            order = orders.recv() => match order {
                Some(LimitOrder::Call(call)) => waiting.push_back(call),
                Some(LimitOrder::End) | None => break ConnectionEnd::Over,
            },
            _ = look.tick() => {
                waiting.extend(state.counts.due(monotonic_ns()));
                looks += 1;
                if looks % LOOKS_A_PING == 0 && under_way.is_empty() && let Err(reason) = ping.ping().await {
                    state.lost(&reason);
                    break ConnectionEnd::Failed;
                }
            }
        }
        // What is asked at the same time goes into one call.
        while waiting.len() < MAX_LIMITS {
            match orders.try_recv() {
                Ok(LimitOrder::Call(call)) => waiting.push_back(call),
                Ok(LimitOrder::End) => orders.close(),
                Err(_) => break,
            }
        }
    };
    // Responses that are on their way still count.
    while let Some((calls, outcome)) = under_way.next().await {
        match outcome {
            Ok(replies) => waiting.extend(replied_to(state, &calls, &replies)),
            Err(_) => state.fail_all(&calls),
        }
    }
    state.fail_all(&waiting);
    if matches!(end, ConnectionEnd::Over) {
        give_all_back(state, store).await;
    }
    end
}

async fn call(
    state: &SharedState,
    mut store: Store,
    calls: Vec<StoreCall>,
) -> (Vec<StoreCall>, Result<Vec<StoreReply>, String>) {
    state.calls.fetch_add(1, Relaxed);
    let replied = store.call(&calls).await;
    (calls, replied)
}

/// Has those go on who waited; what else is to be asked for is returned.
fn replied_to(state: &SharedState, calls: &[StoreCall], replies: &[StoreReply]) -> Vec<StoreCall> {
    let now_ns = monotonic_ns();
    let mut more = Vec::new();
    for (call, reply) in calls.iter().zip(replies) {
        let (decided, next) = state.counts.replied(call, Some(*reply), now_ns);
        for (waiter, cost, verdict) in decided {
            let is_taken = matches!(verdict, prony_access::Verdict::Taken { .. });
            if waiter.send(verdict).is_err() && is_taken {
                state.counts.give_back_of(call, cost);
            }
        }
        more.extend(next);
    }
    more
}

/// What this server has taken and not used is there for others when it has ended.
async fn give_all_back(state: &SharedState, mut store: Store) {
    let calls = state.counts.end();
    for calls in calls.chunks(MAX_LIMITS) {
        if let Err(reason) = store.call(calls).await {
            tracing::warn!(reason, "units of shared limits could not be given back");
            return;
        }
    }
}
