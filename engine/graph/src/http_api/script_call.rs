//! The call that runs a script. What runs scripts makes calls itself, so that it is known here by a trait alone.

use std::{fmt, sync::Arc};

use prony_source::http_api::{ApiLimits, AsyncResponder, Progress};

use super::{access::RoleAccess, error::CallError};
use crate::databases::{Database, Databases};

/// Runs scripts.
pub(crate) trait RunScripts: fmt::Debug + Send + Sync {
    /// Responds to a request whose body is a script.
    fn responder(&self, request: ScriptRequest) -> AsyncResponder;
}

/// Whose script is to be run, and on what.
#[derive(Debug)]
pub(crate) struct ScriptRequest {
    pub(super) databases: Arc<Databases>,
    pub(super) database: Arc<Database>,
    /// The database's name as the path has it.
    pub(super) segment: String,
    pub(super) limits: ApiLimits,
    pub(super) read_only: bool,
    /// Of who may not do everything.
    pub(super) role: Option<RoleAccess>,
}

const OFF: &str = "scripts are not run here: `graph_lua = true` in the [[source]] of the graph turns them on";

pub(super) fn begin(scripts: Option<&dyn RunScripts>, request: ScriptRequest) -> Result<Progress, CallError> {
    let scripts = scripts.ok_or(CallError::Forbidden(OFF.into()))?;
    Ok(Progress::Asynchronous(scripts.responder(request)))
}
