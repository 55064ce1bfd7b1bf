//! Why a run on several machines cannot be made.

use crate::message::FailureCause;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    #[error("cannot connect to the NATS server {url}: {cause}; {hint}")]
    Connect { url: String, cause: String, hint: &'static str },
    #[error("{0} workers are not between 1 and {max}", max = crate::message::WORKERS_MAX)]
    Count(u32),
    #[error(
        "{workers} workers cannot share {parts} {of}: each needs at least one; ask for {parts} workers or fewer, or for more users"
    )]
    TooFewUsers {
        workers: u32,
        parts: u32,
        /// What there are too few of.
        of: &'static str,
    },
    #[error(
        "the subscriptions `{0}` match events with mutations (`fan_out`), which workers cannot: a subscriber of one hears of a mutation of \
         another later than of its event, and the time between both would be told by two clocks; run it without --workers, or leave \
         `fan_out` out, so that events are counted"
    )]
    FanOut(String),
    #[error(
        "subscribers stay until the last iteration has ended, and no worker knows of the iterations of others; give the scenarios a \
         `duration` in place of a number of iterations, or run it without --workers"
    )]
    SubscribersOfIterations,
    #[error(
        "the share of a worker that is lost cannot be taken over by others: {0}; choose --on-worker-lost continue or end"
    )]
    CannotRespread(String),
    #[error("cannot read {path}, which the plan names: {cause}")]
    File { path: PathBuf, cause: io::Error },
    #[error(
        "the plan names the file `{0}` by its place on this machine, where other machines have no such file; name it relative to the plan"
    )]
    AbsoluteFile(String),
    #[error("the plan and its files have {bytes} bytes, more than the {max} that are handed to workers")]
    TooLarge { bytes: u64, max: u64 },
    #[error("the plan that came has the hash {found} and not {expected}")]
    Hash { expected: String, found: String },
    #[error("what came as a plan cannot be unpacked: {0}")]
    Unpack(String),
    /// Of the kind of load.
    #[error("what is run cannot be handed to workers: {0}")]
    Handed(String),
    #[error(
        "only {joined} of {wanted} workers came within {seconds} s{names}; start more with `prony worker --nats {url}`, or raise --worker-wait"
    )]
    TooFew { joined: usize, wanted: u32, seconds: u64, names: String, url: String },
    #[error("worker `{name}` cannot run its share: {message}")]
    Worker { name: String, message: String, cause: FailureCause },
    #[error("worker `{name}` was not ready within {seconds} s")]
    NotReady { name: String, seconds: u64 },
    #[error("all workers were lost: {0}")]
    AllLost(String),
    #[error("the run was stopped before it began")]
    Stopped,
    #[error(
        "cannot start {program}: {cause}; `--workers local:N` needs it: install nats-server (https://nats.io/download), or name it with --nats-server"
    )]
    Server { program: PathBuf, cause: io::Error },
    #[error("{program} did not say within {seconds} s where it listens")]
    ServerSilent { program: PathBuf, seconds: u64 },
    #[error("cannot keep what is measured in {path}: {cause}")]
    Keep { path: PathBuf, cause: io::Error },
    #[error("{path} is not what a worker kept of a run: {reason}")]
    NotKept { path: PathBuf, reason: String },
    #[error("{path} is of another run than {first}")]
    OtherRun { path: PathBuf, first: PathBuf },
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

impl WorkersError {
    /// True where the machines of the workers are too small for the load, so that less of it may be made.
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::Worker { cause: FailureCause::Limit, .. })
    }
}
