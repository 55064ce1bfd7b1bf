//! Rows of one series, in columns: what blocks are made of, and what they are read as.

use crate::columns::Columns;
use crate::ids::{AttributeId, TimeMs};
use crate::value::{Column, Form, Value};
use std::ops::Range;

/// Rows one after the other.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub times: Vec<TimeMs>,
    pub(crate) columns: Columns,
}

/// What becomes of a row of an entity that has the same time as another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDuplicate {
    /// There are two.
    #[default]
    Append,
    /// The earlier one keeps what it has, and is given what it had not.
    Keep,
    /// The later one's values take the place of those of the earlier one.
    Replace,
}

/// Where a merged row has its values from: a source and a row of it.
pub(crate) type RowAt = (u32, u32);

impl Rows {
    pub fn len(&self) -> usize {
        self.times.len()
    }

    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// About how many bytes of memory they take.
    pub fn weight_bytes(&self) -> usize {
        let of_value =
            |value: Value<'_>| size_of::<u64>() + if let Value::Text(text) = value { text.len() } else { 0 };
        let columns =
            self.columns.iter().flat_map(|(_, column)| (0..column.len()).map(|row| column.get(row)));
        self.times.len() * size_of::<TimeMs>() + columns.map(of_value).sum::<usize>()
    }

    /// How many bytes their texts have.
    pub(crate) fn text_bytes(&self) -> usize {
        self.texts_within(0..self.len(), usize::MAX).1
    }

    /// How many of some rows have texts of so many bytes at most, but one at least, and the bytes of these.
    pub(crate) fn texts_within(&self, rows: Range<usize>, limit: usize) -> (usize, usize) {
        let columns = self.columns.iter().map(|(_, column)| column);
        let columns: Vec<&Column> = columns.filter(|column| column.form() == Form::Texts).collect();
        if columns.is_empty() {
            return (rows.len(), 0);
        }
        let of = |column: &&Column, row| if let Value::Text(text) = column.get(row) { text.len() } else { 0 };
        let mut bytes = 0;
        for row in rows.clone() {
            let of_row: usize = columns.iter().map(|column| of(column, row)).sum();
            if row > rows.start && bytes + of_row > limit {
                return (row - rows.start, bytes);
            }
            bytes += of_row;
        }
        (rows.len(), bytes)
    }

    pub fn column(&self, attribute: AttributeId) -> Option<&Column> {
        self.columns.get(attribute)
    }

    pub fn get(&self, row: usize, attribute: AttributeId) -> Value<'_> {
        self.column(attribute).map_or(Value::Null, |column| column.get(row))
    }

    /// Gives a row, which is one of `times` and not before the last that was given one, a value of an attribute. False where the value is of
    /// another kind than those before it.
    pub fn put(&mut self, row: usize, attribute: AttributeId, value: Value<'_>) -> bool {
        if let Some(place) = self.columns.place(attribute) {
            return self.columns.at_mut(place).put(row, value);
        }
        let form = match value {
            Value::Null => return true,
            Value::Double(_) => Form::Doubles,
            Value::Integer(_) => Form::Integers,
            Value::Boolean(_) => Form::Booleans,
            Value::Text(_) => Form::Texts,
        };
        let mut column = Column::new(form);
        column.put(row, value);
        self.columns.push(attribute, column);
        true
    }

    /// Adds rows of others behind these: those that `order` names, in this order.
    pub(crate) fn gather(&mut self, sources: &[&Self], order: &[RowAt]) {
        let before = self.len();
        let time = |(source, row): &RowAt| sources[*source as usize].times[*row as usize];
        self.times.extend(order.iter().map(time));
        for (place, source) in sources.iter().enumerate() {
            for (attribute, _) in &source.columns {
                // With the first source that has it, for all that do.
                if sources[..place].iter().any(|earlier| earlier.column(*attribute).is_some()) {
                    continue;
                }
                let columns: Vec<Option<&Column>> =
                    sources.iter().map(|source| source.column(*attribute)).collect();
                for (at, (source, row)) in order.iter().enumerate() {
                    let value =
                        columns[*source as usize].map_or(Value::Null, |column| column.get(*row as usize));
                    if value != Value::Null {
                        self.put(before + at, *attribute, value);
                    }
                }
            }
        }
    }

    /// One row of several with the same time, by the policy.
    fn merged(&mut self, sources: &[&Self], group: &[RowAt], policy: OnDuplicate) {
        let row = self.len();
        let (source, at) = group[0];
        self.times.push(sources[source as usize].times[at as usize]);
        let take = |rows: &mut Self, (source, at): RowAt| {
            for (attribute, column) in &sources[source as usize].columns {
                let value = column.get(at as usize);
                let is_given = rows.column(*attribute).is_some_and(|given| given.len() > row);
                if value != Value::Null && !is_given {
                    rows.put(row, *attribute, value);
                }
            }
        };
        if policy == OnDuplicate::Replace {
            for at in group.iter().rev() {
                take(self, *at);
            }
        } else {
            for at in group {
                take(self, *at);
            }
        }
    }

    /// Puts rows of sources, the later of which were written later, in the order of their times; rows with the same time become one
    /// where the policy says so. Of each source only the rows are taken that `order` names, in which rows of a source ascend.
    pub(crate) fn merge(sources: &[&Self], mut order: Vec<RowAt>, policy: OnDuplicate) -> Self {
        let time = |(source, row): &RowAt| sources[*source as usize].times[*row as usize];
        if !order.is_sorted_by_key(time) {
            order.sort_by_key(time);
        }
        let mut rows = Self::default();
        if policy == OnDuplicate::Append || order.windows(2).all(|pair| time(&pair[0]) != time(&pair[1])) {
            rows.gather(sources, &order);
            return rows;
        }
        for group in order.chunk_by(|one, other| time(one) == time(other)) {
            if group.len() > 1 {
                rows.merged(sources, group, policy);
            } else {
                rows.gather(sources, group);
            }
        }
        rows
    }

    /// Adds a row of others.
    pub fn push_row(&mut self, from: &Self, row: usize) {
        self.gather(&[from], &[(0, row as u32)]);
    }

    /// All rows of several, in the order of their times.
    pub fn in_order(parts: &[Self]) -> Self {
        let rows = |(place, part): (usize, &Self)| (0..part.len() as u32).map(move |row| (place as u32, row));
        let order = parts.iter().enumerate().flat_map(rows).collect();
        Self::merge(&parts.iter().collect::<Vec<_>>(), order, OnDuplicate::Append)
    }

    /// Rows from one place to another.
    pub(crate) fn part(&self, from: usize, to: usize) -> Self {
        let order: Vec<RowAt> = (from..to).map(|row| (0, row as u32)).collect();
        let mut rows = Self::default();
        rows.gather(&[self], &order);
        rows
    }
}
