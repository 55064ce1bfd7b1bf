//! A disk that fails, for tests: from some step on a number of steps return an error, and writes may be done in part.

/// What a step does that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing, and says that the device has failed.
    Device,
    /// Nothing, and says that there is no room.
    Full,
    /// Of a write the first half, of other steps nothing; it says that the device has failed.
    Short,
    /// Of a write a bit is another one, and nobody is told; other steps are done as they are.
    Rot,
}

/// Which steps fail, counted from the moment at which the journal is begun.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    pub first: u64,
    pub count: u64,
    pub fault: Fault,
}

impl Faults {
    pub(crate) fn hits(&self, step: u64) -> bool {
        (self.first..self.first.saturating_add(self.count)).contains(&step)
    }
}
