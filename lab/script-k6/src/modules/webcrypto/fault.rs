//! Why an operation of Web Cryptography is refused, by the names of its specification.

/// A refusal: what promises are rejected with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}")]
pub(crate) struct CryptoFault {
    /// Such as `OperationError`.
    pub name: &'static str,
    pub message: String,
}

impl CryptoFault {
    pub(crate) fn operation(message: impl Into<String>) -> Self {
        Self { name: "OperationError", message: message.into() }
    }

    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self { name: "DataError", message: message.into() }
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self { name: "NotSupportedError", message: message.into() }
    }

    pub(crate) fn access(message: impl Into<String>) -> Self {
        Self { name: "InvalidAccessError", message: message.into() }
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self { name: "SyntaxError", message: message.into() }
    }
}
