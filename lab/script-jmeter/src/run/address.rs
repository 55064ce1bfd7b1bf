//! URLs of requests, read once: a user's plan asks the same ones again and again.

use crate::run::request_fault::RequestFault;
use prony_http_session::url::Url;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

/// So many of a user's URLs are kept; one that asks more in turns has them read anew.
const KEPT: usize = 4;

/// A URL as samples show it, and what is known of it.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) text: Arc<str>,
    pub(crate) url: Url,
    /// What stands in the first line of a request.
    pub(crate) request_target: String,
    target: OnceLock<usize>,
}

impl Address {
    pub(crate) fn new(text: &str, url: Url) -> Self {
        let request_target = written(url.request_target());
        Self { text: text.into(), request_target, url, target: OnceLock::new() }
    }

    /// The index of what is asked, which `find` gives once.
    pub(crate) fn target(
        &self,
        find: impl FnOnce(&Url) -> Result<usize, RequestFault>,
    ) -> Result<usize, RequestFault> {
        match self.target.get() {
            Some(target) => Ok(*target),
            None => find(&self.url).map(|target| *self.target.get_or_init(|| target)),
        }
    }
}

/// As JMeter's client writes what is asked: in ASCII, and one slash where a path has several in a row.
fn written(target: String) -> String {
    if target.is_ascii() && !target.contains("//") {
        return target;
    }
    let path_end = target.find('?').unwrap_or(target.len());
    let mut written = String::with_capacity(target.len());
    for (at, letter) in target.char_indices() {
        if letter == '/' && at < path_end && written.ends_with('/') {
            continue;
        }
        if letter.is_ascii() {
            written.push(letter);
            continue;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

/// The URLs that one user has asked last.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    kept: Vec<Arc<Address>>,
    /// Which of them goes next.
    oldest: usize,
}

impl Addresses {
    /// The address of a text, which `read` reads where it is not known.
    pub(crate) fn of(
        &mut self,
        text: &str,
        read: impl FnOnce(&str) -> Result<Url, RequestFault>,
    ) -> Result<Arc<Address>, RequestFault> {
        if let Some(known) = self.kept.iter().find(|known| *known.text == *text) {
            return Ok(Arc::clone(known));
        }
        let address = Arc::new(Address::new(text, read(text)?));
        if self.kept.len() < KEPT {
            self.kept.push(Arc::clone(&address));
        } else {
            self.kept[self.oldest] = Arc::clone(&address);
            self.oldest = (self.oldest + 1) % KEPT;
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_url_that_was_asked_lately_is_not_read_again() {
        let reads = Cell::new(0);
        let mut addresses = Addresses::default();
        let mut ask = |number: usize| {
            let address = addresses.of(&format!("http://h{number}/a?b"), |text| {
                reads.set(reads.get() + 1);
                Ok(Url::parse(text).unwrap())
            });
            let address = address.unwrap();
            assert_eq!((&*address.request_target, address.url.host_name()), ("/a?b", &*format!("h{number}")));
            reads.get()
        };
        assert_eq!([0, 1, 2, 3, 0, 3].map(&mut ask), [1, 2, 3, 4, 4, 4]);
        assert_eq!([4, 1, 0, 2, 3].map(&mut ask), [5, 5, 6, 6, 6], "the oldest goes first");
    }

    #[test]
    fn what_is_asked_is_written_in_ascii_with_single_slashes() {
        let target = |text: &str| Address::new(text, Url::parse(text).unwrap()).request_target;
        assert_eq!(target("http://h//a///b//?c=//é&ü=%20"), "/a/b/?c=//%C3%A9&%C3%BC=%20");
        assert_eq!(target("http://h/é?😀"), "/%C3%A9?%F0%9F%98%80");
        assert_eq!(["http://h/a/../b?", "http://h"].map(target), ["/a/../b?", "/"]);
    }

    #[test]
    fn what_is_asked_is_looked_up_once_it_is_found() {
        let address = Address::new("http://h/", Url::parse("http://h/").unwrap());
        let fault = || RequestFault::new("java.net.ConnectException", "no room");
        assert_eq!(address.target(|_| Err(fault())), Err(fault()));
        assert_eq!(address.target(|_| Ok(7)), Ok(7));
        assert_eq!(address.target(|_| Err(fault())), Ok(7));
    }
}
