//! The source as the engine sees it: what it contributes, and how root fields are planned and answered.

use std::{any::Any, fmt, panic::AssertUnwindSafe, rc::Rc, sync::Arc};

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use prony_graphql::{
    Name,
    budget::ResponseMeter,
    compiler::collections::HashMap,
    error::{GraphqlError, PathSegment},
    request::Asked,
    response::FieldResult,
    schema::Contribution,
    selection::Field,
    variables::Variables,
};
use prony_source::{
    Events, FieldPlan, FieldRequest, PreparedField, ReservedNames, Source, SourceSchema, SourceSession,
};

use crate::{
    api::context::Making,
    definition::{catalog::Catalog, contribution, example, settings::Settings},
    execute::{
        guard::{self, Scope},
        plan::{CallPlan, Subscription},
        planner::Planner,
    },
};

/// Functions behind a schema; clones share everything, and one serves all cores.
#[derive(Clone)]
pub struct Resolvers {
    shared: Arc<Shared>,
}

struct Shared {
    catalog: Catalog,
    settings: Settings,
    making: Option<Making>,
}

impl Resolvers {
    pub(crate) fn new(catalog: Catalog, settings: Settings, making: Option<Making>) -> Self {
        Self { shared: Arc::new(Shared { catalog, settings, making }) }
    }

    /// Whether functions want to know who asks.
    pub fn wants_caller(&self) -> bool {
        self.shared.making.is_some()
    }

    /// What the functions get of a request with this head; none where they have one context for all.
    pub fn caller(&self, head: &dyn Any) -> Option<Asked> {
        self.shared.making.as_ref().map(|making| making.caller(head))
    }

    /// Fields that functions answer.
    pub fn function_count(&self) -> usize {
        self.shared.catalog.functions.values().map(HashMap::len).sum()
    }

    /// Plans one root field.
    ///
    /// # Errors
    /// Arguments that no function takes.
    pub fn plan(&self, field: &Field) -> Result<PreparedField, GraphqlError> {
        Planner { catalog: &self.shared.catalog }.call(field).map(PreparedField::new)
    }

    /// Answers one root field. Dropping the future drops what waits.
    pub async fn query(&self, root: &PreparedField, variables: &Variables) -> FieldResult {
        if let Some(result) = self.answer_now(root, variables) {
            return result;
        }
        let call = root.plan::<CallPlan>();
        let answer = call.function.root_later(self.scope(variables), call);
        match AssertUnwindSafe(answer).catch_unwind().await {
            Ok(result) => noted(result, call, variables),
            Err(panic) => panicked(&*panic, call),
        }
    }

    /// The answer of a root field in which nothing waits; none where something does.
    pub fn answer_now(&self, root: &PreparedField, variables: &Variables) -> Option<FieldResult> {
        let call = root.plan::<CallPlan>();
        if call.waits {
            return None;
        }
        let scope = self.scope(variables);
        // Calls are guarded one by one; this is for what the user's `Serialize` does.
        let answer = std::panic::catch_unwind(AssertUnwindSafe(|| call.function.root(scope, call)));
        Some(match answer {
            Ok(result) => noted(result, call, variables),
            Err(panic) => panicked(&*panic, call),
        })
    }

    /// Runs mutations one after the other.
    pub async fn mutate(&self, roots: &[&PreparedField], variables: &Variables) -> Vec<FieldResult> {
        let mut results = Vec::with_capacity(roots.len());
        for root in roots {
            results.push(self.query(root, variables).await);
        }
        results
    }

    /// Begins to hear events of the root field of a subscription.
    pub fn subscribe(&self, root: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        let (call, variables) = (root.shared::<CallPlan>(), variables.clone());
        let timeout = self.shared.settings.function_timeout;
        root.plan::<CallPlan>().function.events(Subscription { call, variables, timeout })
    }

    fn scope<'a>(&self, variables: &'a Variables) -> Scope<'a> {
        Scope { variables, timeout: self.shared.settings.function_timeout }
    }
}

/// How much one field answers with is its functions' business; all of them share the operation's budget.
fn noted(result: FieldResult, call: &CallPlan, variables: &Variables) -> FieldResult {
    let Some(data) = &result.data else { return result };
    call.expect_bytes(data.len());
    match ResponseMeter::new(usize::MAX, variables.budget()).check(data.len()) {
        Ok(()) => result,
        Err(error) => {
            let path = vec![PathSegment::Key(call.response_key.clone())];
            FieldResult::failed(GraphqlError::from(error).at(call.position).with_path(path))
        }
    }
}

#[cold]
fn panicked(panic: &(dyn Any + Send), call: &CallPlan) -> FieldResult {
    let error = guard::panicked(panic).at(call.position);
    let error = error.with_path(vec![PathSegment::Key(call.response_key.clone())]);
    let data = (!call.output.non_null).then(|| b"null".to_vec());
    FieldResult { data, errors: vec![error] }
}

impl FieldPlan for CallPlan {
    fn weight_bytes(&self) -> usize {
        self.weight_bytes()
    }

    /// Whether a function below it is async.
    fn waits(&self) -> bool {
        self.waits
    }
}

impl Source for Resolvers {
    fn product(&self) -> &'static str {
        "functions"
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        Arc::new(self.clone())
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        Rc::new(self.clone())
    }
}

impl SourceSchema for Resolvers {
    fn contribution(&self) -> Contribution {
        contribution::contribution(&self.shared.catalog.schema)
    }

    fn contents(&self) -> String {
        let functions = self.function_count();
        format!("{functions} function{}", if functions == 1 { "" } else { "s" })
    }

    /// All root fields of queries.
    fn list_fields(&self) -> Vec<&str> {
        let query = self.shared.catalog.schema.get_object("Query");
        query.into_iter().flat_map(|query| query.fields.keys()).map(Name::as_str).collect()
    }

    /// None where all functions want arguments that cannot be thought up.
    fn example(&self) -> Option<String> {
        example::example(&self.shared.catalog.schema)
    }

    fn plan(&self, request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        self.plan(request.field)
    }
}

impl SourceSession for Resolvers {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        Box::pin(self.query(field, variables))
    }

    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(self.mutate(fields, variables))
    }

    fn try_answer(&self, field: &PreparedField, variables: &Variables) -> Option<FieldResult> {
        self.answer_now(field, variables)
    }

    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        self.subscribe(field, variables)
    }
}

impl fmt::Debug for Resolvers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Resolvers").field("functions", &self.function_count()).finish()
    }
}
