//! What an upstream says of a subscription, whatever carries it.

/// Headers of the client that are forwarded.
pub(super) type Headers = Vec<(Box<str>, Box<[u8]>)>;

/// What an upstream says of a subscription.
#[derive(Debug)]
pub(super) enum Message {
    /// A response, as JSON.
    Next(Vec<u8>),
    /// A list of errors, as JSON, after which nothing comes.
    Errors(Vec<u8>),
    Complete,
}
