//! Requests that cannot be made.

use std::sync::Arc;

/// Why no request can be made, as JMeter names it: the class of its exception and the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFault {
    pub(crate) class: &'static str,
    pub(crate) message: String,
    pub(crate) url_text: Option<Arc<str>>,
}

impl RequestFault {
    /// Of a request whose URL is known.
    pub(crate) fn of(self, url_text: &Arc<str>) -> Self {
        Self { url_text: Some(Arc::clone(url_text)), ..self }
    }

    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), url_text: None }
    }
}
