//! From a mutation's plan to its statement, what it returns and what its row must pass.

use prony_source::dialect::{ResultOutput, result_object};

use crate::statement::{
    compile::PieceWriter,
    dialect::Sqlite,
    program::{
        MutationAnswer, MutationProgram, Piece, ProgramStatements, RestrictedWriter, RowCheck, StatementText,
    },
};
use prony_sql::{
    builder::{Dialect as _, SelectList, SqlBuilder, column_name},
    model::{Model, Table, TableId},
    plan::{Filter, MutationPlan, Output, OutputKind},
};

pub(crate) fn mutation(model: &Model, response_key: &str, plan: &MutationPlan) -> MutationProgram {
    let mut builder = SqlBuilder::new(&Sqlite);
    let mut returning = SelectList::default();
    let (table, answer, filter) = match plan {
        MutationPlan::Create(create) => {
            builder.insert(model, create);
            let pieces = returned(model.table(create.table), &create.outputs, &mut returning);
            // Whether there is a row says whether a trigger or a conflict clause of the schema left it out.
            return_any(&mut returning);
            (create.table, MutationAnswer::Key(pieces), Some(&create.check))
        }
        MutationPlan::Update(update) => {
            builder.update(model, update);
            (update.table, changed(&update.outputs), Some(&update.check))
        }
        MutationPlan::Delete(delete) => {
            builder.delete(model, delete);
            (delete.table, changed(&delete.outputs), None)
        }
    };
    let filter = filter.filter(|filter| !filter.is_everything());
    let (check, select) = filter.map(|filter| row_check(model, &mut returning, (table, filter))).unzip();
    if !returning.expressions.is_empty() {
        builder.push(" RETURNING ");
        builder.push(&returning.to_sql("1"));
    }
    let statements = [statement(builder)].into_iter().chain(select).collect();
    let statements = ProgramStatements::new(statements);
    let restricted = restricted_writer(model, plan);
    MutationProgram { statements, response_key: response_key.into(), answer, check, restricted }
}

fn restricted_writer(model: &Model, plan: &MutationPlan) -> Option<RestrictedWriter> {
    let (id, visibility, values, own) = match plan {
        MutationPlan::Create(create) => (create.table, &create.visibility, &create.values, &[][..]),
        MutationPlan::Update(update) => (update.table, &update.visibility, &update.values, &*update.key),
        MutationPlan::Delete(_) => return None,
    };
    let visibility = visibility.as_ref()?;
    let mut builder = SqlBuilder::new(&Sqlite);
    let is_written = builder.visible_collision(model, (id, visibility), values, own);
    let table = model.table(id);
    let name = |column| format!("{}.{}", table.name, table.column(column).name).into();
    Some(RestrictedWriter {
        sees_whole_table: visibility.is_whole,
        collision: is_written.then(|| ProgramStatements::new(vec![statement(builder)])),
        columns: visibility.columns.iter().copied().map(name).collect(),
    })
}

fn changed(outputs: &[ResultOutput]) -> MutationAnswer {
    MutationAnswer::Changed { yes: result_object(outputs, true), no: result_object(outputs, false) }
}

/// Has a row returned, whatever is in it.
fn return_any(returning: &mut SelectList) {
    if returning.expressions.is_empty() {
        returning.position("1".to_owned());
    }
}

fn returned(table: &Table, outputs: &[Output], returning: &mut SelectList) -> Vec<Piece> {
    let mut writer = PieceWriter::default();
    for output in outputs {
        match &output.kind {
            OutputKind::Column(id) => {
                let column = table.column(*id);
                writer.text.key(&output.response_key);
                writer.column(table, column, returning.position(column_name(column)), output);
            }
            OutputKind::Typename(name) => {
                writer.text.key(&output.response_key);
                writer.text.string(name);
            }
            // The schema's key types have columns only.
            OutputKind::Related(..) => {}
        }
    }
    writer.finish()
}

/// What the row of a table must pass once it is written.
fn row_check(
    model: &Model,
    returning: &mut SelectList,
    (id, filter): (TableId, &Filter),
) -> (RowCheck, StatementText) {
    let table = model.table(id);
    let key_columns =
        table.primary_key.iter().map(|&id| returning.position(column_name(table.column(id)))).collect();
    return_any(returning);
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.row_check(model, id, filter, |text, number, column| Sqlite.placeholder(text, number, column));
    (RowCheck { key_columns }, statement(builder))
}

fn statement(builder: SqlBuilder<'static, Sqlite>) -> StatementText {
    let SqlBuilder { text, parameters, .. } = builder;
    StatementText { sql: text, parameters, ..StatementText::default() }
}
