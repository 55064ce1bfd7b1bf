//! Why a text is no certificate that can be shown.

/// Why a text is no certificate that k6 shows, in its words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CertificateError {
    #[error("failed to decode certificate PEM file")]
    NotPem,
    #[error("failed to parse certificate: x509: {0}")]
    Malformed(String),
    /// Only of the whole certificate: its names can be read.
    #[error("unsupported public key algorithm")]
    UnknownKey,
}

impl CertificateError {
    pub(super) fn malformed(what: impl ToString) -> Self {
        Self::Malformed(what.to_string())
    }
}
