//! `Response`: an object with k6's properties, each made when a script first looks at it.
//!
//! Exotic, so that a response nobody looks into costs one small object, and `Object.keys`, spreading and
//! `JSON.stringify` still show all that k6 shows.

#![expect(unsafe_code, reason = "QuickJS's values are told how long Rust's live, and one is counted by hand")]

use crate::http::binding::arguments::{thrown, value_of};
use crate::http::call::facts::{CallFacts, RequestFacts, cipher_suite, tls_version};
use crate::http::gjson::{self, Node};
use crate::http::json_error::json_error;
use crate::vm::need_buffers;
use prony_http_session::headers::{Headers, ResponseHead};
use prony_http_session::set_cookie::{SetCookie, read_pairs};
use rquickjs::class::{
    ClassKind, JsCell, JsClass, PropertyDescriptor, PropertyName, Readable, Trace, Tracer,
};
use rquickjs::function::Constructor;
use rquickjs::{Array, ArrayBuffer, Atom, Ctx, JsLifetime, Object, Value, qjs};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};

/// What k6 shows as `expires` of a cookie without: the year 1 in an overflowing count of milliseconds.
const NO_EXPIRY_MS: i64 = -6_795_364_578_871;

pub(crate) struct Response<'js> {
    facts: CallFacts,
    /// The functions of a response.
    prototype: Object<'js>,
    /// Properties that were made, or set by the script.
    made: RefCell<Vec<(String, Value<'js>)>>,
    /// `json()` without a selector, and the tree that selectors search; `None` where the body is no JSON.
    json: RefCell<Option<Value<'js>>>,
    tree: OnceCell<Option<Node>>,
}

const PROPERTIES: [&str; 16] = [
    "remote_ip",
    "remote_port",
    "url",
    "status",
    "status_text",
    "proto",
    "headers",
    "cookies",
    "body",
    "timings",
    "tls_version",
    "tls_cipher_suite",
    "ocsp",
    "error",
    "error_code",
    "request",
];
const FUNCTIONS: [&str; 4] = ["clickLink", "html", "json", "submitForm"];

impl<'js> Response<'js> {
    pub(crate) fn new(facts: CallFacts, prototype: Object<'js>) -> Self {
        let (made, json) = (RefCell::default(), RefCell::default());
        Self { facts, prototype, made, json, tree: OnceCell::new() }
    }

    fn property(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Option<Value<'js>>> {
        if name == "status" && self.made.borrow().is_empty() {
            return Ok(Some(Value::new_int(ctx.clone(), i32::from(self.facts.status))));
        }
        if let Some((_, value)) = self.made.borrow().iter().find(|(known, _)| known == name) {
            return Ok(Some(value.clone()));
        }
        let (value, is_kept) = match name {
            "headers" => (self.headers(ctx)?, true),
            "cookies" => (self.cookies(ctx)?, true),
            "body" => (self.body(ctx)?, true),
            "timings" => (self.timings(ctx)?, true),
            "ocsp" => (self.ocsp(ctx)?, true),
            "request" => (self.request(ctx)?, true),
            name => match self.scalar(ctx, name)? {
                Some(value) => (value, false),
                None => return Ok(None),
            },
        };
        if is_kept {
            self.made.borrow_mut().push((name.to_owned(), value.clone()));
        }
        Ok(Some(value))
    }

    fn scalar(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Option<Value<'js>>> {
        let facts = &self.facts;
        let text = |text: &str| Ok(Some(text_value(ctx, text)?));
        let number = |number: f64| Ok(Some(Value::new_number(ctx.clone(), number)));
        match name {
            "status" => number(f64::from(facts.status)),
            "status_text" => text(&status_text(facts)),
            "url" => text(&facts.url),
            "proto" => text(facts.protocol()),
            "error" => text(&facts.error),
            "error_code" => number(f64::from(facts.error_code)),
            "remote_ip" => {
                text(&facts.peer.address.map(|address| address.ip().to_string()).unwrap_or_default())
            }
            "remote_port" => number(facts.peer.address.map_or(0.0, |address| f64::from(address.port()))),
            "tls_version" => text(facts.peer.tls.map_or("", |tls| tls_version(tls.version))),
            "tls_cipher_suite" => text(facts.peer.tls.map_or("", |tls| cipher_suite(tls.cipher_suite))),
            _ => Ok(None),
        }
    }

    fn headers(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        for (name, value) in ResponseHead::new(&self.facts.head).joined() {
            object.set(name, value)?;
        }
        Ok(object.into_value())
    }

    fn cookies(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        for cookie in ResponseHead::new(&self.facts.head).cookies() {
            append(ctx, &object, &cookie.name, cookie_value(ctx, &cookie)?)?;
        }
        Ok(object.into_value())
    }

    fn body(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match &self.facts.body {
            _ if self.facts.is_refused => Ok(Array::new(ctx.clone())?.into_value()),
            None => Ok(Value::new_null(ctx.clone())),
            Some(body) if self.facts.is_binary => {
                need_buffers(ctx)?;
                Ok(ArrayBuffer::new_copy(ctx.clone(), body)?.into_value())
            }
            Some(body) => text_value(ctx, &String::from_utf8_lossy(body)),
        }
    }

    fn timings(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let phases = &self.facts.phases;
        let object = Object::new(ctx.clone())?;
        object.set("duration", phases.duration().as_millis_f64())?;
        object.set("blocked", phases.blocked.as_millis_f64())?;
        object.set("looking_up", 0)?;
        object.set("connecting", phases.connecting.as_millis_f64())?;
        object.set("tls_handshaking", phases.tls_handshaking.as_millis_f64())?;
        object.set("sending", phases.sending.as_millis_f64())?;
        object.set("waiting", phases.waiting.as_millis_f64())?;
        object.set("receiving", phases.receiving.as_millis_f64())?;
        Ok(object.into_value())
    }

    /// Stapled answers are not asked for, so nothing is known.
    fn ocsp(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
            object.set(name, 0)?;
        }
        object.set("revocation_reason", "")?;
        object.set("status", if self.facts.peer.tls.is_some() { "unknown" } else { "" })?;
        Ok(object.into_value())
    }

    fn request(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let Some(request) = &self.facts.request else { return Ok(Value::new_null(ctx.clone())) };
        let object = Object::new(ctx.clone())?;
        match request {
            RequestFacts::Plain(page, headers) => {
                object.set("method", "GET")?;
                object.set("url", page.url.to_string())?;
                fill_request(ctx, &object, headers, "")?;
            }
            RequestFacts::Given(given) => {
                object.set("method", &*given.method)?;
                object.set("url", given.url.as_str())?;
                fill_request(ctx, &object, &given.headers, &String::from_utf8_lossy(&given.body))?;
            }
        }
        Ok(object.into_value())
    }

    /// `response.json(selector)`.
    pub(crate) fn json(&self, ctx: &Ctx<'js>, selector: Option<&str>) -> rquickjs::Result<Value<'js>> {
        let Some(body) = self.facts.body.as_deref() else {
            let message = "the body is null so we can't transform it to JSON - this likely was because of a request \
                           error getting the response";
            return Err(thrown(ctx, message));
        };
        if let Some(selector) = selector {
            let tree = self.tree.get_or_init(|| gjson::parse(body));
            let found = tree.as_ref().and_then(|tree| gjson::get(tree, selector));
            return match found {
                Some(found) => value_of(ctx, &found),
                None => Ok(Value::new_undefined(ctx.clone())),
            };
        }
        if let Some(value) = &*self.json.borrow() {
            return Ok(value.clone());
        }
        let value = parse(ctx, body)?;
        *self.json.borrow_mut() = Some(value.clone());
        Ok(value)
    }

    /// The body as text, for `html()`.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        self.facts.body.as_deref().map(String::from_utf8_lossy)
    }
}

fn parse<'js>(ctx: &Ctx<'js>, body: &[u8]) -> rquickjs::Result<Value<'js>> {
    match ctx.json_parse(body) {
        Err(rquickjs::Error::Exception) => {
            drop(ctx.catch());
            let text = String::from_utf8_lossy(body);
            match json_error(&text) {
                Some(message) => Err(thrown(ctx, &message)),
                None => ctx.json_parse(text.as_ref()),
            }
        }
        other => other,
    }
}

fn text_value<'js>(ctx: &Ctx<'js>, text: &str) -> rquickjs::Result<Value<'js>> {
    Ok(rquickjs::String::from_str(ctx.clone(), text)?.into_value())
}

fn status_text(facts: &CallFacts) -> String {
    let text = ResponseHead::new(&facts.head).status_text();
    // HTTP/2 has no reasons, and Go writes those that it knows; of HTTP/1 it tells what came.
    if !facts.peer.is_http2 || facts.status == 0 || text.contains(' ') {
        return text;
    }
    let reason = http::StatusCode::from_u16(facts.status).ok().and_then(|status| status.canonical_reason());
    format!("{} {}", facts.status, reason.unwrap_or_default())
}

/// Adds to the list under a name.
fn append<'js>(ctx: &Ctx<'js>, lists: &Object<'js>, name: &str, value: Value<'js>) -> rquickjs::Result<()> {
    let list: Option<Array<'js>> = lists.get(name)?;
    if let Some(list) = list {
        return list.set(list.len(), value);
    }
    let list = Array::new(ctx.clone())?;
    list.set(0, value)?;
    lists.set(name, list)
}

fn cookie_value<'js>(ctx: &Ctx<'js>, cookie: &SetCookie) -> rquickjs::Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("name", cookie.name.as_str())?;
    object.set("value", cookie.value.as_str())?;
    object.set("domain", cookie.domain.as_str())?;
    object.set("path", cookie.path.as_str())?;
    object.set("http_only", cookie.is_http_only)?;
    object.set("secure", cookie.is_secure)?;
    object.set("max_age", cookie.max_age_s as f64)?;
    object.set("expires", cookie.expires_ms.unwrap_or(NO_EXPIRY_MS) as f64)?;
    Ok(object.into_value())
}

fn fill_request<'js>(
    ctx: &Ctx<'js>,
    object: &Object<'js>,
    headers: &Headers,
    body: &str,
) -> rquickjs::Result<()> {
    let (lists, cookies) = (Object::new(ctx.clone())?, Object::new(ctx.clone())?);
    for (name, value) in headers.iter() {
        append(ctx, &lists, name, text_value(ctx, value)?)?;
    }
    for (name, value) in read_pairs(headers.get("Cookie").unwrap_or_default()) {
        let cookie = Object::new(ctx.clone())?;
        cookie.set("name", name)?;
        cookie.set("value", value)?;
        cookie.set("replace", false)?;
        append(ctx, &cookies, name, cookie.into_value())?;
    }
    object.set("headers", lists)?;
    object.set("body", body)?;
    object.set("cookies", cookies)
}

impl<'js> Trace<'js> for Response<'js> {
    fn trace<'a>(&self, tracer: Tracer<'a, 'js>) {
        self.prototype.trace(tracer);
        // The collector looks while nothing is borrowed.
        if let Ok(made) = self.made.try_borrow() {
            made.iter().for_each(|(_, value)| value.trace(tracer));
        }
        if let Ok(json) = self.json.try_borrow() {
            json.trace(tracer);
        }
    }
}

// SAFETY: the values within have the lifetime of its parameter, and nothing else has one.
unsafe impl<'js> JsLifetime<'js> for Response<'js> {
    type Changed<'to> = Response<'to>;
}

impl<'js> JsClass<'js> for Response<'js> {
    const NAME: &'static str = "Response";
    const KIND: ClassKind = ClassKind::Exotic;

    type Mutable = Readable;

    fn constructor(_ctx: &Ctx<'js>) -> rquickjs::Result<Option<Constructor<'js>>> {
        Ok(None)
    }

    fn exotic_get_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
        _receiver: Value<'js>,
    ) -> rquickjs::Result<Value<'js>> {
        let response = this.borrow();
        match response.property(ctx, &atom.to_string()?)? {
            Some(value) => Ok(value),
            None => response.prototype.get(atom),
        }
    }

    fn exotic_set_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
        _receiver: Value<'js>,
        value: Value<'js>,
    ) -> rquickjs::Result<bool> {
        // SAFETY: one reference more, because rquickjs 0.14 gives up the one that QuickJS lent it.
        unsafe { qjs::JS_DupValue(ctx.as_raw().as_ptr(), value.as_raw()) };
        let response = this.borrow();
        let name = atom.to_string()?;
        let mut made = response.made.borrow_mut();
        match made.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => made.push((name, value)),
        }
        Ok(true)
    }

    fn exotic_delete_property(
        this: &JsCell<'js, Self>,
        _ctx: &Ctx<'js>,
        atom: Atom<'js>,
    ) -> rquickjs::Result<bool> {
        let name = atom.to_string()?;
        this.borrow().made.borrow_mut().retain(|(known, _)| *known != name);
        Ok(true)
    }

    fn exotic_has_property(
        this: &JsCell<'js, Self>,
        _ctx: &Ctx<'js>,
        atom: Atom<'js>,
    ) -> rquickjs::Result<bool> {
        let response = this.borrow();
        let name = atom.to_string()?;
        let is_own = PROPERTIES.contains(&name.as_str())
            || response.made.borrow().iter().any(|(known, _)| *known == name);
        if is_own { Ok(true) } else { response.prototype.contains_key(atom) }
    }

    fn exotic_get_own_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
    ) -> rquickjs::Result<Option<PropertyDescriptor<'js>>> {
        let response = this.borrow();
        let name = atom.to_string()?;
        let value = match response.property(ctx, &name)? {
            None if FUNCTIONS.contains(&name.as_str()) => Some(response.prototype.get(atom)?),
            value => value,
        };
        Ok(value.map(|value| PropertyDescriptor::new_value(value, true, true, true)))
    }

    fn exotic_get_own_property_names(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
    ) -> rquickjs::Result<Vec<PropertyName<'js>>> {
        let response = this.borrow();
        let made = response.made.borrow();
        let extra = made.iter().map(|(name, _)| name.as_str()).filter(|name| !PROPERTIES.contains(name));
        let names = PROPERTIES.into_iter().chain(FUNCTIONS).chain(extra);
        names
            .map(|name| Ok(PropertyName { atom: Atom::from_str(ctx.clone(), name)?, is_enumerable: true }))
            .collect()
    }
}

impl std::fmt::Debug for Response<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response").field("facts", &self.facts).finish_non_exhaustive()
    }
}
