//! Failures of calls that the runner has not told of.

use crate::host::Host;
use crate::vm::{Answered, Failed};
use prony_model::program::call::{CallBytes, CallFault, CallFaultKind, CallTimes, Peer};

/// An answer that cannot be read, as a failure.
pub(super) fn failure_of(answered: &Answered) -> Failed {
    let fault = CallFault { kind: CallFaultKind::Protocol, message: String::new() };
    Failed { fault, times: answered.times, peer: answered.peer, bytes: answered.bytes }
}

/// A request that was never sent.
pub(super) fn local_failure(host: &Host) -> Failed {
    let fault = CallFault { kind: CallFaultKind::Protocol, message: String::new() };
    let times = CallTimes { ended: host.now(), ..CallTimes::default() };
    Failed { fault, times, peer: Peer::default(), bytes: CallBytes::default() }
}
