//! Work of one kind takes turns on a core. However much of it there is, one piece is done between two looks at what else the core has to do:
//! with one piece for each that waits, the others would wait for all.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// The turns of one kind of work on one core: to be kept in a thread-local.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Turns {
    /// Waits for the turn of this piece of work, and then until all else that the core has to do was done once. What is done then is to be
    /// done without waiting for anything.
    ///
    /// # Panics
    /// Never: turns are not closed.
    pub async fn next(&self) {
        let turn = self.0.acquire().await.expect("turns are never closed");
        tokio::task::yield_now().await;
        drop(turn);
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use tokio::task::LocalSet;

    use super::*;

    /// Three bodies with four blocks each, beside a connection that is ready again after each of its answers.
    #[test]
    fn others_have_their_turn_after_each_block_of_whichever_body() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let order = Rc::new(RefCell::new(String::new()));
        let (local, turns) = (LocalSet::new(), Turns::default());
        for body in ['a', 'b', 'c'] {
            let (order, turns) = (Rc::clone(&order), turns.clone());
            local.spawn_local(async move {
                for _ in 0..4 {
                    turns.next().await;
                    order.borrow_mut().push(body);
                }
            });
        }
        let other = Rc::clone(&order);
        local.spawn_local(async move {
            for _ in 0..40 {
                other.borrow_mut().push('.');
                tokio::task::yield_now().await;
            }
        });
        runtime.block_on(local);
        let order = order.borrow();
        let blocks: String = order.chars().filter(|&mark| mark != '.').collect();
        assert_eq!(blocks, "abcabcabcabc", "bodies take turns: {order}");
        let is_before_last = |at: &usize| order[*at..].contains('.');
        for at in (0..order.len()).filter(is_before_last) {
            let marks = |wanted: bool| order[..at].chars().filter(|&mark| (mark == '.') == wanted).count();
            assert!(marks(false) <= marks(true) + 1, "a block for each turn of the others: {order}");
        }
    }
}
