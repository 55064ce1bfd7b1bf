//! `k6/http`: what scripts say of requests and see of responses. Sends nothing itself.
//!
//! [`binding`] is what `http.js` is written over: it reads a call's arguments and shows its response. [`call`] carries a
//! call from its arguments to its response, over the requests, redirects and cookies of `prony_http_session`.

pub(crate) mod binding;
pub(crate) mod call;
pub(crate) mod fault;
mod gjson;
mod json_error;
pub(crate) mod settings;

pub(crate) use binding::{FULLER, MODULES, NATIVES};
