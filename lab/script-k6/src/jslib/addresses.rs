//! Parts of URLs for the library `url`, as the WHATWG's standard cuts and changes them.

use url::{Url, form_urlencoded, quirks};

/// The whole address, resolved against a base.
pub(super) fn parse(text: &str, base: Option<&str>) -> Result<String, String> {
    let parsed = match base {
        Some(base) => Url::parse(base).and_then(|base| base.join(text)),
        None => Url::parse(text),
    };
    parsed.map(String::from).map_err(|error| format!("Invalid URL: {text}: {error}"))
}

/// A part of an address by its name in scripts.
pub(super) fn part(address: &str, name: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let part = match name {
        "protocol" => quirks::protocol(&url),
        "username" => quirks::username(&url),
        "password" => quirks::password(&url),
        "host" => quirks::host(&url),
        "hostname" => quirks::hostname(&url),
        "port" => quirks::port(&url),
        "pathname" => quirks::pathname(&url),
        "search" => quirks::search(&url),
        "hash" => quirks::hash(&url),
        "origin" => return Some(quirks::origin(&url)),
        _ => return None,
    };
    Some(part.to_owned())
}

/// The address with another part; as it is where it cannot have such a one.
pub(super) fn with_part(address: &str, name: &str, value: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return address.to_owned() };
    // What cannot be set is left as it is, as in browsers.
    let _unchanged = match name {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Ok(()),
    };
    url.into()
}

/// Names and values of a query.
pub(super) fn query_pairs(query: &str) -> Vec<Vec<String>> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    pairs.map(|(name, value)| vec![name.into_owned(), value.into_owned()]).collect()
}
