//! Which media type a client gets (RFC 9110, section 12.5.1; GraphQL over HTTP, sections 6.1 and 6.2).

use http::{HeaderMap, HeaderValue, header};
use prony_source::http_api::accept::{RANGES_MAX, preferred, quality, thousandths};

/// The two media types of GraphQL responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`: 200 for every well-formed request, as older clients expect.
    Json,
    /// `application/graphql-response+json`: the status says whether the request was executed.
    GraphqlResponse,
}

impl Media {
    pub(crate) fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.text())
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Json => "application/json; charset=utf-8",
            Self::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
        }
    }

    fn subtype(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::GraphqlResponse => "graphql-response+json",
        }
    }
}

/// What a range says of one media type: its quality in thousandths, and how exactly it was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    /// 3 for a name with a charset, 2 for a name, 1 for `application/*`, 0 for `*/*`.
    exactness: u8,
    quality: u16,
}

/// The media type that the client prefers; none where it takes neither. Without a header, and where only a
/// wildcard matches, it is `application/json`, which every client understands.
pub(crate) fn negotiate(headers: &HeaderMap) -> Option<Media> {
    negotiate_values(headers.get_all(header::ACCEPT).iter().map(HeaderValue::as_bytes))
}

/// As [`negotiate`], of the header's values.
pub(crate) fn negotiate_values<'v>(mut values: impl Iterator<Item = &'v [u8]>) -> Option<Media> {
    let Some(first) = values.next() else { return Some(Media::Json) };
    match first {
        b"*/*" | b"application/json" => return Some(Media::Json),
        b"application/graphql-response+json"
        | b"application/graphql-response+json, application/json"
        | b"application/graphql-response+json, application/json;q=0.9" => {
            return Some(Media::GraphqlResponse);
        }
        _ => {}
    }
    let (mut json, mut response) = (None, None);
    let texts = std::iter::once(first).chain(values).filter_map(|value| str::from_utf8(value).ok());
    for range in texts.flat_map(|text| text.split(',')).take(RANGES_MAX) {
        json = json.max(matching(range, Media::Json));
        response = response.max(matching(range, Media::GraphqlResponse));
    }
    choose(json, response)
}

/// Whether the client names `text/event-stream`, and wants it more than any other type that could be sent, or as much and
/// before it.
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    let values: Vec<&[u8]> = headers.get_all(header::ACCEPT).iter().map(HeaderValue::as_bytes).collect();
    match values.as_slice() {
        [only] => names_events_first(only),
        // Several fields are one list (RFC 9110, section 5.3).
        several => names_events_first(&several.join(&b',')),
    }
}

/// As [`prefers_events`], of the header's value.
pub(crate) fn names_events_first(accept: &[u8]) -> bool {
    let Ok(value) = str::from_utf8(accept) else { return false };
    let types = [
        ("text/event-stream", true),
        ("application/json", false),
        ("application/graphql-response+json", false),
    ];
    preferred(value, &types) == Some(true)
}

fn choose(json: Option<Match>, response: Option<Match>) -> Option<Media> {
    const NAMED: u8 = 2;
    let acceptable = |found: Option<Match>| found.filter(|found| found.quality > 0);
    match (acceptable(json), acceptable(response)) {
        (None, None) => None,
        (Some(_), None) => Some(Media::Json),
        (None, Some(_)) => Some(Media::GraphqlResponse),
        (Some(json), Some(response)) => {
            let preferred = response.quality > json.quality
                || (response.quality == json.quality && response.exactness >= NAMED);
            Some(if preferred { Media::GraphqlResponse } else { Media::Json })
        }
    }
}

fn matching(range: &str, media: Media) -> Option<Match> {
    let mut parts = range.split(';').map(str::trim);
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let mut exactness = match (kind, subtype) {
        ("*", "*") => 0,
        (kind, "*") if kind.eq_ignore_ascii_case("application") => 1,
        (kind, subtype)
            if kind.eq_ignore_ascii_case("application") && subtype.eq_ignore_ascii_case(media.subtype()) =>
        {
            2
        }
        _ => return None,
    };
    let mut quality = 1000;
    for parameter in parts.filter(|part| !part.is_empty()) {
        if let Some(given) = self::quality(parameter) {
            quality = thousandths(given)?;
        } else if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("charset")
        {
            if !value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8") {
                return None;
            }
            exactness = 3;
        }
    }
    Some(Match { exactness, quality })
}

/// Whether a request's body is JSON: `application/json`, in UTF-8 where it says.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| is_json_type(value.as_bytes()))
}

/// As [`is_json`], of the header's value.
pub(crate) fn is_json_type(content_type: &[u8]) -> bool {
    content_type == b"application/json"
        || str::from_utf8(content_type)
            .is_ok_and(|text| matching(text, Media::Json).is_some_and(|found| found.exactness >= 2))
}

/// Whether a request says nothing of its body's type.
pub(crate) fn is_unsaid(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CONTENT_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, expected: Option<Media>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        assert_eq!(negotiate(&headers), expected, "{accept}");
    }

    #[test]
    fn the_preferred_media_type_wins() {
        use Media::{GraphqlResponse, Json};
        assert_eq!(negotiate(&HeaderMap::new()), Some(Json));
        for (accept, expected) in [
            ("*/*", Some(Json)),
            ("application/*", Some(Json)),
            ("application/json", Some(Json)),
            ("application/graphql-response+json", Some(GraphqlResponse)),
            ("application/graphql-response+json, application/json", Some(GraphqlResponse)),
            ("application/json, application/graphql-response+json", Some(GraphqlResponse)),
            ("application/json, application/graphql-response+json;q=0.9", Some(Json)),
            ("application/json;q=0.5, */*;q=0.8", Some(GraphqlResponse)),
            ("application/graphql-response+json;q=0, */*", Some(Json)),
            ("Application/JSON; charset=UTF-8", Some(Json)),
            ("application/json; charset=\"utf-8\"", Some(Json)),
            ("application/json; charset=latin1", None),
            ("application/json;q=0", None),
            ("application/json;q=2", None),
            ("text/html", None),
            ("text/html, application/xhtml+xml, */*;q=0.8", Some(Json)),
            ("", None),
            ("nonsense", None),
        ] {
            check(accept, expected);
        }
    }

    #[test]
    fn events_are_for_who_names_them_first() {
        for (accept, expected) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; q=1, application/json", true),
            ("text/event-stream, multipart/mixed", true),
            ("application/json, text/event-stream", false),
            (
                "application/graphql-response+json, application/json, text/event-stream, multipart/mixed",
                false,
            ),
            ("*/*", false),
            ("text/event-stream;q=0", false),
            ("text/event-stream;q=0.1, application/json", false),
            ("application/json;q=0.5, text/event-stream;Q=0.6", true),
            ("application/json;q=0, text/event-stream;q=0.1", true),
            ("text/event-stream;q=much, application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(prefers_events(&headers), expected, "{accept}");
        }
        assert!(!prefers_events(&HeaderMap::new()));
        let fields = |values: [&'static str; 2]| {
            let fields = values.map(|value| (header::ACCEPT, HeaderValue::from_static(value)));
            prefers_events(&fields.into_iter().collect())
        };
        assert!(fields(["application/json;q=0.5", "text/event-stream"]), "it is in the second field");
        assert!(!fields(["application/json", "text/event-stream"]));
    }

    #[test]
    fn only_json_bodies_are_taken() {
        for (given, expected) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("APPLICATION/JSON;charset=\"UTF-8\"", true),
            ("application/json; charset=utf-16", false),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("multipart/form-data; boundary=x", false),
            ("*/*", false),
            ("application/*", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, given.parse().unwrap());
            assert_eq!(is_json(&headers), expected, "{given}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
