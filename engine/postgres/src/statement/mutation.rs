//! Mutations: one INSERT, UPDATE or DELETE per root field.

use std::sync::Arc;

use prony_source::dialect::{ResultOutput, result_object};

use crate::{
    run::rows::{Form, RowShape, ShapeBuilder},
    statement::{
        dialect::Postgres,
        keys::KeyWire,
        returning::{PreviousRow, ReturningClause},
        text::Statement,
    },
};
use prony_sql::{
    builder::{SelectList, SqlBuilder, column_name},
    changes::Operation,
    database::{Statements, WrittenStatement},
    model::{Model, Table, TableId},
    plan::{Filter, MutationPlan, Output, OutputKind},
};

/// The statement of one mutation and how its outcome becomes JSON.
#[derive(Debug)]
pub struct Mutation {
    pub(crate) response_key: Box<str>,
    pub(crate) table: TableId,
    pub(crate) statement: Arc<Statement>,
    /// The same where somebody wants to hear what has changed.
    pub(crate) returning: ReturningClause,
    pub(crate) outcome: Outcome,
    pub(crate) check: Option<RowCheck>,
    pub(crate) restricted: Option<RestrictedWriter>,
}

/// What a writer who does not see everything may be told of constraints.
#[derive(Debug)]
pub(crate) struct RestrictedWriter {
    pub(crate) sees_whole_table: bool,
    /// It has a row where one that can be seen stands in the way; none where none can be found.
    pub(crate) collision: Option<Arc<Statement>>,
    /// Names, in the database, of the columns that have names for the writer.
    pub(crate) columns: Vec<Box<str>>,
}

/// What the written row must pass, by a SELECT that has a row then. It runs behind the mutation in the same transaction: a
/// condition in RETURNING would see other tables, and other rows of its own, as they were before.
#[derive(Debug)]
pub(crate) struct RowCheck {
    pub(crate) select: Arc<Statement>,
    /// Where the parts of the row's primary key are in what the mutation returns; they are the SELECT's first parameters.
    pub(crate) key: Vec<(usize, KeyWire)>,
}

/// How a mutation answers.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The returned row.
    Row(RowShape),
    /// JSON for a changed row and for none.
    Changed { yes: Box<[u8]>, no: Box<[u8]> },
}

impl Mutation {
    pub(crate) fn new(model: &Model, response_key: &str, plan: &MutationPlan) -> Self {
        let mut builder = SqlBuilder::new(&Postgres);
        let mut select = SelectList::default();
        // Of an update, a statement that returns the row as it was.
        let mut capturing = None;
        let (id, operation, outcome, filter) = match plan {
            MutationPlan::Create(create) => {
                builder.insert(model, create);
                let outcome = Outcome::Row(returned(model.table(create.table), &create.outputs, &mut select));
                (create.table, Operation::Insert, outcome, Some(&create.check))
            }
            MutationPlan::Update(update) => {
                builder.update(model, update);
                let mut beside = SqlBuilder::new(&Postgres);
                PreviousRow::update(&mut beside, model, update);
                capturing = Some(beside);
                let outcome = Outcome::changed(&update.outputs);
                (update.table, Operation::Update, outcome, Some(&update.check))
            }
            MutationPlan::Delete(delete) => {
                builder.delete(model, delete);
                (delete.table, Operation::Delete, Outcome::changed(&delete.outputs), None)
            }
        };
        let filter = filter.filter(|filter| !filter.is_everything());
        let check = filter.map(|filter| RowCheck::new(model, id, filter, &mut select));
        let statement = |builder: &SqlBuilder<'_, Postgres>, returning: Option<String>| {
            let returning = returning.map(|list| format!(" RETURNING {list}")).unwrap_or_default();
            Statement::new(model, format!("{}{returning}", builder.text), builder.parameters.clone())
        };
        let returns = matches!(outcome, Outcome::Row(_)) || check.is_some();
        let quiet = statement(&builder, returns.then(|| select.to_sql("NULL")));
        let table = model.table(id);
        let previous = capturing.as_ref().map(|_| PreviousRow::new(table, &mut select));
        let (columns, position) = ReturningClause::columns(table, &mut select);
        let statement = statement(capturing.as_ref().unwrap_or(&builder), Some(select.to_sql("NULL")));
        let returning = ReturningClause { statement, operation, columns, position, previous };
        let restricted = RestrictedWriter::of(model, plan);
        let response_key = response_key.into();
        Self { response_key, table: id, statement: quiet, returning, outcome, check, restricted }
    }
}

impl Statements for Mutation {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        let check = self.check.as_ref().map(|check| &check.select);
        let collision = self.restricted.as_ref().and_then(|writer| writer.collision.as_ref());
        let all = [&self.statement].into_iter().chain(check).chain(collision);
        all.map(|statement| statement.written()).collect()
    }

    fn weight_bytes(&self) -> usize {
        let outcome = match &self.outcome {
            Outcome::Row(shape) => shape.weight_bytes(),
            Outcome::Changed { yes, no } => yes.len() + no.len(),
        };
        let check = self.check.as_ref().map_or(0, |check| check.select.weight_bytes());
        let restricted = self.restricted.as_ref().map_or(0, RestrictedWriter::weight_bytes);
        let statements = self.statement.weight_bytes() + self.returning.weight_bytes();
        self.response_key.len() + statements + outcome + check + restricted
    }
}

impl RestrictedWriter {
    fn of(model: &Model, plan: &MutationPlan) -> Option<Self> {
        let (id, visibility, values, own) = match plan {
            MutationPlan::Create(create) => (create.table, &create.visibility, &create.values, &[][..]),
            MutationPlan::Update(update) => (update.table, &update.visibility, &update.values, &*update.key),
            MutationPlan::Delete(_) => return None,
        };
        let visibility = visibility.as_ref()?;
        let mut builder = SqlBuilder::new(&Postgres);
        let is_written = builder.visible_collision(model, (id, visibility), values, own);
        let SqlBuilder { text, parameters, .. } = builder;
        let name = |column| model.table(id).column(column).name.clone();
        Some(Self {
            sees_whole_table: visibility.is_whole,
            collision: is_written.then(|| Statement::new(model, text, parameters)),
            columns: visibility.columns.iter().copied().map(name).collect(),
        })
    }

    fn weight_bytes(&self) -> usize {
        let names: usize = self.columns.iter().map(|name| size_of::<Box<str>>() + name.len()).sum();
        names + self.collision.as_ref().map_or(0, |select| select.weight_bytes())
    }
}

impl RowCheck {
    /// Adds the primary key to what is returned.
    fn new(model: &Model, id: TableId, filter: &Filter, returned: &mut SelectList) -> Self {
        let table = model.table(id);
        let key: Vec<(usize, KeyWire)> = table
            .primary_key
            .iter()
            .map(|&id| {
                let column = table.column(id);
                let wire = KeyWire::of(column);
                (returned.position(wire.read(&column_name(column))), wire)
            })
            .collect();
        let mut builder = SqlBuilder::new(&Postgres);
        builder.row_check(model, id, filter, |text, number, column| {
            text.push_str(&KeyWire::of(column).placeholder(number, column));
        });
        let key_types = key.iter().map(|(_, wire)| wire.scalar_type());
        let select = Statement::with_key(model, builder.text, builder.parameters, key_types);
        Self { select, key }
    }
}

impl Outcome {
    fn changed(outputs: &[ResultOutput]) -> Self {
        Self::Changed { yes: result_object(outputs, true), no: result_object(outputs, false) }
    }
}

fn returned(table: &Table, outputs: &[Output], select: &mut SelectList) -> RowShape {
    let mut shape = ShapeBuilder::default();
    for output in outputs {
        shape.text.key(&output.response_key);
        match &output.kind {
            OutputKind::Column(id) => {
                let column = table.column(*id);
                let (form, sql) = Form::of(column, &column_name(column));
                shape.column(select.position(sql), form);
            }
            OutputKind::Typename(name) => shape.text.string(name),
            // The schema's key types have columns only.
            OutputKind::Related(..) => shape.text.json(b"null"),
        }
    }
    shape.end()
}
