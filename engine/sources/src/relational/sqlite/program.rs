//! What a prepared root field is for SQLite: statements' texts, and for each how its rows become JSON.

use std::sync::atomic::AtomicUsize;

use prony_graphql::error::Position;

use crate::relational::{catalog::ColumnKind, nest::NestPlan, sql::Parameter};

/// A statement and what it takes.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementText {
    pub(super) sql: String,
    /// Parameter number `n` is at `n - 1`. [`Parameter::Parent`] is bound for each parent row.
    pub(super) parameters: Vec<Parameter>,
    /// The number of the parameter that takes the keys of a level as JSON; it is not in `parameters`.
    pub(super) keys_parameter: Option<usize>,
}

/// The `subquery` model: statements nested in each other as the selection is. A node's statements are a range
/// of the program's, its own first.
#[derive(Debug)]
pub(super) struct RowsProgram {
    pub(super) statements: Vec<StatementText>,
    pub(super) root: Node,
    /// Of the last answer: the next one will need about as much.
    pub(super) answer_bytes: AtomicUsize,
}

/// One statement and how its rows are written.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// Parameters taken from the row above: number, and column of the parent's statement.
    pub(super) links: Vec<(usize, usize)>,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// An array of all rows.
    Many,
    /// The first row, or null.
    One,
    /// The only row.
    Aggregate,
}

/// A part of a row's JSON.
#[derive(Debug)]
pub(super) enum Piece {
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
pub(super) struct ColumnPiece {
    /// Column of the statement.
    pub(super) index: usize,
    pub(super) kind: ColumnKind,
    pub(super) nullable: bool,
    /// `table.column`, for messages.
    pub(super) name: Box<str>,
    pub(super) response_key: Box<str>,
    pub(super) position: Position,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) presence: Presence,
    pub(super) response_key: Box<str>,
    pub(super) pieces: Vec<Piece>,
}

/// How a row says that an inner object is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// A joined has-one: its key column is not null.
    NotNull(usize),
    /// `sum` and its siblings: the count is not zero.
    Positive(usize),
}

#[derive(Debug)]
pub(super) struct Nested {
    pub(super) response_key: Box<str>,
    /// Where the node's statements begin, counted from the one after the parent's own.
    pub(super) first_statement: usize,
    pub(super) node: Node,
}

/// The `per-nest` and `bucket` models: one statement a level.
#[derive(Debug)]
pub(super) struct LevelsProgram {
    pub(super) plan: std::sync::Arc<NestPlan>,
    pub(super) levels: Vec<LevelProgram>,
}

/// How the rows of one level are read. Column 0 of its statement is the index of the row's key.
#[derive(Debug)]
pub(super) struct LevelProgram {
    pub(super) statement: StatementText,
    pub(super) pieces: Vec<Piece>,
    /// For each child, the columns of its key.
    pub(super) child_keys: Vec<Vec<usize>>,
    /// Equal for levels whose statements and rows are the same, whatever operation they belong to.
    pub(super) fingerprint: Box<str>,
}

impl LevelProgram {
    pub(super) fn new(statement: StatementText, pieces: Vec<Piece>, child_keys: Vec<Vec<usize>>) -> Self {
        let fingerprint = format!("{}\0{pieces:?}{child_keys:?}", statement.sql).into();
        Self { statement, pieces, child_keys, fingerprint }
    }
}

/// One mutation.
#[derive(Debug)]
pub(super) struct MutationProgram {
    pub(super) statement: StatementText,
    pub(super) answer: MutationAnswer,
}

#[derive(Debug)]
pub(super) enum MutationAnswer {
    /// The row that RETURNING gives.
    Key(Vec<Piece>),
    /// JSON for a row that was changed, and for none.
    Changed { yes: Box<[u8]>, no: Box<[u8]> },
}

impl StatementText {
    pub(super) fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.sql.len() + self.parameters.len() * size_of::<Parameter>()
    }
}

/// Bytes that pieces hold, roughly.
pub(super) fn pieces_weight(pieces: &[Piece]) -> usize {
    let inside = |piece: &Piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Column(column) => size_of::<ColumnPiece>() + column.name.len() + column.response_key.len(),
        Piece::Inner(inner) => size_of::<Inner>() + pieces_weight(&inner.pieces),
        Piece::Nested(nested) => size_of::<Nested>() + pieces_weight(&nested.node.pieces),
        Piece::Cut => 0,
    };
    pieces.iter().map(|piece| size_of::<Piece>() + inside(piece)).sum()
}
