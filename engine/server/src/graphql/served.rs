//! What is derived from the sources at one moment: the schema, the caches of operations and plans, and what the console
//! says of it. It is replaced as one thing when what a source offers changes; a request uses one of them to its end.

use std::{ops::Deref, rc::Rc, sync::Arc};

use prony_access::{AccessSettings, Role};
use prony_graphql::{
    cache::Cache,
    document::{Operation, limits::Limits},
    schema::{Schema, SchemaFault, SharedDefinitions},
};
use prony_source::{
    ReservedNames, SourceSchema,
    config::{Origin, suggestion},
    permissions::{PermissionFault, Permissions},
};
use serde::Serialize;

use super::{
    contributions::{Hidden, NamedSource, contributions_of},
    interception::InterceptorIndex,
    merging::{MergeInputs, Merged, merge, schema_of},
    plan::{Plan, PlanInputs},
};
use crate::joins::{JoinSettings, Joins};

#[derive(Debug)]
pub(crate) struct Served {
    /// Counts from 0, the one of the start.
    pub(super) generation: u64,
    pub(crate) schema: Schema,
    /// By [`SourceId`].
    pub(crate) sources: Vec<Arc<dyn SourceSchema>>,
    pub(crate) cache: Cache<Plan>,
    /// What is called around fields; none where nothing is.
    pub(super) interceptors: Option<Arc<InterceptorIndex>>,
    /// What the console shows beside the editor.
    pub(crate) description: Description,
    /// By [`SourceId`]: beside which names it was asked what it offers.
    reserved: Arc<[ReservedNames]>,
    pub(crate) joins: Joins,
    /// Those of the configuration by which it was made.
    pub(super) join_settings: Arc<[JoinSettings]>,
    /// Joins of the configuration that do not fit.
    pub(super) join_faults: Vec<String>,
    /// By [`SourceId`]: why what it offers now is not served, where that is so. What it offered before is, where there was something.
    pub(crate) refused: Arc<[Option<String>]>,
}

/// One core's hold on what is served: counted by the core alone, so that requests of different cores do not share a
/// counter.
#[derive(Debug, Clone)]
#[expect(
    clippy::redundant_allocation,
    reason = "the inner count is shared between cores, the outer one is not"
)]
pub(crate) struct CoreServed(Rc<Arc<Served>>);

impl CoreServed {
    pub(super) fn new(served: Arc<Served>) -> Self {
        Self(Rc::new(served))
    }

    /// For another thread.
    pub(super) fn share(&self) -> Arc<Served> {
        Arc::clone(&self.0)
    }
}

impl Deref for CoreServed {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.0
    }
}

/// A permission of a role that does not fit.
#[derive(Debug)]
pub(super) struct RoleFault {
    /// Of the source.
    pub(super) source: String,
    /// None where it is about the whole source.
    pub(super) fault: Option<PermissionFault>,
}

impl Served {
    /// Asks the sources what they offer and merges it.
    pub(super) fn make(
        generation: u64,
        inputs: MergeInputs<'_>,
        cache_bytes: usize,
    ) -> Result<Self, Vec<SchemaFault>> {
        let merged = merge(inputs)?;
        let description = describe(inputs.sources, &merged.schemas, &merged.schema);
        Ok(Self::of(generation, merged, inputs.joins, description, cache_bytes))
    }

    fn of(
        generation: u64,
        merged: Merged,
        join_settings: &Arc<[JoinSettings]>,
        description: Description,
        cache_bytes: usize,
    ) -> Self {
        let Merged { schema, schemas: sources, reserved, refused, joins, join_faults } = merged;
        // Documents are small beside plans with their statements, but there are as many.
        let half = cache_bytes / 2;
        let cache = Cache::new(half, half);
        let interceptors = None;
        Self {
            generation,
            schema,
            sources,
            cache,
            interceptors,
            description,
            reserved,
            joins,
            join_settings: Arc::clone(join_settings),
            join_faults,
            refused,
        }
    }

    /// What plans are made from.
    pub(super) fn plan_inputs<'a>(&'a self, limits: &'a Limits) -> PlanInputs<'a> {
        let Self { schema, sources, joins, interceptors, .. } = self;
        PlanInputs { schema, sources, joins, interceptors: interceptors.as_ref(), limits }
    }

    /// Has called around its fields what is configured for everybody and, where it is for one, for a role.
    pub(super) fn intercept(
        mut self,
        settings: &Arc<AccessSettings>,
        role: Option<&Role>,
        sources: &[NamedSource],
    ) -> Self {
        let names: Vec<&str> = sources.iter().map(|source| &*source.name).collect();
        self.interceptors = InterceptorIndex::new(settings, role, &names, &self.sources);
        self
    }

    /// What of this a role is served, by the same names. What does not fit its sources is left out; `shared` has what others
    /// are served.
    pub(super) fn to_role(
        &self,
        sources: &[NamedSource],
        role: &Role,
        cache_bytes: usize,
        shared: &mut SharedDefinitions,
    ) -> Result<Self, Vec<SchemaFault>> {
        let mut schemas: Vec<Arc<dyn SourceSchema>> = Vec::with_capacity(sources.len());
        for (index, source) in sources.iter().enumerate() {
            let permissions = role.permissions.get(&source.name);
            let permissions = permissions.filter(|_| self.knows_roles(index));
            if permissions.is_some_and(|permissions| permissions.everything) {
                schemas.push(Arc::clone(&self.sources[index]));
                continue;
            }
            let schema = permissions.map(|permissions| self.restricted(source, index, permissions));
            schemas.push(match schema {
                Some(Ok(schema)) => schema,
                Some(Err(faults)) => {
                    for fault in faults {
                        let (role, source) = (&*role.name, &*source.name);
                        tracing::error!(role, source, %fault, "a permission does not fit; the source is hidden");
                    }
                    Arc::new(Hidden)
                }
                None => Arc::new(Hidden),
            });
        }
        self.with(sources, schemas, &self.join_settings, cache_bytes, shared)
    }

    /// Whether what is served of a source can be had for roles: of one that is refused its source alone knows something else.
    fn knows_roles(&self, index: usize) -> bool {
        self.refused[index].is_none() || self.sources[index].may_be_refused()
    }

    /// What is served of a source, for a role.
    fn restricted(
        &self,
        source: &NamedSource,
        index: usize,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        let restricted = self.sources[index].restricted(permissions);
        restricted.unwrap_or_else(|| source.source.schema_for(&self.reserved[index], permissions))
    }

    /// Nothing but a schema.
    pub(super) fn nothing(&self, sources: &[NamedSource]) -> Self {
        let schemas = sources.iter().map(|_| Arc::new(Hidden) as Arc<dyn SourceSchema>).collect();
        self.with(sources, schemas, &Arc::default(), 0, &mut SharedDefinitions::default())
            .expect("a schema of nothing is one")
    }

    fn with(
        &self,
        sources: &[NamedSource],
        schemas: Vec<Arc<dyn SourceSchema>>,
        join_settings: &Arc<[JoinSettings]>,
        cache_bytes: usize,
        shared: &mut SharedDefinitions,
    ) -> Result<Self, Vec<SchemaFault>> {
        // What of a join a role does not see takes the join away.
        let description = "Null: there is nothing that your role may read.";
        let merge = |contributions| Schema::merge_sharing(contributions, shared);
        let contributions = contributions_of(&schemas, description);
        let (schema, joins, join_faults) = schema_of(contributions, join_settings, merge)?;
        let shown = sources.iter().zip(&schemas).filter(|(_, schema)| !schema.list_fields().is_empty());
        let (shown_sources, shown_schemas): (Vec<&NamedSource>, Vec<_>) =
            shown.map(|(source, schema)| (source, Arc::clone(schema))).unzip();
        let description = describe(shown_sources, &shown_schemas, &schema);
        let (reserved, refused) = (Arc::clone(&self.reserved), Arc::clone(&self.refused));
        let merged = Merged { schema, schemas, reserved, refused, joins, join_faults };
        Ok(Self::of(self.generation, merged, join_settings, description, cache_bytes))
    }
}

/// What is wrong with the permissions of a role. Of sources whose types come and go nothing is: what is not there yet is
/// hidden.
pub(super) fn role_faults(served: &Served, sources: &[NamedSource], role: &Role) -> Vec<RoleFault> {
    let mut found = Vec::new();
    for (name, permissions) in &role.permissions {
        let Some(index) = sources.iter().position(|source| source.name == *name) else {
            found.push(RoleFault { source: name.clone(), fault: None });
            continue;
        };
        if permissions.everything {
            continue;
        }
        let offered = served.restricted(&sources[index], index, permissions);
        let faults = offered.err().unwrap_or_default();
        found.extend(faults.into_iter().map(|fault| RoleFault { source: name.clone(), fault: Some(fault) }));
    }
    found
}

/// A permission that does not fit, with the place where it was written.
pub(super) fn described(
    sources: &[NamedSource],
    role: &Role,
    RoleFault { source, fault }: &RoleFault,
) -> String {
    let at = |origin: Option<&Origin>| origin.map_or_else(String::new, |origin| format!("{origin}: "));
    let Some(fault) = fault else {
        let near = suggestion(source, sources.iter().map(|known| &*known.name));
        let at = at(role.source_origin(source));
        return format!("{at}role `{}`: there is no source `{source}`{near}", role.name);
    };
    let at = at(role.table_origin(source, &fault.name).or_else(|| role.source_origin(source)));
    format!("{at}role `{}`, source `{source}`, {fault}", role.name)
}

/// What the console is told of what is served.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    version: &'static str,
    sources: Vec<SourceDescription>,
    /// A query that works on what is served.
    example: String,
}

#[derive(Debug, Serialize)]
struct SourceDescription {
    name: String,
    database: &'static str,
    /// How much there is.
    contents: String,
}

fn describe<'a>(
    sources: impl IntoIterator<Item = &'a NamedSource>,
    schemas: &[Arc<dyn SourceSchema>],
    served: &Schema,
) -> Description {
    let described = sources.into_iter().zip(schemas).map(|(source, schema)| SourceDescription {
        name: source.name.clone(),
        database: source.source.product(),
        contents: schema.contents(),
    });
    // Who asks is told no name that is not in the schema.
    let is_served = |text: &String| Operation::parse(served, text, None, &Limits::default()).is_ok();
    let example = schemas.iter().find_map(|schema| schema.example().filter(is_served));
    Description {
        version: env!("CARGO_PKG_VERSION"),
        sources: described.collect(),
        example: example.unwrap_or_else(|| "{ __typename }".to_owned()),
    }
}
