//! Functions as a source: from a request to the bytes of its answer, and faults before anything runs.

mod answers;
mod faults;
mod support;
mod troubles;
