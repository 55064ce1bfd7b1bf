//! Names: which types a tenant has, with their attributes, and which series there are. Nothing is taken from it but by
//! [`Catalog::undo`], which takes back the last that was added.

use crate::ids::{AttributeId, SeriesId, TableId};
use crate::op::Op;
use crate::value::Kind;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use prony_log::codec::Damage;
use std::hash::{BuildHasher as _, Hasher as _};

/// No series.
const NONE: u32 = u32::MAX;

/// An attribute of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// As it was first written.
    pub name: Box<str>,
    /// The type that it was first given.
    pub declared: Box<str>,
    pub kind: Kind,
}

/// A tenant's entity type.
#[derive(Debug, Clone)]
pub struct Table {
    pub tenant: Box<str>,
    pub name: Box<str>,
    /// In the order in which they came; their ids are their places.
    pub attributes: Vec<Attribute>,
    /// In the order in which they came.
    pub series: Vec<SeriesId>,
    pub is_dropped: bool,
    by_name: HashTable<u32>,
}

/// An entity of one type under one service path.
#[derive(Debug, Clone)]
pub struct Series {
    pub table: TableId,
    pub entity: Box<str>,
    pub path: Box<str>,
    /// Of the same entity, under another path.
    next: u32,
}

/// What was added last.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Added {
    Table,
    Attribute(TableId),
    Series,
}

/// All names of a store.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    tables: Vec<Table>,
    series: Vec<Series>,
    /// Tables that are not dropped, by tenant and name.
    by_type: HashTable<u32>,
    by_tenant: HashMap<Box<str>, Vec<TableId>, RandomState>,
    /// The first series of each entity, by table and entity.
    by_entity: HashTable<u32>,
    names_version: u64,
    hasher: RandomState,
}

/// Names that are changed while others read them.
pub(crate) trait CatalogLock: Sync {
    fn with_catalog(&self, with: &mut dyn FnMut(&Catalog));
}

impl Table {
    /// The attribute of this name, in any case of letters.
    pub fn attribute(&self, name: &str) -> Option<(AttributeId, &Attribute)> {
        let is_it = |place: &u32| same_name(&self.attributes[*place as usize].name, name);
        let place = *self.by_name.find(hash_of_name(name), is_it)?;
        Some((AttributeId(place), &self.attributes[place as usize]))
    }

    /// All attributes, in the order in which they came.
    pub fn ids(&self) -> impl Iterator<Item = (AttributeId, &Attribute)> {
        self.attributes.iter().enumerate().map(|(place, of)| (AttributeId(place as u32), of))
    }

    pub fn get(&self, id: AttributeId) -> &Attribute {
        &self.attributes[id.0 as usize]
    }
}

fn lower(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(char::to_lowercase)
}

/// A name of an attribute in small letters, letter by letter: names that are the same so are one attribute.
pub fn small_letters(name: &str) -> String {
    lower(name).collect()
}

/// Whether two names are one attribute: they are the same in any case of letters.
pub fn same_name(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    lower(one).eq(lower(other))
}

/// The same for names that differ in the case of their letters (FNV-1a). A type has too few attributes for collisions to hurt.
fn hash_of_name(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u32| hash = (hash ^ u64::from(number)).wrapping_mul(0x0000_0100_0000_01b3);
    if name.is_ascii() {
        name.bytes().for_each(|byte| add(u32::from(byte.to_ascii_lowercase())));
    } else {
        lower(name).for_each(|char| add(u32::from(char)));
    }
    // The table takes its bits from both ends.
    hash ^ hash << 32
}

impl Catalog {
    fn hash_of_type(hasher: &RandomState, tenant: &str, name: &str) -> u64 {
        hasher.hash_one((tenant, name))
    }

    fn hash_of_entity(hasher: &RandomState, table: TableId, entity: &str) -> u64 {
        let mut hash = hasher.build_hasher();
        hash.write_u32(table.0);
        hash.write(entity.as_bytes());
        hash.finish()
    }

    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0 as usize]
    }

    pub fn series(&self, id: SeriesId) -> &Series {
        &self.series[id.0 as usize]
    }

    pub const fn table_count(&self) -> usize {
        self.tables.len()
    }

    pub const fn series_count(&self) -> usize {
        self.series.len()
    }

    /// Another number than before once a type or an attribute has come, or a type has gone.
    pub const fn names_version(&self) -> u64 {
        self.names_version
    }

    /// Those that are not dropped, of all tenants, with their ids in the order in which they came.
    pub fn served_tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        self.tables().filter(|(_, table)| !table.is_dropped)
    }

    /// All that there ever were, by their ids.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        self.tables.iter().enumerate().map(|(id, table)| (TableId(id as u32), table))
    }

    /// Those with this number and higher ones.
    pub(crate) fn series_from(&self, from: usize) -> impl Iterator<Item = (SeriesId, &Series)> {
        self.series.iter().enumerate().skip(from).map(|(id, series)| (SeriesId(id as u32), series))
    }

    /// The types of a tenant, in the order in which they came.
    pub fn tables_of(&self, tenant: &str) -> &[TableId] {
        self.by_tenant.get(tenant).map_or(&[], Vec::as_slice)
    }

    pub fn find_table(&self, tenant: &str, name: &str) -> Option<TableId> {
        let is_it = |id: &u32| {
            let table = &self.tables[*id as usize];
            *table.name == *name && *table.tenant == *tenant
        };
        self.by_type.find(Self::hash_of_type(&self.hasher, tenant, name), is_it).map(|id| TableId(*id))
    }

    /// The series of an entity, one for each service path.
    pub fn series_of(&self, table: TableId, entity: &str) -> impl Iterator<Item = SeriesId> {
        let mut next = self.first_of(table, entity).unwrap_or(NONE);
        std::iter::from_fn(move || {
            let id = (next != NONE).then_some(next)?;
            next = self.series[id as usize].next;
            Some(SeriesId(id))
        })
    }

    pub fn find_series(&self, table: TableId, entity: &str, path: &str) -> Option<SeriesId> {
        self.series_of(table, entity).find(|id| *self.series(*id).path == *path)
    }

    fn first_of(&self, table: TableId, entity: &str) -> Option<u32> {
        let is_it = |id: &u32| {
            let series = &self.series[*id as usize];
            series.table == table && *series.entity == *entity
        };
        self.by_entity.find(Self::hash_of_entity(&self.hasher, table, entity), is_it).copied()
    }

    pub(crate) fn add_table(&mut self, tenant: &str, name: &str) -> TableId {
        let id = self.tables.len() as u32;
        self.names_version += 1;
        self.tables.push(Table {
            tenant: tenant.into(),
            name: name.into(),
            attributes: Vec::new(),
            series: Vec::new(),
            is_dropped: false,
            by_name: HashTable::new(),
        });
        let (tables, hasher) = (&self.tables, &self.hasher);
        let rehash = |id: &u32| {
            let table = &tables[*id as usize];
            Self::hash_of_type(hasher, &table.tenant, &table.name)
        };
        self.by_type.insert_unique(Self::hash_of_type(hasher, tenant, name), id, rehash);
        self.by_tenant.entry(tenant.into()).or_default().push(TableId(id));
        TableId(id)
    }

    pub(crate) fn add_attribute(
        &mut self,
        table: TableId,
        name: &str,
        declared: &str,
        kind: Kind,
    ) -> AttributeId {
        self.names_version += 1;
        let Table { attributes, by_name, .. } = &mut self.tables[table.0 as usize];
        let id = attributes.len() as u32;
        attributes.push(Attribute { name: name.into(), declared: declared.into(), kind });
        by_name.insert_unique(hash_of_name(name), id, |id| hash_of_name(&attributes[*id as usize].name));
        AttributeId(id)
    }

    pub(crate) fn add_series(&mut self, table: TableId, entity: &str, path: &str) -> SeriesId {
        let id = self.series.len() as u32;
        let first = self.first_of(table, entity);
        let next = first.map_or(NONE, |first| std::mem::replace(&mut self.series[first as usize].next, id));
        self.series.push(Series { table, entity: entity.into(), path: path.into(), next });
        if first.is_none() {
            let (series, hasher) = (&self.series, &self.hasher);
            let rehash = |id: &u32| {
                let series = &series[*id as usize];
                Self::hash_of_entity(hasher, series.table, &series.entity)
            };
            self.by_entity.insert_unique(Self::hash_of_entity(hasher, table, entity), id, rehash);
        }
        self.tables[table.0 as usize].series.push(SeriesId(id));
        SeriesId(id)
    }

    /// The name is free again.
    pub(crate) fn drop_table(&mut self, id: TableId) {
        let table = &mut self.tables[id.0 as usize];
        if std::mem::replace(&mut table.is_dropped, true) {
            return;
        }
        self.names_version += 1;
        let hash = Self::hash_of_type(&self.hasher, &table.tenant, &table.name);
        if let Ok(entry) = self.by_type.find_entry(hash, |of| *of == id.0) {
            entry.remove();
        }
        if let Some(tables) = self.by_tenant.get_mut(&table.tenant) {
            tables.retain(|of| *of != id);
        }
    }

    pub(crate) fn check_series(&self, series: SeriesId) -> Result<(), Damage> {
        let is_known = (series.0 as usize) < self.series_count();
        is_known.then_some(()).ok_or(Damage("a series has no name"))
    }

    pub(crate) fn check_table(&self, table: TableId) -> Result<(), Damage> {
        let is_known = (table.0 as usize) < self.table_count();
        is_known.then_some(()).ok_or(Damage("a type has no name"))
    }

    /// Adds a name, which may have been told before.
    pub(crate) fn name(&mut self, op: &Op<'_>) -> Result<(), Damage> {
        const OUT_OF_ORDER: Damage = Damage("names are not in order");
        let count = match *op {
            Op::Table { .. } => self.table_count(),
            Op::Attribute { table, .. } => {
                self.check_table(table)?;
                self.table(table).attributes.len()
            }
            Op::Series { table, .. } => {
                self.check_table(table)?;
                self.series_count()
            }
            _ => return Ok(()),
        };
        match *op {
            Op::Table { id, .. } if id.0 as usize > count => return Err(OUT_OF_ORDER),
            Op::Attribute { id, .. } if id.0 as usize > count => return Err(OUT_OF_ORDER),
            Op::Series { id, .. } if id.0 as usize > count => return Err(OUT_OF_ORDER),
            Op::Table { id, tenant, name } if id.0 as usize == count => drop(self.add_table(tenant, name)),
            Op::Attribute { table, id, name, declared, kind } if id.0 as usize == count => {
                self.add_attribute(table, name, declared, kind);
            }
            Op::Series { id, table, entity, path } if id.0 as usize == count => {
                self.add_series(table, entity, path);
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes back what was added last.
    pub(crate) fn undo(&mut self, added: Added) {
        match added {
            Added::Table => {
                self.drop_table(TableId(self.tables.len() as u32 - 1));
                self.tables.pop();
            }
            Added::Attribute(table) => {
                let Table { attributes, by_name, .. } = &mut self.tables[table.0 as usize];
                let id = attributes.len() as u32 - 1;
                let hash = hash_of_name(&attributes[id as usize].name);
                if let Ok(entry) = by_name.find_entry(hash, |of| *of == id) {
                    entry.remove();
                }
                attributes.pop();
            }
            Added::Series => self.undo_series(),
        }
    }

    fn undo_series(&mut self) {
        let id = self.series.len() as u32 - 1;
        let Series { table, entity, next, .. } = self.series[id as usize].clone();
        match self.first_of(table, &entity) {
            Some(first) if first != id => self.series[first as usize].next = next,
            _ => {
                let hash = Self::hash_of_entity(&self.hasher, table, &entity);
                if let Ok(entry) = self.by_entity.find_entry(hash, |of| *of == id) {
                    entry.remove();
                }
            }
        }
        self.series.pop();
        self.tables[table.0 as usize].series.pop();
    }
}
