//! Why a script was not run, or has no result, and what its sender is told of that.

use http::{HeaderValue, StatusCode, header};
use prony_graph_lua::ScriptFault;
use prony_source::http_api::{ApiResponse, BodyError};

/// Scripts that wait for a thread.
pub(super) const WAITING_MAX: usize = 64;

/// Why a script was not run, or has no result.
#[derive(Debug)]
pub(super) enum ScriptFailure {
    Script(ScriptFault),
    Body(BodyError),
    NotQueued(NotQueued),
    /// By a server that is stopping.
    Ended,
    /// A fault of ours; the log has more.
    Panicked,
}

/// Why a script does not wait for a thread any more, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotQueued {
    #[error("{WAITING_MAX} scripts wait already, and no more can; send it again later")]
    Full,
    #[error(
        "the scripts before it took longer than statement_timeout_ms, so that it was not run; send it again later"
    )]
    TooLate,
    #[error("no thread can be started that runs scripts; the server's log says why")]
    NoThread,
    #[error("the server is stopping: send the script again when it is back")]
    Stopping,
}

impl ScriptFailure {
    pub(super) fn write(&self, response: &mut ApiResponse) {
        match self {
            Self::Script(fault) => {
                let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_REQUEST);
                response.set_json_text(status, &fault.to_string());
            }
            Self::Body(BodyError { status, message }) => response.set_json_text(*status, message),
            Self::NotQueued(why) => {
                response.set_json_text(StatusCode::SERVICE_UNAVAILABLE, &why.to_string());
                response.headers.push((header::RETRY_AFTER, HeaderValue::from_static("1")));
            }
            Self::Ended => {
                let text = "the server is stopping and has ended the script: whether what it had written is kept is unknown; look before \
                            you send it again";
                response.set_json_text(StatusCode::SERVICE_UNAVAILABLE, text);
            }
            Self::Panicked => {
                let text = "the script could not be run; the server's log says why";
                response.set_json_text(StatusCode::INTERNAL_SERVER_ERROR, text);
            }
        }
    }
}
