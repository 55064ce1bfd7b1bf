//! Why a request is refused before anything is done: the response (RFC 6750), and the reason for the log alone.

use http::StatusCode;

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// No credentials, and nobody may come without.
    NoCredentials,
    /// Credentials that cannot be read, or several of them.
    InvalidRequest,
    /// A credential that is wrong, has expired or is unknown.
    InvalidToken,
    /// Known, and without the scopes that are needed.
    InsufficientScope,
    /// Known, and without the role that it asks for, or without any.
    RoleNotAllowed,
    /// Nobody can be known now: keys or the webhook cannot be reached.
    Unavailable,
}

/// A refusal. What is wrong in particular is for the log alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct AuthRefusal {
    pub kind: RefusalKind,
    /// For the log; holds no secret.
    pub reason: String,
}

impl RefusalKind {
    /// All that there are.
    pub const ALL: [Self; 6] = [
        Self::NoCredentials,
        Self::InvalidRequest,
        Self::InvalidToken,
        Self::InsufficientScope,
        Self::RoleNotAllowed,
        Self::Unavailable,
    ];

    /// For labels of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCredentials => "no_credentials",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::RoleNotAllowed => "role_not_allowed",
            Self::Unavailable => "unavailable",
        }
    }
}

impl AuthRefusal {
    pub fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    pub fn status(&self) -> StatusCode {
        match self.kind {
            RefusalKind::NoCredentials | RefusalKind::InvalidToken => StatusCode::UNAUTHORIZED,
            RefusalKind::InvalidRequest => StatusCode::BAD_REQUEST,
            RefusalKind::InsufficientScope | RefusalKind::RoleNotAllowed => StatusCode::FORBIDDEN,
            RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The value of `extensions.code`.
    pub fn code(&self) -> &'static str {
        match self.kind {
            RefusalKind::NoCredentials | RefusalKind::InvalidRequest | RefusalKind::InvalidToken => {
                "UNAUTHENTICATED"
            }
            RefusalKind::InsufficientScope | RefusalKind::RoleNotAllowed => "FORBIDDEN",
            RefusalKind::Unavailable => "UNAVAILABLE",
        }
    }

    /// The message of the response.
    pub fn message(&self) -> &'static str {
        match self.kind {
            RefusalKind::NoCredentials => "credentials are needed",
            RefusalKind::InvalidRequest => "the request's credentials cannot be read",
            RefusalKind::InvalidToken => "the credentials are not valid",
            RefusalKind::InsufficientScope => "a scope is missing",
            RefusalKind::RoleNotAllowed => "the role is not allowed",
            RefusalKind::Unavailable => "credentials cannot be checked at present",
        }
    }

    /// The value of `WWW-Authenticate` (RFC 6750, section 3); with [`Self::status`] 503 there is none.
    pub fn www_authenticate(&self) -> Option<&'static str> {
        match self.kind {
            RefusalKind::NoCredentials => Some("Bearer"),
            RefusalKind::InvalidRequest => Some("Bearer error=\"invalid_request\""),
            RefusalKind::InvalidToken => Some("Bearer error=\"invalid_token\""),
            RefusalKind::InsufficientScope | RefusalKind::RoleNotAllowed => {
                Some("Bearer error=\"insufficient_scope\"")
            }
            RefusalKind::Unavailable => None,
        }
    }
}
