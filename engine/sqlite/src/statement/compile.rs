//! From what a root field reads to statements and the pieces that their rows become. In the `subquery` model has-one
//! relations by a unique key are joined, everything else below a row has a statement of its own, bound again for each row;
//! in the other models everything below a row is another level.

use std::sync::atomic::AtomicUsize;

use prony_graphql::json::ObjectText;
use prony_source::dialect::AggregateFunction;

use crate::statement::{
    dialect::JSON_EACH,
    program::{
        ColumnPiece, Inner, LevelProgram, Nested, Node, Piece, Presence, ProgramStatements, RowsProgram,
        StatementText,
    },
    select::Select,
};
use prony_sql::{
    builder::{Parameter, collate_clause, column_operand},
    catalog::ColumnKind,
    levels::LevelSelect,
    model::{Column, Model, Relation, Table, TableId},
    plan::{AggregateField, AggregateKind, AggregatePlan, Output, OutputKind, RowsKind, RowsPlan},
};

/// The statements of the `subquery` model; the root's row is given by the variables, or read.
pub(crate) fn rows(model: &Model, plan: &RowsPlan, is_given: bool) -> RowsProgram {
    let mut compiler = Compiler { model, statements: Vec::new(), is_given, is_level: false };
    let root = compiler.node(plan, None);
    let statements = ProgramStatements::new(compiler.statements);
    RowsProgram { statements, root, answer_bytes: AtomicUsize::new(0) }
}

/// The statement of one level for the `per-nest` and `bucket` models. Its first column is the index of the row's key.
pub(crate) fn level(model: &Model, level: &LevelSelect<'_>) -> LevelProgram {
    let mut compiler = Compiler { model, statements: Vec::new(), is_given: false, is_level: true };
    let mut select = Select::new(model);
    select.columns.position(if level.key_columns.is_empty() { "0" } else { "k.key" }.into());
    let pieces = compiler.pieces(&mut select, level.rows, 0);
    let table = model.table(level.rows.table());
    let child_keys = level.child_keys.iter().map(|columns| {
        columns.iter().map(|&id| select.column("t0", table.column(id))).collect::<Vec<usize>>()
    });
    let child_keys = child_keys.collect();
    let statement = if level.key_columns.is_empty() {
        select.write(level.rows, "", &[]);
        select.page(level.rows);
        select.finish()
    } else {
        keyed(select, table, level)
    };
    LevelProgram::new(statement, pieces, child_keys)
}

/// The keys come as one JSON text and lead, the table is searched by its index. Each key has its own page, by row numbers.
fn keyed(mut select: Select<'_>, table: &Table, level: &LevelSelect<'_>) -> StatementText {
    let keys = select.builder.parameter(Parameter::Parent(0));
    if let RowsPlan::List(plan) = level.rows {
        let order = Select::order_text(table, &plan.order);
        let names = select.name_columns();
        select.columns.position(format!("row_number() OVER (PARTITION BY k.key{order}) AS n"));
        select.builder.push(&format!("SELECT {names} FROM ("));
    }
    let is_composite = level.key_columns.len() > 1;
    let conditions = level.key_columns.iter().zip(&level.key_collations).enumerate();
    let conditions = conditions.map(|(index, (&id, &collation))| {
        let column = column_operand("t0", table.column(id));
        format!("{column} = {}{}", key_part(is_composite.then_some(index)), collate_clause(collation))
    });
    let conditions: Vec<String> = conditions.collect();
    select.builder.equate(level.rows.table(), "t0", level.key_columns.iter().copied());
    select.write(level.rows, &format!("{JSON_EACH}(?{keys}) AS k CROSS JOIN "), &conditions);
    match level.rows {
        RowsPlan::List(plan) => {
            let offset = select.builder.parameter(Parameter::Offset(plan.offset.clone()));
            let limit = select.builder.parameter(Parameter::Limit(plan.limit.clone()));
            // The difference, as the sum could overflow.
            select
                .builder
                .push(&format!(") WHERE n > ?{offset} AND n - ?{offset} <= ?{limit} ORDER BY c0, n"));
        }
        RowsPlan::One(_) => select.builder.push(&format!(" ORDER BY 1{}", Select::key_order(table))),
        RowsPlan::Aggregate(_) => select.builder.push(" GROUP BY k.key ORDER BY 1"),
    }
    StatementText { keys_parameter: Some(keys), ..select.finish() }
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

/// A parent's statement under construction and the relation that leads from its rows.
type Link<'l, 'm> = Option<(&'l mut Select<'m>, &'l str, &'m Table, &'m Relation)>;

struct Compiler<'m> {
    model: &'m Model,
    statements: Vec<StatementText>,
    /// The root's row is given, not read.
    is_given: bool,
    /// What is below a row is another level.
    is_level: bool,
}

impl<'m> Compiler<'m> {
    fn node(&mut self, plan: &RowsPlan, link: Link<'_, 'm>) -> Node {
        let place = self.statements.len();
        self.statements.push(StatementText::default());
        let mut select = Select::new(self.model);
        if self.is_given && link.is_none() {
            select.give_row(plan.table());
        }
        let pieces = self.pieces(&mut select, plan, place);
        let (conditions, links) = link_conditions(&mut select, link, plan.table());
        select.write(plan, "", &conditions);
        select.page(plan);
        self.statements[place] = select.finish();
        Node { kind: plan.kind(), links, pieces }
    }

    /// The pieces of what stands for a row. `place` is the statement that they are columns of.
    fn pieces(&mut self, select: &mut Select<'m>, plan: &RowsPlan, place: usize) -> Vec<Piece> {
        match plan {
            RowsPlan::Aggregate(plan) => aggregate_object(select, self.model.table(plan.table), plan),
            RowsPlan::List(_) | RowsPlan::One(_) => {
                self.object(select, "t0", plan.table(), plan.outputs(), place)
            }
        }
    }

    fn object(
        &mut self,
        select: &mut Select<'m>,
        alias: &str,
        table: TableId,
        outputs: &[Output],
        place: usize,
    ) -> Vec<Piece> {
        let mut writer = PieceWriter::default();
        for output in outputs {
            writer.text.key(&output.response_key);
            match &output.kind {
                OutputKind::Typename(name) => writer.text.string(name),
                OutputKind::Column(id) => {
                    let table = self.model.table(table);
                    let column = table.column(*id);
                    writer.column(table, column, select.column(alias, column), output);
                }
                OutputKind::Related(..) if self.is_level => writer.piece(Piece::Cut),
                OutputKind::Related(id, rows) => {
                    let own = self.model.table(table);
                    let response_key = output.response_key.clone();
                    let piece =
                        self.related(select, (alias, own, own.relation(*id)), rows, response_key, place);
                    writer.piece(piece);
                }
            }
        }
        writer.finish()
    }

    /// A has-one by the key is joined, all else has statements of its own.
    fn related(
        &mut self,
        select: &mut Select<'m>,
        (alias, own, relation): (&str, &'m Table, &'m Relation),
        rows: &RowsPlan,
        response_key: Box<str>,
        place: usize,
    ) -> Piece {
        if rows.kind() == RowsKind::One && select.can_join(relation) {
            let joined = select.join(alias, own, relation, rows.filter());
            let target = self.model.table(relation.target);
            let presence = Presence::NotNull(select.column(&joined, target.column(relation.pairs[0].1)));
            let pieces = self.object(select, &joined, relation.target, rows.outputs(), place);
            return Piece::Inner(Box::new(Inner { presence, response_key, pieces }));
        }
        let first_statement = self.statements.len() - place - 1;
        let node = self.node(rows, Some((select, alias, own, relation)));
        Piece::Nested(Box::new(Nested { response_key, first_statement, node }))
    }
}

/// Conditions that tie a nested statement to its parent's row, and where their values come from.
fn link_conditions<'m>(
    select: &mut Select<'m>,
    link: Link<'_, 'm>,
    target: TableId,
) -> (Vec<String>, Vec<(usize, usize)>) {
    let Some((parent, alias, own, relation)) = link else { return Default::default() };
    select.builder.equate(target, "t0", relation.pairs.iter().map(|&(_, theirs)| theirs));
    let target = select.model.table(target);
    let pairs = relation.pairs.iter().enumerate().map(|(index, &(own_column, target_column))| {
        let number = select.builder.parameter(Parameter::Parent(index));
        let (own_column, target_column) = (own.column(own_column), target.column(target_column));
        let collate = collate_clause(relation.collation(own_column, target_column));
        let condition = format!("{} = ?{number}{collate}", column_operand("t0", target_column));
        (condition, (number, parent.column(alias, own_column)))
    });
    pairs.unzip()
}

/// The pieces of an aggregate's only row.
fn aggregate_object(select: &mut Select<'_>, table: &Table, plan: &AggregatePlan) -> Vec<Piece> {
    let mut writer = PieceWriter::default();
    for output in &plan.outputs {
        writer.text.key(&output.response_key);
        match &output.kind {
            AggregateKind::Typename(name) => writer.text.string(name),
            AggregateKind::Count => {
                let index = select.columns.position("count(*)".into());
                writer.piece(Piece::Column(Box::new(ColumnPiece {
                    index,
                    kind: ColumnKind::Int,
                    nullable: false,
                    name: format!("count of {}", table.list_name).into(),
                    response_key: output.response_key.clone(),
                    position: output.position,
                })));
            }
            AggregateKind::Fields(function, fields) => {
                let presence = Presence::Always;
                let pieces = aggregate_fields(select, table, *function, fields);
                let response_key = output.response_key.clone();
                writer.piece(Piece::Inner(Box::new(Inner { presence, response_key, pieces })));
            }
        }
    }
    if select.columns.expressions.is_empty() {
        select.columns.position("count(*)".into());
    }
    writer.finish()
}

fn aggregate_fields(
    select: &mut Select<'_>,
    table: &Table,
    function: AggregateFunction,
    fields: &[AggregateField],
) -> Vec<Piece> {
    let mut writer = PieceWriter::default();
    for field in fields {
        writer.text.key(&field.response_key);
        let id = match &field.column {
            Ok(id) => *id,
            Err(name) => {
                writer.text.string(name);
                continue;
            }
        };
        let column = table.column(id);
        let Some((name, kind)) = aggregate_function(function, &column.kind) else {
            writer.text.json(b"null");
            continue;
        };
        let index = select.columns.position(format!("{name}({})", column_operand("t0", column)));
        writer.piece(Piece::Column(Box::new(ColumnPiece {
            index,
            kind,
            nullable: true,
            name: format!("{}.{}", table.name, column.name).into(),
            response_key: field.response_key.clone(),
            position: field.position,
        })));
    }
    writer.finish()
}

/// SQL function and kind of its result; none where the function has no meaning for the type of a column.
fn aggregate_function(function: AggregateFunction, kind: &ColumnKind) -> Option<(&'static str, ColumnKind)> {
    let is_number = matches!(
        kind,
        ColumnKind::Int | ColumnKind::BigInt | ColumnKind::Float | ColumnKind::Numeric | ColumnKind::Decimal
    );
    let of_numbers = |number: ColumnKind| if *kind == ColumnKind::Decimal { kind.clone() } else { number };
    match function {
        AggregateFunction::Sum => is_number.then(|| ("prony_sum", of_numbers(ColumnKind::Numeric))),
        AggregateFunction::Avg => is_number.then(|| ("avg", of_numbers(ColumnKind::Float))),
        AggregateFunction::Max => Some(("max", kind.clone())),
        AggregateFunction::Min => Some(("min", kind.clone())),
    }
}

/// Collects the pieces of one object; text between values is merged.
#[derive(Default)]
pub(crate) struct PieceWriter {
    pieces: Vec<Piece>,
    pub(crate) text: ObjectText,
}

impl PieceWriter {
    pub(crate) fn column(&mut self, table: &Table, column: &Column, index: usize, output: &Output) {
        self.piece(Piece::Column(Box::new(ColumnPiece {
            index,
            kind: column.kind.clone(),
            nullable: column.nullable,
            name: format!("{}.{}", table.name, column.name).into(),
            response_key: output.response_key.clone(),
            position: output.position,
        })));
    }

    fn piece(&mut self, piece: Piece) {
        let before = self.text.take();
        if !before.is_empty() {
            self.pieces.push(Piece::Text(before.into()));
        }
        self.pieces.push(piece);
    }

    pub(crate) fn finish(mut self) -> Vec<Piece> {
        self.pieces.push(Piece::Text(self.text.end().into()));
        self.pieces
    }
}
