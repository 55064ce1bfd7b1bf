//! What is derived from the sources at one moment: the schema, the caches of operations and plans, and what the console
//! says of it. It is replaced as one thing when what a source offers changes; a request uses one of them to its end.

use std::sync::Arc;

use bytes::Bytes;
use prony_graphql::{
    cache::Cache,
    schema::{Contribution, Schema, SchemaFault, SourceId},
};
use prony_source::{ReservedNames, Source, SourceSchema};
use serde::Serialize;

use super::plan::Plan;

/// An open source under its name.
#[derive(Debug)]
pub(crate) struct NamedSource {
    pub(crate) name: String,
    pub(crate) source: Arc<dyn Source>,
    /// Without a password, for the log.
    pub(super) address: String,
}

#[derive(Debug)]
pub(crate) struct Served {
    /// Counts from 0, the one of the start.
    pub(super) generation: u64,
    pub(crate) schema: Schema,
    /// By [`SourceId`].
    pub(crate) sources: Vec<Arc<dyn SourceSchema>>,
    pub(crate) cache: Cache<Plan>,
    /// What the console shows beside the editor, as JSON.
    pub(crate) description: Bytes,
}

impl Served {
    /// Asks the sources what they offer and merges it.
    pub(super) fn make(
        generation: u64,
        sources: &[NamedSource],
        cache_bytes: usize,
    ) -> Result<Self, Vec<SchemaFault>> {
        let (schemas, contributions) = offered(sources);
        let schema = Schema::merge(contributions)?;
        let description = describe(sources, &schemas);
        // Documents are small beside plans with their statements, but there are as many.
        let half = cache_bytes / 2;
        Ok(Self { generation, schema, sources: schemas, cache: Cache::new(half, half), description })
    }
}

type Contributions = Vec<(SourceId, Contribution)>;

/// What each source offers, and contributes to the schema. Those that give way are asked last, so that no client who may
/// make types can take a name from a table.
fn offered(sources: &[NamedSource]) -> (Vec<Arc<dyn SourceSchema>>, Contributions) {
    let mut reserved = ReservedNames::default();
    let mut offered = Vec::with_capacity(sources.len());
    for is_firm in [true, false] {
        for (index, NamedSource { source, .. }) in sources.iter().enumerate() {
            if source.yields_names() != is_firm {
                let schema = source.schema(&reserved);
                let contribution = schema.contribution();
                reserved.add(&contribution);
                offered.push((index, schema, contribution));
            }
        }
    }
    offered.sort_unstable_by_key(|(index, ..)| *index);
    offered
        .into_iter()
        .map(|(index, schema, contribution)| (schema, (SourceId(index as u16), contribution)))
        .unzip()
}

#[derive(Debug, Serialize)]
struct Description<'a> {
    version: &'static str,
    sources: Vec<SourceDescription<'a>>,
    /// A query that works on what is served.
    example: String,
}

#[derive(Debug, Serialize)]
struct SourceDescription<'a> {
    name: &'a str,
    database: &'static str,
    /// How much there is.
    contents: String,
}

fn describe(sources: &[NamedSource], schemas: &[Arc<dyn SourceSchema>]) -> Bytes {
    let described = sources.iter().zip(schemas).map(|(source, schema)| SourceDescription {
        name: &source.name,
        database: source.source.product(),
        contents: schema.contents(),
    });
    let example = schemas.first().and_then(|schema| schema.example());
    let description = Description {
        version: env!("CARGO_PKG_VERSION"),
        sources: described.collect(),
        example: example.unwrap_or_else(|| "{ __typename }".to_owned()),
    };
    serde_json::to_vec(&description).expect("plain texts are JSON").into()
}
