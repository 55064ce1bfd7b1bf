//! `prony:http`: the functions that `http.js` is written over.

#![expect(clippy::needless_pass_by_value, reason = "native functions are given their arguments")]

pub(crate) mod arguments;
pub(crate) mod handle;
mod jar;
pub(crate) mod response;

use crate::host::{Host, host_of};
use crate::http::binding::arguments::{Refusal, text_of, text_or_nothing, thrown};
use crate::http::binding::handle::Handle;
use crate::http::binding::response::Response;
use crate::http::call::batch::{Batch, BatchRefusal, Batches, warn_of_refusal};
use crate::http::call::facts::CallFacts;
use crate::http::call::params::callback_of;
use crate::http::call::state::{HttpUser, begin_user, options};
use crate::http::call::{CallArguments, Outcome, Ready, log, now_ms};
use crate::http::fault::RequestFault;
use crate::http::settings::Expected;
use crate::modules::binding::{go_type, is_array_buffer};
use crate::modules::log::{Level, Log};
use crate::vm::running_place;
use crate::vm::{Builtin, Fuller, Native, Phase, load};
use prony_http_session::form::append_pair;
use prony_http_session::url::Url;
use prony_model::program::call::AskId;
use rquickjs::function::{Opt, Rest, This};
use rquickjs::object::Accessor;
use rquickjs::{Array, Class, Ctx, Exception, Function, Object, Value};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const MODULES: &[Builtin] = &[
    Builtin { specifier: "k6/http", text: include_str!("http.js") },
    Builtin { specifier: WHOLE, text: include_str!("whole.js") },
    Builtin { specifier: RARE, text: include_str!("rare.js") },
    Builtin { specifier: FORMS, text: include_str!("forms.js") },
];
/// Modules that mention one of these words get the whole of k6/http.
pub(crate) const FULLER: Fuller = Fuller {
    specifier: "k6/http",
    words: &["* as", "export *", "require", "asyncRequest", "ookieJar", "TLS_1_", "OCSP_"],
    instead: WHOLE,
};
pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:http", install }];

// No modules of k6's.
const WHOLE: &str = "k6/http/whole";
const RARE: &str = "k6/http/rare";
/// A user loads it at its first look into a page.
const FORMS: &str = "k6/http/forms";
const RARE_NAMES: [&str; 3] = ["asyncRequest", "CookieJar", "cookieJar"];
const FORM_NAMES: [&str; 3] = ["html", "submitForm", "clickLink"];

const CONSTANTS: [(&str, &str); 18] = [
    ("TLS_1_0", "tls1.0"),
    ("TLS_1_1", "tls1.1"),
    ("TLS_1_2", "tls1.2"),
    ("TLS_1_3", "tls1.3"),
    ("OCSP_STATUS_GOOD", "good"),
    ("OCSP_STATUS_REVOKED", "revoked"),
    ("OCSP_STATUS_SERVER_FAILED", "server_failed"),
    ("OCSP_STATUS_UNKNOWN", "unknown"),
    ("OCSP_REASON_UNSPECIFIED", "unspecified"),
    ("OCSP_REASON_KEY_COMPROMISE", "key_compromise"),
    ("OCSP_REASON_CA_COMPROMISE", "ca_compromise"),
    ("OCSP_REASON_AFFILIATION_CHANGED", "affiliation_changed"),
    ("OCSP_REASON_SUPERSEDED", "superseded"),
    ("OCSP_REASON_CESSATION_OF_OPERATION", "cessation_of_operation"),
    ("OCSP_REASON_CERTIFICATE_HOLD", "certificate_hold"),
    ("OCSP_REASON_REMOVE_FROM_CRL", "remove_from_crl"),
    ("OCSP_REASON_PRIVILEGE_WITHDRAWN", "privilege_withdrawn"),
    ("OCSP_REASON_AA_COMPROMISE", "aa_compromise"),
];

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("submit", Function::new(ctx.clone(), submit)?)?;
    exports.set("call", Function::new(ctx.clone(), call)?)?;
    exports.set("result", Function::new(ctx.clone(), result)?)?;
    exports.set("listen", Function::new(ctx.clone(), listen)?)?;
    exports.set("batch", Function::new(ctx.clone(), batch)?)?;
    exports.set("batchResult", Function::new(ctx.clone(), batch_result)?)?;
    exports.set("text", Function::new(ctx.clone(), text)?)?;
    exports.set("resolve", Function::new(ctx.clone(), resolve)?)?;
    exports.set("withQuery", Function::new(ctx.clone(), with_query)?)?;
    exports.set("url", Function::new(ctx.clone(), url)?.with_name("url")?)?;
    exports.set("file", Function::new(ctx.clone(), file)?.with_name("file")?)?;
    exports.set(
        "expectedStatuses",
        Function::new(ctx.clone(), expected_statuses)?.with_name("expectedStatuses")?,
    )?;
    exports.set(
        "setResponseCallback",
        Function::new(ctx.clone(), set_response_callback)?.with_name("setResponseCallback")?,
    )?;
    jar::install(ctx, exports)?;
    exports.set("rare", rare(ctx)?)?;
    exports.set("prototype", prototype(ctx)?)
}

/// Constants, and what is loaded when it is looked at.
fn rare<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let rare = Object::new(ctx.clone())?;
    for (name, value) in CONSTANTS {
        rare.set(name, value)?;
    }
    for name in RARE_NAMES {
        let get = move |ctx: Ctx<'js>| load(&ctx, RARE)?.get::<_, Value<'js>>(name);
        rare.prop(name, Accessor::new_get(get).enumerable())?;
    }
    Ok(rare)
}

/// The functions of a response, which all users share.
fn prototype<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let prototype = Object::new(ctx.clone())?;
    prototype.set("json", Function::new(ctx.clone(), json)?.with_name("json")?)?;
    for name in FORM_NAMES {
        let call = move |ctx: Ctx<'js>, this: This<Value<'js>>, options: Opt<Value<'js>>| {
            let function: Function<'js> = load(&ctx, FORMS)?.get(name)?;
            function.call::<_, Value<'js>>((this.0, options))
        };
        prototype.set(name, Function::new(ctx.clone(), call)?.with_name(name)?)?;
    }
    Ok(prototype)
}

pub(crate) fn require_user(ctx: &Ctx<'_>, host: &Host, what: &str) -> rquickjs::Result<()> {
    if host.phase() == Phase::Init {
        return Err(thrown(ctx, &format!("{what} in the init context is not supported")));
    }
    begin_user(host);
    Ok(())
}

/// Begins a call: its number, or the response of one that cannot be made.
fn submit<'js>(
    ctx: Ctx<'js>,
    method: Value<'js>,
    url: Value<'js>,
    body: Value<'js>,
    params: Value<'js>,
    prototype: Object<'js>,
) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    require_user(&ctx, &host, "Making http requests")?;
    let arguments = CallArguments { method, url, body, params };
    match Ready::read(&host, &arguments) {
        Ok(ready) => {
            let outcome = ready.send(&host);
            shown(&ctx, &host, outcome, prototype)
        }
        Err(refusal) => {
            let fault = refused(&ctx, &host, refusal)?;
            log(&host, Level::Warning, "Request Failed", &[("error", &fault.short)]);
            response(CallFacts::refused(&fault), prototype)
        }
    }
}

/// As [`submit`]; calls of GET and HEAD have no argument for a body.
fn call<'js>(
    ctx: Ctx<'js>,
    method: Value<'js>,
    url: Value<'js>,
    first: Value<'js>,
    second: Value<'js>,
    prototype: Object<'js>,
) -> rquickjs::Result<Value<'js>> {
    let has_body = method.as_string().and_then(|method| method.to_string().ok());
    let has_body = !matches!(has_body.as_deref(), Some("GET" | "HEAD"));
    if !has_body && !second.is_undefined() {
        warn_of_arguments(&ctx, &method);
    }
    let (body, params) = if has_body { (first, second) } else { (Value::new_null(ctx.clone()), first) };
    submit(ctx, method, url, body, params, prototype)
}

/// Once a script: `http.get(url, body, params)` loses its parameters in k6 too, without a word.
fn warn_of_arguments<'js>(ctx: &Ctx<'js>, method: &Value<'js>) {
    let host = host_of(ctx);
    if host.script.shared::<WarnedOfArguments>().0.swap(true, Ordering::Relaxed) {
        return;
    }
    let name = if method.as_string().and_then(|name| name.to_string().ok()).as_deref() == Some("HEAD") {
        "head"
    } else {
        "get"
    };
    let place = running_place(&host, ctx).map(|place| format!(" at {place}")).unwrap_or_default();
    let message = format!(
        "http.{name}() takes a URL and parameters, and has no body: its third argument has no effect{place}"
    );
    host.script.shared::<Log>().write(Level::Warning, &message, &[]);
}

/// Whether a call with too many arguments was told of.
#[derive(Debug, Default)]
struct WarnedOfArguments(AtomicBool);

/// The fault that is answered, where it is not to be thrown.
fn refused(ctx: &Ctx<'_>, host: &Host, refusal: Refusal) -> rquickjs::Result<RequestFault> {
    match refusal {
        Refusal::Js(error) => Err(error),
        Refusal::RequestFault(fault) if options(host).throws => Err(thrown(ctx, &fault.short)),
        Refusal::RequestFault(fault) => Ok(fault),
    }
}

fn response(facts: CallFacts, prototype: Object<'_>) -> rquickjs::Result<Value<'_>> {
    let response = Response::new(facts, prototype.clone());
    Class::instance_proto(response, prototype).map(Class::into_value)
}

/// The number to wait for, or the response.
fn shown<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    outcome: Outcome,
    prototype: Object<'js>,
) -> rquickjs::Result<Value<'js>> {
    match outcome {
        Outcome::Sent(id) => {
            host.user().waits.await_one(id);
            Ok(Value::new_number(ctx.clone(), id as f64))
        }
        Outcome::Done(facts) => response(*facts, prototype),
        Outcome::Thrown(message) => Err(thrown(ctx, &message)),
    }
}

/// What came of a call: the number of the request that follows, or the response.
fn result<'js>(ctx: Ctx<'js>, id: f64, prototype: Object<'js>) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    let mut user = host.user();
    let heard = user.waits.take(id as AskId);
    let pending = user.data.get::<HttpUser>().take(id as AskId);
    drop(user);
    let Some(outcome) = pending.and_then(|pending| pending.go_on(&host, heard)) else {
        return Err(Exception::throw_internal(&ctx, "a call ended without an answer"));
    };
    shown(&ctx, &host, outcome, prototype)
}

/// Has a function called when something comes of a call.
fn listen<'js>(ctx: Ctx<'js>, id: f64, function: Function<'js>) {
    host_of(&ctx).on_news(&ctx, id as AskId, function);
}

fn batch<'js>(
    ctx: Ctx<'js>,
    prototype: Object<'js>,
    requests: Rest<Value<'js>>,
) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    require_user(&ctx, &host, "Using batch")?;
    let [requests] = &requests.0[..] else {
        let message = if requests.0.is_empty() {
            "no argument was provided to http.batch()"
        } else {
            "http.batch() accepts only an array or an object of requests"
        };
        return Err(thrown(&ctx, message));
    };
    match Batch::read(&ctx, &host, requests) {
        Ok(batch) => go_on(&ctx, &host, batch, prototype),
        Err(BatchRefusal { refusal, count: 0, .. }) => match refusal {
            Refusal::Js(error) => Err(error),
            Refusal::RequestFault(fault) => Err(thrown(&ctx, &fault.short)),
        },
        Err(BatchRefusal { refusal, index, keys, count }) => {
            let fault = refused(&ctx, &host, refusal)?;
            warn_of_refusal(&host, &fault.short);
            let done = (0..count).map(|entry| match entry {
                entry if entry < index => {
                    Some(Box::new(CallFacts { is_refused: true, ..CallFacts::default() }))
                }
                entry if entry == index => Some(Box::new(CallFacts::refused(&fault))),
                _ => None,
            });
            collected(&ctx, keys, done.collect(), &prototype)
        }
    }
}

fn batch_result<'js>(ctx: Ctx<'js>, id: f64, prototype: Object<'js>) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    let batch = host.user().data.get::<Batches>().take(id as AskId);
    let Some(mut batch) = batch else {
        return Err(Exception::throw_internal(&ctx, "a batch ended without an answer"));
    };
    batch.hear(&host);
    go_on(&ctx, &host, batch, prototype)
}

/// The number of a batch that has to wait, or its responses.
fn go_on<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    mut batch: Batch,
    prototype: Object<'js>,
) -> rquickjs::Result<Value<'js>> {
    if batch.advance(host) {
        let mut user = host.user();
        let id = user.waits.new_id();
        let iteration = user.iteration;
        user.data.get::<Batches>().keep(iteration, id, batch);
        return Ok(Value::new_number(ctx.clone(), id as f64));
    }
    if let Some(message) = &batch.thrown {
        return Err(thrown(ctx, message));
    }
    collected(ctx, batch.keys, batch.done, &prototype)
}

fn collected<'js>(
    ctx: &Ctx<'js>,
    keys: Option<Vec<String>>,
    done: Vec<Option<Box<CallFacts>>>,
    prototype: &Object<'js>,
) -> rquickjs::Result<Value<'js>> {
    let responses = done.into_iter().map(|facts| match facts {
        Some(facts) => response(*facts, prototype.clone()),
        None => Ok(Value::new_null(ctx.clone())),
    });
    match keys {
        None => {
            let array = Array::new(ctx.clone())?;
            for (index, response) in responses.enumerate() {
                array.set(index, response?)?;
            }
            Ok(array.into_value())
        }
        Some(keys) => {
            let object = Object::new(ctx.clone())?;
            for (key, response) in keys.into_iter().zip(responses) {
                object.set(key, response?)?;
            }
            Ok(object.into_value())
        }
    }
}

fn response_of<'js>(ctx: &Ctx<'js>, this: &Value<'js>) -> rquickjs::Result<Class<'js, Response<'js>>> {
    Class::from_value(this).map_err(|_| Exception::throw_type(ctx, "this is no response"))
}

fn json<'js>(
    ctx: Ctx<'js>,
    this: This<Value<'js>>,
    selector: Opt<Value<'js>>,
) -> rquickjs::Result<Value<'js>> {
    let response = response_of(&ctx, &this.0)?;
    let selector = selector.0.map(|selector| text_of(&selector)).transpose()?;
    let response = response.borrow();
    response.json(&ctx, selector.as_deref())
}

/// The body of a response as text, for `html()`.
fn text<'js>(ctx: Ctx<'js>, response: Value<'js>) -> rquickjs::Result<String> {
    let response = response_of(&ctx, &response)?;
    let response = response.borrow();
    let text = response.text().ok_or_else(|| {
        thrown(
            &ctx,
            "the body is null so we can't transform it to HTML - this likely was because of a request error getting \
             the response",
        )
    });
    text.map(std::borrow::Cow::into_owned)
}

/// What a reference in a page means.
fn resolve<'js>(ctx: Ctx<'js>, base: String, reference: Value<'js>) -> rquickjs::Result<String> {
    let base = Url::parse(&base).map_err(|error| thrown(&ctx, &error.to_string()))?;
    Ok(base.resolve(&url_of(&ctx, &reference)?).to_string())
}

/// A URL with other values as its query, sorted by name.
fn with_query<'js>(ctx: Ctx<'js>, url: String, values: Object<'js>) -> rquickjs::Result<String> {
    let mut url = Url::parse(&url).map_err(|error| thrown(&ctx, &error.to_string()))?;
    let mut pairs = Vec::new();
    for property in values.props::<String, Value<'_>>() {
        let (name, value) = property?;
        pairs.push((name, text_of(&value)?));
    }
    pairs.sort();
    let mut query = String::new();
    for (name, value) in &pairs {
        append_pair(&mut query, name, value);
    }
    url.query = Some(query).filter(|query| !query.is_empty());
    Ok(url.to_string())
}

/// ``http.url`http://h/${id}` ``.
fn url<'js>(ctx: Ctx<'js>, parts: Array<'js>, pieces: Rest<Value<'js>>) -> rquickjs::Result<Object<'js>> {
    let (mut text, mut name) = (String::new(), String::new());
    for (index, part) in parts.iter::<String>().enumerate() {
        let part = part?;
        text.push_str(&part);
        name.push_str(&part);
        if let Some(piece) = pieces.0.get(index) {
            text.push_str(&text_or_nothing(piece)?);
            name.push_str("${}");
        }
    }
    Url::parse(&text).map_err(|error| thrown(&ctx, &RequestFault::invalid_url(&error.to_string()).short))?;
    let prototype = Object::new(ctx.clone())?;
    prototype.set("name", name.as_str())?;
    prototype.set("url", text.as_str())?;
    Handle::Url { url: text.into(), name: name.into() }.into_object(prototype)
}

fn file<'js>(
    ctx: Ctx<'js>,
    data: Value<'js>,
    name: Opt<Value<'js>>,
    content_type: Opt<Value<'js>>,
) -> rquickjs::Result<Object<'js>> {
    if !data.is_string() && !is_array_buffer(&data) {
        let kind = go_type(&data);
        return Err(thrown(&ctx, &format!("invalid type {kind}, expected string or ArrayBuffer")));
    }
    let given = |value: Option<Value<'js>>| {
        value.filter(|value| !value.is_undefined()).map(|value| text_of(&value)).transpose()
    };
    let name = given(name.0)?.unwrap_or_else(|| format!("{}000000", now_ms()));
    let content_type = given(content_type.0)?.unwrap_or_else(|| "application/octet-stream".to_owned());
    let object = Handle::File.into_object(Object::new(ctx)?)?;
    object.set("data", data)?;
    object.set("filename", name)?;
    object.set("content_type", content_type)?;
    Ok(object)
}

fn expected_statuses<'js>(ctx: Ctx<'js>, arguments: Rest<Value<'js>>) -> rquickjs::Result<Object<'js>> {
    if arguments.0.is_empty() {
        return Err(thrown(&ctx, "no arguments"));
    }
    let ranges =
        arguments.0.iter().enumerate().map(|(index, argument)| status_range(&ctx, index + 1, argument));
    let ranges = ranges.collect::<rquickjs::Result<Vec<_>>>()?;
    Handle::Expected(Rc::new(Expected(ranges.into()))).into_object(Object::new(ctx)?)
}

fn status_range(ctx: &Ctx<'_>, place: usize, argument: &Value<'_>) -> rquickjs::Result<RangeInclusive<u16>> {
    let whole = |value: &Value<'_>| value.as_number().filter(|number| number.fract() == 0.0);
    if let Some(status) = whole(argument) {
        return Ok(status as u16..=status as u16);
    }
    let bounds = argument.as_object().map(|object| {
        rquickjs::Result::Ok((object.get::<_, Value<'_>>("min")?, object.get::<_, Value<'_>>("max")?))
    });
    match bounds.transpose()? {
        Some((min, max)) if !min.is_undefined() && !max.is_undefined() => {
            if let (Some(min), Some(max)) = (whole(&min), whole(&max)) {
                return Ok(min as u16..=max as u16);
            }
            let message = format!("both min and max need to be integers for argument number {place}");
            Err(thrown(ctx, &message))
        }
        _ => {
            let message = format!(
                "argument number {place} to expectedStatuses was neither an integer nor an object like {{min:100, \
                 max:329}}"
            );
            Err(thrown(ctx, &message))
        }
    }
}

fn set_response_callback<'js>(ctx: Ctx<'js>, callback: Value<'js>) -> rquickjs::Result<()> {
    let callback = callback_of(&callback)
        .map_err(|_| thrown(&ctx, "unsupported argument, expected http.expectedStatuses"))?;
    host_of(&ctx).user().data.get::<HttpUser>().callback = Some(callback);
    Ok(())
}

pub(crate) fn url_of(ctx: &Ctx<'_>, url: &Value<'_>) -> rquickjs::Result<Url> {
    Url::parse(&text_of(url)?).map_err(|error| thrown(ctx, &error.to_string()))
}
