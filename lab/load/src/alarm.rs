//! What the alarms of a thread of users are for.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// The user goes on: with an iteration, after a pause, or after a failure.
    Act,
    /// At most one a user is set; where the user's deadline has moved on, it is set again.
    Timeout,
    /// The time for which a program wants its user to wait is over.
    Wake,
    /// An iteration of a script may have no more time.
    Interrupt,
    /// Of a call, by its place: a deadline.
    Call,
    /// Of a WebSocket, by its connection's place: its peer should have closed.
    Close,
}
