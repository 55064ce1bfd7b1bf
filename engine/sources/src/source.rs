//! A source of any kind behind one face, which is all that the server knows. What each kind does is its own module's.
//!
//! A [`Source`] stays as long as the server. What it offers may change while it is served: a [`Surface`] is what it
//! offers at one moment, from which the schema is made and root fields are planned. A [`Handle`] is one core's part of a
//! source; it runs what a surface has planned, also after another surface has come.

use std::{collections::HashSet, fmt, pin::Pin, str::FromStr, sync::Arc};

use futures_util::{Stream, future::join_all};
use prony_graphql::{
    error::GraphqlError,
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind},
    variables::Variables,
};

use crate::{
    graph::source::{self as graph, GraphHandle, GraphSource, GraphSurface},
    relational::{
        live as relational_live,
        settings::RelationalSettings,
        source::{self as relational, RelationalHandle, RelationalSource},
    },
    resolvers::{self, Resolvers},
};

pub use crate::relational::{postgres::ListenerState, source::AddressError};

/// Where a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Relational(relational::Address),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map(Self::Relational)
    }
}

/// Without the password, for logs and messages.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relational(address) => address.fmt(formatter),
        }
    }
}

/// Why a source could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Relational(#[from] relational::OpenError),
}

/// An open source: shared by all cores.
#[derive(Debug, Clone)]
pub enum Source {
    Relational(Arc<RelationalSource>),
    Graph(Arc<GraphSource>),
    /// Functions; made by the program that serves them, so that it has no address.
    Resolvers(Resolvers),
}

impl Source {
    /// Connects and finds out what there is.
    pub async fn open(address: &Address, settings: &RelationalSettings) -> Result<Self, OpenError> {
        match address {
            Address::Relational(address) => {
                Ok(Self::Relational(RelationalSource::open(address, settings.clone()).await?))
            }
        }
    }

    /// What keeps the data, for people. Host, user and path are not for clients.
    pub fn product(&self) -> &'static str {
        match self {
            Self::Relational(source) => source.product(),
            Self::Graph(_) => "graph",
            Self::Resolvers(_) => "functions",
        }
    }

    /// Whether its names are its owner's, whom a collision is told; the others give way.
    pub fn keeps_its_names(&self) -> bool {
        !matches!(self, Self::Graph(_))
    }

    /// What it offers now, alone.
    pub fn surface(&self) -> Surface {
        self.surface_beside(&Taken::default())
    }

    /// What it offers now, beside what others have.
    pub fn surface_beside(&self, taken: &Taken) -> Surface {
        match self {
            Self::Relational(source) => Surface::Relational(Arc::clone(source)),
            Self::Graph(source) => Surface::Graph(source.surface(taken)),
            Self::Resolvers(resolvers) => Surface::Resolvers(resolvers.clone()),
        }
    }

    /// Of a database that is listened to.
    pub fn listener(&self) -> Option<&ListenerState> {
        match self {
            Self::Relational(source) => source.listener(),
            Self::Graph(_) | Self::Resolvers(_) => None,
        }
    }

    /// Returns when it may offer something else than before.
    pub async fn changed(&self) {
        match self {
            // Tables are discovered once, functions written once.
            Self::Relational(_) | Self::Resolvers(_) => std::future::pending().await,
            Self::Graph(source) => source.changed().await,
        }
    }

    /// Opens this core's part of the source; call it on the core's thread, inside its `LocalSet`.
    pub fn attach(&self) -> Handle {
        match self {
            Self::Relational(source) => Handle::Relational(source.attach()),
            Self::Graph(source) => Handle::Graph(source.attach()),
            Self::Resolvers(resolvers) => Handle::Resolvers(resolvers.clone()),
        }
    }
}

/// Names of types and root fields that sources have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    types: HashSet<String>,
    fields: HashSet<String>,
}

impl Taken {
    pub fn add(&mut self, contribution: &Contribution) {
        self.types.extend(contribution.types.iter().map(|(name, _)| name.to_string()));
        let roots = [&contribution.query, &contribution.mutation, &contribution.subscription];
        self.fields.extend(roots.into_iter().flatten().map(|field| field.name.to_string()));
    }

    pub fn has_type(&self, name: &str) -> bool {
        self.types.contains(name)
    }

    /// Of whatever kind of operation.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.contains(name)
    }
}

/// What a source offers at one moment.
#[derive(Debug, Clone)]
pub enum Surface {
    Relational(Arc<RelationalSource>),
    Graph(Arc<GraphSurface>),
    Resolvers(Resolvers),
}

impl Surface {
    /// Types and root fields.
    pub fn contribution(&self) -> Contribution {
        match self {
            Self::Relational(source) => source.contribution(),
            Self::Graph(surface) => surface.contribution(),
            Self::Resolvers(resolvers) => resolvers.contribution(),
        }
    }

    /// For the log: names that collided, what is left out.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Relational(source) => source.notes(),
            Self::Graph(surface) => &surface.model().notes,
            Self::Resolvers(_) => &[],
        }
    }

    /// What has given way to names of other sources.
    pub fn collisions(&self) -> &[String] {
        match self {
            Self::Graph(surface) => &surface.model().collisions,
            Self::Relational(_) | Self::Resolvers(_) => &[],
        }
    }

    /// How much there is, for people: `11 tables`.
    pub fn contents(&self) -> String {
        match self {
            Self::Relational(source) => source.model().contents(),
            Self::Graph(surface) => surface.model().contents(),
            Self::Resolvers(resolvers) => resolvers.contents(),
        }
    }

    /// Root fields that return lists, in the order of the schema; of functions, all root fields of queries.
    pub fn list_fields(&self) -> Vec<&str> {
        match self {
            Self::Relational(source) => source.model().tables.iter().map(|table| &*table.list_name).collect(),
            Self::Graph(surface) => surface.model().nodes.types.iter().map(|of| &*of.list_name).collect(),
            Self::Resolvers(resolvers) => resolvers.query_fields(),
        }
    }

    /// A query that works and shows what can be asked.
    pub fn example(&self) -> Option<String> {
        match self {
            Self::Relational(source) => source.model().example(),
            Self::Graph(surface) => Some(surface.model().example()),
            Self::Resolvers(resolvers) => resolvers.example(),
        }
    }

    /// Plans one root field.
    pub fn plan(&self, kind: OperationKind, field: &Field) -> Result<PreparedRoot, GraphqlError> {
        match self {
            Self::Relational(source) => source.plan(kind, field).map(PreparedRoot::Relational),
            Self::Graph(surface) => surface.plan(kind, field).map(PreparedRoot::Graph),
            Self::Resolvers(resolvers) => resolvers.plan(field).map(PreparedRoot::Resolvers),
        }
    }
}

/// A root field ready to be answered, for the plan cache.
#[derive(Debug, Clone)]
pub enum PreparedRoot {
    Relational(relational::PreparedRoot),
    Graph(graph::PreparedRoot),
    Resolvers(resolvers::PreparedRoot),
}

impl PreparedRoot {
    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        match self {
            Self::Relational(root) => root.weight_bytes(),
            Self::Graph(root) => root.weight_bytes(),
            Self::Resolvers(root) => root.weight_bytes(),
        }
    }

    fn relational(&self) -> Option<&relational::PreparedRoot> {
        if let Self::Relational(root) = self { Some(root) } else { None }
    }

    fn graph(&self) -> Option<&graph::PreparedRoot> {
        if let Self::Graph(root) = self { Some(root) } else { None }
    }

    /// Whether its answer may have to be waited for.
    pub fn waits(&self) -> bool {
        match self {
            Self::Relational(_) | Self::Graph(_) => true,
            Self::Resolvers(root) => root.waits(),
        }
    }

    /// The plan of functions, where it is one.
    pub fn resolvers(&self) -> Option<&resolvers::PreparedRoot> {
        if let Self::Resolvers(root) = self { Some(root) } else { None }
    }
}

const OWN_PLANS: &str = "a source's plans are given to its own handle";

/// What a subscription's root field answers, one item an event, on the thread of its core. Each is whole: the source has
/// executed the selection on the event (GraphQL specification, section 6.2.3.2). The end of the stream completes the
/// subscription; dropping it ends the source's work for it.
pub type Events = Pin<Box<dyn Stream<Item = FieldResult>>>;

/// Tells when the answer of a live query may have become another.
#[derive(Debug)]
pub enum News {
    Relational(relational_live::News),
    Graph(graph::News),
}

impl News {
    /// Returns when something has changed that the answer depends on, or when that is not known. Dropping the future loses
    /// nothing.
    pub async fn changed(&mut self) {
        match self {
            Self::Relational(news) => news.changed().await,
            Self::Graph(news) => news.changed().await,
        }
    }

    /// Takes note of all that was told: an answer that is asked for after this holds it.
    pub fn forget(&mut self) {
        match self {
            Self::Relational(news) => news.forget(),
            Self::Graph(news) => news.forget(),
        }
    }
}

/// One core's part of a source.
#[derive(Debug)]
pub enum Handle {
    Relational(RelationalHandle),
    Graph(GraphHandle),
    Resolvers(Resolvers),
}

impl Handle {
    /// Answers a root field of a query. Dropping the future stops the work.
    pub async fn query(&self, root: &PreparedRoot, variables: &Variables) -> FieldResult {
        match (self, root) {
            (Self::Relational(handle), PreparedRoot::Relational(root)) => handle.query(root, variables).await,
            (Self::Graph(handle), PreparedRoot::Graph(root)) => handle.query(root, variables).await,
            (Self::Resolvers(resolvers), PreparedRoot::Resolvers(root)) => {
                resolvers.query(root, variables).await
            }
            _ => unreachable!("{OWN_PLANS}"),
        }
    }

    /// Answers a root field, of a query or of a mutation, that does not wait.
    ///
    /// # Panics
    /// Where it [`waits`](PreparedRoot::waits).
    pub fn answer_at_once(&self, root: &PreparedRoot, variables: &Variables) -> FieldResult {
        let answered = match (self, root) {
            (Self::Resolvers(resolvers), PreparedRoot::Resolvers(root)) => {
                resolvers.answer_now(root, variables)
            }
            _ => None,
        };
        answered.expect("the caller has asked whether it waits")
    }

    /// Answers root fields of one query: from one look where the source has such a thing, else at the same time.
    pub async fn query_all(&self, roots: &[&PreparedRoot], variables: &Variables) -> Vec<FieldResult> {
        match self {
            Self::Graph(handle) => {
                let roots: Vec<_> = roots.iter().filter_map(|root| root.graph()).collect();
                handle.query_all(&roots, variables).await
            }
            Self::Relational(_) | Self::Resolvers(_) => {
                join_all(roots.iter().map(|root| self.query(root, variables))).await
            }
        }
    }

    /// Runs root fields of a mutation in order: all or nothing in a database, functions one after the other.
    pub async fn mutate(&self, roots: &[&PreparedRoot], variables: &Variables) -> Vec<FieldResult> {
        match self {
            Self::Relational(handle) => {
                let roots: Vec<_> = roots.iter().filter_map(|root| root.relational()).collect();
                handle.mutate(&roots, variables).await
            }
            Self::Graph(handle) => {
                let roots: Vec<_> = roots.iter().filter_map(|root| root.graph()).collect();
                handle.mutate(&roots, variables).await
            }
            Self::Resolvers(resolvers) => {
                let roots: Vec<_> = roots.iter().filter_map(|root| root.resolvers()).collect();
                resolvers.mutate(&roots, variables).await
            }
        }
    }

    /// Begins to hear events of the root field of a subscription: all that are raised after this returns. One stream a core
    /// serves all clients that ask the same, so nothing in it may depend on who asked.
    pub fn subscribe(&self, root: &PreparedRoot, variables: &Variables) -> Result<Events, GraphqlError> {
        match (self, root) {
            (Self::Resolvers(resolvers), PreparedRoot::Resolvers(root)) => {
                resolvers.subscribe(root, variables)
            }
            (Self::Relational(handle), PreparedRoot::Relational(root)) => handle.subscribe(root, variables),
            (Self::Graph(handle), PreparedRoot::Graph(root)) => handle.subscribe(root, variables),
            _ => unreachable!("{OWN_PLANS}"),
        }
    }

    /// Of the root field of a subscription that is a live query, answered by [`Self::query`] again and again: tells when
    /// that is due, from now on. None where the field has events.
    pub fn news(&self, root: &PreparedRoot) -> Option<News> {
        match (self, root) {
            (Self::Relational(handle), PreparedRoot::Relational(root)) => {
                handle.news(root).map(News::Relational)
            }
            (Self::Graph(handle), PreparedRoot::Graph(root)) => handle.news(root).map(News::Graph),
            (Self::Resolvers(_), PreparedRoot::Resolvers(_)) => None,
            _ => unreachable!("{OWN_PLANS}"),
        }
    }

    /// Whether it can be asked now; the text is for people who run the server.
    pub async fn health(&self) -> Result<(), String> {
        match self {
            Self::Relational(handle) => handle.health().await,
            // They are in this process.
            Self::Graph(_) | Self::Resolvers(_) => Ok(()),
        }
    }
}
