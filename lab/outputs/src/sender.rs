//! What a kind of output is for the thread that drives it.

use crate::second::Second;
use std::fmt;
use std::time::Duration;

/// How long one request to an output may take.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// A kind of output. Its thread alone calls it; it may wait up to [`SEND_TIMEOUT`].
pub(crate) trait Sender: Send + fmt::Debug {
    fn send(&mut self, second: &Second) -> Result<(), String>;
}
