//! SQLite files as a kind of source.

use std::{
    any::Any,
    path::{Path, PathBuf},
    sync::Arc,
};

use prony_source::{
    Source,
    config::{AddressForm, ConfigOption, Faults, Opening, SourceEntry, SourceKind, SourceOpener, all},
};
use prony_sql::{
    options,
    settings::{JournalMode, RelationalSettings},
};

/// Sources at `sqlite:FILE`.
#[derive(Debug)]
pub struct SqliteKind;

/// A file, and how it is served.
#[derive(Debug)]
struct SqliteOpener {
    path: PathBuf,
    settings: RelationalSettings,
}

const PREFIX: &str = "sqlite:";

impl SourceKind for SqliteKind {
    fn address(&self) -> AddressForm {
        AddressForm { prefixes: &[PREFIX], short: "sqlite:FILE", whole: "sqlite:FILE" }
    }

    fn address_of(&self, path: &Path) -> Option<String> {
        crate::file::open::is_database(path).then(|| format!("{PREFIX}{}", path.display()))
    }

    fn options(&self) -> Vec<&'static dyn ConfigOption> {
        all(options::OPTIONS)
    }

    fn sections(&self) -> &'static [&'static str] {
        options::SECTIONS
    }

    fn taken_again(&self) -> &'static [&'static str] {
        options::TAKEN_AGAIN
    }

    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>> {
        let mut settings = options::configure(entry, faults);
        if settings.session.is_some() {
            let message =
                "[source.session] is for PostgreSQL: SQLite has no row-level security; write `rows` of roles";
            faults.push(entry.url_origin.clone(), message);
        }
        let path = entry.url.0.strip_prefix(PREFIX)?;
        let path = path.strip_prefix("//").unwrap_or(path);
        let path = match path.split_once('?') {
            // A name may have the character, too.
            Some((file, query)) if !Path::new(path).exists() => {
                for parameter in query.split('&') {
                    match parameter {
                        "mode=ro" => settings.common.read_only = true,
                        "mode=rw" => {}
                        "journal=keep" => settings.journal = JournalMode::Keep,
                        "journal=wal" => settings.journal = JournalMode::Wal,
                        _ => {
                            let message = format!(
                                "`?{parameter}`: behind a file `?mode=ro`, `?mode=rw`, `?journal=keep` and `?journal=wal` are known"
                            );
                            faults.push(entry.url_origin.clone(), message);
                        }
                    }
                }
                file
            }
            _ => path,
        };
        Some(Arc::new(SqliteOpener { path: path.into(), settings }))
    }
}

impl SourceOpener for SqliteOpener {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let source = crate::open(&self.path, &self.settings)?;
            Ok(Arc::new(source) as Arc<dyn Source>)
        })
    }

    fn with_name_prefix(&self, prefix: &str) -> Option<Arc<dyn SourceOpener>> {
        let settings = self.settings.with_name_prefix(prefix)?;
        Some(Arc::new(Self { path: self.path.clone(), settings }))
    }

    fn only_looking(&self) -> Option<Arc<dyn SourceOpener>> {
        let settings = RelationalSettings { only_looks: true, ..self.settings.clone() };
        Some(Arc::new(Self { path: self.path.clone(), settings }))
    }

    fn settings(&self) -> Option<&dyn Any> {
        Some(&self.settings)
    }
}
