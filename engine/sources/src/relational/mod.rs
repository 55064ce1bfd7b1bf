//! Relational databases as a source: SQLite and PostgreSQL.
//!
//! [`catalog`] holds what the database says, [`model`] what is served of it and under which names, [`plan`]
//! what one root field needs, free of any dialect. The `sqlite` and `postgres` modules turn plans into
//! statements and run them.

pub mod catalog;
pub mod changes;
pub mod contribution;
mod example;
pub mod live;
pub mod lower;
mod lower_filter;
pub mod model;
pub mod nest;
pub mod plan;
pub mod postgres;
pub mod settings;
pub mod source;
pub mod sql;
pub mod sqlite;

use std::{error::Error, path::Path, sync::Arc};

use prony_source::Source;

use self::settings::RelationalSettings;

/// Opens the database at `sqlite:FILE` or `postgres://…`.
///
/// # Errors
/// Why it cannot be served.
pub async fn open(
    address: &str,
    settings: &RelationalSettings,
) -> Result<Arc<dyn Source>, Box<dyn Error + Send + Sync>> {
    match address.strip_prefix("sqlite:") {
        Some(path) => {
            let path = path.strip_prefix("//").unwrap_or(path);
            Ok(Arc::new(sqlite::open(Path::new(path), settings)?))
        }
        None => Ok(Arc::new(postgres::open(address, settings).await?)),
    }
}
