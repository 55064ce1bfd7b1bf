//! Why a client's token has not become one for an upstream.

use prony_graphql::error::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("the token server refuses the client's token: {0}")]
    Refused(String),
    #[error("the token server refuses to exchange tokens: {0}")]
    Configuration(String),
    #[error("the token server's response cannot be used: {0}")]
    Unreadable(String),
    #[error("the token server cannot be asked: {0}")]
    Unreachable(String),
    #[error("the token server took longer than {limit_ms} ms (timeout_ms of token_exchange)")]
    Timeout { limit_ms: u128 },
    #[error("{tokens} tokens are asked for already (max_tokens of token_exchange)")]
    Full { tokens: usize },
    #[error("the exchange of a token ended without an outcome")]
    Ended,
}

impl ExchangeError {
    /// For clients.
    pub(crate) const fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(_) => ErrorCode::Forbidden,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Full { .. } => ErrorCode::Overloaded,
            Self::Configuration(_) | Self::Unreadable(_) | Self::Unreachable(_) | Self::Ended => {
                ErrorCode::SourceUnavailable
            }
        }
    }

    /// In words for clients.
    pub(crate) const fn message(&self) -> &'static str {
        match self {
            Self::Refused(_) => "your token gives no access to the service behind this field",
            Self::Timeout { .. } => "a token for the service behind this field took too long",
            Self::Full { .. } => "the service behind this field is asked for too much; try again later",
            Self::Configuration(_) | Self::Unreadable(_) | Self::Unreachable(_) | Self::Ended => {
                "there is no token for the service behind this field; try again later"
            }
        }
    }
}
