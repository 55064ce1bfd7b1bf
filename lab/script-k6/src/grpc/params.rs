//! What scripts give with calls and connections, checked in k6's words.

use super::status::base64;
use crate::modules::binding::{byte_array, go_type, is_nullish, is_truthy};
use crate::modules::call_tags;
use crate::options::Span;
use prony_model::plan::target::ChannelTls;
use prony_model::units::Nanos;
use rquickjs::{Ctx, Object, Value};

/// Pairs of metadata, names in lower case, binary values in base64.
pub(super) type Metadata = Vec<(String, String)>;

#[derive(Debug, Default)]
pub(super) struct CallParams {
    pub(super) metadata: Metadata,
    pub(super) tags: Vec<(String, String)>,
    pub(super) timeout: Option<Nanos>,
    pub(super) is_discarded: bool,
}

#[derive(Debug)]
pub(super) struct ConnectParams {
    pub(super) is_plain: bool,
    pub(super) reflects: bool,
    pub(super) reflect_metadata: Metadata,
    pub(super) timeout: Nanos,
    /// None is what gRPC has.
    pub(super) receive_bytes_max: Option<usize>,
    pub(super) send_bytes_max: Option<usize>,
    pub(super) tls: ChannelTls,
    pub(super) authority: String,
}

const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(60);

/// An error of JavaScript's, or one to say.
pub(super) enum ParamsError {
    Thrown(rquickjs::Error),
    Refused(String),
}

impl From<rquickjs::Error> for ParamsError {
    fn from(error: rquickjs::Error) -> Self {
        Self::Thrown(error)
    }
}

type Read<T> = Result<T, ParamsError>;

fn refused<T>(message: impl Into<String>) -> Read<T> {
    Err(ParamsError::Refused(message.into()))
}

pub(super) fn call_params<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>) -> Read<CallParams> {
    let mut params = CallParams::default();
    let Some(object) = given.filter(|given| !is_nullish(given)).and_then(Value::as_object) else {
        return Ok(params);
    };
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        match name.as_str() {
            "metadata" => params.metadata = metadata(&value, "metadata")?,
            "tags" => {
                if let Some(tags) = value.as_object() {
                    params.tags = call_tags(ctx, tags)?;
                } else if !is_nullish(&value) {
                    return refused("metric tags: invalid value for metric tags: they must be an object");
                }
            }
            "timeout" => params.timeout = Some(timeout(&value)?),
            "discardResponseMessage" => params.is_discarded = is_truthy(&value),
            _ => return refused(format!("unknown param: {name:?}")),
        }
    }
    params.timeout = params.timeout.filter(|timeout| *timeout > Nanos::ZERO);
    Ok(params)
}

pub(super) fn connect_params<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>) -> Read<ConnectParams> {
    let mut params = ConnectParams {
        is_plain: false,
        reflects: false,
        reflect_metadata: Metadata::new(),
        timeout: CONNECT_TIMEOUT,
        receive_bytes_max: None,
        send_bytes_max: None,
        tls: ChannelTls::default(),
        authority: String::new(),
    };
    let Some(object) = given.filter(|given| !is_nullish(given)).and_then(Value::as_object) else {
        return Ok(params);
    };
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        match name.as_str() {
            "plaintext" => params.is_plain = flag(ctx, &name, &value)?,
            "reflect" => params.reflects = flag(ctx, &name, &value)?,
            "timeout" => params.timeout = timeout(&value)?,
            "reflectMetadata" => params.reflect_metadata = metadata(&value, "reflectMetadata")?,
            "maxReceiveSize" => params.receive_bytes_max = size(ctx, &name, &value)?,
            "maxSendSize" => params.send_bytes_max = size(ctx, &name, &value)?,
            "tls" => params.tls = tls(ctx, &value)?,
            "authority" => match value.as_string() {
                Some(text) => params.authority = text.to_string()?,
                None => return refused(invalid(ctx, &name, &value, "it needs to be a string")),
            },
            _ => return refused(format!("unknown connect param: {name:?}")),
        }
    }
    Ok(params)
}

fn invalid<'js>(ctx: &Ctx<'js>, name: &str, value: &Value<'js>, wish: &str) -> String {
    format!("invalid {name} value: '{}', {wish}", go_value(ctx, value))
}

/// Nearly as Go's `%#v` prints it.
fn go_value<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if is_nullish(value) {
        return "<nil>".to_owned();
    }
    let text = ctx.json_stringify(value.clone()).ok().flatten().and_then(|text| text.to_string().ok());
    let text = text.unwrap_or_default();
    if value.is_object() { format!("{}{text}", go_type(value)) } else { text }
}

fn flag<'js>(ctx: &Ctx<'js>, name: &str, value: &Value<'js>) -> Read<bool> {
    match value.as_bool() {
        Some(flag) => Ok(flag),
        None => refused(invalid(ctx, name, value, "it needs to be boolean")),
    }
}

fn size<'js>(ctx: &Ctx<'js>, name: &str, value: &Value<'js>) -> Read<Option<usize>> {
    match value.as_number().filter(|number| number.fract() == 0.0) {
        None => refused(invalid(ctx, name, value, "it needs to be an integer")),
        Some(number) if number < 0.0 => {
            refused(format!("invalid {name} value: '{number}, it needs to be a positive integer"))
        }
        Some(number) => Ok(Some(number as usize).filter(|size| *size > 0)),
    }
}

fn timeout(value: &Value<'_>) -> Read<Nanos> {
    let span = match (value.as_number(), value.as_string()) {
        (Some(millis), _) => Some(Span::from_millis(millis)),
        (None, Some(text)) => {
            let text = text.to_string()?;
            match Span::parse(&text) {
                Some(span) => Some(span),
                None => return refused(format!("invalid timeout value: time: invalid duration {text:?}")),
            }
        }
        (None, None) => None,
    };
    let Some(span) = span else {
        let kind = go_type(value);
        return refused(format!("invalid timeout value: unable to use type {kind} as a duration value"));
    };
    Ok(span.nanos().unwrap_or(Nanos::ZERO))
}

fn metadata(value: &Value<'_>, param: &str) -> Read<Metadata> {
    if is_nullish(value) {
        return Ok(Metadata::new());
    }
    let refuse = |message: &str| refused(format!("invalid {param} param: {message}"));
    let is_plain = !value.is_array() && !value.is_function();
    let Some(object) = value.as_object().filter(|_| is_plain) else {
        return refuse("must be an object with key-value pairs");
    };
    let mut pairs = Metadata::new();
    for pair in object.props::<String, Value<'_>>() {
        let (name, value) = pair?;
        let value = if name.ends_with("-bin") {
            match byte_array(&value) {
                Some(bytes) => base64(&bytes),
                None => return refuse(&format!("{name:?} value must be binary")),
            }
        } else {
            match value.as_string() {
                Some(text) => text.to_string()?,
                None => return refuse(&format!("{name:?} value must be a string")),
            }
        };
        let is_text = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if !is_text(&name) || name.contains([' ', ':']) || !is_text(&value) {
            return refuse(&format!(
                "header key {name:?} contains value with non-printable ASCII characters"
            ));
        }
        pairs.push((name.to_ascii_lowercase(), value));
    }
    Ok(pairs)
}

fn tls<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Read<ChannelTls> {
    let Some(object) = value.as_object().filter(|_| !value.is_array()) else {
        let wish = "expected (optional) keys: cert, key, password, and cacerts";
        return refused(invalid(ctx, "tls", value, wish));
    };
    let pem = |name: &str, wish: &str| pem_member(ctx, object, name, wish);
    let (cert, key) = (pem("cert", "a PEM formatted string")?, pem("key", "a PEM formatted string")?);
    if !pem("password", "a string")?.unwrap_or_default().is_empty() {
        return refused(
            "tls.password is not supported; give the key without one (`openssl pkey -in KEY -out PLAIN`)",
        );
    }
    let given: Value<'js> = object.get("cacerts")?;
    let authorities = if given.is_undefined() {
        Vec::new()
    } else {
        let all = given.as_array().map(|items| items.iter::<String>().collect::<Result<Vec<_>, _>>());
        match (all, given.as_string()) {
            (Some(Ok(all)), _) => all,
            (_, Some(one)) => vec![one.to_string()?],
            _ => {
                let wish = "it needs to be a string or an array of PEM formatted strings";
                return refused(invalid(ctx, "tls cacerts", value, wish));
            }
        }
    };
    let identity = cert.zip(key).filter(|(cert, key)| !cert.is_empty() && !key.is_empty());
    Ok(ChannelTls { authorities, identity, ..ChannelTls::default() })
}

fn pem_member<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str, wish: &str) -> Read<Option<String>> {
    let value: Value<'js> = object.get(name)?;
    if value.is_undefined() {
        return Ok(None);
    }
    let Some(text) = value.as_string() else {
        let wish = format!("it needs to be {wish}");
        return refused(invalid(ctx, &format!("tls {name}"), object.as_value(), &wish));
    };
    Ok(Some(text.to_string()?))
}
