//! What the parser and the validation say of a document, in words for those who wrote it.

use apollo_compiler::{
    Name,
    ast::FieldDefinition,
    collections::IndexMap,
    diagnostic::Diagnostic,
    schema::{Component, ExtendedType},
    validation::{DiagnosticData, DiagnosticList},
};

use crate::{
    document::limits::{Limits, MAX_REPORTED_ERRORS},
    error::{ErrorCode, GraphqlError, Position},
    schema::Schema,
};

pub(crate) fn of_syntax(errors: &DiagnosticList) -> Vec<GraphqlError> {
    clean(&errors.iter().collect::<Vec<_>>(), ErrorCode::ParseFailed, spelled)
}

/// Whether a variable was found to be of another type than is expected where it is used, or a subscription to have several
/// root fields, which may be one.
fn is_checked_elsewhere(fault: &DiagnosticData) -> bool {
    match fault.unstable_error_name() {
        Some("DisallowedVariableUsage" | "SubscriptionUsesMultipleFields") => true,
        Some("UnsupportedValueType") => fault.to_string().ends_with("found a variable"),
        _ => false,
    }
}

/// With what was probably meant, where clients may know the schema.
pub(crate) fn of_validation(errors: &DiagnosticList, schema: &Schema, limits: &Limits) -> Vec<GraphqlError> {
    let errors: Vec<_> = errors.iter().filter(|fault| !is_checked_elsewhere(fault.error)).collect();
    clean(&errors, ErrorCode::ValidationFailed, |message| {
        let meant = if limits.introspection { meant(&message, schema) } else { None };
        match meant {
            Some(meant) => format!("{message}; did you mean `{meant}`?"),
            None => message,
        }
    })
}

fn clean(
    errors: &[Diagnostic<'_, DiagnosticData>],
    code: ErrorCode,
    mut worded: impl FnMut(String) -> String,
) -> Vec<GraphqlError> {
    // A field that was refused is missing from its selection set, which then may look empty: no news.
    let is_empty_set = |name: Option<&str>| name == Some("MissingSubselection");
    let names = || errors.iter().map(|fault| fault.error.unstable_error_name());
    let only_empty_sets = names().all(is_empty_set);
    let told =
        errors.iter().filter(|fault| only_empty_sets || !is_empty_set(fault.error.unstable_error_name()));
    let errors = told.take(MAX_REPORTED_ERRORS).map(|fault| {
        let error = GraphqlError::new(code, printable(&worded(fault.error.to_string())));
        match fault.line_column_range() {
            Some(range) => {
                error.at(Position { line: range.start.line as u32, column: range.start.column as u32 })
            }
            None => error,
        }
    });
    let mut errors: Vec<GraphqlError> = errors.collect();
    errors.dedup();
    errors
}

/// Messages quote the document, which may hold anything.
fn printable(message: &str) -> String {
    let mut printable = String::with_capacity(message.len());
    for character in message.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// What the parser calls by the names of its tokens, as it is written.
fn spelled(message: String) -> String {
    const PLACE: &str = "syntax error: ";
    const TOKENS: [(&str, &str); 4] = [
        ("expected R_CURLY,", "expected },"),
        ("expected R_PAREN,", "expected ),"),
        ("expected R_BRACK,", "expected ],"),
        ("expected AT,", "expected @,"),
    ];
    const ENDS: [(&str, &str); 2] =
        [("got EOF", "got the end of the document"), ("Unexpected <EOF>.", "unexpected end of the document")];
    let Some(mut rest) = message.strip_prefix(PLACE) else { return message };
    let mut written = PLACE.to_owned();
    for (token, character) in TOKENS {
        if let Some(behind) = rest.strip_prefix(token) {
            written.push_str(character);
            rest = behind;
        }
    }
    let end = ENDS.iter().find_map(|(end, words)| Some((rest.strip_suffix(end)?, *words)));
    let (rest, words) = end.unwrap_or((rest, ""));
    written.push_str(rest);
    written.push_str(words);
    written
}

/// The name that is closest to the unknown one of a message: of a type's fields, a field's arguments, an input's fields, or
/// an enum's values.
fn meant<'s>(message: &str, schema: &'s Schema) -> Option<&'s str> {
    let (first, second) = quoted(message)?;
    let types = &schema.valid().types;
    match message.split_once('`')?.0 {
        "type " => nearest(second, fields(types.get(first)?)?.keys()),
        "the argument " => {
            let (of, field) = second.split_once('.')?;
            let arguments = &fields(types.get(of)?)?.get(field)?.arguments;
            nearest(first, arguments.iter().map(|argument| &argument.name))
        }
        "field " => nearest(first, types.get(second)?.as_input_object()?.fields.keys()),
        "value " => nearest(first, types.get(second)?.as_enum()?.values.keys()),
        _ => None,
    }
}

/// The first two texts between backticks.
fn quoted(message: &str) -> Option<(&str, &str)> {
    let mut parts = message.split('`');
    parts.next()?;
    let first = parts.next()?;
    parts.next()?;
    Some((first, parts.next()?))
}

fn fields(of: &ExtendedType) -> Option<&IndexMap<Name, Component<FieldDefinition>>> {
    match of {
        ExtendedType::Object(of) => Some(&of.fields),
        ExtendedType::Interface(of) => Some(&of.fields),
        _ => None,
    }
}

/// None where nothing is close, and where the search would cost more than the validation.
fn nearest<'n>(unknown: &str, known: impl Iterator<Item = &'n Name>) -> Option<&'n str> {
    const LENGTH_MAX: usize = 64;
    const KNOWN_MAX: usize = 1_000;
    if unknown.len() > LENGTH_MAX {
        return None;
    }
    let unknown = unknown.to_ascii_lowercase();
    // More strokes would be another word.
    let strokes = (unknown.len() / 3).max(1);
    let mut known = known.map(Name::as_str);
    let close = known.by_ref().take(KNOWN_MAX).filter(|name| name.len().abs_diff(unknown.len()) <= strokes);
    let scored = close.map(|name| (strsim::osa_distance(&unknown, &name.to_ascii_lowercase()), name));
    let best = scored.filter(|(distance, _)| *distance <= strokes).min_by_key(|(distance, _)| *distance);
    if known.next().is_some() { None } else { best.map(|(_, name)| name) }
}
