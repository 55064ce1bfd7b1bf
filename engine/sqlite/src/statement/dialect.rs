//! SQLite's side of the shared SQL: placeholders, memberships, LIKE and the order of nulls.

use std::fmt::Write as _;

use prony_sql::{
    builder::Dialect,
    catalog::ColumnKind,
    model::Column,
    plan::{Direction, OrderKey},
};

/// SQLite's function that makes rows of a JSON text. A table of the file may have its name, and none of the temporary schema has. There
/// SQLite finds the function too (`sqlite3LocateTable`), though its documentation speaks of `main` alone
/// (<https://sqlite.org/vtab.html#epovtab>).
pub(super) const JSON_EACH: &str = "temp.json_each";

/// SQLite's SQL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sqlite;

impl Dialect for Sqlite {
    fn placeholder(&self, text: &mut String, number: usize, _column: &Column) {
        text.push('?');
        text.push_str(&number.to_string());
    }

    /// The list is one JSON text, so that the statement does not depend on its length. JSON has no blobs:
    /// they come as hexadecimal.
    fn membership(&self, text: &mut String, operand: &str, number: usize, column: &Column, negated: bool) {
        let item = match column.kind {
            ColumnKind::Bytes => "unhex(value)",
            _ if holds_numbers_as_texts(column) => "+value",
            _ => "value",
        };
        let negation = if negated { " NOT" } else { "" };
        text.push_str(operand);
        text.push_str(negation);
        write!(text, " IN (SELECT {item} FROM {JSON_EACH}(?{number}))").expect("writing to memory");
    }

    /// The target's affinity decides, as it does where its rows are joined and where keys are bound: the sign takes away that of the own
    /// column (<https://sqlite.org/datatype3.html#affinity_of_expressions>). Columns that are alike do without, so that an index of either
    /// serves.
    fn equality(&self, own: &Column, target: &Column) -> String {
        let is_alike = Affinity::of(own) == Affinity::of(target);
        let equality = if is_alike { " = " } else { " = +" };
        equality.to_owned()
    }

    /// Truths are stored as numbers and as words, and what has no type as numbers and as texts.
    fn has_forms(&self, column: &Column) -> bool {
        column.kind == ColumnKind::Boolean || is_untyped_text(column)
    }

    /// A number that is stored without a type is compared with a number, though both are served, and given, as texts.
    fn compared(&self, text: &mut String, operand: &str, number: usize, column: &Column) {
        if !is_untyped_text(column) {
            return self.placeholder(text, number, column);
        }
        write!(
            text,
            "CASE WHEN typeof({operand}) IN ('integer', 'real') \
             AND CASE WHEN json_valid(?{number}) THEN json_type(?{number}) IN ('integer', 'real') END \
             THEN CAST(?{number} AS NUMERIC) ELSE ?{number} END"
        )
        .expect("writing to memory");
    }

    /// Functions of our own: SQLite's LIKE knows no case, and has no escape unless told.
    fn like(&self, text: &mut String, operand: &str, number: usize, _column: &Column, insensitive: bool) {
        let function = if insensitive { "prony_ilike" } else { "prony_like" };
        write!(text, "{function}({operand}, ?{number})").expect("writing to memory");
    }

    /// Where a table has a column that is named `true` or `false`, the word is that column
    /// (<https://sqlite.org/lang_expr.html#boolean_expressions>).
    fn constant(&self, holds: bool) -> &'static str {
        if holds { "1" } else { "0" }
    }

    /// SQLite sorts nulls first ascending and last descending. The explicit order keeps it from using an
    /// index to the full, so columns without nulls do without.
    fn order_key(&self, text: &mut String, operand: &str, column: &Column, key: OrderKey) {
        text.push_str(operand);
        text.push_str(match (key.direction, column.nullable) {
            (Direction::Ascending, false) => "",
            (Direction::Ascending, true) => " NULLS LAST",
            (Direction::Descending, false) => " DESC",
            (Direction::Descending, true) => " DESC NULLS FIRST",
        });
    }
}

/// What a column makes of values that are compared with it (<https://sqlite.org/datatype3.html>, section 3.1). Those that make numbers are
/// one, as comparisons go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Affinity {
    Text,
    Number,
    None,
    /// `ANY` makes nothing of its values in a STRICT table, and numbers elsewhere.
    Unknown,
}

impl Affinity {
    fn of(column: &Column) -> Self {
        let declared = column.database_type.to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
        if declared == "ANY" {
            Self::Unknown
        } else if has(&["INT"]) {
            Self::Number
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Self::Text
        } else if declared.is_empty() || has(&["BLOB"]) {
            Self::None
        } else {
            Self::Number
        }
    }
}

/// Whether a column makes texts of the numbers that it is given, which the settings serve as numbers. A number that is compared with it
/// becomes a text too, but not as a column of a function, which has an affinity of its own that the sign takes away
/// (<https://sqlite.org/datatype3.html>, sections 3.1, 3.2 and 4.2).
pub(crate) fn holds_numbers_as_texts(column: &Column) -> bool {
    let is_number = matches!(
        column.kind,
        ColumnKind::Int | ColumnKind::BigInt | ColumnKind::Float | ColumnKind::Numeric | ColumnKind::Decimal
    );
    is_number && Affinity::of(column) == Affinity::Text
}

/// Whether a column holds numbers and texts as they were given, all of which are served as texts: it has no declared type, as those of
/// views that are computed (<https://sqlite.org/datatype3.html>, section 3.1), and no affinity makes one of the other.
pub(crate) fn is_untyped_text(column: &Column) -> bool {
    column.database_type.is_empty()
        && matches!(column.kind, ColumnKind::OtherText | ColumnKind::Text | ColumnKind::Decimal)
}
