//! What a worker has measured and the coordinator has not acknowledged: each report is numbered, written to a file at once, and sent
//! again until it has come. It is encoded once: the line of the file is a part of the message.

use crate::error::WorkersError;
use crate::kept::{KeptHeader, KeptWriter};
use crate::message::{Reply, Said};
use bytes::Bytes;
use serde_json::value::{RawValue, to_raw_value};
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
    pending: VecDeque<(u64, Bytes)>,
    moved: Instant,
    kept: KeptWriter,
}

impl Outbox {
    /// What is kept goes into a file of its own in this folder.
    pub(super) fn open(address: &Address, folder: &Path, header: &KeptHeader) -> Result<Self, WorkersError> {
        let kept = KeptWriter::create(folder, header)?;
        Ok(Self { address: address.clone(), next: 0, pending: VecDeque::new(), moved: Instant::now(), kept })
    }

    /// Numbers and keeps a report, which is JSON, and returns it as it is sent, which it is also where it cannot be kept.
    pub(super) fn push(&mut self, report: &RawValue) -> (Bytes, Result<(), WorkersError>) {
        let number = self.next;
        self.next += 1;
        if self.pending.is_empty() {
            self.moved = Instant::now();
        }
        let what = to_raw_value(&Reply::Report { number, report }).expect("messages can be written");
        let written = self.kept.write(&what);
        let Address { id, part, .. } = &self.address;
        let said = Said { id: id.clone(), part: *part, what };
        let bytes = Bytes::from(serde_json::to_vec(&said).expect("messages can be written"));
        self.pending.push_back((number, bytes.clone()));
        (bytes, written)
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

    /// Nothing has ever been reported.
    pub(super) const fn is_unused(&self) -> bool {
        self.next == 0
    }

    /// What is sent again now, if anything is.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Bytes> {
        if self.pending.is_empty() || now.saturating_duration_since(self.moved) < RESEND_AFTER {
            return Vec::new();
        }
        self.again(now)
    }

    /// What has not been acknowledged, the oldest first: the connection is another one.
    pub(super) fn again(&mut self, now: Instant) -> Vec<Bytes> {
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
    use crate::message::Report;
    use prony_model::result::{LabFigures, RunState};

    fn report() -> Report {
        let (state, lab) = (RunState::Completed, LabFigures::default());
        Report::Ended { state, ended_ns: 1, reason: String::new(), lab, findings: Vec::new(), counted: None }
    }

    fn pushed(outbox: &mut Outbox, report: &Report) -> Bytes {
        let (message, written) = outbox.push(&to_raw_value(report).unwrap());
        written.unwrap();
        message
    }

    /// Texts that would have to be escaped twice, were they encoded twice, and a number that only decimal digits keep.
    #[test]
    fn what_is_kept_is_what_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address { coordinator: "c".to_owned(), id: "größe \"1\"".to_owned(), part: 3 };
        let mut outbox = Outbox::open(&address, folder.path(), &KeptHeader::default()).unwrap();
        let reason = "line 1\nline \"2\" \\ \u{2028}".to_owned();
        let report = |ended_ns| match report() {
            Report::Ended { state, lab, findings, .. } => {
                let counted = Some(serde_json::json!({ "ä": [u64::MAX, 0.1] }));
                Report::Ended { state, ended_ns, reason: reason.clone(), lab, findings, counted }
            }
            Report::Second { .. } => unreachable!("it is an end"),
        };
        let sent: Vec<Said> = [u64::MAX, 0]
            .map(|ended| serde_json::from_slice(&pushed(&mut outbox, &report(ended))).unwrap())
            .into();
        let kept = std::fs::read_to_string(outbox.path()).unwrap();
        assert!(kept.ends_with("}\n"));
        let kept: Vec<Reply> = kept.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
        for (number, (said, kept)) in sent.iter().zip(&kept).enumerate() {
            let expected = report([u64::MAX, 0][number]);
            let expected = Reply::Report { number: number as u64, report: Box::new(expected) };
            assert_eq!((&said.id, said.part, &said.what), (&address.id, 3, &expected));
            assert_eq!(kept, &expected);
        }
        assert_eq!(kept.len(), 2);
    }

    #[test]
    fn a_report_that_cannot_be_kept_is_sent_all_the_same() {
        let address = Address { coordinator: "c".to_owned(), id: "w".to_owned(), part: 3 };
        let full = Path::new("/dev/full");
        let kept = KeptWriter::to(full, std::fs::OpenOptions::new().write(true).open(full).unwrap());
        let mut outbox = Outbox { address, next: 0, pending: VecDeque::new(), moved: Instant::now(), kept };
        let (message, written) = outbox.push(&to_raw_value(&report()).unwrap());
        assert!(written.unwrap_err().to_string().starts_with("cannot keep what is measured in /dev/full: "));
        assert!(serde_json::from_slice::<Said>(&message).is_ok() && !outbox.is_empty());
    }

    #[test]
    fn reports_are_sent_again_until_they_have_come() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address { coordinator: "c".to_owned(), id: "w".to_owned(), part: 3 };
        let inner = folder.path().join("inner");
        let mut outbox = Outbox::open(&address, &inner, &KeptHeader::default()).unwrap();
        let path = outbox.path().to_owned();
        assert!(outbox.is_unused());
        let sent: Vec<_> = (0..3).map(|_| pushed(&mut outbox, &report())).collect();
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
