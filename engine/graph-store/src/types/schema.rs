//! Types and their declared properties, as one value that is replaced when any of them changes.

use crate::index::property_index::PropertyIndex;
use crate::types::change::{Change, Side};
use crate::types::value::Kind;
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Types of nodes, or of relationships; their numbers have 16 bits, and 0 is none's.
pub(crate) const TYPES_MAX: usize = u16::MAX as usize;
/// Properties that one type has ever had declared.
pub(crate) const PROPERTIES_MAX: usize = u16::MAX as usize;

#[derive(Debug, Clone, Default)]
pub struct Schema {
    nodes: Types,
    relationships: Types,
}

#[derive(Debug, Clone, Default)]
pub struct Types {
    // Each operation looks one up; it is seeded, as names come from clients.
    by_name: HashMap<Arc<str>, u16, RandomState>,
    /// By number, the first of which is 1.
    types: Vec<Option<Arc<Type>>>,
}

#[derive(Debug, Clone)]
pub struct Type {
    pub name: Arc<str>,
    pub properties: BTreeMap<Arc<str>, Property>,
    /// Names and kinds by number. Numbers are not used again: values of a dropped property stay unread where they are.
    numbers: Vec<Option<(Arc<str>, Kind)>>,
    indexes: Vec<(u16, Kind, Arc<PropertyIndex>)>,
    /// Indexes that are being made: what is written is in them already, and nobody asks them before they have all.
    begun: Vec<(u16, Arc<PropertyIndex>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property {
    pub(crate) number: u16,
    pub kind: Kind,
    pub is_indexed: bool,
}

impl Schema {
    pub const fn side(&self, side: Side) -> &Types {
        match side {
            Side::Nodes => &self.nodes,
            Side::Relationships => &self.relationships,
        }
    }

    /// Makes what the change says of types and properties; the rest of it is not the schema's.
    pub(crate) fn make(&mut self, change: &Change<'_>, is_undone: bool) {
        match *change {
            Change::Type { side, number, name } => self.side_mut(side).add(number, name),
            Change::DropType { side, number } => self.side_mut(side).drop_type(number, is_undone),
            Change::Property { side, of, number, name, kind } => {
                self.side_mut(side).change(of, |of| of.declare(number, name, kind));
            }
            Change::DropProperty { side, of, number } => {
                self.side_mut(side).change(of, |of| of.undeclare(number));
            }
            Change::Index { side, of, number } => {
                self.side_mut(side).change(of, |of| of.index(number, Arc::default()));
            }
            Change::DropIndex { side, of, number } => {
                self.side_mut(side).change(of, |of| of.unindex(number));
            }
            Change::Clear => *self = Self::default(),
            Change::PutNode { .. }
            | Change::DropNode { .. }
            | Change::PutRelationship { .. }
            | Change::DropRelationship { .. } => {}
        }
    }

    /// As [`Change::Index`], with an index that is filled already.
    pub(crate) fn set_index(&mut self, side: Side, of: u16, number: u16, index: Arc<PropertyIndex>) {
        self.side_mut(side).change(of, |of| of.index(number, index));
    }

    /// An index that is being made is kept up from now on.
    pub(crate) fn begin_index(&mut self, side: Side, of: u16, number: u16, index: Arc<PropertyIndex>) {
        self.side_mut(side).change(of, |of| of.begun.push((number, index)));
    }

    /// An index that was being made is kept up no more.
    pub(crate) fn give_up_index(&mut self, side: Side, of: u16, index: &Arc<PropertyIndex>) {
        self.side_mut(side).change(of, |of| of.begun.retain(|(_, begun)| !Arc::ptr_eq(begun, index)));
    }

    const fn side_mut(&mut self, side: Side) -> &mut Types {
        match side {
            Side::Nodes => &mut self.nodes,
            Side::Relationships => &mut self.relationships,
        }
    }
}

impl Types {
    pub fn number(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn find(&self, name: &str) -> Option<(u16, &Arc<Type>)> {
        let number = self.number(name)?;
        Some((number, self.get(number)?))
    }

    pub fn get(&self, number: u16) -> Option<&Arc<Type>> {
        self.types.get(usize::from(number).checked_sub(1)?)?.as_ref()
    }

    /// With their numbers, in order of creation.
    pub fn all(&self) -> impl Iterator<Item = (u16, &Arc<Type>)> {
        let numbered = self.types.iter().enumerate();
        numbered.filter_map(|(index, of)| Some((index as u16 + 1, of.as_ref()?)))
    }

    /// Of the next type; none where there are as many as there can be.
    pub(crate) fn next_number(&self) -> Option<u16> {
        (self.types.len() < TYPES_MAX).then(|| self.types.len() as u16 + 1)
    }

    fn add(&mut self, number: u16, name: &str) {
        let index = usize::from(number) - 1;
        if self.types.len() <= index {
            self.types.resize(index + 1, None);
        }
        let name: Arc<str> = name.into();
        self.by_name.insert(Arc::clone(&name), number);
        self.types[index] = Some(Arc::new(Type {
            name,
            properties: BTreeMap::new(),
            numbers: Vec::new(),
            indexes: Vec::new(),
            begun: Vec::new(),
        }));
    }

    /// `is_undone`: it was never there, so the next type gets its number.
    fn drop_type(&mut self, number: u16, is_undone: bool) {
        let index = usize::from(number) - 1;
        if let Some(gone) = self.types.get_mut(index).and_then(Option::take) {
            self.by_name.remove(&gone.name);
        }
        if is_undone && self.types.len() == index + 1 {
            self.types.pop();
        }
    }

    fn change(&mut self, number: u16, change: impl FnOnce(&mut Type)) {
        let entry = self.types.get_mut(usize::from(number).wrapping_sub(1)).and_then(Option::as_mut);
        if let Some(entry) = entry {
            change(Arc::make_mut(entry));
        }
    }
}

impl Type {
    pub(crate) fn next_property(&self) -> Option<u16> {
        (self.numbers.len() < PROPERTIES_MAX).then_some(self.numbers.len() as u16)
    }

    /// The highest number that a property had which is declared no more.
    pub(crate) fn last_dropped(&self) -> Option<u16> {
        matches!(self.numbers.last(), Some(None)).then(|| self.numbers.len() as u16 - 1)
    }

    fn declare(&mut self, number: u16, name: &str, kind: Kind) {
        let name: Arc<str> = name.into();
        let place = usize::from(number);
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, None);
        }
        self.numbers[place] = Some((Arc::clone(&name), kind));
        self.properties.insert(name, Property { number, kind, is_indexed: false });
    }

    fn undeclare(&mut self, number: u16) {
        self.unindex(number);
        let gone = self.numbers.get_mut(usize::from(number)).and_then(Option::take);
        if let Some((name, _)) = gone {
            self.properties.remove(&name);
        }
    }

    /// Of properties that are declared: their numbers, their kinds, and their indexes.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (u16, Kind, &PropertyIndex)> {
        self.indexes.iter().map(|(number, kind, index)| (*number, *kind, &**index))
    }

    pub(crate) fn index_of(&self, number: u16) -> Option<&Arc<PropertyIndex>> {
        self.indexes.iter().find(|(of, ..)| *of == number).map(|(.., index)| index)
    }

    /// Those that are kept up with each write: those that are being made, too.
    pub(crate) fn kept_indexes(&self) -> impl Iterator<Item = (u16, &PropertyIndex)> {
        let begun = self.begun.iter().map(|(number, index)| (*number, &**index));
        self.indexes().map(|(number, _, index)| (number, index)).chain(begun)
    }

    /// Whether this one is being made, and kept up.
    pub(crate) fn has_begun(&self, index: &Arc<PropertyIndex>) -> bool {
        self.begun.iter().any(|(_, begun)| Arc::ptr_eq(begun, index))
    }

    fn index(&mut self, number: u16, index: Arc<PropertyIndex>) {
        self.unindex(number);
        if let Some((name, kind)) = self.property(number) {
            let name = Arc::clone(name);
            self.indexes.push((number, kind, index));
            if let Some(property) = self.properties.get_mut(&name) {
                property.is_indexed = true;
            }
        }
    }

    fn unindex(&mut self, number: u16) {
        self.indexes.retain(|(of, ..)| *of != number);
        self.begun.retain(|(of, _)| *of != number);
        let name = self.property(number).map(|(name, _)| Arc::clone(name));
        if let Some(property) = name.and_then(|name| self.properties.get_mut(&name)) {
            property.is_indexed = false;
        }
    }

    /// The name and kind that a number stands for.
    pub(crate) fn property(&self, number: u16) -> Option<(&Arc<str>, Kind)> {
        let (name, kind) = self.numbers.get(usize::from(number))?.as_ref()?;
        Some((name, *kind))
    }
}
