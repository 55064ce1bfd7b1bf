//! HTTP/1.1 as the hot path needs it: responses scanned without keeping them.

pub(crate) mod error;
pub(crate) mod errors_scan;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub(crate) mod head;
pub(crate) mod scanner;
pub(crate) mod sink;
