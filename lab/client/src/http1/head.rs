//! The head of an answer: what of it decides where the answer ends and what becomes of the connection (RFC 9112).

use super::error::ScanError;

/// A longer head is read each time: it would only push others out of the processor's cache.
const MEMO_BYTES_MAX: usize = 2 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) content_length: Option<u64>,
    pub(crate) has_transfer_encoding: bool,
    pub(crate) is_chunked: bool,
    persistence: Persistence,
}

/// What becomes of the connection behind the answer (RFC 9112, 9.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Persistence {
    /// As HTTP/1.1 has it, and HTTP/1.0 with `keep-alive`.
    #[default]
    Kept,
    /// As HTTP/1.0 has it unless it says otherwise.
    Once,
    /// `close` was said, which no `keep-alive` takes back.
    Closed,
}

/// The last head that was read. Answers of one kind have the same head for as long as `Date` does, a second, so nearly all
/// are known at one comparison, where reading them was a third of the work that an answer makes.
#[derive(Debug, Default)]
pub(crate) struct HeadMemo {
    text: Vec<u8>,
    head: Head,
}

impl HeadMemo {
    /// As [`Head::read`].
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, ScanError> {
        // A head ends with an empty line, so equal bytes are a whole head.
        if !self.text.is_empty() && bytes.starts_with(&self.text) {
            return Ok(Some((self.head, self.text.len())));
        }
        let read = Head::read(bytes)?;
        if let Some((head, length)) = read
            && length <= MEMO_BYTES_MAX
        {
            self.text.clear();
            self.text.extend_from_slice(&bytes[..length]);
            self.head = head;
        }
        Ok(read)
    }
}

impl Head {
    /// RFC 9110, 15.2: the final answer follows.
    pub(crate) const fn is_interim(&self) -> bool {
        self.status >= 100 && self.status < 200
    }

    /// True where the connection carries no other request.
    pub(crate) fn closes(&self) -> bool {
        self.persistence != Persistence::Kept
    }

    /// The head at the start of the bytes and its length; `None` where it does not end in them.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, ScanError> {
        let Some(line_end) = memchr::memchr(b'\n', bytes) else { return Ok(None) };
        let mut head = Self::read_status_line(&bytes[..line_end])?;
        let mut at = line_end + 1;
        while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
            let line = &bytes[at..at + length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            at += length + 1;
            if line.is_empty() {
                return Ok(Some((head, at)));
            }
            head.read_header(line)?;
        }
        Ok(None)
    }

    fn read_status_line(line: &[u8]) -> Result<Self, ScanError> {
        let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ (b'0' | b'1'), b' ', a, b, c, rest @ ..] =
            line
        else {
            return Err(ScanError::StatusLine);
        };
        let digits = [a, b, c].map(|digit| u16::from(digit.wrapping_sub(b'0')));
        let has_end = matches!(rest.first(), None | Some(b' ' | b'\r'));
        if digits.iter().any(|digit| *digit > 9) || digits[0] == 0 || !has_end {
            return Err(ScanError::StatusLine);
        }
        let status = digits[0] * 100 + digits[1] * 10 + digits[2];
        let persistence = if *minor == b'0' { Persistence::Once } else { Persistence::Kept };
        Ok(Self { status, persistence, ..Self::default() })
    }

    fn read_header(&mut self, line: &[u8]) -> Result<(), ScanError> {
        // The value of the line before goes on (RFC 9112, 5.2), which those that say where the answer ends do not.
        if matches!(line[0], b' ' | b'\t') {
            return Ok(());
        }
        // Most names are skipped by their first letter.
        if !matches!(line[0] | 0x20, b'c' | b't') {
            return memchr::memchr(b':', line).map(drop).ok_or(ScanError::HeaderLine);
        }
        let colon = memchr::memchr(b':', line).ok_or(ScanError::HeaderLine)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = read_length(value).ok_or(ScanError::ContentLength)?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(ScanError::ContentLength);
            }
            self.content_length = Some(length);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.has_transfer_encoding = true;
            let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
            self.is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
        } else if name.eq_ignore_ascii_case(b"connection") {
            for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                if token.eq_ignore_ascii_case(b"close") {
                    self.persistence = Persistence::Closed;
                } else if token.eq_ignore_ascii_case(b"keep-alive") && self.persistence == Persistence::Once {
                    self.persistence = Persistence::Kept;
                }
            }
        }
        Ok(())
    }
}

fn read_length(value: &[u8]) -> Option<u64> {
    // 18 digits cannot overflow, and no body is that long.
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(value.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_head_reads_as_a_new_one() {
        let mut memo = HeadMemo::default();
        let answers: [&[u8]; 6] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nHTTP/1.1 500 No\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ];
        for _ in 0..2 {
            for answer in answers {
                assert_eq!(memo.read(answer), Head::read(answer), "{}", String::from_utf8_lossy(answer));
            }
        }
        assert_eq!(memo.read(b"nonsense\n"), Err(ScanError::StatusLine));
    }
}
