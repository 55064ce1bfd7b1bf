//! k6 scripts: JavaScript and TypeScript written for k6, run unchanged as the program of a load test.
//!
//! A script is read and resolved ([`source`]) → options ([`options`]) → run on a thread's virtual machine
//! ([`vm`]) with the modules that scripts import ([`http`], [`modules`], [`jslib`]) → samples (`prony_metrics`) → summary ([`metrics`]).

mod builtins;
mod exit;
mod file;
mod grpc;
mod host;
mod http;
mod jslib;
mod measure;
mod metrics;
mod modules;
mod options;
mod program;
mod redis;
mod session;
mod source;
mod vm;
mod wire;
mod workload;

pub use builtins::builtins;
pub use exit::Exit;
pub use file::ScriptFile;
pub use host::{Clock, host_of};
pub use http::settings::{HttpOptions, HttpSettings};
pub use measure::{Counted, Measure, MeasureError, MeasureSettings, PartTimes};
pub use metrics::binding::AddRules;
pub use metrics::summary::{Summary, SummaryMode, SummaryOptions, pretty};
pub use modules::execution::RunEnd;
pub use modules::log::{Level, Log, Reader, Style};
pub use modules::log_settings::{LogSettings, LogSettingsError, LogTarget};
pub use modules::secrets::sources::{SecretSourceError, SecretSources};
pub use options::table::OPTIONS;
pub use options::{Notes, Span, Tier};
pub use program::{Entry, IterationEnd, ScenarioSpec, ScriptProgram, ScriptWorkload, Watcher};
pub use session::{Began, Beside, GivenOptions, Part, Session, SessionError};
pub use source::{Check, Main, SourceError, Sources};
pub use vm::{Builtin, Ended, Fault, Limits, Machine, Modules, Native, Script, ScriptError};
pub use wire::Wire;
