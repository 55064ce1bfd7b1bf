//! The values that each user holds: rows taken from feeders, numbers drawn, and what earlier answers gave.

use prony_model::Plan;
use prony_model::data::variable::{Choice, Drawn, Exhausted, Share, Take, ValueOf, Variable};
use prony_model::measurement::counts::{Counts, FeederCount};
use prony_model::program::{RunShare, ThreadPlace};
use prony_model::response::capture::Captured;
use prony_model::subscription::token::Token;
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How far all users together are in the rows that they share.
#[derive(Debug)]
pub(super) struct RowPositions {
    share: RunShare,
    /// Of the whole run.
    users: u32,
    /// By variable: how many rows the users of this share have taken.
    taken: Vec<AtomicU64>,
}

impl RowPositions {
    pub(super) fn new(plan: &Plan, share: RunShare) -> Self {
        let taken = plan.variables().iter().map(|_| AtomicU64::new(0)).collect();
        Self { share, users: plan.users(), taken }
    }

    /// The position of the next row, which no other user of the run has.
    fn next(&self, variable: usize) -> u64 {
        let taken = self.taken[variable].fetch_add(1, Ordering::Relaxed);
        self.share.position(taken, 0, self.users).expect("a user that asks is one of this share")
    }
}

/// How far the users of a run are in its rows, for another run in the same process that takes over users of other machines: those
/// then draw from the rows of this one, and no row is given twice. Set by the first run that has it.
#[derive(Debug, Clone, Default)]
pub struct SharedRows(Arc<OnceLock<RowPositions>>);

impl SharedRows {
    pub(super) fn of(&self, plan: &Plan, share: RunShare) -> &RowPositions {
        self.0.get_or_init(|| RowPositions::new(plan, share))
    }
}

/// All users of one thread.
pub(super) struct Values<'a> {
    variables: &'a [Variable],
    positions: &'a RowPositions,
    thread: ThreadPlace,
    /// The mark that all tokens of the run have.
    run: u32,
    /// By user, then by variable.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    value: Held,
    /// Rows that this user took of a feeder of its own, or tokens that it made.
    rows_taken: u32,
}

#[derive(Debug, Clone, Default)]
enum Held {
    #[default]
    Nothing,
    Chosen(Choice),
    Captured(Captured),
}

/// Why a request cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    Row(Exhausted),
    /// No answer of this iteration gave the value.
    Capture,
}

/// The values of one user, as slots ask for them.
pub(super) struct UserValues<'a> {
    variables: &'a [Variable],
    slots: &'a [Slot],
}

impl ValueOf for UserValues<'_> {
    fn value_of(&self, variable: usize) -> Drawn<'_> {
        match &self.slots[variable].value {
            Held::Nothing => Drawn::NOTHING,
            Held::Chosen(choice) => self.variables[variable].drawn(*choice),
            Held::Captured(captured) => Drawn::Captured(captured.cell()),
        }
    }
}

impl<'a> Values<'a> {
    pub(super) fn new(
        variables: &'a [Variable],
        positions: &'a RowPositions,
        users: usize,
        thread: ThreadPlace,
        run: u32,
    ) -> Self {
        Self { variables, positions, thread, run, slots: vec![Slot::default(); variables.len() * users] }
    }

    /// Gives a variable of tokens another one.
    pub(super) fn renew_token(&mut self, user: usize, variable: usize) -> Token {
        let publisher = self.thread.number + user as u32 * self.thread.threads;
        let slot = &mut self.slots[user * self.variables.len() + variable];
        let token = Token { run: self.run, publisher, sequence: slot.rows_taken };
        slot.rows_taken = slot.rows_taken.wrapping_add(1);
        slot.value = Held::Chosen(Choice::Token(token));
        token
    }

    pub(super) fn of(&self, user: usize) -> UserValues<'_> {
        let count = self.variables.len();
        UserValues { variables: self.variables, slots: &self.slots[user * count..(user + 1) * count] }
    }

    /// Forgets what held for the last iteration only.
    pub(super) fn begin_iteration(&mut self, user: usize) {
        let count = self.variables.len();
        for (slot, variable) in self.slots[user * count..(user + 1) * count].iter_mut().zip(self.variables) {
            if variable.feeder().is_none_or(|feeder| feeder.take == Take::EachIteration) {
                slot.value = Held::Nothing;
            }
        }
    }

    pub(super) fn capture(&mut self, user: usize, variable: usize, captured: Captured) {
        self.slots[user * self.variables.len() + variable].value = Held::Captured(captured);
    }

    /// Chooses values for those of these variables that have none yet.
    pub(super) fn fill(
        &mut self,
        user: usize,
        needed: impl Iterator<Item = usize>,
        random: &mut ChaCha8Rng,
        counts: &mut Counts,
    ) -> Result<(), Lack> {
        let count = self.variables.len();
        for variable in needed {
            let slot = &mut self.slots[user * count + variable];
            if !matches!(slot.value, Held::Nothing) {
                continue;
            }
            let source = &self.variables[variable];
            if source.is_captured() {
                return Err(Lack::Capture);
            }
            if source.token_prefix().is_some() {
                self.renew_token(user, variable);
                continue;
            }
            let position = match source.feeder() {
                Some(feeder) if feeder.is_counted() && feeder.share == Share::AllUsers => {
                    self.positions.next(variable)
                }
                Some(_) => u64::from(slot.rows_taken),
                None => 0,
            };
            let choice = source.choose(random, position);
            if source.feeder().is_some() {
                slot.rows_taken = slot.rows_taken.wrapping_add(1);
                count_row(counts, count, variable, choice.is_ok());
            }
            slot.value = Held::Chosen(choice.map_err(Lack::Row)?);
        }
        Ok(())
    }
}

fn count_row(counts: &mut Counts, variables: usize, variable: usize, was_there: bool) {
    counts.feeders.resize(variables, FeederCount::default());
    let count = &mut counts.feeders[variable];
    count.rows_taken += u64::from(was_there);
    count.users_stopped += u64::from(!was_there);
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::{LoadModel, Nanos, PlanDraft, RequestDraft, Target};
    use std::collections::BTreeSet;

    #[test]
    fn users_that_are_taken_over_draw_rows_that_nobody_else_has() {
        let load = LoadModel::constant(7, Nanos::from_secs(1));
        let mut draft = PlanDraft::new("p", Target::new("t", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        draft.variables =
            vec![Variable::list("row", &[1.into()], prony_model::data::variable::Order::Unique)];
        let plan = draft.check().unwrap();
        let share = |number, parts| RunShare::new(number, parts).unwrap();
        let (own, other) = (SharedRows::default(), SharedRows::default());
        let draw = |rows: &SharedRows, share| rows.of(&plan, share).next(0);
        let mut drawn = vec![draw(&other, share(1, 3)), draw(&own, share(0, 3)), draw(&own, share(0, 3))];
        // The users of the second worker, which is lost, come to the first.
        drawn.extend([draw(&own, share(1, 6)), draw(&own, share(0, 3)), draw(&own, share(1, 6))]);
        let unlike: BTreeSet<_> = drawn.iter().collect();
        assert_eq!(unlike.len(), drawn.len(), "{drawn:?}");
    }
}
