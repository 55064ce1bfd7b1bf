//! From a root field's levels to one statement each for the `per-nest` and `bucket` models. The keys come as
//! one JSON text, and each row says the index of its key.

use crate::statement::{
    compile::{PieceWriter, Select, aggregate_object},
    program::{LevelProgram, Piece, StatementText},
};
use prony_source::dialect::RowCount;
use prony_sql::{
    builder::{Parameter, column_operand},
    model::{ColumnId, Model, Table},
    nest::{Level, LevelOutput, LevelOutputKind, LevelSource},
    plan::{AggregatePlan, Filter, OrderKey, Output, OutputKind},
};

pub(crate) fn level(model: &Model, level: &Level) -> LevelProgram {
    let table = model.table(level.table);
    let mut select = Select::new(model);
    // The first column: the key's index.
    select.expression(if level.key_columns.is_empty() { "0" } else { "k.key" }.into());
    match &level.source {
        LevelSource::List { outputs, filter, order, limit, offset } => {
            let pieces = object(&mut select, table, outputs);
            let child_keys = child_keys(&mut select, table, level);
            let page = Page { order, limit: limit.clone(), offset: offset.clone() };
            let statement = list_statement(select, model, level, filter, page);
            LevelProgram::new(statement, pieces, child_keys)
        }
        LevelSource::One { outputs, filter } => {
            let pieces = object(&mut select, table, outputs);
            let child_keys = child_keys(&mut select, table, level);
            let order = Select::key_order(table);
            let numbers = select_from(&mut select, model, level, filter);
            select.builder.push(&format!(" ORDER BY 1{order}"));
            LevelProgram::new(finish(select, numbers), pieces, child_keys)
        }
        LevelSource::Aggregate(plan) => aggregate(select, model, level, plan),
    }
}

fn object(select: &mut Select<'_>, table: &Table, outputs: &[LevelOutput]) -> Vec<Piece> {
    let mut writer = PieceWriter::new();
    for output in outputs {
        writer.member(&output.response_key);
        match &output.kind {
            LevelOutputKind::Typename(name) => writer.string(name),
            LevelOutputKind::Column(id) => {
                let column = table.column(*id);
                let index = select.column("t0", column);
                let shared = Output {
                    response_key: output.response_key.clone(),
                    position: output.position,
                    kind: OutputKind::Column(*id),
                };
                writer.column(table, column, index, &shared);
            }
            LevelOutputKind::Child(_) => writer.piece(Piece::Cut),
        }
    }
    writer.finish()
}

fn child_keys(select: &mut Select<'_>, table: &Table, level: &Level) -> Vec<Vec<usize>> {
    let mut columns = |ids: &[ColumnId]| -> Vec<usize> {
        ids.iter().map(|&id| select.column("t0", table.column(id))).collect()
    };
    level.children.iter().map(|child| columns(&child.parent_columns)).collect()
}

struct Page<'p> {
    order: &'p [OrderKey],
    limit: Option<RowCount>,
    offset: Option<RowCount>,
}

/// The root's page is LIMIT and OFFSET; below it, each key has its own, by row numbers.
fn list_statement(
    mut select: Select<'_>,
    model: &Model,
    level: &Level,
    filter: &Filter,
    page: Page<'_>,
) -> StatementText {
    let table = model.table(level.table);
    if level.key_columns.is_empty() {
        select_from(&mut select, model, level, filter);
        select.order_by(table, page.order);
        select.limit(page.limit, page.offset);
        return select.finish();
    }
    let order = Select::order_text(table, page.order);
    let names: Vec<String> = (0..select.columns().len()).map(|index| format!("c{index}")).collect();
    select.name_columns(&names);
    select.expression(format!("row_number() OVER (PARTITION BY k.key{order}) AS n"));
    select.builder.push(&format!("SELECT {} FROM (", names.join(", ")));
    let keys = select_from(&mut select, model, level, filter);
    let offset = select.builder.parameter(Parameter::Offset(page.offset));
    let limit = select.builder.parameter(Parameter::Limit(page.limit));
    // The difference, as the sum could overflow.
    select.builder.push(&format!(") WHERE n > ?{offset} AND n - ?{offset} <= ?{limit} ORDER BY c0, n"));
    finish(select, keys)
}

fn aggregate(mut select: Select<'_>, model: &Model, level: &Level, plan: &AggregatePlan) -> LevelProgram {
    let pieces = aggregate_object(&mut select, model.table(level.table), plan);
    let keys = select_from(&mut select, model, level, &plan.filter);
    if !level.key_columns.is_empty() {
        select.builder.push(" GROUP BY k.key ORDER BY 1");
    }
    LevelProgram::new(finish(select, keys), pieces, Vec::new())
}

/// `SELECT … FROM json_each(keys) CROSS JOIN table WHERE …`: the keys lead, the table is searched by its
/// index. Gives the number of the keys' parameter.
fn select_from(select: &mut Select<'_>, model: &Model, level: &Level, filter: &Filter) -> Option<usize> {
    let table = model.table(level.table);
    if level.key_columns.is_empty() {
        select.select_from(table, "");
        select.filter(model, level.table, filter, " WHERE ");
        return None;
    }
    let keys = select.builder.parameter(Parameter::Parent(0));
    select.select_from(table, &format!("json_each(?{keys}) AS k CROSS JOIN "));
    for (index, &id) in level.key_columns.iter().enumerate() {
        let column = column_operand("t0", table.column(id));
        let part = key_part((level.key_columns.len() > 1).then_some(index));
        let joint = if index == 0 { " WHERE " } else { " AND " };
        select.builder.push(&format!("{joint}{column} = {part}"));
    }
    select.filter(model, level.table, filter, " AND ");
    Some(keys)
}

/// A key's value with its own type and no affinity, as if it were bound; `bind::keys_text` is the other side.
fn key_part(index: Option<usize>) -> String {
    let (kind, value) = match index {
        None => ("k.type".to_owned(), "k.value".to_owned()),
        Some(index) => {
            (format!("json_type(k.value, '$[{index}]')"), format!("json_extract(k.value, '$[{index}]')"))
        }
    };
    format!(
        "CASE WHEN {kind} <> 'array' THEN {value} \
         WHEN json_array_length({value}) = 1 THEN unhex({value} ->> 0) \
         ELSE CAST(unhex({value} ->> 0) AS TEXT) END"
    )
}

fn finish(select: Select<'_>, keys_parameter: Option<usize>) -> StatementText {
    StatementText { keys_parameter, ..select.finish() }
}
