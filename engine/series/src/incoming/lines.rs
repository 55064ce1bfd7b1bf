//! `InfluxDB`'s line protocol (<https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/>):
//! `measurement,tag=value field=1.5,other=2i 1704067200000000000`.

use std::{borrow::Cow, fmt};

use prony_series_store::{ATTRIBUTES_MAX, same_name};

use super::{TimedEntity, attribute, id_of, number};
use crate::ngsi::{entity::Entity, json::Json, time_index::TimeSource};

/// What a time is a count of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
}

impl Precision {
    /// As both versions of `InfluxDB` name them.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "ns" | "n" => Self::Nanoseconds,
            "us" | "u" | "µ" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            "m" => Self::Minutes,
            "h" => Self::Hours,
            _ => return None,
        })
    }

    /// Cut to milliseconds; none where there are too many.
    fn to_ms(self, time: i64) -> Option<i64> {
        match self {
            Self::Nanoseconds => Some(time.div_euclid(1_000_000)),
            Self::Microseconds => Some(time.div_euclid(1_000)),
            Self::Milliseconds => Some(time),
            Self::Seconds => time.checked_mul(1_000),
            Self::Minutes => time.checked_mul(60_000),
            Self::Hours => time.checked_mul(3_600_000),
        }
    }
}

/// A line that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(crate) struct LineFault {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

/// All that is wrong with a body, or as much of it as is worth telling.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineFaults {
    /// The first of them.
    told: Vec<LineFault>,
    count: usize,
}

/// Whoever has so many wrong has made one mistake often.
const FAULTS_TOLD: usize = 20;

impl LineFaults {
    fn add(&mut self, fault: LineFault) {
        self.count += 1;
        if self.told.len() < FAULTS_TOLD {
            self.told.push(fault);
        }
    }
}

impl fmt::Display for LineFaults {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.told.iter().enumerate() {
            write!(to, "{}{fault}", if place == 0 { "" } else { "; " })?;
        }
        match self.count - self.told.len() {
            0 => Ok(()),
            1 => write!(to, "; and 1 more line"),
            more => write!(to, "; and {more} more lines"),
        }
    }
}

/// One line, without its escapes.
#[derive(Debug, PartialEq)]
pub(crate) struct Point<'a> {
    measurement: Cow<'a, str>,
    tags: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    fields: Vec<(Cow<'a, str>, Field<'a>)>,
    time_ms: Option<i64>,
    id: String,
}

#[derive(Debug, PartialEq)]
enum Field<'a> {
    Double(f64),
    Integer(i64),
    Boolean(bool),
    Text(Cow<'a, str>),
}

/// All points of a body; a line that is none refuses them all.
pub(crate) fn read(body: &str, precision: Precision) -> Result<Vec<Point<'_>>, LineFaults> {
    let mut reader = Reader { rest: body, line: 1, precision };
    let (mut points, mut faults) = (Vec::new(), LineFaults { told: Vec::new(), count: 0 });
    while reader.skip_to_point() {
        match reader.point() {
            Ok(point) if faults.count == 0 => points.push(point),
            Ok(_) => {}
            Err(fault) => {
                faults.add(fault);
                points.clear();
                reader.skip_line();
            }
        }
    }
    if faults.count == 0 { Ok(points) } else { Err(faults) }
}

impl Point<'_> {
    /// The measurement is the type; the tag `id` is the id, or else all tags are. Tags are attributes too.
    pub(crate) fn entity(&self) -> TimedEntity<'_> {
        let mut attributes: Vec<_> = self
            .fields
            .iter()
            .map(|(name, field)| match field {
                Field::Double(value) => attribute(name, "Number", number(*value)),
                Field::Integer(value) => attribute(name, "Integer", Json::Integer(*value)),
                Field::Boolean(value) => attribute(name, "Boolean", Json::Boolean(*value)),
                Field::Text(text) => attribute(name, "Text", Json::Text(text)),
            })
            .collect();
        let tags = self
            .tags
            .iter()
            .filter(|(name, _)| name != "id" && !self.fields.iter().any(|(of, _)| same_name(of, name)));
        attributes.extend(tags.map(|(name, value)| attribute(name, "Text", Json::Text(value))));
        let entity = Entity {
            id: &self.id,
            type_name: &self.measurement,
            attributes,
            members: &[],
            is_emptied: false,
        };
        TimedEntity { entity, time_ms: self.time_ms, time_source: TimeSource::Other }
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    precision: Precision,
}

impl<'a> Reader<'a> {
    fn fault<T>(&self, what: &'static str) -> Result<T, LineFault> {
        Err(LineFault { line: self.line, what })
    }

    /// Leaves out empty lines and comments; false at the end.
    fn skip_to_point(&mut self) -> bool {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            if let Some(rest) = self.rest.strip_prefix('\n') {
                (self.rest, self.line) = (rest, self.line + 1);
            } else if self.rest.starts_with('#') {
                self.skip_line();
            } else {
                return !self.rest.is_empty();
            }
        }
    }

    /// Up to the end of the line.
    fn skip_line(&mut self) {
        self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
    }

    /// A name or a value up to one of these characters, which is left.
    fn word(&mut self, ends: &[char]) -> Result<Cow<'a, str>, LineFault> {
        let (mut has_escapes, mut is_escaped) = (false, false);
        let end = self.rest.char_indices().find(|(_, char)| {
            let is_end = !is_escaped && (ends.contains(char) || *char == '\n');
            is_escaped = !is_escaped && *char == '\\';
            has_escapes |= is_escaped;
            is_end
        });
        let (word, rest) = self.rest.split_at(end.map_or(self.rest.len(), |(at, _)| at));
        if word.is_empty() {
            return self.fault("a name or a value is empty");
        }
        self.rest = rest;
        Ok(if has_escapes { Cow::Owned(unescaped(word, &[',', '=', ' '])) } else { Cow::Borrowed(word) })
    }

    fn take(&mut self, char: char) -> bool {
        let rest = self.rest.strip_prefix(char);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn point(&mut self) -> Result<Point<'a>, LineFault> {
        let measurement = self.word(&[',', ' '])?;
        let mut tags = Vec::new();
        while self.take(',') {
            let name = self.word(&['=', ',', ' '])?;
            if !self.take('=') {
                return self.fault("a tag has no value");
            }
            tags.push((name, self.word(&[',', ' '])?));
        }
        if !self.take(' ') {
            return self.fault("there are no fields");
        }
        self.rest = self.rest.trim_start_matches(' ');
        let mut fields = Vec::new();
        loop {
            let name = self.word(&['=', ',', ' '])?;
            if !self.take('=') {
                return self.fault("a field has no value");
            }
            fields.push((name, self.field()?));
            if !self.take(',') {
                break;
            }
        }
        // The tag `id` is no attribute. Tags are looked for among fields, which takes long of many.
        if tags.len() + fields.len() > ATTRIBUTES_MAX + 1 {
            return self.fault("there are more tags and fields than attributes that a type can have");
        }
        let time_ms = self.time()?;
        let named = tags.iter().find(|(name, _)| name == "id").map(|(_, value)| value.to_string());
        let id = named.unwrap_or_else(|| id_of(tags.iter().map(|(name, value)| (&**name, &**value))));
        Ok(Point { measurement, tags, fields, time_ms, id })
    }

    fn field(&mut self) -> Result<Field<'a>, LineFault> {
        if self.take('"') {
            return self.text();
        }
        let word = self.word(&[',', ' ', '\r'])?;
        let whole = |digits: &str| digits.parse().ok().map(Field::Integer);
        let value = match &*word {
            "t" | "T" | "true" | "True" | "TRUE" => Some(Field::Boolean(true)),
            "f" | "F" | "false" | "False" | "FALSE" => Some(Field::Boolean(false)),
            word => match word.strip_suffix(['i', 'u']) {
                Some(digits) => whole(digits),
                None if word.starts_with(|char: char| char.is_ascii_digit() || "+-.".contains(char)) => {
                    word.parse().ok().map(Field::Double)
                }
                None => None,
            },
        };
        value.map_or_else(
            || self.fault("a field is no number, whole number (1i), truth value or text in quotes"),
            Ok,
        )
    }

    /// Behind the first quote; ends of lines are part of a text.
    fn text(&mut self) -> Result<Field<'a>, LineFault> {
        let mut is_escaped = false;
        let end = self.rest.char_indices().find(|(_, char)| {
            let is_end = !is_escaped && *char == '"';
            is_escaped = !is_escaped && *char == '\\';
            is_end
        });
        let Some((end, _)) = end else { return self.fault("a text has no quote at its end") };
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        self.line += text.matches('\n').count();
        let has_escapes = text.contains('\\');
        Ok(Field::Text(if has_escapes {
            Cow::Owned(unescaped(text, &['"', '\\']))
        } else {
            Cow::Borrowed(text)
        }))
    }

    /// Up to the end of the line.
    fn time(&mut self) -> Result<Option<i64>, LineFault> {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        let is_apart = text.is_empty() || text.starts_with([' ', '\r']);
        let text = text.trim();
        let time = match text.parse::<i64>() {
            _ if !is_apart => None,
            _ if text.is_empty() => Some(None),
            Ok(time) => self.precision.to_ms(time).map(Some),
            Err(_) => None,
        };
        let Some(time) = time else {
            return self.fault(
                "what is behind the fields is no time: a whole number in the precision of the request",
            );
        };
        self.rest = rest;
        Ok(time)
    }
}

/// Without the backslashes before these characters; all others stay.
fn unescaped(text: &str, escaped: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match chars.peek() {
            Some(next) if char == '\\' && escaped.contains(next) => out.extend(chars.next()),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn shown(body: &str) -> String {
        match read(body, Precision::Seconds) {
            Err(fault) => format!("{fault}\n"),
            Ok(points) => points
                .iter()
                .map(|point| {
                    let TimedEntity { entity, time_ms, .. } = point.entity();
                    let attributes: Vec<String> = entity
                        .attributes
                        .iter()
                        .map(|of| format!("{}: {}={}", of.name, of.declared.unwrap(), of.value.to_text()))
                        .collect();
                    format!("{} {} {time_ms:?} {}\n", entity.type_name, entity.id, attributes.join(" | "))
                })
                .collect::<Vec<String>>()
                .concat(),
        }
    }

    #[test]
    fn lines_become_entities() {
        let body = "# a comment\n\
            weather,room=1,id=Room:1 temperature=21.5,pressure=720i,open=t,state=\"a \\\"b\\\" \\\\ c,d=e\" 1704067200\r\n\
            \n\
            m\\,easure\\ ment,b=2,a\\=x=1\\ 0 v=-1e3,count=18446u,grün=\"zwei\nZeilen\"\n\
            plain value=.5 -1\n\
            same,v=tag v=1\n";
        expect![[r#"
            weather Room:1 Some(1704067200000) temperature: Number=21.5 | pressure: Integer=720 | open: Boolean=true | state: Text="a \"b\" \\ c,d=e" | room: Text="1"
            m,easure ment a\=x=1 0,b=2 None v: Number=-1000.0 | count: Integer=18446 | grün: Text="zwei\nZeilen" | b: Text="2" | a=x: Text="1 0"
            plain - Some(-1000) value: Number=0.5
            same v=tag None v: Number=1.0
        "#]].assert_eq(&shown(body));
    }

    /// A tag took the place of the field's value.
    #[test]
    fn a_field_counts_and_not_a_tag_of_its_name_in_any_case_of_letters() {
        assert_eq!(shown("m,id=x,GRÜN=tag,B=tag grün=1,b=2"), "m x None grün: Number=1.0 | b: Number=2.0\n");
    }

    #[test]
    fn a_line_has_no_more_than_a_type_can_have_attributes() {
        let of = |count: usize| {
            let fields: Vec<String> = (0..count).map(|field| format!("f{field}=1")).collect();
            shown(&format!("a,id=x {}", fields.join(",")))
        };
        assert!(of(ATTRIBUTES_MAX).starts_with("a x None f0: Number=1.0 | "));
        assert_eq!(
            of(ATTRIBUTES_MAX + 1),
            "line 1: there are more tags and fields than attributes that a type can have\n"
        );
    }

    #[test]
    fn faults_name_their_lines() {
        let bodies = [
            "a b=1\nc",
            "a b=1\n\na,t b=1",
            "a b",
            "a b=\"x\ny\" z",
            "a b=\"x",
            "a b=1 2 3",
            "a b=1x",
            "a b=nan",
            "a b=1,",
            ",t=1 b=1",
            "a b=99999999999999999999i",
            "a b=1 9223372036854775807",
            "a b=\"x\"y",
            "a b=1\nc\na b=\"x\ny\" 1\n,\na b=2\na b=\"\\\"",
            &"a\n".repeat(21),
            &"a\n".repeat(22),
        ];
        let all: String = bodies.iter().map(|body| shown(body)).collect();
        expect![[r#"
            line 2: there are no fields
            line 3: a tag has no value
            line 1: a field has no value
            line 2: what is behind the fields is no time: a whole number in the precision of the request
            line 1: a text has no quote at its end
            line 1: what is behind the fields is no time: a whole number in the precision of the request
            line 1: a field is no number, whole number (1i), truth value or text in quotes
            line 1: a field is no number, whole number (1i), truth value or text in quotes
            line 1: a name or a value is empty
            line 1: a name or a value is empty
            line 1: a field is no number, whole number (1i), truth value or text in quotes
            line 1: what is behind the fields is no time: a whole number in the precision of the request
            line 1: what is behind the fields is no time: a whole number in the precision of the request
            line 2: there are no fields; line 5: a name or a value is empty; line 7: a text has no quote at its end
            line 1: there are no fields; line 2: there are no fields; line 3: there are no fields; line 4: there are no fields; line 5: there are no fields; line 6: there are no fields; line 7: there are no fields; line 8: there are no fields; line 9: there are no fields; line 10: there are no fields; line 11: there are no fields; line 12: there are no fields; line 13: there are no fields; line 14: there are no fields; line 15: there are no fields; line 16: there are no fields; line 17: there are no fields; line 18: there are no fields; line 19: there are no fields; line 20: there are no fields; and 1 more line
            line 1: there are no fields; line 2: there are no fields; line 3: there are no fields; line 4: there are no fields; line 5: there are no fields; line 6: there are no fields; line 7: there are no fields; line 8: there are no fields; line 9: there are no fields; line 10: there are no fields; line 11: there are no fields; line 12: there are no fields; line 13: there are no fields; line 14: there are no fields; line 15: there are no fields; line 16: there are no fields; line 17: there are no fields; line 18: there are no fields; line 19: there are no fields; line 20: there are no fields; and 2 more lines
        "#]]
        .assert_eq(&all);
    }
}
