//! How far a run is, told each second to whoever shows it.

use super::SecondRow;
use crate::subscription::figures::SubscriberRow;
use crate::units::Nanos;
use crate::verdict::finding::FindingKind;

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub elapsed: Nanos,
    /// How long requests are started for; answers may come later.
    pub duration: Nanos,
    /// The second that has just passed.
    pub last: SecondRow,
    /// The same second of its subscribers, where the plan has any.
    pub subscribers: Option<SubscriberRow>,
    /// Starts that the open models asked for in that second; `None` where none is open.
    pub asked_per_s: Option<f64>,
    pub requests: u64,
    pub failures: u64,
    /// Starts of open models so far that waited for a free user, and that none became free for in time.
    pub waited: u64,
    pub dropped: u64,
    /// The same by the plan's scenarios.
    pub dropped_of: Vec<u64>,
    /// Findings so far that more time will not heal; known from when the result is first written.
    pub findings: Vec<FindingKind>,
    /// Something that the user should know at once, such as a result file that cannot be written.
    pub warning: Option<String>,
    /// The run is over; no more progress follows.
    pub is_last: bool,
}
