//! A script's workload in a run that is measured: ended early where a threshold asks for it.

use super::measure::Measure;
use super::program::{Entry, ScriptWorkload};
use super::vm::Ended;
use prony_model::Nanos;
use prony_model::plan::hosts::Hosts;
use prony_model::program::table::Tables;
use prony_model::program::{Program, ProgramError, RunControl, ThreadPlace, Workload};
use std::sync::Arc;

#[derive(Debug)]
pub struct Measured {
    workload: ScriptWorkload,
    measure: Arc<Measure>,
    hosts: Hosts,
}

impl Measured {
    pub(super) fn new(workload: ScriptWorkload, measure: Arc<Measure>, hosts: Hosts) -> Self {
        Self { workload, measure, hosts }
    }

    /// As [`ScriptWorkload::take_returned`].
    pub fn take_returned(&self) -> Option<Ended> {
        self.workload.take_returned()
    }
}

impl Workload for Measured {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        self.workload.program(thread)
    }

    fn tables(&self) -> Option<&Tables> {
        self.workload.tables()
    }

    fn hosts(&self) -> Option<&Hosts> {
        Some(&self.hosts)
    }

    fn tick(&self, elapsed: Nanos) -> RunControl {
        match self.workload.entry {
            Entry::Setup | Entry::Iterations => self.measure.tick(elapsed),
            Entry::Teardown | Entry::Summary(_) => RunControl::Continue,
        }
    }
}
