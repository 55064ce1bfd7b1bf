//! The modules `k6`, `k6/execution`, `k6/data`, `k6/crypto` and the others beside `k6/http` and `k6/metrics`.
//!
//! Each is pure Rust (hashes, pages, shared arrays, lines of the log) beneath thin bindings to JavaScript.

#![allow(clippy::needless_pass_by_value, reason = "rquickjs hands arguments to native functions by value")]

mod basics;
pub(crate) mod binding;
pub(crate) mod console;
mod crypto;
mod data;
mod encoding;
pub(crate) mod execution;
mod files;
pub(crate) mod html;
pub(crate) mod log;
mod log_level;
pub(crate) mod log_settings;
pub(crate) mod samples;
pub(crate) mod secrets;
mod sockets;
mod streams;
mod timers;
pub(crate) mod webcrypto;
mod x509;

use crate::vm::{Builtin, Native};
pub(crate) use basics::call_tags;
pub(crate) use data::shared::SharedArrays;

pub(crate) const MODULES: &[Builtin] = &[
    basics::MODULE,
    crypto::MODULE,
    data::MODULE,
    encoding::MODULE,
    execution::MODULES[0],
    execution::MODULES[1],
    files::MODULES[0],
    files::MODULES[1],
    html::MODULE,
    secrets::MODULE,
    sockets::MODULES[0],
    sockets::MODULES[1],
    sockets::MODULES[2],
    streams::MODULE,
    timers::MODULE,
    timers::GLOBAL_MODULE,
    console::GLOBAL_MODULE,
    webcrypto::GLOBAL_MODULE,
    x509::MODULE,
];
pub(crate) const NATIVES: &[Native] = &[
    basics::NATIVE,
    console::NATIVE,
    crypto::NATIVE,
    data::NATIVE,
    encoding::NATIVE,
    execution::NATIVE,
    files::NATIVE,
    html::NATIVE,
    secrets::NATIVE,
    sockets::NATIVE,
    timers::NATIVE,
    webcrypto::NATIVE,
    x509::NATIVE,
];
/// What scripts find without importing it.
pub(crate) const GLOBALS: &[(&[&str], &str)] = &[
    (&["console"], console::GLOBAL_MODULE.specifier),
    (&["crypto"], webcrypto::GLOBAL_MODULE.specifier),
    (&["setTimeout", "setInterval", "clearTimeout", "clearInterval"], timers::GLOBAL_MODULE.specifier),
];
