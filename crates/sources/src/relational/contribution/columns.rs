//! GraphQL types of columns: scalars, filter inputs with the operators that each allows, enums.

use std::collections::BTreeSet;

use apollo_compiler::{
    Name, Node,
    ast::{self, Argument, Directive, EnumValueDefinition, Type, Value},
    collections::IndexMap,
    name,
    schema::{Component, DirectiveList, EnumType, ExtendedType, ScalarType},
};
use prony_graphql::schema::Contribution;

use super::nodes::{self, Nodes};
use crate::relational::{catalog::ColumnKind, model::Model};

/// Scalars that GraphQL does not have, and where each is specified.
const CUSTOM_SCALARS: &[(&str, &str)] = &[
    // A JSON number.
    ("BigInt", "https://www.rfc-editor.org/rfc/rfc8259#section-6"),
    ("Bytes", "https://www.rfc-editor.org/rfc/rfc4648#section-4"),
    ("Decimal", "https://www.postgresql.org/docs/current/datatype-numeric.html"),
    ("JSON", "https://www.rfc-editor.org/rfc/rfc8259"),
    ("UUID", "https://www.rfc-editor.org/rfc/rfc9562"),
];

const EQUALITY: &[&str] = &["eq", "ne", "in", "not_in", "is_null"];
const ORDER: &[&str] = &["eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "is_null"];
const TEXT: &[&str] = &["eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "is_null", "like", "ilike"];
const NULLNESS: &[&str] = &["is_null"];

/// Filter inputs that all tables share: name, type of the operand, operators.
const FILTERS: &[(&str, &str, &[&str])] = &[
    ("BigIntWhere", "BigInt", ORDER),
    ("BoolWhere", "Boolean", EQUALITY),
    ("BytesWhere", "Bytes", EQUALITY),
    ("DecimalWhere", "Decimal", ORDER),
    ("FloatWhere", "Float", ORDER),
    ("IntWhere", "Int", ORDER),
    ("JsonWhere", "JSON", NULLNESS),
    ("ListWhere", "Boolean", NULLNESS),
    ("StrWhere", "String", TEXT),
    ("UuidWhere", "UUID", ORDER),
];

/// Types of columns, and which of them are in use.
pub(super) struct ColumnTypes<'m> {
    model: &'m Model,
    scalars: BTreeSet<&'static str>,
    filters: BTreeSet<&'static str>,
    /// An enum may have only columns in lists, which have no filter of their own.
    enum_filters: BTreeSet<usize>,
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
        Self {
            model,
            scalars: BTreeSet::new(),
            filters: BTreeSet::new(),
            enum_filters: BTreeSet::new(),
            sorts: false,
            changes: false,
        }
    }

    /// The type of a field of the row type.
    pub(super) fn output(&mut self, kind: &ColumnKind, nullable: bool) -> Type {
        let named = self.value(kind);
        if nullable { named } else { named.non_null() }
    }

    /// The type of an argument or of a key's part.
    pub(super) fn input(&mut self, kind: &ColumnKind, nullable: bool) -> Type {
        self.output(kind, nullable)
    }

    /// The type below `sum`, `avg`, `max` and `min`: an average of integers is no integer, and their sum may
    /// have more bits.
    pub(super) fn aggregated(&mut self, kind: &ColumnKind) -> Type {
        match kind {
            ColumnKind::Int | ColumnKind::BigInt => Type::Named(name!("Float")),
            _ => self.value(kind),
        }
    }

    /// The filter input.
    pub(super) fn filter(&mut self, kind: &ColumnKind) -> Name {
        let name = match kind {
            ColumnKind::Int => "IntWhere",
            ColumnKind::BigInt => "BigIntWhere",
            ColumnKind::Float | ColumnKind::Numeric => "FloatWhere",
            ColumnKind::Decimal => "DecimalWhere",
            ColumnKind::Boolean => "BoolWhere",
            ColumnKind::Text | ColumnKind::Timestamp | ColumnKind::OtherText => "StrWhere",
            ColumnKind::Uuid => "UuidWhere",
            ColumnKind::Json => "JsonWhere",
            ColumnKind::Bytes => "BytesWhere",
            ColumnKind::Array(_) => "ListWhere",
            ColumnKind::Enum(index) => {
                self.enum_filters.insert(*index);
                return enum_filter(&self.model.enums[*index].name);
            }
        };
        self.filters.insert(name);
        Name::new_static_unchecked(name)
    }

    fn value(&mut self, kind: &ColumnKind) -> Type {
        let name = match kind {
            ColumnKind::Int => "Int",
            ColumnKind::BigInt => "BigInt",
            ColumnKind::Float | ColumnKind::Numeric => "Float",
            ColumnKind::Decimal => "Decimal",
            ColumnKind::Boolean => "Boolean",
            ColumnKind::Text | ColumnKind::Timestamp | ColumnKind::OtherText => "String",
            ColumnKind::Uuid => "UUID",
            ColumnKind::Json => "JSON",
            ColumnKind::Bytes => "Bytes",
            ColumnKind::Array(item) => return self.value(item).list(),
            ColumnKind::Enum(index) => {
                return Type::Named(enum_name(&self.model.enums[*index].name));
            }
        };
        self.scalars.insert(name);
        Type::Named(Name::new_static_unchecked(name))
    }

    /// Adds the types in use to the contribution.
    pub(super) fn write_used(self, model: &Model, nodes: &mut Nodes, contribution: &mut Contribution) {
        let mut add = |definition: ExtendedType| {
            contribution.types.push((definition.name().clone(), definition));
        };
        for (index, found) in model.enums.iter().enumerate() {
            let name = enum_name(&found.name);
            if self.enum_filters.contains(&index) {
                add(filter_input(enum_filter(&found.name), &name, EQUALITY, nodes));
            }
            add(enum_type(name, found.labels.iter().map(|label| nodes.name(label))));
        }
        for (name, operand, operators) in FILTERS {
            if self.filters.contains(name) {
                let operand = Name::new_static_unchecked(operand);
                add(filter_input(Name::new_static_unchecked(name), &operand, operators, nodes));
            }
        }
        for (name, specified_by) in CUSTOM_SCALARS {
            if self.scalars.contains(name) {
                add(scalar(name, specified_by));
            }
        }
        if self.sorts {
            add(enum_type(name!("SortOperator"), [name!("asc"), name!("desc")]));
        }
        if self.changes {
            let result = nodes.field("result", Type::NonNullNamed(name!("Boolean")));
            add(nodes::object(name!("Result"), vec![result]));
        }
    }
}

fn enum_name(name: &str) -> Name {
    Name::new(name).expect("the model holds only GraphQL names")
}

fn enum_filter(name: &str) -> Name {
    enum_name(&format!("{name}Where"))
}

fn filter_input(name: Name, operand: &Name, operators: &[&'static str], nodes: &mut Nodes) -> ExtendedType {
    let fields = operators.iter().map(|&operator| {
        let input = match operator {
            "in" | "not_in" => Type::NonNullNamed(operand.clone()).list(),
            "is_null" => Type::Named(name!("Boolean")),
            _ => Type::Named(operand.clone()),
        };
        nodes.input(Name::new_static_unchecked(operator), input)
    });
    let fields = fields.collect();
    nodes::input_object(name, fields)
}

fn scalar(name: &'static str, specified_by: &str) -> ExtendedType {
    let url = Argument { name: name!("url"), value: Node::new(Value::String(specified_by.to_owned())) };
    let directive = Directive { name: name!("specifiedBy"), arguments: vec![Node::new(url)] };
    ExtendedType::Scalar(Node::new(ScalarType {
        description: None,
        name: Name::new_static_unchecked(name),
        directives: DirectiveList(vec![Component::new(directive)]),
    }))
}

fn enum_type(name: Name, labels: impl IntoIterator<Item = Name>) -> ExtendedType {
    let value = |label: Name| {
        let definition = EnumValueDefinition {
            description: None,
            value: label.clone(),
            directives: ast::DirectiveList::default(),
        };
        (label, Component::new(definition))
    };
    let values: IndexMap<_, _> = labels.into_iter().map(value).collect();
    ExtendedType::Enum(Node::new(EnumType {
        description: None,
        name,
        directives: DirectiveList::default(),
        values,
    }))
}
