//! HTTP/1.1 as the hot path needs it: requests rendered once, answers scanned without keeping them.

pub(crate) mod errors_scan;
pub(crate) mod head;
pub(crate) mod request;
pub(crate) mod scanner;
pub(crate) mod sink;
