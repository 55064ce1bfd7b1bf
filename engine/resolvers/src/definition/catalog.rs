//! The schema with its functions, as planning and checks look them up.

use std::sync::Arc;

use prony_graphql::{
    Name,
    compiler::{
        Schema as Compiled,
        collections::HashMap,
        schema::{ExtendedType, Implementers},
        validation::Valid,
    },
    requirements::Requirements,
    selection::AppliedDirective,
};

use crate::{
    api::error::Faults,
    definition::{contribution::Declared, directive::Apply},
    execute::plan::Resolve,
};

/// The schema with its functions.
pub(crate) struct Catalog {
    pub(crate) schema: Valid<Compiled>,
    pub(crate) implementers: HashMap<Name, Implementers>,
    pub(crate) functions: HashMap<Name, HashMap<Name, Arc<dyn Resolve>>>,
    pub(crate) directives: HashMap<Name, Arc<dyn Apply>>,
    pub(crate) declared: Declared,
    /// What must be known of who asks.
    pub(crate) requirements: Requirements,
}

impl Catalog {
    pub(crate) fn function(&self, type_name: &str, field: &str) -> Option<&Arc<dyn Resolve>> {
        self.functions.get(type_name)?.get(field)
    }

    pub(crate) fn declared_directives(&self, type_name: &Name, field: &Name) -> &[AppliedDirective] {
        self.declared.get(&(type_name.clone(), field.clone())).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn add_function(&mut self, place: &str, function: Arc<dyn Resolve>, faults: &mut Faults) {
        let Some((type_name, field)) = place.split_once('.') else {
            return faults.add(place, "a function is registered for `Type.field`");
        };
        let Some(definition) = self.schema.types.get(type_name) else {
            return faults.add(place, format!("the schema has no type {type_name}"));
        };
        let ExtendedType::Object(object) = definition else {
            return faults.add(place, format!("{type_name} is no object type; only objects have functions"));
        };
        let Some((field, _)) = object.fields.get_key_value(field) else {
            return faults.add(place, format!("type {type_name} has no field {field} in the schema"));
        };
        let fields = self.functions.entry(object.name.clone()).or_default();
        if fields.insert(field.clone(), function).is_some() {
            faults.add(place, "two functions are registered for it");
        }
    }

    pub(crate) fn add_directive(&mut self, name: &str, function: Arc<dyn Apply>, faults: &mut Faults) {
        let Some(definition) = self.schema.directive_definitions.get(name) else {
            return faults.add(format!("@{name}"), "the schema declares no such directive");
        };
        if self.directives.insert(definition.name.clone(), function).is_some() {
            faults.add(format!("@{name}"), "two functions are registered for it");
        }
    }
}
