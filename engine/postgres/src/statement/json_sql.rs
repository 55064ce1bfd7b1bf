//! JSON text made by the database: one SQL expression per kind of column, and objects as concatenations.
//!
//! `concat` and `string_agg` over text beat `json_build_object`, `row_to_json` and `json_agg` (see the
//! decision record on PostgreSQL and JSON); what `to_json` does to single values is kept.

use prony_graphql::json::ObjectText;
use prony_sql::{builder::push_literal, catalog::ColumnKind, model::Column};

/// PostgreSQL's functions take at most 100 arguments; `concat` of more is nested.
const MAX_ARGUMENTS: usize = 90;

/// The JSON text of an object under construction.
#[derive(Debug, Default)]
pub(crate) struct JsonText {
    /// Literals and expressions of type text that are never null.
    arguments: Vec<String>,
    /// What is known behind the last expression.
    text: ObjectText,
}

impl JsonText {
    /// Begins a member; its value follows.
    pub(crate) fn key(&mut self, response_key: &str) {
        self.text.key(response_key);
    }

    /// A string value that is known now.
    pub(crate) fn string(&mut self, value: &str) {
        self.text.string(value);
    }

    /// A value that an SQL expression of type text gives, which is never null.
    pub(crate) fn expression(&mut self, sql: String) {
        let text = self.text.take();
        self.literal(&text);
        self.arguments.push(sql);
    }

    /// The whole object as one SQL expression of type text, never null.
    pub(crate) fn into_sql(mut self) -> String {
        let text = std::mem::take(&mut self.text).end();
        self.literal(&text);
        concatenation(self.arguments)
    }

    fn literal(&mut self, text: &[u8]) {
        if !text.is_empty() {
            let mut literal = String::with_capacity(text.len() + 2);
            push_literal(&mut literal, &String::from_utf8_lossy(text));
            self.arguments.push(literal);
        }
    }
}

fn concatenation(mut arguments: Vec<String>) -> String {
    while arguments.len() > MAX_ARGUMENTS {
        arguments =
            arguments.chunks(MAX_ARGUMENTS).map(|chunk| format!("concat({})", chunk.join(","))).collect();
    }
    format!("concat({})", arguments.join(","))
}

/// The JSON text of a column's value, `null` included.
pub(crate) fn value(kind: &ColumnKind, nullable: bool, operand: &str) -> String {
    let text = text_of(kind, operand);
    // A value that is no JSON number (NaN, Infinity) becomes null also where the column is not nullable.
    if nullable || matches!(kind, ColumnKind::Float | ColumnKind::Numeric) {
        format!("coalesce({text},'null')")
    } else {
        text
    }
}

/// The JSON text of a value; SQL null for null.
fn text_of(kind: &ColumnKind, operand: &str) -> String {
    match kind {
        ColumnKind::Int => format!("{operand}::int4::text"),
        ColumnKind::BigInt => format!("{operand}::int8::text"),
        // What follows is spliced as it is: a column that has become text by now must not be.
        ColumnKind::Boolean => format!("{operand}::bool::text"),
        ColumnKind::Json => format!("{operand}::text"),
        // Infinity minus itself and NaN are no zero.
        ColumnKind::Float | ColumnKind::Numeric => {
            format!("CASE WHEN {operand} - {operand} = 0 THEN {operand}::text END")
        }
        ColumnKind::Decimal => format!("'\"'||{operand}::text||'\"'"),
        ColumnKind::Text
        | ColumnKind::Uuid
        | ColumnKind::Enum(_)
        | ColumnKind::OtherText
        | ColumnKind::OrderedText
        | ColumnKind::UnorderedText => format!("to_json({operand}::text)::text"),
        ColumnKind::Timestamp => format!("to_json({operand})::text"),
        ColumnKind::Bytes => format!("'\"'||translate(encode({operand},'base64'),E'\\n','')||'\"'"),
        ColumnKind::Array(element) => array(element, operand),
    }
}

fn array(element: &ColumnKind, operand: &str) -> String {
    // Rows of a composite type would come apart into their columns; as texts they stay whole.
    let cast = match element {
        ColumnKind::OtherText | ColumnKind::OrderedText | ColumnKind::UnorderedText => "::text[]",
        _ => "",
    };
    format!(
        "CASE WHEN {operand} IS NOT NULL THEN (SELECT concat('[',string_agg({},',' ORDER BY n),']') FROM \
         unnest({operand}{cast}) WITH ORDINALITY AS u(e,n)) END",
        value(element, true, "u.e"),
    )
}

/// The JSON text of a column of a row under an alias.
pub(crate) fn column(column: &Column, operand: &str) -> String {
    let operand = match (&column.kind, &*column.database_type) {
        // As for booleans.
        (ColumnKind::Json, database_type @ ("json" | "jsonb")) => format!("{operand}::{database_type}"),
        (ColumnKind::Json, database_type) if is_number(database_type) => format!("to_json({operand})"),
        // The settings say that it is JSON, and only the database knows whether that is so.
        (ColumnKind::Json, _) => format!("{operand}::text::json"),
        (ColumnKind::Boolean, _) => truth(column, operand),
        _ => operand.to_owned(),
    };
    value(&written_as(column), column.nullable, &operand)
}

/// A column that is served as `Boolean`, as one.
pub(crate) fn truth(column: &Column, operand: &str) -> String {
    match &*column.database_type {
        "boolean" => operand.to_owned(),
        number if is_number(number) => format!("({operand} <> 0)"),
        _ => format!("{operand}::bool"),
    }
}

/// The kind in whose form values are written: a text that is served as a `Decimal` may be anything.
pub(crate) fn written_as(column: &Column) -> ColumnKind {
    if column.kind == ColumnKind::Decimal && !is_number(&column.database_type) {
        return ColumnKind::Text;
    }
    column.kind.clone()
}

/// Whether PostgreSQL calculates with such values.
pub(crate) fn is_number(database_type: &str) -> bool {
    matches!(database_type, "smallint" | "integer" | "bigint" | "real" | "double precision" | "numeric")
}
