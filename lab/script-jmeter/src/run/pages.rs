//! What a page embeds: the URLs that a browser would fetch for it.

use prony_http_session::url::Url;
use scraper::{Html, Selector};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Tags, and the attribute that names what is fetched, as JMeter's parser knows them.
static SELECTORS: LazyLock<Vec<(Selector, &str)>> = LazyLock::new(|| {
    let all = [
        ("img[src]", "src"),
        ("script[src]", "src"),
        ("link[rel~=stylesheet][href], link[rel~=icon][href], link[rel~=preload][href]", "href"),
        ("input[type=image][src]", "src"),
        ("body[background], table[background], td[background], tr[background]", "background"),
        ("embed[src], iframe[src], frame[src], bgsound[src]", "src"),
        ("object[data]", "data"),
        ("applet[code]", "code"),
    ];
    all.into_iter().filter_map(|(text, attribute)| Some((Selector::parse(text).ok()?, attribute))).collect()
});

/// In the page's order, each once.
pub(crate) fn embedded(page: &str, base: &Url) -> Vec<Url> {
    let document = Html::parse_document(page);
    let named = Selector::parse("base[href]").ok();
    let named =
        named.as_ref().and_then(|selector| document.select(selector).next()).and_then(|tag| tag.attr("href"));
    let base =
        named.and_then(|text| Url::parse(text).ok()).map_or_else(|| base.clone(), |url| base.resolve(&url));
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for node in document.root_element().descendants() {
        let Some(element) = scraper::ElementRef::wrap(node) else { continue };
        for (_, attribute) in SELECTORS.iter().filter(|(selector, _)| selector.matches(&element)) {
            let text = element.attr(attribute).unwrap_or_default().trim().replace(' ', "%20");
            let Some(url) = Url::parse(&text).ok().filter(|_| !text.is_empty()).map(|url| base.resolve(&url))
            else {
                continue;
            };
            if matches!(url.scheme.as_str(), "http" | "https") && known.insert(url.to_string()) {
                found.push(url);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_would_fetch_is_found_once() {
        let page = "<html><head><link rel=stylesheet href=/c.css><link rel=next href=/no><link rel=preload href=/p></head><body background=b.png>\
                    <img src='a b.png'><img src=/c.css><script src=https://x/y.js></script><a href=/no>x</a>\
                    <img src='data:image/png;base64,x'></body></html>";
        let urls = embedded(page, &Url::parse("http://h/dir/page?q").unwrap());
        let urls: Vec<_> = urls.iter().map(ToString::to_string).collect();
        assert_eq!(
            urls,
            [
                "http://h/c.css",
                "http://h/p",
                "http://h/dir/b.png",
                "http://h/dir/a%20b.png",
                "https://x/y.js"
            ]
        );
    }
}
