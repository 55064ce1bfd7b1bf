//! What is served next: what all sources offer now where that makes a schema to which roles, interceptors and joins fit; of a source with
//! which it does not, what was served of it before.

use std::{ptr::addr_eq, sync::Arc};

use prony_access::AccessSettings;
use prony_graphql::schema::SchemaFault;
use prony_source::SourceSchema;

use super::{
    contributions::NamedSource,
    interception::interceptor_faults,
    merging::{MergeInputs, joined},
    served::{Served, described, role_faults},
};
use crate::joins::JoinSettings;

/// What is chosen from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates<'a> {
    pub(super) generation: u64,
    pub(super) sources: &'a [NamedSource],
    pub(super) joins: &'a Arc<[JoinSettings]>,
    /// By [`SourceId`](prony_graphql::schema::SourceId): what is served of it whatever it offers now; empty where that is so of none.
    pub(super) given: &'a [Option<Arc<dyn SourceSchema>>],
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
        let Self { sources, joins, given, .. } = *self;
        let inputs = MergeInputs { sources, joins, before: &self.before.sources, held, given };
        Served::make(self.generation, inputs, self.cache_bytes)
    }

    /// What is served where everything that is given is: of sources that are refused now, what was served before goes on where what they
    /// offer does not fit. `faults_of` says what does not fit.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub(super) fn choose_given(&self, faults_of: impl Fn(&Served) -> Vec<String>) -> Result<Served, String> {
        let fitting = |held: &[Option<String>]| {
            let served = self.make(held).map_err(|faults| joined(&faults, self.sources))?;
            let faults = faults_of(&served);
            if faults.is_empty() { Ok(served) } else { Err(faults.join("\n")) }
        };
        let is_held = |index: usize| {
            let is_given = self.given.get(index).is_some_and(Option::is_some);
            !is_given && self.before.sources[index].may_be_refused()
        };
        let mut held = vec![None; self.sources.len()];
        fitting(&held).or_else(|faults| {
            for (index, refused) in
                self.before.refused.iter().enumerate().filter(|(index, _)| is_held(*index))
            {
                held[index].clone_from(refused);
            }
            if held.iter().all(Option::is_none) { Err(faults) } else { fitting(&held) }
        })
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
