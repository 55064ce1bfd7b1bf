//! Natives that give scripts what has come of their calls and streams.

use super::call::{Calls, End, GrpcCall, GrpcForm, shown};
use super::client::add_to_client;
use super::frames::{SEND_BYTES_MAX, framed};
use super::message::{decode, details, error};
use super::protos::Load;
use super::reflection::ReflectionStep;
use super::samples::{count, sample};
use super::status::{Code, Status};
use crate::host::{Host, host_of};
use crate::http::fault::RequestFault;
use crate::modules::binding::go_error;
use crate::modules::log::{Level, Log};
use crate::vm::{Failed, Heard};
use prony_http_session::url::Url;
use prony_metrics::{SystemTag, builtin};
use prony_model::program::call::{Ask, AskId};
use prost::Message as _;
use prost_reflect::DescriptorPool;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Function, Value};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;

/// `grpc.health.v1.HealthCheckResponse`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct HealthResponse {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// Has the callback be called each time something comes of a call.
pub(super) fn listen<'js>(ctx: Ctx<'js>, id: f64, callback: Function<'js>) {
    host_of(&ctx).on_news(&ctx, id as AskId, callback);
}

/// The next park ends when something comes of a call.
pub(super) fn wait(ctx: Ctx<'_>, id: f64) {
    host_of(&ctx).user().waits.await_one(id as AskId);
}

/// Warns in the log, with the method of a stream where there is one.
pub(super) fn warn(ctx: Ctx<'_>, message: String, method: String) {
    let field = ("streamMethod", method.as_str());
    let fields = if method.is_empty() { &[][..] } else { std::slice::from_ref(&field) };
    host_of(&ctx).script.shared::<Log>().write(Level::Warning, &message, fields);
}

/// What has come of a call: undefined as long as there is nothing to say. `client`: whose reflection it is.
///
/// A connection gives true or throws. A call gives its response, a health check its number. Reflection gives false where the
/// server does not know it. A stream gives a list of `["data", message]`, and at its end `["error", {…}, text]` where it ended
/// with one and `["end"]`.
pub(super) fn take<'js>(ctx: Ctx<'js>, id: f64, client: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
    let (host, id) = (host_of(&ctx), id as AskId);
    receive(&host, id);
    let reflected = advance_reflection(&host, id);
    if let Some((call, end)) = finish(&host, id) {
        return match (reflected, client.0) {
            (Some(files), Some(client)) => {
                add_to_client(&ctx, &client, Load::Reflected(files))?;
                Ok(Value::new_bool(ctx, true))
            }
            _ => value_of(&ctx, &call, &end),
        };
    }
    let (messages, form) = {
        let mut user = host.user();
        match user.data.get::<Calls>().0.get_mut(&id) {
            Some(call) if matches!(call.form, GrpcForm::Stream { has_one_response: false, .. }) => {
                (std::mem::take(&mut call.messages), call.form.clone())
            }
            _ => return Ok(Value::new_undefined(ctx)),
        }
    };
    if messages.is_empty() {
        return Ok(Value::new_undefined(ctx));
    }
    (0..messages.len()).for_each(|_| count(&host, id, builtin::GRPC_STREAMS_MSGS_RECEIVED));
    ctx.json_parse(Json::Array(data_events(&form, &messages)).to_string())
}

/// Hands a call what has come for it.
fn receive(host: &Host, id: AskId) {
    let now = host.now();
    let mut user = host.user();
    while let Some(heard) = user.waits.take(id) {
        if let Heard::Channel(arrival) = heard
            && let Some(call) = user.data.get::<Calls>().0.get_mut(&id)
        {
            call.arrive(arrival, dial, now);
        }
    }
}

/// How a connection failed, as k6 says it of requests of HTTP.
fn dial(failed: &Failed, address: &str) -> String {
    match Url::parse(&format!("http://{address}")) {
        Ok(url) => RequestFault::of_call(&failed.fault, &failed.peer, &url).long,
        Err(_) => failed.fault.message.clone(),
    }
}

/// Asks for what reflection wants next; all files once they are there.
fn advance_reflection(host: &Host, id: AskId) -> Option<Vec<Vec<u8>>> {
    let now = host.now();
    let mut user = host.user();
    let call = user.data.get::<Calls>().0.get_mut(&id)?;
    loop {
        let GrpcForm::Reflection { state, .. } = &mut call.form else { return None };
        let next = state.take(&call.messages.pop_front()?);
        match next {
            Ok(ReflectionStep::Whole(files)) => {
                call.end_early(Status::new(Code::CANCELED, "context canceled"), now);
                return Some(files);
            }
            Ok(ReflectionStep::Ask(message)) => match framed(&message, SEND_BYTES_MAX) {
                Ok(bytes) => {
                    host.outgoing().asks.push(Ask::SendBytes { id, bytes, is_last: false });
                }
                Err(status) => call.end_early(status, now),
            },
            Err(message) => call.end_early(Status::new(Code::UNKNOWN, message), now),
        }
    }
}

/// Takes a call that is over, once its sample is recorded.
fn finish(host: &Host, id: AskId) -> Option<(GrpcCall, End)> {
    let (end, unseen) = {
        let mut user = host.user();
        let call = user.data.get::<Calls>().0.get_mut(&id)?;
        let end = call.end.clone()?;
        if matches!(call.form, GrpcForm::Stream { has_one_response: true, .. }) && !end.status.is_ok() {
            call.messages.clear();
        }
        let is_stream = matches!(call.form, GrpcForm::Stream { .. });
        (end, if is_stream { call.messages.len() } else { 0 })
    };
    if end.is_early {
        host.outgoing().asks.push(Ask::DropCall(id));
    }
    let count_unseen = || (0..unseen).for_each(|_| count(host, id, builtin::GRPC_STREAMS_MSGS_RECEIVED));
    let (is_call, has_one_response) = {
        let mut user = host.user();
        let call = user.data.get::<Calls>().0.get(&id)?;
        // Reflection that has found all is given up without a sample, as in k6.
        let is_reflected =
            matches!(call.form, GrpcForm::Reflection { .. }) && end.status.code == Code::CANCELED;
        // k6 keeps no sample of a call whose own time was over.
        let is_call = !matches!(call.form, GrpcForm::Connection) && !is_reflected && !end.is_timeout;
        (is_call, matches!(call.form, GrpcForm::Stream { has_one_response: true, .. }))
    };
    if !has_one_response {
        count_unseen();
    }
    tag_with_status(host, id, &end);
    if has_one_response {
        count_unseen();
    }
    if is_call {
        sample(host, id, builtin::GRPC_REQ_DURATION, end.took.as_millis_f64());
    }
    host.off_news(id);
    let call = host.user().data.get::<Calls>().0.remove(&id)?;
    Some((call, end))
}

/// What is counted of a call from here on has its status.
fn tag_with_status(host: &Host, id: AskId, end: &End) {
    if !host.recorder().sets().system().has(SystemTag::Status) {
        return;
    }
    let mut user = host.user();
    let Some(call) = user.data.get::<Calls>().0.get_mut(&id) else { return };
    // A stream whose script sends what is no message is canceled, as k6 counts it.
    let is_canceled =
        end.is_early && end.status.code == Code::UNKNOWN && matches!(call.form, GrpcForm::Stream { .. });
    let code = if is_canceled { Code::CANCELED } else { end.status.code };
    call.set_tag(SystemTag::Status.as_str(), code.0.to_string());
}

fn value_of<'js>(ctx: &Ctx<'js>, call: &GrpcCall, end: &End) -> rquickjs::Result<Value<'js>> {
    let status = &end.status;
    let refused = |message: &str| Err(go_error(ctx, message));
    let json = match &call.form {
        GrpcForm::Connection if status.is_ok() => json!(true),
        GrpcForm::Connection => return refused(&status.message),
        GrpcForm::Health if status.is_ok() => {
            let message = call.messages.front().map(Vec::as_slice).unwrap_or_default();
            json!(HealthResponse::decode(message).unwrap_or_default().status)
        }
        GrpcForm::Health => return refused(&status.described()),
        GrpcForm::Reflection { is_last_version: false, .. } if status.code == Code::UNIMPLEMENTED => {
            json!(false)
        }
        GrpcForm::Reflection { .. } => return refused(&reflection_error(status)),
        GrpcForm::Unary { output, pool, is_discarded } => {
            let message = call.messages.front().map(Vec::as_slice).unwrap_or_default();
            let message = if *is_discarded { Ok(Json::Null) } else { decode(output, message) };
            let message = message.map_err(|error| {
                go_error(ctx, &format!("unable to convert response object to JSON: {error}"))
            })?;
            json!({
                "message": message,
                "error": error(status, pool),
                "headers": shown(&end.headers),
                "trailers": shown(&end.trailers),
                "status": status.code.0,
            })
        }
        GrpcForm::Stream { pool, .. } => {
            let mut events = data_events(&call.form, &call.messages);
            if !status.is_ok() {
                events.push(error_event(status, pool));
            }
            events.push(json!(["end"]));
            Json::Array(events)
        }
    };
    ctx.json_parse(json.to_string())
}

fn reflection_error(status: &Status) -> String {
    if status.code == Code::UNKNOWN && status.message.starts_with("can't ") {
        return status.message.clone();
    }
    format!("can't list services: {}", status.described())
}

fn data_events(form: &GrpcForm, messages: &VecDeque<Vec<u8>>) -> Vec<Json> {
    let GrpcForm::Stream { output, is_discarded, .. } = form else { return Vec::new() };
    let event = |message: &Vec<u8>| {
        let data = if *is_discarded { Ok(json!({})) } else { decode(output, message) };
        match data {
            Ok(data) => json!(["data", data]),
            Err(error) => json!(["data", Json::Null, error]),
        }
    };
    messages.iter().map(event).collect()
}

/// k6 tells a stream that was canceled of an error of its own.
fn error_event(status: &Status, pool: &DescriptorPool) -> Json {
    if status.code == Code::CANCELED {
        let message = "canceled by client (k6)";
        let error = json!({ "code": Code::UNKNOWN.0, "details": [], "message": message });
        return json!(["error", error, message]);
    }
    let described = status.described();
    let message = if status.message.is_empty() { &described } else { &status.message };
    let error = json!({ "code": status.code.0, "details": details(status, pool), "message": message });
    json!(["error", error, described])
}
