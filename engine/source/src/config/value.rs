//! Kinds of values that options take, and reading them from text and from TOML.

use std::time::Duration;

use toml::de::DeValue;

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number between the two, both included.
    Number(u64, u64),
    Boolean,
    /// A share from 0 to 1; its value is in billionths.
    Ratio,
    Text,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// On the command line: repeated, or separated by commas.
    List,
}

/// A value of an option's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedValue {
    Number(u64),
    Boolean(bool),
    Text(String),
    List(Vec<String>),
}

impl ValueKind {
    /// A number of bytes.
    pub const BYTES: Self = Self::Number(1, 1 << 40);
    /// A time, up to a day.
    pub const MILLISECONDS: Self = Self::Number(1, 86_400_000);

    /// How the kind is written in help and reference.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Number(..) => "NUMBER",
            Self::Boolean => "true|false",
            Self::Ratio => "RATIO",
            Self::Text => "TEXT",
            Self::Word(_) => "WORD",
            Self::List => "LIST",
        }
    }

    /// The values that are taken, for the reference.
    pub fn described(self) -> String {
        match self {
            Self::Number(least, most) => format!("{least} to {most}"),
            Self::Boolean => "`true`, `false`".to_owned(),
            Self::Ratio => "0 to 1, with a fraction".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Self::List => "list of texts".to_owned(),
        }
    }

    /// Reads a flag's values; all but lists take the last one.
    pub fn read_texts(self, texts: &[String]) -> Result<TypedValue, String> {
        let last = texts.last().map_or("", String::as_str);
        match self {
            Self::Number(..) => last
                .parse()
                .map_err(|_| format!("`{last}` is no whole number; {}", self.wanted()))
                .and_then(|number| self.bounded(number)),
            Self::Boolean => match last {
                "true" | "" => Ok(TypedValue::Boolean(true)),
                "false" => Ok(TypedValue::Boolean(false)),
                _ => Err(format!("`{last}` is neither true nor false")),
            },
            Self::Ratio => self.ratio(last),
            Self::Text => Ok(TypedValue::Text(last.to_owned())),
            Self::Word(_) => self.word(last),
            Self::List => Ok(TypedValue::List(
                texts.iter().flat_map(|text| text.split(',')).map(|part| part.trim().to_owned()).collect(),
            )),
        }
    }

    /// Reads a value of a file.
    pub(super) fn read_toml(self, value: &DeValue<'_>) -> Result<TypedValue, String> {
        match (self, value) {
            (Self::Number(..), DeValue::Integer(number)) => {
                u64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
                    .map_err(|_| format!("{number} is out of range; {}", self.wanted()))
                    .and_then(|number| self.bounded(number))
            }
            (Self::Boolean, DeValue::Boolean(value)) => Ok(TypedValue::Boolean(*value)),
            (Self::Ratio, DeValue::Float(number)) => self.ratio(number.as_str()),
            (Self::Ratio, DeValue::Integer(number)) => self.ratio(number.as_str()),
            (Self::Text, DeValue::String(text)) => Ok(TypedValue::Text(text.to_string())),
            (Self::Word(_), DeValue::String(text)) => self.word(text),
            (Self::List, DeValue::String(text)) => Ok(TypedValue::List(vec![text.to_string()])),
            (Self::List, DeValue::Array(items)) => items
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map(TypedValue::List)
                .ok_or_else(|| self.wanted()),
            (_, other) => Err(format!("{}, not {}", self.wanted(), described(other))),
        }
    }

    fn bounded(self, number: u64) -> Result<TypedValue, String> {
        match self {
            Self::Number(least, most) if number < least || number > most => {
                Err(format!("{number} is out of range; {}", self.wanted()))
            }
            _ => Ok(TypedValue::Number(number)),
        }
    }

    fn ratio(self, text: &str) -> Result<TypedValue, String> {
        let ratio = text.replace('_', "").parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        let billionths = ratio.map(|ratio| TypedValue::Number((ratio * 1e9).round() as u64));
        billionths.ok_or_else(|| format!("{text} is out of range; {}", self.wanted()))
    }

    fn word(self, text: &str) -> Result<TypedValue, String> {
        let Self::Word(words) = self else { return Ok(TypedValue::Text(text.to_owned())) };
        if words.contains(&text) {
            return Ok(TypedValue::Text(text.to_owned()));
        }
        let near = super::fault::suggestion(text, words.iter().copied());
        Err(format!("`{text}` is unknown; {}{near}", self.wanted()))
    }

    fn wanted(self) -> String {
        match self {
            Self::Number(least, most) => format!("write a whole number from {least} to {most}"),
            Self::Boolean => "write true or false".to_owned(),
            Self::Ratio => "write a number from 0 to 1".to_owned(),
            Self::Text => "write a text in quotes".to_owned(),
            Self::Word(words) => format!("write one of {}", words.join(", ")),
            Self::List => "write a list of texts".to_owned(),
        }
    }
}

/// A value by the type that an option of its kind expects; empty where it is of another kind.
impl TypedValue {
    pub fn number(&self) -> u64 {
        if let Self::Number(number) = self { *number } else { 0 }
    }

    pub fn size(&self) -> usize {
        usize::try_from(self.number()).unwrap_or(usize::MAX)
    }

    pub fn milliseconds(&self) -> Duration {
        Duration::from_millis(self.number())
    }

    pub fn boolean(&self) -> bool {
        matches!(self, Self::Boolean(true))
    }

    pub fn text(&self) -> String {
        if let Self::Text(text) = self { text.clone() } else { String::new() }
    }

    pub fn list(&self) -> Vec<String> {
        if let Self::List(list) = self { list.clone() } else { Vec::new() }
    }
}

/// A TOML value's type, for messages.
pub fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
