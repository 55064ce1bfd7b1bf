//! What an upstream offers at one moment: contributions, notes, and plans of what is asked.

use std::sync::Arc;

use prony_graphql::{
    compiler::{ast::FieldDefinition, collections::IndexMap, schema::ExtendedType},
    document::is_read_everywhere,
    error::{ErrorCode, GraphqlError},
    schema::Contribution,
    selection::OperationKind,
};
use prony_source::{FieldRequest, OperationRequest, PreparedField, SourceSchema};

use crate::{
    plan::{UpstreamField, UpstreamOperation, are_known},
    schema::{UpstreamModel, root_name},
};

/// None where the upstream has not said yet what it offers.
#[derive(Debug)]
pub(crate) struct ServedModel(Option<Arc<UpstreamModel>>);

/// Fields of an object in the example.
const EXAMPLE_FIELDS: usize = 4;

impl ServedModel {
    pub(crate) fn new(model: Option<Arc<UpstreamModel>>) -> Self {
        Self(model)
    }

    fn queries(&self) -> impl Iterator<Item = &FieldDefinition> {
        let fields = self.0.iter().flat_map(|model| model.roots[OperationKind::Query as usize].values());
        fields.map(|field| &**field)
    }
}

impl SourceSchema for ServedModel {
    fn contribution(&self) -> Contribution {
        self.0.as_ref().map(|model| model.contribution()).unwrap_or_default()
    }

    fn notes(&self) -> &[String] {
        self.0.as_ref().map(|model| model.notes.as_slice()).unwrap_or_default()
    }

    fn contents(&self) -> String {
        let Some(model) = &self.0 else { return "nothing is known yet".to_owned() };
        let [queries, mutations, subscriptions] = model.roots.each_ref().map(IndexMap::len);
        format!("{queries} queries, {mutations} mutations, {subscriptions} subscriptions")
    }

    fn list_fields(&self) -> Vec<&str> {
        let lists: Vec<&str> =
            self.queries().filter(|field| field.ty.is_list()).map(|field| field.name.as_str()).collect();
        if lists.is_empty() { self.queries().map(|field| field.name.as_str()).collect() } else { lists }
    }

    fn is_pending(&self) -> bool {
        self.0.is_none()
    }

    fn example(&self) -> Option<String> {
        let model = self.0.as_ref()?;
        let is_leaf = |field: &FieldDefinition| {
            let ty = field.ty.inner_named_type();
            let definition = model.types.get(ty);
            matches!(definition, None | Some(ExtendedType::Scalar(_) | ExtendedType::Enum(_)))
        };
        let asks_nothing =
            |field: &FieldDefinition| field.arguments.iter().all(|argument| !argument.is_required());
        let leaves = |field: &FieldDefinition| -> Option<String> {
            let ExtendedType::Object(object) = model.types.get(field.ty.inner_named_type())? else {
                return None;
            };
            let fields = object.fields.values().filter(|field| is_leaf(field) && asks_nothing(field));
            let names: Vec<&str> = fields.take(EXAMPLE_FIELDS).map(|field| field.name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(" "))
        };
        let usable = || self.queries().filter(|field| asks_nothing(field));
        let of_object =
            usable().find_map(|field| Some(format!("{{ {} {{ {} }} }}", field.name, leaves(field)?)));
        of_object
            .or_else(|| usable().find(|field| is_leaf(field)).map(|field| format!("{{ {} }}", field.name)))
    }

    fn plan_operation(&self, request: &OperationRequest<'_>) -> Option<PreparedField> {
        let model = self.0.as_ref()?;
        // A fragment may name the root type, which the upstream knows by another name.
        let may_name_root = || request.text.contains(root_name(request.kind));
        if request.fields.iter().any(|field| !model.guards.wanted(field).is_empty()) {
            // Root fields are refused one by one.
            return None;
        }
        let means_the_same = model.originals.are_served() && !(model.has_other_roots && may_name_root());
        let is_forwarded = means_the_same
            && is_read_everywhere(request.text)
            && are_known(model, request.kind, request.document);
        is_forwarded.then(|| PreparedField::new(UpstreamOperation::of(request)))
    }

    fn plan(&self, &FieldRequest { kind, field }: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        let Some(model) = &self.0 else {
            return Err(GraphqlError::new(
                ErrorCode::SourceUnavailable,
                "what is served here is not known yet",
            ));
        };
        Ok(PreparedField::new(UpstreamField::of(model, kind, field)))
    }
}
