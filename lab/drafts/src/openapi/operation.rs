//! One operation of a description as a request.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::{document::Document, example};
use crate::{
    draft::{Body, Draft, Request, Variable, escaped, set_header},
    names::Names,
};

/// Left as they are in a value within a URI (RFC 3986, 2.3).
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a template may hold and the path of a request may not, without the braces of its parameters.
const NOT_IN_PATHS: AsciiSet = CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');

/// Headers that parameters do not describe (OpenAPI 3.1.1, 4.8.12.2): bodies and `security` say them.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "content-type", "authorization"];

pub(super) struct Operation<'d> {
    pub(super) document: &'d Document,
    pub(super) template: &'d str,
    pub(super) method: &'d str,
    /// Of the path, whose parameters hold for all of its operations.
    pub(super) item: &'d Value,
    pub(super) described: &'d Value,
}

impl Operation<'_> {
    /// What it asks with; in words why it cannot be said.
    pub(super) fn request(&self, draft: &mut Draft, names: &mut Names) -> Result<Request, String> {
        let mut path = path_of(self.template);
        let (mut query, mut headers, mut cookies) = (Vec::new(), Vec::new(), Vec::new());
        for parameter in self.parameters()? {
            let (Some(name), Some(place)) = (text(parameter, "name"), text(parameter, "in")) else {
                continue;
            };
            let is_required = parameter.get("required") == Some(&Value::Bool(true));
            let holder = only_content(parameter).unwrap_or(parameter);
            let has_example = example::given(self.document, holder).is_some();
            if place != "path" && !is_required && !has_example {
                continue;
            }
            let known = example::of_holder(self.document, holder);
            let value = known.as_ref().map(|value| plain_of(parameter, value));
            match place {
                "path" => {
                    let variable = variable(draft, names, name, value.as_deref(), parameter);
                    let lead = path_lead(name, parameter);
                    path = path.replace(&format!("{{{}}}", in_path(name)), &format!("{lead}${{{variable}}}"));
                }
                "query" => query.extend(query_pairs(name, parameter, known.as_ref())),
                "header" if !DESCRIBED_ELSEWHERE.contains(&name.to_ascii_lowercase().as_str()) => {
                    let value = value.unwrap_or_else(|| "text".to_owned());
                    set_header(&mut headers, name, &escaped(&value));
                }
                "cookie" => {
                    let value = value.unwrap_or_else(|| "text".to_owned());
                    cookies.push(format!("{name}={}", escaped(&value)));
                }
                _ => {}
            }
        }
        self.secure(draft, names, &mut headers, &mut query, &mut cookies);
        if !cookies.is_empty() {
            set_header(&mut headers, "Cookie", &cookies.join("; "));
        }
        if !query.is_empty() {
            let joint = if path.contains('?') { '&' } else { '?' };
            path = format!("{path}{joint}{}", query.join("&"));
        }
        if path.replace("${", "").contains('{') {
            return Err("a parameter of its path is not described".to_owned());
        }
        let body = self.body(&mut headers)?;
        Ok(Request {
            note: text(self.described, "summary").map(str::to_owned),
            method: self.method.to_owned(),
            path,
            headers,
            body,
            expect_status: self.expected(),
            ..Request::default()
        })
    }

    /// Those of the operation go before those of its path.
    fn parameters(&self) -> Result<Vec<&Value>, String> {
        let mut found: Vec<&Value> = Vec::new();
        for holder in [self.described, self.item] {
            for parameter in holder.get("parameters").and_then(Value::as_array).into_iter().flatten() {
                let parameter = self.document.resolve(parameter).ok_or("a parameter is not in the file")?;
                let same =
                    |known: &&Value| ["name", "in"].iter().all(|key| known.get(key) == parameter.get(key));
                if !found.iter().any(same) {
                    found.push(parameter);
                }
            }
        }
        Ok(found)
    }

    /// Credentials of the first alternative that is wanted, as variables.
    fn secure(
        &self,
        draft: &mut Draft,
        names: &mut Names,
        headers: &mut Vec<(String, String)>,
        query: &mut Vec<String>,
        cookies: &mut Vec<String>,
    ) {
        let wanted = self.described.get("security").or_else(|| self.document.root().get("security"));
        let alternatives = wanted.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // An empty one says that none is needed.
        let is_optional =
            alternatives.iter().any(|each| each.as_object().is_some_and(serde_json::Map::is_empty));
        let Some(Value::Object(schemes)) = alternatives.first().filter(|_| !is_optional) else { return };
        for scheme in schemes.keys() {
            let pointer =
                format!("/components/securitySchemes/{}", scheme.replace('~', "~0").replace('/', "~1"));
            let described =
                self.document.root().pointer(&pointer).and_then(|found| self.document.resolve(found));
            let Some(described) = described else { continue };
            let variable = credential(draft, names, scheme);
            let value = format!("${{{variable}}}");
            match (text(described, "type"), text(described, "in"), text(described, "name")) {
                (Some("apiKey"), Some("header"), Some(name)) => set_header(headers, name, &value),
                (Some("apiKey"), Some("query"), Some(name)) => {
                    query.push(format!("{}={value}", encoded(name)));
                }
                (Some("apiKey"), Some("cookie"), Some(name)) => cookies.push(format!("{name}={value}")),
                (Some("http"), ..) => {
                    let is_basic =
                        text(described, "scheme").is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"));
                    let kind = if is_basic { "Basic" } else { "Bearer" };
                    set_header(headers, "Authorization", &format!("{kind} {value}"));
                }
                (Some("oauth2" | "openIdConnect"), ..) => {
                    set_header(headers, "Authorization", &format!("Bearer {value}"));
                }
                _ => {}
            }
        }
    }

    fn body(&self, headers: &mut Vec<(String, String)>) -> Result<Body, String> {
        let Some(described) = self.described.get("requestBody") else { return Ok(Body::None) };
        let described = self.document.resolve(described).ok_or("its body is not in the file")?;
        let is_required = described.get("required") == Some(&Value::Bool(true));
        let Some(Value::Object(kinds)) = described.get("content") else { return Ok(Body::None) };
        let is_json = |kind: &str| {
            let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            kind == "application/json" || kind.ends_with("+json")
        };
        if let Some((kind, holder)) = kinds.iter().find(|(kind, _)| is_json(kind)) {
            let value = example::of_holder(self.document, holder).unwrap_or_else(|| serde_json::json!({}));
            if kind != "application/json" {
                set_header(headers, "Content-Type", kind);
            }
            let text = value.to_string();
            return Ok(Body::of_json(&text, self.template).unwrap_or_else(|| {
                set_header(headers, "Content-Type", kind);
                Body::Text(escaped(&text))
            }));
        }
        if let Some(holder) = kinds.get("application/x-www-form-urlencoded") {
            let value = example::of_holder(self.document, holder).unwrap_or_default();
            let members = value.as_object().into_iter().flatten();
            let encoding = holder.get("encoding").unwrap_or(&Value::Null);
            let style = |name: &str| encoding.get(name).unwrap_or(&Value::Null);
            let pairs: Vec<String> =
                members.flat_map(|(name, value)| query_pairs(name, style(name), Some(value))).collect();
            set_header(headers, "Content-Type", "application/x-www-form-urlencoded");
            return Ok(Body::Text(escaped(&pairs.join("&"))));
        }
        if let Some((kind, holder)) = kinds.iter().find(|(kind, _)| kind.starts_with("text/")) {
            set_header(headers, "Content-Type", kind);
            let value = example::of_holder(self.document, holder)
                .map_or_else(|| "text".to_owned(), |value| plain(&value));
            return Ok(Body::Text(escaped(&value)));
        }
        match kinds.keys().next() {
            Some(kind) if is_required => Err(format!("its body is {kind}")),
            _ => Ok(Body::None),
        }
    }

    /// Statuses that the description calls a success, where they are numbers.
    fn expected(&self) -> Vec<u16> {
        let responses = self.described.get("responses").and_then(Value::as_object);
        let codes: Vec<&String> = responses.into_iter().flat_map(serde_json::Map::keys).collect();
        if codes.iter().any(|code| code.eq_ignore_ascii_case("2XX") || code.eq_ignore_ascii_case("default")) {
            return Vec::new();
        }
        codes.iter().filter_map(|code| code.parse().ok()).filter(|code| (200..400).contains(code)).collect()
    }
}

/// By the style of the parameter, `form` where none is said: of a list a pair for each item, or one with all, and of an
/// object one for each member (OpenAPI 3.1.1, 4.8.12).
fn query_pairs(name: &str, parameter: &Value, value: Option<&Value>) -> Vec<String> {
    let pair = |text: &str| format!("{}={text}", encoded(name));
    let style = text(parameter, "style").unwrap_or("form");
    let is_exploded = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    let is_whole = only_content(parameter).is_some();
    let items: Vec<String> = match value {
        Some(Value::Array(items)) if !items.is_empty() && !is_whole => items.iter().map(plain).collect(),
        Some(Value::Object(members)) if style == "deepObject" => {
            let key = |member: &str| encoded(&format!("{name}[{member}]"));
            let pairs =
                members.iter().map(|(name, value)| format!("{}={}", key(name), encoded(&plain(value))));
            return pairs.collect();
        }
        Some(Value::Object(members)) if is_exploded && !is_whole => {
            let pairs = members.iter().flat_map(|(name, value)| query_pairs(name, &Value::Null, Some(value)));
            return pairs.collect();
        }
        Some(Value::Object(members)) if !is_whole => {
            members.iter().flat_map(|(name, value)| [name.clone(), plain(value)]).collect()
        }
        Some(other) => return vec![pair(&encoded(&plain_of(parameter, other)))],
        None => return vec![pair("text")],
    };
    let items: Vec<String> = items.iter().map(|item| encoded(item)).collect();
    if is_exploded {
        return items.iter().map(|item| pair(item)).collect();
    }
    let between = match style {
        "spaceDelimited" => "%20",
        "pipeDelimited" => "%7C",
        _ => ",",
    };
    vec![pair(&items.join(between))]
}

/// The only form of a parameter that is described by its `content`, such as one of JSON (OpenAPI 3.1.1, 4.8.12.2.3).
fn only_content(parameter: &Value) -> Option<&Value> {
    parameter.get("content").and_then(Value::as_object)?.values().next()
}

/// A template as it stands in a request: a fragment is not sent (RFC 3986, 3.5).
fn path_of(template: &str) -> String {
    escaped(&in_path(template.split_once('#').map_or(template, |(path, _)| path)))
}

fn in_path(text: &str) -> String {
    utf8_percent_encode(text, &NOT_IN_PATHS).to_string()
}

/// What stands before a parameter of a path by its style, `simple` where none is said.
fn path_lead(name: &str, parameter: &Value) -> String {
    match text(parameter, "style") {
        Some("label") => ".".to_owned(),
        Some("matrix") => format!(";{}=", encoded(name)),
        _ => String::new(),
    }
}

/// A parameter of a path, which has to name something that is there: one variable for each name.
fn variable(
    draft: &mut Draft,
    names: &mut Names,
    name: &str,
    value: Option<&str>,
    parameter: &Value,
) -> String {
    let note = format!("Values of `{name}` that the target knows.");
    let schema = parameter.get("schema");
    let is_whole = schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) == Some("integer");
    let value = match value {
        Some(value) if is_whole && value.parse::<i64>().is_ok() => format!("{{ list = [{value}] }}"),
        // Also of an example that is none of its schema.
        Some(value) => format!("{{ list = [{}] }}", toml::Value::String(value.to_owned())),
        None => "{ list = [\"text\"] }".to_owned(),
    };
    let same = |known: &&Variable| known.note == note && known.value == value;
    if let Some(known) = draft.variables.iter().find(same) {
        return known.name.clone();
    }
    let name = names.variable(name);
    draft.variables.push(Variable { name: name.clone(), note, value });
    name
}

fn credential(draft: &mut Draft, names: &mut Names, scheme: &str) -> String {
    let note = format!(
        "Credentials for `{scheme}`; a CSV file has one for each user: {{ csv = \"FILE\", take = \"once\" }}."
    );
    if let Some(known) = draft.variables.iter().find(|known| known.note == note) {
        return known.name.clone();
    }
    let name = names.variable(scheme);
    draft.variables.push(Variable {
        name: name.clone(),
        note,
        value: "{ list = [\"put it here\"] }".to_owned(),
    });
    name
}

/// As it stands in a URI or a header; what is described by its `content` is JSON.
fn plain_of(parameter: &Value, value: &Value) -> String {
    let is_exploded = parameter.get("explode") == Some(&Value::Bool(true));
    match value {
        Value::Array(_) | Value::Object(_) if only_content(parameter).is_some() => value.to_string(),
        Value::Object(members) => {
            let joint = if is_exploded { '=' } else { ',' };
            let pairs = members.iter().map(|(name, value)| format!("{name}{joint}{}", plain(value)));
            pairs.collect::<Vec<_>>().join(",")
        }
        other => plain(other),
    }
}

/// Lists by commas (style `simple`).
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}
