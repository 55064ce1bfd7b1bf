//! A last word to a client that is not served.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::http::date;

/// How long a refused client may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Has a client that is not served read why, within a moment.
pub(super) async fn respond_and_close(mut socket: TcpStream, response: &[u8]) {
    let respond = async {
        socket.write_all(&dated(response)).await?;
        socket.shutdown().await?;
        // Closing with unread bytes would reset the connection before the client has read the response.
        let mut rest = [0; 4096];
        while socket.read(&mut rest).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = tokio::time::timeout(REFUSAL_TIME, respond).await;
}

/// The response with the time of its making (RFC 9110, section 6.6.1), behind its first line.
fn dated(response: &[u8]) -> Vec<u8> {
    let (first, rest) = response.split_at(memchr::memchr(b'\n', response).map_or(0, |end| end + 1));
    let mut dated = first.to_vec();
    dated.extend_from_slice(b"date: ");
    date::write(&mut dated);
    dated.extend_from_slice(b"\r\n");
    dated.extend_from_slice(rest);
    dated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_date_among_its_fields() {
        let text = String::from_utf8(dated(b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\n\r\n{}"));
        let text = text.expect("it is text");
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(lines[0], "HTTP/1.1 429 Too Many Requests");
        assert!(lines[1].starts_with("date: ") && lines[1].ends_with(" GMT"), "{text}");
        assert_eq!(lines[2..], ["retry-after: 1", "", "{}"]);
    }
}
