//! Finds where an HTTP/1.1 answer ends, in whatever pieces it comes, without keeping its body (RFC 9112).
//!
//! Only what decides framing is read: status, `Content-Length`, `Transfer-Encoding`, `Connection`.

use super::error::{CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX, ScanError};
use super::head::{Head, HeadMemo};
use super::sink::Sink;
use std::mem;

/// Interim answers (RFC 9110, 15.2) before the final one.
const INTERIM_MAX: u32 = 32;

/// A whole answer was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: u16,
    /// True where the connection can carry another request.
    pub keeps_connection: bool,
    /// How many of the bytes just fed belong to it.
    pub consumed: usize,
}

#[derive(Debug)]
pub(crate) struct Scanner {
    state: State,
    /// The beginning of a head that came in pieces; empty otherwise.
    partial_head: Vec<u8>,
    head: Head,
    is_head_request: bool,
    /// An answer 101 is the final one.
    asks_for_upgrade: bool,
    interim_seen: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Sized { left: u64 },
    Chunked(Chunk),
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Size {
        size: u64,
        digits: u8,
        line_bytes: u16,
        in_extension: bool,
    },
    Data {
        left: u64,
    },
    /// What must follow a chunk's data: `\r\n`, or `\n` alone.
    DataEnd {
        after_return: bool,
    },
    /// `line_bytes` of the current line without its end; `total_bytes` of all trailers.
    Trailer {
        line_bytes: u16,
        total_bytes: u16,
    },
}

impl Chunk {
    const START: Self = Self::Size { size: 0, digits: 0, line_bytes: 0, in_extension: false };
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            state: State::Head,
            partial_head: Vec::new(),
            head: Head::default(),
            is_head_request: false,
            asks_for_upgrade: false,
            interim_seen: 0,
        }
    }
}

impl Scanner {
    /// Gets ready for the answer to a request.
    pub(crate) fn begin(&mut self, is_head_request: bool) {
        self.state = State::Head;
        self.partial_head = Vec::new();
        self.is_head_request = is_head_request;
        self.asks_for_upgrade = false;
        self.interim_seen = 0;
    }

    /// Gets ready for the answer to a request that asks for another protocol: behind an answer 101 that one begins.
    pub(crate) fn begin_upgrade(&mut self) {
        self.begin(false);
        self.asks_for_upgrade = true;
    }

    fn is_interim(&self, head: Head) -> bool {
        head.is_interim() && !(self.asks_for_upgrade && head.status == 101)
    }

    /// Takes the next bytes; `None` where more must come. Bytes of the body are shown to `sink`.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut Sink,
        memo: &mut HeadMemo,
    ) -> Result<Option<Answer>, ScanError> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (taken, done) = match self.state {
                State::Head => self.feed_head(rest, sink, memo)?,
                State::Sized { left } => self.feed_sized(rest, left, sink),
                State::Chunked(chunk) => self.feed_chunk(rest, chunk, sink)?,
                State::UntilClose => {
                    sink.feed(rest);
                    (rest.len(), false)
                }
            };
            at += taken;
            if done {
                return Ok(Some(self.answer(at)));
            }
        }
        Ok(None)
    }

    /// The connection has ended.
    pub(crate) fn end(&mut self) -> Result<Answer, ScanError> {
        match self.state {
            State::UntilClose => Ok(self.answer(0)),
            _ => Err(ScanError::Truncated),
        }
    }

    fn answer(&self, consumed: usize) -> Answer {
        let keeps_connection = !self.head.closes() && self.state != State::UntilClose;
        Answer { status: self.head.status, keeps_connection, consumed }
    }

    fn feed_head(
        &mut self,
        bytes: &[u8],
        sink: &mut Sink,
        memo: &mut HeadMemo,
    ) -> Result<(usize, bool), ScanError> {
        let before = self.partial_head.len();
        if before > 0 {
            return self.feed_partial_head(bytes, before, sink);
        }
        match memo.read(bytes)? {
            Some((head, length)) => {
                if !self.is_interim(head) {
                    sink.take_head(&bytes[..length]);
                }
                Ok((length, self.start_body(head)?))
            }
            None => self.keep_partial_head(bytes).map(|()| (bytes.len(), false)),
        }
    }

    fn feed_partial_head(
        &mut self,
        bytes: &[u8],
        before: usize,
        sink: &mut Sink,
    ) -> Result<(usize, bool), ScanError> {
        self.keep_partial_head(bytes)?;
        if memchr::memchr(b'\n', bytes).is_none() {
            return Ok((bytes.len(), false));
        }
        let Some((head, length)) = Head::read(&self.partial_head)? else { return Ok((bytes.len(), false)) };
        let text = mem::take(&mut self.partial_head);
        if !self.is_interim(head) {
            sink.take_head(&text[..length]);
        }
        Ok((length - before, self.start_body(head)?))
    }

    /// Bytes past the limit may belong to a body that came along; only a head without an end is too long.
    fn keep_partial_head(&mut self, bytes: &[u8]) -> Result<(), ScanError> {
        self.partial_head.extend_from_slice(bytes);
        let is_status_line = self.partial_head.iter().zip(b"HTTP/1.").all(|(found, wanted)| found == wanted);
        if !is_status_line {
            return Err(ScanError::StatusLine);
        }
        let ends = || memchr::memmem::find(&self.partial_head, b"\n\r\n").is_some();
        if self.partial_head.len() > HEAD_BYTES_MAX && !ends() {
            return Err(ScanError::TooLong);
        }
        Ok(())
    }

    /// Decides the framing (RFC 9112, 6.3); true where the answer has no body.
    fn start_body(&mut self, head: Head) -> Result<bool, ScanError> {
        if self.is_interim(head) {
            self.interim_seen += 1;
            if head.status == 101 || self.interim_seen > INTERIM_MAX {
                return Err(ScanError::Interim);
            }
            return Ok(false);
        }
        self.head = head;
        if self.is_head_request || head.status == 101 || head.status == 204 || head.status == 304 {
            return Ok(true);
        }
        self.state = match head {
            Head { is_chunked: true, .. } => State::Chunked(Chunk::START),
            Head { has_transfer_encoding: true, .. } | Head { content_length: None, .. } => State::UntilClose,
            Head { content_length: Some(left), .. } => State::Sized { left },
        };
        Ok(self.state == State::Sized { left: 0 })
    }

    fn feed_sized(&mut self, bytes: &[u8], left: u64, sink: &mut Sink) -> (usize, bool) {
        let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let is_whole = self.head.content_length == Some(taken as u64);
        if is_whole {
            sink.feed_whole(&bytes[..taken]);
        } else {
            sink.feed(&bytes[..taken]);
        }
        let left = left - taken as u64;
        self.state = State::Sized { left };
        (taken, left == 0)
    }

    fn feed_chunk(
        &mut self,
        bytes: &[u8],
        chunk: Chunk,
        sink: &mut Sink,
    ) -> Result<(usize, bool), ScanError> {
        let (next, taken) = match chunk {
            Chunk::Size { .. } => (after_size_byte(chunk, bytes[0])?, 1),
            Chunk::Data { left } => {
                let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                sink.feed(&bytes[..taken]);
                let left = left - taken as u64;
                (if left == 0 { Chunk::DataEnd { after_return: false } } else { Chunk::Data { left } }, taken)
            }
            Chunk::DataEnd { after_return } => match bytes[0] {
                b'\r' if !after_return => (Chunk::DataEnd { after_return: true }, 1),
                b'\n' => (Chunk::START, 1),
                _ => return Err(ScanError::Chunk),
            },
            Chunk::Trailer { line_bytes, total_bytes } => match bytes[0] {
                b'\n' if line_bytes == 0 => return Ok((1, true)),
                b'\n' => (Chunk::Trailer { line_bytes: 0, total_bytes }, 1),
                b'\r' => (chunk, 1),
                _ if usize::from(total_bytes) >= CHUNK_LINE_BYTES_MAX => return Err(ScanError::TooLong),
                _ => (Chunk::Trailer { line_bytes: line_bytes + 1, total_bytes: total_bytes + 1 }, 1),
            },
        };
        self.state = State::Chunked(next);
        Ok((taken, false))
    }
}

fn after_size_byte(chunk: Chunk, byte: u8) -> Result<Chunk, ScanError> {
    let Chunk::Size { size, digits, line_bytes, in_extension } = chunk else { return Err(ScanError::Chunk) };
    if usize::from(line_bytes) >= CHUNK_LINE_BYTES_MAX {
        return Err(ScanError::TooLong);
    }
    let line_bytes = line_bytes + 1;
    match byte {
        b'\n' if digits == 0 => Err(ScanError::Chunk),
        b'\n' if size == 0 => Ok(Chunk::Trailer { line_bytes: 0, total_bytes: 0 }),
        b'\n' => Ok(Chunk::Data { left: size }),
        _ if in_extension => Ok(Chunk::Size { size, digits, line_bytes, in_extension }),
        b';' | b' ' | b'\t' | b'\r' if digits > 0 => {
            Ok(Chunk::Size { size, digits, line_bytes, in_extension: true })
        }
        _ => {
            let digit = char::from(byte).to_digit(16).ok_or(ScanError::Chunk)?;
            if digits >= 15 {
                return Err(ScanError::Chunk);
            }
            let size = size * 16 + u64::from(digit);
            Ok(Chunk::Size { size, digits: digits + 1, line_bytes, in_extension })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fuzzing::scan;
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(answer: &str, expected: &Expect) {
        expected.assert_eq(&scan(&[answer.as_bytes()], false));
    }

    const ANSWERS: [&str; 9] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"data\":{}}",
        "HTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\n{\"dat\r\n6\r\na\":{}}\r\n0\r\nA: b\r\n\r\nrest",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n{\"errors\":[1]}",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"errors\":[{}]}",
    ];

    #[test]
    fn answers_end_where_their_framing_says() {
        let shown: Vec<_> = ANSWERS.iter().map(|answer| scan(&[answer.as_bytes()], false)).collect();
        expect![[r"
            200 keeps=true end=50 failure=false
            200 keeps=true end=94 failure=false
            404 keeps=true end=101 failure=true
            204 keeps=true end=46 failure=true
            200 until close failure=true
            200 keeps=false end=59 failure=false
            200 keeps=true end=64 failure=false
            200 keeps=true end=37 failure=false
            200 keeps=true end=54 failure=true"]]
        .assert_eq(&shown.join("\n"));
        for (version, connection, keeps) in [
            ("1.1", "close, keep-alive", false),
            ("1.1", "close\r\nConnection: keep-alive", false),
            ("1.1", "keep-alive, Close", false),
            ("1.1", "keep-alive", true),
            ("1.0", "close, keep-alive", false),
            ("1.0", "upgrade, keep-alive", true),
        ] {
            let answer = format!("HTTP/{version} 204 No\r\nConnection: {connection}\r\n\r\n");
            let shown = scan(&[answer.as_bytes()], false);
            assert!(shown.contains(&format!("keeps={keeps} ")), "{answer}: {shown}");
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n";
        expect!["200 keeps=true end=39 failure=true"].assert_eq(&scan(&[head.as_bytes()], true));
    }

    #[test]
    fn values_may_go_on_in_the_next_line() {
        let folded = "HTTP/1.1 200 OK\r\nX-Policy: a;\r\n b c\r\nContent-Length: 2\r\n\r\n{}";
        check(folded, &expect!["200 keeps=true end=60 failure=false"]);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        check("SSH-2.0-OpenSSH\r\n", &expect!["not an HTTP/1 status line"]);
        check("HTTP/2 200\r\n\r\n", &expect!["not an HTTP/1 status line"]);
        check("HTTP/1.1 2000 OK\r\n\r\n", &expect!["not an HTTP/1 status line"]);
        check("garbage without a line end", &expect!["not an HTTP/1 status line"]);
        check("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", &expect!["a header line without a colon"]);
        let both = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        check(both, &expect!["contradicting or unreadable Content-Length"]);
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            &expect!["contradicting or unreadable Content-Length"],
        );
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}x\r\n"), &expect!["a broken chunk"]);
        check(&format!("{chunked}2\r\nabc"), &expect!["a broken chunk"]);
        check(&format!("{chunked}fffffffffffffffff\r\n"), &expect!["a broken chunk"]);
        check(
            "HTTP/1.1 101 Switching\r\n\r\n",
            &expect!["an upgrade that nobody asked for, or too many interim answers"],
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            &expect!["the connection ended within an answer"],
        );
        check("", &expect!["the connection ended within an answer"]);
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(HEAD_BYTES_MAX));
        check(&long, &expect!["more than 65536 bytes of head, or 16384 of a chunk's line"]);
    }

    fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(index in 0..ANSWERS.len(), cuts in prop::collection::vec(0_usize..200, 0..12)) {
            let bytes = ANSWERS[index].as_bytes();
            prop_assert_eq!(scan(&pieces(bytes, &cuts), false), scan(&[bytes], false));
        }

        #[test]
        fn every_byte_alone_gives_the_same(index in 0..ANSWERS.len()) {
            let bytes = ANSWERS[index].as_bytes();
            prop_assert_eq!(scan(&bytes.chunks(1).collect::<Vec<_>>(), false), scan(&[bytes], false));
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_cuts_do_not_matter(
            start in 0..ANSWERS.len(), keep in 0_usize..150,
            noise in prop::collection::vec(any::<u8>(), 0..100), cuts in prop::collection::vec(0_usize..300, 0..8)
        ) {
            let answer = ANSWERS[start].as_bytes();
            let bytes = [&answer[..keep.min(answer.len())], &noise].concat();
            prop_assert_eq!(scan(&pieces(&bytes, &cuts), false), scan(&[&bytes], false));
        }
    }
}
