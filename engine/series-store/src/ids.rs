//! Numbers of what a store has names for. None is given twice.

/// A tenant's entity type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub(crate) u32);

/// An attribute of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId(pub(crate) u32);

/// An entity of one type under one service path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub(crate) u32);

impl TableId {
    /// Among all tables, from 0 on.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

impl AttributeId {
    /// Among those of its table, from 0 on.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

impl SeriesId {
    /// Among all series, from 0 on.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type TimeMs = i64;

/// From one moment to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    pub from_ms: TimeMs,
    pub to_ms: TimeMs,
}

impl TimeRange {
    pub const ALL: Self = Self { from_ms: TimeMs::MIN, to_ms: TimeMs::MAX };

    pub const fn contains(self, time_ms: TimeMs) -> bool {
        self.from_ms <= time_ms && time_ms <= self.to_ms
    }

    /// Whether all from the one moment to the other is in it.
    pub(crate) const fn covers(self, first_ms: TimeMs, last_ms: TimeMs) -> bool {
        self.from_ms <= first_ms && last_ms <= self.to_ms
    }

    pub(crate) const fn meets(self, first_ms: TimeMs, last_ms: TimeMs) -> bool {
        self.from_ms <= last_ms && first_ms <= self.to_ms
    }
}
