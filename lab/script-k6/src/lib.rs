//! k6 scripts: JavaScript and TypeScript written for k6, run unchanged as the program of a load test.
//!
//! The road of a script: read and resolved ([`source`]) → options ([`options`]) → run on a thread's virtual machine
//! ([`vm`]) with the modules that scripts import ([`http`], [`modules`], [`jslib`]) → samples ([`metrics`]) → summary.

pub mod builtins;
pub mod exit;
pub mod file;
pub mod host;
pub mod http;
pub mod jslib;
pub mod measure;
pub mod metrics;
pub mod modules;
pub mod options;
pub mod program;
pub mod session;
pub mod source;
pub mod vm;
pub mod wire;
pub mod workload;
