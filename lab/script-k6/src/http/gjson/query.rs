//! Queries: `#(age>40)` and their operators.

use super::node::Node;
use std::borrow::Cow;

#[derive(Debug)]
pub(super) struct ArrayQuery<'p> {
    /// What is compared; empty: the element itself.
    pub(super) path: &'p str,
    operator: Operator,
    value: Cow<'p, str>,
    /// `#(…)#`: all that match.
    pub(super) selects_all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// Anything that is there.
    Exists,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    NotLike,
}

impl Operator {
    const ALL: [(&'static str, Self); 9] = [
        ("!=", Self::NotEqual),
        ("!%", Self::NotLike),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("==", Self::Equal),
        ("<", Self::Less),
        (">", Self::Greater),
        ("=", Self::Equal),
        ("%", Self::Like),
    ];

    fn holds<T: PartialOrd + ?Sized>(self, value: &T, other: &T) -> bool {
        match self {
            Self::Exists => true,
            Self::Equal => value == other,
            Self::NotEqual => value != other,
            Self::Less => value < other,
            Self::LessOrEqual => value <= other,
            Self::Greater => value > other,
            Self::GreaterOrEqual => value >= other,
            Self::Like | Self::NotLike => false,
        }
    }
}

impl<'p> ArrayQuery<'p> {
    /// The query at the start of a path, and its length with the `#` behind it.
    pub(super) fn read(path: &'p str) -> Option<(Self, usize)> {
        let inner = path.strip_prefix("#(").or_else(|| path.strip_prefix("#["))?;
        let (operator_at, end) = limits(inner)?;
        let text = &inner[..end];
        let (path_text, condition) = text.split_at(operator_at.unwrap_or(end));
        let condition = condition.trim();
        let (sign, operator) = Operator::ALL
            .into_iter()
            .find(|(sign, _)| condition.starts_with(sign))
            .unwrap_or(("", Operator::Exists));
        let value = condition[sign.len()..].trim();
        let value = match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
            Some(inner) => match serde_json::from_str(value) {
                Ok(text) => Cow::Owned(text),
                Err(_) => Cow::Borrowed(inner),
            },
            None => Cow::Borrowed(value),
        };
        let selects_all = inner[end + 1..].starts_with('#');
        let query = Self { path: path_text.trim(), operator, value, selects_all };
        Some((query, 2 + end + 1 + usize::from(selects_all)))
    }

    pub(super) fn matches(&self, value: Option<&Node>) -> bool {
        let Some(kind) = self.value.strip_prefix('~') else {
            return value.is_some_and(|value| self.compares(value, &self.value));
        };
        let is_so = match kind {
            "*" => value.is_some(),
            "null" => matches!(value, None | Some(Node::Null)),
            "true" => value.is_some_and(|value| truth(value) == Some(true)),
            "false" => value.is_none_or(|value| truth(value) == Some(false)),
            _ => return false,
        };
        self.compares(&Node::Bool(is_so), "true")
    }

    fn compares(&self, value: &Node, other: &str) -> bool {
        match (self.operator, value) {
            (Operator::Exists, _) => true,
            (Operator::Like, Node::String(text)) => pattern_matches(other, text),
            (Operator::NotLike, Node::String(text)) => !pattern_matches(other, text),
            (operator, Node::String(text)) => operator.holds(text.as_str(), other),
            (operator, Node::Number(number)) => {
                operator.holds(number, &other.parse::<f64>().unwrap_or_default())
            }
            (operator, Node::Bool(value)) => match other {
                "true" => operator.holds(value, &true),
                "false" => operator.holds(value, &false),
                _ => operator == Operator::NotEqual,
            },
            (_, Node::Null | Node::Array(_) | Node::Object(_)) => false,
        }
    }
}

/// Where the operator and the closing bracket stand.
fn limits(text: &str) -> Option<(Option<usize>, usize)> {
    let bytes = text.as_bytes();
    let (mut depth, mut operator, mut at) = (1, None, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'!' | b'=' | b'<' | b'>' | b'%' if depth == 1 && operator.is_none() => operator = Some(at),
            b'\\' => at += 1,
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth -= 1,
            b'"' => at += quoted(&text[at..]) - 1,
            _ => {}
        }
        if depth == 0 {
            return Some((operator, at));
        }
        at += 1;
    }
    None
}

/// What a value is taken for by `~true` and `~false`.
fn truth(value: &Node) -> Option<bool> {
    match value {
        Node::Null => Some(false),
        Node::Bool(value) => Some(*value),
        Node::Number(number) => Some(*number != 0.0),
        Node::String(text) => match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" => Some(true),
            "0" | "f" | "false" => Some(false),
            _ => None,
        },
        Node::Array(_) | Node::Object(_) => None,
    }
}

/// The length of the quoted text at the start.
pub(super) fn quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// `*` stands for any letters, `?` for one; a backslash takes the next as it is. Linear but for one star at a time.
pub(super) fn pattern_matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut from, mut last_star) = (0, 0, None);
    while from < text.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                last_star = Some((at, from));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('\\') => pattern.get(at + 1).filter(|letter| **letter == text[from]).map(|_| 2),
            Some(letter) => (*letter == text[from]).then_some(1),
            None => None,
        };
        match (step, last_star) {
            (Some(step), _) => {
                at += step;
                from += 1;
            }
            (None, Some((star, tried))) => {
                last_star = Some((star, tried + 1));
                (at, from) = (star + 1, tried + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |pattern: &str, text: &str, expected| {
            assert_eq!(pattern_matches(pattern, text), expected, "{pattern} {text}");
        };
        check("*", "", true);
        check("a*b*c", "aXbXbXc", true);
        check("a*b*c", "aXbXbX", false);
        check("?ü", "xü", true);
        check("?", "", false);
        check("a\\*", "a*", true);
        check("a\\*", "ab", false);
        check(&"*a".repeat(50), &"a".repeat(5_000), true);
        check(&format!("{}b", "*a".repeat(50)), &"a".repeat(5_000), false);
    }
}
