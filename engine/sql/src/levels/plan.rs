//! Cuts a root field into levels: one for the root, one for each relation or aggregate below it.

use prony_graphql::{error::GraphqlError, json::ObjectText};

use crate::{
    model::{ColumnId, Model, Relation, Table},
    plan::{AggregateField, AggregateKind, AggregatePlan, RowsKind, RowsPlan},
};

/// What the statement of one level selects.
#[derive(Debug)]
pub struct LevelSelect<'p> {
    /// Outputs that are relations are levels of their own: the text of a row is cut where their values belong.
    pub rows: &'p RowsPlan,
    /// The table's columns that a key is compared with, part by part; empty for the root.
    pub key_columns: Vec<ColumnId>,
    /// For each of them, the collating sequence by which it is compared, where that is not its own.
    pub key_collations: Vec<Option<&'p str>>,
    /// For each level below, in the order of the outputs: the table's columns whose values are its key.
    pub child_keys: Vec<Vec<ColumnId>>,
}

/// A root field as levels with their statements; parents stand before their children, the root is first.
#[derive(Debug)]
pub struct FieldLevels<S> {
    pub levels: Vec<Level<S>>,
}

/// One level and what is below its rows.
#[derive(Debug)]
pub struct Level<S> {
    pub statement: S,
    pub(super) kind: RowsKind,
    /// The value where a key has no rows.
    pub(super) nothing: Box<[u8]>,
    /// In the order of the places where a row's text is cut.
    pub(super) children: Vec<Child>,
}

/// From the rows of a level to the rows below them.
#[derive(Debug)]
pub(super) struct Child {
    /// Index into [`FieldLevels::levels`].
    pub(super) level: usize,
    pub(super) response_key: Box<str>,
}

impl<S> FieldLevels<S> {
    /// `write` makes the statement of a level.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(
        model: &Model,
        rows: &RowsPlan,
        write: impl FnMut(&LevelSelect<'_>) -> Result<S, GraphqlError>,
    ) -> Result<Self, GraphqlError> {
        let mut cutter = Cutter { model, write, levels: Vec::new() };
        cutter.level(rows, None)?;
        Ok(Self { levels: cutter.levels })
    }
}

struct Cutter<'m, W, S> {
    model: &'m Model,
    write: W,
    levels: Vec<Level<S>>,
}

impl<S, W: FnMut(&LevelSelect<'_>) -> Result<S, GraphqlError>> Cutter<'_, W, S> {
    /// `link` is the table of the rows above and the relation that leads from them.
    fn level(&mut self, rows: &RowsPlan, link: Option<(&Table, &Relation)>) -> Result<usize, GraphqlError> {
        let table = self.model.table(rows.table());
        let pairs = link.into_iter().flat_map(|(above, relation)| {
            relation.pairs.iter().map(move |&(own, target)| {
                (target, relation.collation(above.column(own), table.column(target)))
            })
        });
        let (key_columns, key_collations) = pairs.unzip();
        let related = rows.outputs().iter().filter_map(|output| {
            let (id, rows) = output.related()?;
            Some((output, table.relation(id), rows))
        });
        let below: Vec<_> = related.collect();
        let own_columns = |relation: &Relation| relation.pairs.iter().map(|&(own, _)| own).collect();
        let child_keys = below.iter().map(|(_, relation, _)| own_columns(relation)).collect();
        let statement = (self.write)(&LevelSelect { rows, key_columns, key_collations, child_keys })?;
        let index = self.levels.len();
        self.levels.push(Level {
            statement,
            kind: rows.kind(),
            nothing: nothing(rows),
            children: Vec::with_capacity(below.len()),
        });
        for (output, relation, rows) in below {
            let level = self.level(rows, Some((table, relation)))?;
            let response_key = output.response_key.clone();
            self.levels[index].children.push(Child { level, response_key });
        }
        Ok(index)
    }
}

fn nothing(rows: &RowsPlan) -> Box<[u8]> {
    match rows {
        RowsPlan::List(_) => (*b"[]").into(),
        RowsPlan::One(_) => (*b"null").into(),
        RowsPlan::Aggregate(plan) => empty_aggregate(plan),
    }
}

/// The aggregate over no rows: `count` is 0, and the members of every other field are null.
fn empty_aggregate(plan: &AggregatePlan) -> Box<[u8]> {
    let mut text = ObjectText::default();
    for output in &plan.outputs {
        text.key(&output.response_key);
        match &output.kind {
            AggregateKind::Typename(name) => text.string(name),
            AggregateKind::Count => text.json(b"0"),
            AggregateKind::Fields(_, fields) => text.json(&empty_fields(fields)),
        }
    }
    text.end().into()
}

fn empty_fields(fields: &[AggregateField]) -> Vec<u8> {
    let mut text = ObjectText::default();
    for field in fields {
        text.key(&field.response_key);
        match &field.column {
            Ok(_) => text.json(b"null"),
            Err(type_name) => text.string(type_name),
        }
    }
    text.end()
}
