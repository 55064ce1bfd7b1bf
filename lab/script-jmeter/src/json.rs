//! JSON paths as plans write them, for Jayway's library, on one that follows RFC 9535.

use serde_json::Value;
use serde_json_path::JsonPath;
use std::fmt::Write as _;

/// A path that was read.
#[derive(Debug)]
pub(crate) struct Path {
    query: JsonPath,
    /// It means one place: `$.a[0].b`.
    pub(crate) is_definite: bool,
    /// As it was written, without `.length()`.
    text: String,
    /// The number of elements is asked for.
    is_length: bool,
}

impl Path {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let written = text.trim();
        let (text, is_length) = match written.strip_suffix(".length()") {
            Some(rest) => (rest, true),
            None => (written, false),
        };
        let rooted = if text.starts_with('$') { text.to_owned() } else { format!("$.{text}") };
        let text = rooted.replace("$.[", "$[");
        let path = JsonPath::parse(&text)
            .map_err(|error| format!("`{written}` is no JSON path that is known here (RFC 9535): {error}"))?;
        let is_definite = !["*", "..", "?", ":", ","].iter().any(|part| text.contains(part));
        Ok(Self { query: path, is_definite, text, is_length })
    }

    /// What it finds; nothing where a definite path leads nowhere.
    pub(crate) fn find(&self, value: &Value) -> Vec<Value> {
        let found: Vec<Value> = self.query.query(value).all().into_iter().cloned().collect();
        if !self.is_length {
            return found;
        }
        let length = |value: &Value| match value {
            Value::Array(list) => Some(list.len()),
            Value::Object(map) => Some(map.len()),
            _ => None,
        };
        found.iter().filter_map(length).map(Value::from).collect()
    }

    /// As Jayway names it where it leads nowhere: `$['a'][0]`.
    pub(crate) fn normalized(&self) -> String {
        let mut out = String::from("$");
        for part in self.text.trim_start_matches('$').split('.').filter(|part| !part.is_empty()) {
            let (name, index) = part.find('[').map_or((part, ""), |at| part.split_at(at));
            if !name.is_empty() {
                let _ = write!(out, "['{name}']");
            }
            out.push_str(&index.replace('"', "'"));
        }
        out
    }
}

/// A value as a variable holds it: texts without quotes.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Vec<String> {
        let value =
            serde_json::from_str(r#"{"a":{"b":[1,2,3]},"n":"x","l":[{"k":"p","v":7},{"k":"q","v":8}]}"#)
                .unwrap();
        Path::read(path).unwrap().find(&value).iter().map(text_of).collect()
    }

    #[test]
    fn paths_of_plans_are_understood() {
        assert_eq!(found("$.n"), ["x"]);
        assert_eq!(found("n"), ["x"]);
        assert_eq!(found("$.a.b[*]"), ["1", "2", "3"]);
        assert_eq!(found("$.a.b.length()"), ["3"]);
        assert_eq!(found("$..v"), ["7", "8"]);
        assert_eq!(found("$.l[?(@.k=='q')].v"), ["8"]);
        assert_eq!(found("$.l[-1].v"), ["8"]);
        assert!(found("$.zz").is_empty());
        assert_eq!(Path::read("$.zz[0].y").unwrap().normalized(), "$['zz'][0]['y']");
        assert!(Path::read("$.a[").unwrap_err().contains("is no JSON path"));
    }
}
