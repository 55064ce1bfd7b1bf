//! Memory goes back to the system when many connections have ended. What a connection used stands free in the heap then, and
//! the C library keeps most of it for later.

use std::{cell::Cell, time::Duration};

use super::core::CoreThread;
use crate::memory::give_back;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_secs(5);
/// Fewer connections, at some ten kB each, are not worth the walk over the heap.
const CONNECTIONS_MIN: usize = 64;

/// The most connections at once since memory was last given back.
#[derive(Debug, Default)]
pub(super) struct Crowd(Cell<usize>);

impl Crowd {
    pub(super) fn note(&self, open: usize) {
        self.0.set(self.0.get().max(open));
    }

    /// Gives memory back whenever half of the connections have ended, as long as it is polled.
    pub(super) async fn watch(&self, cores: &[CoreThread]) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            if self.has_gone(cores.iter().map(|core| core.load.open_connections()).sum()) {
                // Nobody waits for it.
                drop(tokio::task::spawn_blocking(give_back));
            }
        }
    }

    fn has_gone(&self, open: usize) -> bool {
        let most = self.0.get();
        let has_gone = open <= most / 2 && most - open >= CONNECTIONS_MIN;
        if has_gone {
            self.0.set(open);
        }
        has_gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_has_gone_when_half_of_it_has() {
        let crowd = Crowd::default();
        let mut gone = Vec::new();
        for open in [0, 63, 0, 1000, 501, 500, 400, 900, 899, 450, 10, 0, 3000, 0] {
            crowd.note(open);
            if crowd.has_gone(open) {
                gone.push(open);
            }
        }
        assert_eq!(gone, [500, 450, 10, 0]);
    }
}
