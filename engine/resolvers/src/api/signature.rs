//! What is known of a function before it is called: what it takes, and what the schema calls its answer.

use std::any::TypeId;

use crate::reflect::{Kind, Look};

/// What is known of a function before it is called.
#[derive(Debug)]
pub(crate) struct Signature {
    /// None for root fields.
    pub(crate) parent: Option<ParentType>,
    pub(crate) arguments: Option<Look>,
    pub(crate) answer: AnswerShape,
    /// Whether it answers with events.
    pub(crate) is_event: bool,
}

#[derive(Debug)]
pub(crate) struct ParentType {
    pub(crate) name: &'static str,
    pub(crate) rust: &'static str,
    pub(crate) id: TypeId,
}

/// What the schema calls a Rust type, as far as it is known before anything runs.
#[derive(Debug, Clone)]
pub struct AnswerShape {
    pub(crate) nullable: bool,
    pub(crate) form: AnswerForm,
}

#[derive(Debug, Clone)]
pub(crate) enum AnswerForm {
    List(Box<AnswerShape>),
    Named { name: &'static str, rust: &'static str, id: TypeId, kind: Option<Kind> },
}
