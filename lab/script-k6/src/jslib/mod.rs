//! Our own answers to the libraries that scripts commonly import by URL.
//!
//! Each is a short text of JavaScript; what is large is native, because every user of a script has a copy of the text.

mod addresses;
mod csv_rows;
mod html_report;
mod junit;
mod native;
mod records;

pub(crate) use native::{MODULES, NATIVES};
pub(crate) use records::{RecordsError, RecordsOptions, records};

/// A library, answered whatever host and version a script names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library {
    /// The full name of the module that answers.
    pub name: &'static str,
    /// What it is called in URLs: a folder, a package with a version (`papaparse@5`), or a file without its endings.
    url_names: &'static [&'static str],
    version: Version,
}

/// What must stand beside the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Any,
    /// The name is so common a word that it means the library only with some version.
    Needed,
    Begins(&'static str),
}

/// The libraries that are answered.
pub(crate) const LIBRARIES: &[Library] = &[
    Library { name: "jslib:k6-summary@0.0", url_names: &["k6-summary"], version: Version::Begins("0.0.") },
    Library { name: "jslib:k6-summary", url_names: &["k6-summary"], version: Version::Any },
    Library { name: "jslib:k6-utils", url_names: &["k6-utils"], version: Version::Any },
    Library { name: "jslib:papaparse", url_names: &["papaparse"], version: Version::Any },
    Library { name: "jslib:uuid", url_names: &["uuid"], version: Version::Needed },
    Library { name: "jslib:url", url_names: &["url"], version: Version::Needed },
    Library { name: "jslib:formdata", url_names: &["formdata"], version: Version::Needed },
    Library { name: "jslib:totp", url_names: &["totp"], version: Version::Needed },
    Library { name: "jslib:k6-reporter", url_names: &["k6-reporter"], version: Version::Any },
];

/// The library that a URL names.
pub(crate) fn library(url: &str) -> Option<&'static Library> {
    let (_, rest) = url.split_once("://")?;
    let (_, path) = rest.split(['?', '#']).next()?.split_once('/')?;
    let parts: Vec<String> = path.split('/').map(str::to_ascii_lowercase).collect();
    LIBRARIES.iter().find(|library| {
        parts.iter().enumerate().any(|(index, part)| {
            library.url_names.iter().any(|name| names(part, parts.get(index + 1), name, library.version))
        })
    })
}

/// True where a part of a path is the name of a library.
fn names(part: &str, next: Option<&String>, name: &str, version: Version) -> bool {
    if let Some((package, given)) = part.split_once('@') {
        return package == name && version.admits(Some(given));
    }
    let stem = part.trim_end_matches(".js").trim_end_matches(".mjs").trim_end_matches(".min");
    let is_file = version == Version::Any && stem == name;
    is_file || part == name && version.admits(next.map(String::as_str))
}

impl Version {
    fn admits(self, given: Option<&str>) -> bool {
        let number = given.map(|given| given.trim_start_matches('v'));
        match self {
            Self::Any => true,
            Self::Needed => number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit())),
            Self::Begins(start) => number.is_some_and(|number| number.starts_with(start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(library(url).map(|library| library.name), expected, "{url}");
    }

    #[test]
    fn urls_name_libraries_whatever_their_host_and_version() {
        check("https://jslib.k6.io/k6-summary/0.0.1/index.js", Some("jslib:k6-summary@0.0"));
        check("https://jslib.k6.io/k6-summary/0.1.0/index.js", Some("jslib:k6-summary"));
        check("https://jslib.k6.io/k6-utils/1.4.0/index.js", Some("jslib:k6-utils"));
        check("https://jslib.k6.io/papaparse/5.1.1/index.js", Some("jslib:papaparse"));
        check("https://unpkg.com/papaparse@5.4.1/papaparse.min.js", Some("jslib:papaparse"));
        check(
            "https://cdnjs.cloudflare.com/ajax/libs/PapaParse/5.4.1/papaparse.min.js",
            Some("jslib:papaparse"),
        );
        check("https://jslib.k6.io/uuid/1.0.0/index.js", Some("jslib:uuid"));
        check("https://unpkg.com/uuid@8.3.2/dist/esm-browser/index.js", Some("jslib:uuid"));
        check("https://jslib.k6.io/url/1.0.0/index.js", Some("jslib:url"));
        check("https://jslib.k6.io/formdata/0.0.2/index.js", Some("jslib:formdata"));
        check(
            "https://raw.githubusercontent.com/benc-uk/k6-reporter/main/dist/bundle.js",
            Some("jslib:k6-reporter"),
        );
        check(
            "https://raw.githubusercontent.com/benc-uk/k6-reporter/latest/dist/bundle.js?x=1",
            Some("jslib:k6-reporter"),
        );
    }

    #[test]
    fn common_words_in_other_urls_name_nothing() {
        check("https://example.com/url/helpers.js", None);
        check("https://example.com/my/uuid/index.js", None);
        check("https://jslib.k6.io/aws/0.11.0/aws.js", None);
        check("https://papaparse.com", None);
        check("./papaparse.js", None);
    }
}
