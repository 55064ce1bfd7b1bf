//! Chunked bodies (RFC 9112, section 7.1), decoded as they come and as strictly as their heads.

use bytes::{Buf as _, BytesMut};

/// A line of a chunk's size, or all trailers, may have so many bytes.
const LINE_BYTES_MAX: usize = 8 << 10;

#[derive(Debug)]
pub(super) struct Decoder {
    state: ChunkState,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum ChunkState {
    Size,
    /// So many bytes of a chunk are still to come.
    Data(usize),
    /// The end of line behind a chunk.
    DataEnd,
    Trailers,
    Done,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { state: ChunkState::Size, trailer_bytes: 0 }
    }

    /// Moves what has come from `input` to `output`; true when the body has ended.
    pub(super) fn decode(
        &mut self,
        input: &mut BytesMut,
        output: &mut BytesMut,
        max_bytes: usize,
    ) -> Result<bool, DecodeError> {
        loop {
            match self.state {
                ChunkState::Done => return Ok(true),
                ChunkState::Size => {
                    let Some(line) = take_line(input)? else { return Ok(false) };
                    let size = size(&line).ok_or(DecodeError::Broken("a chunk's size is no number"))?;
                    if size > max_bytes.saturating_sub(output.len()) {
                        return Err(DecodeError::TooLarge);
                    }
                    self.state = if size == 0 { ChunkState::Trailers } else { ChunkState::Data(size) };
                }
                ChunkState::Data(left) => {
                    let count = left.min(input.len());
                    output.extend_from_slice(&input[..count]);
                    input.advance(count);
                    if count < left {
                        self.state = ChunkState::Data(left - count);
                        return Ok(false);
                    }
                    self.state = ChunkState::DataEnd;
                }
                ChunkState::DataEnd => {
                    if input.len() < 2 {
                        return Ok(false);
                    }
                    if &input[..2] != b"\r\n" {
                        return Err(DecodeError::Broken("a chunk is longer than its size"));
                    }
                    input.advance(2);
                    self.state = ChunkState::Size;
                }
                ChunkState::Trailers => {
                    let Some(line) = take_line(input)? else { return Ok(false) };
                    self.trailer_bytes += line.len();
                    if self.trailer_bytes > LINE_BYTES_MAX {
                        return Err(DecodeError::Broken("there are too many trailers"));
                    }
                    if line.is_empty() {
                        self.state = ChunkState::Done;
                    }
                }
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum DecodeError {
    TooLarge,
    Broken(&'static str),
}

/// A line without its end, which is CR LF and nothing else.
fn take_line(input: &mut BytesMut) -> Result<Option<BytesMut>, DecodeError> {
    let Some(end) = memchr::memchr(b'\n', input) else {
        let is_long = input.len() > LINE_BYTES_MAX;
        return if is_long { Err(DecodeError::Broken("a line is too long")) } else { Ok(None) };
    };
    if end > LINE_BYTES_MAX {
        return Err(DecodeError::Broken("a line is too long"));
    }
    let mut line = input.split_to(end + 1);
    line.truncate(end);
    if line.last() != Some(&b'\r') || line[..end.saturating_sub(1)].contains(&b'\r') {
        return Err(DecodeError::Broken("a line does not end with CR LF"));
    }
    line.truncate(end - 1);
    Ok(Some(line))
}

/// Extensions are ignored.
fn size(line: &[u8]) -> Option<usize> {
    const DIGITS_MAX: usize = 15;
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let is_number =
        !digits.is_empty() && digits.len() <= DIGITS_MAX && digits.iter().all(u8::is_ascii_hexdigit);
    usize::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| is_number)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body and what is behind it, however the bytes are cut.
    fn check(bytes: &str, expected: &str) {
        for piece in [1, 3, bytes.len().max(1)] {
            let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
            let mut decoder = Decoder::new();
            let mut result = Ok(false);
            for part in bytes.as_bytes().chunks(piece) {
                input.extend_from_slice(part);
                result = decoder.decode(&mut input, &mut output, 10);
                if result.is_err() {
                    break;
                }
            }
            let text = |bytes: &BytesMut| String::from_utf8_lossy(bytes).into_owned();
            let actual = match result {
                Ok(true) => format!("{} then {:?}", text(&output), text(&input)),
                Ok(false) => "part".to_owned(),
                Err(error) => format!("{error:?}"),
            };
            assert_eq!(actual, expected, "{bytes:?} in pieces of {piece}");
        }
    }

    #[test]
    fn bodies_in_chunks_are_joined() {
        check("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde then \"\"");
        check("A\r\n0123456789\r\n0\r\na: b\r\n\r\nHTTP", "0123456789 then \"HTTP\"");
        check("3\r\nab", "part");
    }

    #[test]
    fn broken_chunks_are_refused() {
        check("B\r\n", "TooLarge");
        check("ffffffffffffffff\r\n", "Broken(\"a chunk's size is no number\")");
        check("-1\r\n", "Broken(\"a chunk's size is no number\")");
        check("0x1\r\n", "Broken(\"a chunk's size is no number\")");
        check("1\na", "Broken(\"a line does not end with CR LF\")");
        check("1\r\nabc", "Broken(\"a chunk is longer than its size\")");
    }
}
