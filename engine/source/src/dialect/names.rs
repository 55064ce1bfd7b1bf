//! GraphQL names out of database names: words, PascalCase and snake_case, and what makes any text a valid
//! name. The English of it is in [`inflection`](super::inflection); which name a table gets is the model's business.

use std::collections::HashMap;

use super::inflection::{pluralize, singularize};

/// The row type of a table: PascalCase of its last word's singular (`meetups_members` → `MeetupsMember`).
pub fn type_name(table: &str) -> String {
    pascal_case(&singular_snake(table))
}

/// The list field of a table: snake_case of its last word's plural (`InvoiceLine` → `invoice_lines`).
pub fn list_name(table: &str) -> String {
    match on_last_word(&snake_case(table), pluralize) {
        // Not a letter in it: `_` would make `__aggregate`, a reserved name.
        nothing if nothing == "_" => "_rows".to_owned(),
        name => name,
    }
}

/// snake_case of the last word's singular (`people` → `person`).
pub fn singular_snake(table: &str) -> String {
    on_last_word(&snake_case(table), singularize)
}

/// Lower-case words joined by `_`. A word starts at an upper-case letter after a lower-case letter or a digit
/// and at the last letter of a run of upper-case letters (`HTTPServer2` → `http_server2`).
pub fn snake_case(name: &str) -> String {
    let name = graphql_name(name);
    let bytes = name.as_bytes();
    let mut out = String::with_capacity(name.len() + 4);
    for (index, &byte) in bytes.iter().enumerate() {
        let previous = index.checked_sub(1).map(|before| bytes[before]);
        if byte.is_ascii_uppercase() {
            let after_small = previous.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            let ends_acronym = previous.is_some_and(|b| b.is_ascii_uppercase())
                && bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase);
            if after_small || ends_acronym {
                out.push('_');
            }
        }
        out.push(char::from(byte.to_ascii_lowercase()));
    }
    out
}

/// PascalCase of a name in snake_case; a leading underscore stays only before a digit, where the name needs it.
pub fn pascal_case(snake: &str) -> String {
    let mut out = String::with_capacity(snake.len());
    for word in snake.split('_').filter(|word| !word.is_empty()) {
        let (first, rest) = word.split_at(1);
        out.push_str(&first.to_ascii_uppercase());
        out.push_str(rest);
    }
    if out.is_empty() || out.as_bytes()[0].is_ascii_digit() {
        out.insert(0, '_');
    }
    out
}

/// `name` itself where it is a GraphQL name that clients may define (GraphQL specification, section 2.1.9);
/// else the nearest one: letters of other scripts in ASCII, a `_` for other characters between letters, a
/// leading digit after `_`, and a single `_` for the reserved prefix `__`.
pub fn graphql_name(name: &str) -> String {
    if is_graphql_name(name) {
        return name.to_owned();
    }
    let mut out = String::with_capacity(name.len() + 1);
    let mut between = false;
    for character in name.chars() {
        let before = out.len();
        if character.is_ascii_alphanumeric() || character == '_' {
            out.push(character);
        } else if !character.is_ascii() {
            out.extend(any_ascii::any_ascii_char(character).chars().filter(char::is_ascii_alphanumeric));
        }
        if out.len() == before {
            between = true;
        } else if between {
            between = false;
            if before > 0 && !out[..before].ends_with('_') && !out[before..].starts_with('_') {
                out.insert(before, '_');
            }
        }
    }
    let bare = out.trim_start_matches('_');
    if bare.len() + 1 < out.len() {
        out = format!("_{bare}");
    }
    if out.is_empty() || out.as_bytes()[0].is_ascii_digit() {
        out.insert(0, '_');
    }
    out
}

/// Whether a schema may define `name` and `name_aggregate`.
pub fn is_list_name(name: &str) -> bool {
    is_graphql_name(name) && name != "_"
}

/// Whether a schema may define `name`: `[_A-Za-z][_0-9A-Za-z]*` without the prefix `__`.
pub fn is_graphql_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    !name.is_empty()
        && !bytes[0].is_ascii_digit()
        && !name.starts_with("__")
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The next number to try behind each name that has been numbered, so that many names of one form are numbered in one pass.
pub type NextNumbers = HashMap<String, u32>;

/// The wanted name, else one of the others, else the wanted one with a number from 2: the first that GraphQL can take and
/// that can be claimed. What was refused once is refused for good.
///
/// # Panics
/// Where more than four thousand million names want the same.
pub fn first_free(
    wanted: &str,
    others: &[String],
    next: &mut NextNumbers,
    mut claim: impl FnMut(&str) -> bool,
) -> String {
    let mut claim = |name: &str| is_graphql_name(name) && claim(name);
    let mut plain = std::iter::once(wanted).chain(others.iter().map(String::as_str));
    if let Some(name) = plain.find(|name| claim(name)) {
        return name.to_owned();
    }
    // `_` with `_2` behind it begins with `__`, which GraphQL reserves.
    let base = if wanted == "_" { "" } else { wanted };
    let number = next.entry(wanted.to_owned()).or_insert(2);
    loop {
        let name = format!("{base}_{number}");
        *number = number.checked_add(1).expect("there are fewer names than numbers");
        if claim(&name) {
            return name;
        }
    }
}

/// With its first letter in upper case, where it is ASCII.
pub fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn on_last_word(snake: &str, inflect: fn(&str) -> String) -> String {
    let trimmed = snake.trim_end_matches('_');
    let start = trimmed.rfind('_').map_or(0, |at| at + 1);
    let (before, word) = trimmed.split_at(start);
    if word.is_empty() {
        return snake.to_owned();
    }
    format!("{before}{}{}", inflect(word), &snake[trimmed.len()..])
}
