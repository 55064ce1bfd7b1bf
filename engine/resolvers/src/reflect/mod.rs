//! Shapes of Rust types as serde tells them, before anything runs: of arguments by reading them from nothing, of
//! answers by writing a sample. Types that refuse a made-up value stay unknown, and are not checked.

mod read;
pub mod sample;
mod write;

pub(crate) use crate::reflect::{read::arguments, write::kind_of};

/// The shape of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Unknown,
    Boolean,
    Integer,
    Float,
    Text,
    /// One of these texts; of a sample only the one that it has.
    Label(Vec<String>),
    Optional(Box<Kind>),
    List(Box<Kind>),
    /// Names and kinds, in their order.
    Members(Vec<Member>),
    /// Any names.
    Map,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether a value can be read without it; only known of arguments.
    pub(crate) may_be_left_out: bool,
}

/// What a type of arguments reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) rust: &'static str,
    pub(crate) members: Vec<Member>,
}

impl Kind {
    /// For messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Unknown => "anything".into(),
            Self::Boolean => "a boolean".into(),
            Self::Integer => "an integer".into(),
            Self::Float => "a float".into(),
            Self::Text => "a text".into(),
            Self::Label(labels) => format!("an enum ({})", labels.join(", ")),
            Self::Optional(inner) => format!("an Option of {}", inner.describe()),
            Self::List(inner) => format!("a list of {}", inner.describe()),
            Self::Members(_) | Self::Map => "a struct or map".into(),
        }
    }
}
