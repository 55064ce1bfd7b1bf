//! The text of paths, cut into steps.

use super::modifier;
use super::query::{ArrayQuery, pattern_matches, quoted};
use std::borrow::Cow;

/// What follows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next<'p> {
    End,
    /// Goes on within what was selected.
    Path(&'p str),
    /// Goes on with the result as a whole.
    Pipe(&'p str),
}

/// A step into an object.
#[derive(Debug)]
pub(super) struct ObjectStep<'p> {
    part: Cow<'p, str>,
    is_pattern: bool,
    pub(super) next: Next<'p>,
}

/// A step into an array.
#[derive(Debug)]
pub(super) enum ArrayStep<'p> {
    Index {
        index: Option<usize>,
        next: Next<'p>,
    },
    Count {
        next: Next<'p>,
    },
    /// `#.path`.
    Each {
        path: &'p str,
    },
    ArrayQuery {
        query: ArrayQuery<'p>,
        next: Next<'p>,
    },
}

impl<'p> ObjectStep<'p> {
    pub(super) fn read(path: &'p str) -> Self {
        let bytes = path.as_bytes();
        let (mut at, mut is_pattern, mut has_escapes) = (0, false, false);
        while at < bytes.len() && !matches!(bytes[at], b'.' | b'|') {
            match bytes[at] {
                b'*' | b'?' => is_pattern = true,
                b'\\' => {
                    has_escapes = true;
                    at += 1;
                }
                _ => {}
            }
            at += 1;
        }
        let at = at.min(bytes.len());
        let part = &path[..at];
        let part = if has_escapes { Cow::Owned(unescaped(part)) } else { Cow::Borrowed(part) };
        Self { part, is_pattern, next: next_at(path, at, true) }
    }

    pub(super) fn matches(&self, key: &str) -> bool {
        if self.is_pattern { pattern_matches(&self.part, key) } else { *self.part == *key }
    }
}

fn unescaped(part: &str) -> String {
    let mut letters = part.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            text.extend(letters.next());
        } else {
            text.push(letter);
        }
    }
    text
}

impl<'p> ArrayStep<'p> {
    pub(super) fn read(path: &'p str) -> Self {
        if let Some(path) = path.strip_prefix("#.") {
            return Self::Each { path };
        }
        if let Some((query, length)) = ArrayQuery::read(path) {
            let rest = &path[length..];
            let end = length + rest.find(['.', '|']).unwrap_or(rest.len());
            return Self::ArrayQuery { query, next: next_at(path, end, false) };
        }
        let end = path.find(['.', '|']).unwrap_or(path.len());
        let part = &path[..end];
        let next = next_at(path, end, !part.contains('#'));
        if part == "#" {
            return Self::Count { next };
        }
        let is_index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        Self::Index { index: is_index.then(|| part.parse().ok()).flatten(), next }
    }
}

/// What follows the separator at `at`. Before a modifier or a multipath a dot is a pipe.
fn next_at(path: &str, at: usize, dot_may_pipe: bool) -> Next<'_> {
    if at >= path.len() {
        return Next::End;
    }
    let rest = &path[at + 1..];
    let is_pipe = path.as_bytes()[at] == b'|'
        || dot_may_pipe && (rest.starts_with(['[', '{']) || modifier::is_one(modifier_name(rest)));
    if is_pipe { Next::Pipe(rest) } else { Next::Path(rest) }
}

fn modifier_name(path: &str) -> &str {
    let name = path.strip_prefix('@').unwrap_or_default();
    &name[..name.find(['.', '|', ':']).unwrap_or(name.len())]
}

/// Name, argument, and what follows, of `@name:argument.rest`.
pub(super) fn modifier(path: &str) -> (&str, &str, &str) {
    let name = modifier_name(path);
    let rest = &path[1 + name.len()..];
    let Some(rest) = rest.strip_prefix(':') else { return (name, "", rest) };
    let end = if rest.starts_with(['{', '[', '"']) {
        balanced(rest)
    } else {
        let mut at = 0;
        while at < rest.len() && rest.as_bytes()[at] != b'|' {
            at += if rest[at..].starts_with(['{', '[', '"', '(']) {
                balanced(&rest[at..])
            } else {
                letter(&rest[at..])
            };
        }
        at
    };
    (name, &rest[..end], &rest[end..])
}

fn letter(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// The JSON text behind `!`, and what follows.
pub(super) fn literal(path: &str) -> Option<(&str, &str)> {
    let text = &path[1..];
    let is_value = text.starts_with(|first: char| "{[\"+-0123456789".contains(first));
    let end = match text.chars().next()? {
        '{' | '[' | '"' => balanced(text),
        _ if is_value => text.find([',', '|', ' ', ']', '}']).unwrap_or(text.len()),
        _ => text.find(['.', '|']).unwrap_or(text.len()),
    };
    let literal = &text[..end];
    (is_value || matches!(literal, "true" | "false" | "null")).then(|| (literal, &text[end..]))
}

/// A part of a multipath: its name, where it has one, and its path.
pub(super) type Part<'p> = (Option<&'p str>, &'p str);

/// The parts of `[path,…]` or `{"name":path,…}`, and what follows where that can follow.
pub(super) fn multipath(path: &str) -> Option<(Vec<Part<'_>>, &str)> {
    let bytes = path.as_bytes();
    let mut parts = Vec::new();
    let (mut depth, mut start, mut colon, mut is_in_modifier) = (1, 1, None, false);
    let mut at = 1;
    while at < bytes.len() {
        let closes = matches!(bytes[at], b']' | b')' | b'}');
        if closes {
            depth -= 1;
        }
        if closes && depth == 0 || bytes[at] == b',' && depth == 1 {
            let part = match colon.take() {
                Some(colon) => (Some(&path[start..colon]), &path[colon + 1..at]),
                None => (None, &path[start..at]),
            };
            parts.push(part);
            (start, is_in_modifier) = (at + 1, false);
        }
        if depth == 0 {
            let rest = &path[at + 1..];
            return (rest.is_empty() || rest.starts_with(['.', '|'])).then_some((parts, rest));
        }
        match bytes[at] {
            b'\\' => at += 1,
            b'@' => is_in_modifier |= matches!(bytes[at - 1], b'.' | b'|'),
            b':' if !is_in_modifier && colon.is_none() && depth == 1 => colon = Some(at),
            b'"' => at += quoted(&path[at..]) - 1,
            b'[' | b'(' | b'{' => depth += 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The key that a multipath's part gets by itself.
pub(super) fn name_of(path: &str) -> String {
    let bytes = path.as_bytes();
    let is_cut = |&at: &usize| matches!(bytes[at], b'|' | b'.') && (at == 0 || bytes[at - 1] != b'\\');
    let last = (0..bytes.len()).rev().find(is_cut).map_or(path, |at| &path[at + 1..]);
    let is_simple = !last.chars().any(|letter| letter < ' ' || "[]{}()#|!".contains(letter));
    if is_simple { last.to_owned() } else { "_".to_owned() }
}

/// The key that was written, with its quotes.
pub(super) fn name_from(name: &str) -> String {
    serde_json::from_str(name).unwrap_or_else(|_| name.to_owned())
}

/// Cuts a path at its first pipe that is in no query.
pub(super) fn split_pipe(path: &str) -> (&str, Option<&str>) {
    if !path.contains('|') {
        return (path, None);
    }
    if path.starts_with('{') {
        let end = balanced(path);
        return match path[end..].strip_prefix('|') {
            Some(rest) => (&path[..end], Some(rest)),
            None => (path, None),
        };
    }
    let mut at = 0;
    while at < path.len() {
        match path.as_bytes()[at] {
            b'\\' => at += 1,
            b'|' => return (&path[..at], Some(&path[at + 1..])),
            b'.' if path[at + 1..].starts_with("#(") || path[at + 1..].starts_with("#[") => {
                at += 1 + balanced(&path[at + 2..]);
            }
            _ => {}
        }
        at += 1;
    }
    (path, None)
}

/// The length of the bracketed or quoted text at the start.
pub(super) fn balanced(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => at += quoted(&text[at..]) - 1,
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    floor(text, at)
}

/// The end, or a boundary of letters before it.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
