//! What a configuration that is read again would have served: of sources the tables and their names, and joins. It is made while the
//! server runs by what is served, and taken as a whole or dropped.

use std::sync::Arc;

use prony_source::{Reconfigured, SourceSchema};

use super::{
    contributions::{NamedSource, OF_PROGRAM},
    served::Served,
};
use crate::{config::SourceSettings, joins::JoinSettings};

/// What is other by a configuration.
#[derive(Debug)]
pub(crate) struct Reconfiguration {
    /// By `SourceId`; none where it goes on as it is.
    sources: Vec<Option<Box<dyn Reconfigured>>>,
    pub(super) joins: Arc<[JoinSettings]>,
}

/// What is other of these sources, which are `known`, by settings and joins; none where nothing is. A source that has come or gone counts
/// from a restart on.
///
/// # Errors
/// Settings of sources that do not fit what they have, of all sources.
pub(super) async fn reconfigured(
    known: &[NamedSource],
    settings: &[SourceSettings],
    joins: (&[JoinSettings], &[JoinSettings]),
) -> Result<Option<Reconfiguration>, String> {
    let mut faults = Vec::new();
    let mut sources = Vec::with_capacity(known.len());
    for source in known {
        let given = settings.iter().find(|given| given.name == source.name);
        let next = match given {
            Some(given) => look_again(source, given).await,
            None => Ok(None),
        };
        sources.push(next.unwrap_or_else(|fault| {
            faults.push(fault);
            None
        }));
    }
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    warn_of_others(known, settings);
    let (joins_before, joins) = joins;
    let is_same = sources.iter().all(Option::is_none) && joins_before == joins;
    Ok((!is_same).then(|| Reconfiguration { sources, joins: joins.into() }))
}

/// Says what of the sources counts from a restart on.
fn warn_of_others(known: &[NamedSource], settings: &[SourceSettings]) {
    for given in settings {
        let source = &*given.name;
        match known.iter().find(|known| known.name == given.name) {
            None => {
                tracing::warn!(
                    source,
                    "a source has come into the configuration; it is served after a restart"
                );
            }
            Some(known) if known.address != given.url.without_secrets() => {
                tracing::warn!(
                    source,
                    "the source has another address now; it is opened there after a restart"
                );
            }
            Some(_) => {}
        }
    }
    let is_gone = |known: &&NamedSource| {
        known.address != OF_PROGRAM && settings.iter().all(|given| given.name != known.name)
    };
    for known in known.iter().filter(is_gone) {
        let source = &*known.name;
        tracing::warn!(source, "a source has gone from the configuration; it is served until a restart");
    }
}

async fn look_again(
    NamedSource { name, source, is_prefixed, .. }: &NamedSource,
    given: &SourceSettings,
) -> Result<Option<Box<dyn Reconfigured>>, String> {
    let prefixed = is_prefixed.then(|| given.opener.with_name_prefix(name)).flatten();
    let opener = prefixed.as_ref().unwrap_or(&given.opener);
    source.reconfigured(opener.settings()).await.map_err(|fault| {
        let fault = given.places.located(&fault);
        let faults: Vec<String> = fault.lines().map(|fault| format!("source `{name}`: {fault}")).collect();
        faults.join("\n")
    })
}

impl Reconfiguration {
    /// By `SourceId`: what would be served of sources that do not go on as they are.
    pub(super) fn schemas(&self) -> Vec<Option<Arc<dyn SourceSchema>>> {
        self.sources.iter().map(|source| source.as_ref().map(|source| source.schema())).collect()
    }

    /// Has the sources offer it from now on.
    pub(super) fn take(self, named: &[NamedSource]) {
        for (NamedSource { name, .. }, next) in named.iter().zip(self.sources) {
            if let Some(next) = next {
                let contents = next.schema().contents();
                next.take();
                tracing::info!(source = name, contents, "the schema has changed, by the configuration");
            }
        }
    }
}

/// Joins that do not fit; those that a source keeps waiting that has not said yet what it offers, or that were left out
/// before, are no fault.
pub(super) fn join_faults(served: &Served, before: &Served) -> Vec<String> {
    if served.sources.iter().any(|source| source.is_pending()) {
        return Vec::new();
    }
    served.join_faults.iter().filter(|fault| !before.join_faults.contains(fault)).cloned().collect()
}
