//! Tables of inputs (configuration, script, variables, flags) and what they resolve to; each was checked against
//! `k6 inspect --execution-requirements` of k6 v1.8.1.

mod consolidated;
mod faults;

use super::consolidate::Consolidated;
use super::{Notes, OptionsError, Tier, Tiers};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Sources of options; flags and variables as they are typed: `--vus=3 --stage=1s:2`, `K6_VUS=3`.
#[derive(Debug, Clone, Copy, Default)]
struct Sources {
    configuration: &'static str,
    script: &'static str,
    variables: &'static [(&'static str, &'static str)],
    flags: &'static [(&'static str, &'static str)],
}

fn consolidate(sources: Sources) -> Result<Consolidated, OptionsError> {
    let json = |text: &str| match text {
        "" => Json::Null,
        text => serde_json::from_str(text).unwrap(),
    };
    let mut notes = Notes::default();
    let tiers = Tiers {
        configuration: Tier::of_configuration("config.json", &json(sources.configuration), &mut notes),
        script: Tier::of_script(&json(sources.script), &mut notes),
        variables: Tier::of_variables(sources.variables.iter().copied(), &mut notes),
        flags: Tier::of_flags(
            sources.flags.iter().map(|(name, text)| (*name, text.split('|').map(str::to_owned).collect())),
            &mut notes,
        ),
    };
    tiers.consolidate(&|name| ["default", "other"].contains(&name), notes)
}

/// Scenarios with their loads, warnings, and what k6 would reckon.
fn shown(sources: Sources) -> String {
    let consolidated = match consolidate(sources) {
        Ok(consolidated) => consolidated,
        Err(error) => return format!("{error}\n"),
    };
    let mut text = String::new();
    for scenario in &consolidated.options.scenarios {
        let description = scenario.description();
        let _ = writeln!(text, "{}: {description}\n    {:?}", scenario.name, scenario.executor);
    }
    let needs = consolidated.options.requirements();
    let _ = writeln!(text, "at most {} users, {}", needs.users_max, super::Span::from(needs.duration));
    for warning in consolidated.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}
