//! Which modules are called around fields of which tables, and what runs them.

use std::{collections::BTreeMap, sync::Arc};

use prony_source::{
    config::Origin,
    interceptors::{InterceptorLimits, Interceptors, RowOperation},
};

/// A module's file as it was written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModulePath {
    pub path: Arc<str>,
    pub origin: Origin,
}

/// Modules by what is done with the rows of a table, in the order in which their `before` is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableInterceptors {
    pub operations: BTreeMap<RowOperation, Vec<ModulePath>>,
}

/// By the names of sources and of their tables or types.
pub type InterceptorsByTable = BTreeMap<String, BTreeMap<String, TableInterceptors>>;

/// What is called around fields, whoever asks.
#[derive(Debug, Default)]
pub struct InterceptorSettings {
    pub tables: InterceptorsByTable,
    pub limits: InterceptorLimits,
    /// What runs them, and those of roles; none where there are none.
    pub modules: Option<Arc<dyn Interceptors>>,
}

/// Whether the same modules are called around the same fields, wherever that was written.
pub(crate) fn are_called_as(one: &InterceptorsByTable, other: &InterceptorsByTable) -> bool {
    calls(one).eq(calls(other))
}

/// Sources, their tables, what is done with rows, and the modules that are called around it.
fn calls(of: &InterceptorsByTable) -> impl Iterator<Item = (&String, &String, RowOperation, &Arc<str>)> {
    of.iter().flat_map(|(source, tables)| {
        tables.iter().flat_map(move |(table, of)| {
            of.operations.iter().flat_map(move |(operation, modules)| {
                modules.iter().map(move |module| (source, table, *operation, &module.path))
            })
        })
    })
}

impl TableInterceptors {
    /// Adds those of another that are not among them.
    pub(crate) fn add(&mut self, other: &Self) {
        for (operation, modules) in &other.operations {
            let known = self.operations.entry(*operation).or_default();
            for module in modules {
                if known.iter().all(|known| known.path != module.path) {
                    known.push(module.clone());
                }
            }
        }
    }
}
