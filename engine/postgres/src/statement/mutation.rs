//! Mutations: one INSERT, UPDATE or DELETE per root field, all of a request in one transaction.

use std::{rc::Rc, sync::Arc};

use prony_graphql::error::GraphqlError;
use prony_source::dialect::{ResultKind, ResultOutput};
use tokio_postgres::Row;

use crate::{
    connect::link::{Answer, Executed, Link, Progress},
    error::{Failure, FailureKind},
    run::rows::{Form, RowShape},
    statement::{
        bound::Bound,
        dialect::Postgres,
        levels::{KeyWire, read_key},
        returning::{CapturedChange, ReturningClause, TransactionCapture},
        select::SelectList,
        text::Statement,
    },
};
use prony_sql::{
    builder::{SqlBuilder, push_identifier},
    changes::Operation,
    model::{Column, Model, Table, TableId},
    nest::Key,
    plan::{CreatePlan, DeletePlan, Filter, Output, OutputKind, UpdatePlan},
};

/// The statement of one mutation and how its outcome becomes JSON.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) table: TableId,
    pub(crate) statement: Arc<Statement>,
    /// The same where somebody wants to hear what has changed.
    pub(crate) returning: ReturningClause,
    outcome: Outcome,
    pub(crate) check: Option<RowCheck>,
}

/// What the written row must pass, by a SELECT that has a row then. It runs behind the mutation in the same transaction: a
/// condition in RETURNING would see other tables, and other rows of its own, as they were before.
#[derive(Debug)]
pub(crate) struct RowCheck {
    pub(crate) select: Arc<Statement>,
    /// Where the parts of the row's primary key are in what the mutation returns; they are the SELECT's first parameters.
    key: Vec<(usize, KeyWire)>,
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
        let check = RowCheck::new(model, plan.table, &plan.check, &mut select);
        Self::new(model, plan.table, &builder, Operation::Insert, select, Outcome::Row(shape), check)
    }

    pub(crate) fn update(model: &Model, plan: &UpdatePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        let first_of_key = builder.update(model, plan);
        let (mut select, outcome) = (SelectList::default(), Outcome::changed(&plan.outputs));
        let check = RowCheck::new(model, plan.table, &plan.check, &mut select);
        let moves = plan.values.iter().any(|(column, _)| plan.key.iter().any(|(key, _)| key == column));
        let table = model.table(plan.table);
        let moved_key = moves.then(|| ReturningClause::moved_key(table, first_of_key, &mut select));
        let mut mutation = Self::new(model, plan.table, &builder, Operation::Update, select, outcome, check);
        mutation.returning.moved_key = moved_key;
        mutation
    }

    pub(crate) fn delete(model: &Model, plan: &DeletePlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        builder.delete(model, plan);
        let (select, outcome) = (SelectList::default(), Outcome::changed(&plan.outputs));
        Self::new(model, plan.table, &builder, Operation::Delete, select, outcome, None)
    }

    /// `select` is what outcome and check need of the row.
    fn new(
        model: &Model,
        table: TableId,
        builder: &SqlBuilder<'_, Postgres>,
        operation: Operation,
        mut select: SelectList,
        outcome: Outcome,
        check: Option<RowCheck>,
    ) -> Self {
        let statement = |returning: Option<String>| {
            let returning = returning.map(|list| format!(" RETURNING {list}")).unwrap_or_default();
            Statement::new(model, format!("{}{returning}", builder.text), builder.parameters.clone())
        };
        let returns = matches!(outcome, Outcome::Row(_)) || check.is_some();
        let quiet = statement(returns.then(|| select.clone().into_sql()));
        let (columns, position) = ReturningClause::columns(model.table(table), &mut select);
        let returning = ReturningClause {
            statement: statement(Some(select.into_sql())),
            operation,
            columns,
            position,
            moved_key: None,
        };
        Self { table, statement: quiet, returning, outcome, check }
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        let outcome = match &self.outcome {
            Outcome::Row(shape) => shape.weight_bytes(),
            Outcome::Changed { yes, no } => yes.len() + no.len(),
        };
        let check = self.check.as_ref().map_or(0, |check| check.select.weight_bytes());
        self.statement.weight_bytes() + self.returning.weight_bytes() + outcome + check
    }
}

impl RowCheck {
    /// None where every row passes. Adds the primary key to what is returned.
    fn new(model: &Model, id: TableId, filter: &Filter, returned: &mut SelectList) -> Option<Self> {
        if filter.is_everything() {
            return None;
        }
        let table = model.table(id);
        let key: Vec<(usize, KeyWire)> = table
            .primary_key
            .iter()
            .map(|&id| {
                let column = table.column(id);
                let mut name = String::new();
                push_identifier(&mut name, &column.name);
                let wire = KeyWire::of(column);
                (returned.position(wire.read(&name)), wire)
            })
            .collect();
        let mut builder = SqlBuilder::new(&Postgres);
        builder.row_check(model, id, filter, |text, number, column| {
            text.push_str(&KeyWire::of(column).placeholder(number, column));
        });
        let key_types = key.iter().map(|(_, wire)| wire.scalar_type());
        let select = Statement::with_key(model, builder.text, builder.parameters, key_types);
        Some(Self { select, key })
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
    /// Of the row that the mutation's check is about, as far as no part of it is null.
    key: Option<Key>,
    is_returned: bool,
    captured: Option<CapturedChange>,
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
    mutation: Arc<Mutation>,
    values: Vec<Bound>,
    /// Of the mutation's check; the key's places are filled in when the row is written.
    check_values: Vec<Bound>,
}

impl Step {
    /// # Errors
    /// Values that their columns do not take.
    pub(crate) fn new(
        mutation: &Arc<Mutation>,
        bind: impl Fn(&Statement) -> Result<Vec<Bound>, GraphqlError>,
    ) -> Result<Self, GraphqlError> {
        let check_values = mutation.check.as_ref().map(|check| bind(&check.select)).transpose()?;
        Ok(Self {
            values: bind(&mutation.statement)?,
            check_values: check_values.unwrap_or_default(),
            mutation: Arc::clone(mutation),
        })
    }

    pub(crate) fn table(&self) -> TableId {
        self.mutation.table
    }

    /// Columns whose values travel as text, for messages.
    pub(crate) fn text_columns(&self) -> &[Box<str>] {
        &self.mutation.statement.text_columns
    }
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
        [only] if only.mutation.check.is_none() => match execute(link, only, capture.tells(0)).await {
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
        key: None,
        is_returned: false,
        captured: None,
        affected: 0,
    };
    let statement = if tells { &step.mutation.returning.statement } else { &step.mutation.statement };
    let Executed { result, .. } =
        link.execute(&statement.text, &step.values, answer, &Progress::default()).await;
    let answer = result.map_err(|mut failure| {
        if failure.kind == FailureKind::OutOfRange {
            failure.kind = FailureKind::BadValue;
        }
        failure
    })?;
    if let (true, Some(check)) = (answer.is_returned, &step.mutation.check) {
        run_check(link, check, step.check_values.clone(), answer.key.as_ref()).await?;
    }
    Ok(answer.finish())
}

async fn run_check(
    link: &Rc<Link>,
    check: &RowCheck,
    mut values: Vec<Bound>,
    key: Option<&Key>,
) -> Result<(), Failure> {
    let refused = || Failure { kind: FailureKind::RowRefused, detail: None, column: None };
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
