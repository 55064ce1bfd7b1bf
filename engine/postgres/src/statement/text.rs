//! A statement of a prepared root field: its text, its parameters, and which mode of planning suits it.

use std::{
    iter,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use prony_graphql::{error::GraphqlError, variables::Variables};

use tokio_postgres::types::Type;

use crate::{
    connect::{config::PlanMode, link::StatementText, load::Pace},
    error::FailureKind,
    run::plan_choice::PlanChoice,
    statement::{
        bound::{Bound, bind_all},
        dialect::{Postgres, Wire, parameter_type},
    },
};
use prony_sql::{
    builder::{ComparedTable, Parameter, SqlBuilder},
    catalog::ColumnKind,
    database::WrittenStatement,
    model::{Column, Model},
    settings::RelationalSettings,
};

/// Many times what a statement over an index takes.
const SLOW: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) text: StatementText,
    parameters: Vec<Parameter>,
    /// What its conditions compare; empty where it writes.
    compared: Vec<ComparedTable>,
    /// Columns whose values travel as text: one of them is meant when the database refuses a value.
    text_columns: Vec<Box<str>>,
    /// The same where it refuses a number for being too large.
    number_columns: Vec<Box<str>>,
    /// A value travels as text, which the database may refuse.
    pub(crate) takes_text: bool,
    /// Of values that travel as text, those that a database may refuse are all known of the session, and there are some.
    pub(crate) is_text_of_session: bool,
    choice: Mutex<PlanChoice>,
    /// It was quick once, its preparing included, which tells before there are enough executions for a mean.
    was_quick: AtomicBool,
}

impl Statement {
    pub(crate) fn new(model: &Model, sql: String, parameters: Vec<Parameter>) -> Arc<Self> {
        Self::with_key(model, sql, parameters, iter::empty())
    }

    /// A statement whose first parameters are a key or keys, part by part, of these types.
    pub(crate) fn with_key(
        model: &Model,
        sql: String,
        parameters: Vec<Parameter>,
        key_types: impl Iterator<Item = Type>,
    ) -> Arc<Self> {
        Self::of(model, sql, (parameters, Vec::new()), key_types)
    }

    /// As [`Self::with_key`], of a statement that reads rows and whose conditions the builder has written.
    pub(crate) fn of_rows(
        model: &Model,
        sql: String,
        builder: SqlBuilder<'_, Postgres>,
        key_types: impl Iterator<Item = Type>,
    ) -> Arc<Self> {
        Self::of(model, sql, (builder.parameters, builder.compared), key_types)
    }

    fn of(
        model: &Model,
        sql: String,
        (parameters, compared): (Vec<Parameter>, Vec<ComparedTable>),
        key_types: impl Iterator<Item = Type>,
    ) -> Arc<Self> {
        let mut types: Vec<_> = parameters.iter().map(|parameter| parameter_type(model, parameter)).collect();
        for (place, key_type) in types.iter_mut().zip(key_types) {
            *place = key_type;
        }
        let text_columns = columns_of(model, &parameters, |column| Wire::of(&column.kind) == Wire::Text);
        let number_columns = columns_of(model, &parameters, has_bounds);
        let takes_text = takes_text(model, &parameters);
        let is_text_of_session = is_text_of_session(model, &parameters);
        let text = StatementText::new(sql, types);
        let choice = Mutex::new(PlanChoice::new());
        let was_quick = AtomicBool::new(false);
        Arc::new(Self {
            text,
            parameters,
            compared,
            text_columns,
            number_columns,
            takes_text,
            is_text_of_session,
            choice,
            was_quick,
        })
    }

    /// Columns one of which is meant by a failure of this kind, for messages.
    pub(crate) fn refusing_columns(&self, kind: FailureKind) -> &[Box<str>] {
        if kind == FailureKind::BadNumber { &self.number_columns } else { &self.text_columns }
    }

    /// As it can be explained.
    pub(crate) fn written(&self) -> WrittenStatement<'_> {
        let types = self.text.types.iter().map(Type::name).collect();
        let Self { text, parameters, compared, .. } = self;
        WrittenStatement { sql: &text.sql, parameters, types, compared }
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

    /// Takes what an execution needed that succeeded, whether or not it was prepared for it.
    pub(crate) fn note_quick(&self, service: Duration) {
        if service <= SLOW && !self.was_quick.load(Relaxed) {
            self.was_quick.store(true, Relaxed);
        }
    }

    /// What is known of how long it takes.
    pub(crate) fn pace(&self) -> Pace {
        match self.choice().mean_service() {
            Some(mean) if mean > SLOW => Pace::Slow,
            Some(_) => Pace::Quick,
            None if self.was_quick.load(Relaxed) => Pace::Quick,
            None => Pace::Unknown,
        }
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
        let compared: usize = self.compared.iter().map(ComparedTable::weight_bytes).sum();
        self.text.sql.len() + self.parameters.len() * 96 + compared + size_of::<Self>()
    }
}

fn takes_text(model: &Model, parameters: &[Parameter]) -> bool {
    parameters.iter().any(|parameter| {
        let Parameter::Column { table, column, .. } = parameter else { return false };
        Wire::of(&model.table(*table).column(*column).kind) == Wire::Text
    })
}

fn is_text_of_session(model: &Model, parameters: &[Parameter]) -> bool {
    let values = parameters.iter().filter_map(|parameter| {
        let Parameter::Column { table, column, value, .. } = parameter else { return None };
        let kind = &model.table(*table).column(*column).kind;
        let is_refusable = Wire::of(kind) == Wire::Text && *kind != ColumnKind::Text;
        is_refusable.then(|| value.is_of_session())
    });
    let mut of_session = values.peekable();
    of_session.peek().is_some() && of_session.all(|known| known)
}

/// Fields of the columns with parameters that may be refused; none where it must not be said which.
fn columns_of(
    model: &Model,
    parameters: &[Parameter],
    may_refuse: impl Fn(&Column) -> bool,
) -> Vec<Box<str>> {
    let mut fields: Vec<Box<str>> = Vec::new();
    for parameter in parameters {
        let Parameter::Column { table, column, value, .. } = parameter else { continue };
        let column = model.table(*table).column(*column);
        if !may_refuse(column) {
            continue;
        }
        // Who asks may not see the column, and the value may be the wrong one.
        if value.is_of_session() {
            return Vec::new();
        }
        if !fields.contains(&column.field) {
            fields.push(column.field.clone());
        }
    }
    fields
}

/// Whether a number that travels well may be too large for the column, on its own or as a part of its value.
fn has_bounds(column: &Column) -> bool {
    match Wire::of(&column.kind) {
        Wire::Boolean | Wire::Bytes => false,
        Wire::Int4 => &*column.database_type != "integer",
        Wire::Int8 => &*column.database_type != "bigint",
        Wire::Float8 => &*column.database_type != "double precision",
        Wire::Text => !matches!(
            column.kind,
            ColumnKind::Text | ColumnKind::Timestamp | ColumnKind::Uuid | ColumnKind::Enum(_)
        ),
    }
}
