//! Mutations: one INSERT, UPDATE or DELETE per root field, all of a request in one transaction.

use std::{rc::Rc, sync::Arc};

use tokio_postgres::Row;

use super::{
    super::{
        model::{Column, Model, Table},
        plan::{CreatePlan, DeletePlan, Output, OutputKind, ResultKind, ResultOutput, UpdatePlan},
        sql::{SqlBuilder, push_identifier},
    },
    bound::Bound,
    dialect::Postgres,
    error::{Failure, FailureKind},
    link::{Answer, Executed, Link, Progress},
    rows::{Form, RowShape},
    select::SelectList,
    statement::Statement,
};

/// The statement of one mutation and how its outcome becomes JSON.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) statement: Arc<Statement>,
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
    pub(super) fn create(model: &Model, plan: &CreatePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.insert(model, plan);
        let mut select = SelectList::default();
        let shape = returned(model.table(plan.table), &plan.outputs, &mut select);
        builder.push(" RETURNING ");
        builder.push(&select.into_sql());
        let statement = Statement::new(model, builder.text, builder.parameters);
        Self { statement, outcome: Outcome::Row(shape) }
    }

    pub(super) fn update(model: &Model, plan: &UpdatePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.update(model, plan);
        Self::changing(model, builder, &plan.outputs)
    }

    pub(super) fn delete(model: &Model, plan: &DeletePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.delete(model, plan);
        Self::changing(model, builder, &plan.outputs)
    }

    fn changing(model: &Model, builder: SqlBuilder<'_, Postgres>, outputs: &[ResultOutput]) -> Self {
        let statement = Statement::new(model, builder.text, builder.parameters);
        let outcome = Outcome::Changed { yes: changed(outputs, true), no: changed(outputs, false) };
        Self { statement, outcome }
    }

    pub(super) fn weight_bytes(&self) -> usize {
        let outcome = match &self.outcome {
            Outcome::Row(shape) => shape.weight_bytes(),
            Outcome::Changed { yes, no } => yes.len() + no.len(),
        };
        self.statement.weight_bytes() + outcome
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
    shape.literal("}");
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
    shape.literal("}");
    shape.into_text()
}

/// Takes the outcome of one mutation.
struct MutationAnswer {
    mutation: Arc<Mutation>,
    row: Option<Vec<u8>>,
    affected: u64,
}

impl Answer for MutationAnswer {
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        if let Outcome::Row(shape) = &self.mutation.outcome {
            let mut out = Vec::new();
            shape.write(&mut out, row)?;
            self.row = Some(out);
        }
        Ok(())
    }

    fn rows_affected(&mut self, count: u64) {
        self.affected = count;
    }
}

impl MutationAnswer {
    /// `null` where a trigger kept the row from being inserted.
    fn finish(self) -> Vec<u8> {
        match (&self.mutation.outcome, self.row) {
            (Outcome::Row(_), row) => row.unwrap_or_else(|| b"null".to_vec()),
            (Outcome::Changed { yes, .. }, _) if self.affected > 0 => yes.to_vec(),
            (Outcome::Changed { no, .. }, _) => no.to_vec(),
        }
    }
}

/// One mutation with its values.
pub(super) struct Step {
    pub(super) mutation: Arc<Mutation>,
    pub(super) values: Vec<Bound>,
}

/// Which step failed, and how; nothing of the request was written unless the kind says that this is unknown.
#[derive(Debug)]
pub(super) struct StepFailure {
    pub(super) step: usize,
    pub(super) failure: Failure,
}

/// Runs all steps: all of them are written, or none.
pub(super) async fn run(link: &Rc<Link>, steps: &[Step]) -> Result<Vec<Vec<u8>>, StepFailure> {
    match steps {
        [] => Ok(Vec::new()),
        [only] => match execute(link, only).await {
            Ok(outcome) => Ok(vec![outcome]),
            Err(failure) => Err(StepFailure { step: 0, failure: unknown_if_lost(failure) }),
        },
        several => transaction(link, several).await,
    }
}

async fn transaction(link: &Rc<Link>, steps: &[Step]) -> Result<Vec<Vec<u8>>, StepFailure> {
    let mut outcomes = Vec::with_capacity(steps.len());
    if let Err(failure) = link.batch("BEGIN").await {
        return Err(StepFailure { step: 0, failure });
    }
    for (step, mutation) in steps.iter().enumerate() {
        match execute(link, mutation).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(failure) => {
                // Fails only with the connection, and then the server rolls back by itself.
                let _ = link.batch("ROLLBACK").await;
                return Err(StepFailure { step, failure });
            }
        }
    }
    // Constraints that are checked at the end belong to no single step; the last one is told.
    let step = steps.len() - 1;
    let commit = link.batch("COMMIT").await;
    commit.map_err(|failure| StepFailure { step, failure: unknown_if_lost(failure) })?;
    Ok(outcomes)
}

async fn execute(link: &Rc<Link>, step: &Step) -> Result<Vec<u8>, Failure> {
    let answer = MutationAnswer { mutation: Arc::clone(&step.mutation), row: None, affected: 0 };
    let text = &step.mutation.statement.text;
    let Executed { result, .. } = link.execute(text, &step.values, answer, &Progress::default()).await;
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
