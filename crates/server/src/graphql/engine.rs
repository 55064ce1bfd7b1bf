//! What is served: the sources, opened; the schema that they make together; the caches. Shared by all cores.

use std::sync::Arc;

use prony_graphql::{
    cache::Cache,
    limits::Limits,
    response::Detail,
    schema::{Schema, SchemaFault, SourceId},
};
use prony_sources::relational::{
    catalog::TableKind,
    source::{self, Address, AddressError, RelationalSource},
};

use super::plan::Plan;
use crate::config::{Settings, SourceSettings};

/// Why the sources cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("source `{name}` cannot be opened: {source}")]
    Source { name: String, source: Box<source::OpenError> },
    #[error("the sources do not make a schema: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Schema(Vec<SchemaFault>),
    #[error("the schema cannot be introspected: {message}")]
    Introspection { message: String },
}

/// An open source under its name.
#[derive(Debug)]
pub(crate) struct NamedSource {
    pub(crate) name: String,
    pub(crate) relational: Arc<RelationalSource>,
}

impl NamedSource {
    /// The database's product. Host, user and path are not for clients.
    pub(crate) fn database(&self) -> &'static str {
        match self.relational.address() {
            Address::Sqlite(_) => "SQLite",
            Address::Postgres(_) => "PostgreSQL",
        }
    }
}

/// Schema, sources and caches.
#[derive(Debug)]
pub struct Engine {
    pub(crate) schema: Schema,
    /// By [`SourceId`].
    pub(crate) sources: Vec<NamedSource>,
    pub(crate) cache: Cache<Plan>,
    pub(crate) limits: Limits,
    pub(crate) detail: Detail,
}

impl Engine {
    /// Opens all sources and merges what they contribute.
    pub async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let mut sources = Vec::with_capacity(settings.sources.len());
        for source in &settings.sources {
            sources.push(open_source(source).await?);
        }
        let contributions = sources
            .iter()
            .enumerate()
            .map(|(index, source)| (SourceId(index as u16), source.relational.contribution()))
            .collect();
        let schema = Schema::merge(contributions).map_err(OpenError::Schema)?;
        // Documents are small beside plans with their statements, but there are as many.
        let half = settings.plan_cache_bytes as usize / 2;
        Ok(Self {
            schema,
            sources,
            cache: Cache::new(half, half),
            limits: settings.limits.clone(),
            detail: if settings.expose_database_errors { Detail::Shown } else { Detail::Hidden },
        })
    }
}

async fn open_source(settings: &SourceSettings) -> Result<NamedSource, OpenError> {
    let address: Address = settings.url.0.parse()?;
    let relational = RelationalSource::open(&address, settings.relational.clone())
        .await
        .map_err(|source| OpenError::Source { name: settings.name.clone(), source: Box::new(source) })?;
    log_source(&settings.name, &relational);
    Ok(NamedSource { name: settings.name.clone(), relational })
}

/// List fields that the start-up log names; the schema has them all.
const NAMED_FIELDS: usize = 20;

/// Says what is served of a source, and what its names needed.
fn log_source(name: &str, relational: &RelationalSource) {
    let tables = &relational.model().tables;
    let views = tables.iter().filter(|table| table.kind == TableKind::View).count();
    let address = relational.address();
    let mut fields: Vec<&str> = tables.iter().take(NAMED_FIELDS).map(|table| &*table.list_name).collect();
    if tables.len() > NAMED_FIELDS {
        fields.push("…");
    }
    let (tables, fields) = (tables.len() - views, fields.join(", "));
    tracing::info!(source = name, %address, tables, views, fields, "serving a source");
    for note in relational.notes() {
        tracing::info!(source = name, "{note}");
    }
}
