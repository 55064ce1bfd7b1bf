//! Attributes of the store that no client names: the metadata of an attribute, and what gave the time of a row. They are values of the rows
//! that they belong to, so that what duplicates, deletes, retention and backups do to a row they do to these too.

use prony_series_store::{Attribute, AttributeId, OnDuplicate, Refusal, Table, Value};

/// In the names of these attributes, and in no other that is written.
const SEPARATOR: char = '\u{1f}';
/// What gave the times of rows.
pub(crate) const TIME_ATTRIBUTE: &str = "\u{1f}timeAttribute";
/// Where rows with the same time become one: a value that has no metadata says so, lest it be given that of another notification.
pub(crate) const NO_METADATA: &str = "{}";

/// What is kept beside the values of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) metadata: bool,
    pub(crate) time_attribute: bool,
    pub(crate) on_duplicate: OnDuplicate,
}

impl Kept {
    /// Whether several rows with the same time become one.
    pub(crate) fn merges(self) -> bool {
        self.on_duplicate != OnDuplicate::Append
    }
}

/// # Errors
/// No attribute of a client can be called so.
pub(crate) fn check_name(attribute: &str) -> Result<(), Refusal> {
    if is_hidden(attribute) { Err(Refusal::of_character("attribute", attribute, SEPARATOR)) } else { Ok(()) }
}

fn is_hidden(name: &str) -> bool {
    name.contains(SEPARATOR)
}

/// The attribute with the metadata of another one.
pub(crate) fn metadata_name(attribute: &str) -> String {
    format!("{attribute}{SEPARATOR}metadata")
}

pub(crate) fn metadata_of(table: &Table, attribute: &str) -> Option<AttributeId> {
    table.attribute(&metadata_name(attribute)).map(|(id, _)| id)
}

pub(crate) fn time_attribute_of(table: &Table) -> Option<AttributeId> {
    table.attribute(TIME_ATTRIBUTE).map(|(id, _)| id)
}

/// The attributes that clients see, in the order in which they came.
pub(crate) fn visible(table: &Table) -> impl Iterator<Item = (AttributeId, &Attribute)> {
    table.ids().filter(|(_, of)| !is_hidden(&of.name))
}

/// The attribute that a client names.
pub(crate) fn named<'t>(table: &'t Table, name: &str) -> Option<(AttributeId, &'t Attribute)> {
    table.attribute(name).filter(|_| !is_hidden(name))
}

/// What is shown of a hidden value: nothing where it says that there is none.
pub(crate) fn shown(value: Value<'_>) -> Value<'_> {
    if let Value::Text(NO_METADATA | "") = value { Value::Null } else { value }
}
