//! A plan as a whole: its keys in order, then the check of everything together.

use super::Found;
use super::feed::variable;
use super::reader::{Notes, Section};
use super::request::{Located, request};
use super::scenario::scenarios;
use super::subscription::{LocatedGroup, only_listens, subscriptions};
use super::tables::PLAN;
use super::validate::validate;
use prony_model::plan::scenario::ScenarioDraft;
use prony_model::plan::target::NamedTarget;
use prony_model::plan::wire::{Connections, Dns, Protocol, TlsOptions, WireOptions};
use prony_model::plan::{Field, Place, SubscriptionField};
use prony_model::{Nanos, Plan, PlanDraft, Target, Threshold, Variable};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::DeTable;

const PROTOCOLS: [(&str, Protocol); 3] =
    [("http1", Protocol::Http1), ("http2", Protocol::Http2), ("auto", Protocol::Auto)];
const CONNECTIONS: [(&str, Connections); 2] = [("kept", Connections::Kept), ("fresh", Connections::Fresh)];
const DNS: [(&str, Dns); 2] = [("once", Dns::Once), ("per_connection", Dns::PerConnection)];

const WIRE_KEYS: [&str; 6] = ["protocol", "connections", "streams", "pipeline", "dns", "tls"];

pub(super) fn plan(
    table: &Spanned<DeTable<'_>>,
    default_name: &str,
    directory: &Path,
) -> Result<Plan, Vec<Found>> {
    let mut notes = Notes::default();
    // What is missing is missing at the beginning.
    validate(table.get_ref(), &(0..0), &PLAN, &mut notes);
    let section = Section::new(table.get_ref(), 0..0);
    let variables = variables(&section, directory, &mut notes);
    let (thresholds, threshold_spans) = thresholds(&section, &mut notes);
    let requests = requests(&section, &mut notes);
    let wire = wire(&section, directory);
    let is_http2 = wire.protocol == Protocol::Http2;
    let subscriptions = subscriptions(&section, &section.texts("headers"), is_http2, &mut notes);
    let (mut scenarios, scenario_sections): (Vec<ScenarioDraft>, Vec<_>) =
        scenarios(&section, &mut notes).into_iter().unzip();
    start_when_ready(&mut scenarios, &scenario_sections, &subscriptions);
    let mut draft = PlanDraft::new(
        section.text("name").unwrap_or(default_name),
        Target::new("localhost", 80),
        super::load::stand_in(),
    );
    draft.targets = targets(&section, &mut notes);
    draft.timeout = section.duration("timeout").unwrap_or(draft.timeout);
    draft.wire = wire;
    draft.seed = section.count("seed").unwrap_or(draft.seed);
    draft.warm_up = section.duration("warm_up").unwrap_or(draft.warm_up);
    draft.tags = section.texts("tags").into_iter().collect();
    draft.observe = section
        .items("observe")
        .iter()
        .filter_map(|item| item.get_ref().as_str())
        .map(str::to_owned)
        .collect();
    draft.variables = variables.list;
    draft.thresholds = thresholds;
    draft.requests = requests.iter().map(|located| located.draft.clone()).collect();
    draft.scenarios = scenarios;
    draft.subscriptions = subscriptions.iter().map(|located| located.draft.clone()).collect();
    let places = Places {
        plan: &section,
        variables: variables.spans,
        thresholds: threshold_spans,
        requests,
        scenarios: scenario_sections,
        subscriptions,
    };
    finish(draft, &places, variables.are_whole, notes)
}

/// The load begins when all subscriptions should be in force, where a scenario says nothing else.
fn start_when_ready(
    scenarios: &mut [ScenarioDraft],
    sections: &[Section<'_>],
    subscriptions: &[LocatedGroup<'_>],
) {
    let ready = subscriptions.iter().map(|group| group.draft.ready()).max().unwrap_or(Nanos::ZERO);
    for (scenario, section) in scenarios.iter_mut().zip(sections) {
        if !section.has("start") && scenario.load.users_max() > 0 {
            scenario.start = ready;
        }
    }
}

fn finish(
    draft: PlanDraft,
    places: &Places<'_>,
    feeds_are_whole: bool,
    mut notes: Notes,
) -> Result<Plan, Vec<Found>> {
    let has_mistakes = !notes.found.is_empty();
    let has_no_requests_noted = draft.requests.is_empty();
    let faults = match draft.check() {
        Ok(plan) if !has_mistakes => return Ok(plan),
        Ok(_) => Vec::new(),
        Err(faults) => faults.0,
    };
    let has_wire_mistakes = WIRE_KEYS.iter().any(|key| notes.has_within(&places.plan.span_of(key)));
    let found: Vec<_> = faults.into_iter().map(|fault| (places.of(fault.place), fault)).collect();
    // What was broken was left out, so that the rest may look odd.
    let news = found.into_iter().filter(|(span, fault)| match fault.place {
        // Without its feed nobody knows which columns a variable has.
        Place::Request(
            _,
            Field::Path | Field::Header(_) | Field::Body | Field::Variables | Field::Check(_),
        ) => feeds_are_whole,
        Place::Requests => !has_no_requests_noted,
        Place::Subscription(_, SubscriptionField::Variables | SubscriptionField::FanOut) => {
            feeds_are_whole && !notes.has_within(span)
        }
        Place::Wire(_) => !has_wire_mistakes,
        _ => !notes.has_within(span),
    });
    let news: Vec<_> = news.collect();
    for (span, fault) in news {
        notes.add(span, fault.message);
    }
    Err(notes.found)
}

/// Where the parts of a draft stand in the file.
struct Places<'a> {
    plan: &'a Section<'a>,
    variables: Vec<Range<usize>>,
    thresholds: Vec<Range<usize>>,
    requests: Vec<Located>,
    scenarios: Vec<Section<'a>>,
    subscriptions: Vec<LocatedGroup<'a>>,
}

impl Places<'_> {
    fn of(&self, place: Place) -> Range<usize> {
        match place {
            Place::Load(index) => self.first_given(index, &super::load::KEYS),
            Place::Pacing(index) => self.first_given(index, &["pacing", "think_time"]),
            Place::Flow(index) => self.first_given(index, &["steps", "mix"]),
            Place::ScenarioName(index) => self.first_given(index, &["name"]),
            Place::Wire(key) => match key.strip_prefix("tls.") {
                Some(inner) => self.plan.section("tls").map_or(0..0, |tls| tls.span_of(inner)),
                None => self.plan.span_of(key),
            },
            Place::Timeout => self.plan.span_of("timeout"),
            Place::Requests => self.plan.span_of("requests"),
            Place::Scenarios => self.plan.span_of("scenarios"),
            Place::Variable(index) => self.variables.get(index).cloned().unwrap_or(0..0),
            Place::Request(index, field) => self.requests[index].span(field),
            Place::Threshold(index) => self.thresholds[index].clone(),
            Place::Subscription(index, field) => self
                .subscriptions
                .get(index)
                .map_or(self.plan.span_of("subscriptions"), |group| group.span(field)),
        }
    }

    /// The first of these keys that a scenario gives, else the scenario.
    fn first_given(&self, scenario: usize, keys: &[&'static str]) -> Range<usize> {
        let section = self.scenarios.get(scenario).unwrap_or(self.plan);
        let outer = section.given(keys).first().map(|key| section.span_of(key));
        outer
            .or_else(|| self.plan.given(keys).first().map(|key| self.plan.span_of(key)))
            .unwrap_or(section.span.clone())
    }
}

fn targets(section: &Section<'_>, notes: &mut Notes) -> Vec<NamedTarget> {
    let several = section.entries("targets");
    if section.has("target") && section.has("targets") {
        notes.add(section.span_of("target"), "`target` and `targets` exclude each other; leave one out");
    }
    if !section.has("target") && !section.has("targets") {
        notes.missing(&section.span, "target", "\"http://127.0.0.1:8080\"");
    }
    if section.has("targets") && several.is_empty() {
        notes.add(section.span_of("targets"), "there is no target in it; add one, or write `target`");
    }
    let one = section.get("target").map(|value| ("default", value));
    let mut targets = Vec::new();
    for (name, value) in several.into_iter().chain(one) {
        let Some(url) = value.get_ref().as_str() else { continue };
        match Target::parse(url) {
            Ok(target) => targets.push(NamedTarget { name: name.to_owned(), target }),
            Err(error) => notes.add(value.span(), error.to_string()),
        }
    }
    if targets.is_empty() {
        targets.push(NamedTarget { name: "default".to_owned(), target: Target::new("localhost", 80) });
    }
    targets
}

/// Files are looked for beside the plan.
fn wire(section: &Section<'_>, directory: &Path) -> WireOptions {
    let beside = |name: &str| directory.join(name);
    let tls = section.section("tls").map_or_else(TlsOptions::default, |tls| TlsOptions {
        insecure: tls.flag("insecure").unwrap_or(false),
        ca: tls.items("ca").iter().filter_map(|item| item.get_ref().as_str()).map(beside).collect(),
        cert: tls.text("cert").map(beside),
        key: tls.text("key").map(beside),
        server_name: tls.text("server_name").map(str::to_owned),
        resume: tls.flag("resume").unwrap_or(true),
        ..TlsOptions::default()
    });
    WireOptions {
        protocol: section.word("protocol", &PROTOCOLS),
        connections: section.word("connections", &CONNECTIONS),
        streams: section.small_count("streams").unwrap_or(1),
        pipeline: section.small_count("pipeline").unwrap_or(1),
        dns: section.word("dns", &DNS),
        tls,
    }
}

fn thresholds(section: &Section<'_>, notes: &mut Notes) -> (Vec<Threshold>, Vec<Range<usize>>) {
    let (mut thresholds, mut spans) = (Vec::new(), Vec::new());
    for item in section.items("thresholds") {
        let Some(list) = item.get_ref().as_str() else { continue };
        match Threshold::parse_list(list) {
            Ok(list) => {
                spans.extend(list.iter().map(|_| item.span()));
                thresholds.extend(list);
            }
            Err(errors) => errors.iter().for_each(|error| notes.add(item.span(), error.to_string())),
        }
    }
    (thresholds, spans)
}

struct Variables {
    list: Vec<Variable>,
    spans: Vec<Range<usize>>,
    /// False where one could not be read.
    are_whole: bool,
}

fn variables(section: &Section<'_>, directory: &Path, notes: &mut Notes) -> Variables {
    let mut variables = Variables { list: Vec::new(), spans: Vec::new(), are_whole: true };
    for (name, value) in section.entries("variables") {
        let (variable, is_whole) = variable(name, value, directory, notes);
        variables.list.push(variable);
        variables.spans.push(value.span());
        variables.are_whole &= is_whole;
    }
    variables
}

fn requests(section: &Section<'_>, notes: &mut Notes) -> Vec<Located> {
    if !section.has("requests") && !only_listens(section) {
        notes.add(0..0, "there is no request; add `[[requests]]` with a `path` or `graphql`");
    }
    let common = section.texts("headers");
    let items = section.items("requests").into_iter().enumerate();
    items.filter_map(|(index, item)| request(index, item, &common, notes)).collect()
}
