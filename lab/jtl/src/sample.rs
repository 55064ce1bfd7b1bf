//! One row of a file: a sample as JMeter knows it.

use std::borrow::Cow;

/// In the order of JMeter's 17 columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample<'a> {
    /// Of its start, since 1970.
    pub timestamp_ms: i64,
    pub elapsed_ms: u64,
    pub label: Cow<'a, str>,
    /// A status, or `Non HTTP response code: …`.
    pub response_code: Cow<'a, str>,
    pub response_message: Cow<'a, str>,
    pub thread_name: Cow<'a, str>,
    /// `text`, `bin`, or empty.
    pub data_type: Cow<'a, str>,
    pub is_success: bool,
    pub failure_message: Cow<'a, str>,
    pub bytes: u64,
    pub sent_bytes: u64,
    pub group_threads: u32,
    pub all_threads: u32,
    /// None of a transaction.
    pub url: Option<Cow<'a, str>>,
    pub latency_ms: u64,
    pub idle_ms: u64,
    pub connect_ms: u64,
}

/// The names of the columns as JMeter's first line has them.
pub(crate) const COLUMNS: [&str; 17] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "URL",
    "Latency",
    "IdleTime",
    "Connect",
];

/// What stands for the label of samples in files without labels.
pub(crate) const NO_LABEL: &str = "(no label)";

/// How the message of a transaction begins.
const TRANSACTION: &str = "Number of samples in transaction";
/// How it begins where nothing was sampled in it.
const EMPTY_TRANSACTION: &str = "Number of samples in transaction : 0";

impl Sample<'_> {
    /// When it ended, since 1970.
    pub fn end_ms(&self) -> i64 {
        self.timestamp_ms.saturating_add(i64::try_from(self.elapsed_ms).unwrap_or(0))
    }

    /// One that sums up others: JMeter leaves it out of totals.
    pub fn is_transaction(&self) -> bool {
        self.response_message.starts_with(TRANSACTION)
    }

    /// One in which nothing was sampled: JMeter leaves it out of all figures.
    pub(crate) fn is_empty_transaction(&self) -> bool {
        self.response_message.starts_with(EMPTY_TRANSACTION)
    }
}
