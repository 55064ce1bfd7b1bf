//! Where the text of a script's modules comes from, and the store of what was compiled, shared by all threads.

use super::builtin::Builtins;
use super::error::Place;
use super::limits::Limits;
use super::memory::Taken;
use prony_metrics::{RecorderOptions, SystemTags};
use prony_model::program::table::Tables;
use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The modules of a script, as JavaScript. Built-ins are asked for before it.
pub trait Modules: Send + Sync {
    /// The full name of the module that `from` imports as `specifier`.
    fn resolve(&self, from: &str, specifier: &str) -> Result<String, String>;

    /// The text of the module with this full name: an ES module without types.
    fn text(&self, name: &str) -> Result<Arc<str>, String>;

    /// What the module `from` imports by name of a built-in one, and none of these texts of it exports.
    fn lacking(&self, _from: &str, _specifier: &str, _texts: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// The place in what the author wrote that became this place of a module's text.
    fn author_place(&self, place: Place) -> Place {
        place
    }

    /// The contents of a file that the script opens in init code; `from` is the full name of the module that is evaluated.
    fn file(&self, from: &str, path: &str) -> Result<Arc<[u8]>, String>;

    /// Where that file is.
    fn file_path(&self, _from: &str, path: &str) -> PathBuf {
        PathBuf::from(path)
    }
}

/// A script and what all threads that run it share.
pub struct Script {
    /// The full name of its main module.
    pub entry: String,
    pub modules: Arc<dyn Modules>,
    pub builtins: Builtins,
    /// `__ENV`.
    pub environment: BTreeMap<String, String>,
    pub limits: Limits,
    pub(super) memory_taken: Taken,
    /// With what each thread's recorder is made. The registry must have all submetrics before the first program is.
    pub recorder: RecorderOptions,
    /// Targets and request names, as the run's programs find them.
    pub tables: Tables,
    /// Compiled modules by their full names.
    compiled: Mutex<HashMap<String, Arc<[u8]>>>,
    shared: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Script {
    pub fn new(entry: impl Into<String>, modules: Arc<dyn Modules>, builtins: Builtins) -> Self {
        Self {
            entry: entry.into(),
            modules,
            builtins,
            environment: BTreeMap::new(),
            limits: Limits::default(),
            memory_taken: Taken::default(),
            recorder: RecorderOptions {
                registry: Arc::default(),
                system_tags: SystemTags::default(),
                run_tags: Vec::new(),
                has_outputs: false,
            },
            tables: Tables::default(),
            compiled: Mutex::default(),
            shared: Mutex::default(),
        }
    }

    /// A value that all threads share, made at its first use.
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let value = shared.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().expect("values are kept under their own types")
    }

    pub(super) fn compiled(&self, name: &str) -> Option<Arc<[u8]>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(super) fn keep_compiled(&self, name: &str, bytes: &[u8]) {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.insert(name.to_owned(), bytes.into());
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("entry", &self.entry).finish_non_exhaustive()
    }
}
