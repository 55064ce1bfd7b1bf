//! Options of relational sources, and settings made of what is given of them.

use prony_source::{
    config::{Faults, OptionOf, SLOW_STATEMENT_MS, SourceEntry, TypedValue, ValueKind},
    dialect::names,
};

use crate::{
    session_settings,
    settings::{JournalMode, PoolMode, RelationalSettings, ResolverModel},
    tables,
};

const RESOLVERS: &[&str] = &["subquery", "per-nest", "bucket"];

const POOL_MODES: &[&str] = &["session", "transaction"];

const JOURNALS: &[&str] = &["wal", "keep"];

fn journal(value: &TypedValue) -> JournalMode {
    if &*value.text() == "keep" { JournalMode::Keep } else { JournalMode::Wal }
}

fn pool_mode(value: &TypedValue) -> PoolMode {
    if &*value.text() == "transaction" { PoolMode::Transaction } else { PoolMode::Session }
}

fn name_prefix(text: &str) -> Result<String, String> {
    if text.is_empty() || names::is_graphql_name(text) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is no beginning of a GraphQL name; try `{}`", names::graphql_name(text)))
}

fn resolver(value: &TypedValue) -> ResolverModel {
    match &*value.text() {
        "per-nest" => ResolverModel::PerNest,
        "bucket" => ResolverModel::Bucket,
        _ => ResolverModel::Subquery,
    }
}

/// All of them, in the order of the reference; those that are one dialect's alone change nothing at others.
#[rustfmt::skip]
pub static OPTIONS: &[OptionOf<RelationalSettings>] = &[
    OptionOf::new("resolver", Some("resolver"), ValueKind::Word(RESOLVERS), "\"subquery\"", "How nested fields reach the database: subquery, per-nest or bucket", |source, value| { source.resolver = resolver(value); Ok(()) }),
    OptionOf::DEFAULT_LIMIT,
    OptionOf::MAX_LIMIT,
    OptionOf::STATEMENT_TIMEOUT_MS,
    OptionOf::MAX_RESPONSE_BYTES,
    OptionOf::new("schemas", Some("schema"), ValueKind::List, "[]", "PostgreSQL's schemas to serve; empty means the current one", |source, value| { source.schemas = value.list(); Ok(()) }),
    OptionOf::new("connections_per_core", Some("connections-per-core"), ValueKind::Number(1, 1000), "4", "PostgreSQL connections of each core, at most, for each kind of use: reads, reads that are planned anew, mutations, reads as a role", |source, value| { source.connections_per_core = value.number() as u16; Ok(()) }),
    OptionOf::new("max_connections", Some("max-database-connections"), ValueKind::Number(1, 65_535), "80", "PostgreSQL connections of the whole process, at most; listening for changes has one more", |source, value| { source.max_connections = value.number() as u16; Ok(()) }),
    OptionOf::new("max_waiting", None, ValueKind::Number(0, 1_000_000), "1024", "Requests of each core that may wait for a connection to an upstream or to PostgreSQL, there for each kind of use; more are refused", |source, value| { source.max_waiting = value.number() as u32; Ok(()) }),
    OptionOf::new("lock_timeout_ms", None, ValueKind::Number(0, 86_400_000), "5000", "The longest that a statement waits for a lock that others hold in PostgreSQL; 0 for as long as statement_timeout_ms", |source, value| { source.lock_timeout_ms = value.number() as u32; Ok(()) }),
    OptionOf::new("connect_wait_ms", None, ValueKind::Number(0, 3_600_000), "15000", "How long the start waits for a PostgreSQL that is not up yet", |source, value| { source.connect_wait_ms = value.number() as u32; Ok(()) }),
    OptionOf::new("pool_mode", None, ValueKind::Word(POOL_MODES), "\"session\"", "For how long a pooler in front of PostgreSQL gives a connection: session (also without a pooler) or transaction, as PgBouncer's pool_mode", |source, value| { source.pool_mode = pool_mode(value); Ok(()) }),
    OptionOf::with(SLOW_STATEMENT_MS, |source, value| { source.slow_statement_ms = value.number() as u32; Ok(()) }),
    OptionOf::new("slow_statement_plan", None, ValueKind::Boolean, "false", "Whether SQLite and PostgreSQL are asked for the plan of slow reads too (EXPLAIN), at most once in ten seconds on a core", |source, value| { source.slow_statement_plan = value.boolean(); Ok(()) }),
    OptionOf::new("include_tables", Some("include-table"), ValueKind::List, "[]", "Only these tables, as \"name\" or \"schema.name\", * as a wildcard", |source, value| { source.include_tables = value.list(); Ok(()) }),
    OptionOf::new("exclude_tables", Some("exclude-table"), ValueKind::List, "[]", "Tables that are left out, * as a wildcard", |source, value| { source.exclude_tables = value.list(); Ok(()) }),
    OptionOf::new("name_prefix", None, ValueKind::Text, "\"\"", "What names of types and root fields begin with; without it, the source's name where another source has one of them already", |source, value| { source.name_prefix = name_prefix(&value.text())?; Ok(()) }),
    OptionOf::SUBSCRIPTIONS,
    OptionOf::READ_ONLY,
    OptionOf::new("listen", Some("listen-changes"), ValueKind::Boolean, "false", "Whether changes that others make in a PostgreSQL database are heard of; needs `prony triggers install`", |source, value| { source.listen = value.boolean(); Ok(()) }),
    OptionOf::new("schema_check_ms", None, ValueKind::Number(0, 86_400_000), "1000", "How often a SQLite or PostgreSQL database is asked whether its tables have changed; 0 for at SIGHUP and after statements that fail because of that alone", |source, value| { source.schema_check_ms = value.number() as u32; Ok(()) }),
    OptionOf::new("journal", Some("journal"), ValueKind::Word(JOURNALS), "\"wal\"", "Whether a SQLite file that is written is switched to WAL, in which readers and the writer do not wait for each other, or keeps its journal as it is", |source, value| { source.journal = journal(value); Ok(()) }),
];

/// Tables inside of `[[source]]` that [`configure`] reads.
pub const SECTIONS: &[&str] = &["tables", "session"];

/// Options and tables that count while a source is served, where the configuration is read again.
pub const TAKEN_AGAIN: &[&str] = &["read_only", "include_tables", "exclude_tables", "name_prefix", "tables"];

/// The settings of a source as its user has given them.
pub fn configure(entry: &SourceEntry<'_>, faults: &mut Faults) -> RelationalSettings {
    let mut settings = RelationalSettings::default();
    entry.apply(OPTIONS, &mut settings);
    settings.common.check(entry, faults);
    if let Some(section) = entry.section("tables") {
        settings.tables = tables::read(section, faults);
    }
    settings.session = entry.section("session").map(|section| session_settings::read(section, faults));
    settings
}
