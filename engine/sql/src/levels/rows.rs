//! What a database answers for one level: rows as JSON text, cut where the values of child levels belong.

use std::{ops::Range, rc::Rc};

use prony_graphql::error::GraphqlError;

/// Tells levels apart across operations: equal for two fetches exactly if they run the same statement with
/// the same parameters, the keys aside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MergeKey(pub Box<[u8]>);

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
    /// With their rows and segments, ascending; paths start at the row's object. The text holds a null in the member's place.
    errors: Vec<(usize, usize, GraphqlError)>,
    /// Rows without a value, with the segment in which a member that must not be null has none; ascending.
    missing: Vec<(usize, usize)>,
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
            missing: Vec::new(),
        }
    }

    /// Begins a row of the key with this index; segments and keys follow.
    pub fn begin_row(&mut self, parent: usize) {
        debug_assert!(self.parents.last().is_none_or(|&last| last as usize <= parent), "rows come by key");
        debug_assert_eq!(self.ends.len(), self.len() * (self.children + 1), "each row has all its segments");
        self.parents.push(parent as u32);
    }

    /// The text of all rows; the current segment is appended to it.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends the current segment before this byte of the text.
    pub fn end_segment(&mut self, end: usize) {
        self.ends.push(end);
    }

    /// The current row has no value, from this segment on: whatever of it was written is nothing.
    pub fn end_missing_row(&mut self, segment: usize, end: usize) {
        self.missing.push((self.len() - 1, segment));
        self.ends.resize(self.len() * (self.children + 1), end);
    }

    /// The key of the current row's next child.
    pub fn push_key(&mut self, key: Option<Key>) {
        self.keys.push(key);
    }

    /// The current row's next error, which is of this segment.
    pub fn push_error(&mut self, segment: usize, error: GraphqlError) {
        let row = self.len() - 1;
        debug_assert!(
            self.errors.last().is_none_or(|(of, part, _)| (*of, *part) <= (row, segment)),
            "errors come as their members do"
        );
        self.errors.push((row, segment, error));
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
    pub fn of_key(&self, parent: usize) -> Range<usize> {
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

    /// The errors of a row's segment.
    pub fn errors_of(&self, row: usize, segment: usize) -> impl Iterator<Item = &GraphqlError> {
        let place = (row, segment);
        let from = self.errors.partition_point(|(of, part, _)| (*of, *part) < place);
        let here = self.errors[from..].iter().take_while(move |(of, part, _)| (*of, *part) == place);
        here.map(|(_, _, error)| error)
    }

    /// Whether a row has no value because of this segment.
    pub fn is_missing(&self, row: usize, segment: usize) -> bool {
        self.missing.binary_search(&(row, segment)).is_ok()
    }
}

/// What a fetch answered for keys of one operation.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub rows: Rc<LevelRows>,
    /// The index in `rows` of each of the operation's keys; `None` where they are the same.
    pub places: Option<Box<[u32]>>,
}

impl Fetched {
    /// Rows of the operation's keys alone.
    pub fn new(rows: Rc<LevelRows>) -> Self {
        Self { rows, places: None }
    }

    /// The rows of one of the operation's keys.
    pub fn of_key(&self, key: usize) -> Range<usize> {
        self.rows.of_key(self.places.as_ref().map_or(key, |places| places[key] as usize))
    }
}
