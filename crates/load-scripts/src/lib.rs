//! Scripts of other load tools as programs: wrk's Lua. Each becomes a [`prony_load_model::program::Workload`].
//!
//! Runs what users wrote and says in which file and line it failed; sends nothing itself.

pub mod wrk;
