//! Scripts in Lua on a graph, as `RageDB` has them: runs a text within limits and in a sandbox, and gives the JSON of its value. What a
//! script asks of a graph are calls of the graph's HTTP API by whoever sent the script; making them, and what they may do, is left
//! to a [`GraphCalls`]. On which thread a script runs is left to the caller, which it blocks.
//!
//! A script has a state of its own, without the JIT compiler: compiled code would call no hooks, and the hook is what ends a
//! script in time. Functions of Lua's library that can run for long without calling it are replaced (`prelude.lua`, `patterns`).

mod calls;
mod decode;
mod encode;
mod error;
mod host;
mod limits;
mod line;
mod patterns;
mod run;
mod sandbox;
mod shapes;
mod strings;
#[cfg(test)]
mod tests;

pub use self::{
    calls::{CallError, CallReply, GraphCall, GraphCalls, Method, Side},
    error::ScriptFault,
    limits::{Limits, SCRIPT_BYTES_MAX, STACK_BYTES},
    run::run,
};
