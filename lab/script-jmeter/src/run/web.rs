//! What a user keeps between requests: cookies, cached responses; and its credentials.

use crate::plan::{Group, HttpSampler};
use crate::run::address::Addresses;
use crate::run::context::Context;
use crate::run::header_fields::HeaderFields;
use crate::run::request::Request;
use crate::run::shared::Clock;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_http_session::date;
use prony_http_session::headers::ResponseHead;
use prony_http_session::jar::CookieJar;
use prony_http_session::set_cookie::{SetCookie, append_pair};
use prony_http_session::url::Url;
use rustc_hash::FxHashMap;

/// By the group's managers.
#[derive(Debug, Default)]
pub(crate) struct Web {
    pub(crate) addresses: Addresses,
    jars: Vec<CookieJar>,
    caches: Vec<FxHashMap<String, Cached>>,
    cache_settings: Vec<(bool, usize)>,
}

/// What is known of a response that may be asked about.
#[derive(Debug, Clone, Default)]
struct Cached {
    etag: Option<String>,
    last_modified: Option<String>,
    /// Milliseconds since 1970.
    fresh_until_ms: i64,
}

impl Web {
    /// A user without anything but the cookies that the plan gives it.
    pub(crate) fn new(group: &Group, context: &mut Context<'_>) -> Self {
        let mut web = Self {
            addresses: Addresses::default(),
            jars: Vec::new(),
            caches: group.caches.iter().map(|_| FxHashMap::default()).collect(),
            cache_settings: group
                .caches
                .iter()
                .map(|cache| (cache.uses_expires, cache.entries_max))
                .collect(),
        };
        for at in 0..group.cookies.len() {
            web.jars.push(own_jar(group, at, context));
        }
        web
    }

    /// A pass of the group's loop begins; true where the user's connections are to be new too.
    pub(crate) fn begin_pass(&mut self, group: &Group, is_first: bool, context: &mut Context<'_>) -> bool {
        let is_new_user = !group.is_same_user && !is_first;
        for (at, manager) in group.cookies.iter().enumerate() {
            let is_cleared = if manager.follows_group { is_new_user } else { manager.is_cleared_each_pass };
            if is_cleared {
                self.jars[at] = own_jar(group, at, context);
            }
        }
        for (cache, manager) in self.caches.iter_mut().zip(&group.caches) {
            if if manager.follows_group { is_new_user } else { manager.is_cleared_each_pass } {
                cache.clear();
            }
        }
        is_new_user
    }

    /// The value of `Cookie`.
    pub(crate) fn cookies(&mut self, manager: Option<usize>, url: &Url, clock: &Clock) -> String {
        let mut header = String::new();
        if let Some(jar) = manager.and_then(|at| self.jars.get_mut(at)) {
            for (name, value) in jar.cookies_for(url, clock.now_ms()) {
                append_pair(&mut header, &name, &value);
            }
        }
        header
    }

    pub(crate) fn take_cookies(
        &mut self,
        manager: Option<usize>,
        url: &Url,
        head: ResponseHead<'_>,
        clock: &Clock,
    ) {
        if let Some(jar) = manager.and_then(|at| self.jars.get_mut(at)) {
            let now_ms = clock.now_ms();
            head.cookies().for_each(|cookie| jar.set(url, &cookie, now_ms));
        }
    }

    // ---- cached responses

    /// True where a response is kept that needs not be asked for.
    pub(crate) fn is_cached(&self, manager: Option<usize>, request: &Request, clock: &Clock) -> bool {
        let cached = manager.and_then(|at| self.caches.get(at)?.get(&**request.url_text()));
        request.method == "GET" && cached.is_some_and(|cached| cached.fresh_until_ms > clock.now_ms())
    }

    /// What asks for a response only if it has changed, by any method as JMeter does; none where none is kept.
    pub(crate) fn conditions(&self, manager: Option<usize>, request: &Request) -> Option<HeaderFields> {
        let cached = manager.and_then(|at| self.caches.get(at)?.get(&**request.url_text()))?;
        let mut fields = HeaderFields::default();
        let conditions = [("If-Modified-Since", &cached.last_modified), ("If-None-Match", &cached.etag)];
        for (name, value) in conditions {
            if let Some(value) = value {
                fields.push(name, value);
            }
        }
        Some(fields)
    }

    pub(crate) fn take_cache(
        &mut self,
        manager: Option<usize>,
        request: &Request,
        status: u16,
        head: ResponseHead<'_>,
        clock: &Clock,
    ) {
        let Some(at) = manager.filter(|_| request.method == "GET" && (200..300).contains(&status)) else {
            return;
        };
        let Some((uses_expires, entries_max)) = self.cache_settings.get(at).copied() else { return };
        let text = |name| head.first(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let control = text("cache-control").unwrap_or_default().to_ascii_lowercase();
        if control.contains("no-store") {
            return;
        }
        let max_age =
            control.split(',').find_map(|part| part.trim().strip_prefix("max-age=")?.parse::<i64>().ok());
        let expires = text("expires").and_then(|value| date::parse_http_date(&value));
        let has_expires = text("expires").is_some();
        let last_modified = text("last-modified");
        let now_ms = clock.now_ms();
        let fresh_until_ms = match (uses_expires && !control.contains("no-cache"), max_age, has_expires) {
            (false, ..) => 0,
            (true, Some(seconds), _) => now_ms.saturating_add(seconds.saturating_mul(1_000)),
            (true, None, true) => expires.unwrap_or(0),
            (true, None, false) => now_ms + unsaid_age_ms(last_modified.as_deref(), text("date").as_deref()),
        };
        let cached = Cached { etag: text("etag"), last_modified, fresh_until_ms };
        let is_useful =
            cached.etag.is_some() || cached.last_modified.is_some() || has_expires || !control.is_empty();
        let cache = &mut self.caches[at];
        if is_useful && (cache.len() < entries_max || cache.contains_key(&**request.url_text())) {
            cache.insert(request.url_text().to_string(), cached);
        }
    }
}

/// How long a response is fresh that does not say it, as JMeter has it: a tenth of its age, or a year where that is not known.
fn unsaid_age_ms(last_modified: Option<&str>, date: Option<&str>) -> i64 {
    const YEAR_MS: i64 = 365 * 86_400_000;
    let read = |text: Option<&str>| text.and_then(date::parse_http_date);
    match (read(last_modified), read(date)) {
        (Some(last_modified), Some(date)) => (date - last_modified) / 10,
        _ => YEAR_MS,
    }
}

/// The value of `Authorization` of a request that a manager has basic credentials for.
pub(crate) fn basic(http: &HttpSampler, url: &Url, context: &mut Context<'_>) -> Option<String> {
    let mut of_basic = http.credentials.iter().filter(|credentials| !credentials.is_digest).peekable();
    of_basic.peek()?;
    for credentials in of_basic {
        let begin = credentials.url.value(context);
        if is_below(url, begin.trim()) {
            let pair = format!("{}:{}", credentials.user.value(context), credentials.password.value(context));
            return Some(format!("Basic {}", STANDARD.encode(pair)));
        }
    }
    None
}

/// Whether a URL begins so; the scheme's own port may be written or left out.
pub(crate) fn is_below(url: &Url, begin: &str) -> bool {
    if url.without_user().starts_with(begin) {
        return true;
    }
    let port = if url.is_tls() { ":443" } else { ":80" };
    let mut other = url.clone();
    other.host = match url.host.strip_suffix(port) {
        Some(host) => host.to_owned(),
        None => url.host.clone() + port,
    };
    // With another port of its own it would have two.
    other.host_name() == url.host_name() && other.without_user().starts_with(begin)
}

/// A jar with the cookies that the plan gives.
fn own_jar(group: &Group, at: usize, context: &mut Context<'_>) -> CookieJar {
    let mut jar = CookieJar::default();
    for cookie in &group.cookies[at].cookies {
        let [name, value, domain, path] =
            [&cookie.name, &cookie.value, &cookie.domain, &cookie.path].map(|text| text.value(context));
        let host = domain.trim_start_matches('.');
        let scheme = if cookie.is_secure { "https" } else { "http" };
        let Ok(url) = Url::parse(&format!("{scheme}://{host}/")) else { continue };
        let path = if path.is_empty() { "/".to_owned() } else { path };
        let domain = if cookie.is_for_subdomains { host.to_owned() } else { String::new() };
        let set =
            SetCookie { name, value, domain, path, is_secure: cookie.is_secure, ..SetCookie::default() };
        jar.set(&url, &set, context.shared.clock.now_ms());
    }
    jar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_scheme_may_be_written_or_left_out() {
        let check = |url: &str, begin: &str, expected: bool| {
            assert_eq!(is_below(&Url::parse(url).unwrap(), begin), expected, "{url} {begin}");
        };
        check("http://h/a?b", "http://h/a", true);
        check("http://h/a", "http://h:80/", true);
        check("http://h:80/a", "http://h/a", true);
        check("https://h/a", "https://h:443/a", true);
        check("https://[::1]/a", "https://[::1]:443/", true);
        check("http://h:8080/a", "http://h:8080:80/", false);
        check("http://h/a", "http://h:443/", false);
        check("http://h/a", "http://other/", false);
    }
}
