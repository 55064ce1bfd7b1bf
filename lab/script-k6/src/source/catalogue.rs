//! The modules of k6 by name, and what becomes of those that we do not have.

use std::fmt;

/// Whether a script can use a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Works,
    /// It will come.
    NotYet,
    /// It will not come; the reason.
    Never(&'static str),
    /// k6 itself has it no more; what to use.
    Gone(&'static str),
    /// k6 has no such module either.
    Unknown,
}

impl State {
    /// One or two words, as `--check` prints them.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::NotYet => "not yet",
            Self::Never(_) => "never",
            Self::Gone(_) => "gone",
            Self::Unknown => "unknown",
        }
    }
}

/// What to tell of a module that does not work.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("works"),
            Self::NotYet => f.write_str("not yet: it belongs to a later tier of k6's modules"),
            Self::Never(reason) => write!(f, "never: {reason}"),
            Self::Gone(instead) => write!(f, "gone, in k6 too: {instead}"),
            Self::Unknown => f.write_str("unknown: k6 has no module of this name"),
        }
    }
}

/// True for what k6 never looks for among files.
pub(crate) fn is_builtin(specifier: &str) -> bool {
    specifier == "k6" || specifier.starts_with("k6/")
}

/// What becomes of a module that is not built in.
pub(crate) fn absent(specifier: &str) -> State {
    match specifier {
        "k6/browser" => State::Never("it drives a browser; measure the page's requests instead"),
        "k6/cloud" => State::Never("it belongs to a paid service"),
        "k6/experimental/browser" => State::Gone("k6/browser took its place"),
        "k6/experimental/grpc" => State::Gone("use k6/net/grpc"),
        "k6/experimental/timers" => State::Gone("timers are global functions; remove the import"),
        "k6/experimental/tracing" => State::Gone("set the headers of `traceparent` yourself"),
        "k6/experimental/webcrypto" => State::Gone("`crypto` is global; remove the import"),
        _ if specifier.starts_with("k6/x/") => State::Never("extensions are compiled into k6's own program"),
        _ if KNOWN.contains(&specifier) => State::NotYet,
        _ => State::Unknown,
    }
}

/// The modules that k6 has and we mean to have.
const KNOWN: &[&str] = &[
    "k6",
    "k6/crypto",
    "k6/crypto/x509",
    "k6/data",
    "k6/encoding",
    "k6/execution",
    "k6/experimental/csv",
    "k6/experimental/fs",
    "k6/experimental/redis",
    "k6/experimental/streams",
    "k6/experimental/websockets",
    "k6/html",
    "k6/http",
    "k6/metrics",
    "k6/net/grpc",
    "k6/secrets",
    "k6/timers",
    "k6/websockets",
    "k6/ws",
];

/// The module that a misspelt one probably means.
pub(crate) fn similar(specifier: &str) -> Option<&'static str> {
    let distance = |known: &&str| strsim::damerau_levenshtein(known, specifier);
    KNOWN.iter().copied().min_by_key(distance).filter(|known| distance(known) <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_of_k6_has_a_state() {
        let words = |names: &[&str]| names.iter().map(|name| absent(name).word()).collect::<Vec<_>>();
        assert_eq!(words(&["k6/net/grpc", "k6/experimental/csv", "k6/secrets", "k6/http"]), ["not yet"; 4]);
        assert_eq!(words(&["k6/browser", "k6/x/sql", "k6/cloud"]), ["never"; 3]);
        assert_eq!(words(&["k6/experimental/tracing"]), ["gone"]);
        assert_eq!(words(&["k6/htpp"]), ["unknown"]);
        assert_eq!(similar("k6/htpp"), Some("k6/http"));
        assert_eq!(similar("k6/something"), None);
    }
}
