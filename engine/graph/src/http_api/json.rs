//! Nodes, relationships and values as JSON text, in the very form that RageDB's clients know: a space behind each colon
//! and comma.

use http::StatusCode;
use prony_graph_store::{Node, Relationship, Value};
use prony_graphql::json::{write_number, write_string};
use prony_source::http_api::ApiResponse;

/// The type of all bodies but reports of progress.
pub(super) const JSON: &str = "application/json";

/// Where the body of a success is written.
pub(super) fn begin_ok(response: &mut ApiResponse) -> &mut Vec<u8> {
    response.begin_body(StatusCode::OK, JSON)
}

/// `{"id": 1026, "type": "User", "key": "Max", "properties": {…}}`
pub(super) fn write_node(out: &mut Vec<u8>, node: &Node<'_>) {
    write_node_of(out, node, node.properties());
}

/// The same with these of its properties.
pub(super) fn write_node_of<'a>(
    out: &mut Vec<u8>,
    node: &Node<'_>,
    properties: impl Iterator<Item = (&'a str, Value<'a>)>,
) {
    write_node_head(out, node.at.id(), &node.of.name, node.key);
    write_properties(out, properties);
    out.push(b'}');
}

/// A node that has no properties.
pub(super) fn write_bare_node(out: &mut Vec<u8>, id: u64, type_name: &str, key: &str) {
    write_node_head(out, id, type_name, key);
    out.extend_from_slice(b"{}}");
}

fn write_node_head(out: &mut Vec<u8>, id: u64, type_name: &str, key: &str) {
    out.reserve(type_name.len() + key.len() + 64);
    out.extend_from_slice(b"{\"id\": ");
    write_integer(out, id);
    out.extend_from_slice(b", \"type\": ");
    write_string(out, type_name);
    out.extend_from_slice(b", \"key\": ");
    write_string(out, key);
    out.extend_from_slice(b", \"properties\": ");
}

/// `{"id": 1026, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {…}}`
pub(super) fn write_relationship(out: &mut Vec<u8>, of: &Relationship<'_>) {
    write_relationship_of(out, of, of.properties());
}

/// The same with these of its properties.
pub(super) fn write_relationship_of<'a>(
    out: &mut Vec<u8>,
    of: &Relationship<'_>,
    properties: impl Iterator<Item = (&'a str, Value<'a>)>,
) {
    write_relationship_head(out, of.at.id(), &of.of.name, of.from.id(), of.to.id());
    write_properties(out, properties);
    out.push(b'}');
}

/// A relationship that has no properties.
pub(super) fn write_bare_relationship(out: &mut Vec<u8>, id: u64, type_name: &str, from: u64, to: u64) {
    write_relationship_head(out, id, type_name, from, to);
    out.extend_from_slice(b"{}}");
}

fn write_relationship_head(out: &mut Vec<u8>, id: u64, type_name: &str, from: u64, to: u64) {
    out.reserve(type_name.len() + 112);
    out.extend_from_slice(b"{\"id\": ");
    write_integer(out, id);
    out.extend_from_slice(b", \"type\": ");
    write_string(out, type_name);
    out.extend_from_slice(b", \"from\": ");
    write_integer(out, from);
    out.extend_from_slice(b", \"to\": ");
    write_integer(out, to);
    out.extend_from_slice(b", \"properties\": ");
}

pub(super) fn write_properties<'a>(
    out: &mut Vec<u8>,
    properties: impl Iterator<Item = (&'a str, Value<'a>)>,
) {
    out.push(b'{');
    write_separated(out, properties, |out, (name, value)| write_member(out, name, &value));
    out.push(b'}');
}

pub(super) fn write_member(out: &mut Vec<u8>, name: &str, value: &Value<'_>) {
    write_string(out, name);
    out.extend_from_slice(b": ");
    write_value(out, value);
}

/// `[…]`
pub(super) fn write_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    write_separated(out, items, write);
    out.push(b']');
}

/// With `, ` between them.
pub(super) fn write_separated<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write(out, item);
    }
}

pub(super) fn write_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Boolean(value) => write_boolean(out, *value),
        Value::Integer(value) => write_integer(out, *value),
        Value::Double(value) => write_double(out, *value),
        Value::String(value) => write_string(out, value),
        Value::BooleanList(values) => write_list(out, values, |out, value| write_boolean(out, *value)),
        Value::IntegerList(values) => write_list(out, values, |out, value| write_integer(out, *value)),
        Value::DoubleList(values) => write_list(out, values, |out, value| write_double(out, *value)),
        Value::StringList(values) => write_list(out, values, |out, value| write_string(out, value)),
    }
}

/// JSON has no number for what is not finite, which an import from files can bring.
fn write_double(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        return write_number(out, value);
    }
    out.extend_from_slice(b"null");
}

fn write_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

pub(super) fn write_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value<'_>) -> String {
        let mut out = Vec::new();
        write_value(&mut out, value);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn numbers_have_their_shortest_form() {
        for (value, text) in [
            (230.0, "230"),
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1.5, "1.5"),
            (-2.25, "-2.25"),
            (100_000_000_000_000.0, "100000000000000"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(written(&Value::Double(value)), text);
            assert_eq!(serde_json::from_str::<f64>(text).expect("it is JSON").to_bits(), f64::to_bits(value));
        }
        assert_eq!(written(&Value::Integer(i64::MIN)), "-9223372036854775808");
    }

    #[test]
    fn what_is_not_finite_is_null() {
        assert_eq!(written(&Value::Double(f64::NAN)), "null");
        let list = Value::DoubleList(vec![1.5, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(written(&list), "[1.5, null, null]");
    }

    #[test]
    fn lists_have_a_space_behind_each_comma() {
        assert_eq!(written(&Value::IntegerList(vec![1, 2])), "[1, 2]");
        assert_eq!(written(&Value::StringList(vec!["a\"b".into(), "".into()])), r#"["a\"b", ""]"#);
        assert_eq!(written(&Value::BooleanList(vec![])), "[]");
    }
}
