//! What a worker has measured and the coordinator has not acknowledged: each report is numbered, written to a file at once, and sent
//! again until it has come.

use crate::error::WorkersError;
use crate::kept::{KeptHeader, KeptWriter};
use crate::message::{Reply, Report, Said};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nothing acknowledged for so long: what was sent may be lost.
const RESEND_AFTER: Duration = Duration::from_secs(2);
/// Sent again at once; the rest follows when these have come.
const RESEND_MAX: usize = 64;

/// From whom and to whom reports go.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) coordinator: String,
    /// The worker's.
    pub(super) id: String,
    /// Of the share.
    pub(super) part: u32,
}

#[derive(Debug)]
pub(super) struct Outbox {
    address: Address,
    next: u64,
    /// The oldest first, as they are sent.
    pending: VecDeque<(u64, Vec<u8>)>,
    moved: Instant,
    kept: KeptWriter,
}

impl Outbox {
    pub(super) fn open(address: &Address, path: &Path, header: &KeptHeader) -> Result<Self, WorkersError> {
        let kept = KeptWriter::create(path, header)?;
        Ok(Self { address: address.clone(), next: 0, pending: VecDeque::new(), moved: Instant::now(), kept })
    }

    /// Numbers and keeps a report, and returns it as it is sent.
    pub(super) fn push(&mut self, report: Report) -> Result<Vec<u8>, WorkersError> {
        let number = self.next;
        self.next += 1;
        let what = Reply::Report { number, report: Box::new(report) };
        if self.pending.is_empty() {
            self.moved = Instant::now();
        }
        let written = self.kept.write(&what);
        let said = Said { id: self.address.id.clone(), part: self.address.part, what };
        let bytes = serde_json::to_vec(&said).expect("messages can be written");
        self.pending.push_back((number, bytes.clone()));
        // It is sent even where it cannot be kept.
        written.map(|()| bytes)
    }

    /// All below this number have come.
    pub(super) fn acknowledge(&mut self, up_to: u64) {
        let before = self.pending.len();
        self.pending.retain(|(number, _)| *number >= up_to);
        if self.pending.len() < before {
            self.moved = Instant::now();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// What is sent again now, if anything is.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if self.pending.is_empty() || now.saturating_duration_since(self.moved) < RESEND_AFTER {
            return Vec::new();
        }
        self.again(now)
    }

    /// What has not been acknowledged, the oldest first: the connection is another one.
    pub(super) fn again(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.moved = now;
        self.pending.iter().take(RESEND_MAX).map(|(_, bytes)| bytes.clone()).collect()
    }

    pub(super) fn path(&self) -> &Path {
        self.kept.path()
    }

    /// All of it has come, so that the file is not needed.
    pub(super) fn forget(self) {
        self.kept.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::result::{LabFigures, RunState};

    fn report() -> Report {
        let (state, lab) = (RunState::Completed, LabFigures::default());
        Report::Ended { state, ended_ns: 1, reason: String::new(), lab, findings: Vec::new(), counted: None }
    }

    #[test]
    fn reports_are_sent_again_until_they_have_come() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inner/kept.jsonl");
        let address = Address { coordinator: "c".to_owned(), id: "w".to_owned(), part: 3 };
        let mut outbox = Outbox::open(&address, &path, &KeptHeader::default()).unwrap();
        let sent: Vec<_> = (0..3).map(|_| outbox.push(report()).unwrap()).collect();
        let now = Instant::now();
        assert!(outbox.due(now).is_empty(), "they may be on their way");
        let later = now + RESEND_AFTER;
        assert_eq!(outbox.due(later), sent);
        outbox.acknowledge(2);
        assert_eq!(outbox.due(later + RESEND_AFTER * 2), sent[2..]);
        outbox.acknowledge(3);
        assert!(outbox.is_empty() && outbox.due(later + RESEND_AFTER * 9).is_empty());
        assert!(path.exists());
        outbox.forget();
        assert!(!path.exists());
    }
}
