//! Where responses have values beside their JSON: headers, the address in `Location`, and fields of HTML.

use super::log::Pair;

/// Shorter texts come twice by chance.
const SHORTEST_TEXT: usize = 6;
pub(super) const SHORTEST_NUMBER: usize = 3;
/// In the names of headers that clients send back.
const WORDS: [&str; 9] = ["token", "csrf", "xsrf", "auth", "authorization", "session", "id", "key", "nonce"];

/// A value, what it is called, and the rules by which a plan captures it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundValue {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) rules: Vec<(&'static str, String)>,
}

/// Headers whose values are tokens or ids, and what of `Location` is. Cookies are looked at elsewhere.
pub(super) fn of_headers(headers: &[Pair]) -> Vec<FoundValue> {
    let mut found = Vec::new();
    for Pair { name, value } in headers {
        let value = value.trim();
        if name.eq_ignore_ascii_case("location") {
            found.extend(of_location(value));
        } else if is_sent_back(name) && is_telling(value) {
            let rules = vec![("header", name.clone())];
            found.push(FoundValue { name: name.clone(), value: value.to_owned(), rules });
        }
    }
    found
}

/// True of names such as `X-CSRF-Token` and `X-Session-Id`.
fn is_sent_back(name: &str) -> bool {
    let is_word = |part: &str| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word));
    name.split('-').any(is_word)
}

/// Segments of the path and values of the query, each by its place. What stands before one may be an id, too, and another one the next time.
fn of_location(address: &str) -> Vec<FoundValue> {
    let address = address.split('#').next().unwrap_or_default();
    let path =
        address.split_once("://").map_or(address, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let rule = |name: &str, value: &str, pattern: String| FoundValue {
        name: name.to_owned(),
        value: value.to_owned(),
        rules: vec![("header", "Location".to_owned()), ("matches", pattern)],
    };
    let mut found = Vec::new();
    let (mut before, mut name) = ("^(?:https?://[^/]*)?".to_owned(), "location");
    for (at, segment) in path.split('/').enumerate() {
        if at > 0 {
            before.push('/');
        }
        if is_telling(segment) {
            found.push(rule(name, segment, format!("{before}([^/?#]+)")));
            before.push_str("[^/?#]+");
        } else {
            before.push_str(&regex_escaped(segment));
            name = if segment.is_empty() { name } else { segment };
        }
    }
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        if is_telling(value) {
            found.push(rule(name, value, format!("[?&]{}=([^&#]+)", regex_escaped(name))));
        }
    }
    found
}

/// Values of `<input name=… value=…>` and `<meta name=… content=…>`.
pub(super) fn of_html(text: &str) -> Vec<FoundValue> {
    let tags = text.split('<').skip(1).filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag);
    tags.filter_map(field).collect()
}

fn field(tag: &str) -> Option<FoundValue> {
    let kind = tag.split(|letter: char| letter.is_ascii_whitespace()).next()?.to_ascii_lowercase();
    let holder = match kind.as_str() {
        "input" => "value",
        "meta" => "content",
        _ => return None,
    };
    let (name, value) = (attribute(tag, "name")?, attribute(tag, holder)?);
    if !is_telling(value.text) {
        return None;
    }
    let named = format!("\\sname={}", regex_escaped(name.quoted));
    let held = format!("\\s{holder}={quote}([^{quote}]+)", quote = value.quote());
    let pattern =
        if name.at < value.at { format!("{named}[^>]*{held}") } else { format!("{held}[^>]*{named}") };
    Some(FoundValue {
        name: name.text.to_owned(),
        value: value.text.to_owned(),
        rules: vec![("matches", pattern)],
    })
}

/// An attribute's value in its quotes, where it stands, and without them.
struct Attribute<'a> {
    at: usize,
    quoted: &'a str,
    text: &'a str,
}

impl Attribute<'_> {
    fn quote(&self) -> &str {
        &self.quoted[..1]
    }
}

/// One without quotes is passed over.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<Attribute<'a>> {
    let wanted = format!("{name}=");
    let is_whole = |at: &usize| tag[..*at].ends_with(|letter: char| letter.is_ascii_whitespace());
    let at = tag.match_indices(&wanted).map(|(at, _)| at).find(is_whole)?;
    let rest = &tag[at + wanted.len()..];
    let quote = rest.chars().next().filter(|letter| ['"', '\''].contains(letter))?;
    let end = rest[1..].find(quote)? + 1;
    Some(Attribute { at, quoted: &rest[..=end], text: &rest[1..end] })
}

/// A token or an id, and no word.
pub(super) fn is_telling(text: &str) -> bool {
    let is_of_them = |letter: char| letter.is_ascii_alphanumeric() || "-_.~+/=:".contains(letter);
    text.chars().all(is_of_them)
        && (text.len() >= 4 * SHORTEST_TEXT
            || text.len() >= SHORTEST_TEXT && text.contains(|letter: char| letter.is_ascii_digit()))
        || text.len() >= SHORTEST_NUMBER && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Escapes that an expression does not know are faults in it, those of letters beyond ASCII too; `\<` and `\>` are ends of words.
pub(super) fn regex_escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if letter.is_ascii_punctuation() && !"_-<>".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: &[FoundValue]) -> Vec<String> {
        let line = |found: &FoundValue| {
            let rules: Vec<_> = found.rules.iter().map(|(key, rule)| format!("{key}={rule}")).collect();
            format!("{} {} {}", found.name, found.value, rules.join(" "))
        };
        found.iter().map(line).collect()
    }

    fn header(name: &str, value: &str) -> Pair {
        Pair { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn headers_and_addresses_have_values() {
        let headers = [
            header("X-CSRF-Token", "a1b2c3d4"),
            header("Content-Length", "4711"),
            header("Content-Type", "application/vnd.shop.v1+json"),
            header("location", "https://h:81/api/users/4711/items/x9y8z7?page=2&cursor=c0ffee#f"),
        ];
        assert_eq!(
            shown(&of_headers(&headers)),
            [
                "X-CSRF-Token a1b2c3d4 header=X-CSRF-Token",
                "users 4711 header=Location matches=^(?:https?://[^/]*)?/api/users/([^/?#]+)",
                "items x9y8z7 header=Location matches=^(?:https?://[^/]*)?/api/users/[^/?#]+/items/([^/?#]+)",
                r"cursor c0ffee header=Location matches=[?&]cursor=([^&#]+)",
            ]
        );
        assert_eq!(shown(&of_location("/")), [""; 0]);
    }

    #[test]
    fn names_are_escaped_as_expressions_know_it() {
        assert_eq!(regex_escaped("größe.<a b>-_[0]"), r"größe\.<a b>-_\[0\]");
    }

    #[test]
    fn fields_of_forms_have_values() {
        let html = "<p>name=\"x\" value=\"aaaaaa1\"</p><input type=hidden name=\"csrf\" value=\"a1b2c3d4\"><INPUT\n value='z9y8x7' name='t.k'/>\
                    <input name=q value=c3d4e5><input name=\"user\" value=\"\"><meta name=\"csrf-token\" content=\"q1w2e3r4\"";
        let html = format!("{html}>");
        assert_eq!(
            shown(&of_html(&html)),
            [
                r#"csrf a1b2c3d4 matches=\sname=\"csrf\"[^>]*\svalue="([^"]+)"#,
                r"t.k z9y8x7 matches=\svalue='([^']+)[^>]*\sname=\'t\.k\'",
                r#"csrf-token q1w2e3r4 matches=\sname=\"csrf-token\"[^>]*\scontent="([^"]+)"#,
            ]
        );
    }
}
