//! What a dialect answers for one level: rows as JSON text, cut where the values of child levels belong.

use prony_graphql::error::GraphqlError;

/// One value of a key. Dialects choose the variants: PostgreSQL sends and takes every key as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyPart {
    Integer(i64),
    /// The bits of an `f64`.
    Real(u64),
    /// Not always UTF-8: SQLite stores any bytes as text.
    Text(Box<[u8]>),
    Bytes(Box<[u8]>),
}

/// The values that link a row to the rows below it; never a null.
pub type Key = Box<[KeyPart]>;

/// The rows of one level, grouped by key. A row's text is `children + 1` segments: the children's values go
/// between them, so `{"id":1,"meetups":` and `,"name":"x"}` for a row with one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelRows {
    text: Vec<u8>,
    /// Where each segment ends; `children + 1` for each row.
    ends: Vec<usize>,
    children: usize,
    /// The index of each row's key, ascending.
    parents: Vec<u32>,
    /// `children` for each row; `None` where a part is null: the child has no rows then.
    keys: Vec<Option<Key>>,
    /// By row, ascending.
    errors: Vec<RowError>,
}

/// What went wrong while a row was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    pub row: usize,
    /// Its path starts at the row's object.
    pub error: GraphqlError,
    /// A non-null member has no value, so the row has none (GraphQL specification, section 6.4.4). Otherwise
    /// the text holds a null in the member's place.
    pub fatal: bool,
}

impl LevelRows {
    /// No rows yet, for a level with this many children.
    pub fn new(children: usize) -> Self {
        Self {
            text: Vec::new(),
            ends: Vec::new(),
            children,
            parents: Vec::new(),
            keys: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Begins a row of the key with this index; segments and keys follow.
    pub fn begin_row(&mut self, parent: usize) {
        debug_assert!(self.parents.last().is_none_or(|&last| last as usize <= parent), "rows come by key");
        debug_assert_eq!(self.ends.len(), self.len() * (self.children + 1), "each row has all its segments");
        self.parents.push(parent as u32);
    }

    /// The text of the current segment, to append to.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    pub fn end_segment(&mut self) {
        self.ends.push(self.text.len());
    }

    /// The key of the current row's next child.
    pub fn push_key(&mut self, key: Option<Key>) {
        self.keys.push(key);
    }

    /// Notes an error of the row that was begun last.
    pub fn push_error(&mut self, error: GraphqlError, fatal: bool) {
        self.errors.push(RowError { row: self.len() - 1, error, fatal });
    }

    pub fn len(&self) -> usize {
        self.parents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Bytes of text so far, for limits.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// The rows of one key.
    pub fn of_key(&self, parent: usize) -> std::ops::Range<usize> {
        let from = self.parents.partition_point(|&known| (known as usize) < parent);
        let count = self.parents[from..].partition_point(|&known| known as usize == parent);
        from..from + count
    }

    pub fn segment(&self, row: usize, index: usize) -> &[u8] {
        let end = row * (self.children + 1) + index;
        let start = end.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[end]]
    }

    pub fn key(&self, row: usize, child: usize) -> Option<&Key> {
        self.keys[row * self.children + child].as_ref()
    }

    pub fn errors_of(&self, row: usize) -> &[RowError] {
        let from = self.errors.partition_point(|error| error.row < row);
        let count = self.errors[from..].partition_point(|error| error.row == row);
        &self.errors[from..from + count]
    }
}
