//! A user's HTTP session as k6's client has it: URLs, requests, cookies, redirects, authentication and codings.
//!
//! Requests in, requests out: nothing here opens a socket, reads a clock or knows a script. [`exchange`] joins the
//! others: a response's cookies go to the [`jar`], a redirect or a [`digest`] challenge makes the next [`request`].

pub mod compression;
pub mod date;
pub mod digest;
mod escape;
pub mod exchange;
pub mod form;
pub mod headers;
pub mod jar;
pub mod request;
pub mod set_cookie;
pub mod url;
