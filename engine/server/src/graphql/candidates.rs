//! What is served next: what all sources offer now where that makes a schema to which roles, interceptors and joins fit; of a source with
//! which it does not, what was served of it before.

use std::{ptr::addr_eq, sync::Arc};

use prony_access::AccessSettings;
use prony_graphql::schema::SchemaFault;

use super::{
    contributions::NamedSource,
    interception::interceptor_faults,
    merging::joined,
    served::{Served, described, role_faults},
};
use crate::joins::JoinSettings;

/// What is chosen from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates<'a> {
    pub(super) generation: u64,
    pub(super) sources: &'a [NamedSource],
    pub(super) joins: &'a [JoinSettings],
    pub(super) before: &'a Served,
    pub(super) access: &'a AccessSettings,
    pub(super) cache_bytes: usize,
}

impl Candidates<'_> {
    /// # Errors
    /// There is no schema even where what was served before is served on of each source that may be refused.
    pub(super) fn choose(&self) -> Result<Served, Vec<SchemaFault>> {
        let nobody = vec![None; self.sources.len()];
        if let Ok(served) = self.fitting(&nobody) {
            return Ok(served);
        }
        let refusable: Vec<usize> =
            (0..self.sources.len()).filter(|index| self.before.sources[*index].may_be_refused()).collect();
        let mut held = nobody;
        for &index in &refusable {
            held[index] = Some(String::new());
        }
        // Whether there is one at all.
        self.make(&held)?;
        for &index in &refusable {
            held[index] = None;
            if let Err(faults) = self.fitting(&held) {
                held[index] = Some(faults);
            }
        }
        self.make(&held)
    }

    fn make(&self, held: &[Option<String>]) -> Result<Served, Vec<SchemaFault>> {
        Served::make(self.generation, self.sources, self.joins, Some(self.before), held, self.cache_bytes)
    }

    /// # Errors
    /// What does not fit, in words.
    fn fitting(&self, held: &[Option<String>]) -> Result<Served, String> {
        let served = self.make(held).map_err(|faults| joined(&faults, self.sources))?;
        let faults = self.faults(&served);
        if faults.is_empty() { Ok(served) } else { Err(faults.join("; ")) }
    }

    /// What does not fit sources that come with something else.
    fn faults(&self, served: &Served) -> Vec<String> {
        let is_other = |index: &usize| {
            let (now, before) = (&served.sources[*index], &self.before.sources[*index]);
            now.may_be_refused() && !addr_eq(Arc::as_ptr(now), Arc::as_ptr(before))
        };
        let others: Vec<usize> = (0..self.sources.len()).filter(is_other).collect();
        if others.is_empty() {
            return Vec::new();
        }
        let mut faults = Vec::new();
        for role in &self.access.roles {
            let of_others = role_faults(served, self.sources, role)
                .into_iter()
                .filter(|found| others.iter().any(|index| self.sources[*index].name == found.source));
            faults.extend(of_others.map(|found| described(self.sources, role, &found)));
        }
        let names: Vec<&str> = self.sources.iter().map(|source| &*source.name).collect();
        let mut schemas = self.before.sources.clone();
        let known = interceptor_faults(self.access, &names, &schemas);
        for index in others {
            schemas[index] = Arc::clone(&served.sources[index]);
        }
        let of_interceptors = interceptor_faults(self.access, &names, &schemas);
        faults.extend(of_interceptors.into_iter().filter(|fault| !known.contains(fault)));
        let of_joins = served.join_faults.iter().filter(|fault| !self.before.join_faults.contains(fault));
        faults.extend(of_joins.cloned());
        faults
    }
}
