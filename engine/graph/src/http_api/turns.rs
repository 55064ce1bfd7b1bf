//! Long calls of one core take turns. However many there are, one block of lines is written, or one slice of what is looked for is found,
//! between two looks at what else the core has to do: with one for each of them, the others would wait for all.

use std::sync::Arc;

use tokio::sync::Semaphore;

thread_local! {
    static TURNS: Arc<Semaphore> = Arc::new(Semaphore::new(1));
}

/// Waits for the turn of this call, and then until all else that the core has to do was done once. What is done then is to be done without
/// waiting for anything.
pub(super) async fn next() {
    let turn = TURNS.with(Arc::clone).acquire_owned().await.expect("turns are never closed");
    tokio::task::yield_now().await;
    drop(turn);
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
        let local = LocalSet::new();
        for body in ['a', 'b', 'c'] {
            let order = Rc::clone(&order);
            local.spawn_local(async move {
                for _ in 0..4 {
                    next().await;
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
