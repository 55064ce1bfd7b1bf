//! What the users of a plan do: requests drawn by weight, or a sequence of them, with values in their slots.

use crate::http::request::Prepared;
use prony_load_model::program::{
    Answer, Event, Outgoing, Program, ProgramError, Step, ThreadPlace, UserPlace, Workload,
};
use prony_load_model::scenario::Flow;
use prony_load_model::variable::Drawn;
use prony_load_model::{Nanos, Outcome, Plan};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Users' waits are drawn from the streams of their numbers, their choices and values from these.
const STREAMS: u64 = 1 << 32;

/// A plan, ready to be carried out by any number of threads.
#[derive(Debug)]
pub(crate) struct FlowWorkload<'a> {
    plan: &'a Plan,
    prepared: Vec<Prepared>,
    /// How often each sequential variable was drawn.
    positions: Vec<AtomicU64>,
}

impl<'a> FlowWorkload<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let positions = plan.variables().iter().map(|_| AtomicU64::new(0)).collect();
        Self { plan, prepared: Prepared::all(plan), positions }
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
    drawn: Vec<Drawn<'a>>,
    body: Vec<u8>,
}

struct FlowUser {
    /// The step of a sequence that comes next.
    step: usize,
    random: ChaCha8Rng,
}

impl<'a> FlowProgram<'a> {
    fn new(workload: &'a FlowWorkload<'a>, thread: ThreadPlace) -> Self {
        let numbers = (0..workload.plan.users()).filter(|number| thread.has(*number));
        let users = numbers.map(|number| {
            let mut random = ChaCha8Rng::seed_from_u64(workload.plan.seed());
            random.set_stream(STREAMS + u64::from(number));
            FlowUser { step: 0, random }
        });
        let drawn = vec![Drawn::Integer(0); workload.plan.variables().len()];
        Self { workload, thread, users: users.collect(), drawn, body: Vec::new() }
    }

    fn mix(&mut self, user: UserPlace, weights: &[(usize, u32)], sum: u32, out: &mut Outgoing) {
        for _ in 0..self.workload.plan.wire().pipeline {
            let mut ticket = match weights {
                [_] => 0,
                _ => self.users[self.thread.index_of(user.number)].random.random_range(0..sum),
            };
            let chosen = weights.iter().find(|(_, weight)| {
                let is_it = ticket < *weight;
                ticket = ticket.saturating_sub(*weight);
                is_it
            });
            let (request, _) = chosen.expect("the ticket is below the sum of all weights");
            self.write(user, *request, out);
        }
    }

    /// The next step of a sequence: its request, or before that the wait of the step before.
    fn sequence(
        &mut self,
        user: UserPlace,
        steps: &[prony_load_model::scenario::Step],
        event: Event,
        out: &mut Outgoing,
    ) -> Step {
        let entry = &mut self.users[self.thread.index_of(user.number)];
        match event {
            Event::Begin => entry.step = 0,
            Event::Paused => {}
            Event::Failed(_) => return Step::EndIteration,
            Event::Answered => {
                entry.step += 1;
                if entry.step == steps.len() {
                    return Step::EndIteration;
                }
                let wait = steps[entry.step - 1].think_time.draw(&mut entry.random);
                if wait > Nanos::ZERO {
                    return Step::Pause(wait);
                }
            }
        }
        let request = steps[self.users[self.thread.index_of(user.number)].step].request;
        self.write(user, request, out);
        Step::Send
    }

    fn write(&mut self, user: UserPlace, request: usize, out: &mut Outgoing) {
        let random = &mut self.users[self.thread.index_of(user.number)].random;
        let prepared = &self.workload.prepared[request];
        for variable in &prepared.variables {
            let drawn = &self.workload.plan.variables()[*variable];
            let position = if drawn.is_sequential() {
                self.workload.positions[*variable].fetch_add(1, Ordering::Relaxed)
            } else {
                0
            };
            self.drawn[*variable] = drawn.draw(random, position);
        }
        prepared.write(&self.drawn, &mut self.body, &mut out.text);
        out.end_request(request, prepared.target, prepared.is_head, prepared.keep());
    }
}

impl Program for FlowProgram<'_> {
    fn next(&mut self, user: UserPlace, event: Event, out: &mut Outgoing) -> Result<Step, ProgramError> {
        let workload = self.workload;
        Ok(match &workload.plan.scenarios()[user.scenario].flow {
            Flow::Sequence(steps) => self.sequence(user, steps, event, out),
            Flow::Mix { weights, sum } if event == Event::Begin => {
                self.mix(user, weights, *sum, out);
                Step::Send
            }
            Flow::Mix { .. } => Step::EndIteration,
        })
    }

    fn judge(&mut self, _: UserPlace, request: usize, answer: &Answer<'_>) -> Result<Outcome, ProgramError> {
        let prepared = &self.workload.prepared[request];
        Ok(if !prepared.expect.accepts(answer.status) {
            Outcome::Status(answer.status)
        } else if answer.has_graphql_errors {
            Outcome::GraphQlErrors
        } else {
            Outcome::Success
        })
    }
}
