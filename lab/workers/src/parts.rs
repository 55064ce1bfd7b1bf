//! Messages of any size over a server that limits them: each is cut into parts, which are put together again.
//!
//! A part begins with 24 bytes, big-endian: who sends (8), the number of the message (8), the number of the part (4), how many
//! there are (4). NATS keeps the order of what one connection sends, so a part that does not follow the one before means that
//! something was lost: the message is dropped, and whoever sent it sends it again where that matters.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const HEAD: usize = 24;
/// Under the 1 MiB that servers take unless they are told otherwise; less where they take less.
pub(crate) const PART_BYTES: usize = 240 * 1024;
/// The parts of one message, so that a wrong head cannot ask for all memory.
const PARTS_MAX: u32 = 4_096;
/// A message whose parts stay away for so long is of a sender that is gone: it would be kept for ever.
const PART_PATIENCE: Duration = Duration::from_secs(60);

/// Cuts what one connection sends.
#[derive(Debug)]
pub(crate) struct Cutter {
    sender: u64,
    next: u64,
}

impl Cutter {
    pub(crate) const fn new(sender: u64) -> Self {
        Self { sender, next: 0 }
    }

    /// The parts of a message for a server that takes so many bytes at once; none where it is larger than any may be.
    pub(crate) fn cut(&mut self, message: &[u8], payload_max: usize) -> Vec<Bytes> {
        let part_bytes = payload_max.saturating_sub(HEAD).clamp(1, PART_BYTES);
        let count = message.len().div_ceil(part_bytes).max(1);
        if count > PARTS_MAX as usize {
            return Vec::new();
        }
        let count = count as u32;
        let number = self.next;
        self.next += 1;
        let part = |index: u32| {
            let from = index as usize * part_bytes;
            let payload = &message[from..message.len().min(from + part_bytes)];
            let mut bytes = Vec::with_capacity(HEAD + payload.len());
            bytes.extend_from_slice(&self.sender.to_be_bytes());
            bytes.extend_from_slice(&number.to_be_bytes());
            bytes.extend_from_slice(&index.to_be_bytes());
            bytes.extend_from_slice(&count.to_be_bytes());
            bytes.extend_from_slice(payload);
            Bytes::from(bytes)
        };
        (0..count).map(part).collect()
    }
}

/// Puts together what several connections send.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    /// By sender: the message under way.
    open: BTreeMap<u64, OpenMessage>,
}

#[derive(Debug)]
struct OpenMessage {
    number: u64,
    parts: u32,
    next: u32,
    /// When its last part came.
    came: Instant,
    bytes: Vec<u8>,
}

impl Joiner {
    /// The message that this part, which came now, completes, if it does.
    pub(crate) fn take(&mut self, part: &[u8], now: Instant) -> Option<Vec<u8>> {
        let (head, payload) = part.split_at_checked(HEAD)?;
        let long = |at: usize| u64::from_be_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let (sender, number, index, parts) = (long(0), long(8), short(16), short(20));
        if parts == 0 || parts > PARTS_MAX || index >= parts {
            return None;
        }
        if parts == 1 {
            return Some(payload.to_vec());
        }
        if index == 0 {
            self.open.retain(|_, open| now.saturating_duration_since(open.came) <= PART_PATIENCE);
            self.open.insert(sender, OpenMessage { number, parts, next: 0, came: now, bytes: Vec::new() });
        }
        let open = self.open.get_mut(&sender)?;
        if (open.number, open.parts, open.next) != (number, parts, index) {
            self.open.remove(&sender);
            return None;
        }
        open.bytes.extend_from_slice(payload);
        (open.next, open.came) = (open.next + 1, now);
        (open.next == parts).then(|| self.open.remove(&sender).map(|open| open.bytes)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What servers take unless they are told otherwise.
    const USUAL: usize = 1 << 20;

    fn message(length: usize, of: u8) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8 ^ of).collect()
    }

    #[test]
    fn messages_of_any_size_come_as_they_were() {
        let (mut cutter, mut joiner) = (Cutter::new(7), Joiner::default());
        for length in [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 5 * PART_BYTES + 3] {
            let sent = message(length, 3);
            let parts = cutter.cut(&sent, USUAL);
            assert!(parts.iter().all(|part| part.len() <= PART_BYTES + HEAD));
            let came: Vec<_> = parts.iter().filter_map(|part| joiner.take(part, Instant::now())).collect();
            assert_eq!(came, [sent], "{length} bytes");
        }
    }

    #[test]
    fn senders_do_not_disturb_each_other() {
        let (mut one, mut two, mut joiner) = (Cutter::new(1), Cutter::new(2), Joiner::default());
        let (a, b) = (message(2 * PART_BYTES, 1), message(2 * PART_BYTES, 2));
        let (a_parts, b_parts) = (one.cut(&a, USUAL), two.cut(&b, USUAL));
        let mixed = [&a_parts[0], &b_parts[0], &b_parts[1], &a_parts[1]];
        let came: Vec<_> = mixed.into_iter().filter_map(|part| joiner.take(part, Instant::now())).collect();
        assert_eq!(came, [b, a]);
    }

    #[test]
    fn a_message_that_lost_a_part_is_dropped_and_the_next_one_comes() {
        let (mut cutter, mut joiner) = (Cutter::new(1), Joiner::default());
        let (torn, whole) = (cutter.cut(&message(3 * PART_BYTES, 1), USUAL), message(2 * PART_BYTES, 2));
        assert_eq!(joiner.take(&torn[0], Instant::now()), None);
        assert_eq!(joiner.take(&torn[2], Instant::now()), None);
        let parts = cutter.cut(&whole, USUAL);
        let came: Vec<_> = parts.iter().filter_map(|part| joiner.take(part, Instant::now())).collect();
        assert_eq!(came, [whole]);
        for nonsense in [&[][..], &[0; 23], &[0xff; 40], &[0; 24]] {
            assert_eq!(joiner.take(nonsense, Instant::now()), None);
        }
    }

    /// Workers come and go as long as a coordinator lives.
    #[test]
    fn unfinished_messages_of_senders_that_are_gone_are_not_kept() {
        let (begin, mut joiner) = (Instant::now(), Joiner::default());
        let sent = message(2 * PART_BYTES, 1);
        let gone = |sender| Cutter::new(sender).cut(&sent, USUAL).swap_remove(0);
        (0..50).for_each(|sender| assert_eq!(joiner.take(&gone(sender), begin), None));
        let mut slow = Cutter::new(50);
        let slow = slow.cut(&sent, USUAL);
        assert_eq!(joiner.take(&slow[0], begin + PART_PATIENCE), None);
        assert_eq!(joiner.open.len(), 51, "all of them may still come to an end");
        assert_eq!(joiner.take(&gone(51), begin + PART_PATIENCE + Duration::from_secs(1)), None);
        assert_eq!(joiner.open.len(), 2);
        let end = begin + 2 * PART_PATIENCE;
        assert_eq!(joiner.take(&slow[1], end), Some(sent), "it is not gone");
    }

    #[test]
    fn what_is_larger_than_any_message_may_be_is_not_cut() {
        assert!(Cutter::new(1).cut(&vec![0; PART_BYTES * PARTS_MAX as usize + 1], USUAL).is_empty());
    }

    #[test]
    fn a_server_that_takes_less_at_once_gets_smaller_parts() {
        let sent = message(5_000, 3);
        for payload_max in [HEAD + 2, 100, 4_999, 5_000 + HEAD - 1, 5_000 + HEAD, PART_BYTES] {
            let (mut cutter, mut joiner) = (Cutter::new(7), Joiner::default());
            let parts = cutter.cut(&sent, payload_max);
            assert!(parts.iter().all(|part| part.len() <= payload_max), "{payload_max}");
            let came: Vec<_> = parts.iter().filter_map(|part| joiner.take(part, Instant::now())).collect();
            assert_eq!(came, std::slice::from_ref(&sent), "{payload_max}");
        }
        assert!(Cutter::new(7).cut(&sent, 0).is_empty(), "no part is small enough");
    }
}
