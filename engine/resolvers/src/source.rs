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
    permissions::{PermissionFault, Permissions},
};

use crate::{
    api::context::Making,
    definition::{catalog::Catalog, contribution, example, role::Visible, settings::Settings},
    execute::{
        guard::Scope,
        guarded::{GuardedPlan, RootPlan},
        plan::{CallPlan, Subscription},
        planner::Planner,
        run::panicked,
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

    /// Whether the schema has directives that want to know what who asks may do ([`Variables::authority`]).
    pub fn wants_authority(&self) -> bool {
        !self.shared.catalog.requirements.is_empty()
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Plans one root field.
    ///
    /// # Errors
    /// Arguments that no function takes.
    pub fn plan(&self, field: &Field) -> Result<PreparedField, GraphqlError> {
        self.plan_for(None, field)
    }

    fn plan_for(&self, visible: Option<&Arc<Visible>>, field: &Field) -> Result<PreparedField, GraphqlError> {
        let catalog = &self.shared.catalog;
        let planner = Planner { catalog, visible: visible.map(|visible| &**visible), unmet: None };
        let call = Arc::new(planner.call(field)?);
        let guarded = self.wants_authority().then(|| Box::new(GuardedPlan::new(field, visible)));
        Ok(PreparedField::new(RootPlan { call, guarded }))
    }

    /// The plan for who asks, where it is not the one for whom everything holds.
    fn variant(&self, root: &RootPlan, variables: &Variables) -> Result<Option<Arc<CallPlan>>, GraphqlError> {
        root.guarded.as_ref().map_or(Ok(None), |guarded| guarded.variant(self.catalog(), variables))
    }

    /// Answers one root field. Dropping the future drops what waits.
    pub async fn query(&self, root: &PreparedField, variables: &Variables) -> FieldResult {
        if let Some(result) = self.answer_now(root, variables) {
            return result;
        }
        let root = root.plan::<RootPlan>();
        let variant = match self.variant(root, variables) {
            Ok(variant) => variant,
            Err(error) => return refused(error, &root.call),
        };
        let call = variant.as_deref().unwrap_or(&root.call);
        let answer = call.function.root_later(self.scope(variables), call);
        match AssertUnwindSafe(answer).catch_unwind().await {
            Ok(result) => noted(result, call, variables),
            Err(panic) => panicked(&*panic, call),
        }
    }

    /// The answer of a root field in which nothing waits; none where something does.
    pub fn answer_now(&self, root: &PreparedField, variables: &Variables) -> Option<FieldResult> {
        let root = root.plan::<RootPlan>();
        if root.call.waits {
            return None;
        }
        let variant = match self.variant(root, variables) {
            Ok(variant) => variant,
            Err(error) => return Some(refused(error, &root.call)),
        };
        let call = variant.as_deref().unwrap_or(&root.call);
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
        let root = root.plan::<RootPlan>();
        let call = self.variant(root, variables)?.unwrap_or_else(|| Arc::clone(&root.call));
        let timeout = self.shared.settings.function_timeout;
        let function = Arc::clone(&call.function);
        function.events(Subscription { call, variables: variables.clone(), timeout })
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

/// Of a root field that who asks may not ask.
#[cold]
fn refused(error: GraphqlError, call: &CallPlan) -> FieldResult {
    FieldResult { data: (!call.output.non_null).then(|| b"null".to_vec()), errors: vec![error] }
}

impl FieldPlan for RootPlan {
    /// Its variants are bounded by their number.
    fn weight_bytes(&self) -> usize {
        self.call.weight_bytes() + self.guarded.as_ref().map_or(0, |_| size_of::<GuardedPlan>())
    }

    /// Whether a function below it is async.
    fn waits(&self) -> bool {
        self.call.waits
    }
}

impl Source for Resolvers {
    fn product(&self) -> &'static str {
        "functions"
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        Arc::new(self.clone())
    }

    fn schema_for(
        &self,
        _reserved: &ReservedNames,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        let visible = Arc::new(Visible::new(self.catalog(), permissions)?);
        Ok(Arc::new(RoleSchema { resolvers: self.clone(), visible }))
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

/// What a role is served of them.
#[derive(Debug)]
struct RoleSchema {
    resolvers: Resolvers,
    visible: Arc<Visible>,
}

impl SourceSchema for RoleSchema {
    fn contribution(&self) -> Contribution {
        self.visible.contribution(self.resolvers.catalog())
    }

    fn contents(&self) -> String {
        self.resolvers.contents()
    }

    fn list_fields(&self) -> Vec<&str> {
        self.visible.queries().collect()
    }

    fn plan(&self, request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        self.resolvers.plan_for(Some(&self.visible), request.field)
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
