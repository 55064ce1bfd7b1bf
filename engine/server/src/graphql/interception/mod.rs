//! Interceptors around the execution of an operation: `before` of the tables whose rows its fields read or write, which may change
//! arguments or refuse, and `after`, which may change results. Operations on tables without interceptors know nothing of this:
//! their plan has no [`Interception`].

mod after;
mod before;
mod calls;
mod fields;
mod index;
mod rows;
mod subscription;

pub(super) use self::{after::ExecutedOperation, before::InterceptedOperation};
pub(crate) use self::{
    fields::Interception,
    index::{InterceptorIndex, bypassed_interceptors, interceptor_faults},
    subscription::events,
};
