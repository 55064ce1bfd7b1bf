//! A script's workload in a run that is measured: ended early where a threshold asks for it, its iterations no shorter
//! than the options say.

use super::measure::Measure;
use super::program::{Entry, ScriptWorkload};
use super::vm::Ended;
use prony_model::Nanos;
use prony_model::measurement::counts::Counts;
use prony_model::measurement::record::Outcome;
use prony_model::plan::hosts::Hosts;
use prony_model::program::call::News;
use prony_model::program::table::Tables;
use prony_model::program::{
    Answer, Event, Outgoing, Program, ProgramError, RunControl, Step, ThreadPlace, UserPlace, Workload,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug)]
pub struct Measured {
    workload: ScriptWorkload,
    measure: Arc<Measure>,
    hosts: Hosts,
    iteration_min: Nanos,
}

impl Measured {
    pub(super) fn new(
        workload: ScriptWorkload,
        measure: Arc<Measure>,
        hosts: Hosts,
        iteration_min: Nanos,
    ) -> Self {
        Self { workload, measure, hosts, iteration_min }
    }

    /// As [`ScriptWorkload::take_returned`].
    pub fn take_returned(&self) -> Option<Ended> {
        self.workload.take_returned()
    }
}

impl Workload for Measured {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        let program = self.workload.program(thread)?;
        if self.iteration_min == Nanos::ZERO {
            return Ok(program);
        }
        Ok(Box::new(Lengthened { program, minimum: self.iteration_min, began: HashMap::new() }))
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

/// Iterations that end early are followed by a pause.
struct Lengthened<'a> {
    program: Box<dyn Program + 'a>,
    minimum: Nanos,
    /// By user.
    began: HashMap<u32, Instant>,
}

impl Lengthened<'_> {
    fn lengthen(&mut self, user: UserPlace, step: Step) -> Step {
        if step != Step::EndIteration {
            return step;
        }
        let taken = self.began.remove(&user.number).map_or(self.minimum, |began| {
            Nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
        });
        match self.minimum.since(taken) {
            Nanos::ZERO => step,
            left => Step::Pause(left),
        }
    }
}

impl Program for Lengthened<'_> {
    fn next(&mut self, user: UserPlace, event: Event, out: &mut Outgoing) -> Result<Step, ProgramError> {
        match event {
            Event::Begin => _ = self.began.insert(user.number, Instant::now()),
            Event::Paused => return Ok(Step::EndIteration),
            Event::Answered | Event::Failed(_) => {}
        }
        let step = self.program.next(user, event, out)?;
        Ok(self.lengthen(user, step))
    }

    fn hear(&mut self, user: UserPlace, news: News<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        let is_over = matches!(news, News::Interrupted);
        let step = self.program.hear(user, news, out)?;
        Ok(if is_over { step } else { self.lengthen(user, step) })
    }

    fn judge(
        &mut self,
        user: UserPlace,
        request: usize,
        answer: &Answer<'_>,
    ) -> Result<Outcome, ProgramError> {
        self.program.judge(user, request, answer)
    }

    fn take_counts(&mut self) -> Counts {
        self.program.take_counts()
    }
}
