//! Names in the database: types with their tables, attributes with their columns, entities. They grow in transactions that hold one lock, so
//! that servers of the same database agree, and each change has a version, by which others learn of it.

use crate::columns::{column_name, column_type};
use crate::mapping::{ColumnMap, TableMap};
use prony_series_database::{Column, Fault, Session, kind_name, kind_of, plain, quoted};
use prony_series_store::calendar::{DAY_MS, Date, date_of_days, days_of_date};
use prony_series_store::{Kind, TimeMs, same_name};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use tokio_postgres::Row;

/// Of the tables; a later one cannot be read by this version.
pub(crate) const FORMAT: i32 = 1;
/// The advisory lock under which names grow: `prony` and `seri` in ASCII.
const LOCK: i64 = 0x7072_6f6e_7365_7269;
/// Of a table's name, what is taken of the type's, and of a schema's what is taken of the tenant's.
const NAME_BYTES_MAX: usize = 40;
/// Parts that a new table has: last month, this one, and the next two.
const MONTHS_AROUND: RangeInclusive<i32> = -1..=2;

const TABLES: &str = "
create schema if not exists prony_series;
create table if not exists prony_series.state
    (is_only boolean primary key default true check (is_only), format integer not null, version bigint not null);
create table if not exists prony_series.types
    (id integer generated always as identity primary key, tenant text not null, name text not null,
     schema_name text not null, table_name text not null, is_dropped boolean not null default false,
     version bigint not null);
create index if not exists types_version on prony_series.types (version);
create table if not exists prony_series.attributes
    (type_id integer not null references prony_series.types, place integer not null, name text not null,
     declared text not null, kind text not null, column_name text not null, version bigint not null,
     primary key (type_id, place));
create index if not exists attributes_version on prony_series.attributes (version);
create table if not exists prony_series.entities
    (id integer generated always as identity primary key, type_id integer not null references prony_series.types,
     entity text not null, service_path text not null, version bigint not null);
create index if not exists entities_version on prony_series.entities (version);
create index if not exists entities_entity on prony_series.entities (type_id, md5(entity));
create table if not exists prony_series.parts
    (type_id integer not null references prony_series.types, month integer not null, primary key (type_id, month));
create sequence if not exists prony_series.row_order cache 1000;
";

/// Makes the tables where there are none; the format of those that there are.
pub(crate) async fn prepare(session: &Session) -> Result<i32, Fault> {
    session.batch_execute(&format!("begin; select pg_advisory_xact_lock({LOCK})")).await?;
    session.batch_execute(TABLES).await?;
    let first = "insert into prony_series.state (format, version) values ($1, 0) on conflict do nothing";
    session.execute(first, &[&FORMAT]).await?;
    let format = session.query_one("select format from prony_series.state", &[]).await?.get(0);
    session.batch_execute("commit").await?;
    Ok(format)
}

/// The format of the tables; none where there are none.
pub(crate) async fn find(session: &Session) -> Result<Option<i32>, Fault> {
    let is_there = "select to_regclass('prony_series.state') is not null";
    if !session.query_one(is_there, &[]).await?.get::<_, bool>(0) {
        return Ok(None);
    }
    let found = session.query_opt("select format from prony_series.state", &[]).await?;
    Ok(found.map(|row| row.get(0)))
}

/// Months since the year 0.
pub(crate) fn month_of(time_ms: TimeMs) -> i32 {
    let (year, month, _) = date_of_days(time_ms.div_euclid(DAY_MS));
    year as i32 * 12 + month.cast_signed() - 1
}

/// When a month begins.
pub(crate) fn begin_of(month: i32) -> TimeMs {
    let date: Date = (i64::from(month.div_euclid(12)), month.rem_euclid(12) as u32 + 1, 1);
    days_of_date(date) * DAY_MS
}

/// When a month begins, as a literal.
pub(crate) fn literal(month: i32) -> String {
    format!("'{:04}-{:02}-01 00:00:00+00'", month.div_euclid(12), month.rem_euclid(12) + 1)
}

/// A part of a table: its name with its schema, quoted.
pub(crate) fn part_name(schema: &str, table: &str, month: i32) -> String {
    let name = format!("{table}_{:04}_{:02}", month.div_euclid(12), month.rem_euclid(12) + 1);
    format!("{}.{}", quoted(schema), quoted(&name))
}

pub(crate) fn default_part_name(schema: &str, table: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(&format!("{table}_other")))
}

pub(crate) fn qualified(schema: &str, table: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(table))
}

/// Of a tenant's tables.
fn schema_of(tenant: &str, digest: &str) -> String {
    let is_plain = tenant.len() <= NAME_BYTES_MAX && plain(tenant, NAME_BYTES_MAX) == tenant;
    if tenant.is_empty() {
        "prony_tenant".to_owned()
    } else if is_plain {
        format!("prony_tenant_{tenant}")
    } else {
        format!("prony_tenant_{digest}")
    }
}

/// A column that a table has.
#[derive(Debug)]
struct KnownColumn {
    /// Without quotes.
    name: String,
    map: ColumnMap,
}

/// Names that one transaction adds.
#[derive(Debug)]
pub(crate) struct Growth<'s> {
    session: &'s Session,
    has_partitions: bool,
    now_ms: TimeMs,
    is_locked: bool,
    /// Of the types to which it adds: the lock keeps others from adding more.
    columns: BTreeMap<i32, Vec<KnownColumn>>,
    /// Statements that make the parts of new tables, once these have their columns.
    parts: String,
    /// Of what it has added, where it has.
    pub(crate) version: Option<i64>,
}

impl<'s> Growth<'s> {
    pub(crate) const fn new(session: &'s Session, has_partitions: bool, now_ms: TimeMs) -> Self {
        Self {
            session,
            has_partitions,
            now_ms,
            is_locked: false,
            columns: BTreeMap::new(),
            parts: String::new(),
            version: None,
        }
    }

    /// Others wait from here on until the transaction ends.
    pub(crate) async fn lock(&mut self) -> Result<(), Fault> {
        if !self.is_locked {
            self.session.batch_execute(&format!("select pg_advisory_xact_lock({LOCK})")).await?;
            self.is_locked = true;
        }
        Ok(())
    }

    async fn version(&mut self) -> Result<i64, Fault> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let sql = "update prony_series.state set version = version + 1 returning version";
        let version = self.session.query_one(sql, &[]).await?.get(0);
        self.version = Some(version);
        Ok(version)
    }

    /// A type's table, made where there is none; without columns.
    pub(crate) async fn table(&mut self, tenant: &str, type_name: &str) -> Result<TableMap, Fault> {
        self.lock().await?;
        let sql = "select id, schema_name, table_name from prony_series.types \
                   where tenant = $1 and name = $2 and not is_dropped";
        let found = self.session.query_opt(sql, &[&tenant, &type_name]).await?;
        let (id, schema, table) = match found {
            Some(row) => (row.get(0), row.get::<_, String>(1), row.get::<_, String>(2)),
            None => self.add_table(tenant, type_name).await?,
        };
        Ok(TableMap {
            id,
            tenant: tenant.to_owned(),
            type_name: type_name.to_owned(),
            name: qualified(&schema, &table),
            columns: Vec::new(),
        })
    }

    async fn add_table(&mut self, tenant: &str, type_name: &str) -> Result<(i32, String, String), Fault> {
        let version = self.version().await?;
        let digest: String = self.session.query_one("select md5($1::text)", &[&tenant]).await?.get(0);
        let schema = schema_of(tenant, &digest);
        let sql = "insert into prony_series.types (tenant, name, schema_name, table_name, version) \
                   values ($1, $2, $3, '', $4) returning id";
        let id: i32 = self.session.query_one(sql, &[&tenant, &type_name, &schema, &version]).await?.get(0);
        let table = format!("{}_{id}", plain(type_name, NAME_BYTES_MAX));
        let named = "update prony_series.types set table_name = $1 where id = $2";
        self.session.execute(named, &[&table, &id]).await?;
        let name = qualified(&schema, &table);
        let columns = "series integer not null, time timestamptz not null, \
                       seq bigint not null default nextval('prony_series.row_order'), primary key (series, time, seq)";
        let mut sql = format!("create schema if not exists {};\n", quoted(&schema));
        // Writing to a string cannot fail.
        if self.has_partitions {
            let _ = writeln!(sql, "create table {name} ({columns}) partition by range (time);");
            let (parts, other) = (&mut self.parts, default_part_name(&schema, &table));
            let _ = writeln!(parts, "create table {other} partition of {name} default;");
            for months in MONTHS_AROUND {
                let month = month_of(self.now_ms) + months;
                let part = part_name(&schema, &table, month);
                let _ = write!(
                    parts,
                    "create table {part} partition of {name} for values from ({}) to ({});\n\
                     insert into prony_series.parts values ({id}, {month});\n",
                    literal(month),
                    literal(month + 1),
                );
            }
        } else {
            let _ = writeln!(sql, "create table {name} ({columns});");
        }
        self.session.batch_execute(&sql).await?;
        Ok((id, schema, table))
    }

    /// Makes the parts of new tables. A column is added much faster to a table that has none yet.
    pub(crate) async fn add_parts(&mut self) -> Result<(), Fault> {
        let sql = std::mem::take(&mut self.parts);
        if sql.is_empty() {
            return Ok(());
        }
        Ok(self.session.batch_execute(&sql).await?)
    }

    async fn known_columns(&self, type_id: i32) -> Result<Vec<KnownColumn>, Fault> {
        let sql = "select name, declared, kind, column_name from prony_series.attributes \
                   where type_id = $1 order by place";
        let rows = self.session.query(sql, &[&type_id]).await?;
        let known = |row: &Row| {
            let name: String = row.get(3);
            let column = Column { name: quoted(&name), kind: kind_of(row.get(2)) };
            KnownColumn { name, map: ColumnMap { column, attribute: row.get(0), declared: row.get(1) } }
        };
        Ok(rows.iter().map(known).collect())
    }

    /// An attribute's column, made where there is none. The kind is the one that it was first given.
    pub(crate) async fn column(
        &mut self,
        table: &TableMap,
        (attribute, declared, kind): (&str, &str, Kind),
    ) -> Result<ColumnMap, Fault> {
        self.lock().await?;
        let mut known = match self.columns.remove(&table.id) {
            Some(known) => known,
            None => self.known_columns(table.id).await?,
        };
        let found = known.iter().find(|of| same_name(&of.map.attribute, attribute));
        let map = if let Some(found) = found {
            found.map.clone()
        } else {
            let added = self.add_column(table, (attribute, declared, kind), &known).await?;
            let map = added.map.clone();
            known.push(added);
            map
        };
        self.columns.insert(table.id, known);
        Ok(map)
    }

    async fn add_column(
        &mut self,
        table: &TableMap,
        (attribute, declared, kind): (&str, &str, Kind),
        known: &[KnownColumn],
    ) -> Result<KnownColumn, Fault> {
        let (version, place): (i64, i32) =
            (self.version().await?, known.len().try_into().unwrap_or(i32::MAX));
        let taken: Vec<&str> = known.iter().map(|of| &*of.name).collect();
        let name = column_name(attribute, known.len(), &taken);
        let sql = "insert into prony_series.attributes values ($1, $2, $3, $4, $5, $6, $7)";
        let kind_text = kind_name(kind);
        self.session
            .execute(sql, &[&table.id, &place, &attribute, &declared, &kind_text, &name, &version])
            .await?;
        let column = Column { name: quoted(&name), kind };
        let sql = format!("alter table {} add column {} {}", table.name, column.name, column_type(kind));
        self.session.batch_execute(&sql).await?;
        let (attribute, declared) = (attribute.to_owned(), declared.to_owned());
        Ok(KnownColumn { name, map: ColumnMap { column, attribute, declared } })
    }

    /// Numbers of entities with their service paths, made where there are none.
    pub(crate) async fn entities(
        &mut self,
        table: &TableMap,
        entities: &[&str],
        paths: &[&str],
    ) -> Result<Vec<i32>, Fault> {
        self.lock().await?;
        let found = "select e.id from unnest($2::text[], $3::text[]) with ordinality as n(entity, path, place) \
             left join prony_series.entities e on e.type_id = $1 and md5(e.entity) = md5(n.entity) \
             and e.entity = n.entity and e.service_path = n.path order by n.place";
        let rows = self.session.query(found, &[&table.id, &entities, &paths]).await?;
        let known: Vec<Option<i32>> = rows.iter().map(|row| row.get(0)).collect();
        let absent = |names: &[&str]| -> Vec<String> {
            let both = names.iter().zip(&known);
            both.filter(|(_, id)| id.is_none()).map(|(name, _)| (*name).to_owned()).collect()
        };
        let (new_entities, new_paths) = (absent(entities), absent(paths));
        if new_entities.is_empty() {
            return Ok(known.into_iter().flatten().collect());
        }
        let version = self.version().await?;
        let sql = "insert into prony_series.entities (type_id, entity, service_path, version) \
                   select $1, entity, path, $4 from unnest($2::text[], $3::text[]) as n(entity, path)";
        self.session.execute(sql, &[&table.id, &new_entities, &new_paths, &version]).await?;
        let rows = self.session.query(found, &[&table.id, &entities, &paths]).await?;
        Ok(rows.iter().filter_map(|row| row.get::<_, Option<i32>>(0)).collect())
    }

    /// Deletes a type with its table: a server that does not know it yet cannot write to it. Waits for those who read it.
    pub(crate) async fn drop_type(&mut self, table: &TableMap) -> Result<(), Fault> {
        self.lock().await?;
        let sql = "select 1 from prony_series.types where id = $1 and not is_dropped";
        if self.session.query_opt(sql, &[&table.id]).await?.is_none() {
            return Ok(());
        }
        let version = self.version().await?;
        let sql = "update prony_series.types set is_dropped = true, version = $2 where id = $1";
        self.session.execute(sql, &[&table.id, &version]).await?;
        Ok(self.session.batch_execute(&format!("drop table if exists {}", table.name)).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_where_they_should() {
        assert_eq!(begin_of(1970 * 12), 0);
        assert_eq!(month_of(0), 1970 * 12);
        assert_eq!(month_of(-1), 1970 * 12 - 1);
        for month in [0, 1969 * 12 + 11, 2024 * 12 + 1, 9999 * 12 + 11] {
            assert_eq!(month_of(begin_of(month)), month);
            assert_eq!(month_of(begin_of(month + 1) - 1), month);
        }
        assert_eq!(literal(2024 * 12 + 1), "'2024-02-01 00:00:00+00'");
    }

    #[test]
    fn tenants_have_schemas_of_their_own() {
        let digest = "d".repeat(32);
        assert_eq!(schema_of("", &digest), "prony_tenant");
        assert_eq!(schema_of("acme_2", &digest), "prony_tenant_acme_2");
        assert_eq!(schema_of("Acme", &digest), format!("prony_tenant_{digest}"), "not that of acme");
    }
}
