//! Texts as they were read: literals, variables, calls of functions; evaluated for one user.

use crate::run::context::Context;
use std::borrow::Cow;

/// A text that may have parts which are found out while the run goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pub(super) parts: Vec<TextPart>,
}

#[derive(Debug, Clone)]
pub(super) enum TextPart {
    Literal(Box<str>),
    Variable(Box<str>),
    Call(Box<FunctionCall>),
}

/// A function with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct FunctionCall {
    pub(crate) function: &'static Function,
    pub(crate) arguments: Vec<Text>,
    /// Unique in a plan: some functions count by the place where they stand.
    pub(crate) site: u32,
}

impl Text {
    pub(crate) fn literal(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self { parts: vec![TextPart::Literal(text.into())] }
    }

    /// The whole text, where nothing in it is found out later.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TextPart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// True where the text is empty as it is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The functions that it calls itself, not those in their arguments.
    pub(super) fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts.iter().filter_map(|part| match part {
            TextPart::Call(call) => Some(&**call),
            TextPart::Literal(_) | TextPart::Variable(_) => None,
        })
    }

    /// As it is written, for people: functions without their arguments.
    pub(crate) fn source(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            TextPart::Literal(text) => text.to_string(),
            TextPart::Variable(name) => format!("${{{name}}}"),
            TextPart::Call(call) => format!("${{{}(…)}}", call.function.name),
        });
        parts.collect()
    }

    /// As it may look once it is evaluated: what is found out later is a word.
    pub(crate) fn example(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            TextPart::Literal(text) => text,
            TextPart::Variable(_) | TextPart::Call(_) => "x",
        });
        parts.collect()
    }

    pub(crate) fn value(&self, context: &mut Context<'_>) -> String {
        if let Some(text) = self.as_literal() {
            return text.to_owned();
        }
        let mut out = String::new();
        self.write(context, &mut out);
        out
    }

    /// As [`value`](Self::value), without a copy where nothing in it is found out later.
    pub(crate) fn text(&self, context: &mut Context<'_>) -> Cow<'_, str> {
        self.as_literal().map_or_else(|| Cow::Owned(self.value(context)), Cow::Borrowed)
    }

    pub(crate) fn write(&self, context: &mut Context<'_>, out: &mut String) {
        for part in &self.parts {
            match part {
                TextPart::Literal(text) => out.push_str(text),
                TextPart::Variable(name) => {
                    if let Some(value) = context.vars.get(name) {
                        out.push_str(value);
                    } else {
                        out.push_str("${");
                        out.push_str(name);
                        out.push('}');
                    }
                }
                TextPart::Call(call) => out.push_str(&(call.function.call)(call, context)),
            }
        }
    }

    /// As a whole number; none where it is none.
    pub(crate) fn number(&self, context: &mut Context<'_>) -> Option<i64> {
        self.text(context).trim().parse().ok()
    }
}

impl FunctionCall {
    /// The value of an argument; empty where it is not given.
    pub(crate) fn argument(&self, index: usize, context: &mut Context<'_>) -> String {
        self.arguments.get(index).map(|text| text.value(context)).unwrap_or_default()
    }

    /// The value of an argument that is given and not empty.
    pub(crate) fn given(&self, index: usize, context: &mut Context<'_>) -> Option<String> {
        Some(self.argument(index, context)).filter(|value| !value.is_empty())
    }

    /// The value of an argument that is written, though it may be empty: `${__P(host,)}` has an empty default.
    pub(crate) fn written(&self, index: usize, context: &mut Context<'_>) -> Option<String> {
        Some(self.arguments.get(index)?.value(context))
    }

    /// Keeps a result under the name in an argument, where one is given.
    pub(crate) fn keep(&self, index: usize, value: &str, context: &mut Context<'_>) {
        let name = self.argument(index, context);
        let name = name.trim();
        if !name.is_empty() {
            context.vars.set(name, value);
        }
    }
}

/// A function as plans call it.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// The least and the most arguments.
    pub(crate) arguments: (usize, usize),
    pub(crate) call: Call,
}

pub(crate) type Call = fn(&FunctionCall, &mut Context<'_>) -> String;
