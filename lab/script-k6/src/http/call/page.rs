//! What a thread knows of the URLs that its users ask for, so that a URL seen before costs a look-up.

use crate::http::fault::RequestFault;
use crate::http::settings::HttpOptions;
use prony_http_session::headers::{Headers, ResponseHead};
use prony_http_session::request::Request;
use prony_http_session::url::Url;
use prony_model::plan::target::{Endpoint, Scheme, Target};
use prony_model::program::table::{TARGETS_MAX, Tables};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// URLs that a thread keeps; with more of them it begins anew. A script that puts ids into URLs would fill the memory.
const PAGES_MAX: usize = 4_096;
/// Longer URLs are read each time.
const PAGE_URL_BYTES_MAX: usize = 2_048;

/// A URL and all that is made of it.
#[derive(Debug)]
pub(crate) struct Page {
    pub url: Rc<Url>,
    /// As the script wrote it, or the name that it gave with `http.url`.
    pub written: Rc<str>,
    /// Tags `name` and `url`.
    pub name: Rc<str>,
    /// Index under which its requests are counted, found when the first of them is: a call may have a name of its own, and names of a
    /// result are few.
    request: OnceCell<usize>,
    /// Index of the target, or why there is none.
    pub target: Result<usize, RequestFault>,
    /// A request by GET without parameters and cookies.
    pub get_text: Box<[u8]>,
}

impl Page {
    pub(crate) fn request(&self, tables: &Tables) -> usize {
        *self.request.get_or_init(|| tables.name(&self.name))
    }
}

/// The pages of a thread.
#[derive(Debug)]
pub(crate) struct Pages {
    pub options: Arc<HttpOptions>,
    /// What each request has.
    pub headers: Rc<Headers>,
    known: FxHashMap<Rc<str>, Rc<Page>>,
    /// Indices of the names that tags give.
    named: FxHashMap<Box<str>, usize>,
}

impl Pages {
    pub(crate) fn new(options: Arc<HttpOptions>) -> Self {
        let mut headers = Headers::default();
        headers.set("User-Agent", &options.user_agent);
        Self { options, headers: Rc::new(headers), known: FxHashMap::default(), named: FxHashMap::default() }
    }

    #[inline]
    pub(crate) fn get(&mut self, tables: &Tables, url: &str) -> Result<Rc<Page>, RequestFault> {
        if let Some(page) = self.known.get(url) {
            return Ok(Rc::clone(page));
        }
        let page = Rc::new(self.read(tables, url)?);
        if url.len() <= PAGE_URL_BYTES_MAX {
            if self.known.len() >= PAGES_MAX {
                self.known.clear();
            }
            self.known.insert(Rc::clone(&page.written), Rc::clone(&page));
        }
        Ok(page)
    }

    /// The index under which requests of this name are counted.
    pub(crate) fn index_of(&mut self, tables: &Tables, name: &str) -> usize {
        if let Some(index) = self.named.get(name) {
            return *index;
        }
        let index = tables.name(name);
        if self.named.len() < PAGES_MAX {
            self.named.insert(name.into(), index);
        }
        index
    }

    fn read(&self, tables: &Tables, text: &str) -> Result<Page, RequestFault> {
        let url = Url::parse(text).map_err(|error| RequestFault::invalid_url(&error.to_string()))?;
        let name = if url.user.is_some() { url.masked() } else { text.to_owned() };
        Ok(self.page(tables, url, text, &name))
    }

    /// A page that is not kept: of a redirect, or with a name of its own.
    pub(crate) fn page(&self, tables: &Tables, url: Url, written: &str, name: &str) -> Page {
        let url = Rc::new(url);
        let request = Request {
            method: "GET".into(),
            url: Rc::clone(&url),
            headers: Headers::clone(&self.headers),
            host: None,
            body: None,
        };
        let target = request.check().map_err(RequestFault::from).and_then(|()| target_of(tables, &url));
        let mut text = Vec::new();
        if target.is_ok() {
            request.write(&mut text, self.options.has_fresh_connections);
        }
        Page {
            request: OnceCell::new(),
            url,
            written: written.into(),
            name: name.into(),
            target,
            get_text: text.into(),
        }
    }
}

/// The index of what a request to this URL is sent to.
pub(crate) fn target_of(tables: &Tables, url: &Url) -> Result<usize, RequestFault> {
    let port = url.port().unwrap_or_default();
    let scheme = if url.is_tls() { Scheme::Https } else { Scheme::Http };
    let endpoint = Endpoint::Tcp { host: url.host_name().to_owned(), port };
    let target = Target { scheme, endpoint, path_prefix: String::new(), channel: None };
    let index = tables.targets.index_of(target);
    index.ok_or_else(|| {
        RequestFault::local(format!(
            "{} is one target more than the {TARGETS_MAX} that a run can have; ask fewer hosts",
            url.host
        ))
    })
}

/// What of an answer's head decides how it is read. Answers of one kind have the same head for a second, as long as
/// `Date` does, so most are known at one comparison.
#[derive(Debug, Default)]
pub(crate) struct HeadMemo {
    head: Vec<u8>,
    facts: HeadFacts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeadFacts {
    pub sets_cookies: bool,
    pub is_encoded: bool,
}

impl HeadMemo {
    pub(crate) fn read(&mut self, head: &[u8]) -> HeadFacts {
        if self.head != head {
            self.head.clear();
            self.head.extend_from_slice(head);
            let head = ResponseHead::new(head);
            self.facts = HeadFacts {
                sets_cookies: head.first("set-cookie").is_some(),
                is_encoded: head.first("content-encoding").is_some(),
            };
        }
        self.facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_once_and_strange_ones_say_why() {
        let tables = Tables::default();
        let mut pages = Pages::new(Arc::default());
        let page = pages.get(&tables, "http://u:p@h:81/a?b#c").unwrap();
        assert!(Rc::ptr_eq(&page, &pages.get(&tables, "http://u:p@h:81/a?b#c").unwrap()));
        assert_eq!(&*page.name, "http://****:****@h:81/a?b#c");
        let target = tables.targets.get(page.target.clone().unwrap()).unwrap();
        assert_eq!(*target, Target::new("h", 81));
        let text = String::from_utf8_lossy(&page.get_text);
        assert!(text.starts_with("GET /a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: prony/"), "{text}");
        assert_eq!(pages.get(&tables, "http://a b/").unwrap_err().code, 1020);
        let page = pages.get(&tables, "/path").unwrap();
        assert_eq!(page.target.clone().unwrap_err().short, "unsupported protocol scheme \"\"");
    }

    #[test]
    fn only_what_is_counted_under_its_url_has_it_as_a_name() {
        let tables = Tables::default();
        let mut pages = Pages::new(Arc::default());
        let page = pages.get(&tables, "http://h/1").unwrap();
        assert_eq!((pages.index_of(&tables, "named"), pages.index_of(&tables, "named")), (1, 1));
        assert_eq!((page.request(&tables), page.request(&tables)), (2, 2));
        let names: Vec<_> = tables.names.all().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["(other)", "named", "http://h/1"]);
    }

    #[test]
    fn pages_and_targets_are_bounded() {
        let tables = Tables::default();
        let mut pages = Pages::new(Arc::default());
        for number in 0..=PAGES_MAX {
            pages.get(&tables, &format!("http://h{}/{number}", number % (TARGETS_MAX + 1))).unwrap();
        }
        assert_eq!(pages.known.len(), 1);
        let page = pages.get(&tables, &format!("http://h{TARGETS_MAX}/")).unwrap();
        assert!(page.target.clone().unwrap_err().short.contains("1000 that a run can have"));
    }

    #[test]
    fn heads_are_remembered() {
        let mut memo = HeadMemo::default();
        let plain = b"HTTP/1.1 200 OK\r\nDate: x\r\n\r\n";
        assert_eq!(memo.read(plain), HeadFacts::default());
        let facts = memo.read(b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nCONTENT-ENCODING: gzip\r\n\r\n");
        assert_eq!(facts, HeadFacts { sets_cookies: true, is_encoded: true });
        assert_eq!(memo.read(plain), HeadFacts::default());
    }
}
