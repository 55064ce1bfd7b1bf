//! `k6/http`: what scripts say of requests and see of answers. Sends nothing itself.
//!
//! The road of a call: `http.js` → [`natives`] → [`flow`], which reads [`arguments`] and [`params`] into a
//! [`request`], hands it out, takes the answer, follows [`exchange`] and records [`samples`] → [`response`].

pub mod arguments;
pub mod batch;
pub mod compression;
pub mod date;
pub mod digest;
pub mod escape;
pub mod exchange;
pub mod facts;
pub mod fault;
pub mod flow;
pub mod form;
pub mod gjson;
pub mod handle;
pub mod headers;
pub mod jar;
mod jar_natives;
pub mod json_error;
pub mod natives;
pub mod page;
pub mod params;
pub mod request;
pub mod response;
pub mod samples;
pub mod set_cookie;
pub mod settings;
pub mod state;
pub mod times;
pub mod url;
