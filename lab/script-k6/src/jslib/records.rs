//! Records of a CSV text as `k6/experimental/csv` gives them: lines from one to another, as lists or as objects by the first line.

use super::csv_rows::{Config, rows};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordsOptions {
    /// One character.
    delimiter: String,
    skip_first_line: bool,
    /// From 0.
    from_line: Option<i64>,
    /// The last, from 0.
    to_line: Option<i64>,
    as_objects: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordsError {
    #[error("the options of the CSV parser make no sense: {0}")]
    Options(serde_json::Error),
    #[error("the 'fromLine' option must be greater than or equal to 0")]
    FromNegative,
    #[error("the 'fromLine' option must be less than or equal to the 'toLine' option")]
    FromBeyondTo,
    #[error("the '{0}' and 'asObjects' options are mutually exclusive")]
    WithObjects(&'static str),
    #[error("line {line} of the CSV file: {message}")]
    Text { line: usize, message: &'static str },
}

/// Each as JSON.
pub(crate) fn records(text: &str, options: &RecordsOptions) -> Result<Vec<Box<str>>, RecordsError> {
    let (from, to) = (options.from_line.unwrap_or(0), options.to_line.unwrap_or(i64::MAX));
    if from < 0 {
        return Err(RecordsError::FromNegative);
    }
    if from > to {
        return Err(RecordsError::FromBeyondTo);
    }
    if options.as_objects && options.skip_first_line {
        return Err(RecordsError::WithObjects("skipFirstLine"));
    }
    if options.as_objects && from > 0 {
        return Err(RecordsError::WithObjects("fromLine"));
    }
    let config = serde_json::json!({ "delimiter": options.delimiter, "skipEmptyLines": true });
    let config: Config = serde_json::from_value(config).map_err(RecordsError::Options)?;
    let found = rows(text.strip_prefix('\u{feff}').unwrap_or(text), &config);
    if let Some(error) = found.errors.iter().find(|error| error.kind == "Quotes") {
        return Err(RecordsError::Text { line: error.row.unwrap_or(0) + 1, message: error.message });
    }
    let line = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    let skipped = line(from.max(i64::from(options.skip_first_line || options.as_objects)));
    let header = found.rows.first().filter(|_| options.as_objects);
    let wanted = found.rows.iter().enumerate().skip(skipped);
    let wanted = wanted.take_while(|(number, _)| *number <= line(to)).map(|(_, row)| match header {
        None => serde_json::to_string(row),
        Some(header) => {
            let members = header.iter().zip(row);
            let object: Map<_, _> =
                members.map(|(name, value)| (name.to_string(), Value::from(&**value))).collect();
            serde_json::to_string(&object)
        }
    });
    Ok(wanted.map(|json| json.expect("texts are JSON").into_boxed_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &str, expected: Result<&str, &str>) {
        let defaults =
            r#"{"delimiter":",","skipFirstLine":false,"fromLine":null,"toLine":null,"asObjects":false}"#;
        let mut all: Value = serde_json::from_str(defaults).unwrap();
        let given: Map<String, Value> = serde_json::from_str(options).unwrap();
        all.as_object_mut().unwrap().extend(given);
        let text = "name,age\nAda,36\n\n\"Li, Wu\",4\nZoë,1\n";
        let text = if all["delimiter"] == ";" { text.replace(',', ";") } else { text.to_owned() };
        let found = records(&text, &serde_json::from_value(all).unwrap());
        let found = found.map(|records| records.join(" ")).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{options}");
    }

    #[test]
    fn lines_are_chosen_as_k6_chooses_them() {
        check("{}", Ok(r#"["name","age"] ["Ada","36"] ["Li, Wu","4"] ["Zoë","1"]"#));
        check(r#"{"skipFirstLine":true}"#, Ok(r#"["Ada","36"] ["Li, Wu","4"] ["Zoë","1"]"#));
        check(r#"{"fromLine":2}"#, Ok(r#"["Li, Wu","4"] ["Zoë","1"]"#));
        check(r#"{"fromLine":1,"toLine":2}"#, Ok(r#"["Ada","36"] ["Li, Wu","4"]"#));
        check(r#"{"toLine":1,"skipFirstLine":true,"delimiter":";"}"#, Ok(r#"["Ada","36"]"#));
        check(r#"{"asObjects":true,"toLine":1}"#, Ok(r#"{"name":"Ada","age":"36"}"#));
        check(r#"{"fromLine":-1}"#, Err("the 'fromLine' option must be greater than or equal to 0"));
        let beyond = "the 'fromLine' option must be less than or equal to the 'toLine' option";
        check(r#"{"fromLine":3,"toLine":2}"#, Err(beyond));
        let both = "the 'skipFirstLine' and 'asObjects' options are mutually exclusive";
        check(r#"{"asObjects":true,"skipFirstLine":true}"#, Err(both));
    }
}
