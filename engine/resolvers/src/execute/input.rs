//! Arguments as serde reads them: values of the document and of the variables, without a tree between.

use prony_graphql::{
    selection::{Slot, Value},
    variables::Variables,
};
use serde::{
    de::{
        self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
        VariantAccess, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_json::Value as Json;

/// One value with its variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    value: &'a Value,
    variables: &'a Variables,
}

type Error = serde_json::Error;

impl<'a> Input<'a> {
    pub(crate) fn new(value: &'a Value, variables: &'a Variables) -> Self {
        Self { value, variables }
    }

    pub(crate) fn variables(self) -> &'a Variables {
        self.variables
    }

    fn with(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    fn slot(self, slot: &Slot) -> &'a Json {
        self.variables.get(slot).unwrap_or(&Json::Null)
    }

    /// The JSON that the value is already.
    fn json(self) -> Option<&'a Json> {
        match self.value {
            Value::Scalar(json) => Some(json),
            Value::Slot(slot) => Some(self.slot(slot)),
            _ => None,
        }
    }
}

impl<'a> Deserializer<'a> for Input<'a> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Enum(name) => visitor.visit_str(name),
            Value::Scalar(json) => json.deserialize_any(visitor),
            Value::Slot(slot) => self.slot(slot).deserialize_any(visitor),
            Value::List(items) => visitor.visit_seq(InputItems { input: self, items: items.iter() }),
            Value::Object(entries) => {
                visitor.visit_map(Entries { input: self, left: entries.iter(), value: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            Value::Slot(slot) if self.slot(slot).is_null() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Functions without arguments take `()`.
    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(_) | Value::Null => visitor.visit_unit(),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if let Value::Enum(label) = self.value {
            return visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(label.as_str()));
        }
        match (self.json(), self.value) {
            (Some(json), _) => json.deserialize_enum(name, variants, visitor),
            (None, Value::Object(entries)) if entries.len() == 1 => {
                visitor.visit_enum(Variant { name: entries[0].0.as_str(), input: self.with(&entries[0].1) })
            }
            _ => Err(de::Error::custom(format_args!("expected one of {variants:?}"))),
        }
    }

    forward_to_deserialize_any! {
        <W: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct InputItems<'a> {
    input: Input<'a>,
    items: std::slice::Iter<'a, Value>,
}

impl<'a> SeqAccess<'a> for InputItems<'a> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.items.next().map(|item| seed.deserialize(self.input.with(item))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'a> {
    input: Input<'a>,
    left: std::slice::Iter<'a, (prony_graphql::Name, Value)>,
    value: Option<&'a Value>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(value);
        let key: StrDeserializer<'_, Error> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.value.take().expect("serde asks for a key first");
        seed.deserialize(self.input.with(value))
    }
}

/// `{ name: value }` as an enum of Rust.
struct Variant<'a> {
    name: &'a str,
    input: Input<'a>,
}

impl<'a> EnumAccess<'a> for Variant<'a> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'_, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'a> VariantAccess<'a> for Variant<'a> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        de::Deserialize::deserialize(self.input)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.input)
    }

    fn tuple_variant<V: Visitor<'a>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.input.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.input.deserialize_any(visitor)
    }
}
