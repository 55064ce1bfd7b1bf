//! What fields of forms are worth and how a form is sent: `val`, `serializeArray`, `serialize`.

use super::document::{Document, Number};
use super::query::Query;
use std::collections::BTreeMap;

/// A field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldValue {
    One(String),
    /// Of a list that allows several.
    Many(Vec<String>),
}

const FIELDS: &str = "input,select,textarea,keygen";
/// Inputs that are never sent with the rest of their form.
const UNSENT_TYPES: &[&str] = &["submit", "button", "reset", "image", "file"];

impl Document {
    /// Of the first node; `None` where it is no field.
    pub(crate) fn value(&self, nodes: &[Number]) -> Option<FieldValue> {
        let first = *nodes.first()?;
        let own = self.attribute(first, "value");
        Some(FieldValue::One(match self.node_name(first) {
            "input" => match (own, self.attribute(first, "type")) {
                (Some(value), _) => value.to_owned(),
                (None, Some("radio" | "checkbox")) => "on".to_owned(),
                (None, _) => String::new(),
            },
            "button" => own.unwrap_or_default().to_owned(),
            "textarea" => self.inner_html(first),
            "option" => self.value_or_html(&[first]),
            "select" => {
                let selected = self.find(&[first], &Query::parse("option[selected]"));
                if self.attribute(first, "multiple").is_some() {
                    let values = selected.iter().map(|option| self.value_or_html(&[*option]));
                    return Some(FieldValue::Many(values.collect()));
                }
                self.value_or_html(&selected)
            }
            _ => return None,
        }))
    }

    pub(crate) fn value_or_html(&self, nodes: &[Number]) -> String {
        let Some(first) = nodes.first() else { return String::new() };
        self.attribute(*first, "value").map_or_else(|| self.inner_html(*first), str::to_owned)
    }

    /// Names and values of the fields that would be sent: those within the nodes where one of them is a form, else
    /// those that are among the nodes.
    pub(crate) fn fields(&self, nodes: &[Number]) -> Vec<(String, FieldValue)> {
        let fields = Query::parse(FIELDS);
        let is_form = nodes.iter().any(|number| self.node_name(*number) == "form");
        let candidates = if is_form { self.find(nodes, &fields) } else { self.filter(nodes, &fields) };
        let sent = candidates.into_iter().filter(|number| self.is_sent(*number));
        let named = sent.filter_map(|number| {
            let value = self.value(&[number])?;
            Some((self.attribute(number, "name")?.to_owned(), value))
        });
        named.collect()
    }

    fn is_sent(&self, number: Number) -> bool {
        let attribute = |name| self.attribute(number, name).unwrap_or_default();
        let kind = attribute("type");
        let is_switch = matches!(kind, "checkbox" | "radio");
        let is_checked = matches!(self.attribute(number, "checked"), Some("checked"));
        !attribute("name").is_empty()
            && attribute("disabled") != "disabled"
            && !UNSENT_TYPES.contains(&kind)
            && (is_checked || !is_switch)
    }

    /// `application/x-www-form-urlencoded`, by the names' order; of a name given twice the last counts, as in k6.
    pub(crate) fn serialize(&self, nodes: &[Number]) -> String {
        let fields: BTreeMap<_, _> = self.fields(nodes).into_iter().collect();
        let mut text = String::new();
        for (name, value) in &fields {
            let values = match value {
                FieldValue::One(value) => std::slice::from_ref(value),
                FieldValue::Many(values) => values.as_slice(),
            };
            for value in values {
                if !text.is_empty() {
                    text.push('&');
                }
                push_escaped(&mut text, name);
                text.push('=');
                push_escaped(&mut text, value);
            }
        }
        text
    }
}

fn push_escaped(text: &mut String, part: &str) {
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(byte.into()),
            b' ' => text.push('+'),
            other => {
                text.push('%');
                for digit in [other >> 4, other & 15] {
                    text.push(char::from_digit(digit.into(), 16).expect("four bits").to_ascii_uppercase());
                }
            }
        }
    }
}
