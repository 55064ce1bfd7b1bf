//! From a mutation's plan to its statement, what it returns and what its row must pass.

use prony_source::dialect::{ResultOutput, result_object};

use crate::statement::{
    compile::PieceWriter,
    dialect::Sqlite,
    program::{MutationAnswer, MutationProgram, Piece, ProgramStatements, RowCheck, StatementText},
};
use prony_sql::{
    builder::{Dialect as _, SqlBuilder, push_identifier},
    model::{Column, Model, Table, TableId},
    plan::{Filter, MutationPlan, Output, OutputKind},
};

pub(crate) fn mutation(model: &Model, response_key: &str, plan: &MutationPlan) -> MutationProgram {
    let mut builder = SqlBuilder::new(&Sqlite);
    let mut returning = Returning::default();
    let (table, answer, filter) = match plan {
        MutationPlan::Create(create) => {
            builder.insert(model, create);
            let pieces = returning.outputs(model.table(create.table), &create.outputs);
            // Whether there is a row says whether a trigger or a conflict clause of the schema left it out.
            returning.any();
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
    if !returning.columns.is_empty() {
        builder.push(" RETURNING ");
        builder.push(&returning.columns.join(", "));
    }
    let statements = [statement(builder)].into_iter().chain(select).collect();
    let statements = ProgramStatements::new(statements);
    MutationProgram { statements, response_key: response_key.into(), answer, check }
}

fn changed(outputs: &[ResultOutput]) -> MutationAnswer {
    MutationAnswer::Changed { yes: result_object(outputs, true), no: result_object(outputs, false) }
}

/// The list of a RETURNING clause.
#[derive(Debug, Default)]
struct Returning {
    columns: Vec<String>,
}

impl Returning {
    /// The place of a column of the table, which is there once.
    fn column(&mut self, column: &Column) -> usize {
        let mut name = String::new();
        push_identifier(&mut name, &column.name);
        self.columns.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.columns.push(name);
            self.columns.len() - 1
        })
    }

    /// Has a row returned, whatever is in it.
    fn any(&mut self) {
        if self.columns.is_empty() {
            self.columns.push("1".into());
        }
    }

    fn outputs(&mut self, table: &Table, outputs: &[Output]) -> Vec<Piece> {
        let mut writer = PieceWriter::default();
        for output in outputs {
            match &output.kind {
                OutputKind::Column(id) => {
                    let column = table.column(*id);
                    writer.text.key(&output.response_key);
                    writer.column(table, column, self.column(column), output);
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
}

/// What the row of a table must pass once it is written.
fn row_check(
    model: &Model,
    returning: &mut Returning,
    (id, filter): (TableId, &Filter),
) -> (RowCheck, StatementText) {
    let table = model.table(id);
    let key_columns = table.primary_key.iter().map(|&id| returning.column(table.column(id))).collect();
    returning.any();
    let mut builder = SqlBuilder::new(&Sqlite);
    builder.row_check(model, id, filter, |text, number, column| Sqlite.placeholder(text, number, column));
    (RowCheck { key_columns }, statement(builder))
}

fn statement(builder: SqlBuilder<'static, Sqlite>) -> StatementText {
    let SqlBuilder { text, parameters, .. } = builder;
    StatementText { sql: text, parameters, keys_parameter: None }
}
