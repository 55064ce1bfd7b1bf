//! k6's phases of a request out of the moments that the runner tells.

use prony_metrics::Phases;
use prony_model::program::call::CallTimes;
use prony_model::units::Nanos;

/// The phases of an answered call. `blocked` counts all until the connection was there, as in k6.
pub(super) fn phases(times: &CallTimes, is_tls: bool) -> Phases {
    let first_byte = times.first_byte.unwrap_or(times.ended);
    let (connecting, tls_handshaking) = if times.is_new_connection {
        let handshake = if is_tls { times.ready.since(times.connected) } else { Nanos::ZERO };
        (times.connected.since(times.resolved), handshake)
    } else {
        (Nanos::ZERO, Nanos::ZERO)
    };
    Phases {
        blocked: times.ready.since(times.asked),
        connecting,
        tls_handshaking,
        sending: times.sent.since(times.ready),
        waiting: first_byte.since(times.sent),
        receiving: times.ended.since(first_byte),
    }
}

/// Of a call that failed: what was reached of it. Before there is a connection k6 counts nothing.
pub(super) fn phases_of_failed(times: &CallTimes, is_tls: bool, had_connection: bool) -> Phases {
    if had_connection { phases(times, is_tls) } else { Phases::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_k6s_definitions() {
        let times = CallTimes {
            asked: Nanos(10),
            resolved: Nanos(30),
            connected: Nanos(60),
            ready: Nanos(100),
            sent: Nanos(150),
            first_byte: Some(Nanos(210)),
            ended: Nanos(280),
            is_new_connection: true,
        };
        let shown = |phases: Phases| {
            [
                phases.blocked,
                phases.connecting,
                phases.tls_handshaking,
                phases.sending,
                phases.waiting,
                phases.receiving,
                phases.duration(),
            ]
            .map(|time| time.0)
        };
        assert_eq!(shown(phases(&times, true)), [90, 30, 40, 50, 60, 70, 180]);
        assert_eq!(shown(phases(&times, false)), [90, 30, 0, 50, 60, 70, 180]);
        let kept = CallTimes { is_new_connection: false, ..times };
        assert_eq!(shown(phases(&kept, true)), [90, 0, 0, 50, 60, 70, 180]);
        let silent = CallTimes { first_byte: None, ..times };
        assert_eq!(shown(phases_of_failed(&silent, true, true)), [90, 30, 40, 50, 130, 0, 180]);
        assert_eq!(shown(phases_of_failed(&silent, true, false)), [0; 7]);
    }
}
