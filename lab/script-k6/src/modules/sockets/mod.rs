//! WebSockets of scripts: opened, written to and heard, with their metrics. The natives of `k6/ws` and `k6/websockets`.

use super::basics::{call_tags, require_user};
use super::binding::{array_buffer, buffer_source, go_error, text_of, uint8_array};
use crate::host::{Host, host_of};
use crate::http::binding::handle::Handle;
use crate::http::call::now_ms;
use crate::http::call::state::{options, user_jar};
use crate::http::fault::RequestFault;
use crate::vm::{Answered, Builtin, Failed, Heard, Native, SocketHeard};
use prony_http_session::url::Url;
use prony_metrics::{MetricId, Recorder, SystemTag, Tags, builtin};
use prony_model::plan::target::Target;
use prony_model::program::call::{Ask, AskId, SocketClose, SocketMessage, SocketOpening};
use prony_model::units::Nanos;
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, IntoJs as _, Object, Value};
use std::collections::HashMap;
use std::io::Write as _;
use std::rc::Rc;

pub(super) const MODULES: [Builtin; 3] = [
    Builtin { specifier: "k6/ws", text: include_str!("ws.js") },
    Builtin { specifier: "k6/websockets", text: include_str!("websockets.js") },
    Builtin {
        specifier: "k6/experimental/websockets",
        // By name: what is imported of a built-in module is looked for among the names in its own text.
        text: "export { Blob, WebSocket, default } from 'k6/websockets';\n",
    },
];
pub(super) const NATIVE: Native = Native { name: "prony:sockets", install };

const HANDSHAKE_TIMEOUT: Nanos = Nanos::from_secs(60);
const DELAY_MAX_MS: f64 = 365.0 * 86_400_000.0;

/// A user's open sockets, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
struct Sockets(HashMap<AskId, Socket>);

#[derive(Debug)]
struct Socket {
    url: Rc<Url>,
    opened: Nanos,
    /// Those that its user had when it opened it.
    of_user: Tags,
    /// Beside those.
    tags: Vec<(String, String)>,
    /// When each ping that was not answered yet was sent.
    pings: HashMap<Vec<u8>, Nanos>,
    ping_count: u64,
    /// The iteration that opened it: what an earlier one left is gone.
    iteration: u64,
}

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("open", Function::new(ctx.clone(), open)?)?;
    exports.set("send", Function::new(ctx.clone(), send)?)?;
    exports.set("ping", Function::new(ctx.clone(), ping)?)?;
    exports.set("close", Function::new(ctx.clone(), close)?)?;
    exports.set("end", Function::new(ctx.clone(), end)?)?;
    exports.set("timer", Function::new(ctx.clone(), timer)?)?;
    exports.set("wait", Function::new(ctx.clone(), wait)?)?;
    exports.set("take", Function::new(ctx.clone(), take)?)?;
    exports.set("utf8", Function::new(ctx.clone(), utf8)?)?;
    exports.set("text", Function::new(ctx.clone(), text)?)?;
    exports.set("throws", Function::new(ctx.clone(), throws)?)?;
    exports.set("listen", Function::new(ctx.clone(), listen)?)
}

/// Asks for a socket and gives its number. `names_url` also tags its samples with the name.
fn open<'js>(
    ctx: Ctx<'js>,
    url: String,
    params: Opt<Value<'js>>,
    protocols: Opt<Vec<String>>,
    names_url: Opt<bool>,
) -> rquickjs::Result<f64> {
    let host = host_of(&ctx);
    require_user(&host, &ctx, "a WebSocket")?;
    let refused = |message: &str| go_error(&ctx, message);
    let parsed = Url::parse(&url).map_err(|error| refused(&error.to_string()))?;
    let scheme = match parsed.scheme.as_str() {
        "ws" => "http",
        "wss" => "https",
        _ => return Err(refused("malformed ws or wss URL")),
    };
    let target = Target::parse(&format!("{scheme}://{}", parsed.host));
    let target = target.map_err(|error| refused(&error.to_string()))?;
    let target = host.tables().targets.index_of(target);
    let target = target.ok_or_else(|| refused("a run has at most 1,000 targets"))?;
    let params = params.0.and_then(Value::into_object);
    let own_tags = match params.as_ref().map(|params| params.get::<_, Value<'js>>("tags")).transpose()? {
        Some(tags) => tags.as_object().map_or_else(|| Ok(Vec::new()), |tags| call_tags(&ctx, tags))?,
        None => Vec::new(),
    };
    let mut headers = headers(&ctx, params.as_ref(), protocols.0.unwrap_or_default())?;
    add_cookies(&host, params.as_ref(), &parsed, &mut headers)?;
    let tags = opening_tags(&host, &url, own_tags, names_url.0.unwrap_or(false));
    let text = write_request(&host, &parsed, &headers);
    let opened = host.now();
    let id = {
        let mut user = host.user();
        let (iteration, of_user) = (user.iteration, user.tags);
        let id = user.waits.new_id();
        let sockets = user.data.get::<Sockets>();
        sockets.0.retain(|_, socket| socket.iteration == iteration);
        let (url, pings) = (Rc::new(parsed), HashMap::new());
        sockets.0.insert(id, Socket { url, opened, of_user, tags, pings, ping_count: 0, iteration });
        id
    };
    let opening = SocketOpening { id, target, text, timeout: HANDSHAKE_TIMEOUT, outlives_iteration: false };
    host.outgoing().asks.push(Ask::OpenSocket(opening));
    Ok(id as f64)
}

fn headers<'js>(
    ctx: &Ctx<'js>,
    params: Option<&Object<'js>>,
    protocols: Vec<String>,
) -> rquickjs::Result<Vec<(String, String)>> {
    let mut headers = vec![("User-Agent".to_owned(), options(&host_of(ctx)).user_agent.clone())];
    if !protocols.is_empty() {
        headers.push(("Sec-WebSocket-Protocol".to_owned(), protocols.join(", ")));
    }
    let Some(params) = params else { return Ok(headers) };
    if let Some(given) = params.get::<_, Value<'js>>("headers")?.as_object() {
        for pair in given.props::<String, Value<'js>>() {
            let (name, value) = pair?;
            let value = text_of(ctx, value)?;
            if name.bytes().chain(value.bytes()).any(|byte| byte < 0x20 || byte == 0x7f) {
                return Err(go_error(ctx, &format!("header {name:?} has a control character")));
            }
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
    }
    Ok(headers)
}

/// Sets `Cookie`: the script's own, then those of the jar that it named, or of the user's.
fn add_cookies(
    host: &Host,
    params: Option<&Object<'_>>,
    url: &Url,
    headers: &mut Vec<(String, String)>,
) -> rquickjs::Result<()> {
    let named = params.map(|params| params.get::<_, Value<'_>>("jar")).transpose()?;
    let jar = match named.as_ref().and_then(Handle::of) {
        Some(Handle::Jar(jar)) => jar,
        _ => user_jar(host),
    };
    let scheme = if url.scheme == "wss" { "https" } else { "http" };
    let page = Url { scheme: scheme.to_owned(), ..url.clone() };
    let own = headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    let mut cookies = own.map(|index| headers.remove(index).1).unwrap_or_default();
    for (name, value) in jar.borrow_mut().cookies_for(&page, now_ms()) {
        if !cookies.is_empty() {
            cookies.push_str("; ");
        }
        cookies.extend([name.as_str(), "=", value.as_str()]);
    }
    if !cookies.is_empty() {
        headers.push(("Cookie".to_owned(), cookies));
    }
    Ok(())
}

fn write_request(host: &Host, url: &Url, headers: &[(String, String)]) -> core::ops::Range<usize> {
    let text = &mut host.outgoing().text;
    let start = text.len();
    let own_host =
        headers.iter().find(|(name, value)| name.eq_ignore_ascii_case("host") && !value.is_empty());
    let host_name = own_host.map_or(url.host.as_str(), |(_, value)| value);
    let written =
        write!(text, "GET {} HTTP/1.1\r\nHost: {host_name}\r\n", url.request_target()).and_then(|()| {
            let others = headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
            others.into_iter().try_for_each(|(name, value)| write!(text, "{name}: {value}\r\n"))?;
            text.write_all(b"\r\n")
        });
    written.expect("a vector takes all that is written");
    start..text.len()
}

/// Beside the user's tags.
fn opening_tags(
    host: &Host,
    url: &str,
    mut tags: Vec<(String, String)>,
    names_url: bool,
) -> Vec<(String, String)> {
    let system = host.recorder().sets().system();
    let mut add = |tag: SystemTag, value: &str| {
        if system.has(tag) && !tags.iter().any(|(name, _)| name == tag.as_str()) {
            tags.push((tag.as_str().to_owned(), value.to_owned()));
        }
    };
    add(SystemTag::Url, url);
    if names_url {
        add(SystemTag::Name, url);
    }
    tags
}

/// Adds what the answer to the opening handshake said to a socket's tags.
fn add_answer_tags(host: &Host, id: AskId, answered: &Answered) {
    let system = host.recorder().sets().system();
    let protocol = header_of(answered, "sec-websocket-protocol").unwrap_or_default();
    let address = answered.peer.address.map(|address| address.ip().to_string()).unwrap_or_default();
    let facts = [
        (SystemTag::Status, answered.status.to_string()),
        (SystemTag::Subproto, protocol),
        (SystemTag::Ip, address),
    ];
    let mut user = host.user();
    if let Some(socket) = user.data.get::<Sockets>().0.get_mut(&id) {
        let wanted = facts.into_iter().filter(|(tag, _)| system.has(*tag));
        socket.tags.extend(wanted.map(|(tag, value)| (tag.as_str().to_owned(), value)));
    }
}

fn header_of(answered: &Answered, name: &str) -> Option<String> {
    let found = header_lines(&answered.head).find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

fn header_lines(head: &[u8]) -> impl Iterator<Item = (String, String)> {
    let lines: Vec<_> = head.split(|byte| *byte == b'\n').skip(1).map(String::from_utf8_lossy).collect();
    let pairs = lines.into_iter().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    pairs.collect::<Vec<_>>().into_iter()
}

/// Records with the tags of a socket, whatever its user's are by now, as in k6.
fn record(host: &Host, id: AskId, work: impl FnOnce(&mut Recorder, Tags, Nanos)) {
    let found = host.user().data.get::<Sockets>().0.get(&id).map(|socket| {
        let Socket { opened, of_user, tags, .. } = socket;
        (*opened, *of_user, tags.clone())
    });
    let Some((opened, of_user, own)) = found else { return };
    let own: Vec<_> = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut recorder = host.recorder();
    let set = recorder.sets().derive(of_user.set, &own);
    work(&mut recorder, Tags { set, ..of_user }, opened);
}

fn count(host: &Host, id: AskId, metric: MetricId) {
    record(host, id, |recorder, tags, _| recorder.record(metric, tags, 1.0));
}

/// A text, or the bytes of a buffer or a view; false where the socket is gone.
fn send<'js>(ctx: Ctx<'js>, id: f64, message: Value<'js>) -> rquickjs::Result<bool> {
    let host = host_of(&ctx);
    let message = match buffer_source(&message) {
        Some(bytes) => SocketMessage::Binary(bytes),
        None => SocketMessage::Text(text_of(&ctx, message)?),
    };
    Ok(send_message(&host, id as AskId, message, true))
}

fn send_message(host: &Host, id: AskId, message: SocketMessage, is_counted: bool) -> bool {
    if !host.user().data.get::<Sockets>().0.contains_key(&id) {
        return false;
    }
    host.outgoing().asks.push(Ask::SendSocket(id, message));
    if is_counted {
        count(host, id, builtin::WS_MSGS_SENT);
    }
    true
}

fn ping(ctx: Ctx<'_>, id: f64, is_counted: Opt<bool>) -> bool {
    let host = host_of(&ctx);
    let (id, now) = (id as AskId, host.now());
    let payload = {
        let mut user = host.user();
        let Some(socket) = user.data.get::<Sockets>().0.get_mut(&id) else { return false };
        let payload = socket.ping_count.to_string().into_bytes();
        socket.ping_count += 1;
        socket.pings.insert(payload.clone(), now);
        payload
    };
    send_message(&host, id, SocketMessage::Ping(payload), is_counted.0.unwrap_or(false))
}

/// As k6 does, `k6/websockets` counts the message that closes among those sent, and `k6/ws` does not; so with pings.
fn close(ctx: Ctx<'_>, id: f64, code: u16, reason: Opt<String>, is_counted: Opt<bool>) {
    let host = host_of(&ctx);
    if is_counted.0.unwrap_or(false) {
        count(&host, id as AskId, builtin::WS_MSGS_SENT);
    }
    let reason = reason.0.unwrap_or_default();
    host.outgoing().asks.push(Ask::CloseSocket(id as AskId, SocketClose { code, reason }));
}

/// Records how long a session took; the socket is forgotten.
fn end(ctx: Ctx<'_>, id: f64) {
    let (host, id) = (host_of(&ctx), id as AskId);
    let now = host.now();
    record(&host, id, |recorder, tags, opened| {
        recorder.record(builtin::WS_SESSION_DURATION, tags, now.since(opened).as_millis_f64());
    });
    host.user().data.get::<Sockets>().0.remove(&id);
}

/// A timer that calls nothing: whoever waits takes it.
fn timer(ctx: Ctx<'_>, delay_ms: Coerced<f64>) -> f64 {
    let host = host_of(&ctx);
    let due = host.now().plus(Nanos::from_secs_f64(delay_ms.0.clamp(0.0, DELAY_MAX_MS) / 1e3));
    host.user().waits.start_timer(due) as f64
}

/// The next park ends when something comes under one of these numbers.
fn wait(ctx: Ctx<'_>, ids: Vec<f64>) {
    host_of(&ctx).user().waits.await_any(ids.into_iter().map(|id| id as AskId).collect());
}

/// Whether a socket that cannot be opened is thrown, by option `throw`.
fn throws(ctx: Ctx<'_>) -> bool {
    options(&host_of(&ctx)).throws
}

fn utf8<'js>(ctx: Ctx<'js>, text: Value<'js>) -> rquickjs::Result<Value<'js>> {
    uint8_array(&ctx, text_of(&ctx, text)?.into_bytes())
}

fn text(view: Value<'_>) -> String {
    String::from_utf8_lossy(&buffer_source(&view).unwrap_or_default()).into_owned()
}

fn listen<'js>(ctx: Ctx<'js>, id: f64, callback: Function<'js>) {
    host_of(&ctx).on_news(&ctx, id as AskId, callback);
}

/// What came first under one of these numbers, as `{id, type, …}`; undefined where nothing has come.
fn take(ctx: Ctx<'_>, ids: Vec<f64>) -> rquickjs::Result<Value<'_>> {
    let host = host_of(&ctx);
    let ids: Vec<AskId> = ids.into_iter().map(|id| id as AskId).collect();
    let Some((id, heard)) = host.user().waits.take_any(&ids) else { return Ok(Value::new_undefined(ctx)) };
    let event = Object::new(ctx.clone())?;
    event.set("id", id as f64)?;
    match heard {
        Heard::Due => event.set("type", "timer")?,
        Heard::Socket(news) => describe(&ctx, &host, id, news, &event)?,
        Heard::Answered(_) | Heard::Failed(_) | Heard::Channel(_) => event.set("type", "other")?,
    }
    Ok(event.into_value())
}

fn describe<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    id: AskId,
    news: SocketHeard,
    event: &Object<'js>,
) -> rquickjs::Result<()> {
    match news {
        SocketHeard::Opened(answered) => {
            event.set("type", "open")?;
            describe_answer(ctx, host, id, &answered, event)
        }
        SocketHeard::Refused(answered) => {
            event.set("type", "refused")?;
            event.set("error", "websocket: bad handshake")?;
            describe_answer(ctx, host, id, &answered, event)
        }
        SocketHeard::Message(message) => describe_message(ctx, host, id, message, event),
        SocketHeard::Closed(close) => {
            event.set("type", "close")?;
            event.set("code", close.code)?;
            if let Some(error) = unexpected(&close) {
                event.set("error", error)?;
            }
            event.set("reason", close.reason)
        }
        SocketHeard::Failed(failed) => {
            let is_open = host.user().data.get::<Sockets>().0.get(&id).is_some_and(|socket| {
                socket.tags.iter().any(|(name, value)| name == SystemTag::Status.as_str() && value == "101")
            });
            if !is_open {
                record_opening(host, id, failed.times.ended.since(failed.times.asked));
            }
            event.set("type", "failed")?;
            event.set("error", error_of(host, id, is_open, &failed))
        }
    }
}

/// In the words of the requests' faults; of a socket that was open, as it came.
fn error_of(host: &Host, id: AskId, is_open: bool, failed: &Failed) -> String {
    let url = host.user().data.get::<Sockets>().0.get(&id).map(|socket| Rc::clone(&socket.url));
    match url {
        Some(url) if !is_open => RequestFault::of_call(&failed.fault, &failed.peer, &url).long,
        _ => failed.fault.message.clone(),
    }
}

fn describe_answer<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    id: AskId,
    answered: &Answered,
    event: &Object<'js>,
) -> rquickjs::Result<()> {
    add_answer_tags(host, id, answered);
    record_opening(host, id, answered.times.ended.since(answered.times.asked));
    event.set("status", answered.status)?;
    event.set("body", String::from_utf8_lossy(&answered.body).into_owned())?;
    event.set("protocol", header_of(answered, "sec-websocket-protocol").unwrap_or_default())?;
    event.set("extensions", header_of(answered, "sec-websocket-extensions").unwrap_or_default())?;
    let headers = Object::new(ctx.clone())?;
    for (name, value) in header_lines(&answered.head) {
        headers.set(canonical(&name), value)?;
    }
    event.set("headers", headers)
}

/// As Go writes the names of headers: `Sec-Websocket-Protocol`.
fn canonical(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut word = word.to_ascii_lowercase();
        if let Some(first) = word.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        word
    });
    words.collect::<Vec<_>>().join("-")
}

fn describe_message<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    id: AskId,
    message: SocketMessage,
    event: &Object<'js>,
) -> rquickjs::Result<()> {
    let (kind, data) = match message {
        SocketMessage::Text(text) => ("message", Some(text.into_js(ctx)?)),
        SocketMessage::Binary(bytes) => ("binaryMessage", Some(array_buffer(ctx, bytes)?)),
        SocketMessage::Ping(_) => ("ping", None),
        SocketMessage::Pong(payload) => {
            let now = host.now();
            let sent = host
                .user()
                .data
                .get::<Sockets>()
                .0
                .get_mut(&id)
                .and_then(|socket| socket.pings.remove(&payload));
            if let Some(sent) = sent {
                record(host, id, |recorder, tags, _| {
                    recorder.record(builtin::WS_PING, tags, now.since(sent).as_millis_f64());
                });
            }
            ("pong", None)
        }
    };
    event.set("type", kind)?;
    if let Some(data) = data {
        count(host, id, builtin::WS_MSGS_RECEIVED);
        event.set("data", data)?;
    }
    Ok(())
}

fn record_opening(host: &Host, id: AskId, took: Nanos) {
    record(host, id, |recorder, tags, opened| {
        recorder.record_at(builtin::WS_SESSIONS, tags, opened, 1.0);
        recorder.record_at(builtin::WS_CONNECTING, tags, opened, took.as_millis_f64());
    });
}

/// The error of a closing that is neither normal nor a leave-taking, in gorilla's words.
fn unexpected(close: &SocketClose) -> Option<String> {
    let name = match close.code {
        1000 | 1001 => return None,
        1002 => " (protocol error)",
        1003 => " (unsupported data)",
        1005 => " (no status)",
        1006 => " (abnormal closure)",
        1007 => " (invalid payload data)",
        1008 => " (policy violation)",
        1009 => " (message too big)",
        1010 => " (mandatory extension missing)",
        1011 => " (internal server error)",
        1015 => " (TLS handshake error)",
        _ => "",
    };
    let reason = match (close.code, close.reason.as_str()) {
        (1006, "") => ": unexpected EOF".to_owned(),
        (_, "") => String::new(),
        (_, reason) => format!(": {reason}"),
    };
    Some(format!("websocket: close {}{name}{reason}", close.code))
}
