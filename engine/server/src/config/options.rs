//! The table of options. Flags, help, the keys of the file and the reference in `docs/configuration.md` come
//! from it.

use prony_graph::{GraphSettings, durability, graph_index};
use std::{net::SocketAddr, time::Duration};

use prony_sql::settings::RelationalSettings;

use super::{
    settings::{CoreChoice, LogFormat, RESOLVERS, Settings, resolver},
    value::{Kind, TypedValue},
};

/// The table of the file in which an option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Server,
    Graphql,
    Subscriptions,
    Log,
    /// In each `[[source]]`; as a flag it holds for all sources.
    Source,
}

impl Section {
    /// The table's name.
    pub fn key(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Graphql => "graphql",
            Self::Subscriptions => "subscriptions",
            Self::Log => "log",
            Self::Source => "source",
        }
    }
}

/// What an option changes; the error says what is wrong with the value.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Settings(fn(&mut Settings, &TypedValue) -> Result<(), String>),
    Source(fn(&mut RelationalSettings, &TypedValue)),
    Graph(fn(&mut GraphSettings, &TypedValue) -> Result<(), String>),
}

/// One option.
#[derive(Clone, Copy)]
pub struct OptionSpec {
    pub section: Section,
    /// The key in the file.
    pub key: &'static str,
    /// The flag without dashes; none for options that only the file has.
    pub flag: Option<&'static str>,
    pub kind: Kind,
    /// As it would be written in a file.
    pub default: &'static str,
    pub help: &'static str,
    pub(super) effect: Effect,
}

impl std::fmt::Debug for OptionSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.section.key(), self.key)
    }
}

impl TypedValue {
    fn number(&self) -> u64 {
        if let Self::Number(number) = self { *number } else { 0 }
    }

    fn size(&self) -> usize {
        usize::try_from(self.number()).unwrap_or(usize::MAX)
    }

    fn milliseconds(&self) -> Duration {
        Duration::from_millis(self.number())
    }

    fn boolean(&self) -> bool {
        matches!(self, Self::Boolean(true))
    }

    fn text(&self) -> String {
        if let Self::Text(text) = self { text.clone() } else { String::new() }
    }

    fn list(&self) -> Vec<String> {
        if let Self::List(list) = self { list.clone() } else { Vec::new() }
    }
}

/// `set!(field, reader)`: an effect that stores what the reader makes of the value.
macro_rules! set {
    ($($field:ident).+, $reader:ident) => {
        Effect::Settings(|settings, value| {
            settings.$($field).+ = value.$reader();
            Ok(())
        })
    };
}

macro_rules! set_source {
    ($field:ident, $($convert:tt)+) => {
        Effect::Source(|source, value| source.$field = ($($convert)+)(value))
    };
}

macro_rules! set_common {
    ($field:ident, $($convert:tt)+) => {
        Effect::Source(|source, value| source.common.$field = ($($convert)+)(value))
    };
}

const DAY_MS: u64 = 86_400_000;
const BYTES: Kind = Kind::Number(1, 1 << 40);
const COUNT: Kind = Kind::Number(1, 1_000_000_000);
const MILLISECONDS: Kind = Kind::Number(1, DAY_MS);

const fn option(
    section: Section,
    key: &'static str,
    flag: Option<&'static str>,
    kind: Kind,
    default: &'static str,
    help: &'static str,
    effect: Effect,
) -> OptionSpec {
    OptionSpec { section, key, flag, kind, default, help, effect }
}

use Section::{Graphql, Log, Server, Source, Subscriptions};

/// All options, in the order of the reference.
#[rustfmt::skip]
pub static OPTIONS: &[OptionSpec] = &[
    option(Server, "listen", Some("listen"), Kind::List, "[\"127.0.0.1:8080\"]", "ADDRESS:PORT to listen on; repeatable; port 7243 where only a graph is served", Effect::Settings(listen)),
    option(Server, "cpus", Some("cpus"), Kind::Number(1, 1024), "all", "How many processors to use, one core thread each", Effect::Settings(|settings, value| { settings.cores = CoreChoice::Count(value.size()); Ok(()) })),
    option(Server, "cores", Some("cores"), Kind::List, "[]", "The processors to use, one core thread held on each: \"0,2\" or \"0-3\"", Effect::Settings(cores)),
    option(Server, "max_connections", Some("max-connections"), COUNT, "50000", "Connections over all cores; one more gets a 503", set!(max_connections, size)),
    option(Server, "header_timeout_ms", None, MILLISECONDS, "60000", "Time from a connection's start or its last response to the end of a request's headers", set!(header_timeout, milliseconds)),
    option(Server, "body_timeout_ms", None, MILLISECONDS, "30000", "Time from the end of the headers to the end of the body; more gets a 408", set!(body_timeout, milliseconds)),
    option(Server, "write_timeout_ms", None, MILLISECONDS, "30000", "How long a client may leave a response unread", set!(write_timeout, milliseconds)),
    option(Server, "max_header_bytes", None, Kind::Number(8192, 1 << 20), "32768", "Bytes of a request's line and headers; more gets a 431; 98304 where a graph is served", set!(max_header_bytes, size)),
    option(Server, "max_headers", None, Kind::Number(1, 10_000), "100", "Headers of a request; more gets a 431", set!(max_headers, size)),
    option(Server, "max_uri_bytes", None, Kind::Number(16, 65_534), "16384", "Bytes of a request's path and query; more gets a 414; 65534 where a graph is served", set!(max_uri_bytes, size)),
    option(Server, "max_body_bytes", None, BYTES, "1048576", "Bytes of a request's body; more gets a 413", set!(max_body_bytes, size)),
    option(Server, "max_bulk_bytes", None, BYTES, "68719476736", "Bytes of a bulk creation's body, which is read and done piece by piece; more gets a 413", set!(max_bulk_bytes, number)),
    option(Server, "grace_ms", Some("grace-ms"), Kind::Number(0, DAY_MS), "10000", "How long requests in flight may take after the signal to stop", set!(grace, milliseconds)),
    option(Server, "cors_origins", Some("cors-origin"), Kind::List, "[]", "Origins whose pages may call (\"*\" for all); empty allows none", set!(cors_origins, list)),
    option(Server, "console", Some("console"), Kind::Boolean, "true", "Whether / answers with GraphiQL", set!(console, boolean)),
    option(Graphql, "introspection", Some("introspection"), Kind::Boolean, "true", "Whether __schema and __type are answered", set!(limits.introspection, boolean)),
    option(Graphql, "max_depth", Some("max-depth"), COUNT, "15", "Nested object levels below the root", set!(limits.max_depth, size)),
    option(Graphql, "max_complexity", Some("max-complexity"), Kind::Number(1, u32::MAX as u64 * 1000), "100000000", "Fields that an operation may answer with at most; lists count for their limits", set!(limits.max_complexity, number)),
    option(Graphql, "max_document_bytes", None, BYTES, "131072", "Bytes of a document", set!(limits.max_document_bytes, size)),
    option(Graphql, "max_tokens", None, COUNT, "10000", "Tokens of a document", set!(limits.max_tokens, size)),
    option(Graphql, "max_aliases", None, COUNT, "1000", "Fields with an alias", set!(limits.max_aliases, size)),
    option(Graphql, "max_root_fields", None, COUNT, "100", "Root fields; each may be a statement at a database", set!(limits.max_root_fields, size)),
    option(Graphql, "max_fields", None, COUNT, "2500", "Fields after fragments are expanded", set!(limits.max_fields, size)),
    option(Graphql, "max_variables", None, COUNT, "256", "Variables of an operation", set!(limits.max_variables, size)),
    option(Graphql, "max_directives", None, COUNT, "500", "Directives of a document", set!(limits.max_directives, size)),
    option(Graphql, "max_definitions", None, COUNT, "100", "Operations and fragments of a document", set!(limits.max_definitions, size)),
    option(Graphql, "max_nesting", None, Kind::Number(1, 500), "64", "Nesting of selections, fragments included, and of list and object literals", set!(limits.max_nesting, size)),
    option(Graphql, "max_shape_bytes", None, BYTES, "16384", "Bytes of the shape of variables, about five for each key of an input object", set!(limits.max_shape_bytes, size)),
    option(Graphql, "max_introspection_bytes", None, BYTES, "16777216", "Bytes that a root field __schema or __type may answer with", set!(limits.max_introspection_bytes, size)),
    option(Graphql, "max_introspection_fields", None, COUNT, "4", "__schema and __type in a document", set!(limits.max_introspection_fields, size)),
    option(Graphql, "plan_cache_bytes", None, BYTES, "67108864", "Bytes of documents and plans that are kept", set!(plan_cache_bytes, number)),
    option(Graphql, "persisted_documents", Some("persisted-documents"), Kind::Text, "\"\"", "Documents that requests may name: a directory of .graphql files, or a JSON file of ids and texts", Effect::Settings(|settings, value| { settings.documents.path = value.text().into(); Ok(()) })),
    option(Graphql, "only_persisted_documents", Some("only-persisted-documents"), Kind::Boolean, "false", "Whether no other documents are answered", set!(documents.only, boolean)),
    option(Graphql, "automatic_documents_bytes", None, Kind::Number(0, 1 << 40), "4194304", "Bytes of documents that clients may register by their checksum; 0 for none", set!(documents.automatic_bytes, number)),
    option(Graphql, "expose_database_errors", Some("expose-database-errors"), Kind::Boolean, "false", "Whether clients see the database's own texts", set!(expose_database_errors, boolean)),
    option(Subscriptions, "max_operations", None, COUNT, "100", "Operations that are open at a time on one WebSocket or reserved stream", set!(subscriptions.max_operations, size)),
    option(Subscriptions, "max_queued_messages", None, COUNT, "1000", "Messages that wait for a client that does not read; one more cuts it", set!(subscriptions.max_queued_messages, size)),
    option(Subscriptions, "max_queued_bytes", None, BYTES, "4194304", "Bytes of messages that wait for a client; more cut it", set!(subscriptions.max_queued_bytes, size)),
    option(Subscriptions, "max_message_bytes", None, BYTES, "1048576", "Bytes of one message of a client", set!(subscriptions.max_message_bytes, size)),
    option(Subscriptions, "init_timeout_ms", None, MILLISECONDS, "3000", "Time from the opening of a WebSocket to its connection_init", set!(subscriptions.init_timeout, milliseconds)),
    option(Subscriptions, "ping_interval_ms", None, MILLISECONDS, "30000", "How often a WebSocket is pinged, and a quiet stream gets a comment", set!(subscriptions.ping_interval, milliseconds)),
    option(Subscriptions, "ping_timeout_ms", None, MILLISECONDS, "10000", "How long a WebSocket may be silent after a ping", set!(subscriptions.ping_timeout, milliseconds)),
    option(Subscriptions, "live_interval_ms", None, MILLISECONDS, "50", "Time between two answers of one live query, however often its tables change", set!(subscriptions.live_interval, milliseconds)),
    option(Subscriptions, "max_reservations", None, COUNT, "10000", "Streams that are reserved and not opened yet", set!(subscriptions.max_reservations, size)),
    option(Subscriptions, "reservation_timeout_ms", None, MILLISECONDS, "10000", "How long a reserved stream may wait to be opened", set!(subscriptions.reservation_timeout, milliseconds)),
    option(Log, "level", Some("log-level"), Kind::Text, "\"info\"", "error, warn, info, debug, trace, or a filter such as \"info,prony_server=debug\"", set!(log_level, text)),
    option(Log, "format", Some("log-format"), Kind::Word(&["text", "json"]), "\"text\"", "How log lines are written: text or json", Effect::Settings(|settings, value| { settings.log_format = if value.text() == "json" { LogFormat::Json } else { LogFormat::Text }; Ok(()) })),
    option(Source, "resolver", Some("resolver"), Kind::Word(RESOLVERS), "\"subquery\"", "How nested fields reach the database: subquery, per-nest or bucket", set_source!(resolver, |value: &TypedValue| resolver(&value.text()))),
    option(Source, "default_limit", Some("default-limit"), Kind::Number(1, u32::MAX as u64), "100", "Rows of a list without `limit`", set_common!(default_limit, |value: &TypedValue| value.number() as u32)),
    option(Source, "max_limit", Some("max-limit"), Kind::Number(1, u32::MAX as u64), "10000", "The highest `limit`", set_common!(max_limit, |value: &TypedValue| value.number() as u32)),
    option(Source, "statement_timeout_ms", Some("statement-timeout-ms"), Kind::Number(1, DAY_MS), "10000", "After which a statement is cancelled at the database", set_common!(statement_timeout_ms, |value: &TypedValue| value.number() as u32)),
    option(Source, "max_response_bytes", None, BYTES, "67108864", "Bytes that one root field's answer may have", set_common!(max_response_bytes, TypedValue::size)),
    option(Source, "schemas", Some("schema"), Kind::List, "[]", "PostgreSQL's schemas to serve; empty means the current one", set_source!(schemas, TypedValue::list)),
    option(Source, "connections_per_core", Some("connections-per-core"), Kind::Number(1, 1000), "4", "PostgreSQL connections of each core", set_source!(connections_per_core, |value: &TypedValue| value.number() as u16)),
    option(Source, "include_tables", Some("include-table"), Kind::List, "[]", "Only these tables, as \"name\" or \"schema.name\", * as a wildcard", set_source!(include_tables, TypedValue::list)),
    option(Source, "exclude_tables", Some("exclude-table"), Kind::List, "[]", "Tables that are left out, * as a wildcard", set_source!(exclude_tables, TypedValue::list)),
    option(Source, "subscriptions", Some("subscriptions"), Kind::Boolean, "true", "Whether there are subscriptions to a database's tables", set_common!(subscriptions, TypedValue::boolean)),
    option(Source, "listen", Some("listen-changes"), Kind::Boolean, "false", "Whether changes that others make in a PostgreSQL database are heard of; needs `prony triggers install`", set_source!(listen, TypedValue::boolean)),
    option(Source, "durability", Some("durability"), Kind::Text, "\"sync\"", "When a graph's write is answered: sync (it is on the disk), interval=MS (it is there within so many milliseconds), off (at once)", Effect::Graph(|graph, value| { graph.durability = durability(&value.text())?; Ok(()) })),
    option(Source, "recover", Some("recover"), Kind::Boolean, "false", "Whether a damaged graph is opened without what is damaged; the log says what is lost", Effect::Graph(|graph, value| { graph.recover = value.boolean(); Ok(()) })),
    option(Source, "snapshot_at_log_bytes", None, Kind::Number(4096, 1 << 40), "268435456", "Bytes of a graph's log after which a snapshot is taken; at least twice the last snapshot", Effect::Graph(|graph, value| { graph.snapshot_at_log_bytes = value.number(); Ok(()) })),
    option(Source, "indexes", None, Kind::List, "[]", "Indexes of a graph, as \"nodes/User/age/integer\" or \"relationships/KNOWS/since/integer\": made at the start, with type and property, where they are absent", Effect::Graph(|graph, value| { graph.indexes = value.list().iter().map(|text| graph_index(text)).collect::<Result<_, _>>()?; Ok(()) })),
];

fn listen(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    let read = |text: &String| {
        text.parse::<SocketAddr>().map_err(|_| {
            format!("`{text}` is no address; write ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:8080")
        })
    };
    settings.listen = value.list().iter().map(read).collect::<Result<_, _>>()?;
    if settings.listen.is_empty() {
        return Err("at least one ADDRESS:PORT is needed".to_owned());
    }
    Ok(())
}

/// Linux' own limit on processor numbers in a mask.
const HIGHEST_PROCESSOR: usize = 1023;

fn cores(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    let mut chosen = Vec::new();
    for part in value.list().iter().flat_map(|part| part.split(',')).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last <= HIGHEST_PROCESSOR => {
                chosen.extend(first..=last);
            }
            _ => return Err(format!("`{part}` names no processors; write numbers such as 0,2 or 0-3")),
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    if !chosen.is_empty() {
        settings.cores = CoreChoice::List(chosen);
    }
    Ok(())
}

/// The options of a section.
pub(super) fn of(section: Section) -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter(move |option| option.section == section)
}
