//! Whether a response is what a test expects, and the table of all of them.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::file::PermissionTest;

/// What came of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestOutcome {
    pub name: String,
    /// What is not as expected; empty where the test passed.
    pub faults: Vec<String>,
}

/// All that is not as expected.
pub(super) fn faults(test: &PermissionTest, response: &Json) -> Vec<String> {
    let mut faults = Vec::new();
    let errors: Vec<&Json> = response["errors"].as_array().into_iter().flatten().collect();
    let message = |error: &&Json| error["message"].as_str().unwrap_or_default().to_owned();
    let shown = || errors.iter().map(message).collect::<Vec<_>>().join("; ");
    if test.error.is_none() && test.code.is_none() && !errors.is_empty() {
        faults.push(format!("there are errors: {}", shown()));
    }
    if let Some(expected) = &test.error
        && !errors.iter().any(|error| message(error).contains(expected))
    {
        let found =
            if errors.is_empty() { "there is none".to_owned() } else { format!("there is: {}", shown()) };
        faults.push(format!("no error says `{expected}`; {found}"));
    }
    if let Some(expected) = &test.code {
        let codes: Vec<&str> =
            errors.iter().filter_map(|error| error["extensions"]["code"].as_str()).collect();
        if !codes.contains(&expected.as_str()) {
            let found = if codes.is_empty() { "no error".to_owned() } else { codes.join(", ") };
            faults.push(format!("no error has the code {expected}; there is {found}"));
        }
    }
    if let Some(expected) = &test.data
        && !is_same(expected, &response["data"])
    {
        faults.push(format!("the data is {}, not {expected}", response["data"]));
    }
    for (path, expected) in test.rows.iter().flatten() {
        let found = path.split('.').fold(&response["data"], |value, key| &value[key]);
        match found.as_array() {
            Some(items) if items.len() == *expected => {}
            Some(items) => faults.push(format!("`{path}` has {} rows, not {expected}", items.len())),
            None => faults.push(format!("`{path}` is no list")),
        }
    }
    faults
}

/// Equal, but that 1 and 1.0 are one number, and the members of an object have no order.
fn is_same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            let is_there =
                |(key, value): (&String, &Json)| other.get(key).is_some_and(|found| is_same(value, found));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

/// The table of all tests, and how many passed.
pub fn report(outcomes: &[TestOutcome]) -> String {
    let width = outcomes.iter().map(|outcome| outcome.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for TestOutcome { name, faults } in outcomes {
        let word = if faults.is_empty() { "pass" } else { "FAIL" };
        let line = format!("{word}  {name:width$}  {}", faults.first().map_or("", String::as_str));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
        for fault in faults.iter().skip(1) {
            let _ = writeln!(text, "      {:width$}  {fault}", "");
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.faults.is_empty()).count();
    let tests = if outcomes.len() == 1 { "test" } else { "tests" };
    let _ = writeln!(text, "{} {tests}: {} passed, {failed} failed", outcomes.len(), outcomes.len() - failed);
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::permission_tests::PermissionTests;

    #[test]
    fn responses_are_held_against_what_is_expected() {
        let refused = json!({"errors": [{"message": "Cannot query field `x`", "extensions": {"code": "VALIDATION_FAILED"}}]});
        let rows = json!({"data": {"a": [{"id": 1}, {"id": 2}], "b": {"c": []}, "n": null}});
        let mut outcomes = Vec::new();
        for (expected, response) in [
            ("error = \"Cannot query\"\ncode = \"VALIDATION_FAILED\"", &refused),
            ("rows = { a = 2, \"b.c\" = 0 }", &rows),
            ("data = '{\"n\": null, \"b\": {\"c\": []}, \"a\": [{\"id\": 1.0}, {\"id\": 2}]}'", &rows),
            ("data = { a = [] }", &refused),
            ("code = \"FORBIDDEN\"", &refused),
            ("error = \"nothing\"", &rows),
            ("code = \"FORBIDDEN\"", &rows),
            ("rows = { a = 3, n = 0, \"b.d\" = 1 }", &rows),
            ("data = { a = [{ id = 2 }, { id = 1 }] }", &json!({"data": {"a": [{"id": 1}, {"id": 2}]}})),
        ] {
            let text = format!("[[test]]\nname = \"t\"\nquery = \"{{ a }}\"\n{expected}\n");
            let tests = PermissionTests::read(&text).expect("it is right");
            let name = outcomes.len().to_string();
            outcomes.push(TestOutcome { name, faults: faults(&tests.tests[0], response) });
        }
        expect![[r#"
            pass  0
            pass  1
            pass  2
            FAIL  3  there are errors: Cannot query field `x`
                     the data is null, not {"a":[]}
            FAIL  4  no error has the code FORBIDDEN; there is VALIDATION_FAILED
            FAIL  5  no error says `nothing`; there is none
            FAIL  6  no error has the code FORBIDDEN; there is no error
            FAIL  7  `a` has 2 rows, not 3
                     `b.d` is no list
                     `n` is no list
            FAIL  8  the data is {"a":[{"id":1},{"id":2}]}, not {"a":[{"id":2},{"id":1}]}
            9 tests: 3 passed, 6 failed
        "#]]
        .assert_eq(&report(&outcomes));
    }
}
