//! W3C Trace Context (<https://www.w3.org/TR/trace-context/>, level 1): what a request says of the trace that it belongs to, and what
//! is said of it to others. What is not as the specification has it is ignored, as that asks.

use std::fmt;

use prony_graphql::variables::TRACE_HEADERS;

/// The headers' names, in lower case.
pub const TRACE_PARENT: &str = TRACE_HEADERS[0];
pub const TRACE_STATE: &str = TRACE_HEADERS[1];

/// Bytes of version 00, and of what later versions begin with.
const PARENT_BYTES: usize = 55;
/// A version that no header may have.
const FORBIDDEN_VERSION: u8 = 0xff;
const SAMPLED: u8 = 1;
/// Of all members of `tracestate` together: a longer one is not passed on (section 3.3.1.5 asks for at least so much).
const STATE_BYTES_MAX: usize = 512;
const STATE_MEMBERS_MAX: usize = 32;
const STATE_KEY_BYTES_MAX: usize = 256;
const STATE_VALUE_BYTES_MAX: usize = 256;

/// The number of a trace; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub u128);

/// The number of a span; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// A `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: TraceId,
    /// The span below which the request is.
    pub span: SpanId,
    /// Whether whoever sends the request has recorded it.
    pub is_sampled: bool,
}

impl TraceParent {
    /// None where it is not as the specification has it.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (head, rest) = value.split_at_checked(PARENT_BYTES)?;
        let [v1, v0, b'-', ids @ .., b'-', f1, f0] = head else { return None };
        let version = hexadecimal(&[*v1, *v0])? as u8;
        // Later versions may have more behind a dash (section 4.1).
        let has_its_end = rest.is_empty() || (version > 0 && rest[0] == b'-');
        if version == FORBIDDEN_VERSION || !has_its_end || ids.len() != 49 || ids[32] != b'-' {
            return None;
        }
        let (trace, span) = (hexadecimal(&ids[..32])?, hexadecimal(&ids[33..])? as u64);
        let flags = hexadecimal(&[*f1, *f0])? as u8;
        let are_valid = trace != 0 && span != 0;
        are_valid.then_some(Self {
            trace: TraceId(trace),
            span: SpanId(span),
            is_sampled: flags & SAMPLED != 0,
        })
    }

    /// The header's value, in version 00.
    pub fn header_value(&self) -> String {
        let Self { trace, span, is_sampled } = self;
        format!("00-{trace}-{span}-{:02x}", u8::from(*is_sampled))
    }
}

/// Digits must be in lower case; signs are none.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

/// What a request says of its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingContext {
    pub parent: TraceParent,
    /// `tracestate`: several headers are one list. None where there is none that is valid.
    pub state: Option<Box<str>>,
}

impl IncomingContext {
    /// Of header fields; none where there is no valid `traceparent`, or more than one.
    pub fn of<'h>(fields: impl Iterator<Item = (&'h str, &'h [u8])>) -> Option<Self> {
        let mut parent: Option<&[u8]> = None;
        let mut state: Vec<&[u8]> = Vec::new();
        let mut has_several = false;
        for (name, value) in fields {
            if name.len() == TRACE_PARENT.len() && name.eq_ignore_ascii_case(TRACE_PARENT) {
                has_several |= parent.replace(value).is_some();
            } else if name.len() == TRACE_STATE.len() && name.eq_ignore_ascii_case(TRACE_STATE) {
                state.push(value);
            }
        }
        let parent = TraceParent::parse(parent.filter(|_| !has_several)?.trim_ascii())?;
        Some(Self { parent, state: trace_state(&state) })
    }
}

/// The list of all values, where all of it is valid (section 3.3.1).
fn trace_state(values: &[&[u8]]) -> Option<Box<str>> {
    let whole = values.join(&b","[..]);
    let text = std::str::from_utf8(whole.trim_ascii()).ok().filter(|text| text.len() <= STATE_BYTES_MAX)?;
    let members = || text.split(',').map(|member| member.trim_matches([' ', '\t']));
    let is_list = members().filter(|member| !member.is_empty()).count();
    let is_valid = (1..=STATE_MEMBERS_MAX).contains(&is_list)
        && members().all(|member| member.is_empty() || is_member(member));
    is_valid.then(|| text.into())
}

/// `key=value`.
fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let may_begin = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_in_key = |byte: &u8| may_begin(byte) || b"_-*/@".contains(byte);
    let is_in_value = |byte: &u8| matches!(byte, b' '..=b'~') && !b",=".contains(byte);
    key.as_bytes().first().is_some_and(may_begin)
        && key.len() <= STATE_KEY_BYTES_MAX
        && key.as_bytes().iter().all(is_in_key)
        && (1..=STATE_VALUE_BYTES_MAX).contains(&value.len())
        && value.as_bytes().iter().all(is_in_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &str = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";

    fn parsed(value: &str) -> Option<(String, bool)> {
        let parent = TraceParent::parse(value.as_bytes())?;
        Some((format!("{}-{}", parent.trace, parent.span), parent.is_sampled))
    }

    #[test]
    fn a_parent_is_read_as_it_is_written() {
        for (flags, is_sampled) in [("00", false), ("01", true), ("02", false), ("03", true), ("ff", true)] {
            assert_eq!(parsed(&format!("00-{IDS}-{flags}")), Some((IDS.to_owned(), is_sampled)), "{flags}");
        }
        let text = format!("00-{IDS}-01");
        assert_eq!(TraceParent::parse(text.as_bytes()).unwrap().header_value(), text);
    }

    #[test]
    fn later_versions_are_read_as_far_as_they_are_known() {
        let known = Some((IDS.to_owned(), true));
        for value in
            [format!("01-{IDS}-01"), format!("cc-{IDS}-01-what-the-future-brings"), format!("fe-{IDS}-01-")]
        {
            assert_eq!(parsed(&value), known, "{value}");
            let written = TraceParent::parse(value.as_bytes()).unwrap().header_value();
            assert_eq!(written, format!("00-{IDS}-01"));
        }
        assert_eq!(parsed(&format!("cc-{IDS}-01.more")), None);
    }

    #[test]
    fn what_is_no_parent_is_ignored() {
        let upper = IDS.to_uppercase();
        let nothing = ["0".repeat(32), "0".repeat(16)];
        for value in [
            String::new(),
            "00".to_owned(),
            format!("ff-{IDS}-01"),
            format!("00-{IDS}-01-more"),
            format!("00-{IDS}-0"),
            format!("00-{IDS}"),
            format!("00-{upper}-01"),
            format!("0-{IDS}-01"),
            format!("00 {IDS} 01"),
            format!("00-{IDS}-0g"),
            format!("00-{}-b7ad6b7169203331-01", nothing[0]),
            format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", nothing[1]),
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
            format!("00-{}-01", IDS.replace('-', "0")),
            format!("00-{IDS}é01"),
        ] {
            assert_eq!(parsed(&value), None, "{value}");
        }
    }

    fn of(fields: &[(&str, &str)]) -> Option<IncomingContext> {
        IncomingContext::of(fields.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn headers_are_found_whatever_their_spelling_and_states_are_one_list() {
        let parent = format!("00-{IDS}-01");
        let found = of(&[("TraceState", "a=1"), ("TRACEPARENT", &parent), ("tracestate", " b@x=2 ,, c=3 3")]);
        assert_eq!(found.and_then(|found| found.state).as_deref(), Some("a=1, b@x=2 ,, c=3 3"));
        assert_eq!(of(&[("tracestate", "a=1")]), None, "a state without a parent says nothing");
        assert_eq!(of(&[("traceparent", &parent), ("traceparent", &parent)]), None, "there is one parent");
        assert_eq!(of(&[("traceparent", &format!(" {parent} "))]).map(|found| found.state), Some(None));
    }

    #[test]
    fn a_state_that_is_not_valid_is_dropped_and_its_parent_kept() {
        let parent = format!("00-{IDS}-01");
        let many: Vec<String> = (0..33).map(|number| format!("k{number}=v")).collect();
        for state in
            ["", ",", "a", "a=", "A=1", "=1", "a=b=c", "a=\u{7f}", "ä=1", &"x".repeat(600), &many.join(",")]
        {
            let found = of(&[("traceparent", &parent), ("tracestate", state)]);
            assert_eq!(found.map(|found| found.state), Some(None), "{state}");
        }
        let found = of(&[("traceparent", &parent), ("tracestate", &many[..32].join(","))]);
        assert!(found.is_some_and(|found| found.state.is_some()));
    }
}
