//! Values that a response gave and later requests sent back: tokens, ids and cookies. A plan has to take them from its own responses,
//! because a session that was recorded has ended.

use std::collections::{HashMap, HashSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::log::RecordedResponse;
use super::sources::{FoundValue, SHORTEST_NUMBER, is_telling, of_headers, of_html, regex_escaped};
use crate::{
    draft::{Body, Capture, Request},
    names::Names,
};

/// Of one response; more are the rows of a list, and no request sends them all.
const MOST_VALUES: usize = 20_000;

/// Where a response has a value.
#[derive(Debug, Clone)]
struct Source {
    request: usize,
    name: String,
    rules: Vec<(&'static str, String)>,
}

/// Replaces what came of earlier responses by variables, and captures these. Requests and responses are of the same order. Names of what
/// was taken so.
pub(super) fn correlate(requests: &mut [Request], responses: &[&RecordedResponse]) -> Vec<String> {
    let mut names = Names::default();
    let mut known: HashMap<String, Source> = HashMap::new();
    let mut given: HashMap<String, String> = HashMap::new();
    // What the user or the browser knew before a response said it comes from elsewhere.
    let mut sent: HashSet<String> = HashSet::new();
    let mut captures: Vec<(usize, Capture)> = Vec::new();
    let mut taken = Vec::new();
    for (index, response) in responses.iter().enumerate() {
        let mut replace = |value: &str| -> Option<String> {
            let Some(source) = known.get(value) else {
                sent.insert(value.to_owned());
                return None;
            };
            let name = given.entry(value.to_owned()).or_insert_with(|| {
                let name = names.variable(&source.name);
                captures.push((source.request, Capture { name: name.clone(), rules: source.rules.clone() }));
                taken.push(name.clone());
                name
            });
            Some(format!("${{{name}}}"))
        };
        replace_in(&mut requests[index], &mut replace);
        for (value, source) in values(index, response) {
            if !sent.contains(&value) {
                // A later response renews what has not been used: a token that was refreshed is the new one's.
                known.entry(value).or_insert(source);
            }
        }
    }
    for (index, capture) in captures {
        requests[index].captures.push(capture);
    }
    taken
}

/// Values of a response that a client may send back.
fn values(request: usize, response: &RecordedResponse) -> Vec<(String, Source)> {
    let mut found = Vec::new();
    for line in response.header("set-cookie") {
        let Some((name, value)) = line.split(';').next().and_then(|pair| pair.split_once('=')) else {
            continue;
        };
        // From the beginning: another cookie's name may end with this one's.
        let pattern = format!("^{}=([^;]+)", regex_escaped(name.trim()));
        let rules = vec![("header", "Set-Cookie".to_owned()), ("matches", pattern)];
        found.push((value.trim().to_owned(), Source { request, name: name.trim().to_owned(), rules }));
    }
    let place = |found: FoundValue| {
        let FoundValue { name, value, rules } = found;
        (value, Source { request, name, rules })
    };
    found.extend(of_headers(&response.headers).into_iter().map(place));
    let content = &response.content;
    let decoded = match (&content.text, content.encoding.as_deref()) {
        (Some(text), Some("base64")) => {
            STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        }
        (text, _) => text.clone(),
    };
    let Some(text) = decoded else { return found };
    let json: Option<Value> = serde_json::from_str(&text).ok();
    if json.is_none() && content.mime_type.contains("html") {
        found.extend(of_html(&text).into_iter().take(MOST_VALUES).map(place));
    }
    if let Some(json) = json {
        leaves(&json, &mut String::new(), &mut |pointer, value| {
            let key = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or("value");
            let name = key.replace("~1", "/").replace("~0", "~");
            let rules = vec![("json", pointer.to_owned())];
            found.push((value, Source { request, name, rules }));
            found.len() < MOST_VALUES
        });
    }
    found
}

/// Calls for each text and number that may be told again by chance only; as long as it wants more.
fn leaves(json: &Value, pointer: &mut String, found: &mut impl FnMut(&str, String) -> bool) -> bool {
    let within = |step: &str, value: &Value, pointer: &mut String, found: &mut _| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        let goes_on = leaves(value, pointer, found);
        pointer.truncate(length);
        goes_on
    };
    match json {
        Value::Object(members) => members.iter().all(|(name, value)| within(name, value, pointer, found)),
        Value::Array(items) => {
            items.iter().enumerate().all(|(index, value)| within(&index.to_string(), value, pointer, found))
        }
        value => scalar(value).is_none_or(|value| found(pointer, value)),
    }
}

/// The text of a value that is worth being looked for.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => is_telling(text).then(|| text.clone()),
        Value::Number(number) if number.is_u64() => {
            let text = number.to_string();
            (text.len() >= SHORTEST_NUMBER).then_some(text)
        }
        _ => None,
    }
}

/// Offers each value of a request; what is given back takes its place.
fn replace_in(request: &mut Request, replace: &mut impl FnMut(&str) -> Option<String>) {
    request.path = replace_in_path(&request.path, replace);
    for (name, value) in &mut request.headers {
        if name.eq_ignore_ascii_case("cookie") {
            let pairs = value.split(';').map(|pair| match pair.trim().split_once('=') {
                Some((name, value)) if value.len() >= SHORTEST_NUMBER => {
                    format!("{name}={}", replace(value).unwrap_or_else(|| value.to_owned()))
                }
                Some((name, value)) => format!("{name}={value}"),
                None => pair.trim().to_owned(),
            });
            *value = pairs.collect::<Vec<_>>().join("; ");
        } else {
            // `Bearer TOKEN`, or the token alone.
            let words = value.split(' ').map(|word| {
                let new = if is_telling(word) { replace(word) } else { None };
                new.unwrap_or_else(|| word.to_owned())
            });
            *value = words.collect::<Vec<_>>().join(" ");
        }
    }
    match &mut request.body {
        Body::Json(value) => replace_in_json(value, replace),
        Body::Graphql { variables: Some(variables), .. } => replace_in_json(variables, replace),
        Body::Text(text) if is_form(&request.headers) => *text = replace_in_pairs(text, replace),
        Body::None | Body::Graphql { .. } | Body::Text(_) => {}
    }
}

fn is_form(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("content-type") && value.starts_with("application/x-www-form-urlencoded")
    })
}

fn replace_in_path(path: &str, replace: &mut impl FnMut(&str) -> Option<String>) -> String {
    let (plain, query) = path.split_once('?').map_or((path, None), |(plain, query)| (plain, Some(query)));
    let plain: Vec<String> = plain.split('/').map(|segment| replaced(segment, '/', replace)).collect();
    let plain = plain.join("/");
    match query {
        Some(query) => format!("{plain}?{}", replace_in_pairs(query, replace)),
        None => plain,
    }
}

fn replace_in_pairs(pairs: &str, replace: &mut impl FnMut(&str) -> Option<String>) -> String {
    let pairs = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) => format!("{name}={}", replaced(value, '+', replace)),
        None => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// Of a percent-encoded value. Plans send letters of values as they are that mean something else in this place: a value with `reserved`
/// stays as it was recorded.
fn replaced(encoded: &str, reserved: char, replace: &mut impl FnMut(&str) -> Option<String>) -> String {
    let value = percent_encoding::percent_decode_str(encoded).decode_utf8_lossy();
    let is_safe = is_telling(&value) && !value.contains(reserved);
    let new = if is_safe { replace(&value) } else { None };
    new.unwrap_or_else(|| encoded.to_owned())
}

fn replace_in_json(value: &mut Value, replace: &mut impl FnMut(&str) -> Option<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in_json(item, replace)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_in_json(member, replace)),
        scalar_value => {
            if let Some(new) = scalar(scalar_value).and_then(|text| replace(&text)) {
                *scalar_value = Value::String(new);
            }
        }
    }
}
