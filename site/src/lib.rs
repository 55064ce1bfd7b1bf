//! The documentation as pages: the project's documents, made into a site by `VitePress` (`.vitepress/config.mts`) and compressed into the program.

mod serve;

use std::io::{self, Read as _};

use flate2::read::GzDecoder;

pub use serve::serve;

/// A file of the site.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// From the site's root, as in `/docs/run.html`.
    pub path: &'static str,
    pub content_type: &'static str,
    /// Its content, compressed (RFC 1952).
    pub gzip: &'static [u8],
}

impl Page {
    /// Its content.
    pub fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        GzDecoder::new(self.gzip).read_to_end(&mut content)?;
        Ok(content)
    }
}

/// All files, or why this program was built without them.
pub fn pages() -> Result<&'static [Page], &'static str> {
    PAGES
}

/// Of a path as browsers ask for it: `/` is the first page, and pages may be named without `.html`.
pub(crate) fn page(pages: &'static [Page], path: &str) -> Option<&'static Page> {
    let named = |name: &str| pages.iter().find(|page| page.path == name);
    if path.ends_with('/') {
        return named(&format!("{path}index.html"));
    }
    named(path).or_else(|| named(&format!("{path}.html")))
}

static PAGES: Result<&[Page], &str> = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn pages_are_found_by_the_names_by_which_browsers_ask() {
        let one = |path| Page { path, content_type: "text/html", gzip: b"" };
        let pages: &'static [Page] =
            Box::leak(Box::new([one("/index.html"), one("/docs/run.html"), one("/assets/a.js")]));
        let found = |path| page(pages, path).map(|page| page.path);
        assert_eq!(found("/"), Some("/index.html"));
        assert_eq!(found("/docs/run"), Some("/docs/run.html"));
        assert_eq!(found("/docs/run.html"), Some("/docs/run.html"));
        assert_eq!(found("/assets/a.js"), Some("/assets/a.js"));
        assert_eq!(found("/docs/"), None);
        assert_eq!(found("/docs/ru"), None);
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let text = "a page, ".repeat(10_000);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        let gzip = Box::leak(encoder.finish().unwrap().into_boxed_slice());
        let page = Page { path: "/", content_type: "text/html", gzip };
        assert_eq!(page.content().unwrap(), text.as_bytes());
    }
}
