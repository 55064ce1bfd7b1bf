//! What is served: the sources, opened, and what is derived from them. Shared by all cores.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use futures_util::future::select_all;
use prony_graphql::{
    document::Operation,
    limits::Limits,
    response::Detail,
    schema::{Schema, SchemaFault, SourceId},
};
use prony_sources::{
    graph::source::GraphSource,
    source::{self, Address, AddressError, Source, Surface},
};

use super::{
    documents::{Documents, DocumentsError},
    served::Served,
};
use crate::{
    config::{Settings, SourceSettings},
    graph::{Databases, DatabasesError},
    http::Site,
};

/// Why the sources cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("source `{name}` cannot be opened: {source}")]
    Source { name: String, source: Box<source::OpenError> },
    #[error("source `{name}` cannot be opened: {source}")]
    Graph { name: String, source: DatabasesError },
    #[error("the sources do not make a schema: {message}")]
    Schema { message: String },
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    #[error("the schema cannot be introspected: {message}")]
    Introspection { message: String },
}

/// Names that collide are told by their sources: the first of them, since the others mostly follow from it.
fn joined(faults: &[SchemaFault], sources: &[NamedSource]) -> String {
    let mut told = Vec::new();
    let mut collisions: Vec<(&SourceId, &SourceId, String, usize)> = Vec::new();
    for fault in faults {
        let (what, first, second) = match fault {
            SchemaFault::TypeCollision { name, first, second } => (format!("type {name}"), first, second),
            SchemaFault::FieldCollision { kind, name, first, second } => {
                (format!("{kind} field {name}"), first, second)
            }
            other => {
                told.push(other.to_string());
                continue;
            }
        };
        match collisions.iter_mut().find(|(known, other, ..)| (*known, *other) == (first, second)) {
            Some((.., others)) => *others += 1,
            None => collisions.push((first, second, what, 0)),
        }
    }
    let name = |id: &SourceId| &*sources[usize::from(id.0)].name;
    told.extend(collisions.into_iter().map(|(first, second, what, others)| {
        let others = if others == 0 { String::new() } else { format!(" (and {others} other names)") };
        format!(
            "{what}{others} comes from source `{}` and, with another definition, from source `{}`; rename or exclude the \
             table in prony.toml, or drop the type of the graph",
            name(first),
            name(second)
        )
    }));
    told.join("; ")
}

/// An open source under its name.
#[derive(Debug)]
pub(crate) struct NamedSource {
    pub(crate) name: String,
    pub(crate) source: Source,
    /// Without a password, for the log.
    address: String,
}

/// The sources and what is derived from them.
#[derive(Debug)]
pub struct Engine {
    /// By `SourceId`.
    sources: Vec<NamedSource>,
    /// Of the graph, where one is served.
    databases: Option<Arc<Databases>>,
    served: ArcSwap<Served>,
    /// Of what is served now, so that cores see with one load whether theirs is still it.
    generation: AtomicU64,
    pub(crate) documents: Documents,
    limits: Limits,
    detail: Detail,
    plan_cache_bytes: usize,
}

/// After a change, others are waited for this long, so that many in a row make one schema.
const SETTLE: Duration = Duration::from_millis(20);

impl Engine {
    /// Opens all sources and merges what they contribute.
    pub async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let mut sources = Vec::with_capacity(settings.sources.len());
        let mut databases = None;
        for source in &settings.sources {
            match source.url.graph_directory() {
                Some(directory) => {
                    let opened = Databases::open(directory, source.graph)
                        .map_err(|error| OpenError::Graph { name: source.name.clone(), source: error })?;
                    let opened = Arc::new(opened);
                    sources.push(graph_source(source, &opened));
                    databases = Some(opened);
                }
                None => sources.push(open_source(source).await?),
            }
        }
        if let Some(resolvers) = &settings.functions.resolvers {
            let source = Source::Resolvers(resolvers.clone());
            let (name, address) = ("functions".to_owned(), "this program".to_owned());
            sources.push(NamedSource { name, source, address });
        }
        let plan_cache_bytes = settings.plan_cache_bytes as usize;
        let served = Served::make(0, &sources, plan_cache_bytes)
            .map_err(|faults| OpenError::Schema { message: joined(&faults, &sources) })?;
        for (source, surface) in sources.iter().zip(&served.surfaces) {
            log_source(source, surface);
        }
        let documents = Documents::open(&settings.documents)?;
        check_documents(&documents, &served.schema, &settings.limits);
        Ok(Self {
            sources,
            documents,
            databases,
            served: ArcSwap::from_pointee(served),
            generation: AtomicU64::new(0),
            limits: settings.limits.clone(),
            detail: if settings.expose_database_errors { Detail::Shown } else { Detail::Hidden },
            plan_cache_bytes,
        })
    }

    /// By `SourceId`.
    pub(crate) fn sources(&self) -> &[NamedSource] {
        &self.sources
    }

    /// Of the graph, where one is served.
    pub(crate) fn databases(&self) -> Option<&Arc<Databases>> {
        self.databases.as_ref()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// What is served now.
    pub(crate) fn served(&self) -> Arc<Served> {
        self.served.load_full()
    }

    /// The [`Served::generation`] of what is served now.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Derives everything anew. Where that fails, what was served stays.
    fn renew(&self) -> Result<(), Vec<SchemaFault>> {
        let generation = self.generation() + 1;
        let served = Served::make(generation, &self.sources, self.plan_cache_bytes)?;
        self.served.store(Arc::new(served));
        self.generation.store(generation, Ordering::Release);
        Ok(())
    }
}

/// Keeps the schema in step with what the sources offer, off the cores' threads; never returns.
pub(crate) async fn follow(site: Arc<Site>) {
    loop {
        let waiting = site.engine.sources.iter().map(|source| Box::pin(source.source.changed()));
        let ((), index, _) = select_all(waiting).await;
        tokio::time::sleep(SETTLE).await;
        let at = Arc::clone(&site);
        // A panic there has been reported by its thread; what was served stays.
        let Ok(renewed) = tokio::task::spawn_blocking(move || at.engine.renew()).await else { continue };
        let source = &site.engine.sources[index].name;
        match renewed {
            Ok(()) => {
                let contents = site.engine.served().surfaces[index].contents();
                tracing::info!(source, contents, "the schema has changed");
            }
            Err(faults) => {
                let faults = joined(&faults, &site.engine.sources);
                tracing::error!(
                    source,
                    faults,
                    "the schema stays as it was until this is mended at the source"
                );
            }
        }
    }
}

/// Says which trusted documents this schema refuses; the others are served.
fn check_documents(documents: &Documents, schema: &Schema, limits: &Limits) {
    for text in documents.trusted() {
        if let Err(errors) = Operation::parse(schema, text, None, limits) {
            let begin: String = text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
            let faults: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
            tracing::warn!(
                document = begin,
                faults = faults.join("; "),
                "a persisted document does not fit the schema"
            );
        }
    }
}

async fn open_source(settings: &SourceSettings) -> Result<NamedSource, OpenError> {
    let address: Address = settings.url.0.parse()?;
    let source = Source::open(&address, &settings.relational)
        .await
        .map_err(|source| OpenError::Source { name: settings.name.clone(), source: Box::new(source) })?;
    Ok(NamedSource { name: settings.name.clone(), source, address: address.to_string() })
}

/// GraphQL serves the default database.
fn graph_source(settings: &SourceSettings, databases: &Databases) -> NamedSource {
    let store = Arc::clone(&databases.default().store);
    let source = Source::Graph(GraphSource::new(store, settings.relational.clone()));
    NamedSource { name: settings.name.clone(), source, address: settings.url.without_secrets() }
}

/// List fields that the start-up log names; the schema has them all.
const NAMED_FIELDS: usize = 20;

/// Says what is served of a source, and what its names needed.
fn log_source(NamedSource { name, address, .. }: &NamedSource, surface: &Surface) {
    let mut fields = surface.list_fields();
    if fields.len() > NAMED_FIELDS {
        fields.truncate(NAMED_FIELDS);
        fields.push("…");
    }
    let (contents, fields) = (surface.contents(), fields.join(", "));
    tracing::info!(source = name, %address, contents, fields, "serving a source");
    for note in surface.notes() {
        tracing::info!(source = name, "{note}");
    }
}

#[cfg(test)]
mod tests {
    use prony_graph_store::{Durability, Kind, Options, Side, Store};
    use tempfile::TempDir;

    use super::*;
    use crate::config::{self, CommandLine};

    /// An engine over a database with a table of users and over a graph.
    fn engine(directory: &TempDir) -> Result<Engine, OpenError> {
        let sources = vec![
            format!("sqlite:{}", directory.path().join("shop.db").display()),
            format!("graph:{}", directory.path().join("graph").display()),
        ];
        let settings = config::load(None, CommandLine { sources, flags: Vec::new() }, &|_| None);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        tokio::task::LocalSet::new()
            .block_on(&runtime, Engine::open(&settings.expect("the sources are right")))
    }

    fn directory() -> TempDir {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let database = prony_testkit::chinook::sqlite_copy();
        std::fs::copy(database.path(), directory.path().join("shop.db")).expect("the database is copied");
        directory
    }

    #[test]
    fn a_type_that_collides_leaves_what_is_served_in_place() {
        let directory = directory();
        let engine = engine(&directory).expect("the sources can be opened");
        let store = Arc::clone(&engine.databases().expect("a graph is served").default().store);
        let declare = |of: &str| {
            let written = store.write_and_wait(|write| {
                write.make_type(Side::Nodes, of)?;
                write.declare(Side::Nodes, of, "fame", Kind::Integer)
            });
            written.expect("the type can be declared");
        };
        declare("User");
        engine.renew().expect("the names are free");
        assert!(engine.sdl().contains("type User implements GraphNode"));
        let before = engine.served();
        declare("Artist");
        let faults = joined(&engine.renew().expect_err("there is a table of artists"), &engine.sources);
        assert!(faults.contains("type Artist (and 9 other names) comes from source `shop` and"), "{faults}");
        assert!(Arc::ptr_eq(&before, &engine.served()));
        let dropped = store.write_and_wait(|write| write.drop_type(Side::Nodes, "Artist"));
        dropped.expect("nothing is of the type");
        engine.renew().expect("the name is free again");
    }

    #[test]
    fn a_type_that_collides_at_the_start_is_told() {
        let directory = directory();
        let options = Options::new(Durability::Sync);
        let store =
            Store::open(&directory.path().join("graph/rage"), options).expect("the graph can be made");
        let made = store.write_and_wait(|write| write.make_type(Side::Nodes, "Artist"));
        made.expect("the type can be made");
        drop(store);
        let error = engine(&directory).expect_err("there is a table of artists").to_string();
        assert!(error.starts_with("the sources do not make a schema: type Artist (and "), "{error}");
    }
}
