//! What is done to a node or relationship, and which of that somebody asks for.

/// What was done. Its name is the value of `ChangeOperation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Insert,
    Update,
    Delete,
}

impl Operation {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Which operations are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operations(u8);

impl Operations {
    pub(crate) const ALL: Self = Self(0b111);

    pub(crate) const fn has(self, operation: Operation) -> bool {
        self.0 & 1 << operation as u8 != 0
    }

    /// Of the names of operations.
    pub(crate) fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let all = [Operation::Insert, Operation::Update, Operation::Delete];
        let found = names.filter_map(|name| all.into_iter().find(|known| known.name() == name));
        Self(found.fold(0, |set, operation| set | 1 << operation as u8))
    }
}
