//! Resident memory of the engine: at rest, and over a million requests, half of them with texts that it has
//! never seen, so that the plan cache is full and churning.

use crate::{
    data, drivers, process,
    queries::{QUERIES, wrk_script},
    statistics::print_table,
    subject::Subject,
};

const REQUESTS: f64 = 1_000_000.0;
const HTTP_CONNECTIONS: u32 = 32;
const SECONDS: u32 = 10;

/// Prints resident memory after each tenth of the requests.
pub(crate) fn flat() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let subject = Subject::start(&data::sqlite_source(), &[], None);
    let known = drivers::script_file(folder.path(), "known.lua", &wrk_script(QUERIES[0].graphql));
    let unknown = drivers::script_file(folder.path(), "unknown.lua", UNKNOWN_TEXTS);
    let mut rows = vec![vec!["requests".to_owned(), "resident MB".to_owned()]];
    let mut row = |requests: f64| {
        rows.push(vec![format!("{requests:.0}"), format!("{:.1}", process::resident_mb(subject.pid()))]);
    };
    row(0.0);
    let (mut done, mut next) = (0.0, REQUESTS / 10.0);
    while done < REQUESTS {
        for script in [&known, &unknown] {
            let per_second = drivers::wrk(&subject.graphql_url(), script, HTTP_CONNECTIONS, SECONDS);
            done += per_second * f64::from(SECONDS);
        }
        if done >= next {
            row(done);
            next = done + REQUESTS / 10.0;
        }
    }
    print_table(&rows);
}

/// Each request has an alias of its own, so that no text comes twice.
const UNKNOWN_TEXTS: &str = r#"
local count = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  count = count + 1
  return wrk.format(nil, nil, nil, '{"query":"{ a' .. count .. ': venues(limit: 5) { id name } }"}')
end
"#;
