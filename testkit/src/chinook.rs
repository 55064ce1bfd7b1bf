//! The Chinook sample database (a music shop), the same rows for SQLite and for PostgreSQL.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::postgres::TestDatabase;

/// The SQLite file as committed. Open it read-only, or take a [`sqlite_copy`].
pub fn sqlite_path() -> PathBuf {
    data_directory().join("chinook.sqlite")
}

/// SQL text that fills an empty PostgreSQL database.
pub fn postgres_path() -> PathBuf {
    data_directory().join("chinook.postgres.sql")
}

/// A SQLite file of its own for a test that writes; removed on drop.
#[derive(Debug)]
pub struct SqliteCopy {
    directory: TempDir,
}

impl SqliteCopy {
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("chinook.sqlite")
    }
}

/// # Panics
/// When the sample file is missing or the temporary directory cannot be written.
pub fn sqlite_copy() -> SqliteCopy {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let copy = SqliteCopy { directory };
    let bytes = read(&sqlite_path());
    fs::write(copy.path(), bytes).expect("the copy can be written");
    copy
}

/// A database of the shared cluster with Chinook's tables in schema `public`.
///
/// # Panics
/// When PostgreSQL or the sample file is missing.
pub fn postgres_database() -> TestDatabase {
    let database = TestDatabase::create();
    let text = String::from_utf8(read(&postgres_path())).expect("the sample is UTF-8");
    database.execute(&text);
    database
}

fn data_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/chinook")
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error: io::Error| panic!("cannot read {}: {error}", path.display()))
}
