//! HTTP/2: the h2 crate, driven by our own event loop instead of a runtime.
//!
//! [`connection`] is one connection, [`io`] joins it to a transport, [`translate`] makes requests from HTTP/1.1 text, [`upload`]
//! sends bodies that come piece by piece.

pub(crate) mod connection;
pub(crate) mod io;
pub(crate) mod streams;
pub(crate) mod translate;
pub(crate) mod upload;
