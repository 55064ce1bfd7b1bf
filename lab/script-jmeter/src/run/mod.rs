//! A compiled plan while it runs: what users know, where they are, what they send, and where samples go.
//!
//! [`program`] wires all of it to the runner; [`user`] is one user's life, [`position`] its place in the tree, [`exchange`] an
//! HTTP sample under way.

mod address;
mod assertions;
mod build;
pub(crate) mod context;
pub(crate) mod data;
mod debug;
mod decimal_format;
mod dummy;
mod exchange;
pub(crate) mod extract;
pub(crate) mod files;
pub(crate) mod groups;
mod header_fields;
mod locks;
mod pages;
mod position;
pub(crate) mod program;
mod request;
mod request_fault;
pub(crate) mod result;
mod samples;
mod scripts;
mod shaping;
pub(crate) mod shared;
pub(crate) mod sink;
mod sockets;
pub(crate) mod timers;
mod transaction;
pub(crate) mod turns;
mod user;
mod web;
mod websocket;
mod xpath;

pub(crate) use exchange::TIMEOUT_MAX;
