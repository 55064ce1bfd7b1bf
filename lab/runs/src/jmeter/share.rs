//! A JMeter plan on several machines: what workers are handed of it, the share that each runs, and how their samples are merged.
//!
//! setUp and tearDown groups run once, on the coordinator, which has the files of results too.

use prony_load::{RunError, RunOptions, run_workload};
use prony_model::program::RunControl;
use prony_model::program::table::Tables;
use prony_model::{Nanos, Plan, ResultFile};
use prony_script_jmeter::{Counted, Given, JmeterPlan, Part, Session, SharedLife};
use prony_workers::{Bundle, Counter, LoadKind, Merge, Recruited, Share, Unpacked, WorkersError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs the main groups on workers to their end.
pub(super) fn run_shared(
    recruited: &mut Recruited,
    jmeter: &JmeterPlan,
    session: &Session,
    plan: &Plan,
    options: RunOptions,
) -> Result<ResultFile, WorkersError> {
    let files = jmeter.files();
    let place = |(name, path): (&String, &PathBuf)| Ok((name.clone(), Bundle::place(path)?));
    let handed = PlanHanded {
        plan: Bundle::place(jmeter.path())?,
        properties: jmeter.properties().to_vec(),
        places: files.iter().map(place).collect::<Result<_, WorkersError>>()?,
        // A search changes the loads on all machines alike.
        users: users_of(&jmeter.plan().unwrap_or_else(|_| plan.clone())),
        life: session.shared_life(),
    };
    let paths: BTreeSet<_> = files.into_values().chain([jmeter.path().to_owned()]).collect();
    let bundle = Bundle::pack(&JMETER_PLANS, json!(handed), &paths.into_iter().collect::<Vec<_>>())?;
    recruited.run(plan, &bundle, &SampleMerge { session, tables: Tables::default() }, options)
}

/// By thread group.
fn users_of(plan: &Plan) -> Vec<u32> {
    plan.scenarios().iter().map(|scenario| scenario.load.users_max()).collect()
}

/// What workers are handed of a plan beside its files.
#[derive(Debug, Serialize, Deserialize)]
struct PlanHanded {
    plan: String,
    /// All with which it was read, whichever file or flag they come from.
    properties: Vec<(String, String)>,
    /// Its files, by the names that it has for them.
    places: BTreeMap<String, String>,
    users: Vec<u32>,
    life: SharedLife,
}

/// JMeter plans as a kind of load.
#[derive(Debug)]
pub(crate) struct JmeterKind;

pub(crate) static JMETER_PLANS: JmeterKind = JmeterKind;

impl LoadKind for JmeterKind {
    fn name(&self) -> &'static str {
        "jmeter"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        open(came).map_err(|error| error.to_string())
    }
}

fn open(came: &Unpacked<'_>) -> Result<Box<dyn Share>, Box<dyn Error>> {
    let handed = PlanHanded::deserialize(came.settings)?;
    let places = handed.places.into_iter().map(|(name, place)| (name, came.folder.join(place)));
    let given = Given {
        path: came.folder.join(&handed.plan),
        properties: handed.properties,
        places: places.collect(),
        ..Given::default()
    };
    let jmeter = Arc::new(JmeterPlan::open(given)?);
    let plan = jmeter.plan()?;
    let (own, whole) = (users_of(&plan), handed.users);
    if own != whole {
        let message = format!(
            "its thread groups have {own:?} threads here and {whole:?} at the coordinator; let their numbers come from \
             properties, not from the machine or the time"
        );
        return Err(message.into());
    }
    let plan = came.changed(plan)?;
    Ok(Box::new(PlanShare { session: jmeter.share(came.share, &handed.life), plan }))
}

/// The threads of one worker.
#[derive(Debug)]
struct PlanShare {
    session: Session,
    plan: Plan,
}

impl Share for PlanShare {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&self, options: RunOptions) -> Result<ResultFile, RunError> {
        let workload = self.session.workload(Part::Main, &self.plan);
        let (clock, begins) = (self.session.clock(), options.begins);
        let begins = Box::new(move |epoch| {
            clock.begin(epoch);
            begins(epoch);
        });
        run_workload(&self.plan, &workload, RunOptions { begins, ..options })
    }

    fn counter(&self) -> Counter {
        let session = self.session.clone();
        Box::new(move || Some(json!(session.take_counted())))
    }
}

/// Merges what workers measure into the life of the coordinator.
struct SampleMerge<'a> {
    session: &'a Session,
    tables: Tables,
}

impl Merge for SampleMerge<'_> {
    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }

    fn take(&self, _worker: u32, counted: &Value) -> Result<(), String> {
        let counted = Counted::deserialize(counted).map_err(|error| error.to_string())?;
        self.session.add(&counted)
    }

    fn tick(&self, _elapsed: Nanos) -> RunControl {
        if self.session.is_ended() { RunControl::Stop } else { RunControl::Continue }
    }
}
