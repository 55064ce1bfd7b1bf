//! What can be asked of a graph: each operation is checked, becomes changes, and is done whole or not at all.

use crate::error::Refusal;
use crate::index::property_index::PropertyIndex;
use crate::memory::links::Direction;
use crate::memory::{Memory, place};
use crate::types::change::{Change, Side};
use crate::types::id::Ref;
use crate::types::schema::{Property, Schema, Type};
use crate::types::value::{Kind, Properties, Value, find_property, write_properties};
use crate::writer::PendingWrite;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest name of a type or property. Each stands many times in the schema of those who ask; names that were given before
/// there was a limit stay.
pub const NAME_BYTES_MAX: usize = 1024;
/// Longest key.
pub const KEY_BYTES_MAX: usize = 64 * 1024;
/// All properties of one node or relationship together, as they are kept.
pub const PROPERTIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A node with more relationships goes at once, and they go after it, some at a time.
const DROPPED_WITH_NODE_MAX: u64 = 1024;

/// Properties as they come in, by name.
pub type Given<'a> = &'a [(&'a str, Value<'a>)];

/// What becomes of the properties that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All go.
    Nothing,
    /// Those that are not given stay.
    Others,
}

/// A write in progress; later operations see what earlier ones did.
pub struct Write<'a> {
    memory: Arc<Memory>,
    /// As it is after the changes so far.
    pub(crate) schema: Arc<Schema>,
    pending: PendingWrite<'a>,
}

impl std::fmt::Debug for Write<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Write")
    }
}

impl<'a> Write<'a> {
    pub(crate) fn new(pending: PendingWrite<'a>) -> Self {
        let memory = pending.memory();
        Self { schema: memory.schema.load_full(), memory, pending }
    }

    fn change(&mut self, change: &Change<'_>) {
        self.pending.change(&self.memory, change);
        if change.is_of_schema() {
            self.schema = self.memory.schema.load_full();
        }
    }

    /// Makes changes, all or none of them; what this write has done before stays done.
    ///
    /// # Errors
    /// What `operate` returns; nothing of it is left then.
    pub fn attempt<T, E>(&mut self, operate: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        let before = self.pending.position();
        let result = operate(self);
        if result.is_err() {
            self.pending.take_back_to(before);
            self.memory = self.pending.memory();
            self.schema = self.memory.schema.load_full();
        }
        result
    }

    // ---- types

    /// The number of the type, which is made where there is none.
    pub fn make_type(&mut self, side: Side, name: &str) -> Result<u16, Refusal> {
        if let Some(number) = self.number(side, name) {
            return Ok(number);
        }
        check_length("type's name", name, NAME_BYTES_MAX)?;
        let limit = crate::types::schema::TYPES_MAX as u64;
        let next = self.schema.side(side).next_number();
        let number = next.ok_or(Refusal::TooMany { what: "types", limit })?;
        self.change(&Change::Type { side, number, name });
        Ok(number)
    }

    pub fn drop_type(&mut self, side: Side, name: &str) -> Result<(), Refusal> {
        let number = self.number(side, name).ok_or(Refusal::NoType)?;
        match self.memory.living(side, number) {
            0 => {
                // One by one, so that a type that is taken back has them again.
                let of = self.of(side, number)?;
                for property in of.properties.values() {
                    self.drop_property(side, number, *property);
                }
                self.change(&Change::DropType { side, number });
                Ok(())
            }
            count => Err(Refusal::TypeInUse { count }),
        }
    }

    /// Does nothing where it is declared so already.
    pub fn declare(&mut self, side: Side, of: &str, name: &str, kind: Kind) -> Result<(), Refusal> {
        let of_number = self.number(side, of).ok_or(Refusal::NoType)?;
        let of = self.of(side, of_number)?;
        if let Some(property) = of.properties.get(name) {
            let declared = property.kind;
            return if declared == kind {
                Ok(())
            } else {
                Err(Refusal::OtherKind { declared: declared.name(), asked: kind.name() })
            };
        }
        check_length("property's name", name, NAME_BYTES_MAX)?;
        let limit = crate::types::schema::PROPERTIES_MAX as u64;
        let number = of.next_property().ok_or(Refusal::TooMany { what: "properties", limit })?;
        self.change(&Change::Property { side, of: of_number, number, name, kind });
        Ok(())
    }

    pub fn undeclare(&mut self, side: Side, of: &str, name: &str) -> Result<(), Refusal> {
        let (of, property) = self.property(side, of, name)?;
        self.drop_property(side, of, property);
        Ok(())
    }

    /// With its index: a change that is taken back brings both again.
    fn drop_property(&mut self, side: Side, of: u16, property: Property) {
        let number = property.number;
        if property.is_indexed {
            self.change(&Change::DropIndex { side, of, number });
        }
        self.change(&Change::DropProperty { side, of, number });
    }

    /// Has conditions on a property looked up instead of held against each node or relationship of the type; it is kept up from then
    /// on. Does nothing where there is one. Writers wait until it is made: where there may be many,
    /// `Store::make_index` makes it beside them.
    pub fn index(&mut self, side: Side, of: &str, name: &str) -> Result<(), Refusal> {
        let (of, property) = self.property(side, of, name)?;
        if !PropertyIndex::can_have(property.kind) {
            return Err(Refusal::NotIndexable { kind: property.kind.name() });
        }
        if !property.is_indexed {
            self.change(&Change::Index { side, of, number: property.number });
        }
        Ok(())
    }

    /// As [`Self::index`], with an index that has all already.
    pub(crate) fn index_with(&mut self, side: Side, (of, number): (u16, u16), index: Arc<PropertyIndex>) {
        self.pending.state().made_index = Some(((side, of, number), index));
        self.change(&Change::Index { side, of, number });
    }

    /// Does nothing where there is none.
    pub fn unindex(&mut self, side: Side, of: &str, name: &str) -> Result<(), Refusal> {
        let (of, property) = self.property(side, of, name)?;
        if property.is_indexed {
            self.change(&Change::DropIndex { side, of, number: property.number });
        }
        Ok(())
    }

    pub(crate) fn property(&self, side: Side, of: &str, name: &str) -> Result<(u16, Property), Refusal> {
        let number = self.number(side, of).ok_or(Refusal::NoType)?;
        let property = self.of(side, number)?.properties.get(name).copied().ok_or(Refusal::NoProperty)?;
        Ok((number, property))
    }

    /// Nothing is left, types included.
    pub fn clear(&mut self) {
        self.memory = self.pending.clear();
        self.schema = self.memory.schema.load_full();
    }

    // ---- nodes

    /// Its type is made where there is none; properties that are not declared are left out.
    pub fn create_node(&mut self, type_name: &str, key: &str, given: Given<'_>) -> Result<Ref, Refusal> {
        check_length("key", key, KEY_BYTES_MAX)?;
        let number = self.make_type(Side::Nodes, type_name)?;
        let of = self.type_of(Side::Nodes, number)?;
        let guard = crossbeam_epoch::pin();
        let place = place(&of.name, key);
        if self.memory.find_at((number, place), key, &guard).is_some() {
            return Err(Refusal::KeyExists { type_name: type_name.to_owned() });
        }
        let properties = encode(of, given, &[])?;
        let (_, shard) = place;
        let free = self.memory.free_node(number, shard, self.pending.state(), &guard);
        let at =
            free.ok_or(Refusal::TooMany { what: "nodes", limit: u64::from(crate::types::id::INDEX_MAX) })?;
        self.change(&Change::PutNode { at, key, properties: &properties });
        Ok(at)
    }

    /// With all its relationships, which nobody who reads sees any more. Where they are very many, others cannot have their ids before they
    /// are detached (`Store::detached`), and are counted until then.
    pub fn delete_node(&mut self, at: Ref) -> Result<(), Refusal> {
        let guard = crossbeam_epoch::pin();
        self.memory.node(at, &guard).ok_or(Refusal::NoNode)?;
        let both = [Direction::Outgoing, Direction::Incoming];
        if both.map(|of| self.memory.degree(at, of, None, &guard)).iter().sum::<u64>() > DROPPED_WITH_NODE_MAX
        {
            self.change(&Change::DropNode { at });
            return Ok(());
        }
        let mut relationships = Vec::new();
        self.memory.links_of(at, None, &guard, |link| relationships.push(link.relationship));
        drop(guard);
        // A loop is there twice; the second time there is nothing to drop.
        relationships.sort_unstable();
        relationships.dedup();
        for at in relationships {
            self.change(&Change::DropRelationship { at });
        }
        self.change(&Change::DropNode { at });
        Ok(())
    }

    pub fn set_node(&mut self, at: Ref, given: Given<'_>, keep: Keep) -> Result<(), Refusal> {
        let memory = Arc::clone(&self.memory);
        let guard = crossbeam_epoch::pin();
        let (key, present) = memory.node(at, &guard).ok_or(Refusal::NoNode)?;
        let of = self.of(Side::Nodes, at.type_number())?;
        let properties = encode(&of, given, kept(keep, present))?;
        self.change(&Change::PutNode { at, key, properties: &properties });
        Ok(())
    }

    pub fn remove_node_property(&mut self, at: Ref, name: &str) -> Result<(), Refusal> {
        let memory = Arc::clone(&self.memory);
        let guard = crossbeam_epoch::pin();
        let (key, present) = memory.node(at, &guard).ok_or(Refusal::NoNode)?;
        let of = self.of(Side::Nodes, at.type_number())?;
        let properties = without(&of, present, name)?;
        self.change(&Change::PutNode { at, key, properties: &properties });
        Ok(())
    }

    // ---- relationships

    /// Its type is made where there is none. Parallel ones and loops are allowed.
    pub fn create_relationship(
        &mut self,
        type_name: &str,
        from: Ref,
        to: Ref,
        given: Given<'_>,
    ) -> Result<Ref, Refusal> {
        let guard = crossbeam_epoch::pin();
        if ![from, to].iter().all(|node| self.memory.has_node(*node, &guard)) {
            return Err(Refusal::NoNode);
        }
        let number = self.make_type(Side::Relationships, type_name)?;
        let properties = encode(self.type_of(Side::Relationships, number)?, given, &[])?;
        let free = self.memory.free_relationship(number, from.shard(), self.pending.state(), &guard);
        let limit = u64::from(crate::types::id::INDEX_MAX);
        let at = free.ok_or(Refusal::TooMany { what: "relationships", limit })?;
        self.change(&Change::PutRelationship { at, from, to, properties: &properties });
        Ok(at)
    }

    pub fn delete_relationship(&mut self, at: Ref) -> Result<(), Refusal> {
        let guard = crossbeam_epoch::pin();
        self.memory.shown_relationship(at, &guard).ok_or(Refusal::NoRelationship)?;
        self.change(&Change::DropRelationship { at });
        Ok(())
    }

    pub fn set_relationship(&mut self, at: Ref, given: Given<'_>, keep: Keep) -> Result<(), Refusal> {
        let memory = Arc::clone(&self.memory);
        let guard = crossbeam_epoch::pin();
        let present = memory.shown_relationship(at, &guard).ok_or(Refusal::NoRelationship)?;
        let of = self.of(Side::Relationships, at.type_number())?;
        let properties = encode(&of, given, kept(keep, present.properties))?;
        self.change(&Change::PutRelationship {
            at,
            from: present.from,
            to: present.to,
            properties: &properties,
        });
        Ok(())
    }

    pub fn remove_relationship_property(&mut self, at: Ref, name: &str) -> Result<(), Refusal> {
        let memory = Arc::clone(&self.memory);
        let guard = crossbeam_epoch::pin();
        let present = memory.shown_relationship(at, &guard).ok_or(Refusal::NoRelationship)?;
        let of = self.of(Side::Relationships, at.type_number())?;
        let properties = without(&of, present.properties, name)?;
        self.change(&Change::PutRelationship {
            at,
            from: present.from,
            to: present.to,
            properties: &properties,
        });
        Ok(())
    }

    // ---- looking

    /// The node with a key; sees what this write has done.
    pub fn find(&self, type_name: &str, key: &str) -> Option<Ref> {
        let (number, of) = self.schema.side(Side::Nodes).find(type_name)?;
        self.memory.find(of, number, key, &crossbeam_epoch::pin())
    }

    /// Relationships at a node in one direction.
    pub fn degree(&self, node: Ref, direction: Direction) -> u64 {
        self.memory.shown_degree(node, direction, None, &crossbeam_epoch::pin())
    }

    fn number(&self, side: Side, name: &str) -> Option<u16> {
        self.schema.side(side).number(name)
    }

    fn type_of(&self, side: Side, number: u16) -> Result<&Arc<Type>, Refusal> {
        self.schema.side(side).get(number).ok_or(Refusal::NoType)
    }

    /// To keep while it is changed.
    fn of(&self, side: Side, number: u16) -> Result<Arc<Type>, Refusal> {
        self.type_of(side, number).cloned()
    }
}

fn check_length(what: &'static str, text: &str, limit: usize) -> Result<(), Refusal> {
    let bytes = text.len();
    if bytes > limit { Err(Refusal::TooLong { what, bytes, limit }) } else { Ok(()) }
}

const fn kept(keep: Keep, present: &[u8]) -> &[u8] {
    match keep {
        Keep::Nothing => &[],
        Keep::Others => present,
    }
}

/// The given properties that are declared, and of the present ones those that are not given, sorted by name.
fn encode(of: &Type, given: Given<'_>, present: &[u8]) -> Result<Vec<u8>, Refusal> {
    if given.is_empty() && present.is_empty() {
        return Ok(Vec::new());
    }
    // The last of a name counts. Not one by one against all others: who sends them chooses how many there are.
    let mut properties: BTreeMap<&str, (Property, Value<'_>)> = BTreeMap::new();
    for (number, value) in Properties::new(present) {
        if let Some((name, kind)) = of.property(number) {
            properties.insert(name, (Property { number, kind, is_indexed: false }, value));
        }
    }
    for (name, value) in given {
        if let Some(property) = of.properties.get(*name) {
            properties.insert(name, (*property, value.clone()));
        }
    }
    let mut fitting = Vec::with_capacity(properties.len());
    for (name, (property, value)) in properties {
        let declared = property.kind.name();
        let refusal = || Refusal::NotOfKind { property: name.to_owned(), declared };
        fitting.push((property.number, value.fit(property.kind).ok_or_else(refusal)?));
    }
    write(&fitting)
}

fn without(of: &Type, present: &[u8], name: &str) -> Result<Vec<u8>, Refusal> {
    let number = of.properties.get(name).ok_or(Refusal::NoProperty)?.number;
    find_property(present, number).ok_or(Refusal::NoProperty)?;
    let rest: Vec<_> = Properties::new(present).filter(|(of, _)| *of != number).collect();
    let mut bytes = Vec::new();
    write_properties(&rest, &mut bytes);
    Ok(bytes)
}

/// They are sorted by name.
fn write(properties: &[(u16, Value<'_>)]) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    write_properties(properties, &mut bytes);
    if bytes.len() > PROPERTIES_BYTES_MAX {
        let (what, limit) = ("set of properties", PROPERTIES_BYTES_MAX);
        return Err(Refusal::TooLong { what, bytes: bytes.len(), limit });
    }
    Ok(bytes)
}
