//! A script with all that it imports: found and parsed once, before any user runs, and shared by all threads.
//!
//! Reads files, and nothing else. What only a call can ask for (`require`, `import()`) is read ahead where it is
//! there; where it is not, the call fails and not the script.

use super::common_js;
use super::error::{FaultKind, SourceError, SourceFault};
use super::position::{Lines, Position};
use super::resolve::{Imports, Packages, Target, Unresolved, clean, is_data_of_package, is_short};
use super::source_map::BundleMap;
use super::text::{FileText, ModuleKind, Parsed, Request, Way, named_exports, parse};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// No file of source text is larger; one that is was probably not meant.
const LARGEST_SOURCE_BYTES: u64 = 64 << 20;

/// The name of a script that came from standard input, as k6 has it.
const STANDARD_INPUT: &str = "file:///-";

/// The file that a run begins with.
#[derive(Debug, Clone)]
pub struct Main {
    path: MainPath,
    text: String,
    /// Paths are shown from here.
    working_folder: PathBuf,
    /// Where the root of the file system that the script was written for is: `/` unless its files came from another machine.
    root: PathBuf,
}

#[derive(Debug, Clone)]
enum MainPath {
    File(PathBuf),
    StandardInput,
}

impl Main {
    /// Reads a file; a relative path is taken from `working_folder`, which is absolute.
    pub fn read(path: &Path, working_folder: &Path) -> Result<Self, SourceError> {
        let path = clean(&working_folder.join(path));
        let text = read_text(&path)
            .map_err(|error| SourceError::one(unreadable(&shown(&path, working_folder), &error)))?;
        Ok(Self { path: MainPath::File(path), ..Self::standard_input(text, working_folder) })
    }

    /// A script from standard input, whose imports are relative to `working_folder`.
    pub fn standard_input(text: String, working_folder: &Path) -> Self {
        let (path, root) = (MainPath::StandardInput, PathBuf::from("/"));
        Self { path, text, working_folder: working_folder.to_owned(), root }
    }

    /// As it is where the files of another machine are, beneath a folder: the script's absolute paths lead there.
    #[must_use]
    pub fn beneath(self, root: &Path) -> Self {
        Self { root: root.to_owned(), ..self }
    }
}

/// A script and what it imports.
#[derive(Debug)]
pub struct Sources {
    entry: String,
    working_folder: PathBuf,
    /// As [`Main::beneath`] has it.
    root: PathBuf,
    /// The full names of all modules that are built in.
    builtins: BTreeSet<String>,
    packages: Packages,
    state: Mutex<SourcesState>,
}

#[derive(Debug, Default)]
struct SourcesState {
    /// By their full names.
    modules: BTreeMap<String, Arc<Module>>,
    /// Names that are imported of each module: what `CommonJS` is asked for by name is known only from its importers.
    wanted: HashMap<String, BTreeSet<String>>,
    /// Imports that k6 would refuse, with what they were taken for.
    short_imports: Vec<String>,
    /// What scripts opened, read once for all users.
    opened: HashMap<PathBuf, Arc<[u8]>>,
}

/// A file of a script.
#[derive(Debug)]
pub(super) struct Module {
    /// As people write it.
    pub(super) file: String,
    /// What its imports are relative to.
    folder: PathBuf,
    /// As the author wrote it.
    pub(super) text: String,
    pub(super) parsed: Parsed,
    /// Of the text that runs, without what stands before it.
    lines: Lines,
    /// What each of the requests means, in their order.
    pub(super) targets: Vec<Result<Target, Unresolved>>,
    /// Where it is a bundle.
    bundle: Option<BundleMap>,
    /// Paths are shown from here.
    working_folder: PathBuf,
}

impl Module {
    /// A fault where it asks for a module.
    pub(super) fn fault(&self, request: &Request, why: &Unresolved) -> SourceFault {
        self.fault_at(why.kind, request.position, why.message.clone())
    }

    /// A fault at a place of its text; of a bundle it is told by the source that stands there.
    pub(super) fn fault_at(&self, kind: FaultKind, position: Position, message: String) -> SourceFault {
        let fault = SourceFault::at(kind, &self.file, &self.text, position, message);
        told_by_source(self.bundle.as_ref(), &self.text, &self.working_folder, fault)
    }

    /// A place of its text as people write it: `file:line:column`.
    pub(super) fn shown_place(&self, position: Position) -> String {
        let fault = self.fault_at(FaultKind::Missing, position, String::new());
        format!("{}:{}", fault.file, fault.position.unwrap_or(position))
    }

    /// True where the text that runs is the body of a function.
    pub(super) fn is_common_js(&self) -> bool {
        self.parsed.kind == ModuleKind::CommonJs
    }
}

impl Sources {
    /// Reads what the main file imports, directly or not. `builtins` are the full names of all modules that need no file.
    pub fn load<'n>(main: Main, builtins: impl IntoIterator<Item = &'n str>) -> Result<Self, SourceError> {
        let (sources, faults) = Self::load_all(main, builtins);
        if faults.is_empty() { Ok(sources) } else { Err(SourceError { faults }) }
    }

    /// As [`Sources::load`], with all that can be read in spite of the faults.
    pub(super) fn load_all<'n>(
        main: Main,
        builtins: impl IntoIterator<Item = &'n str>,
    ) -> (Self, Vec<SourceFault>) {
        let (name, folder, file) = match &main.path {
            MainPath::StandardInput => {
                (STANDARD_INPUT.to_owned(), main.working_folder.clone(), "-".to_owned())
            }
            MainPath::File(path) => (full_name(path), folder_of(path), shown(path, &main.working_folder)),
        };
        let sources = Self {
            entry: name.clone(),
            working_folder: main.working_folder,
            root: main.root,
            builtins: builtins.into_iter().map(str::to_owned).collect(),
            packages: Packages::new(),
            state: Mutex::default(),
        };
        let may_have_types = matches!(main.path, MainPath::StandardInput) || has_types(&name);
        let found = Found { name, folder, file, text: main.text, may_have_types };
        let mut faults = Vec::new();
        match sources.add(found) {
            Ok(module) => sources.walk(module, &mut faults),
            Err(fault) => faults.push(fault),
        }
        faults.extend(sources.lacking_names());
        (sources, faults)
    }

    /// The main module, as the author wrote it.
    pub fn main_text(&self) -> String {
        self.state().modules.get(&self.entry).map(|module| module.text.clone()).unwrap_or_default()
    }

    /// The full name of the main module.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Reads what a module asks for, and what that asks for, breadth first.
    fn walk(&self, first: Arc<Module>, faults: &mut Vec<SourceFault>) {
        let mut waiting = VecDeque::from([first]);
        while let Some(module) = waiting.pop_front() {
            for (request, target) in module.parsed.requests.iter().zip(&module.targets) {
                match self.follow(target) {
                    Ok(Some(next)) => waiting.push_back(next),
                    Err(FollowError::Inside(fault)) if request.way == Way::Import => faults.push(fault),
                    Err(FollowError::Import(why)) if request.way == Way::Import => {
                        faults.push(module.fault(request, &why));
                    }
                    Ok(None) | Err(_) => {}
                }
                if let Ok(Target::File(path)) = target {
                    self.want(&full_name(path), request);
                }
            }
        }
    }

    /// The module that a target is, where it was not there yet.
    fn follow(&self, target: &Result<Target, Unresolved>) -> Result<Option<Arc<Module>>, FollowError> {
        match target {
            Err(why) => Err(FollowError::Import(why.clone())),
            Ok(Target::Builtin(_)) => Ok(None),
            Ok(Target::File(path)) if self.module(&full_name(path)).is_some() => Ok(None),
            Ok(Target::File(path)) => self.add_file(path).map(Some).map_err(FollowError::Inside),
        }
    }

    fn add_file(&self, path: &Path) -> Result<Arc<Module>, SourceFault> {
        let file = shown(path, &self.working_folder);
        let text = read_text(path).map_err(|error| unreadable(&file, &error))?;
        let text = if is_data_of_package(path) { format!("module.exports = {text}") } else { text };
        let name = full_name(path);
        let may_have_types = has_types(&name);
        self.add(Found { name, folder: folder_of(path), file, text, may_have_types })
    }

    fn add(&self, found: Found) -> Result<Arc<Module>, SourceFault> {
        let Found { name, folder, file, text, may_have_types } = found;
        let bundle = BundleMap::of(&text, &folder);
        let working_folder = self.working_folder.clone();
        let parsed = parse(FileText { file: &file, text: &text, may_have_types })
            .map_err(|fault| told_by_source(bundle.as_ref(), &text, &working_folder, fault))?;
        let has = |name: &str| self.builtins.contains(name);
        let imports = Imports::new(&has, &self.packages);
        let targets = parsed
            .requests
            .iter()
            .map(|request| imports.find(&folder, &self.rooted(&request.specifier)))
            .collect();
        let lines = Lines::of(&parsed.text);
        let module = Module { file, folder, text, parsed, lines, targets, bundle, working_folder };
        let module = Arc::new(module);
        self.note_short_imports(&module);
        self.state().modules.insert(name, Arc::clone(&module));
        Ok(module)
    }

    fn note_short_imports(&self, module: &Module) {
        for (request, target) in module.parsed.requests.iter().zip(&module.targets) {
            let Ok(Target::File(path)) = target else { continue };
            if is_short(&module.folder, &request.specifier, path) {
                let (at, specifier) = (module.shown_place(request.position), &request.specifier);
                let found = shown(path, &self.working_folder);
                let note = format!(
                    "{at}: '{specifier}' is taken for {found}; k6 would refuse it and wants the whole name"
                );
                self.state().short_imports.push(note);
            }
        }
    }

    /// A line for each import that k6 would refuse.
    pub fn short_imports(&self) -> Vec<String> {
        self.state().short_imports.clone()
    }

    fn want(&self, name: &str, request: &Request) {
        let names = request.names.iter().map(|(name, _)| name.clone());
        self.state().wanted.entry(name.to_owned()).or_default().extend(names);
    }

    pub(super) fn module(&self, name: &str) -> Option<Arc<Module>> {
        self.state().modules.get(name).cloned()
    }

    /// The full names of all files that were read.
    pub fn names(&self) -> Vec<String> {
        self.state().modules.keys().cloned().collect()
    }

    /// All files that another machine needs to run the script, as far as they were read: modules with what describes their packages,
    /// and what was opened.
    pub fn files(&self) -> Vec<PathBuf> {
        let state = self.state();
        let modules = state.modules.keys().filter(|name| *name != STANDARD_INPUT);
        let modules: BTreeSet<_> =
            modules.filter_map(|name| Some(PathBuf::from(name.strip_prefix("file://")?))).collect();
        let folders: BTreeSet<_> = modules.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        let packages = folders.into_iter().map(|folder| folder.join("package.json"));
        let packages: Vec<_> = packages.filter(|path| path.is_file()).collect();
        modules.into_iter().chain(packages).chain(state.opened.keys().cloned()).collect()
    }

    /// Whether any of the texts has this word.
    pub fn mentions(&self, word: &str) -> bool {
        self.state().modules.values().any(|module| module.text.contains(word))
    }

    pub fn working_folder(&self) -> &Path {
        &self.working_folder
    }

    /// An absolute path of the machine that the script comes from is one beneath the root here.
    fn rooted<'t>(&self, path: &'t str) -> Cow<'t, str> {
        let (scheme, plain) = match path.strip_prefix("file://") {
            Some(plain) => ("file://", plain),
            None => ("", path),
        };
        match plain.strip_prefix('/') {
            Some(below) if !Path::new(plain).starts_with(&self.root) => {
                Cow::Owned(format!("{scheme}{}", self.root.join(below).display()))
            }
            _ => Cow::Borrowed(path),
        }
    }

    /// The full name of what `from` imports as `specifier`. What was not read ahead is read now.
    pub fn resolve(&self, from: &str, specifier: &str) -> Result<String, String> {
        if self.builtins.contains(specifier) || self.module(specifier).is_some() {
            return Ok(specifier.to_owned());
        }
        let folder =
            self.module(from).map_or_else(|| self.working_folder.clone(), |from| from.folder.clone());
        let has = |name: &str| self.builtins.contains(name);
        let target = Imports::new(&has, &self.packages).find(&folder, &self.rooted(specifier));
        match target.map_err(|why| why.message)? {
            Target::Builtin(name) => Ok(name),
            Target::File(path) => {
                let name = full_name(&path);
                if self.module(&name).is_none() {
                    let module = self.add_file(&path).map_err(|fault| fault.to_string())?;
                    let mut faults = Vec::new();
                    self.walk(module, &mut faults);
                    if !faults.is_empty() {
                        return Err(SourceError { faults }.to_string());
                    }
                }
                Ok(name)
            }
        }
    }

    /// What a module imports by name under a specifier, and none of the texts exports; each once.
    pub(super) fn lacking(&self, from: &str, specifier: &str, texts: &[&str]) -> Vec<String> {
        let Some(module) = self.module(from) else { return Vec::new() };
        let is_meant = |request: &&Request| request.way == Way::Import && request.specifier == specifier;
        let requests = module.parsed.requests.iter().filter(is_meant);
        let wanted: BTreeSet<&String> =
            requests.flat_map(|request| &request.names).map(|(name, _)| name).collect();
        let known: BTreeSet<String> = texts.iter().flat_map(|text| named_exports(text)).collect();
        wanted.into_iter().filter(|name| *name != "default" && !known.contains(*name)).cloned().collect()
    }

    /// The text of a file that runs: an ES module without types.
    pub fn text(&self, name: &str) -> Option<Arc<str>> {
        let module = self.module(name)?;
        let parsed = &module.parsed;
        if module.is_common_js() {
            let wanted = self.state().wanted.get(name).cloned().unwrap_or_default();
            let names: BTreeSet<&str> =
                parsed.exports.iter().map(String::as_str).chain(wanted.iter().map(String::as_str)).collect();
            return Some(common_js::wrapped(name, &parsed.text, names.into_iter()).0.into());
        }
        match before(name, parsed) {
            before if before.is_empty() => Some(parsed.text.as_str().into()),
            before => Some((before + &parsed.text).into()),
        }
    }

    /// The author's file and place of a place in the text that runs: of a bundle those of its sources. Lines count from 1, and so do
    /// columns, in bytes as QuickJS has them.
    pub fn author_place(&self, name: &str, line: u32, column_bytes: u32) -> (String, Position) {
        let module = self.module(name);
        let Some(module) = &module else {
            return (name.to_owned(), Position { line, column: column_bytes });
        };
        let position = author_position(module, name, line, column_bytes);
        let source = module.bundle.as_ref().and_then(|bundle| bundle.source(&module.text, position));
        source.map_or_else(|| (name.to_owned(), position), |place| (place.name, place.position))
    }

    /// The contents of a file that a script opens, relative to the folder of the module `from`.
    pub fn open(&self, from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        let full = self.path_of(from, path);
        if let Some(bytes) = self.state().opened.get(&full) {
            return Ok(Arc::clone(bytes));
        }
        if full.is_dir() {
            return Err(format!("cannot open {path}: {} is a folder", full.display()));
        }
        let bytes = std::fs::read(&full)
            .map_err(|error| format!("cannot open {path}: {}: {error}", full.display()))?;
        let bytes: Arc<[u8]> = bytes.into();
        self.state().opened.insert(full, Arc::clone(&bytes));
        Ok(bytes)
    }

    /// Where a file is that the module `from` opens.
    pub(super) fn path_of(&self, from: &str, path: &str) -> PathBuf {
        let folder =
            self.module(from).map_or_else(|| self.working_folder.clone(), |from| from.folder.clone());
        let path = self.rooted(path);
        clean(&folder.join(path.strip_prefix("file://").unwrap_or(&path)))
    }

    fn state(&self) -> MutexGuard<'_, SourcesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place in what the author wrote of one in the text that runs, whose columns count bytes.
fn author_position(module: &Module, name: &str, line: u32, column_bytes: u32) -> Position {
    let before = || match module.parsed.kind {
        ModuleKind::CommonJs => common_js::wrapped(name, "", std::iter::empty()).1,
        ModuleKind::Es => before(name, &module.parsed).len() as u32,
    };
    let shift = if line == 1 { before() } else { 0 };
    let bytes = column_bytes.saturating_sub(shift).saturating_sub(1);
    let text = module.lines.line(&module.parsed.text, line);
    let characters = text.char_indices().take_while(|(at, _)| *at < bytes as usize).count() as u32;
    // Beyond a line's end is nothing to count.
    let beyond = bytes.saturating_sub(text.len() as u32);
    module.parsed.map.author(Position { line, column: characters + beyond + 1 })
}

/// What stands before the first line of an ES module.
fn before(name: &str, parsed: &Parsed) -> String {
    let require = if parsed.calls_require { common_js::require_for(name) } else { String::new() };
    if parsed.has_meta { require + &common_js::meta_for(name) } else { require }
}

/// The fault as it is told of the source that a bundle has there; as it is where it comes from none.
fn told_by_source(
    bundle: Option<&BundleMap>,
    text: &str,
    working_folder: &Path,
    fault: SourceFault,
) -> SourceFault {
    let place = bundle.zip(fault.position).and_then(|(bundle, position)| bundle.source(text, position));
    let Some(place) = place else { return fault };
    let path = place.name.strip_prefix("file://").map(|path| shown(Path::new(path), working_folder));
    SourceFault {
        file: path.unwrap_or(place.name),
        position: Some(place.position),
        line: place.line,
        ..fault
    }
}

/// A file that was read.
struct Found {
    name: String,
    folder: PathBuf,
    file: String,
    text: String,
    may_have_types: bool,
}

/// Why an import leads nowhere.
enum FollowError {
    /// At the import itself.
    Import(Unresolved),
    /// In the file that it names.
    Inside(SourceFault),
}

pub(super) fn full_name(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).to_owned()
}

fn has_types(name: &str) -> bool {
    [".ts", ".mts", ".cts"].iter().any(|ending| name.ends_with(ending))
}

/// A path as people write it: from the working folder where it is below.
fn shown(path: &Path, working_folder: &Path) -> String {
    path.strip_prefix(working_folder).unwrap_or(path).display().to_string()
}

/// Reads UTF-8; a byte order mark is left out, and the line that names an interpreter becomes a comment.
fn read_text(path: &Path) -> io::Result<String> {
    let length = std::fs::metadata(path)?.len();
    if length > LARGEST_SOURCE_BYTES {
        let message =
            format!("{length} bytes are more than the {LARGEST_SOURCE_BYTES} that a script may have");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let text = std::fs::read_to_string(path)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(match text.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => text.to_owned(),
    })
}

fn unreadable(file: &str, error: &io::Error) -> SourceFault {
    let message = format!("cannot read it: {error}");
    SourceFault { kind: FaultKind::Missing, file: file.to_owned(), position: None, message, line: None }
}
