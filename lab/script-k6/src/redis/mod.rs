//! `k6/experimental/redis`: each command is a promise, over connections that the user keeps.
//!
//! [`resp`] is the protocol and [`options`] what a client is made with, both without JavaScript; [`command`] are the natives
//! beneath `redis.js`.

#![allow(clippy::needless_pass_by_value, reason = "rquickjs hands arguments to native functions by value")]

mod command;
mod options;
mod resp;

use crate::vm::{Builtin, Native};

pub(crate) const MODULES: &[Builtin] =
    &[Builtin { specifier: "k6/experimental/redis", text: include_str!("redis.js") }];
pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:redis", install: command::install }];
