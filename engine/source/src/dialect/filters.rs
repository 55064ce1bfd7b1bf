//! Types that belong to no table or node: scalars, and filter inputs with the operators that each allows. Sources that share
//! one define it alike, so that they can be served side by side.

use super::described::CONDITIONS;
use prony_graphql::{
    Name,
    compiler::{ast::Type, name, schema::ExtendedType},
    schema::build::{Pool, enumeration, input_object, named, non_null, object, scalar},
};

/// Scalars that GraphQL does not have: name, description, where it is specified.
const CUSTOM_SCALARS: &[(Name, &str, &str)] = &[
    (name!("BigInt"), "An integer of 64 bits as a JSON number.", "https://www.rfc-editor.org/rfc/rfc8259"),
    (name!("Bytes"), "Bytes in base64.", "https://www.rfc-editor.org/rfc/rfc4648"),
    (
        name!("Decimal"),
        "An exact decimal number as a string.",
        "https://www.postgresql.org/docs/current/datatype-numeric.html",
    ),
    (name!("JSON"), "Any JSON value.", "https://www.rfc-editor.org/rfc/rfc8259"),
    (name!("UUID"), "A UUID in its canonical text form.", "https://www.rfc-editor.org/rfc/rfc9562"),
];

/// Operators of what has no order.
pub const EQUALITY_OPERATORS: &[Name] =
    &[name!("eq"), name!("ne"), name!("in"), name!("not_in"), name!("is_null")];
const ORDER: &[Name] = &[
    name!("eq"),
    name!("ne"),
    name!("gt"),
    name!("gte"),
    name!("lt"),
    name!("lte"),
    name!("in"),
    name!("not_in"),
    name!("is_null"),
];
const TEXT: &[Name] = &[
    name!("eq"),
    name!("ne"),
    name!("gt"),
    name!("gte"),
    name!("lt"),
    name!("lte"),
    name!("in"),
    name!("not_in"),
    name!("is_null"),
    name!("like"),
    name!("ilike"),
];
const NULLNESS: &[Name] = &[name!("is_null")];

/// Filter inputs that all tables share: name, type of the operand, operators.
const FILTERS: &[(Name, Name, &[Name])] = &[
    (name!("BigIntWhere"), name!("BigInt"), ORDER),
    (name!("BoolWhere"), name!("Boolean"), EQUALITY_OPERATORS),
    (name!("BytesWhere"), name!("Bytes"), EQUALITY_OPERATORS),
    (name!("DecimalWhere"), name!("Decimal"), ORDER),
    (name!("FloatWhere"), name!("Float"), ORDER),
    (name!("IntWhere"), name!("Int"), ORDER),
    (name!("JsonWhere"), name!("JSON"), NULLNESS),
    (name!("ListWhere"), name!("Boolean"), NULLNESS),
    (name!("NullWhere"), name!("Boolean"), NULLNESS),
    (name!("StrWhere"), name!("String"), TEXT),
    (name!("UuidWhere"), name!("UUID"), ORDER),
];

/// Of all filter inputs that sources share.
pub fn filter_names() -> impl Iterator<Item = &'static Name> {
    FILTERS.iter().map(|(name, ..)| name)
}

/// Of all scalars that GraphQL does not have.
pub fn scalar_names() -> impl Iterator<Item = &'static Name> {
    CUSTOM_SCALARS.iter().map(|(name, ..)| name)
}

/// A type that belongs to no table: a filter, a scalar, `SortOperator` or `Result`. Sources that share it must define it
/// alike.
pub fn shared_type(name: &Name, pool: &mut Pool) -> Option<(Name, ExtendedType)> {
    if let Some((name, operand, operators)) = FILTERS.iter().find(|(known, ..)| known == name) {
        return Some(filter_input(name, operand, operators, pool));
    }
    if let Some((name, description, specified_by)) = CUSTOM_SCALARS.iter().find(|(known, ..)| known == name) {
        return Some(scalar(name, Some(pool.description(description)), Some(specified_by)));
    }
    match name.as_str() {
        "ChangeOperation" => Some(enumeration(
            name,
            Some(pool.description("What has become of a row, a node or a relationship.")),
            [name!("INSERT"), name!("UPDATE"), name!("DELETE")],
        )),
        "SortOperator" => {
            let text =
                pool.description("Ascending, where nulls come last, or descending, where they come first.");
            Some(enumeration(name, Some(text), [name!("asc"), name!("desc")]))
        }
        "Result" => {
            let result = pool.field(&name!("result"), non_null(&name!("Boolean")));
            Some(object(name, Some(pool.description("Whether a row was changed.")), [result]))
        }
        _ => None,
    }
}

/// A filter input with these operators on values of one type.
pub fn filter_input(
    name: &Name,
    operand: &Name,
    operators: &[Name],
    pool: &mut Pool,
) -> (Name, ExtendedType) {
    let fields = operators.iter().map(|operator| {
        let input = match operator.as_str() {
            // Items may be null, so that clients that declare `[Int]` fit as well as those with `[Int!]`.
            "in" | "not_in" => Type::List(Box::new(named(operand))),
            "is_null" => named(&name!("Boolean")),
            _ => named(operand),
        };
        match described(operator) {
            Some(text) => pool.described_input(operator, input, text),
            None => pool.input(operator, input),
        }
    });
    let fields: Vec<_> = fields.collect();
    input_object(name, Some(pool.description(CONDITIONS)), fields)
}

/// What an operator demands of a value.
fn described(operator: &Name) -> Option<&'static str> {
    let text = match operator.as_str() {
        "eq" => "It equals this.",
        "ne" => "It differs from this; a null does not.",
        "gt" => "It is greater.",
        "gte" => "It is greater or equal.",
        "lt" => "It is less.",
        "lte" => "It is less or equal.",
        "in" => "It is one of these.",
        "not_in" => "It is none of these; a null is not.",
        "is_null" => "It is null, or with `false` it is not.",
        "like" => "It matches this pattern, in which `%` stands for any characters and `_` for one.",
        "ilike" => "As `like`, whatever the case of letters.",
        "starts_with" => "It begins with this.",
        "contains" => "It has this in it.",
        "ends_with" => "It ends with this.",
        _ => return None,
    };
    Some(text)
}
