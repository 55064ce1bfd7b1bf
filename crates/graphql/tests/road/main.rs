//! The road of a request through this crate, as its users take it.

mod fixture;
mod selections;
