//! JSON paths as plans write them, for Jayway's library, on one that follows RFC 9535.

use serde_json::Value;
use serde_json_path::JsonPath;

/// What a name without quotes ends at in a filter.
const NAME_ENDS: [char; 14] = [' ', '.', '[', ']', '(', ')', '=', '!', '<', '>', '~', '&', '|', ','];

/// A path that was read.
#[derive(Debug)]
pub(crate) struct Path {
    query: JsonPath,
    /// It means one place: `$.a[0].b`.
    pub(crate) is_definite: bool,
    /// As Jayway names it: `$['a'][0]`; of one that means many places the part before the first of them.
    begin: String,
    /// That part, where there is any and the path goes on.
    begin_query: Option<JsonPath>,
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
        let translation = Translation::of(&rooted);
        let query = JsonPath::parse(&translation.text)
            // The place of a fault is that in the path as it was written.
            .or_else(|_| JsonPath::parse(&rooted))
            .map_err(|error| format!("`{written}` is no JSON path that is known here (RFC 9535): {error}"))?;
        let Translation { begin, is_definite, .. } = translation;
        let has_begin = !is_definite && begin != "$";
        let begin_query = if has_begin { JsonPath::parse(&begin).ok() } else { None };
        Ok(Self { query, is_definite, begin, begin_query, is_length })
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
    pub(crate) fn normalized(&self) -> &str {
        &self.begin
    }

    /// True where the part before the first of many places is not there.
    pub(crate) fn is_begin_missing(&self, value: &Value) -> bool {
        self.begin_query.as_ref().is_some_and(|query| query.query(value).is_empty())
    }
}

/// A path in RFC 9535's grammar: Jayway takes names such as `$.content-type` without quotes.
struct Translation {
    text: String,
    begin: String,
    is_definite: bool,
}

impl Translation {
    fn of(path: &str) -> Self {
        let mut translation = Self { text: String::from("$"), begin: String::from("$"), is_definite: true };
        let mut rest = path.strip_prefix('$').unwrap_or(path);
        while let Some(letter) = rest.chars().next() {
            rest = match letter {
                '.' => translation.dot(rest),
                '[' => translation.bracket(rest),
                other => {
                    translation.text.push(other);
                    &rest[other.len_utf8()..]
                }
            };
        }
        translation
    }

    /// Takes a dot, or two, and the name behind them; what is left.
    fn dot<'a>(&mut self, text: &'a str) -> &'a str {
        let rest = text.trim_start_matches('.');
        let is_deep = text.len() - rest.len() > 1;
        self.is_definite &= !is_deep && !rest.starts_with('*');
        let (name, rest) = rest.split_at(rest.find(['.', '[', '(', ' ']).unwrap_or(rest.len()));
        self.text.push_str(if is_deep { ".." } else { "" });
        match name {
            // `$.[0]` means `$[0]`.
            "" => {}
            "*" => self.text.push_str(if is_deep { "*" } else { ".*" }),
            name => {
                let quoted = quoted(name);
                self.text.push_str(&quoted);
                self.note(&quoted);
            }
        }
        rest
    }

    /// Takes what stands in brackets; what is left.
    fn bracket<'a>(&mut self, text: &'a str) -> &'a str {
        let end = closing(text);
        let (inside, rest) = text.split_at(end);
        let is_quoted = inside[1..].trim_start().starts_with(['\'', '"']);
        let outside = outside_quotes(inside);
        self.is_definite &= !outside.contains(['*', '?', ':', ',']);
        if outside.contains('?') {
            filter(inside, &mut self.text);
        } else {
            self.text.push_str(inside);
        }
        self.note(&if is_quoted { inside.replace('"', "'") } else { inside.to_owned() });
        rest
    }

    /// Notes a part of the path that means one place.
    fn note(&mut self, part: &str) {
        if self.is_definite {
            self.begin.push_str(part);
        }
    }
}

fn quoted(name: &str) -> String {
    format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Which letters of a text stand in quotes, as they come.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
    is_escaped: bool,
}

impl Quotes {
    /// Takes the next letter; true where it is a quote, or stands within quotes.
    fn take(&mut self, letter: char) -> bool {
        if let Some(open) = self.open {
            self.open = (self.is_escaped || letter != open).then_some(open);
            self.is_escaped = letter == '\\' && !self.is_escaped;
            return true;
        }
        self.open = matches!(letter, '\'' | '"').then_some(letter);
        self.open.is_some()
    }
}

/// Where the bracket is closed with which a text begins, behind it; the end where it is not.
fn closing(text: &str) -> usize {
    let (mut depth, mut quotes) = (0_usize, Quotes::default());
    for (at, letter) in text.char_indices() {
        if quotes.take(letter) {
            continue;
        }
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// A text without what stands in quotes.
fn outside_quotes(text: &str) -> String {
    let mut quotes = Quotes::default();
    text.chars().filter(|letter| !quotes.take(*letter)).collect()
}

/// Appends a filter, in whose paths (`@.content-type`) names may stand without quotes, too.
fn filter(text: &str, out: &mut String) {
    let (mut quotes, mut is_path) = (Quotes::default(), false);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let is_quoted = quotes.take(letter);
        if !is_quoted && letter == '.' && is_path {
            let end = rest.find(NAME_ENDS).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.contains('-') && !after.starts_with('(') {
                out.push_str(&quoted(name));
                rest = after;
                continue;
            }
        } else if !is_quoted {
            is_path = matches!(letter, '@' | '$') || is_path && !" ()=!<>~&|,".contains(letter);
        }
        out.push(letter);
    }
}

/// A value as a variable holds it: texts without quotes, fractions as Java writes them.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => java_double(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// A value as assertions compare it: fractions without an exponent.
pub(crate) fn plain_text_of(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => plain_double(number.as_f64().unwrap_or_default()),
        other => text_of(other),
    }
}

/// `Double.toString`.
fn java_double(number: f64) -> String {
    if number == 0.0 || (1e-3..1e7).contains(&number.abs()) {
        return plain_double(number);
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

fn plain_double(number: f64) -> String {
    let text = number.to_string();
    if text.contains('.') { text } else { text + ".0" }
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
        assert_eq!(Path::read(r#"$["a.b"].c"#).unwrap().normalized(), "$['a.b']['c']");
        assert!(Path::read("$.a[").unwrap_err().contains("is no JSON path"));
    }

    #[test]
    fn names_need_no_quotes() {
        let value = serde_json::from_str(
            r#"{"content-type":{"x:y":1,"2b":[4]},"l":[{"k-k":"p","v":1.5},{"k-k":"q","v":2}],"a.b":{"é'":3}}"#,
        )
        .unwrap();
        let found = |path: &str| {
            let found = Path::read(path).unwrap_or_else(|message| panic!("{message}")).find(&value);
            found.iter().map(text_of).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([found("$.content-type.x:y"), found("content-type.2b.[0]")], ["1", "4"]);
        assert_eq!([found("$..k-k"), found("$.l[*].k-k")], ["p q", "p q"]);
        assert_eq!([found("$.l[?(@.k-k=='q')].v"), found("$.l[?(@.v == 1.5)].k-k")], ["2", "p"]);
        assert_eq!([found("$['a.b'].é'"), found("$.l.length()"), found("$.*.x:y")], ["3", "2", "1"]);
        assert!(Path::read("$.content-type['x:y']").unwrap().is_definite);
        assert!(
            !Path::read("$.l[?(@.v>1)]").unwrap().is_definite && !Path::read("$..v").unwrap().is_definite
        );
    }

    #[test]
    fn what_is_before_many_places_may_be_missing() {
        let value = serde_json::from_str(r#"{"l":[],"o":{}}"#).unwrap();
        let missing = |path: &str| {
            let path = Path::read(path).unwrap();
            path.is_begin_missing(&value).then(|| path.normalized().to_owned())
        };
        assert_eq!(missing("$.zz[*].a").as_deref(), Some("$['zz']"));
        let there = ["$.l[*].a", "$..zz", "$.o.*", "$[*]", "$.zz"].map(missing);
        assert!(there.iter().all(Option::is_none), "{there:?}");
    }

    #[test]
    fn fractions_are_written_as_java_does() {
        let texts = |number: f64| [text_of(&number.into()), plain_text_of(&number.into())];
        assert_eq!(texts(-1.5), ["-1.5", "-1.5"]);
        assert_eq!(texts(12_345_678.9), ["1.23456789E7", "12345678.9"]);
        assert_eq!(texts(0.000_5), ["5.0E-4", "0.0005"]);
        assert_eq!(texts(1e21), ["1.0E21", "1000000000000000000000.0"]);
        assert_eq!([text_of(&1e3.into()), text_of(&0.0.into())], ["1000.0", "0.0"]);
        assert_eq!(text_of(&serde_json::json!(12_345_678_901_234_567_890_u64)), "12345678901234567890");
    }
}
