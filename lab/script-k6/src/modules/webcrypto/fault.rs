//! Why an operation of Web Cryptography is refused, by the names of its specification.

/// A refusal: what promises are rejected with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}")]
pub struct CryptoFault {
    /// Such as `OperationError`.
    pub name: &'static str,
    pub message: String,
}

impl CryptoFault {
    pub fn operation(message: impl Into<String>) -> Self {
        Self { name: "OperationError", message: message.into() }
    }

    pub fn data(message: impl Into<String>) -> Self {
        Self { name: "DataError", message: message.into() }
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { name: "NotSupportedError", message: message.into() }
    }

    pub fn access(message: impl Into<String>) -> Self {
        Self { name: "InvalidAccessError", message: message.into() }
    }

    pub fn syntax(message: impl Into<String>) -> Self {
        Self { name: "SyntaxError", message: message.into() }
    }
}
