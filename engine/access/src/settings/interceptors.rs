//! Reading which interceptors tables have: for all roles in `[interceptors]`, for one in its permissions.

use std::{collections::BTreeMap, io, path::Path, sync::Arc, time::Duration};

use prony_source::{
    config::{Faults, FileEntry, Origin},
    interceptors::{InterceptorLoader, RequestedModule, RowOperation},
};
use toml::de::DeValue;

use super::{
    fields::{Fields, texts, unknown},
    types::AccessSettings,
};
use crate::interceptors::{ModulePath, TableInterceptors};

/// Most milliseconds of a call.
const MAX_TIMEOUT_MS: u64 = 60_000;
/// Less holds no module with its context.
const MIN_MEMORY_BYTES: u64 = 1 << 20;
const MAX_MEMORY_BYTES: u64 = 16 << 30;
const MAX_THREADS: u64 = 1_024;
const MAX_QUEUE: u64 = 1 << 20;

impl AccessSettings {
    /// Reads the value of `interceptors`. Whether sources and their tables exist is not known here.
    pub fn read_interceptors(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) {
        let mut fields = Fields::of(entry, "[interceptors]", faults);
        let limits = &mut self.interceptors.limits;
        let mut number = |key: &'static str, between: (u64, u64)| fields.number(key, between, faults);
        if let Some(timeout_ms) = number("timeout_ms", (1, MAX_TIMEOUT_MS)) {
            limits.timeout = Duration::from_millis(timeout_ms);
        }
        let usize_of = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(bytes) = number("memory_bytes", (MIN_MEMORY_BYTES, MAX_MEMORY_BYTES)) {
            limits.memory_bytes = usize_of(bytes);
        }
        if let Some(threads) = number("threads", (1, MAX_THREADS)) {
            limits.threads = usize_of(threads);
        }
        if let Some(queue) = number("queue", (1, MAX_QUEUE)) {
            limits.queue = usize_of(queue);
        }
        for source in fields.take("sources").map_or_else(Vec::new, |sources| sources.table(faults)) {
            let mut of_source =
                Fields::of(source, format!("[interceptors.sources.{}]", source.name()), faults);
            let groups = [of_source.take("tables"), of_source.take("types")].into_iter().flatten();
            let tables: Vec<_> = groups.flat_map(|group| group.table(faults)).collect();
            of_source.end(faults);
            let known = self.interceptors.tables.entry(source.name().to_owned()).or_default();
            for table in tables {
                if known.insert(table.name().to_owned(), read(table, faults)).is_some() {
                    faults.push(table.key_origin(), format!("`{}` is given twice", table.name()));
                }
            }
        }
        fields.end(faults);
    }

    /// Has all modules read and checked that tables name. `read` reads files by their paths as they are written.
    pub fn load_interceptors(
        &mut self,
        loader: Option<&dyn InterceptorLoader>,
        read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
        faults: &mut Faults,
    ) {
        let mut paths: BTreeMap<&str, &Origin> = BTreeMap::new();
        let of_roles = self.roles.iter().map(|role| &role.interceptors);
        let tables = of_roles.chain([&self.interceptors.tables]).flat_map(BTreeMap::values);
        let modules = tables.flat_map(BTreeMap::values).flat_map(|table| table.operations.values());
        for ModulePath { path, origin } in modules.flatten() {
            paths.entry(path).or_insert(origin);
        }
        let modules: Vec<_> =
            paths.into_iter().map(|(path, origin)| RequestedModule { path, origin }).collect();
        let Some(first) = modules.first() else { return };
        let Some(loader) = loader else {
            faults.push(first.origin.clone(), "this program runs no interceptors");
            return;
        };
        let found = loader.load(&modules, &self.interceptors.limits, read, faults);
        self.interceptors.modules = found.map(Arc::from);
    }
}

/// What is written of one table: modules for all that is done with its rows, or for some of it.
pub(super) fn read(entry: FileEntry<'_, '_>, faults: &mut Faults) -> TableInterceptors {
    let mut found = TableInterceptors::default();
    match entry.value().get_ref() {
        // Nothing, whatever would be inherited.
        DeValue::Boolean(false) => {}
        DeValue::Table(_) => {
            for operation in entry.table(faults) {
                match RowOperation::ALL.into_iter().find(|known| known.name() == operation.name()) {
                    Some(known) => {
                        found.operations.insert(known, modules(operation, faults));
                    }
                    None => unknown(
                        "operation",
                        operation.name(),
                        RowOperation::ALL.iter().map(|known| known.name()),
                        operation.key_origin(),
                        faults,
                    ),
                }
            }
        }
        _ => {
            let modules = modules(entry, faults);
            found.operations = RowOperation::ALL.into_iter().map(|one| (one, modules.clone())).collect();
        }
    }
    found
}

/// Files of JavaScript or TypeScript.
fn modules(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Vec<ModulePath> {
    const ENDINGS: [&str; 3] = ["js", "mjs", "ts"];
    let mut found: Vec<ModulePath> = Vec::new();
    for (path, origin) in texts(entry, faults) {
        let ending = Path::new(&path).extension().and_then(|ending| ending.to_str());
        if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            faults.push(origin, format!("`{path}` is no module: a file that ends in .ts, .js or .mjs"));
        } else if found.iter().any(|known| *known.path == *path) {
            faults.push(origin, format!("`{path}` stands twice"));
        } else {
            found.push(ModulePath { path: path.into(), origin });
        }
    }
    found
}
