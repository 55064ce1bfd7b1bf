//! What one root field needs from a relational database, free of dialect and resolver model: which rows, in
//! which order, and what is written of each. The `lower` module makes it from a GraphQL selection.

use prony_graphql::{error::Position, selection::Value};
use prony_source::dialect::{AggregateFunction, ResultOutput, RowCount};

use crate::model::{ColumnId, RelationId, TableId};

/// One root field, checked and ready to be turned into statements.
#[derive(Debug, Clone)]
pub struct RootPlan {
    /// The first segment of every error's path.
    pub response_key: Box<str>,
    pub position: Position,
    pub root: Root,
}

#[derive(Debug, Clone)]
pub enum Root {
    /// A list or an aggregate.
    Read(RowsPlan),
    Write(MutationPlan),
}

/// A change of one row.
#[derive(Debug, Clone)]
pub enum MutationPlan {
    Create(CreatePlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
}

/// Rows of a table: a root list or, below a parent, the rows of a has-many relation.
#[derive(Debug, Clone)]
pub struct ListPlan {
    pub table: TableId,
    pub outputs: Vec<Output>,
    pub filter: Filter,
    /// The client's keys, then the primary key's columns that are not among them: a total order wherever the
    /// table has a primary key.
    pub order: Vec<OrderKey>,
    /// The client's limit; `None` stands for the default limit.
    pub limit: Option<RowCount>,
    pub offset: Option<RowCount>,
}

/// The one row of a has-one relation; null where the filter does not let it pass.
#[derive(Debug, Clone)]
pub struct RowPlan {
    pub table: TableId,
    pub filter: Filter,
    pub outputs: Vec<Output>,
}

/// What is read of a table, from which further reads start.
#[derive(Debug, Clone)]
pub enum RowsPlan {
    List(ListPlan),
    One(RowPlan),
    Aggregate(AggregatePlan),
}

/// What stands in the response for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsKind {
    /// An array, `[]` without rows.
    List,
    /// The first row's object, or null.
    One,
    /// An object, also without rows.
    Aggregate,
}

impl RowsPlan {
    pub fn kind(&self) -> RowsKind {
        match self {
            Self::List(_) => RowsKind::List,
            Self::One(_) => RowsKind::One,
            Self::Aggregate(_) => RowsKind::Aggregate,
        }
    }

    pub fn table(&self) -> TableId {
        match self {
            Self::List(plan) => plan.table,
            Self::One(plan) => plan.table,
            Self::Aggregate(plan) => plan.table,
        }
    }

    pub fn filter(&self) -> &Filter {
        match self {
            Self::List(plan) => &plan.filter,
            Self::One(plan) => &plan.filter,
            Self::Aggregate(plan) => &plan.filter,
        }
    }

    /// Members of a row's object; an aggregate shows no rows.
    pub fn outputs(&self) -> &[Output] {
        match self {
            Self::List(plan) => &plan.outputs,
            Self::One(plan) => &plan.outputs,
            Self::Aggregate(_) => &[],
        }
    }
}

/// One member of an object in the response.
#[derive(Debug, Clone)]
pub struct Output {
    /// Chosen by the client: any GraphQL name.
    pub response_key: Box<str>,
    pub position: Position,
    pub kind: OutputKind,
}

#[derive(Debug, Clone)]
pub enum OutputKind {
    /// The type's name.
    Typename(Box<str>),
    Column(ColumnId),
    /// What is read of the relation's target for the row.
    Related(RelationId, Box<RowsPlan>),
}

impl Output {
    /// What is read for it of other rows than its own, and by which relation.
    pub fn related(&self) -> Option<(RelationId, &RowsPlan)> {
        if let OutputKind::Related(id, rows) = &self.kind { Some((*id, rows)) } else { None }
    }
}

/// `…_aggregate`: one object over all rows that the filter lets pass.
#[derive(Debug, Clone)]
pub struct AggregatePlan {
    pub table: TableId,
    pub filter: Filter,
    pub outputs: Vec<AggregateOutput>,
}

#[derive(Debug, Clone)]
pub struct AggregateOutput {
    pub response_key: Box<str>,
    pub position: Position,
    pub kind: AggregateKind,
}

#[derive(Debug, Clone)]
pub enum AggregateKind {
    Typename(Box<str>),
    Count,
    /// Null when no row has passed.
    Fields(AggregateFunction, Vec<AggregateField>),
}

/// One member of `sum { … }` and its siblings.
#[derive(Debug, Clone)]
pub struct AggregateField {
    pub response_key: Box<str>,
    pub position: Position,
    /// `Err` holds the answer of `__typename`.
    pub column: Result<ColumnId, Box<str>>,
}

/// Which rows pass. Three-valued as in SQL: an unknown comparison lets no row pass, negated or not.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Compare {
        column: ColumnId,
        comparison: Comparison,
    },
    /// A row of the relation's target passes the filter.
    Exists {
        relation: RelationId,
        filter: Box<Filter>,
    },
}

impl Filter {
    /// Lets every row pass.
    pub fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// Lets no row pass.
    pub fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(parts) if parts.is_empty())
    }

    /// Lets pass what both let pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if other.is_everything() => one,
            (one, other) if one.is_everything() => other,
            (Self::All(mut parts), other) => {
                parts.push(other);
                Self::All(parts)
            }
            (one, other) => Self::All(vec![one, other]),
        }
    }
}

/// One comparison of a column; values are scalars or slots, never null.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    Equal(Value),
    NotEqual(Value),
    Greater(Value),
    GreaterOrEqual(Value),
    Less(Value),
    LessOrEqual(Value),
    /// A slot that holds a list, or a list of scalars and slots.
    In(Value),
    NotIn(Value),
    IsNull(bool),
    /// With null: it is neither true nor false, and nor is its negation.
    Unknown,
    /// SQL LIKE, case-sensitive on both databases.
    Like(Value),
    /// LIKE without regard to case.
    InsensitiveLike(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderKey {
    pub column: ColumnId,
    pub direction: Direction,
}

/// Nulls come last ascending and first descending, on both databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

/// What a writer can see of the table that it writes to: a constraint of the database that refuses a row because of another one says
/// that there is one.
#[derive(Debug, Clone)]
pub struct Visibility {
    /// The rows that can be seen.
    pub rows: Filter,
    /// The unique keys, the primary one too, all of whose columns can be read.
    pub keys: Vec<Vec<ColumnId>>,
    /// Columns that have names for the writer.
    pub columns: Vec<ColumnId>,
    /// Whether all rows can be seen, and all columns read.
    pub is_whole: bool,
}

/// Inserts one row; the answer is the primary key of the row.
#[derive(Debug, Clone)]
pub struct CreatePlan {
    pub table: TableId,
    /// Given columns in the client's order; `Value::Null` writes NULL.
    pub values: Vec<(ColumnId, Value)>,
    /// The row must pass it once it is written; nothing of the request is written where it does not. A row of a table
    /// without a primary key cannot be found again and passes only [`Filter::everything`].
    pub check: Filter,
    /// Of a writer who is restricted.
    pub visibility: Option<Visibility>,
    /// Members of the answer: key columns and `__typename`.
    pub outputs: Vec<Output>,
}

/// Changes the row with the key if it passes the filter; the answer says whether there was one.
#[derive(Debug, Clone)]
pub struct UpdatePlan {
    pub table: TableId,
    /// All columns of the primary key.
    pub key: Vec<(ColumnId, Value)>,
    pub filter: Filter,
    /// As [`CreatePlan::check`].
    pub check: Filter,
    /// Of a writer who is restricted.
    pub visibility: Option<Visibility>,
    /// May be empty: then nothing is changed and the answer says whether the row exists.
    pub values: Vec<(ColumnId, Value)>,
    pub outputs: Vec<ResultOutput>,
}

/// Deletes the row with the key if it passes the filter; the answer says whether there was one.
#[derive(Debug, Clone)]
pub struct DeletePlan {
    pub table: TableId,
    pub key: Vec<(ColumnId, Value)>,
    pub filter: Filter,
    pub outputs: Vec<ResultOutput>,
}
