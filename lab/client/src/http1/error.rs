//! What makes bytes no HTTP/1.1 answer, and how much of one is read.

/// A head longer than this is no answer that a load test wants; servers and proxies stop at 8 to 64 KiB.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// A chunk's size line with its extensions, and all trailers together.
pub(super) const CHUNK_LINE_BYTES_MAX: usize = 16 * 1024;

/// What makes the bytes no HTTP answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScanError {
    #[error("not an HTTP/1 status line")]
    StatusLine,
    #[error("a header line without a colon")]
    HeaderLine,
    #[error("contradicting or unreadable Content-Length")]
    ContentLength,
    #[error("a broken chunk")]
    Chunk,
    #[error("more than {HEAD_BYTES_MAX} bytes of head, or {CHUNK_LINE_BYTES_MAX} of a chunk's line")]
    TooLong,
    #[error("an upgrade that nobody asked for, or too many interim answers")]
    Interim,
    #[error("the connection ended within an answer")]
    Truncated,
}
