//! The gateway's memory over ten million requests, each of one of 100,000 users, who have a token each, with one of 10,000 documents.

use std::{
    fs,
    fs::File,
    io::{BufWriter, Write as _},
};

use crate::{
    process::resident_mb,
    statistics::print_table,
    study::{CONNECTIONS, Study},
    tool::{number_before, pinned},
};

const REQUESTS: f64 = 10_000_000.0;
const USERS: u32 = 100_000;
const DOCUMENTS: u32 = 10_000;
/// Of each run of wrk.
const SECONDS: u32 = 20;

/// Prints resident memory after each tenth of the requests.
pub(crate) fn over_many_requests() {
    let study = Study::new();
    let gateway = study.serve(&study.example.url, &[]);
    let (tokens, script) = (study.folder.path().join("tokens.txt"), study.folder.path().join("users.lua"));
    let mut file = BufWriter::new(File::create(&tokens).expect("a temporary file"));
    for user in 0..USERS {
        writeln!(file, "{}", study.credentials.token_of(user)).expect("room for the tokens");
    }
    file.flush().expect("room for the tokens");
    let mut rows = vec![["requests", "resident MB"].map(str::to_owned).to_vec()];
    let mut row = |done: f64| {
        rows.push(vec![format!("{done:.0}"), format!("{:.1}", resident_mb(gateway.pid()))]);
    };
    row(0.0);
    let (mut done, mut next, mut seed) = (0.0, REQUESTS / 10.0, 0);
    while done < REQUESTS {
        seed += 1;
        let text = format!(
            "tokens, documents, seed = {:?}, {DOCUMENTS}, {seed}\n{RANDOM_USERS}",
            tokens.display().to_string()
        );
        fs::write(&script, text).expect("room for a small file");
        let arguments = [
            "-t1".to_owned(),
            format!("-c{CONNECTIONS}"),
            format!("-d{SECONDS}s"),
            "-s".to_owned(),
            script.display().to_string(),
            format!("{}/graphql", gateway.url),
        ];
        let (text, _) = pinned("wrk", &arguments);
        assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "wrk saw failures:\n{text}");
        done += number_before(&text, " requests in");
        if done >= next.min(REQUESTS) {
            row(done);
            next = done + REQUESTS / 10.0;
        }
    }
    print_table(&rows);
}

/// Documents differ in an alias, and so do their responses.
const RANDOM_USERS: &str = r#"
local bearers = {}
for token in io.lines(tokens) do
  bearers[#bearers + 1] = "Bearer " .. token
end
math.randomseed(seed)
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
function request()
  wrk.headers["authorization"] = bearers[math.random(#bearers)]
  return wrk.format(nil, nil, nil, '{"query":"{ a' .. math.random(documents) .. ': people(first: 4) { id name birthYear } }"}')
end
"#;
