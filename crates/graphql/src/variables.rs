//! Variables: coerced values of one request (GraphQL specification, section 6.1.2) and their shape, the part
//! of them that decides which plan answers.

use serde_json::Value as Json;

use crate::selection::{Slot, Step};

/// Coerced values in the order of the operation's variable definitions; `None` where a variable was neither
/// given nor has a default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variables {
    values: Vec<Option<Json>>,
}

impl Variables {
    pub fn new(values: Vec<Option<Json>>) -> Self {
        Self { values }
    }

    /// The value at a slot; `None` where the path does not exist.
    pub fn get(&self, slot: &Slot) -> Option<&Json> {
        let mut value = self.values.get(slot.variable)?.as_ref()?;
        for step in &slot.path {
            value = match step {
                Step::Key(key) => value.get(key.as_str())?,
                Step::Index(index) => value.get(index)?,
            };
        }
        Some(value)
    }
}
