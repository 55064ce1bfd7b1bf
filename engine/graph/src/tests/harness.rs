//! A graph in a temporary directory, and requests against it.

use std::{path::Path, sync::Arc, time::Duration};

use prony_graph_store::{Kind, Refusal, Side, Store, Value, Write};
use prony_graphql::{
    document::{Operation, limits::Limits},
    error::GraphqlError,
    response::{Detail, assemble, refuse},
    schema::{Schema, SourceId},
    selection::OperationKind,
};
use prony_source::permissions::Permissions;
use prony_source::{
    CommonSettings, DataVersion, FieldRequest, PreparedField, ReservedNames, Source as _, SourceSchema,
};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::{runtime::Runtime, task::LocalSet};

use crate::{GraphSettings, GraphSource, databases::Databases, slow_log::SlowLog};

thread_local! {
    /// As each core has one: what waits for a log does so on one thread, and is told there.
    static LOCAL: LocalSet = LocalSet::new();
}

/// Runs what a core would run.
pub(super) fn block_on<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    LOCAL.with(|local| local.block_on(runtime, work))
}

pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// An open graph as a source.
pub(super) struct Served {
    pub(super) store: Arc<Store>,
    pub(super) source: GraphSource,
    directory: TempDir,
}

/// The schema of one moment.
pub(super) struct Offered {
    pub(super) schema: Schema,
    pub(super) source: Arc<dyn SourceSchema>,
    /// Variables of the session.
    session: Arc<[Json]>,
}

impl Offered {
    pub(super) fn new(source: Arc<dyn SourceSchema>, session: &[Json]) -> Self {
        let schema = Schema::merge(vec![(SourceId(0), source.contribution())]).unwrap();
        Self { schema, source, session: session.into() }
    }
}

impl Served {
    pub(super) fn empty() -> Self {
        Self::with(CommonSettings::default())
    }

    pub(super) fn with(settings: CommonSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let databases = Databases::open(directory.path(), &GraphSettings::default()).unwrap();
        Self::over(directory, databases, settings)
    }

    /// An empty graph, which runs scripts.
    pub(super) fn open(settings: &GraphSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let databases = Databases::open(directory.path(), settings).unwrap();
        let Self { store, source, directory } = Self::over(directory, databases, settings.common);
        Self { store, source: source.with_scripts(settings.lua_max_memory_bytes), directory }
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// An empty graph, where everything is told to the log that takes so long.
    pub(super) fn telling_from(slow_after: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut databases = Databases::open(directory.path(), &GraphSettings::default()).unwrap();
        databases.slow = Arc::new(SlowLog { database: "graph".into(), after: slow_after });
        Self::over(directory, databases, CommonSettings::default())
    }

    fn over(directory: TempDir, databases: Databases, settings: CommonSettings) -> Self {
        let store = Arc::clone(&databases.default().store);
        let source = GraphSource::new(Arc::new(databases), settings);
        Self { store, source, directory }
    }

    pub(super) fn write<T>(&self, operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>) -> T {
        self.store.write_and_wait(operate).unwrap()
    }

    pub(super) fn offered(&self) -> Offered {
        Offered::new(self.source.schema(&ReservedNames::default()), &[])
    }

    /// The schema of a role, for a session.
    pub(super) fn offered_to(&self, permissions: &Permissions, session: &[Json]) -> Offered {
        Offered::new(self.source.schema_for(&ReservedNames::default(), permissions).unwrap(), session)
    }

    /// The response to a request.
    pub(super) fn answer(&self, text: &str, variables: &str) -> String {
        self.answer_by(&self.offered(), text, variables)
    }

    /// As [`Self::answer`], by a schema that may be older than the graph.
    pub(super) fn answer_by(&self, offered: &Offered, text: &str, variables: &str) -> String {
        let body = match self.try_answer(offered, text, variables) {
            Ok(body) => body,
            Err(errors) => refuse(&errors, Detail::Shown),
        };
        String::from_utf8(body).unwrap()
    }

    /// The version of what the answer to a query of one root field depends on.
    pub(super) fn version(&self, offered: &Offered, text: &str) -> Arc<dyn DataVersion> {
        let schema = &offered.schema;
        let operation = Operation::parse(schema, text, None, &Limits::default()).unwrap();
        let (variables, _) = operation.coerce(schema, serde_json::from_str("{}").unwrap()).unwrap();
        let selection = operation.select(schema, &variables).unwrap();
        let request = FieldRequest { kind: selection.kind, field: &selection.fields[0] };
        let root = offered.source.plan(&request).unwrap();
        self.source.attach().data_version(&root).unwrap()
    }

    fn try_answer(
        &self,
        offered: &Offered,
        text: &str,
        variables: &str,
    ) -> Result<Vec<u8>, Vec<GraphqlError>> {
        block_on(&runtime(), self.execute(offered, text, variables))
    }

    pub(super) async fn execute(
        &self,
        offered: &Offered,
        text: &str,
        variables: &str,
    ) -> Result<Vec<u8>, Vec<GraphqlError>> {
        let schema = &offered.schema;
        let operation = Operation::parse(schema, text, None, &Limits::default())?;
        let (variables, _) = operation.coerce(schema, serde_json::from_str(variables).unwrap())?;
        let variables = variables.with_session(Arc::clone(&offered.session));
        let selection = operation.select(schema, &variables)?;
        let planned = selection
            .fields
            .iter()
            .map(|field| offered.source.plan(&FieldRequest { kind: selection.kind, field }));
        let roots: Vec<PreparedField> = planned.collect::<Result<_, _>>().map_err(|error| vec![error])?;
        let handle = self.source.attach();
        let results = if selection.kind == OperationKind::Mutation {
            handle.mutate(&roots.iter().collect::<Vec<_>>(), &variables).await
        } else {
            match roots.as_slice() {
                [only] => vec![handle.query(only, &variables).await],
                roots => handle.query_all(&roots.iter().collect::<Vec<_>>(), &variables).await,
            }
        };
        Ok(assemble(&selection.fields, &results, Detail::Shown))
    }
}

/// Users who are friends and like products.
pub(super) fn friends() -> Served {
    let served = Served::empty();
    served.write(|write| {
        declare_friends(write)?;
        for (key, name, age, score) in
            [("Max", "max", 42, Some(1.5)), ("Helene", "helene", 37, None), ("Ada", "Ada", 28, Some(230.0))]
        {
            let mut given = vec![("name", Value::String(name.into())), ("age", Value::Integer(age))];
            given.extend(score.map(|score| ("score", Value::Double(score))));
            write.create_node("User", key, &given)?;
        }
        write.create_node("User", "Bob", &[("tags", Value::StringList(vec!["a".into(), "b".into()]))])?;
        for (key, name, price) in [("p1", "Lamp", 20), ("p2", "Desk", 300), ("p3", "Pen", 2)] {
            let given = [("name", Value::String(name.into())), ("price", Value::Integer(price))];
            write.create_node("Product", key, &given)?;
        }
        let node = |write: &Write<'_>, of, key| write.find(of, key).unwrap();
        for (of, from, to, number) in [
            ("FRIEND", ("User", "Max"), ("User", "Helene"), 2011),
            ("FRIEND", ("User", "Helene"), ("User", "Ada"), 2015),
            ("FRIEND", ("User", "Ada"), ("User", "Max"), 2020),
            ("FRIEND", ("User", "Bob"), ("User", "Bob"), 1990),
            ("LIKES", ("User", "Max"), ("Product", "p1"), 5),
            ("LIKES", ("User", "Helene"), ("Product", "p1"), 3),
            ("LIKES", ("User", "Helene"), ("Product", "p2"), 4),
            ("LIKES", ("User", "Ada"), ("Product", "p3"), 1),
        ] {
            let (from, to) = (node(write, from.0, from.1), node(write, to.0, to.1));
            let property = if of == "FRIEND" { "since" } else { "stars" };
            write.create_relationship(of, from, to, &[(property, Value::Integer(number))])?;
        }
        Ok(())
    });
    served
}

fn declare_friends(write: &mut Write<'_>) -> Result<(), Refusal> {
    let declared = [
        (
            Side::Nodes,
            "User",
            vec![
                ("name", Kind::String),
                ("age", Kind::Integer),
                ("score", Kind::Double),
                ("active", Kind::Boolean),
                ("tags", Kind::StringList),
            ],
        ),
        (Side::Nodes, "Product", vec![("name", Kind::String), ("price", Kind::Integer)]),
        (Side::Relationships, "FRIEND", vec![("since", Kind::Integer)]),
        (Side::Relationships, "LIKES", vec![("stars", Kind::Integer)]),
    ];
    for (side, of, properties) in declared {
        write.make_type(side, of)?;
        for (name, kind) in properties {
            write.declare(side, of, name, kind)?;
        }
    }
    Ok(())
}
