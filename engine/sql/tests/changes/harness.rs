//! A source over a temporary database, as a core of the server has it, and what its feed tells.

use std::{fmt::Write as _, future::Future, rc::Rc, sync::Arc};

use futures_util::StreamExt as _;
use prony_graphql::{
    document::{Operation as Document, limits::Limits},
    response::{Detail, assemble},
    schema::{Schema, SourceId},
    selection::{OperationKind, Selection},
    variables::Variables,
};
use prony_source::{
    ChangeSignal, Events, FieldRequest, PreparedField, ReservedNames, Source, SourceSchema, SourceSession,
    permissions::Permissions,
};
use prony_testkit::postgres::TestDatabase;
use tempfile::TempDir;
use tokio::task::LocalSet;

use prony_postgres::{ListenerState, PostgresDatabase};
use prony_sql::{
    changes::{Feed, Lost, Reader, Transaction},
    model::{Model, TableId},
    settings::RelationalSettings,
};

/// A database of either kind.
pub(super) enum Made {
    Sqlite(TempDir),
    Postgres(TestDatabase),
}

impl Made {
    /// One of each kind, made by the same SQL.
    pub(super) fn both(sql: &str) -> [Self; 2] {
        [Self::sqlite(sql), Self::postgres(sql)]
    }

    pub(super) fn sqlite(sql: &str) -> Self {
        let made = Self::Sqlite(tempfile::tempdir().unwrap());
        made.execute(sql);
        made
    }

    pub(super) fn postgres(sql: &str) -> Self {
        let made = Self::Postgres(TestDatabase::create());
        made.execute(sql);
        made
    }

    pub(super) fn address(&self) -> String {
        match self {
            Self::Sqlite(directory) => format!("sqlite:{}", directory.path().join("test.db").display()),
            Self::Postgres(database) => database.url(),
        }
    }

    /// Runs SQL as another program.
    pub(super) fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(directory) => {
                let connection = rusqlite::Connection::open(directory.path().join("test.db")).unwrap();
                connection.execute_batch(sql).unwrap();
            }
            Self::Postgres(database) => database.execute(sql),
        }
    }
}

/// A source and one core's session with it.
pub(super) struct Bed {
    pub(super) session: Rc<dyn SourceSession>,
    pub(super) source_schema: Arc<dyn SourceSchema>,
    /// Of PostgreSQL.
    postgres: Option<Arc<PostgresDatabase>>,
    model: Arc<Model>,
    feed: Arc<Feed>,
    schema: Schema,
}

impl Bed {
    pub(super) async fn over(address: &str) -> Self {
        Self::with(address, RelationalSettings::default()).await
    }

    pub(super) async fn with(address: &str, settings: RelationalSettings) -> Self {
        Self::open(address, settings, None).await
    }

    /// The source as a role has it.
    pub(super) async fn for_role(made: &Made, permissions: &Permissions) -> Self {
        Self::open(&made.address(), RelationalSettings::default(), Some(permissions)).await
    }

    async fn open(address: &str, settings: RelationalSettings, role: Option<&Permissions>) -> Self {
        if let Some(path) = address.strip_prefix("sqlite:") {
            let source = prony_sqlite::open(path.as_ref(), &settings).unwrap();
            let (model, feed) = (source.model(), Arc::clone(source.database().changes()));
            return Self::of(&source, model, feed, None, role);
        }
        let source = prony_postgres::open(address, &settings).await.unwrap();
        let (model, feed) = (source.model(), Arc::clone(source.database().changes()));
        Self::of(&source, model, feed, Some(Arc::clone(source.database())), role)
    }

    fn of(
        source: &dyn Source,
        model: Arc<Model>,
        feed: Arc<Feed>,
        postgres: Option<Arc<PostgresDatabase>>,
        role: Option<&Permissions>,
    ) -> Self {
        let reserved = ReservedNames::default();
        let source_schema = match role {
            Some(role) => source.schema_for(&reserved, role).unwrap(),
            None => source.schema(&reserved),
        };
        let session = source.attach();
        let schema = Schema::merge(vec![(SourceId(0), source_schema.contribution())]).unwrap();
        Self { session, source_schema, postgres, model, feed, schema }
    }

    pub(super) fn listener(&self) -> &ListenerState {
        self.postgres.as_ref().unwrap().listener().unwrap()
    }

    pub(super) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    pub(super) fn table(&self, name: &str) -> TableId {
        let index = self.model().tables.iter().position(|table| &*table.name == name).unwrap();
        TableId(index as u32)
    }

    /// The tables of the database are those of another model from now on.
    pub(super) fn renew(&self, model: &Arc<Model>) {
        self.feed.renew(model);
    }

    /// Hears of these tables.
    pub(super) fn listen(&self, tables: &[&str]) -> Reader {
        let tables: Vec<TableId> = tables.iter().map(|name| self.table(name)).collect();
        self.feed.subscribe(&tables)
    }

    pub(super) fn plan(&self, text: &str, variables: &str) -> (Selection, Vec<PreparedField>, Variables) {
        let document = Document::parse(&self.schema, text, None, &Limits::default())
            .unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let given = serde_json::from_str(variables).unwrap();
        let (variables, _) = document.coerce(&self.schema, given).unwrap();
        let selection = document.select(&self.schema, &variables).unwrap();
        let plan = |field| {
            let request = FieldRequest { kind: selection.kind, field };
            self.source_schema.plan(&request).unwrap()
        };
        let roots = selection.fields.iter().map(plan);
        let roots = roots.collect();
        (selection, roots, variables)
    }

    /// The response to a query or mutation.
    pub(super) async fn ask(&self, text: &str) -> String {
        let (selection, roots, variables) = self.plan(text, "{}");
        let roots: Vec<&PreparedField> = roots.iter().collect();
        let results = match selection.kind {
            OperationKind::Mutation => self.session.mutate(&roots, &variables).await,
            _ => self.session.query_all(&roots, &variables).await,
        };
        String::from_utf8(assemble(&selection.fields, &results, Detail::Shown)).unwrap()
    }

    /// The events of a subscription that is begun now.
    pub(super) fn subscribe(&self, text: &str, variables: &str) -> Subscribed {
        let (selection, roots, variables) = self.plan(text, variables);
        let events = self.session.subscribe(&roots[0], &variables).unwrap();
        Subscribed { selection, events }
    }

    /// What tells of a live query that is begun now.
    pub(super) fn watch(&self, text: &str) -> Box<dyn ChangeSignal> {
        let (_, roots, _) = self.plan(text, "{}");
        self.session.change_signal(&roots[0]).unwrap()
    }

    /// A transaction on a line.
    pub(super) fn described(&self, heard: &Result<Arc<Transaction>, Lost>) -> String {
        let transaction = match heard {
            Ok(transaction) => transaction,
            Err(lost) => return format!("{lost:?}"),
        };
        let mut text = String::new();
        for change in &transaction.changes {
            let table = &self.model().table(change.table).name;
            let row = change.row.as_ref().map(|row| row.0.join(",")).unwrap_or_default();
            let was = change
                .previous_key
                .as_ref()
                .map(|key| format!(" was {}", key.0.join(",")))
                .unwrap_or_default();
            let separator = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{separator}{:?} {table} {row}{was}", change.operation);
        }
        text
    }

    /// All that can be heard by now, a transaction a line.
    pub(super) fn heard(&self, reader: &mut Reader) -> String {
        let mut text = String::new();
        while let Some(heard) = reader.try_next() {
            let _ = writeln!(text, "{}", self.described(&heard));
        }
        text
    }
}

/// A subscription.
pub(super) struct Subscribed {
    selection: Selection,
    events: Events,
}

impl Subscribed {
    /// The response to the next event.
    pub(super) async fn next(&mut self) -> String {
        let result = self.events.next().await.expect("a subscription does not end by itself");
        String::from_utf8(assemble(&self.selection.fields, &[result], Detail::Shown)).unwrap()
    }

    /// Responses up to the one that holds the text, each on a line.
    pub(super) async fn until(&mut self, text: &str) -> String {
        let mut all = String::new();
        loop {
            let response = self.next().await;
            let _ = writeln!(all, "{response}");
            if response.contains(text) {
                return all;
            }
        }
    }
}

/// Runs a test as the server does: one thread, one `LocalSet`.
pub(super) fn on_a_core<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}
