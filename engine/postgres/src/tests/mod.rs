//! PostgreSQL as a source against a temporary server: GraphQL text in, JSON out.

mod answers;
mod cancel;
mod explain;
mod follow;
mod models;
mod mutations;
mod other_types;
mod outage;
mod pooler;
mod pools;
mod restrictions;
mod row_security;
mod skew;
mod slow;
mod types;

use std::{future::Future, sync::Arc};

use prony_graphql::{
    document::{Operation, limits::Limits},
    error::ErrorCode,
    response::{Detail, FieldResult, assemble},
    schema::{Schema, SourceId},
    selection::{OperationKind, Selection},
    variables::Variables,
};
use serde_json::{Value as Json, json};
use tokio::task::LocalSet;

use crate::{OpenError, PostgresDatabase};
use prony_sql::{
    contribution::contribution,
    database,
    lower::{RootIndex, lower},
    model::Model,
    restrict::Restrictions,
    session::FieldSession,
    settings::{RelationalSettings, ResolverModel},
};

type Prepared = database::Prepared<PostgresDatabase>;
type Session = FieldSession<PostgresDatabase>;

/// An open database with its schema.
struct Served {
    database: Arc<PostgresDatabase>,
    model: Arc<Model>,
    roots: RootIndex,
    schema: Schema,
    /// What every request is restricted by, and the variables of its session.
    restricted: Option<(Restrictions, Arc<[Json]>)>,
}

/// An operation down to its statements.
struct Planned {
    selection: Selection,
    prepared: Vec<Arc<Prepared>>,
    variables: Variables,
}

impl Served {
    async fn try_open(url: &str, settings: &RelationalSettings) -> Result<Self, OpenError> {
        let (database, catalog) = PostgresDatabase::open(url, settings).await?;
        let model = Model::build(&catalog, settings).unwrap();
        let schema = Schema::merge(vec![(SourceId(0), contribution(&model))]).unwrap();
        let roots = RootIndex::new(&model);
        Ok(Self { database: Arc::new(database), roots, model: Arc::new(model), schema, restricted: None })
    }

    async fn open(url: &str, settings: &RelationalSettings) -> Self {
        Self::try_open(url, settings).await.unwrap()
    }

    /// A core's way to it.
    fn session(&self) -> Session {
        Session::attach(&self.database)
    }

    fn plan(&self, text: &str, variables: Json) -> Planned {
        let operation = Operation::parse(&self.schema, text, None, &Limits::default())
            .unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let Json::Object(given) = variables else { panic!("variables are an object") };
        let (mut variables, _) = operation.coerce(&self.schema, given).unwrap();
        let selection = operation.select(&self.schema, &variables).unwrap();
        if let Some((_, session)) = &self.restricted {
            variables = variables.with_session(Arc::clone(session));
        }
        let prepared = selection.fields.iter().map(|field| {
            let mut plan = lower(&self.model, &self.roots, selection.kind, field).unwrap();
            if let Some((restrictions, _)) = &self.restricted {
                restrictions.apply(&self.model, &mut plan);
            }
            Arc::new(Prepared::new(&*self.database, &self.model, &plan).unwrap())
        });
        let prepared = prepared.collect();
        Planned { selection, prepared, variables }
    }

    /// The whole response.
    async fn ask(&self, session: &Session, text: &str, variables: Json) -> String {
        let planned = self.plan(text, variables);
        let results = planned.results(session).await;
        String::from_utf8(assemble(&planned.selection.fields, &results, Detail::Hidden)).unwrap()
    }

    /// `data`, where there must be no errors.
    async fn data(&self, session: &Session, text: &str, variables: Json) -> Json {
        let response: Json = serde_json::from_str(&self.ask(session, text, variables).await).unwrap();
        assert_eq!(response.get("errors"), None, "{text}");
        response["data"].clone()
    }
}

impl Planned {
    async fn results(&self, session: &Session) -> Vec<FieldResult> {
        if self.selection.kind == OperationKind::Mutation {
            let prepared: Vec<&Prepared> = self.prepared.iter().map(|field| &**field).collect();
            return session.mutate(&prepared, &self.variables).await;
        }
        let mut results = Vec::new();
        for prepared in &self.prepared {
            results.push(session.query(prepared, &self.variables).await);
        }
        results
    }

    /// The code of the first error, or the data.
    async fn outcome(&self, session: &Session) -> Result<String, ErrorCode> {
        let result = self.results(session).await.remove(0);
        match result.errors.first() {
            Some(error) => Err(error.code),
            None => Ok(String::from_utf8(result.data.unwrap()).unwrap()),
        }
    }
}

/// Runs a test as the server does: one thread, one `LocalSet`.
fn on_a_core<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

fn settings(resolver: ResolverModel) -> RelationalSettings {
    RelationalSettings { resolver, connections_per_core: 2, ..RelationalSettings::default() }
}

const MODELS: [ResolverModel; 3] = [ResolverModel::Subquery, ResolverModel::PerNest, ResolverModel::Bucket];

fn none() -> Json {
    json!({})
}
