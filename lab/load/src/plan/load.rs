//! The load of a plan or of one of its scenarios: which model its keys make, and the users' rhythm.

use super::reader::{Notes, Section, Value, listed};
use prony_model::load::{Spacing, WAIT_MAX_DEFAULT};
use prony_model::plan::scenario::AfterFailure;
use prony_model::{LoadModel, Nanos, Pacing, RateStage, Stage, ThinkTime};

/// Each makes a model of its own.
const MODELS: [&str; 5] = ["stages", "iterations", "shared_iterations", "rate", "rate_stages"];
/// How long users go on making iterations, unless said otherwise.
const MAX_DURATION_DEFAULT: Nanos = Nanos::from_secs(600);
/// Users for an open model that names none: as many as starts come in one second, within these bounds.
const OPEN_USERS: std::ops::RangeInclusive<u32> = 10..=10_000;

pub(super) const KEYS: [&str; 10] = [
    "users",
    "duration",
    "stages",
    "iterations",
    "shared_iterations",
    "max_duration",
    "rate",
    "rate_stages",
    "spacing",
    "wait_max",
];
const SPACINGS: [(&str, Spacing); 2] = [("even", Spacing::Even), ("poisson", Spacing::Poisson)];
const AFTER_FAILURE: [(&str, AfterFailure); 2] =
    [("end_iteration", AfterFailure::EndIteration), ("continue", AfterFailure::Continue)];

/// A load that stands in for one with mistakes.
pub(super) fn stand_in() -> LoadModel {
    LoadModel::constant(1, Nanos::from_secs(1))
}

/// The model, or nothing where a mistake was noted.
pub(super) fn load(section: &Section<'_>, notes: &mut Notes) -> Option<LoadModel> {
    let before = notes.found.len();
    let given = section.given(&MODELS);
    if let [_, _, ..] = given.as_slice() {
        notes.add(section.span_of(given[1]), format!("{} exclude each other; leave one", listed(&given)));
        return None;
    }
    let model = given.first().copied();
    let allowed: &[&str] = match model {
        Some("stages") => &[],
        Some("iterations" | "shared_iterations") => &["users", "max_duration"],
        Some("rate") => &["users", "duration", "spacing", "wait_max"],
        Some(_) => &["users", "spacing", "wait_max"],
        None => &["users", "duration"],
    };
    for key in section.given(&KEYS) {
        if Some(key) != model && !allowed.contains(&key) {
            let reason = match model {
                Some(model) => format!("`{key}` has no place beside `{model}`; leave one out"),
                None => format!("`{key}` has no meaning without {}", owners(key)),
            };
            notes.add(section.span_of(key), reason);
        }
    }
    let built = match model {
        Some("stages") => stages(section).map(LoadModel::closed),
        Some(key @ ("iterations" | "shared_iterations")) => iterations(section, key, notes),
        Some("rate") => constant_rate(section, notes),
        Some(_) => rate_stages(section).and_then(|stages| open(section, stages)),
        None => constant(section, notes),
    };
    built.filter(|_| notes.found.len() == before)
}

/// The models to which a key belongs, for people.
fn owners(key: &str) -> &'static str {
    match key {
        "max_duration" => "`iterations` or `shared_iterations`",
        _ => "`rate` or `rate_stages`",
    }
}

fn constant(section: &Section<'_>, notes: &mut Notes) -> Option<LoadModel> {
    if !section.has("users") && !section.has("duration") {
        notes.missing(&section.span, "stages", "[{ duration = \"30s\", users = 100 }]");
        return None;
    }
    require(section, "users", "100", notes);
    require(section, "duration", "\"30s\"", notes);
    Some(LoadModel::constant(section.small_count("users")?, section.duration("duration")?))
}

fn iterations(section: &Section<'_>, key: &str, notes: &mut Notes) -> Option<LoadModel> {
    require(section, "users", "10", notes);
    let (users, iterations) = (section.small_count("users")?, section.count(key)?);
    let max_duration = section.duration("max_duration").unwrap_or(MAX_DURATION_DEFAULT);
    Some(match key {
        "iterations" => LoadModel::per_user_iterations(users, iterations, max_duration),
        _ => LoadModel::shared_iterations(users, iterations, max_duration),
    })
}

fn constant_rate(section: &Section<'_>, notes: &mut Notes) -> Option<LoadModel> {
    require(section, "duration", "\"30s\"", notes);
    let (rate, duration) = (section.decimal("rate")?, section.duration("duration")?);
    open(section, vec![RateStage::new(Nanos::ZERO, rate), RateStage::new(duration, rate)])
}

fn open(section: &Section<'_>, stages: Vec<RateStage>) -> Option<LoadModel> {
    let rate_max = stages.iter().map(|stage| stage.rate_per_s).fold(0.0, f64::max);
    let default = (rate_max.ceil() as u32).clamp(*OPEN_USERS.start(), *OPEN_USERS.end());
    let users = if section.has("users") { section.small_count("users")? } else { default };
    let wait_max = section.duration("wait_max").unwrap_or(WAIT_MAX_DEFAULT);
    Some(LoadModel::arrivals(stages, section.word("spacing", &SPACINGS), users, wait_max))
}

/// Nothing where one of them has a mistake, which was noted.
fn stages(section: &Section<'_>) -> Option<Vec<Stage>> {
    let read = |item| {
        let stage = Section::of(item)?;
        Some(Stage::new(stage.duration("duration")?, stage.small_count("users")?))
    };
    section.items("stages").into_iter().map(read).collect()
}

fn rate_stages(section: &Section<'_>) -> Option<Vec<RateStage>> {
    let read = |item| {
        let stage = Section::of(item)?;
        Some(RateStage::new(stage.duration("duration")?, stage.decimal("rate")?))
    };
    section.items("rate_stages").into_iter().map(read).collect()
}

fn require(section: &Section<'_>, key: &str, example: &str, notes: &mut Notes) {
    if !section.has(key) {
        notes.missing(&section.span, key, example);
    }
}

/// Think time or pacing, where one is given.
pub(super) fn pacing(section: &Section<'_>, notes: &mut Notes) -> Option<Pacing> {
    if section.has("pacing") && section.has("think_time") {
        let message = "`pacing` and `think_time` exclude each other; leave one out";
        notes.add(section.span_of("pacing"), message);
    }
    if let Some(interval_ns) = section.duration("pacing") {
        return Some(Pacing::Fixed { interval_ns });
    }
    Some(Pacing::ThinkTime(think_time(section.get("think_time")?, notes)))
}

pub(super) fn think_time(value: Value<'_>, notes: &mut Notes) -> ThinkTime {
    if let Some(text) = value.get_ref().as_str() {
        return Nanos::parse(text).map_or(ThinkTime::None, ThinkTime::constant);
    }
    let Some(table) = Section::of(value) else { return ThinkTime::None };
    let [min, max, mean, deviation] = ["min", "max", "mean", "deviation"].map(|key| table.duration(key));
    let is_lognormal = table.word("distribution", &IS_LOGNORMAL);
    if table.has("distribution") && (mean.is_none() || deviation.is_none()) {
        notes.add(table.span_of("distribution"), "a `distribution` has a `mean` and a `deviation`");
    }
    match (min, max, mean, deviation) {
        (Some(min_ns), Some(max_ns), None, None) => ThinkTime::Uniform { min_ns, max_ns },
        (None, None, Some(mean_ns), None) => ThinkTime::Exponential { mean_ns },
        (None, None, Some(mean_ns), Some(deviation_ns)) if is_lognormal => {
            ThinkTime::LogNormal { mean_ns, deviation_ns }
        }
        (None, None, Some(mean_ns), Some(deviation_ns)) => ThinkTime::Normal { mean_ns, deviation_ns },
        _ => {
            let forms = "`\"2s\"`, `{ min = \"1s\", max = \"3s\" }`, `{ mean = \"2s\" }` or \
                         `{ mean = \"2s\", deviation = \"500ms\" }`";
            notes.add(value.span(), format!("write {forms}"));
            ThinkTime::None
        }
    }
}

const IS_LOGNORMAL: [(&str, bool); 2] = [("normal", false), ("lognormal", true)];

pub(super) fn after_failure(section: &Section<'_>) -> Option<AfterFailure> {
    section.has("after_failure").then(|| section.word("after_failure", &AFTER_FAILURE))
}
