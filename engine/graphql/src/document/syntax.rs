//! What apollo-parser 0.8 reads otherwise than the specification has it: it stops at commas behind `...` and before `:`, and at
//! descriptions of operations, fragments and variables; it lets names of arguments without values pass, which are then not
//! there, and strings that begin with the end of a line.

use std::{borrow::Cow, iter, ops::Range};

use crate::{
    document::{position::LineIndex, scan},
    error::{ErrorCode, GraphqlError, abridged},
};

/// The text as the parser is to read it: blanks stand for what it would stumble over, and all else stays in its place.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    let mut unread = Vec::new();
    let (mut level, mut parentheses) = (0_usize, 0_usize);
    let (mut earlier, mut last) = (Range::<usize>::default(), Range::<usize>::default());
    for token in Tokens::of(text) {
        let (this, before) = (&text[token.clone()], &text[last.clone()]);
        let between = last.end..token.start;
        if (this == ":" || before == "...") && text[between.clone()].contains(',') {
            unread.push(between);
        }
        let may_be_described = match this {
            "query" | "mutation" | "subscription" | "fragment" => level == 0 && parentheses == 0,
            // Behind `=` it is the default of the variable before.
            "$" => level == 0 && parentheses == 1 && &text[earlier.clone()] != "=",
            _ => false,
        };
        if may_be_described && before.starts_with('"') {
            unread.push(last.clone());
        }
        match this {
            "{" | "[" => level += 1,
            "}" | "]" => level = level.saturating_sub(1),
            "(" => parentheses += 1,
            ")" => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        earlier = std::mem::replace(&mut last, token);
    }
    if unread.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(blanked(text, &unread)) }
}

/// As many bytes and lines as before.
fn blanked(text: &str, parts: &[Range<usize>]) -> String {
    let mut blanked = String::with_capacity(text.len());
    let mut done = 0;
    for part in parts {
        blanked.push_str(&text[done..part.start]);
        for character in text[part.clone()].chars() {
            match character {
                '\n' | '\r' => blanked.push(character),
                _ => blanked.extend(iter::repeat_n(' ', character.len_utf8())),
            }
        }
        done = part.end;
    }
    blanked.push_str(&text[done..]);
    blanked
}

/// What the parser lets pass, in a text that it has taken.
pub(crate) fn check(text: &str, lines: &LineIndex) -> Result<(), Vec<GraphqlError>> {
    let fault = |message: String, offset: usize| {
        Err(vec![GraphqlError::new(ErrorCode::ParseFailed, message).at(lines.at(offset))])
    };
    // Of each parenthesis, list and object that is open: whether what begins with a name in it is that name and its value.
    let mut are_keys = Vec::new();
    let mut before = "";
    let mut tokens = Tokens::of(text).peekable();
    while let Some(token) = tokens.next() {
        let this = &text[token.clone()];
        let behind = tokens.peek().cloned().unwrap_or(text.len()..text.len());
        let next = &text[behind.clone()];
        match this {
            "\"" => return fault("syntax error: unterminated string value".into(), token.start),
            "(" => are_keys.push(next != "$"),
            // Others are selection sets.
            "{" if !are_keys.is_empty() => are_keys.push(true),
            "[" => are_keys.push(false),
            ")" | "]" | "}" => {
                are_keys.pop();
            }
            _ if are_keys.last() == Some(&true)
                && is_name(this)
                && !matches!(before, ":" | "$")
                && next != ":" =>
            {
                let message = format!("syntax error: expected : behind {}", abridged(this));
                return fault(message, behind.start);
            }
            _ => {}
        }
        before = this;
    }
    Ok(())
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// The places of a text's tokens. Numbers may be several; what is no token of the grammar is one by itself.
struct Tokens<'t> {
    text: &'t str,
    index: usize,
}

impl<'t> Tokens<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, index: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.index;
            let rest = &self.text[start..];
            let bytes = rest.as_bytes();
            let first = rest.chars().next()?;
            let is_ignored = matches!(first, ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}' | '#');
            self.index += match first {
                '#' => scan::run(bytes, |byte| byte != b'\n' && byte != b'\r'),
                '"' => scan::string(bytes),
                '.' => scan::run(bytes, |byte| byte == b'.').min(3),
                '_' | '0'..='9' | 'a'..='z' | 'A'..='Z' => {
                    scan::run(bytes, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
                }
                _ => first.len_utf8(),
            };
            if !is_ignored {
                return Some(start..self.index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_descriptions_are_blank_to_the_parser() {
        for (text, expected) in [
            ("{ a, b }", "{ a, b }"),
            ("{...,on A{b},..., ,F}", "{... on A{b},...   F}"),
            ("{a, # ,\n :b(c,:1)}", "{a     \n :b(c :1)}"),
            ("\"ü\" query A(\"\"\"\na\"\"\" $a: I) {b}", "     query A(   \n     $a: I) {b}"),
            ("{a} \"x\" fragment F on A {b}", "{a}     fragment F on A {b}"),
            // Values of the variable or the list before.
            ("query($a: S = \"x\" $b: S) {c}", "query($a: S = \"x\" $b: S) {c}"),
            ("{a(b: [\"x\" $c])}", "{a(b: [\"x\" $c])}"),
            (
                "query @a(b: [\"x\" $c]) {d(e: {f: \"x\" query: 1})}",
                "query @a(b: [\"x\" $c]) {d(e: {f: \"x\" query: 1})}",
            ),
            ("{a(b: \"..., :\")}", "{a(b: \"..., :\")}"),
            ("\"x\" {a}", "\"x\" {a}"),
            ("\u{feff}..., ü,:\"", "\u{feff}...  ü :\""),
        ] {
            assert_eq!(readable(text), expected, "{text}");
            assert_eq!(readable(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn arguments_have_values_and_strings_one_line() {
        let fault = |text: &str| {
            check(text, &LineIndex::new(text)).err().map(|errors| {
                let place = errors[0].positions[0];
                format!("{}:{} {}", place.line, place.column, errors[0].message)
            })
        };
        for text in [
            "{a(b: C, d: [E F], g: {h: $i j: {}, k: -1.5e+3}) @l(m: true)}",
            "query A($b: [C!]! = D @e(f: G), $h: I) @j(k: L) {m}",
            "{a(b: \"\", c: \"\"\"\n\"\"\", d: \"\\\"e\")} # \"",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
        for (text, expected) in [
            ("{a(b)}", "1:5 syntax error: expected : behind b"),
            ("{a(b b: 1)}", "1:6 syntax error: expected : behind b"),
            ("{a(b: C d)}", "1:10 syntax error: expected : behind d"),
            ("{a(b: {c d: 1})}", "1:10 syntax error: expected : behind c"),
            ("query($a: I @b(c)) {d}", "1:17 syntax error: expected : behind c"),
            ("{a(b: \"\nc\")}", "1:7 syntax error: unterminated string value"),
        ] {
            assert_eq!(fault(text).as_deref(), Some(expected), "{text}");
        }
    }
}
