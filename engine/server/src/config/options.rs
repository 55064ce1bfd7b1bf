//! The server's options. Flags, help, the keys of the file and the reference in `docs/configuration.md` come from these
//! tables and from those of the kinds of sources.

use std::{net::SocketAddr, path::PathBuf};

use prony_access::WhenUnreachable;
use prony_source::config::{ConfigOption, Kinds, OptionOf, OptionSpec, TypedValue, ValueKind};

use super::{
    settings::{AccessLogForm, CoreChoice, LogFormat, Settings},
    traces,
};
use crate::tls::{ClientCertificates, TlsVersion};

/// The table of the file in which an option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Server,
    Tls,
    Graphql,
    Subscriptions,
    /// What rules for operations share.
    Limits,
    Log,
    Traces,
    /// In each `[[source]]`; as a flag it holds for all sources.
    Source,
}

impl Section {
    /// Those that have their options from the server.
    pub(super) const OF_SERVER: [Self; 7] =
        [Self::Server, Self::Tls, Self::Graphql, Self::Subscriptions, Self::Limits, Self::Log, Self::Traces];

    /// The options that the server has there; those of sources are their kinds'.
    pub(super) fn options(self) -> &'static [OptionOf<Settings>] {
        match self {
            Self::Server => SERVER,
            Self::Tls => TLS,
            Self::Graphql => GRAPHQL,
            Self::Subscriptions => SUBSCRIPTIONS,
            Self::Limits => LIMITS,
            Self::Log => LOG,
            Self::Traces => TRACES,
            Self::Source => &[],
        }
    }

    /// The table's name.
    pub fn key(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tls => "tls",
            Self::Graphql => "graphql",
            Self::Subscriptions => "subscriptions",
            Self::Limits => "limits",
            Self::Log => "log",
            Self::Traces => "traces",
            Self::Source => "source",
        }
    }
}

/// One option as it is listed.
#[derive(Debug, Clone)]
pub struct ListedOption {
    pub section: Section,
    pub option: &'static dyn ConfigOption,
    /// With the other defaults that kinds of sources bring.
    pub help: String,
}

impl ListedOption {
    pub fn spec(&self) -> &'static OptionSpec {
        self.option.spec()
    }
}

/// All options of a server that knows these kinds of sources, in the order of the reference.
///
/// # Panics
/// Where kinds give one key two meanings.
pub fn options(kinds: Kinds<'_>) -> Vec<ListedOption> {
    let listed = |section, option: &'static dyn ConfigOption| {
        let mut help = option.spec().help.to_owned();
        let defaults = kinds.iter().flat_map(|kind| kind.server_defaults());
        for other in defaults.filter(|other| section == Section::Server && other.key == option.spec().key) {
            help.push_str("; ");
            help.push_str(other.help);
        }
        ListedOption { section, option, help }
    };
    let own = Section::OF_SERVER.into_iter().flat_map(|section| {
        section.options().iter().map(move |option| listed(section, option as &dyn ConfigOption))
    });
    own.chain(of_sources(kinds).into_iter().map(|option| listed(Section::Source, option))).collect()
}

/// The options of all kinds, each once.
pub(super) fn of_sources(kinds: Kinds<'_>) -> Vec<&'static dyn ConfigOption> {
    let mut all: Vec<&'static dyn ConfigOption> = Vec::new();
    for option in kinds.iter().flat_map(|kind| kind.options()) {
        match all.iter().find(|known| known.spec().key == option.spec().key) {
            Some(known) => assert_eq!(known.spec(), option.spec(), "kinds of sources share a key"),
            None => all.push(option),
        }
    }
    all
}

/// `set!(field, reader)`: stores what the reader makes of the value.
macro_rules! set {
    ($($field:ident).+, $reader:ident) => {
        |settings, value| {
            settings.$($field).+ = value.$reader();
            Ok(())
        }
    };
}

const COUNT: ValueKind = ValueKind::Number(1, 1_000_000_000);
const LEVELS: ValueKind = ValueKind::Number(0, 1_000_000_000);

/// The options of one section.
type Options = &'static [OptionOf<Settings>];

#[rustfmt::skip]
static SERVER: Options = &[
    OptionOf::new("listen", Some("listen"), ValueKind::List, "[\"127.0.0.1:8080\"]", "ADDRESS:PORT to listen on; repeatable", listen),
    OptionOf::new("admin_listen", Some("admin-listen"), ValueKind::List, "[]", "ADDRESS:PORT of a listener of their own for `/metrics`, `/health`, `/ready`, `/live` and profiles (`/debug/pprof/profile`), without TLS and beside the limit of connections; `/metrics` is there alone then; repeatable", admin_listen),
    OptionOf::new("cpus", Some("cpus"), ValueKind::Number(1, 1024), "all", "How many processors to use, one core thread each", |settings, value| { settings.cores = CoreChoice::Count(value.size()); Ok(()) }),
    OptionOf::new("cores", Some("cores"), ValueKind::List, "[]", "The processors to use, one core thread held on each: \"0,2\" or \"0-3\"", cores),
    OptionOf::new("max_connections", Some("max-connections"), COUNT, "50000", "Connections over all cores; one more gets a 503", set!(max_connections, size)),
    OptionOf::new("max_connections_per_address", None, LEVELS, "a tenth", "Connections from one address, of IPv6 from one network of 64 bits; one more gets a 429. This machine and trusted proxies are not limited; 0 for no limit; by default a tenth of max_connections, at least 64", |settings, value| { settings.max_connections_per_address = Some(value.size()); Ok(()) }),
    OptionOf::new("header_timeout_ms", None, ValueKind::MILLISECONDS, "60000", "Time from a connection's start or its last response to the end of a request's headers", set!(header_timeout, milliseconds)),
    OptionOf::new("body_timeout_ms", None, ValueKind::MILLISECONDS, "30000", "Time from the end of the headers to the end of the body; more gets a 408", set!(body_timeout, milliseconds)),
    OptionOf::new("write_timeout_ms", None, ValueKind::MILLISECONDS, "30000", "How long a client may leave a response unread", set!(write_timeout, milliseconds)),
    OptionOf::new("min_rate_bytes", None, ValueKind::Number(0, 1 << 40), "1024", "Bytes a second that a client must read of a response that waits for it, on average over write_timeout_ms of waiting, and as many more for each MiB that waits; and that it must send of a body that is read piece by piece, over body_timeout_ms; 0 for any", set!(min_rate_bytes, number)),
    OptionOf::new("max_header_bytes", None, ValueKind::Number(8192, 1 << 20), "32768", "Bytes of a request's line and headers; more gets a 431", set!(max_header_bytes, size)),
    OptionOf::new("max_headers", None, ValueKind::Number(1, 10_000), "100", "Headers of a request; more gets a 431", set!(max_headers, size)),
    OptionOf::new("max_uri_bytes", None, ValueKind::Number(16, 65_534), "16384", "Bytes of a request's path and query; more gets a 414", set!(max_uri_bytes, size)),
    OptionOf::new("max_body_bytes", None, ValueKind::BYTES, "1048576", "Bytes of a request's body; more gets a 413", set!(max_body_bytes, size)),
    OptionOf::new("max_bulk_bytes", None, ValueKind::BYTES, "4294967296", "Bytes of a bulk creation's body, which is read and done piece by piece; more gets a 413", set!(max_bulk_bytes, number)),
    OptionOf::new("max_unfinished_bodies_bytes", None, ValueKind::BYTES, "268435456", "Bytes that the bodies of all requests may have together while they are received; who comes then is refused with 503. Those from one address may have a quarter, this machine's apart; more get a 429", set!(max_unfinished_bodies_bytes, size)),
    OptionOf::new("max_responses_bytes", None, ValueKind::BYTES, "1073741824", "Bytes that the responses of all requests may have together, while they are written and until they are sent, over WebSockets and as events as well", set!(max_responses_bytes, size)),
    OptionOf::new("max_memory_bytes", Some("max-memory-bytes"), ValueKind::Number(0, 1 << 50), "nine tenths", "Bytes of memory of the whole process, files' pages left out, from which on what is new is refused with 503 and what is under way goes on; 0 for no bound; by default nine tenths of what the machine or the control group grants", |settings, value| { settings.max_memory_bytes = Some(value.number()); Ok(()) }),
    OptionOf::new("grace_ms", Some("grace-ms"), ValueKind::Number(0, 86_400_000), "10000", "How long requests in flight may take after the signal to stop, or after shutdown_delay_ms", set!(grace, milliseconds)),
    OptionOf::new("idle_grace_ms", None, ValueKind::Number(0, 86_400_000), "500", "How long of grace_ms, at most half, connections without a request are kept for one more, whose response says that it is the last", set!(idle_grace, milliseconds)),
    OptionOf::new("shutdown_delay_ms", Some("shutdown-delay-ms"), ValueKind::Number(0, 86_400_000), "0", "How long connections are still taken after the signal to stop, while /ready responds with 503", set!(shutdown_delay, milliseconds)),
    OptionOf::new("open", Some("open"), ValueKind::Boolean, "false", "Whether everybody who reaches the server may do everything, also from other machines than this one", set!(open, boolean)),
    OptionOf::new("hosts", Some("host"), ValueKind::List, "[]", "Names under which the server may be asked for, beside localhost (\"*\" for all); others get a 421. Where none is given a server on loopback addresses has localhost alone, another any name; one that others reach is asked for by addresses too", hosts),
    OptionOf::new("cors_origins", Some("cors-origin"), ValueKind::List, "[]", "Origins whose pages may call (\"*\" for all); empty allows none", cors_origins),
    OptionOf::new("console", Some("console"), ValueKind::Boolean, "true", "Whether / answers with GraphiQL", set!(console, boolean)),
];

#[rustfmt::skip]
static TLS: Options = &[
    OptionOf::new("certificate", Some("tls-certificate"), ValueKind::Text, "\"\"", "PEM file of the server's certificate and those between it and its root; with it all addresses speak TLS, with HTTP/2 and HTTP/1.1", |settings, value| { settings.tls.certificate = path(value); Ok(()) }),
    OptionOf::new("key", Some("tls-key"), ValueKind::Text, "\"\"", "PEM file of the certificate's private key", |settings, value| { settings.tls.key = path(value); Ok(()) }),
    OptionOf::new("sni_certificates", None, ValueKind::List, "[]", "PEM files of further certificates, for clients that ask for one of their names (SNI)", |settings, value| { settings.tls.sni_certificates = paths(value); Ok(()) }),
    OptionOf::new("sni_keys", None, ValueKind::List, "[]", "PEM files of their private keys, in the same order", |settings, value| { settings.tls.sni_keys = paths(value); Ok(()) }),
    OptionOf::new("min_version", None, ValueKind::Word(&["1.2", "1.3"]), "\"1.2\"", "Lowest version of TLS", |settings, value| { settings.tls.min_version = if value.text() == "1.3" { TlsVersion::Tls13 } else { TlsVersion::Tls12 }; Ok(()) }),
    OptionOf::new("client_ca", Some("tls-client-ca"), ValueKind::Text, "\"\"", "PEM file of authorities whose certificates clients bring", |settings, value| { settings.tls.client_ca = path(value); Ok(()) }),
    OptionOf::new("client_certificates", Some("tls-client-certificates"), ValueKind::Word(&["required", "optional"]), "\"required\"", "Whether clients may come without a certificate, where there is a client_ca", |settings, value| { settings.tls.client_certificates = if value.text() == "optional" { ClientCertificates::Optional } else { ClientCertificates::Required }; Ok(()) }),
    OptionOf::new("revocation_lists", None, ValueKind::List, "[]", "PEM files of revocation lists: with one of them, each authority in a client's chain needs one that has not expired", |settings, value| { settings.tls.revocation_lists = paths(value); Ok(()) }),
    OptionOf::new("handshake_timeout_ms", None, ValueKind::MILLISECONDS, "10000", "Time from a connection's start to the end of its handshake", set!(tls.handshake_timeout, milliseconds)),
    OptionOf::new("max_handshakes", None, COUNT, "4096", "Handshakes under way at a time over all cores; one more is closed", set!(tls.max_handshakes, size)),
];

#[rustfmt::skip]
static GRAPHQL: Options = &[
    OptionOf::new("introspection", Some("introspection"), ValueKind::Boolean, "true", "Whether __schema and __type are answered", set!(limits.introspection, boolean)),
    OptionOf::new("max_depth", Some("max-depth"), COUNT, "15", "Nested object levels below the root", set!(limits.max_depth, size)),
    OptionOf::new("max_nest_level", Some("max-nest-level"), LEVELS, "1000000000", "Levels of rows below those of the root fields; aggregates add none", set!(limits.max_nest_level, size)),
    OptionOf::new("max_complexity", Some("max-complexity"), ValueKind::Number(1, u32::MAX as u64 * 1000), "100000000", "Fields that an operation may answer with at most; lists count for their limits", set!(limits.max_complexity, number)),
    OptionOf::new("max_document_bytes", None, ValueKind::BYTES, "131072", "Bytes of a document", set!(limits.max_document_bytes, size)),
    OptionOf::new("max_tokens", None, COUNT, "10000", "Tokens of a document", set!(limits.max_tokens, size)),
    OptionOf::new("max_aliases", None, COUNT, "1000", "Fields with an alias", set!(limits.max_aliases, size)),
    OptionOf::new("max_root_fields", None, COUNT, "100", "Root fields; each may be a statement at a database", set!(limits.max_root_fields, size)),
    OptionOf::new("max_fields", None, COUNT, "2500", "Fields after fragments are expanded", set!(limits.max_fields, size)),
    OptionOf::new("max_variables", None, COUNT, "256", "Variables of an operation", set!(limits.max_variables, size)),
    OptionOf::new("max_directives", None, COUNT, "500", "Directives of a document", set!(limits.max_directives, size)),
    OptionOf::new("max_definitions", None, COUNT, "100", "Operations and fragments of a document", set!(limits.max_definitions, size)),
    OptionOf::new("max_nesting", None, ValueKind::Number(1, 500), "64", "Nesting of selections, fragments included, and of list and object literals", set!(limits.max_nesting, size)),
    OptionOf::new("max_shape_bytes", None, ValueKind::BYTES, "16384", "Bytes of the shape of variables, about five for each key of an input object", set!(limits.max_shape_bytes, size)),
    OptionOf::new("max_introspection_bytes", None, ValueKind::BYTES, "16777216", "Bytes that a root field __schema or __type may answer with", set!(limits.max_introspection_bytes, size)),
    OptionOf::new("max_introspection_fields", None, COUNT, "4", "__schema and __type in a document", set!(limits.max_introspection_fields, size)),
    OptionOf::new("max_operation_bytes", None, ValueKind::BYTES, "134217728", "Bytes that the responses of all root fields of an operation may have together, with what is fetched level by level", set!(max_operation_bytes, size)),
    OptionOf::new("max_alias_bytes", None, COUNT, "256", "Bytes of an alias: it stands in the response for each row", set!(limits.max_alias_bytes, size)),
    OptionOf::new("plan_cache_bytes", None, ValueKind::BYTES, "67108864", "Bytes of documents and plans that are kept", set!(plan_cache_bytes, number)),
    OptionOf::new("persisted_documents", Some("persisted-documents"), ValueKind::Text, "\"\"", "Documents that requests may name: a directory of .graphql files, or a JSON file of ids and texts", |settings, value| { settings.documents.path = value.text().into(); Ok(()) }),
    OptionOf::new("only_persisted_documents", Some("only-persisted-documents"), ValueKind::Boolean, "false", "Whether no other documents are answered", set!(documents.only, boolean)),
    OptionOf::new("automatic_documents_bytes", None, ValueKind::Number(0, 1 << 40), "4194304", "Bytes of documents that clients may register by their checksum; 0 for none", set!(documents.automatic_bytes, number)),
    OptionOf::new("expose_database_errors", Some("expose-database-errors"), ValueKind::Boolean, "false", "Whether clients see the database's own texts", set!(expose_database_errors, boolean)),
    OptionOf::new("explain", Some("explain"), ValueKind::Boolean, "local", "Whether `/explain` tells the statements and plans of operations: to everybody where everybody may do everything, with `[auth]` to roles that are `unrestricted`; by default where the server listens on loopback addresses alone and nothing says who may ask", |settings, value| { settings.explain = Some(value.boolean()); Ok(()) }),
];

#[rustfmt::skip]
static SUBSCRIPTIONS: Options = &[
    OptionOf::new("max_operations", None, COUNT, "100", "Operations that are open at a time on one WebSocket or reserved stream", set!(subscriptions.max_operations, size)),
    OptionOf::new("max_subscriptions_per_address", None, LEVELS, "10000", "Subscriptions and live queries that are open at a time from one address, of IPv6 from one network of 64 bits, as trusted proxies name it; one more is an error of the operation. This machine is not limited; 0 for no limit", set!(subscriptions.max_subscriptions_per_address, size)),
    OptionOf::new("max_queued_messages", None, ValueKind::Number(2, 1_000_000_000), "1000", "Messages that wait for a client that does not read; one more cuts it", set!(subscriptions.max_queued_messages, size)),
    OptionOf::new("max_queued_bytes", None, ValueKind::BYTES, "4194304", "Bytes of messages that wait for a client beside the longest of them, which counts in max_responses_bytes; more cut it", set!(subscriptions.max_queued_bytes, size)),
    OptionOf::new("max_connection_bytes", None, ValueKind::BYTES, "268435456", "Bytes that the responses of one connection's operations may have together, while they are written and until they are sent", set!(subscriptions.max_connection_bytes, size)),
    OptionOf::new("max_message_bytes", None, ValueKind::BYTES, "1048576", "Bytes of one message of a client", set!(subscriptions.max_message_bytes, size)),
    OptionOf::new("init_timeout_ms", None, ValueKind::MILLISECONDS, "3000", "Time from the opening of a WebSocket to its connection_init", set!(subscriptions.init_timeout, milliseconds)),
    OptionOf::new("ping_interval_ms", None, ValueKind::MILLISECONDS, "30000", "How often a WebSocket is pinged, and a quiet stream gets a comment", set!(subscriptions.ping_interval, milliseconds)),
    OptionOf::new("ping_timeout_ms", None, ValueKind::MILLISECONDS, "10000", "How long a WebSocket may be silent after a ping", set!(subscriptions.ping_timeout, milliseconds)),
    OptionOf::new("live_interval_ms", None, ValueKind::MILLISECONDS, "50", "Time between two answers of one live query, however often its tables change", set!(subscriptions.live_interval, milliseconds)),
    OptionOf::new("max_reservations", None, COUNT, "10000", "Streams that are reserved and not opened yet; one address may have a tenth, at least 64, and more get a 429", set!(subscriptions.max_reservations, size)),
    OptionOf::new("reservation_timeout_ms", None, ValueKind::MILLISECONDS, "10000", "How long a reserved stream may wait to be opened", set!(subscriptions.reservation_timeout, milliseconds)),
];

#[rustfmt::skip]
static LIMITS: Options = &[
    OptionOf::new("quota_file", None, ValueKind::Text, "\"\"", "A file in which the counts of quotas are kept from one start to the next; without it they begin anew", |settings, value| { settings.operation_limits.quota_file = value.text().into(); Ok(()) }),
    OptionOf::new("quota_interval_ms", None, ValueKind::MILLISECONDS, "60000", "How often they are written down, where they have changed; a process that is killed loses what it counted since", set!(operation_limits.quota_interval, milliseconds)),
    OptionOf::new("response_cache_bytes", None, ValueKind::Number(0, 1 << 40), "67108864", "Bytes of responses that are kept for operations with `cache`", set!(operation_limits.response_cache_bytes, number)),
    OptionOf::new("operation_labels", None, ValueKind::Number(0, 10_000), "100", "Names of operations that /metrics counts one by one, beside those that rules name; the others are counted together", set!(operation_limits.operation_labels, size)),
    OptionOf::new("audit_log", None, ValueKind::Text, "\"\"", "A file to which a line of JSON is written for each mutation and each refusal; opened anew at SIGHUP", |settings, value| { settings.operation_limits.audit_log = value.text().into(); Ok(()) }),
    OptionOf::new("audit_values", None, ValueKind::Boolean, "false", "Whether these lines have the arguments of mutations", set!(operation_limits.audit_values, boolean)),
    OptionOf::new("redis", None, ValueKind::Text, "\"\"", "The Redis or Valkey in which servers share the counts of rates and quotas: redis://:PASSWORD@HOST:PORT/DATABASE, or rediss:// for TLS; without it each counts for itself", set!(operation_limits.redis.url, text)),
    OptionOf::new("redis_prefix", None, ValueKind::Text, "\"prony:\"", "What its keys begin with; servers with the same prefix share their counts", set!(operation_limits.redis.prefix, text)),
    OptionOf::new("redis_timeout_ms", None, ValueKind::Number(1, 60_000), "250", "How long its response may take; the connection is made anew after that", set!(operation_limits.redis.timeout, milliseconds)),
    OptionOf::new("redis_ahead_ms", None, ValueKind::Number(0, 60_000), "1000", "How long a server keeps what it takes of a limit ahead, so that few requests wait for Redis; with 0 each waits", set!(operation_limits.redis.ahead, milliseconds)),
    OptionOf::new("redis_unreachable", None, ValueKind::Word(&["local", "refuse"]), "\"local\"", "What is done while it cannot be reached: each server counts for itself, or operations with rates or quotas get a 503", |settings, value| { settings.operation_limits.redis.when_unreachable = if value.text() == "refuse" { WhenUnreachable::Refuse } else { WhenUnreachable::Local }; Ok(()) }),
];

#[rustfmt::skip]
static LOG: Options = &[
    OptionOf::new("level", Some("log-level"), ValueKind::Text, "\"info\"", "error, warn, info, debug, trace, or a filter such as \"info,prony_server=debug\"", log_level),
    OptionOf::new("format", Some("log-format"), ValueKind::Word(&["text", "json"]), "\"text\"", "How log lines are written: text or json", |settings, value| { settings.log_format = if value.text() == "json" { LogFormat::Json } else { LogFormat::Text }; Ok(()) }),
    OptionOf::new("access_log", Some("access-log"), ValueKind::Text, "\"\"", "A file to which a line is written for each request, such as /dev/stdout; opened anew at SIGHUP", |settings, value| { settings.access_log.file = value.text().into(); Ok(()) }),
    OptionOf::new("access_log_format", None, ValueKind::Word(&["json", "text"]), "\"json\"", "How these lines are written: json or text", |settings, value| { settings.access_log.form = if value.text() == "text" { AccessLogForm::Text } else { AccessLogForm::Json }; Ok(()) }),
    OptionOf::new("access_log_one_of", None, ValueKind::Number(1, 1_000_000_000), "1", "One request of so many has a line; those with a status from 500 on always have one", set!(access_log.one_of, number)),
    OptionOf::new("request_ids", Some("request-ids"), ValueKind::Boolean, "false", "Whether requests have ids, taken from X-Request-Id or made: in that header of the response, in logs, and in the extensions of errors", set!(access_log.request_ids, boolean)),
];

#[rustfmt::skip]
static TRACES: Options = &[
    OptionOf::new("endpoint", Some("traces-endpoint"), ValueKind::Text, "\"\"", "Where traces are sent by OTLP over HTTP (protobuf), such as http://localhost:4318; /v1/traces in place of no path; without it, and without OTEL_EXPORTER_OTLP_ENDPOINT, nothing is traced", |settings, value| { settings.traces.endpoint = value.text(); Ok(()) }),
    OptionOf::new("headers", None, ValueKind::List, "[]", "NAME=VALUE of headers that the collector is sent; ${NAME} in it stands for a variable of the environment", |settings, value| { settings.traces.headers = traces::headers(&value.list())?; Ok(()) }),
    OptionOf::new("ca_file", None, ValueKind::Text, "\"\"", "A file of certificates (PEM) that are trusted for the collector, in place of the system's", |settings, value| { settings.traces.ca_file = path(value); Ok(()) }),
    OptionOf::new("sample_ratio", Some("traces-sample-ratio"), ValueKind::Ratio, "1", "The share of requests that are traced, from 0 to 1", set!(traces.sample_billionths, number)),
    OptionOf::new("follow_parent", None, ValueKind::Boolean, "true", "Whether a request that has a traceparent is traced as that says, whatever the ratio", set!(traces.follows_parent, boolean)),
    OptionOf::new("service_name", None, ValueKind::Text, "\"prony\"", "service.name", set!(traces.service_name, text)),
    OptionOf::new("resource_attributes", None, ValueKind::List, "[]", "KEY=VALUE of further attributes of the service, such as deployment.environment.name=production", |settings, value| { settings.traces.resource_attributes = traces::pairs(&value.list(), "attributes")?; Ok(()) }),
    OptionOf::new("compression", None, ValueKind::Word(&["none", "gzip"]), "\"none\"", "How traces are compressed", |settings, value| { settings.traces.compresses = value.text() == "gzip"; Ok(()) }),
    OptionOf::new("timeout_ms", None, ValueKind::MILLISECONDS, "10000", "How long the collector may take to respond", set!(traces.timeout, milliseconds)),
    OptionOf::new("batch_spans", None, ValueKind::Number(1, 1_000_000), "512", "Spans that are sent together", set!(traces.batch_spans, size)),
    OptionOf::new("batch_delay_ms", None, ValueKind::MILLISECONDS, "1000", "How long spans wait for others", set!(traces.batch_delay, milliseconds)),
    OptionOf::new("max_queued_spans", None, ValueKind::Number(1, 10_000_000), "16384", "Spans that wait to be sent; further ones are dropped and counted", set!(traces.max_queued_spans, size)),
];

/// The options whose values are files.
pub(super) const TLS_PATHS: [&str; 6] =
    ["certificate", "key", "sni_certificates", "sni_keys", "client_ca", "revocation_lists"];

fn paths(value: &TypedValue) -> Vec<PathBuf> {
    value.list().into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

fn path(value: &TypedValue) -> Option<PathBuf> {
    let text = value.text();
    (!text.is_empty()).then(|| text.into())
}

fn addresses(value: &TypedValue) -> Result<Vec<SocketAddr>, String> {
    let read = |text: &String| {
        text.parse::<SocketAddr>().map_err(|_| {
            format!("`{text}` is no address; write ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:8080")
        })
    };
    value.list().iter().map(read).collect()
}

fn admin_listen(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    settings.admin_listen = addresses(value)?;
    Ok(())
}

fn listen(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    settings.listen = addresses(value)?;
    if settings.listen.is_empty() {
        return Err("at least one ADDRESS:PORT is needed".to_owned());
    }
    Ok(())
}

/// Browsers name hosts without a scheme and a path; what has one is never asked for.
fn hosts(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    let names = value.list();
    if let Some(wrong) = names.iter().find(|name| is_no_host(name)) {
        let wanted = "write shop.example, an address, or \"*\" for all";
        return Err(format!("`{wrong}` is no name of a host; {wanted}"));
    }
    settings.hosts = names;
    Ok(())
}

fn is_no_host(name: &str) -> bool {
    name.is_empty() || name.contains(|letter: char| letter == '/' || letter.is_whitespace())
}

/// Browsers send an origin in small letters, without a path and without the port that its scheme has anyway (RFC 6454, section 6.2): what is
/// written otherwise would allow nobody.
fn cors_origins(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    let origins = value.list();
    if let Some(wrong) = origins.iter().find(|origin| is_no_origin(origin)) {
        return Err(format!(
            "`{wrong}` is no origin as browsers send it; write https://shop.example, with a port where it is another than 443 \
             and without a slash at its end, or \"*\" for all"
        ));
    }
    settings.cors_origins = origins;
    Ok(())
}

fn is_no_origin(origin: &str) -> bool {
    if ["*", "null"].contains(&origin) {
        return false;
    }
    let Some((scheme, authority)) = origin.split_once("://") else { return true };
    let has_usual_port = (scheme == "https" && authority.ends_with(":443"))
        || (scheme == "http" && authority.ends_with(":80"));
    // Of other schemes, as of pages of an extension, browsers send the host as it is written.
    let lowered = if ["http", "https"].contains(&scheme) { origin } else { scheme };
    let is_upper = |letter: char| letter.is_ascii_uppercase();
    let is_odd = lowered.contains(is_upper) || origin.contains(['?', '#', '@']);
    scheme.is_empty() || is_no_host(authority) || has_usual_port || is_odd
}

/// The levels as `tracing` reads them; `0` to `5` are other names of theirs.
const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A word that is no level would be the name of a module, and nothing else would be logged.
fn log_level(settings: &mut Settings, value: &TypedValue) -> Result<(), String> {
    let text = value.text();
    // What stands in brackets is about spans, and may have commas of its own.
    for directive in text.split(',').take_while(|directive| !directive.contains('[')) {
        let level = directive.rsplit_once('=').map_or(directive, |(_, level)| level).trim();
        let is_number = matches!(level.as_bytes(), [b'0'..=b'5']);
        if !is_number && !LOG_LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level)) {
            let wanted =
                "write error, warn, info, debug or trace, or a filter such as info,prony_server=debug";
            return Err(format!("`{level}` is no log level; {wanted}"));
        }
    }
    settings.log_level = text;
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
