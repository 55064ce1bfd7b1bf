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
    /// They are read one by one: a faulty one is a text that says so in its place.
    #[serde(default)]
    is_streamed: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordsError {
    #[error("the options of the CSV parser make no sense: {0}")]
    Options(serde_json::Error),
    #[error("the 'fromLine' option must be greater than or equal to 0")]
    FromNegative,
    #[error("the 'fromLine' option must be less than the 'toLine' option")]
    FromBeyondTo,
    #[error("the '{0}' and 'asObjects' options are mutually exclusive")]
    WithObjects(&'static str),
    #[error("line {line} of the CSV file: {message}")]
    Text { line: usize, message: &'static str },
    #[error("record {record}: it has {fields} fields, and the first one has {width}")]
    Width { record: usize, fields: usize, width: usize },
}

/// Each as JSON.
pub(crate) fn records(text: &str, options: &RecordsOptions) -> Result<Vec<Box<str>>, RecordsError> {
    let from = options.from_line.unwrap_or(0);
    // As in k6, where 0 is no end.
    let to = options.to_line.filter(|to| *to != 0).unwrap_or(i64::MAX);
    if from < 0 {
        return Err(RecordsError::FromNegative);
    }
    if options.from_line.zip(options.to_line).is_some_and(|(from, to)| from >= to) || to < 0 {
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
    let width = found.rows.first().map_or(0, Vec::len);
    let read = found.rows.iter().enumerate().take_while(|(number, _)| *number <= line(to));
    let mut records = Vec::new();
    for (number, row) in read {
        let json = if row.len() != width {
            let error = RecordsError::Width { record: number + 1, fields: row.len(), width };
            if !options.is_streamed {
                return Err(error);
            }
            serde_json::to_string(&error.to_string())
        } else if let Some(header) = header {
            let members = header.iter().zip(row);
            let object: Map<_, _> =
                members.map(|(name, value)| (name.to_string(), Value::from(&**value))).collect();
            serde_json::to_string(&object)
        } else {
            serde_json::to_string(row)
        };
        if number >= skipped {
            records.push(json.expect("texts are JSON").into_boxed_str());
        }
    }
    Ok(records)
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
        check(
            r#"{"toLine":0,"fromLine":null}"#,
            Ok(r#"["name","age"] ["Ada","36"] ["Li, Wu","4"] ["Zoë","1"]"#),
        );
        let beyond = "the 'fromLine' option must be less than the 'toLine' option";
        check(r#"{"fromLine":3,"toLine":2}"#, Err(beyond));
        check(r#"{"fromLine":2,"toLine":2}"#, Err(beyond));
        let both = "the 'skipFirstLine' and 'asObjects' options are mutually exclusive";
        check(r#"{"asObjects":true,"skipFirstLine":true}"#, Err(both));
    }

    /// Go's reader wants as many fields in each record as in the first.
    #[test]
    fn a_record_of_another_length_is_a_fault() {
        let read = |more: &str| {
            let options = format!(
                r#"{{"delimiter":",","skipFirstLine":false,"fromLine":null,"asObjects":true,{more}}}"#
            );
            let found = records("a,b\n1,2\n3\n4,5\n", &serde_json::from_str(&options).unwrap());
            found.map(|records| records.join(" ")).map_err(|error| error.to_string())
        };
        let fault = "record 3: it has 1 fields, and the first one has 2";
        let (first, last) = (r#"{"a":"1","b":"2"}"#, r#"{"a":"4","b":"5"}"#);
        assert_eq!(read(r#""toLine":null"#), Err(fault.to_owned()));
        assert_eq!(read(r#""toLine":1"#), Ok(first.to_owned()));
        assert_eq!(read(r#""toLine":null,"isStreamed":true"#), Ok(format!("{first} \"{fault}\" {last}")));
    }
}
