//! Tests of permissions, for the users' own CI: requests of a file as somebody who is told there, and what must come of them. They go
//! through the same pipeline as requests over HTTP, at the sources of the configuration; only who asks is taken on trust.

mod file;
mod verdict;

use std::{net::Ipv4Addr, sync::Arc};

use prony_access::{Authenticator, Identity, Openness, Scopes};
use prony_graphql::request::RequestParameters;
use serde_json::{Value as Json, json};

pub use self::{
    file::{PermissionTest, PermissionTests, TestsFault},
    verdict::{TestOutcome, report},
};
use crate::{
    config::Settings,
    graphql::{
        Asker, CoreEngine, Engine, ExecutionContext as _, OpenError, RoleSchemas,
        outcome::{Outcome, RequestError, Response},
        pipeline::{AllowedKinds, respond},
    },
    site::Site,
};

/// Opens the sources, for reading alone where no mutations are tested, and makes all requests, one after the other; call it inside a `LocalSet`.
///
/// # Errors
/// The sources cannot be opened, or roles do not fit them.
pub async fn run(mut settings: Settings, tests: &PermissionTests) -> Result<Vec<TestOutcome>, OpenError> {
    if !tests.mutations {
        settings.only_look();
    }
    let engine = Engine::open(&settings).await?;
    let core = CoreEngine::attach(0, Arc::new(Site::new(settings, engine, 1)?));
    let mut outcomes = Vec::with_capacity(tests.tests.len());
    for test in &tests.tests {
        let response = ask(&core, test, tests.mutations).await;
        outcomes.push(TestOutcome { name: test.name.clone(), faults: verdict::faults(test, &response) });
    }
    Ok(outcomes)
}

/// The JSON of a response to a test's request.
async fn ask(core: &CoreEngine, test: &PermissionTest, mutations: bool) -> Json {
    let access = &core.settings().access;
    if access.openness != Openness::Closed {
        return refused("UNAUTHENTICATED", "there is no [auth]: everybody may do everything");
    }
    let identity = match identify(&Authenticator::new(access), test) {
        Ok(identity) => identity,
        Err(response) => return response,
    };
    let asker = Asker {
        roles: Arc::new(RoleSchemas::new(Arc::clone(access))),
        // Of each test their own: limits count from nothing.
        rules: Arc::new(crate::access::OperationRules::alone(access)),
        identity,
        address: Ipv4Addr::LOCALHOST.into(),
    };
    let (head, ()) = http::Request::new(()).into_parts();
    let context = core.site().context(&head, Some(asker));
    let request = json!({
        "query": test.query,
        "variables": test.variables,
        "operationName": test.operation,
    });
    let request = request.to_string();
    let parsed = async { RequestParameters::from_json(request.as_bytes()) };
    let allowed = if mutations { AllowedKinds::QueriesAndMutations } else { AllowedKinds::Queries };
    let Response { outcome, body, .. } = respond(core, context, parsed, allowed).await;
    match outcome {
        Outcome::Executed { .. } | Outcome::Overloaded | Outcome::Refused(RequestError::Invalid(_)) => {
            serde_json::from_slice(&body.bytes).expect("responses are JSON")
        }
        Outcome::Refused(error) => {
            let message =
                "this kind of operation is not tested; mutations are where the file says `mutations = true`";
            let errors = error.into_errors(message);
            let error = |error: &prony_graphql::error::GraphqlError| json!({"message": error.message, "extensions": {"code": error.code.as_str()}});
            json!({"errors": errors.iter().map(error).collect::<Vec<_>>()})
        }
    }
}

/// Who asks; the response to who is nobody.
fn identify(authenticator: &Authenticator, test: &PermissionTest) -> Result<Arc<Identity>, Json> {
    let scopes: Scopes = test.scopes.iter().map(String::as_str).collect();
    match (&test.claims, &test.role) {
        (Some(claims), role) => authenticator
            .with_claims(claims, role.as_deref())
            .map_err(|refusal| refused(refusal.code(), &refusal.reason)),
        (None, Some(role)) => authenticator
            .with_role(role, &test.session, scopes)
            .ok_or_else(|| refused("FORBIDDEN", &format!("there is no role `{role}`"))),
        (None, None) => {
            authenticator.anonymous().ok_or_else(|| refused("UNAUTHENTICATED", "there is no anonymous role"))
        }
    }
}

fn refused(code: &str, message: &str) -> Json {
    json!({"errors": [{"message": message, "extensions": {"code": code}}]})
}
