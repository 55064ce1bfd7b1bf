//! Opens connections to a database file, and says clearly why one cannot be opened.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{ErrorKind, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use prony_sql::settings::{JournalMode, RelationalSettings};
use rusqlite::{Connection, OpenFlags, config::DbConfig, ffi};
use thiserror::Error;

use crate::file::discover::DiscoverError;

/// KiB of pages that one connection keeps at most, taken as they are read. The operating system's cache stands
/// behind it at the price of a system call a page, which random look-ups in a larger file pay again and again.
const CACHE_KIB: i32 = 64 * 1024;

/// Bytes of the WAL file that are kept after a checkpoint.
const WAL_LIMIT_BYTES: i32 = 64 << 20;

/// Between two attempts at what another program holds up.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Why a database file could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("there is no file `{}`: check the path (a missing database is not created)", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is a directory, not a database file", path.display())]
    Directory { path: PathBuf },
    #[error("`{}` is no SQLite database", path.display())]
    NotADatabase { path: PathBuf },
    #[error(
        "`{}` is locked by another program and was not released within {waited_ms} ms: end that program's \
         transaction", path.display()
    )]
    Locked { path: PathBuf, waited_ms: u128 },
    #[error(
        "`{}` cannot be opened: its disk is full, and SQLite makes two small files beside it; make room",
        path.display()
    )]
    DiskFull { path: PathBuf },
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("`{}` cannot be opened: {source}", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error("`{}` cannot be served: {source}", path.display())]
    Discover { path: PathBuf, source: DiscoverError },
    #[error("threads for `{}` cannot be started: {source}", path.display())]
    Threads { path: PathBuf, source: std::io::Error },
}

/// Which file a connection was opened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// `None` where the file is gone.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// How connections to one file are opened.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    pub(crate) path: PathBuf,
    pub(crate) busy_timeout: Duration,
    /// The file lies where nothing can be written, not even the WAL's index: SQLite then reads it as it is.
    pub(crate) immutable: bool,
}

impl Opener {
    /// A connection that only reads.
    pub(crate) fn reader(&self, busy_timeout: Duration) -> Result<Connection, rusqlite::Error> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, busy_timeout)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// The connection that writes.
    pub(crate) fn writer(&self) -> Result<Connection, rusqlite::Error> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, self.busy_timeout)?;
        // A column that is gone must not become a text of its name. Readers name their tables with each column
        // and leave this to the views of older databases, which may write texts in double quotes.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
        Ok(connection)
    }

    fn connect(&self, mode: OpenFlags, busy_timeout: Duration) -> Result<Connection, rusqlite::Error> {
        // Each connection stays on one thread, so SQLite need not lock it.
        let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if self.immutable {
            let uri = format!("file:{}?immutable=1", uri_path(&self.path));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
        } else {
            Connection::open_with_flags(&self.path, flags)?
        };
        connection.busy_timeout(busy_timeout)?;
        // Plans depend on the statement's text only. Without this, a database with statistics plans a
        // statement again for each value that is bound (https://sqlite.org/queryplanner-ng.html#qpsg).
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // A schema is data from elsewhere: its views and triggers call no functions with effects.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        Ok(connection)
    }
}

/// What the first look at a file found out.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) opener: Opener,
    /// Why nothing can be written, where that is so.
    pub(crate) read_only: Option<String>,
    pub(crate) connection: Connection,
}

/// Whether a file is to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writing {
    /// For this reason it is not.
    No(&'static str),
    Yes(JournalMode),
}

impl Writing {
    pub(crate) fn of(settings: &RelationalSettings) -> Self {
        if settings.common.read_only {
            Self::No("`read_only` is set")
        } else if settings.only_looks {
            Self::No("it is only looked at")
        } else {
            Self::Yes(settings.journal)
        }
    }
}

/// Checks the file, switches it to WAL where it can and may be written, and opens a first reader.
pub(crate) fn open(path: &Path, busy_timeout: Duration, writing: Writing) -> Result<Opened, OpenError> {
    check_file(path)?;
    let mut opener = Opener { path: path.to_owned(), busy_timeout, immutable: false };
    let read_only = match writing {
        Writing::No(reason) => Some(reason.to_owned()),
        Writing::Yes(journal) => prepare_writing(&opener, journal)?,
    };
    let connection = match opener.reader(busy_timeout).and_then(touch) {
        Err(error) if read_only.is_some() && is_kept_from_its_wal(&error) => {
            opener.immutable = true;
            tracing::info!(path = %path.display(), "read as immutable: its WAL cannot be used where it lies");
            opener.reader(busy_timeout).and_then(touch)
        }
        other => other,
    };
    let connection = connection.map_err(|error| classify(path, busy_timeout, error))?;
    Ok(Opened { opener, read_only, connection })
}

/// Whether a file is there that says of itself that it is a database.
pub(crate) fn is_database(path: &Path) -> bool {
    // An empty one says nothing.
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) && check_file(path).is_ok()
}

fn check_file(path: &Path) -> Result<(), OpenError> {
    let path_buf = || path.to_owned();
    let unreadable = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => OpenError::Missing { path: path_buf() },
        _ => OpenError::Unreadable { path: path_buf(), source },
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(OpenError::Directory { path: path_buf() });
    }
    // An empty file is an empty database (https://sqlite.org/fileformat.html#the_database_header).
    if metadata.len() > 0 {
        let mut header = [0; 16];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
        match read {
            Ok(()) if header == *b"SQLite format 3\0" => {}
            Ok(()) => return Err(OpenError::NotADatabase { path: path_buf() }),
            Err(source) if source.kind() == ErrorKind::UnexpectedEof => {
                return Err(OpenError::NotADatabase { path: path_buf() });
            }
            Err(source) => return Err(unreadable(source)),
        }
    }
    Ok(())
}

/// Switches to WAL, so that readers and the writer do not wait for each other, unless the file is to keep its journal. Gives the reason where
/// the file cannot be written.
fn prepare_writing(opener: &Opener, journal: JournalMode) -> Result<Option<String>, OpenError> {
    let path = &opener.path;
    let connection = match opener.writer() {
        Ok(connection) => connection,
        // Where its folder is read-only, the index of a WAL cannot be made, and SQLite says so as soon as it reads.
        Err(error) if is_kept_from_its_wal(&error) => {
            return Ok(Some("the file cannot be opened for writing".into()));
        }
        Err(error) => return Err(classify(path, opener.busy_timeout, error)),
    };
    // SQLite falls back to reading by itself where the file's permissions ask for it.
    if connection.is_readonly("main").unwrap_or(true) {
        return Ok(Some("the file is read-only".into()));
    }
    let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    let mode = mode.map_err(|error| classify(path, opener.busy_timeout, error))?;
    if mode == "wal" {
        return Ok(None);
    }
    if journal == JournalMode::Keep {
        tracing::info!(path = %path.display(), mode, "the database keeps its journal: writing holds up reading");
        return Ok(None);
    }
    match switch_to_wal(&connection, opener.busy_timeout) {
        Ok(now) if now == "wal" => {
            tracing::info!(path = %path.display(), before = mode, "switched the database to WAL");
            Ok(None)
        }
        Ok(now) => {
            tracing::warn!(path = %path.display(), mode = now, "the database cannot use WAL: writing holds up reading");
            Ok(None)
        }
        Err(error) if is_read_only(&error) || is_cannot_open(&error) => {
            Ok(Some("the file's directory is read-only".into()))
        }
        Err(error) => Err(classify(path, opener.busy_timeout, error)),
    }
}

/// The mode of the journal from now on. SQLite itself waits for nobody here, and another server may be about to do the same.
fn switch_to_wal(connection: &Connection, busy_timeout: Duration) -> Result<String, rusqlite::Error> {
    let deadline = Instant::now() + busy_timeout;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0)) {
            Err(error) if is_busy(&error) && Instant::now() < deadline => thread::sleep(BUSY_PAUSE),
            other => return other,
        }
    }
}

/// Makes SQLite read the file, which opening alone does not.
fn touch(connection: Connection) -> Result<Connection, rusqlite::Error> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

fn classify(path: &Path, waited: Duration, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match primary_code(&source) {
        _ if is_busy(&source) => OpenError::Locked { path, waited_ms: waited.as_millis() },
        _ if is_full(&source) => OpenError::DiskFull { path },
        Some(ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT) => OpenError::NotADatabase { path },
        _ => OpenError::Sqlite { path, source },
    }
}

fn is_cannot_open(error: &rusqlite::Error) -> bool {
    matches!(primary_code(error), Some(ffi::SQLITE_CANTOPEN))
}

/// Whether a WAL, or its index, can be neither opened nor made. A journal that must be rolled back first is another matter: what it would undo
/// must not be read.
fn is_kept_from_its_wal(error: &rusqlite::Error) -> bool {
    let extended = match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
        _ => return false,
    };
    is_cannot_open(error)
        || [ffi::SQLITE_READONLY_DIRECTORY, ffi::SQLITE_READONLY_CANTINIT].contains(&extended)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(primary_code(error), Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED))
}

/// The index of the WAL has no room, which is another fault than that of the file itself.
fn is_full(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return false };
    [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE].contains(&failure.extended_code)
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(primary_code(error), Some(ffi::SQLITE_READONLY))
}

fn primary_code(error: &rusqlite::Error) -> Option<i32> {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code & 0xff),
        _ => None,
    }
}

/// A path within a `file:` URI (<https://sqlite.org/uri.html>).
fn uri_path(path: &Path) -> String {
    let mut uri = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to memory");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_such() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let message = classify(Path::new("shop.db"), Duration::ZERO, error).to_string();
            assert!(message.contains("its disk is full"), "{message}");
        }
    }
}
