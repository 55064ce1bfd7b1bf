//! How many iterations users may make.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationBudget {
    /// As many as their time allows.
    Unlimited,
    /// Each user makes this many and leaves.
    EachUser(u64),
    /// All users together make this many.
    Shared(u64),
}

impl IterationBudget {
    /// What one user may make by itself, whatever others do.
    pub const fn of_each_user(self) -> Option<u64> {
        match self {
            Self::EachUser(iterations) => Some(iterations),
            Self::Unlimited | Self::Shared(_) => None,
        }
    }

    pub const fn shared(self) -> Option<u64> {
        match self {
            Self::Shared(iterations) => Some(iterations),
            Self::Unlimited | Self::EachUser(_) => None,
        }
    }

    pub(super) const fn is_empty(self) -> bool {
        matches!(self, Self::EachUser(0) | Self::Shared(0))
    }
}
