//! Natives of a client: what it loads, and its connection.

use super::call::{CallSettings, Calls, GrpcCall, GrpcForm};
use super::frames::{RECEIVE_BYTES_MAX, SEND_BYTES_MAX};
use super::params::{ConnectParams, Metadata, ParamsError, connect_params};
use super::protos::{Load, LoadedProtos, MethodInfo, Protos};
use super::samples::announce;
use super::status::{Code, Status};
use crate::host::{Host, host_of};
use crate::modules::binding::{go_error, hold, is_nullish, with_held};
use crate::vm::Phase;
use prony_model::plan::target::{Channel, ChannelProtocol, ChannelTls, Endpoint, Scheme, Target};
use prony_model::program::call::{Ask, AskId, ChannelOpening};
use prony_model::program::table::TARGETS_MAX;
use prony_model::units::Nanos;
use rquickjs::function::Opt;
use rquickjs::{Array, Ctx, Object, Value};
use std::sync::Arc;

const DEFAULT_PORT: u16 = 443;

/// What an object of JavaScript holds.
#[derive(Debug, Default)]
pub(super) struct GrpcClient {
    pub(super) loaded: LoadedProtos,
    pub(super) connection: Option<Connection>,
}

#[derive(Debug, Clone)]
pub(super) struct Connection {
    /// Index into the run's targets.
    pub(super) target: usize,
    /// As the script gave it.
    pub(super) address: String,
    pub(super) authority: String,
    pub(super) receive_bytes_max: usize,
    pub(super) send_bytes_max: usize,
    pub(super) reflect_metadata: Metadata,
    /// From when it was asked for; reflection has to be over by then too.
    pub(super) deadline: Nanos,
    reflects: bool,
    /// Its channel has been open once.
    is_open: bool,
}

/// The targets of a user's clients that are connected, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
struct Connected(Vec<usize>);

pub(super) fn new(ctx: Ctx<'_>) -> rquickjs::Result<Value<'_>> {
    hold(&ctx, GrpcClient::default())
}

pub(super) fn require_user(ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<()> {
    if host_of(ctx).phase() == Phase::Init {
        return Err(go_error(ctx, &format!("{what} in the init context is not supported")));
    }
    Ok(())
}

/// The connection of a client that is connected.
pub(super) fn connection(ctx: &Ctx<'_>, held: &Value<'_>) -> rquickjs::Result<Connection> {
    let connection = with_held(ctx, held, |client: &mut GrpcClient| client.connection.clone())?;
    let connection = connection.filter(|connection| connection.is_open);
    connection.ok_or_else(|| go_error(ctx, "no gRPC connection, you must call connect first"))
}

// ---- load

pub(super) fn load<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    folders: Value<'js>,
    names: Vec<String>,
) -> rquickjs::Result<Value<'js>> {
    let mut folders = match folders.as_array() {
        Some(folders) => folders.iter::<String>().collect::<rquickjs::Result<Vec<_>>>()?,
        None if is_nullish(&folders) => Vec::new(),
        None => {
            return Err(go_error(&ctx, "the import paths of load() must be an array of strings, or null"));
        }
    };
    for folder in &mut folders {
        *folder = folder.strip_prefix("file://").unwrap_or(folder).trim_end_matches('/').to_owned();
    }
    if folders.is_empty() {
        folders.push(String::new());
    }
    add(&ctx, &held, Load::Files { folders, names })
}

pub(super) fn load_protoset<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    path: String,
) -> rquickjs::Result<Value<'js>> {
    add(&ctx, &held, Load::Protoset(path))
}

fn add<'js>(ctx: &Ctx<'js>, held: &Value<'js>, load: Load) -> rquickjs::Result<Value<'js>> {
    if host_of(ctx).phase() != Phase::Init {
        return Err(go_error(ctx, "load must be called in the init context"));
    }
    let found = add_to_client(ctx, held, load)?;
    let list = Array::new(ctx.clone())?;
    for (index, method) in found.into_iter().enumerate() {
        let MethodInfo { package, service, full_method, name, is_client_stream, is_server_stream } = method;
        let info = Object::new(ctx.clone())?;
        info.set("package", package)?;
        info.set("service", service)?;
        info.set("full_method", full_method)?;
        info.set("name", name)?;
        info.set("is_client_stream", is_client_stream)?;
        info.set("is_server_stream", is_server_stream)?;
        list.set(index, info)?;
    }
    Ok(list.into_value())
}

/// Has a client know more methods; those that are new.
pub(super) fn add_to_client(
    ctx: &Ctx<'_>,
    held: &Value<'_>,
    load: Load,
) -> rquickjs::Result<Vec<MethodInfo>> {
    let host = host_of(ctx);
    let (protos, script) = (host.script.shared::<Protos>(), &host.script);
    let found = with_held(ctx, held, |client: &mut GrpcClient| {
        protos.load(&mut client.loaded, load, &script.modules, &script.entry)
    })?;
    found.map_err(|message| go_error(ctx, &message))
}

// ---- connect

/// Asks for the connection and gives the number under which it comes.
pub(super) fn connect<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    address: String,
    params: Opt<Value<'js>>,
) -> rquickjs::Result<f64> {
    require_user(&ctx, "connecting to a gRPC server")?;
    let params = connect_params(&ctx, params.0.as_ref()).map_err(|error| match error {
        ParamsError::Thrown(error) => error,
        ParamsError::Refused(why) => go_error(&ctx, &format!("invalid grpc.connect() parameters: {why}")),
    })?;
    disconnect(&ctx, &held)?;
    let host = host_of(&ctx);
    let (timeout, began) = (params.timeout, host.now());
    let connection = connection_to(&host, &address, params).map_err(|message| go_error(&ctx, &message))?;
    let id = open(&host, &connection, timeout, began);
    with_held(&ctx, &held, |client: &mut GrpcClient| client.connection = Some(connection))?;
    Ok(id as f64)
}

fn connection_to(host: &Host, address: &str, params: ConnectParams) -> Result<Connection, String> {
    let ConnectParams { is_plain, tls, authority, .. } = params;
    let scheme = if is_plain { Scheme::Http } else { Scheme::Https };
    let bare = ["dns:///", "passthrough:///"].iter().find_map(|prefix| address.strip_prefix(prefix));
    let bare = bare.unwrap_or(address);
    let has_port =
        bare.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let full = if has_port { bare.to_owned() } else { format!("{bare}:{DEFAULT_PORT}") };
    let parsed = Target::parse(&format!("{}://{full}", scheme.as_str()));
    let target = parsed.map_err(|error| format!("connection error: desc = {:?}", error.to_string()))?;
    let authority = if authority.is_empty() { bare.to_owned() } else { authority };
    let target = claim(host, target.endpoint, scheme, &authority, tls)?;
    Ok(Connection {
        target,
        address: address.to_owned(),
        authority,
        receive_bytes_max: params.receive_bytes_max.unwrap_or(RECEIVE_BYTES_MAX),
        send_bytes_max: params.send_bytes_max.unwrap_or(SEND_BYTES_MAX),
        reflect_metadata: params.reflect_metadata,
        deadline: host.now().plus(params.timeout),
        reflects: params.reflects,
        is_open: false,
    })
}

/// A target that none of the user's other clients uses.
fn claim(
    host: &Host,
    endpoint: Endpoint,
    scheme: Scheme,
    authority: &str,
    tls: ChannelTls,
) -> Result<usize, String> {
    let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
    let is_other = matches!(&endpoint, Endpoint::Tcp { host, .. } if host != name && !name.starts_with('['));
    let server_name = is_other.then(|| name.to_owned());
    let mut user = host.user();
    let connected = &mut user.data.get::<Connected>().0;
    for number in 0..=connected.len() as u32 {
        let tls = ChannelTls { server_name: server_name.clone(), ..tls.clone() };
        let channel = Channel { protocol: ChannelProtocol::Http2, number, tls };
        let channel = Some(Arc::new(channel));
        let target = Target { scheme, endpoint: endpoint.clone(), path_prefix: String::new(), channel };
        let index = host.tables().targets.index_of(target);
        let index = index.ok_or_else(|| format!("a run has at most {TARGETS_MAX} targets"))?;
        if !connected.contains(&index) {
            connected.push(index);
            return Ok(index);
        }
    }
    unreachable!("a user has more targets than clients that are connected")
}

fn open(host: &Host, connection: &Connection, timeout: Nanos, began: Nanos) -> AskId {
    let (mut user, target) = (host.user(), connection.target);
    let settings = CallSettings {
        form: GrpcForm::Connection,
        target,
        address: connection.address.clone(),
        tags: user.tags,
        own_tags: Vec::new(),
        receive_bytes_max: 0,
        send_bytes_max: 0,
    };
    let (id, iteration) = (user.waits.new_id(), user.iteration);
    user.data.get::<Calls>().0.insert(id, GrpcCall::new(settings, began, iteration));
    drop(user);
    host.outgoing().asks.push(Ask::OpenChannel(ChannelOpening { id, target, timeout }));
    id
}

/// The connection is open; true where the server is to be asked what it has.
pub(super) fn connected<'js>(ctx: Ctx<'js>, held: Value<'js>) -> rquickjs::Result<bool> {
    with_held(&ctx, &held, |client: &mut GrpcClient| {
        let Some(connection) = &mut client.connection else { return false };
        connection.is_open = true;
        connection.reflects
    })
}

// ---- close

pub(super) fn close<'js>(ctx: Ctx<'js>, held: Value<'js>) -> rquickjs::Result<()> {
    disconnect(&ctx, &held)
}

/// Calls that go on are ended.
fn disconnect(ctx: &Ctx<'_>, held: &Value<'_>) -> rquickjs::Result<()> {
    let connection = with_held(ctx, held, |client: &mut GrpcClient| client.connection.take())?;
    let Some(Connection { target, .. }) = connection else { return Ok(()) };
    let host = host_of(ctx);
    let now = host.now();
    let mut user = host.user();
    user.data.get::<Connected>().0.retain(|known| *known != target);
    let mut ended = Vec::new();
    for (id, call) in &mut user.data.get::<Calls>().0 {
        if call.target == target && call.end.is_none() {
            call.end_early(Status::new(Code::CANCELED, "grpc: the client connection is closing"), now);
            ended.push(*id);
        }
    }
    for id in ended {
        announce(&mut user, id);
        host.outgoing().asks.push(Ask::DropCall(id));
    }
    drop(user);
    host.outgoing().asks.push(Ask::CloseChannel(target));
    Ok(())
}
