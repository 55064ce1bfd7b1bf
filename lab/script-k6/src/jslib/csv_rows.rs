//! Rows of CSV text as papaparse finds them: quotes anywhere a field begins, delimiters guessed, faults told and read on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is tried where no delimiter is given, in this order.
const GUESSED_DELIMITERS: [&str; 6] = [",", "\t", "|", ";", "\u{1e}", "\u{1f}"];
/// The rows that a guess looks at.
const GUESSED_ROWS: usize = 10;
/// The beginning of a text in which the ends of lines are looked for.
const GUESSED_BYTES: usize = 1 << 20;

/// The part of papaparse's configuration that finds rows; other keys are passed over.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Config {
    delimiter: Option<String>,
    delimiters_to_guess: Option<Vec<String>>,
    newline: Option<String>,
    quote_char: Option<String>,
    escape_char: Option<String>,
    /// A text, or true for `#`.
    comments: Value,
    preview: usize,
    /// True, or `greedy` for those of blanks too.
    skip_empty_lines: Value,
    skip_first_n_lines: usize,
    header: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            delimiter: None,
            delimiters_to_guess: None,
            newline: None,
            quote_char: None,
            escape_char: None,
            comments: Value::Null,
            preview: 0,
            skip_empty_lines: Value::Null,
            skip_first_n_lines: 0,
            header: false,
        }
    }
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are papaparse's names")]
pub(super) struct Rows<'t> {
    pub(super) rows: Vec<Vec<std::borrow::Cow<'t, str>>>,
    pub(super) errors: Vec<RowError>,
    pub(super) meta: Meta,
}

/// A fault in the text; what follows it was read all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RowError {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) code: &'static str,
    pub(super) message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) row: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<usize>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Meta {
    pub(super) delimiter: String,
    pub(super) linebreak: String,
    pub(super) aborted: bool,
    /// True where `preview` ended it.
    pub(super) truncated: bool,
    pub(super) cursor: usize,
}

/// All rows, the header among them.
pub(super) fn rows<'t>(text: &'t str, config: &Config) -> Rows<'t> {
    let text = skipped(text.strip_prefix('\u{feff}').unwrap_or(text), config.skip_first_n_lines);
    let quote = config.quote_char.as_deref().unwrap_or("\"");
    let newline = config.newline.clone().unwrap_or_default();
    let newline = match newline.as_str() {
        "\n" | "\r" | "\r\n" => newline,
        _ => guess_newline(text, quote).to_owned(),
    };
    let comment = match &config.comments {
        Value::Bool(true) => Some("#"),
        Value::String(mark) if !mark.is_empty() => Some(mark.as_str()),
        _ => None,
    };
    let limit = if config.preview == 0 { usize::MAX } else { config.preview + usize::from(config.header) };
    let mut reader = RowReader {
        text,
        delimiter: "",
        newline: &newline,
        quote,
        escape: config.escape_char.as_deref().unwrap_or(quote),
        comment,
        limit,
    };
    let given = config.delimiter.as_deref().filter(|given| !given.is_empty());
    let mut guess_failed = false;
    reader.delimiter = match given {
        Some("\r" | "\n" | "\"" | "\u{feff}") => ",",
        Some(given) => given,
        None => guess_delimiter(&reader, config).unwrap_or_else(|| {
            guess_failed = true;
            ","
        }),
    };
    let (mut rows, mut errors, cursor, truncated) = reader.read();
    if guess_failed {
        errors.push(RowError {
            kind: "Delimiter",
            code: "UndetectableDelimiter",
            message: "Unable to auto-detect delimiting character; defaulted to ','",
            row: None,
            index: None,
        });
    }
    rows.retain(|row| !is_skipped(row, &config.skip_empty_lines));
    let delimiter = reader.delimiter.to_owned();
    let meta = Meta { delimiter, linebreak: newline.clone(), aborted: false, truncated, cursor };
    Rows { rows, errors, meta }
}

fn skipped(text: &str, lines: usize) -> &str {
    (0..lines).fold(text, |text, _| text.split_once('\n').map_or("", |(_, rest)| rest))
}

fn is_skipped<T: AsRef<str>>(row: &[T], setting: &Value) -> bool {
    match setting {
        Value::String(greedy) if greedy == "greedy" => {
            row.iter().all(|field| field.as_ref().trim().is_empty())
        }
        Value::Bool(true) | Value::String(_) => row.len() == 1 && row[0].as_ref().is_empty(),
        _ => false,
    }
}

/// What ends most lines outside of quotes.
fn guess_newline(text: &str, quote: &str) -> &'static str {
    let mut end = text.len().min(GUESSED_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let outside: String = text[..end].split(quote).step_by(2).collect();
    let returns: Vec<&str> = outside.split('\r').collect();
    let first_line = outside.split('\n').next().unwrap_or_default();
    let has_newlines = first_line.len() < outside.len();
    if returns.len() == 1 || (has_newlines && first_line.len() < returns[0].len()) {
        return "\n";
    }
    let pairs = returns.iter().filter(|part| part.starts_with('\n')).count();
    if pairs * 2 >= returns.len() { "\r\n" } else { "\r" }
}

/// The delimiter whose rows differ least in their number of fields; at least two on average.
fn guess_delimiter<'a>(reader: &RowReader<'_, 'a>, config: &'a Config) -> Option<&'a str> {
    let tried: Vec<&'a str> = match &config.delimiters_to_guess {
        Some(given) => given.iter().map(String::as_str).collect(),
        None => GUESSED_DELIMITERS.to_vec(),
    };
    let mut best: Option<(&str, usize, f64)> = None;
    for delimiter in tried {
        let (rows, ..) = RowReader { delimiter, limit: GUESSED_ROWS, ..*reader }.read();
        let counts: Vec<usize> =
            rows.iter().filter(|row| !is_skipped(row, &config.skip_empty_lines)).map(Vec::len).collect();
        if counts.is_empty() {
            continue;
        }
        let differences = counts.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
        let average = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        let is_better =
            best.is_none_or(|(_, least, widest)| differences <= least && average > widest) && average > 1.99;
        if is_better {
            best = Some((delimiter, differences, average));
        }
    }
    best.map(|(delimiter, ..)| delimiter)
}

/// Where the text is cut.
#[derive(Debug, Clone, Copy)]
struct RowReader<'t, 'c> {
    text: &'t str,
    delimiter: &'c str,
    newline: &'c str,
    quote: &'c str,
    escape: &'c str,
    comment: Option<&'c str>,
    /// The most rows that are read.
    limit: usize,
}

type Row<'t> = Vec<std::borrow::Cow<'t, str>>;

/// What stands after a field.
enum After {
    Field,
    Row,
    End,
}

impl<'t> RowReader<'t, '_> {
    /// Rows, faults, where reading ended, and whether by the limit.
    fn read(&self) -> (Vec<Row<'t>>, Vec<RowError>, usize, bool) {
        let (mut rows, mut errors, mut row) = (Vec::new(), Vec::new(), Row::new());
        let mut at = 0;
        if self.text.is_empty() {
            return (rows, errors, 0, false);
        }
        loop {
            if row.is_empty()
                && let Some(next) = self.after_comment(at)
            {
                at = next;
                if at == self.text.len() {
                    return (rows, errors, at, false);
                }
                continue;
            }
            let (field, end, after) = self.field(at, rows.len(), &mut errors);
            row.push(field);
            at = end;
            match after {
                After::Field => continue,
                After::Row => rows.push(std::mem::take(&mut row)),
                After::End => {
                    rows.push(row);
                    return (rows, errors, self.text.len(), false);
                }
            }
            if rows.len() >= self.limit {
                return (rows, errors, at, true);
            }
        }
    }

    /// Where the line after a comment begins, or the text ends. None where no comment begins.
    fn after_comment(&self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        let line = || rest.find(self.newline).map_or(rest.len(), |end| end + self.newline.len());
        rest.starts_with(self.comment?).then(|| at + line())
    }

    fn field(
        &self,
        at: usize,
        row: usize,
        errors: &mut Vec<RowError>,
    ) -> (std::borrow::Cow<'t, str>, usize, After) {
        let rest = &self.text[at..];
        if !self.quote.is_empty() && rest.starts_with(self.quote) {
            return self.quoted(at + self.quote.len(), row, errors);
        }
        let line = rest.find(self.newline).unwrap_or(rest.len());
        if let Some(end) = rest[..line].find(self.delimiter) {
            return (rest[..end].into(), at + end + self.delimiter.len(), After::Field);
        }
        let after = if line == rest.len() { After::End } else { After::Row };
        (rest[..line].into(), at + line + self.newline.len(), after)
    }

    /// A field after its opening quote.
    fn quoted(
        &self,
        start: usize,
        row: usize,
        errors: &mut Vec<RowError>,
    ) -> (std::borrow::Cow<'t, str>, usize, After) {
        let fault = |code, message| RowError {
            kind: "Quotes",
            code,
            message,
            row: Some(row),
            index: Some(start - self.quote.len()),
        };
        let mut search = start;
        loop {
            let rest = &self.text[search..];
            let Some(found) = rest.find(self.quote) else {
                errors.push(fault("MissingQuotes", "Quoted field unterminated"));
                return (self.unescaped(&self.text[start..]), self.text.len(), After::End);
            };
            let (end, next) = (search + found, search + found + self.quote.len());
            let is_escape = self.escape == self.quote && self.text[next..].starts_with(self.quote);
            let is_escaped = self.escape != self.quote && self.text[start..end].ends_with(self.escape);
            if is_escape || is_escaped {
                search = if is_escape { next + self.quote.len() } else { next };
                continue;
            }
            if let Some((next, after)) = self.after_quote(next) {
                return (self.unescaped(&self.text[start..end]), next, after);
            }
            errors.push(fault("InvalidQuotes", "Trailing quote on quoted field is malformed"));
            search = next;
        }
    }

    /// What follows a closing quote: blanks, then a delimiter or the end of the line or text. None where anything else does.
    fn after_quote(&self, at: usize) -> Option<(usize, After)> {
        let rest = &self.text[at..];
        if rest.is_empty() {
            return Some((at, After::End));
        }
        for (mark, after) in [(self.delimiter, After::Field), (self.newline, After::Row)] {
            let blanks = rest.len() - rest.trim_start_matches(' ').len();
            for skip in [0, blanks] {
                if rest[skip..].starts_with(mark) {
                    return Some((at + skip + mark.len(), after));
                }
            }
        }
        rest.trim_matches(' ').is_empty().then_some((self.text.len(), After::End))
    }

    fn unescaped(&self, text: &'t str) -> std::borrow::Cow<'t, str> {
        let escaped = format!("{}{}", self.escape, self.quote);
        if text.contains(&escaped) { text.replace(&escaped, self.quote).into() } else { text.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows, codes of faults, delimiter and end of line, as one text.
    fn check(text: &str, config: &str, expected: &str) {
        let config: Config = serde_json::from_str(config).expect("a configuration");
        let found = rows(text, &config);
        let codes: Vec<&str> = found.errors.iter().map(|error| error.code).collect();
        let meta = (&found.meta.delimiter, &found.meta.linebreak, found.meta.truncated);
        let shown = format!("{:?} {codes:?} {meta:?}", found.rows);
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn plain_rows() {
        let comma = r#"{"delimiter":","}"#;
        check("a,b\n1,2\n", comma, r#"[["a", "b"], ["1", "2"], [""]] [] (",", "\n", false)"#);
        check("a,b\r\n1,2", "{}", r#"[["a", "b"], ["1", "2"]] [] (",", "\r\n", false)"#);
        check("a,b\r1,2", "{}", r#"[["a", "b"], ["1", "2"]] [] (",", "\r", false)"#);
        check("\u{feff}a,b", "{}", r#"[["a", "b"]] [] (",", "\n", false)"#);
        check("", "{}", r#"[] ["UndetectableDelimiter"] (",", "\n", false)"#);
    }

    #[test]
    fn quotes_hold_delimiters_newlines_and_themselves() {
        check(
            "\"a,\"\"x\"\"\",\"b\nc\"\n1,2",
            "{}",
            r#"[["a,\"x\"", "b\nc"], ["1", "2"]] [] (",", "\n", false)"#,
        );
        check(
            "'a\\'b',c",
            r#"{"quoteChar":"'","escapeChar":"\\"}"#,
            r#"[["a'b", "c"]] [] (",", "\n", false)"#,
        );
        check("\"a\" ,\"b\"  \n1,2", "{}", r#"[["a", "b"], ["1", "2"]] [] (",", "\n", false)"#);
    }

    #[test]
    fn faulty_quotes_are_told() {
        check("\"a\"b,c\",d", "{}", r#"[["a\"b,c", "d"]] ["InvalidQuotes"] (",", "\n", false)"#);
        check("a,\"b\nc", r#"{"delimiter":","}"#, r#"[["a", "b\nc"]] ["MissingQuotes"] (",", "\n", false)"#);
    }

    #[test]
    fn delimiters_are_guessed() {
        check("a;b\n1;2", "{}", r#"[["a", "b"], ["1", "2"]] [] (";", "\n", false)"#);
        check("a\tb,c\n1\t2", "{}", r#"[["a", "b,c"], ["1", "2"]] [] ("\t", "\n", false)"#);
        check("one\ntwo", "{}", r#"[["one"], ["two"]] ["UndetectableDelimiter"] (",", "\n", false)"#);
        check("a~b", r#"{"delimitersToGuess":["~"]}"#, r#"[["a", "b"]] [] ("~", "\n", false)"#);
    }

    #[test]
    fn lines_are_left_out_where_asked() {
        let config = r#"{"skipEmptyLines":true,"comments":true}"#;
        check("a,b\n#x\n\n1,2\n", config, r#"[["a", "b"], ["1", "2"]] [] (",", "\n", false)"#);
        check(
            "a,b\n , \n1,2",
            r#"{"skipEmptyLines":"greedy"}"#,
            r#"[["a", "b"], ["1", "2"]] [] (",", "\n", false)"#,
        );
        check(
            "a,b\n1,2\n3,4",
            r#"{"preview":1,"header":true}"#,
            r#"[["a", "b"], ["1", "2"]] [] (",", "\n", true)"#,
        );
        check("x\na,b", r#"{"skipFirstNLines":1}"#, r#"[["a", "b"]] [] (",", "\n", false)"#);
    }
}
