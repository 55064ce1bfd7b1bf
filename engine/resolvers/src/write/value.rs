//! Serde's calls for one value, checked against its plan: what does not fit is told and becomes null.

use serde::{
    Serialize, Serializer,
    ser::{self, Impossible},
};

use crate::execute::plan::{LeafPlan, OutputKind, OutputPlan};
use crate::write::{
    Nulled, Path, Place, Writer, leaf,
    members::{Members, Object},
};

impl Writer<'_> {
    /// Any value, told apart by the plan.
    pub(crate) fn value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        match &plan.kind {
            OutputKind::Leaf(leaf) if leaf.is_custom() || !leaf.directives.is_empty() => {
                self.complete(plan, path, |writer| writer.changed_leaf(value, leaf, plan, path))
            }
            _ => self.complete(plan, path, |writer| {
                value.serialize(ValueWriter { writer, plan, path, place: Place::default() })
            }),
        }
    }

    /// A leaf of any form, or one that directives change.
    fn changed_leaf<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        leaf: &LeafPlan,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        let start = self.out.len();
        if leaf.is_custom() {
            if let Err(error) = serde_json::to_writer(&mut self.out, value) {
                return self.nonsense(&format!("the value is no JSON: {error}"), plan.position, path);
            }
        } else {
            value.serialize(ValueWriter { writer: self, plan, path, place: Place::default() })?;
        }
        if &self.out[start..] == b"null" {
            self.out.truncate(start);
            return self.null(plan, path);
        }
        for directive in &leaf.directives {
            let changed =
                directive.function.apply(&self.out[start..], &directive.arguments, self.scope.variables);
            match changed {
                Ok(changed) => {
                    self.out.truncate(start);
                    if changed == b"null" {
                        return self.null(plan, path);
                    }
                    self.out.extend_from_slice(&changed);
                }
                Err(error) => {
                    self.tell(error.to_graphql(), plan.position, path);
                    return Err(Nulled);
                }
            }
        }
        Ok(())
    }

    /// An object that functions may add to.
    pub(crate) fn object<T: Serialize>(
        &mut self,
        object: &T,
        name: &str,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        let objects = plan.kind.objects();
        let Some(index) = objects.iter().position(|object| object.type_name == name) else {
            return self.complete(plan, path, |writer| {
                writer.nonsense(&format!("{name} may not stand here"), plan.position, path)
            });
        };
        let row = match self.levels.get_mut(index) {
            Some(level) => {
                level.begun += 1;
                level.begun - 1
            }
            None => 0,
        };
        self.complete(plan, path, |writer| {
            object.serialize(ValueWriter { writer, plan, path, place: Place { level: index, row } })
        })
    }

    /// Counts an object that is not written, as one before it in its list cannot be.
    pub(crate) fn skip(&mut self, name: &str, plan: &OutputPlan) {
        let index = plan.kind.objects().iter().position(|object| object.type_name == name);
        if let Some(level) = index.and_then(|index| self.levels.get_mut(index)) {
            level.begun += 1;
        }
    }
}

/// Takes one value.
struct ValueWriter<'w, 's, 'p> {
    writer: &'w mut Writer<'s>,
    plan: &'p OutputPlan,
    path: Path<'p>,
    place: Place,
}

impl<'w, 's, 'p> ValueWriter<'w, 's, 'p> {
    #[cold]
    fn unfit(&mut self, found: &str) -> Nulled {
        let expected = match &self.plan.kind {
            OutputKind::List(_) => "a list".to_owned(),
            OutputKind::Leaf(plan) => plan.leaf.describe().to_owned(),
            OutputKind::Object(object) => format!("an object of {}", object.type_name),
            OutputKind::Abstract(_) => "an object whose type is known".to_owned(),
        };
        let detail = format!("expected {expected}, found {found}");
        // The outcome of nonsense is always this.
        let _ = self.writer.nonsense(&detail, self.plan.position, self.path);
        Nulled
    }

    fn leaf(mut self, given: leaf::Given<'_>) -> Result<(), Nulled> {
        let OutputKind::Leaf(plan) = &self.plan.kind else { return Err(self.unfit(&given.describe())) };
        if given.write(&plan.leaf, &mut self.writer.out) {
            Ok(())
        } else {
            Err(self.unfit(&given.describe()))
        }
    }

    fn items(mut self) -> Result<Items<'w, 's, 'p>, Nulled> {
        match &self.plan.kind {
            OutputKind::List(item_plan) => {
                self.writer.out.push(b'[');
                Ok(Items { writer: self.writer, item_plan, path: self.path, index: 0 })
            }
            _ => Err(self.unfit("a list")),
        }
    }

    fn members(mut self) -> Result<Members<'w, 's, 'p>, Nulled> {
        let object = match &self.plan.kind {
            OutputKind::Object(object) => Some(object),
            OutputKind::Abstract(objects) => objects.get(self.place.level),
            _ => None,
        };
        let Some(plan) = object else { return Err(self.unfit("an object")) };
        let (place, path, position) = (self.place, self.path, self.plan.position);
        Object { writer: self.writer, plan, position, place, path }.begin()
    }
}

macro_rules! leaves {
    ($($method:ident: $ty:ty => $given:expr;)+) => { $(
        fn $method(self, value: $ty) -> Result<(), Nulled> {
            self.leaf($given(value.into()))
        }
    )+ };
}

impl<'w, 's, 'p> Serializer for ValueWriter<'w, 's, 'p> {
    type Ok = ();
    type Error = Nulled;
    type SerializeSeq = Items<'w, 's, 'p>;
    type SerializeTuple = Items<'w, 's, 'p>;
    type SerializeTupleStruct = Items<'w, 's, 'p>;
    type SerializeTupleVariant = Impossible<(), Nulled>;
    type SerializeMap = Members<'w, 's, 'p>;
    type SerializeStruct = Members<'w, 's, 'p>;
    type SerializeStructVariant = Impossible<(), Nulled>;

    leaves! {
        serialize_bool: bool => leaf::Given::Boolean;
        serialize_i8: i8 => leaf::Given::Integer;
        serialize_i16: i16 => leaf::Given::Integer;
        serialize_i32: i32 => leaf::Given::Integer;
        serialize_i64: i64 => leaf::Given::Integer;
        serialize_u8: u8 => leaf::Given::Integer;
        serialize_u16: u16 => leaf::Given::Integer;
        serialize_u32: u32 => leaf::Given::Integer;
        serialize_u64: u64 => leaf::Given::Integer;
        serialize_f32: f32 => leaf::Given::Single;
        serialize_f64: f64 => leaf::Given::Float;
    }

    fn serialize_char(self, value: char) -> Result<(), Nulled> {
        self.leaf(leaf::Given::Text(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, value: &str) -> Result<(), Nulled> {
        self.leaf(leaf::Given::Text(value))
    }

    fn serialize_bytes(mut self, _value: &[u8]) -> Result<(), Nulled> {
        Err(self.unfit("bytes"))
    }

    fn serialize_none(self) -> Result<(), Nulled> {
        self.writer.null(self.plan, self.path)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Nulled> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Nulled> {
        self.writer.null(self.plan, self.path)
    }

    /// Without members of its own, which is fine where functions answer them all.
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Nulled> {
        ser::SerializeStruct::end(self.members()?)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Nulled> {
        self.leaf(leaf::Given::Text(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Nulled> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _value: &T,
    ) -> Result<(), Nulled> {
        Err(self.unfit(&format!("the variant {variant} with a value")))
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Items<'w, 's, 'p>, Nulled> {
        self.items()
    }

    fn serialize_tuple(self, _length: usize) -> Result<Items<'w, 's, 'p>, Nulled> {
        self.items()
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Items<'w, 's, 'p>, Nulled> {
        self.items()
    }

    fn serialize_tuple_variant(
        mut self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, Nulled> {
        Err(self.unfit(&format!("the variant {variant} with values")))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Members<'w, 's, 'p>, Nulled> {
        self.members()
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Members<'w, 's, 'p>, Nulled> {
        self.members()
    }

    fn serialize_struct_variant(
        mut self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, Nulled> {
        Err(self.unfit(&format!("the variant {variant} with members")))
    }
}

/// Items of a list.
pub(super) struct Items<'w, 's, 'p> {
    writer: &'w mut Writer<'s>,
    item_plan: &'p OutputPlan,
    path: Path<'p>,
    index: usize,
}

impl Items<'_, '_, '_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Nulled> {
        if self.index > 0 {
            self.writer.out.push(b',');
        }
        self.writer.value(value, self.item_plan, self.path.index(self.index))?;
        self.index += 1;
        Ok(())
    }

    fn finish(self) {
        self.writer.out.push(b']');
    }
}

macro_rules! items {
    ($($compound:ident::$method:ident),+) => { $(
        impl ser::$compound for Items<'_, '_, '_> {
            type Ok = ();
            type Error = Nulled;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Nulled> {
                self.item(value)
            }

            fn end(self) -> Result<(), Nulled> {
                self.finish();
                Ok(())
            }
        }
    )+ };
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field
);

impl std::fmt::Display for Nulled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the value cannot be written")
    }
}

impl std::error::Error for Nulled {}

impl ser::Error for Nulled {
    fn custom<T: std::fmt::Display>(_message: T) -> Self {
        Self
    }
}
