//! What `prony --version` says: the version, the commit where it is known, and whether pages and documentation were built in.

use std::sync::LazyLock;

/// Without the program's name, which clap puts before it.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let has_pages = prony_server::HAS_CONSOLE && prony_report::has_pages();
    described(
        env!("CARGO_PKG_VERSION"),
        env!("PRONY_BUILT_COMMIT"),
        Parts { pages: has_pages, documentation: prony_site::pages().is_ok() },
    )
});

/// What a build makes with Node.js, where that is there.
#[derive(Debug, Clone, Copy)]
struct Parts {
    pages: bool,
    documentation: bool,
}

fn described(version: &str, commit: &str, parts: Parts) -> String {
    let commit = if commit.is_empty() { String::new() } else { format!("{commit}; ") };
    let pages = if parts.pages { "pages" } else { "no pages" };
    let documentation = if parts.documentation { "documentation" } else { "no documentation" };
    format!("{version} ({commit}{pages}, {documentation})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_its_commit_and_says_what_is_missing() {
        let all = Parts { pages: true, documentation: true };
        assert_eq!(described("0.1.0", "20a712f57c1e", all), "0.1.0 (20a712f57c1e; pages, documentation)");
        assert_eq!(described("0.1.0", "", all), "0.1.0 (pages, documentation)");
        let none = Parts { pages: false, documentation: false };
        assert_eq!(described("0.1.0", "", none), "0.1.0 (no pages, no documentation)");
    }
}
