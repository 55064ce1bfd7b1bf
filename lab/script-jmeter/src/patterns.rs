//! Regular expressions as plans use them, templates such as `$1$`, and which of many matches is meant.

use fancy_regex::{Regex, RegexBuilder};
use rand::{Rng, RngExt as _};
use scraper::Html;
use std::fmt::Write as _;

/// Steps back that one search may take: an expression that would take longer finds nothing, and says so in the log.
const BACKTRACKS_MAX: usize = 1_000_000;

/// What a match has found: itself, and then its groups.
pub(crate) type Groups = Vec<Option<String>>;

pub(crate) fn compile(expression: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(expression).backtrack_limit(BACKTRACKS_MAX).build();
    built.map_err(|error| format!("`{expression}` is no regular expression that is known here: {error}"))
}

/// The expression found anywhere, its `.` without line ends and `^`, `$` at the ends of the text, as ORO's Perl 5 has it.
pub(crate) fn find_all(expression: &Regex, text: &str, most: usize) -> Vec<Groups> {
    let groups = |found: fancy_regex::Captures<'_, str>| {
        found.iter().map(|group| group.map(|group| group.as_str().to_owned())).collect()
    };
    expression.captures_iter(text).map_while(Result::ok).take(most).map(groups).collect()
}

pub(crate) fn is_found(expression: &Regex, text: &str) -> bool {
    expression.is_match(text).unwrap_or(false)
}

/// True where the expression is the whole text.
pub(crate) fn is_whole(expression: &str, text: &str) -> Result<bool, String> {
    let anchored = compile(&format!("^(?:{expression})$"))?;
    Ok(anchored
        .find(text)
        .ok()
        .flatten()
        .is_some_and(|found| found.start() == 0 && found.end() == text.len()))
}

/// A text with `$1$` where the first group stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Group(usize),
}

impl Template {
    pub(crate) fn read(text: &str) -> Self {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find('$') {
            let after = &rest[at + 1..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let group = after[..digits].parse().ok().filter(|_| after[digits..].starts_with('$'));
            let Some(group) = group else {
                parts.push(TemplatePart::Text(rest[..=at].to_owned()));
                rest = after;
                continue;
            };
            parts.push(TemplatePart::Text(rest[..at].to_owned()));
            parts.push(TemplatePart::Group(group));
            rest = &after[digits + 1..];
        }
        parts.push(TemplatePart::Text(rest.to_owned()));
        Self { parts }
    }

    pub(crate) fn fill(&self, groups: &Groups) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Group(group) => {
                    // As Java writes a group that has matched nothing, or is not there.
                    out.push_str(groups.get(*group).and_then(Option::as_deref).unwrap_or("null"));
                }
            }
        }
        out
    }
}

/// Which of many matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// From 1.
    Nth(i64),
    Random,
    All,
}

impl Pick {
    /// As extractors number matches: 0 is a random one, less than 0 all.
    pub(crate) const fn of_number(number: i64) -> Self {
        match number {
            0 => Self::Random,
            1.. => Self::Nth(number),
            _ => Self::All,
        }
    }

    /// The place from 0, where there is one.
    pub(crate) fn place(self, count: usize, random: &mut impl Rng) -> Option<usize> {
        match self {
            Self::Nth(number) => usize::try_from(number - 1).ok().filter(|place| *place < count),
            Self::Random if count > 0 => Some(random.random_range(0..count)),
            Self::Random | Self::All => None,
        }
    }
}

/// Entities of HTML, by number or name.
pub(crate) fn unescape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let letter =
            rest.find(';').filter(|end| *end <= 10).and_then(|end| Some((end, entity(&rest[1..end])?)));
        if let Some((end, letter)) = letter {
            out.push(letter);
            rest = &rest[end + 1..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        // HTML 4 has no such name.
        "apos" => return None,
        "nbsp" => '\u{a0}',
        name => return named_letter(name),
    })
}

/// What a parser of HTML makes of a name; none where that is no single letter.
fn named_letter(name: &str) -> Option<char> {
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let text: String = Html::parse_fragment(&format!("&{name};")).root_element().text().collect();
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// A text in one line, cut, for messages.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().take(200) {
        match letter {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fill_templates() {
        let found = find_all(&compile(r"(\w+)=(\d+)?").unwrap(), "a=1;b=", 9);
        let template = Template::read("$2$-$1$ $ $0$x");
        let filled: Vec<_> = found.iter().map(|groups| template.fill(groups)).collect();
        assert_eq!(filled, ["1-a $ a=1x", "null-b $ b=x"]);
    }

    #[test]
    fn expressions_of_perl_are_known_and_never_take_for_ever() {
        assert!(is_found(&compile(r"(?<=id=)\d+(?!x)").unwrap(), "id=12"));
        assert!(is_whole("a|ab", "ab").unwrap() && !is_whole("a", "ab").unwrap());
        assert!(!is_found(&compile(r"(a+)+(?=b)\1$").unwrap(), &"a".repeat(5_000)));
        assert!(compile("(").unwrap_err().contains("no regular expression"));
    }

    #[test]
    fn entities_are_resolved() {
        assert_eq!(unescape_html("a&amp;b&#65;&#x42;&nope;&"), "a&bAB&nope;&");
        assert_eq!(unescape_html("&eacute;&copy;&notnone;&a b;&apos;"), "é©&notnone;&a b;&apos;");
    }
}
