//! `k6/http`: what scripts say of requests and see of answers. Sends nothing itself.

pub mod compression;
pub mod date;
pub mod digest;
pub mod escape;
pub mod exchange;
pub mod fault;
pub mod form;
pub mod gjson;
pub mod headers;
pub mod jar;
pub mod json_error;
pub mod request;
pub mod set_cookie;
pub mod url;
