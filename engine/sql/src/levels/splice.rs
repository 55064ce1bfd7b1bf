//! Splices the rows of all levels into one JSON text.

use std::collections::HashMap;

use prony_graphql::{budget::ResponseMeter, error::GraphqlError, response::FieldResult};

use crate::{
    levels::{Fetched, FieldLevels, LevelRows},
    plan::RowsKind,
    writer::{FieldWriter, Unwritten},
};

type Written = Result<(), Unwritten<GraphqlError>>;

/// The rows of one level and everything below them.
pub(super) struct Tree {
    pub(super) fetched: Fetched,
    pub(super) below: Vec<Branch>,
}

/// A child level and, for each row of the level above, the index of its key.
pub(super) struct Branch {
    pub(super) tree: Tree,
    pub(super) key_of_row: HashMap<usize, usize>,
}

struct Splicer<'p, S> {
    plan: &'p FieldLevels<S>,
    writer: FieldWriter<'p>,
}

/// The value of a root field.
///
/// # Errors
/// A response that is larger than it may be.
pub(super) fn splice<S>(
    plan: &FieldLevels<S>,
    tree: &Tree,
    meter: ResponseMeter,
) -> Result<FieldResult, GraphqlError> {
    let writer = FieldWriter::new(0, meter);
    let mut splicer = Splicer { plan, writer };
    let written = splicer.value(0, tree, Some(0));
    splicer.writer.finish(written)
}

impl<S> Splicer<'_, S> {
    /// What a level gives for a key; none where a part of it is null.
    fn value(&mut self, level: usize, tree: &Tree, key: Option<usize>) -> Written {
        let of = &self.plan.levels[level];
        let mut rows = key.map_or(0..0, |key| tree.fetched.of_key(key));
        let Some(first) = rows.next() else {
            self.writer.out.extend_from_slice(&of.nothing);
            return Ok(self.writer.check_size()?);
        };
        match of.kind {
            RowsKind::Aggregate => self.row(level, tree, first),
            RowsKind::One => {
                let start = self.writer.start();
                let written = self.row(level, tree, first);
                self.writer.nullable(start, written)
            }
            RowsKind::List => {
                for (index, row) in (first..rows.end).enumerate() {
                    self.writer.out.push(if index == 0 { b'[' } else { b',' });
                    self.writer.enter_item(index);
                    self.row(level, tree, row)?;
                    self.writer.leave();
                }
                self.writer.out.push(b']');
                Ok(())
            }
        }
    }

    fn row(&mut self, level: usize, tree: &Tree, row: usize) -> Written {
        let rows = &tree.fetched.rows;
        self.segment(rows, row, 0)?;
        let plan = self.plan;
        for (index, (child, branch)) in plan.levels[level].children.iter().zip(&tree.below).enumerate() {
            self.writer.enter_member(&child.response_key);
            self.value(child.level, &branch.tree, branch.key_of_row.get(&row).copied())?;
            self.writer.leave();
            self.segment(rows, row, index + 1)?;
        }
        Ok(self.writer.check_size()?)
    }

    /// A part of a row between two children: errors come in the order in which one statement would meet them.
    fn segment(&mut self, rows: &LevelRows, row: usize, index: usize) -> Written {
        for error in rows.errors_of(row, index) {
            self.writer.note(error.clone());
        }
        if rows.is_missing(row, index) {
            return Err(Unwritten::Null);
        }
        self.writer.out.extend_from_slice(rows.segment(row, index));
        Ok(())
    }
}
