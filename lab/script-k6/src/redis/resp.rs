//! The protocol of Redis, version 2 (<https://redis.io/docs/latest/develop/reference/protocol-spec/>): commands and replies.

/// A longer reply is refused.
pub(super) const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Lists within lists.
const DEPTH_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Status(String),
    Error(String),
    Integer(i64),
    /// None where there is no value.
    Bulk(Option<Vec<u8>>),
    List(Option<Vec<Reply>>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReplyError {
    #[error("redis: can't parse {0:?}")]
    Malformed(String),
    #[error("redis: the reply is longer than {REPLY_BYTES_MAX} bytes")]
    TooLong,
    #[error("redis: the reply has lists in more than {DEPTH_MAX} lists")]
    TooDeep,
}

/// A command as it is sent.
pub(super) fn command<T: AsRef<[u8]>>(arguments: &[T], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", arguments.len()).as_bytes());
    for argument in arguments {
        let argument = argument.as_ref();
        out.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

/// The first reply, and how many bytes it has; none where it is not whole.
pub(super) fn reply(bytes: &[u8]) -> Result<Option<(Reply, usize)>, ReplyError> {
    let mut reader = ReplyReader { bytes, at: 0 };
    let reply = reader.reply(0)?;
    if reply.is_none() && bytes.len() > REPLY_BYTES_MAX {
        return Err(ReplyError::TooLong);
    }
    Ok(reply.map(|reply| (reply, reader.at)))
}

struct ReplyReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ReplyReader<'a> {
    fn reply(&mut self, depth: usize) -> Result<Option<Reply>, ReplyError> {
        let Some(line) = self.line() else { return Ok(None) };
        let malformed = || ReplyError::Malformed(String::from_utf8_lossy(line).into_owned());
        let (kind, rest) = line.split_first().ok_or_else(malformed)?;
        let text = || String::from_utf8_lossy(rest).into_owned();
        let number = || std::str::from_utf8(rest).ok().and_then(|text| text.parse::<i64>().ok());
        match kind {
            b'+' => Ok(Some(Reply::Status(text()))),
            b'-' => Ok(Some(Reply::Error(text()))),
            b':' => Ok(Some(Reply::Integer(number().ok_or_else(malformed)?))),
            b'$' => match number().ok_or_else(malformed)? {
                -1 => Ok(Some(Reply::Bulk(None))),
                length => self.bulk(usize::try_from(length).map_err(|_| malformed())?),
            },
            b'*' => match number().ok_or_else(malformed)? {
                -1 => Ok(Some(Reply::List(None))),
                count => self.list(usize::try_from(count).map_err(|_| malformed())?, depth + 1),
            },
            _ => Err(malformed()),
        }
    }

    /// Without its end.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let end = memchr::memmem::find(rest, b"\r\n")?;
        self.at += end + 2;
        Some(&rest[..end])
    }

    fn bulk(&mut self, length: usize) -> Result<Option<Reply>, ReplyError> {
        if length > REPLY_BYTES_MAX {
            return Err(ReplyError::TooLong);
        }
        let Some(bytes) = self.bytes.get(self.at..self.at + length + 2) else { return Ok(None) };
        self.at += length + 2;
        Ok(Some(Reply::Bulk(Some(bytes[..length].to_vec()))))
    }

    fn list(&mut self, count: usize, depth: usize) -> Result<Option<Reply>, ReplyError> {
        if depth > DEPTH_MAX {
            return Err(ReplyError::TooDeep);
        }
        let mut items = Vec::new();
        for _ in 0..count {
            let Some(item) = self.reply(depth)? else { return Ok(None) };
            items.push(item);
        }
        Ok(Some(Reply::List(Some(items))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_lists_of_bulks() {
        let mut out = Vec::new();
        command(&["SET", "k", "ä"], &mut out);
        assert_eq!(out, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nä\r\n".as_bytes());
    }

    #[test]
    fn replies_are_read_once_they_are_whole() {
        let text = b"*4\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n+OK\r\n-ERR no\r\n";
        let expected = Reply::List(Some(vec![
            Reply::Integer(-7),
            Reply::Bulk(Some(b"a\r\n".to_vec())),
            Reply::Bulk(None),
            Reply::List(Some(vec![Reply::Status("OK".to_owned()), Reply::Error("ERR no".to_owned())])),
        ]));
        for end in 0..text.len() {
            assert_eq!(reply(&text[..end]), Ok(None));
        }
        assert_eq!(reply(text), Ok(Some((expected, text.len()))));
        let two = reply(b"*-1\r\n:1\r\n").unwrap().unwrap();
        assert_eq!(two, (Reply::List(None), 5));
    }

    #[test]
    fn what_is_no_reply_is_said() {
        let text = |bytes: &[u8]| reply(bytes).unwrap_err().to_string();
        assert_eq!(text(b"HTTP/1.1 400 Bad\r\n"), "redis: can't parse \"HTTP/1.1 400 Bad\"");
        assert_eq!(text(b":x\r\n"), "redis: can't parse \":x\"");
        assert_eq!(text(b"$99999999999\r\n"), "redis: the reply is longer than 67108864 bytes");
        assert_eq!(text(&b"*1\r\n".repeat(33)), "redis: the reply has lists in more than 32 lists");
    }
}
