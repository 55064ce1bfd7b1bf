//! Looks at the tables of a database file while it is served, over a connection of its own on threads that may block.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    sync::Arc,
};

use prony_sql::{
    catalog::Catalog,
    follow::{CatalogReader, CatalogVersion},
};
use rusqlite::{Connection, Error};

use super::{
    discover::{DiscoverError, discover},
    open::{Identity, Opener},
};

/// Opens its connection when it first looks, and again when the file is another one.
#[derive(Debug)]
pub struct SqliteCatalogReader {
    opener: Arc<Opener>,
    file: Option<OpenedFile>,
}

#[derive(Debug)]
struct OpenedFile {
    connection: Connection,
    identity: Option<Identity>,
}

impl SqliteCatalogReader {
    pub(crate) fn new(opener: &Arc<Opener>) -> Self {
        Self { opener: Arc::clone(opener), file: None }
    }

    async fn look<T: Send + 'static>(
        &mut self,
        look: impl FnOnce(&OpenedFile) -> Result<T, DiscoverError> + Send + 'static,
    ) -> Result<T, String> {
        let (opener, file) = (Arc::clone(&self.opener), self.file.take());
        let looked = tokio::task::spawn_blocking(move || {
            let file = opener.current(file).map_err(|error| error.to_string())?;
            let found = look(&file).map_err(|error| error.described());
            Ok::<_, String>((found, file))
        });
        let (found, file) = looked.await.map_err(|error| error.to_string())??;
        self.file = Some(file);
        found
    }
}

impl Opener {
    /// The connection where it is of the file that is there now, else a new one.
    fn current(&self, file: Option<OpenedFile>) -> Result<OpenedFile, Error> {
        let identity = Identity::of(&self.path);
        match file {
            Some(file) if file.identity == identity => Ok(file),
            _ => Ok(OpenedFile { connection: self.reader(self.busy_timeout)?, identity }),
        }
    }
}

impl CatalogReader for SqliteCatalogReader {
    async fn version(&mut self) -> Result<CatalogVersion, String> {
        self.look(|OpenedFile { connection, identity }| Ok(version(connection, *identity)?)).await
    }

    async fn read(&mut self) -> Result<(CatalogVersion, Catalog), String> {
        self.look(|OpenedFile { connection, identity }| read(connection, *identity)).await
    }

    /// SQLite tells other processes nothing.
    async fn told(&mut self) {
        std::future::pending::<()>().await;
    }

    fn is_told(&self) -> bool {
        false
    }
}

/// The catalog of the file that a connection was opened on.
pub(crate) fn read_opened(
    connection: &Connection,
    path: &Path,
) -> Result<(CatalogVersion, Catalog), DiscoverError> {
    read(connection, Identity::of(path))
}

/// Both from one snapshot.
fn read(
    connection: &Connection,
    identity: Option<Identity>,
) -> Result<(CatalogVersion, Catalog), DiscoverError> {
    let transaction = connection.unchecked_transaction()?;
    let version = version(&transaction, identity)?;
    let catalog = discover(&transaction)?;
    transaction.finish()?;
    Ok((version, catalog))
}

/// SQLite counts changes of the schema in the file's header (<https://sqlite.org/pragma.html#pragma_schema_version>); another file may
/// have the same number.
fn version(connection: &Connection, identity: Option<Identity>) -> Result<CatalogVersion, Error> {
    let number: i64 = connection.query_row("PRAGMA main.schema_version", [], |row| row.get(0))?;
    let mut hasher = DefaultHasher::new();
    (identity, number).hash(&mut hasher);
    Ok(CatalogVersion(hasher.finish()))
}
