//! How a run is shared out, whoever its workers are, and what cannot be shared out so: said before anything else is done.

use crate::error::WorkersError;
use crate::message::WORKERS_MAX;
use prony_model::Plan;
use prony_model::load::IterationBudget;

/// What becomes of a run that loses a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnWorkerLost {
    /// It goes on; the worker's share is missing from then on, which each second says.
    #[default]
    Continue,
    /// The others take the worker's share over; until they have, it is missing.
    Respread,
    /// It ends, and what was measured is kept.
    End,
}

/// What users of a kind of load lose with their worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserState {
    /// Nothing: all that they are is in the plan, so that others can begin them anew.
    OfPlan,
    /// What a script or plan has made of them: variables, logins, places in files.
    OfWorker,
}

/// How the load of a run is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub workers: u32,
    pub on_lost: OnWorkerLost,
    /// Of what is run; of several things that of the one with the most.
    pub users: UserState,
}

impl Terms {
    /// Refuses what no plan of this kind could be run with.
    pub fn check_kind(&self) -> Result<(), WorkersError> {
        if self.workers == 0 || self.workers > WORKERS_MAX {
            return Err(WorkersError::Count(self.workers));
        }
        if self.on_lost == OnWorkerLost::Respread && self.users == UserState::OfWorker {
            return cannot_respread(
                "users of a script have a state of their own, which is gone with the worker",
            );
        }
        Ok(())
    }

    /// Refuses one of several plans, whose loads may have fewer users than there are workers.
    pub fn check_each(&self, plan: &Plan) -> Result<(), WorkersError> {
        self.check_kind()?;
        check_subscriptions(plan)?;
        if self.on_lost == OnWorkerLost::Respread { check_respread(plan) } else { Ok(()) }
    }

    /// Refuses a plan that is run once, by all workers.
    pub fn check(&self, plan: &Plan) -> Result<(), WorkersError> {
        self.check_each(plan)?;
        let (workers, parts) = (self.workers, plan.parts_max());
        let of =
            if plan.subscriptions().is_empty() { "users" } else { "users or connections of subscribers" };
        if parts < workers { Err(WorkersError::TooFewUsers { workers, parts, of }) } else { Ok(()) }
    }
}

/// What could not be split exactly of subscribers.
fn check_subscriptions(plan: &Plan) -> Result<(), WorkersError> {
    let matched = plan.subscriptions().iter().find(|group| group.fan_out.is_some());
    if let Some(group) = matched {
        return Err(WorkersError::FanOut(group.name().to_owned()));
    }
    if !plan.subscriptions().is_empty() && has_iterations(plan) {
        return Err(WorkersError::SubscribersOfIterations);
    }
    Ok(())
}

/// What others could not take over exactly.
fn check_respread(plan: &Plan) -> Result<(), WorkersError> {
    if has_iterations(plan) {
        return cannot_respread(
            "the plan has a number of iterations, and nobody knows how many of them the worker has made",
        );
    }
    if !plan.subscriptions().is_empty() {
        return cannot_respread(
            "the plan has subscriptions, and what is pushed until they are made again would be lost without being missed",
        );
    }
    Ok(())
}

fn cannot_respread(why: &str) -> Result<(), WorkersError> {
    Err(WorkersError::CannotRespread(why.to_owned()))
}

fn has_iterations(plan: &Plan) -> bool {
    plan.scenarios().iter().any(|scenario| scenario.load.budget != IterationBudget::Unlimited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::data::variable::{Values, Variable};
    use prony_model::subscription::{FanOutDraft, SubscriptionDraft};
    use prony_model::{LoadModel, Nanos, PlanDraft, RequestDraft, Target};

    fn draft(load: LoadModel) -> PlanDraft {
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = vec![RequestDraft::get("größe", "/${mark}")];
        draft.variables =
            vec![Variable { name: "mark".to_owned(), values: Values::Token { prefix: "t-".to_owned() } }];
        draft
    }

    fn refused(change: impl FnOnce(&mut PlanDraft), load: LoadModel, terms: Terms) -> String {
        let mut draft = draft(load);
        change(&mut draft);
        terms.check(&draft.check().unwrap()).err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn subscribed(clients: u32) -> impl FnOnce(&mut PlanDraft) {
        move |draft| {
            draft.subscriptions = vec![SubscriptionDraft::new("Ereignisse", "subscription { on }", clients)];
        }
    }

    const SECOND: Nanos = Nanos::from_secs(1);
    const TERMS: Terms = Terms { workers: 3, on_lost: OnWorkerLost::Continue, users: UserState::OfPlan };
    const RESPREAD: Terms = Terms { on_lost: OnWorkerLost::Respread, ..TERMS };

    #[test]
    fn what_cannot_be_shared_out_is_said_with_the_reason() {
        let users = |users| LoadModel::constant(users, SECOND);
        let check = |change: &dyn Fn(&mut PlanDraft), load, terms, begin: &str| {
            let refused = refused(change, load, terms);
            assert!(refused.starts_with(begin) && refused.is_empty() == begin.is_empty(), "{refused}");
        };
        let nothing = |_: &mut PlanDraft| {};
        check(&nothing, users(3), TERMS, "");
        check(&nothing, users(3), RESPREAD, "");
        check(&nothing, users(2), TERMS, "3 workers cannot share 2 users: ");
        check(&nothing, users(2), Terms { workers: 0, ..TERMS }, "0 workers are not between 1 and 1000");
        let iterations = || LoadModel::shared_iterations(7, 30, SECOND);
        check(&nothing, iterations(), TERMS, "");
        check(&nothing, iterations(), RESPREAD, "the share of a worker that is lost cannot be taken over");
        let of_script = Terms { users: UserState::OfWorker, ..TERMS };
        check(&nothing, users(3), of_script, "");
        let of_script = Terms { on_lost: OnWorkerLost::Respread, ..of_script };
        check(&nothing, users(3), of_script, "the share of a worker that is lost cannot be taken over");
        // Two users, and as many connections as workers.
        check(&|draft| subscribed(3)(draft), users(2), TERMS, "");
        let few = "3 workers cannot share 2 users or connections of subscribers: ";
        check(&|draft| subscribed(2)(draft), users(1), TERMS, few);
        check(&|draft| subscribed(3)(draft), users(3), RESPREAD, "the share of a worker that is lost");
        check(
            &|draft| subscribed(3)(draft),
            iterations(),
            TERMS,
            "subscribers stay until the last iteration",
        );
        let matched = |draft: &mut PlanDraft| {
            subscribed(3)(draft);
            let fan_out = FanOutDraft {
                request: "größe".to_owned(),
                token: None,
                key: None,
                request_key: None,
                wait_max: SECOND,
            };
            draft.subscriptions[0].fan_out = Some(fan_out);
        };
        check(&matched, users(3), TERMS, "the subscriptions `Ereignisse` match events with mutations");
    }
}
