//! Which calls of the HTTP APIs of sources a rule is for: a method and a pattern of paths, such as `POST /db/{graph}/node/{type}/{key}`.

use std::{borrow::Cow, fmt, str::FromStr};

use prony_source::http_api::percent;

/// A method and a pattern of paths. In their order the most exact comes first: from the left, a word before a name in braces,
/// and that before `*`; of the same path, one method before all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPattern {
    segments: Vec<Segment>,
    method: MethodPattern,
    /// As it was written.
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Segment {
    /// Without percent-encoding.
    Word(String),
    /// `{name}`: one segment, whatever it is.
    One,
    /// `*` at the end: one segment or more.
    Rest,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum MethodPattern {
    Only(String),
    All,
}

/// Why a text is no pattern of calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCallPattern {
    #[error(
        "a call is a method or `*`, a space and a path, such as \"POST /db/{{graph}}/node/{{type}}/{{key}}\""
    )]
    NoCall,
    #[error("`{0}` is no method; methods are in capitals, and `GET` is for HEAD, too")]
    NoMethod(String),
    #[error("`{0}` is no segment of a path: it is a word, a name in braces, or, as the last one, `*`")]
    NoSegment(String),
}

impl FromStr for CallPattern {
    type Err = BadCallPattern;

    fn from_str(text: &str) -> Result<Self, BadCallPattern> {
        let (method, path) = text.split_once(' ').ok_or(BadCallPattern::NoCall)?;
        let path = path.strip_prefix('/').ok_or(BadCallPattern::NoCall)?;
        let method = match method {
            "*" => MethodPattern::All,
            // There is no call of it alone.
            "HEAD" => return Err(BadCallPattern::NoMethod(method.to_owned())),
            _ if !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                MethodPattern::Only(method.to_owned())
            }
            _ => return Err(BadCallPattern::NoMethod(method.to_owned())),
        };
        let parts: Vec<&str> = path.split('/').collect();
        let segment = |(index, part): (usize, &&str)| segment(part, index + 1 == parts.len());
        let segments = parts.iter().enumerate().map(segment).collect::<Result<_, _>>()?;
        Ok(Self { segments, method, text: text.to_owned() })
    }
}

fn segment(part: &str, is_last: bool) -> Result<Segment, BadCallPattern> {
    let bad = || BadCallPattern::NoSegment(part.to_owned());
    if part == "*" && is_last {
        return Ok(Segment::Rest);
    }
    if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let is_name = !name.is_empty() && !name.contains(['{', '}']);
        return is_name.then_some(Segment::One).ok_or_else(bad);
    }
    if part.contains(['{', '}', '*', '?', '#', ' ']) {
        return Err(bad());
    }
    percent::text(part).map(|word| Segment::Word(word.into_owned())).ok_or_else(bad)
}

impl CallPattern {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Without the names in braces: two patterns that are for the same calls have the same.
    pub(crate) fn without_names(&self) -> String {
        let method = match &self.method {
            MethodPattern::Only(method) => method,
            MethodPattern::All => "*",
        };
        let segments = self.segments.iter().map(|segment| match segment {
            Segment::Word(word) => format!("/{word:?}"),
            Segment::One => "/{}".to_owned(),
            Segment::Rest => "/*".to_owned(),
        });
        format!("{method} {}", segments.collect::<String>())
    }

    /// Whether it is for a call of this method (GET for HEAD) at a path with these [segments](segments).
    pub(crate) fn matches(&self, method: &str, path: &[Cow<'_, str>]) -> bool {
        let is_of_method = match &self.method {
            MethodPattern::Only(only) => only == method,
            MethodPattern::All => true,
        };
        let has_rest = self.segments.last() == Some(&Segment::Rest);
        let has_length =
            if has_rest { path.len() >= self.segments.len() } else { path.len() == self.segments.len() };
        let fits = |(segment, part): (&Segment, &Cow<'_, str>)| match segment {
            Segment::Word(word) => *word == **part,
            Segment::One | Segment::Rest => true,
        };
        is_of_method && has_length && self.segments.iter().zip(path).all(fits)
    }
}

/// The segments of a path without percent-encoding; one that is not UTF-8 is left as it is.
pub(crate) fn segments(path: &str) -> Vec<Cow<'_, str>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').map(|part| percent::text(part).unwrap_or(Cow::Borrowed(part))).collect()
}

impl fmt::Display for CallPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching<'p>(patterns: &[&'p str], method: &str, path: &str) -> Option<&'p str> {
        let mut known: Vec<(CallPattern, &str)> =
            patterns.iter().map(|text| (text.parse().expect("it is a pattern"), *text)).collect();
        known.sort();
        known.iter().find(|(pattern, _)| pattern.matches(method, &segments(path))).map(|(_, text)| *text)
    }

    #[test]
    fn the_most_exact_pattern_comes_first() {
        let patterns = [
            "* /*",
            "GET /db/*",
            "* /db/{graph}/nodes",
            "GET /db/{graph}/nodes",
            "GET /db/rage/*",
            "GET /db/rage/node/{type}/a%2Fb",
            "GET /db/rage/node/{type}/{key}",
            "POST /db/rage/node/{type}/{key}",
        ];
        for (method, path, expected) in [
            ("GET", "/v2", "* /*"),
            ("GET", "/db", "* /*"),
            ("DELETE", "/db/other/nodes", "* /db/{graph}/nodes"),
            ("GET", "/db/other/nodes", "GET /db/{graph}/nodes"),
            ("GET", "/db/other/nodes/User", "GET /db/*"),
            ("GET", "/db/rage/nodes", "GET /db/rage/*"),
            ("GET", "/db/%72age/nodes", "GET /db/rage/*"),
            ("GET", "/db/rage/node/User/a", "GET /db/rage/node/{type}/{key}"),
            ("GET", "/db/rage/node/User/a%2fb", "GET /db/rage/node/{type}/a%2Fb"),
            ("GET", "/db/rage/node/%FF/%", "GET /db/rage/node/{type}/{key}"),
            ("POST", "/db/rage/node/User/a", "POST /db/rage/node/{type}/{key}"),
            ("POST", "/db/rage/node/User/a/b", "* /*"),
            ("PUT", "", "* /*"),
        ] {
            assert_eq!(matching(&patterns, method, path), Some(expected), "{method} {path}");
        }
        assert_eq!(matching(&["GET /db/*"], "GET", "/db"), None);
        assert_eq!(matching(&["GET /db/*"], "POST", "/db/a"), None);
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        let error = |text: &str| text.parse::<CallPattern>().map(|_| ()).expect_err(text).to_string();
        for text in ["/db", "GET", "GET db", "GET  /db"] {
            assert!(error(text).starts_with("a call is a method"), "{text}: {}", error(text));
        }
        for text in ["get /db", "HEAD /db", " /db", "GET, /db"] {
            assert!(error(text).contains("is no method"), "{text}: {}", error(text));
        }
        for text in ["GET /*/a", "GET /{}", "GET /a{b}", "GET /a?b", "GET /%F", "GET /a*", "GET /{a}{b}"] {
            assert!(error(text).contains("is no segment"), "{text}: {}", error(text));
        }
        let same = |text: &str| text.parse::<CallPattern>().expect("it is a pattern").without_names();
        assert_eq!(same("GET /a/{b}/%63"), same("GET /a/{d}/c"));
        assert_ne!(same("GET /a/{b}"), same("GET /a/*"));
    }
}
