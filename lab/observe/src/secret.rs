//! Keeps passwords out of all that is shown or kept.

/// What stands before a URL in `--observe`.
const KINDS: [&str; 2] = ["pg", "prom"];

/// A URL, or a text with one in it, without the password that may stand in it.
pub fn without_password(text: &str) -> String {
    let text = match text.split_once("://") {
        None => without_scheme(text),
        Some((before, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            // Passwords with such signs in them must not be shown either: the last `@` ends them.
            let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'));
            match at.and_then(|at| rest[..at].find(':').map(|colon| (colon, at))) {
                Some((colon, at)) => format!("{before}://{}:***{}", &rest[..colon], &rest[at..]),
                None => text.to_owned(),
            }
        }
    };
    let Some(begin) = text.find("password=").map(|at| at + "password=".len()) else { return text };
    let end = text[begin..].find(['&', '#', ' ']).map_or(text.len(), |length| begin + length);
    format!("{}***{}", &text[..begin], &text[end..])
}

/// Somebody may have left the scheme away, and then the password is no less one.
fn without_scheme(text: &str) -> String {
    let kind = text.find(':').filter(|colon| KINDS.contains(&&text[..*colon]));
    let Some(begin) = kind.map(|colon| colon + 1) else { return text.to_owned() };
    let Some(at) = text[begin..].rfind('@').map(|at| begin + at) else { return text.to_owned() };
    let colon = text[begin..at].find(':').map(|colon| begin + colon);
    colon.map_or_else(|| text.to_owned(), |colon| format!("{}:***{}", &text[..colon], &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("pg:postgres://bob:geheim@db:5432/shop", "pg:postgres://bob:***@db:5432/shop"),
            ("postgres://bob:a/b@c@db/shop?x=1", "postgres://bob:***@db/shop?x=1"),
            (
                "postgres://db/shop?user=bob&password=geheim&x=1",
                "postgres://db/shop?user=bob&password=***&x=1",
            ),
            ("prom:http://127.0.0.1:9187/metrics#a,b", "prom:http://127.0.0.1:9187/metrics#a,b"),
            ("http://bob@h:80/", "http://bob@h:80/"),
            ("pid:4711", "pid:4711"),
            ("pg:bob:ge:heim@db/shop", "pg:bob:***@db/shop"),
            ("From: bob@db", "From: bob@db"),
            ("gc:/logs/a@b", "gc:/logs/a@b"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }
}
