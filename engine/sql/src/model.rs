//! What is served of a catalog, and under which GraphQL names: the result of inflection, of the rules for
//! relations, and of the user's overrides.

mod build;
mod choose;
mod columns;
mod enums;
mod faults;
mod naming;
mod numbers;
mod relations;
mod served;

use crate::catalog::{ColumnKind, TableKind};
pub(crate) use faults::suggestion;
pub use numbers::TableNumbers;

/// The number of a table of a source, in all models of it: a table keeps its own while others come and go. In the first model it is the
/// index into [`Model::tables`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// Index into [`Table::columns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u16);

/// Index into [`Table::relations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelationId(pub u16);

/// The served tables. Names of root fields and types are unique in it.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub tables: Vec<Table>,
    pub enums: Vec<EnumType>,
    /// For the start-up log: collisions resolved, tables left out, columns served as text.
    pub notes: Vec<String>,
    /// By index into `tables`; empty where each table's number is its index.
    ids: Vec<TableId>,
    /// By number: the index into `tables`, none where there is no such table any more. Empty where `ids` is.
    places: Vec<Option<u32>>,
}

#[derive(Debug, Clone)]
pub struct Table {
    /// PostgreSQL's schema; `None` for SQLite.
    pub schema: Option<Box<str>>,
    /// The name in the database.
    pub name: Box<str>,
    pub kind: TableKind,
    /// The database's own description.
    pub comment: Option<Box<str>>,
    /// PascalCase singular, the row type: `MeetupsMember`. Other type names are derived from it.
    pub type_name: Box<str>,
    /// snake_case plural, the list field: `meetups_members`.
    pub list_name: Box<str>,
    pub columns: Vec<Column>,
    /// In key order; empty without a primary key.
    pub primary_key: Vec<ColumnId>,
    /// Names in the database of the primary key's columns, where not all of them are served: rows come in its order all the same.
    pub unserved_key: Vec<Box<str>>,
    /// Other keys of the database, by which no two rows are alike, as far as all their columns are served.
    pub unique_keys: Vec<Vec<ColumnId>>,
    pub relations: Vec<Relation>,
    pub writes: TableWrites,
}

/// Which mutations there are of a table's rows, whoever asks: those that are false are not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableWrites {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
}

#[derive(Debug, Clone)]
pub struct Column {
    /// The name in the database.
    pub name: Box<str>,
    /// The GraphQL field; the database's name unless that is no GraphQL name or was renamed.
    pub field: Box<str>,
    /// The database's own description.
    pub comment: Option<Box<str>>,
    /// Enums are indexes into [`Model::enums`].
    pub kind: ColumnKind,
    /// The type as the database writes it, ready for a cast.
    pub database_type: Box<str>,
    /// The collating sequence of its texts, ready to stand behind COLLATE, where it is known.
    pub collation: Option<Box<str>>,
    /// The schema of the type's operators, quoted, where they are not found by their names alone.
    pub operators: Option<Box<str>>,
    pub nullable: bool,
    pub has_default: bool,
    pub writable: bool,
}

/// From a row of its table to a row (`One`) or to rows (`Many`) of the target.
#[derive(Debug, Clone)]
pub struct Relation {
    pub field: Box<str>,
    pub cardinality: Cardinality,
    pub target: TableId,
    /// This table's column and the target's column that must be equal; at least one pair.
    pub pairs: Vec<(ColumnId, ColumnId)>,
    /// `<field>_aggregate`; only for `Many`.
    pub aggregate_field: Option<Box<str>>,
}

impl Relation {
    /// The collating sequence by which a pair is compared where its columns have different ones: that of the column which the foreign
    /// key refers to, as in the database's own comparison.
    pub fn collation<'c>(&self, own: &'c Column, target: &'c Column) -> Option<&'c str> {
        let (referring, referred) = match self.cardinality {
            Cardinality::One => (own, target),
            Cardinality::Many => (target, own),
        };
        if referring.collation == referred.collation { None } else { referred.collation.as_deref() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cardinality {
    One,
    Many,
}

/// A database enum served as a GraphQL enum: its labels are GraphQL names. Others are served as text.
#[derive(Debug, Clone)]
pub struct EnumType {
    pub name: Box<str>,
    /// The database's own description.
    pub comment: Option<Box<str>>,
    pub labels: Vec<Box<str>>,
}

/// What a field of a row type stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowField {
    Column(ColumnId),
    Relation(RelationId),
    RelationAggregate(RelationId),
}

/// What a root field stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootField {
    List(TableId),
    Aggregate(TableId),
    Create(TableId),
    Update(TableId),
    Delete(TableId),
}

impl Model {
    /// The names of all its types, but for those that belong to all tables together.
    pub fn type_names(&self) -> impl Iterator<Item = String> {
        let of_table =
            |table: &Table| naming::TYPE_SUFFIXES.map(|suffix| format!("{}{suffix}", table.type_name));
        let of_enum = |found: &EnumType| [found.name.to_string(), format!("{}Where", found.name)];
        self.tables.iter().flat_map(of_table).chain(self.enums.iter().flat_map(of_enum))
    }

    /// A table of this model.
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[self.index(id)]
    }

    /// A table of this or of another model of the source.
    pub fn find_table(&self, id: TableId) -> Option<&Table> {
        let index = if self.places.is_empty() { Some(id.0) } else { *self.places.get(id.0 as usize)? };
        self.tables.get(index? as usize)
    }

    /// Where a table of this model is among its tables.
    pub fn index(&self, id: TableId) -> usize {
        let index = if self.places.is_empty() {
            id.0
        } else {
            self.places[id.0 as usize].expect("a model is asked for its own tables")
        };
        index as usize
    }

    /// Of the table at this place.
    pub fn id_at(&self, index: usize) -> TableId {
        self.ids.get(index).copied().unwrap_or(TableId(index as u32))
    }

    /// All tables with their numbers.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (TableId, &Table)> {
        self.tables.iter().enumerate().map(|(index, table)| (self.id_at(index), table))
    }
}

impl Table {
    pub fn column(&self, id: ColumnId) -> &Column {
        &self.columns[usize::from(id.0)]
    }

    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[usize::from(id.0)]
    }

    /// With its schema, where the database has such.
    pub(crate) fn qualified_name(&self) -> String {
        let schema = self.schema.as_deref();
        schema.map_or_else(|| self.name.to_string(), |schema| format!("{schema}.{}", self.name))
    }

    /// Finds a field of the row type.
    pub fn row_field(&self, name: &str) -> Option<RowField> {
        self.column_by_field(name).map(RowField::Column).or_else(|| {
            self.relations.iter().enumerate().find_map(|(index, relation)| {
                let id = RelationId(index as u16);
                if &*relation.field == name {
                    Some(RowField::Relation(id))
                } else if relation.aggregate_field.as_deref() == Some(name) {
                    Some(RowField::RelationAggregate(id))
                } else {
                    None
                }
            })
        })
    }

    /// Finds a column by its GraphQL field.
    pub fn column_by_field(&self, name: &str) -> Option<ColumnId> {
        self.columns.iter().position(|column| &*column.field == name).map(|index| ColumnId(index as u16))
    }
}
