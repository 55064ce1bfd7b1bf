//! `k6/http`: what scripts say of requests and see of answers. Sends nothing itself.

pub mod escape;
pub mod url;
