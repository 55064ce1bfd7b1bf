//! Runs load: reads plans, drives users against targets, and collects what happened into a result.
//!
//! Knows files and the clock, and sockets by `prony-client`; knows nothing of the engine that it may be measuring. What a load test
//! *is* (scenarios, schedules, histograms, findings) lives in `prony-model`.

mod collector;
mod error;
mod explain;
mod flow;
mod machine;
mod options;
mod plan;
mod prepared;
mod recorder;
mod runner;
mod seconds;
mod start_barrier;
mod store;
mod subscriptions;
mod url;
mod users;
mod worker;

pub use collector::Collector;
pub use error::RunError;
pub use explain::explain;
pub use flow::SharedRows;
pub use machine::describe as describe_machine;
pub use options::{Observe, Output, RecordBatch, RecordListener, RunOptions, RunStart, SnapshotListener};
pub use plan::{Mistake, Mistakes, PlanError, plan_files, plan_keys_markdown, plan_schema, read_plan};
pub use prony_model::program::StopFlag;
pub use runner::{reach, run, run_workload};
pub use seconds::ThreadInterval;
pub use store::{Store, part_file, replace as replace_file, unwritten};
pub use url::{Url, UrlError, literal};
