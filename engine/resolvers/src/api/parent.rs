//! An object as the functions of its fields get it.

use std::any::Any;

/// The object above a field; its type is known only when it runs.
#[doc(hidden)]
pub trait Parent: Send + Sync {
    /// Of its type in the schema.
    fn name(&self) -> &'static str;
    fn as_any(&self) -> &dyn Any;
}
