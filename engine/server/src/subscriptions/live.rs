//! Live queries: a query that is answered at once, and anew when what it depends on has changed. At most one answer is being
//! made for a feed and at most one is waited for, however many changes there are. Which answers are the same, and who gets
//! which, is the [`feeds`](super::feeds)' business.

use std::{rc::Rc, sync::Arc, time::Duration};

use futures_util::{future::Either, stream};
use prony_graphql::{error::ErrorCode, response::FieldResult, schema::SourceId, variables::Variables};
use prony_source::{ChangeSignal, Events};
use tokio::time::{Instant, sleep, sleep_until};

use super::{hub::LiveProgress, traces};
use crate::graphql::{
    CoreEngine, ExecutionContext as _, Withdrawal,
    plan::{Plan, Step},
};

/// An answer that a source could not give is asked for again after this time, and after twice as long each time.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LAST: Duration = Duration::from_secs(5);

struct Live {
    core: Rc<CoreEngine>,
    plan: Arc<Plan>,
    source: SourceId,
    variables: Variables,
    signal: Box<dyn ChangeSignal>,
    withdrawal: Withdrawal,
    shared: Rc<LiveProgress>,
    interval: Duration,
    /// When the last answer was begun.
    last: Option<Instant>,
    /// After which it is asked for again whether something is told or not.
    retry: Option<Duration>,
    /// What it asks for is gone: no further answer will be another.
    has_ended: bool,
}

/// The answers, one behind the other, for as long as they are taken; the last one says where what is asked for is not there any more.
pub(super) fn answers(
    core: &Rc<CoreEngine>,
    plan: &Arc<Plan>,
    source: SourceId,
    variables: &Variables,
    signal: Box<dyn ChangeSignal>,
    shared: Rc<LiveProgress>,
) -> Events {
    let live = Live {
        core: Rc::clone(core),
        plan: Arc::clone(plan),
        source,
        variables: variables.clone(),
        signal,
        withdrawal: Withdrawal::of(plan, core.engine().follow(source)),
        shared,
        interval: core.settings().subscriptions.live_interval,
        last: None,
        retry: None,
        has_ended: false,
    };
    Box::pin(stream::unfold(live, |mut live| async {
        if live.has_ended {
            return None;
        }
        live.is_due().await;
        let result = live.answer().await;
        Some((result, live))
    }))
}

impl Live {
    async fn is_due(&mut self) {
        // The first one is.
        let Some(last) = self.last else { return };
        let again = match self.retry {
            Some(after) => Either::Left(sleep(after)),
            None => Either::Right(std::future::pending()),
        };
        tokio::select! {
            () = self.signal.changed() => {}
            () = self.shared.asked() => {}
            () = self.withdrawal.come() => {}
            () = again => {}
        }
        sleep_until(last + self.interval).await;
    }

    async fn answer(&mut self) -> FieldResult {
        // What is told from here on may not be in this answer.
        self.signal.mark_seen();
        self.shared.begin();
        self.last = Some(Instant::now());
        if let Some(last) = self.withdrawal.last_result(ErrorCode::SchemaChanged) {
            self.has_ended = true;
            return last;
        }
        self.core.metrics().live_answer_begins();
        let [Step::Source(_, root)] = self.plan.steps.as_slice() else {
            unreachable!("a live query has one field of a source")
        };
        let query = self.core.query(self.source, root, &self.variables);
        let result = traces::live_answer(&self.core, self.source, query).await;
        self.has_ended = result.errors.iter().any(|error| error.code == ErrorCode::SchemaChanged);
        self.retry = if may_pass(&result) {
            Some(self.retry.map_or(RETRY_FIRST, |before| (before * 2).min(RETRY_LAST)))
        } else {
            None
        };
        result
    }
}

/// Whether it has failed in a way that another try may not.
fn may_pass(result: &FieldResult) -> bool {
    result.errors.iter().any(|error| {
        matches!(error.code, ErrorCode::SourceUnavailable | ErrorCode::Timeout | ErrorCode::SourceFailed)
    })
}
