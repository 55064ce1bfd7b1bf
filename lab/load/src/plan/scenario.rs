//! The scenarios of a plan: those of `[[scenarios]]`, or the one that the plan itself is.

use super::load::{KEYS, after_failure, load as load_of, pacing, stand_in, think_time};
use super::reader::{Notes, Section};
use super::subscription::only_listens;
use prony_model::plan::scenario::{FlowDraft, ScenarioDraft, StepDraft};
use prony_model::{LoadModel, Nanos, Pacing, ThinkTime};

const FLOW_KEYS: [&str; 2] = ["steps", "mix"];

/// The drafts, and the section in which each stands.
pub(super) fn scenarios<'a>(plan: &Section<'a>, notes: &mut Notes) -> Vec<(ScenarioDraft, Section<'a>)> {
    let common = Common { pacing: pacing(plan, notes), after_failure: after_failure(plan) };
    if plan.get("scenarios").is_none_or(|value| !value.get_ref().is_array()) {
        let listening = only_listens(plan).then(|| plan.duration("duration")).flatten();
        let load = listening.map(|duration| LoadModel::constant(0, duration));
        let load = load.or_else(|| load_of(plan, notes)).unwrap_or_else(stand_in);
        let mut draft = ScenarioDraft::new("default", load);
        common.apply(&mut draft);
        draft.flow = flow(plan, notes);
        return vec![(draft, plan.clone())];
    }
    for key in plan.given(&[&KEYS[..], &FLOW_KEYS].concat()) {
        let message = format!("`{key}` belongs into the scenarios, each of which has its own");
        notes.add(plan.span_of(key), message);
    }
    let sections: Vec<_> = plan.items("scenarios").into_iter().filter_map(Section::of).collect();
    sections.into_iter().map(|section| (scenario(&section, &common, notes), section)).collect()
}

/// What holds for scenarios that do not say it themselves.
struct Common {
    pacing: Option<Pacing>,
    after_failure: Option<prony_model::plan::scenario::AfterFailure>,
}

impl Common {
    fn apply(&self, draft: &mut ScenarioDraft) {
        draft.pacing = self.pacing.unwrap_or(draft.pacing);
        draft.after_failure = self.after_failure.unwrap_or(draft.after_failure);
    }
}

fn scenario(section: &Section<'_>, common: &Common, notes: &mut Notes) -> ScenarioDraft {
    let load = load_of(section, notes).unwrap_or_else(stand_in);
    let mut draft = ScenarioDraft::new(section.text("name").unwrap_or_default(), load);
    common.apply(&mut draft);
    draft.start = section.duration("start").unwrap_or(Nanos::ZERO);
    draft.pacing = pacing(section, notes).unwrap_or(draft.pacing);
    draft.after_failure = after_failure(section).unwrap_or(draft.after_failure);
    draft.flow = flow(section, notes);
    draft.tags = section.texts("tags").into_iter().collect();
    draft
}

fn flow(section: &Section<'_>, notes: &mut Notes) -> FlowDraft {
    if section.has("steps") && section.has("mix") {
        notes.add(section.span_of("mix"), "`steps` and `mix` exclude each other; leave one out");
    }
    if section.has("steps") {
        let items = section.items("steps").into_iter();
        return FlowDraft::Sequence(items.filter_map(|item| step(item, notes)).collect());
    }
    if section.has("mix") {
        let entries = section.entries("mix");
        let span = section.span_of("mix");
        if entries.is_empty() && !notes.has_within(&span) {
            notes.add(span, "`mix` names no request; write for example `{ browse = 9, buy = 1 }`");
        }
        let weights = entries.into_iter().filter_map(|(name, value)| {
            let weight = super::reader::whole(value.get_ref().as_integer()?)?;
            Some((name.to_owned(), u32::try_from(weight).ok()?))
        });
        return FlowDraft::Mix(weights.collect());
    }
    FlowDraft::AnyRequest
}

fn step(item: super::reader::Value<'_>, notes: &mut Notes) -> Option<StepDraft> {
    if let Some(name) = item.get_ref().as_str() {
        return Some(StepDraft { request: name.to_owned(), think_time: ThinkTime::None });
    }
    let section = Section::of(item)?;
    let think_time = section.get("think_time").map_or(ThinkTime::None, |value| think_time(value, notes));
    Some(StepDraft { request: section.text("request")?.to_owned(), think_time })
}
