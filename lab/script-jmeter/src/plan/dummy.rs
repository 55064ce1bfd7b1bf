//! What a Dummy Sampler's sample is made of.

use crate::text::Text;

/// Of a plug-in: a sample that is what is written here.
#[derive(Debug)]
pub(crate) struct DummySampler {
    /// Its time passes.
    pub(crate) waits: bool,
    /// `true` or not.
    pub(crate) is_success: Text,
    pub(crate) code: Text,
    pub(crate) message: Text,
    pub(crate) request: Text,
    pub(crate) response: Text,
    pub(crate) time_ms: Text,
    pub(crate) latency_ms: Text,
    pub(crate) connect_ms: Text,
    pub(crate) url: Text,
}
