//! The plans, keys and schema that documents show are those of the program. `UPDATE_EXPECT=1` rewrites what is generated.

use expect_test::expect_file;
use prony_load::{RunOptions, explain, plan_keys_markdown, plan_schema, read_plan, run};
use prony_model::WindowKind;
use prony_testkit::peer::{ScriptedPeer, Step};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example_plans() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("examples/plans")).expect("the examples are there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect()
}

#[test]
fn every_example_plan_is_without_mistakes_and_keeps_the_schema() {
    let plans = example_plans();
    assert!(plans.len() >= 7);
    let schema = serde_json::from_str(&plan_schema()).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    for plan in plans {
        if let Err(error) = read_plan(&plan) {
            panic!("{error}");
        }
        let text = fs::read_to_string(&plan).expect("readable");
        let value: toml::Table = toml::from_str(&text).expect("TOML");
        let value = serde_json::to_value(value).expect("without dates a table is JSON");
        if let Err(error) = validator.validate(&value) {
            panic!("{}: {}: {error}", plan.display(), error.instance_path());
        }
    }
}

#[test]
fn the_schema_in_the_documents_is_current() {
    expect_file!["../../../docs/plan.schema.json"].assert_eq(&plan_schema());
}

#[test]
fn the_keys_in_the_document_are_those_that_plans_take() {
    let path = root().join("docs/plans.md");
    let document = fs::read_to_string(&path).expect("the document is there");
    let mut current = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        current += line;
        current += "\n";
        let Some(wanted) = line.strip_prefix("<!-- keys ").and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let (table, groups) = wanted.split_once(' ').expect("a table and its groups");
        let (first, end) = groups.split_once("..").expect("a range");
        let groups = first.parse().expect("a number")..end.parse().expect("a number");
        current += &plan_keys_markdown(table, groups).unwrap_or_else(|| panic!("no table is `{wanted}`"));
        lines.find(|line| *line == "<!-- end -->").expect("the table has an end");
        current += "<!-- end -->\n";
    }
    expect_file!["../../../docs/plans.md"].assert_eq(&current);
}

#[test]
fn the_plan_in_the_document_is_the_example() {
    let document = fs::read_to_string(root().join("docs/plans.md")).expect("the document is there");
    let example = root().join("examples/plans/login-then-browse.toml");
    let example = fs::read_to_string(example).expect("the example is there");
    assert!(
        document.contains(&format!("```toml\n{example}```")),
        "docs/plans.md shows examples/plans/login-then-browse.toml"
    );
    for plan in example_plans() {
        let name = plan.file_name().expect("a file").to_string_lossy().into_owned();
        assert!(document.contains(&format!("examples/plans/{name})")), "docs/plans.md names {name}");
    }
}

#[test]
fn the_explanation_in_the_document_is_what_is_printed() {
    let document = fs::read_to_string(root().join("docs/run.md")).expect("the document is there");
    let plan =
        read_plan(&root().join("examples/plans/unique-users.toml")).expect("the example has no mistakes");
    let explained = explain(&plan);
    assert!(document.contains(&format!("examples/plans/unique-users.toml\n{explained}```")), "{explained}");
}

/// One user of the login example, against a target that answers as the plan expects.
#[test]
fn the_login_example_runs() {
    let answer = |head: &str, body: &str| {
        let text = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        Step::Write(text.into_bytes())
    };
    let answers = [
        answer("200 OK\r\nLocation: /carts/9", r#"{"token":"t1","say":"greeting=hello"}"#),
        answer("200 OK", r#"{"owner":"user1","items":[1]}"#),
        answer("200 OK", ""),
    ];
    let mut script: Vec<_> = answers.into_iter().flat_map(|answer| [Step::ReadRequest, answer]).collect();
    script.push(Step::Repeat);
    let peer = ScriptedPeer::start(vec![vec![Step::ReadToEnd], script]);
    let directory = tempfile::tempdir().expect("a folder");
    let examples = root().join("examples/plans");
    fs::copy(examples.join("accounts.csv"), directory.path().join("accounts.csv")).expect("copied");
    let text = fs::read_to_string(examples.join("login-then-browse.toml")).expect("readable");
    let text = text.replace("http://127.0.0.1:8080", &peer.url()).replace("users = 20", "users = 1");
    let text =
        text.replace("\"1s\"", "\"1ms\"").replace("\"500ms\"", "\"1ms\"").replace("\"1500ms\"", "\"2ms\"");
    let path = directory.path().join("plan.toml");
    fs::write(&path, text).expect("written");
    let plan = read_plan(&path).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() };
    let result = run(&plan, options).expect("it runs");
    let all = &result.window(WindowKind::Whole).expect("there is a whole run").all;
    assert_eq!((all.requests, all.successes), (15, 15));
    assert!(result.counted.checks.iter().all(|check| (check.count.passed, check.count.failed) == (5, 0)));
    assert_eq!(result.counted.feeders[0].count.rows_taken, 1);
    let sent = String::from_utf8(peer.received(1)).expect("text");
    assert!(sent.contains("GET /carts/9?greeting=hello HTTP/1.1"), "{sent}");
}
