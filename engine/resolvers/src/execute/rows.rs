//! What one function answered for all objects of a level: bytes, one after the other, and errors.

use prony_graphql::error::GraphqlError;

/// A row for each parent.
#[derive(Debug, Default)]
pub(crate) struct Column {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// Paths begin at the parent.
    errors: Vec<GraphqlError>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    /// In the bytes; begins where the row before ends.
    end: usize,
    errors_end: usize,
    /// An error left no value where null cannot stand.
    nulled: bool,
}

impl Column {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), ..Self::default() }
    }

    /// Ends a row; `bytes` and `errors` are those of all rows so far.
    pub(crate) fn end_row(&mut self, end: usize, errors_end: usize, nulled: bool) {
        self.rows.push(Row { end, errors_end, nulled });
    }

    pub(crate) fn finish(mut self, bytes: Vec<u8>, errors: Vec<GraphqlError>) -> Self {
        self.bytes = bytes;
        self.errors = errors;
        self
    }

    /// None where the parent falls with it.
    pub(crate) fn bytes_of(&self, row: usize) -> Option<&[u8]> {
        let Row { end, nulled, .. } = *self.rows.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].end);
        (!nulled).then(|| &self.bytes[start..end])
    }

    pub(crate) fn take_errors(&mut self, row: usize) -> Vec<GraphqlError> {
        let Some(&Row { errors_end, .. }) = self.rows.get(row) else { return Vec::new() };
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].errors_end);
        if start == errors_end {
            return Vec::new();
        }
        self.errors[start..errors_end].to_vec()
    }
}
