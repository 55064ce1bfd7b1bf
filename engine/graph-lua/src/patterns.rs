//! Lua's patterns (Lua 5.1 reference manual, section 5.4.1, with `LuaJIT`'s `%g` and `%f`), matched in steps that are counted: Lua's own
//! functions look at no clock, and a pattern such as `.-.-.-.-x` takes them hours. What they find is what is found here.

use crate::limits::Stop;

/// As in Lua.
const CAPTURES_MAX: usize = 32;
/// Of matches within matches, one for each part of a pattern: `LJ_MAX_XLEVEL` of `LuaJIT`.
const DEPTH_MAX: usize = 200;
/// Between two looks at the limits: a fraction of a millisecond.
const STEPS_BETWEEN: usize = 1 << 14;

/// What a pattern has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) from: usize,
    /// Behind the last byte.
    pub(crate) to: usize,
    pub(crate) captures: Vec<Captured>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captured {
    /// From and behind.
    Text(usize, usize),
    /// Of `()`: bytes before it.
    Position(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternFault {
    #[error("{0}")]
    Malformed(&'static str),
    #[error(transparent)]
    Stopped(#[from] Stop),
}

/// Looks whether the script may go on.
pub(crate) type Check<'a> = &'a dyn Fn() -> Result<(), Stop>;

/// The first place from `from` on where the pattern matches; only there where it `is_anchored`.
pub(crate) fn find(
    text: &[u8],
    pattern: &[u8],
    from: usize,
    is_anchored: bool,
    check: Check<'_>,
) -> Result<Option<Found>, PatternFault> {
    let mut matcher = Matcher { text, pattern, captures: Vec::new(), depth: 0, steps: 0, check };
    for from in from..=text.len() {
        matcher.captures.clear();
        if let Some(to) = matcher.matched(from, 0)? {
            return Ok(Some(Found { from, to, captures: matcher.captured()? }));
        }
        if is_anchored {
            break;
        }
    }
    Ok(None)
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Capture>,
    depth: usize,
    /// Since the limits were looked at.
    steps: usize,
    check: Check<'a>,
}

#[derive(Debug, Clone, Copy)]
struct Capture {
    from: usize,
    end: CaptureEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaptureEnd {
    Open,
    At(usize),
    IsPosition,
}

/// Behind the match, where there is one.
type Matched = Result<Option<usize>, PatternFault>;

fn malformed<T>(what: &'static str) -> Result<T, PatternFault> {
    Err(PatternFault::Malformed(what))
}

impl Matcher<'_> {
    fn step(&mut self, count: usize) -> Result<(), PatternFault> {
        self.steps += count;
        if self.steps >= STEPS_BETWEEN {
            self.steps = 0;
            (self.check)()?;
        }
        Ok(())
    }

    fn captured(&self) -> Result<Vec<Captured>, PatternFault> {
        let captured = self.captures.iter().map(|capture| match capture.end {
            CaptureEnd::Open => malformed("unfinished capture"),
            CaptureEnd::At(end) => Ok(Captured::Text(capture.from, end)),
            CaptureEnd::IsPosition => Ok(Captured::Position(capture.from)),
        });
        captured.collect()
    }

    /// Matches the rest of the pattern from `at` on with the text from `s` on.
    fn matched(&mut self, s: usize, at: usize) -> Matched {
        if self.depth >= DEPTH_MAX {
            return malformed("pattern too complex");
        }
        self.depth += 1;
        let matched = self.matched_from(s, at);
        self.depth -= 1;
        matched
    }

    fn matched_from(&mut self, mut s: usize, mut at: usize) -> Matched {
        loop {
            self.step(1)?;
            let Some(&first) = self.pattern.get(at) else { return Ok(Some(s)) };
            match (first, self.pattern.get(at + 1)) {
                (b'(', Some(b')')) => return self.begin_capture(s, at + 2, CaptureEnd::IsPosition),
                (b'(', _) => return self.begin_capture(s, at + 1, CaptureEnd::Open),
                (b')', _) => return self.end_capture(s, at + 1),
                (b'$', None) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.balanced(s, at + 2)? {
                    Some(end) => (s, at) = (end, at + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => match self.frontier(s, at + 2)? {
                    Some(behind) => at = behind,
                    None => return Ok(None),
                },
                (b'%', Some(digit)) if digit.is_ascii_digit() => match self.same_again(s, *digit)? {
                    Some(end) => (s, at) = (end, at + 2),
                    None => return Ok(None),
                },
                _ => {
                    let behind = self.class_end(at)?;
                    match self.repeated(s, at, behind)? {
                        Next::Over(matched) => return Ok(matched),
                        Next::GoOn { s: next, at: rest } => (s, at) = (next, rest),
                    }
                }
            }
        }
    }

    /// Matches one class with what says how often.
    fn repeated(&mut self, s: usize, at: usize, behind: usize) -> Result<Next, PatternFault> {
        let is_match = self.fits(s, at, behind)?;
        Ok(match self.pattern.get(behind) {
            Some(b'?') => {
                if is_match && let Some(end) = self.matched(s + 1, behind + 1)? {
                    return Ok(Next::Over(Some(end)));
                }
                Next::GoOn { s, at: behind + 1 }
            }
            Some(b'*') => Next::Over(self.as_many_as_can_be(s, at, behind)?),
            Some(b'+') if is_match => Next::Over(self.as_many_as_can_be(s + 1, at, behind)?),
            Some(b'-') => Next::Over(self.as_few_as_can_be(s, at, behind)?),
            Some(b'+') => Next::Over(None),
            _ if is_match => Next::GoOn { s: s + 1, at: behind },
            _ => Next::Over(None),
        })
    }

    fn as_many_as_can_be(&mut self, s: usize, at: usize, behind: usize) -> Matched {
        let mut count = 0;
        while self.fits(s + count, at, behind)? {
            count += 1;
        }
        for taken in (0..=count).rev() {
            if let Some(end) = self.matched(s + taken, behind + 1)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn as_few_as_can_be(&mut self, mut s: usize, at: usize, behind: usize) -> Matched {
        loop {
            if let Some(end) = self.matched(s, behind + 1)? {
                return Ok(Some(end));
            }
            if !self.fits(s, at, behind)? {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn begin_capture(&mut self, s: usize, at: usize, end: CaptureEnd) -> Matched {
        if self.captures.len() >= CAPTURES_MAX {
            return malformed("too many captures");
        }
        let level = self.captures.len();
        self.captures.push(Capture { from: s, end });
        let matched = self.matched(s, at)?;
        if matched.is_none() {
            self.captures.truncate(level);
        }
        Ok(matched)
    }

    fn end_capture(&mut self, s: usize, at: usize) -> Matched {
        let open = self.captures.iter().rposition(|capture| capture.end == CaptureEnd::Open);
        let Some(open) = open else { return malformed("invalid pattern capture") };
        self.captures[open].end = CaptureEnd::At(s);
        let matched = self.matched(s, at)?;
        if matched.is_none() {
            self.captures[open].end = CaptureEnd::Open;
        }
        Ok(matched)
    }

    /// `%1`: what a capture has, again.
    fn same_again(&mut self, s: usize, digit: u8) -> Matched {
        let index = usize::from(digit).checked_sub(usize::from(b'1'));
        let capture = index.and_then(|index| self.captures.get(index));
        match capture.map(|capture| (capture.from, capture.end)) {
            None | Some((_, CaptureEnd::Open)) => malformed("invalid capture index"),
            Some((_, CaptureEnd::IsPosition)) => Ok(None),
            Some((from, CaptureEnd::At(end))) => {
                self.step(end - from)?;
                let again = self.text[s..].starts_with(&self.text[from..end]);
                Ok(again.then_some(s + (end - from)))
            }
        }
    }

    /// `%bxy`
    fn balanced(&mut self, s: usize, at: usize) -> Matched {
        let (Some(&open), Some(&close)) = (self.pattern.get(at), self.pattern.get(at + 1)) else {
            return malformed("unbalanced pattern");
        };
        if self.text.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1_usize;
        for place in s + 1..self.text.len() {
            self.step(1)?;
            let byte = self.text[place];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(place + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: where the set begins; behind the set.
    fn frontier(&mut self, s: usize, at: usize) -> Matched {
        if self.pattern.get(at) != Some(&b'[') {
            return malformed("missing '[' after '%f' in pattern");
        }
        let behind = self.class_end(at)?;
        self.step(behind - at)?;
        let before = s.checked_sub(1).map_or(0, |before| self.text[before]);
        let here = self.text.get(s).copied().unwrap_or(0);
        let set = &self.pattern[at..behind];
        Ok((!in_set(before, set) && in_set(here, set)).then_some(behind))
    }

    /// Behind the class that begins at a place.
    fn class_end(&self, at: usize) -> Result<usize, PatternFault> {
        match self.pattern[at] {
            b'%' if at + 1 >= self.pattern.len() => malformed("malformed pattern (ends with '%')"),
            b'%' => Ok(at + 2),
            b'[' => {
                let mut place = at + 1 + usize::from(self.pattern.get(at + 1) == Some(&b'^'));
                while let Some(&byte) = self.pattern.get(place) {
                    place += 1;
                    if byte == b'%' && place < self.pattern.len() {
                        place += 1;
                    }
                    if self.pattern.get(place) == Some(&b']') {
                        return Ok(place + 1);
                    }
                }
                malformed("malformed pattern (missing ']')")
            }
            _ => Ok(at + 1),
        }
    }

    /// Whether the byte at `s` is of the class from `at` to `behind`.
    fn fits(&mut self, s: usize, at: usize, behind: usize) -> Result<bool, PatternFault> {
        self.step(behind - at)?;
        let Some(&byte) = self.text.get(s) else { return Ok(false) };
        Ok(match self.pattern[at] {
            b'.' => true,
            b'%' => in_class(byte, self.pattern[at + 1]),
            b'[' => in_set(byte, &self.pattern[at..behind]),
            only => only == byte,
        })
    }
}

/// What follows a class.
enum Next {
    Over(Option<usize>),
    GoOn { s: usize, at: usize },
}

/// `set` has its brackets.
fn in_set(byte: u8, set: &[u8]) -> bool {
    let inner = &set[1..set.len() - 1];
    let (inner, is_in) = match inner.split_first() {
        Some((b'^', rest)) => (rest, false),
        _ => (inner, true),
    };
    let mut at = 0;
    while at < inner.len() {
        let found = match (inner[at], inner.get(at + 1), inner.get(at + 2)) {
            (b'%', Some(&class), _) => {
                at += 1;
                in_class(byte, class)
            }
            (first, Some(b'-'), Some(&last)) => {
                at += 2;
                (first..=last).contains(&byte)
            }
            (only, ..) => only == byte,
        };
        if found {
            return is_in;
        }
        at += 1;
    }
    !is_in
}

fn in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        // Rust's has no vertical tabulator.
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return byte == class,
    };
    is_in != class.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use mlua::{Lua, MultiValue, Value};
    use proptest::prelude::*;

    use super::*;
    use crate::strings::has_specials;

    fn found(text: &[u8], pattern: &[u8]) -> Result<Option<Vec<String>>, PatternFault> {
        let (is_anchored, rest) = match pattern.split_first() {
            Some((b'^', rest)) => (true, rest),
            _ => (false, pattern),
        };
        let found = find(text, rest, 0, is_anchored, &|| Ok(()))?;
        Ok(found.map(|found| {
            let captures = found.captures.iter().map(|captured| match *captured {
                Captured::Text(from, to) => format!("{:?}", &text[from..to]),
                Captured::Position(at) => (at + 1).to_string(),
            });
            [(found.from + 1).to_string(), found.to.to_string()].into_iter().chain(captures).collect()
        }))
    }

    /// What `LuaJIT`'s own function finds.
    fn oracle(lua: &Lua, text: &[u8], pattern: &[u8]) -> Result<Option<Vec<String>>, String> {
        let find: mlua::Function = lua.load("return string.find").eval().expect("it is there");
        let call = (lua.create_string(text).expect("it fits"), lua.create_string(pattern).expect("it fits"));
        let values = find.call::<MultiValue>(call).map_err(|error| error.to_string())?;
        if matches!(values.front(), Some(Value::Nil)) {
            return Ok(None);
        }
        let shown = values.iter().map(|value| match value {
            Value::String(text) => format!("{:?}", &*text.as_bytes()),
            Value::Integer(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            other => other.type_name().to_owned(),
        });
        Ok(Some(shown.collect()))
    }

    fn compare(lua: &Lua, text: &[u8], pattern: &[u8]) {
        // Such a one is looked for as it stands.
        if !has_specials(pattern) {
            return;
        }
        let shown =
            (String::from_utf8_lossy(text).into_owned(), String::from_utf8_lossy(pattern).into_owned());
        match (found(text, pattern), oracle(lua, text, pattern)) {
            (Ok(own), Ok(other)) => assert_eq!(own, other, "{shown:?}"),
            (Err(own), Err(other)) => assert!(other.contains(&own.to_string()), "{shown:?}: {own}, {other}"),
            (own, other) => panic!("{shown:?}: {own:?}, {other:?}"),
        }
    }

    #[test]
    fn what_is_found_is_what_luajit_finds() {
        let lua = Lua::new();
        for (text, pattern) in [
            ("key = value", "^(%w+)%s*=%s*(%w+)$"),
            ("f(a(b)c)d", "%b()"),
            ("THE (quick) fox", "%f[%a]%a+%f[%A]"),
            ("hello hello", "(h)(.-)%1"),
            ("abc", "()b()"),
            ("x]y", "[]]"),
            ("x^y-z", "[%^%-]+"),
            ("a-b", "[a%-]"),
            ("", ""),
            ("aaa", "a-"),
            ("aaab", "a-b"),
            ("a.b", "a%.b"),
            ("tab\tand\x0bmore", "%s[^%s]+%s"),
            ("caf\u{e9}", "%W+"),
            ("abc", "[a-]"),
            ("abc", "[%a-c]+"),
            ("a$", "a$"),
            ("a$b", "a$b"),
            ("abc", "%"),
            ("abc", "[a"),
            ("abc", "[%"),
            ("abc", "(a"),
            ("abc", "a.)"),
            ("abc", "%1"),
            ("abc", "%b"),
            ("abc", "%fa"),
            ("aXb", "%u"),
            ("deadBEEF!", "^%x+"),
            ("a?b", "a??b"),
            ("aaaa", "(a*(.)%2)"),
        ] {
            compare(&lua, text.as_bytes(), pattern.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn whatever_the_pattern(text in "[ab(c)\\]\\-]{0,12}", pattern in "[ab()\\[\\]%^$.*+?\\-1fdw]{0,10}") {
            compare(&Lua::new(), text.as_bytes(), pattern.as_bytes());
        }
    }

    #[test]
    fn a_search_is_ended_by_the_limits() {
        let text = "a".repeat(200);
        let pattern = ".-".repeat(20) + "b";
        let looks = std::cell::Cell::new(0);
        let check = || {
            looks.set(looks.get() + 1);
            if looks.get() > 5 { Err(Stop::Cancelled) } else { Ok(()) }
        };
        let ended = find(text.as_bytes(), pattern.as_bytes(), 0, false, &check);
        assert_eq!(ended, Err(PatternFault::Stopped(Stop::Cancelled)));
    }
}
