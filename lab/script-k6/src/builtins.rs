//! The table of all modules that scripts find without a file, one line a folder; `vm/builtin.rs` says how one is made.

use super::vm::Builtins;
use super::vm::builtin::natives;
use super::{grpc, http, jslib, metrics, modules, redis, source};

pub fn builtins() -> Builtins {
    Builtins::default()
        .with(&[], natives::NATIVES)
        .with(http::MODULES, http::NATIVES)
        .with_fuller(http::FULLER)
        .with(metrics::binding::MODULES, metrics::binding::NATIVES)
        .with(modules::MODULES, modules::NATIVES)
        .with(grpc::MODULES, grpc::NATIVES)
        .with(redis::MODULES, redis::NATIVES)
        .with(source::MODULES, source::NATIVES)
        .with(jslib::MODULES, jslib::NATIVES)
        .with_globals(modules::GLOBALS)
}
