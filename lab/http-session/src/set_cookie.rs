//! One `Set-Cookie` line as Go reads it, and cookies as a `Cookie` header carries them.

use crate::date::parse_http_date;

/// A cookie as a server sets it, or a script does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetCookie {
    pub name: String,
    pub value: String,
    pub domain: String,
    pub path: String,
    pub is_secure: bool,
    pub is_http_only: bool,
    /// 0 where none was given; negative: to be deleted now.
    pub max_age_s: i64,
    /// Milliseconds since 1970.
    pub expires_ms: Option<i64>,
}

impl SetCookie {
    /// `None` where the line is to be ignored.
    pub fn parse(line: &str) -> Option<Self> {
        let mut parts = line.trim_matches(is_blank).split(';').map(|part| part.trim_matches(is_blank));
        let (name, value) = parts.next()?.split_once('=')?;
        let name = name.trim_matches(is_blank);
        if !is_token(name) {
            return None;
        }
        let value = read_value(value, true)?;
        let mut cookie = Self { name: name.to_owned(), value: value.to_owned(), ..Self::default() };
        for part in parts {
            let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
            if let Some(value) = read_value(value, false) {
                cookie.set_attribute(&attribute.to_ascii_lowercase(), value);
            }
        }
        Some(cookie)
    }

    fn set_attribute(&mut self, attribute: &str, value: &str) {
        match attribute {
            "secure" => self.is_secure = true,
            "httponly" => self.is_http_only = true,
            "domain" => value.clone_into(&mut self.domain),
            "path" => value.clone_into(&mut self.path),
            "expires" => self.expires_ms = parse_http_date(value),
            "max-age" => match value.parse::<i64>() {
                Ok(seconds) if seconds == 0 || !value.starts_with('0') => {
                    self.max_age_s = if seconds <= 0 { -1 } else { seconds };
                }
                _ => {}
            },
            _ => {}
        }
    }
}

const fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

/// RFC 9110, 5.6.2.
pub fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

const fn is_value_byte(byte: u8) -> bool {
    byte >= 0x20 && byte < 0x7f && byte != b'"' && byte != b';' && byte != b'\\'
}

fn read_value(text: &str, may_be_quoted: bool) -> Option<&str> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let value = inner.filter(|_| may_be_quoted).unwrap_or(text);
    value.bytes().all(is_value_byte).then_some(value)
}

/// Appends `name=value` to the text of a `Cookie` header.
pub fn append_pair(header: &mut String, name: &str, value: &str) {
    if !header.is_empty() {
        header.push_str("; ");
    }
    header.extend(name.chars().map(|letter| if matches!(letter, '\r' | '\n') { '-' } else { letter }));
    header.push('=');
    let quote = if value.contains([' ', ',']) { "\"" } else { "" };
    header.push_str(quote);
    header.extend(value.bytes().filter(|&byte| is_value_byte(byte)).map(char::from));
    header.push_str(quote);
}

/// The pairs of a `Cookie` header; what is none is left out.
pub fn read_pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split(';').filter_map(|part| {
        let part = part.trim_matches(is_blank);
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = name.trim_matches(is_blank);
        read_value(value, true).filter(|_| is_token(name)).map(|value| (name, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn lines_of_servers_are_read() {
        let lines = [
            "a=b",
            "a=",
            "a=\"q v\"; Path=/x; Secure; HttpOnly",
            " a = b ; domain=.Example.com; MAX-AGE=10",
            "a=b; max-age=0",
            "a=b; max-age=-5",
            "a=b; max-age=010",
            "a=b; expires=Thu, 01 Jan 1970 00:00:01 GMT",
            "a=b; expires=never; path=\"/x\"",
            "a=b=c",
            "no pair",
            "b ad=1",
            "a=\\",
            "",
        ];
        let shown: Vec<String> = lines.iter().map(|line| format!("{:?}", SetCookie::parse(line))).collect();
        expect![[r#"
            Some(SetCookie { name: "a", value: "b", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: 0, expires_ms: None })
            Some(SetCookie { name: "a", value: "", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: 0, expires_ms: None })
            Some(SetCookie { name: "a", value: "q v", domain: "", path: "/x", is_secure: true, is_http_only: true, max_age_s: 0, expires_ms: None })
            Some(SetCookie { name: "a", value: " b", domain: ".Example.com", path: "", is_secure: false, is_http_only: false, max_age_s: 10, expires_ms: None })
            Some(SetCookie { name: "a", value: "b", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: -1, expires_ms: None })
            Some(SetCookie { name: "a", value: "b", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: -1, expires_ms: None })
            Some(SetCookie { name: "a", value: "b", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: 0, expires_ms: None })
            Some(SetCookie { name: "a", value: "b", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: 0, expires_ms: Some(1000) })
            Some(SetCookie { name: "a", value: "b", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: 0, expires_ms: None })
            Some(SetCookie { name: "a", value: "b=c", domain: "", path: "", is_secure: false, is_http_only: false, max_age_s: 0, expires_ms: None })
            None
            None
            None
            None"#]].assert_eq(&shown.join("\n"));
    }

    #[test]
    fn pairs_of_a_header_are_cleaned_and_read() {
        let mut header = String::new();
        for (name, value) in [("a", "1"), ("b", "q v"), ("c", "x;y\"z\\é"), ("d\n", ""), ("e", "1,2")] {
            append_pair(&mut header, name, value);
        }
        let shown = format!("{header}\n{:?}", read_pairs(&header).collect::<Vec<_>>());
        expect![[r#"
            a=1; b="q v"; c=xyz; d-=; e="1,2"
            [("a", "1"), ("b", "q v"), ("c", "xyz"), ("d-", ""), ("e", "1,2")]"#]]
        .assert_eq(&shown);
    }
}
