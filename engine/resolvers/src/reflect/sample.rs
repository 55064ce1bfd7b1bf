//! Values to look at: a type that can be read is read from nothing, another takes its default, others have none.
//!
//! Which of them applies is decided where `outputs!` names the type, by the order in which Rust tries references:
//! the trait for the most of them wins.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

#[derive(Debug)]
pub struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    pub const NEW: Self = Self(PhantomData);
}

pub trait ByDeserializing<T> {
    fn sample(&self) -> Option<T>;
}

impl<T: DeserializeOwned> ByDeserializing<T> for &&Of<T> {
    fn sample(&self) -> Option<T> {
        crate::reflect::read::read().map(|(value, _)| value)
    }
}

pub trait ByDefault<T> {
    fn sample(&self) -> Option<T>;
}

impl<T: Default> ByDefault<T> for &Of<T> {
    fn sample(&self) -> Option<T> {
        Some(T::default())
    }
}

pub trait Not<T> {
    fn sample(&self) -> Option<T>;
}

impl<T> Not<T> for Of<T> {
    fn sample(&self) -> Option<T> {
        None
    }
}
