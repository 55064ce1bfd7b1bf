//! PostgreSQL's side of the shared SQL: placeholders with their types, memberships, LIKE and order.

use std::borrow::Cow;

use tokio_postgres::types::Type;

use crate::statement::json_sql::is_number;
use prony_sql::{
    builder::{Dialect, Parameter},
    catalog::ColumnKind,
    model::{Column, Model},
    plan::{Direction, OrderKey},
};

/// The dialect has no settings: what it needs is in the columns.
#[derive(Debug)]
pub(crate) struct Postgres;

/// How a value of a column travels to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Boolean,
    Int4,
    Int8,
    Float8,
    Bytes,
    /// As text that the statement casts to the column's type.
    Text,
}

impl Wire {
    pub(crate) fn of(kind: &ColumnKind) -> Self {
        match kind {
            ColumnKind::Int => Self::Int4,
            ColumnKind::BigInt => Self::Int8,
            ColumnKind::Float => Self::Float8,
            ColumnKind::Boolean => Self::Boolean,
            ColumnKind::Bytes => Self::Bytes,
            _ => Self::Text,
        }
    }

    pub(crate) fn scalar_type(self) -> Type {
        match self {
            Self::Boolean => Type::BOOL,
            Self::Int4 => Type::INT4,
            Self::Int8 => Type::INT8,
            Self::Float8 => Type::FLOAT8,
            Self::Bytes => Type::BYTEA,
            Self::Text => Type::TEXT,
        }
    }

    pub(crate) fn array_type(self) -> Type {
        match self {
            Self::Boolean => Type::BOOL_ARRAY,
            Self::Int4 => Type::INT4_ARRAY,
            Self::Int8 => Type::INT8_ARRAY,
            Self::Float8 => Type::FLOAT8_ARRAY,
            Self::Bytes => Type::BYTEA_ARRAY,
            Self::Text => Type::TEXT_ARRAY,
        }
    }
}

/// The type that the parameter is declared with when the statement is prepared.
pub(crate) fn parameter_type(model: &Model, parameter: &Parameter) -> Type {
    match parameter {
        Parameter::Column { table, column, list, .. } => {
            let wire = Wire::of(&model.table(*table).column(*column).kind);
            if *list { wire.array_type() } else { wire.scalar_type() }
        }
        Parameter::Limit(_) | Parameter::Offset(_) => Type::INT8,
        Parameter::Parent(_) => Type::TEXT_ARRAY,
    }
}

/// The type to which the wire's type is cast, or `None` where they compare as they are.
fn cast(column: &Column) -> Option<Cow<'_, str>> {
    let name = without_modifier(&column.database_type);
    let is_native = match Wire::of(&column.kind) {
        // Integers of different widths compare with each other, also in indexes, and without overflow.
        Wire::Int4 | Wire::Int8 => matches!(&*name, "smallint" | "integer" | "bigint"),
        Wire::Float8 => name == "double precision",
        Wire::Boolean => name == "boolean",
        Wire::Bytes => name == "bytea",
        Wire::Text => matches!(&*name, "text" | "character varying" | "varchar"),
    };
    (!is_native).then_some(name)
}

/// Casts what travels to the column's type; `list` is `[]` for a list of it.
fn push_cast(text: &mut String, column: &Column, list: &str) {
    let Some(name) = cast(column) else { return };
    // A truth becomes a number as an `integer` alone.
    let is_number_of_truths = Wire::of(&column.kind) == Wire::Boolean && is_number(&name);
    let steps = [is_number_of_truths.then_some("integer"), Some(&*name)];
    for step in steps.into_iter().flatten() {
        text.push_str("::");
        text.push_str(step);
        text.push_str(list);
    }
}

/// The type of a column, as what text is cast to in order to be compared with it.
pub(crate) fn cast_name(column: &Column) -> Cow<'_, str> {
    without_modifier(&column.database_type)
}

/// The type without length or precision: values are compared as they are, not rounded or cut first.
fn without_modifier(database_type: &str) -> Cow<'_, str> {
    if database_type.contains('"') {
        return Cow::Borrowed(database_type);
    }
    let plain = match (database_type.find('('), database_type.find(')')) {
        (Some(open), Some(close)) if open < close => {
            Cow::Owned(format!("{}{}", &database_type[..open], &database_type[close + 1..]))
        }
        _ => Cow::Borrowed(database_type),
    };
    match &*plain {
        // Without a length these two mean one character and one bit.
        "character" | "char" => Cow::Borrowed("bpchar"),
        "bit" => Cow::Borrowed("varbit"),
        _ => plain,
    }
}

impl Dialect for Postgres {
    fn placeholder(&self, text: &mut String, number: usize, column: &Column) {
        text.push('$');
        text.push_str(&number.to_string());
        push_cast(text, column, "");
    }

    /// Operators and functions of enumerated types do not take domains of them, and those whose labels are no GraphQL names are served as
    /// text. A column of the type itself is not changed by the cast, and its indexes serve as before.
    fn comparable(&self, operand: String, column: &Column) -> String {
        match column.kind {
            ColumnKind::Enum(_) | ColumnKind::OtherText => format!("{operand}::{}", cast_name(column)),
            _ => operand,
        }
    }

    /// Of a composite type `IS NULL` asks for all columns, and `IS NOT NULL` for none, so that a row with some of them is neither.
    fn null_test(&self, column: &Column, is_null: bool) -> &'static str {
        match (&column.kind, is_null) {
            (ColumnKind::OrderedText | ColumnKind::UnorderedText, true) => " IS NOT DISTINCT FROM NULL",
            (ColumnKind::OrderedText | ColumnKind::UnorderedText, false) => " IS DISTINCT FROM NULL",
            (_, true) => " IS NULL",
            (_, false) => " IS NOT NULL",
        }
    }

    fn membership(&self, text: &mut String, operand: &str, number: usize, column: &Column, negated: bool) {
        let (sign, items) = if negated { ("<>", "ALL($") } else { ("=", "ANY($") };
        text.push_str(operand);
        text.push_str(&self.operator(sign, column));
        text.push_str(items);
        text.push_str(&number.to_string());
        push_cast(text, column, "[]");
        text.push(')');
    }

    fn like(&self, text: &mut String, operand: &str, number: usize, column: &Column, insensitive: bool) {
        if column.kind == ColumnKind::Timestamp {
            // As it is served, and not as the database writes it, with a blank before the time.
            text.push_str("(to_json(");
            text.push_str(operand);
            text.push_str(") #>> '{}')");
        } else {
            text.push_str(operand);
            if cast(column).is_some() {
                text.push_str("::text");
            }
        }
        text.push_str(if insensitive { " ILIKE $" } else { " LIKE $" });
        text.push_str(&number.to_string());
    }

    /// An extension's types may have theirs in a schema to which the search path does not lead. By the name alone there would be none,
    /// or that of another type: `citext` would be compared as `text`.
    fn operator(&self, sign: &str, column: &Column) -> String {
        match &column.operators {
            Some(schema) => format!(" OPERATOR({schema}.{sign}) "),
            None => format!(" {sign} "),
        }
    }

    /// PostgreSQL's own defaults are what is wanted, and fit its indexes.
    fn order_key(&self, text: &mut String, operand: &str, _: &Column, key: OrderKey) {
        text.push_str(operand);
        text.push_str(match key.direction {
            Direction::Ascending => "",
            Direction::Descending => " DESC",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_do_not_round_what_is_compared() {
        for (given, plain) in [
            ("numeric(10,2)", "numeric"),
            ("timestamp(3) without time zone", "timestamp without time zone"),
            ("character(3)", "bpchar"),
            ("bit(8)", "varbit"),
            ("integer", "integer"),
            ("shop.\"odd(name)\"", "shop.\"odd(name)\""),
        ] {
            assert_eq!(without_modifier(given), plain);
        }
    }
}
