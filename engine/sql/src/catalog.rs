//! What a database says of itself: tables, views, columns, keys. Plain values, the same for each dialect.

/// Everything that discovery found, in the database's own names.
#[derive(Debug, Clone, Default, Hash)]
pub struct Catalog {
    pub tables: Vec<CatalogTable>,
    /// PostgreSQL's enumerated types that columns refer to.
    pub enums: Vec<CatalogEnum>,
    /// For the start-up log: what discovery left out, and why.
    pub notes: Vec<String>,
}

/// Of a comment, the characters that are shown: comments have no bound in the database, and each schema holds them.
pub const COMMENT_CHARS_MAX: u16 = 2000;

/// A table or view.
#[derive(Debug, Clone, Hash)]
pub struct CatalogTable {
    /// PostgreSQL's schema; `None` for SQLite.
    pub schema: Option<Box<str>>,
    pub name: Box<str>,
    pub kind: TableKind,
    /// What the database's users have written of it, at most [`COMMENT_CHARS_MAX`]; SQLite has none.
    pub comment: Option<Box<str>>,
    /// In the order of the table.
    pub columns: Vec<CatalogColumn>,
    /// Indexes into `columns`, in key order; empty without a primary key.
    pub primary_key: Vec<usize>,
    /// Other keys, by which no two rows are alike: those of whole columns over all rows.
    pub unique_keys: Vec<Vec<usize>>,
    pub foreign_keys: Vec<CatalogForeignKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableKind {
    Table,
    View,
}

#[derive(Debug, Clone, Hash)]
pub struct CatalogColumn {
    pub name: Box<str>,
    pub comment: Option<Box<str>>,
    pub kind: ColumnKind,
    /// The type as the database writes it. PostgreSQL's is ready for a cast: domains are resolved, and there is
    /// no length and no precision, by which a cast would cut values silently (`integer`, `character varying`).
    pub database_type: Box<str>,
    /// The collating sequence of its texts, ready to stand behind COLLATE. SQLite's columns have it where a foreign key compares them, and where it is NOCASE or RTRIM.
    pub collation: Option<Box<str>>,
    /// PostgreSQL's schema of the type's operators, quoted, where it would not find them by their names alone.
    pub operators: Option<Box<str>>,
    pub nullable: bool,
    /// A default, an identity, (SQLite) a rowid alias or (PostgreSQL) perhaps a trigger before inserts fills
    /// the column when it is not given.
    pub has_default: bool,
    /// False for generated columns and columns of views.
    pub writable: bool,
}

/// How a column's values travel and which GraphQL type they have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// 32 bits; a stored value outside is an error of its field.
    Int,
    /// 64 bits, a JSON number.
    BigInt,
    Float,
    /// `numeric` served as a JSON number.
    Numeric,
    /// `numeric` served as an exact string.
    Decimal,
    /// SQLite stores 0 and 1.
    Boolean,
    Text,
    /// `timestamp` and `timestamptz`, `2021-01-01T18:00:00`; SQLite: text as stored.
    Timestamp,
    Uuid,
    /// Spliced into the response.
    Json,
    /// Base64 (RFC 4648, section 4).
    Bytes,
    /// Index into [`Catalog::enums`].
    Enum(usize),
    Array(Box<ColumnKind>),
    /// A type without a mapping (dates, times and intervals too): its text form, a `String` with all operators
    /// of text. Comparisons, and the greatest and least, are those of the database's type; `like` matches the text form.
    OtherText,
    /// The same of a type that the database orders, but has no `max` and `min` for.
    OrderedText,
    /// The same of a type that the database does not order, of which it is only asked whether it is null.
    UnorderedText,
}

impl ColumnKind {
    /// Whether the database can sort by such values and compare them.
    pub fn is_ordered(&self) -> bool {
        match self {
            Self::Json | Self::UnorderedText => false,
            Self::Array(item) => item.is_ordered(),
            _ => true,
        }
    }
}

#[derive(Debug, Clone, Hash)]
pub struct CatalogForeignKey {
    /// Indexes into the referring table's columns.
    pub columns: Vec<usize>,
    /// Indexes into [`Catalog::tables`] and into that table's columns, in the order of `columns`.
    pub target_table: usize,
    pub target_columns: Vec<usize>,
}

#[derive(Debug, Clone, Hash)]
pub struct CatalogEnum {
    pub schema: Option<Box<str>>,
    pub name: Box<str>,
    pub comment: Option<Box<str>>,
    pub labels: Vec<Box<str>>,
}
