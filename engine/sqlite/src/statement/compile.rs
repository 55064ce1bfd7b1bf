//! From a root field to statements for the `subquery` model: has-one relations by a unique key are joined,
//! everything else below a row has a statement of its own, bound again for each parent row.

use std::sync::atomic::AtomicUsize;

use prony_graphql::{
    json,
    selection::{SlotRoot, Value},
};
use prony_source::dialect::{AggregateFunction, RowCount};

use crate::statement::{
    dialect::Sqlite,
    program::{ColumnPiece, Inner, Nested, Node, NodeKind, Piece, Presence, RowsProgram, StatementText},
};
use prony_sql::{
    builder::{Dialect as _, Parameter, SqlBuilder, column_operand, push_identifier},
    catalog::{ColumnKind, TableKind},
    model::{Cardinality, Column, ColumnId, Model, Relation, Table, TableId},
    plan::{
        AggregateField, AggregateKind, AggregatePlan, Filter, ListPlan, OrderKey, Output, OutputKind, RowPlan,
    },
};

/// Joins of one statement; further has-one relations get statements of their own. SQLite plans joins of many
/// tables slowly and refuses more than 64.
const MAX_JOINS: usize = 12;

/// Columns of one statement; SQLite refuses more than 2000.
const MAX_COLUMNS: usize = 1500;

pub(crate) fn list(model: &Model, plan: &ListPlan) -> RowsProgram {
    let mut compiler = Compiler { model, statements: Vec::new(), is_given: false };
    let root = compiler.list(plan, None);
    RowsProgram { statements: compiler.statements, root, answer_bytes: AtomicUsize::new(0) }
}

/// As [`list`], of the one row that the variables give instead of those of the table.
pub(crate) fn given(model: &Model, plan: &ListPlan) -> RowsProgram {
    let mut compiler = Compiler { model, statements: Vec::new(), is_given: true };
    let root = compiler.list(plan, None);
    RowsProgram { statements: compiler.statements, root, answer_bytes: AtomicUsize::new(0) }
}

pub(crate) fn aggregate(model: &Model, plan: &AggregatePlan) -> RowsProgram {
    let mut compiler = Compiler { model, statements: Vec::new(), is_given: false };
    let root = compiler.aggregate(plan, None);
    RowsProgram { statements: compiler.statements, root, answer_bytes: AtomicUsize::new(0) }
}

/// A parent's statement under construction and the relation that leads from its rows.
type Link<'l, 'm> = Option<(&'l mut Select<'m>, &'l str, &'m Table, &'m Relation)>;

struct Compiler<'m> {
    model: &'m Model,
    statements: Vec<StatementText>,
    /// The root's row is given, not read.
    is_given: bool,
}

impl<'m> Compiler<'m> {
    fn list(&mut self, plan: &ListPlan, link: Link<'_, 'm>) -> Node {
        let place = self.reserve();
        let mut select = Select::new(self.model);
        if self.is_given && link.is_none() {
            select.give_row(plan.table);
        }
        let pieces = self.object(&mut select, "t0", plan.table, &plan.outputs, place);
        let conditions = link_conditions(&mut select, link, plan.table);
        select.write(self.model, plan.table, &conditions.texts, &plan.filter);
        select.order_by(self.model.table(plan.table), &plan.order);
        select.limit(plan.limit.clone(), plan.offset.clone());
        self.statements[place] = select.finish();
        Node { kind: NodeKind::Many, links: conditions.links, pieces }
    }

    fn one(&mut self, plan: &RowPlan, link: Link<'_, 'm>) -> Node {
        let place = self.reserve();
        let mut select = Select::new(self.model);
        let pieces = self.object(&mut select, "t0", plan.table, &plan.outputs, place);
        let conditions = link_conditions(&mut select, link, plan.table);
        select.write(self.model, plan.table, &conditions.texts, &plan.filter);
        let order = Select::key_order(self.model.table(plan.table));
        if let Some(order) = order.strip_prefix(", ") {
            select.builder.push(&format!(" ORDER BY {order}"));
        }
        select.builder.push(" LIMIT 1");
        self.statements[place] = select.finish();
        Node { kind: NodeKind::One, links: conditions.links, pieces }
    }

    fn aggregate(&mut self, plan: &AggregatePlan, link: Link<'_, 'm>) -> Node {
        let place = self.reserve();
        let mut select = Select::new(self.model);
        let pieces = aggregate_object(&mut select, self.model.table(plan.table), plan);
        let conditions = link_conditions(&mut select, link, plan.table);
        select.write(self.model, plan.table, &conditions.texts, &plan.filter);
        self.statements[place] = select.finish();
        Node { kind: NodeKind::Aggregate, links: conditions.links, pieces }
    }

    fn reserve(&mut self) -> usize {
        self.statements.push(StatementText::default());
        self.statements.len() - 1
    }

    /// The pieces of one object. `place` is the statement that they are columns of.
    fn object(
        &mut self,
        select: &mut Select<'m>,
        alias: &str,
        table: TableId,
        outputs: &[Output],
        place: usize,
    ) -> Vec<Piece> {
        let mut writer = PieceWriter::new();
        for output in outputs {
            writer.member(&output.response_key);
            match &output.kind {
                OutputKind::Typename(name) => writer.string(name),
                OutputKind::Column(id) => {
                    let table = self.model.table(table);
                    let column = table.column(*id);
                    let index = select.column(alias, column);
                    writer.column(table, column, index, output);
                }
                OutputKind::One(id, row) => {
                    let own = self.model.table(table);
                    let relation = own.relation(*id);
                    if select.can_join(self.model, relation) {
                        let inner = self.joined(select, alias, own, relation, row, output, place);
                        writer.piece(Piece::Inner(Box::new(inner)));
                    } else {
                        let first = self.statements.len();
                        let node = self.one(row, Some((select, alias, own, relation)));
                        writer.nested(output, first - place - 1, node);
                    }
                }
                OutputKind::Many(id, list) => {
                    let own = self.model.table(table);
                    let first = self.statements.len();
                    let node = self.list(list, Some((select, alias, own, own.relation(*id))));
                    writer.nested(output, first - place - 1, node);
                }
                OutputKind::Aggregate(id, aggregate) => {
                    let own = self.model.table(table);
                    let first = self.statements.len();
                    let node = self.aggregate(aggregate, Some((select, alias, own, own.relation(*id))));
                    writer.nested(output, first - place - 1, node);
                }
            }
        }
        writer.finish()
    }

    #[expect(clippy::too_many_arguments, reason = "the join's two ends and the place it is written to")]
    fn joined(
        &mut self,
        select: &mut Select<'m>,
        alias: &str,
        own: &'m Table,
        relation: &'m Relation,
        row: &RowPlan,
        output: &Output,
        place: usize,
    ) -> Inner {
        let joined = select.join(self.model, alias, own, relation, &row.filter);
        let target = self.model.table(relation.target);
        let presence = select.column(&joined, target.column(relation.pairs[0].1));
        let pieces = self.object(select, &joined, relation.target, &row.outputs, place);
        Inner { presence: Presence::NotNull(presence), response_key: output.response_key.clone(), pieces }
    }
}

/// Conditions that tie a nested statement to its parent's row.
#[derive(Default)]
struct Conditions {
    texts: Vec<String>,
    links: Vec<(usize, usize)>,
}

fn link_conditions<'m>(select: &mut Select<'m>, link: Link<'_, 'm>, target: TableId) -> Conditions {
    let mut conditions = Conditions::default();
    let Some((parent, alias, own, relation)) = link else { return conditions };
    let target = select.model.table(target);
    for (index, &(own_column, target_column)) in relation.pairs.iter().enumerate() {
        let number = select.builder.parameter(Parameter::Parent(index));
        conditions.texts.push(format!("{} = ?{number}", column_operand("t0", target.column(target_column))));
        conditions.links.push((number, parent.column(alias, own.column(own_column))));
    }
    conditions
}

/// The pieces of an aggregate's only row. Column 0 counts rows where anything needs to know.
pub(crate) fn aggregate_object(select: &mut Select<'_>, table: &Table, plan: &AggregatePlan) -> Vec<Piece> {
    let mut writer = PieceWriter::new();
    for output in &plan.outputs {
        writer.member(&output.response_key);
        match &output.kind {
            AggregateKind::Typename(name) => writer.string(name),
            AggregateKind::Count => {
                let index = select.expression("count(*)".into());
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
                let presence = Presence::Positive(select.expression("count(*)".into()));
                let pieces = aggregate_fields(select, table, *function, fields);
                let response_key = output.response_key.clone();
                writer.piece(Piece::Inner(Box::new(Inner { presence, response_key, pieces })));
            }
        }
    }
    if select.columns.is_empty() {
        select.expression("count(*)".into());
    }
    writer.finish()
}

fn aggregate_fields(
    select: &mut Select<'_>,
    table: &Table,
    function: AggregateFunction,
    fields: &[AggregateField],
) -> Vec<Piece> {
    let mut writer = PieceWriter::new();
    for field in fields {
        writer.member(&field.response_key);
        let id = match &field.column {
            Ok(id) => *id,
            Err(name) => {
                writer.string(name);
                continue;
            }
        };
        let column = table.column(id);
        let (name, kind) = aggregate_function(function, &column.kind);
        let index = select.expression(format!("{name}({})", column_operand("t0", column)));
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

/// SQL function and kind of its result.
fn aggregate_function(function: AggregateFunction, kind: &ColumnKind) -> (&'static str, ColumnKind) {
    match function {
        AggregateFunction::Sum => ("prony_sum", ColumnKind::Numeric),
        AggregateFunction::Avg => ("avg", ColumnKind::Float),
        AggregateFunction::Max => ("max", kind.clone()),
        AggregateFunction::Min => ("min", kind.clone()),
    }
}

/// A SELECT under construction; its table is `t0`.
pub(crate) struct Select<'m> {
    model: &'m Model,
    pub(crate) builder: SqlBuilder<'static, Sqlite>,
    columns: Vec<String>,
    joins: String,
    join_count: usize,
    /// What stands in place of the table: one row of parameters.
    row: Option<String>,
}

impl<'m> Select<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        let mut builder = SqlBuilder::new(&Sqlite);
        let alias = builder.new_alias();
        debug_assert_eq!(alias, "t0");
        Self { model, builder, columns: Vec::new(), joins: String::new(), join_count: 0, row: None }
    }

    /// Takes the row that the variables give in place of the table's. Numbers come as text for their digits' sake, and a
    /// parameter has no affinity that makes numbers of it, so that a cast has to.
    fn give_row(&mut self, id: TableId) {
        let table = self.model.table(id);
        let mut row = "(SELECT ".to_owned();
        for (index, column) in table.columns.iter().enumerate() {
            let (value, column_id) = (Value::Slot(SlotRoot::Given(index).into()), ColumnId(index as u16));
            let parameter = Parameter::Column { table: id, column: column_id, value, list: false };
            let number = self.builder.parameter(parameter);
            let is_number = matches!(column.kind, ColumnKind::Numeric | ColumnKind::Decimal)
                && has_numeric_affinity(&column.database_type);
            row.push_str(if index == 0 { "" } else { ", " });
            let placeholder = format!("?{number}");
            if is_number {
                row.push_str("CAST(");
                row.push_str(&placeholder);
                row.push_str(" AS NUMERIC)");
            } else {
                row.push_str(&placeholder);
            }
            row.push_str(" AS ");
            push_identifier(&mut row, &column.name);
        }
        self.row = Some(row + ")");
    }

    pub(crate) fn column(&mut self, alias: &str, column: &Column) -> usize {
        self.expression(column_operand(alias, column))
    }

    /// The index of an expression among the statement's columns; each is there once.
    pub(crate) fn expression(&mut self, text: String) -> usize {
        self.columns.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.columns.push(text);
            self.columns.len() - 1
        })
    }

    /// Whether a has-one can be joined: at most one row can match, as the columns are the primary key.
    fn can_join(&self, model: &Model, relation: &Relation) -> bool {
        let target = model.table(relation.target);
        let key = &target.primary_key;
        let unique = target.kind == TableKind::Table
            && !key.is_empty()
            && key.iter().all(|column| relation.pairs.iter().any(|(_, theirs)| theirs == column));
        relation.cardinality == Cardinality::One
            && unique
            && self.join_count < MAX_JOINS
            && self.columns.len() + target.columns.len() < MAX_COLUMNS
    }

    /// Joins the relation's target and gives its alias. The `+` keeps the own column's affinity and collation
    /// out of the comparison, as if its value were bound: the target's decide
    /// (<https://sqlite.org/datatype3.html#affinity_of_expressions>).
    fn join(
        &mut self,
        model: &Model,
        alias: &str,
        own: &Table,
        relation: &Relation,
        filter: &Filter,
    ) -> String {
        self.join_count += 1;
        let joined = self.builder.new_alias();
        let target = model.table(relation.target);
        self.joins.push_str(" LEFT JOIN ");
        push_identifier(&mut self.joins, &target.name);
        self.joins.push_str(" AS ");
        self.joins.push_str(&joined);
        for (index, &(own_column, target_column)) in relation.pairs.iter().enumerate() {
            self.joins.push_str(if index == 0 { " ON " } else { " AND " });
            self.joins.push_str(&column_operand(&joined, target.column(target_column)));
            self.joins.push_str(" = +");
            self.joins.push_str(&column_operand(alias, own.column(own_column)));
        }
        if !filter.is_everything() {
            let start = self.builder.text.len();
            self.builder.condition(model, relation.target, &joined, filter);
            self.joins.push_str(" AND ");
            self.joins.push_str(&self.builder.text.split_off(start));
        }
        joined
    }

    /// `SELECT … FROM … WHERE …`.
    fn write(&mut self, model: &Model, table: TableId, conditions: &[String], filter: &Filter) {
        self.select_from(model.table(table), "");
        let mut joint = " WHERE ";
        for condition in conditions {
            self.builder.push(joint);
            self.builder.push(condition);
            joint = " AND ";
        }
        self.filter(model, table, filter, joint);
    }

    /// The filter behind a joint, or nothing where every row passes.
    pub(crate) fn filter(&mut self, model: &Model, table: TableId, filter: &Filter, joint: &str) {
        if !filter.is_everything() {
            self.builder.push(joint);
            self.builder.condition(model, table, "t0", filter);
        }
    }

    /// `leading` stands before the table in FROM.
    pub(crate) fn select_from(&mut self, table: &Table, leading: &str) {
        self.builder.push("SELECT ");
        let columns = if self.columns.is_empty() { "1".to_owned() } else { self.columns.join(", ") };
        self.builder.push(&columns);
        self.builder.push(" FROM ");
        self.builder.push(leading);
        match self.row.take() {
            Some(row) => self.builder.push(&row),
            None => self.builder.table_name(table),
        }
        self.builder.push(" AS t0");
        let joins = std::mem::take(&mut self.joins);
        self.builder.push(&joins);
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Gives all columns so far a name.
    pub(crate) fn name_columns(&mut self, names: &[String]) {
        for (column, name) in self.columns.iter_mut().zip(names) {
            *column = format!("{column} AS {name}");
        }
    }

    /// The primary key's columns, each after a comma: a stable choice where a has-one is not unique after all.
    pub(crate) fn key_order(table: &Table) -> String {
        let column = |&id| format!(", {}", column_operand("t0", table.column(id)));
        table.primary_key.iter().map(column).collect()
    }

    pub(crate) fn order_by(&mut self, table: &Table, order: &[OrderKey]) {
        let text = Self::order_text(table, order);
        self.builder.push(&text);
    }

    /// ` ORDER BY …`. Tables without a primary key come by rowid at last, so that pages are stable and all
    /// resolver models agree.
    pub(crate) fn order_text(table: &Table, order: &[OrderKey]) -> String {
        let mut text = String::new();
        for (index, &key) in order.iter().enumerate() {
            text.push_str(if index == 0 { " ORDER BY " } else { ", " });
            let mut column = table.column(key.column).clone();
            // SQLite lets keys be null for the sake of old schemas. An explicit order of nulls would scan their
            // index twice for each parent; keys that really are null come first instead.
            column.nullable &= !table.primary_key.contains(&key.column);
            Sqlite.order_key(&mut text, &column_operand("t0", &column), &column, key);
        }
        if table.kind == TableKind::Table && table.primary_key.is_empty() {
            text.push_str(if order.is_empty() { " ORDER BY t0.rowid" } else { ", t0.rowid" });
        }
        text
    }

    pub(crate) fn limit(&mut self, limit: Option<RowCount>, offset: Option<RowCount>) {
        let number = self.builder.parameter(Parameter::Limit(limit));
        self.builder.push(&format!(" LIMIT ?{number}"));
        if offset.is_some() {
            let number = self.builder.parameter(Parameter::Offset(offset));
            self.builder.push(&format!(" OFFSET ?{number}"));
        }
    }

    pub(crate) fn finish(self) -> StatementText {
        StatementText { sql: self.builder.text, parameters: self.builder.parameters, keys_parameter: None }
    }
}

/// Whether a column of the declared type makes numbers of texts (<https://sqlite.org/datatype3.html>, section 3.1).
fn has_numeric_affinity(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    !declared.is_empty() && !["CHAR", "CLOB", "TEXT", "BLOB"].iter().any(|word| declared.contains(word))
}

/// Collects the pieces of one object; text between values is merged.
pub(crate) struct PieceWriter {
    pieces: Vec<Piece>,
    text: Vec<u8>,
    members: usize,
}

impl PieceWriter {
    pub(crate) fn new() -> Self {
        Self { pieces: Vec::new(), text: b"{".to_vec(), members: 0 }
    }

    pub(crate) fn member(&mut self, response_key: &str) {
        if self.members > 0 {
            self.text.push(b',');
        }
        self.members += 1;
        self.text.extend_from_slice(&json::member_prefix(response_key));
    }

    pub(crate) fn string(&mut self, text: &str) {
        json::write_string(&mut self.text, text);
    }

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

    fn nested(&mut self, output: &Output, first_statement: usize, node: Node) {
        let response_key = output.response_key.clone();
        self.piece(Piece::Nested(Box::new(Nested { response_key, first_statement, node })));
    }

    pub(crate) fn piece(&mut self, piece: Piece) {
        if !self.text.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(&mut self.text).into()));
        }
        self.pieces.push(piece);
    }

    pub(crate) fn finish(mut self) -> Vec<Piece> {
        self.text.push(b'}');
        self.pieces.push(Piece::Text(self.text.into()));
        self.pieces
    }
}
