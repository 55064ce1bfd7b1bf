//! How handshakes ended, for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How a handshake ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeOutcome {
    Full,
    /// A session of before went on.
    Resumed,
    /// The client broke off, spoke no version that is spoken here, or brought no certificate that counts.
    Failed,
    /// It took too long.
    TimedOut,
    /// HTTP without TLS, which gets a 400.
    PlainHttp,
    /// As many as may be were under way.
    Refused,
}

impl HandshakeOutcome {
    pub(crate) const ALL: [Self; 6] =
        [Self::Full, Self::Resumed, Self::Failed, Self::TimedOut, Self::PlainHttp, Self::Refused];

    /// The value of the label `outcome`.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::PlainHttp => "plain_http",
            Self::Refused => "refused",
        }
    }
}

/// Counters of all cores.
#[derive(Debug, Default)]
pub(crate) struct TlsCounts([AtomicU64; HandshakeOutcome::ALL.len()]);

impl TlsCounts {
    pub(crate) fn ended(&self, outcome: HandshakeOutcome) {
        self.0[outcome as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn count(&self, outcome: HandshakeOutcome) -> u64 {
        self.0[outcome as usize].load(Relaxed)
    }
}
