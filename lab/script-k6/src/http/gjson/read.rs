//! Reads a text into a tree: all JSON that `JSON.parse` takes, to a depth.
//!
//! A parser into texts of Rust refuses halves of surrogate pairs, and one into numbers what is too large for
//! them. A script that asks for another member of such a response would find nothing.

use super::node::Node;

/// Arrays and objects nest no deeper: a tree is cloned and dropped on the stack of a user.
const NESTED_MAX: usize = 256;

/// Text that is no UTF-8 is read as k6 does: what is none is replaced. `None`: it is no JSON.
pub(crate) fn parse(json: &[u8]) -> Option<Node> {
    let text = String::from_utf8_lossy(json);
    JsonReader { text: &text, at: 0 }.document()
}

/// What is being read: the members so far, and the name of the next.
enum OpenValue {
    Array(Vec<Node>),
    Object(Vec<(String, Node)>, String),
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    fn document(mut self) -> Option<Node> {
        let mut open: Vec<OpenValue> = Vec::new();
        loop {
            self.skip_spaces();
            let mut value = match self.peek()? {
                b'[' if self.opens_empty(b']') => Node::Array(Vec::new()),
                b'{' if self.opens_empty(b'}') => Node::Object(Vec::new()),
                first @ (b'[' | b'{') => {
                    if open.len() == NESTED_MAX {
                        return None;
                    }
                    let opened = match first {
                        b'[' => OpenValue::Array(Vec::new()),
                        _ => OpenValue::Object(Vec::new(), self.name()?),
                    };
                    open.push(opened);
                    continue;
                }
                _ => self.scalar()?,
            };
            loop {
                self.skip_spaces();
                let Some(last) = open.pop() else {
                    return (self.at == self.text.len()).then_some(value);
                };
                match self.closed(last, value)? {
                    Ok(whole) => value = whole,
                    Err(unfinished) => {
                        open.push(unfinished);
                        break;
                    }
                }
            }
        }
    }

    /// Adds a value to what it stands in. `Err`: more is to come.
    fn closed(&mut self, open: OpenValue, value: Node) -> Option<Result<Node, OpenValue>> {
        let next = self.peek()?;
        self.at += 1;
        Some(match open {
            OpenValue::Array(mut items) => {
                items.push(value);
                match next {
                    b',' => Err(OpenValue::Array(items)),
                    b']' => Ok(Node::Array(items)),
                    _ => return None,
                }
            }
            OpenValue::Object(mut members, name) => {
                members.push((name, value));
                match next {
                    b',' => Err(OpenValue::Object(members, self.name()?)),
                    b'}' => Ok(Node::Object(members)),
                    _ => return None,
                }
            }
        })
    }

    /// Takes the opening bracket, and the closing one where nothing stands between them.
    fn opens_empty(&mut self, closing: u8) -> bool {
        self.at += 1;
        self.skip_spaces();
        let is_empty = self.peek() == Some(closing);
        self.at += usize::from(is_empty);
        is_empty
    }

    fn name(&mut self) -> Option<String> {
        self.skip_spaces();
        let name = self.string()?;
        self.skip_spaces();
        self.take(":").then_some(name)
    }

    fn scalar(&mut self) -> Option<Node> {
        match self.peek()? {
            b'"' => self.string().map(Node::String),
            b't' => self.take("true").then_some(Node::Bool(true)),
            b'f' => self.take("false").then_some(Node::Bool(false)),
            b'n' => self.take("null").then_some(Node::Null),
            _ => self.number().map(Node::Number),
        }
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        self.take("-");
        if !self.take("0") {
            self.digits()?;
        }
        if self.take(".") {
            self.digits()?;
        }
        if self.take("e") || self.take("E") {
            if !self.take("+") {
                self.take("-");
            }
            self.digits()?;
        }
        // What is too large becomes infinite.
        self.text.get(start..self.at)?.parse().ok()
    }

    fn digits(&mut self) -> Option<()> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        (digits > 0).then_some(())
    }

    fn string(&mut self) -> Option<String> {
        if !self.take("\"") {
            return None;
        }
        let mut string = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\'))?;
            string.push_str(rest.get(..plain)?);
            self.at += plain + 1;
            match rest.as_bytes().get(plain)? {
                b'"' => return Some(string),
                b'\\' => string.push(self.escaped()?),
                _ => return None,
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let name = self.peek()?;
        self.at += 1;
        Some(match name {
            b'"' | b'\\' | b'/' => char::from(name),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.code_unit()?;
                let whole = char::from_u32(u32::from(first)).or_else(|| self.pair(first));
                whole.unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return None,
        })
    }

    /// The character of two surrogates; the second stays where it is no such.
    fn pair(&mut self, first: u16) -> Option<char> {
        let start = self.at;
        let second = if self.take("\\u") { self.code_unit() } else { None };
        let both = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
        if both.is_none() {
            self.at = start;
        }
        both
    }

    fn code_unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }

    fn skip_spaces(&mut self) {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.at += self.rest().bytes().take_while(is_space).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, expected: &str) -> bool {
        let is_there = self.rest().starts_with(expected);
        if is_there {
            self.at += expected.len();
        }
        is_there
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::gjson::get;

    fn read(json: &str) -> Option<String> {
        parse(json.as_bytes()).map(|node| node.to_json())
    }

    #[test]
    fn all_that_json_has_is_read() {
        let json = r#" {"a": [1, -2.5e3 ,{ }, [ ] ],"b\n\u00e9\ud83d\ude00\/":"","c":1,"c":null} "#;
        let expected = r#"{"a":[1,-2500,{},[]],"b\né😀/":"","c":1,"c":null}"#;
        assert_eq!(read(json).as_deref(), Some(expected));
        assert_eq!(read(" 0 ").as_deref(), Some("0"));
        assert_eq!(read("\"x\"").as_deref(), Some("\"x\""));
    }

    #[test]
    fn what_texts_and_numbers_of_rust_cannot_hold_hides_nothing() {
        let json = br#"{"half":"a\ud800b\udc00","two":"\ud800\ud83d\ude00","huge":1e400,"\udfff":1,"id":7}"#;
        let node = parse(json).expect("it is JSON");
        let found = |path| get(&node, path).map(std::borrow::Cow::into_owned);
        assert_eq!(found("id"), Some(Node::Number(7.0)));
        assert_eq!(found("half"), Some(Node::String("a\u{fffd}b\u{fffd}".to_owned())));
        assert_eq!(found("two"), Some(Node::String("\u{fffd}😀".to_owned())));
        assert_eq!(found("huge"), Some(Node::Number(f64::INFINITY)));
        assert_eq!(found("huge.@tostr.@fromstr"), Some(Node::Number(f64::INFINITY)));
        let nested = format!("{{\"deep\":{}1{},\"id\":7}}", "[".repeat(200), "]".repeat(200));
        let node = parse(nested.as_bytes()).expect("it is JSON");
        assert_eq!(get(&node, "id").as_deref(), Some(&Node::Number(7.0)));
        assert!(parse("[".repeat(10_000).as_bytes()).is_none());
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let texts = [
            "",
            " ",
            "{",
            "[1,]",
            "[,1]",
            "[1 2]",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "{a:1}",
            "{,}",
            "]",
            "1]",
            "[1]x",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "NaN",
            "tru",
            "\"",
            "\"\n\"",
            "'a'",
            r#""\x""#,
            r#""\u12""#,
            r#""\u+123""#,
        ];
        for text in texts {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
