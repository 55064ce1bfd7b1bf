//! A plan as a whole: its keys in order, then the check of everything together.

use super::Found;
use super::feed::variable;
use super::reader::{Notes, Section, Value, array, kind, nearest, text};
use super::request::{Located, headers, request};
use prony_load_model::plan::{Field, Place};
use prony_load_model::wire::Connections;
use prony_load_model::{LoadModel, Nanos, Plan, PlanDraft, Stage, Target, ThinkTime, Threshold, Variable};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::DeTable;

const KEYS: [&str; 14] = [
    "name",
    "target",
    "seed",
    "timeout",
    "think_time",
    "connections",
    "warm_up",
    "stages",
    "users",
    "duration",
    "thresholds",
    "headers",
    "variables",
    "requests",
];
const THINK_KEYS: [&str; 3] = ["min", "max", "mean"];
const STAGE_KEYS: [&str; 2] = ["duration", "users"];

pub(super) fn plan(
    table: &Spanned<DeTable<'_>>,
    default_name: &str,
    directory: &Path,
) -> Result<Plan, Vec<Found>> {
    let mut notes = Notes::default();
    // What is missing is missing at the beginning.
    let section = Section::new(table.get_ref(), 0..0, &KEYS, &mut notes);
    let (variables, variable_spans, feeds_are_whole) = variables(&section, directory, &mut notes);
    let (thresholds, threshold_spans) = thresholds(&section, &mut notes);
    let requests = requests(&section, &mut notes);
    let mut draft = PlanDraft::new(default_name, target(&section, &mut notes), load(&section, &mut notes));
    draft.name = section.text("name", &mut notes).unwrap_or(draft.name);
    draft = draft.with_think_time(think_time(&section, &mut notes));
    draft.timeout = section.duration("timeout", &mut notes).unwrap_or(draft.timeout);
    draft.wire.connections = connections(&section, &mut notes);
    draft.seed = section.count("seed", i64::MAX as u64, &mut notes).unwrap_or(draft.seed);
    draft.warm_up = section.duration("warm_up", &mut notes).unwrap_or(draft.warm_up);
    draft.variables = variables;
    draft.thresholds = thresholds;
    draft.requests = requests.iter().map(|located| located.draft.clone()).collect();
    let spans = Spans { section: &section, variables: variable_spans, thresholds: threshold_spans, requests };
    finish(draft, &spans, feeds_are_whole, notes)
}

fn finish(
    draft: PlanDraft,
    spans: &Spans<'_>,
    feeds_are_whole: bool,
    mut notes: Notes,
) -> Result<Plan, Vec<Found>> {
    let has_no_requests_noted = draft.requests.is_empty();
    match draft.check() {
        Ok(plan) if notes.found.is_empty() => return Ok(plan),
        Ok(_) => {}
        Err(faults) => {
            for fault in faults.0 {
                let is_follow_up = match fault.place {
                    // Without its feed nobody knows which columns a variable has.
                    Place::Request(_, Field::Path | Field::Header(_) | Field::Body | Field::Variables) => {
                        !feeds_are_whole
                    }
                    Place::Requests => has_no_requests_noted,
                    _ => false,
                };
                if !is_follow_up {
                    notes.add(spans.of(fault.place), fault.message);
                }
            }
        }
    }
    Err(notes.found)
}

struct Spans<'a> {
    section: &'a Section<'a>,
    variables: Vec<Range<usize>>,
    thresholds: Vec<Range<usize>>,
    requests: Vec<Located>,
}

impl Spans<'_> {
    fn of(&self, place: Place) -> Range<usize> {
        match place {
            Place::Load(_) if self.section.get("stages").is_none() => self.section.span_of("users"),
            Place::Load(_) => self.section.span_of("stages"),
            Place::Wire(key) => self.section.span_of(key),
            Place::Timeout => self.section.span_of("timeout"),
            Place::Pacing(_) => self.section.span_of("think_time"),
            Place::Requests | Place::Flow(_) => self.section.span_of("requests"),
            Place::Scenarios | Place::ScenarioName(_) => self.section.span_of("scenarios"),
            Place::Variable(index) => self.variables[index].clone(),
            Place::Request(index, field) => self.requests[index].span(field),
            Place::Threshold(index) => self.thresholds[index].clone(),
        }
    }
}

fn target(section: &Section<'_>, notes: &mut Notes) -> Target {
    let stand_in = || Target::new("localhost", 80);
    let Some(value) = section.require("target", "\"http://127.0.0.1:8080\"", notes) else {
        return stand_in();
    };
    let Some(url) = text(value, notes) else { return stand_in() };
    Target::parse(&url)
        .map_err(|error| notes.add(value.span(), error.to_string()))
        .unwrap_or_else(|()| stand_in())
}

fn load(section: &Section<'_>, notes: &mut Notes) -> LoadModel {
    let stand_in = LoadModel::constant(1, Nanos::from_secs(1));
    if let Some(value) = section.get("stages") {
        for key in ["users", "duration"] {
            if section.get(key).is_some() {
                notes.add(
                    section.span_of(key),
                    format!("`{key}` and `stages` exclude each other; leave one out"),
                );
            }
        }
        let before = notes.found.len();
        let items = array(value, "a list such as `[{ duration = \"30s\", users = 100 }]`", notes);
        let stages = items.into_iter().filter_map(|item| stage(item, notes)).collect();
        return if notes.found.len() == before { LoadModel::Closed { stages } } else { stand_in };
    }
    if section.get("users").is_none() && section.get("duration").is_none() {
        section.require("stages", "[{ duration = \"30s\", users = 100 }]", notes);
        return stand_in;
    }
    let (users, duration) = users_and_duration(section, notes);
    users.zip(duration).map_or(stand_in, |(users, duration)| LoadModel::constant(users, duration))
}

fn stage(value: Value<'_>, notes: &mut Notes) -> Option<Stage> {
    let section = Section::of(value, &STAGE_KEYS, notes)?;
    let (users, duration) = users_and_duration(&section, notes);
    Some(Stage::new(duration?, users?))
}

fn users_and_duration(section: &Section<'_>, notes: &mut Notes) -> (Option<u32>, Option<Nanos>) {
    section.require("users", "100", notes);
    section.require("duration", "\"30s\"", notes);
    let users = section.count("users", u64::from(u32::MAX), notes);
    (users.map(|users| users as u32), section.duration("duration", notes))
}

fn think_time(section: &Section<'_>, notes: &mut Notes) -> ThinkTime {
    let Some(value) = section.get("think_time") else { return ThinkTime::None };
    if value.get_ref().is_str() {
        return super::reader::duration(value, notes).map_or(ThinkTime::None, ThinkTime::constant);
    }
    let forms = "`\"2s\"`, `{ min = \"1s\", max = \"3s\" }` or `{ mean = \"2s\" }`";
    if !value.get_ref().is_table() {
        notes.add(value.span(), format!("expected {forms}, not {}", kind(value)));
        return ThinkTime::None;
    }
    let Some(table) = Section::of(value, &THINK_KEYS, notes) else { return ThinkTime::None };
    let [min, max, mean] = THINK_KEYS.map(|key| table.duration(key, notes));
    match (min, max, mean) {
        (Some(min_ns), Some(max_ns), None) => ThinkTime::Uniform { min_ns, max_ns },
        (None, None, Some(mean_ns)) => ThinkTime::Exponential { mean_ns },
        _ => {
            notes.add(value.span(), format!("write {forms}"));
            ThinkTime::None
        }
    }
}

fn connections(section: &Section<'_>, notes: &mut Notes) -> Connections {
    match section.text("connections", notes).as_deref() {
        None | Some("kept") => Connections::Kept,
        Some("fresh") => Connections::Fresh,
        Some(other) => {
            let message = format!("unknown connections `{other}`; {}", nearest(other, &["kept", "fresh"]));
            notes.add(section.span_of("connections"), message);
            Connections::Kept
        }
    }
}

fn thresholds(section: &Section<'_>, notes: &mut Notes) -> (Vec<Threshold>, Vec<Range<usize>>) {
    let (mut thresholds, mut spans) = (Vec::new(), Vec::new());
    let Some(value) = section.get("thresholds") else { return (thresholds, spans) };
    let items = if value.get_ref().is_str() {
        vec![value]
    } else {
        array(value, "a list such as `[\"p95<500ms\"]`", notes)
    };
    for item in items {
        let Some(list) = text(item, notes) else { continue };
        match Threshold::parse_list(&list) {
            Ok(list) => {
                spans.extend(list.iter().map(|_| item.span()));
                thresholds.extend(list);
            }
            Err(errors) => errors.iter().for_each(|error| notes.add(item.span(), error.to_string())),
        }
    }
    (thresholds, spans)
}

fn variables(
    section: &Section<'_>,
    directory: &Path,
    notes: &mut Notes,
) -> (Vec<Variable>, Vec<Range<usize>>, bool) {
    let (mut variables, mut spans, mut are_whole) = (Vec::new(), Vec::new(), true);
    let Some(value) = section.get("variables") else { return (variables, spans, true) };
    let Some(table) = value.get_ref().as_table() else {
        notes.add(value.span(), format!("expected a table of variables, not {}", kind(value)));
        return (variables, spans, false);
    };
    for (name, value) in table {
        let (variable, is_whole) = variable(name.get_ref(), value, directory, notes);
        variables.push(variable);
        spans.push(value.span());
        are_whole &= is_whole;
    }
    (variables, spans, are_whole)
}

fn requests(section: &Section<'_>, notes: &mut Notes) -> Vec<Located> {
    let Some(value) = section.get("requests") else {
        notes.add(0..0, "there is no request; add `[[requests]]` with a `path` or `graphql`");
        return Vec::new();
    };
    let (common, _) = headers(section.get("headers"), notes);
    let items = array(value, "`[[requests]]`", notes);
    items.into_iter().enumerate().filter_map(|(index, item)| request(index, item, &common, notes)).collect()
}
