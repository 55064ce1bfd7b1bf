//! One load test on several machines: workers that wait for their share of it, and the coordinator that shares it out, over NATS.
//!
//! Nothing here knows HTTP, what requests are or how load is made: `prony-load` makes each share and hands over seconds, which are
//! merged here without a loss. What a kind of load is to both sides is a [`LoadKind`]. [`Recruited`] is what `prony run --workers` does,
//! [`serve`] what `prony worker` does; [`merge`] takes up what workers kept of a run whose coordinator is gone.

mod bundle;
mod clock;
mod coordinator;
mod crew;
mod error;
mod figures;
mod folder;
mod gather;
mod kept;
mod kind;
mod link;
mod local;
mod message;
mod parts;
mod respread;
mod roster;
mod terms;
mod worker;

pub use bundle::Bundle;
pub use coordinator::CoordinatorSettings;
pub use crew::Recruited;
pub use error::WorkersError;
pub use gather::coordinate;
pub use kept::merge;
pub use kind::{Counter, Kinds, LoadKind, Merge, PLANS, PlanShare, RequestsAlone, Share, Unpacked};
pub use link::NatsSettings;
pub use local::LocalServer;
pub use message::{FailureCause, WORKERS_MAX};
pub use terms::{OnWorkerLost, Terms, UserState};
pub use worker::{WorkerSettings, serve};
