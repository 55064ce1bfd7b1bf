//! What a PostgreSQL database says of itself: one statement per kind of thing, whatever the number of tables.
//! Partitions, tables of extensions, and what the user may not read are left out.

mod types;

use std::collections::HashMap;

use tokio_postgres::{Client, Error, Row, types::Oid};

use crate::discover::types::{Types, comment};
use prony_postgres_connect::describe;
use prony_sql::catalog::{
    COMMENT_CHARS_MAX, Catalog, CatalogColumn, CatalogForeignKey, CatalogTable, TableKind,
};

/// Why the catalog could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("the catalog of the PostgreSQL database cannot be read")]
    Postgres(#[from] Error),
    /// Configured schemas that the database does not have (or does not let the user see).
    #[error("the database has no schema {}; it has {}", list(.missing), list(.known))]
    UnknownSchemas { missing: Vec<String>, known: Vec<String> },
    /// The connection's `search_path` names no schema that exists.
    #[error("the connection has no current schema; name those to serve with `schemas` (--schema)")]
    NoCurrentSchema,
}

impl DiscoverError {
    /// With the database's own text.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Postgres(error) => format!("{self}: {}", describe(error)),
            _ => self.to_string(),
        }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Reads the catalog of the named schemas, or of `current_schema()` where none is named; tables come in the
/// order of the schemas, then of their names.
pub async fn discover(client: &Client, schemas: &[String]) -> Result<Catalog, DiscoverError> {
    let notes = if schemas.is_empty() { note_other_schemas(client).await? } else { Vec::new() };
    let schemas = schema_oids(client, schemas).await?;
    let types = Types::read(client, &schemas).await?;
    let mut tables = read_tables(client, &schemas).await?;
    read_columns(client, &schemas, &types, &mut tables).await?;
    read_primary_keys(client, &schemas, &mut tables).await?;
    read_unique_keys(client, &schemas, &mut tables).await?;
    read_foreign_keys(client, &schemas, &mut tables).await?;
    let tables = tables.drafts.into_iter().map(|draft| draft.catalog).collect();
    Ok(Catalog { tables, enums: types.into_enums(), notes })
}

async fn schema_oids(client: &Client, wanted: &[String]) -> Result<Vec<Oid>, DiscoverError> {
    if wanted.is_empty() {
        let rows = client.query("SELECT oid FROM pg_namespace WHERE nspname = current_schema()", &[]).await?;
        return rows.first().map(|row| vec![row.get(0)]).ok_or(DiscoverError::NoCurrentSchema);
    }
    let rows = client
        .query(
            "SELECT nspname::text, oid FROM pg_namespace
             WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' ORDER BY nspname",
            &[],
        )
        .await?;
    let known: Vec<(String, Oid)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut oids = Vec::with_capacity(wanted.len());
    let mut missing = Vec::new();
    for name in wanted {
        match known.iter().find(|(known, _)| known == name) {
            Some((_, oid)) => oids.push(*oid),
            None => missing.push(name.clone()),
        }
    }
    if missing.is_empty() {
        return Ok(oids);
    }
    Err(DiscoverError::UnknownSchemas { missing, known: known.into_iter().map(|(name, _)| name).collect() })
}

/// Where the current schema alone is served: a word on tables in others, which people look for.
async fn note_other_schemas(client: &Client) -> Result<Vec<String>, Error> {
    let rows = client
        .query(
            "SELECT n.nspname::text, count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname <> coalesce(current_schema(), '') AND n.nspname <> 'information_schema'
               AND (n.nspname, c.relname) <> ('prony', 'change')
               AND n.nspname NOT LIKE 'pg\\_%' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
               AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
               AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass
                               AND d.objid = c.oid AND d.deptype = 'e')
             GROUP BY n.nspname ORDER BY n.nspname",
            &[],
        )
        .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let counted = |row: &Row| format!("`{}` ({})", row.get::<_, &str>(0), row.get::<_, i64>(1));
    let others: Vec<String> = rows.iter().map(counted).collect();
    let others = others.join(", ");
    Ok(vec![format!(
        "tables of other schemas are not served: {others}; `schemas` (--schema) names all that are to be"
    )])
}

/// Tables on their way into the catalog.
struct Tables {
    drafts: Vec<Draft>,
    by_oid: HashMap<Oid, usize>,
}

struct Draft {
    catalog: CatalogTable,
    /// A row trigger before inserts may fill any column.
    is_filled_by_trigger: bool,
    /// `attnum` of each column, ascending; dropped columns leave gaps.
    attribute_numbers: Vec<i16>,
}

impl Draft {
    fn columns(&self, attribute_numbers: &[i16]) -> Option<Vec<usize>> {
        attribute_numbers.iter().map(|number| self.attribute_numbers.binary_search(number).ok()).collect()
    }
}

async fn read_tables(client: &Client, schemas: &[Oid]) -> Result<Tables, Error> {
    let rows = client
        .query(
            "SELECT c.oid, n.nspname::text, c.relname::text, c.relkind IN ('v', 'm') AS is_view,
                    left(obj_description(c.oid, 'pg_class'), $2) AS comment,
                    EXISTS (SELECT FROM pg_trigger AS t -- row (1) before (2) insert (4)
                            WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgtype & 7 = 7) AS is_filled
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.oid = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
               AND has_any_column_privilege(c.oid, 'SELECT')
               AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass
                               AND d.objid = c.oid AND d.deptype = 'e')
             ORDER BY array_position($1, n.oid), c.relname COLLATE \"C\"",
            &[&schemas, &i32::from(COMMENT_CHARS_MAX)],
        )
        .await?;
    let mut tables =
        Tables { drafts: Vec::with_capacity(rows.len()), by_oid: HashMap::with_capacity(rows.len()) };
    for row in &rows {
        tables.by_oid.insert(row.get("oid"), tables.drafts.len());
        let kind = if row.get("is_view") { TableKind::View } else { TableKind::Table };
        let catalog = CatalogTable {
            schema: Some(row.get::<_, &str>("nspname").into()),
            name: row.get::<_, &str>("relname").into(),
            kind,
            comment: comment(row),
            columns: Vec::new(),
            primary_key: Vec::new(),
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
        };
        let is_filled_by_trigger = row.get("is_filled");
        tables.drafts.push(Draft { catalog, is_filled_by_trigger, attribute_numbers: Vec::new() });
    }
    Ok(tables)
}

async fn read_columns(
    client: &Client,
    schemas: &[Oid],
    types: &Types,
    tables: &mut Tables,
) -> Result<(), Error> {
    let rows = client
        .query(
            "SELECT a.attrelid, a.attnum, a.attname::text, a.atttypid, a.attnotnull,
                    a.atthasdef OR a.attidentity <> '' AS has_default,
                    a.attgenerated = '' AND a.attidentity <> 'a' AS is_writable, left(d.description, $2) AS comment,
                    quote_ident(n.nspname) || '.' || quote_ident(l.collname) AS collation
             FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
                  LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
                  LEFT JOIN pg_namespace AS n ON n.oid = l.collnamespace
                  LEFT JOIN pg_description AS d
                      ON d.classoid = 'pg_class'::regclass AND d.objoid = a.attrelid AND d.objsubid = a.attnum
             WHERE c.relnamespace = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
               AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT')
             ORDER BY a.attrelid, a.attnum",
            &[&schemas, &i32::from(COMMENT_CHARS_MAX)],
        )
        .await?;
    for row in &rows {
        let Some(&table) = tables.by_oid.get(&row.get("attrelid")) else { continue };
        let draft = &mut tables.drafts[table];
        draft.attribute_numbers.push(row.get("attnum"));
        let column = column(row, types, draft);
        draft.catalog.columns.push(column);
    }
    Ok(())
}

fn column(row: &Row, types: &Types, table: &Draft) -> CatalogColumn {
    let described = types.describe(row.get("atttypid"));
    let is_table = table.catalog.kind == TableKind::Table;
    let refuses_null = row.get::<_, bool>("attnotnull") || (is_table && described.refuses_null);
    CatalogColumn {
        name: row.get::<_, &str>("attname").into(),
        comment: comment(row),
        kind: described.kind,
        database_type: described.name,
        collation: row.get::<_, Option<&str>>("collation").map(Into::into),
        operators: described.operators,
        nullable: !refuses_null,
        has_default: row.get::<_, bool>("has_default") || described.has_default || table.is_filled_by_trigger,
        writable: is_table && row.get::<_, bool>("is_writable"),
    }
}

async fn read_primary_keys(client: &Client, schemas: &[Oid], tables: &mut Tables) -> Result<(), Error> {
    let rows = client
        .query(
            "SELECT conrelid, conkey FROM pg_constraint WHERE connamespace = ANY ($1) AND contype = 'p'",
            &[&schemas],
        )
        .await?;
    for row in &rows {
        let Some(&table) = tables.by_oid.get(&row.get("conrelid")) else { continue };
        let draft = &mut tables.drafts[table];
        // A key with a column that the user may not read is no key for us.
        draft.catalog.primary_key = draft.columns(&row.get::<_, Vec<i16>>("conkey")).unwrap_or_default();
    }
    Ok(())
}

/// Of whole columns over all rows: an index may have expressions, be partial, and hold columns beside its key.
async fn read_unique_keys(client: &Client, schemas: &[Oid], tables: &mut Tables) -> Result<(), Error> {
    let rows = client
        .query(
            "SELECT i.indrelid, (i.indkey::int2[])[0:i.indnkeyatts - 1] AS columns
             FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
             WHERE c.relnamespace = ANY ($1) AND i.indisunique AND NOT i.indisprimary
               AND i.indpred IS NULL AND i.indexprs IS NULL
             ORDER BY i.indrelid, i.indexrelid",
            &[&schemas],
        )
        .await?;
    for row in &rows {
        let Some(&table) = tables.by_oid.get(&row.get("indrelid")) else { continue };
        let draft = &mut tables.drafts[table];
        let columns = draft.columns(&row.get::<_, Vec<i16>>("columns"));
        draft.catalog.unique_keys.extend(columns);
    }
    Ok(())
}

async fn read_foreign_keys(client: &Client, schemas: &[Oid], tables: &mut Tables) -> Result<(), Error> {
    let rows = client
        .query(
            "SELECT conrelid, conkey, confrelid, confkey FROM pg_constraint
             WHERE connamespace = ANY ($1) AND contype = 'f' AND conparentid = 0
             ORDER BY conrelid, conkey, conname",
            &[&schemas],
        )
        .await?;
    for row in &rows {
        let Some(&table) = tables.by_oid.get(&row.get("conrelid")) else { continue };
        let Some(&target_table) = tables.by_oid.get(&row.get("confrelid")) else { continue };
        let columns = tables.drafts[table].columns(&row.get::<_, Vec<i16>>("conkey"));
        let target_columns = tables.drafts[target_table].columns(&row.get::<_, Vec<i16>>("confkey"));
        if let (Some(columns), Some(target_columns)) = (columns, target_columns) {
            let key = CatalogForeignKey { columns, target_table, target_columns };
            tables.drafts[table].catalog.foreign_keys.push(key);
        }
    }
    Ok(())
}
