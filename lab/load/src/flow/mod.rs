//! What the users of a plan do: requests drawn by weight, or a sequence of them, with values in their slots.
//!
//! A value that a user takes from a feeder holds for its iteration, so that all steps speak of the same row; values
//! taken from answers hold until the iteration ends.

mod judge;
mod values;

use crate::prepared::Prepared;
use crate::subscriptions::publications::{Notice, PublicationQueue, Published};
use judge::Judge;
use prony_model::data::rows::CellKind;
use prony_model::data::variable::Exhausted;
use prony_model::measurement::counts::Counts;
use prony_model::plan::scenario::{AfterFailure, Flow};
use prony_model::program::{
    Answer, Event, Outgoing, Program, ProgramError, RunShare, Step, ThreadPlace, UserPlace, Workload,
};
use prony_model::response::capture::Captured;
use prony_model::subscription::token::Token;
use prony_model::{Nanos, Outcome, Plan};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::mem;
use std::time::Instant;
pub use values::SharedRows;
use values::{Lack, RowPositions, Values};

/// Users' waits are drawn from the streams of their numbers, their choices and values from these.
const STREAMS: u64 = 1 << 32;

/// A plan, ready to be carried out by any number of threads.
#[derive(Debug)]
pub(crate) struct FlowWorkload<'a> {
    plan: &'a Plan,
    /// Where subscribers hear of what users publish.
    publications: &'a PublicationQueue,
    prepared: Vec<Prepared>,
    judges: Vec<Judge<'a>>,
    positions: &'a RowPositions,
    /// Checks compare answers with values of the request, so those of a pipeline must be the same.
    keeps_values_in_pipeline: bool,
}

impl<'a> FlowWorkload<'a> {
    /// For the users of this share of the run.
    pub(crate) fn new(
        plan: &'a Plan,
        publications: &'a PublicationQueue,
        share: RunShare,
        rows: &'a SharedRows,
    ) -> Self {
        Self {
            plan,
            publications,
            prepared: Prepared::all(plan),
            judges: Judge::all(plan),
            positions: rows.of(plan, share),
            keeps_values_in_pipeline: plan.requests().iter().any(|r| !r.check_variables().is_empty()),
        }
    }
}

impl Workload for FlowWorkload<'_> {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Ok(Box::new(FlowProgram::new(self, thread)))
    }
}

struct FlowProgram<'a> {
    workload: &'a FlowWorkload<'a>,
    thread: ThreadPlace,
    users: Vec<FlowUser>,
    values: Values<'a>,
    counts: Counts,
    body: Vec<u8>,
}

struct FlowUser {
    /// The step of a sequence that comes next.
    step: usize,
    /// The last answer was no success.
    has_failed: bool,
    /// A pipeline ended early because no row was left.
    is_out_of_rows: bool,
    /// The request under way that subscribers wait for the events of, and its token.
    published: Option<(usize, Token)>,
    random: ChaCha8Rng,
}

impl<'a> FlowProgram<'a> {
    fn new(workload: &'a FlowWorkload<'a>, thread: ThreadPlace) -> Self {
        let numbers = (0..workload.plan.users()).filter(|number| thread.has(*number));
        let users = numbers.map(|number| {
            let mut random = ChaCha8Rng::seed_from_u64(workload.plan.seed());
            random.set_stream(STREAMS + u64::from(number));
            FlowUser { step: 0, has_failed: false, is_out_of_rows: false, published: None, random }
        });
        let users: Vec<_> = users.collect();
        let (variables, run) = (workload.plan.variables(), workload.publications.run);
        let values = Values::new(variables, workload.positions, users.len(), thread, run);
        Self { workload, thread, users, values, counts: Counts::default(), body: Vec::new() }
    }

    fn mix(&mut self, user: usize, weights: &[(usize, u32)], sum: u32, out: &mut Outgoing) -> Step {
        if self.users[user].is_out_of_rows {
            return Step::Leave;
        }
        for written in 0..self.workload.plan.wire().pipeline {
            let mut ticket = match weights {
                [_] => 0,
                _ => self.users[user].random.random_range(0..sum),
            };
            let chosen = weights.iter().find(|(_, weight)| {
                let is_it = ticket < *weight;
                ticket = ticket.saturating_sub(*weight);
                is_it
            });
            let (request, _) = chosen.expect("the ticket is below the sum of all weights");
            if !self.workload.keeps_values_in_pipeline {
                self.values.begin_iteration(user);
            }
            let step = self.write(user, *request, out);
            if step == Step::Leave && written > 0 {
                // The rows of those before it are taken: they are sent, and the user stops after them.
                self.users[user].is_out_of_rows = true;
                return Step::Send;
            }
            if step != Step::Send {
                return step;
            }
        }
        Step::Send
    }

    /// The next step of a sequence: its request, or before that the wait of the step before.
    fn sequence(
        &mut self,
        user: usize,
        steps: &[prony_model::plan::scenario::FlowStep],
        after_failure: AfterFailure,
        event: &Event<'_>,
        out: &mut Outgoing,
    ) -> Step {
        let entry = &mut self.users[user];
        match event {
            Event::Begin => (entry.step, entry.has_failed) = (0, false),
            // Steps of a plan never wait for events.
            Event::Paused | Event::Waited(_) => {}
            Event::Answered | Event::Failed(_) => {
                let has_failed = mem::take(&mut entry.has_failed) || matches!(event, Event::Failed(_));
                entry.step += 1;
                if entry.step == steps.len() {
                    return Step::EndIteration;
                }
                if has_failed && after_failure == AfterFailure::EndIteration {
                    self.counts.iterations_cut += 1;
                    return Step::EndIteration;
                }
                let wait = steps[entry.step - 1].think_time.draw(&mut entry.random);
                if wait > Nanos::ZERO {
                    return Step::Pause(wait);
                }
            }
        }
        self.write(user, steps[self.users[user].step].request, out)
    }

    /// Writes a request, unless a value that it needs is not there.
    fn write(&mut self, user: usize, request: usize, out: &mut Outgoing) -> Step {
        let prepared = &self.workload.prepared[request];
        let token = self.workload.publications.token_of(self.workload.plan, request);
        let token = token.map(|variable| self.values.renew_token(user, variable));
        if !prepared.variables.is_empty() || self.workload.judges[request].has_variables() {
            let needed = prepared.variables.iter().chain(self.workload.judges[request].variables());
            let random = &mut self.users[user].random;
            match self.values.fill(user, needed.copied(), random, &mut self.counts) {
                Ok(()) => {}
                Err(Lack::Row(Exhausted)) => return Step::Leave,
                Err(Lack::Capture) => {
                    self.counts.iterations_cut += 1;
                    return Step::EndIteration;
                }
            }
        }
        prepared.write(&self.values.of(user), &mut self.body, &mut out.text);
        if let Some(token) = token {
            self.publish(user, request, token);
        }
        out.end_request(request, prepared.target, prepared.is_head, prepared.keep);
        Step::Send
    }

    /// Tells subscribers of a request that is written right after this.
    fn publish(&mut self, user: usize, request: usize, token: Token) {
        self.users[user].published = Some((request, token));
        let (plan, values) = (self.workload.plan, self.values.of(user));
        for group in self.workload.publications.groups_of(request) {
            let Some(fan_out) = &plan.subscriptions()[*group].fan_out else { continue };
            let mut key = Vec::new();
            fan_out.request_key.render(&values, &mut key);
            let what = Published::Sent { key: key.into() };
            self.workload.publications.put(&Notice { group: *group, token, at: Instant::now(), what });
        }
    }

    /// Tells them what became of it.
    #[inline]
    fn acknowledge(&mut self, user: usize, what: &Published) {
        if let Some((request, token)) = self.users[user].published.take() {
            self.acknowledge_token(request, token, what);
        }
    }

    fn acknowledge_token(&self, request: usize, token: Token, what: &Published) {
        let at = Instant::now();
        for group in self.workload.publications.groups_of(request) {
            self.workload.publications.put(&Notice { group: *group, token, at, what: what.clone() });
        }
    }
}

impl Program for FlowProgram<'_> {
    fn next(&mut self, place: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        let workload = self.workload;
        let scenario = &workload.plan.scenarios()[place.scenario];
        let user = self.thread.index_of(place.number);
        let begins = matches!(event, Event::Begin);
        if begins {
            self.values.begin_iteration(user);
        }
        if let Event::Failed(_) = event {
            self.acknowledge(user, &Published::Failed);
        }
        Ok(match &scenario.flow {
            Flow::Sequence(steps) => self.sequence(user, steps, scenario.after_failure, &event, out),
            Flow::Mix { weights, sum } if begins => self.mix(user, weights, *sum, out),
            // Nothing of a script is a plan's own.
            Flow::Mix { .. } | Flow::Script => Step::EndIteration,
        })
    }

    fn judge(
        &mut self,
        place: UserPlace,
        request: usize,
        answer: &Answer<'_>,
    ) -> Result<Outcome, ProgramError> {
        let user = self.thread.index_of(place.number);
        let outcome = self.workload.judges[request].judge(answer, user, &mut self.values, &mut self.counts);
        self.users[user].has_failed |= outcome != Outcome::Success;
        let is_kept = outcome == Outcome::Success;
        self.acknowledge(user, if is_kept { &Published::Acknowledged } else { &Published::Failed });
        Ok(outcome)
    }

    fn end_second(&mut self) -> Counts {
        mem::take(&mut self.counts)
    }
}

/// The text of each request with the values that a first user would send; captured ones stand as their own names.
pub(crate) fn example_texts(plan: &Plan) -> Vec<Vec<u8>> {
    let publications = PublicationQueue::new(plan, 0, 0);
    let rows = SharedRows::default();
    let workload = FlowWorkload::new(plan, &publications, RunShare::WHOLE, &rows);
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed());
    let first = ThreadPlace { number: 0, threads: 1 };
    let mut values = Values::new(plan.variables(), workload.positions, 1, first, publications.run);
    for (index, variable) in
        plan.variables().iter().enumerate().filter(|(_, variable)| variable.is_captured())
    {
        let text = variable.name.to_uppercase().into_bytes().into();
        values.capture(0, index, Captured { kind: CellKind::Text, text });
    }
    let write = |prepared: &Prepared| {
        let (mut body, mut text) = (Vec::new(), Vec::new());
        let needed = prepared.variables.iter().copied();
        // No feeder is empty, so its first row is there.
        let _ = values.fill(0, needed, &mut random, &mut Counts::default());
        prepared.write(&values.of(0), &mut body, &mut text);
        text
    };
    workload.prepared.iter().map(write).collect()
}
