//! The operations of a stream in single connection mode (graphql-sse, PROTOCOL.md), which are started beside it: one after the
//! other, each with a response of its own. Knows neither sockets nor clocks.

use super::response::refusal;

/// The operations of one stream, which are started in turn.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// The operation whose response is awaited, or that comes next.
    number: u32,
}

/// What the target said about an operation that was to be started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) number: u32,
    /// Why it refuses, if so.
    pub(super) refused: Option<String>,
}

impl Orders {
    /// The operation to start next, of so many; nothing where all were answered.
    pub(super) fn next(&self, subscriptions: u32) -> Option<u32> {
        (self.number < subscriptions).then_some(self.number)
    }

    /// How many operations were answered.
    pub(super) const fn answered(&self) -> u32 {
        self.number
    }

    /// Takes the response to the operation that was started last.
    pub(super) fn take(&mut self, status: u16, body: &[u8]) -> Answered {
        let refused = (status != 202).then(|| refusal(status, body));
        let number = self.number;
        self.number += 1;
        Answered { number, refused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_started_in_turn() {
        let mut orders = Orders::default();
        assert_eq!(orders.next(2), Some(0));
        assert_eq!(orders.take(202, b""), Answered { number: 0, refused: None });
        assert_eq!((orders.next(2), orders.answered()), (Some(1), 1));
        let refused = Some("status 400 no way".to_owned());
        assert_eq!(orders.take(400, b"no way"), Answered { number: 1, refused });
        assert_eq!(orders.next(2), None);
    }
}
