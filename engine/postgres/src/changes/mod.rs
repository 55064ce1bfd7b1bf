//! Changes that others make: triggers that write them down, and listening to them.

pub(crate) mod change_table;
pub(crate) mod listen;
pub(crate) mod schema_trigger;
mod trigger_forms;
pub mod triggers;
