//! PostgreSQL databases as a kind of source.

use std::{any::Any, ops::Range, sync::Arc};

use prony_source::{
    Source,
    config::{
        AddressForm, ConfigOption, Faults, Opening, SourceEntry, SourceKind, SourceOpener, SourceUrl, all,
    },
};
use prony_sql::{options, settings::RelationalSettings};

/// Sources at `postgres://…`.
#[derive(Debug)]
pub struct PostgresKind;

/// A database, and how it is served.
#[derive(Debug)]
struct PostgresOpener {
    url: SourceUrl,
    settings: RelationalSettings,
}

impl SourceKind for PostgresKind {
    fn address(&self) -> AddressForm {
        AddressForm {
            prefixes: &["postgres://", "postgresql://"],
            short: "postgres://…",
            whole: "postgres://USER:PASSWORD@HOST/DATABASE",
        }
    }

    fn secrets(&self, address: &str) -> Vec<Range<usize>> {
        prony_postgres_connect::secrets(address)
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
        let settings = options::configure(entry, faults);
        Some(Arc::new(PostgresOpener { url: entry.url.clone(), settings }))
    }
}

impl SourceOpener for PostgresOpener {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let source = crate::open(&self.url.0, &self.settings).await?;
            Ok(Arc::new(source) as Arc<dyn Source>)
        })
    }

    fn with_name_prefix(&self, prefix: &str) -> Option<Arc<dyn SourceOpener>> {
        let settings = self.settings.with_name_prefix(prefix)?;
        Some(Arc::new(Self { url: self.url.clone(), settings }))
    }

    fn settings(&self) -> Option<&dyn Any> {
        Some(&self.settings)
    }

    fn session_variables(&self) -> Vec<String> {
        let session = self.settings.session.iter();
        session.flat_map(|session| session.variables().map(str::to_owned)).collect()
    }
}
