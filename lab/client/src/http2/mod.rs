//! HTTP/2 for the load side: the h2 crate, driven by our own event loop instead of a runtime.
//!
//! [`pool`] is what a worker holds, [`connection`] one of its connections, [`io`] joins that to a transport,
//! [`translate`] makes requests from HTTP/1.1 text.

pub mod connection;
pub mod io;
pub mod pool;
pub mod streams;
pub mod translate;
