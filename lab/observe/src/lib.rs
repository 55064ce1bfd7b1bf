//! Watches processes, databases, metrics endpoints and collectors' logs while a run goes, on the run's time line.
//!
//! Each observer has a thread of its own and looks once a second, at the run's own seconds: a slow endpoint
//! delays neither the others nor the load. What fails is kept with its time as a fault; it never ends a run.
//! Apart from the crates of the load path so that the drivers here weigh on nobody's build but their own.

mod book;
mod clock;
mod counters;
mod error;
mod gc;
mod host;
mod observer;
mod postgres;
mod process;
mod prometheus;
mod sampler;
mod secret;
mod spec;
pub mod usage;

pub use error::{Problem, SpecError};
pub use sampler::Observers;
pub use secret::without_password;
pub use spec::ObserverSpecs;
