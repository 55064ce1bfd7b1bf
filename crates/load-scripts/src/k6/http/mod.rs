//! `k6/http`: what scripts say of requests and see of answers. Sends nothing itself.

pub mod date;
pub mod escape;
pub mod headers;
pub mod jar;
pub mod set_cookie;
pub mod url;
