//! Natives that begin calls and streams, and that write to streams.

use super::call::{CallSettings, Calls, GrpcCall, GrpcForm};
use super::client::{Connection, GrpcClient, connection, require_user};
use super::frames::framed;
use super::message::encode;
use super::params::{CallParams, Metadata, ParamsError, call_params};
use super::reflection::{Reflection, SERVICES};
use super::samples::{announce, count};
use super::status::{Code, Status};
use crate::host::{Host, host_of};
use crate::http::call::state::options;
use crate::modules::binding::{go_error, hold, with_held};
use prony_metrics::{SystemTag, Tags, builtin};
use prony_model::program::call::{Ask, AskId, StreamOpening};
use prony_model::units::Nanos;
use prost::Message as _;
use prost_reflect::{DescriptorPool, MethodDescriptor};
use rquickjs::function::Opt;
use rquickjs::{Ctx, Value};
use std::io::Write as _;

/// Of calls where the script says nothing.
const TIMEOUT: Nanos = Nanos::from_secs(120);
const HEALTH: &str = "/grpc.health.v1.Health/Check";
/// The field of trailers that says how a call ended, and what it says of a success.
const SUCCESS: (&str, &str) = ("grpc-status", "0");

/// Fields that a script cannot set.
const RESERVED: [&str; 7] =
    ["content-type", "user-agent", "te", "grpc-encoding", "grpc-timeout", "grpc-message", "grpc-status"];

/// `grpc.health.v1.HealthCheckRequest`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct HealthRequest {
    #[prost(string, tag = "1")]
    service: String,
}

/// A call that is checked and not begun.
#[derive(Debug)]
struct Prepared {
    method: MethodDescriptor,
    pool: DescriptorPool,
    path: String,
    connection: Connection,
    params: CallParams,
    tags: Tags,
    own_tags: Vec<(String, String)>,
}

/// How a stream is opened.
struct Opening<'a> {
    path: &'a str,
    connection: &'a Connection,
    timeout: Option<Nanos>,
    metadata: &'a Metadata,
    /// The first message; whether it is the last one too.
    message: Option<(Vec<u8>, bool)>,
    is_counted: bool,
}

/// Checks a call or, where `is_stream`, a stream.
pub(super) fn prepare<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    is_stream: bool,
    method: String,
    params: Opt<Value<'js>>,
) -> rquickjs::Result<Value<'js>> {
    require_user(&ctx, "invoking RPC methods")?;
    let refused = |message: &str| {
        let what = if is_stream { "invalid GRPC Stream's method: " } else { "" };
        go_error(&ctx, &format!("{what}{message}"))
    };
    let connection = connection(&ctx, &held)?;
    if method.is_empty() {
        return Err(refused("method to invoke cannot be empty"));
    }
    let path = if method.starts_with('/') { method } else { format!("/{method}") };
    let (found, pool) = with_held(&ctx, &held, |client: &mut GrpcClient| {
        (client.loaded.method(&path), client.loaded.pool.clone())
    })?;
    let method = found.ok_or_else(|| refused(&format!("method {path:?} not found in file descriptors")))?;
    let params = call_params(&ctx, params.0.as_ref()).map_err(|error| match error {
        ParamsError::Thrown(error) => error,
        ParamsError::Refused(why) => {
            let what = if is_stream { "GRPC Stream's" } else { "GRPC's client.invoke()" };
            go_error(&ctx, &format!("invalid {what} parameters: {why}"))
        }
    })?;
    let host = host_of(&ctx);
    let tags = host.user().tags;
    let own_tags = own_tags(&host, &connection.address, &path, &params.tags);
    hold(&ctx, Prepared { method, pool, path, connection, params, tags, own_tags })
}

/// What the script gave, and of the call's own what option `systemTags` has.
fn own_tags(host: &Host, address: &str, path: &str, given: &[(String, String)]) -> Vec<(String, String)> {
    let mut tags = given.to_vec();
    let (service, method) = path[1..].split_once('/').unwrap_or_default();
    let user = host.user().tags;
    let mut recorder = host.recorder();
    let has_name = recorder.sets().get(user.set).get(SystemTag::Name.as_str()).is_some();
    let has_name = has_name || given.iter().any(|(name, _)| name == SystemTag::Name.as_str());
    let system = recorder.sets().system();
    let mut set = |tag: SystemTag, value: String| {
        if system.has(tag) {
            tags.retain(|(name, _)| name != tag.as_str());
            tags.push((tag.as_str().to_owned(), value));
        }
    };
    set(SystemTag::Url, format!("{address}{path}"));
    set(SystemTag::Service, service.to_owned());
    set(SystemTag::Method, method.to_owned());
    if !has_name {
        set(SystemTag::Name, path.to_owned());
    }
    tags
}

/// Begins a call with its message as JSON; its number.
pub(super) fn invoke<'js>(ctx: Ctx<'js>, prepared: Value<'js>, json: String) -> rquickjs::Result<f64> {
    let host = host_of(&ctx);
    let begun = with_held(&ctx, &prepared, |prepared: &mut Prepared| {
        let message = encode(&prepared.method.input(), &json).map_err(|error| {
            format!("unable to serialise request object to protocol buffer: proto: {error}")
        })?;
        let is_discarded = prepared.params.is_discarded;
        let (output, pool) = (prepared.method.output(), prepared.pool.clone());
        let form = GrpcForm::Unary { output, pool, is_discarded };
        Ok(begin(&host, prepared, form, Some((message, true)), Some(TIMEOUT)))
    })?;
    begun.map(|id| id as f64).map_err(|message: String| go_error(&ctx, &message))
}

/// Begins a stream; its number.
pub(super) fn stream<'js>(ctx: Ctx<'js>, prepared: Value<'js>) -> rquickjs::Result<f64> {
    let host = host_of(&ctx);
    let id = with_held(&ctx, &prepared, |prepared: &mut Prepared| {
        let is_discarded = prepared.params.is_discarded;
        let (input, output) = (prepared.method.input(), prepared.method.output());
        let has_one_response = !prepared.method.is_server_streaming();
        let form =
            GrpcForm::Stream { input, output, pool: prepared.pool.clone(), is_discarded, has_one_response };
        begin(&host, prepared, form, None, None)
    })?;
    count(&host, id, builtin::GRPC_STREAMS);
    Ok(id as f64)
}

fn begin(
    host: &Host,
    prepared: &Prepared,
    form: GrpcForm,
    message: Option<(Vec<u8>, bool)>,
    timeout: Option<Nanos>,
) -> AskId {
    let Prepared { connection, params, tags, own_tags, path, .. } = prepared;
    let is_counted = matches!(form, GrpcForm::Unary { .. });
    let settings = settings(connection, form, *tags, own_tags.clone());
    let (timeout, metadata) = (params.timeout.or(timeout), &params.metadata);
    open(host, settings, Opening { path, connection, timeout, metadata, message, is_counted })
}

/// Asks how a service does; the call's number.
pub(super) fn health<'js>(ctx: Ctx<'js>, held: Value<'js>, service: String) -> rquickjs::Result<f64> {
    require_user(&ctx, "invoking RPC methods")?;
    let (host, connection) = (host_of(&ctx), connection(&ctx, &held)?);
    let settings = settings(&connection, GrpcForm::Health, host.user().tags, Vec::new());
    let message = Some((HealthRequest { service }.encode_to_vec(), true));
    let (path, metadata) = (HEALTH, &Metadata::new());
    let opening =
        Opening { path, connection: &connection, timeout: None, metadata, message, is_counted: true };
    Ok(open(&host, settings, opening) as f64)
}

/// Asks a server what it has, by one version of reflection; the call's number.
pub(super) fn reflect<'js>(ctx: Ctx<'js>, held: Value<'js>, version: usize) -> rquickjs::Result<f64> {
    let (host, connection) = (host_of(&ctx), connection(&ctx, &held)?);
    let (reflection, first) = Reflection::new();
    let is_last_version = version + 1 >= SERVICES.len();
    let form = GrpcForm::Reflection { state: Box::new(reflection), is_last_version };
    let settings = settings(&connection, form, host.user().tags, Vec::new());
    let path = format!("/{}/ServerReflectionInfo", SERVICES[version.min(SERVICES.len() - 1)]);
    let opening = Opening {
        path: &path,
        connection: &connection,
        timeout: Some(connection.deadline.since(host.now())),
        metadata: &connection.reflect_metadata,
        message: Some((first, false)),
        is_counted: false,
    };
    Ok(open(&host, settings, opening) as f64)
}

fn settings(
    connection: &Connection,
    form: GrpcForm,
    tags: Tags,
    own_tags: Vec<(String, String)>,
) -> CallSettings {
    let Connection { target, address, receive_bytes_max, send_bytes_max, .. } = connection;
    CallSettings {
        form,
        target: *target,
        address: address.clone(),
        tags,
        own_tags,
        receive_bytes_max: *receive_bytes_max,
        send_bytes_max: *send_bytes_max,
    }
}

/// A message that is too long ends its call before it begins.
fn open(host: &Host, settings: CallSettings, opening: Opening<'_>) -> AskId {
    let Opening { path, connection, timeout, message, is_counted, .. } = opening;
    let (target, now) = (settings.target, host.now());
    let mut call = GrpcCall::new(settings, now, host.user().iteration);
    let first = message.map(|(message, is_last)| (framed(&message, call.send_bytes_max), is_last));
    if let Some((Err(status), _)) = &first {
        call.end_early(status.clone(), now);
    }
    let is_begun = call.end.is_none();
    let id = {
        let mut user = host.user();
        let (id, iteration) = (user.waits.new_id(), user.iteration);
        let calls = &mut user.data.get::<Calls>().0;
        calls.retain(|_, call| call.iteration == iteration);
        calls.insert(id, call);
        if !is_begun {
            announce(&mut user, id);
        }
        id
    };
    if !is_begun {
        return id;
    }
    let request = is_counted.then(|| host.tables().name(path));
    let text = write_head(host, path, &connection.authority, timeout, opening.metadata);
    let timeout = timeout.unwrap_or(Nanos::MAX);
    let asks = &mut host.outgoing().asks;
    asks.push(Ask::OpenStream(StreamOpening { id, target, request, text, timeout, expects: Some(SUCCESS) }));
    if let Some((Ok(bytes), is_last)) = first {
        asks.push(Ask::SendBytes { id, bytes, is_last });
    }
    id
}

fn write_head(
    host: &Host,
    path: &str,
    authority: &str,
    timeout: Option<Nanos>,
    metadata: &Metadata,
) -> core::ops::Range<usize> {
    let options = options(host);
    let text = &mut host.outgoing().text;
    let start = text.len();
    let agent = &options.user_agent;
    let written = write!(
        text,
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\ncontent-type: application/grpc\r\nuser-agent: {agent}\r\nte: trailers\r\n"
    )
    .and_then(|()| {
        if let Some(timeout) = timeout {
            write!(text, "grpc-timeout: {}\r\n", encoded_timeout(timeout))?;
        }
        for (name, value) in metadata.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str())) {
            write!(text, "{name}: {value}\r\n")?;
        }
        text.write_all(b"\r\n")
    });
    written.expect("a vector takes all that is written");
    start..text.len()
}

/// At most eight digits, and a unit; rounded up.
fn encoded_timeout(timeout: Nanos) -> String {
    const UNITS: [(u64, char); 6] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    let fits = |(unit, letter): (u64, char)| {
        let count = timeout.0.div_ceil(unit);
        (count < 100_000_000).then(|| format!("{count}{letter}"))
    };
    UNITS.into_iter().find_map(fits).unwrap_or_else(|| "99999999H".to_owned())
}

/// Sends a message, JSON, over a stream; one that cannot be sent ends the stream.
pub(super) fn write(ctx: Ctx<'_>, id: f64, json: String) {
    let (host, id) = (host_of(&ctx), id as AskId);
    let now = host.now();
    let bytes = {
        let mut user = host.user();
        let Some(call) = user.data.get::<Calls>().0.get_mut(&id).filter(|call| call.end.is_none()) else {
            return;
        };
        let GrpcForm::Stream { input, .. } = &call.form else { return };
        let encoded = encode(input, &json).map_err(|error| {
            let message = format!("can't serialise request object to protocol buffer: proto: {error}");
            Status::new(Code::UNKNOWN, message)
        });
        match encoded.and_then(|message| framed(&message, call.send_bytes_max)) {
            Ok(bytes) => bytes,
            Err(status) => {
                call.end_early(status, now);
                announce(&mut user, id);
                return;
            }
        }
    };
    host.outgoing().asks.push(Ask::SendBytes { id, bytes, is_last: false });
    count(&host, id, builtin::GRPC_STREAMS_MSGS_SENT);
}

/// The script writes no more to a stream.
pub(super) fn end(ctx: Ctx<'_>, id: f64) {
    let (host, id) = (host_of(&ctx), id as AskId);
    let goes_on = host.user().data.get::<Calls>().0.get(&id).is_some_and(|call| call.end.is_none());
    if goes_on {
        host.outgoing().asks.push(Ask::SendBytes { id, bytes: Vec::new(), is_last: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_at_most_eight_digits() {
        let of = |nanos| encoded_timeout(Nanos(nanos));
        assert_eq!([of(0), of(99_999_999), of(100_000_001)], ["0n", "99999999n", "100001u"]);
        assert_eq!([of(120_000_000_000), of(u64::MAX)], ["120000m".to_owned(), "5124096H".to_owned()]);
    }
}
