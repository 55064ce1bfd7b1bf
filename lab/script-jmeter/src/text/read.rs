//! Reads texts: finds `${…}` as JMeter's parser does, functions within arguments included.

use super::expression::{Function, FunctionCall, Text, TextPart};
use super::functions::find;
use crate::condition;
use std::iter::Peekable;
use std::str::Chars;

/// Functions within arguments of functions.
const NESTED_MAX: usize = 32;

/// Why a text cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TextFault {
    #[error("`{text}` has no closing `{missing}`")]
    Open { text: String, missing: char },
    #[error("the function `{name}` is not run; {instead}")]
    Refused { name: String, instead: &'static str },
    #[error("the function `{name}` is not known here; docs/jmeter.md lists those that are")]
    Unknown { name: String },
    #[error("`{name}` takes {expected} arguments, and {given} are written: {text}")]
    Arguments { name: &'static str, expected: String, given: usize, text: String },
    #[error(
        "functions stand more than {NESTED_MAX} deep in each other; set a variable with the inner ones first"
    )]
    Depth,
    #[error("{0}; docs/jmeter.md has the grammar, and ${{__javaScript(…)}} takes the rest")]
    Comparison(String),
}

/// Reads a text; `site` numbers the functions of a plan.
pub(crate) fn read(text: &str, site: &mut u32) -> Result<Text, TextFault> {
    if !text.contains("${") {
        // A backslash means itself where there is nothing to be kept apart.
        return Ok(Text::literal(text));
    }
    let read = TextReader { whole: text, chars: text.chars().peekable(), site, depth: 0 }.text()?;
    // Where all that looked like a variable is kept apart, JMeter leaves the text as it is written.
    let is_fixed = read.parts.iter().all(|part| matches!(part, TextPart::Literal(_)));
    Ok(if is_fixed { Text::literal(text) } else { read })
}

struct TextReader<'a> {
    whole: &'a str,
    chars: Peekable<Chars<'a>>,
    site: &'a mut u32,
    depth: usize,
}

impl TextReader<'_> {
    fn text(&mut self) -> Result<Text, TextFault> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        while let Some(letter) = self.chars.next() {
            match letter {
                '\\' => match self.chars.next() {
                    Some(next @ ('\\' | ',' | '$')) => literal.push(next),
                    Some(next) => {
                        literal.push('\\');
                        literal.push(next);
                    }
                    None => literal.push('\\'),
                },
                '$' if self.chars.peek() == Some(&'{') => {
                    self.chars.next();
                    push_literal(&mut parts, &mut literal);
                    parts.push(self.reference()?);
                }
                other => literal.push(other),
            }
        }
        push_literal(&mut parts, &mut literal);
        Ok(Text { parts })
    }

    /// What follows `${`.
    fn reference(&mut self) -> Result<TextPart, TextFault> {
        let mut name = String::new();
        while let Some(letter) = self.chars.next() {
            match letter {
                '\\' => name.extend(self.chars.next()),
                '(' if name.starts_with("__") => {
                    let arguments = self.arguments()?;
                    // What stands between the parenthesis and the brace is passed over, as in JMeter.
                    if self.chars.by_ref().all(|letter| letter != '}') {
                        return Err(self.open('}'));
                    }
                    return self.call(&name, &arguments);
                }
                // JMeter itself sets variables such as `__jm__Thread Group__idx`.
                '}' if name.starts_with("__") && !name.starts_with("__jm__") => return self.call(&name, &[]),
                '}' => return Ok(TextPart::Variable(name.into())),
                other => name.push(other),
            }
        }
        Err(self.open('}'))
    }

    fn call(&mut self, name: &str, arguments: &[String]) -> Result<TextPart, TextFault> {
        let function = known(name)?;
        let given = arguments.len();
        if given < function.arguments.0 || given > function.arguments.1 {
            let (least, most) = function.arguments;
            let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let text = self.whole.to_owned();
            return Err(TextFault::Arguments { name: function.name, expected, given, text });
        }
        if self.depth >= NESTED_MAX {
            return Err(TextFault::Depth);
        }
        *self.site += 1;
        let site = *self.site;
        let mut read = Vec::new();
        for argument in arguments {
            let mut inner = TextReader {
                whole: argument,
                chars: argument.chars().peekable(),
                site: &mut *self.site,
                depth: self.depth + 1,
            };
            read.push(inner.text()?);
        }
        if function.name == "__jexl3" {
            let comparison = read.first().map(Text::example).unwrap_or_default();
            condition::check(&comparison).map_err(|fault| TextFault::Comparison(fault.to_string()))?;
        }
        Ok(TextPart::Call(Box::new(FunctionCall { function, arguments: read, site })))
    }

    /// The texts between the parentheses, as written: those of functions within them are read with their argument.
    fn arguments(&mut self) -> Result<Vec<String>, TextFault> {
        let (mut arguments, mut text) = (Vec::new(), String::new());
        let (mut braces, mut parentheses) = (0_usize, 0_usize);
        let mut previous = ' ';
        while let Some(letter) = self.chars.next() {
            match letter {
                '\\' => {
                    text.push('\\');
                    text.extend(self.chars.next());
                    previous = ' ';
                    continue;
                }
                '{' if previous == '$' => braces += 1,
                '}' if braces > 0 => braces -= 1,
                '(' if braces == 0 => parentheses += 1,
                ')' if braces == 0 && parentheses > 0 => parentheses -= 1,
                ')' if braces == 0 => {
                    if !(arguments.is_empty() && text.is_empty()) {
                        arguments.push(text);
                    }
                    return Ok(arguments);
                }
                ',' if braces == 0 => {
                    arguments.push(std::mem::take(&mut text));
                    previous = letter;
                    continue;
                }
                _ => {}
            }
            text.push(letter);
            previous = letter;
        }
        Err(self.open(')'))
    }

    fn open(&self, missing: char) -> TextFault {
        TextFault::Open { text: self.whole.to_owned(), missing }
    }
}

fn known(name: &str) -> Result<&'static Function, TextFault> {
    let instead = match name {
        "__groovy" | "__BeanShell" => {
            "write it in JavaScript: ${__javaScript(…)}, or as a JSR223 element in JavaScript"
        }
        "__jexl" | "__jexl2" => "write ${__jexl3(…)} with a plain comparison",
        "__tstFeedback" => {
            "write the most threads that the rate may need; those that wait at the Throughput Shaping Timer cost little"
        }
        "__XPath" => "take the values from a CSV file: ${__CSVRead(…)}",
        _ => "",
    };
    if !instead.is_empty() {
        return Err(TextFault::Refused { name: name.to_owned(), instead });
    }
    find(name).ok_or_else(|| TextFault::Unknown { name: name.to_owned() })
}

fn push_literal(parts: &mut Vec<TextPart>, literal: &mut String) {
    if !literal.is_empty() {
        parts.push(TextPart::Literal(std::mem::take(literal).into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn show(text: &Text) -> String {
        let parts = text.parts.iter().map(|part| match part {
            TextPart::Literal(text) => format!("{text:?}"),
            TextPart::Variable(name) => format!("${name}"),
            TextPart::Call(call) => {
                let arguments: Vec<_> = call.arguments.iter().map(show).collect();
                format!("{}({})", call.function.name, arguments.join("; "))
            }
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    fn check(text: &str, expected: &Expect) {
        let shown = read(text, &mut 0).map_or_else(|fault| fault.to_string(), |text| show(&text));
        expected.assert_eq(&shown);
    }

    #[test]
    fn variables_and_functions_are_found() {
        check("", &expect![""]);
        check(r"a\,b $x", &expect![[r#""a\\,b $x""#]]);
        check("a${b}c${d}", &expect![[r#""a" $b "c" $d"#]]);
        check(r"\${b} ${c}", &expect![[r#""${b} " $c"#]]);
        check(r"\${2}|\d", &expect![[r#""\\${2}|\\d""#]]);
        check("${__P(users,10)}", &expect![[r#"__P("users"; "10")"#]]);
        check("${__UUID}${__UUID()}", &expect!["__UUID() __UUID()"]);
        check("${__eval(${__V(a_${n})} \\, x)}", &expect![[r#"__eval(__V("a_" $n) " , x")"#]]);
        check("${__Random(1,${max},r)}", &expect![[r#"__Random("1"; $max; "r")"#]]);
        check("${__javaScript(Math.min(1\\,2))}", &expect![[r#"__javaScript("Math.min(1,2)")"#]]);
    }

    #[test]
    fn what_cannot_be_evaluated_is_said() {
        check("${a", &expect!["`${a` has no closing `}`"]);
        check("${__P(a", &expect!["`${__P(a` has no closing `)`"]);
        check(
            "${__nope(1)}",
            &expect!["the function `__nope` is not known here; docs/jmeter.md lists those that are"],
        );
        check(
            "${__groovy(1)}",
            &expect![
                "the function `__groovy` is not run; write it in JavaScript: ${__javaScript(…)}, or as a JSR223 element in JavaScript"
            ],
        );
        check(
            "${__tstFeedback(timer,1,20,5)}",
            &expect![
                "the function `__tstFeedback` is not run; write the most threads that the rate may need; those that wait at the Throughput Shaping Timer cost little"
            ],
        );
        check(
            "${__Random(1)}",
            &expect!["`__Random` takes 2 to 3 arguments, and 1 are written: ${__Random(1)}"],
        );
        let nested = "${__eval(".repeat(40) + "x" + &")}".repeat(40);
        check(
            &nested,
            &expect![
                "functions stand more than 32 deep in each other; set a variable with the inner ones first"
            ],
        );
    }
}
