//! Where an answer goes while it is scanned: nowhere, through the search for GraphQL errors, into memory, or to its owner read
//! by read.

use super::errors_scan::ErrorsScan;
use memchr::memmem;
use prony_model::program::{Answer, Keep};
use std::mem;

/// An answer that a program wants to see whole may be this long; a longer one fails its request.
pub(crate) const KEPT_BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What is done with the bytes of an answer.
#[derive(Debug, Default)]
pub enum Sink {
    #[default]
    Ignore,
    GraphQl(ErrorsScan),
    Head(Kept),
    Keep(Kept),
    /// In memory until its owner has seen what one read brought.
    Stream(Unread),
}

/// What came of a streamed response since its owner last saw some of it.
#[derive(Debug, Default)]
pub struct Unread {
    kept: Kept,
    status: u16,
    /// An event that tells of it is on its way.
    is_announced: bool,
}

/// An answer in memory.
#[derive(Debug, Default)]
pub struct Kept {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Kept {
    fn empty(spare: &mut Vec<Self>) -> Self {
        let mut kept = spare.pop().unwrap_or_default();
        kept.head.clear();
        kept.body.clear();
        kept
    }

    fn recycle(self, spare: &mut Vec<Self>) {
        if self.head.capacity() + self.body.capacity() > 0 {
            spare.push(self);
        }
    }
}

impl Sink {
    pub fn new(keep: Keep, spare: &mut Vec<Kept>) -> Self {
        match keep {
            Keep::Status => Self::Ignore,
            Keep::GraphQlErrors => Self::GraphQl(ErrorsScan::START),
            Keep::Head => Self::Head(Kept::empty(spare)),
            Keep::Whole => Self::Keep(Kept::empty(spare)),
        }
    }

    /// Gives its memory to the next answer.
    pub fn recycle(self, spare: &mut Vec<Kept>) {
        if let Self::Head(kept) | Self::Keep(kept) | Self::Stream(Unread { kept, .. }) = self {
            kept.recycle(spare);
        }
    }

    /// The final head, its empty line included.
    pub fn take_head(&mut self, head: &[u8]) {
        match self {
            Self::Head(kept) | Self::Keep(kept) => kept.head.extend_from_slice(head),
            Self::Stream(unread) => {
                unread.kept.head.extend_from_slice(head);
                // The scanner has found the three digits there.
                let digits = head.get(9..12).unwrap_or_default().iter();
                unread.status = digits.fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
            }
            Self::Ignore | Self::GraphQl(_) => {}
        }
    }

    /// Some of the body, without transfer coding.
    pub fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::Ignore | Self::Head(_) => {}
            Self::GraphQl(scan) => scan.feed(bytes),
            Self::Keep(kept) => kept.body.extend_from_slice(bytes),
            Self::Stream(unread) => unread.kept.body.extend_from_slice(bytes),
        }
    }

    /// The whole body at once, where it did not come in pieces: most have no such word anywhere. Of those only the ends are looked at.
    pub fn feed_whole(&mut self, bytes: &[u8]) {
        let Self::GraphQl(scan) = self else { return self.feed(bytes) };
        let ends_as_object = matches!(bytes.trim_ascii(), [b'{', .., b'}']);
        if ends_as_object && memmem::find(bytes, b"\"errors\"").is_none() {
            scan.pass_object();
        } else {
            scan.feed(bytes);
        }
    }

    /// Takes memory for what a read brings to a streamed response.
    pub(crate) fn begin_read(&mut self, spare: &mut Vec<Kept>) {
        if let Self::Stream(unread) = self
            && unread.kept.head.capacity() + unread.kept.body.capacity() == 0
        {
            unread.kept = Kept::empty(spare);
        }
    }

    /// True where a read has brought some of a streamed response that no event tells of yet; one has to from now on.
    pub(crate) fn announce(&mut self) -> bool {
        let Self::Stream(unread) = self else { return false };
        let has_any = !(unread.kept.head.is_empty() && unread.kept.body.is_empty());
        has_any && !mem::replace(&mut unread.is_announced, true)
    }

    /// The owner of a streamed response has seen what came; its memory serves the next one that is read.
    pub(crate) fn end_read(&mut self, spare: &mut Vec<Kept>) {
        if let Self::Stream(unread) = self {
            unread.is_announced = false;
            mem::take(&mut unread.kept).recycle(spare);
        }
    }

    /// The status of a streamed response whose head has come.
    pub(crate) const fn status(&self) -> u16 {
        match self {
            Self::Stream(unread) => unread.status,
            _ => 0,
        }
    }

    pub(crate) const fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::Keep(kept) if kept.body.len() > KEPT_BODY_BYTES_MAX)
    }

    /// As its program sees it.
    pub fn answer(&self, status: u16) -> Answer<'_> {
        let (head, body): (&[u8], &[u8]) = match self {
            Self::Head(kept) | Self::Keep(kept) | Self::Stream(Unread { kept, .. }) => {
                (&kept.head, &kept.body)
            }
            Self::Ignore | Self::GraphQl(_) => (&[], &[]),
        };
        let has_graphql_errors = matches!(self, Self::GraphQl(scan) if scan.is_failure());
        Answer { status, head, body, has_graphql_errors }
    }
}
