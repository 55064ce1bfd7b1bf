//! What tables and columns are called, and what types columns have.

use md5::{Digest as _, Md5};
use prony_series_database::{Column, plain, quoted};
use prony_series_store::Kind;
use std::fmt::Write as _;

/// Of a table's name, what is taken of the type's.
const TYPE_BYTES_MAX: usize = 40;
/// A column that is called as its attribute.
const COLUMN_BYTES_MAX: usize = 60;
/// Columns of every row.
const RESERVED: [&str; 5] = ["time", "entity", "path", "seq", "deleted"];
/// Columns of attributes whose names columns cannot have.
const ATTRIBUTE: &str = "attribute_";

/// A boolean of QuestDB cannot be null.
pub(crate) const fn column_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Double => "double",
        Kind::Integer => "long",
        Kind::Boolean => "symbol",
        Kind::Time => "timestamp",
        Kind::Text | Kind::Structured | Kind::Geometry => "varchar",
    }
}

/// Small letters, digits and `_`.
pub(crate) fn is_plain(name: &str) -> bool {
    plain(name, usize::MAX) == name
}

fn digest(parts: &[&str]) -> String {
    const BYTES: usize = 8;
    let mut of = Md5::new();
    for part in parts {
        of.update(part.as_bytes());
        of.update([0]);
    }
    of.finalize().iter().take(BYTES).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A type's table: names of tables are the same in any case of letters, which those of types are not.
pub(crate) fn table_name(prefix: &str, tenant: &str, type_name: &str) -> String {
    format!("{prefix}_{}_{}", plain(type_name, TYPE_BYTES_MAX), digest(&[tenant, type_name]))
}

/// Whether QuestDB and we agree on what its name is in another case of letters, and a column can be called so.
fn is_column_char(char: char) -> bool {
    let is_one = |mut chars: std::char::ToLowercase| chars.next().filter(|_| chars.next().is_none());
    char.is_ascii_alphanumeric()
        || char == '_'
        || char.is_alphabetic()
            && is_one(char.to_lowercase()).is_some_and(|lower| {
                let mut upper = lower.to_uppercase();
                upper
                    .next()
                    .is_some_and(|one| upper.next().is_none() && is_one(one.to_lowercase()) == Some(lower))
            })
}

/// An attribute's column: it is called as the attribute where that can be.
pub(crate) fn column(attribute: &str, kind: Kind) -> Column {
    let lower = attribute.to_lowercase();
    let can_be = !attribute.is_empty()
        && attribute.len() <= COLUMN_BYTES_MAX
        && attribute.chars().all(is_column_char)
        && !lower.starts_with(ATTRIBUTE)
        && !RESERVED.contains(&&*lower);
    let name = if can_be { attribute.to_owned() } else { format!("{ATTRIBUTE}{}", digest(&[&lower])) };
    Column { name: quoted(&name), kind }
}

/// A text, as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// What entities are compared with. By the index of a column QuestDB finds no text with a quote in it, and takes one in quotes for what is
/// between them: such texts are compared without the index.
fn entity_column(entities: &[&str]) -> &'static str {
    if entities.iter().any(|entity| entity.contains('\'')) { "entity::varchar" } else { "entity" }
}

/// A condition for rows of one entity.
pub(crate) fn entity_is(entity: &str) -> String {
    format!("{} = {}", entity_column(&[entity]), literal(entity))
}

/// A condition for rows of several entities.
pub(crate) fn entity_in(entities: &[&str]) -> String {
    let literals: Vec<String> = entities.iter().map(|entity| literal(entity)).collect();
    format!("{} in ({})", entity_column(entities), literals.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_types_that_differ_are_different() {
        let names =
            [("", "Room"), ("", "room"), ("a", "Room"), ("aRoom", ""), ("", "Größe/1"), ("", "größe/1")];
        let tables: Vec<String> = names.iter().map(|(tenant, of)| table_name("prony", tenant, of)).collect();
        for (place, table) in tables.iter().enumerate() {
            assert!(is_plain(table), "{table}");
            assert!(tables[..place].iter().all(|other| other != table), "{table}");
        }
        assert!(tables[0].starts_with("prony_room_"));
    }

    #[test]
    fn texts_with_quotes_are_compared_without_the_index() {
        assert_eq!(entity_is("a"), "entity = 'a'");
        assert_eq!(entity_is("'"), "entity::varchar = ''''");
        assert_eq!(entity_in(&["a", "b"]), "entity in ('a','b')");
        assert_eq!(entity_in(&["a", "it's"]), "entity::varchar in ('a','it''s')");
    }

    #[test]
    fn columns_are_called_as_their_attributes_where_that_can_be() {
        let name = |attribute: &str| column(attribute, Kind::Double).name;
        for attribute in ["temperature", "température", "CO2_level", "温度"] {
            assert_eq!(name(attribute), format!("\"{attribute}\""));
        }
        for attribute in ["", "Time", "a.b", "https://x/y", "a b", "İ", "ß", "attribute_1", &"x".repeat(61)]
        {
            assert!(name(attribute).starts_with("\"attribute_"), "{attribute}");
        }
        assert_eq!(name("A.b"), name("a.B"));
        assert_ne!(name("a.b"), name("a:b"));
    }
}
