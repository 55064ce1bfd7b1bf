//! A response as a [`crate::program::Program`] gets it: as much of it as was asked for.

/// What of an answer the program wants to see; less is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The status alone.
    Status,
    /// Whether a JSON answer has GraphQL `errors`, found while it streams by.
    GraphQlErrors,
    /// The head without the body.
    Head,
    /// Head and body.
    Whole,
}

/// An answer as far as [`Keep`] asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    pub status: u16,
    /// Status line and headers as received, the empty line included; empty unless [`Keep::Head`] or
    /// [`Keep::Whole`].
    pub head: &'a [u8],
    /// Without the transfer coding; empty unless [`Keep::Whole`].
    pub body: &'a [u8],
    /// With [`Keep::GraphQlErrors`]: the body was no JSON object or had `errors` that are neither null nor empty.
    pub has_graphql_errors: bool,
}
