//! Values taken from an answer for later requests of the same iteration.

use crate::data::rows::{Cell, CellKind};
use crate::program::Answer;
use crate::response::answer::{AnswerPart, Missing, Taken, headers};
use crate::response::pattern::Pattern;
use std::borrow::Cow;
use std::fmt;

/// A capture as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureDraft {
    /// The variable that it fills.
    pub name: String,
    pub subject: AnswerPart,
    /// Takes the first group, or the whole match where it has none.
    pub pattern: Option<Pattern>,
    pub default: Option<Captured>,
}

/// A capture of a checked request.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// Index into the plan's variables.
    pub variable: usize,
    pub draft: CaptureDraft,
}

/// A value that one user keeps for the rest of its iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub kind: CellKind,
    pub text: Box<[u8]>,
}

impl Captured {
    pub fn cell(&self) -> Cell<'_> {
        Cell { kind: self.kind, text: &self.text }
    }
}

impl fmt::Display for CaptureDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${{{}}} from {}", self.name, self.subject)?;
        match &self.pattern {
            Some(pattern) => write!(f, " matching {}", pattern.as_str()),
            None => Ok(()),
        }
    }
}

impl CaptureDraft {
    /// As it is counted among the checks of its request.
    pub fn check_name(&self) -> String {
        format!("captures {}", self.name)
    }

    /// The value in this answer, else the default, else why there is none. A JSON `null` is no value.
    pub fn take(&self, answer: &Answer<'_>) -> Result<Captured, Missing> {
        match self.find(answer) {
            Ok(taken) => Ok(Captured { kind: taken.kind, text: taken.text.into() }),
            Err(missing) => self.default.clone().ok_or(missing),
        }
    }

    fn find<'a>(&self, answer: &Answer<'a>) -> Result<Taken<'a>, Missing> {
        let taken = self.subject.find(answer)?;
        if let (AnswerPart::Header(name), Some(pattern)) = (&self.subject, &self.pattern) {
            // Of several of a name the pattern says which one is meant, as of `Set-Cookie`, of which each cookie has its own.
            let found = headers(answer.head, name)
                .find_map(|value| pattern.first_group(value).map(|found| &value[found]));
            let text = Cow::Borrowed(found.ok_or(Missing::Pattern)?);
            return Ok(Taken { kind: CellKind::Text, text });
        }
        let taken = match &self.pattern {
            None => taken,
            Some(pattern) => {
                let found = pattern.first_group(&taken.text).ok_or(Missing::Pattern)?;
                let text = match taken.text {
                    Cow::Borrowed(text) => Cow::Borrowed(&text[found]),
                    Cow::Owned(text) => Cow::Owned(text[found].to_vec()),
                };
                Taken { kind: CellKind::Text, text }
            }
        };
        if taken.kind == CellKind::Null { Err(Missing::Null) } else { Ok(taken) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::answer::tests::answer;
    use crate::response::pointer::Pointer;
    use expect_test::{Expect, expect};

    fn check(subject: AnswerPart, pattern: Option<&str>, body: &str, expected: &Expect) {
        let pattern = pattern.map(|text| Pattern::parse(text).unwrap());
        let draft = CaptureDraft { name: "x".to_owned(), subject, pattern, default: None };
        let shown = match draft.take(&answer(body.as_bytes())) {
            Ok(captured) => format!("{:?} {}", captured.kind, String::from_utf8_lossy(&captured.text)),
            Err(missing) => missing.to_string(),
        };
        expected.assert_eq(&shown);
        let default = Some(Captured { kind: CellKind::Text, text: b"default".as_slice().into() });
        let with_default = CaptureDraft { default, ..draft }.take(&answer(body.as_bytes())).unwrap();
        assert_eq!(
            shown.contains(' ') && !shown.starts_with("Text") && !shown.starts_with("Json"),
            &*with_default.text == b"default"
        );
    }

    #[test]
    fn values_are_taken_by_pointer_header_and_pattern() {
        let json = |pointer| AnswerPart::Json(Pointer::parse(pointer).unwrap());
        check(json("/token"), None, r#"{"token":"a\"b"}"#, &expect![[r#"Text a"b"#]]);
        check(json("/id"), None, r#"{"id":7}"#, &expect!["Json 7"]);
        check(json("/id"), None, r#"{"id":null}"#, &expect!["the value is null"]);
        check(json("/id"), None, "{}", &expect!["no value at that place"]);
        check(json("/id"), None, "<html>", &expect!["the body is no JSON"]);
        check(json("/id"), Some("-([0-9]+)$"), r#"{"id":"user-12"}"#, &expect!["Text 12"]);
        check(AnswerPart::header("X-Id"), None, "", &expect!["Text 7"]);
        check(AnswerPart::header("X-Nothing"), None, "", &expect!["no such header"]);
        check(AnswerPart::header("Content-Type"), Some("^text/(?<kind>.*)"), "", &expect!["Text plain"]);
        check(AnswerPart::header("X-Id"), Some("^8$"), "", &expect!["Text 8"]);
        check(AnswerPart::header("X-Id"), Some("^9$"), "", &expect!["the pattern matches nothing"]);
        check(AnswerPart::header("X-Nothing"), Some("^9$"), "", &expect!["no such header"]);
        check(
            AnswerPart::Body,
            Some(r#"name="csrf" value="([^"]*)""#),
            r#"<input name="csrf" value="q1">"#,
            &expect!["Text q1"],
        );
        check(AnswerPart::Body, Some("z+"), "a zz b", &expect!["Text zz"]);
        check(AnswerPart::Body, Some("z+"), "abc", &expect!["the pattern matches nothing"]);
    }
}
