//! `XPath` 1.0 over responses: expressions read and bounded, documents of XML or HTML, what an expression finds in them.
//!
//! [`tree`] is the document as the evaluator sees it, [`read`] makes it, [`write`] shows parts of it as XML.

mod read;
mod tree;
mod write;

pub(crate) use read::Markup;
pub(crate) use tree::Document;

use std::cell::RefCell;
use xpath_eval::{EvaluationContext, Expr, Value, evaluate, parse};

/// Bytes of one expression, and brackets within brackets in it: what is read and evaluated recursively.
const EXPRESSION_BYTES_MAX: usize = 2_048;
const BRACKET_DEPTH_MAX: usize = 64;
/// Operators, each of which is an expression around what stands before or behind it. Hyphens in names count as well.
const OPERATORS_MAX: usize = 100;
/// The functions of `XPath` 1.0 (its chapter 4), and what else stands before a bracket (2.3, 3.4, 3.5).
const KNOWN_BEFORE_BRACKETS: [&str; 35] = [
    "last",
    "position",
    "count",
    "id",
    "local-name",
    "namespace-uri",
    "name",
    "string",
    "concat",
    "starts-with",
    "contains",
    "substring-before",
    "substring-after",
    "substring",
    "string-length",
    "normalize-space",
    "translate",
    "boolean",
    "not",
    "true",
    "false",
    "lang",
    "number",
    "sum",
    "floor",
    "ceiling",
    "round",
    "comment",
    "text",
    "processing-instruction",
    "node",
    "and",
    "or",
    "div",
    "mod",
];

/// An expression that can be evaluated.
#[derive(Debug, Clone)]
pub(crate) struct XPathExpression(Expr);

/// What an expression is in a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// Numbers of nodes, in the order of the document.
    Nodes(Vec<usize>),
    Boolean(bool),
    /// A number or a text.
    Text(String),
}

/// Reads an expression; the message says what in it is not known.
pub(crate) fn compile(text: &str) -> Result<XPathExpression, String> {
    let refused =
        |what: String| format!("`{}` is no XPath 1.0 expression that is known here: {what}", text.trim());
    if text.len() > EXPRESSION_BYTES_MAX {
        let length = text.len();
        return Err(format!(
            "the XPath has {length} bytes and at most {EXPRESSION_BYTES_MAX} are read; take a shorter one"
        ));
    }
    if operators(text) > OPERATORS_MAX {
        return Err(refused(format!("it has more than {OPERATORS_MAX} operators, hyphens included")));
    }
    check_brackets(text).map_err(refused)?;
    parse(text.trim()).map(XPathExpression).map_err(|error| refused(error.to_string()))
}

/// How many operators a text has at most.
fn operators(text: &str) -> usize {
    let signs = text.chars().filter(|letter| "-+*|=<>".contains(*letter)).count();
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    signs + words.filter(|word| ["and", "or", "div", "mod"].contains(word)).count()
}

/// Brackets are not too deep, and what stands before one is a function of `XPath` 1.0.
fn check_brackets(text: &str) -> Result<(), String> {
    let (mut depth, mut quote, mut word) = (0_usize, None, String::new());
    for letter in text.chars() {
        if let Some(open) = quote {
            quote = (letter != open).then_some(open);
            continue;
        }
        match letter {
            '\'' | '"' => quote = Some(letter),
            '(' | '[' => {
                depth += 1;
                if depth > BRACKET_DEPTH_MAX {
                    return Err(format!("brackets are more than {BRACKET_DEPTH_MAX} deep"));
                }
                let name = word.trim();
                if letter == '(' && !name.is_empty() && !KNOWN_BEFORE_BRACKETS.contains(&name) {
                    return Err(format!(
                        "the function `{name}` is not one of XPath 1.0; write it with those, or in a JSR223 element in JavaScript"
                    ));
                }
            }
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        // A word goes on over its letters; a space may stand between it and its bracket.
        if letter.is_alphanumeric() || "-_.:".contains(letter) {
            if word.ends_with(' ') {
                word.clear();
            }
            word.push(letter);
        } else if letter.is_whitespace() && !word.is_empty() {
            word.push(' ');
        } else {
            word.clear();
        }
    }
    Ok(())
}

/// What the expression is at the document's root. The message says why nothing can be said: a prefix that stands for no namespace, a
/// function that is not known, too long a search.
pub(crate) fn find(
    document: &Document,
    expression: &XPathExpression,
    namespace_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Found, FindError> {
    let unknown = RefCell::new(None);
    let lookup = |prefix: &str| {
        let found = if prefix == "xml" {
            Some("http://www.w3.org/XML/1998/namespace".to_owned())
        } else {
            namespace_of(prefix)
        };
        if found.is_none() {
            unknown.borrow_mut().get_or_insert_with(|| prefix.to_owned());
        }
        found
    };
    let mut context = EvaluationContext::new(document.root());
    context.namespaces = Some(&lookup);
    document.begin_search();
    let value = evaluate(&expression.0, &context);
    if document.is_search_over() {
        return Err(FindError::TooLong(format!(
            "the XPath looks at more than {} nodes; take one that names the way to what it finds",
            tree::STEPS_MAX
        )));
    }
    if let Some(prefix) = unknown.take() {
        return Err(FindError::UnknownPrefix(prefix));
    }
    Ok(match value.map_err(|error| FindError::Other(error.to_string()))? {
        Value::NodeSet(nodes) => {
            let mut places: Vec<usize> = nodes.into_iter().map(tree::NodeRef::place).collect();
            places.sort_unstable();
            places.dedup();
            Found::Nodes(places)
        }
        Value::Boolean(is_true) => Found::Boolean(is_true),
        other => Found::Text(other.to_xpath_string()),
    })
}

/// Why an expression finds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FindError {
    UnknownPrefix(String),
    TooLong(String),
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const LIST: &str = "<?xml version=\"1.0\"?>\n<list><item id=\"7\"><name>one</name><price>1</price></item>\
        <item id=\"8\"><name>two &amp; a half</name></item><!--c--><empty/><mixed>a<b>c</b>d</mixed></list>";
    const ENVELOPE: &str =
        "<s:Envelope xmlns:s=\"urn:s\" xmlns:m=\"urn:m\"><s:Body><m:price>12</m:price></s:Body></s:Envelope>";

    fn found(document: &Document, text: &str) -> String {
        let expression = match compile(text) {
            Ok(expression) => expression,
            Err(message) => return message,
        };
        let namespace_of = |prefix: &str| document.namespace_of_root(prefix);
        match find(document, &expression, &namespace_of) {
            Ok(Found::Nodes(places)) => {
                let shown = places.into_iter().map(|place| document.fragment(place, None));
                shown.collect::<Vec<_>>().join(" ; ")
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{error:?}"),
        }
    }

    fn check(markup: Markup, document: &str, expressions: &[&str], expected: &Expect) {
        let document = Document::read(document, markup).unwrap();
        let lines: Vec<_> =
            expressions.iter().map(|text| format!("{text}: {}", found(&document, text))).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn expressions_find_nodes_truths_numbers_and_texts() {
        check(
            Markup::Xml,
            LIST,
            &[
                "//item/name",
                "//item[2]/name/text()",
                "/list/item/@id",
                "//item[@id='8']/preceding-sibling::*",
                "count(//item) = 2",
                "sum(//item/@id) div 2",
                "concat(name(/*), ': ', normalize-space(//mixed))",
                "//comment()",
                "//item[position() = last()]/@id | //empty",
                "//nothing",
                "//item[starts-with (name, 'two')]/@id",
            ],
            &expect![[r#"
                //item/name: <name>one</name> ; <name>two &amp; a half</name>
                //item[2]/name/text(): two &amp; a half
                /list/item/@id: 7 ; 8
                //item[@id='8']/preceding-sibling::*: <item id="7"><name>one</name><price>1</price></item>
                count(//item) = 2: Boolean(true)
                sum(//item/@id) div 2: Text("7.5")
                concat(name(/*), ': ', normalize-space(//mixed)): Text("list: acd")
                //comment(): <!--c-->
                //item[position() = last()]/@id | //empty: 8 ; <empty/>
                //nothing: 
                //item[starts-with (name, 'two')]/@id: 8"#]],
        );
    }

    #[test]
    fn namespaces_are_those_of_the_root_or_none() {
        let expressions =
            ["//s:Body/m:price", "//price", "//x:Body", "//*[local-name()='price']", "//*[name()='m:price']"];
        check(
            Markup::Xml,
            ENVELOPE,
            &expressions,
            &expect![[r#"
                //s:Body/m:price: <m:price xmlns:m="urn:m" xmlns:s="urn:s">12</m:price>
                //price: 
                //x:Body: UnknownPrefix("x")
                //*[local-name()='price']: <m:price xmlns:m="urn:m" xmlns:s="urn:s">12</m:price>
                //*[name()='m:price']: "#]],
        );
        check(
            Markup::XmlWithoutNamespaces,
            ENVELOPE,
            &expressions,
            &expect![[r#"
                //s:Body/m:price: UnknownPrefix("s")
                //price: 
                //x:Body: UnknownPrefix("x")
                //*[local-name()='price']: 
                //*[name()='m:price']: <m:price>12</m:price>"#]],
        );
    }

    #[test]
    fn html_is_read_as_a_browser_reads_it() {
        check(
            Markup::Html,
            "<!DOCTYPE html><H1 class=title>Hello</H1><p>a<br>b<p>c<img src=/a.png>",
            &["//h1[@class='title']", "//p", "//img/@src", "/html/body/p[1]/text()", "string(//p[2])"],
            &expect![[r#"
                //h1[@class='title']: <h1 class="title">Hello</h1>
                //p: <p>a<br/>b</p> ; <p>c<img src="/a.png"/></p>
                //img/@src: /a.png
                /html/body/p[1]/text(): a ; b
                string(//p[2]): Text("c")"#]],
        );
    }

    #[test]
    fn what_is_no_xpath_1_is_named() {
        let messages =
            ["//item[", "matches(//a, 'x')", "//a['b'] return", ""].map(|text| compile(text).unwrap_err());
        expect![[r#"
            `//item[` is no XPath 1.0 expression that is known here: parse error at byte 7: unexpected end of input, expected an expression
            `matches(//a, 'x')` is no XPath 1.0 expression that is known here: the function `matches` is not one of XPath 1.0; write it with those, or in a JSR223 element in JavaScript
            `//a['b'] return` is no XPath 1.0 expression that is known here: parse error at byte 9: unexpected trailing input
            `` is no XPath 1.0 expression that is known here: parse error at byte 0: empty expression"#]]
        .assert_eq(&messages.join("\n"));
        // In quotes and as names of elements they are no functions.
        assert!(compile("//matches[. = 'matches(a)']").is_ok());
    }

    #[test]
    fn expressions_are_bounded() {
        let deep = "(".repeat(BRACKET_DEPTH_MAX + 1);
        assert!(compile(&deep).unwrap_err().contains("more than 64 deep"));
        let deep = format!("{}1{}", "(".repeat(BRACKET_DEPTH_MAX), ")".repeat(BRACKET_DEPTH_MAX));
        assert!(compile(&deep).is_ok());
        assert!(compile(&" ".repeat(EXPRESSION_BYTES_MAX + 1)).unwrap_err().contains("2049 bytes"));
        let document = Document::read("<a/>", Markup::Xml).unwrap();
        for (operator, last) in [("-", "1"), ("1+", "1"), ("1 or ", "1"), ("//a|", "//a")] {
            let most = operator.repeat(OPERATORS_MAX) + last;
            assert!(!found(&document, &most).contains("no XPath"), "{most}");
            let more = operator.repeat(OPERATORS_MAX + 1) + last;
            assert!(compile(&more).unwrap_err().contains("more than 100 operators"), "{more}");
        }
    }

    #[test]
    fn a_search_that_takes_too_long_is_given_up() {
        let text = format!("<a>{}</a>", "<b/>".repeat(3_000));
        let document = Document::read(&text, Markup::Xml).unwrap();
        let shown = found(&document, "//b[count(//b[count(//b) > 1]) > 1]");
        assert!(shown.starts_with("TooLong"), "{shown}");
        // The next one is counted anew.
        assert_eq!(found(&document, "count(//b)"), "Text(\"3000\")");
    }
}
