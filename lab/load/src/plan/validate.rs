//! Walks a plan along its table of keys and notes everything that has no place or the wrong form. What is read
//! afterwards can rely on forms, so readers only note what the table cannot say.

use super::keys::{Form, Table};
use super::reader::{Notes, Value, decimal, kind, listed, nearest, whole};
use prony_model::Nanos;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Notes all that is wrong; true where nothing was.
pub(super) fn validate(table: &DeTable<'_>, span: &Range<usize>, known: &Table, notes: &mut Notes) -> bool {
    let before = notes.found.len();
    for (name, value) in table {
        let text = name.get_ref().as_ref();
        match known.find(text) {
            Some(key) => validate_value(value, key.form, key.example, text, notes),
            None => {
                notes.add(name.span(), format!("unknown key `{text}`; {}", nearest(text, &known.names())));
            }
        }
    }
    for key in known.keys().filter(|key| key.is_required && !table.contains_key(key.name)) {
        notes.missing(span, key.name, key.example);
    }
    notes.found.len() == before
}

fn validate_value(value: Value<'_>, form: Form, example: &str, name: &str, notes: &mut Notes) {
    if !fits(value.get_ref(), form) {
        notes.add(value.span(), format!("expected {}, not {}", describe(form, example), kind(value)));
        return;
    }
    match (form, value.get_ref()) {
        (Form::Duration, DeValue::String(text)) => {
            if let Err(error) = Nanos::parse(text) {
                notes.add(value.span(), error.to_string());
            }
        }
        (Form::Whole { max }, DeValue::Integer(number)) => {
            let count = whole(number).and_then(|number| u64::try_from(number).ok());
            if count.is_none_or(|count| count > max) {
                notes.add(value.span(), format!("`{name}` must be from 0 to {max}, not {}", number.as_str()));
            }
        }
        (Form::Integer, DeValue::Integer(number)) if whole(number).is_none() => {
            notes.add(value.span(), format!("{} is beyond the range of 64 bits", number.as_str()));
        }
        (Form::Decimal, found)
            if !decimal(found).is_some_and(|number| number.is_finite() && number >= 0.0) =>
        {
            notes.add(value.span(), format!("`{name}` must be a number that is not negative"));
        }
        (Form::Word(words), DeValue::String(word)) if !words.contains(&word.as_ref()) => {
            notes.add(value.span(), format!("unknown {name} `{word}`; {}", nearest(word, words)));
        }
        (Form::List(inner), DeValue::Array(items)) => {
            items.iter().for_each(|item| validate_value(item, *inner, "", name, notes));
        }
        (Form::Table(known), DeValue::Table(table)) => {
            validate(table, &value.span(), known, notes);
        }
        (Form::Map(inner), DeValue::Table(table)) => {
            table.iter().for_each(|(name, item)| validate_value(item, *inner, "", name.get_ref(), notes));
        }
        (Form::Any, _) => note_numbers(value, notes),
        (Form::OneOf(forms), found) => {
            let chosen = forms.iter().find(|form| fits(found, **form));
            validate_value(value, *chosen.expect("one of the forms fits"), example, name, notes);
        }
        _ => {}
    }
}

/// What is said of infinities and of what is no number.
pub(super) const NO_JSON_NUMBER: &str = "is no number that JSON can hold";

/// Notes the numbers in a value that JSON or its readers do not have.
fn note_numbers(value: Value<'_>, notes: &mut Notes) {
    match value.get_ref() {
        DeValue::Integer(number) if whole(number).is_none() => {
            let message = format!(
                "{} is beyond the range of 64 bits with a sign; write it in `body`, or take it from a `jsonl` file",
                number.as_str()
            );
            notes.add(value.span(), message);
        }
        DeValue::Float(number) if !decimal(value.get_ref()).is_some_and(f64::is_finite) => {
            notes.add(value.span(), format!("{} {NO_JSON_NUMBER}", number.as_str()));
        }
        DeValue::Array(items) => items.iter().for_each(|item| note_numbers(item, notes)),
        DeValue::Table(table) => table.iter().for_each(|(_, item)| note_numbers(item, notes)),
        _ => {}
    }
}

/// True where the value has the type in TOML that the form needs.
fn fits(value: &DeValue<'_>, form: Form) -> bool {
    match form {
        Form::Text | Form::Duration | Form::Word(_) => value.is_str(),
        Form::Whole { .. } | Form::Integer => value.is_integer(),
        Form::Decimal => value.is_integer() || value.is_float(),
        Form::Flag => value.is_bool(),
        Form::Any => true,
        Form::List(_) => value.is_array(),
        Form::Table(_) | Form::Map(_) => value.is_table(),
        Form::OneOf(forms) => forms.iter().any(|form| fits(value, *form)),
    }
}

fn describe(form: Form, example: &str) -> String {
    let such_as = |what: &str| match example {
        "" => what.to_owned(),
        example => format!("{what} such as `{example}`"),
    };
    match form {
        Form::Text => "a text in quotes".to_owned(),
        Form::Duration => "a duration such as `\"30s\"`".to_owned(),
        Form::Whole { .. } | Form::Integer => "a whole number".to_owned(),
        Form::Decimal => "a number".to_owned(),
        Form::Flag => "true or false".to_owned(),
        Form::Word(words) => format!("one of {}", listed(words)),
        Form::Any => "a value".to_owned(),
        Form::List(_) => such_as("a list"),
        Form::Table(table) => format!("a table with {}", listed(&table.names())),
        Form::Map(_) => such_as("a table"),
        Form::OneOf(forms) => {
            forms.iter().map(|form| describe(*form, example)).collect::<Vec<_>>().join(" or ")
        }
    }
}
