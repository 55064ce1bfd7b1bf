//! Work that would hold up a core, done beside it.

use std::panic::resume_unwind;

use tokio::runtime::Handle;

/// Does work on a thread for what takes long, and here where the host's runtime has no such threads. Dropping the future leaves the work
/// to its end.
pub(crate) async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match Handle::try_current() {
        Ok(runtime) => {
            let done = runtime.spawn_blocking(work).await;
            done.unwrap_or_else(|error| resume_unwind(error.into_panic()))
        }
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn it_is_another_thread_where_there_is_one() {
        let here = thread::current().id();
        let of_work = || thread::current().id();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_ne!(runtime.block_on(offload(of_work)), here);
        assert_eq!(offload(of_work).now_or_never(), Some(here));
    }
}
