//! Plain comparisons, in the words that jexl3, Groovy and JavaScript share: what conditions of If and While controllers
//! and `__jexl3` may say without a script.
//!
//! ```text
//! or         = and { ("||" | "or") and }
//! and        = not { ("&&" | "and") not }
//! not        = ["!" | "not"] comparison
//! comparison = sum [ ("==" | "!=" | "<" | ">" | "<=" | ">=" | "eq" | "ne" | "lt" | "gt" | "le" | "ge" | "=~" | "!~") sum ]
//! sum        = value { ("+" | "-") value }
//! value      = number | 'text' | "text" | true | false | null | "(" or ")" | vars.get("name") | name
//!              { ".equals(" or ")" | ".equalsIgnoreCase(" or ")" | ".contains(" or ")" | ".startsWith(" or ")"
//!              | ".endsWith(" or ")" | ".isEmpty()" | ".length()" | ".size()" | ".toInteger()" | ".trim()" }
//! ```
//!
//! Texts that are numbers are compared as numbers. A bare word is a variable where there is one of this name, else a text.

use crate::patterns;
use crate::run::context::Context;
use std::fmt;

/// Conditions within conditions.
const DEPTH_MAX: usize = 64;

/// Why a text is no plain comparison.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no plain comparison: {reason} at character {at}")]
pub(crate) struct ConditionFault {
    text: String,
    at: usize,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Operand {
    fn is_true(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Flag(flag) => *flag,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => text.eq_ignore_ascii_case("true"),
        }
    }

    fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.trim().parse().ok()?,
            Self::Null | Self::Flag(_) => return None,
        };
        // -0 is 0.
        Some(number + 0.0)
    }
}

/// Evaluates a text whose variables are in their places.
pub(crate) fn evaluate(text: &str, context: &Context<'_>) -> Result<Operand, ConditionFault> {
    let known = |name: &str| context.vars.get(name).map(str::to_owned);
    evaluate_with(text, &known, false)
}

/// Whether a text is a plain comparison at all.
pub(crate) fn check(text: &str) -> Result<(), ConditionFault> {
    evaluate_with(text, &|_| None, true).map(drop)
}

fn evaluate_with(
    text: &str,
    known: &dyn Fn(&str) -> Option<String>,
    checks_only: bool,
) -> Result<Operand, ConditionFault> {
    let mut reader = ConditionReader { text, at: 0, depth: 0, known, checks_only };
    let value = reader.or()?;
    reader.skip();
    if reader.at < text.len() {
        return Err(reader.fault("an operator is expected"));
    }
    Ok(value)
}

struct ConditionReader<'a> {
    text: &'a str,
    /// In bytes.
    at: usize,
    depth: usize,
    known: &'a dyn Fn(&str) -> Option<String>,
    /// Values are not known yet: where a number is wanted, any value may be one.
    checks_only: bool,
}

/// Longer ones first.
const COMPARISONS: [&str; 8] = ["==", "!=", "<=", ">=", "=~", "!~", "<", ">"];
const WORDS: [(&str, &str); 6] =
    [("eq", "=="), ("ne", "!="), ("lt", "<"), ("gt", ">"), ("le", "<="), ("ge", ">=")];

impl ConditionReader<'_> {
    fn fault(&self, reason: &'static str) -> ConditionFault {
        ConditionFault {
            text: patterns::shown(self.text),
            at: self.text[..self.at].chars().count() + 1,
            reason,
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip();
        let is_there = self.rest().starts_with(token);
        if is_there {
            self.at += token.len();
        }
        is_there
    }

    /// A word that no letter follows.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip();
        let after = self.rest().strip_prefix(word);
        let is_there = after.is_some_and(|after| !after.starts_with(is_letter));
        if is_there {
            self.at += word.len();
        }
        is_there
    }

    fn or(&mut self) -> Result<Operand, ConditionFault> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.fault("parentheses stand too deep"));
        }
        let mut value = self.and()?;
        while self.take("||") || self.take_word("or") {
            let other = self.and()?;
            value = Operand::Flag(value.is_true() || other.is_true());
        }
        self.depth -= 1;
        Ok(value)
    }

    fn and(&mut self) -> Result<Operand, ConditionFault> {
        let mut value = self.not()?;
        while self.take("&&") || self.take_word("and") {
            let other = self.not()?;
            value = Operand::Flag(value.is_true() && other.is_true());
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<Operand, ConditionFault> {
        let mut negations = 0_u32;
        loop {
            self.skip();
            let is_bang = self.rest().starts_with('!') && !self.rest().starts_with("!=");
            if is_bang {
                self.at += 1;
            } else if !self.take_word("not") {
                break;
            }
            negations += 1;
        }
        let value = self.comparison()?;
        Ok(if negations == 0 { value } else { Operand::Flag(value.is_true() == negations.is_multiple_of(2)) })
    }

    fn comparison(&mut self) -> Result<Operand, ConditionFault> {
        let left = self.sum()?;
        let sign = COMPARISONS.into_iter().find(|sign| self.take(sign));
        let sign =
            sign.or_else(|| WORDS.into_iter().find(|(word, _)| self.take_word(word)).map(|(_, sign)| sign));
        let Some(sign) = sign else { return Ok(left) };
        let right = self.sum()?;
        // As jexl3 has it: the expression is the whole text.
        let is_match = || {
            patterns::is_whole(&right.to_string(), &left.to_string())
                .map_err(|_| self.fault("what follows is no regular expression"))
        };
        Ok(Operand::Flag(match sign {
            "==" => is_equal(&left, &right),
            "!=" => !is_equal(&left, &right),
            "=~" => is_match()?,
            "!~" => !is_match()?,
            sign => is_ordered(&left, sign, &right),
        }))
    }

    fn sum(&mut self) -> Result<Operand, ConditionFault> {
        let mut value = self.value()?;
        loop {
            if self.take("+") {
                let other = self.value()?;
                value = match (&value, &other) {
                    (Operand::Number(a), Operand::Number(b)) => Operand::Number(a + b),
                    (a, b) => Operand::Text(format!("{a}{b}")),
                };
            } else if self.take("-") {
                let other = self.value()?;
                let (Some(a), Some(b)) = (self.number_of(&value), self.number_of(&other)) else {
                    return Err(self.fault("only numbers can be taken from each other"));
                };
                value = Operand::Number(a - b);
            } else {
                return Ok(value);
            }
        }
    }

    fn value(&mut self) -> Result<Operand, ConditionFault> {
        let mut value = self.simple()?;
        while self.rest().starts_with('.') && self.rest()[1..].starts_with(is_letter) {
            self.at += 1;
            value = self.method(&value)?;
        }
        Ok(value)
    }

    fn simple(&mut self) -> Result<Operand, ConditionFault> {
        self.skip();
        let Some(first) = self.rest().chars().next() else { return Err(self.fault("a value is missing")) };
        match first {
            '(' => {
                self.at += 1;
                let value = self.or()?;
                if self.take(")") { Ok(value) } else { Err(self.fault("a `)` is missing")) }
            }
            '"' | '\'' => self.quoted(first).map(Operand::Text),
            '-' | '0'..='9' => self.number(),
            letter if is_letter(letter) => self.word(),
            // A variable that is not set stays as it was written.
            '$' if self.rest().starts_with("${") => {
                let Some(end) = self.rest().find('}') else { return Err(self.fault("a `}` is missing")) };
                let text = self.rest()[..=end].to_owned();
                self.at += end + 1;
                Ok(Operand::Text(text))
            }
            _ => Err(self.fault("a value is expected")),
        }
    }

    fn number_of(&self, value: &Operand) -> Option<f64> {
        value.number().or(self.checks_only.then_some(1.0))
    }

    fn quoted(&mut self, quote: char) -> Result<String, ConditionFault> {
        let mut out = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            if letter == quote {
                self.at += at + 1;
                return Ok(out);
            }
            if letter == '\\' {
                out.extend(letters.next().map(|(_, letter)| letter));
            } else {
                out.push(letter);
            }
        }
        Err(self.fault("the text has no closing quote"))
    }

    fn number(&mut self) -> Result<Operand, ConditionFault> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let number = rest[..sign + digits].parse().map_err(|_| self.fault("a number is expected"))?;
        self.at += sign + digits;
        // What goes on in letters, such as an id without quotes, is a text.
        let tail: String = self.rest().chars().take_while(|letter| is_letter(*letter)).collect();
        if tail.is_empty() || tail == "L" {
            self.at += tail.len();
            return Ok(Operand::Number(number));
        }
        let whole = format!("{}{tail}", &self.text[self.at - sign - digits..self.at]);
        self.at += tail.len();
        Ok(Operand::Text(whole))
    }

    fn word(&mut self) -> Result<Operand, ConditionFault> {
        let word: String = self.rest().chars().take_while(|letter| is_letter(*letter)).collect();
        self.at += word.len();
        if word == "vars" && (self.take(".get(") || self.take("[")) {
            let name = self.or()?.to_string();
            if !self.take(")") && !self.take("]") {
                return Err(self.fault("a `)` is missing"));
            }
            return Ok((self.known)(&name).map_or(Operand::Null, Operand::Text));
        }
        Ok(match word.as_str() {
            "true" => Operand::Flag(true),
            "false" => Operand::Flag(false),
            "null" => Operand::Null,
            _ if self.rest().starts_with('(') => return Err(self.fault("functions cannot be called here")),
            _ => Operand::Text((self.known)(&word).unwrap_or(word)),
        })
    }

    fn method(&mut self, value: &Operand) -> Result<Operand, ConditionFault> {
        let name: String = self.rest().chars().take_while(|letter| is_letter(*letter)).collect();
        let begin = self.at;
        self.at += name.len();
        if !self.take("(") {
            return Err(self.fault("a `(` is expected"));
        }
        let argument = if self.take(")") {
            None
        } else {
            let argument = self.or()?;
            if !self.take(")") {
                return Err(self.fault("a `)` is missing"));
            }
            Some(argument.to_string())
        };
        let text = value.to_string();
        Ok(match (name.as_str(), argument) {
            ("equals", Some(other)) => Operand::Flag(text == other),
            ("equalsIgnoreCase", Some(other)) => Operand::Flag(text.to_lowercase() == other.to_lowercase()),
            ("contains", Some(other)) => Operand::Flag(text.contains(&other)),
            ("startsWith", Some(other)) => Operand::Flag(text.starts_with(&other)),
            ("endsWith", Some(other)) => Operand::Flag(text.ends_with(&other)),
            ("isEmpty", None) => Operand::Flag(text.is_empty()),
            ("length" | "size", None) => Operand::Number(text.chars().count() as f64),
            ("trim", None) => Operand::Text(text.trim().to_owned()),
            ("toString", None) => Operand::Text(text),
            ("toInteger" | "toLong" | "toDouble" | "intValue", None) => match self.number_of(value) {
                Some(number) => Operand::Number(number),
                None => return Err(self.fault("this is no number")),
            },
            _ => {
                self.at = begin;
                return Err(self.fault("this method is not known here"));
            }
        })
    }
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn is_equal(left: &Operand, right: &Operand) -> bool {
    match (left.number(), right.number()) {
        (Some(a), Some(b)) => a.total_cmp(&b).is_eq(),
        _ if *left == Operand::Null || *right == Operand::Null => left == right,
        _ => left.to_string() == right.to_string(),
    }
}

fn is_ordered(left: &Operand, sign: &str, right: &Operand) -> bool {
    let order = match (left.number(), right.number()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => left.to_string().cmp(&right.to_string()),
    };
    match sign {
        "<" => order.is_lt(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        _ => order.is_ge(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        let known = |name: &str| (name == "n").then(|| "5".to_owned());
        evaluate_with(text, &known, false).map_or_else(|fault| fault.to_string(), |value| value.to_string())
    }

    #[test]
    fn comparisons_are_evaluated() {
        for (text, expected) in [
            ("1 < 2", "true"),
            ("\"10\" == 10 && 'a' != 'b'", "true"),
            ("n >= 5 and not (n == 6)", "true"),
            ("vars.get(\"n\") == \"5\"", "true"),
            ("vars.get('missing') == null", "true"),
            ("!false || 1 gt 2", "true"),
            ("\"${unset}\" == \"x\"", "false"),
            ("\"abc\".contains(\"b\") && \"A\".equalsIgnoreCase('a')", "true"),
            ("vars.get(\"n\").toInteger() + 1 == 6", "true"),
            ("'abc' =~ '^a.c$'", "true"),
            ("'abc' =~ 'a|b|abc' && 'abc' !~ 'b'", "true"),
            ("0 == -0 && '-0' >= 0", "true"),
            ("OK == OK", "true"),
            ("12 - 2", "10"),
            ("3f9a == 3f9a", "true"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_comparison_says_where() {
        for (text, expected) in [
            ("1 <", "`1 <` is no plain comparison: a value is missing at character 4"),
            ("f(1)", "`f(1)` is no plain comparison: functions cannot be called here at character 2"),
            ("def x = 1", "`def x = 1` is no plain comparison: an operator is expected at character 5"),
            ("'a", "`'a` is no plain comparison: the text has no closing quote at character 1"),
            ("'a'.foo()", "`'a'.foo()` is no plain comparison: this method is not known here at character 5"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!(value(&"(".repeat(100)).contains("parentheses stand too deep"));
    }
}
