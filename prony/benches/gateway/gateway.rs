//! The gateway of these measurements, and runs of load against it.

use std::fs;

use prony_model::{Nanos, ResultFile, WindowKind};
use tempfile::TempDir;

use crate::{TARGET_CORE, TOOL_CORE, subject::Subject, tool::prony_result};

/// The study's operations: a name and a text.
pub(crate) const OPERATIONS: [(&str, &str); 3] = [
    ("Q1", include_str!("../../../examples/gateway/q1.graphql")),
    ("Q2", include_str!("../../../examples/gateway/q2.graphql")),
    ("Q3", include_str!("../../../examples/gateway/q3.graphql")),
];

/// Rules that refuse nobody: what is measured is that they are looked at.
const RULES: &str = "[graphql]\nmax_depth = 5\nmax_complexity = 20000\n[auth]\nanonymous = \"reader\"\n[roles.reader]\nunrestricted = true\n\
    [[operation]]\nmatch = \"Query.*\"\nrate_limit = [{ by = \"address\", rate = \"1000000/s\", burst = 100000 }]\n";

/// `prony serve` in front of a backend, on its processor.
pub(crate) struct Gateway {
    pub(crate) subject: Subject,
    _directory: TempDir,
}

impl Gateway {
    /// `more` are further settings of the upstream.
    pub(crate) fn before(backend_url: &str, more: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("prony.toml");
        let source =
            format!("[[source]]\nname = \"backend\"\nupstream = \"{backend_url}/graphql\"\n{more}\n");
        fs::write(&path, [RULES, &source].concat()).expect("room for a small file");
        let configuration = format!("--config={}", path.display());
        let subject = Subject::start(&configuration, &["--cpus", "1"], Some(TARGET_CORE));
        Self { subject, _directory: directory }
    }
}

/// `prony example starwars` beside the load.
pub(crate) fn backend() -> Subject {
    Subject::example("starwars", &["--cpus", "1"], Some(TOOL_CORE))
}

/// Posts an operation for some seconds; `load` are lines of the plan.
pub(crate) fn run(url: &str, query: &str, load: &str) -> ResultFile {
    run_with(url, query, "", load)
}

/// As [`run`], with one more header, as TOML has an entry of a table.
pub(crate) fn run_with(url: &str, query: &str, header: &str, load: &str) -> ResultFile {
    let body = serde_json::json!({ "query": query }).to_string();
    // A text of TOML without escapes.
    assert!(!body.contains("'''"), "such a body would have to be escaped");
    let separator = if header.is_empty() { "" } else { ", " };
    let plan = format!(
        "name = \"gateway\"\ntarget = \"{url}\"\n{load}\n[[requests]]\nname = \"operation\"\nmethod = \"POST\"\npath = \"/graphql\"\n\
         headers = {{ \"content-type\" = \"application/json\"{separator}{header} }}\nbody = '''{body}'''\n"
    );
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a temporary file");
    fs::write(file.path(), plan).expect("room for a small file");
    let (result, _) = prony_result(&[file.path().display().to_string()]);
    let whole = &result.window(WindowKind::Whole).expect("a result always holds the whole run").all;
    assert_eq!(whole.successes, whole.requests, "{:?}", whole.outcomes);
    result
}

/// A percentile of the response time of a whole run, in ms.
pub(crate) fn percentile_ms(result: &ResultFile, percentile: f64) -> f64 {
    let whole = &result.window(WindowKind::Whole).expect("a result always holds the whole run").all;
    whole.response_time.percentile(percentile).map_or(f64::NAN, Nanos::as_millis_f64)
}
