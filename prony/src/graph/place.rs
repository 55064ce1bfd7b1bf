//! Which directory is meant, and what to say where another process has it open.

use anyhow::Context as _;
use clap::Args;
use prony_graph::databases::{DEFAULT_DATABASE, NAME_BYTES_MAX, is_name};
use prony_graph_store::{CHAIN_MANIFEST, CheckReport, Durability, OpenError, Options, ScrubReport, Store};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Which graph is meant.
#[derive(Debug, Args)]
pub(crate) struct PlaceArguments {
    /// The directory of `prony serve graph:DIR`, or that of one database in it.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The database, where DIR holds several [default: rage]
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
}

/// The directory of one database.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// Need not be there yet.
    pub(crate) fn for_import(arguments: &PlaceArguments) -> anyhow::Result<Self> {
        let named = &arguments.directory;
        if let Some(name) = arguments.graph.as_deref().filter(|name| !is_name(name)) {
            anyhow::bail!(
                "`{name}` is no name of a database: it has 1 to {NAME_BYTES_MAX} letters, digits, _ or -, and begins with no -"
            );
        }
        let is_database = arguments.graph.is_none() && is_database(named);
        let database = named.join(arguments.graph.as_deref().unwrap_or(DEFAULT_DATABASE));
        let place = if is_database { named.clone() } else { database };
        // It has a lock as a graph has, and would be an empty one.
        if let Some(chain) = [named, &place].into_iter().find(|place| place.join(CHAIN_MANIFEST).is_file()) {
            anyhow::bail!(
                "{0} is a chain of backups of a graph, and no graph: `prony graph restore {0} NEW/{DEFAULT_DATABASE}` makes one of it, and checks all that \
                 it reads",
                chain.display()
            );
        }
        Ok(Self(place))
    }

    pub(crate) fn existing(arguments: &PlaceArguments) -> anyhow::Result<Self> {
        let place = Self::for_import(arguments)?;
        if is_database(&place.0) {
            return Ok(place);
        }
        let names = databases(&arguments.directory);
        let hint = match &names[..] {
            [] => String::new(),
            names => format!("; there are {}: name one with --graph", names.join(", ")),
        };
        anyhow::bail!("there is no graph in {}{hint}", place.0.display())
    }

    /// A server would not start on a directory of databases that has a chain of backups among them.
    pub(crate) fn refuse_within(&self, arguments: &PlaceArguments, chain: &Path) -> anyhow::Result<()> {
        let named = &arguments.directory;
        let above = match chain.parent() {
            Some(above) if above.as_os_str().is_empty() => Path::new("."),
            Some(above) => above,
            None => return Ok(()),
        };
        let is_name = chain.file_name().is_some_and(|name| is_name(&name.to_string_lossy()));
        let whole = |path: &Path| fs::canonicalize(path).ok();
        let is_within = whole(named).is_some_and(|named| whole(above) == Some(named));
        if is_name && is_within && self.0 != *named {
            anyhow::bail!(
                "{0} would be among the databases of {1}, and {1} cannot be served with a chain of backups in it: name a directory elsewhere",
                chain.display(),
                named.display()
            );
        }
        Ok(())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }

    pub(crate) fn open(&self, recover: bool) -> anyhow::Result<Store> {
        Store::open(&self.0, Options { recover, ..Options::new(Durability::Sync) }).map_err(explain)
    }

    /// None where another process has it open.
    pub(crate) fn check(&self) -> anyhow::Result<Option<CheckReport>> {
        match prony_graph_store::check(&self.0) {
            Err(OpenError::InUse { .. }) => Ok(None),
            checked => checked.map(Some).map_err(explain),
        }
    }

    /// Reads the files as they are, also where another process has it open.
    pub(crate) fn scrub(&self) -> anyhow::Result<ScrubReport> {
        let found = prony_graph_store::scrub(&self.0, &mut |_| true)?;
        found.context("it was ended")
    }

    pub(crate) fn open_for_snapshot(&self, recover: bool) -> anyhow::Result<Store> {
        Store::open_for_snapshot(&self.0, recover).map_err(explain)
    }
}

/// Whether a directory holds files of a graph itself. Databases may be called as they are.
fn is_database(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_named = name == "lock" || name.starts_with("log-") || name.starts_with("snapshot-");
        is_named && entry.path().is_file()
    })
}

fn databases(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let found = entries.filter(|entry| entry.path().is_dir() && is_database(&entry.path()));
    let mut names: Vec<String> =
        found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A graph that is open elsewhere, with the process that has it.
fn explain(error: OpenError) -> anyhow::Error {
    let OpenError::InUse { directory, .. } = &error else { return error.into() };
    let lock = directory.join("lock");
    let holder = match holder(&lock) {
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    };
    anyhow::anyhow!(
        "{holder} has the graph in {} open (it holds the lock {}); stop it first, or use its HTTP API",
        directory.display(),
        lock.display()
    )
}

/// As `PID (name)`, where the system tells.
fn holder(lock: &Path) -> Option<String> {
    let inode = fs::metadata(lock).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 12345 fe:00:1234567 0 EOF`; some file systems show other device numbers here.
    let process = locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_flock = words.next()? == "FLOCK";
        let process = words.nth(2)?;
        let file = words.next()?.rsplit(':').next()?;
        (is_flock && file.parse() == Ok(inode)).then(|| process.to_owned())
    })?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).context("it is gone").ok()?;
    Some(format!("{process} ({})", name.trim_end()))
}
