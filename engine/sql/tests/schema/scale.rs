//! Five thousand tables: all are found, named apart and related.

use std::fmt::Write as _;

use prony_sql::{catalog::Catalog, model::Model};

use crate::support::{model, schema, sqlite_catalog};

const TABLES: usize = 5_000;

/// Each table refers to the one before it, and all to the first.
fn many_tables() -> Catalog {
    let mut sql = String::from("BEGIN;");
    for number in 0..TABLES {
        let previous = number.saturating_sub(1);
        write!(
            sql,
            "CREATE TABLE things_{number} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount NUMERIC(10, 2),
                 made_at TIMESTAMP, hub_id INT REFERENCES things_0, previous_id INT REFERENCES things_{previous});"
        )
        .unwrap();
    }
    sqlite_catalog(&(sql + "COMMIT;"))
}

#[test]
fn five_thousand_tables() {
    let model: Model = model(&many_tables(), "");
    assert_eq!(model.tables.len(), TABLES);
    let relations: usize = model.tables.iter().map(|table| table.relations.len()).sum();
    assert_eq!(relations, 4 * TABLES);
    let hub = model.tables.iter().find(|table| &*table.name == "things_0").unwrap();
    assert_eq!(hub.relations.len(), 2 + TABLES + 2);
    let schema = schema(&model);
    // Row, clauses, sort, aggregate, fields and two for the key; filters, sort operator, result, two roots.
    let own_types = schema.valid().types.values().filter(|found| !found.is_built_in()).count();
    assert_eq!(own_types, 7 * TABLES + 3 + 1 + 1 + 2);
}
