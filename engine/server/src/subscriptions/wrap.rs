//! What goes around a result on its way to one client. The result itself is shared by all.

use bytes::Bytes;

/// The bytes before and after; the same for all results of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrap {
    pub(crate) before: Bytes,
    pub(crate) after: &'static [u8],
}

impl Wrap {
    /// The whole message.
    pub(crate) fn around(&self, payload: &[u8]) -> Bytes {
        let mut whole = Vec::with_capacity(self.before.len() + payload.len() + self.after.len());
        whole.extend_from_slice(&self.before);
        whole.extend_from_slice(payload);
        whole.extend_from_slice(self.after);
        whole.into()
    }
}
