//! What subscribers read of HTTP responses: whether a stream of events begins, the token of one that was reserved, and why
//! something was refused.

/// Of a reason that the target gives, so much is kept.
const REASON_BYTES_MAX: usize = 120;
/// A longer one is no token: it has to fit into a header of every request.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// Or says why no stream of events begins.
pub(super) fn check_stream(status: u16, content_type: &str) -> Result<(), String> {
    if status != 200 {
        return Err(format!("status {status}"));
    }
    if !content_type.to_ascii_lowercase().starts_with("text/event-stream") {
        return Err(format!("the answer is no stream of events, but `{content_type}`"));
    }
    Ok(())
}

/// The token in the response to a reservation.
pub(super) fn read_token(found: u16, body: &[u8]) -> Result<Box<str>, String> {
    if found != 201 {
        return Err(format!("no stream is reserved: {}", refusal(found, body)));
    }
    let token = str::from_utf8(body).unwrap_or_default().trim();
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err(format!("`{}` is no token of a stream", String::from_utf8_lossy(cut(body))));
    }
    Ok(token.into())
}

/// A status, and what the target says about it.
pub(super) fn refusal(status: u16, body: &[u8]) -> String {
    format!("status {status} {}", String::from_utf8_lossy(cut(body))).trim_end().to_owned()
}

/// As much of a target's text as a reason holds.
pub(super) fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(REASON_BYTES_MAX)]
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
}
