//! Functions as a source: from a request to the bytes of its answer, and faults before anything runs.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod answers;
mod authority;
mod authority_oracle;
mod faults;
mod support;
mod troubles;
