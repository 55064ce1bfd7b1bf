//! Which modules are called for which rows, for everybody or for one role.

use std::{collections::HashMap, sync::Arc};

use prony_access::{AccessSettings, InterceptorsByTable, Role, TableInterceptors};
use prony_graphql::schema::SourceId;
use prony_source::{
    SourceSchema,
    config::{Origin, suggestion},
    interceptors::{InterceptorModule, Interceptors, RowAccess, RowOperation},
};

/// Modules in the order in which their `before` is called; their `after` is in the opposite one.
pub(super) type Chain = Box<[ChainedModule]>;

#[derive(Debug, Clone)]
pub(super) struct ChainedModule {
    pub(super) module: InterceptorModule,
    /// For the log.
    pub(super) path: Arc<str>,
}

/// Modules by source, table and operation.
#[derive(Debug)]
pub(crate) struct InterceptorIndex {
    pub(super) runtime: Arc<dyn Interceptors>,
    /// By [`SourceId`].
    pub(super) source_names: Box<[Box<str>]>,
    tables: HashMap<(SourceId, Box<str>), HashMap<RowOperation, Arc<Chain>>>,
}

impl InterceptorIndex {
    /// What is called for everybody and, behind that, for a role; none where nothing is. What does not fit the sources is left
    /// out: [`interceptor_faults`] has told it.
    pub(crate) fn new(
        settings: &AccessSettings,
        role: Option<&Role>,
        sources: &[&str],
        schemas: &[Arc<dyn SourceSchema>],
    ) -> Option<Arc<Self>> {
        let runtime = settings.interceptors.modules.as_ref()?;
        let mut tables: HashMap<_, HashMap<RowOperation, Vec<ChainedModule>>> = HashMap::new();
        let of_all = [&settings.interceptors.tables].into_iter();
        for by_table in of_all.chain(role.map(|role| &role.interceptors)) {
            for (source, table, interceptors) in each(by_table) {
                let Some(index) = sources.iter().position(|known| known == source) else { continue };
                let Ok(table) = schemas[index].table_name(table) else { continue };
                let known = tables.entry((SourceId(index as u16), table)).or_default();
                for (operation, modules) in &interceptors.operations {
                    let chain = known.entry(*operation).or_default();
                    for path in modules.iter().map(|module| &module.path) {
                        let is_new = chain.iter().all(|known| known.path != *path);
                        if let (true, Some(module)) = (is_new, runtime.module(path)) {
                            chain.push(ChainedModule { module, path: Arc::clone(path) });
                        }
                    }
                }
            }
        }
        let finished = |chains: HashMap<RowOperation, Vec<ChainedModule>>| {
            let chains = chains.into_iter().filter(|(_, chain)| !chain.is_empty());
            chains.map(|(operation, chain)| (operation, Arc::new(Chain::from(chain)))).collect()
        };
        let tables: HashMap<_, _> =
            tables.into_iter().map(|(table, chains)| (table, finished(chains))).collect();
        (!tables.is_empty()).then(|| {
            Arc::new(Self {
                runtime: Arc::clone(runtime),
                source_names: sources.iter().map(|source| Box::from(*source)).collect(),
                tables,
            })
        })
    }

    /// What is called for one kind of access.
    pub(super) fn chain(&self, source: SourceId, access: &RowAccess) -> Option<Arc<Chain>> {
        // The key of a map of pairs is a pair.
        let chains = self.tables.get(&(source, access.table.clone()))?;
        chains.get(&access.operation).map(Arc::clone)
    }
}

fn each(by_table: &InterceptorsByTable) -> impl Iterator<Item = (&String, &String, &TableInterceptors)> {
    by_table
        .iter()
        .flat_map(|(source, tables)| tables.iter().map(move |(table, found)| (source, table, found)))
}

/// Sources and tables that have interceptors and are not there, each with its place.
pub(crate) fn interceptor_faults(
    settings: &AccessSettings,
    sources: &[&str],
    schemas: &[Arc<dyn SourceSchema>],
) -> Vec<String> {
    let of_roles = settings.roles.iter().map(|role| &role.interceptors);
    let mut faults: Vec<String> = Vec::new();
    for (source, table, interceptors) in of_roles.chain([&settings.interceptors.tables]).flat_map(each) {
        let fault = match sources.iter().position(|known| known == source) {
            None => {
                let near = suggestion(source, sources.iter().copied());
                Some(format!("there is no source `{source}`{near}"))
            }
            Some(index) => {
                let named = schemas[index].table_name(table);
                named.err().map(|message| format!("source `{source}`, `{table}`: {message}"))
            }
        };
        let origin: Option<&Origin> =
            interceptors.operations.values().flatten().map(|one| &one.origin).next();
        let at = origin.map_or_else(String::new, |origin| format!("{origin}: "));
        let fault = fault.map(|message| format!("{at}interceptors: {message}"));
        // Roles have those that they inherit, too.
        faults.extend(fault.filter(|fault| !faults.contains(fault)));
    }
    faults
}

/// Tables with interceptors that calls over HTTP reach too, without anything being called, each with its place. `has_calls` says
/// whether the source with an index has such calls.
pub(crate) fn bypassed_interceptors(
    settings: &AccessSettings,
    sources: &[&str],
    has_calls: &dyn Fn(usize) -> bool,
) -> Vec<String> {
    let of_roles = settings.roles.iter().map(|role| &role.interceptors);
    let mut found: Vec<String> = Vec::new();
    for (source, table, interceptors) in of_roles.chain([&settings.interceptors.tables]).flat_map(each) {
        let has_calls = sources.iter().position(|known| known == source).is_some_and(has_calls);
        let first = interceptors.operations.values().flatten().next();
        let Some(first) = first.filter(|_| has_calls) else { continue };
        let said = format!("{}: interceptors: source `{source}`, `{table}`", first.origin);
        // Roles have those that they inherit, too.
        if !found.contains(&said) {
            found.push(said);
        }
    }
    found
}
