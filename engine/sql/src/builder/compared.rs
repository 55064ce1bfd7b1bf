//! Which columns of its tables a statement compares, as its filters say: by which columns an index would find their rows.

use crate::{
    model::{ColumnId, TableId},
    plan::{Comparison, Filter},
};

/// A table of a statement, and what the statement compares of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedTable {
    /// Which no other table of the statement has.
    pub alias: Box<str>,
    pub table: TableId,
    pub columns: ComparedColumns,
}

/// Columns whose comparisons each row has to pass that is looked for; each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparedColumns {
    /// They must equal something, or be among some values.
    pub equal: Vec<ColumnId>,
    /// They must be before or after something.
    pub ranges: Vec<ColumnId>,
}

impl ComparedTable {
    /// Bytes of its lists, roughly.
    pub fn weight_bytes(&self) -> usize {
        let columns = self.columns.equal.len() + self.columns.ranges.len();
        size_of::<Self>() + self.alias.len() + columns * size_of::<ColumnId>()
    }
}

impl ComparedColumns {
    /// Adds a column that must equal something.
    pub(super) fn add_equal(&mut self, column: ColumnId) {
        add(&mut self.equal, column);
    }

    /// Adds what a filter compares of the rows themselves, not of those that relations lead to.
    pub(super) fn add_filter(&mut self, filter: &Filter) {
        match filter {
            Filter::All(parts) => parts.iter().for_each(|part| self.add_filter(part)),
            Filter::Any(parts) => self.add_alternatives(parts),
            Filter::Compare { column, comparison } => self.add_comparison(*column, comparison),
            // An index finds rows, not those that are left.
            Filter::Not(_) | Filter::Exists { .. } => {}
        }
    }

    /// One index serves alternatives where all of them compare the same columns.
    fn add_alternatives(&mut self, parts: &[Filter]) {
        let mut alternatives = parts.iter().map(|part| {
            let mut columns = Self::default();
            columns.add_filter(part);
            columns
        });
        let Some(first) = alternatives.next() else { return };
        if alternatives.all(|other| other == first) {
            first.equal.into_iter().for_each(|column| add(&mut self.equal, column));
            first.ranges.into_iter().for_each(|column| add(&mut self.ranges, column));
        }
    }

    fn add_comparison(&mut self, column: ColumnId, comparison: &Comparison) {
        match comparison {
            Comparison::Equal(_) | Comparison::In(_) => add(&mut self.equal, column),
            Comparison::Greater(_)
            | Comparison::GreaterOrEqual(_)
            | Comparison::Less(_)
            | Comparison::LessOrEqual(_) => add(&mut self.ranges, column),
            Comparison::NotEqual(_)
            | Comparison::NotIn(_)
            | Comparison::IsNull(_)
            | Comparison::Unknown
            | Comparison::Like(_)
            | Comparison::InsensitiveLike(_) => {}
        }
    }
}

fn add(columns: &mut Vec<ColumnId>, column: ColumnId) {
    if !columns.contains(&column) {
        columns.push(column);
    }
}

#[cfg(test)]
mod tests {
    use prony_graphql::selection::Value;

    use super::*;
    use crate::model::RelationId;

    fn compare(column: u16, comparison: fn(Value) -> Comparison) -> Filter {
        Filter::Compare { column: ColumnId(column), comparison: comparison(Value::Null) }
    }

    fn equal(column: u16) -> Filter {
        compare(column, Comparison::Equal)
    }

    fn less(column: u16) -> Filter {
        compare(column, Comparison::Less)
    }

    fn not(filter: Filter) -> Filter {
        Filter::Not(Box::new(filter))
    }

    #[test]
    fn columns_that_an_index_would_find_rows_by_are_told() {
        let exists = || Filter::Exists { relation: RelationId(0), filter: Box::new(equal(9)) };
        let is_null = || Filter::Compare { column: ColumnId(9), comparison: Comparison::IsNull(true) };
        for (filter, expected) in [
            (Filter::everything(), ([].as_slice(), [].as_slice())),
            (Filter::nothing(), (&[], &[])),
            (Filter::All(vec![equal(1), compare(2, Comparison::LessOrEqual)]), (&[1], &[2])),
            (Filter::All(vec![equal(1), compare(1, Comparison::In), less(2), less(2)]), (&[1], &[2])),
            (Filter::All(vec![compare(1, Comparison::NotEqual), compare(2, Comparison::NotIn)]), (&[], &[])),
            (Filter::All(vec![compare(1, Comparison::Like), is_null()]), (&[], &[])),
            (Filter::All(vec![equal(1), exists(), not(equal(2))]), (&[1], &[])),
            (not(equal(1)), (&[], &[])),
            (Filter::Any(vec![equal(1)]), (&[1], &[])),
            (Filter::Any(vec![equal(1), equal(1)]), (&[1], &[])),
            (Filter::Any(vec![equal(1), equal(2)]), (&[], &[])),
            (Filter::Any(vec![equal(1), less(1)]), (&[], &[])),
            (Filter::Any(vec![equal(1), exists()]), (&[], &[])),
            (Filter::All(vec![less(3), Filter::Any(vec![equal(1), equal(2)])]), (&[], &[3])),
        ] {
            let mut columns = ComparedColumns::default();
            columns.add_filter(&filter);
            let numbers = |ids: &[ColumnId]| ids.iter().map(|id| id.0).collect::<Vec<u16>>();
            let (equal, ranges) = expected;
            assert_eq!(numbers(&columns.equal), equal, "{filter:?}");
            assert_eq!(numbers(&columns.ranges), ranges, "{filter:?}");
        }
    }
}
