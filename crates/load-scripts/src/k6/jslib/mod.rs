//! Our own answers to the libraries that scripts commonly import by URL.

/// A library, answered whatever host and version a script names.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// The full name of the module that answers.
    pub name: &'static str,
    /// What it is called in URLs: a folder, a package with a version (`papaparse@5`), or a file without its endings.
    url_names: &'static [&'static str],
    /// True where the name is so common a word that a version must stand beside it.
    needs_version: bool,
}

/// The libraries that are answered.
pub const LIBRARIES: &[Library] = &[
    Library { name: "jslib:k6-summary", url_names: &["k6-summary"], needs_version: false },
    Library { name: "jslib:k6-utils", url_names: &["k6-utils"], needs_version: false },
    Library { name: "jslib:papaparse", url_names: &["papaparse"], needs_version: false },
    Library { name: "jslib:uuid", url_names: &["uuid"], needs_version: true },
    Library { name: "jslib:url", url_names: &["url"], needs_version: true },
    Library { name: "jslib:formdata", url_names: &["formdata"], needs_version: true },
    Library { name: "jslib:k6-reporter", url_names: &["k6-reporter"], needs_version: false },
];

/// The library that a URL names.
pub fn library(url: &str) -> Option<&'static Library> {
    let (_, rest) = url.split_once("://")?;
    let (_, path) = rest.split(['?', '#']).next()?.split_once('/')?;
    let parts: Vec<String> = path.split('/').map(str::to_ascii_lowercase).collect();
    LIBRARIES.iter().find(|library| {
        parts.iter().enumerate().any(|(index, part)| {
            library
                .url_names
                .iter()
                .any(|name| names(part, parts.get(index + 1), name, library.needs_version))
        })
    })
}

/// True where a part of a path is the name of a library.
fn names(part: &str, next: Option<&String>, name: &str, needs_version: bool) -> bool {
    if let Some((package, _version)) = part.split_once('@') {
        return package == name;
    }
    let is_version = |part: &String| part.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    if needs_version {
        return part == name && next.is_some_and(is_version);
    }
    let stem = part.trim_end_matches(".js").trim_end_matches(".mjs").trim_end_matches(".min");
    part == name || stem == name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(library(url).map(|library| library.name), expected, "{url}");
    }

    #[test]
    fn urls_name_libraries_whatever_their_host_and_version() {
        check("https://jslib.k6.io/k6-summary/0.0.1/index.js", Some("jslib:k6-summary"));
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
