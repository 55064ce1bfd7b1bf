//! Values of options: from JSON and from text, by their form.

use super::duration::Span;
use super::table::Form;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A value of an option or of a scenario's key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Integer(i64),
    Duration(Span),
    Boolean(bool),
    Text(String),
    TextList(Vec<String>),
    TextMap(BTreeMap<String, String>),
    Stages(Vec<Stage>),
    /// As it came; read further by whom it concerns.
    Json(Json),
}

/// Each part may be missing, which matters to some executors and not to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) duration: Option<Span>,
    pub(super) target: Option<i64>,
}

/// Nothing where the value is `null` or empty, which k6 takes for not given; else why it is not of its form.
pub(super) type Read = Result<Option<Value>, String>;

pub(super) fn from_json(form: Form, json: &Json) -> Read {
    if json.is_null() {
        return Ok(None);
    }
    let value = match form {
        Form::Integer => return integer(json),
        Form::Duration => return duration(json),
        Form::Boolean => json.as_bool().map(Value::Boolean),
        Form::Text => json.as_str().map(|text| Value::Text(text.to_owned())),
        Form::TextList => texts(json).map(Value::TextList),
        Form::TextMap => text_map(json).map(Value::TextMap),
        Form::Stages => return stages(json).map(|stages| Some(Value::Stages(stages))),
        Form::Scenarios | Form::Table => json.is_object().then(|| Value::Json(json.clone())),
        Form::List => json.is_array().then(|| Value::Json(json.clone())),
        Form::TlsVersion => (json.is_object() || json.is_string()).then(|| Value::Json(json.clone())),
        Form::Dns => match json {
            Json::Object(_) => Some(Value::Json(json.clone())),
            Json::String(text) => return from_text(Form::Dns, text),
            _ => None,
        },
    };
    value.map(Some).ok_or_else(|| format!("must be {}, and is {}", described(form), shown(json)))
}

pub(super) fn from_text(form: Form, text: &str) -> Read {
    if text.is_empty() {
        return Ok(None);
    }
    let fault = || format!("must be {}, and is `{text}`", described(form));
    let value = match form {
        Form::Integer => Value::Integer(text.parse().map_err(|_| fault())?),
        Form::Duration => Value::Duration(Span::parse(text).ok_or_else(fault)?),
        Form::Boolean => Value::Boolean(text.parse().map_err(|_| fault())?),
        Form::Text => Value::Text(text.to_owned()),
        Form::TextList => Value::TextList(text.split(',').map(str::to_owned).collect()),
        Form::TextMap => Value::TextMap(pairs(text.split(','), ':').ok_or_else(fault)?),
        Form::Stages => {
            let stages = text.split(',').map(stage_of_text);
            Value::Stages(stages.collect::<Result<_, _>>()?)
        }
        Form::Dns => {
            let pairs = pairs(text.split(','), '=').ok_or_else(fault)?;
            Value::Json(Json::Object(
                pairs.into_iter().map(|(key, value)| (key, Json::String(value))).collect(),
            ))
        }
        Form::TlsVersion => Value::Json(Json::String(text.to_owned())),
        Form::Scenarios | Form::Table | Form::List => return Err("cannot be given as text".to_owned()),
    };
    Ok(Some(value))
}

/// `name=value` of flags.
pub(super) fn pairs<'a>(
    items: impl Iterator<Item = &'a str>,
    separator: char,
) -> Option<BTreeMap<String, String>> {
    items
        .map(|item| {
            let (name, value) = item.split_once(separator)?;
            (!name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

fn described(form: Form) -> &'static str {
    match form {
        Form::Integer => "a whole number",
        Form::Duration => "a duration such as \"30s\" or \"1m30s\", or milliseconds",
        Form::Boolean => "true or false",
        Form::Text => "text",
        Form::TextList => "a list of texts",
        Form::TextMap => "a table of names and texts",
        Form::Stages => "a list of {duration, target}",
        Form::Scenarios => "a table of scenarios by their names",
        Form::Table => "a table",
        Form::List => "a list",
        Form::TlsVersion => "text such as \"tls1.3\", or a table of min and max",
        Form::Dns => "a table of ttl, select and policy, or text such as \"ttl=5m,select=first\"",
    }
}

/// Long values are cut: they only have to be recognised.
fn shown(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// k6 takes numbers in text too, as `__ENV.VUS || 10` gives them.
fn integer(json: &Json) -> Read {
    let fault = || format!("must be {}, and is {}", described(Form::Integer), shown(json));
    match json {
        Json::String(text) => from_text(Form::Integer, text).map_err(|_| fault()),
        _ => json.as_i64().map(|number| Some(Value::Integer(number))).ok_or_else(fault),
    }
}

fn duration(json: &Json) -> Read {
    let span = match json {
        Json::String(text) => Span::parse(text),
        Json::Number(number) => number.as_f64().map(Span::from_millis),
        _ => None,
    };
    let fault = || format!("must be {}, and is {}", described(Form::Duration), shown(json));
    span.map(|span| Some(Value::Duration(span))).ok_or_else(fault)
}

fn texts(json: &Json) -> Option<Vec<String>> {
    json.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn text_map(json: &Json) -> Option<BTreeMap<String, String>> {
    let pairs = json.as_object()?.iter();
    pairs.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn stages(json: &Json) -> Result<Vec<Stage>, String> {
    let fault = || format!("must be {}, and is {}", described(Form::Stages), shown(json));
    let list = json.as_array().ok_or_else(fault)?;
    list.iter().enumerate().map(|(index, stage)| stage_of_json(index, stage)).collect()
}

fn stage_of_json(index: usize, json: &Json) -> Result<Stage, String> {
    let number = index + 1;
    let table = json
        .as_object()
        .ok_or_else(|| format!("has a stage {number} that is no {{duration, target}} but {}", shown(json)))?;
    let mut stage = Stage { duration: None, target: None };
    for (key, value) in table {
        let place = |fault: String| format!("has a stage {number} whose `{key}` {fault}");
        match key.as_str() {
            "duration" => {
                if let Some(Value::Duration(span)) = from_json(Form::Duration, value).map_err(place)? {
                    stage.duration = Some(span);
                }
            }
            "target" => {
                if let Some(Value::Integer(target)) = from_json(Form::Integer, value).map_err(place)? {
                    stage.target = Some(target);
                }
            }
            _ => {
                return Err(format!(
                    "has a stage {number} with an unknown key `{key}`; its keys are duration and target"
                ));
            }
        }
    }
    Ok(stage)
}

fn stage_of_text(text: &str) -> Result<Stage, String> {
    let (duration, target) = text.split_once(':').unwrap_or((text, ""));
    let fault = || format!("must be `DURATION:TARGET` such as `30s:10`, and has `{text}`");
    let duration = match duration {
        "" => None,
        duration => Some(Span::parse(duration).ok_or_else(fault)?),
    };
    let target = match target {
        "" => None,
        target => Some(target.parse().map_err(|_| fault())?),
    };
    Ok(Stage { duration, target })
}
