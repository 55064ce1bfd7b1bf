//! What the log and snapshots are made of: one physical change of the graph each, with its bytes.
//!
//! A change says what a slot holds afterwards, not how it came to that: to make it twice is to make it once. So a
//! snapshot that is written while the graph changes becomes right when the log that goes with it is read after it.

use crate::types::id::Ref;
use crate::types::value::Kind;
use prony_log::codec::{Damage, Input, put_bytes};

/// Nodes and relationships have types of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Nodes,
    Relationships,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    Type {
        side: Side,
        number: u16,
        name: &'a str,
    },
    DropType {
        side: Side,
        number: u16,
    },
    Property {
        side: Side,
        of: u16,
        number: u16,
        name: &'a str,
        kind: Kind,
    },
    DropProperty {
        side: Side,
        of: u16,
        number: u16,
    },
    /// The property has an index from now on.
    Index {
        side: Side,
        of: u16,
        number: u16,
    },
    DropIndex {
        side: Side,
        of: u16,
        number: u16,
    },
    /// A new node, or the new properties of one.
    PutNode {
        at: Ref,
        key: &'a str,
        properties: &'a [u8],
    },
    /// Its relationships were dropped before.
    DropNode {
        at: Ref,
    },
    /// A new relationship, or the new properties of one.
    PutRelationship {
        at: Ref,
        from: Ref,
        to: Ref,
        properties: &'a [u8],
    },
    DropRelationship {
        at: Ref,
    },
    /// Nothing is left, types included.
    Clear,
}

impl<'a> Change<'a> {
    pub(crate) const fn is_of_schema(&self) -> bool {
        match self {
            Self::Type { .. }
            | Self::DropType { .. }
            | Self::Property { .. }
            | Self::DropProperty { .. }
            | Self::Index { .. }
            | Self::DropIndex { .. }
            | Self::Clear => true,
            Self::PutNode { .. }
            | Self::DropNode { .. }
            | Self::PutRelationship { .. }
            | Self::DropRelationship { .. } => false,
        }
    }

    /// Whether less is there afterwards.
    pub(crate) const fn is_removal(&self) -> bool {
        match self {
            Self::DropType { .. }
            | Self::DropProperty { .. }
            | Self::DropIndex { .. }
            | Self::DropNode { .. }
            | Self::DropRelationship { .. }
            | Self::Clear => true,
            Self::Type { .. }
            | Self::Property { .. }
            | Self::Index { .. }
            | Self::PutNode { .. }
            | Self::PutRelationship { .. } => false,
        }
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Type { side, number, name } => {
                head(to, 1, side);
                to.extend_from_slice(&number.to_le_bytes());
                put_bytes(to, name.as_bytes());
            }
            Self::DropType { side, number } => {
                head(to, 2, side);
                to.extend_from_slice(&number.to_le_bytes());
            }
            Self::Property { side, of, number, name, kind } => {
                head(to, 3, side);
                to.extend_from_slice(&of.to_le_bytes());
                to.extend_from_slice(&number.to_le_bytes());
                to.push(kind.code());
                put_bytes(to, name.as_bytes());
            }
            Self::DropProperty { side, of, number } => put_property(to, 4, side, of, number),
            Self::Index { side, of, number } => put_property(to, 8, side, of, number),
            Self::DropIndex { side, of, number } => put_property(to, 9, side, of, number),
            Self::PutNode { at, key, properties } => {
                head(to, 5, Side::Nodes);
                put_ref(to, at);
                put_bytes(to, key.as_bytes());
                put_bytes(to, properties);
            }
            Self::DropNode { at } => {
                head(to, 6, Side::Nodes);
                put_ref(to, at);
            }
            Self::PutRelationship { at, from, to: end, properties } => {
                head(to, 5, Side::Relationships);
                put_ref(to, at);
                put_ref(to, from);
                put_ref(to, end);
                put_bytes(to, properties);
            }
            Self::DropRelationship { at } => {
                head(to, 6, Side::Relationships);
                put_ref(to, at);
            }
            Self::Clear => to.push(7 << 1),
        }
    }

    pub(crate) fn read(from: &mut Input<'a>) -> Result<Self, Damage> {
        let first = from.byte()?;
        let side = if first & 1 == 0 { Side::Nodes } else { Side::Relationships };
        let read_type = |from: &mut Input<'a>| match from.u16()? {
            0 => Err(Damage("a type has the number 0")),
            number => Ok(number),
        };
        Ok(match (first >> 1, side) {
            (1, _) => Self::Type { side, number: read_type(from)?, name: from.text()? },
            (2, _) => Self::DropType { side, number: read_type(from)? },
            (3, _) => {
                let (of, number) = (read_type(from)?, from.u16()?);
                Self::Property { side, of, number, kind: Kind::from_code(from.byte()?)?, name: from.text()? }
            }
            (4, _) => Self::DropProperty { side, of: read_type(from)?, number: from.u16()? },
            (5, Side::Nodes) => {
                Self::PutNode { at: read_ref(from)?, key: from.text()?, properties: from.bytes()? }
            }
            (5, Side::Relationships) => Self::PutRelationship {
                at: read_ref(from)?,
                from: read_ref(from)?,
                to: read_ref(from)?,
                properties: from.bytes()?,
            },
            (6, Side::Nodes) => Self::DropNode { at: read_ref(from)? },
            (6, Side::Relationships) => Self::DropRelationship { at: read_ref(from)? },
            (7, Side::Nodes) => Self::Clear,
            (8, _) => Self::Index { side, of: read_type(from)?, number: from.u16()? },
            (9, _) => Self::DropIndex { side, of: read_type(from)?, number: from.u16()? },
            _ => return Err(Damage("a change has a kind that does not exist")),
        })
    }
}

fn head(to: &mut Vec<u8>, code: u8, side: Side) {
    to.push(code << 1 | u8::from(side == Side::Relationships));
}

fn put_property(to: &mut Vec<u8>, code: u8, side: Side, of: u16, number: u16) {
    head(to, code, side);
    to.extend_from_slice(&of.to_le_bytes());
    to.extend_from_slice(&number.to_le_bytes());
}

/// 50 bits in seven bytes.
fn put_ref(to: &mut Vec<u8>, name: Ref) {
    to.extend_from_slice(&name.bits().to_le_bytes()[..7]);
}

fn read_ref(from: &mut Input<'_>) -> Result<Ref, Damage> {
    let mut bytes = [0; 8];
    bytes[..7].copy_from_slice(&from.array::<7>()?);
    let bits = u64::from_le_bytes(bytes);
    let name = Ref::from_bits(bits);
    if name.bits() != bits
        || name == Ref::NONE
        || name.index() > crate::types::id::INDEX_MAX
        || name.type_number() == 0
    {
        return Err(Damage("a node or relationship has a name that none can have"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let at = |number| Ref::new(number, 3, 1_000_000);
        let changes = [
            Change::Type { side: Side::Relationships, number: 65_535, name: "KNOWS" },
            Change::DropType { side: Side::Nodes, number: 1 },
            Change::Property { side: Side::Nodes, of: 2, number: 7, name: "age", kind: Kind::IntegerList },
            Change::DropProperty { side: Side::Relationships, of: 2, number: 7 },
            Change::Index { side: Side::Relationships, of: 2, number: 8 },
            Change::DropIndex { side: Side::Nodes, of: 2, number: 8 },
            Change::PutNode { at: at(1), key: "", properties: &[1, 2, 3] },
            Change::DropNode { at: at(2) },
            Change::PutRelationship { at: at(3), from: at(1), to: at(2), properties: &[] },
            Change::DropRelationship { at: at(4) },
            Change::Clear,
        ];
        let mut bytes = Vec::new();
        for change in &changes {
            change.write(&mut bytes);
        }
        let mut input = Input::new(&bytes);
        let read: Vec<_> = changes.iter().map(|_| Change::read(&mut input).unwrap()).collect();
        assert_eq!(read, changes);
        assert!(input.is_empty());
    }

    #[test]
    fn a_type_has_no_number_0() {
        for code in [1_u8, 2, 3, 4, 8, 9] {
            let bytes = [code << 1, 0, 0, 1, 0, 0, 0];
            assert!(Change::read(&mut Input::new(&bytes)).is_err(), "code {code}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut input = Input::new(&bytes);
            while !input.is_empty() && Change::read(&mut input).is_ok() {}
        }
    }
}
