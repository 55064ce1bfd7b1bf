//! GraphQL types of columns: scalars, filter inputs with the operators that each allows, enums.

use std::collections::BTreeSet;

use apollo_compiler::{Name, ast::Type, name, schema::ExtendedType};
use prony_graphql::schema::{
    Contribution,
    build::{Pool, enumeration, input_object, named, non_null, object, scalar},
};

use crate::relational::{catalog::ColumnKind, model::Model};

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

const EQUALITY: &[Name] = &[name!("eq"), name!("ne"), name!("in"), name!("not_in"), name!("is_null")];
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
    (name!("BoolWhere"), name!("Boolean"), EQUALITY),
    (name!("BytesWhere"), name!("Bytes"), EQUALITY),
    (name!("DecimalWhere"), name!("Decimal"), ORDER),
    (name!("FloatWhere"), name!("Float"), ORDER),
    (name!("IntWhere"), name!("Int"), ORDER),
    (name!("JsonWhere"), name!("JSON"), NULLNESS),
    (name!("ListWhere"), name!("Boolean"), NULLNESS),
    (name!("StrWhere"), name!("String"), TEXT),
    (name!("UuidWhere"), name!("UUID"), ORDER),
];

/// Types of columns, and which of them are in use.
pub(super) struct ColumnTypes<'m> {
    model: &'m Model,
    /// Kinds of the columns seen, each once; there are few.
    kinds: Vec<ColumnKind>,
    /// Whether there is a sort input.
    pub(super) sorts: bool,
    /// Whether there is an update or a deletion.
    pub(super) changes: bool,
}

/// JSON values have no order in PostgreSQL.
pub(super) fn is_sortable(kind: &ColumnKind) -> bool {
    *kind != ColumnKind::Json
}

impl<'m> ColumnTypes<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self { model, kinds: Vec::new(), sorts: false, changes: false }
    }

    /// Takes note of a column, so that the types that it needs are written.
    pub(super) fn see(&mut self, kind: &ColumnKind) {
        if !self.kinds.contains(kind) {
            self.kinds.push(kind.clone());
        }
    }

    /// The type of a column's value: in the row type, as an argument, in a key.
    pub(super) fn value(&self, kind: &ColumnKind, nullable: bool) -> Type {
        let named = match kind {
            ColumnKind::Array(item) => self.value(item, true).list(),
            _ => Type::Named(self.scalar(kind)),
        };
        if nullable { named } else { named.non_null() }
    }

    /// The type below `sum`, `avg`, `max` and `min`: an average of integers is no integer, and their sum may
    /// have more bits.
    pub(super) fn aggregated(&self, kind: &ColumnKind) -> Type {
        match kind {
            ColumnKind::Int | ColumnKind::BigInt => named(&name!("Float")),
            _ => self.value(kind, true),
        }
    }

    /// The filter input.
    pub(super) fn filter(&self, kind: &ColumnKind) -> Name {
        match kind {
            ColumnKind::Int => name!("IntWhere"),
            ColumnKind::BigInt => name!("BigIntWhere"),
            ColumnKind::Float | ColumnKind::Numeric => name!("FloatWhere"),
            ColumnKind::Decimal => name!("DecimalWhere"),
            ColumnKind::Boolean => name!("BoolWhere"),
            ColumnKind::Text | ColumnKind::Timestamp | ColumnKind::OtherText => name!("StrWhere"),
            ColumnKind::Uuid => name!("UuidWhere"),
            ColumnKind::Json => name!("JsonWhere"),
            ColumnKind::Bytes => name!("BytesWhere"),
            ColumnKind::Array(_) => name!("ListWhere"),
            ColumnKind::Enum(index) => enum_filter(&self.model.enums[*index].name),
        }
    }

    /// # Panics
    /// For arrays, which have no name.
    fn scalar(&self, kind: &ColumnKind) -> Name {
        match kind {
            ColumnKind::Int => name!("Int"),
            ColumnKind::BigInt => name!("BigInt"),
            ColumnKind::Float | ColumnKind::Numeric => name!("Float"),
            ColumnKind::Decimal => name!("Decimal"),
            ColumnKind::Boolean => name!("Boolean"),
            ColumnKind::Text | ColumnKind::Timestamp | ColumnKind::OtherText => name!("String"),
            ColumnKind::Uuid => name!("UUID"),
            ColumnKind::Json => name!("JSON"),
            ColumnKind::Bytes => name!("Bytes"),
            ColumnKind::Enum(index) => enum_name(&self.model.enums[*index].name),
            ColumnKind::Array(_) => unreachable!("arrays are lists of their items' type"),
        }
    }

    /// Adds the types in use to the contribution.
    pub(super) fn write_used(self, pool: &mut Pool, contribution: &mut Contribution) {
        let filters: BTreeSet<Name> = self.kinds.iter().map(|kind| self.filter(kind)).collect();
        let scalars = self.kinds.iter().map(|kind| self.value(kind, true).inner_named_type().clone());
        let scalars: BTreeSet<Name> = scalars.collect();
        let types = &mut contribution.types;
        for found in &self.model.enums {
            let (name, filter) = (enum_name(&found.name), enum_filter(&found.name));
            if filters.contains(&filter) {
                types.push(filter_input(&filter, &name, EQUALITY, pool));
            }
            types.push(enumeration(&name, None, found.labels.iter().map(|label| pool.name(label))));
        }
        let mut shared: Vec<&Name> =
            FILTERS.iter().map(|(name, ..)| name).filter(|name| filters.contains(*name)).collect();
        // Operands of filters are among the columns' own types.
        shared.extend(CUSTOM_SCALARS.iter().map(|(name, ..)| name).filter(|name| scalars.contains(*name)));
        let (sort_operator, result) = (name!("SortOperator"), name!("Result"));
        shared.extend(self.sorts.then_some(&sort_operator));
        shared.extend(self.changes.then_some(&result));
        types.extend(shared.into_iter().filter_map(|name| shared_type(name, pool)));
    }
}

/// A type that belongs to no table: a filter, a scalar, `SortOperator` or `Result`. Sources that share it must define it
/// alike.
pub(crate) fn shared_type(name: &Name, pool: &mut Pool) -> Option<(Name, ExtendedType)> {
    if let Some((name, operand, operators)) = FILTERS.iter().find(|(known, ..)| known == name) {
        return Some(filter_input(name, operand, operators, pool));
    }
    if let Some((name, description, specified_by)) = CUSTOM_SCALARS.iter().find(|(known, ..)| known == name) {
        return Some(scalar(name, Some(description), Some(specified_by)));
    }
    match name.as_str() {
        "ChangeOperation" => Some(enumeration(
            name,
            Some("What has become of a row, a node or a relationship."),
            [name!("INSERT"), name!("UPDATE"), name!("DELETE")],
        )),
        "SortOperator" => Some(enumeration(name, None, [name!("asc"), name!("desc")])),
        "Result" => {
            let result = pool.field(&name!("result"), non_null(&name!("Boolean")));
            Some(object(name, Some("Whether a row was changed."), [result]))
        }
        _ => None,
    }
}

fn enum_name(name: &str) -> Name {
    Name::new(name).expect("the model holds only GraphQL names")
}

fn enum_filter(name: &str) -> Name {
    enum_name(&format!("{name}Where"))
}

pub(crate) fn filter_input(
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
        pool.input(operator, input)
    });
    input_object(name, None, fields)
}
