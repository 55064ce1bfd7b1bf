//! What is said of operations over a connection beside their stream (graphql-sse, PROTOCOL.md, single connection mode): one
//! order at a time, each with an answer. Knows neither sockets nor clocks.

use super::link::{Answer, cut};
use prony_client::http1::head::HeadMemo;

/// A longer one is no token: it has to fit into a header of every request.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// Of the operations of one stream, which are started in turn.
#[derive(Debug)]
pub(super) struct Orders {
    /// The operation whose answer is awaited, or that comes next.
    number: u32,
    /// Of the order that is on its way.
    answer: Option<Answer>,
}

/// What the target said to an order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) number: u32,
    /// Why it refuses, if so.
    pub(super) refused: Option<String>,
    /// The next order can go the same way.
    pub(super) keeps_connection: bool,
}

impl Orders {
    pub(super) const fn new() -> Self {
        Self { number: 0, answer: None }
    }

    /// The operation to start next, of so many; nothing where all were answered.
    pub(super) fn next(&mut self, subscriptions: u32) -> Option<u32> {
        (self.number < subscriptions).then(|| {
            self.answer = Some(Answer::new());
            self.number
        })
    }

    /// So many were.
    pub(super) const fn answered(&self) -> u32 {
        self.number
    }

    pub(super) const fn is_awaiting(&self) -> bool {
        self.answer.is_some()
    }

    /// Takes what was read: nothing where the answer is not whole yet, or nothing was asked.
    pub(super) fn take(&mut self, bytes: &[u8], memo: &mut HeadMemo) -> Result<Option<Answered>, String> {
        let Some(awaited) = &mut self.answer else { return Ok(None) };
        let fed = awaited.scanner.feed(bytes, &mut awaited.sink, memo);
        let Some(found) = fed.map_err(|fault| fault.to_string())? else { return Ok(None) };
        let body = awaited.sink.answer(found.status).body;
        let refused = (found.status != 202).then(|| status(found.status, body));
        let number = self.number;
        (self.number, self.answer) = (number + 1, None);
        Ok(Some(Answered { number, refused, keeps_connection: found.keeps_connection }))
    }
}

/// The token in the answer to a reservation.
pub(super) fn read_token(found: u16, body: &[u8]) -> Result<Box<str>, String> {
    if found != 201 {
        return Err(format!("no stream is reserved: {}", status(found, body)));
    }
    let token = str::from_utf8(body).unwrap_or_default().trim();
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err(format!("`{}` is no token of a stream", String::from_utf8_lossy(cut(body))));
    }
    Ok(token.into())
}

fn status(status: u16, body: &[u8]) -> String {
    format!("status {status} {}", String::from_utf8_lossy(cut(body))).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_of_visible_text() {
        assert_eq!(read_token(201, b"abc-1\n").as_deref(), Ok("abc-1"));
        for body in [&b""[..], b"a b", b"a\r\nX-Other: 1", "é".as_bytes(), &[b'a'; TOKEN_BYTES_MAX + 1]] {
            read_token(201, body).unwrap_err();
        }
        assert_eq!(read_token(200, b"abc"), Err("no stream is reserved: status 200 abc".to_owned()));
        assert_eq!(read_token(405, b""), Err("no stream is reserved: status 405".to_owned()));
    }

    #[test]
    fn operations_are_started_in_turn_whatever_the_pieces_of_answers() {
        let bytes = b"HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n";
        let (mut orders, mut memo) = (Orders::new(), HeadMemo::default());
        assert_eq!(orders.take(b"HTTP/1.1 408 idle\r\n\r\n", &mut memo), Ok(None), "of no order");
        assert_eq!(orders.next(2), Some(0));
        for (at, byte) in bytes.iter().enumerate() {
            let answered = orders.take(&[*byte], &mut memo).unwrap();
            assert_eq!(answered.is_some(), at + 1 == bytes.len());
        }
        assert!(!orders.is_awaiting());
        assert_eq!(orders.next(2), Some(1));
        let refusal = b"HTTP/1.1 400 B\r\nConnection: close\r\nContent-Length: 6\r\n\r\nno way";
        let refused = Some("status 400 no way".to_owned());
        let answered = Answered { number: 1, refused, keeps_connection: false };
        assert_eq!(orders.take(refusal, &mut memo), Ok(Some(answered)));
        assert_eq!(orders.next(2), None);
    }
}
