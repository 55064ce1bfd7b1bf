//! Whatever a database calls its things, there is a valid schema, and always the same one.

use std::collections::HashSet;

use prony_sql::{
    catalog::{Catalog, CatalogColumn, CatalogEnum, CatalogForeignKey, CatalogTable, ColumnKind, TableKind},
    model::Model,
    settings::RelationalSettings,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::support::sdl;

/// Names that get into each other's way.
const NAMES: &[&str] = &[
    "member",
    "members",
    "Member",
    "member_sort",
    "member_clauses",
    "members_aggregate",
    "member_id",
    "memberId",
    "person",
    "people",
    "person_id",
    "a b",
    "a-b",
    "a_b",
    "and",
    "or",
    "not",
    "pk_columns",
    "query",
    "mutation",
    "Int",
    "strings",
    "result",
    "str_where",
    "sort_operator",
    "JSON",
    "mood",
    "mood_where",
    "_",
    "__type",
    "2020",
    "id",
    "\u{1f4a5}",
];

fn kind() -> impl Strategy<Value = ColumnKind> {
    let plain = vec![
        ColumnKind::Int,
        ColumnKind::BigInt,
        ColumnKind::Float,
        ColumnKind::Numeric,
        ColumnKind::Decimal,
        ColumnKind::Boolean,
        ColumnKind::Text,
        ColumnKind::Timestamp,
        ColumnKind::Uuid,
        ColumnKind::Json,
        ColumnKind::Bytes,
        ColumnKind::Enum(0),
        ColumnKind::Enum(1),
        ColumnKind::OtherText,
        ColumnKind::OrderedText,
        ColumnKind::UnorderedText,
    ];
    (select(plain), 0..2)
        .prop_map(|(kind, depth)| (0..depth).fold(kind, |kind, _| ColumnKind::Array(Box::new(kind))))
}

fn column() -> impl Strategy<Value = CatalogColumn> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (select(NAMES), kind(), flags).prop_map(|(name, kind, (nullable, has_default, writable))| CatalogColumn {
        name: name.into(),
        comment: None,
        kind,
        database_type: "any".into(),
        collation: None,
        operators: None,
        nullable,
        has_default,
        writable,
    })
}

fn table() -> impl Strategy<Value = CatalogTable> {
    let schema = prop_oneof![Just(None), select(vec!["public", "crm"]).prop_map(|name| Some(name.into()))];
    (schema, select(NAMES), any::<bool>(), vec(column(), 0..6), 0..3usize).prop_map(
        |(schema, name, is_view, mut columns, key)| {
            let mut seen = HashSet::new();
            columns.retain(|column| seen.insert(column.name.clone()));
            CatalogTable {
                schema,
                name: name.into(),
                kind: if is_view { TableKind::View } else { TableKind::Table },
                comment: None,
                primary_key: (0..key.min(columns.len())).collect(),
                unique_keys: Vec::new(),
                columns,
                foreign_keys: Vec::new(),
            }
        },
    )
}

fn catalog() -> impl Strategy<Value = Catalog> {
    let keys = vec((any::<usize>(), any::<usize>(), vec((any::<usize>(), any::<usize>()), 1..3)), 0..12);
    (vec(table(), 1..8), keys).prop_map(|(mut tables, keys)| {
        let mut seen = HashSet::new();
        tables.retain(|table| seen.insert((table.schema.clone(), table.name.clone())));
        for (from, to, pairs) in keys {
            let (from, target_table) = (from % tables.len(), to % tables.len());
            let (own, other) = (tables[from].columns.len(), tables[target_table].columns.len());
            if own > 0 && other > 0 {
                let columns = pairs.iter().map(|pair| pair.0 % own).collect();
                let target_columns = pairs.iter().map(|pair| pair.1 % other).collect();
                let key = CatalogForeignKey { columns, target_table, target_columns };
                tables[from].foreign_keys.push(key);
            }
        }
        let named = |name: &str, labels: &[&str]| CatalogEnum {
            schema: Some("public".into()),
            name: name.into(),
            comment: None,
            labels: labels.iter().map(|&label| label.into()).collect(),
        };
        let enums = vec![named("mood", &["happy", "sad"]), named("size", &["x-large"])];
        Catalog { tables, enums, notes: Vec::new() }
    })
}

proptest! {
    #[test]
    fn every_catalog_has_one_valid_schema(catalog in catalog()) {
        let build = || Model::build(&catalog, &RelationalSettings::default()).unwrap();
        let model = build();
        if model.tables.is_empty() {
            return Ok(());
        }
        // Merging refuses what is not valid, and types that are defined twice.
        prop_assert_eq!(sdl(&model), sdl(&build()));
        for table in &model.tables {
            let relations = table.relations.iter();
            let fields: Vec<&str> = relations
                .flat_map(|relation| [Some(&*relation.field), relation.aggregate_field.as_deref()])
                .flatten()
                .chain(table.columns.iter().map(|column| &*column.field))
                .collect();
            let distinct: HashSet<&str> = fields.iter().copied().collect();
            prop_assert_eq!(distinct.len(), fields.len(), "{:?}", fields);
        }
    }
}
