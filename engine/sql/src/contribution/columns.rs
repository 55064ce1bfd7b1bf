//! GraphQL types of columns: scalars, filter inputs with the operators that each allows, enums.

use std::collections::BTreeSet;

use apollo_compiler::{Name, Node, ast::Type, name};
use prony_graphql::schema::{
    Contribution,
    build::{Pool, enumeration, named},
};
use prony_source::dialect::{EQUALITY_OPERATORS, filter_input, filter_names, scalar_names, shared_type};

use crate::{catalog::ColumnKind, model::Model};

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
            ColumnKind::Text | ColumnKind::Timestamp | ColumnKind::OtherText | ColumnKind::OrderedText => {
                name!("StrWhere")
            }
            ColumnKind::UnorderedText => name!("NullWhere"),
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
            ColumnKind::Text
            | ColumnKind::Timestamp
            | ColumnKind::OtherText
            | ColumnKind::OrderedText
            | ColumnKind::UnorderedText => name!("String"),
            ColumnKind::Uuid => name!("UUID"),
            ColumnKind::Json => name!("JSON"),
            ColumnKind::Bytes => name!("Bytes"),
            ColumnKind::Enum(index) => enum_name(&self.model.enums[*index].name),
            ColumnKind::Array(_) => unreachable!("arrays are lists of their items' type"),
        }
    }

    /// Adds the types in use to the contribution.
    pub(super) fn write_used(self, pool: &mut Pool, contribution: &mut Contribution) {
        let mut filters: BTreeSet<Name> = self.kinds.iter().map(|kind| self.filter(kind)).collect();
        let scalars = self.kinds.iter().map(|kind| self.value(kind, true).inner_named_type().clone());
        let scalars: BTreeSet<Name> = scalars.collect();
        // Clients of the dialect declare their variables so whatever a column's width.
        if scalars.contains(&name!("BigInt")) {
            contribution.widened.push((name!("Int"), name!("BigInt")));
        }
        if filters.contains(&name!("BigIntWhere")) {
            contribution.widened.push((name!("IntWhere"), name!("BigIntWhere")));
            filters.insert(name!("IntWhere"));
        }
        let types = &mut contribution.types;
        for found in &self.model.enums {
            let (name, filter) = (enum_name(&found.name), enum_filter(&found.name));
            if !scalars.contains(&name) {
                continue;
            }
            if filters.contains(&filter) {
                types.push(filter_input(&filter, &name, EQUALITY_OPERATORS, pool));
            }
            types.push(enumeration(
                &name,
                found.comment.as_deref().map(Node::new_str),
                found.labels.iter().map(|label| pool.name(label)),
            ));
        }
        let mut shared: Vec<Name> = filter_names().filter(|name| filters.contains(*name)).cloned().collect();
        // Operands of filters are among the columns' own types.
        shared.extend(scalar_names().filter(|name| scalars.contains(*name)).cloned());
        shared.extend(self.sorts.then_some(name!("SortOperator")));
        shared.extend(self.changes.then_some(name!("Result")));
        types.extend(shared.iter().filter_map(|name| shared_type(name, pool)));
    }
}

fn enum_name(name: &str) -> Name {
    Name::new(name).expect("the model holds only GraphQL names")
}

fn enum_filter(name: &str) -> Name {
    enum_name(&format!("{name}Where"))
}
