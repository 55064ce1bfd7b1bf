//! A cookie jar after RFC 6265, as k6's: no list of public suffixes, and nothing in memory while it is empty.
//!
//! Libraries for this keep trees of maps a jar; twenty thousand users have one each, most of them empty.

use crate::set_cookie::SetCookie;
use crate::url::Url;
use std::net::{IpAddr, Ipv6Addr};

/// Cookies of one jar; setting more is ignored. RFC 6265, 6.1, asks for at least 3,000.
pub const COOKIES_MAX: usize = 3_000;

#[derive(Debug, Clone, Default)]
pub struct CookieJar {
    /// In the order of creation.
    cookies: Vec<Cookie>,
}

#[derive(Debug, Clone)]
struct Cookie {
    name: Box<str>,
    value: Box<str>,
    /// Lower case, without a leading dot.
    domain: Box<str>,
    path: Box<str>,
    is_host_only: bool,
    is_secure: bool,
    /// Milliseconds since 1970; `None`: until the jar is gone.
    expires_ms: Option<i64>,
}

impl CookieJar {
    pub const fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes what an answer from `url`, or a script, sets (RFC 6265, 5.3).
    pub fn set(&mut self, url: &Url, set: &SetCookie, now_ms: i64) {
        if !is_http(url) {
            return;
        }
        let host = canonical_host(url);
        let Some((domain, is_host_only)) = domain_of(&host, &set.domain) else { return };
        let path =
            if set.path.starts_with('/') { set.path.clone() } else { default_path(&url.decoded_path()) };
        let place = self.cookies.iter().position(|cookie| {
            *cookie.name == *set.name && *cookie.domain == *domain && *cookie.path == *path
        });
        let expires_ms = match set.max_age_s {
            0 => set.expires_ms,
            seconds => Some(now_ms.saturating_add(seconds.saturating_mul(1_000))),
        };
        if set.max_age_s < 0 || expires_ms.is_some_and(|expires| expires <= now_ms) {
            place.map(|place| self.cookies.remove(place));
            return;
        }
        let cookie = Cookie {
            name: set.name.as_str().into(),
            value: set.value.as_str().into(),
            domain: domain.into(),
            path: path.into(),
            is_host_only,
            is_secure: set.is_secure,
            expires_ms,
        };
        match place {
            Some(place) => self.cookies[place] = cookie,
            None if self.cookies.len() < COOKIES_MAX => self.cookies.push(cookie),
            None => {}
        }
    }

    /// Names and values of the cookies for a request to `url`, in the order in which they are sent; cookies past their
    /// time go.
    pub fn cookies_for(&mut self, url: &Url, now_ms: i64) -> Vec<(String, String)> {
        if self.cookies.is_empty() || !is_http(url) {
            return Vec::new();
        }
        self.cookies.retain(|cookie| cookie.expires_ms.is_none_or(|expires| expires > now_ms));
        let host = canonical_host(url);
        let path = match url.decoded_path() {
            path if path.is_empty() => "/".to_owned(),
            path => path,
        };
        let mut selected: Vec<&Cookie> =
            self.cookies.iter().filter(|cookie| cookie.is_for(url.is_tls(), &host, &path)).collect();
        // Stable: cookies of one path stay in the order of creation.
        selected.sort_by(|a, b| b.path.cmp(&a.path));
        selected.iter().map(|cookie| (cookie.name.to_string(), cookie.value.to_string())).collect()
    }

    /// Deletes the host's cookies of the default path of `url`, as k6 does.
    pub fn clear(&mut self, url: &Url, now_ms: i64) {
        for (name, _) in self.cookies_for(url, now_ms) {
            self.delete(url, &name, now_ms);
        }
    }

    pub fn delete(&mut self, url: &Url, name: &str, now_ms: i64) {
        self.set(url, &SetCookie { name: name.to_owned(), max_age_s: -1, ..SetCookie::default() }, now_ms);
    }
}

impl Cookie {
    fn is_for(&self, is_tls: bool, host: &str, path: &str) -> bool {
        let has_domain = *self.domain == *host
            || !self.is_host_only && host.strip_suffix(&*self.domain).is_some_and(|rest| rest.ends_with('.'));
        let has_path = path
            .strip_prefix(&*self.path)
            .is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/'));
        has_domain && has_path && (!self.is_secure || is_tls || is_loopback(&self.domain))
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme.as_str(), "http" | "https")
}

fn canonical_host(url: &Url) -> String {
    let host = url.host_name();
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// As browsers do, the own machine counts as reached safely.
fn is_loopback(domain: &str) -> bool {
    domain.rsplit('.').next() == Some("localhost")
        || domain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The domain of a cookie and whether it is for that host alone (RFC 6265, 5.3, 4 to 6). `None`: not to be taken.
fn domain_of(host: &str, domain: &str) -> Option<(String, bool)> {
    if domain.is_empty() {
        return Some((host.to_owned(), true));
    }
    if host.parse::<IpAddr>().is_ok() || host.parse::<Ipv6Addr>().is_ok() {
        return (host == domain).then(|| (host.to_owned(), true));
    }
    let domain = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
    if domain.is_empty() || domain.starts_with('.') || domain.ends_with('.') || !domain.is_ascii() {
        return None;
    }
    let is_parent =
        host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    is_parent.then_some((domain, false))
}

/// RFC 6265, 5.1.4.
fn default_path(path: &str) -> String {
    match path.rfind('/') {
        Some(last) if last > 0 && path.starts_with('/') => path[..last].to_owned(),
        _ => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Sets each line at its URL, one second after the other, and shows what is sent to the URLs at the end.
    fn check(lines: &[(&str, &str)], urls: &[&str], expected: &Expect) {
        let mut jar = CookieJar::default();
        for (second, (url, line)) in (0..).zip(lines) {
            jar.set(&Url::parse(url).unwrap(), &SetCookie::parse(line).unwrap(), second * 1_000);
        }
        let now_ms = i64::try_from(lines.len()).unwrap() * 1_000;
        let shown: Vec<String> = urls
            .iter()
            .map(|url| {
                let pairs = jar.cookies_for(&Url::parse(url).unwrap(), now_ms);
                let pairs: Vec<String> =
                    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{url} <- {}", pairs.join("; "))
            })
            .collect();
        expected.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn domains() {
        check(
            &[
                ("http://www.example.com/", "host=1"),
                ("http://www.example.com/", "all=1; Domain=.Example.com"),
                ("http://www.example.com/", "other=1; Domain=other.com"),
                ("http://www.example.com/", "sub=1; Domain=a.www.example.com"),
                ("http://127.0.0.1:8080/", "address=1"),
                ("http://127.0.0.1/", "wrong=1; Domain=.127.0.0.1"),
                ("ftp://www.example.com/", "scheme=1"),
            ],
            &[
                "http://www.example.com/",
                "http://WWW.example.com.:80/",
                "http://api.example.com/",
                "http://example.com/",
                "http://badexample.com/",
                "http://127.0.0.1:9/",
                "ftp://www.example.com/",
            ],
            &expect![[r#"
                http://www.example.com/ <- host=1; all=1
                http://WWW.example.com.:80/ <- host=1; all=1
                http://api.example.com/ <- all=1
                http://example.com/ <- all=1
                http://badexample.com/ <- 
                http://127.0.0.1:9/ <- address=1
                ftp://www.example.com/ <- "#]],
        );
    }

    #[test]
    fn paths_and_order() {
        check(
            &[
                ("http://h/a/b/c", "default=1"),
                ("http://h/a", "root=1"),
                ("http://h/a/b/c", "slash=1; Path=/a/"),
                ("http://h/", "deep=1; Path=/a/b/c"),
                ("http://h/", "again=1; Path=/a/b"),
                ("http://h/a", "root=2"),
            ],
            &["http://h", "http://h/a", "http://h/a/", "http://h/a/b/c", "http://h/ab"],
            &expect![[r#"
                http://h <- root=2
                http://h/a <- root=2
                http://h/a/ <- slash=1; root=2
                http://h/a/b/c <- deep=1; default=1; again=1; slash=1; root=2
                http://h/ab <- root=2"#]],
        );
    }

    #[test]
    fn secure_cookies_and_times() {
        check(
            &[
                ("https://h/", "secure=1; Secure"),
                ("http://localhost/", "local=1; Secure"),
                ("http://h/", "brief=1; Max-Age=2"),
                ("http://h/", "long=1; Max-Age=100"),
                ("http://h/", "past=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT"),
                ("http://h/", "gone=1"),
                ("http://h/", "gone=; Max-Age=0"),
            ],
            &["https://h/", "http://h/", "http://localhost/"],
            &expect![[r#"
                https://h/ <- secure=1; long=1
                http://h/ <- long=1
                http://localhost/ <- local=1"#]],
        );
    }

    #[test]
    fn clearing_and_deleting_and_the_bound() {
        let mut jar = CookieJar::default();
        let url = Url::parse("http://h/").unwrap();
        for number in 0..=COOKIES_MAX {
            jar.set(&url, &SetCookie { name: format!("c{number}"), ..SetCookie::default() }, 0);
        }
        assert_eq!(jar.cookies_for(&url, 0).len(), COOKIES_MAX);
        jar.delete(&url, "c7", 0);
        assert_eq!(jar.cookies_for(&url, 0).len(), COOKIES_MAX - 1);
        jar.clear(&url, 0);
        assert!(jar.is_empty());
    }
}
