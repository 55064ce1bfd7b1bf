//! Whether what a response was made of has changed since. Sources that know what their answers depend on say so; of the others,
//! any mutation by this server counts as a change.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prony_graphql::schema::SourceId;
use prony_source::DataVersion;

/// How many mutations each source has had from this server.
#[derive(Debug)]
pub(crate) struct Mutations(Box<[AtomicU64]>);

impl Mutations {
    pub(crate) fn new(sources: usize) -> Self {
        Self(std::iter::repeat_with(AtomicU64::default).take(sources).collect())
    }

    /// Counts a mutation of a source when what is returned is dropped: before the client has the response, and also where it has
    /// gone, as some of the mutation may be done.
    pub(in crate::graphql) fn counted_at_end(&self, source: SourceId) -> impl Drop {
        /// Counts when it is dropped.
        struct CountedAtEnd<'m>(&'m Mutations, SourceId);

        impl Drop for CountedAtEnd<'_> {
            fn drop(&mut self) {
                self.0.count(self.1);
            }
        }

        CountedAtEnd(self, source)
    }

    /// Before the client has the response.
    pub(in crate::graphql) fn count(&self, source: SourceId) {
        if let Some(count) = self.0.get(usize::from(source.0)) {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn of(&self, source: SourceId) -> u64 {
        self.0.get(usize::from(source.0)).map_or(0, |count| count.load(Ordering::Acquire))
    }
}

/// What the response to a query depends on; shared by all cores.
#[derive(Debug)]
pub(crate) struct Versions {
    known: Box<[Arc<dyn DataVersion>]>,
    /// Sources that do not know.
    others: Box<[SourceId]>,
    mutations: Arc<Mutations>,
}

impl Versions {
    /// Of what sources say their answers depend on, and of sources that say nothing. Changes are counted from now on.
    pub(super) fn new(
        known: Vec<Arc<dyn DataVersion>>,
        others: Vec<SourceId>,
        mutations: Arc<Mutations>,
    ) -> Self {
        Self { known: known.into(), others: others.into(), mutations }
    }

    #[cfg(test)]
    pub(super) fn of_nothing() -> Self {
        Self { known: Box::default(), others: Box::default(), mutations: Arc::new(Mutations::new(0)) }
    }

    /// Another number than before once something has changed: each part of it only grows.
    pub(super) fn current(&self) -> u64 {
        let known = self.known.iter().map(|version| version.current());
        let others = self.others.iter().map(|source| self.mutations.of(*source));
        known.chain(others).fold(0, u64::wrapping_add)
    }
}
