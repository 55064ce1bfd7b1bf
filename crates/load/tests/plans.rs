//! The plans that documents show can be read as they stand.

use prony_load::read_plan;
use std::fs;
use std::path::Path;

#[test]
fn every_example_plan_is_without_mistakes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plans");
    let entries =
        fs::read_dir(directory).expect("the examples are there").map(|entry| entry.expect("readable").path());
    let plans: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(plans.len() >= 2);
    for plan in plans {
        if let Err(error) = read_plan(&plan) {
            panic!("{error}");
        }
    }
}

#[test]
fn the_plan_in_the_document_is_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/run.md")).expect("the document is there");
    let example = fs::read_to_string(root.join("examples/plans/meetups.toml")).expect("the example is there");
    assert!(
        document.contains(&format!("```toml\n{example}```")),
        "docs/run.md shows examples/plans/meetups.toml"
    );
}
