//! A statement of a prepared root field: its text, its parameters, and which mode of planning suits it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use prony_graphql::{error::GraphqlError, variables::Variables};

use tokio_postgres::types::Type;

use crate::{
    connect::{config::PlanMode, link::StatementText},
    run::plan_choice::PlanChoice,
    statement::{
        bound::{Bound, bind_all},
        dialect::{Wire, parameter_type},
    },
};
use prony_sql::{builder::Parameter, database::WrittenStatement, model::Model, settings::RelationalSettings};

/// Many times what a statement over an index takes.
const SLOW: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) text: StatementText,
    parameters: Vec<Parameter>,
    /// Columns whose values travel as text: one of them is meant when the database refuses a value.
    pub(crate) text_columns: Vec<Box<str>>,
    choice: Mutex<PlanChoice>,
}

impl Statement {
    pub(crate) fn new(model: &Model, sql: String, parameters: Vec<Parameter>) -> Arc<Self> {
        let types = parameters.iter().map(|parameter| parameter_type(model, parameter)).collect();
        Self::with_types(model, sql, parameters, types)
    }

    /// A statement whose first parameters are a key or keys, part by part, of these types.
    pub(crate) fn with_key(
        model: &Model,
        sql: String,
        parameters: Vec<Parameter>,
        key_types: impl Iterator<Item = Type>,
    ) -> Arc<Self> {
        let mut types: Vec<_> = parameters.iter().map(|parameter| parameter_type(model, parameter)).collect();
        for (place, key_type) in types.iter_mut().zip(key_types) {
            *place = key_type;
        }
        Self::with_types(model, sql, parameters, types)
    }

    fn with_types(model: &Model, sql: String, parameters: Vec<Parameter>, types: Vec<Type>) -> Arc<Self> {
        let text_columns = text_columns(model, &parameters);
        let text = StatementText::new(sql, types);
        Arc::new(Self { text, parameters, text_columns, choice: Mutex::new(PlanChoice::new()) })
    }

    /// As it can be explained.
    pub(crate) fn written(&self) -> WrittenStatement<'_> {
        let types = self.text.types.iter().map(Type::name).collect();
        WrittenStatement { sql: &self.text.sql, parameters: &self.parameters, types }
    }

    pub(crate) fn bind(
        &self,
        model: &Model,
        settings: &RelationalSettings,
        variables: &Variables,
    ) -> Result<Vec<Bound>, GraphqlError> {
        bind_all(model, settings, &self.parameters, variables)
    }

    /// The mode for the next execution. Without parameters both modes make the same plan.
    pub(crate) fn next_mode(&self) -> PlanMode {
        if self.parameters.is_empty() { PlanMode::Generic } else { self.choice().next() }
    }

    pub(crate) fn record(&self, mode: PlanMode, service: Duration) {
        self.choice().record(mode, service);
    }

    /// Whether it takes so long that others had better not stand behind it.
    pub(crate) fn is_slow(&self) -> bool {
        self.choice().mean_service().is_some_and(|mean| mean > SLOW)
    }

    #[cfg(test)]
    pub(crate) fn preferred_mode(&self) -> PlanMode {
        self.choice().preferred()
    }

    /// A panic while the choice was locked leaves nothing half done: it is a few numbers.
    fn choice(&self) -> std::sync::MutexGuard<'_, PlanChoice> {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of its texts and lists, roughly.
    pub(crate) fn weight_bytes(&self) -> usize {
        self.text.sql.len() + self.parameters.len() * 96 + size_of::<Self>()
    }
}

fn text_columns(model: &Model, parameters: &[Parameter]) -> Vec<Box<str>> {
    let mut fields: Vec<Box<str>> = Vec::new();
    for parameter in parameters {
        let Parameter::Column { table, column, .. } = parameter else { continue };
        let column = model.table(*table).column(*column);
        if Wire::of(&column.kind) == Wire::Text && !fields.contains(&column.field) {
            fields.push(column.field.clone());
        }
    }
    fields
}
