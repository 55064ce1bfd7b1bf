//! Whether functions and types fit the schema, as far as serde tells before anything runs. All faults at once.

use std::any::TypeId;

use prony_graphql::{
    Name,
    compiler::{
        ast::{FieldDefinition, InputValueDefinition, Type},
        collections::HashMap,
        schema::{ExtendedType, ObjectType},
    },
};

use crate::{
    api::{
        error::Faults,
        signature::{AnswerForm, AnswerShape, ParentType, Signature},
    },
    definition::{catalog::Catalog, contribution::ROOTS},
    reflect::{Kind, Look, Member},
};

pub(crate) fn check(catalog: &Catalog, faults: &mut Faults) {
    let mut checker = Checker { catalog, rust_types: HashMap::default(), faults };
    for (name, definition) in &catalog.schema.types {
        if let ExtendedType::Object(object) = definition
            && !definition.is_built_in()
        {
            checker.object(name, object);
        }
    }
    for (name, function) in &catalog.directives {
        let definition = &catalog.schema.directive_definitions[name];
        if let Some(look) = function.arguments() {
            checker.arguments(&format!("@{name}"), &definition.arguments, &look);
        }
    }
}

struct Checker<'a> {
    catalog: &'a Catalog,
    /// Which Rust type stands for a type of the schema, and where that was said.
    rust_types: HashMap<&'static str, (TypeId, &'static str, String)>,
    faults: &'a mut Faults,
}

impl Checker<'_> {
    fn object(&mut self, name: &Name, object: &ObjectType) {
        let is_root = ROOTS.contains(&name.as_str());
        for (field_name, field) in &object.fields {
            let place = format!("{name}.{field_name}");
            match self.catalog.function(name, field_name) {
                Some(function) => self.function(&place, name, field, &function.signature()),
                None if is_root => self.faults.add(place, "no function is registered for it"),
                None => self.member(&place, field),
            }
        }
    }

    fn function(&mut self, place: &str, type_name: &Name, field: &FieldDefinition, signature: &Signature) {
        let is_root = ROOTS.contains(&type_name.as_str());
        match &signature.parent {
            None if !is_root => {
                self.faults.add(place, "the function takes no parent; it must, for a type that is no root");
            }
            Some(parent) if is_root => {
                let message = format!("the function takes a parent ({}), and a root has none", parent.rust);
                self.faults.add(place, message);
            }
            Some(parent) => self.parent(place, type_name, parent),
            None => {}
        }
        if signature.is_event != (*type_name == "Subscription") {
            self.faults.add(place, "fields of Subscription, and no others, are event fields");
        }
        if let Some(look) = &signature.arguments {
            self.arguments(place, &field.arguments, look);
        }
        self.answer(place, &field.ty, &signature.answer);
    }

    fn parent(&mut self, place: &str, type_name: &Name, parent: &ParentType) {
        if *type_name == *parent.name {
            return self.rust_type(place, parent.name, parent.rust, parent.id);
        }
        let message = format!("the function's parent {} stands for {}", parent.rust, parent.name);
        self.faults.add(place, message);
    }

    /// One Rust type stands for one type of the schema, or parents would not be what functions take.
    fn rust_type(&mut self, place: &str, name: &'static str, rust: &'static str, id: TypeId) {
        if !matches!(self.catalog.schema.types.get(name), Some(ExtendedType::Object(_))) {
            return;
        }
        match self.rust_types.get(name) {
            Some((known, ..)) if *known == id => {}
            Some((_, known, elsewhere)) => {
                let message = format!("{name} is {rust} here, and {known} at {elsewhere}");
                self.faults.add(place, message);
            }
            None => {
                self.rust_types.insert(name, (id, rust, place.to_owned()));
            }
        }
    }

    /// A field without a function, answered by the parent's own member.
    fn member(&mut self, place: &str, field: &FieldDefinition) {
        if !field.arguments.is_empty() {
            self.faults.add(place, "it takes arguments, and no function is registered for it");
        }
        let target = field.ty.inner_named_type();
        match self.catalog.schema.types.get(target) {
            Some(ExtendedType::Object(_)) if self.catalog.functions.contains_key(target) => {
                let message =
                    format!("{target} has functions, so this field needs one too, which answers {target}");
                self.faults.add(place, message);
            }
            Some(ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
                let message = format!("{target} is an interface or union, so the field needs a function");
                self.faults.add(place, message);
            }
            _ => {}
        }
    }

    fn answer(&mut self, place: &str, ty: &Type, shape: &AnswerShape) {
        if shape.nullable && ty.is_non_null() {
            self.faults.add(place, format!("the function answers an Option, and the schema says {ty}"));
        }
        match &shape.form {
            AnswerForm::List(item) if ty.is_list() => self.answer(place, ty.item_type(), item),
            AnswerForm::List(_) => {
                self.faults.add(place, format!("the function answers a list, and the schema says {ty}"));
            }
            AnswerForm::Named { name, rust, id, kind } => {
                self.named_answer(place, ty, (name, rust, *id), kind.as_ref());
            }
        }
    }

    fn named_answer(
        &mut self,
        place: &str,
        ty: &Type,
        (name, rust, id): (&'static str, &'static str, TypeId),
        kind: Option<&Kind>,
    ) {
        let schema = &self.catalog.schema;
        let target = ty.inner_named_type();
        let definition = schema.types.get(target);
        let is_leaf = matches!(definition, Some(ExtendedType::Scalar(_) | ExtendedType::Enum(_)));
        let fits = *target == *name || schema.is_subtype(target, name);
        if is_leaf || (ty.is_list() && fits) {
            // A type that serde writes as a list may stand for one.
            if let Some(message) = kind.and_then(|kind| self.unfit_output(ty, kind)) {
                self.faults.add(place, format!("the function answers {rust}: {message}"));
            }
            return;
        }
        if ty.is_list() || !fits {
            let message =
                format!("the function answers {rust}, which stands for {name}; the schema says {ty}");
            return self.faults.add(place, message);
        }
        self.rust_type(place, name, rust, id);
        if let (Some(ExtendedType::Object(object)), Some(kind)) = (schema.types.get(name), kind) {
            self.members(rust, object, kind);
        }
    }

    /// Fields of an object that its own members answer.
    fn members(&mut self, rust: &str, object: &ObjectType, kind: &Kind) {
        for (field_name, message) in self.unfit_members(object, kind) {
            let place = format!("{}.{field_name}", object.name);
            let message = format!("{message} (in {rust})");
            let known = self.faults.0.iter().any(|fault| fault.place == place && fault.message == message);
            if !known {
                self.faults.add(place, message);
            }
        }
    }

    fn unfit_members(&self, object: &ObjectType, kind: &Kind) -> Vec<(Name, String)> {
        let Kind::Members(members) = kind else { return Vec::new() };
        let unfit = object.fields.iter().filter_map(|(name, field)| {
            if self.catalog.function(&object.name, name).is_some() {
                return None;
            }
            let message = match members.iter().find(|member| *name == *member.name) {
                Some(member) => self.unfit_output(&field.ty, &member.kind)?,
                None if field.ty.is_non_null() => "it has neither a function nor a member".to_owned(),
                // Members that are left out are null.
                None => "it has neither a function nor a member; it would always be null".to_owned(),
            };
            Some((name.clone(), message))
        });
        unfit.collect()
    }

    /// Why a value of this kind cannot be written as the type.
    fn unfit_output(&self, ty: &Type, kind: &Kind) -> Option<String> {
        let found = || Some(format!("the schema says {ty}, found {}", kind.describe()));
        match kind {
            Kind::Unknown => return None,
            Kind::Optional(_) if ty.is_non_null() => return found(),
            Kind::Optional(inner) => return self.unfit_output(ty, inner),
            Kind::List(inner) if ty.is_list() => return self.unfit_output(ty.item_type(), inner),
            _ if ty.is_list() => return found(),
            _ => {}
        }
        let target = ty.inner_named_type();
        let fits = match (self.catalog.schema.types.get(target)?, kind) {
            (ExtendedType::Scalar(_), kind) => fits_scalar(target, kind, true),
            (ExtendedType::Enum(definition), Kind::Label(labels)) => {
                let unknown = labels.iter().find(|label| !definition.values.contains_key(label.as_str()));
                return unknown.map(|label| format!("the enum {target} has no value {label}"));
            }
            (ExtendedType::Enum(_), kind) => *kind == Kind::Text,
            (ExtendedType::Object(object), Kind::Members(_)) => {
                let unfit = self.unfit_members(object, kind);
                let messages: Vec<String> =
                    unfit.iter().map(|(name, message)| format!("{name}: {message}")).collect();
                return (!messages.is_empty()).then(|| messages.join(", "));
            }
            (ExtendedType::Object(_), kind) => *kind == Kind::Map,
            _ => true,
        };
        if fits { None } else { found() }
    }

    fn arguments(
        &mut self,
        place: &str,
        definitions: &[prony_graphql::compiler::Node<InputValueDefinition>],
        look: &Look,
    ) {
        let definitions = definitions.iter().map(|definition| &**definition);
        for message in self.unfit_inputs(&definitions, &look.members) {
            self.faults.add(place, format!("{message} (in {})", look.rust));
        }
    }

    /// Arguments or fields of an input object against the members that read them.
    fn unfit_inputs<'d>(
        &self,
        definitions: &(impl Iterator<Item = &'d InputValueDefinition> + Clone),
        members: &[Member],
    ) -> Vec<String> {
        let mut messages = Vec::new();
        for definition in definitions.clone() {
            let name = &definition.name;
            match members.iter().find(|member| *name == *member.name) {
                None => messages.push(format!("argument {name} is read by nothing")),
                Some(member) => {
                    let message = self.unfit_input(definition, member);
                    messages.extend(message.map(|message| format!("argument {name}: {message}")));
                }
            }
        }
        for member in members.iter().filter(|member| !member.may_be_left_out) {
            if definitions.clone().all(|definition| definition.name != *member.name) {
                messages
                    .push(format!("the schema has no argument {}, which the function needs", member.name));
            }
        }
        messages
    }

    fn unfit_input(&self, definition: &InputValueDefinition, member: &Member) -> Option<String> {
        let needs = !matches!(member.kind, Kind::Optional(_) | Kind::Unknown);
        if needs
            && !definition.ty.is_non_null()
            && definition.default_value.is_none()
            && !member.may_be_left_out
        {
            let ty = &definition.ty;
            return Some(format!("it may be null or left out ({ty}), and the function needs it; use Option"));
        }
        self.unfit_input_value(&definition.ty, &member.kind)
    }

    fn unfit_input_value(&self, ty: &Type, kind: &Kind) -> Option<String> {
        let found = || Some(format!("the schema says {ty}, the function reads {}", kind.describe()));
        match kind {
            Kind::Unknown => return None,
            Kind::Optional(inner) => return self.unfit_input_value(ty, inner),
            Kind::List(inner) if ty.is_list() => return self.unfit_input_value(ty.item_type(), inner),
            _ if ty.is_list() => return found(),
            _ => {}
        }
        let target = ty.inner_named_type();
        let fits = match (self.catalog.schema.types.get(target)?, kind) {
            (ExtendedType::Scalar(_), kind) => fits_scalar(target, kind, false),
            (ExtendedType::Enum(definition), Kind::Label(labels)) => {
                let mut values = definition.values.keys();
                let unknown = values.find(|value| labels.iter().all(|label| label != value.as_str()));
                return unknown
                    .map(|value| format!("the function does not know {value} of the enum {target}"));
            }
            (ExtendedType::Enum(_), kind) => *kind == Kind::Text,
            (ExtendedType::InputObject(object), Kind::Members(members)) => {
                let definitions = object.fields.values().map(|field| &*field.node);
                let messages = self.unfit_inputs(&definitions, members);
                return (!messages.is_empty()).then(|| messages.join(", "));
            }
            (ExtendedType::InputObject(_), kind) => matches!(kind, Kind::Map | Kind::Label(_)),
            _ => true,
        };
        if fits { None } else { found() }
    }
}

/// Whether a scalar is written from, or read as, a kind.
fn fits_scalar(name: &str, kind: &Kind, output: bool) -> bool {
    match name {
        "Int" => *kind == Kind::Integer || (!output && *kind == Kind::Float),
        "Float" => *kind == Kind::Float || (output && *kind == Kind::Integer),
        "Boolean" => *kind == Kind::Boolean,
        "String" => matches!(kind, Kind::Text | Kind::Label(_)),
        // Integers arrive as texts.
        "ID" => *kind == Kind::Text || (output && *kind == Kind::Integer),
        _ => true,
    }
}
