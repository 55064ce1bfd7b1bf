//! The tiers laid over each other, shortcuts turned into scenarios, and everything checked.

use super::duration::Span;
use super::kind::Kind;
use super::notes::{Notes, OptionsError};
use super::resolved::Options;
use super::scenario::Scenario;
use super::tier::Tier;
use super::value::{Stage, Value};
use super::written::WrittenScenario;

/// The name of the scenario that shortcuts stand for.
const DEFAULT_SCENARIO: &str = "default";

/// All sources of options, the lowest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tiers {
    pub configuration: Tier,
    pub script: Tier,
    pub variables: Tier,
    pub flags: Tier,
}

/// Options that can be run, and what should be said of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Consolidated {
    pub options: Options,
    pub warnings: Vec<String>,
}

impl Tiers {
    /// One set of options out of all tiers; or every fault, those noted while the tiers were read included.
    /// `is_exported` tells the functions that the script exports.
    pub(crate) fn consolidate(
        self,
        is_exported: &dyn Fn(&str) -> bool,
        mut notes: Notes,
    ) -> Result<Consolidated, OptionsError> {
        let mut all = self.configuration;
        for (name, tier) in
            [("the script", self.script), ("a variable", self.variables), ("a flag", self.flags)]
        {
            if all.scenarios.is_some() && tier.has_execution() {
                notes.warn(format!("{name} replaces the scenarios of the options below it as a whole"));
            }
            all = all.under(tier);
        }
        all.scenarios = derive(&all, &mut notes);
        let scenarios = check(all.scenarios.as_deref().unwrap_or_default(), is_exported, &mut notes);
        let options = Options::new(&all, scenarios, &mut notes);
        if notes.faults.is_empty() {
            Ok(Consolidated { options, warnings: notes.warnings })
        } else {
            Err(OptionsError { faults: notes.faults })
        }
    }
}

/// The scenarios that were written, or the one that `iterations`, `duration` or `stages` stand for.
fn derive(all: &Tier, notes: &mut Notes) -> Option<Vec<WrittenScenario>> {
    let value = |name: &str| all.values.get(name).cloned();
    let stages = match value("stages") {
        Some(Value::Stages(stages)) => {
            Some(stages.into_iter().filter(|stage| stage.duration.is_some()).collect::<Vec<Stage>>())
        }
        _ => None,
    };
    let has_stages = stages.as_ref().is_some_and(|stages| !stages.is_empty());
    let has_scenarios = all.scenarios.is_some();
    let (iterations, duration, vus) = (value("iterations"), value("duration"), value("vus"));
    contradictions(
        [
            ("iterations", iterations.is_some()),
            ("duration", duration.is_some()),
            ("stages", has_stages),
            ("scenarios", has_scenarios),
        ],
        notes,
    );
    let derived = if iterations.is_some() {
        WrittenScenario::new(DEFAULT_SCENARIO, Kind::SharedIterations)
            .with("vus", vus)
            .with("iterations", iterations)
            .with("maxDuration", duration)
    } else if let Some(Value::Duration(span)) = duration {
        if span <= Span(0) {
            notes.fault(format!("`duration` must be above 0, and is {span}"));
            return None;
        }
        WrittenScenario::new(DEFAULT_SCENARIO, Kind::ConstantVus).with("vus", vus).with("duration", duration)
    } else if has_stages {
        let stages = stages.map(Value::Stages);
        WrittenScenario::new(DEFAULT_SCENARIO, Kind::RampingVus).with("startVUs", vus).with("stages", stages)
    } else if all.scenarios.as_ref().is_some_and(|scenarios| !scenarios.is_empty()) {
        return all.scenarios.clone();
    } else if has_scenarios && !notes.faults.is_empty() {
        // None could be read, and that was said.
        return None;
    } else {
        once(vus.as_ref(), stages.is_some(), has_scenarios, notes);
        WrittenScenario::new(DEFAULT_SCENARIO, Kind::PerVuIterations)
    };
    Some(vec![derived])
}

/// All pairs that exclude each other, not the first alone.
fn contradictions(given: [(&str, bool); 4], notes: &mut Notes) {
    let given: Vec<_> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
    for (index, first) in given.iter().enumerate() {
        for second in &given[index + 1..] {
            // `duration` is the longest time that `iterations` may take.
            if (*first, *second) != ("iterations", "duration") {
                notes.fault(format!("`{first}` and `{second}` contradict each other; leave one of them out"));
            }
        }
    }
}

fn once(vus: Option<&Value>, has_stages: bool, has_scenarios: bool, notes: &mut Notes) {
    if let Some(Value::Integer(count)) = vus
        && *count != 1
    {
        notes.warn(format!(
            "`vus` of {count} has no effect without `duration`, `iterations` or `stages`; one user makes one iteration"
        ));
    }
    for (name, is_empty) in [("stages", has_stages), ("scenarios", has_scenarios)] {
        if is_empty {
            notes.warn(format!("`{name}` is empty; one user makes one iteration"));
        }
    }
}

/// By their start, then by their names.
fn check(
    written: &[WrittenScenario],
    is_exported: &dyn Fn(&str) -> bool,
    notes: &mut Notes,
) -> Vec<Scenario> {
    let mut scenarios: Vec<_> =
        written.iter().filter_map(|scenario| scenario.check(is_exported, notes)).collect();
    scenarios.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
    scenarios
}
