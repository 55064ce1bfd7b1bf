//! What `prony run`, `find`, `compare` and `sweep` do: says what an argument is, makes it ready, and runs it once or many times.
//!
//! [`Argument`] decides what an argument is by the one table of [`KINDS`]; a [`Subject`] is what can be run again and
//! again with another load. Knows no command line and prints nothing: flags and texts are the binary's.

mod arguments;
mod compare;
mod find;
pub mod jmeter;
pub mod k6;
mod kind;
mod many;
pub mod observe;
mod place;
mod plan;
pub mod samples;
mod subject;
pub mod sweep;
mod url;
pub mod wrk;

pub use arguments::{ArgumentError, KINDS};
pub use compare::{Compared, compare};
pub use find::{SearchSettings, find};
pub use kind::{Argument, Flags, Kind, OnStuck, OpenError, OpenSettings, Payload};
pub use many::{Event, ManyError, ManyOptions, OpenObservers};
pub use place::{ReservedPath, result_path};
pub use subject::{Subject, SubjectError};
pub use url::{Page, UrlBundleError, UrlGiven, UrlGivenError, url_bundle};

/// What workers can run, beside wrk scripts.
static LOAD_KINDS: prony_workers::Kinds =
    &[&prony_workers::PLANS, &k6::SCRIPTS, &url::URLS, &url::PAGES, &jmeter::JMETER_PLANS];

/// What workers can run. Made once in a process, whose end `on_stuck` is where a wrk script hangs.
pub fn load_kinds(on_stuck: OnStuck) -> prony_workers::Kinds {
    let wrk: &'static wrk::WrkKind = Box::leak(Box::new(wrk::WrkKind { on_stuck }));
    Vec::leak([LOAD_KINDS, &[wrk]].concat())
}
