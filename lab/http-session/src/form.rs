//! Bodies made of objects: `application/x-www-form-urlencoded`, and multipart where one value is a file.

use crate::escape::{Escape, escape_into};
use std::borrow::Cow;

/// The value of one key of an object that is sent as a form, as k6 prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    Text(String),
    List(Vec<String>),
    File(File),
}

/// `http.file()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub data: Vec<u8>,
    pub name: String,
    pub content_type: String,
}

/// A body with its `Content-Type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormBody {
    pub body: Vec<u8>,
    pub content_type: String,
}

/// `boundary` is taken where the form has a file; it must not occur in the values.
pub fn encode_form(fields: &[(String, Field)], boundary: &str) -> FormBody {
    if fields.iter().any(|(_, field)| matches!(field, Field::File(_))) {
        let content_type = format!("multipart/form-data; boundary={boundary}");
        FormBody { body: encode_multipart(fields, boundary), content_type }
    } else {
        let content_type = "application/x-www-form-urlencoded".to_owned();
        FormBody { body: encode_pairs(fields).into_bytes(), content_type }
    }
}

/// Sorted by name, as k6 sends them.
fn encode_pairs(fields: &[(String, Field)]) -> String {
    let mut sorted: Vec<&(String, Field)> = fields.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut text = String::new();
    for (name, field) in sorted {
        match field {
            Field::Text(value) => append_pair(&mut text, name, value),
            Field::List(values) => values.iter().for_each(|value| append_pair(&mut text, name, value)),
            Field::File(_) => {}
        }
    }
    text
}

/// Appends `name=value` to an encoded query or form.
pub fn append_pair(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() {
        text.push('&');
    }
    escape_into(name, Escape::Form, text);
    text.push('=');
    escape_into(value, Escape::Form, text);
}

/// RFC 7578.
fn encode_multipart(fields: &[(String, Field)], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for (index, (name, field)) in fields.iter().enumerate() {
        let line_end = if index == 0 { "" } else { "\r\n" };
        body.extend_from_slice(format!("{line_end}--{boundary}\r\n").as_bytes());
        let disposition = |name: &str| format!("Content-Disposition: form-data; name=\"{name}\"");
        match field {
            Field::File(file) => {
                let head = format!(
                    "{}; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
                    disposition(name),
                    backslashed(&file.name),
                    file.content_type
                );
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(&file.data);
            }
            Field::Text(_) | Field::List(_) => {
                let head = format!("{}\r\n\r\n", disposition(&one_line(name)));
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(field.as_text().as_bytes());
            }
        }
    }
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    body
}

impl Field {
    /// A list as Go prints it.
    fn as_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(value) => Cow::Borrowed(value),
            Self::List(values) => Cow::Owned(format!("[{}]", values.join(" "))),
            Self::File(_) => Cow::Borrowed(""),
        }
    }
}

fn backslashed(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Names of plain fields may hold line ends.
fn one_line(text: &str) -> String {
    backslashed(text).replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(fields: &[(&str, Field)], expected: &Expect) {
        let fields: Vec<_> = fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect();
        let form = encode_form(&fields, "XX");
        let body = String::from_utf8_lossy(&form.body).replace('\r', "");
        expected.assert_eq(&format!("{}\n{body}", form.content_type));
    }

    fn text(value: &str) -> Field {
        Field::Text(value.to_owned())
    }

    #[test]
    fn pairs_are_sorted_and_escaped() {
        let list = Field::List(vec!["1".to_owned(), "b c".to_owned()]);
        check(
            &[("z&", text("ü=1")), ("a", list), ("m", text(""))],
            &expect![[r#"
            application/x-www-form-urlencoded
            a=1&a=b+c&m=&z%26=%C3%BC%3D1"#]],
        );
    }

    #[test]
    fn a_file_makes_the_form_multipart() {
        let file = File {
            data: b"DATA".to_vec(),
            name: "a\"b.txt".to_owned(),
            content_type: "text/plain".to_owned(),
        };
        let list = Field::List(vec!["1".to_owned(), "2".to_owned()]);
        check(
            &[("f\"", text("v")), ("up", Field::File(file)), ("l", list)],
            &expect![[r#"
            multipart/form-data; boundary=XX
            --XX
            Content-Disposition: form-data; name="f\""

            v
            --XX
            Content-Disposition: form-data; name="up"; filename="a\"b.txt"
            Content-Type: text/plain

            DATA
            --XX
            Content-Disposition: form-data; name="l"

            [1 2]
            --XX--
        "#]],
        );
    }
}
