//! Operations that a source executes as a whole, because it understands GraphQL itself.

use bytes::Bytes;
use prony_graphql::{
    Name,
    compiler::ExecutableDocument,
    response::FieldResult,
    selection::{Field, OperationKind},
};

use crate::ContentCoding;

/// A query or mutation all of whose root fields belong to one source, and that was checked in every way.
#[derive(Debug, Clone, Copy)]
pub struct OperationRequest<'a> {
    pub kind: OperationKind,
    /// The document as the client has sent it, with one operation in it.
    pub text: &'a str,
    /// The same, read.
    pub document: &'a ExecutableDocument,
    /// Of the operation, where it has one.
    pub name: Option<&'a Name>,
    /// Names of the variables, in the order of [`Variables::values`](prony_graphql::variables::Variables::values).
    pub variables: &'a [Name],
    pub fields: &'a [Field],
}

/// What has become of an operation that its source has executed.
#[derive(Debug)]
pub enum OperationResult {
    /// The body of the response, which the client gets as it is.
    Body {
        bytes: Bytes,
        /// In which the bytes are: one of those that the client takes.
        coding: ContentCoding,
        /// Whether it is known to hold errors.
        has_errors: bool,
    },
    /// The results of the root fields, in their order.
    Fields(Vec<FieldResult>),
}
