//! Keeps passwords out of all that is shown or kept.

/// What stands before a URL in `--observe`.
const KINDS: [&str; 2] = ["pg", "prom"];

/// Schemes of servers to which a single word before the host is a token.
const SCHEMES_WITH_TOKENS: [&str; 2] = ["nats", "tls"];

/// A URL, or a text with one in it, without the password that may stand in it.
pub fn without_password(text: &str) -> String {
    let text = match text.split_once("://") {
        None => without_scheme(text),
        Some((before, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            // Passwords with such signs in them must not be shown either: the last `@` ends them.
            let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'));
            let colon = at.and_then(|at| rest[..at].find(':'));
            match (at, colon) {
                (Some(at), Some(colon)) => format!("{before}://{}:***{}", &rest[..colon], &rest[at..]),
                (Some(at), None) if is_before_token(before) => format!("{before}://***{}", &rest[at..]),
                _ => text.to_owned(),
            }
        }
    };
    let Some(begin) = text.find("password=").map(|at| at + "password=".len()) else { return text };
    let end = text[begin..].find(['&', '#', ' ']).map_or(text.len(), |length| begin + length);
    format!("{}***{}", &text[..begin], &text[end..])
}

/// What stands before `://` may be an option too, as in `--nats=nats`.
fn is_before_token(before: &str) -> bool {
    let scheme = before.rsplit('=').next().unwrap_or(before);
    SCHEMES_WITH_TOKENS.iter().any(|known| scheme.eq_ignore_ascii_case(known))
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
            ("nats://geheim@h:4222", "nats://***@h:4222"),
            ("--nats=tls://geheim@h:4222", "--nats=tls://***@h:4222"),
            ("nats://bob:geheim@h", "nats://bob:***@h"),
            ("nats://h:4222", "nats://h:4222"),
            ("pid:4711", "pid:4711"),
            ("pg:bob:ge:heim@db/shop", "pg:bob:***@db/shop"),
            ("From: bob@db", "From: bob@db"),
            ("gc:/logs/a@b", "gc:/logs/a@b"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }
}
