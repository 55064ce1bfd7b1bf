//! The query language of NGSI-LD (ETSI GS CIM 009, clause 4.9): `temperature>20;(state=="wet"|!location)`, read into what has to hold.

use regex::Regex;

use super::problem::{Problem, ProblemKind};
use crate::{
    ngsi::time,
    query::pattern::{self, Matching},
};

/// Of a whole query.
const QUERY_BYTES_MAX: usize = 4096;
/// Conditions that are looked at one by one, each over all instances.
const TERMS_MAX: usize = 64;
/// Each takes memory.
const PATTERNS_MAX: usize = 8;
/// Brackets in brackets; they are read recursively.
const DEPTH_MAX: usize = 16;

/// What has to hold of an entity.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    /// Holds where it holds for one instance.
    One(AttributeTest),
}

/// What is asked of an attribute.
#[derive(Debug, Clone)]
pub(crate) struct AttributeTest {
    pub(crate) attribute: String,
    /// Where in a structured value: `address[city.name]`.
    pub(crate) members: Vec<String>,
    pub(crate) test: Test,
}

#[derive(Debug, Clone)]
pub(crate) enum Test {
    IsThere,
    IsAbsent,
    /// One of them.
    Equals(Vec<ValueOrRange>),
    /// None of them.
    Differs(Vec<ValueOrRange>),
    Compares(Order, Literal),
    Matches(Regex),
    MatchesNot(Regex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueOrRange {
    Value(Literal),
    /// Both included.
    Range(Literal, Literal),
}

/// A value as it stands in a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Number(f64),
    Boolean(bool),
    TimeMs(i64),
    Text(String),
}

/// Longer ones first, of those that begin alike.
const OPERATORS: [&str; 8] = ["!~=", "==", "!=", ">=", "<=", "~=", ">", "<"];

impl Condition {
    /// # Errors
    /// Where the text is none, or which limit it passes.
    pub(crate) fn read(text: &str) -> Result<Self, Problem> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(too_complex(format!(
                "q has {} bytes, and the limit is {QUERY_BYTES_MAX}; ask in parts",
                text.len()
            )));
        }
        let mut reader = ConditionReader { text, at: 0, depth: 0, terms: 0, patterns: 0 };
        let condition = reader.any()?;
        if reader.at < text.len() { Err(reader.unexpected("`;`, `|` or the end")) } else { Ok(condition) }
    }

    /// The attributes that are asked about.
    pub(crate) fn attributes(&self) -> Vec<&str> {
        match self {
            Self::All(all) | Self::Any(all) => all.iter().flat_map(Self::attributes).collect(),
            Self::One(test) => vec![&test.attribute],
        }
    }
}

fn too_complex(detail: String) -> Problem {
    Problem::new(ProblemKind::TooComplexQuery, detail)
}

struct ConditionReader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    terms: usize,
    patterns: usize,
}

impl<'t> ConditionReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found: String = self.rest().chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        Problem::bad_data(format!("q: at byte {} there is {found}, where {wanted} is to be", self.at))
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Up to one of these characters, or to the end; without the spaces around.
    fn until(&mut self, ends: &[char]) -> &'t str {
        let rest = self.rest();
        let end = rest.find(ends).unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim()
    }

    fn any(&mut self) -> Result<Condition, Problem> {
        let mut all = vec![self.all()?];
        while self.takes("|") {
            all.push(self.all()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::Any(all) })
    }

    fn all(&mut self) -> Result<Condition, Problem> {
        let mut all = vec![self.one()?];
        while self.takes(";") {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn one(&mut self) -> Result<Condition, Problem> {
        if !self.takes("(") {
            return self.test().map(Condition::One);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_complex(format!("q has more than {DEPTH_MAX} brackets in one another")));
        }
        let inner = self.any()?;
        if !self.takes(")") {
            return Err(self.unexpected("`)`"));
        }
        self.depth -= 1;
        Ok(inner)
    }

    fn test(&mut self) -> Result<AttributeTest, Problem> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return Err(too_complex(format!("q has more than {TERMS_MAX} conditions; ask in parts")));
        }
        let is_absent = self.takes("!");
        let attribute = self.until(&['=', '!', '>', '<', '~', ';', '|', '(', ')', '[', '{', '"']).to_owned();
        if attribute.is_empty() {
            return Err(self.unexpected("the name of an attribute"));
        }
        let mut members = Vec::new();
        if self.takes("[") {
            members = self.until(&[']']).split('.').map(|member| member.trim().to_owned()).collect();
            if !self.takes("]") || members.iter().any(String::is_empty) {
                return Err(self.unexpected("members, as in `[city.name]`,"));
            }
        }
        let operator = OPERATORS.into_iter().find(|operator| self.takes(operator));
        let test = match (is_absent, operator) {
            (true, None) => Test::IsAbsent,
            (true, Some(_)) => return Err(self.unexpected("`;`, `|` or the end")),
            (false, None) => Test::IsThere,
            (false, Some("~=")) => Test::Matches(self.pattern()?),
            (false, Some("!~=")) => Test::MatchesNot(self.pattern()?),
            (false, Some("==")) => Test::Equals(self.values()?),
            (false, Some("!=")) => Test::Differs(self.values()?),
            (false, Some(operator)) => {
                let order = match operator {
                    ">" => Order::Greater,
                    ">=" => Order::GreaterOrEqual,
                    "<" => Order::Less,
                    _ => Order::LessOrEqual,
                };
                Test::Compares(order, self.literal()?)
            }
        };
        if !self.rest().is_empty() && !self.rest().starts_with([';', '|', ')']) {
            return Err(self.unexpected("an operator, `;`, `|` or the end"));
        }
        Ok(AttributeTest { attribute, members, test })
    }

    fn pattern(&mut self) -> Result<Regex, Problem> {
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX {
            return Err(too_complex(format!("q has more than {PATTERNS_MAX} regular expressions")));
        }
        let text = match self.quoted()? {
            Some(text) => text,
            None => self.until(&[';', '|', ')']).to_owned(),
        };
        pattern::compile("q", &text, Matching::Anywhere).map_err(Problem::bad_data)
    }

    /// Values and ranges with commas between them.
    fn values(&mut self) -> Result<Vec<ValueOrRange>, Problem> {
        let mut values = Vec::new();
        loop {
            let from = self.literal()?;
            values.push(if self.takes("..") {
                ValueOrRange::Range(from, self.literal()?)
            } else {
                ValueOrRange::Value(from)
            });
            if !self.takes(",") {
                return Ok(values);
            }
        }
    }

    /// A text in quotes, in which a backslash stands before quotes and backslashes.
    fn quoted(&mut self) -> Result<Option<String>, Problem> {
        if !self.takes("\"") {
            return Ok(None);
        }
        let mut text = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((place, char)) = chars.next() {
            match char {
                '"' => {
                    self.at += place + 1;
                    return Ok(Some(text));
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    Some((_, other)) => text.extend(['\\', other]),
                    None => break,
                },
                _ => text.push(char),
            }
        }
        self.at = self.text.len();
        Err(self.unexpected("a closing `\"`"))
    }

    fn literal(&mut self) -> Result<Literal, Problem> {
        if let Some(text) = self.quoted()? {
            return Ok(Literal::Text(text));
        }
        let rest = self.rest();
        let end = rest.find([',', ';', '|', ')', '"']).unwrap_or(rest.len());
        // A range ends where its values do; in other texts two dots are dots.
        let range = rest[..end].find("..").filter(|dots| is_ordered(rest[..*dots].trim()));
        let end = range.unwrap_or(end);
        let text = rest[..end].trim();
        if text.is_empty() {
            return Err(self.unexpected("a value"));
        }
        self.at += end;
        Ok(unquoted(text))
    }
}

fn is_ordered(text: &str) -> bool {
    matches!(unquoted(text), Literal::Number(_) | Literal::TimeMs(_))
}

fn unquoted(text: &str) -> Literal {
    match text {
        "true" => return Literal::Boolean(true),
        "false" => return Literal::Boolean(false),
        _ => {}
    }
    let is_numeric = text.starts_with(|char: char| char.is_ascii_digit() || ['+', '-', '.'].contains(&char));
    if let Some(number) = text.parse().ok().filter(|number: &f64| is_numeric && number.is_finite()) {
        return Literal::Number(number);
    }
    let is_date = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.is_ascii();
    match time::parse(text).filter(|_| is_date) {
        Some(time) => Literal::TimeMs(time),
        None => Literal::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
    fn check(queries: &[&str], expected: Expect) {
        let mut table = String::new();
        for query in queries {
            let shown = match Condition::read(query) {
                Ok(condition) => format!("{condition:?}"),
                Err(problem) => format!("{problem:?}"),
            };
            let shown = shown.replace("AttributeTest ", "").replace(", members: []", "");
            writeln!(table, "{}\n  {shown}", &query[..query.len().min(40)]).unwrap();
        }
        expected.assert_eq(&table);
    }

    #[test]
    fn queries_are_read() {
        check(
            &[
                "temperature>20",
                "a>=1;b<=-2.5|c<3;d!=true",
                "(a|b);!c",
                "name==\"a;b|\\\"c\\\"\",urn:ngsi-ld:X:1",
                "speed==10..40,50",
                "at>2024-05-06T07:08:09Z",
                "at==2024-05-06..2024-05-07",
                "address[city.name]~=\"^B.*(x|y)\"",
                "größe von x!~=a+",
                "version==1.2..3",
            ],
            expect![[r#"
                temperature>20
                  One({ attribute: "temperature", test: Compares(Greater, Number(20.0)) })
                a>=1;b<=-2.5|c<3;d!=true
                  Any([All([One({ attribute: "a", test: Compares(GreaterOrEqual, Number(1.0)) }), One({ attribute: "b", test: Compares(LessOrEqual, Number(-2.5)) })]), All([One({ attribute: "c", test: Compares(Less, Number(3.0)) }), One({ attribute: "d", test: Differs([Value(Boolean(true))]) })])])
                (a|b);!c
                  All([Any([One({ attribute: "a", test: IsThere }), One({ attribute: "b", test: IsThere })]), One({ attribute: "c", test: IsAbsent })])
                name=="a;b|\"c\"",urn:ngsi-ld:X:1
                  One({ attribute: "name", test: Equals([Value(Text("a;b|\"c\"")), Value(Text("urn:ngsi-ld:X:1"))]) })
                speed==10..40,50
                  One({ attribute: "speed", test: Equals([Range(Number(10.0), Number(40.0)), Value(Number(50.0))]) })
                at>2024-05-06T07:08:09Z
                  One({ attribute: "at", test: Compares(Greater, TimeMs(1714979289000)) })
                at==2024-05-06..2024-05-07
                  One({ attribute: "at", test: Equals([Range(TimeMs(1714953600000), TimeMs(1715040000000))]) })
                address[city.name]~="^B.*(x|y)"
                  One({ attribute: "address", members: ["city", "name"], test: Matches(Regex("^B.*(x|y)")) })
                größe von x!~=a+
                  One({ attribute: "größe von x", test: MatchesNot(Regex("a+")) })
                version==1.2..3
                  One({ attribute: "version", test: Equals([Range(Number(1.2), Number(3.0))]) })
            "#]],
        );
    }

    #[test]
    fn what_is_no_query_is_refused() {
        let (long, deep) = ("a>1;".repeat(2000), "(".repeat(17) + "a");
        let (terms, patterns) = ("a;".repeat(65) + "a", "a~=x;".repeat(9) + "a");
        check(
            &[
                "",
                ";a",
                "a=1",
                "a>",
                "a>1;",
                "(a>1",
                "a>1)",
                "a==\"x",
                "a==\"x\"y",
                "!a>1",
                "a[b",
                "a[]>1",
                "owner{name}==\"x\"",
                "a~=\"(\"",
                "a~=\"(?=x)\"",
                &format!("a~=\"{}\"", "\\\\w{500}".repeat(20)),
                &long,
                &deep,
                &terms,
                &patterns,
            ],
            expect![[r#"

                  Problem { kind: BadRequestData, detail: "q: at byte 0 there is the end, where the name of an attribute is to be" }
                ;a
                  Problem { kind: BadRequestData, detail: "q: at byte 0 there is `;a`, where the name of an attribute is to be" }
                a=1
                  Problem { kind: BadRequestData, detail: "q: at byte 1 there is `=1`, where an operator, `;`, `|` or the end is to be" }
                a>
                  Problem { kind: BadRequestData, detail: "q: at byte 2 there is the end, where a value is to be" }
                a>1;
                  Problem { kind: BadRequestData, detail: "q: at byte 4 there is the end, where the name of an attribute is to be" }
                (a>1
                  Problem { kind: BadRequestData, detail: "q: at byte 4 there is the end, where `)` is to be" }
                a>1)
                  Problem { kind: BadRequestData, detail: "q: at byte 3 there is `)`, where `;`, `|` or the end is to be" }
                a=="x
                  Problem { kind: BadRequestData, detail: "q: at byte 5 there is the end, where a closing `\"` is to be" }
                a=="x"y
                  Problem { kind: BadRequestData, detail: "q: at byte 6 there is `y`, where an operator, `;`, `|` or the end is to be" }
                !a>1
                  Problem { kind: BadRequestData, detail: "q: at byte 3 there is `1`, where `;`, `|` or the end is to be" }
                a[b
                  Problem { kind: BadRequestData, detail: "q: at byte 3 there is the end, where members, as in `[city.name]`, is to be" }
                a[]>1
                  Problem { kind: BadRequestData, detail: "q: at byte 3 there is `>1`, where members, as in `[city.name]`, is to be" }
                owner{name}=="x"
                  Problem { kind: BadRequestData, detail: "q: at byte 5 there is `{name}==\"x\"`, where an operator, `;`, `|` or the end is to be" }
                a~="("
                  Problem { kind: BadRequestData, detail: "q `(`: it is no regular expression, or has look-around or back references" }
                a~="(?=x)"
                  Problem { kind: BadRequestData, detail: "q `(?=x)`: it is no regular expression, or has look-around or back references" }
                a~="\\w{500}\\w{500}\\w{500}\\w{500}\\w{
                  Problem { kind: BadRequestData, detail: "q `\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}\\w{500}`: it takes more than 1048576 bytes; repeat less in it" }
                a>1;a>1;a>1;a>1;a>1;a>1;a>1;a>1;a>1;a>1;
                  Problem { kind: TooComplexQuery, detail: "q has 8000 bytes, and the limit is 4096; ask in parts" }
                (((((((((((((((((a
                  Problem { kind: TooComplexQuery, detail: "q has more than 16 brackets in one another" }
                a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;
                  Problem { kind: TooComplexQuery, detail: "q has more than 64 conditions; ask in parts" }
                a~=x;a~=x;a~=x;a~=x;a~=x;a~=x;a~=x;a~=x;
                  Problem { kind: TooComplexQuery, detail: "q has more than 8 regular expressions" }
            "#]],
        );
    }
}
