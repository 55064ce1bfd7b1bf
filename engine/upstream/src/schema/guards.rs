//! What fields of an upstream want to know of who asks: `@authenticated`, `@requiresScopes` and `@policy` of a schema file.

use std::sync::Arc;

use prony_graphql::{
    Name,
    compiler::{
        Schema as CompilerSchema,
        ast::FieldDefinition,
        collections::{HashMap, IndexMap},
        schema::{Component, ExtendedType},
    },
    error::GraphqlError,
    requirements::{RequirementId, Requirements},
    selection::Field,
    variables::Variables,
};

/// By the names under which types and their fields are served. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guards(Arc<GuardedFields>);

#[derive(Debug, Default)]
struct GuardedFields {
    requirements: Requirements,
    /// By type and field.
    wanted: HashMap<(Name, Name), Vec<RequirementId>>,
}

impl Guards {
    /// `served` says under which types and names a type's field is served.
    pub(super) fn of(
        schema: &CompilerSchema,
        mut served: impl FnMut(&Name, &Name) -> Vec<(Name, Name)>,
    ) -> Self {
        let requirements = Requirements::of(schema, |_| false);
        let mut wanted = HashMap::default();
        if requirements.is_empty() {
            return Self::default();
        }
        for (name, ty) in &schema.types {
            for field in fields_of(ty).into_iter().flat_map(IndexMap::keys) {
                let ids = wanted_of(&requirements, schema, (name, ty), field);
                if !ids.is_empty() {
                    wanted.extend(served(name, field).into_iter().map(|place| (place, ids.clone())));
                }
            }
        }
        Self(Arc::new(GuardedFields { requirements, wanted }))
    }

    /// What a selected field and all that is selected below it want; each once.
    pub(crate) fn wanted(&self, field: &Field) -> Vec<RequirementId> {
        let mut wanted = Vec::new();
        if !self.0.wanted.is_empty() {
            self.add(field, &mut wanted);
            wanted.sort_unstable();
            wanted.dedup();
        }
        wanted
    }

    fn add(&self, field: &Field, wanted: &mut Vec<RequirementId>) {
        let place = (field.parent_type.clone(), field.name.clone());
        if let Some(ids) = self.0.wanted.get(&place) {
            wanted.extend_from_slice(ids);
        }
        for below in &field.selections {
            self.add(below, wanted);
        }
    }

    /// The error of a field of whose wants something does not hold of who asks.
    pub(crate) fn refusal(&self, wanted: &[RequirementId], variables: &Variables) -> Option<GraphqlError> {
        if wanted.is_empty() {
            return None;
        }
        let requirements = &self.0.requirements;
        requirements.error(wanted.iter().copied(), &requirements.unmet(variables)?)
    }
}

/// What a type's field wants. The upstream alone knows which object stands behind an interface: the field of any may be meant.
fn wanted_of(
    requirements: &Requirements,
    schema: &CompilerSchema,
    (name, ty): (&Name, &ExtendedType),
    field: &Name,
) -> Vec<RequirementId> {
    let implements = |ty: &ExtendedType| {
        matches!(ty, ExtendedType::Object(object)
            if object.implements_interfaces.iter().any(|interface| interface.name == *name))
    };
    let objects = schema.types.iter().filter(|(_, ty)| implements(ty));
    // Each field of an object would look through all types otherwise.
    let objects = matches!(ty, ExtendedType::Interface(_)).then_some(objects).into_iter().flatten();
    let mut wanted = Vec::new();
    for (of, ty) in std::iter::once((name, ty)).chain(objects) {
        let Some(definition) = fields_of(ty).and_then(|fields| fields.get(field)) else { continue };
        wanted.extend(requirements.of_field(schema, of, field, definition.ty.inner_named_type()));
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn fields_of(ty: &ExtendedType) -> Option<&IndexMap<Name, Component<FieldDefinition>>> {
    match ty {
        ExtendedType::Object(object) => Some(&object.fields),
        ExtendedType::Interface(interface) => Some(&interface.fields),
        _ => None,
    }
}
