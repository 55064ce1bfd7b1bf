//! Where an answer goes while it is scanned: nowhere, through the search for GraphQL errors, or into memory.

use super::errors_scan::ErrorsScan;
use memchr::memmem;
use prony_model::program::{Answer, Keep};

/// An answer that a program wants to see whole may be this long; a longer one fails its request.
pub const KEPT_BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What is done with the bytes of an answer.
#[derive(Debug, Default)]
pub enum Sink {
    #[default]
    Ignore,
    GraphQl(ErrorsScan),
    Head(Kept),
    Keep(Kept),
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
        if let Self::Head(kept) | Self::Keep(kept) = self {
            spare.push(kept);
        }
    }

    /// The final head, its empty line included.
    pub fn take_head(&mut self, head: &[u8]) {
        if let Self::Head(kept) | Self::Keep(kept) = self {
            kept.head.extend_from_slice(head);
        }
    }

    /// Some of the body, without transfer coding.
    pub fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::Ignore | Self::Head(_) => {}
            Self::GraphQl(scan) => scan.feed(bytes),
            Self::Keep(kept) => kept.body.extend_from_slice(bytes),
        }
    }

    /// The whole body at once, where it did not come in pieces: most have no such word anywhere.
    pub fn feed_whole(&mut self, bytes: &[u8]) {
        let Self::GraphQl(scan) = self else { return self.feed(bytes) };
        let starts_as_object = bytes.trim_ascii_start().first() == Some(&b'{');
        if starts_as_object && memmem::find(bytes, b"\"errors\"").is_none() {
            scan.pass_object();
        } else {
            scan.feed(bytes);
        }
    }

    /// What was kept of the body was used: more is kept from its beginning.
    pub fn forget_body(&mut self) {
        if let Self::Head(kept) | Self::Keep(kept) = self {
            kept.body.clear();
        }
    }

    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::Keep(kept) if kept.body.len() > KEPT_BODY_BYTES_MAX)
    }

    /// As its program sees it.
    pub fn answer(&self, status: u16) -> Answer<'_> {
        let (head, body): (&[u8], &[u8]) = match self {
            Self::Head(kept) | Self::Keep(kept) => (&kept.head, &kept.body),
            _ => (&[], &[]),
        };
        let has_graphql_errors = matches!(self, Self::GraphQl(scan) if scan.is_failure());
        Answer { status, head, body, has_graphql_errors }
    }
}
