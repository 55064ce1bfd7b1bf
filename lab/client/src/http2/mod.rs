//! HTTP/2: the h2 crate, driven by our own event loop instead of a runtime.
//!
//! [`connection`] is one connection, [`io`] joins it to a transport, [`translate`] makes requests from HTTP/1.1 text.

pub mod connection;
pub mod io;
pub mod streams;
pub mod translate;
