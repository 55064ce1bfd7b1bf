//! HTTP/1.1 as the hot path needs it: responses scanned without keeping them.

pub mod error;
pub mod errors_scan;
pub mod head;
pub mod scanner;
pub mod sink;
