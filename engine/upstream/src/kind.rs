//! GraphQL servers as a kind of source.

use std::{ops::Range, path::PathBuf, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue};
use prony_source::{
    Source,
    config::{
        AddressForm, ConfigOption, Faults, FileEntry, Opening, OptionOf, SourceEntry, SourceKind,
        SourceOpener, TypedValue, ValueKind, all, substitute_of_process,
    },
};

use crate::{
    address::Address,
    exchange_settings::ExchangeSettings,
    settings::{Choice, HttpVersion, SubscriptionTransport, UpstreamSettings},
    source::UpstreamSource,
};

/// Sources at `http://…` and `https://…`.
#[derive(Debug)]
pub struct UpstreamKind;

#[derive(Debug)]
struct UpstreamOpener {
    settings: UpstreamSettings,
}

/// Of which a client may not choose the value: they say how the request is sent, or where its body ends.
const OWN_HEADERS: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const SECTIONS: &[&str] = &["headers", "rename", "token_exchange"];
const ADDRESSES: &str = "addresses";
/// Up to a day; zero for never.
const SECONDS: ValueKind = ValueKind::Number(0, 86_400);
const INTERVAL: ValueKind = ValueKind::Number(0, 86_400_000);

fn path(value: &TypedValue) -> Option<PathBuf> {
    Some(value.text()).filter(|text| !text.is_empty()).map(PathBuf::from)
}

#[rustfmt::skip]
static OPTIONS: &[OptionOf<UpstreamSettings>] = &[
    OptionOf::new(ADDRESSES, None, ValueKind::List, "[]", "Further servers of an upstream, beside its URL", |upstream, value| { upstream.addresses.extend(addresses(&value.list())?); Ok(()) }),
    OptionOf::new("schema_file", None, ValueKind::Text, "\"\"", "A file in the schema definition language that is served of an upstream, in place of what it says of itself", |upstream, value| { upstream.schema_file = path(value); Ok(()) }),
    OptionOf::new("schema_cache", None, ValueKind::Text, "\"\"", "A file in which an upstream's last schema is kept, for a start at which it is down", |upstream, value| { upstream.schema_cache = path(value); Ok(()) }),
    OptionOf::new("schema_refresh_s", None, SECONDS, "60", "How often an upstream is asked for its schema; 0 for at the start and SIGHUP alone", |upstream, value| { upstream.schema_refresh = Duration::from_secs(value.number()); Ok(()) }),
    OptionOf::new("forward_headers", None, ValueKind::List, "[\"traceparent\", \"tracestate\"]", "Headers of clients that an upstream gets", |upstream, value| { upstream.forward_headers = forwarded(&value.list())?; Ok(()) }),
    OptionOf::new("upstream_encodings", None, ValueKind::List, "[]", "Content codings that an upstream is asked for: gzip, br, zstd; with none it chooses", |upstream, value| { upstream.encodings = encodings(&value.list())?; Ok(()) }),
    OptionOf::new("upstream_errors", None, ValueKind::Word(&["forward", "mask"]), "\"forward\"", "Whether clients see an upstream's own errors, or only that there was one", |upstream, value| { upstream.shows_errors = value.text() == "forward"; Ok(()) }),
    OptionOf::new("forward_extensions", None, ValueKind::Boolean, "false", "Whether `extensions` of an upstream's responses are forwarded, where it executes an operation whole", |upstream, value| { upstream.forwards_extensions = value.boolean(); Ok(()) }),
    OptionOf::new("connect_timeout_ms", None, ValueKind::MILLISECONDS, "2000", "After which a connection to an upstream is given up", |upstream, value| { upstream.connect_timeout = value.milliseconds(); Ok(()) }),
    OptionOf::new("first_byte_timeout_ms", None, ValueKind::MILLISECONDS, "10000", "How long an upstream may take to begin its response", |upstream, value| { upstream.first_byte_timeout = value.milliseconds(); Ok(()) }),
    OptionOf::new("upstream_timeout_ms", None, ValueKind::MILLISECONDS, "30000", "How long an upstream may take for its whole response", |upstream, value| { upstream.timeout = value.milliseconds(); Ok(()) }),
    OptionOf::new("queue_timeout_ms", None, ValueKind::MILLISECONDS, "1000", "How long a request waits for a connection to an upstream", |upstream, value| { upstream.queue_timeout = value.milliseconds(); Ok(()) }),
    OptionOf::new("idle_timeout_ms", None, ValueKind::MILLISECONDS, "30000", "How long a connection to an upstream is kept that nobody uses", |upstream, value| { upstream.idle_timeout = value.milliseconds(); Ok(()) }),
    OptionOf::new("max_upstream_connections", None, ValueKind::Number(1, 100_000), "256", "Connections of each core to an upstream", |upstream, value| { upstream.max_connections = value.size(); Ok(()) }),
    OptionOf::new("max_waiting", None, ValueKind::Number(0, 1_000_000), "1024", "Requests of each core that may wait for a connection to an upstream or to PostgreSQL, there for each kind of use; more are refused", |upstream, value| { upstream.max_waiting = value.size(); Ok(()) }),
    OptionOf::new("http_version", None, ValueKind::Word(&["auto", "1.1", "2"]), "\"auto\"", "How an upstream is asked: auto is HTTP/2 where TLS agrees on it", |upstream, value| { upstream.http_version = version(&value.text()); Ok(()) }),
    OptionOf::new("ca_file", None, ValueKind::Text, "\"\"", "A file of certificates (PEM) that are trusted for an upstream, in place of the system's", |upstream, value| { upstream.tls.ca_file = path(value); Ok(()) }),
    OptionOf::new("client_certificate", None, ValueKind::Text, "\"\"", "A file with the certificate (PEM) that an upstream is shown", |upstream, value| { upstream.tls.client_certificate = path(value); Ok(()) }),
    OptionOf::new("client_key", None, ValueKind::Text, "\"\"", "A file with the key (PEM) of that certificate", |upstream, value| { upstream.tls.client_key = path(value); Ok(()) }),
    OptionOf::new("balance", None, ValueKind::Word(&["least-pending", "round-robin"]), "\"least-pending\"", "Which of an upstream's addresses is asked", |upstream, value| { upstream.balance = choice(&value.text()); Ok(()) }),
    OptionOf::new("retries", None, ValueKind::Number(0, 10), "1", "How often a query is sent to an upstream again of which nothing has come", |upstream, value| { upstream.retries = value.number() as u32; Ok(()) }),
    OptionOf::new("retry_budget_percent", None, ValueKind::Number(0, 100), "20", "How many of an upstream's requests may be retries", |upstream, value| { upstream.retry_budget_percent = value.number() as u32; Ok(()) }),
    OptionOf::new("breaker_failures", None, ValueKind::Number(1, 1_000_000), "5", "Failures in a row after which an upstream's address is not asked for a while", |upstream, value| { upstream.breaker_failures = value.number() as u32; Ok(()) }),
    OptionOf::new("breaker_open_ms", None, ValueKind::MILLISECONDS, "5000", "How long it is not asked then; twice as long each time until it responds, up to ten times", |upstream, value| { upstream.breaker_open = value.milliseconds(); Ok(()) }),
    OptionOf::new("health_check_ms", None, INTERVAL, "0", "How often an upstream's addresses are asked whether they respond; 0 for never", |upstream, value| { upstream.health_check = value.milliseconds(); Ok(()) }),
    OptionOf::new("field_prefix", None, ValueKind::Text, "\"\"", "What is put before the names of an upstream's root fields", |upstream, value| { upstream.names.field_prefix = name_part(&value.text())?; Ok(()) }),
    OptionOf::new("type_prefix", None, ValueKind::Text, "\"\"", "What is put before the names of an upstream's types", |upstream, value| { upstream.names.type_prefix = name_part(&value.text())?; Ok(()) }),
    OptionOf::new("upstream_subscriptions", None, ValueKind::Word(&["websocket", "sse"]), "\"websocket\"", "How an upstream is subscribed to: websocket is graphql-transport-ws, or graphql-ws where it knows no other", |upstream, value| { upstream.subscription_transport = transport(&value.text()); Ok(()) }),
    OptionOf::MAX_RESPONSE_BYTES,
    OptionOf::SUBSCRIPTIONS,
];

fn addresses(texts: &[String]) -> Result<Vec<Address>, String> {
    let parse = |text: &String| Address::parse(text).map_err(|error| format!("`{text}`: {error}"));
    texts.iter().map(parse).collect()
}

fn encodings(names: &[String]) -> Result<Vec<String>, String> {
    match names.iter().find(|name| !["gzip", "br", "zstd", "identity"].contains(&name.as_str())) {
        Some(other) => Err(format!("`{other}` is none of gzip, br, zstd and identity")),
        None => Ok(names.to_vec()),
    }
}

fn forwarded(names: &[String]) -> Result<Vec<String>, String> {
    let one = |name: &String| {
        let name = name.to_ascii_lowercase();
        HeaderName::try_from(&name).map_err(|_| format!("`{name}` is no name of a header"))?;
        if OWN_HEADERS.contains(&name.as_str()) {
            return Err(format!(
                "`{name}` is of one connection, or says how a body is sent; it is never forwarded"
            ));
        }
        Ok(name)
    };
    names.iter().map(one).collect()
}

fn version(word: &str) -> HttpVersion {
    match word {
        "1.1" => HttpVersion::Http1,
        "2" => HttpVersion::Http2,
        _ => HttpVersion::Auto,
    }
}

fn transport(word: &str) -> SubscriptionTransport {
    if word == "sse" { SubscriptionTransport::Sse } else { SubscriptionTransport::WebSocket }
}

fn choice(word: &str) -> Choice {
    if word == "round-robin" { Choice::RoundRobin } else { Choice::LeastPending }
}

fn name_part(text: &str) -> Result<String, String> {
    let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with("__")
        && !text.starts_with(|first: char| first.is_ascii_digit());
    if is_name { Ok(text.to_owned()) } else { Err(format!("`{text}` cannot begin a name of GraphQL")) }
}

impl SourceKind for UpstreamKind {
    fn address(&self) -> AddressForm {
        AddressForm {
            prefixes: &["http://", "https://"],
            short: "https://HOST/graphql",
            whole: "https://HOST[:PORT]/PATH of a GraphQL server, or http://unix:/SOCKET:/PATH",
        }
    }

    fn address_key(&self) -> Option<&'static str> {
        Some("upstream")
    }

    fn secrets(&self, address: &str) -> Vec<Range<usize>> {
        Address::password(address).into_iter().collect()
    }

    fn options(&self) -> Vec<&'static dyn ConfigOption> {
        all(OPTIONS)
    }

    fn sections(&self) -> &'static [&'static str] {
        SECTIONS
    }

    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>> {
        let mut settings = UpstreamSettings::default();
        entry.apply(OPTIONS, &mut settings);
        if let Some(section) = entry.section("headers") {
            settings.headers = texts(section, faults, header);
        }
        if let Some(section) = entry.section("rename") {
            settings.names.renames = texts(section, faults, rename);
        }
        if let Some(section) = entry.section("token_exchange") {
            settings.token_exchange = ExchangeSettings::read(section, faults);
        }
        if settings.tls.client_certificate.is_some() != settings.tls.client_key.is_some() {
            let message = "`client_certificate` and `client_key` belong together; give both";
            faults.push(entry.url_origin.clone(), message);
        }
        match Address::parse(&entry.url.0) {
            Ok(address) => settings.addresses.insert(0, address),
            Err(error) => {
                faults.push(entry.url_origin.clone(), error.to_string());
                return None;
            }
        }
        if settings.token_exchange.is_some() && has_credentials(&settings) {
            let message = "`token_exchange` gives an upstream its credentials: leave `authorization` out of `headers` and \
                `forward_headers`, and credentials out of the URL";
            faults.push(entry.url_origin.clone(), message);
        }
        Some(Arc::new(UpstreamOpener { settings }))
    }
}

/// Whether requests have credentials already.
fn has_credentials(settings: &UpstreamSettings) -> bool {
    let own = settings.headers.iter().map(|(name, _)| name);
    own.chain(&settings.forward_headers).any(|name| name == "authorization")
        || settings.addresses.iter().any(|address| address.basic.is_some())
}

/// A key with its text, or what is wrong with that.
type CheckedText = Result<(String, String), String>;

/// The texts of a section by their keys, as far as `check` takes them.
fn texts(
    section: FileEntry<'_, '_>,
    faults: &mut Faults,
    check: fn(&str, &str) -> CheckedText,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in section.table(faults) {
        let Some(text) = entry.text(faults) else { continue };
        match check(entry.name(), &text) {
            Ok(pair) => found.push(pair),
            Err(message) => faults.push(entry.value_origin(), message),
        }
    }
    found
}

/// Values may name variables of the environment, in which credentials are best kept.
fn header(name: &str, value: &str) -> CheckedText {
    let name = forwarded(&[name.to_owned()])?.remove(0);
    let value = substitute_of_process(value).map_err(|fault| fault.to_string())?;
    HeaderValue::try_from(&value).map_err(|_| format!("the value of `{name}` is none of a header"))?;
    Ok((name, value))
}

fn rename(from: &str, to: &str) -> CheckedText {
    if to.is_empty() {
        return Err(format!("`{from}` needs a name"));
    }
    Ok((from.to_owned(), name_part(to)?))
}

impl SourceOpener for UpstreamOpener {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let source = UpstreamSource::open(self.settings.clone()).await?;
            Ok(Arc::new(source) as Arc<dyn Source>)
        })
    }
}
