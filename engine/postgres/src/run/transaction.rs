//! The mutations of a request on one connection, in one transaction.

use std::{rc::Rc, sync::Arc};

use prony_graphql::error::GraphqlError;
use tokio_postgres::Row;

use crate::{
    connect::link::{Answer, Executed, Link, Progress},
    error::{Constraint, Failure, FailureKind},
    run::{capture::TransactionCapture, scope::begin_on},
    statement::{
        bound::Bound,
        keys::read_key,
        mutation::{Mutation, Outcome, RowCheck},
        returning::CapturedChange,
        text::Statement,
    },
};
use prony_sql::{levels::Key, model::TableId};

/// Takes the outcome of one mutation.
struct MutationAnswer {
    mutation: Arc<Mutation>,
    captures: bool,
    row: Option<Vec<u8>>,
    /// Of the row that the mutation's check is about, as far as no part of it is null.
    key: Option<Key>,
    is_returned: bool,
    /// Of each row that came back: several where a key that the settings name is no key, or where tables inherit.
    captured: Vec<CapturedChange>,
    affected: u64,
}

impl Answer for MutationAnswer {
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        self.is_returned = true;
        if let Some(check) = &self.mutation.check {
            self.key = read_key(row, &check.key)?;
        }
        if let Outcome::Row(shape) = &self.mutation.outcome {
            let mut out = Vec::new();
            shape.write(&mut out, row)?;
            self.row = Some(out);
        }
        if self.captures {
            self.captured.push(self.mutation.returning.read(self.mutation.table, row)?);
        }
        Ok(())
    }

    fn rows_affected(&mut self, count: u64) {
        self.affected = count;
    }
}

impl MutationAnswer {
    /// `null` where a trigger kept the row from being inserted.
    fn finish(self) -> StepOutcome {
        let data = match (&self.mutation.outcome, self.row) {
            (Outcome::Row(_), row) => row.unwrap_or_else(|| b"null".to_vec()),
            (Outcome::Changed { yes, .. }, _) if self.affected > 0 => yes.to_vec(),
            (Outcome::Changed { no, .. }, _) => no.to_vec(),
        };
        StepOutcome { data, captured: self.captured }
    }
}

/// What one step gave.
struct StepOutcome {
    data: Vec<u8>,
    /// Where the step captures what it changes: a change for each row.
    captured: Vec<CapturedChange>,
}

/// One mutation with its values.
pub(crate) struct Step {
    mutation: Arc<Mutation>,
    values: Vec<Bound>,
    /// Of the mutation's check; the key's places are filled in when the row is written.
    check_values: Vec<Bound>,
    collision_values: Vec<Bound>,
}

impl Step {
    /// # Errors
    /// Values that their columns do not take.
    pub(crate) fn new(
        mutation: &Arc<Mutation>,
        bind: impl Fn(&Statement) -> Result<Vec<Bound>, GraphqlError>,
    ) -> Result<Self, GraphqlError> {
        let check_values = mutation.check.as_ref().map(|check| bind(&check.select)).transpose()?;
        let collision = mutation.restricted.as_ref().and_then(|writer| writer.collision.as_deref());
        let collision_values = collision.map(&bind).transpose()?;
        Ok(Self {
            values: bind(&mutation.statement)?,
            check_values: check_values.unwrap_or_default(),
            collision_values: collision_values.unwrap_or_default(),
            mutation: Arc::clone(mutation),
        })
    }

    pub(crate) fn table(&self) -> TableId {
        self.mutation.table
    }

    /// What writes, for messages.
    pub(crate) fn statement(&self) -> &Statement {
        &self.mutation.statement
    }
}

/// Which step failed, and how; nothing of the request was written unless the kind says that this is unknown.
#[derive(Debug)]
pub(crate) struct StepFailure {
    /// None where it was the beginning of the transaction or its end, which belong to no step.
    pub(crate) step: Option<usize>,
    pub(crate) failure: Failure,
}

/// Runs all steps: all of them are written, or none; and publishes what they have changed, as far as the capture wants it.
/// The JSON of each. `begin` are the commands that a transaction must begin with, where there are such.
pub(crate) async fn run(
    link: &Rc<Link>,
    steps: &[Step],
    capture: TransactionCapture,
    begin: Option<&str>,
) -> Result<Vec<Vec<u8>>, StepFailure> {
    match run_steps(link, steps, &capture, begin).await {
        Ok(outcomes) => {
            let (data, captured): (_, Vec<_>) =
                outcomes.into_iter().map(|outcome| (outcome.data, outcome.captured)).unzip();
            capture.committed(captured.into_iter().flatten());
            Ok(data)
        }
        Err(mut failed) => {
            if failed.failure.kind == FailureKind::Raised {
                failed.failure.kind = FailureKind::RefusedByTrigger;
            }
            if let FailureKind::Constraint(constraint) = failed.failure.kind {
                let run = failed.step.map_or(steps, |step| &steps[..=step]);
                withhold(link, run, constraint, begin, &mut failed.failure).await;
            }
            if failed.failure.kind == FailureKind::OutcomeUnknown {
                capture.unknown();
            }
            Err(failed)
        }
    }
}

async fn run_steps(
    link: &Rc<Link>,
    steps: &[Step],
    capture: &TransactionCapture,
    begin: Option<&str>,
) -> Result<Vec<StepOutcome>, StepFailure> {
    match steps {
        [] => Ok(Vec::new()),
        [only] if only.mutation.check.is_none() && begin.is_none() => {
            match execute(link, only, capture.captures(0)).await {
                Ok(outcome) => Ok(vec![outcome]),
                Err(failure) => Err(StepFailure { step: Some(0), failure: unknown_if_lost(failure) }),
            }
        }
        several => transaction(link, several, capture, begin.unwrap_or("BEGIN")).await,
    }
}

async fn transaction(
    link: &Rc<Link>,
    steps: &[Step],
    capture: &TransactionCapture,
    begin: &str,
) -> Result<Vec<StepOutcome>, StepFailure> {
    let mut outcomes = Vec::with_capacity(steps.len());
    if let Err(failure) = begin_on(link, begin).await {
        // A role that is not there is found behind the beginning.
        let _ = link.batch("ROLLBACK").await;
        return Err(StepFailure { step: None, failure });
    }
    for (step, mutation) in steps.iter().enumerate() {
        match execute(link, mutation, capture.captures(step)).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(failure) => {
                // Fails only with the connection, and then the server rolls back by itself.
                let _ = link.batch("ROLLBACK").await;
                return Err(StepFailure { step: Some(step), failure });
            }
        }
    }
    let Err(failure) = link.batch("COMMIT").await else { return Ok(outcomes) };
    let mut failure = unknown_if_lost(failure);
    if let FailureKind::Constraint(constraint) = failure.kind
        && steps.iter().any(|step| step.is_told_of(constraint) != Some(true))
    {
        failure = refused();
    }
    // Constraints that are checked at the end belong to no single step.
    Err(StepFailure { step: None, failure })
}

impl Step {
    /// Whether a constraint's name may say that there are other rows; none where that depends on the rows.
    fn is_told_of(&self, constraint: Constraint) -> Option<bool> {
        let Some(writer) = &self.mutation.restricted else { return Some(true) };
        match constraint {
            Constraint::Unique | Constraint::Exclusion if writer.sees_whole_table => Some(true),
            Constraint::Unique | Constraint::Exclusion => {
                writer.collision.as_ref().map_or(Some(false), |_| None)
            }
            Constraint::ForeignKey => Some(self.mutation.check.is_none()),
            Constraint::NotNull | Constraint::Check => Some(true),
        }
    }
}

/// A restricted writer is not told by a constraint that there are rows or columns which cannot be seen: such a row is refused as
/// one that does not pass its check. It was the last of `steps` that failed, and the transaction has ended.
async fn withhold(
    link: &Rc<Link>,
    steps: &[Step],
    constraint: Constraint,
    begin: Option<&str>,
    failure: &mut Failure,
) {
    let Some((step, earlier)) = steps.split_last() else { return };
    let is_told = match step.is_told_of(constraint) {
        Some(is_told) => is_told,
        None => sees_collision(link, step, earlier, begin).await,
    };
    if !is_told {
        *failure = refused();
    } else if let Some(writer) = &step.mutation.restricted {
        failure.column =
            failure.column.take().filter(|name| writer.columns.iter().any(|known| **known == **name));
    }
}

/// Whether a row that can be seen stands in the way. What the earlier steps write may do so, and is gone with their transaction: they
/// run once more, and are rolled back again, so that steps which succeed need no savepoints.
async fn sees_collision(link: &Rc<Link>, step: &Step, earlier: &[Step], begin: Option<&str>) -> bool {
    let begin = begin.or_else(|| (!earlier.is_empty()).then_some("BEGIN"));
    let Some(begin) = begin else { return finds_collision(link, step).await };
    let mut is_as_before = begin_on(link, begin).await.is_ok();
    for mutation in earlier {
        is_as_before = is_as_before && execute(link, mutation, false).await.is_ok();
    }
    let is_seen = is_as_before && finds_collision(link, step).await;
    // Fails only with the connection, and then the server rolls back by itself.
    let _ = link.batch("ROLLBACK").await;
    is_seen
}

async fn finds_collision(link: &Rc<Link>, step: &Step) -> bool {
    let writer = step.mutation.restricted.as_ref();
    let Some(select) = writer.and_then(|writer| writer.collision.as_ref()) else { return false };
    let answer = AnyRow { is_there: false };
    let executed = link.execute(&select.text, &step.collision_values, answer, &Progress::default()).await;
    executed.result.is_ok_and(|answer| answer.is_there)
}

/// As of a row that does not pass its check: without the database's own text, by which the two could be told apart.
fn refused() -> Failure {
    Failure { kind: FailureKind::RowRefused, detail: None, column: None }
}

async fn execute(link: &Rc<Link>, step: &Step, captures: bool) -> Result<StepOutcome, Failure> {
    let answer = MutationAnswer {
        mutation: Arc::clone(&step.mutation),
        captures,
        row: None,
        key: None,
        is_returned: false,
        captured: Vec::new(),
        affected: 0,
    };
    let statement = if captures { &step.mutation.returning.statement } else { &step.mutation.statement };
    let Executed { result, .. } =
        link.execute(&statement.text, &step.values, answer, &Progress::default()).await;
    let answer = result.map_err(|mut failure| {
        if failure.kind == FailureKind::OutOfRange {
            failure.kind = FailureKind::BadNumber;
        }
        failure
    })?;
    if let (true, Some(check)) = (answer.is_returned, &step.mutation.check) {
        run_check(link, check, step.check_values.clone(), answer.key.as_ref()).await?;
    }
    Ok(answer.finish())
}

/// All rows that were written have the key.
async fn run_check(
    link: &Rc<Link>,
    check: &RowCheck,
    mut values: Vec<Bound>,
    key: Option<&Key>,
) -> Result<(), Failure> {
    let key = key.ok_or_else(refused)?;
    for ((place, part), &(_, wire)) in values.iter_mut().zip(key.iter()).zip(&check.key) {
        *place = wire.bind(part);
    }
    let answer = AnyRow { is_there: false };
    let Executed { result, .. } =
        link.execute(&check.select.text, &values, answer, &Progress::default()).await;
    if result?.is_there { Ok(()) } else { Err(refused()) }
}

/// Whether a statement has returned a row.
struct AnyRow {
    is_there: bool,
}

impl Answer for AnyRow {
    fn row(&mut self, _: &Row) -> Result<(), Failure> {
        self.is_there = true;
        Ok(())
    }
}

/// A connection that breaks while the server may be committing leaves the outcome open.
fn unknown_if_lost(mut failure: Failure) -> Failure {
    if failure.kind == FailureKind::ConnectionLost {
        failure.kind = FailureKind::OutcomeUnknown;
    }
    failure
}
