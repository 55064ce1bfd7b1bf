//! A response whose body is read as it comes, for subscriptions that stay open.

use bytes::BytesMut;
use prony_source::ContentCoding;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    chunked::{DecodeError, Decoder},
    connection::READ_BYTES,
    error::SendErrorKind,
    head::{self, BodyEnd, ResponseHead},
    transport::Transport,
};

#[derive(Debug)]
pub(crate) struct OpenResponse {
    transport: Transport,
    /// As it came, before its chunks are joined.
    input: BytesMut,
    body: Body,
    /// It is one result, and no stream of events.
    pub(crate) is_json: bool,
}

#[derive(Debug)]
enum Body {
    Chunked(Decoder),
    /// So many bytes are still to come.
    Length(usize),
    Close,
    Ended,
}

impl OpenResponse {
    /// Sends a request, and reads the head of its response, which must be a success, or a result that says why it is none.
    pub(crate) async fn open(mut transport: Transport, request: &[u8]) -> Result<Self, SendErrorKind> {
        transport.write_all(request).await.map_err(SendErrorKind::Broken)?;
        transport.flush().await.map_err(SendErrorKind::Broken)?;
        let mut input = BytesMut::new();
        let head = loop {
            if transport.read_buf(&mut input).await.map_err(SendErrorKind::Broken)? == 0 {
                return Err(SendErrorKind::Closed);
            }
            if let Some(head) = final_head(&mut input)? {
                break head;
            }
        };
        // With other credentials, or later, it may be let in: it is asked again, there or elsewhere.
        let is_for_now = matches!(head.status, 401 | 408 | 425 | 429);
        let is_result = head.is_json && !is_for_now && matches!(head.status, 200 | 400..=499);
        if !is_result && (head.status != 200 || head.is_json) {
            return Err(SendErrorKind::NoEvents { status: head.status });
        }
        if head.coding != ContentCoding::Identity {
            return Err(SendErrorKind::Protocol("its events have a Content-Encoding".to_owned()));
        }
        let _ = input.split_to(head.bytes);
        let body = match head.body {
            BodyEnd::Chunked => Body::Chunked(Decoder::new()),
            BodyEnd::Length(length) => Body::Length(length),
            BodyEnd::Close => Body::Close,
        };
        Ok(Self { transport, input, body, is_json: head.is_json })
    }

    /// Waits for more of the body; false where it has ended.
    pub(crate) async fn read(
        &mut self,
        output: &mut BytesMut,
        max_bytes: usize,
    ) -> Result<bool, SendErrorKind> {
        loop {
            let before = output.len();
            match &mut self.body {
                Body::Ended => return Ok(false),
                Body::Chunked(decoder) => match decoder.decode(&mut self.input, output, max_bytes) {
                    Ok(true) => self.body = Body::Ended,
                    Ok(false) => {}
                    Err(DecodeError::TooLarge) => return Err(SendErrorKind::TooLarge { max_bytes }),
                    Err(DecodeError::Broken(what)) => return Err(SendErrorKind::Protocol(what.to_owned())),
                },
                Body::Length(left) => {
                    let piece = self.input.split_to(self.input.len().min(*left));
                    *left -= piece.len();
                    output.extend_from_slice(&piece);
                    if *left == 0 {
                        self.body = Body::Ended;
                    }
                }
                Body::Close => output.extend_from_slice(&self.input.split()),
            }
            if output.len() > before {
                return Ok(true);
            }
            if matches!(self.body, Body::Ended) {
                return Ok(false);
            }
            if before > 0 {
                // In the middle of something more comes at once; who waits for an event needs little.
                self.input.reserve(READ_BYTES);
            }
            if self.transport.read_buf(&mut self.input).await.map_err(SendErrorKind::Broken)? == 0 {
                return if matches!(self.body, Body::Close) { Ok(false) } else { Err(SendErrorKind::Closed) };
            }
        }
    }
}

/// The head of the response that counts, once it has come, without interim ones before it (RFC 9110, section 15.2).
fn final_head(input: &mut BytesMut) -> Result<Option<ResponseHead>, SendErrorKind> {
    while let Some(head) = head::parse(input).map_err(SendErrorKind::Protocol)? {
        if head.status >= 200 || head.status == 101 {
            return Ok(Some(head));
        }
        let _ = input.split_to(head.bytes);
    }
    Ok(None)
}
