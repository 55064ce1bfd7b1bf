//! Subscriptions with interceptors: `before` is called when a feed begins, `after` for each of its results.

use std::{rc::Rc, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use prony_graphql::{response::FieldResult, variables::Variables};
use prony_source::{ChangeSignal, Events};

use super::{after::ExecutedOperation, before::InterceptedOperation, rows::RowsBefore};
use crate::graphql::{
    core::CoreEngine,
    execution::ExecutionContext as _,
    pipeline::Prepared,
    plan::{Plan, Step},
    roles::Asker,
    served::CoreServed,
    withdrawal::Withdrawal,
};

/// Everything that a feed needs to its end.
struct InterceptedFeed {
    core: Rc<CoreEngine>,
    served: CoreServed,
    /// As it was asked.
    plan: Arc<Plan>,
    variables: Variables,
    asker: Option<Asker>,
}

/// The results of a subscription. `live` makes those of a live query from the plan that is executed; `refuses` is called before
/// the one error of a subscription that is refused.
pub(crate) fn events(
    core: &Rc<CoreEngine>,
    prepared: &Prepared,
    live: impl Fn(&Arc<Plan>, &Variables, Box<dyn ChangeSignal>) -> Events + 'static,
    refuses: impl Fn() + 'static,
) -> Events {
    let feed = InterceptedFeed {
        core: Rc::clone(core),
        served: prepared.served.clone(),
        plan: Arc::clone(&prepared.plan),
        variables: prepared.variables.clone(),
        asker: prepared.asker.clone(),
    };
    let begin = async move { begun(Rc::new(feed), live, refuses).await };
    Box::pin(stream::once(begin).flatten())
}

async fn begun(
    feed: Rc<InterceptedFeed>,
    live: impl Fn(&Arc<Plan>, &Variables, Box<dyn ChangeSignal>) -> Events,
    refuses: impl Fn(),
) -> Events {
    let interception = feed.plan.interception.as_ref().expect("the plan has interceptors");
    let asked = InterceptedOperation {
        served: &feed.served,
        plan: &feed.plan,
        variables: &feed.variables,
        asker: feed.asker.as_ref(),
        limits: feed.core.engine().limits(),
        rows: &RowsBefore::default(),
    };
    let begun = interception.begin(asked).await;
    let variables = begun.variables.into_owned();
    let plan = begun.plan.map_or_else(|| Arc::clone(&feed.plan), Arc::new);
    let events = match plan.steps.as_slice() {
        [Step::Source(source, root)] => {
            let session = feed.core.session(*source);
            match session.change_signal(root) {
                Some(signal) => live(&plan, &variables, signal),
                None => match session.subscribe(root, &variables) {
                    Ok(events) => Withdrawal::of(&plan, feed.core.engine().follow(*source)).end(events),
                    Err(error) => {
                        refuses();
                        return only(FieldResult::failed(error));
                    }
                },
            }
        }
        // It was refused.
        [Step::Schema(about)] => {
            refuses();
            return only(about.answered());
        }
        _ => unreachable!("a subscription has one field"),
    };
    Box::pin(events.then(move |result| {
        let (feed, plan, variables) = (Rc::clone(&feed), Arc::clone(&plan), variables.clone());
        async move { ended(&feed, &plan, &variables, result).await }.boxed_local()
    }))
}

fn only(result: FieldResult) -> Events {
    Box::pin(stream::iter([result]))
}

async fn ended(
    feed: &InterceptedFeed,
    plan: &Plan,
    variables: &Variables,
    result: FieldResult,
) -> FieldResult {
    let interception = feed.plan.interception.as_ref().expect("the plan has interceptors");
    let executed = ExecutedOperation {
        served: &feed.served,
        kind: plan.selection.kind,
        fields: &plan.selection.fields,
        variables,
        asker: feed.asker.as_ref(),
        rows: &RowsBefore::default(),
    };
    let mut results = [result];
    interception.end(executed, &mut results).await;
    let [result] = results;
    result
}
