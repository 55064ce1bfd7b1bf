//! What is known of the HTTP request that a core is working at, for what is written down deep below: statements that are slow, errors
//! that are told. Nothing is kept where nobody wants it.

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use crate::trace::Trace;

thread_local! {
    static CURRENT: RefCell<Option<Rc<RequestRecord>>> = const { RefCell::new(None) };
}

/// One request.
#[derive(Debug, Default)]
pub struct RequestRecord {
    /// `X-Request-Id`; empty where requests have none.
    pub id: Box<str>,
    /// What becomes known of it on the way.
    pub operation: RefCell<Option<OperationRecord>>,
    /// Who asks, once that is known, where not everybody may do everything.
    pub asker: RefCell<Option<AskerRecord>>,
    /// Of a request that is traced.
    pub trace: Option<Trace>,
}

/// The operation of a request to GraphQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRecord {
    pub name: Option<Box<str>>,
    pub role: Option<Box<str>>,
}

/// Who has made a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskerRecord {
    /// The name of the user or key; none of one without credentials.
    pub user: Option<Arc<str>>,
    pub role: Arc<str>,
}

impl RequestRecord {
    pub fn new(id: Box<str>) -> Rc<Self> {
        Self::traced(id, None)
    }

    /// Of a request that may be traced.
    pub fn traced(id: Box<str>, trace: Option<Trace>) -> Rc<Self> {
        Rc::new(Self { id, operation: RefCell::default(), asker: RefCell::default(), trace })
    }
}

/// The request of the work that is going on in this thread, where it is recorded.
pub fn current_request() -> Option<Rc<RequestRecord>> {
    CURRENT.with_borrow(Clone::clone)
}

/// The same, where it is traced.
#[inline]
pub fn traced_request() -> Option<Rc<RequestRecord>> {
    CURRENT.with_borrow(|record| record.as_ref().filter(|record| record.trace.is_some()).cloned())
}

/// Work that goes on in a task of its own, for the request that this thread is at.
pub fn for_this_request<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let record = current_request();
    async move {
        match record {
            Some(record) => Recorded::new(record, work).await,
            None => work.await,
        }
    }
}

/// Work done for a request, until this is dropped.
#[derive(Debug)]
pub struct Entered(Option<Rc<RequestRecord>>);

/// What this thread does from now on is done for a request.
pub fn enter_request(record: &Rc<RequestRecord>) -> Entered {
    Entered(CURRENT.replace(Some(Rc::clone(record))))
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A future whose work is done for a request, to its end or until it is dropped.
#[derive(Debug)]
pub struct Recorded<F> {
    record: Rc<RequestRecord>,
    /// None once it is dropped.
    work: Option<Pin<Box<F>>>,
}

impl<F> Recorded<F> {
    pub fn new(record: Rc<RequestRecord>, work: F) -> Self {
        Self { record, work: Some(Box::pin(work)) }
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = enter_request(&self.record);
        let work = self.work.as_mut().expect("what is polled is not dropped yet");
        work.as_mut().poll(context)
    }
}

impl<F> Drop for Recorded<F> {
    fn drop(&mut self) {
        let _entered = enter_request(&self.record);
        self.work = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> Option<String> {
        current_request().map(|record| record.id.to_string())
    }

    #[test]
    fn work_belongs_to_its_request_and_to_no_other() {
        let (one, two) = (RequestRecord::new("one".into()), RequestRecord::new("two".into()));
        assert_eq!(id(), None);
        let entered = enter_request(&one);
        {
            let _inner = enter_request(&two);
            assert_eq!(id().as_deref(), Some("two"));
        }
        assert_eq!(id().as_deref(), Some("one"));
        drop(entered);
        let mut work = Box::pin(Recorded::new(
            two,
            std::future::poll_fn(|_| {
                if id().as_deref() == Some("two") { Poll::Ready(()) } else { Poll::Pending }
            }),
        ));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert_eq!(work.as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(id(), None);
    }
}
