//! A description as JSON, and what its references lead to (OpenAPI 3.1.1, 4.8.23).

use std::{fs, path::Path};

use serde_json::Value;

use crate::DraftError;

/// References that lead to references.
const LONGEST_CHAIN: usize = 32;

/// Parts of one schema; there are few.
const MOST_PARTS: usize = 64;

#[derive(Debug)]
pub(super) struct Document {
    root: Value,
}

impl Document {
    /// JSON, or YAML, of which JSON is a part.
    pub(super) fn read(path: &Path) -> Result<Self, DraftError> {
        let what = path.display().to_string();
        let bytes =
            fs::read(path).map_err(|source| DraftError::Unreadable { path: path.to_owned(), source })?;
        let text =
            String::from_utf8(bytes).map_err(|_| DraftError::malformed(&what, "it is no text in UTF-8"))?;
        let root: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(&text).map_err(|error| DraftError::malformed(&what, error.to_string()))?
        } else {
            // As JSON has them (OpenAPI 3.1.1, 4.2): `y` names a coordinate, and `no` a country.
            let options = serde_saphyr::options! { strict_booleans: true };
            serde_saphyr::from_str_with_options(&text, options)
                .map_err(|error| DraftError::malformed(&what, error.to_string()))?
        };
        // Without quotes, `3.1` is a number.
        let version = |key: &str| match root.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        match (version("openapi"), version("swagger")) {
            (Some(version), _) if version.starts_with("3.") => Ok(Self { root }),
            (None, Some(version)) => {
                let problem = format!("it is Swagger {version}; convert it to OpenAPI 3 first");
                Err(DraftError::malformed(&what, problem))
            }
            (Some(version), _) => Err(DraftError::malformed(
                &what,
                format!("its `openapi` is `{version}`; 3.0, 3.1 and 3.2 are known"),
            )),
            (None, None) => {
                Err(DraftError::malformed(&what, "it has no `openapi: 3.…`, so it is no OpenAPI description"))
            }
        }
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// What a value stands for: itself, or what its `$ref` names. `None` where that is not in this file.
    pub(super) fn resolve<'d>(&'d self, value: &'d Value) -> Option<&'d Value> {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Some(value) };
            let pointer = reference.strip_prefix('#')?;
            let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
            value = self.root.pointer(&pointer)?;
        }
        None
    }

    /// Adds a schema and what holds together with it (`allOf`), each once.
    pub(super) fn parts<'d>(&'d self, schema: &'d Value, found: &mut Vec<&'d Value>) {
        let Some(schema) = self.resolve(schema) else { return };
        if found.len() >= MOST_PARTS || found.iter().any(|known| std::ptr::eq(*known, schema)) {
            return;
        }
        found.push(schema);
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.parts(part, found);
        }
    }
}
