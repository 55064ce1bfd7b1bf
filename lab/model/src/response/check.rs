//! What an answer must say to count as a success, beyond its status: named checks, each counted by itself.

use crate::data::encoding::Encoding;
use crate::data::rows::CellKind;
use crate::data::template::Template;
use crate::data::variable::{ValueOf, Variable};
use crate::program::Answer;
use crate::response::answer::AnswerPart;
use crate::response::pattern::Pattern;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A check as it was asked for; slots in it are not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDraft {
    /// Made from the rule unless given.
    pub name: Option<String>,
    pub rule: RuleDraft,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RuleDraft {
    Status(Vec<u16>),
    Bytes { min: u64, max: u64 },
    Value(AnswerPart, RelationDraft),
}

#[derive(Debug, Clone, PartialEq)]
pub enum RelationDraft {
    Exists,
    Absent,
    Equals(Value),
    Contains(String),
    Lacks(String),
    Matches(Pattern),
}

/// One check of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// As it is counted; names are unique within a request.
    pub name: String,
    pub rule: Rule,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// One of these.
    Status(Vec<u16>),
    /// Length of the body.
    Bytes {
        min: u64,
        max: u64,
    },
    Value(AnswerPart, Relation),
}

/// What must hold for a value. A value that is not there fails all but [`Relation::Absent`] and [`Relation::Lacks`].
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    Exists,
    Absent,
    /// The same JSON value; numbers are compared as numbers.
    EqualsJson(Value),
    EqualsText(Template),
    Contains(Template),
    Lacks(Template),
    Matches(Pattern),
}

impl CheckDraft {
    /// The check, or what is wrong with its slots.
    pub(crate) fn check(&self, variables: &[Variable]) -> Result<Check, Vec<String>> {
        let read = |text: &str| Template::read(text, Encoding::Plain, variables);
        let rule = match &self.rule {
            RuleDraft::Status(list) => Rule::Status(list.clone()),
            RuleDraft::Bytes { min, max } => Rule::Bytes { min: *min, max: *max },
            RuleDraft::Value(subject, relation) => {
                let relation = match relation {
                    RelationDraft::Exists => Relation::Exists,
                    RelationDraft::Absent => Relation::Absent,
                    RelationDraft::Equals(Value::String(text)) => equals_text(subject, text, variables)?,
                    RelationDraft::Equals(value) => Relation::EqualsJson(value.clone()),
                    RelationDraft::Contains(text) => Relation::Contains(read(text)?),
                    RelationDraft::Lacks(text) => Relation::Lacks(read(text)?),
                    RelationDraft::Matches(pattern) => Relation::Matches(pattern.clone()),
                };
                Rule::Value(subject.clone(), relation)
            }
        };
        Ok(Check { name: self.name.clone().unwrap_or_else(|| self.rule.to_string()), rule })
    }
}

/// Within JSON a text without slots is a text only; one with slots takes the type that its value has.
fn equals_text(subject: &AnswerPart, text: &str, variables: &[Variable]) -> Result<Relation, Vec<String>> {
    let template = Template::read(text, Encoding::Plain, variables)?;
    Ok(match (subject, template.fixed_text()) {
        (AnswerPart::Json(_), Some(text)) => {
            Relation::EqualsJson(Value::from(String::from_utf8_lossy(text).into_owned()))
        }
        _ => Relation::EqualsText(template),
    })
}

impl fmt::Display for RuleDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(list) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "status {}", list.join(" or "))
            }
            Self::Bytes { min, max: u64::MAX } => write!(f, "body of at least {min} bytes"),
            Self::Bytes { min: 0, max } => write!(f, "body of at most {max} bytes"),
            Self::Bytes { min, max } => write!(f, "body of {min} to {max} bytes"),
            Self::Value(subject, relation) => write!(f, "{subject} {relation}"),
        }
    }
}

impl fmt::Display for RelationDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("exists"),
            Self::Absent => f.write_str("does not exist"),
            Self::Equals(value) => write!(f, "equals {value}"),
            Self::Contains(text) => write!(f, "contains {}", Value::from(text.as_str())),
            Self::Lacks(text) => write!(f, "lacks {}", Value::from(text.as_str())),
            Self::Matches(pattern) => write!(f, "matches {}", pattern.as_str()),
        }
    }
}

impl Rule {
    /// True where the status says all.
    pub fn is_of_status(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    /// The part with slots, if any.
    pub fn template(&self) -> Option<&Template> {
        match self {
            Self::Value(_, Relation::EqualsText(text) | Relation::Contains(text) | Relation::Lacks(text)) => {
                Some(text)
            }
            _ => None,
        }
    }

    /// True where the answer keeps the rule; slots take the values that the request had.
    pub fn is_kept_by(&self, answer: &Answer<'_>, values: &impl ValueOf) -> bool {
        match self {
            Self::Status(list) => list.contains(&answer.status),
            Self::Bytes { min, max } => (*min..=*max).contains(&(answer.body.len() as u64)),
            Self::Value(subject, relation) => {
                let found = subject.find(answer);
                match (relation, found) {
                    (Relation::Exists, found) => found.is_ok(),
                    (Relation::Absent, found) => found.is_err(),
                    (Relation::Lacks(_), Err(_)) => true,
                    (_, Err(_)) => false,
                    (relation, Ok(taken)) => relation.holds(taken.kind, &taken.text, values),
                }
            }
        }
    }
}

impl Relation {
    fn holds(&self, kind: CellKind, text: &[u8], values: &impl ValueOf) -> bool {
        match self {
            Self::Exists => true,
            Self::Absent => false,
            Self::EqualsJson(expected) => equals_json(expected, kind, text),
            Self::EqualsText(expected) => kind != CellKind::Null && rendered(expected, values) == text,
            Self::Contains(part) => contains(text, &rendered(part, values)),
            Self::Lacks(part) => !contains(text, &rendered(part, values)),
            Self::Matches(pattern) => pattern.is_match(text),
        }
    }
}

fn rendered<'t>(template: &'t Template, values: &impl ValueOf) -> Cow<'t, [u8]> {
    if let Some(text) = template.fixed_text() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::new();
    template.render(values, &mut out);
    Cow::Owned(out)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

fn equals_json(expected: &Value, kind: CellKind, text: &[u8]) -> bool {
    match (expected, kind) {
        (Value::Null, kind) => kind == CellKind::Null,
        (Value::String(expected), CellKind::Text) => expected.as_bytes() == text,
        (expected, CellKind::Json) => {
            serde_json::from_slice::<Value>(text).is_ok_and(|found| same(expected, &found))
        }
        _ => false,
    }
}

/// JSON has one kind of number: 1 and 1.0 are the same. Whole numbers are compared as such, beyond what a float tells apart too.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::encoding::Encoding;
    use crate::data::variable::{Drawn, Variable};
    use crate::response::answer::tests::answer;
    use crate::response::pointer::Pointer;
    use serde_json::json;

    const BODY: &[u8] = br#"{"n":1.0,"list":[1,{"a":"x 7"}],"none":null,"t":"true"}"#;

    fn keeps(rule: &Rule) -> bool {
        rule.is_kept_by(&answer(BODY), &[Drawn::Integer(7)])
    }

    fn text(text: &str) -> Template {
        Template::read(text, Encoding::Plain, &[Variable::range("n", 7, 7)]).unwrap()
    }

    #[test]
    fn values_are_compared_as_what_they_are() {
        let json = |pointer, relation| {
            keeps(&Rule::Value(AnswerPart::Json(Pointer::parse(pointer).unwrap()), relation))
        };
        assert!(json("/n", Relation::EqualsJson(json!(1))));
        assert!(!json("/n", Relation::EqualsJson(json!("1.0"))));
        assert!(json("/n", Relation::EqualsText(text("1.0"))));
        assert!(json("/list", Relation::EqualsJson(json!([1.0, {"a": "x 7"}]))));
        assert!(!json("/list", Relation::EqualsJson(json!([1]))));
        assert!(json("/list/1/a", Relation::EqualsText(text("x ${n}"))));
        assert!(json("/list/1/a", Relation::EqualsJson(json!("x 7"))));
        assert!(json("/none", Relation::EqualsJson(Value::Null)));
        assert!(json("/none", Relation::Exists));
        assert!(!json("/none", Relation::EqualsText(text(""))));
        assert!(json("/t", Relation::EqualsJson(json!("true"))));
        assert!(!json("/t", Relation::EqualsJson(json!(true))));
        assert!(json("/gone", Relation::Absent));
        assert!(!json("/gone", Relation::Exists));
        assert!(!json("/gone", Relation::EqualsText(text(""))));
        assert!(json("/gone", Relation::Lacks(text("x"))));
    }

    #[test]
    fn whole_numbers_are_equal_to_the_last_digit() {
        let equal = |expected: Value, found: &str| equals_json(&expected, CellKind::Json, found.as_bytes());
        assert!(equal(json!(9_007_199_254_740_993_u64), "9007199254740993"));
        assert!(!equal(json!(9_007_199_254_740_993_u64), "9007199254740992"));
        assert!(!equal(json!(u64::MAX), "18446744073709551614"));
        assert!(equal(json!(3), "3.0"));
        assert!(equal(json!([3.0]), "[3]"));
    }

    #[test]
    fn bodies_headers_statuses_and_sizes_are_checked() {
        let body = |relation| keeps(&Rule::Value(AnswerPart::Body, relation));
        assert!(body(Relation::Contains(text("\"x ${n}\""))));
        assert!(!body(Relation::Contains(text("x 8"))));
        assert!(body(Relation::Lacks(text("x 8"))));
        assert!(body(Relation::Matches(Pattern::parse(r"x \d").unwrap())));
        assert!(!body(Relation::EqualsText(text("x"))));
        let header = |relation| keeps(&Rule::Value(AnswerPart::header("X-Id"), relation));
        assert!(header(Relation::EqualsText(text("${n}"))));
        assert!(header(Relation::Exists));
        assert!(!header(Relation::Absent));
        assert!(keeps(&Rule::Status(vec![201, 200])));
        assert!(!keeps(&Rule::Status(vec![201])));
        let length = BODY.len() as u64;
        assert!(keeps(&Rule::Bytes { min: length, max: length }));
        assert!(!keeps(&Rule::Bytes { min: length + 1, max: u64::MAX }));
        assert!(!keeps(&Rule::Bytes { min: 0, max: length - 1 }));
    }
}
