//! The modules `k6`, `k6/execution`, `k6/data`, `k6/crypto` and the others beside `k6/http` and `k6/metrics`.
//!
//! Each is pure Rust (hashes, pages, shared arrays, lines of the log) beneath thin bindings to JavaScript.

pub mod base64_text;
pub mod hash;
pub mod html;
pub mod log;
pub mod shared;
