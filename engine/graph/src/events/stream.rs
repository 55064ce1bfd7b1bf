//! The events of one subscription: changes that pass its filter, each answered from what the change left behind and from
//! the graph around it as it is by then. The change is durable when it comes; what is read around it may not be, and then the event waits
//! until it is.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use prony_graph_store::{Read, Waiting};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    selection::Value as Given,
    variables::Variables,
};
use prony_source::Events;

use crate::events::{Change, EventReader, Interest, queue::QueuedEvent};
use crate::{
    databases::settle::{self, Untold},
    execute::{
        answer::{Begin, failed, id_of, read_not_durable, untold_answer},
        bind::BoundLists,
        filter::Bound,
        json_value,
        searched::{SearchBound, Searched},
        thing::Thing,
        view::{View, Visible},
    },
    graph::Graph,
    planning::plan::{ChangePlan, Plan, Root},
};

/// Most that the patterns of a subscription are searched for in the texts of one change, in bytes as a literal would be: some tens of
/// milliseconds of its core.
const SEARCHED_BYTES_MAX: usize = 64 << 20;

/// Events of one subscription that wait at a time until what was read around them is durable: one sync settles all that were made during
/// the one before, so that they come no slower than writes do.
const WAITING_MAX: usize = 64;

/// Begins to hear changes: all that are made after this returns.
pub(crate) fn events(
    source: &Arc<Graph>,
    plan: &Arc<Plan>,
    variables: &Variables,
) -> Result<Events, GraphqlError> {
    let Root::Change(wanted) = &plan.root else {
        let message = format!("`{}` has one answer, and no events", plan.response_key);
        return Err(GraphqlError::new(ErrorCode::ValidationFailed, message).at(plan.position));
    };
    // What would fail each time fails now.
    BoundLists::new(plan, variables, source.settings())?;
    Bound::new(&wanted.filter, variables)?;
    let interest = interest(plan, wanted, variables)?;
    let reader = source.readers().add(source.store(), interest);
    let following = Following {
        source: Arc::clone(source),
        plan: Arc::clone(plan),
        variables: variables.clone(),
        reader,
        has_ended: false,
    };
    let made = stream::unfold(following, |mut following| async {
        let event = following.next().await?;
        Some((event.told(Arc::clone(&following.plan)), following))
    });
    Ok(Box::pin(made.buffered(WAITING_MAX).filter_map(std::future::ready)))
}

/// What a change has become, and what it waits for.
struct MadeEvent {
    /// None where the change does not pass the filter: that is known as late as what is sent.
    result: Option<FieldResult>,
    waiting: Waiting,
}

impl MadeEvent {
    async fn told(self, plan: Arc<Plan>) -> Option<FieldResult> {
        match self.waiting.outcome().await {
            Ok(()) => self.result,
            Err(error) => Some(failed(&plan, read_not_durable(&error))),
        }
    }
}

fn interest(plan: &Plan, wanted: &ChangePlan, variables: &Variables) -> Result<Interest, GraphqlError> {
    let unknown = |what| {
        let message = format!("`{what}` of `{}` is not what any node or relationship has", plan.response_key);
        GraphqlError::new(ErrorCode::BadUserInput, message).at(plan.position)
    };
    let id = |given: &Given| id_of(given, variables).ok_or_else(|| unknown("_id"));
    let key = |given: &Given| match json_value::read(prony_graph_store::Kind::String, given, variables) {
        Some(prony_graph_store::Value::String(key)) => Ok(key.into()),
        _ => Err(unknown("_key")),
    };
    Ok(Interest {
        side: wanted.side,
        type_name: Arc::clone(&plan.model.side(wanted.side).get(wanted.of).name),
        operations: wanted.operations,
        id: wanted.id.as_ref().map(id).transpose()?,
        key: wanted.key.as_ref().map(key).transpose()?,
    })
}

struct Following {
    source: Arc<Graph>,
    plan: Arc<Plan>,
    variables: Variables,
    reader: EventReader,
    has_ended: bool,
}

impl Following {
    async fn next(&mut self) -> Option<MadeEvent> {
        if self.has_ended {
            return None;
        }
        // Where many changes wait, those who write them to clients get their turns.
        tokio::task::consume_budget().await;
        let error = match self.reader.next().await {
            QueuedEvent::Changed(change) => return Some(self.answer(change).await),
            QueuedEvent::Dropped => {
                self.ends(format!("the type `{}` is gone from the graph", self.type_name()))
            }
            QueuedEvent::Cleared => self.ends("the graph was cleared: nothing is left of it".to_owned()),
            QueuedEvent::Lost(count) => {
                let message = format!(
                    "{count} changes are lost: they came faster than they could be told; ask for the state anew"
                );
                GraphqlError::new(ErrorCode::EventsLost, message)
            }
        };
        Some(MadeEvent { result: Some(failed(&self.plan, error)), waiting: Waiting::over() })
    }

    async fn answer(&self, change: Arc<Change>) -> MadeEvent {
        let mut untold = Untold::default();
        let result = match self.passes(&change, &mut untold) {
            Ok(false) => None,
            Ok(true) => {
                let begin = Begin::Changed(change);
                let (result, fence) = untold_answer(&self.source, &self.plan, &self.variables, begin).await;
                untold.add(fence);
                Some(result)
            }
            Err(error) => Some(failed(&self.plan, error)),
        };
        MadeEvent { result, waiting: untold.behind(self.source.database()) }
    }

    fn passes(&self, change: &Change, untold: &mut Untold) -> Result<bool, GraphqlError> {
        if self.wanted().filter.is_everything() && self.plan.restrictions.is_none() {
            return Ok(true);
        }
        let (passes, fence) = settle::look(self.source.database(), |read| self.passes_in(read, change));
        untold.add(fence);
        passes
    }

    fn passes_in(&self, read: &Read, change: &Change) -> Result<bool, GraphqlError> {
        let filter = &self.wanted().filter;
        let restrictions = self.plan.restrictions.as_ref();
        let visible =
            restrictions.map(|restrictions| Visible::new(restrictions, &self.variables)).transpose()?;
        // What the role sees is not bounded, so that no error tells of a change that is hidden.
        let searched = [SearchBound::Unbounded, SearchBound::Bytes(SEARCHED_BYTES_MAX)].map(Searched::within);
        let gone = change.gone(read);
        let view = |searched| View::new(read, &self.plan.model, visible.as_ref(), searched).without(&gone);
        let [of_role, of_filter] = searched.each_ref().map(view);
        let (bound, thing) = (Bound::new(filter, &self.variables)?, change.thing());
        let is_seen = |thing: &Thing<'_>| restrictions.is_none() || of_role.type_of(thing).is_some();
        let was_seen = change.before().is_none_or(|before| is_seen(&before));
        let passes = was_seen && is_seen(&thing) && bound.passes(&thing, &of_filter);
        if of_filter.is_cut() {
            let message =
                "a change has texts that are too long to search for the patterns of this subscription";
            return Err(GraphqlError::new(ErrorCode::LimitExceeded, message));
        }
        Ok(passes)
    }

    fn wanted(&self) -> &ChangePlan {
        let Root::Change(wanted) = &self.plan.root else { unreachable!("only changes are followed") };
        wanted
    }

    fn type_name(&self) -> &str {
        let wanted = self.wanted();
        &self.plan.model.side(wanted.side).get(wanted.of).name
    }

    fn ends(&mut self, why: String) -> GraphqlError {
        self.has_ended = true;
        GraphqlError::new(ErrorCode::SubscriptionEnded, why)
    }
}
