//! Looks for `errors` at the top of a GraphQL answer while it streams by, keeping nothing of it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorsScan {
    /// Open braces and brackets.
    depth: u32,
    place: ScanPlace,
    found: bool,
    is_closed: bool,
    /// The last byte that is no white space.
    last: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanPlace {
    /// Between values; a string that begins here at depth 1 is a key or a value.
    Between { expects_key: bool },
    /// In a string; `matched` letters of `errors` were seen, or it is none.
    Text { matched: Option<u8>, is_escaped: bool },
    /// After the key `errors`, before its value's first byte.
    AwaitsValue,
    /// Within the list, before its first item.
    AwaitsItem,
    /// The body is no object at all.
    Foreign,
}

const WORD: &[u8] = b"errors";

impl ErrorsScan {
    pub const START: Self = Self {
        depth: 0,
        place: ScanPlace::Between { expects_key: false },
        found: false,
        is_closed: false,
        last: 0,
    };

    /// True where the body was no GraphQL answer, or one with `errors` that are neither null nor empty.
    pub fn is_failure(&self) -> bool {
        self.found || !self.is_object()
    }

    /// Takes a whole object in which no such word stands anywhere.
    pub fn pass_object(&mut self) {
        (self.depth, self.last) = (1, b'}');
    }

    /// As far as its ends tell: one that is cut off is none.
    fn is_object(&self) -> bool {
        self.place != ScanPlace::Foreign && (self.depth > 0 || self.is_closed) && self.last == b'}'
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let last = bytes.iter().rfind(|byte| !byte.is_ascii_whitespace());
        self.last = last.copied().unwrap_or(self.last);
        let mut at = 0;
        while at < bytes.len() && !self.found && self.place != ScanPlace::Foreign {
            if let ScanPlace::Text { matched: None, is_escaped: false } = self.place {
                match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                    None => return,
                    Some(skip) => at += skip,
                }
            }
            self.step(bytes[at]);
            at += 1;
        }
    }

    fn step(&mut self, byte: u8) {
        self.place = match self.place {
            ScanPlace::Between { expects_key } => self.between(byte, expects_key),
            ScanPlace::Text { is_escaped: true, .. } => ScanPlace::Text { matched: None, is_escaped: false },
            ScanPlace::Text { matched, .. } => Self::in_text(byte, matched),
            ScanPlace::AwaitsValue => self.awaits_value(byte),
            ScanPlace::AwaitsItem => self.awaits_item(byte),
            ScanPlace::Foreign => ScanPlace::Foreign,
        };
    }

    fn between(&mut self, byte: u8, expects_key: bool) -> ScanPlace {
        if self.is_closed {
            return ScanPlace::Between { expects_key: false };
        }
        match byte {
            b'[' | b'"' | b'}' | b']' if self.depth == 0 => ScanPlace::Foreign,
            b'{' | b'[' => {
                self.depth += 1;
                ScanPlace::Between { expects_key: self.depth == 1 }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_closed |= self.depth == 0;
                ScanPlace::Between { expects_key: false }
            }
            b',' => ScanPlace::Between { expects_key: self.depth == 1 },
            b'"' => ScanPlace::Text { matched: expects_key.then_some(0), is_escaped: false },
            _ if self.depth == 0 && !byte.is_ascii_whitespace() => ScanPlace::Foreign,
            _ => ScanPlace::Between { expects_key },
        }
    }

    fn in_text(byte: u8, matched: Option<u8>) -> ScanPlace {
        match (byte, matched) {
            (b'"', Some(count)) if usize::from(count) == WORD.len() => ScanPlace::AwaitsValue,
            (b'"', _) => ScanPlace::Between { expects_key: false },
            (b'\\', _) => ScanPlace::Text { matched: None, is_escaped: true },
            (_, Some(count)) if WORD.get(usize::from(count)) == Some(&byte) => {
                ScanPlace::Text { matched: Some(count + 1), is_escaped: false }
            }
            _ => ScanPlace::Text { matched: None, is_escaped: false },
        }
    }

    fn awaits_value(&mut self, byte: u8) -> ScanPlace {
        match byte {
            b':' => ScanPlace::AwaitsValue,
            _ if byte.is_ascii_whitespace() => ScanPlace::AwaitsValue,
            b'[' => {
                self.depth += 1;
                ScanPlace::AwaitsItem
            }
            b'n' => ScanPlace::Between { expects_key: false },
            _ => {
                self.found = true;
                ScanPlace::Between { expects_key: false }
            }
        }
    }

    fn awaits_item(&mut self, byte: u8) -> ScanPlace {
        if byte.is_ascii_whitespace() {
            return ScanPlace::AwaitsItem;
        }
        self.depth -= u32::from(byte == b']');
        self.found = byte != b']';
        ScanPlace::Between { expects_key: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::sink::Sink;
    use prony_model::program::Keep;

    const BODIES: [(&str, bool); 19] = [
        (r#"{"data":{"a":1}}"#, false),
        (r#"{"errors":[{"message":"x"}]}"#, true),
        (r#" { "data" : null , "errors" : [ {} ] }"#, true),
        (r#"{"errors":null,"data":{}}"#, false),
        (r#"{"errors":[],"data":{}}"#, false),
        (r#"{"errors": [ ] ,"extensions":{"errors":[1]}}"#, false),
        (r#"{"data":{"errors":[1]}}"#, false),
        (r#"{"data":["errors",{"x":"\"errors\":[1]"}]}"#, false),
        (r#"{"data":"errors","b":"\\","errors":[0]}"#, true),
        (r#"{"xerrors":[1],"errorsx":[1]}"#, false),
        ("<html>errors</html>", true),
        (r#"[{"data":1}]"#, true),
        ("", true),
        (r#"{"errors":"text"}"#, true),
        ("{\"data\":{\"errors\":1}}\r\n ", false),
        (r#"{"data":{"a":1"#, true),
        (r#"{"data":{"errors":"x"#, true),
        (r#"{"data":{"errors":1}} x"#, true),
        ("}", true),
    ];

    #[test]
    fn errors_count_only_at_the_top_and_in_any_pieces() {
        for (body, expected) in BODIES {
            let mut whole = Sink::new(Keep::GraphQlErrors, &mut Vec::new());
            whole.feed_whole(body.as_bytes());
            assert_eq!(whole.answer(200).has_graphql_errors, expected, "{body}");
            for size in 1..=body.len() {
                let mut watch = ErrorsScan::START;
                body.as_bytes().chunks(size).for_each(|piece| watch.feed(piece));
                assert_eq!(watch.is_failure(), expected, "{body} in pieces of {size}");
            }
        }
    }
}
