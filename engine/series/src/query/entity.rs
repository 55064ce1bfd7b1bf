//! What a query has found: entities of types, which of their rows are asked for, and what is made of them.

use std::{borrow::Cow, ops::Range};

use prony_series_store::{AttributeId, Kind, ReadError, Rows, SeriesRows, TimeMs, Value};

/// An attribute that is asked for.
#[derive(Debug, Clone)]
pub(crate) struct AskedAttribute {
    pub(crate) id: AttributeId,
    pub(crate) name: String,
    /// The type that it was first given.
    pub(crate) declared: String,
    pub(crate) kind: Kind,
    /// Where its metadata are, if there are any.
    pub(crate) metadata: Option<AttributeId>,
}

/// The entities of a type.
#[derive(Debug)]
pub(crate) struct TypeResult {
    pub(crate) name: String,
    /// By their names.
    pub(crate) attributes: Vec<AskedAttribute>,
    /// Where it is said what gave the times of rows, if that is asked for and there.
    pub(crate) time_attribute: Option<AttributeId>,
    /// By their ids; each has rows.
    pub(crate) entities: Vec<EntityResult>,
    /// Rows of all pages, or what was made of them, where they are to be counted.
    pub(crate) total: u64,
}

#[derive(Debug)]
pub(crate) struct EntityResult {
    pub(crate) id: String,
    /// One for each service path.
    pub(crate) series: Vec<(SeriesRows, Chosen)>,
    pub(crate) aggregated: Option<Aggregated>,
}

/// Which rows of a series are asked for.
#[derive(Debug, Clone)]
pub(crate) enum Chosen {
    Range(Range<u64>),
    /// In order.
    List(Vec<u64>),
}

/// What was made of an entity's values.
#[derive(Debug, Default)]
pub(crate) struct Aggregated {
    /// The beginnings of the periods; one that means nothing without a period.
    pub(crate) index: Vec<TimeMs>,
    /// For each period those of all attributes, of the kind that the method makes.
    pub(crate) values: Vec<Vec<Value<'static>>>,
}

/// The chosen rows of an entity in the order of their times.
pub(crate) enum OrderedRows<'e> {
    /// As they are stored.
    Stored(&'e mut SeriesRows, Range<u64>),
    /// Put in order.
    Loaded(Rows),
}

impl Chosen {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Range(range) => range.end.saturating_sub(range.start),
            Self::List(list) => list.len() as u64,
        }
    }

    /// Leaves the last of them, so many at most.
    pub(crate) fn keep_last(&mut self, most: u64) {
        let left_out = self.len().saturating_sub(most);
        match self {
            Self::Range(range) => range.start += left_out,
            Self::List(list) => drop(list.drain(..left_out as usize)),
        }
    }
}

impl Aggregated {
    /// Leaves these periods.
    pub(super) fn keep(&mut self, periods: Range<usize>) {
        keep(&mut self.index, &periods);
        keep(&mut self.values, &periods);
    }

    /// Leaves the last of them, so many at most; how many these are.
    pub(super) fn keep_last(&mut self, most: u64) -> u64 {
        let count = self.index.len();
        self.keep((count as u64).saturating_sub(most) as usize..count);
        self.index.len() as u64
    }
}

fn keep<T>(of: &mut Vec<T>, kept: &Range<usize>) {
    of.truncate(kept.end);
    of.drain(..kept.start.min(of.len()));
}

/// What an attribute is called in an object that has members of its own: one with the name of such a member has a `_` behind it, so that no
/// two members have one name. Tags and fields of lines may have any name.
pub(crate) fn member_name<'n>(name: &'n str, own: &[&str], all: &[AskedAttribute]) -> Cow<'n, str> {
    if !own.contains(&name) {
        return Cow::Borrowed(name);
    }
    let mut member = format!("{name}_");
    while all.iter().any(|of| of.name == member) {
        member.push('_');
    }
    Cow::Owned(member)
}

/// Calls `take` with the rows of a list.
pub(super) fn each_of(
    rows: &mut SeriesRows,
    list: &[u64],
    attributes: &[AttributeId],
    mut take: impl FnMut(&Rows, usize),
) -> Result<(), ReadError> {
    let (Some(from), Some(to)) = (list.first(), list.last()) else { return Ok(()) };
    let (mut number, mut left) = (*from, list.iter().copied().peekable());
    rows.visit(*from..to + 1, attributes, |part, range| {
        for row in range {
            if left.peek() == Some(&number) {
                left.next();
                take(part, row);
            }
            number += 1;
        }
        true
    })
}

/// Rows of several service paths, or that were found one by one, put in order.
fn in_order(series: &mut [(SeriesRows, Chosen)], attributes: &[AttributeId]) -> Result<Rows, ReadError> {
    let mut parts = Vec::with_capacity(series.len());
    for (rows, chosen) in series {
        let mut part = Rows::default();
        let list: Vec<u64> = match chosen {
            Chosen::Range(range) => range.clone().collect(),
            Chosen::List(list) => list.clone(),
        };
        each_of(rows, &list, attributes, |from, row| part.push_row(from, row))?;
        parts.push(part);
    }
    Ok(Rows::in_order(&parts))
}

impl EntityResult {
    pub(crate) fn row_count(&self) -> u64 {
        self.series.iter().map(|(_, chosen)| chosen.len()).sum()
    }

    /// Whether the chosen rows are stored in order: else they are put in order in memory.
    pub(crate) fn is_stored_in_order(&self) -> bool {
        matches!(&self.series[..], [(_, Chosen::Range(_))])
    }

    /// The chosen rows with these attributes.
    pub(crate) fn ordered(&mut self, attributes: &[AttributeId]) -> Result<OrderedRows<'_>, ReadError> {
        match &mut self.series[..] {
            [(rows, Chosen::Range(range))] => Ok(OrderedRows::Stored(rows, range.clone())),
            series => in_order(series, attributes).map(OrderedRows::Loaded),
        }
    }

    /// Calls `take` with the chosen rows in the order of their times, until it says that it is enough.
    pub(crate) fn visit(
        &mut self,
        attributes: &[AttributeId],
        mut take: impl FnMut(&Rows, usize) -> bool,
    ) -> Result<(), ReadError> {
        let mut rows = self.ordered(attributes)?;
        rows.visit(0..u64::MAX, attributes, |part, mut range| range.all(|row| take(part, row)))
    }
}

impl OrderedRows<'_> {
    /// Calls `take` with the rows from one place to another, part by part, until it says that it is enough.
    pub(crate) fn visit(
        &mut self,
        places: Range<u64>,
        attributes: &[AttributeId],
        mut take: impl FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError> {
        match self {
            Self::Stored(rows, chosen) => {
                let place = |place: u64| chosen.start.saturating_add(place).min(chosen.end);
                rows.visit(place(places.start)..place(places.end), attributes, take)
            }
            Self::Loaded(rows) => {
                let place = |place: u64| place.min(rows.len() as u64) as usize;
                let range = place(places.start)..place(places.end);
                if !range.is_empty() {
                    take(rows, range);
                }
                Ok(())
            }
        }
    }
}
