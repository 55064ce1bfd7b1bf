//! A call's `params`: what a script wants of one request beyond method, URL and body.

use crate::http::binding::arguments::{Refusal, integer_of, misuse, text_of};
use crate::http::binding::handle::Handle;
use crate::http::settings::{Expected, ResponseType};
use crate::modules::binding::is_nullish;
use crate::options::Span;
use prony_http_session::compression::Compression;
use prony_http_session::exchange::{RequestCookie, SharedJar};
use prony_model::units::Nanos;
use rquickjs::{Coerced, Object, Value};
use std::rc::Rc;

#[derive(Debug, Default)]
pub(crate) struct Params {
    pub headers: Vec<(String, String)>,
    pub cookies: Vec<RequestCookie>,
    pub jar: Option<SharedJar>,
    pub compression: Vec<Compression>,
    pub redirects: Option<i64>,
    pub tags: Vec<(String, String)>,
    pub is_digest: bool,
    pub timeout: Option<Nanos>,
    pub throws: Option<bool>,
    pub response_type: Option<ResponseType>,
    /// Inner `None`: nothing is said of whether the status was expected.
    #[expect(clippy::option_option, reason = "not given, given as null, and given are three things")]
    pub callback: Option<Option<Rc<Expected>>>,
}

impl Params {
    pub(crate) fn read(value: &Value<'_>) -> Result<Self, Refusal> {
        let mut params = Self::default();
        if let Some(object) = value.as_object() {
            for property in object.props::<String, Value<'_>>() {
                let (name, value) = property?;
                params.take(&name, &value)?;
            }
        }
        Ok(params)
    }

    fn take(&mut self, name: &str, value: &Value<'_>) -> Result<(), Refusal> {
        match name {
            "headers" => self.headers = texts_of(value)?,
            "cookies" => self.cookies = cookies_of(value)?,
            "tags" => self.tags = tags_of(value)?,
            "jar" => {
                if let Some(Handle::Jar(jar)) = Handle::of(value) {
                    self.jar = Some(jar);
                }
            }
            "compression" => {
                let list = Compression::parse_list(&text_of(value)?);
                self.compression = list.map_err(|error| misuse(error.to_string()))?;
            }
            "redirects" => self.redirects = Some(integer_of(value)?),
            "auth" => self.take_auth(&text_of(value)?)?,
            "timeout" => self.timeout = Some(timeout_of(value)?),
            "throw" => self.throws = Some(value.get::<Coerced<bool>>()?.0),
            "responseType" => {
                let name = text_of(value)?;
                let kind = ResponseType::from_name(&name);
                let kind =
                    kind.ok_or_else(|| misuse(format!("{name} does not belong to ResponseType values")))?;
                self.response_type = Some(kind);
            }
            "responseCallback" => self.callback = Some(callback_of(value)?),
            _ => {}
        }
        Ok(())
    }

    fn take_auth(&mut self, kind: &str) -> Result<(), Refusal> {
        match kind {
            "digest" => self.is_digest = true,
            "ntlm" => {
                return Err(misuse(
                    "`auth: \"ntlm\"` is not supported: it belongs to a connection, not to a request; use basic or \
                     digest authentication, or a header `Authorization`",
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// `null`, or what `http.expectedStatuses` returned.
pub(crate) fn callback_of(value: &Value<'_>) -> Result<Option<Rc<Expected>>, Refusal> {
    match Handle::of(value) {
        Some(Handle::Expected(expected)) => Ok(Some(expected)),
        _ if is_nullish(value) => Ok(None),
        _ => Err(misuse("unsupported responseCallback")),
    }
}

fn texts_of(value: &Value<'_>) -> rquickjs::Result<Vec<(String, String)>> {
    let Some(object) = value.as_object() else { return Ok(Vec::new()) };
    object
        .props::<String, Value<'_>>()
        .map(|property| {
            let (name, value) = property?;
            Ok((name, text_of(&value)?))
        })
        .collect()
}

fn tags_of(value: &Value<'_>) -> Result<Vec<(String, String)>, Refusal> {
    let Some(object) = value.as_object() else { return Ok(Vec::new()) };
    let mut tags = Vec::new();
    for property in object.props::<String, Value<'_>>() {
        let (name, value) = property?;
        if !(value.is_string() || value.is_bool() || value.is_number()) {
            return Err(misuse(format!(
                "invalid HTTP request metric tags: invalid value for metric tag '{name}': only String, Boolean and \
                 Number types are accepted as a metric tag values"
            )));
        }
        let text = text_of(&value)?;
        tags.push((name, text));
    }
    Ok(tags)
}

fn cookies_of(value: &Value<'_>) -> rquickjs::Result<Vec<RequestCookie>> {
    let Some(object) = value.as_object() else { return Ok(Vec::new()) };
    let mut cookies = Vec::new();
    for property in object.props::<String, Value<'_>>() {
        let (name, value) = property?;
        if !is_nullish(&value) {
            cookies.push(cookie_of(name, &value)?);
        }
    }
    Ok(cookies)
}

fn cookie_of(name: String, value: &Value<'_>) -> rquickjs::Result<RequestCookie> {
    let mut cookie = RequestCookie { name, value: String::new(), replaces: false };
    match value.as_object() {
        Some(object) => take_parts(&mut cookie, object)?,
        None => cookie.value = text_of(value)?,
    }
    Ok(cookie)
}

fn take_parts(cookie: &mut RequestCookie, object: &Object<'_>) -> rquickjs::Result<()> {
    for property in object.props::<String, Value<'_>>() {
        let (name, value) = property?;
        match name.to_ascii_lowercase().as_str() {
            "value" => cookie.value = text_of(&value)?,
            "replace" => cookie.replaces = value.get::<Coerced<bool>>()?.0,
            _ => {}
        }
    }
    Ok(())
}

/// A number of milliseconds, or a text such as `1m30s`.
fn timeout_of(value: &Value<'_>) -> Result<Nanos, Refusal> {
    let refused = |text: &str| misuse(format!("invalid timeout value: time: invalid duration \"{text}\""));
    let duration = if let Some(millis) = value.as_number() {
        Span::from_millis(millis)
    } else {
        let text = text_of(value)?;
        Span::parse(&text).ok_or_else(|| refused(&text))?
    };
    Ok(duration.nanos().unwrap_or(Nanos::ZERO))
}
