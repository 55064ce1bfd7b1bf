//! What messages and methods there are, from files or from a server. All users share what they load alike.

use crate::vm::Modules;
use prost_reflect::{DescriptorPool, MethodDescriptor};
use prost_types::FileDescriptorSet;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// By what was loaded, one a script ([`crate::vm::Script::shared`]).
#[derive(Debug, Default)]
pub(super) struct Protos(Mutex<HashMap<Vec<Load>, DescriptorPool>>);

/// One thing that a client has loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Load {
    /// `.proto` files, found in these folders.
    Files { folders: Vec<String>, names: Vec<String> },
    /// A file of a `FileDescriptorSet`.
    Protoset(String),
    /// What a server has sent, each a `FileDescriptorProto`.
    Reflected(Vec<Vec<u8>>),
}

/// All that a client has loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct LoadedProtos {
    loads: Vec<Load>,
    pub(super) pool: DescriptorPool,
}

/// A method that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MethodInfo {
    pub(super) package: String,
    pub(super) service: String,
    pub(super) full_method: String,
    pub(super) name: String,
    pub(super) is_client_stream: bool,
    pub(super) is_server_stream: bool,
}

impl Protos {
    /// Adds to what is loaded; the methods of what was added.
    pub(super) fn load(
        &self,
        loaded: &mut LoadedProtos,
        load: Load,
        modules: &Arc<dyn Modules>,
        entry: &str,
    ) -> Result<Vec<MethodInfo>, String> {
        let set = descriptors(&load, modules, entry)?;
        let names: Vec<_> = set.file.iter().map(|file| file.name().to_owned()).collect();
        let mut loads = loaded.loads.clone();
        if !loads.contains(&load) {
            loads.push(load);
        }
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = if let Some(pool) = pools.get(&loads) {
            pool.clone()
        } else {
            let mut pool = loaded.pool.clone();
            pool.add_file_descriptor_set(set).map_err(|error| error.to_string())?;
            pools.insert(loads.clone(), pool.clone());
            pool
        };
        *loaded = LoadedProtos { loads, pool };
        Ok(methods(&loaded.pool, &names))
    }
}

impl LoadedProtos {
    /// By `/package.Service/Method`.
    pub(super) fn method(&self, path: &str) -> Option<MethodDescriptor> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        let service = self.pool.get_service_by_name(service)?;
        service.methods().find(|known| known.name() == method)
    }
}

fn methods(pool: &DescriptorPool, files: &[String]) -> Vec<MethodInfo> {
    let mut found = Vec::new();
    for service in files
        .iter()
        .filter_map(|name| pool.get_file_by_name(name))
        .flat_map(|file| file.services().collect::<Vec<_>>())
    {
        found.extend(service.methods().map(|method| MethodInfo {
            package: service.package_name().to_owned(),
            service: service.name().to_owned(),
            full_method: format!("/{}/{}", service.full_name(), method.name()),
            name: method.name().to_owned(),
            is_client_stream: method.is_client_streaming(),
            is_server_stream: method.is_server_streaming(),
        }));
    }
    found
}

fn descriptors(load: &Load, modules: &Arc<dyn Modules>, entry: &str) -> Result<FileDescriptorSet, String> {
    match load {
        Load::Files { folders, names } => compile(folders, names, modules, entry),
        Load::Protoset(path) => {
            let bytes =
                modules.file(entry, path).map_err(|error| format!("couldn't open protoset: {error}"))?;
            prost::Message::decode(&bytes[..])
                .map_err(|error| format!("couldn't unmarshal protoset file {path}: {error}"))
        }
        Load::Reflected(files) => {
            let read = files.iter().map(|file| prost::Message::decode(&file[..]));
            let file = read.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
            Ok(FileDescriptorSet { file })
        }
    }
}

/// The files of a script, which are looked for in the folders in their order.
struct ScriptFiles {
    folders: Vec<String>,
    modules: Arc<dyn Modules>,
    entry: String,
}

impl FileResolver for ScriptFiles {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let in_folder = |folder: &String| {
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            self.modules.file(&self.entry, &path).ok()
        };
        let found = self.folders.iter().find_map(in_folder);
        let bytes = found.ok_or_else(|| protox::Error::file_not_found(name))?;
        File::from_source(name, &String::from_utf8_lossy(&bytes))
    }
}

fn compile(
    folders: &[String],
    names: &[String],
    modules: &Arc<dyn Modules>,
    entry: &str,
) -> Result<FileDescriptorSet, String> {
    let (modules, entry) = (Arc::clone(modules), entry.to_owned());
    let mut resolver = ChainFileResolver::new();
    resolver.add(ScriptFiles { folders: folders.to_vec(), modules, entry });
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).include_source_info(false);
    compiler.open_files(names).map_err(|error| error.to_string())?;
    Ok(compiler.file_descriptor_set())
}
