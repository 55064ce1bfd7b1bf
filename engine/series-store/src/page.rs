//! Pages of rows.

/// Which of all rows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// So many from the beginning on, without the first `offset`.
    First { offset: u64, limit: u64 },
    /// So many before the end, without the last `offset`.
    Last { offset: u64, limit: u64 },
}
