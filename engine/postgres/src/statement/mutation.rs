//! Mutations: one INSERT, UPDATE or DELETE per root field, all of a request in one transaction.

use prony_source::dialect::{ResultKind, ResultOutput};
use std::{rc::Rc, sync::Arc};

use tokio_postgres::Row;

use crate::{
    connect::link::{Answer, Executed, Link, Progress},
    error::{Failure, FailureKind},
    run::rows::{Form, RowShape},
    statement::{
        bound::Bound,
        dialect::Postgres,
        returning::{CapturedChange, ReturningClause, TransactionCapture},
        select::SelectList,
        text::Statement,
    },
};
use prony_sql::{
    builder::{SqlBuilder, push_identifier},
    changes::Operation,
    model::{Column, Model, Table, TableId},
    plan::{CreatePlan, DeletePlan, Output, OutputKind, UpdatePlan},
};

/// The statement of one mutation and how its outcome becomes JSON.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) table: TableId,
    pub(crate) statement: Arc<Statement>,
    /// The same where somebody wants to hear what has changed.
    pub(crate) returning: ReturningClause,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    /// The returned row.
    Row(RowShape),
    /// JSON for a changed row and for none.
    Changed { yes: Box<[u8]>, no: Box<[u8]> },
}

impl Mutation {
    pub(crate) fn create(model: &Model, plan: &CreatePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.insert(model, plan);
        let mut select = SelectList::default();
        let shape = returned(model.table(plan.table), &plan.outputs, &mut select);
        Self::new(model, plan.table, &builder, Operation::Insert, select, Outcome::Row(shape))
    }

    pub(crate) fn update(model: &Model, plan: &UpdatePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.update(model, plan);
        let (mut select, outcome) = (SelectList::default(), Outcome::changed(&plan.outputs));
        let moves = plan.values.iter().any(|(column, _)| plan.key.iter().any(|(key, _)| key == column));
        let (table, parameters) = (model.table(plan.table), builder.parameters.len());
        let moved_key = moves.then(|| ReturningClause::moved_key(table, parameters, &mut select));
        let mut mutation = Self::new(model, plan.table, &builder, Operation::Update, select, outcome);
        mutation.returning.moved_key = moved_key;
        mutation
    }

    pub(crate) fn delete(model: &Model, plan: &DeletePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.delete(model, plan);
        let (select, outcome) = (SelectList::default(), Outcome::changed(&plan.outputs));
        Self::new(model, plan.table, &builder, Operation::Delete, select, outcome)
    }

    /// `select` is what the outcome returns.
    fn new(
        model: &Model,
        table: TableId,
        builder: &SqlBuilder<'_, Postgres>,
        operation: Operation,
        mut select: SelectList,
        outcome: Outcome,
    ) -> Self {
        let statement = |returning: Option<String>| {
            let returning = returning.map(|list| format!(" RETURNING {list}")).unwrap_or_default();
            Statement::new(model, format!("{}{returning}", builder.text), builder.parameters.clone())
        };
        let quiet = statement(matches!(outcome, Outcome::Row(_)).then(|| select.clone().into_sql()));
        let (columns, position) = ReturningClause::columns(model.table(table), &mut select);
        let returning = ReturningClause {
            statement: statement(Some(select.into_sql())),
            operation,
            columns,
            position,
            moved_key: None,
        };
        Self { table, statement: quiet, returning, outcome }
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        let outcome = match &self.outcome {
            Outcome::Row(shape) => shape.weight_bytes(),
            Outcome::Changed { yes, no } => yes.len() + no.len(),
        };
        self.statement.weight_bytes() + self.returning.weight_bytes() + outcome
    }
}

impl Outcome {
    fn changed(outputs: &[ResultOutput]) -> Self {
        Self::Changed { yes: changed(outputs, true), no: changed(outputs, false) }
    }
}

fn returned(table: &Table, outputs: &[Output], select: &mut SelectList) -> RowShape {
    let mut shape = RowShape::default();
    for (index, output) in outputs.iter().enumerate() {
        shape.key(index, &output.response_key);
        match &output.kind {
            OutputKind::Column(id) => {
                let column: &Column = table.column(*id);
                let mut operand = String::new();
                push_identifier(&mut operand, &column.name);
                let (form, sql) = Form::of(column, &operand);
                shape.column(select.position(sql), form);
            }
            OutputKind::Typename(name) => shape.string(name),
            OutputKind::One(..) | OutputKind::Many(..) | OutputKind::Aggregate(..) => shape.literal("null"),
        }
    }
    shape.end(outputs.is_empty());
    shape
}

fn changed(outputs: &[ResultOutput], result: bool) -> Box<[u8]> {
    let mut shape = RowShape::default();
    for (index, output) in outputs.iter().enumerate() {
        shape.key(index, &output.response_key);
        match &output.kind {
            ResultKind::Changed => shape.literal(if result { "true" } else { "false" }),
            ResultKind::Typename(name) => shape.string(name),
        }
    }
    shape.end(outputs.is_empty());
    shape.into_text()
}

/// Takes the outcome of one mutation.
struct MutationAnswer {
    mutation: Arc<Mutation>,
    tells: bool,
    row: Option<Vec<u8>>,
    captured: Option<CapturedChange>,
    affected: u64,
}

impl Answer for MutationAnswer {
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        if let Outcome::Row(shape) = &self.mutation.outcome {
            let mut out = Vec::new();
            shape.write(&mut out, row)?;
            self.row = Some(out);
        }
        if self.tells {
            self.captured = Some(self.mutation.returning.read(self.mutation.table, row)?);
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
pub(crate) struct StepOutcome {
    pub(crate) data: Vec<u8>,
    /// Where the step tells, and has changed a row.
    pub(crate) captured: Option<CapturedChange>,
}

/// One mutation with its values.
pub(crate) struct Step {
    pub(crate) mutation: Arc<Mutation>,
    pub(crate) values: Vec<Bound>,
}

/// Which step failed, and how; nothing of the request was written unless the kind says that this is unknown.
#[derive(Debug)]
pub(crate) struct StepFailure {
    pub(crate) step: usize,
    pub(crate) failure: Failure,
}

/// Runs all steps: all of them are written, or none. Those of which the capture wants it say what they have changed.
pub(crate) async fn run(
    link: &Rc<Link>,
    steps: &[Step],
    capture: &TransactionCapture,
) -> Result<Vec<StepOutcome>, StepFailure> {
    match steps {
        [] => Ok(Vec::new()),
        [only] => match execute(link, only, capture.tells(0)).await {
            Ok(outcome) => Ok(vec![outcome]),
            Err(failure) => Err(StepFailure { step: 0, failure: unknown_if_lost(failure) }),
        },
        several => transaction(link, several, capture).await,
    }
}

async fn transaction(
    link: &Rc<Link>,
    steps: &[Step],
    capture: &TransactionCapture,
) -> Result<Vec<StepOutcome>, StepFailure> {
    let mut outcomes = Vec::with_capacity(steps.len());
    if let Err(failure) = link.batch("BEGIN").await {
        return Err(StepFailure { step: 0, failure });
    }
    for (step, mutation) in steps.iter().enumerate() {
        match execute(link, mutation, capture.tells(step)).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(failure) => {
                // Fails only with the connection, and then the server rolls back by itself.
                let _ = link.batch("ROLLBACK").await;
                return Err(StepFailure { step, failure });
            }
        }
    }
    // Constraints that are checked at the end belong to no single step; the last one reports them.
    let step = steps.len() - 1;
    let commit = link.batch("COMMIT").await;
    commit.map_err(|failure| StepFailure { step, failure: unknown_if_lost(failure) })?;
    Ok(outcomes)
}

async fn execute(link: &Rc<Link>, step: &Step, tells: bool) -> Result<StepOutcome, Failure> {
    let answer = MutationAnswer {
        mutation: Arc::clone(&step.mutation),
        tells,
        row: None,
        captured: None,
        affected: 0,
    };
    let statement = if tells { &step.mutation.returning.statement } else { &step.mutation.statement };
    let Executed { result, .. } =
        link.execute(&statement.text, &step.values, answer, &Progress::default()).await;
    result.map(MutationAnswer::finish).map_err(|mut failure| {
        if failure.kind == FailureKind::OutOfRange {
            failure.kind = FailureKind::BadValue;
        }
        failure
    })
}

/// A connection that breaks while the server may be committing leaves the outcome open.
fn unknown_if_lost(mut failure: Failure) -> Failure {
    if failure.kind == FailureKind::ConnectionLost {
        failure.kind = FailureKind::OutcomeUnknown;
    }
    failure
}
