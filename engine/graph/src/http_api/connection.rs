//! One client's connection: which call a request is.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::Method;
use prony_source::http_api::{ApiConnection, ApiLimits, ApiRequest, ApiResponse, Progress};

use super::{
    access::{PropertyAccess, RoleAccess},
    bulk, databases,
    error::CallError,
    index,
    path::{self, Aspect, Call, split},
    pending::Pending,
    read::{
        self,
        list::{self, FindRequest},
    },
    role_write::RoleWrite,
    script_call::{self, RunScripts, ScriptRequest},
    slow_call::SlowCall,
    write,
};
use crate::databases::{DEFAULT_DATABASE, Database, Databases};
use prony_graph_store::Side;

/// A parameter would have narrowed the deletion down: more would be deleted than was meant.
const DELETION_WITH_PARAMETERS: &str = "A deletion has no parameters: its path names all that is deleted";

/// The calls of one connection, one after the other.
#[derive(Debug)]
pub(crate) struct GraphConnection {
    databases: Arc<Databases>,
    limits: ApiLimits,
    read_only: bool,
    /// Of who may not do everything.
    role: Option<RoleAccess>,
    /// None where scripts are off.
    scripts: Option<Arc<dyn RunScripts>>,
    /// What the response waits for.
    waiting: Pending,
    /// Its call, where the log is told of what takes long.
    slow_call: Option<SlowCall>,
}

impl GraphConnection {
    pub(crate) fn new(
        databases: Arc<Databases>,
        limits: ApiLimits,
        read_only: bool,
        role: Option<RoleAccess>,
        scripts: Option<Arc<dyn RunScripts>>,
    ) -> Self {
        Self { databases, limits, read_only, role, scripts, waiting: Pending::default(), slow_call: None }
    }

    fn call(&mut self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> Result<Progress, CallError> {
        if let Some(script) = self.script(request) {
            return script_call::begin(self.scripts.as_deref(), script);
        }
        if *request.method == Method::DELETE && request.query.is_some_and(|query| !query.is_empty()) {
            return Err(CallError::BadRequest(DELETION_WITH_PARAMETERS.into()));
        }
        let Self { databases, limits, read_only, role, waiting, .. } = self;
        if let Some(role) = role {
            return call_by_role(databases, role, (*limits, *read_only), request, waiting, response);
        }
        let is_write = !path::is_read(request.method);
        let Some((name, path)) = split(request.path) else {
            if *read_only && is_write {
                return Err(CallError::ReadOnly);
            }
            return databases::respond(databases, request, waiting, response);
        };
        let responded = with_database(databases, name, |database| {
            let call = path::read(path)?;
            // What is looked for may come in a body.
            if *read_only && is_write && !matches!(call, Call::Find(..)) {
                return Err(CallError::ReadOnly);
            }
            if !is_write {
                return Ok(waiting.look(database, response, |read, response| {
                    read::respond((database, read), None, &call, request.query, response)
                }));
            }
            if let (&Method::POST, Call::Find(side, of, property, operation)) = (request.method, &call) {
                let Some(body) = request.body else { return Ok(Progress::NeedsBody) };
                let find = FindRequest { side: *side, of, property, operation };
                return Ok(waiting.look(database, response, |read, response| {
                    list::find((database, read), None, find, body, request.query, response)
                }));
            }
            write_call(database, &call, request, *limits, waiting, response)
        });
        responded.unwrap_or(Err(CallError::UnknownRoute))
    }

    /// The script that a request is to run. What it may do is decided call by call.
    fn script(&self, request: &ApiRequest<'_>) -> Option<ScriptRequest> {
        let (segment, path) = split(request.path)?;
        // The only path of [`Call::Lua`]; requests of other paths are not read twice.
        let is_script = path == "lua" && *request.method == Method::POST;
        let is_of_role = self.role.is_none() || segment == DEFAULT_DATABASE;
        let database = (is_script && is_of_role)
            .then(|| with_database(&self.databases, segment, Arc::clone))
            .flatten()?;
        Some(ScriptRequest {
            databases: Arc::clone(&self.databases),
            database,
            segment: segment.to_owned(),
            limits: self.limits,
            read_only: self.read_only,
            role: self.role.clone(),
        })
    }
}

impl ApiConnection for GraphConnection {
    fn begin(&mut self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> Progress {
        let begun = self.databases.slow.begin();
        let progress = self.call(request, response).unwrap_or_else(|error| {
            error.write(response);
            Progress::Done
        });
        let Some(begun) = begun else { return progress };
        let (progress, waiting) = SlowCall::new(&self.databases.slow, begun, request).follow(progress);
        self.slow_call = waiting;
        progress
    }

    /// The response is what was asked for, or that it was taken back.
    fn poll(&mut self, context: &mut Context<'_>, response: &mut ApiResponse) -> Poll<()> {
        ready!(self.waiting.poll(context, response));
        if let Some(call) = self.slow_call.take() {
            call.end();
        }
        Poll::Ready(())
    }
}

fn write_call(
    database: &Arc<Database>,
    call: &Call<'_>,
    request: &ApiRequest<'_>,
    limits: ApiLimits,
    waiting: &mut Pending,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    if let Some(side) = creates_in_bulk(request.method, call) {
        return Ok(Progress::Asynchronous(bulk::responder(database, None, side, request, limits)));
    }
    if let (&Method::POST, Call::Index(side, of, name)) = (request.method, call) {
        return Ok(Progress::Asynchronous(index::responder(database, *side, of, name)));
    }
    let Some(body) = request.body else { return Ok(Progress::NeedsBody) };
    let begun = write::begin(database, request.method, call, body, response);
    waiting.begun(database, begun, response)
}

fn creates_in_bulk(method: &Method, call: &Call<'_>) -> Option<Side> {
    match call {
        Call::List(side, None) if *method == Method::POST => Some(*side),
        _ => None,
    }
}

/// What a role reads and writes in the default database. It may do nothing else.
fn call_by_role(
    databases: &Databases,
    role: &RoleAccess,
    (limits, read_only): (ApiLimits, bool),
    request: &ApiRequest<'_>,
    waiting: &mut Pending,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    let Some((DEFAULT_DATABASE, path)) = split(request.path) else { return Ok(Progress::Refused) };
    let (database, call) = (databases.default(), path::read(path)?);
    if path::is_read(request.method) {
        let is_refused = match &call {
            Call::Neighborhood(_, Aspect::Degree, filter) => !role.can_count(filter.types.as_deref()),
            _ => false,
        };
        if is_refused {
            return Ok(Progress::Refused);
        }
        return Ok(waiting.look(database, response, |read, response| {
            read::respond((database, read), Some(role), &call, request.query, response)
        }));
    }
    if let Call::Find(side, of, property, operation) = &call {
        let is_refused = role.comparison(*side, of, property) == PropertyAccess::Refused;
        if *request.method != Method::POST || is_refused {
            return Ok(Progress::Refused);
        }
        let Some(body) = request.body else { return Ok(Progress::NeedsBody) };
        let find = FindRequest { side: *side, of, property, operation };
        return Ok(waiting.look(database, response, |read, response| {
            list::find((database, read), Some(role), find, body, request.query, response)
        }));
    }
    if read_only {
        return Err(CallError::ReadOnly);
    }
    if let Some(side) = creates_in_bulk(request.method, &call) {
        let responder = || bulk::responder(database, Some(role.clone()), side, request, limits);
        let is_permitted = role.can_create(side);
        return Ok(if is_permitted { Progress::Asynchronous(responder()) } else { Progress::Refused });
    }
    let Some(call) = RoleWrite::of(database, role, request.method, &call) else {
        return Ok(Progress::Refused);
    };
    let body = match request.body {
        Some(body) => body,
        None if call.needs_body() => return Ok(Progress::NeedsBody),
        None => &[],
    };
    let begun = call.begin(body, response);
    waiting.begun(database, begun, response)
}

/// What `with` makes of the database with a name.
fn with_database<T>(databases: &Databases, name: &str, with: impl FnOnce(&Arc<Database>) -> T) -> Option<T> {
    if name == DEFAULT_DATABASE {
        return Some(with(databases.default()));
    }
    let name = path::decode(name).ok()?;
    databases.get(&name).map(|database| with(&database))
}
