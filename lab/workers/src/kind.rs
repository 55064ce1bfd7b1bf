//! What a kind of load is to workers and their coordinator: how a share is made ready of what came, and what is counted beside requests.
//!
//! Plans are known here. Other kinds come from whoever knows them, by [`LoadKind`], [`Share`] and [`Merge`].

use crate::error::WorkersError;
use prony_load::{RunError, RunOptions, read_plan, run};
use prony_model::plan::{ChangeError, PlanChange};
use prony_model::program::table::Tables;
use prony_model::program::{RunControl, RunShare};
use prony_model::{Nanos, Plan, ResultFile};
use serde_json::Value;
use std::fmt;
use std::path::Path;

/// What a worker was handed of a run.
#[derive(Debug, Clone, Copy)]
pub struct Unpacked<'a> {
    /// Where the files are, each beneath its whole path on the machine that they come from.
    pub folder: &'a Path,
    /// What the kind has said of itself.
    pub settings: &'a Value,
    /// What the run changes of the plan that this makes.
    pub change: &'a PlanChange,
    pub share: RunShare,
}

impl Unpacked<'_> {
    /// The plan as the run has it.
    pub fn changed(&self, plan: Plan) -> Result<Plan, ChangeError> {
        self.change.apply(plan)
    }
}

/// A kind of load that can be shared out.
pub trait LoadKind: Sync + fmt::Debug {
    /// As it stands in what workers are handed.
    fn name(&self) -> &'static str;

    /// Makes a share ready, on the thread that will run it.
    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String>;
}

/// What was counted beside requests since it was last asked for; nothing where nothing was.
pub type Counter = Box<dyn FnMut() -> Option<Value>>;

/// One worker's share of a load.
pub trait Share {
    /// Of the whole run.
    fn plan(&self) -> &Plan;

    /// Runs the users of the options' share to the end.
    fn run(&self, options: RunOptions) -> Result<ResultFile, RunError>;

    /// Asked once a second, and once more when all is over.
    fn counter(&self) -> Counter {
        Box::new(|| None)
    }
}

/// What a coordinator does with what its kind of load counts beside requests.
pub trait Merge {
    /// Names of requests, where they are found while the run goes.
    fn tables(&self) -> Option<&Tables> {
        None
    }

    /// Takes what a worker has counted, each of its counts once and in their order.
    fn take(&self, _worker: u32, _counted: &Value) -> Result<(), String> {
        Ok(())
    }

    /// Whether the run goes on after what has come so far.
    fn tick(&self, _elapsed: Nanos) -> RunControl {
        RunControl::Continue
    }
}

/// Of loads that count nothing beside requests.
#[derive(Debug, Clone, Copy)]
pub struct RequestsAlone;

impl Merge for RequestsAlone {}

/// Plans in TOML.
#[derive(Debug)]
pub struct PlanKind;

pub static PLANS: PlanKind = PlanKind;

impl PlanKind {
    /// Of the settings: where the plan is.
    pub(crate) const PLAN: &str = "plan";
}

impl LoadKind for PlanKind {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        let plan = came.settings[Self::PLAN].as_str().ok_or("it has no plan")?;
        let plan = read_plan(&came.folder.join(plan)).map_err(|error| error.to_string())?;
        Ok(Box::new(PlanShare(came.changed(plan).map_err(|error| error.to_string())?)))
    }
}

/// The share of a plan, however it came.
#[derive(Debug)]
pub struct PlanShare(pub Plan);

impl Share for PlanShare {
    fn plan(&self) -> &Plan {
        &self.0
    }

    fn run(&self, options: RunOptions) -> Result<ResultFile, RunError> {
        run(&self.0, options)
    }
}

/// All kinds that a worker knows.
pub type Kinds = &'static [&'static dyn LoadKind];

pub(crate) fn find(kinds: Kinds, name: &str) -> Result<&'static dyn LoadKind, WorkersError> {
    let found = kinds.iter().copied().find(|kind| kind.name() == name);
    found.ok_or_else(|| WorkersError::Unpack(format!("a load of the kind `{name}` is not known")))
}
