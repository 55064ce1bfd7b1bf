//! What a prepared root field is for SQLite: statements' texts, and for each how its rows become JSON.

use std::sync::atomic::AtomicUsize;

use prony_graphql::error::Position;

use prony_sql::{builder::Parameter, catalog::ColumnKind, nest::NestPlan};

/// A statement and what it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatementText {
    pub(crate) sql: String,
    /// Parameter number `n` is at `n - 1`. [`Parameter::Parent`] is bound for each parent row.
    pub(crate) parameters: Vec<Parameter>,
    /// The number of the parameter that takes the keys of a level as JSON; it is not in `parameters`.
    pub(crate) keys_parameter: Option<usize>,
}

/// The `subquery` model: statements nested in each other as the selection is. A node's statements are a range
/// of the program's, its own first.
#[derive(Debug)]
pub(crate) struct RowsProgram {
    pub(crate) statements: Vec<StatementText>,
    pub(crate) root: Node,
    /// Of the last answer: the next one will need about as much.
    pub(crate) answer_bytes: AtomicUsize,
}

/// One statement and how its rows are written.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Parameters taken from the row above: number, and column of the parent's statement.
    pub(crate) links: Vec<(usize, usize)>,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// An array of all rows.
    Many,
    /// The first row, or null.
    One,
    /// The only row.
    Aggregate,
}

/// A part of a row's JSON.
#[derive(Debug)]
pub(crate) enum Piece {
    /// As it is.
    Text(Box<[u8]>),
    Column(Box<ColumnPiece>),
    /// An object from columns of the same row, or null.
    Inner(Box<Inner>),
    /// The value of another statement.
    Nested(Box<Nested>),
    /// Another level's value belongs here: the text is cut. `per-nest` and `bucket` only.
    Cut,
}

#[derive(Debug)]
pub(crate) struct ColumnPiece {
    /// Column of the statement.
    pub(crate) index: usize,
    pub(crate) kind: ColumnKind,
    pub(crate) nullable: bool,
    /// `table.column`, for messages.
    pub(crate) name: Box<str>,
    pub(crate) response_key: Box<str>,
    pub(crate) position: Position,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) presence: Presence,
    pub(crate) response_key: Box<str>,
    pub(crate) pieces: Vec<Piece>,
}

/// How a row says that an inner object is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// A joined has-one: its key column is not null.
    NotNull(usize),
    /// `sum` and its siblings: the count is not zero.
    Positive(usize),
}

#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) response_key: Box<str>,
    /// Where the node's statements begin, counted from the one after the parent's own.
    pub(crate) first_statement: usize,
    pub(crate) node: Node,
}

/// The `per-nest` and `bucket` models: one statement a level.
#[derive(Debug)]
pub(crate) struct LevelsProgram {
    pub(crate) plan: std::sync::Arc<NestPlan>,
    pub(crate) levels: Vec<LevelProgram>,
}

/// How the rows of one level are read. Column 0 of its statement is the index of the row's key.
#[derive(Debug)]
pub(crate) struct LevelProgram {
    pub(crate) statement: StatementText,
    pub(crate) pieces: Vec<Piece>,
    /// For each child, the columns of its key.
    pub(crate) child_keys: Vec<Vec<usize>>,
    /// Equal for levels whose statements and rows are the same, whatever operation they belong to.
    pub(crate) fingerprint: Box<str>,
}

impl LevelProgram {
    pub(crate) fn new(statement: StatementText, pieces: Vec<Piece>, child_keys: Vec<Vec<usize>>) -> Self {
        let fingerprint = format!("{}\0{pieces:?}{child_keys:?}", statement.sql).into();
        Self { statement, pieces, child_keys, fingerprint }
    }
}

/// One mutation.
#[derive(Debug)]
pub(crate) struct MutationProgram {
    /// The mutation, then the [`RowCheck`]'s SELECT where there is one.
    pub(crate) statements: Vec<StatementText>,
    pub(crate) answer: MutationAnswer,
    pub(crate) check: Option<RowCheck>,
}

/// What the written row must pass: its SELECT has a row then.
#[derive(Debug)]
pub(crate) struct RowCheck {
    /// Columns that RETURNING gives, by the SELECT's first parameters: the row's primary key.
    pub(crate) key_columns: Vec<usize>,
}

#[derive(Debug)]
pub(crate) enum MutationAnswer {
    /// The row that RETURNING gives.
    Key(Vec<Piece>),
    /// JSON for a row that was changed, and for none.
    Changed { yes: Box<[u8]>, no: Box<[u8]> },
}

impl StatementText {
    pub(crate) fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.sql.len() + self.parameters.len() * size_of::<Parameter>()
    }
}

/// Bytes that pieces hold, roughly.
pub(crate) fn pieces_weight(pieces: &[Piece]) -> usize {
    let inside = |piece: &Piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Column(column) => size_of::<ColumnPiece>() + column.name.len() + column.response_key.len(),
        Piece::Inner(inner) => size_of::<Inner>() + pieces_weight(&inner.pieces),
        Piece::Nested(nested) => size_of::<Nested>() + pieces_weight(&nested.node.pieces),
        Piece::Cut => 0,
    };
    pieces.iter().map(|piece| size_of::<Piece>() + inside(piece)).sum()
}
