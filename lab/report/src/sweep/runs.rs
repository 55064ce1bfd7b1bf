//! A sweep and its results, as its tables are made of them.

use prony_model::ResultFile;
use prony_model::sweep::{SweepFile, SweepStep};

/// A sweep with what was measured of it.
#[derive(Debug)]
pub struct SweepReport<'a> {
    pub file: &'a SweepFile,
    /// Those that have a result, in their order.
    pub runs: Vec<SweepRun<'a>>,
    /// What the first column says; the plan's name unless the user has another.
    pub scenario: &'a str,
    /// Whose collector is watched.
    pub server: &'a str,
    /// Whose processors, memory, disks and networks are watched.
    pub machine: &'a str,
}

#[derive(Debug, Clone, Copy)]
pub struct SweepRun<'a> {
    pub step: &'a SweepStep,
    pub result: &'a ResultFile,
}
