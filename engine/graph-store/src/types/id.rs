//! Names of nodes and relationships: ids as clients see them, and the compact form in which they are kept.
//!
//! `id = (((index << 16) + type) << 10) + shard` with 4 virtual shards, whatever the number of processors: the identity
//! of `RageDB`, so that its clients keep working.

use std::fmt;

/// Virtual shards, a part of each id.
pub const SHARDS: usize = 4;
/// The bits of an id that name the shard; only two of them are used.
const SHARD_BITS: u32 = 10;
const TYPE_BITS: u32 = 16;
/// Slots of one type in one shard. More would not fit into memory.
pub(crate) const INDEX_MAX: u32 = u32::MAX - 1;

/// A node or a relationship: its type, its shard and its place among those of both.
///
/// Kept in 50 bits (shard, then index, then type), so that what refers to it has 14 bits to spare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ref(u64);

impl Ref {
    /// Refers to nothing.
    pub(crate) const NONE: Self = Self((1 << Self::BITS) - 1);
    pub(crate) const BITS: u32 = 50;

    pub const fn new(type_number: u16, shard: u8, index: u32) -> Self {
        debug_assert!((shard as usize) < SHARDS && index <= INDEX_MAX);
        Self((type_number as u64) << 34 | (index as u64) << 2 | shard as u64)
    }

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::NONE.0)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Types are numbered from 1 in order of creation.
    pub const fn type_number(self) -> u16 {
        (self.0 >> 34) as u16
    }

    pub const fn shard(self) -> u8 {
        (self.0 & 3) as u8
    }

    pub const fn index(self) -> u32 {
        (self.0 >> 2) as u32
    }

    /// As clients see it.
    pub const fn id(self) -> u64 {
        (((self.index() as u64) << TYPE_BITS) + self.type_number() as u64) << SHARD_BITS | self.shard() as u64
    }

    /// What an id names; none where no node or relationship can have it.
    pub fn from_id(id: u64) -> Option<Self> {
        let shard = id & ((1 << SHARD_BITS) - 1);
        let index = u32::try_from(id >> (SHARD_BITS + TYPE_BITS)).ok().filter(|index| *index <= INDEX_MAX)?;
        (shard < SHARDS as u64).then(|| Self::new((id >> SHARD_BITS) as u16, shard as u8, index))
    }
}

impl fmt::Debug for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.write_str("none");
        }
        write!(f, "{}:{}.{}", self.type_number(), self.shard(), self.index())
    }
}

/// The virtual shard of a node: the two highest bits of the hash of `TYPE-KEY`.
pub fn shard_of(type_name: &str, key: &str) -> u8 {
    (hash_of_key(type_name, key) >> 62) as u8
}

/// The hash of `TYPE-KEY`.
pub(crate) fn hash_of_key(type_name: &str, key: &str) -> u64 {
    /// Nearly all are shorter: they need no memory of their own.
    const SHORT: usize = 128;
    let length = type_name.len() + 1 + key.len();
    let (mut short, mut long) = ([0; SHORT], Vec::new());
    let text = if length <= SHORT {
        &mut short[..length]
    } else {
        long.resize(length, 0);
        &mut long[..]
    };
    text[..type_name.len()].copy_from_slice(type_name.as_bytes());
    text[type_name.len()] = b'-';
    text[type_name.len() + 1..].copy_from_slice(key.as_bytes());
    hash(text)
}

/// 64-bit `MurmurHashUnaligned2`, as libstdc++ hashes strings.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0xc70f_6907;
    const MULTIPLIER: u64 = (0xc6a4_a793 << 32) + 0x5bd1_e995;
    let mix = |value: u64| value ^ (value >> 47);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for chunk in words {
        let data = mix(u64::from_le_bytes(*chunk).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ data).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        hash = (hash ^ word(rest)).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_nodes_have_their_shards_and_ids() {
        let first = |type_name: &str, number, key| Ref::new(number, shard_of(type_name, key), 0).id();
        assert_eq!((first("User", 1, "Helene"), first("User", 1, "Max")), (1026, 1027));
        assert_eq!((shard_of("Person", "Helene"), first("User", 2, "Helene")), (2, 2050));
        for length in [0, 1, 122, 123, 124, 1000] {
            let key = "k".repeat(length);
            assert_eq!(hash_of_key("User", &key), hash(format!("User-{key}").as_bytes()), "{length}");
        }
    }

    #[test]
    fn ids_name_what_they_were_made_of() {
        for (type_number, shard, index) in [(1, 0, 0), (65_535, 3, INDEX_MAX), (9, 2, 123_456_789)] {
            let name = Ref::new(type_number, shard, index);
            assert_eq!((name.type_number(), name.shard(), name.index()), (type_number, shard, index));
            assert_eq!(Ref::from_id(name.id()), Some(name));
            assert_eq!(Ref::from_bits(name.bits() | 1 << 63), name);
            assert_ne!(name, Ref::NONE);
        }
        // The fifth shard, and an index beyond all memory.
        assert_eq!((Ref::from_id(1024 + 4), Ref::from_id(u64::MAX - 1020)), (None, None));
    }
}
