//! The file of tests: TOML, checked whole.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// A file of tests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionTests {
    /// Whether mutations are made; they change the sources of the configuration.
    #[serde(default)]
    pub mutations: bool,
    #[serde(rename = "test", default)]
    pub tests: Vec<PermissionTest>,
}

/// A request and what must come of it: at least one of the last four.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionTest {
    pub name: String,
    /// The role of who asks; with claims, the one that is chosen of them. Without both the request has no credentials.
    pub role: Option<String>,
    /// Variables of the session, where there are no claims.
    #[serde(default)]
    pub session: Map<String, Json>,
    /// Where there are no claims.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// As a token has them.
    pub claims: Option<Map<String, Json>>,
    pub query: String,
    #[serde(default)]
    pub variables: Map<String, Json>,
    /// Which of several operations.
    pub operation: Option<String>,
    /// The data, exactly; a text is JSON, which has null.
    pub data: Option<Json>,
    /// How many items lists have, by their paths: `orders`, `customer.orders`.
    pub rows: Option<BTreeMap<String, usize>>,
    /// A part of the message of one of the errors.
    pub error: Option<String>,
    /// The code of one of the errors.
    pub code: Option<String>,
}

/// What is wrong with a file of tests.
#[derive(Debug, thiserror::Error)]
pub enum TestsFault {
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("test `{name}` {message}")]
    Test { name: String, message: &'static str },
    #[error("there are no tests: write [[test]]")]
    Empty,
}

impl PermissionTests {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it, with the place where it stands.
    pub fn read(text: &str) -> Result<Self, TestsFault> {
        let mut read: Self = toml::from_str(text)?;
        if read.tests.is_empty() {
            return Err(TestsFault::Empty);
        }
        for test in &mut read.tests {
            let fault = |message| TestsFault::Test { name: test.name.clone(), message };
            let says_nothing =
                test.data.is_none() && test.rows.is_none() && test.error.is_none() && test.code.is_none();
            if says_nothing {
                return Err(fault("expects nothing: write `data`, `rows`, `error` or `code`"));
            }
            if test.claims.is_some() && !(test.session.is_empty() && test.scopes.is_empty()) {
                return Err(fault(
                    "has claims, which say what is in the session; leave `session` and `scopes` out",
                ));
            }
            if test.role.is_none() && !(test.session.is_empty() && test.scopes.is_empty()) {
                return Err(fault("has a session of nobody: write `role`"));
            }
            if let Some(Json::String(text)) = &test.data {
                let parsed = serde_json::from_str(text);
                test.data = Some(parsed.map_err(|_| fault("has a text for `data` that is no JSON"))?);
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_is_right() {
        let text = include_str!("../../../../docs/access.md");
        let (_, block) =
            text.split_once("<!-- tests.toml -->\n```toml\n").expect("there is a block of tests");
        let (block, _) = block.split_once("```").expect("the block ends");
        assert_eq!(PermissionTests::read(block).expect("it is right").tests.len(), 3);
    }

    #[test]
    fn files_are_checked_whole() {
        let read = |text: &str| PermissionTests::read(text).map_err(|fault| fault.to_string());
        let whole =
            "[[test]]\nname = \"a\"\nrole = \"r\"\nsession = { \"user.id\" = 1 }\nquery = \"{ a }\"\n";
        let tests =
            read(&format!("{whole}data = '{{\"a\": null}}'\nrows = {{ a = 1 }}")).expect("it is right");
        assert_eq!(tests.tests[0].data, Some(serde_json::json!({"a": null})));
        assert!(!tests.mutations);
        for (text, expected) in [
            ("", "there are no tests"),
            (whole, "expects nothing"),
            ("[[test]]\nname = \"a\"\nquery = \"{ a }\"\nrow = { a = 1 }", "unknown field `row`"),
            ("[[test]]\nquery = \"{ a }\"\ncode = \"X\"", "missing field `name`"),
            ("[[test]]\nname = \"a\"\nquery = \"{ a }\"\ndata = \"{\"", "no JSON"),
            ("[[test]]\nname = \"a\"\nsession = { a = 1 }\nquery = \"{ a }\"\ncode = \"X\"", "write `role`"),
            (
                "[[test]]\nname = \"a\"\nclaims = {}\nscopes = [\"s\"]\nquery = \"{ a }\"\ncode = \"X\"",
                "has claims",
            ),
        ] {
            let fault = read(text).expect_err("there is a fault");
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
