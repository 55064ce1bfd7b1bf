//! The rows of a root field's levels, as they were fetched and before they are spliced.

use std::{collections::HashMap, rc::Rc};

use crate::nest::LevelRows;

/// Bounds of one answer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_response_bytes: usize,
}

/// What a fetch answered for keys of one operation.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) rows: Rc<LevelRows>,
    /// The index in `rows` of each of the operation's keys; `None` where they are the same.
    pub(super) places: Option<Box<[u32]>>,
}

impl Answer {
    pub(super) fn of_key(&self, key: usize) -> std::ops::Range<usize> {
        self.rows.of_key(self.places.as_ref().map_or(key, |places| places[key] as usize))
    }
}

/// The rows of one level and everything below them.
pub(super) struct Tree {
    pub(super) answer: Answer,
    pub(super) below: Vec<Branch>,
}

/// A child level and, for each row of the level above, the index of its key.
pub(super) struct Branch {
    pub(super) tree: Tree,
    pub(super) key_of_row: HashMap<usize, usize>,
}
