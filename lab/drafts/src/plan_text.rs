//! The text of a draft: TOML as people write plans.

use std::fmt::Write as _;

use crate::{
    draft::{Body, Draft, Request, Step},
    toml_text::{inline, json, key, text, texts},
};

/// So that a first run is gentle: users and time.
const LOAD: &str = "# The load: change it to what you want to know. `prony run --explain` says what it would do.\nusers = 5\nduration = \"30s\"\n";

/// A draft as a text.
#[derive(Debug)]
pub struct Made {
    /// TOML, as plans are written.
    pub plan: String,
    pub requests: usize,
    /// Also written into the plan.
    pub notes: Vec<String>,
}

impl Draft {
    /// `command` is how it was made, for the plan's first line.
    pub fn write(self, command: &str) -> Made {
        Made { plan: of(&self, command), requests: self.requests.len(), notes: self.notes }
    }
}

fn of(draft: &Draft, command: &str) -> String {
    let mut out = format!("# Drafted by `{}`. docs/plans.md says what a plan may hold.\n", comment(command));
    for note in &draft.notes {
        line(&mut out, &format!("# {}", comment(note)));
    }
    entry(&mut out, "name", &text(&draft.name));
    match draft.targets.as_slice() {
        [(_, url)] => entry(&mut out, "target", &text(url)),
        several => {
            let members = several.iter().map(|(name, url)| (name.clone(), text(url)));
            entry(&mut out, "targets", &inline(members));
        }
    }
    out.push_str(LOAD);
    for (key, value) in &draft.settings {
        entry(&mut out, key, value);
    }
    if !draft.headers.is_empty() {
        entry(&mut out, "headers", &texts(&draft.headers));
    }
    if !draft.steps.is_empty() {
        steps(&mut out, draft);
    }
    if !draft.variables.is_empty() {
        out.push_str("\n[variables]\n");
    }
    for variable in &draft.variables {
        line(&mut out, &format!("# {}", comment(&variable.note)));
        entry(&mut out, &variable.name, &variable.value);
    }
    for request in &draft.requests {
        write_request(&mut out, draft, request);
    }
    out
}

fn steps(out: &mut String, draft: &Draft) {
    let step = |step: &Step| {
        let name = text(&draft.requests[step.request].name);
        match step.think_time_ms {
            0 => name,
            wait => format!("{{ request = {name}, think_time = \"{wait}ms\" }}"),
        }
    };
    out.push_str("steps = [\n");
    for each in &draft.steps {
        line(out, &format!("  {},", step(each)));
    }
    out.push_str("]\n");
}

fn write_request(out: &mut String, draft: &Draft, request: &Request) {
    out.push('\n');
    if let Some(note) = &request.note {
        line(out, &format!("# {}", comment(note)));
    }
    out.push_str("[[requests]]\n");
    entry(out, "name", &text(&request.name));
    if request.target > 0 {
        entry(out, "target", &text(&draft.targets[request.target].0));
    }
    let usual = if request.body == Body::None { "GET" } else { "POST" };
    if request.method != usual {
        entry(out, "method", &text(&request.method));
    }
    entry(out, "path", &text(&request.path));
    if !request.headers.is_empty() {
        entry(out, "headers", &texts(&request.headers));
    }
    match &request.body {
        Body::None => {}
        Body::Text(body) => entry(out, "body", &text(body)),
        Body::Json(value) => entry(out, "json", &json(value).unwrap_or_default()),
        Body::Graphql { query, variables, operation_name } => {
            let mut members = vec![("query".to_owned(), text(query))];
            members.extend(operation_name.as_ref().map(|name| ("operation_name".to_owned(), text(name))));
            let variables = variables.as_ref().and_then(json);
            members.extend(variables.map(|variables| ("variables".to_owned(), variables)));
            entry(out, "graphql", &inline(members));
        }
    }
    if !request.expect_status.is_empty() {
        let codes: Vec<String> = request.expect_status.iter().map(u16::to_string).collect();
        entry(out, "expect_status", &format!("[{}]", codes.join(", ")));
    }
    if !request.captures.is_empty() {
        out.push_str("\n[requests.captures]\n");
    }
    for capture in &request.captures {
        let rules = capture.rules.iter().map(|(key, value)| ((*key).to_owned(), text(value)));
        entry(out, &capture.name, &inline(rules));
    }
}

fn entry(out: &mut String, name: &str, value: &str) {
    // Infallible: a text takes everything.
    let _ = writeln!(out, "{} = {value}", key(name));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Nothing in it ends the line.
fn comment(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
