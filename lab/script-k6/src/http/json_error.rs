//! What is wrong with a body that is no JSON, in the words of Go's decoder: looked for only once it is known.

use std::fmt::Write as _;

/// k6's message with line and character; `None` where the text is JSON after all.
pub(super) fn json_error(text: &str) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    let reason = scanner.document().err()?;
    let is_cut = scanner.at >= text.len();
    let offset = if is_cut { text.len().saturating_sub(1) } else { scanner.at };
    let (line, character) = place(text, offset);
    let reason = if is_cut { "unexpected end of JSON input".to_owned() } else { reason };
    Some(format!("cannot parse json due to an error at line {line}, character {character} , error: {reason}"))
}

/// Both from 1; a line end is the first character of what follows.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let (mut line, mut character) = (1, 0);
    for (at, letter) in text.char_indices() {
        if letter == '\n' {
            line += 1;
            character = 0;
        } else {
            character += 1;
        }
        if at >= offset {
            if letter == '\n' {
                character = 1;
            }
            break;
        }
    }
    (line, character)
}

/// Stands at the first letter that cannot be.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// Nesting that Go's decoder takes.
const DEPTH_MAX: usize = 10_000;

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn fault<T>(&self, context: &str) -> Result<T, String> {
        let letter = self.text[self.at..].chars().next().unwrap_or(' ');
        let mut reason = String::from("invalid character ");
        let _ = match letter {
            '\'' => write!(reason, "'\\''"),
            '"' => write!(reason, "'\"'"),
            '\n' => write!(reason, "'\\n'"),
            '\r' => write!(reason, "'\\r'"),
            '\t' => write!(reason, "'\\t'"),
            letter if letter < ' ' => write!(reason, "'\\x{:02x}'", u32::from(letter)),
            letter if letter.is_ascii() => write!(reason, "'{letter}'"),
            // Go looks at bytes.
            _ => write!(reason, "'{}'", char::from(self.text.as_bytes()[self.at])),
        };
        Err(format!("{reason} {context}"))
    }

    fn document(&mut self) -> Result<(), String> {
        self.value()?;
        self.skip_spaces();
        if self.at < self.text.len() { self.fault("after top-level value") } else { Ok(()) }
    }

    /// Without recursion, since a body may nest deeper than a user's stack.
    fn value(&mut self) -> Result<(), String> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.skip_spaces();
            if self.begin(&mut open)? {
                continue;
            }
            loop {
                self.skip_spaces();
                let Some(&kind) = open.last() else { return Ok(()) };
                match (self.peek(), kind) {
                    (Some(b','), _) => {
                        self.at += 1;
                        if kind == b'{' {
                            self.key("looking for beginning of object key string")?;
                        }
                        break;
                    }
                    (Some(b'}'), b'{') | (Some(b']'), b'[') => {
                        self.at += 1;
                        open.pop();
                    }
                    (_, b'{') => return self.fault("after object key:value pair"),
                    _ => return self.fault("after array element"),
                }
            }
        }
    }

    /// Reads a scalar, or what opens a container; true where a value has to follow.
    fn begin(&mut self, open: &mut Vec<u8>) -> Result<bool, String> {
        let kind = match self.peek() {
            Some(kind @ (b'{' | b'[')) if open.len() < DEPTH_MAX => kind,
            Some(b'"') => return self.string().map(|()| false),
            Some(b't') => return self.literal("true").map(|()| false),
            Some(b'f') => return self.literal("false").map(|()| false),
            Some(b'n') => return self.literal("null").map(|()| false),
            Some(b'-' | b'0'..=b'9') => return self.number().map(|()| false),
            _ => return self.fault("looking for beginning of value"),
        };
        self.at += 1;
        self.skip_spaces();
        if self.peek() == Some(kind + 2) {
            self.at += 1;
            return Ok(false);
        }
        open.push(kind);
        if kind == b'{' {
            self.key("looking for beginning of object key string")?;
        }
        Ok(true)
    }

    fn key(&mut self, context: &str) -> Result<(), String> {
        self.skip_spaces();
        if self.peek() != Some(b'"') {
            return self.fault(context);
        }
        self.string()?;
        self.skip_spaces();
        if self.peek() != Some(b':') {
            return self.fault("after object key");
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return self.fault("in string literal"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        self.at += 1;
        match self.peek() {
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.fault("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
                Ok(())
            }
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            _ => self.fault("in string escape code"),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        self.at += 1;
        for expected in word.bytes().skip(1) {
            if self.peek() != Some(expected) {
                return self.fault(&format!("in literal {word} (expecting '{}')", char::from(expected)));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fault("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.need_digit("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.need_digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn need_digit(&mut self, context: &str) -> Result<(), String> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.fault(context);
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn messages_are_those_of_k6() {
        let texts = [
            "GET /",
            "",
            "  ",
            "{",
            "{\"a\"",
            "{\"a\":1,}",
            "{\"a\":1 b",
            "[1,]",
            "[1 2]",
            "tru",
            "trux",
            "1 x",
            "-",
            "1.x",
            "1e+",
            "\"a",
            "\"\n\"",
            "\"\\q\"",
            "\"\\u12g\"",
            "{'a'}",
            "{\n \"a\": x\n}",
            "ü",
            "<html>\n</html>",
            "01",
        ];
        let shown: Vec<String> =
            texts.iter().map(|text| format!("{text:?} {}", json_error(text).unwrap_or_default())).collect();
        expect![[r#"
            "GET /" cannot parse json due to an error at line 1, character 1 , error: invalid character 'G' looking for beginning of value
            "" cannot parse json due to an error at line 1, character 0 , error: unexpected end of JSON input
            "  " cannot parse json due to an error at line 1, character 2 , error: unexpected end of JSON input
            "{" cannot parse json due to an error at line 1, character 1 , error: unexpected end of JSON input
            "{\"a\"" cannot parse json due to an error at line 1, character 4 , error: unexpected end of JSON input
            "{\"a\":1,}" cannot parse json due to an error at line 1, character 8 , error: invalid character '}' looking for beginning of object key string
            "{\"a\":1 b" cannot parse json due to an error at line 1, character 8 , error: invalid character 'b' after object key:value pair
            "[1,]" cannot parse json due to an error at line 1, character 4 , error: invalid character ']' looking for beginning of value
            "[1 2]" cannot parse json due to an error at line 1, character 4 , error: invalid character '2' after array element
            "tru" cannot parse json due to an error at line 1, character 3 , error: unexpected end of JSON input
            "trux" cannot parse json due to an error at line 1, character 4 , error: invalid character 'x' in literal true (expecting 'e')
            "1 x" cannot parse json due to an error at line 1, character 3 , error: invalid character 'x' after top-level value
            "-" cannot parse json due to an error at line 1, character 1 , error: unexpected end of JSON input
            "1.x" cannot parse json due to an error at line 1, character 3 , error: invalid character 'x' after decimal point in numeric literal
            "1e+" cannot parse json due to an error at line 1, character 3 , error: unexpected end of JSON input
            "\"a" cannot parse json due to an error at line 1, character 2 , error: unexpected end of JSON input
            "\"\n\"" cannot parse json due to an error at line 2, character 1 , error: invalid character '\n' in string literal
            "\"\\q\"" cannot parse json due to an error at line 1, character 3 , error: invalid character 'q' in string escape code
            "\"\\u12g\"" cannot parse json due to an error at line 1, character 6 , error: invalid character 'g' in \u hexadecimal character escape
            "{'a'}" cannot parse json due to an error at line 1, character 2 , error: invalid character '\'' looking for beginning of object key string
            "{\n \"a\": x\n}" cannot parse json due to an error at line 2, character 7 , error: invalid character 'x' looking for beginning of value
            "ü" cannot parse json due to an error at line 1, character 1 , error: invalid character 'Ã' looking for beginning of value
            "<html>\n</html>" cannot parse json due to an error at line 1, character 1 , error: invalid character '<' looking for beginning of value
            "01" cannot parse json due to an error at line 1, character 2 , error: invalid character '1' after top-level value"#]].assert_eq(&shown.join("\n"));
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_parser(text in "[\\[\\]{}\",:0-9truefalsn.\\-+e \\\\u]{0,12}") {
            prop_assert_eq!(json_error(&text).is_none(), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
        }
    }
}
