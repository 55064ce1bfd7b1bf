//! Assertions: whether a sample is what the plan expects, and what JMeter says where it is not.

use crate::json::{Path, plain_text_of};
use crate::patterns::{self, is_found, is_whole};
use crate::plan::{
    AssertionKind, JsonAssertion, JsonRule, PatternRule, ResponseAssertion, SizeComparison, Source,
};
use crate::run::context::Context;
use crate::run::decimal_format::formatted;
use crate::run::extract::text_of_source;
use crate::run::result::SampleResult;
use crate::run::xpath;
use serde_json::Value;

const RESPONSE_WAS_NULL: &str = "Response was null";
/// Letters of each part of two texts that are shown beside each other.
const SHOWN_MAX: usize = 100;

/// The failure's message; empty where the assertion holds. Scripts are judged where they run.
pub(crate) fn judge(kind: &AssertionKind, result: &mut SampleResult, context: &mut Context<'_>) -> String {
    match kind {
        AssertionKind::Response(assertion) => response(assertion, result, context),
        AssertionKind::XPath(assertion) => xpath::judge(assertion, result, context),
        AssertionKind::Json(assertion) => json(assertion, result, context),
        AssertionKind::Duration { most_ms } => {
            let (took, most) = (result.elapsed_ms(), most_ms.number(context).unwrap_or(0));
            if most > 0 && took > most.unsigned_abs() {
                return format!(
                    "The operation lasted too long: It took {} milliseconds, but should not have lasted longer than {} milliseconds.",
                    grouped(i64::try_from(took).unwrap_or(i64::MAX)),
                    grouped(most)
                );
            }
            String::new()
        }
        AssertionKind::Size { source, bytes, comparison } => {
            let expected = bytes.number(context).unwrap_or(0);
            match size_of(source, result, context) {
                Ok(size) => size_failure(size, expected, *comparison),
                Err(failure) => failure,
            }
        }
        AssertionKind::Script(_) => String::new(),
    }
}

// ---- text

fn response(assertion: &ResponseAssertion, result: &mut SampleResult, context: &mut Context<'_>) -> String {
    if assertion.ignores_status {
        result.is_success = true;
    }
    let custom = Some(assertion.message.value(context)).filter(|message| !message.is_empty());
    let patterns: Vec<String> = assertion.patterns.iter().map(|pattern| pattern.value(context)).collect();
    let text = text_of_source(&assertion.source, result, context.vars);
    if text.is_empty() {
        return if assertion.is_negated { String::new() } else { RESPONSE_WAS_NULL.to_owned() };
    }
    let mut failures = String::new();
    for pattern in &patterns {
        let is_met = match is_met(assertion.rule, pattern, &text) {
            Ok(is_met) => is_met != assertion.is_negated,
            Err(message) => return format!("Bad test configuration {message}"),
        };
        match (is_met, assertion.is_any) {
            (true, true) => return String::new(),
            (true, false) => {}
            (false, true) => {
                failures.push_str(&failure(assertion, pattern, &text));
                failures.push('\t');
            }
            (false, false) => return custom.unwrap_or_else(|| failure(assertion, pattern, &text)),
        }
    }
    if !assertion.is_any {
        return String::new();
    }
    // Where there is no pattern at all none has held.
    custom.unwrap_or(if failures.is_empty() { "\t".to_owned() } else { failures })
}

fn is_met(rule: PatternRule, pattern: &str, text: &str) -> Result<bool, String> {
    match rule {
        PatternRule::Equals => Ok(pattern == text),
        PatternRule::Substring => Ok(text.contains(pattern)),
        PatternRule::Contains => Ok(is_found(&patterns::compile(pattern)?, text)),
        PatternRule::Matches => is_whole(pattern, text),
    }
}

fn failure(assertion: &ResponseAssertion, pattern: &str, text: &str) -> String {
    let what = match &assertion.source {
        Source::Code => "code",
        Source::Message => "message",
        Source::Headers => "headers",
        Source::RequestHeaders => "request headers",
        Source::RequestData => "request data",
        Source::Url => "URL",
        Source::Variable(name) => return failure_of(assertion, &format!("variable({name})"), pattern, text),
        _ => "text",
    };
    failure_of(assertion, what, pattern, text)
}

fn failure_of(assertion: &ResponseAssertion, what: &str, pattern: &str, text: &str) -> String {
    let shown =
        if assertion.rule == PatternRule::Equals { comparison(text, pattern) } else { pattern.to_owned() };
    let verb = match (assertion.is_any, assertion.rule) {
        (true, _) => return format!("Test failed: {what} expected something using /{shown}/"),
        (false, PatternRule::Matches) => "match",
        (false, PatternRule::Contains | PatternRule::Substring) => "contain",
        (false, PatternRule::Equals) => "equal",
    };
    let not = if assertion.is_negated { "not " } else { "" };
    format!("Test failed: {what} expected {not}to {verb} /{shown}/")
}

/// Two texts with what differs between three brackets.
fn comparison(received: &str, expected: &str) -> String {
    let (a, b): (Vec<char>, Vec<char>) = (received.chars().collect(), expected.chars().collect());
    let begin = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - begin;
    let end = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(x, y)| x == y).count();
    let (mid_a, mid_b) = (begin_of(&a[begin..a.len() - end]), begin_of(&b[begin..b.len() - end]));
    let width = mid_a.chars().count().max(mid_b.chars().count());
    let (first, last) = (end_of(&a[..begin]), begin_of(&a[a.len() - end..]));
    let show = |middle: &str| format!("{first}[[[{middle:width$}]]]{last}");
    format!("\n\n****** received  : {}\n\n****** comparison: {}\n\n", show(&mid_a), show(&mid_b))
}

/// Of a longer text its beginning.
fn begin_of(letters: &[char]) -> String {
    let shown = letters.iter().take(SHOWN_MAX);
    let rest = if letters.len() > SHOWN_MAX { "..." } else { "" };
    shown.collect::<String>() + rest
}

/// Of a longer text its end.
fn end_of(letters: &[char]) -> String {
    match letters.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => letters.iter().collect(),
        Some(left) => format!("...{}", letters[left..].iter().collect::<String>()),
    }
}

// ---- JSON

fn json(assertion: &JsonAssertion, result: &SampleResult, context: &mut Context<'_>) -> String {
    let path = assertion.path.value(context);
    let expected = assertion.expected.value(context);
    if result.body.is_empty() {
        return RESPONSE_WAS_NULL.to_owned();
    }
    let failure = json_failure(assertion, &path, &expected, &result.body_text());
    match (assertion.is_inverted, failure) {
        (false, failure) => failure.unwrap_or_default(),
        (true, Some(_)) => String::new(),
        (true, None) if assertion.rule == JsonRule::Exists => {
            format!("Failed that JSONPath not exists: {path}")
        }
        (true, None) if assertion.expects_null => format!("Failed that JSONPath {path} matches null"),
        (true, None) => format!("Failed that JSONPath {path} not matches {expected}"),
    }
}

fn json_failure(assertion: &JsonAssertion, path: &str, expected: &str, body: &str) -> Option<String> {
    let value: Value = match serde_json::from_str(body) {
        Ok(value) => value,
        Err(error) => return Some(format!("the response is no JSON: {error}")),
    };
    let read = match Path::read(path) {
        Ok(read) => read,
        Err(message) => return Some(message),
    };
    let found = read.find(&value);
    if found.is_empty() && read.is_definite {
        return Some(format!("No results for path: {}", read.normalized()));
    }
    if read.is_begin_missing(&value) {
        return Some(format!("Missing property in path {}", read.normalized()));
    }
    if assertion.rule == JsonRule::Exists {
        // Of many places none is there.
        return found.is_empty().then(|| {
            format!(
                "JSONPath '{path}' is indefinite and the extracted Value is an empty Array. Please use an assertion value, to be sure to \
                 get a correct result. Expected value was '{expected}'"
            )
        });
    }
    let found = if read.is_definite { found.into_iter().next()? } else { Value::Array(found) };
    let is_equal = |value: &Value| {
        assertion.expects_null && value.is_null()
            || if assertion.rule == JsonRule::Matches {
                is_whole(expected, &plain_text_of(value)).unwrap_or(false)
            } else {
                json_value(expected) == *value
            }
    };
    let is_met = match &found {
        Value::Array(list) => {
            list.is_empty() && expected == "[]" || list.iter().any(is_equal) || is_equal(&found)
        }
        other => is_equal(other),
    };
    if is_met {
        return None;
    }
    let shown = plain_text_of(&found);
    Some(if assertion.expects_null {
        format!("Value in json path '{path}' expected to be null, but found '{shown}'")
    } else if assertion.rule == JsonRule::Matches {
        format!(
            "Value in json path '{path}' expected to match regexp '{expected}', but it did not match: '{shown}'"
        )
    } else {
        format!("Value in json path '{path}' expected to be '{expected}', but found '{shown}'")
    })
}

/// What a plan expects, read as JSON; a text needs no quotes.
fn json_value(expected: &str) -> Value {
    serde_json::from_str(expected).unwrap_or_else(|_| Value::String(expected.to_owned()))
}

// ---- size

/// Of a variable it is the number that it holds.
fn size_of(source: &Source, result: &SampleResult, context: &Context<'_>) -> Result<i64, String> {
    let bytes = match source {
        Source::Variable(name) => {
            let value = context.vars.get(name).unwrap_or("null");
            let wrong = |_| format!("Error parsing variable name: {name} value: {value}");
            return value.parse().map_err(wrong);
        }
        Source::Headers => result.head_bytes,
        Source::Code => result.code.len() as u64,
        Source::Message => result.message.len() as u64,
        // As it came, with its codings.
        Source::Body if result.sent.is_some() => result.bytes.saturating_sub(result.head_bytes),
        Source::Body => result.body.len() as u64,
        _ => result.bytes,
    };
    Ok(bytes.cast_signed())
}

fn size_failure(size: i64, expected: i64, comparison: SizeComparison) -> String {
    let (is_met, words) = match comparison {
        SizeComparison::Equal => (size == expected, "been equal to"),
        SizeComparison::NotEqual => (size != expected, "not been equal to"),
        SizeComparison::Greater => (size > expected, "been greater than"),
        SizeComparison::Less => (size < expected, "been less than"),
        SizeComparison::GreaterOrEqual => (size >= expected, "been greater or equal to"),
        SizeComparison::LessOrEqual => (size <= expected, "been less than or equal to"),
    };
    if is_met {
        return String::new();
    }
    let (size, expected) = (grouped(size), grouped(expected));
    format!("The result was the wrong size: It was {size} bytes, but should have {words} {expected} bytes.")
}

/// As Java's messages have numbers: in groups of three digits.
fn grouped(number: i64) -> String {
    formatted("#,##0", number)
}
