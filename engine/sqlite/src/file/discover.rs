//! What a SQLite database says of itself: six statements, whatever the number of tables, and one or two for each view. Virtual tables and
//! the tables that they keep their content in are left out.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Error, Row};

use prony_sql::{
    builder::push_identifier,
    catalog::{Catalog, CatalogColumn, CatalogForeignKey, CatalogTable, ColumnKind, TableKind},
};

/// Why the catalog could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the catalog of the SQLite database cannot be read")]
pub struct DiscoverError(#[from] Error);

impl DiscoverError {
    /// With SQLite's own text.
    pub(super) fn described(&self) -> String {
        format!("{self}: {}", self.0)
    }
}

/// Reads the catalog of the main database; tables come in the order of their names.
pub fn discover(connection: &Connection) -> Result<Catalog, DiscoverError> {
    let mut notes = Vec::new();
    let mut tables = read_tables(connection, &mut notes)?;
    read_columns(connection, &mut tables)?;
    read_view_columns(connection, &mut tables, &mut notes)?;
    read_unique_keys(connection, &mut tables)?;
    let sorted_keys = keys_with_own_index(connection)?;
    for table in &mut tables {
        table.settle_primary_key(&sorted_keys);
    }
    // A view that cannot be read has no columns.
    tables.retain(|table| !table.catalog.columns.is_empty());
    read_foreign_keys(connection, &mut tables, &mut notes)?;
    for table in &mut tables {
        read_other_collations(connection, &mut table.catalog);
    }
    let tables = tables.into_iter().map(|table| table.catalog).collect();
    Ok(Catalog { tables, enums: Vec::new(), notes })
}

/// A table on its way into the catalog.
struct Draft {
    catalog: CatalogTable,
    without_rowid: bool,
    strict: bool,
    /// Position in the primary key, from 1, and column.
    key: Vec<(u16, usize)>,
}

impl Draft {
    /// From a row of [`COLUMN_FIELDS`].
    fn add_column(&mut self, row: &Row<'_>) -> Result<(), Error> {
        let declared: Box<str> = row.get(1)?;
        let key_position: u16 = row.get(4)?;
        // 2 and 3: generated columns (https://sqlite.org/pragma.html#pragma_table_xinfo).
        let generated = row.get::<_, u8>(5)? != 0;
        if key_position > 0 {
            self.key.push((key_position, self.catalog.columns.len()));
        }
        self.catalog.columns.push(CatalogColumn {
            name: row.get(0)?,
            comment: None,
            kind: kind_of(&declared),
            nullable: !row.get::<_, bool>(2)?,
            has_default: row.get(3)?,
            writable: !generated && self.catalog.kind == TableKind::Table,
            database_type: declared,
            collation: None,
            operators: None,
        });
        Ok(())
    }

    /// A rowid alias is never null and filled when absent; key columns of other tables may hold nulls unless
    /// the table is WITHOUT ROWID or STRICT (<https://sqlite.org/lang_createtable.html#the_primary_key>).
    fn settle_primary_key(&mut self, sorted_keys: &HashSet<Box<str>>) {
        self.key.sort_unstable();
        let columns = &mut self.catalog.columns;
        if let [(_, only)] = *self.key {
            let is_alias = !self.without_rowid
                && columns[only].database_type.eq_ignore_ascii_case("integer")
                && !sorted_keys.contains(&self.catalog.name);
            if is_alias {
                columns[only].nullable = false;
                columns[only].has_default = true;
            }
        }
        if self.without_rowid || self.strict {
            for &(_, column) in &self.key {
                columns[column].nullable = false;
            }
        }
        self.catalog.primary_key = self.key.iter().map(|&(_, column)| column).collect();
    }
}

fn read_tables(connection: &Connection, notes: &mut Vec<String>) -> Result<Vec<Draft>, Error> {
    let mut statement = connection.prepare(
        "SELECT name, type, wr, strict FROM pragma_table_list
         WHERE schema = 'main' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name",
    )?;
    let mut rows = statement.query([])?;
    let mut tables = Vec::new();
    while let Some(row) = rows.next()? {
        let name: Box<str> = row.get(0)?;
        let kind = match row.get_ref(1)?.as_str()? {
            "table" => TableKind::Table,
            "view" => TableKind::View,
            "virtual" => {
                notes.push(format!("virtual table `{name}` is left out"));
                continue;
            }
            _ => continue,
        };
        let catalog = CatalogTable {
            schema: None,
            name,
            kind,
            comment: None,
            columns: Vec::new(),
            primary_key: Vec::new(),
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
        };
        tables.push(Draft { catalog, without_rowid: row.get(2)?, strict: row.get(3)?, key: Vec::new() });
    }
    Ok(tables)
}

/// Of a table-valued pragma; columns with `hidden = 1` are those of virtual tables only.
const COLUMN_FIELDS: &str = "c.name, c.type, c.\"notnull\", c.dflt_value IS NOT NULL, c.pk, c.hidden";

fn read_columns(connection: &Connection, tables: &mut [Draft]) -> Result<(), Error> {
    let by_name = index_by_name(tables);
    let mut statement = connection.prepare(&format!(
        "SELECT {COLUMN_FIELDS}, m.name
         FROM sqlite_master AS m, pragma_table_xinfo(m.name, 'main') AS c
         WHERE m.type = 'table' AND m.rootpage > 0 AND c.hidden <> 1 ORDER BY m.rowid, c.cid"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let table = row.get_ref(6)?.as_str()?.to_ascii_lowercase();
        if let Some(&index) = by_name.get(&table) {
            tables[index].add_column(row)?;
        }
    }
    Ok(())
}

/// One statement a view: a view whose tables are gone fails, and must not take the others with it.
fn read_view_columns(
    connection: &Connection,
    tables: &mut [Draft],
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let mut statement = connection.prepare(&format!(
        "SELECT {COLUMN_FIELDS} FROM pragma_table_xinfo(?1, 'main') AS c WHERE c.hidden <> 1 ORDER BY c.cid"
    ))?;
    for view in tables.iter_mut().filter(|table| table.catalog.kind == TableKind::View) {
        let read = statement.query([&view.catalog.name]).and_then(|mut rows| {
            while let Some(row) = rows.next()? {
                view.add_column(row)?;
            }
            Ok(())
        });
        match read {
            Ok(()) => clear_types_of_none(connection, &mut view.catalog),
            Err(error) => {
                view.catalog.columns.clear();
                notes.push(format!("view `{}` cannot be read and is left out: {error}", view.catalog.name));
            }
        }
    }
    Ok(())
}

/// Of a view, SQLite says `BLOB` also of a table's column without a type, which holds what it is given, and of a UNION of texts and numbers.
/// Only a query tells them apart from a column that is a blob, and from a cast, which comes from no column
/// (<https://sqlite.org/c3ref/column_decltype.html>, <https://sqlite.org/c3ref/column_database_name.html>).
fn clear_types_of_none(connection: &Connection, view: &mut CatalogTable) {
    let is_blob = |column: &CatalogColumn| &*column.database_type == "BLOB";
    if !view.columns.iter().any(is_blob) {
        return;
    }
    let mut query = "SELECT * FROM main.".to_owned();
    push_identifier(&mut query, &view.name);
    let Ok(statement) = connection.prepare(&query) else { return };
    let found = statement.columns().zip(statement.columns_with_metadata());
    for (column, (found, origin)) in view.columns.iter_mut().zip(found) {
        let holds_blobs = found.decl_type().is_some_and(|declared| kind_of(declared) == ColumnKind::Bytes);
        if is_blob(column) && origin.origin_name().is_some() && !holds_blobs {
            column.database_type = Box::default();
            column.kind = kind_of("");
        }
    }
}

/// One column of a unique index.
struct UniqueKeyPart {
    table: Box<str>,
    index: Box<str>,
    /// `None` for an expression.
    column: Option<Box<str>>,
}

/// Those of expressions have parts without a name, and those of some rows are partial.
fn read_unique_keys(connection: &Connection, tables: &mut [Draft]) -> Result<(), Error> {
    let by_name = index_by_name(tables);
    let mut statement = connection.prepare(
        "SELECT m.name, i.name, k.name
         FROM sqlite_master AS m, pragma_index_list(m.name, 'main') AS i, pragma_index_info(i.name, 'main') AS k
         WHERE m.type = 'table' AND m.rootpage > 0 AND i.\"unique\" AND NOT i.partial AND i.origin <> 'pk'
         ORDER BY m.rowid, i.seq, k.seqno",
    )?;
    let parts = statement.query_map([], |row| {
        Ok(UniqueKeyPart { table: row.get(0)?, index: row.get(1)?, column: row.get(2)? })
    })?;
    let parts: Vec<UniqueKeyPart> = parts.collect::<Result<_, _>>()?;
    for key in parts.chunk_by(|a, b| a.table == b.table && a.index == b.index) {
        let Some(&table) = by_name.get(&key[0].table.to_ascii_lowercase()) else { continue };
        let table = &mut tables[table].catalog;
        let columns = key.iter().map(|part| column_named(table, part.column.as_deref()?));
        table.unique_keys.extend(columns.collect::<Option<Vec<_>>>());
    }
    Ok(())
}

/// Tables whose `INTEGER PRIMARY KEY DESC` is, against appearance, no rowid alias: an index of its own keeps it.
fn keys_with_own_index(connection: &Connection) -> Result<HashSet<Box<str>>, Error> {
    let mut statement = connection.prepare(
        "SELECT m.name FROM sqlite_master AS m, pragma_index_list(m.name, 'main') AS i
         WHERE m.type = 'table' AND m.sql LIKE '%desc%' AND m.rootpage > 0 AND i.origin = 'pk'",
    )?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

/// One row of `foreign_key_list`.
struct ForeignKeyPart {
    table: Box<str>,
    id: i64,
    target: Box<str>,
    from: Box<str>,
    /// `None` refers to the target's primary key.
    to: Option<Box<str>>,
}

fn read_foreign_keys(
    connection: &Connection,
    tables: &mut [Draft],
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let by_name = index_by_name(tables);
    // SQLite numbers the keys of a table from the last to the first.
    let mut statement = connection.prepare(
        "SELECT m.name, f.id, f.\"table\", f.\"from\", f.\"to\"
         FROM sqlite_master AS m, pragma_foreign_key_list(m.name, 'main') AS f
         WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.rowid, f.id DESC, f.seq",
    )?;
    let parts = statement.query_map([], |row| {
        Ok(ForeignKeyPart {
            table: row.get(0)?,
            id: row.get(1)?,
            target: row.get(2)?,
            from: row.get(3)?,
            to: row.get(4)?,
        })
    })?;
    let parts: Vec<ForeignKeyPart> = parts.collect::<Result<_, _>>()?;
    for key in parts.chunk_by(|a, b| a.table == b.table && a.id == b.id) {
        let Some(&table) = by_name.get(&key[0].table.to_ascii_lowercase()) else { continue };
        match resolve_foreign_key(key, table, tables, &by_name) {
            Some(resolved) => {
                read_collations(connection, &mut tables[table].catalog, &resolved.columns);
                let target = &mut tables[resolved.target_table].catalog;
                read_collations(connection, target, &resolved.target_columns);
                tables[table].catalog.foreign_keys.push(resolved);
            }
            None => notes.push(format!(
                "a foreign key of table `{}` refers to `{}`, which does not have what it names; no relation",
                key[0].table, key[0].target
            )),
        }
    }
    Ok(())
}

/// The two columns that a key compares may have different ones: SQLite goes by that of the one which is referred to
/// (<https://sqlite.org/foreignkeys.html>, section 3). Columns of views have none that could be asked for.
fn read_collations(connection: &Connection, table: &mut CatalogTable, columns: &[usize]) {
    for &column in columns {
        let column = &mut table.columns[column];
        if column.collation.is_none() {
            column.collation = collation(connection, &table.name, &column.name);
        }
    }
}

/// Of columns that no key compares, those by which SQLite itself compares texts otherwise than byte by byte: a row that is given in place of
/// the table's must be compared as that (<https://sqlite.org/datatype3.html#collating_sequences>).
fn read_other_collations(connection: &Connection, table: &mut CatalogTable) {
    if table.kind != TableKind::Table {
        return;
    }
    for column in table.columns.iter_mut().filter(|column| column.collation.is_none()) {
        column.collation = collation(connection, &table.name, &column.name).filter(|name| {
            [r#""NOCASE""#, r#""RTRIM""#].iter().any(|known| name.eq_ignore_ascii_case(known))
        });
    }
}

/// The collating sequence of a table's column, quoted.
fn collation(connection: &Connection, table: &str, column: &str) -> Option<Box<str>> {
    let (_, name, ..) = connection.column_metadata(Some("main"), table, column).ok()?;
    let mut quoted = String::new();
    push_identifier(&mut quoted, &name?.to_string_lossy());
    Some(quoted.into())
}

fn resolve_foreign_key(
    key: &[ForeignKeyPart],
    table: usize,
    tables: &[Draft],
    by_name: &HashMap<String, usize>,
) -> Option<CatalogForeignKey> {
    let target_table = *by_name.get(&key[0].target.to_ascii_lowercase())?;
    let target = &tables[target_table].catalog;
    if key[0].to.is_none() && target.primary_key.len() != key.len() {
        return None;
    }
    let mut resolved = CatalogForeignKey { columns: Vec::new(), target_table, target_columns: Vec::new() };
    for (position, part) in key.iter().enumerate() {
        resolved.columns.push(column_named(&tables[table].catalog, &part.from)?);
        resolved.target_columns.push(match &part.to {
            Some(name) => column_named(target, name)?,
            None => target.primary_key[position],
        });
    }
    Some(resolved)
}

/// Names compare without regard to the case of ASCII letters, as SQLite compares them.
fn column_named(table: &CatalogTable, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
}

fn index_by_name(tables: &[Draft]) -> HashMap<String, usize> {
    tables.iter().enumerate().map(|(index, table)| (table.catalog.name.to_ascii_lowercase(), index)).collect()
}

/// Declared types by what they contain, as SQLite's affinity goes (<https://sqlite.org/datatype3.html>,
/// section 3.1), after the words whose meaning is narrower than their affinity.
fn kind_of(declared: &str) -> ColumnKind {
    const BY_WORD: &[(&[&str], ColumnKind)] = &[
        (&["BOOL"], ColumnKind::Boolean),
        (&["UUID", "GUID", "UNIQUEIDENTIFIER"], ColumnKind::Uuid),
        (&["JSON"], ColumnKind::Json),
        (&["INTERVAL", "POINT"], ColumnKind::OtherText),
        (&["BIGINT", "BIG INT", "INT8", "INT64"], ColumnKind::BigInt),
        (&["INT"], ColumnKind::Int),
        (&["CHAR", "CLOB", "TEXT"], ColumnKind::Text),
        (&["BLOB", "BINARY", "BYTEA", "IMAGE"], ColumnKind::Bytes),
        (&["REAL", "FLOA", "DOUB"], ColumnKind::Float),
        (&["DATE", "TIME"], ColumnKind::Timestamp),
        (&["NUMERIC", "NUMBER", "DEC", "MONEY", "CURRENCY"], ColumnKind::Numeric),
    ];
    let declared = declared.to_ascii_uppercase();
    let name = declared.split('(').next().unwrap_or_default();
    BY_WORD
        .iter()
        .find(|(words, _)| words.iter().any(|word| name.contains(word)))
        .map_or(ColumnKind::OtherText, |(_, kind)| kind.clone())
}
