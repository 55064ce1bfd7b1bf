//! What a user does after a sample that failed, or behind one of which a script says so.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OnError {
    #[default]
    Continue,
    StartNextLoop,
    StopThread,
    StopTest,
    StopTestNow,
}
