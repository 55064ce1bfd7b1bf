//! The life of a JMeter plan: its setUp groups, its load, its tearDown groups, each a run of its own that shares properties and
//! files of results. Knows threads and sockets through `load` alone; the terminal is the caller's.

mod log;
mod share;
mod subject;

use log::LogTeller;
use prony_jtl::{Statistics, WriteError};
use prony_load::{RunError, RunOptions, StopFlag, run_workload};
use prony_model::plan::PlanFaults;
use prony_model::{Plan, ResultFile};
use prony_script_jmeter::{JmeterPlan, Part, Session};
use prony_workers::{Recruited, WorkersError};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

pub use log::PlanLog;
pub use prony_script_jmeter::{Given, JmeterError};
pub(crate) use share::JMETER_PLANS;
pub(crate) use subject::KIND;

/// How a plan's life ended.
#[derive(Debug)]
pub struct PlanOutcome {
    pub result: ResultFile,
    /// Sample by sample, setUp and tearDown groups among them, as JMeter counts.
    pub statistics: Statistics,
    /// Of files of results.
    pub missing: Vec<String>,
    /// Some element of its load has ended the test.
    pub is_ended: bool,
}

/// Why a plan could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Faults(#[from] PlanFaults),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
    #[error(
        "a setUp Thread Group has ended the test before its load, so nothing was measured; see its samples with -l FILE.jtl"
    )]
    EndedBySetup,
}

/// True for the name of a plan's file.
pub fn is_named(text: &str) -> bool {
    let is_plan = Path::new(text).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jmx"));
    is_plan && !text.contains("://")
}

/// Runs a plan whose load is `plan`, which was made of its own; the load is made by workers where there are any. `log` is told what
/// it logs meanwhile, where anybody wants to know.
pub fn live(
    jmeter: &Arc<JmeterPlan>,
    plan: &Plan,
    options: RunOptions,
    writes_files: bool,
    workers: Option<&mut Recruited>,
    log: Option<PlanLog>,
) -> Result<PlanOutcome, LifeError> {
    let session = jmeter.session(writes_files)?;
    let teller = log.map(|log| LogTeller::start(session.log(), log));
    let stop = options.stop.clone();
    part(jmeter, &session, Part::Setup, &stop)?;
    if session.is_ended() {
        drop(teller);
        // What is missing of its files is less than what is said of it.
        session.close();
        return Err(LifeError::EndedBySetup);
    }
    let clock = session.clock();
    let options = RunOptions { begins: Box::new(move |epoch| clock.begin(epoch)), ..options };
    let result = match workers {
        None => run_workload(plan, &session.workload(Part::Main, plan), options).map_err(LifeError::Run),
        Some(recruited) => {
            share::run_shared(recruited, jmeter, &session, plan, options).map_err(LifeError::Workers)
        }
    };
    // What the stop has ended was the load; tearDown groups tidy up behind it.
    let torn = if session.is_ended() && !jmeter.tears_down_when_ended() {
        Ok(())
    } else {
        part(jmeter, &session, Part::Teardown, &StopFlag::default())
    };
    drop(teller);
    let missing = session.close();
    let result = result?;
    torn?;
    let is_ended = session.is_ended();
    Ok(PlanOutcome { result, statistics: session.take_statistics(), missing, is_ended })
}

/// Runs the groups of a part where there are any; what is measured of them is only counted sample by sample.
fn part(jmeter: &JmeterPlan, session: &Session, part: Part, stop: &StopFlag) -> Result<(), LifeError> {
    if !jmeter.has(part) || stop.is_stopped() {
        return Ok(());
    }
    let plan = jmeter.plan_of(part)?;
    let workload = session.workload(part, &plan);
    let clock = session.clock();
    let options = RunOptions {
        threads: NonZeroUsize::MIN,
        stop: stop.child(),
        begins: Box::new(move |epoch| clock.begin(epoch)),
        ..RunOptions::default()
    };
    run_workload(&plan, &workload, options)?;
    Ok(())
}
