//! How values are written into the texts of requests: each place allows other characters.

/// How a slot's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// In a header: control characters, which would end it, become spaces.
    Header,
    /// In a request target: bytes that cannot stand in a URI are percent-encoded, `/ ? & =` stay.
    Target,
    /// As a JSON value of its own type: numbers bare, texts quoted.
    Json,
    /// Within a JSON string: escaped, without quotes.
    JsonText,
}
