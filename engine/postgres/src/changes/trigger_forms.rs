//! Which form the triggers of a table have: one call for all rows of a statement, or one for each row where the first would
//! not see all of them, or not in order. What is installed already is found out here too.

use tokio_postgres::{Client, Error};

use prony_sql::catalog::CatalogTable;

/// How often the triggers of a table are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TriggerForm {
    /// Once for all rows of a statement.
    Statement,
    /// Once for each row, since the table is as the reason says.
    Row { reason: String },
}

/// What a table should have, and what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Forms {
    pub(crate) wanted: TriggerForm,
    /// Whether triggers are there, and call for each row.
    installed_by_row: Option<bool>,
    /// All below it, as quoted names with their schemas.
    pub(crate) partitions: Vec<String>,
}

/// A statement that names a partition or a child fires none of the parent's triggers for statements, and one that names
/// the parent none of the child's. A trigger of another program that is called for rows, or before ours, may change rows of
/// its own table, which would then be told before those that have called it.
const FORMS: &str = "
    SELECT CASE
        WHEN c.relkind = 'p' THEN 'it is partitioned'
        WHEN EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)) THEN 'it inherits or is inherited'
        ELSE (SELECT 'it has the trigger `' || t.tgname || '`' FROM pg_trigger AS t -- row (1) before (2) instead (64)
              WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgname NOT LIKE '0\\_prony\\_%'
                  AND (t.tgtype & 67 = 1 OR t.tgtype & 67 = 0 AND t.tgname < '0_prony')
              ORDER BY t.tgname LIMIT 1)
    END AS reason,
    (SELECT bool_or(p.proname = 'row_changed') FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
     WHERE t.tgrelid = c.oid AND p.pronamespace = to_regnamespace('prony')
         AND p.proname IN ('row_changed', 'rows_changed')) AS by_row,
    ARRAY(SELECT format('%I.%I', pn.nspname, p.relname) FROM pg_partition_tree(c.oid) AS below
          JOIN pg_class AS p ON p.oid = below.relid JOIN pg_namespace AS pn ON pn.oid = p.relnamespace
          WHERE below.level > 0 ORDER BY 1) AS partitions
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = $2";

impl Forms {
    pub(crate) async fn of(client: &Client, table: &CatalogTable) -> Result<Self, Error> {
        let row =
            client.query_one(FORMS, &[&table.schema.as_deref().unwrap_or_default(), &&*table.name]).await?;
        let reason: Option<String> = row.try_get(0)?;
        let wanted = reason.map_or(TriggerForm::Statement, |reason| TriggerForm::Row { reason });
        Ok(Self { wanted, installed_by_row: row.try_get(1)?, partitions: row.try_get(2)? })
    }

    /// In words: what there will be, and what is there.
    pub(crate) fn described(&self) -> String {
        let wanted = match &self.wanted {
            TriggerForm::Statement => "for each statement".to_owned(),
            TriggerForm::Row { reason } => format!("for each row, as {reason}"),
        };
        let is_by_row = matches!(self.wanted, TriggerForm::Row { .. });
        let installed = match self.installed_by_row {
            None => "; not installed",
            Some(by_row) if by_row == is_by_row => "; installed",
            Some(true) => "; in place of the earlier form, for each row, which is installed",
            Some(false) => "; in place of triggers for each statement, which are installed",
        };
        wanted + installed
    }
}
