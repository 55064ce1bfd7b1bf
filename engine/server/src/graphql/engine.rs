//! What is served: the sources, opened, and what is derived from them. Shared by all cores.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwap;
use prony_graphql::{
    Name,
    document::{Operation, limits::Limits, operation::operation_names},
    response::Detail,
    schema::{Schema, SchemaFault, SharedDefinitions, SourceId},
};
use prony_source::{
    SourceSchema,
    config::{SourceOpener, suggestion},
};
use tokio::sync::watch;

use prony_access::{AccessSettings, OperationMatch, Role, explain};

use super::{
    candidates::Candidates,
    contributions::{NamedSource, OF_PROGRAM},
    documents::{Documents, DocumentsError},
    interception::{bypassed_interceptors, interceptor_faults},
    merging::{MergeInputs, collision, joined},
    reconfiguration::{self, Reconfiguration, join_faults},
    served::{Served, described, role_faults},
    withdrawal::ServedSchemas,
};
use crate::{
    config::{Functions, Settings, SourceSettings},
    joins::JoinSettings,
    tls::TlsError,
};

/// Why the sources cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("source `{name}` cannot be opened: {source}")]
    Source { name: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(
        "two sources are named `{name}`: {} and {}; give one another name",
        addresses[0],
        addresses[1]
    )]
    SameName { name: String, addresses: [String; 2] },
    #[error("the sources do not make a schema: {message}")]
    Schema { message: String },
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    #[error("joins do not fit what is served:\n{}", faults.join("\n"))]
    Joins { faults: Vec<String> },
    #[error("roles do not fit what is served:\n{}", faults.join("\n"))]
    Roles { faults: Vec<String> },
    #[error("there is no role `{name}`; there are: {known}")]
    NoRole { name: String, known: String },
    #[error("the schema cannot be introspected: {message}")]
    Introspection { message: String },
    #[error("traces cannot be sent: {0}")]
    Traces(#[from] TlsError),
}

/// What a source offers.
#[derive(Debug, Clone)]
pub struct SourceOutline {
    pub name: String,
    /// Such as `2 tables`.
    pub contents: String,
    /// Root fields that give lists.
    pub list_fields: Vec<String>,
    /// Tables or types, as roles name them.
    pub table_names: Vec<String>,
    /// What is served otherwise than in the source, or left out, and why.
    pub notes: Vec<String>,
}

/// The sources and what is derived from them.
#[derive(Debug)]
pub struct Engine {
    /// By `SourceId`.
    sources: Vec<NamedSource>,
    served: ArcSwap<Served>,
    /// Of what is served now.
    schemas: ServedSchemas,
    /// Of what is served now, so that cores see with one load whether theirs is still it.
    generation: AtomicU64,
    pub(crate) documents: Documents,
    limits: Limits,
    detail: Detail,
    plan_cache_bytes: usize,
    /// By which interceptors are called for everybody.
    access: ArcSwap<AccessSettings>,
    /// Held while what is served is derived anew.
    renewing: Mutex<()>,
}

impl Engine {
    /// Opens all sources and merges what they contribute.
    pub async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let mut sources = Vec::with_capacity(settings.sources.len());
        for source in &settings.sources {
            let opened = open_beside(&sources, source).await?;
            sources.push(opened);
        }
        sources.extend(of_program(&settings.functions));
        check_names(&sources)?;
        let plan_cache_bytes = settings.plan_cache_bytes as usize;
        let joins = settings.joins.clone().into();
        let inputs = MergeInputs { sources: &sources, joins: &joins, before: &[], held: &[], given: &[] };
        let served = Served::make(0, inputs, plan_cache_bytes)
            .map_err(|faults| OpenError::Schema { message: joined(&faults, &sources) })?
            .intercept(&settings.access, None, &sources);
        check_joins(&served)?;
        for ((source, schema), refused) in sources.iter().zip(&served.sources).zip(&*served.refused) {
            if refused.is_none() {
                log_source(source, &**schema);
            }
        }
        let documents = Documents::open(&settings.documents)?;
        check_documents(&documents, &served.schema, &settings.limits);
        check_weights(&served.schema, &settings.limits);
        let engine = Self {
            sources,
            documents,
            schemas: ServedSchemas::of(&served),
            served: ArcSwap::from_pointee(served),
            generation: AtomicU64::new(0),
            limits: settings.limits.clone(),
            detail: if settings.expose_database_errors { Detail::Shown } else { Detail::Hidden },
            plan_cache_bytes,
            access: ArcSwap::new(Arc::clone(&settings.access)),
            renewing: Mutex::default(),
        };
        engine.check_roles(&settings.access).map_err(|faults| OpenError::Roles { faults })?;
        Ok(engine)
    }

    /// Whether the permissions of all roles, and what has interceptors, fit what is served; where something of that is older than what
    /// its source has by now, because roles did not fit, whether they fit that.
    ///
    /// # Errors
    /// All that do not, each with the place where it was written.
    pub(crate) fn check_roles(&self, settings: &AccessSettings) -> Result<(), Vec<String>> {
        let served = self.served();
        let faults = self.faults_of(&served, settings);
        let fits_next = || {
            let next = self.candidates(&served, settings).choose();
            next.is_ok_and(|next| self.faults_of(&next, settings).is_empty())
        };
        if !faults.is_empty() && (!has_refused(&served) || !fits_next()) {
            return Err(faults);
        }
        self.warn_of_bypassed(settings);
        self.warn_of_names(settings);
        check_rules(&served.schema, settings);
        Ok(())
    }

    /// Says which interceptors are not called by calls over HTTP.
    pub(super) fn warn_of_bypassed(&self, settings: &AccessSettings) {
        let names: Vec<&str> = self.sources.iter().map(|source| &*source.name).collect();
        let has_calls = |index: usize| self.sources[index].source.http_api().is_some();
        for bypassed in bypassed_interceptors(settings, &names, &has_calls) {
            tracing::warn!(
                "{bypassed}: calls over HTTP reach it too, and call no interceptors: what must hold for them is a permission of a role, \
                 or they are not served (`graph_http = false` of a graph)"
            );
        }
    }

    /// Says which rules for names of operations need no scopes where a rule for fields does. Clients choose names, unless all documents are known.
    fn warn_of_names(&self, settings: &AccessSettings) {
        let is_of_fields = |matches: &OperationMatch| match matches {
            OperationMatch::Named(_) | OperationMatch::Call(_) => false,
            OperationMatch::RootField(..) | OperationMatch::RootType(_) | OperationMatch::All => true,
        };
        let mut rules = settings.operations.iter();
        let Some(scoped) = rules.find(|rule| is_of_fields(&rule.matches) && !rule.scopes.is_empty()) else {
            return;
        };
        for rule in settings.operations.iter().filter(|rule| rule.scopes.is_empty()) {
            if let OperationMatch::Named(name) = &rule.matches
                && self.documents.takes_texts(None)
            {
                tracing::warn!(
                    rule = name.as_str(),
                    "[[operation]] of this name needs no scopes, and clients choose names: with it they ask for `{}` without its scopes",
                    scoped.matches
                );
            }
        }
    }

    pub(super) fn faults_of(&self, served: &Served, settings: &AccessSettings) -> Vec<String> {
        let faults_of =
            |role| role_faults(served, &self.sources, role).into_iter().map(move |found| (role, found));
        let faults = settings.roles.iter().flat_map(faults_of);
        let mut faults: Vec<String> =
            faults.map(|(role, found)| described(&self.sources, role, &found)).collect();
        let names: Vec<&str> = self.sources.iter().map(|source| &*source.name).collect();
        faults.extend(interceptor_faults(settings, &names, &served.sources));
        let mute = settings.roles.iter().filter(|role| role.only_persisted_documents);
        faults.extend(mute.filter(|_| !self.documents.has_trusted()).map(|role| {
            format!(
                "[roles.{}] `only_persisted_documents` needs `persisted_documents` in [graphql]: a directory or file of what is answered",
                role.name
            )
        }));
        faults
    }

    pub(super) fn candidates<'a>(&'a self, before: &'a Served, access: &'a AccessSettings) -> Candidates<'a> {
        Candidates {
            generation: self.generation() + 1,
            sources: &self.sources,
            joins: &before.join_settings,
            given: &[],
            before,
            access,
            cache_bytes: self.plan_cache_bytes,
        }
    }

    /// What of everything a role is served; `shared` has what others are served.
    pub(super) fn served_to(
        &self,
        everything: &Served,
        role: &Role,
        shared: &mut SharedDefinitions,
    ) -> Result<Served, Vec<SchemaFault>> {
        everything.to_role(&self.sources, role, self.plan_cache_bytes, shared)
    }

    pub(super) fn served_nothing(&self, everything: &Served) -> Served {
        everything.nothing(&self.sources)
    }

    /// What a role may do, as a table, and its schema in the schema definition language.
    ///
    /// # Errors
    /// There is no such role.
    pub fn explain_role(&self, settings: &Arc<AccessSettings>, name: &str) -> Result<String, OpenError> {
        let role = settings.roles.iter().find(|role| *role.name == *name).ok_or_else(|| {
            let known: Vec<&str> = settings.roles.iter().map(|role| &*role.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            OpenError::NoRole { name: name.to_owned(), known }
        })?;
        let served = if role.unrestricted {
            self.served()
        } else {
            let made = self.served_to(&self.served(), role, &mut SharedDefinitions::default());
            Arc::new(made.map_err(|faults| OpenError::Schema { message: joined(&faults, &self.sources) })?)
        };
        Ok(format!("{}\n{}", explain(role, &settings.names), served.schema.sdl()))
    }

    /// By `SourceId`.
    pub(crate) fn sources(&self) -> &[NamedSource] {
        &self.sources
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// What each source offers, in the order of the sources.
    pub fn outline(&self) -> Vec<SourceOutline> {
        let served = self.served();
        let outline = |(source, schema): (&NamedSource, &Arc<dyn SourceSchema>)| SourceOutline {
            name: source.name.clone(),
            contents: schema.contents(),
            list_fields: schema.list_fields().into_iter().map(str::to_owned).collect(),
            table_names: schema.table_names(),
            notes: schema.notes().to_vec(),
        };
        self.sources.iter().zip(&served.sources).map(outline).collect()
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
    pub(super) fn renew(&self) -> Result<(), Vec<SchemaFault>> {
        let _guard = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, access) = (self.served(), self.access.load_full());
        let served = self.candidates(&before, &access).choose()?;
        self.serve(served, &access);
        Ok(())
    }

    /// Has it served from now on; `renewing` is held.
    fn serve(&self, served: Served, access: &Arc<AccessSettings>) {
        for fault in &served.join_faults {
            tracing::warn!(fault, "a join is left out");
        }
        let served = served.intercept(access, None, &self.sources);
        let (generation, served) = (served.generation, Arc::new(served));
        // First, so that no subscription by the new schema is held against the one of before.
        let others = self.schemas.take(&served);
        self.served.store(served);
        self.generation.store(generation, Ordering::Release);
        // Who is told of it asks at once by the new names.
        self.schemas.tell(&others);
    }

    /// What is served of a source, for who waits until it is something else.
    pub(crate) fn follow(&self, source: SourceId) -> watch::Receiver<Arc<dyn SourceSchema>> {
        self.schemas.follow(source)
    }

    /// What is other by these sources and joins; none where nothing is.
    ///
    /// # Errors
    /// As of [`reconfiguration::reconfigured`].
    pub(crate) async fn reconfigured(
        &self,
        settings: &[SourceSettings],
        joins: &[JoinSettings],
    ) -> Result<Option<Reconfiguration>, String> {
        let before = Arc::clone(&self.served().join_settings);
        reconfiguration::reconfigured(&self.sources, settings, (&before, joins)).await
    }

    /// Has what was made of a configuration served from now on, with its roles and interceptors: all of it or nothing.
    ///
    /// # Errors
    /// All that does not fit, in words.
    pub(crate) fn reconfigure(
        &self,
        next: Reconfiguration,
        access: &Arc<AccessSettings>,
    ) -> Result<(), String> {
        let _guard = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.served();
        let given = next.schemas();
        let candidates = Candidates { joins: &next.joins, given: &given, ..self.candidates(&before, access) };
        let served = candidates.choose_given(|served| {
            let mut faults = self.faults_of(served, access);
            faults.extend(join_faults(served, &before));
            faults
        })?;
        next.take(&self.sources);
        self.access.store(Arc::clone(access));
        self.serve(served, access);
        self.warn_of_bypassed(access);
        self.warn_of_names(access);
        check_rules(&self.served().schema, access);
        Ok(())
    }

    /// Has interceptors called by these settings from now on, and what sources offer held against them.
    ///
    /// # Errors
    /// Nothing can be derived anew; interceptors and what is served stay as they were.
    pub(crate) fn replace_interceptors(&self, settings: &Arc<AccessSettings>) -> Result<(), String> {
        let before = self.access.swap(Arc::clone(settings));
        let are_there = |settings: &AccessSettings| settings.interceptors.modules.is_some();
        if !are_there(&before) && !are_there(settings) && !has_refused(&self.served()) {
            return Ok(());
        }
        self.renew().map_err(|faults| {
            self.access.store(before);
            joined(&faults, &self.sources)
        })
    }
}

/// Whether what is served of a source is older than what it has, because something does not fit that.
fn has_refused(served: &Served) -> bool {
    let mut all = served.sources.iter().zip(&*served.refused);
    all.any(|(schema, refused)| refused.is_some() && schema.may_be_refused())
}

/// Joins have to fit, unless a source has not said yet what it offers.
fn check_joins(served: &Served) -> Result<(), OpenError> {
    let faults = &served.join_faults;
    if faults.is_empty() {
        return Ok(());
    }
    if !served.sources.iter().any(|source| source.is_pending()) {
        return Err(OpenError::Joins { faults: faults.clone() });
    }
    for fault in faults {
        tracing::warn!(fault, "a join waits for what it needs");
    }
    Ok(())
}

/// Says which trusted documents this schema refuses; the others are served. Of several operations requests choose one.
fn check_documents(documents: &Documents, schema: &Schema, limits: &Limits) {
    for (id, text) in documents.trusted() {
        let names = operation_names(text);
        let chosen: Vec<Option<&str>> =
            if names.len() > 1 { names.iter().map(|name| Some(name.as_str())).collect() } else { vec![None] };
        let refused = |name| Operation::parse(schema, text, name, limits).err();
        if let Some(errors) = chosen.into_iter().find_map(refused) {
            let begin: String = text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
            let faults: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
            tracing::warn!(
                id,
                document = begin,
                faults = faults.join("; "),
                "a persisted document does not fit the schema"
            );
        }
    }
}

/// Says which fields have a weight and are not there; types of a graph may come later.
fn check_weights(schema: &Schema, limits: &Limits) {
    for (parent, field) in limits.weights.names() {
        if schema.valid().type_field(parent, field).is_err() {
            tracing::warn!(
                field = format!("{parent}.{field}"),
                "[complexity] names a field that is not there"
            );
        }
    }
}

/// Says which rules are for root fields that are not there: with a slip of the pen nothing is asked of the field that was meant. Fields of a
/// graph, and of an upstream that is down, may come later.
fn check_rules(schema: &Schema, settings: &AccessSettings) {
    for rule in &settings.operations {
        let OperationMatch::RootField(root, field) = &rule.matches else { continue };
        if schema.valid().type_field(root, field).is_err() {
            let object = schema.valid().get_object(root).into_iter();
            let known = object.flat_map(|object| object.fields.keys().map(Name::as_str));
            let hint = suggestion(field, known);
            let rule = rule.matches.to_string();
            tracing::warn!(rule, "[[operation]] names a field that is not there{hint}");
        }
    }
}

/// What the program serves of its own.
fn of_program(functions: &Functions) -> impl Iterator<Item = NamedSource> {
    let named = |name: &str, source| {
        let (name, address) = (name.to_owned(), OF_PROGRAM.to_owned());
        NamedSource { name, source, address, is_prefixed: false }
    };
    let resolvers = functions.resolvers.iter();
    let resolvers = resolvers.map(move |resolvers| named("functions", Arc::new(resolvers.clone())));
    resolvers.chain(functions.sources.iter().map(move |given| named(&given.name, Arc::clone(&given.source))))
}

/// Opens a source; where it has names that sources before it have, and its user has chosen no beginning of them, its own name is it.
async fn open_beside(before: &[NamedSource], settings: &SourceSettings) -> Result<NamedSource, OpenError> {
    let opened = open_source(settings, &*settings.opener).await?;
    let Some(collision) = collision(before, &opened) else { return Ok(opened) };
    let Some(prefixed) = settings.opener.with_name_prefix(&settings.name) else { return Ok(opened) };
    drop(opened);
    tracing::info!(
        source = settings.name,
        "{collision}: names of this source begin with its own name; `name_prefix` in [[source]] chooses another beginning"
    );
    Ok(NamedSource { is_prefixed: true, ..open_source(settings, &*prefixed).await? })
}

async fn open_source(settings: &SourceSettings, opener: &dyn SourceOpener) -> Result<NamedSource, OpenError> {
    let source = opener.open().await;
    let source = source.map_err(|error| {
        let text = error.to_string();
        let located = settings.places.located(&text);
        // What has a place is said whole; of other errors the causes are told too.
        let source = if located == text { error } else { located.into() };
        OpenError::Source { name: settings.name.clone(), source }
    })?;
    let (name, address) = (settings.name.clone(), settings.url.without_secrets());
    Ok(NamedSource { name, source, address, is_prefixed: false })
}

/// Sources of a configuration have different names; those that a program gives may have any.
fn check_names(sources: &[NamedSource]) -> Result<(), OpenError> {
    for (index, source) in sources.iter().enumerate() {
        if let Some(first) = sources[..index].iter().find(|first| first.name == source.name) {
            let (name, addresses) = (source.name.clone(), [first.address.clone(), source.address.clone()]);
            return Err(OpenError::SameName { name, addresses });
        }
    }
    Ok(())
}

/// List fields that the start-up log names; the schema has them all.
const NAMED_FIELDS: usize = 20;

/// Says what is served of a source, and what its names needed.
fn log_source(NamedSource { name, address, .. }: &NamedSource, schema: &dyn SourceSchema) {
    let mut fields = schema.list_fields();
    if fields.len() > NAMED_FIELDS {
        fields.truncate(NAMED_FIELDS);
        fields.push("…");
    }
    let (contents, fields) = (schema.contents(), fields.join(", "));
    tracing::info!(source = name, %address, contents, fields, "serving a source");
    for note in schema.notes() {
        tracing::info!(source = name, "{note}");
    }
    for collision in schema.collisions() {
        tracing::warn!(source = name, "{collision}");
    }
}

#[cfg(test)]
mod tests {
    use prony_graph::{GraphSettings, GraphSource, databases::Databases};
    use prony_graph_store::{Kind, Side};
    use prony_graphql::selection::OperationKind;
    use prony_source::CommonSettings;
    use tempfile::TempDir;

    use super::*;
    use crate::config::{self, CommandLine, GivenSource};

    /// An engine over a database with a table of users and over a graph, and the graph's databases.
    fn engine(directory: &TempDir) -> (Engine, Arc<Databases>) {
        let sources = vec![format!("sqlite:{}", directory.path().join("shop.db").display())];
        let line = CommandLine { sources, ..CommandLine::default() };
        let settings = config::load(&[&prony_sqlite::SqliteKind], None, line, &|_| None);
        let mut settings = settings.expect("the source is right");
        let databases = Databases::open(&directory.path().join("graph"), &GraphSettings::default());
        let databases = Arc::new(databases.expect("the graph can be opened"));
        let source = Arc::new(GraphSource::new(Arc::clone(&databases), CommonSettings::default()));
        settings.functions.sources.push(GivenSource { name: "graph".to_owned(), source });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let engine = tokio::task::LocalSet::new().block_on(&runtime, Engine::open(&settings));
        (engine.expect("the sources can be opened"), databases)
    }

    fn directory() -> TempDir {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let database = prony_testkit::chinook::sqlite_copy();
        std::fs::copy(database.path(), directory.path().join("shop.db")).expect("the database is copied");
        directory
    }

    /// Whoever may write to the graph may make types, and must not change or stop what others have.
    #[test]
    fn types_of_the_graph_give_way_to_tables() {
        let directory = directory();
        let tables = engine(&directory).0.served().sources[0].contribution();
        let names = tables.types.iter().map(|(name, _)| name.as_str());
        let fields = tables.query.iter().chain(&tables.mutation).map(|field| field.name.as_str());
        let stems = fields.clone().filter_map(|field| field.strip_prefix("create"));
        let names: Vec<&str> =
            names.chain(fields.clone()).chain(stems).chain(["User", "Query", "Int"]).collect();
        {
            let (engine, databases) = engine(&directory);
            let store = &databases.default().store;
            for (place, of) in names.iter().enumerate() {
                let side = if place % 2 == 0 { Side::Nodes } else { Side::Relationships };
                let written = store.write_and_wait(|write| {
                    write.make_type(side, of)?;
                    write.declare(side, of, "fame", Kind::Integer)
                });
                written.expect("the type can be declared");
            }
            engine.renew().expect("types of the graph give way");
        }
        let (engine, _) = engine(&directory);
        let sdl = engine.sdl();
        for expected in
            ["type User implements GraphNode", "type ArtistNode implements GraphNode", "type Artist {"]
        {
            assert!(sdl.contains(expected), "{expected}");
        }
        let collisions = engine.served().sources[1].collisions().to_vec();
        let expected = "type `Artist` of nodes is served as `ArtistNode`, its list as `artist_nodes`, its mutations as \
                        `createArtistNode` and so on, because another source has its names";
        assert!(collisions.iter().any(|told| told == expected), "{collisions:#?}");
        assert!(!collisions.iter().any(|told| told.contains("`User`")), "{collisions:#?}");
        let served = engine.served();
        let fields = tables.query.iter().map(|field| field.name.as_str());
        for field in fields {
            assert_eq!(served.schema.owner(OperationKind::Query, field), Some(SourceId(0)), "{field}");
        }
    }
}
