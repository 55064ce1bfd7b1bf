//! What series offer at one moment, to everybody or to a role.

use std::sync::Arc;

use prony_graphql::{error::GraphqlError, schema::Contribution, variables::Variables};
use prony_source::{
    CommonSettings, FieldRequest, PreparedField, SourceSchema,
    http_api::{ApiConnection, ApiLimits},
};

use super::{contribution::contribution, lower::RootIndex, model::Model, types};
use crate::{
    access::{permissions::Restrictions, role::RoleAccess},
    http_api::SeriesApi,
    series::counted,
};

/// Who is offered it.
#[derive(Debug)]
pub(crate) enum SchemaOf {
    /// Who may do everything; with what there is, for people.
    Everybody { contents: String },
    /// A role: what it may do by the calls.
    Role { api: SeriesApi, restrictions: Arc<Restrictions> },
}

/// What is offered at one moment.
#[derive(Debug)]
pub(crate) struct SeriesSchema {
    model: Model,
    roots: RootIndex,
    has_subscriptions: bool,
    /// Of the source, whatever a role may.
    max_limit: u32,
    whose: SchemaOf,
    list_fields: Vec<String>,
}

impl SeriesSchema {
    pub(crate) fn new(model: Model, settings: &CommonSettings, whose: SchemaOf) -> Self {
        let is_whole = matches!(whose, SchemaOf::Everybody { .. });
        let all_types = is_whole.then(|| types::TYPES_FIELD.to_string());
        let lists = model.types.iter().map(|of| of.list_name.to_string());
        Self {
            list_fields: all_types.into_iter().chain(lists).collect(),
            roots: RootIndex::new(&model),
            model,
            has_subscriptions: settings.subscriptions,
            max_limit: settings.max_limit,
            whose,
        }
    }

    /// Roles do not learn which types there are beside theirs.
    const fn is_whole(&self) -> bool {
        matches!(self.whose, SchemaOf::Everybody { .. })
    }

    pub(crate) const fn model(&self) -> &Model {
        &self.model
    }
}

impl SourceSchema for SeriesSchema {
    fn contribution(&self) -> Contribution {
        let mut all = contribution(&self.model);
        if self.is_whole() {
            let of_types = types::contribution();
            all.types.extend(of_types.types);
            all.subscription.extend(of_types.query.iter().cloned());
            all.query.extend(of_types.query);
        }
        if !self.has_subscriptions {
            all.subscription.clear();
        }
        all
    }

    fn notes(&self) -> &[String] {
        &self.model.notes
    }

    fn collisions(&self) -> &[String] {
        &self.model.collisions
    }

    fn contents(&self) -> String {
        match &self.whose {
            SchemaOf::Everybody { contents } => contents.clone(),
            SchemaOf::Role { .. } => counted(self.model.types.len() as u64, "type", "types"),
        }
    }

    fn list_fields(&self) -> Vec<&str> {
        self.list_fields.iter().map(String::as_str).collect()
    }

    fn example(&self) -> Option<String> {
        let of_types = || "{ seriesTypes { name entityCount attributes { name type } } }".to_owned();
        match self.model.types.first() {
            None => self.is_whole().then(of_types),
            Some(of) => {
                let attribute = of.attributes.iter().find(|attribute| attribute.is_readable);
                let points = attribute
                    .map(|attribute| format!(" {}(last: 10) {{ time value }}", attribute.field))
                    .unwrap_or_default();
                Some(format!("{{ {}(limit: 10) {{ id lastTime{points} }} }}", of.list_name))
            }
        }
    }

    /// Types come when they are notified: what a configuration names may be there later.
    fn is_pending(&self) -> bool {
        true
    }

    fn api_connection(&self, variables: Variables, limits: ApiLimits) -> Option<Box<dyn ApiConnection>> {
        let SchemaOf::Role { api, restrictions } = &self.whose else { return None };
        Some(api.connect_role(RoleAccess::new(restrictions, variables), limits))
    }

    fn highest_limit(&self, root_field: &str) -> Option<u32> {
        let of = self.model.types.iter().find(|of| *of.list_name == *root_field)?;
        Some(of.limit.map_or(self.max_limit, |of_role| of_role.min(self.max_limit)))
    }

    fn plan(&self, request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        self.roots.lower(request.field).map(PreparedField::new)
    }
}
