//! Running prepared root fields on one core: the resolver models over the core's connections to a database.

use std::{fmt, rc::Rc, sync::Arc};

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use prony_graphql::{
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};
use prony_source::{Explanation, NotReady};

use crate::{
    database::{Database, DatabaseSession as _, FieldStatements, Prepared},
    explain::explain_query,
    levels::{self, Fetch, FieldLevels, Gatherer, Key, LevelRows, MergeKey},
    model::Model,
    settings::ResolverModel,
};

/// One core's way to a database.
pub struct FieldSession<D: Database> {
    session: Rc<D::Session>,
    /// In the `bucket` model.
    gatherer: Option<Rc<Gatherer>>,
    max_response_bytes: usize,
}

impl<D: Database> fmt::Debug for FieldSession<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FieldSession").field("session", &self.session).finish_non_exhaustive()
    }
}

impl<D: Database> FieldSession<D> {
    /// Opens the core's connections; call it on the core's thread, inside its `LocalSet`.
    pub fn attach(database: &Arc<D>) -> Self {
        let settings = database.settings();
        Self {
            session: Rc::new(database.attach()),
            gatherer: (settings.resolver == ResolverModel::Bucket).then(Rc::default),
            max_response_bytes: settings.common.max_response_bytes,
        }
    }

    pub fn connections(&self) -> &D::Session {
        &self.session
    }

    /// Answers a list or an aggregate. Dropping the future stops the work at the database.
    pub async fn query(&self, field: &Prepared<D>, variables: &Variables) -> FieldResult {
        let answered = match &field.statements {
            FieldStatements::Select(select) => self.session.select(&field.model, select, variables).await,
            FieldStatements::Levels(levels) => {
                let (model, levels) = (Arc::clone(&field.model), Arc::clone(levels));
                let fetch = LevelFetch::<D> { session: Rc::clone(&self.session), model, levels };
                let meter = ResponseMeter::new(self.max_response_bytes, variables.budget());
                let (mut variables, gatherer) = (variables.clone(), self.gatherer.clone());
                if gatherer.is_some() {
                    // What is fetched for several operations is not charged to one of them.
                    variables = variables.with_budget(None);
                }
                levels::resolve(fetch, Rc::new(variables), gatherer, meter).await
            }
            FieldStatements::Mutation(_) => Err(misplaced("a mutation is not answered as a query")),
        };
        placed(field, answered.unwrap_or_else(FieldResult::failed))
    }

    /// Runs the mutations of one request in order and in one transaction: all or nothing. One result for each.
    pub async fn mutate(&self, fields: &[&Prepared<D>], variables: &Variables) -> Vec<FieldResult> {
        let Some(first) = fields.first() else { return Vec::new() };
        let mutations: Option<Vec<_>> = fields.iter().map(|field| field.mutation()).collect();
        let results = if let Some(mutations) = mutations {
            self.session.mutate(&first.model, mutations, variables).await
        } else {
            let failed = |_| FieldResult::failed(misplaced("a query is not run as a mutation"));
            fields.iter().map(failed).collect()
        };
        fields.iter().zip(results).map(|(field, result)| placed(field, result)).collect()
    }

    /// What a list or an aggregate becomes, with the database's plans; nothing of it is run.
    pub async fn explain(&self, field: &Prepared<D>, variables: &Variables) -> Explanation {
        explain_query(&*self.session, field, variables).await
    }

    /// Whether the database can be asked now; the text is for people who run the server.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn health(&self) -> Result<(), String> {
        self.session.health().await
    }

    /// Whether statements should be sent to it now.
    ///
    /// # Errors
    /// Why not.
    pub async fn readiness(&self) -> Result<(), NotReady> {
        self.session.readiness().await
    }
}

fn misplaced(message: &str) -> GraphqlError {
    GraphqlError::new(ErrorCode::SourceFailed, message)
}

/// Gives errors the root's place in response and request.
fn placed<D: Database>(field: &Prepared<D>, mut result: FieldResult) -> FieldResult {
    let errors = result.errors.into_iter();
    result.errors = errors.map(|error| error.of_field(&field.response_key, field.position)).collect();
    result
}

/// Fetches the levels of one prepared field.
struct LevelFetch<D: Database> {
    session: Rc<D::Session>,
    model: Arc<Model>,
    levels: Arc<FieldLevels<D::Level>>,
}

impl<D: Database> Clone for LevelFetch<D> {
    fn clone(&self) -> Self {
        let (model, levels) = (Arc::clone(&self.model), Arc::clone(&self.levels));
        Self { session: Rc::clone(&self.session), model, levels }
    }
}

impl<D: Database> Fetch for LevelFetch<D> {
    type Statement = D::Level;

    fn levels(&self) -> &FieldLevels<D::Level> {
        &self.levels
    }

    fn fetch(
        &self,
        level: usize,
        keys: Arc<[Key]>,
        variables: Rc<Variables>,
    ) -> LocalBoxFuture<'static, Result<Rc<LevelRows>, GraphqlError>> {
        let this = self.clone();
        let fetched = async move {
            let statement = &this.levels().levels[level].statement;
            this.session.level(&this.model, statement, keys, &variables).await.map(Rc::new)
        };
        fetched.boxed_local()
    }

    fn merge_key(&self, level: usize, variables: &Variables) -> Result<MergeKey, GraphqlError> {
        let statement = &self.levels().levels[level].statement;
        self.session.merge_key(&self.model, statement, variables)
    }
}
