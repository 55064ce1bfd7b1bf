//! The compiled plan of one root field: which functions to call with what, and what to write of their answers.

use std::{fmt, sync::Arc, time::Duration};

use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError, Position},
    response::FieldResult,
    selection::Value,
    variables::Variables,
};
use prony_source::Events;

use crate::{
    api::{parent::Parent, signature::Signature},
    definition::directive::Apply,
    execute::{
        expected_bytes::ExpectedBytes,
        guard::{Later, Scope},
        rows::Column,
    },
};

/// A function as the engine calls it.
pub(crate) trait Resolve: Send + Sync {
    fn signature(&self) -> Signature;
    fn waits(&self) -> bool;
    fn root(&self, scope: Scope<'_>, call: &CallPlan) -> FieldResult;
    fn root_later<'a>(&'a self, scope: Scope<'a>, call: &'a CallPlan) -> Later<'a, FieldResult>;
    fn column(&self, scope: Scope<'_>, call: &CallPlan, parents: &[&dyn Parent]) -> Column;
    fn column_later<'a>(
        &'a self,
        scope: Scope<'a>,
        call: &'a CallPlan,
        parents: &'a [&'a dyn Parent],
    ) -> Later<'a, Column>;

    /// Begins to hear events, where the field has some.
    fn events(&self, subscription: Subscription) -> Result<Events, GraphqlError> {
        Err(no_events(&subscription.call))
    }
}

/// A subscription of one client, with what its stream needs to live by itself.
pub(crate) struct Subscription {
    pub(crate) call: Arc<CallPlan>,
    pub(crate) variables: Variables,
    pub(crate) timeout: Duration,
}

/// One call of a function, or of one function for each parent.
pub(crate) struct CallPlan {
    pub(crate) function: Arc<dyn Resolve>,
    pub(crate) response_key: Box<str>,
    pub(crate) position: Position,
    /// An object.
    pub(crate) arguments: Value,
    pub(crate) output: OutputPlan,
    /// Whether a function waits, here or anywhere below.
    pub(crate) waits: bool,
    pub(crate) expected: ExpectedBytes,
}

/// How a value of one type is written.
pub struct OutputPlan {
    pub(crate) non_null: bool,
    pub(crate) position: Position,
    pub(crate) kind: OutputKind,
}

pub(crate) enum OutputKind {
    List(Box<OutputPlan>),
    Leaf(LeafPlan),
    Object(ObjectPlan),
    /// One plan for each object type that it may be.
    Abstract(Vec<ObjectPlan>),
}

pub(crate) struct LeafPlan {
    pub(crate) leaf: Leaf,
    pub(crate) directives: Box<[DirectivePlan]>,
}

/// What a leaf must look like.
pub(crate) enum Leaf {
    Int,
    Float,
    String,
    Boolean,
    Id,
    Enum(Name, Box<[Name]>),
    /// Scalars of the schema's own: any JSON.
    Custom,
}

pub(crate) struct DirectivePlan {
    pub(crate) function: Arc<dyn Apply>,
    /// An object.
    pub(crate) arguments: Value,
}

pub(crate) struct ObjectPlan {
    pub(crate) type_name: Name,
    pub(crate) slots: Vec<Slot>,
    pub(crate) calls: Vec<CallPlan>,
    /// Whether a member is written under several response keys.
    pub(crate) repeats: bool,
}

/// One member of the response.
pub(crate) struct Slot {
    /// `{"key":` for the first, `,"key":` for the others.
    pub(crate) prefix: Box<[u8]>,
    pub(crate) response_key: Box<str>,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    /// `"Name"`.
    Typename(Box<[u8]>),
    /// What serde has under this name.
    Member(Box<str>, OutputPlan),
    /// What a function answers; an index into the object's calls.
    Call(usize),
    /// Something that must be known of who asks is not.
    Refused(Box<GraphqlError>, OutputPlan),
}

impl LeafPlan {
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.leaf, Leaf::Custom)
    }
}

impl OutputKind {
    /// The object types that a value may have, none for leaves.
    pub(crate) fn objects(&self) -> &[ObjectPlan] {
        match self {
            Self::List(item) => item.kind.objects(),
            Self::Leaf(_) => &[],
            Self::Object(object) => std::slice::from_ref(object),
            Self::Abstract(objects) => objects,
        }
    }
}

impl fmt::Debug for CallPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CallPlan").field(&self.response_key).finish()
    }
}

impl fmt::Debug for OutputPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OutputPlan").field("non_null", &self.non_null).finish_non_exhaustive()
    }
}

impl Leaf {
    pub(crate) fn of_scalar(name: &str) -> Self {
        match name {
            "Int" => Self::Int,
            "Float" => Self::Float,
            "String" => Self::String,
            "Boolean" => Self::Boolean,
            "ID" => Self::Id,
            _ => Self::Custom,
        }
    }

    pub(crate) fn describe(&self) -> &str {
        match self {
            Self::Int => "an Int",
            Self::Float => "a Float",
            Self::String => "a String",
            Self::Boolean => "a Boolean",
            Self::Id => "an ID",
            Self::Enum(name, _) => name,
            Self::Custom => "JSON",
        }
    }
}

impl CallPlan {
    /// Room that an answer is given.
    pub(crate) fn expected_bytes(&self) -> usize {
        self.expected.get()
    }

    pub(crate) fn expect_bytes(&self, bytes: usize) {
        self.expected.set(bytes);
    }

    /// Bytes that the plan cache accounts for it.
    pub(crate) fn weight_bytes(&self) -> usize {
        /// For the arguments of a call.
        const ARGUMENTS_BYTES: usize = 256;
        size_of::<Self>()
            + ARGUMENTS_BYTES
            + self.output.kind.objects().iter().map(object_bytes).sum::<usize>()
    }
}

fn object_bytes(object: &ObjectPlan) -> usize {
    let slots = object.slots.iter().map(|slot| {
        let inner = match &slot.content {
            Content::Member(name, output) => {
                name.len() + output.kind.objects().iter().map(object_bytes).sum::<usize>()
            }
            Content::Typename(text) => text.len(),
            Content::Call(_) | Content::Refused(..) => 0,
        };
        size_of::<Slot>() + slot.prefix.len() + slot.response_key.len() + inner
    });
    let calls = object.calls.iter().map(CallPlan::weight_bytes);
    slots.sum::<usize>() + calls.sum::<usize>()
}

fn no_events(call: &CallPlan) -> GraphqlError {
    let message = format!("{} has one answer, and no events", call.response_key);
    GraphqlError::new(ErrorCode::ValidationFailed, message).at(call.position)
}
