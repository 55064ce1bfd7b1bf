//! A selected field as text of GraphQL: arguments as they are known, variables for what is known at execution alone.

use std::fmt::Write as _;

use prony_graphql::{
    Name,
    compiler::{ast::Type, schema::ExtendedType},
    json,
    selection::{Field, OperationKind, Slot, SlotRoot, Step, Value},
};
use serde_json::Value as Json;

use super::parts::{Typenames, UpstreamVariable, VariableType, VariableValue};
use crate::schema::UpstreamModel;

pub(super) struct Printed {
    pub(super) text: String,
    pub(super) variables: Vec<UpstreamVariable>,
}

pub(super) struct Printer<'a> {
    model: &'a UpstreamModel,
    kind: OperationKind,
    /// That no other root field of an operation has.
    root_key: &'a str,
    text: String,
    variables: Vec<UpstreamVariable>,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, Default)]
struct ValuePlace<'t> {
    /// None only where the schema lacks the argument. That of the scalar where it is free.
    ty: Option<&'t Type>,
    /// It stands within a scalar.
    is_free: bool,
    /// It is a field of an input object.
    is_member: bool,
}

impl<'t> ValuePlace<'t> {
    /// Of the items of a list; one that stands for a scalar is a part of that.
    fn item(self) -> Self {
        match self.ty.filter(|ty| !self.is_free && ty.is_list()) {
            Some(ty) => Self { ty: Some(ty.item_type()), ..Self::default() },
            None => self.within(),
        }
    }

    /// Of a field of an input object; an object that stands for a scalar has no such field.
    fn member(self, ty: Option<&'t Type>) -> Self {
        match ty {
            Some(ty) => Self { ty: Some(ty), is_free: false, is_member: true },
            None => self.within(),
        }
    }

    fn within(self) -> Self {
        Self { is_free: true, is_member: false, ..self }
    }
}

impl<'a> Printer<'a> {
    pub(super) fn new(model: &'a UpstreamModel, kind: OperationKind, root: &'a Field) -> Self {
        Self { model, kind, root_key: &root.response_key, text: String::new(), variables: Vec::new() }
    }

    pub(super) fn finish(self) -> Printed {
        Printed { text: self.text, variables: self.variables }
    }

    /// `parent` is the type that it is selected of; none for a root type.
    pub(super) fn field(&mut self, field: &Field, parent: Option<&Name>) {
        let model = self.model;
        let name = match parent {
            None => model.originals.of_field(self.kind, &field.name),
            Some(_) => &field.name,
        };
        if field.response_key != *name {
            let _ = write!(self.text, "{}:", field.response_key);
        }
        self.text.push_str(name);
        let definition = model.field(self.kind, parent.map(|_| &field.parent_type), &field.name);
        if !field.arguments.is_empty() {
            let ty = |argument: &str| {
                let definition = definition?.arguments.iter().find(|known| known.name == argument)?;
                Some(&*definition.ty)
            };
            self.arguments(&field.arguments, &ty);
        }
        for directive in &field.directives {
            // One of another source means nothing to this one.
            let Some(definition) = model.directive(&directive.name) else { continue };
            let _ = write!(self.text, "@{}", directive.name);
            let ty = |argument: &str| {
                let definition = definition.arguments.iter().find(|known| known.name == argument)?;
                Some(&*definition.ty)
            };
            if !directive.arguments.is_empty() {
                self.arguments(&directive.arguments, &ty);
            }
        }
        let output = field.output.inner_named_type();
        // Objects of a type that the upstream does not know do not come from it.
        let is_known =
            |child: &&Field| child.parent_type == *output || model.types.contains_key(&child.parent_type);
        let selections: Vec<&Field> = field.selections.iter().filter(is_known).collect();
        if selections.is_empty() {
            // An object of which everything was left out is there all the same, and has to have a selection.
            self.text.push_str(if self.has_fields(field) { "{__typename@skip(if:true)}" } else { " " });
            return;
        }
        self.text.push('{');
        self.selections(&selections, output);
        self.text.push('}');
    }

    /// Whether it is an object, or of a type that stands for objects.
    fn has_fields(&self, field: &Field) -> bool {
        let ty = self.model.types.get(field.output.inner_named_type());
        matches!(ty, Some(ExtendedType::Object(_) | ExtendedType::Interface(_) | ExtendedType::Union(_)))
    }

    /// Fields of other types than the parent stand in fragments, one for neighbours of the same type.
    fn selections(&mut self, fields: &[&Field], parent: &Name) {
        let mut rest = fields;
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|field| field.parent_type == first.parent_type).count();
            let (same, behind) = rest.split_at(count);
            let is_narrower = first.parent_type != *parent;
            if is_narrower {
                let _ = write!(self.text, "...on {}{{", self.model.originals.of_type(&first.parent_type));
            }
            for field in same {
                self.field(field, Some(&first.parent_type));
            }
            if is_narrower {
                self.text.push('}');
            }
            rest = behind;
        }
    }

    fn arguments<'t>(&mut self, arguments: &[(Name, Value)], ty: &dyn Fn(&str) -> Option<&'t Type>) {
        self.text.push('(');
        for (name, value) in arguments {
            let _ = write!(self.text, "{name}:");
            self.value(value, ValuePlace { ty: ty(name), ..ValuePlace::default() });
            self.text.push(' ');
        }
        self.text.push(')');
    }

    fn value(&mut self, value: &Value, place: ValuePlace<'_>) {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Boolean(truth) => {
                let _ = write!(self.text, "{truth}");
            }
            Value::Enum(name) => self.text.push_str(name),
            Value::Scalar(scalar @ (Json::Array(_) | Json::Object(_))) => {
                let name = format!("c{}_{}", self.variables.len(), self.root_key);
                self.variable(name, place, VariableValue::Constant(scalar.clone()));
            }
            Value::Scalar(Json::String(text)) => {
                let mut bytes = Vec::with_capacity(text.len() + 2);
                json::write_string(&mut bytes, text);
                self.text.push_str(&String::from_utf8_lossy(&bytes));
            }
            Value::Scalar(scalar) => {
                let _ = write!(self.text, "{scalar}");
            }
            Value::Slot(slot) => self.variable(slot_name(slot), place, VariableValue::Slot(slot.clone())),
            Value::List(items) => {
                self.text.push('[');
                for item in items {
                    self.value(item, place.item());
                    self.text.push(' ');
                }
                self.text.push(']');
            }
            Value::Object(entries) => {
                self.text.push('{');
                let model = self.model;
                let object = place.ty.filter(|_| !place.is_free).map(Type::inner_named_type);
                for (key, entry) in entries {
                    let _ = write!(self.text, "{key}:");
                    let ty = object.and_then(|object| model.input_field(object, key));
                    self.value(entry, place.member(ty));
                    self.text.push(' ');
                }
                self.text.push('}');
            }
        }
    }

    fn variable(&mut self, name: String, place: ValuePlace<'_>, value: VariableValue) {
        let _ = write!(self.text, "${name}");
        let text = match place.ty {
            None => "String".to_owned(),
            Some(ty) if place.is_free => self.model.originals.of_type(ty.inner_named_type()).to_string(),
            Some(ty) => self.ty(ty),
        };
        let is_free = place.is_free || place.ty.is_none();
        let ty = VariableType { text, is_free, is_member: place.is_member };
        // One that is used at several places takes a type that goes to all of them.
        if let Some(known) = self.variables.iter_mut().find(|known| known.name == name) {
            if known.ty != ty {
                known.ty = known.ty.with(&ty);
            }
            return;
        }
        self.variables.push(UpstreamVariable { name, ty, value });
    }

    fn ty(&self, ty: &Type) -> String {
        let inner = |inner: &Type| self.ty(inner);
        match ty {
            Type::Named(name) => self.model.originals.of_type(name).to_string(),
            Type::NonNullNamed(name) => format!("{}!", self.model.originals.of_type(name)),
            Type::List(item) => format!("[{}]", inner(item)),
            Type::NonNullList(item) => format!("[{}]!", inner(item)),
        }
    }
}

/// A name that no other slot has: lengths stand before keys.
fn slot_name(slot: &Slot) -> String {
    let mut name = match slot.root {
        SlotRoot::Variable(index) => format!("v{index}"),
        SlotRoot::Session(index) => format!("s{index}"),
        SlotRoot::Given(index) => format!("g{index}"),
    };
    for step in &slot.path {
        let _ = match step {
            Step::Key(key) => write!(name, "_k{}{key}", key.len()),
            Step::Index(index) => write!(name, "_i{index}"),
        };
    }
    name
}

/// Where the response has names of types that are served in other words.
pub(super) fn typenames(model: &UpstreamModel, field: &Field) -> Option<Typenames> {
    if model.originals.are_types_served() {
        return None;
    }
    let mut found = Typenames::default();
    for child in &field.selections {
        if child.name == "__typename" {
            found.keys.push(child.response_key.clone());
            continue;
        }
        if let Some(below) = typenames(model, child) {
            found.add_below(child.response_key.clone(), below);
        }
    }
    if !found.keys.is_empty() {
        found.served = model.originals.served_types().collect();
    }
    (!found.keys.is_empty() || !found.below.is_empty()).then_some(found)
}
