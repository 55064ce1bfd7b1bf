//! Cuts a root field into levels: one for the root, one for each relation or aggregate below it.

use prony_graphql::error::Position;
use prony_source::dialect::RowCount;

use crate::{
    model::{ColumnId, Model, Relation, TableId},
    plan::{AggregatePlan, Filter, ListPlan, OrderKey, Output, OutputKind, Root, RootPlan, RowPlan},
};

/// A root field as levels; parents stand before their children, the root is first.
#[derive(Debug, Clone)]
pub struct NestPlan {
    pub response_key: Box<str>,
    pub position: Position,
    pub levels: Vec<Level>,
}

/// What one statement fetches.
#[derive(Debug, Clone)]
pub struct Level {
    pub table: TableId,
    /// The table's columns that a key is compared with, part by part; empty for the root.
    pub key_columns: Vec<ColumnId>,
    pub source: LevelSource,
    /// In the order of the outputs that refer to them.
    pub children: Vec<Child>,
}

#[derive(Debug, Clone)]
pub enum LevelSource {
    /// Any number of rows for each key.
    List {
        outputs: Vec<LevelOutput>,
        filter: Filter,
        order: Vec<OrderKey>,
        limit: Option<RowCount>,
        offset: Option<RowCount>,
    },
    /// At most one row for each key.
    One { outputs: Vec<LevelOutput>, filter: Filter },
    /// Exactly one row for each key, also where no row of the table has it.
    Aggregate(AggregatePlan),
}

/// One member of a row's object.
#[derive(Debug, Clone)]
pub struct LevelOutput {
    pub response_key: Box<str>,
    pub position: Position,
    pub kind: LevelOutputKind,
}

#[derive(Debug, Clone)]
pub enum LevelOutputKind {
    Typename(Box<str>),
    Column(ColumnId),
    /// The value comes from another level: the row's text is cut here. Index into [`Level::children`].
    Child(usize),
}

/// From the rows of a level to the rows below them.
#[derive(Debug, Clone)]
pub struct Child {
    /// Index into [`NestPlan::levels`].
    pub level: usize,
    pub response_key: Box<str>,
    pub position: Position,
    pub kind: ChildKind,
    /// Columns of the parent's table whose values are the key, in the order of the child's `key_columns`.
    pub parent_columns: Vec<ColumnId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// An array, `[]` without rows.
    Many,
    /// An object, null without a row and where the row cannot be written.
    One,
    /// An object.
    Aggregate,
}

impl NestPlan {
    /// Cuts a list or aggregate; `None` for mutations, which have no levels.
    pub fn new(model: &Model, plan: &RootPlan) -> Option<Self> {
        let mut cutter = Cutter { model, levels: Vec::new() };
        match &plan.root {
            Root::List(list) => cutter.list(list, Vec::new()),
            Root::Aggregate(aggregate) => cutter.aggregate(aggregate, Vec::new()),
            Root::Create(_) | Root::Update(_) | Root::Delete(_) => return None,
        };
        Some(Self { response_key: plan.response_key.clone(), position: plan.position, levels: cutter.levels })
    }

    pub fn root(&self) -> &Level {
        &self.levels[0]
    }
}

struct Cutter<'m> {
    model: &'m Model,
    levels: Vec<Level>,
}

impl Cutter<'_> {
    fn list(&mut self, list: &ListPlan, key_columns: Vec<ColumnId>) -> usize {
        let source = LevelSource::List {
            outputs: Vec::new(),
            filter: list.filter.clone(),
            order: list.order.clone(),
            limit: list.limit.clone(),
            offset: list.offset.clone(),
        };
        let level = self.add(list.table, key_columns, source);
        let made = self.outputs(level, list.table, &list.outputs);
        if let LevelSource::List { outputs, .. } = &mut self.levels[level].source {
            *outputs = made;
        }
        level
    }

    fn one(&mut self, row: &RowPlan, key_columns: Vec<ColumnId>) -> usize {
        let source = |outputs| LevelSource::One { outputs, filter: row.filter.clone() };
        let level = self.add(row.table, key_columns, source(Vec::new()));
        let outputs = self.outputs(level, row.table, &row.outputs);
        self.levels[level].source = source(outputs);
        level
    }

    fn aggregate(&mut self, aggregate: &AggregatePlan, key_columns: Vec<ColumnId>) -> usize {
        self.add(aggregate.table, key_columns, LevelSource::Aggregate(aggregate.clone()))
    }

    fn add(&mut self, table: TableId, key_columns: Vec<ColumnId>, source: LevelSource) -> usize {
        self.levels.push(Level { table, key_columns, source, children: Vec::new() });
        self.levels.len() - 1
    }

    fn outputs(&mut self, level: usize, table: TableId, outputs: &[Output]) -> Vec<LevelOutput> {
        outputs
            .iter()
            .map(|output| LevelOutput {
                response_key: output.response_key.clone(),
                position: output.position,
                kind: self.output_kind(level, table, output),
            })
            .collect()
    }

    fn output_kind(&mut self, level: usize, table: TableId, output: &Output) -> LevelOutputKind {
        let model = self.model;
        let relation = |id| model.table(table).relation(id);
        let (relation, kind, below) = match &output.kind {
            OutputKind::Typename(name) => return LevelOutputKind::Typename(name.clone()),
            OutputKind::Column(column) => return LevelOutputKind::Column(*column),
            OutputKind::One(id, row) => {
                let relation = relation(*id);
                (relation, ChildKind::One, self.one(row, targets(relation)))
            }
            OutputKind::Many(id, list) => {
                let relation = relation(*id);
                (relation, ChildKind::Many, self.list(list, targets(relation)))
            }
            OutputKind::Aggregate(id, aggregate) => {
                let relation = relation(*id);
                (relation, ChildKind::Aggregate, self.aggregate(aggregate, targets(relation)))
            }
        };
        let children = &mut self.levels[level].children;
        children.push(Child {
            level: below,
            response_key: output.response_key.clone(),
            position: output.position,
            kind,
            parent_columns: relation.pairs.iter().map(|&(own, _)| own).collect(),
        });
        LevelOutputKind::Child(children.len() - 1)
    }
}

fn targets(relation: &Relation) -> Vec<ColumnId> {
    relation.pairs.iter().map(|&(_, target)| target).collect()
}
