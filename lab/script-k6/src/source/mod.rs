//! From a script's text to modules that can run: imports, TypeScript, and the places that errors name.
//!
//! The road: [`Main`] is read → parsed, types stripped (`text.rs`, `typescript.rs`) → its imports found (`resolve.rs`),
//! read and parsed in their turn → [`Sources`], which the virtual machine asks for names, texts and places.

pub(crate) mod catalogue;
mod check;
pub(crate) mod common_js;
mod error;
mod exports;
mod native;
mod position;
mod resolve;
mod source_map;
mod sources;
mod text;
mod typescript;

pub use check::Check;
pub use error::SourceError;
pub(crate) use native::{MODULES, NATIVES};
pub use sources::{Main, Sources};

#[cfg(test)]
mod tests;
