//! Cuts a stream of bytes into numbered lines, and keeps no more of it than is being worked on.

/// Bytes of lines that are taken at a time. Enough to share a write and its sync; their work takes a core well below a
/// millisecond, for which its other connections wait.
const BLOCK_BYTES: usize = 16 * 1024;

/// What some programs begin a file with; it is no part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug)]
pub(super) struct LineBuffer {
    buffer: Vec<u8>,
    /// Longest line.
    max_bytes: usize,
    /// Of the line that the buffer begins with; the first is 1.
    number: u64,
    /// Up to its end, what comes belongs to a line that was too long.
    is_skipping: bool,
    is_ended: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BulkLine<'a> {
    Text(&'a [u8]),
    TooLong { limit: usize },
}

impl LineBuffer {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { buffer: Vec::new(), max_bytes, number: 1, is_skipping: false, is_ended: false }
    }

    pub(super) fn push(&mut self, mut piece: &[u8]) {
        if self.is_skipping {
            let Some(end) = memchr::memchr(b'\n', piece) else { return };
            piece = &piece[end + 1..];
            self.is_skipping = false;
            self.number += 1;
        }
        self.buffer.extend_from_slice(piece);
    }

    /// No more comes: the last line need have no end.
    pub(super) const fn end(&mut self) {
        self.is_ended = true;
    }

    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= BLOCK_BYTES
    }

    /// Gives the lines that are whole, with their numbers, as many as are taken at a time; blank ones are only counted. They are given again
    /// until they are [passed](Self::pass).
    pub(super) fn read(&self, mut with: impl FnMut(u64, BulkLine<'_>)) -> LinesRead {
        let mut read = LinesRead { bytes: 0, next: self.number, is_cut: self.is_skipping };
        while read.bytes < self.buffer.len().min(BLOCK_BYTES) {
            let rest = &self.buffer[read.bytes..];
            let end = memchr::memchr(b'\n', rest).or_else(|| self.is_ended.then_some(rest.len()));
            if end.unwrap_or(rest.len()) > self.max_bytes {
                with(read.next, BulkLine::TooLong { limit: self.max_bytes });
            } else if let Some(end) = end {
                let line = &rest[..end];
                let mark: &[u8] = if read.next == 1 { BYTE_ORDER_MARK } else { b"" };
                let text = line.strip_prefix(mark).unwrap_or(line).trim_ascii();
                if !text.is_empty() {
                    with(read.next, BulkLine::Text(text));
                }
            } else {
                break;
            }
            read.is_cut = end.is_none();
            read.next += u64::from(end.is_some());
            read.bytes += end.map_or(rest.len(), |end| end + 1);
        }
        read
    }

    /// They are not given again. True where there may be more.
    pub(super) fn pass(&mut self, read: LinesRead) -> bool {
        self.is_skipping = read.is_cut;
        self.number = read.next;
        self.buffer.drain(..read.bytes.min(self.buffer.len()));
        read.bytes >= BLOCK_BYTES && !self.buffer.is_empty()
    }
}

/// How far the lines have been [read](LineBuffer::read).
#[derive(Debug, Clone, Copy)]
pub(super) struct LinesRead {
    bytes: usize,
    /// Number of the line behind.
    next: u64,
    /// The last was too long, and its end has not come.
    is_cut: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn list(lines: &LineBuffer) -> (String, LinesRead) {
        let mut found = String::new();
        let read = lines.read(|number, line| {
            let _ = match line {
                BulkLine::Text(text) => write!(found, "{number}:{} ", String::from_utf8_lossy(text)),
                BulkLine::TooLong { .. } => write!(found, "{number}! "),
            };
        });
        (found, read)
    }

    /// The same lines come out however the text is cut; `|` stands between pieces that are taken apart.
    fn check(pieces: &str, expected: &str) {
        let mut lines = LineBuffer::new(8);
        let mut found = String::new();
        let mut take = |lines: &mut LineBuffer| {
            let mut has_more = true;
            while has_more {
                let once = list(lines).0;
                let (again, read) = list(lines);
                assert_eq!(once, again, "they are given until they are passed");
                found.push_str(&once);
                has_more = lines.pass(read);
            }
        };
        for piece in pieces.split('|') {
            lines.push(piece.as_bytes());
            take(&mut lines);
        }
        lines.end();
        take(&mut lines);
        assert_eq!(found.trim_end(), expected, "{pieces:?}");
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        for pieces in ["a\nbc\n", "a\nbc", "a|\nb|c|", "a\r\nbc\r\n", "|a\n|bc|\n"] {
            check(pieces, "1:a 2:bc");
        }
        check("", "");
        check("\n \n\na\n\n", "4:a");
        check("\u{feff}a\nbc", "1:a 2:bc");
        check("\u{feff}\na\n\u{feff}b", "2:a 3:\u{feff}b");
    }

    /// A core's other connections wait for as many as are taken at a time.
    #[test]
    fn of_many_lines_some_are_taken_at_a_time() {
        let mut lines = LineBuffer::new(BLOCK_BYTES);
        let mut text = String::new();
        for number in 1..=10_000 {
            let _ = writeln!(text, "{number:9}");
        }
        lines.push(text.as_bytes());
        let (mut next, mut turns) = (1, 0);
        let mut has_more = true;
        while has_more {
            let mut bytes = 0;
            let read = lines.read(|number, line| {
                let BulkLine::Text(text) = line else { panic!("line {number} is too long") };
                assert_eq!((number, text), (next, next.to_string().as_bytes()));
                next += 1;
                bytes += 10;
            });
            has_more = lines.pass(read);
            assert!(bytes < BLOCK_BYTES + 10, "{bytes} at a time");
            turns += 1;
        }
        assert_eq!((next, turns), (10_001, text.len().div_ceil(BLOCK_BYTES)));
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_left_out() {
        for pieces in ["a\n123456789\nb", "a\n12345|6789|0123|4567\nb\n", "a\n1234567890123|4\n|b"] {
            check(pieces, "1:a 2! 3:b");
        }
        check("123456789", "1!");
        check("12345678\nb", "1:12345678 2:b");
    }
}
