//! Functions that make texts of texts.

use super::super::expression::FunctionCall;
use crate::patterns::{self, Pick, Template};
use crate::run::context::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;

pub(super) fn characters(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let mut out = String::new();
    for at in 0..call.arguments.len() {
        let text = call.argument(at, context);
        let text = text.trim();
        // As Java reads numbers: one that begins with 0 is octal. What is none is left out.
        let number = if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            u32::from_str_radix(hex, 16)
        } else if let Some(octal) = text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
            u32::from_str_radix(octal, 8)
        } else {
            text.parse()
        };
        out.extend(number.ok().and_then(char::from_u32));
    }
    out
}

/// Escapes of Java's texts.
pub(super) fn unescape(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let text = call.argument(0, context);
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                let letter = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.extend(letter);
            }
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

pub(super) fn escape_html(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let text = call.argument(0, context);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn escape_xml(call: &FunctionCall, context: &mut Context<'_>) -> String {
    escape_html(call, context).replace('\'', "&apos;")
}

pub(super) fn unescape_html(call: &FunctionCall, context: &mut Context<'_>) -> String {
    patterns::unescape_html(&call.argument(0, context))
}

pub(super) fn url_encode(call: &FunctionCall, context: &mut Context<'_>) -> String {
    form_encoded(call.argument(0, context).as_bytes())
}

/// As `java.net.URLEncoder` writes it: a space is `+`.
pub(crate) fn form_encoded(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

pub(super) fn url_decode(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let text = call.argument(0, context).replace('+', " ");
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            rest = &after[2..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

pub(super) fn change_case(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let text = call.argument(0, context);
    let mode = call.written(1, context).map_or_else(|| "UPPER".to_owned(), |mode| mode.to_ascii_uppercase());
    let value = match mode.as_str() {
        "UPPER" => text.to_uppercase(),
        "LOWER" => text.to_lowercase(),
        "CAPITALIZE" => {
            let mut letters = text.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
        }
        // A mode that is not known changes nothing.
        _ => text.clone(),
    };
    call.keep(2, &value, context);
    value
}

/// What all functions of one text and a variable for the result have in common.
fn mapped(call: &FunctionCall, context: &mut Context<'_>, map: fn(&str) -> String) -> String {
    let value = map(&call.argument(0, context));
    call.keep(1, &value, context);
    value
}

pub(super) fn lower_case(call: &FunctionCall, context: &mut Context<'_>) -> String {
    mapped(call, context, str::to_lowercase)
}

pub(super) fn upper_case(call: &FunctionCall, context: &mut Context<'_>) -> String {
    mapped(call, context, str::to_uppercase)
}

pub(super) fn base64_encode(call: &FunctionCall, context: &mut Context<'_>) -> String {
    mapped(call, context, |text| STANDARD.encode(text))
}

pub(super) fn base64_decode(call: &FunctionCall, context: &mut Context<'_>) -> String {
    mapped(call, context, |text| {
        STANDARD.decode(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    })
}

pub(super) fn length(call: &FunctionCall, context: &mut Context<'_>) -> String {
    mapped(call, context, |text| text.chars().count().to_string())
}

/// Sets `name_1`, `name_2` and so on, and `name_n`.
pub(super) fn split(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let (text, name) = (call.argument(0, context), call.argument(1, context));
    let separator = call.given(2, context).unwrap_or_else(|| ",".to_owned());
    let name = name.trim();
    let old = context.vars.get(&format!("{name}_n")).and_then(|text| text.parse::<usize>().ok());
    // Each letter of it separates. What is before one at the beginning is no part, and an empty text has none.
    let separates = |letter: char| separator.contains(letter);
    let begin = usize::from(text.is_empty() || text.starts_with(separates));
    let parts: Vec<&str> = text.split(separates).skip(begin).collect();
    context.vars.set(name, &text);
    for (at, part) in parts.iter().enumerate() {
        context.vars.set(&format!("{name}_{}", at + 1), if part.is_empty() { "?" } else { part });
    }
    context.vars.set(&format!("{name}_n"), &parts.len().to_string());
    (parts.len()..old.unwrap_or(0)).for_each(|at| context.vars.remove(&format!("{name}_{}", at + 1)));
    text
}

/// Of the last response: expression, template, which match, text between matches, default, variable, and the variable that is
/// searched instead.
pub(super) fn regex_function(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let (expression, template) = (call.argument(0, context), call.argument(1, context));
    let which = call.given(2, context).unwrap_or_else(|| "1".to_owned());
    let (between, default) = (call.argument(3, context), call.argument(4, context));
    let input = match call.given(6, context) {
        Some(name) => context.vars.get(&name).map(str::to_owned).unwrap_or_default(),
        None => {
            context.thread.previous.as_ref().map(|last| last.body_text().into_owned()).unwrap_or_default()
        }
    };
    let Ok(expression) = patterns::compile(&expression) else { return default };
    let found = patterns::find_all(&expression, &input, usize::MAX);
    let template = Template::read(&template);
    let value = match which.as_str() {
        "ALL" if !found.is_empty() => {
            found.iter().map(|groups| template.fill(groups)).collect::<Vec<_>>().join(&between)
        }
        which => {
            let pick = if which == "RAND" { Pick::Random } else { Pick::Nth(which.parse().unwrap_or(1)) };
            let place = pick.place(found.len(), &mut context.thread.random);
            place.map_or(default, |place| template.fill(&found[place]))
        }
    };
    call.keep(5, &value, context);
    value
}
