//! A plan out of a bare URL: one GET request, again and again.

use prony_load_model::target::TargetError;
use prony_load_model::{LoadModel, PlanDraft, RequestDraft, Target};

/// Of `http://host/path?query`; the path is the request's, so that it is seen in results.
pub fn plan_for_url(url: &str, load: LoadModel) -> Result<PlanDraft, TargetError> {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    // The path of a Unix-domain socket is no path of a request.
    let is_unix = url[after_scheme..].starts_with("unix:");
    let path_at = match url[after_scheme..].find(['/', '?']) {
        Some(at) if !is_unix => after_scheme + at,
        _ => url.len(),
    };
    let (origin, path) = url.split_at(path_at);
    let target = Target::parse(origin)?;
    let (path, _) = path.split_once('#').unwrap_or((path, ""));
    let slash = if path.starts_with('/') { "" } else { "/" };
    // A URL has no slots.
    let path = format!("{slash}{path}").replace("${", "$${");
    let mut draft = PlanDraft::new(target.host(), target.clone(), load);
    draft.requests = vec![RequestDraft::get(&format!("GET {path}"), &path)];
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load_model::Nanos;

    #[test]
    fn path_and_query_are_the_requests() {
        let load = || LoadModel::constant(1, Nanos::from_secs(1));
        for (url, target, path) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "/"),
            ("http://h/a/b?c=d#e", "http://h", "/a/b?c=d"),
            ("http://h?q=${x}", "http://h", "/?q=$${x}"),
            ("http://unix:/run/a.sock:/v1", "http://unix:/run/a.sock:/v1", "/"),
        ] {
            let draft = plan_for_url(url, load()).unwrap();
            assert_eq!(draft.requests[0].path, path, "{url}");
            assert_eq!(draft.targets[0].target.to_string(), target, "{url}");
            assert!(draft.check().is_ok(), "{url}");
        }
        assert!(plan_for_url("ftp://h/", load()).is_err());
    }
}
