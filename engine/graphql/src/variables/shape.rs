//! The shape of variables: what of their values may change the text of a statement.
//!
//! Into it go presence and nullness, the keys of input objects in their order, the lengths of lists of input
//! objects, enum values and booleans. A scalar, or a list of scalars, counts only as present.

use apollo_compiler::{
    ast::Type,
    schema::{ExtendedType, InputObjectType},
};
use serde_json::{Map, Value as Json};

use crate::{schema::Schema, variables::scalar::Scalar};

/// Shapes up to so many bytes need no allocation: a dozen scalar variables, or a filter of two columns.
const INLINE_BYTES: usize = 31;

/// Opaque bytes, equal for variables that one plan answers. They mean something only together with the
/// operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape {
    length: u8,
    inline: [u8; INLINE_BYTES],
    /// What does not fit inline.
    spilled: Vec<u8>,
}

impl Shape {
    pub fn len(&self) -> usize {
        usize::from(self.length) + self.spilled.len()
    }

    /// True for operations without variables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push(&mut self, byte: u8) {
        if usize::from(self.length) < INLINE_BYTES {
            self.inline[usize::from(self.length)] = byte;
            self.length += 1;
        } else {
            self.spilled.push(byte);
        }
    }
}

/// First byte of each value; what follows is given by the type, so that no two shapes read alike.
#[repr(u8)]
enum Tag {
    Absent,
    Null,
    /// A scalar or a list of scalars.
    Present,
    False,
    True,
    /// Then its index.
    Enum,
    /// Then the count of entries; each is the index of its field and its value.
    Object,
    /// Then the count of items, and the items.
    List,
}

pub(crate) struct ShapeWriter<'a> {
    schema: &'a Schema,
    shape: Shape,
    max_bytes: usize,
}

impl<'a> ShapeWriter<'a> {
    pub(crate) fn new(schema: &'a Schema, max_bytes: usize) -> Self {
        Self { schema, shape: Shape::default(), max_bytes }
    }

    /// Writes coerced variables in the order of their definitions.
    pub(crate) fn variable(&mut self, ty: &Type, value: Option<&Json>) {
        match value {
            None => self.tag(Tag::Absent),
            Some(value) => self.value(ty, value),
        }
    }

    /// None where the shape is larger than allowed.
    pub(crate) fn finish(self) -> Option<Shape> {
        (self.shape.len() <= self.max_bytes).then_some(self.shape)
    }

    fn tag(&mut self, tag: Tag) {
        self.shape.push(tag as u8);
    }

    fn count(&mut self, count: usize) {
        (count as u32).to_le_bytes().into_iter().for_each(|byte| self.shape.push(byte));
    }

    fn index(&mut self, index: Option<usize>) {
        // Coerced values have known keys and labels.
        let index = index.map_or(u16::MAX, |index| index as u16);
        index.to_le_bytes().into_iter().for_each(|byte| self.shape.push(byte));
    }

    fn value(&mut self, ty: &Type, value: &Json) {
        if self.shape.len() > self.max_bytes {
            return;
        }
        let schema = self.schema;
        let named = ty.inner_named_type();
        let scalar = Scalar::of(named);
        if scalar.is_specified() && scalar != Scalar::Boolean {
            return self.tag(if value.is_null() { Tag::Null } else { Tag::Present });
        }
        match (value, schema.valid().types.get(named)) {
            (Json::Null, _) => self.tag(Tag::Null),
            (_, Some(ExtendedType::Scalar(_))) if scalar != Scalar::Boolean => self.tag(Tag::Present),
            (Json::Array(items), _) => {
                self.tag(Tag::List);
                self.count(items.len());
                for item in items {
                    self.value(ty.item_type(), item);
                }
            }
            (Json::Bool(value), _) => self.tag(if *value { Tag::True } else { Tag::False }),
            (Json::String(label), Some(ExtendedType::Enum(definition))) => {
                self.tag(Tag::Enum);
                self.index(definition.values.get_index_of(label.as_str()));
            }
            (Json::Object(entries), Some(ExtendedType::InputObject(object))) => self.object(object, entries),
            _ => self.tag(Tag::Present),
        }
    }

    fn object(&mut self, object: &InputObjectType, entries: &Map<String, Json>) {
        self.tag(Tag::Object);
        self.index(Some(entries.len()));
        for (key, entry) in entries {
            if let Some((index, _, definition)) = object.fields.get_full(key.as_str()) {
                self.index(Some(index));
                self.value(&definition.ty, entry);
            }
        }
    }
}
