//! The columns of rows, found by their attributes. There may be thousands, each of which is looked for: of many it is kept where they stand.

use crate::ids::AttributeId;
use crate::value::Column;
use std::collections::HashMap;

/// So many are looked through.
const FEW: usize = 16;

/// Which columns are read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    All,
    Only(&'a [AttributeId]),
}

impl Wanted<'_> {
    pub(crate) fn has(self, attribute: AttributeId) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => only.contains(&attribute),
        }
    }
}

/// In the order in which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    list: Vec<(AttributeId, Column)>,
    /// The places of all; none while there are few.
    #[expect(
        clippy::box_collection,
        reason = "each series has it, of which there may be a million with few columns"
    )]
    places: Option<Box<HashMap<AttributeId, usize>>>,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (AttributeId, Column)> {
        self.list.iter()
    }

    pub(crate) fn place(&self, attribute: AttributeId) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&attribute).copied(),
            None => self.list.iter().position(|(of, _)| *of == attribute),
        }
    }

    pub(crate) fn get(&self, attribute: AttributeId) -> Option<&Column> {
        self.place(attribute).map(|place| &self.list[place].1)
    }

    /// Whose column it is that has this place.
    pub(crate) fn attribute(&self, place: usize) -> Option<AttributeId> {
        self.list.get(place).map(|(of, _)| *of)
    }

    pub(crate) fn at_mut(&mut self, place: usize) -> &mut Column {
        &mut self.list[place].1
    }

    /// Those that are wanted, each once, in their order.
    pub(crate) fn wanted(&self, wanted: Wanted<'_>) -> impl Iterator<Item = &(AttributeId, Column)> {
        let places = match wanted {
            Wanted::All => (0..self.list.len()).collect(),
            Wanted::Only(attributes) => {
                let mut places: Vec<usize> =
                    attributes.iter().filter_map(|attribute| self.place(*attribute)).collect();
                places.sort_unstable();
                places.dedup();
                places
            }
        };
        places.into_iter().map(|place| &self.list[place])
    }

    /// Adds one behind the others.
    pub(crate) fn push(&mut self, attribute: AttributeId, column: Column) {
        let place = self.list.len();
        self.list.push((attribute, column));
        if let Some(places) = &mut self.places {
            places.entry(attribute).or_insert(place);
        } else if self.list.len() > FEW {
            let mut places = HashMap::with_capacity(2 * FEW);
            for (place, (attribute, _)) in self.list.iter().enumerate() {
                places.entry(*attribute).or_insert(place);
            }
            self.places = Some(Box::new(places));
        }
    }
}

impl FromIterator<(AttributeId, Column)> for Columns {
    fn from_iter<C: IntoIterator<Item = (AttributeId, Column)>>(columns: C) -> Self {
        let mut all = Self::default();
        for (attribute, column) in columns {
            all.push(attribute, column);
        }
        all
    }
}

impl<'c> IntoIterator for &'c Columns {
    type Item = &'c (AttributeId, Column);
    type IntoIter = std::slice::Iter<'c, (AttributeId, Column)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Form, Value};
    use proptest::prelude::*;

    /// Each with its place as its value.
    fn columns(attributes: &[u32]) -> Columns {
        let column = |(place, attribute): (usize, &u32)| {
            let mut column = Column::new(Form::Integers);
            column.put(0, Value::Integer(place.cast_signed() as i64));
            (AttributeId(*attribute), column)
        };
        attributes.iter().enumerate().map(column).collect()
    }

    proptest! {
        #[test]
        fn few_and_many_are_found_alike(
            attributes in prop::collection::vec(0..60_u32, 0..3 * FEW),
            asked in prop::collection::vec(0..70_u32, 0..40),
        ) {
            let columns = columns(&attributes);
            for attribute in &asked {
                let first = attributes.iter().position(|of| of == attribute);
                let found = columns.get(AttributeId(*attribute)).map(|column| column.get(0));
                prop_assert_eq!(found, first.map(|place| Value::Integer(place.cast_signed() as i64)));
            }
            let only: Vec<AttributeId> = asked.iter().copied().map(AttributeId).collect();
            let wanted: Vec<u32> = columns.wanted(Wanted::Only(&only)).map(|(of, _)| of.0).collect();
            let mut expected: Vec<u32> = Vec::new();
            for attribute in &attributes {
                if asked.contains(attribute) && !expected.contains(attribute) {
                    expected.push(*attribute);
                }
            }
            prop_assert_eq!(wanted, expected);
            prop_assert_eq!(columns.wanted(Wanted::All).count(), attributes.len());
        }
    }
}
