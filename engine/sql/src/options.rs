//! Options of relational sources, and settings made of what is given of them.

use prony_source::config::{Faults, OptionOf, SourceEntry, TypedValue, ValueKind};

use crate::{
    session_settings,
    settings::{RelationalSettings, ResolverModel},
    tables,
};

const RESOLVERS: &[&str] = &["subquery", "per-nest", "bucket"];

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
    OptionOf::new("connections_per_core", Some("connections-per-core"), ValueKind::Number(1, 1000), "4", "PostgreSQL connections of each core", |source, value| { source.connections_per_core = value.number() as u16; Ok(()) }),
    OptionOf::new("include_tables", Some("include-table"), ValueKind::List, "[]", "Only these tables, as \"name\" or \"schema.name\", * as a wildcard", |source, value| { source.include_tables = value.list(); Ok(()) }),
    OptionOf::new("exclude_tables", Some("exclude-table"), ValueKind::List, "[]", "Tables that are left out, * as a wildcard", |source, value| { source.exclude_tables = value.list(); Ok(()) }),
    OptionOf::SUBSCRIPTIONS,
    OptionOf::READ_ONLY,
    OptionOf::new("listen", Some("listen-changes"), ValueKind::Boolean, "false", "Whether changes that others make in a PostgreSQL database are heard of; needs `prony triggers install`", |source, value| { source.listen = value.boolean(); Ok(()) }),
];

/// Tables inside of `[[source]]` that [`configure`] reads.
pub const SECTIONS: &[&str] = &["tables", "session"];

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
