//! The events of one subscription: changes that pass its filter, each answered from what the change left behind and from
//! the graph around it as it is by then.

use std::sync::Arc;

use futures_util::stream;
use prony_graph_store::Schema;
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    selection::Value as Given,
    variables::Variables,
};
use prony_source::Events;

use crate::events::{Change, EventReader, Interest, queue::QueuedEvent};
use crate::{
    execute::{
        answer::{Begin, answer, failed, id_of},
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
    Ok(Box::pin(stream::unfold(following, |mut following| async {
        let result = following.next().await?;
        Some((result, following))
    })))
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
    async fn next(&mut self) -> Option<FieldResult> {
        while !self.has_ended {
            // Where many changes wait, those who write them to clients get their turns.
            tokio::task::consume_budget().await;
            let error = match self.reader.next().await {
                QueuedEvent::Changed(change) => match self.answer(change).await {
                    Some(result) => return Some(result),
                    None => continue,
                },
                // Not as the types are by now: changes from before the type went may still wait.
                QueuedEvent::Schema(schema) if self.type_exists(&schema) => continue,
                QueuedEvent::Schema(_) => {
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
            return Some(failed(&self.plan, error));
        }
        None
    }

    /// None where the change does not pass the filter.
    async fn answer(&self, change: Arc<Change>) -> Option<FieldResult> {
        match self.passes(&change) {
            Ok(false) => None,
            Ok(true) => Some(answer(&self.source, &self.plan, &self.variables, Begin::Changed(change)).await),
            Err(error) => Some(failed(&self.plan, error)),
        }
    }

    fn passes(&self, change: &Change) -> Result<bool, GraphqlError> {
        let filter = &self.wanted().filter;
        let restrictions = self.plan.restrictions.as_ref();
        if filter.is_everything() && restrictions.is_none() {
            return Ok(true);
        }
        let visible =
            restrictions.map(|restrictions| Visible::new(restrictions, &self.variables)).transpose()?;
        let read = self.source.store().read();
        // What the role sees is not bounded, so that no error tells of a change that is hidden.
        let searched = [SearchBound::Unbounded, SearchBound::Bytes(SEARCHED_BYTES_MAX)].map(Searched::within);
        let [of_role, of_filter] = searched
            .each_ref()
            .map(|searched| View::new(&read, &self.plan.model, visible.as_ref(), searched));
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

    fn type_exists(&self, schema: &Schema) -> bool {
        schema.side(self.wanted().side).number(self.type_name()).is_some()
    }

    fn ends(&mut self, why: String) -> GraphqlError {
        self.has_ended = true;
        GraphqlError::new(ErrorCode::SubscriptionEnded, why)
    }
}
