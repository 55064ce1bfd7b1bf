//! The kind of a sample, from how it writes itself.

use serde::{
    Serialize, Serializer,
    ser::{self, Impossible},
};

use crate::reflect::{Kind, Member};

/// None where it does not write itself as JSON could hold it.
pub(crate) fn kind_of<T: Serialize + ?Sized>(sample: &T) -> Option<Kind> {
    sample.serialize(Noter).ok()
}

struct Noter;

#[derive(Debug)]
struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the sample refuses to be serialized")
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: std::fmt::Display>(_message: T) -> Self {
        Self
    }
}

macro_rules! plain {
    ($($method:ident($ty:ty) => $kind:ident;)+) => { $(
        fn $method(self, _value: $ty) -> Result<Kind, Refused> {
            Ok(Kind::$kind)
        }
    )+ };
}

impl Serializer for Noter {
    type Ok = Kind;
    type Error = Refused;
    type SerializeSeq = ItemsWriter;
    type SerializeTuple = ItemsWriter;
    type SerializeTupleStruct = ItemsWriter;
    type SerializeTupleVariant = Impossible<Kind, Refused>;
    type SerializeMap = MembersWriter;
    type SerializeStruct = MembersWriter;
    type SerializeStructVariant = Impossible<Kind, Refused>;

    plain! {
        serialize_bool(bool) => Boolean;
        serialize_i8(i8) => Integer;
        serialize_i16(i16) => Integer;
        serialize_i32(i32) => Integer;
        serialize_i64(i64) => Integer;
        serialize_u8(u8) => Integer;
        serialize_u16(u16) => Integer;
        serialize_u32(u32) => Integer;
        serialize_u64(u64) => Integer;
        serialize_f32(f32) => Float;
        serialize_f64(f64) => Float;
        serialize_char(char) => Text;
        serialize_str(&str) => Text;
        serialize_bytes(&[u8]) => Unknown;
    }

    fn serialize_none(self) -> Result<Kind, Refused> {
        Ok(Kind::Optional(Box::new(Kind::Unknown)))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Kind, Refused> {
        Ok(Kind::Optional(Box::new(value.serialize(Self)?)))
    }

    fn serialize_unit(self) -> Result<Kind, Refused> {
        Ok(Kind::Unknown)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Kind, Refused> {
        Ok(Kind::Members(Vec::new()))
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Kind, Refused> {
        Ok(Kind::Label(vec![variant.to_owned()]))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Kind, Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<Kind, Refused> {
        Ok(Kind::Unknown)
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<ItemsWriter, Refused> {
        Ok(ItemsWriter(Kind::Unknown))
    }

    fn serialize_tuple(self, _length: usize) -> Result<ItemsWriter, Refused> {
        Ok(ItemsWriter(Kind::Unknown))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<ItemsWriter, Refused> {
        Ok(ItemsWriter(Kind::Unknown))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, Refused> {
        Err(Refused)
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<MembersWriter, Refused> {
        Ok(MembersWriter::default())
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<MembersWriter, Refused> {
        Ok(MembersWriter::default())
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, Refused> {
        Err(Refused)
    }
}

/// The kind of the first item.
struct ItemsWriter(Kind);

impl ItemsWriter {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        if self.0 == Kind::Unknown {
            self.0 = value.serialize(Noter)?;
        }
        Ok(())
    }
}

macro_rules! items {
    ($($compound:ident::$method:ident),+) => { $(
        impl ser::$compound for ItemsWriter {
            type Ok = Kind;
            type Error = Refused;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
                self.item(value)
            }

            fn end(self) -> Result<Kind, Refused> {
                Ok(Kind::List(Box::new(self.0)))
            }
        }
    )+ };
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field
);

#[derive(Default)]
struct MembersWriter {
    seen: Vec<Member>,
    /// Of a map's entry.
    key: String,
}

impl MembersWriter {
    fn member<T: Serialize + ?Sized>(&mut self, name: String, value: &T) -> Result<(), Refused> {
        let kind = value.serialize(Noter)?;
        self.seen.push(Member { name, kind, may_be_left_out: false });
        Ok(())
    }
}

impl ser::SerializeStruct for MembersWriter {
    type Ok = Kind;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        self.member(key.to_owned(), value)
    }

    /// A member that may be skipped may still come.
    fn skip_field(&mut self, key: &'static str) -> Result<(), Refused> {
        self.member(key.to_owned(), &())
    }

    fn end(self) -> Result<Kind, Refused> {
        Ok(Kind::Members(self.seen))
    }
}

/// Maps are written by `flatten` too, whose members are known; an empty one may hold anything.
impl ser::SerializeMap for MembersWriter {
    type Ok = Kind;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        let key = serde_json::to_value(key).map_err(|_| Refused)?;
        key.as_str().ok_or(Refused)?.clone_into(&mut self.key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let name = std::mem::take(&mut self.key);
        self.member(name, value)
    }

    fn end(self) -> Result<Kind, Refused> {
        Ok(if self.seen.is_empty() { Kind::Map } else { Kind::Members(self.seen) })
    }
}
