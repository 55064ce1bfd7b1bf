//! Scripts of other load tools as programs: wrk's Lua and k6's JavaScript. Each becomes a
//! [`prony_load_model::program::Workload`].
//!
//! Runs what users wrote and says in which file and line it failed; sends nothing itself.

pub mod k6;
pub mod wrk;
