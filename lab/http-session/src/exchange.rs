//! What follows an answer: redirects, the second request of digest authentication, cookies for the jar.
//!
//! Pure: requests in, requests out. Redirects follow Go's client, which k6 uses; RFC 9110, 15.4.

use crate::digest::{Challenge, DigestRequest};
use crate::headers::{Headers, ResponseHead};
use crate::jar::CookieJar;
use crate::request::{Request, RequestError};
use crate::set_cookie::append_pair;
use crate::url::{Url, User};
use std::cell::RefCell;
use std::rc::Rc;

pub type SharedJar = Rc<RefCell<CookieJar>>;

/// A cookie that one request has on top of the jar's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCookie {
    pub name: String,
    pub value: String,
    /// Instead of the jar's of that name, not beside it.
    pub replaces: bool,
}

/// A request with everything that the ones after it are made of.
#[derive(Debug)]
pub struct Exchange {
    /// As the script asked for it.
    first: Request,
    /// The one that is on its way.
    pub current: Request,
    /// How many redirects may be followed.
    redirects_max: i64,
    sent: i64,
    jar: Option<SharedJar>,
    cookies: Vec<RequestCookie>,
    digest: Option<Digest>,
    /// Once a redirect has dropped the body it stays dropped.
    has_body: bool,
    /// Once a redirect has led to another host, credentials stay behind.
    has_credentials: bool,
}

#[derive(Debug)]
struct Digest {
    user: User,
    /// The challenge of the current request was answered.
    is_answered: bool,
}

/// What is to be done after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// [`Exchange::current`] is to be sent.
    Send,
    /// The answer is the script's.
    Done,
    /// The answer is a redirect more than the limit, and the script's.
    TooMany,
    /// No request can be made of the redirect.
    Error(RequestError),
}

/// How an exchange is to be made.
#[derive(Debug, Default)]
pub struct ExchangeSettings {
    pub redirects_max: i64,
    pub jar: Option<SharedJar>,
    pub cookies: Vec<RequestCookie>,
    pub is_digest: bool,
}

/// What is known of an answer.
#[derive(Debug, Clone, Copy)]
pub struct ResponseFacts<'a> {
    pub status: u16,
    pub head: ResponseHead<'a>,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

impl Exchange {
    /// Adds the cookies to the request, and takes credentials for a digest out of its URL.
    pub fn new(mut request: Request, settings: ExchangeSettings, now_ms: i64) -> Self {
        let digest = settings.is_digest.then(|| {
            let url = Rc::make_mut(&mut request.url);
            let user = url.user.take().unwrap_or(User { name: String::new(), password: None });
            Digest { user, is_answered: false }
        });
        if let Some(jar) = &settings.jar {
            add_cookies(&mut request, &mut jar.borrow_mut(), &settings.cookies, now_ms);
        }
        Self {
            current: request.clone(),
            first: request,
            redirects_max: settings.redirects_max,
            sent: 1,
            jar: settings.jar,
            cookies: settings.cookies,
            digest,
            has_body: true,
            has_credentials: true,
        }
    }

    /// True where an answer is a redirect that is followed, so that nobody sees its body.
    pub fn follows(&self, status: u16, head: ResponseHead<'_>) -> bool {
        matches!(status, 301 | 302 | 303 | 307 | 308)
            && self.sent <= self.redirects_max
            && head.first("location").is_some_and(|location| !location.is_empty())
    }

    /// How many requests were sent, redirected ones and all.
    pub const fn sent(&self) -> i64 {
        self.sent
    }

    /// True where the next answer of status 401 is part of the authentication.
    pub fn awaits_challenge(&self) -> bool {
        self.digest.as_ref().is_some_and(|digest| !digest.is_answered)
    }

    /// Takes an answer's cookies into the jar and makes the next request, where there is to be one.
    pub fn turn(&mut self, answer: ResponseFacts<'_>, client_nonce: impl FnOnce() -> String) -> Turn {
        if answer.status == 401
            && let Some(digest) = self.digest.as_mut().filter(|digest| !digest.is_answered)
        {
            digest.is_answered = true;
            if let Some(authorization) = authorization(digest, &self.current, answer.head, &client_nonce()) {
                self.current.headers.set("Authorization", &authorization);
                return Turn::Send;
            }
        }
        self.keep_cookies(answer);
        if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
            return Turn::Done;
        }
        let location = answer.head.first("location").unwrap_or_default();
        if location.is_empty() {
            return Turn::Done;
        }
        self.redirect(answer, &String::from_utf8_lossy(location))
    }

    fn keep_cookies(&self, answer: ResponseFacts<'_>) {
        let Some(jar) = &self.jar else { return };
        for cookie in answer.head.cookies() {
            jar.borrow_mut().set(&self.current.url, &cookie, answer.now_ms);
        }
    }

    fn redirect(&mut self, answer: ResponseFacts<'_>, location: &str) -> Turn {
        let reference = match Url::parse(location) {
            Ok(reference) => reference,
            Err(cause) => {
                return Turn::Error(RequestError::Location { location: location.to_owned(), cause });
            }
        };
        if self.sent > self.redirects_max {
            return Turn::TooMany;
        }
        let url = self.current.url.resolve(&reference);
        let keeps_method =
            matches!(answer.status, 307 | 308) || matches!(&*self.current.method, "GET" | "HEAD");
        self.has_body &= matches!(answer.status, 307 | 308);
        self.has_credentials &=
            is_same_or_below(self.first.url.host_name(), url.host_name()) || self.first.url.host == url.host;
        // A name that the script gave stays for as long as redirects are relative.
        let host = self.current.host.take().filter(|_| !reference.is_absolute());
        let mut request = Request {
            method: if keeps_method { Rc::clone(&self.current.method) } else { "GET".into() },
            headers: self.headers_after(&url),
            host,
            body: self.first.body.clone().filter(|_| self.has_body),
            url: Rc::new(url),
        };
        if let Some(jar) = &self.jar {
            request.headers.remove("Cookie");
            add_cookies(&mut request, &mut jar.borrow_mut(), &self.cookies, answer.now_ms);
        }
        if let Some(digest) = &mut self.digest {
            // What an answer is made of could be guessed from it: other hosts get none.
            digest.is_answered = !self.has_credentials;
        }
        self.current = request;
        self.sent += 1;
        Turn::Send
    }

    /// The first request's headers, less those that do not go on, and with a `Referer`.
    fn headers_after(&self, url: &Url) -> Headers {
        let mut headers = self.first.headers.clone();
        headers.retain(|name| match name {
            "Authorization"
            | "Www-Authenticate"
            | "Cookie"
            | "Cookie2"
            | "Proxy-Authorization"
            | "Proxy-Authenticate" => self.has_credentials,
            "Content-Encoding" | "Content-Language" | "Content-Location" | "Content-Type" => self.has_body,
            _ => true,
        });
        let last = &self.current.url;
        if headers.get("Referer").is_none() && !(last.is_tls() && url.scheme == "http") {
            headers.set("Referer", &last.without_user());
        }
        headers
    }
}

fn authorization(
    digest: &Digest,
    request: &Request,
    head: ResponseHead<'_>,
    client_nonce: &str,
) -> Option<String> {
    let mut challenges = head.lines().filter(|(name, _)| name.eq_ignore_ascii_case(b"www-authenticate"));
    let challenge = challenges.find_map(|(_, value)| Challenge::parse(&String::from_utf8_lossy(value)))?;
    Some(challenge.answer(&DigestRequest {
        method: &request.method,
        target: &request.url.request_target(),
        body: request.body.as_deref().unwrap_or_default(),
        user: &digest.user.name,
        password: digest.user.password.as_deref().unwrap_or_default(),
        client_nonce,
    }))
}

/// Sets `Cookie`: what it was, then the request's own, then the jar's that are not replaced.
fn add_cookies(request: &mut Request, jar: &mut CookieJar, cookies: &[RequestCookie], now_ms: i64) {
    if jar.is_empty() && cookies.is_empty() {
        return;
    }
    let mut header = request.headers.get("Cookie").unwrap_or_default().to_owned();
    for cookie in cookies {
        append_pair(&mut header, &cookie.name, &cookie.value);
    }
    for (name, value) in jar.cookies_for(&request.url, now_ms) {
        if !cookies.iter().any(|cookie| cookie.replaces && cookie.name == name) {
            append_pair(&mut header, &name, &value);
        }
    }
    if !header.is_empty() {
        request.headers.set("Cookie", &header);
    }
}

/// Credentials go on to the same host and to hosts below it.
fn is_same_or_below(parent: &str, host: &str) -> bool {
    let (parent, host) = (parent.to_ascii_lowercase(), host.to_ascii_lowercase());
    let below = host.strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.'));
    parent == host || below && !host.contains([':', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn request(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&str>) -> Request {
        let mut list = Headers::default();
        for (name, value) in headers {
            list.set(name, value);
        }
        Request {
            method: method.into(),
            url: Rc::new(Url::parse(url).unwrap()),
            host: list.get("Host").map(str::to_owned),
            headers: list,
            body: body.map(|body| body.as_bytes().into()),
        }
    }

    /// Shows a request after each of the answers, status and header lines.
    fn check(request: Request, settings: ExchangeSettings, answers: &[&str], expected: &Expect) {
        let mut exchange = Exchange::new(request, settings, 0);
        let mut shown = String::new();
        for answer in answers {
            let status = answer[..3].parse().unwrap();
            let head = format!("HTTP/1.1 {answer}\n\n");
            let facts = ResponseFacts { status, head: ResponseHead::new(head.as_bytes()), now_ms: 0 };
            let turn = exchange.turn(facts, || "nonce".to_owned());
            if turn == Turn::Send {
                let mut text = Vec::new();
                exchange.current.write(&mut text, false);
                let text = String::from_utf8_lossy(&text);
                writeln!(shown, "{}: {}", exchange.current.url, text.trim_end()).unwrap();
            } else if let Turn::Error(error) = turn {
                writeln!(shown, "{error}").unwrap();
            } else {
                writeln!(shown, "{turn:?}").unwrap();
            }
        }
        expected.assert_eq(&shown.replace('\r', ""));
    }

    fn following(redirects_max: i64) -> ExchangeSettings {
        ExchangeSettings { redirects_max, ..ExchangeSettings::default() }
    }

    #[test]
    fn methods_and_bodies_change_by_status() {
        for (status, method) in [
            (301, "POST"),
            (302, "PUT"),
            (303, "HEAD"),
            (307, "POST"),
            (308, "PATCH"),
            (304, "GET"),
            (300, "GET"),
        ] {
            let headers = [("content-type", "a/b"), ("x-a", "1")];
            let answer = format!("{status} X\nLocation: ../c?d");
            let expected = match status {
                301 => expect![[r#"
                    http://h/c?d: GET /c?d HTTP/1.1
                    Host: h
                    Referer: http://h/a/b
                    X-A: 1
                "#]],
                302 => expect![[r#"
                    http://h/c?d: GET /c?d HTTP/1.1
                    Host: h
                    Referer: http://h/a/b
                    X-A: 1
                "#]],
                303 => expect![[r#"
                    http://h/c?d: HEAD /c?d HTTP/1.1
                    Host: h
                    Referer: http://h/a/b
                    X-A: 1
                "#]],
                307 => expect![[r#"
                    http://h/c?d: POST /c?d HTTP/1.1
                    Host: h
                    Content-Length: 4
                    Content-Type: a/b
                    Referer: http://h/a/b
                    X-A: 1

                    body
                "#]],
                308 => expect![[r#"
                    http://h/c?d: PATCH /c?d HTTP/1.1
                    Host: h
                    Content-Length: 4
                    Content-Type: a/b
                    Referer: http://h/a/b
                    X-A: 1

                    body
                "#]],
                304 => expect![[r#"
                    Done
                "#]],
                _ => expect![[r#"
                    Done
                "#]],
            };
            check(
                request(method, "http://h/a/b", &headers, Some("body")),
                following(1),
                &[&answer],
                &expected,
            );
        }
    }

    #[test]
    fn limits_and_odd_locations_end_it() {
        let go = "302 X\nLocation: /x";
        check(
            request("GET", "http://h/", &[], None),
            following(2),
            &[go, go, go],
            &expect![[r#"
            http://h/x: GET /x HTTP/1.1
            Host: h
            Referer: http://h/
            http://h/x: GET /x HTTP/1.1
            Host: h
            Referer: http://h/x
            TooMany
        "#]],
        );
        check(
            request("GET", "http://h/", &[], None),
            following(0),
            &[go],
            &expect![[r#"
            TooMany
        "#]],
        );
        check(
            request("GET", "http://h/", &[], None),
            following(9),
            &["302 X", "302 X\nLocation: :x"],
            &expect![[r#"
            Done
            failed to parse Location header ":x": parse ":x": missing protocol scheme
        "#]],
        );
    }

    #[test]
    fn credentials_stay_behind_on_other_hosts() {
        let headers = [("authorization", "mine"), ("host", "named"), ("cookie", "own=1")];
        let answers = [
            "302 X\nLocation: /relative",
            "302 X\nLocation: http://sub.h.com/",
            "302 X\nLocation: http://other.com/",
            "302 X\nLocation: http://h.com/",
        ];
        check(
            request("GET", "http://h.com/", &headers, None),
            following(9),
            &answers,
            &expect![[r#"
            http://h.com/relative: GET /relative HTTP/1.1
            Host: named
            Authorization: mine
            Cookie: own=1
            Referer: http://h.com/
            http://sub.h.com/: GET / HTTP/1.1
            Host: sub.h.com
            Authorization: mine
            Cookie: own=1
            Referer: http://h.com/relative
            http://other.com/: GET / HTTP/1.1
            Host: other.com
            Referer: http://sub.h.com/
            http://h.com/: GET / HTTP/1.1
            Host: h.com
            Referer: http://other.com/
        "#]],
        );
        check(
            request("GET", "http://u:p@h.com/", &[], None),
            following(9),
            &[
                "302 X\nLocation: /x",
                "302 X\nLocation: http://h.com/y",
                "302 X\nLocation: https://h.com/z",
                "302 X\nLocation: http://h.com/z",
            ],
            &expect![[r#"
                http://u:p@h.com/x: GET /x HTTP/1.1
                Host: h.com
                Authorization: Basic dTpw
                Referer: http://h.com/
                http://h.com/y: GET /y HTTP/1.1
                Host: h.com
                Referer: http://h.com/x
                https://h.com/z: GET /z HTTP/1.1
                Host: h.com
                Referer: http://h.com/y
                http://h.com/z: GET /z HTTP/1.1
                Host: h.com
            "#]],
        );
    }

    #[test]
    fn cookies_of_answers_are_sent_on() {
        let cookie =
            |name: &str, replaces| RequestCookie { name: name.to_owned(), value: "own".to_owned(), replaces };
        let settings = ExchangeSettings {
            jar: Some(SharedJar::default()),
            cookies: vec![cookie("a", false), cookie("b", true)],
            ..following(9)
        };
        let answers = [
            "302 X\nLocation: /x\nSet-Cookie: a=jar; Path=/\nSet-Cookie: b=jar; Path=/\nSet-Cookie: c=jar; Path=/other",
            "302 X\nLocation: /other\nSet-Cookie: a=; Max-Age=0; Path=/",
            "302 X\nLocation: http://elsewhere/",
        ];
        check(
            request("GET", "http://h/", &[], None),
            settings,
            &answers,
            &expect![[r#"
            http://h/x: GET /x HTTP/1.1
            Host: h
            Cookie: a=own; b=own; a=jar
            Referer: http://h/
            http://h/other: GET /other HTTP/1.1
            Host: h
            Cookie: a=own; b=own; c=jar
            Referer: http://h/x
            http://elsewhere/: GET / HTTP/1.1
            Host: elsewhere
            Cookie: a=own; b=own
            Referer: http://h/other
        "#]],
        );
    }

    #[test]
    fn a_challenge_is_answered_once() {
        let settings = ExchangeSettings { is_digest: true, ..following(9) };
        let challenge =
            "401 X\nWWW-Authenticate: Basic\nwww-authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"";
        check(
            request("GET", "http://u:p@h/x", &[], None),
            settings,
            &[challenge, challenge],
            &expect![[r#"
            http://h/x: GET /x HTTP/1.1
            Host: h
            Authorization: Digest username="u", realm="r", nonce="n", uri="/x", response="98cd82810c5614290d8c30ada4037ed5", algorithm=MD5, qop=auth, nc=00000001, cnonce="nonce"
            Done
        "#]],
        );
        let settings = ExchangeSettings { is_digest: true, ..following(9) };
        check(
            request("GET", "http://u:p@h/x", &[], None),
            settings,
            &["302 X\nLocation: http://other/", challenge],
            &expect![[r#"
            http://other/: GET / HTTP/1.1
            Host: other
            Referer: http://h/x
            Done
        "#]],
        );
        let settings = ExchangeSettings { is_digest: true, ..following(9) };
        check(
            request("GET", "http://u:p@h/x", &[], None),
            settings,
            &["401 X", "200 OK"],
            &expect![[r#"
            Done
            Done
        "#]],
        );
    }
}
