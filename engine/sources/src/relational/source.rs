//! A relational database behind one face: opened by its address, planned and queried without knowing which
//! database it is.

use std::{fmt, path::PathBuf, rc::Rc, str::FromStr, sync::Arc};

use futures_util::FutureExt as _;
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind},
    variables::Variables,
};
use thiserror::Error;

use super::{
    changes::{
        self, Feed,
        events::Watch,
        names::{ChangeIndex, ChangeNames},
        plan::ChangesPlan,
    },
    contribution::contribution,
    live::{Dependencies, News},
    lower::{RootIndex, lower},
    model::Model,
    plan::RootPlan,
    postgres,
    settings::{RelationalSettings, SettingsFault},
    sqlite,
};

use crate::source::Events;

/// Where a relational database is.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// `sqlite:FILE`.
    Sqlite(PathBuf),
    /// `postgres://…` or `postgresql://…`; may hold a password.
    Postgres(String),
}

/// A text that is no address of a relational database.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{given}` names no source: use `sqlite:FILE` or `postgres://USER:PASSWORD@HOST/DATABASE`")]
pub struct AddressError {
    pub given: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if !path.is_empty() {
                return Ok(Self::Sqlite(PathBuf::from(path)));
            }
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        Err(AddressError { given: without_password(text) })
    }
}

/// Without the password, for logs and messages.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(url) => formatter.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Cuts `:PASSWORD` out of `scheme://USER:PASSWORD@…`, and the values of `password` parameters.
fn without_password(url: &str) -> String {
    let (head, query) = url.split_once('?').map_or((url, None), |(head, query)| (head, Some(query)));
    let mut out = match (head.find("://"), head.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 < at => {
            let user = head[scheme + 3..at].split(':').next().unwrap_or_default();
            format!("{}://{user}{}", &head[..scheme], &head[at..])
        }
        _ => head.to_owned(),
    };
    for (index, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        out.push_str(if pair.starts_with("password=") { "password=…" } else { pair });
    }
    out
}

/// Why a source could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Sqlite(#[from] sqlite::OpenError),
    #[error(transparent)]
    Postgres(#[from] postgres::OpenError),
    /// Settings that do not fit the catalog, all of them.
    #[error("{}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Settings { faults: Vec<SettingsFault> },
}

/// An open database: shared by all cores.
#[derive(Debug)]
pub struct RelationalSource {
    address: Address,
    model: Arc<Model>,
    roots: RootIndex,
    /// Empty where the source has no subscriptions.
    changes: ChangeIndex,
    database: Database,
    /// Whether its query fields are fields of subscriptions too.
    has_live_queries: bool,
}

#[derive(Debug)]
enum Database {
    Sqlite(sqlite::Database),
    Postgres(postgres::Database),
}

/// A root field with its statements, for the plan cache.
#[derive(Debug, Clone)]
pub struct PreparedRoot(Prepared);

#[derive(Debug, Clone)]
enum Prepared {
    Sqlite(Arc<sqlite::Prepared>),
    Postgres(Arc<postgres::Prepared>),
    /// A subscription.
    Changes(Arc<ChangesPlan<PreparedRoot>>),
    /// A query that is answered anew when what it depends on has changed.
    Live(Arc<(PreparedRoot, Dependencies)>),
}

impl PreparedRoot {
    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        match &self.0 {
            Prepared::Changes(plan) => {
                const PER_OUTPUT: usize = 256;
                let statements = plan.statements().map(PreparedRoot::weight_bytes).sum::<usize>();
                statements + plan.outputs.len() * PER_OUTPUT
            }
            Prepared::Live(live) => live.0.weight_bytes() + live.1.weight_bytes(),
            Prepared::Sqlite(prepared) => prepared.weight_bytes(),
            Prepared::Postgres(prepared) => prepared.weight_bytes(),
        }
    }
}

impl PreparedRoot {
    /// What one answer is made from.
    fn once(&self) -> &Self {
        if let Prepared::Live(live) = &self.0 { &live.0 } else { self }
    }

    fn sqlite(&self) -> Option<Arc<sqlite::Prepared>> {
        match &self.0 {
            Prepared::Sqlite(prepared) => Some(Arc::clone(prepared)),
            Prepared::Postgres(_) | Prepared::Changes(_) | Prepared::Live(_) => None,
        }
    }

    fn postgres(&self) -> Option<Arc<postgres::Prepared>> {
        match &self.0 {
            Prepared::Postgres(prepared) => Some(Arc::clone(prepared)),
            Prepared::Sqlite(_) | Prepared::Changes(_) | Prepared::Live(_) => None,
        }
    }
}

impl RelationalSource {
    /// Connects, discovers, and makes the model.
    pub async fn open(address: &Address, settings: RelationalSettings) -> Result<Arc<Self>, OpenError> {
        let (mut database, catalog) = match address {
            Address::Sqlite(path) => {
                let (database, catalog) = sqlite::Database::open(path, &settings)?;
                (Database::Sqlite(database), catalog)
            }
            Address::Postgres(url) => {
                let (database, catalog) = postgres::Database::open(url, &settings).await?;
                (Database::Postgres(database), catalog)
            }
        };
        let mut model = Model::build(&catalog, &settings).map_err(|faults| OpenError::Settings { faults })?;
        let roots = RootIndex::new(&model);
        let mut notes = Vec::new();
        let changes = if settings.subscriptions {
            ChangeIndex::new(&model, &mut notes)
        } else {
            ChangeIndex::default()
        };
        if settings.listen && matches!(database, Database::Sqlite(_)) {
            let note =
                "`listen` is for PostgreSQL: what other programs change in a SQLite database is not heard of";
            model.notes.push(note.to_owned());
        }
        model.notes.extend(notes);
        let model = Arc::new(model);
        if settings.listen
            && let Database::Postgres(database) = &mut database
        {
            database.listen(&model).await?;
        }
        Ok(Arc::new(Self {
            address: address.clone(),
            model,
            roots,
            changes,
            database,
            has_live_queries: settings.subscriptions,
        }))
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The database's name, for people.
    pub fn product(&self) -> &'static str {
        match self.database {
            Database::Sqlite(_) => "SQLite",
            Database::Postgres(_) => "PostgreSQL",
        }
    }

    /// Of PostgreSQL, where it listens for changes made by others.
    pub fn listener(&self) -> Option<&postgres::ListenerState> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(database) => database.listener(),
        }
    }

    /// What changes in its tables, as far as it is known.
    pub fn changes(&self) -> &Arc<Feed> {
        match &self.database {
            Database::Sqlite(database) => database.changes(),
            Database::Postgres(database) => database.changes(),
        }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// For the start-up log: collisions resolved, tables left out, columns served as text.
    pub fn notes(&self) -> &[String] {
        &self.model.notes
    }

    pub fn contribution(&self) -> Contribution {
        let mut contribution = contribution(&self.model);
        changes::contribution::add(&self.model, &self.changes, &mut contribution);
        if self.has_live_queries {
            contribution.subscription.extend(contribution.query.iter().cloned());
        }
        contribution
    }

    /// # Panics
    /// For a source that is not SQLite: only its own sessions ask.
    fn sqlite(&self) -> &sqlite::Database {
        match &self.database {
            Database::Sqlite(database) => database,
            Database::Postgres(_) => unreachable!("a SQLite session belongs to a SQLite source"),
        }
    }

    /// Plans one root field.
    pub fn plan(&self, kind: OperationKind, field: &Field) -> Result<PreparedRoot, GraphqlError> {
        if kind == OperationKind::Subscription
            && let Some(names) = self.changes.find(&field.name)
        {
            return self.plan_changes(names, field);
        }
        if kind == OperationKind::Subscription {
            let root = lower(&self.model, &self.roots, OperationKind::Query, field)?;
            let dependencies = Dependencies::of(&self.model, &root.root);
            return Ok(PreparedRoot(Prepared::Live(Arc::new((self.prepare(root)?, dependencies)))));
        }
        self.prepare(lower(&self.model, &self.roots, kind, field)?)
    }

    fn prepare(&self, root: RootPlan) -> Result<PreparedRoot, GraphqlError> {
        Ok(PreparedRoot(match &self.database {
            Database::Sqlite(database) => Prepared::Sqlite(Arc::new(database.prepare(&self.model, root)?)),
            Database::Postgres(database) => {
                Prepared::Postgres(Arc::new(database.prepare(&self.model, root)?))
            }
        }))
    }

    fn plan_changes(&self, names: &ChangeNames, field: &Field) -> Result<PreparedRoot, GraphqlError> {
        let plan = ChangesPlan::lower(&self.model, names, field, |root, list| {
            Ok(PreparedRoot(match &self.database {
                Database::Sqlite(database) => {
                    Prepared::Sqlite(Arc::new(database.prepare_given(&self.model, root, list)))
                }
                Database::Postgres(database) => {
                    Prepared::Postgres(Arc::new(database.prepare_given(&self.model, root, list)?))
                }
            }))
        })?;
        Ok(PreparedRoot(Prepared::Changes(Arc::new(plan))))
    }

    /// Opens this core's part of the source; call it on the core's thread, inside its `LocalSet`.
    pub fn attach(self: &Arc<Self>) -> RelationalHandle {
        RelationalHandle {
            source: Arc::clone(self),
            session: Rc::new(match &self.database {
                Database::Sqlite(database) => Session::Sqlite(database.attach()),
                Database::Postgres(database) => Session::Postgres(database.attach()),
            }),
        }
    }
}

/// One core's connections to a source.
#[derive(Debug)]
pub struct RelationalHandle {
    source: Arc<RelationalSource>,
    /// Subscriptions share it.
    session: Rc<Session>,
}

#[derive(Debug)]
enum Session {
    /// Mutations and health are the source's, which all cores share.
    Sqlite(sqlite::Reader),
    Postgres(postgres::Session),
}

impl Session {
    async fn query(&self, root: &PreparedRoot, variables: &Variables) -> FieldResult {
        match (self, &root.once().0) {
            (Self::Sqlite(reader), Prepared::Sqlite(prepared)) => reader.query(prepared, variables).await,
            (Self::Postgres(session), Prepared::Postgres(prepared)) => {
                session.query(prepared, variables).await
            }
            (_, Prepared::Changes(plan)) => {
                let message = format!("{} has events, and no single answer", plan.response_key);
                let error = GraphqlError::new(ErrorCode::ValidationFailed, message).at(plan.position);
                FieldResult::failed(error)
            }
            _ => unreachable!("a source's plans are given to its own handle"),
        }
    }
}

impl RelationalHandle {
    /// Answers a list or an aggregate. Dropping the future stops the work at the database.
    pub async fn query(&self, root: &PreparedRoot, variables: &Variables) -> FieldResult {
        self.session.query(root, variables).await
    }

    /// Begins to hear events of a subscription's root field, all of changes that are committed after this returns.
    pub fn subscribe(&self, root: &PreparedRoot, variables: &Variables) -> Result<Events, GraphqlError> {
        let Prepared::Changes(plan) = &root.0 else {
            return Err(GraphqlError::new(ErrorCode::ValidationFailed, "the field has no events"));
        };
        let session = Rc::clone(&self.session);
        let watch = Watch {
            model: Arc::clone(&self.source.model),
            plan: Arc::clone(plan),
            variables: variables.clone(),
            ask: Box::new(move |root: &PreparedRoot, variables| {
                let (session, root) = (Rc::clone(&session), root.clone());
                async move { session.query(&root, &variables).await }.boxed_local()
            }),
        };
        Ok(watch.events(self.source.changes().subscribe(&[plan.table])))
    }

    /// Of a live query: tells when its answer may have become another.
    pub fn news(&self, root: &PreparedRoot) -> Option<News> {
        let Prepared::Live(live) = &root.0 else { return None };
        Some(live.1.listen(self.source.changes()))
    }

    /// Runs mutations in order in one transaction: all or nothing.
    pub async fn mutate(&self, roots: &[&PreparedRoot], variables: &Variables) -> Vec<FieldResult> {
        match &*self.session {
            Session::Sqlite(_) => {
                let prepared: Vec<_> = roots.iter().filter_map(|root| root.sqlite()).collect();
                self.source.sqlite().mutate(prepared, Arc::new(variables.clone())).await
            }
            Session::Postgres(session) => {
                let prepared: Vec<_> = roots.iter().filter_map(|root| root.postgres()).collect();
                session.mutate(&prepared, variables).await
            }
        }
    }

    /// Whether the database can be asked now; the text is for people who run the server.
    pub async fn health(&self) -> Result<(), String> {
        match &*self.session {
            Session::Sqlite(_) => {
                self.source.sqlite().health().await.map_err(|error| error.detail.unwrap_or(error.message))
            }
            Session::Postgres(session) => session.health(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
    }

    #[test]
    fn addresses_are_shown_without_passwords() {
        check("postgres://anna@db/shop", "postgres://anna@db/shop");
        check("postgres://anna:se:cr@et@db:5432/shop", "postgres://anna@db:5432/shop");
        check("postgresql://db/shop?password=secret&user=anna", "postgresql://db/shop?password=…&user=anna");
    }

    #[test]
    fn other_texts_are_refused_without_their_passwords() {
        let error = "mysql://anna:secret@db/shop".parse::<Address>().unwrap_err();
        assert!(error.to_string().contains("mysql://anna@db/shop"), "{error}");
    }
}
