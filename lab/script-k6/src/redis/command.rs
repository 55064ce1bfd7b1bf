//! Natives that send commands and give scripts their replies.

use super::options::RedisOptions;
use super::resp::{Reply, command, reply};
use crate::host::{Host, host_of};
use crate::http::fault::RequestFault;
use crate::modules::binding::{go_error, go_type, hold, with_held};
use crate::vm::{ChannelArrival, Failed, Heard, Phase};
use prony_model::plan::target::{Channel, ChannelProtocol, Endpoint, Scheme, Target};
use prony_model::program::call::{Ask, AskId, ChannelOpening};
use prony_model::program::table::TARGETS_MAX;
use rquickjs::{Array, Ctx, Function, IntoJs as _, Object, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

const NIL: &str = "redis: nil";

/// What an object of JavaScript holds.
#[derive(Debug)]
struct RedisClient {
    options: RedisOptions,
    has_connected: bool,
}

/// A user's commands that have no reply yet, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
struct Commands(HashMap<AskId, Command>);

#[derive(Debug)]
struct Command {
    options: RedisOptions,
    target: usize,
    text: Vec<u8>,
    received: Vec<u8>,
    /// Replies to what a new connection is told before the command.
    greetings: usize,
    /// Rings when the reply should have come.
    timer: Option<AskId>,
    /// The connection has served before: where it is dead, another one is tried.
    is_reused: bool,
    /// The iteration that sent it: what an earlier one left is gone.
    iteration: u64,
}

pub(super) fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("client", Function::new(ctx.clone(), client)?)?;
    exports.set("poolSize", Function::new(ctx.clone(), pool_size)?)?;
    exports.set("isConnected", Function::new(ctx.clone(), is_connected)?)?;
    exports.set("send", Function::new(ctx.clone(), send)?)?;
    exports.set("take", Function::new(ctx.clone(), take)?)
}

/// A text is a URL.
fn client<'js>(ctx: Ctx<'js>, given: Value<'js>) -> rquickjs::Result<Value<'js>> {
    let options = if let Some(url) = given.as_string() {
        RedisOptions::of_url(&url.to_string()?)
    } else if given.is_object() && !given.is_array() && !given.is_function() {
        let json = ctx.json_stringify(given)?.map(|json| json.to_string()).transpose()?;
        RedisOptions::of_json(&json.unwrap_or_default())
    } else {
        let kind = go_type(&given);
        return Err(go_error(&ctx, &format!("invalid options type: {kind}; expected string or object")));
    };
    let options = options.map_err(|why| go_error(&ctx, &format!("invalid options; reason: {why}")))?;
    hold(&ctx, RedisClient { options, has_connected: false })
}

fn pool_size<'js>(ctx: Ctx<'js>, held: Value<'js>) -> rquickjs::Result<usize> {
    with_held(&ctx, &held, |client: &mut RedisClient| client.options.pool_size)
}

fn is_connected<'js>(ctx: Ctx<'js>, held: Value<'js>) -> rquickjs::Result<bool> {
    with_held(&ctx, &held, |client: &mut RedisClient| client.has_connected)
}

/// Sends a command; the callback is called, with its number, when something comes of it.
fn send<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    arguments: Array<'js>,
    callback: Function<'js>,
) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    if host.phase() == Phase::Init {
        let message = "connecting to a redis server in the init context is not supported";
        return Err(go_error(&ctx, message));
    }
    let arguments = arguments.iter::<Value<'js>>().enumerate().map(|(index, argument)| {
        let text = text_of(&argument?);
        let refused = || {
            let index = index.saturating_sub(1);
            format!("unsupported type provided for argument at index {index}, supported types are string, number, and boolean")
        };
        text.ok_or_else(|| go_error(&ctx, &refused()))
    });
    let arguments = arguments.collect::<rquickjs::Result<Vec<_>>>()?;
    let options = with_held(&ctx, &held, |client: &mut RedisClient| {
        client.has_connected = true;
        client.options.clone()
    })?;
    let target = target(&host, &options).map_err(|message| go_error(&ctx, &message))?;
    let mut text = Vec::new();
    command(&arguments, &mut text);
    let iteration = host.user().iteration;
    let command = Command {
        options,
        target,
        text,
        received: Vec::new(),
        greetings: 0,
        timer: None,
        is_reused: false,
        iteration,
    };
    host.user().data.get::<Commands>().0.retain(|_, command| command.iteration == iteration);
    open(&ctx, &host, command, callback);
    Ok(())
}

/// As go-redis writes the values that it takes.
fn text_of(value: &Value<'_>) -> Option<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return text.to_string().ok().map(String::into_bytes);
    }
    if let Some(flag) = value.as_bool() {
        return Some(if flag { b"1".to_vec() } else { b"0".to_vec() });
    }
    value.as_number().map(|number| number.to_string().into_bytes())
}

/// The options of a script's clients: those with the same ones share connections. One a script, shared by its threads
/// ([`crate::vm::Script::shared`]).
#[derive(Debug, Default)]
struct KnownOptions(Mutex<Vec<RedisOptions>>);

impl KnownOptions {
    fn number_of(&self, options: &RedisOptions) -> usize {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().position(|other| other == options).unwrap_or_else(|| {
            known.push(options.clone());
            known.len() - 1
        })
    }
}

fn target(host: &Host, options: &RedisOptions) -> Result<usize, String> {
    let scheme = if options.tls.is_some() { Scheme::Https } else { Scheme::Http };
    let tls = options.tls.clone().unwrap_or_default();
    let number = host.script.shared::<KnownOptions>().number_of(options) as u32;
    let channel = Some(Arc::new(Channel { protocol: ChannelProtocol::Bytes, number, tls }));
    let endpoint = Endpoint::Tcp { host: options.host.clone(), port: options.port };
    let target = Target { scheme, endpoint, path_prefix: String::new(), channel };
    let index = host.tables().targets.index_of(target);
    index.ok_or_else(|| format!("a run has at most {TARGETS_MAX} targets"))
}

fn open<'js>(ctx: &Ctx<'js>, host: &Host, command: Command, callback: Function<'js>) {
    let (target, timeout) = (command.target, command.options.dial_timeout);
    let id = {
        let mut user = host.user();
        let id = user.waits.new_id();
        user.data.get::<Commands>().0.insert(id, command);
        id
    };
    host.on_news(ctx, id, callback);
    host.outgoing().asks.push(Ask::OpenChannel(ChannelOpening { id, target, timeout }));
}

/// What has become of a command.
enum CommandProgress {
    Waits,
    /// Its connection was dead before.
    Again,
    Replied(Reply),
    Failed(String),
}

/// The reply to a command: undefined as long as there is none, thrown where it is an error. `callback` is called when there is
/// more.
fn take<'js>(ctx: Ctx<'js>, id: f64, callback: Function<'js>) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    // The timer's number stands for the command's.
    let id = command_of(&host, id as AskId);
    let Some(mut command) = host.user().data.get::<Commands>().0.remove(&id) else {
        return Ok(Value::new_undefined(ctx));
    };
    let progress = advance(&ctx, &host, id, &mut command, &callback);
    if matches!(progress, CommandProgress::Waits) {
        host.user().data.get::<Commands>().0.insert(id, command);
        return Ok(Value::new_undefined(ctx));
    }
    if let Some(timer) = command.timer.take() {
        host.user().waits.stop_timer(timer);
        host.off_news(timer);
    }
    host.off_news(id);
    match progress {
        CommandProgress::Again => {
            (command.is_reused, command.received) = (false, Vec::new());
            open(&ctx, &host, command, callback);
            Ok(Value::new_undefined(ctx))
        }
        CommandProgress::Replied(reply) => {
            host.outgoing().asks.push(Ask::KeepChannel(id));
            value_of(&ctx, reply, true)
        }
        CommandProgress::Failed(message) => {
            host.outgoing().asks.push(Ask::DropCall(id));
            Err(go_error(&ctx, &message))
        }
        CommandProgress::Waits => Ok(Value::new_undefined(ctx)),
    }
}

fn command_of(host: &Host, id: AskId) -> AskId {
    let mut user = host.user();
    let mut commands = user.data.get::<Commands>().0.iter();
    commands.find(|(_, command)| command.timer == Some(id)).map_or(id, |(id, _)| *id)
}

fn advance<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    id: AskId,
    command: &mut Command,
    callback: &Function<'js>,
) -> CommandProgress {
    loop {
        let heard = host.user().waits.take(id);
        match heard {
            Some(Heard::Channel(ChannelArrival::Opened { times })) => {
                command.is_reused = !times.is_new_connection;
                begin(ctx, host, id, command, callback);
            }
            Some(Heard::Channel(ChannelArrival::Received { body, .. })) => {
                command.received.extend_from_slice(&body);
                if let Some(progress) = take_replies(command) {
                    return progress;
                }
            }
            Some(Heard::Channel(ChannelArrival::Failed(failed))) => return failed_progress(command, &failed),
            Some(_) => {}
            None => break,
        }
    }
    let is_late = command.timer.is_some_and(|timer| !host.user().waits.has_timer(timer));
    if is_late { CommandProgress::Failed("i/o timeout".to_owned()) } else { CommandProgress::Waits }
}

/// Writes the command; to a new connection first who the client is and which database it means.
fn begin<'js>(ctx: &Ctx<'js>, host: &Host, id: AskId, command_: &mut Command, callback: &Function<'js>) {
    let options = &command_.options;
    let mut bytes = Vec::new();
    if !command_.is_reused {
        let user = (!options.username.is_empty()).then_some(options.username.as_str());
        if !options.password.is_empty() {
            let words: Vec<&str> =
                ["AUTH"].into_iter().chain(user).chain([options.password.as_str()]).collect();
            command(&words, &mut bytes);
            command_.greetings += 1;
        }
        if options.database != 0 {
            command(&["SELECT", &options.database.to_string()], &mut bytes);
            command_.greetings += 1;
        }
    }
    bytes.extend_from_slice(&command_.text);
    let due = host.now().plus(options.read_timeout);
    let timer = {
        let mut user = host.user();
        user.data_sent += bytes.len() as u64;
        user.waits.start_timer(due)
    };
    command_.timer = Some(timer);
    host.on_news(ctx, timer, callback.clone());
    host.outgoing().asks.push(Ask::SendBytes { id, bytes, is_last: false });
}

/// None where the reply is not whole.
fn take_replies(command: &mut Command) -> Option<CommandProgress> {
    loop {
        match reply(&command.received) {
            Ok(None) => return None,
            Err(error) => return Some(CommandProgress::Failed(error.to_string())),
            Ok(Some((Reply::Error(message), _))) if command.greetings > 0 => {
                return Some(CommandProgress::Failed(message));
            }
            Ok(Some((_, bytes))) if command.greetings > 0 => {
                command.greetings -= 1;
                command.received.drain(..bytes);
            }
            Ok(Some((reply, bytes))) if bytes == command.received.len() => {
                return Some(CommandProgress::Replied(reply));
            }
            Ok(Some(_)) => return Some(CommandProgress::Failed("redis: more than one reply".to_owned())),
        }
    }
}

fn failed_progress(command: &Command, failed: &Failed) -> CommandProgress {
    if command.is_reused && command.received.is_empty() {
        return CommandProgress::Again;
    }
    let long = command.options.url().map(|url| RequestFault::of_call(&failed.fault, &failed.peer, &url).long);
    CommandProgress::Failed(long.unwrap_or_else(|| failed.fault.message.clone()))
}

/// What is not there, and an error, are thrown, within a list given.
fn value_of<'js>(ctx: &Ctx<'js>, reply: Reply, is_whole: bool) -> rquickjs::Result<Value<'js>> {
    match reply {
        Reply::Error(message) if is_whole => Err(go_error(ctx, &message)),
        Reply::Bulk(None) | Reply::List(None) if is_whole => Err(go_error(ctx, NIL)),
        Reply::Bulk(None) | Reply::List(None) => Ok(Value::new_null(ctx.clone())),
        Reply::Status(text) | Reply::Error(text) => text.into_js(ctx),
        Reply::Integer(number) => Ok(Value::new_number(ctx.clone(), number as f64)),
        Reply::Bulk(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned().into_js(ctx),
        Reply::List(Some(items)) => {
            let list = Array::new(ctx.clone())?;
            for (index, item) in items.into_iter().enumerate() {
                list.set(index, value_of(ctx, item, false)?)?;
            }
            Ok(list.into_value())
        }
    }
}
