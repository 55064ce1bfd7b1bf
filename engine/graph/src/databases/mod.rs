//! The databases of a graph source: one directory and one store each, under the source's directory. Opens, lists,
//! makes and drops them; what is in them is the store's.

pub(crate) mod scrub;
mod scrubbed;
pub mod settle;
pub(crate) mod state;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, Guard};
use prony_graph_store::{
    CHAIN_MANIFEST, Inbox, Options, Side, Store, WriteError, durability_text, is_store, make_directory,
    may_be_store,
};

use self::scrubbed::Scrubbed;
use crate::{
    settings::{GraphIndex, GraphSettings, Reads},
    slow_log::SlowLog,
};

/// The database that is made where there is none, and that GraphQL serves.
pub const DEFAULT_DATABASE: &str = "rage";
/// Of a directory's name.
pub const NAME_BYTES_MAX: usize = 64;
/// Stores have a thread and an open file each.
const DATABASES_MAX: usize = 256;
/// Directories of dropped databases begin with it until they are removed; no database's name does.
const DROPPED: &str = ".dropped-";

/// All databases of a source.
#[derive(Debug)]
pub struct Databases {
    directory: PathBuf,
    options: Options,
    reads: Reads,
    time_limit: Option<Duration>,
    /// How often all files are read; none where they are not.
    pub(crate) scrub_every: Option<Duration>,
    pub(crate) slow: Arc<SlowLog>,
    default: Arc<Database>,
    all: ArcSwap<BTreeMap<String, Arc<Database>>>,
    /// One at a time is made or dropped.
    changing: Mutex<()>,
}

/// An open database.
#[derive(Debug)]
pub struct Database {
    pub name: String,
    pub store: Arc<Store>,
    /// What those who read it are told.
    pub reads: Reads,
    /// How long a request waits for what goes on by itself; none where it waits for its end.
    pub time_limit: Option<Duration>,
    /// What was found the last time that its files were read, and when that was.
    scrubbed: Mutex<(Option<Scrubbed>, Option<Instant>)>,
    /// Of each core that has waited for its log.
    inboxes: Mutex<Vec<Arc<Inbox>>>,
    /// Set once it is dropped: requests that take long may still hold it.
    dropped: Arc<AtomicBool>,
}

impl Database {
    pub fn new(name: &str, store: Store) -> Self {
        Self {
            name: name.to_owned(),
            store: Arc::new(store),
            reads: Reads::default(),
            time_limit: None,
            scrubbed: Mutex::default(),
            inboxes: Mutex::default(),
            dropped: Arc::default(),
        }
    }

    /// Set once it is dropped: what is written then is nowhere.
    pub(crate) fn dropped(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.dropped)
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    fn with(self, reads: Reads, time_limit: Option<Duration>) -> Self {
        Self { reads, time_limit, ..self }
    }

    pub(crate) fn joined(&self, inbox: Arc<Inbox>) {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).push(inbox);
    }

    pub(crate) fn scrubbed(&self) -> Option<Scrubbed> {
        self.lock_scrubbed().0.clone()
    }

    /// Since the start.
    fn scrubbed_at(&self) -> Option<Instant> {
        self.lock_scrubbed().1
    }

    fn set_scrubbed(&self, scrubbed: Scrubbed) {
        *self.lock_scrubbed() = (Some(scrubbed), Some(Instant::now()));
    }

    /// It could not be read; what was found before holds.
    fn set_scrubbed_at(&self) {
        self.lock_scrubbed().1 = Some(Instant::now());
    }

    fn lock_scrubbed(&self) -> MutexGuard<'_, (Option<Scrubbed>, Option<Instant>)> {
        self.scrubbed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests whose writes are not durable yet.
    pub(crate) fn waiting_writes(&self) -> usize {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().map(|inbox| inbox.waiting()).sum()
    }

    /// Requests that wait until what they have read is durable.
    pub(crate) fn waiting_reads(&self) -> usize {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().map(|inbox| inbox.waiting_reads()).sum()
    }
}

/// Why the databases of a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabasesError {
    #[error("cannot use the directory {}", directory.display())]
    Directory { directory: PathBuf, source: io::Error },
    #[error(
        "{0} is a chain of backups of a graph, and no graph: make one of it with `prony graph restore {0} NEW/{DEFAULT_DATABASE}`, \
         where there is no NEW/{DEFAULT_DATABASE} yet, and serve `graph:NEW`",
        directory.display()
    )]
    Chain { directory: PathBuf },
    #[error(
        "{0} has the files of one database of a graph, and `graph:` is followed by the directory in which databases are: move it to \
         NEW/{DEFAULT_DATABASE}, and serve `graph:NEW`",
        directory.display()
    )]
    Database { directory: PathBuf },
    #[error(
        "{} is where the database {DEFAULT_DATABASE} would be, and has files that are of no graph: move them, or serve another directory",
        directory.display()
    )]
    Occupied { directory: PathBuf },
    #[error("cannot open the database {name}: {}", with_causes(source))]
    Open { name: String, source: Box<prony_graph_store::OpenError> },
    #[error(
        "cannot make the index on `{property}` of `{type_name}` that `indexes` names: {}",
        with_causes(source)
    )]
    Index { type_name: String, property: String, source: Box<WriteError> },
}

/// Why a database is not made or dropped.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("Database already exists")]
    Exists,
    #[error("Database does not exist")]
    Missing,
    #[error(
        "Database {DEFAULT_DATABASE} stays: GraphQL serves it; DELETE /db/{DEFAULT_DATABASE}/schema empties it"
    )]
    IsDefault,
    #[error(
        "Invalid key: a database's name has 1 to {NAME_BYTES_MAX} letters, digits, _ or -, and begins with no -"
    )]
    BadName,
    #[error("there is a directory of this name with files that are of no graph; choose another name")]
    Occupied,
    #[error("there are {DATABASES_MAX} databases already, and there can be no more; drop one first")]
    TooMany,
    #[error("cannot use the directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot open the database: {}", with_causes(.0))]
    Open(#[from] prony_graph_store::OpenError),
}

/// The error and what lies beneath it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        text.push_str(": ");
        text.push_str(&deeper.to_string());
        cause = deeper.source();
    }
    text
}

/// Whether a database may be called so: a directory with another name is none.
pub fn is_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_fit)
}

impl Databases {
    /// Opens all that are in the directory, and makes the default one. Blocks while they are read.
    pub fn open(directory: &Path, settings: &GraphSettings) -> Result<Self, DatabasesError> {
        Self::open_for(directory, settings, false)
    }

    /// As [`Self::open`], for who only reads them: nothing is made, changed or locked, and another process may have them open. The default one
    /// is empty where it is not there.
    pub fn look(directory: &Path, settings: &GraphSettings) -> Result<Self, DatabasesError> {
        Self::open_for(directory, settings, true)
    }

    fn open_for(
        directory: &Path,
        settings: &GraphSettings,
        only_looks: bool,
    ) -> Result<Self, DatabasesError> {
        let &GraphSettings {
            durability,
            reads,
            recover,
            snapshot_at_log_bytes,
            scrub_every_s,
            slow_statement_ms,
            ref indexes,
            ref common,
            http: _,
            lua: _,
            lua_max_memory_bytes: _,
        } = settings;
        let milliseconds = common.statement_timeout_ms;
        let time_limit = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
        let options = Options { durability, recover, snapshot_at_log_bytes: Some(snapshot_at_log_bytes) };
        let failed = |source| DatabasesError::Directory { directory: directory.to_owned(), source };
        if !only_looks {
            make_directory(directory).map_err(failed)?;
        }
        let names = names(directory, only_looks).map_err(failed)?;
        check_places(directory, &names)?;
        let open = |name: &str| {
            let opened =
                if only_looks { look_at(directory, name) } else { open_one(directory, name, options) };
            opened.map(|database| Arc::new(database.with(reads, time_limit)))
        };
        let mut all = BTreeMap::new();
        for name in names {
            let database = open(&name)?;
            all.insert(name, database);
        }
        let default = match all.get(DEFAULT_DATABASE) {
            Some(default) => Arc::clone(default),
            None => open(DEFAULT_DATABASE)?,
        };
        if !only_looks {
            make_indexes(&default.store, indexes)?;
        }
        all.insert(DEFAULT_DATABASE.to_owned(), Arc::clone(&default));
        Ok(Self {
            directory: directory.to_owned(),
            options,
            reads,
            time_limit,
            scrub_every: (scrub_every_s > 0).then(|| Duration::from_secs(scrub_every_s)),
            slow: Arc::new(SlowLog::new(directory, slow_statement_ms)),
            default,
            all: ArcSwap::from_pointee(all),
            changing: Mutex::new(()),
        })
    }

    /// Never dropped while the source is open.
    pub fn default(&self) -> &Arc<Database> {
        &self.default
    }

    /// Where they all are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn all(&self) -> Guard<Arc<BTreeMap<String, Arc<Database>>>> {
        self.all.load()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Database>> {
        self.all.load().get(name).cloned()
    }

    /// Makes a database, which another request may have dropped again by now. Blocks.
    pub fn create(&self, name: &str) -> Result<Arc<Database>, ChangeError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = BTreeMap::clone(&self.all.load());
        if all.contains_key(name) {
            return Err(ChangeError::Exists);
        }
        if !is_name(name) {
            return Err(ChangeError::BadName);
        }
        if all.len() >= DATABASES_MAX {
            return Err(ChangeError::TooMany);
        }
        let directory = self.directory.join(name);
        if !may_be_store(&directory) {
            return Err(ChangeError::Occupied);
        }
        let is_new = !directory.exists();
        let store = Store::open(&directory, self.options).inspect_err(|_| {
            // What there is of it would be a database at the next start.
            if is_new && let Err(error) = fs::remove_dir_all(&directory) {
                tracing::warn!(%error, path = %directory.display(), "cannot remove a database that could not be made");
            }
        })?;
        sync(&self.directory)
            .map_err(|source| ChangeError::Directory { path: self.directory.clone(), source })?;
        tracing::info!(database = name, "made a database");
        let database = Arc::new(Database::new(name, store).with(self.reads, self.time_limit));
        all.insert(name.to_owned(), Arc::clone(&database));
        self.all.store(Arc::new(all));
        Ok(database)
    }

    /// Drops a database with all that it holds. Blocks.
    pub fn drop_one(&self, name: &str) -> Result<(), ChangeError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = BTreeMap::clone(&self.all.load());
        if name == DEFAULT_DATABASE {
            return Err(ChangeError::IsDefault);
        }
        let database = all.remove(name).ok_or(ChangeError::Missing)?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ChangeError::Directory { path, source }
        };
        // Under a name of its own first, so that a process that ends here leaves all of it or none.
        let dropped = self.directory.join(format!("{DROPPED}{name}"));
        fs::rename(self.directory.join(name), &dropped).map_err(failed(&dropped))?;
        self.all.store(Arc::new(all));
        database.dropped.store(true, Ordering::Release);
        sync(&self.directory).map_err(failed(&self.directory))?;
        // Requests that are being answered may still hold it, and end with it. A database that gets the name has its directory to itself.
        database.store.stop_snapshots();
        drop(database);
        fs::remove_dir_all(&dropped).map_err(failed(&dropped))?;
        tracing::info!(database = name, "dropped a database");
        Ok(())
    }
}

/// So that a directory's new names are there after a loss of power.
fn sync(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

/// The databases that a directory holds; what was being dropped goes, unless it is only looked at. Directories of others are none, so that no
/// files are made in them, and nobody drops them.
fn names(directory: &Path, only_looks: bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if only_looks && !directory.exists() {
        return Ok(names);
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(DROPPED) {
            if !only_looks {
                fs::remove_dir_all(entry.path())?;
            }
        } else if entry.file_type()?.is_dir() && is_name(&name) && may_be_store(&entry.path()) {
            names.push(name);
        } else {
            tracing::warn!(path = %entry.path().display(), "is no database, and left alone");
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether nothing else is where databases are to be made: opening a chain of backups would write into it.
fn check_places(directory: &Path, names: &[String]) -> Result<(), DatabasesError> {
    let databases = names.iter().map(|name| directory.join(name));
    for place in databases.chain([directory.to_owned()]) {
        // A database may have this name.
        if place.join(CHAIN_MANIFEST).is_file() {
            return Err(DatabasesError::Chain { directory: place });
        }
    }
    if is_store(directory) {
        return Err(DatabasesError::Database { directory: directory.to_owned() });
    }
    let default = directory.join(DEFAULT_DATABASE);
    if !may_be_store(&default) {
        return Err(DatabasesError::Occupied { directory: default });
    }
    Ok(())
}

/// Those that are not there, with their types and properties.
fn make_indexes(store: &Store, indexes: &[GraphIndex]) -> Result<(), DatabasesError> {
    for GraphIndex { side, type_name, property, kind } in indexes {
        let started = Instant::now();
        let is_there = {
            let read = store.read();
            let types = read.schema().side(*side);
            let of = types.number(type_name).and_then(|number| types.get(number));
            let declared = of.and_then(|of| of.properties.get(property.as_str()));
            declared.is_some_and(|declared| declared.is_indexed && declared.kind == *kind)
        };
        if is_there {
            continue;
        }
        let made = store.write_and_wait(|write| {
            write.make_type(*side, type_name)?;
            write.declare(*side, type_name, property, *kind)
        });
        let made = made.and_then(|()| store.make_index(*side, type_name, property));
        made.map_err(|source| DatabasesError::Index {
            type_name: type_name.clone(),
            property: property.clone(),
            source: Box::new(source),
        })?;
        let milliseconds = started.elapsed().as_millis() as u64;
        tracing::info!(of = type_name, property, milliseconds, "made an index");
    }
    Ok(())
}

fn cannot_open(name: &str) -> impl FnOnce(prony_graph_store::OpenError) -> DatabasesError {
    let name = name.to_owned();
    move |source| DatabasesError::Open { name, source: Box::new(source) }
}

/// As it is, for who only reads it; another process may have it open.
fn look_at(directory: &Path, name: &str) -> Result<Database, DatabasesError> {
    let store = Store::look(&directory.join(name)).map_err(cannot_open(name))?;
    Ok(Database::new(name, store))
}

fn open_one(directory: &Path, name: &str, options: Options) -> Result<Database, DatabasesError> {
    let started = Instant::now();
    let store = Store::open(&directory.join(name), options).map_err(cannot_open(name))?;
    log_opened(name, &store, started);
    Ok(Database::new(name, store))
}

/// Says what is there, and what the last end has cost.
fn log_opened(name: &str, store: &Store, started: Instant) {
    let recovery = store.recovery();
    let read = store.read();
    let (nodes, relationships) = (read.count(Side::Nodes, None), read.count(Side::Relationships, None));
    let durability = durability_text(store.durability());
    let milliseconds = started.elapsed().as_millis() as u64;
    tracing::info!(database = name, nodes, relationships, durability, milliseconds, "opened a graph");
    if recovery.torn_bytes > 0 {
        let (bytes, frames) = (recovery.torn_bytes, recovery.torn_frames);
        tracing::warn!(
            database = name,
            bytes,
            frames,
            "cut off the end of the log, which was probably being written when the last process or the machine died; whether a \
             write in it had been acknowledged is unknown"
        );
    }
    for loss in &recovery.lost {
        let (path, offset, bytes) = (loss.path.display(), loss.offset, loss.bytes);
        let kept = loss.kept.as_ref().map(|path| path.display().to_string());
        tracing::error!(database = name, %path, offset, bytes, why = loss.why, kept, "lost a part of the graph");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each directory became a database, and could be dropped with all that was in it.
    #[test]
    fn directories_of_others_are_no_databases() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        for name in ["notes", "empty"] {
            fs::create_dir(place(name)).unwrap();
        }
        let note = place("notes").join("a.txt");
        fs::write(&note, "mine").unwrap();
        let settings = GraphSettings::default();
        let databases = Databases::open(directory.path(), &settings).unwrap();
        let names = || databases.all().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(), ["empty", DEFAULT_DATABASE], "what is empty may be one that was being made");
        assert!(matches!(databases.create("notes"), Err(ChangeError::Occupied)));
        assert!(matches!(databases.drop_one("notes"), Err(ChangeError::Missing)));
        assert_eq!(fs::read_dir(place("notes")).unwrap().count(), 1, "nothing is made beside it");
        // It is told what it was made, though it may have been dropped meanwhile: that was a 204 without a body.
        assert_eq!(databases.create("own").unwrap().name, "own");
        drop(databases);
        // One that has lost a file is one all the same, so that the loss is told.
        let own = place("own");
        fs::remove_file(own.join("log-000000000001")).unwrap();
        let error = Databases::open(directory.path(), &settings).unwrap_err();
        assert!(matches!(error, DatabasesError::Open { .. }), "{error}");
        fs::remove_dir_all(own).unwrap();
        fs::remove_dir_all(place(DEFAULT_DATABASE)).unwrap();
        fs::create_dir(place(DEFAULT_DATABASE)).unwrap();
        fs::rename(&note, place(DEFAULT_DATABASE).join("a.txt")).unwrap();
        let error = Databases::open(directory.path(), &settings).unwrap_err();
        assert!(matches!(error, DatabasesError::Occupied { .. }), "{error}");
    }
}
