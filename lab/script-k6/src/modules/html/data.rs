//! `data-` attributes as values: names between `user-id` and `userID`, texts that look like numbers or JSON.

use super::document::{Document, Number};

/// What an attribute's text stands for; JSON is handed to the script's own parser.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DataValue {
    Undefined,
    Boolean(bool),
    Number(f64),
    Text(String),
    /// An object or an array.
    Json(String),
}

/// Written in capitals within names, as Go's linter wants them.
const INITIALISMS: &[&str] = &[
    "acl", "api", "ascii", "cpu", "css", "dns", "eof", "eta", "gpu", "guid", "html", "http", "https", "id",
    "ip", "json", "lhs", "os", "qps", "ram", "rhs", "rpc", "sla", "smtp", "sql", "ssh", "tcp", "tls", "ttl",
    "udp", "ui", "uid", "uri", "url", "utf8", "uuid", "vm", "xml", "xmpp", "xsrf", "xss",
];

impl Document {
    pub(crate) fn data(&self, number: Number, name: &str) -> DataValue {
        let value = self.attribute(number, &format!("data-{}", attribute_of(name)));
        value.map_or(DataValue::Undefined, data_value)
    }

    /// All of a node, by the names of their properties.
    pub(crate) fn all_data(&self, number: Number) -> Vec<(String, DataValue)> {
        let attributes = self.attributes(number).into_iter();
        let data = attributes.filter_map(|(name, value)| {
            let name = name.strip_prefix("data-").filter(|name| !name.is_empty())?;
            Some((property_of(name), data_value(value)))
        });
        data.collect()
    }
}

fn data_value(text: &str) -> DataValue {
    match text {
        "" | "null" | "undefined" => DataValue::Undefined,
        "true" => DataValue::Boolean(true),
        "false" => DataValue::Boolean(false),
        _ if text.starts_with(['{', '[']) => match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => DataValue::Json(text.to_owned()),
            Err(_) => DataValue::Text(text.to_owned()),
        },
        _ => match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number.to_string() == text => DataValue::Number(number),
            _ => DataValue::Text(text.to_owned()),
        },
    }
}

/// `user-id` is `userID`.
fn property_of(attribute: &str) -> String {
    let mut words = attribute.split('-');
    let mut property = words.next().unwrap_or_default().to_owned();
    for word in words {
        if INITIALISMS.contains(&word) {
            property.push_str(&word.to_uppercase());
            continue;
        }
        let mut characters = word.chars();
        property.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        property.push_str(characters.as_str());
    }
    property
}

/// `userID`, `userId` and `user-id` are `user-id`.
fn attribute_of(property: &str) -> String {
    let characters: Vec<char> = property.chars().collect();
    let mut attribute = String::new();
    for (index, character) in characters.iter().enumerate() {
        let is_capital = |at: usize| characters.get(at).is_some_and(|other| other.is_uppercase());
        let begins_word = index > 0
            && is_capital(index)
            && (!is_capital(index - 1) || (index + 1 < characters.len() && !is_capital(index + 1)));
        if begins_word {
            attribute.push('-');
        }
        attribute.extend(if *character == '_' { vec!['-'] } else { character.to_lowercase().collect() });
    }
    attribute
}
