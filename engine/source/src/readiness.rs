//! Whether requests should be sent to a source now, in a few words that may be shown to everybody: what is wrong in detail is for
//! `/health` and the log.

use std::time::{Duration, SystemTime};

/// How long the refusal of one write for want of room counts. Whether there is room again only the next write shows, and none
/// comes to a server that is not ready.
const REFUSAL_COUNTS_FOR: Duration = Duration::from_secs(10);

/// Why no requests should be sent to a source now. Load is never a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReady {
    /// Its database, file or service cannot be asked.
    Unreachable,
    /// Nothing can be written for want of room.
    DiskFull,
    /// Its files cannot be written for another reason.
    StorageFailed,
}

impl NotReady {
    /// As `/ready` shows it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::DiskFull => "disk_full",
            Self::StorageFailed => "storage_failed",
        }
    }

    /// Of a store that refused a write at `refused_at` and has taken none since; none where that was for want of room and a while ago.
    pub fn of_refused_write(is_disk_full: bool, refused_at: SystemTime, now: SystemTime) -> Option<Self> {
        if !is_disk_full {
            return Some(Self::StorageFailed);
        }
        // A clock that was set back makes it recent.
        let age = now.duration_since(refused_at).unwrap_or_default();
        (age < REFUSAL_COUNTS_FOR).then_some(Self::DiskFull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_room_counts_for_a_while_and_other_faults_until_a_write_succeeds() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let after = |seconds| at + Duration::from_secs(seconds);
        assert_eq!(NotReady::of_refused_write(true, at, after(9)), Some(NotReady::DiskFull));
        assert_eq!(NotReady::of_refused_write(true, at, after(10)), None);
        assert_eq!(
            NotReady::of_refused_write(true, at, at - Duration::from_secs(60)),
            Some(NotReady::DiskFull)
        );
        assert_eq!(NotReady::of_refused_write(false, at, after(9999)), Some(NotReady::StorageFailed));
    }
}
