//! The pipeline of a request through this crate, as its users take it.
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]
#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
#![allow(clippy::format_collect, reason = "legible, and not hot")]

mod caching;
mod changing;
mod complexity;
mod fixture;
mod introspecting;
mod literals;
mod merging;
mod properties;
mod refusals;
mod requesting;
mod responding;
mod selections;
mod shapes;
