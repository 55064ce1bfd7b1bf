//! What a user can set for a relational source, already checked for form; where it was written is the
//! server's business.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use prony_source::{CommonSettings, dialect::names};

use crate::{catalog::ColumnKind, session_settings::SessionSettings};

/// How nested fields reach the database (the published study compares the three).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolverModel {
    /// The whole root field in one statement.
    #[default]
    Subquery,
    /// One statement per nest level and set of parents.
    PerNest,
    /// As per-nest, and the same level of concurrent operations is gathered into one statement.
    Bucket,
}

/// For how long a pooler in front of PostgreSQL lets us have a server's session, in `PgBouncer`'s words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    /// As long as we are connected; also without a pooler.
    #[default]
    Session,
    /// For a transaction: statements have no names, and nothing is set for longer.
    Transaction,
}

/// What becomes of the journal of a SQLite file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalMode {
    /// It is switched to WAL, which the file then keeps for all programs.
    #[default]
    Wal,
    /// It stays as it is.
    Keep,
}

/// Settings of one relational source; every field has a safe default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RelationalSettings {
    #[serde(flatten)]
    pub common: CommonSettings,
    pub resolver: ResolverModel,
    /// PostgreSQL's schemas; empty means `current_schema()`.
    pub schemas: Vec<String>,
    /// What each transaction at PostgreSQL begins with; without it, statements run as the connection's own user.
    pub session: Option<SessionSettings>,
    /// PostgreSQL connections per core, for each kind of use.
    pub connections_per_core: u16,
    /// PostgreSQL connections of the whole process.
    pub max_connections: u16,
    /// Requests of a core that may wait for a PostgreSQL connection, for each kind of use; more are refused.
    pub max_waiting: u32,
    /// The longest that a statement waits for a lock of PostgreSQL's; 0 is no limit.
    pub lock_timeout_ms: u32,
    /// How long the start waits for a PostgreSQL that is not up yet.
    pub connect_wait_ms: u32,
    pub pool_mode: PoolMode,
    pub journal: JournalMode,
    /// Whether it is opened by a command that serves nothing: nothing of it is changed, whatever mutations it is shown to have.
    #[serde(skip)]
    pub only_looks: bool,
    /// Statements that take so long are logged; 0 is none.
    pub slow_statement_ms: u32,
    /// Whether PostgreSQL is asked for the plan of such a statement.
    pub slow_statement_plan: bool,
    /// Only these tables, as `name` or `schema.name`, `*` standing for any text; empty means all.
    pub include_tables: Vec<String>,
    /// Not these tables. Names that contain `migration` are left out too, unless an entry of `include_tables`
    /// that itself contains `migration` lets them in.
    pub exclude_tables: Vec<String>,
    /// Whether changes made by others are heard of: PostgreSQL, with the triggers of `prony triggers install`.
    pub listen: bool,
    /// How often it is looked whether the tables have changed; 0 for at SIGHUP and after statements that fail so alone.
    pub schema_check_ms: u32,
    /// What names of types and root fields begin with, where the user has given none; nothing where it is empty.
    pub name_prefix: String,
    /// By table name (`name` or `schema.name`).
    pub tables: BTreeMap<String, TableSettings>,
}

impl RelationalSettings {
    /// The same with names that begin so; none where the user has chosen a beginning.
    pub fn with_name_prefix(&self, prefix: &str) -> Option<Self> {
        let is_free = self.name_prefix.is_empty();
        is_free.then(|| Self { name_prefix: names::graphql_name(prefix), ..self.clone() })
    }

    /// The same with what `given` says of which tables are served, under which names, and whether they can be changed; none where that
    /// is the same. `opened` is what the database was opened with.
    ///
    /// # Errors
    /// What a restart alone changes.
    pub(crate) fn changed_by(&self, given: &Self, opened: &Self) -> Result<Option<Self>, String> {
        if opened.common.read_only && !given.common.read_only {
            let message =
                "read_only: the database was opened for reading only; a restart alone opens it for changes";
            return Err(message.to_owned());
        }
        let next = Self {
            common: CommonSettings { read_only: given.common.read_only, ..self.common },
            include_tables: given.include_tables.clone(),
            exclude_tables: given.exclude_tables.clone(),
            name_prefix: given.name_prefix.clone(),
            tables: given.tables.clone(),
            ..self.clone()
        };
        Ok((next != *self).then_some(next))
    }
}

impl Default for RelationalSettings {
    fn default() -> Self {
        Self {
            common: CommonSettings::default(),
            resolver: ResolverModel::default(),
            schemas: Vec::new(),
            session: None,
            connections_per_core: 4,
            max_connections: 80,
            max_waiting: 1024,
            lock_timeout_ms: 5000,
            connect_wait_ms: 15_000,
            pool_mode: PoolMode::default(),
            journal: JournalMode::default(),
            only_looks: false,
            slow_statement_ms: 0,
            slow_statement_plan: false,
            include_tables: Vec::new(),
            exclude_tables: Vec::new(),
            listen: false,
            schema_check_ms: 1000,
            name_prefix: String::new(),
            tables: BTreeMap::new(),
        }
    }
}

impl AsMut<CommonSettings> for RelationalSettings {
    fn as_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }
}

/// Overrides for one table or view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TableSettings {
    /// PascalCase type name instead of the inflected one.
    pub type_name: Option<String>,
    /// List field instead of the inflected one.
    pub list_name: Option<String>,
    pub exclude_columns: Vec<String>,
    pub columns: BTreeMap<String, ColumnSettings>,
    /// Primary key of a view or of a table without one, for ordering and for changes by key.
    pub primary_key: Vec<String>,
    /// Relations beside those of foreign keys (for views), or renamed ones.
    pub relations: Vec<RelationSettings>,
    /// Fields of foreign keys' relations that are not served.
    pub exclude_relations: Vec<String>,
    /// Whether rows can be created; where nothing is said they can.
    pub insert: Option<bool>,
    /// Whether rows can be changed.
    pub update: Option<bool>,
    /// Whether rows can be deleted.
    pub delete: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColumnSettings {
    /// GraphQL field instead of the column's name.
    pub name: Option<String>,
    /// Another GraphQL type.
    pub r#type: Option<ColumnTypeOverride>,
}

/// GraphQL types that a column may be given instead of the mapped one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnTypeOverride {
    Int,
    BigInt,
    Float,
    Decimal,
    Boolean,
    String,
    #[serde(rename = "UUID")]
    Uuid,
    #[serde(rename = "JSON")]
    Json,
}

impl ColumnTypeOverride {
    /// The kind that the override stands for.
    pub fn kind(self) -> ColumnKind {
        match self {
            Self::Int => ColumnKind::Int,
            Self::BigInt => ColumnKind::BigInt,
            Self::Float => ColumnKind::Float,
            Self::Decimal => ColumnKind::Decimal,
            Self::Boolean => ColumnKind::Boolean,
            Self::String => ColumnKind::Text,
            Self::Uuid => ColumnKind::Uuid,
            Self::Json => ColumnKind::Json,
        }
    }

    /// Whether PostgreSQL makes such values of those of a kind. SQLite has values of any type in any column.
    pub(crate) fn fits(self, kind: &ColumnKind) -> bool {
        use ColumnKind as Kind;
        let is_number =
            matches!(kind, Kind::Int | Kind::BigInt | Kind::Float | Kind::Numeric | Kind::Decimal);
        let is_text = *kind == Kind::Text;
        match self {
            Self::String => true,
            Self::BigInt | Self::Decimal => is_number || is_text,
            Self::Float => is_number,
            Self::Int | Self::Boolean => is_number || is_text || *kind == Kind::Boolean,
            Self::Uuid => is_text || *kind == Kind::Uuid,
            Self::Json => is_number || is_text || matches!(kind, Kind::Boolean | Kind::Json),
        }
    }
}

impl fmt::Display for ColumnTypeOverride {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Int => "Int",
            Self::BigInt => "BigInt",
            Self::Float => "Float",
            Self::Decimal => "Decimal",
            Self::Boolean => "Boolean",
            Self::String => "String",
            Self::Uuid => "UUID",
            Self::Json => "JSON",
        })
    }
}

/// A relation from `columns` of this table to `target_columns` of `target`. The reverse has-many is added
/// too, under `reverse_name` where that is given. Where a foreign key is the same, its relations are renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationSettings {
    pub columns: Vec<String>,
    pub target: String,
    pub target_columns: Vec<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub reverse_name: Option<String>,
}

/// One thing in the settings that does not fit the database or another setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path.join("."))]
pub struct SettingsFault {
    /// Keys and list indexes from [`RelationalSettings`] downwards: `tables`, `members`, `columns`, `nme`.
    pub path: Vec<String>,
    pub message: String,
}

/// All that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SettingsFaults(pub Vec<SettingsFault>);
