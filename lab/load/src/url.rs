//! A URL that takes a plan's place: where it leads, what it asks for, and one GET of it as a plan.

use prony_model::plan::target::TargetError;
use prony_model::{LoadModel, PlanDraft, RequestDraft, Target};

/// Where a URL leads, and the path that requests ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// As typed.
    pub text: String,
    /// Without a path.
    pub target: Target,
    /// With the query, without the fragment.
    pub path: String,
}

/// Why a text is no URL that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the path of `{url}` has spaces or control characters; write them as %20 and the like")]
    Path { url: String },
}

impl Url {
    /// Whether a text is meant as a URL, and not as a file.
    pub fn is_one(text: &str) -> bool {
        text.contains("://")
    }

    /// `http://host/path?query`; of a Unix-domain socket `http://unix:/run/app.sock:/path`.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let after_scheme = text.find("://").map_or(0, |at| at + 3);
        let rest = &text[after_scheme..];
        let path_at = match rest.strip_prefix("unix:") {
            Some(socket) => socket.find(':').map(|at| (at + 5, at + 6)),
            None => rest.find(['/', '?', '#']).map(|at| (at, at)),
        };
        let (authority_end, path_start) = path_at.unwrap_or((rest.len(), rest.len()));
        let target = Target::parse(&text[..after_scheme + authority_end])?;
        let path = rest[path_start..].split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(UrlError::Path { url: text.to_owned() });
        }
        Ok(Self { text: text.to_owned(), target, path })
    }

    /// For result files.
    pub fn name(&self) -> String {
        format!("{}{}", self.target.authority(), self.path.split('?').next().unwrap_or_default())
    }

    /// One GET request, again and again. Its name holds the path, so that it is seen in results.
    pub fn plan(&self, load: LoadModel) -> PlanDraft {
        let mut draft = PlanDraft::new(&self.name(), self.target.clone(), load);
        draft.requests = vec![RequestDraft::get(&format!("GET {}", self.path), &literal(&self.path))];
        draft
    }
}

/// A text in which a plan sees no slots.
pub fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use prony_model::Nanos;

    fn check(text: &str, expected: &Expect) {
        let shown = match Url::parse(text) {
            Ok(url) => format!("{} | {} | {}", url.target, url.path, url.name()),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn urls_fall_into_target_and_path() {
        check("http://host", &expect!["http://host | / | host/"]);
        check("https://host:8443/a/?b=c/d#e", &expect!["https://host:8443 | /a/?b=c/d | host:8443/a/"]);
        check("http://host?q", &expect!["http://host | /?q | host/"]);
        check("http://[::1]:80/x/", &expect!["http://[::1] | /x/ | [::1]/x/"]);
        check(
            "http://unix:/run/app.sock:/api/",
            &expect!["http://unix:/run/app.sock | /api/ | localhost/api/"],
        );
        check("http://unix:/run/app.sock", &expect!["http://unix:/run/app.sock | / | localhost/"]);
        check(
            "http://host/a b",
            &expect![
                "the path of `http://host/a b` has spaces or control characters; write them as %20 and the like"
            ],
        );
        check(
            "http://:80/",
            &expect!["target `http://:80` has no usable host; write for example `http://127.0.0.1:8080`"],
        );
        check("ftp://host/", &expect!["target `ftp://host` must start with `http://` or `https://`"]);
    }

    #[test]
    fn a_url_asks_for_its_path_as_it_stands() {
        let draft = Url::parse("http://h?q=${x}").unwrap().plan(LoadModel::constant(1, Nanos::from_secs(1)));
        assert_eq!(draft.requests[0].name, "GET /?q=${x}");
        let plan = draft.check().unwrap();
        assert_eq!(plan.requests()[0].path.fixed_text(), Some(b"/?q=${x}".as_slice()));
    }
}
