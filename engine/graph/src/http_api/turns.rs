//! Long calls of one core take turns: one block of lines is written, or one slice of what is looked for is found, at a time.

use prony_source::turns::Turns;

thread_local! {
    static TURNS: Turns = Turns::default();
}

/// Waits for the turn of this call. What is done then is to be done without waiting for anything.
pub(super) async fn next() {
    TURNS.with(Turns::clone).next().await;
}
