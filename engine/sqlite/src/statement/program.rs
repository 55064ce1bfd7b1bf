//! What a root field becomes for SQLite: statements' texts, and for each how its rows become JSON.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use prony_graphql::{error::Position, variables::Variables};
use prony_source::ValueShape;

use prony_sql::{
    builder::{ComparedTable, Parameter},
    catalog::ColumnKind,
    database::{Statements, WrittenStatement},
    explain::value_shapes,
    model::Model,
    plan::RowsKind,
};

use crate::statement::pace::Pace;

/// `db.system.name`, for spans.
pub(crate) const SYSTEM: &str = "sqlite";

/// A statement and what it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatementText {
    pub(crate) sql: String,
    /// Parameter number `n` is at `n - 1`. [`Parameter::Parent`] is bound for each parent row.
    pub(crate) parameters: Vec<Parameter>,
    /// The number of the parameter that takes the keys of a level as JSON; it is not in `parameters`.
    pub(crate) keys_parameter: Option<usize>,
    /// What its conditions compare; empty where it writes.
    pub(crate) compared: Vec<ComparedTable>,
}

impl StatementText {
    fn written(&self) -> WrittenStatement<'_> {
        let Self { sql, parameters, compared, .. } = self;
        WrittenStatement { sql, parameters, types: Vec::new(), compared }
    }
}

/// Tells programs apart in the caches of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProgramId(u64);

/// The statements of a program, which each connection prepares when it first needs them.
#[derive(Debug)]
pub(crate) struct ProgramStatements {
    pub(crate) id: ProgramId,
    pub(crate) texts: Vec<StatementText>,
    pub(crate) pace: Pace,
}

impl ProgramStatements {
    pub(crate) fn new(texts: Vec<StatementText>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = ProgramId(NEXT.fetch_add(1, Relaxed));
        Self { id, texts, pace: Pace::default() }
    }

    /// All of them, for the log.
    pub(crate) fn joined(&self) -> String {
        let texts: Vec<&str> = self.texts.iter().map(|text| &*text.sql).collect();
        texts.join("; ")
    }

    /// What the values are like that all of them take, one after the other.
    pub(crate) fn value_shapes(&self, model: &Model, variables: &Variables) -> Vec<ValueShape> {
        let shapes = |text: &StatementText| value_shapes(model, &text.parameters, variables);
        self.texts.iter().flat_map(shapes).collect()
    }

    fn written(&self) -> Vec<WrittenStatement<'_>> {
        self.texts.iter().map(StatementText::written).collect()
    }

    fn weight_bytes(&self) -> usize {
        let weight = |text: &StatementText| {
            let compared: usize = text.compared.iter().map(ComparedTable::weight_bytes).sum();
            let parameters = text.parameters.len() * size_of::<Parameter>();
            size_of::<StatementText>() + text.sql.len() + parameters + compared
        };
        self.texts.iter().map(weight).sum()
    }
}

/// The `subquery` model: statements nested in each other as the selection is. A node's statements are a range
/// of the program's, its own first.
#[derive(Debug)]
pub struct RowsProgram {
    pub(crate) statements: ProgramStatements,
    pub(crate) root: Node,
    /// Of the last answer: the next one will need about as much.
    pub(crate) answer_bytes: AtomicUsize,
}

/// One statement and how its rows are written.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: RowsKind,
    /// Parameters taken from the row above: number, and column of the parent's statement.
    pub(crate) links: Vec<(usize, usize)>,
    pub(crate) pieces: Vec<Piece>,
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
    /// `sum` and its siblings, whose members are null over no rows.
    Always,
}

#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) response_key: Box<str>,
    /// Where the node's statements begin, counted from the one after the parent's own.
    pub(crate) first_statement: usize,
    pub(crate) node: Node,
}

/// The `per-nest` and `bucket` models: how the rows of one level are read. Column 0 of its only statement is the index of the
/// row's key.
#[derive(Debug)]
pub struct LevelProgram {
    pub(crate) statements: ProgramStatements,
    pub(crate) pieces: Vec<Piece>,
    /// For each child, the columns of its key.
    pub(crate) child_keys: Vec<Vec<usize>>,
    /// Equal for levels whose statements and rows are the same, whatever operation they belong to.
    pub(crate) fingerprint: Box<str>,
}

impl LevelProgram {
    pub(crate) fn new(text: StatementText, pieces: Vec<Piece>, child_keys: Vec<Vec<usize>>) -> Self {
        let fingerprint = format!("{}\0{pieces:?}{child_keys:?}", text.sql).into();
        Self { statements: ProgramStatements::new(vec![text]), pieces, child_keys, fingerprint }
    }

    pub(crate) fn text(&self) -> &StatementText {
        &self.statements.texts[0]
    }
}

/// One mutation.
#[derive(Debug)]
pub struct MutationProgram {
    /// The mutation, then the [`RowCheck`]'s SELECT where there is one.
    pub(crate) statements: ProgramStatements,
    pub(crate) response_key: Box<str>,
    pub(crate) answer: MutationAnswer,
    pub(crate) check: Option<RowCheck>,
    pub(crate) restricted: Option<RestrictedWriter>,
}

/// What a writer who does not see everything may be told of constraints.
#[derive(Debug)]
pub(crate) struct RestrictedWriter {
    pub(crate) sees_whole_table: bool,
    /// Its SELECT has a row where one that can be seen stands in the way; none where none can be found.
    pub(crate) collision: Option<ProgramStatements>,
    /// Columns that have names for the writer, as SQLite names them: `table.column`.
    pub(crate) columns: Vec<Box<str>>,
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

impl AsRef<ProgramStatements> for RowsProgram {
    fn as_ref(&self) -> &ProgramStatements {
        &self.statements
    }
}

impl AsRef<ProgramStatements> for LevelProgram {
    fn as_ref(&self) -> &ProgramStatements {
        &self.statements
    }
}

impl Statements for RowsProgram {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        self.statements.written()
    }

    fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.statements.weight_bytes() + pieces_weight(&self.root.pieces)
    }
}

impl Statements for LevelProgram {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        self.statements.written()
    }

    fn weight_bytes(&self) -> usize {
        let inside = self.statements.weight_bytes() + pieces_weight(&self.pieces);
        size_of::<Self>() + inside + self.fingerprint.len()
    }
}

impl Statements for MutationProgram {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        self.statements.written()
    }

    fn weight_bytes(&self) -> usize {
        let restricted = self.restricted.as_ref().map_or(0, |restricted| {
            let names: usize = restricted.columns.iter().map(|name| size_of::<Box<str>>() + name.len()).sum();
            names + restricted.collision.as_ref().map_or(0, ProgramStatements::weight_bytes)
        });
        size_of::<Self>() + self.statements.weight_bytes() + restricted
    }
}

/// Bytes that pieces hold, roughly.
fn pieces_weight(pieces: &[Piece]) -> usize {
    let inside = |piece: &Piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Column(column) => size_of::<ColumnPiece>() + column.name.len() + column.response_key.len(),
        Piece::Inner(inner) => size_of::<Inner>() + pieces_weight(&inner.pieces),
        Piece::Nested(nested) => size_of::<Nested>() + pieces_weight(&nested.node.pieces),
        Piece::Cut => 0,
    };
    pieces.iter().map(|piece| size_of::<Piece>() + inside(piece)).sum()
}
