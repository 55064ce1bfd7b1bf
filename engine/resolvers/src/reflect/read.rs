//! Reading a type from nothing: each value that it asks for is made up, and what it asks is noted.

use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess,
        SeqAccess, VariantAccess, Visitor, value::Error,
    },
    forward_to_deserialize_any,
};

use crate::reflect::{Kind, Look, Member};

/// Types deeper than this refer to themselves.
const MAX_DEPTH: usize = 12;

/// What a type of arguments reads; none where it takes no made-up values.
pub(crate) fn arguments<A: DeserializeOwned>() -> Option<Look> {
    let rust = std::any::type_name::<A>();
    match read::<A>()?.1 {
        Kind::Members(members) => Some(Look { rust, members }),
        Kind::Unknown => Some(Look { rust, members: Vec::new() }),
        _ => None,
    }
}

/// A made-up value and its kind.
pub(super) fn read<T: DeserializeOwned>() -> Option<(T, Kind)> {
    let (value, mut kind) = read_without(None)?;
    note_optional_members::<T>(&mut kind);
    Some((value, kind))
}

/// Tries each member of the outermost struct: what can be read without it does not need it.
fn note_optional_members<T: DeserializeOwned>(kind: &mut Kind) {
    let Kind::Members(members) = kind else { return };
    for member in members {
        member.may_be_left_out = read_without::<T>(Some(&member.name)).is_some();
    }
}

fn read_without<T: DeserializeOwned>(left_out: Option<&str>) -> Option<(T, Kind)> {
    let mut kind = Kind::Unknown;
    let value = T::deserialize(Reader { kind: &mut kind, left_out, depth: 0 }).ok()?;
    Some((value, kind))
}

struct Reader<'k> {
    kind: &'k mut Kind,
    /// Of the outermost struct.
    left_out: Option<&'k str>,
    depth: usize,
}

impl Reader<'_> {
    fn below(kind: &mut Kind, depth: usize) -> Reader<'_> {
        Reader { kind, left_out: None, depth: depth + 1 }
    }
}

macro_rules! made_up {
    ($($method:ident, $visit:ident($($value:expr)?) => $kind:ident;)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            *self.kind = Kind::$kind;
            visitor.$visit($($value)?)
        }
    )+ };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Error;

    made_up! {
        deserialize_bool, visit_bool(false) => Boolean;
        deserialize_i8, visit_i8(0) => Integer;
        deserialize_i16, visit_i16(0) => Integer;
        deserialize_i32, visit_i32(0) => Integer;
        deserialize_i64, visit_i64(0) => Integer;
        deserialize_u8, visit_u8(0) => Integer;
        deserialize_u16, visit_u16(0) => Integer;
        deserialize_u32, visit_u32(0) => Integer;
        deserialize_u64, visit_u64(0) => Integer;
        deserialize_f32, visit_f32(0.0) => Float;
        deserialize_f64, visit_f64(0.0) => Float;
        deserialize_char, visit_char('a') => Text;
        deserialize_str, visit_str("") => Text;
        deserialize_string, visit_str("") => Text;
        deserialize_unit, visit_unit() => Unknown;
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("the type takes anything, which tells nothing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inner = Kind::Unknown;
        let value = if self.depth < MAX_DEPTH {
            visitor.visit_some(Self::below(&mut inner, self.depth))
        } else {
            visitor.visit_none()
        };
        *self.kind = Kind::Optional(Box::new(inner));
        value
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inner = Kind::Unknown;
        let left = usize::from(self.depth < MAX_DEPTH);
        let value = visitor.visit_seq(Elements { kind: &mut inner, left, depth: self.depth });
        *self.kind = Kind::List(Box::new(inner));
        value
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        let mut inner = Kind::Unknown;
        let value = visitor.visit_seq(Elements { kind: &mut inner, left: length, depth: self.depth });
        *self.kind = Kind::List(Box::new(inner));
        value
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.kind = Kind::Map;
        visitor.visit_map(MembersReader::none(self.depth))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut members = MembersReader {
            fields: fields.iter(),
            left_out: self.left_out,
            ..MembersReader::none(self.depth)
        };
        let value = visitor.visit_map(&mut members);
        *self.kind = Kind::Members(members.seen);
        value
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.kind = Kind::Label(variants.iter().map(|&variant| variant.to_owned()).collect());
        let first = variants.first().ok_or_else(|| Error::custom("an enum without variants"))?;
        visitor.visit_enum(First { name: first, depth: self.depth })
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf identifier ignored_any }
}

struct Elements<'k> {
    kind: &'k mut Kind,
    left: usize,
    depth: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(Reader::below(self.kind, self.depth)).map(Some)
    }
}

struct MembersReader<'k> {
    fields: std::slice::Iter<'static, &'static str>,
    left_out: Option<&'k str>,
    current: &'static str,
    seen: Vec<Member>,
    depth: usize,
}

impl MembersReader<'_> {
    fn none(depth: usize) -> Self {
        Self { fields: [].iter(), left_out: None, current: "", seen: Vec::new(), depth }
    }
}

impl<'de> MapAccess<'de> for MembersReader<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let left_out = self.left_out;
        let Some(&name) = self.fields.find(|name| Some(**name) != left_out) else { return Ok(None) };
        self.current = name;
        let name: serde::de::value::StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut kind = Kind::Unknown;
        let value = seed.deserialize(Reader::below(&mut kind, self.depth));
        self.seen.push(Member { name: self.current.to_owned(), kind, may_be_left_out: false });
        value
    }
}

/// The first variant of an enum, whatever it holds.
struct First {
    name: &'static str,
    depth: usize,
}

impl<'de> EnumAccess<'de> for First {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: serde::de::value::StrDeserializer<'_, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for First {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Reader::below(&mut Kind::Unknown, self.depth))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        Reader::below(&mut Kind::Unknown, self.depth).deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        Reader::below(&mut Kind::Unknown, self.depth).deserialize_struct("", fields, visitor)
    }
}
