//! What is asked of the temporal interface: parameters of a query string, or members of a `Query` (ETSI GS CIM 009, clause 5.2.23), checked.

use std::collections::HashMap;

use prony_series_store::{Page, TimeMs, TimeRange};
use prony_source::http_api::query;

use super::{
    condition::Condition,
    duration::PeriodLength,
    method::AggregateMethod,
    problem::{Problem, ProblemKind},
};
use crate::{
    ngsi::{
        geometry::GeoQuery,
        json::{Arena, Json},
        time,
    },
    query::{
        parameters::{LIMIT_DEFAULT, Parameters},
        pattern::{self, Matching},
    },
};

/// Entities of a response, where nothing else is asked for, and at most.
const ENTITIES_DEFAULT: u64 = 20;
const ENTITIES_MAX: u64 = 1000;
/// Entities that a `Query` names; each of those without an id is looked for among all.
const SELECTORS_MAX: usize = 10_000;
const SELECTORS_WITHOUT_ID_MAX: usize = 100;
/// What narrows a query down.
const NARROWING: [&str; 6] = ["id", "idPattern", "type", "attrs", "q", "georel"];
/// Parts of the interface that would change a response, and are not here.
const UNSUPPORTED: [&str; 11] = [
    "scopeQ",
    "csf",
    "pick",
    "omit",
    "datasetId",
    "lang",
    "orderBy",
    "join",
    "joinLevel",
    "entityMap",
    "expandValues",
];

/// Which time is asked for (clause 4.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeRelation {
    Any,
    /// Not included.
    Before(TimeMs),
    /// Included.
    After(TimeMs),
    /// The first is included, the second is not.
    Between(TimeMs, TimeMs),
}

/// What the time of an instance is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeProperty {
    Observed,
    Created,
    Modified,
    /// No instance has it.
    Deleted,
}

/// How instances are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Representation {
    Normalized,
    /// Values with their times.
    Values,
    Aggregated(Vec<AggregateMethod>, PeriodLength),
}

/// Where entities have to have been.
#[derive(Debug, Clone)]
pub(crate) struct PlaceTest {
    pub(crate) property: String,
    pub(crate) query: GeoQuery,
}

/// Which of the entities that are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntityPage {
    pub(crate) offset: u64,
    pub(crate) limit: u64,
    /// Whether the response is to say how many there are.
    pub(crate) counts: bool,
}

/// The parameters of a query.
#[derive(Debug, Clone)]
pub(crate) struct TemporalParameters {
    /// Entities that are of one of these are looked at.
    pub(crate) selectors: Vec<Parameters>,
    /// All of them where it is empty.
    pub(crate) attributes: Vec<String>,
    pub(crate) time: TimeRelation,
    pub(crate) time_property: TimeProperty,
    /// So many instances of each attribute of an entity.
    pub(crate) last: Option<u64>,
    pub(crate) condition: Option<Condition>,
    pub(crate) place: Option<PlaceTest>,
    pub(crate) representation: Representation,
    /// Whether instances are shown with their metadata.
    pub(crate) shows_metadata: bool,
    pub(crate) page: EntityPage,
}

impl TimeRelation {
    /// None where no time is in it.
    pub(crate) fn range(self) -> Option<TimeRange> {
        let all = TimeRange::ALL;
        let range = match self {
            Self::Any => all,
            Self::Before(end) => TimeRange { to_ms: end.saturating_sub(1), ..all },
            Self::After(from_ms) => TimeRange { from_ms, ..all },
            Self::Between(from_ms, end) => TimeRange { from_ms, to_ms: end.saturating_sub(1) },
        };
        (range.from_ms <= range.to_ms).then_some(range)
    }
}

impl TimeProperty {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Observed => "observedAt",
            Self::Created => "createdAt",
            Self::Modified => "modifiedAt",
            Self::Deleted => "deletedAt",
        }
    }

    /// Whether an instance can have it.
    const fn is_kept(self) -> bool {
        !matches!(self, Self::Deleted)
    }
}

/// Texts by their names: those of a body first.
struct GivenTexts<'q> {
    query: &'q str,
    body: HashMap<String, String>,
}

impl GivenTexts<'_> {
    fn get(&self, name: &str) -> Result<Option<String>, Problem> {
        if let Some(text) = self.body.get(name) {
            return Ok(Some(text.clone()));
        }
        let found = query::parameter(self.query, name)
            .map_err(|error| Problem::bad_data(format!("{name}: {error}")))?;
        Ok(found.filter(|value| !value.is_empty()))
    }

    fn list(&self, name: &str) -> Result<Vec<String>, Problem> {
        let text = self.get(name)?.unwrap_or_default();
        Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    fn number(&self, name: &str, least: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        let number = text.parse::<u64>().ok().filter(|number| *number >= least);
        number.map(Some).ok_or_else(|| {
            Problem::bad_data(format!("{name} is `{text}`, and is to be a whole number of at least {least}"))
        })
    }

    fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Problem> {
        self.get(name)?.map(|text| word(name, &text, words)).transpose()
    }

    fn date_time(&self, name: &str) -> Result<Option<TimeMs>, Problem> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        time::parse_date_time(&text).map(Some).ok_or_else(|| {
            Problem::bad_data(format!("{name} is `{text}`, and is to be a time as in 2024-05-06T07:08:09Z"))
        })
    }
}

fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, Problem> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, of)| *of).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Problem::bad_data(format!("{name} has `{text}`, and can have {}", all.join(", ")))
    })
}

impl TemporalParameters {
    /// Of a query for entities.
    pub(crate) fn read(query: Option<&str>) -> Result<Self, Problem> {
        let given = GivenTexts { query: query.unwrap_or_default(), body: HashMap::new() };
        check_narrow(&given, false)?;
        Self::of(&given, vec![read_selector(&given)?])
    }

    /// Of one entity that the path names.
    pub(crate) fn read_of_one(query: Option<&str>) -> Result<Self, Problem> {
        let given = GivenTexts { query: query.unwrap_or_default(), body: HashMap::new() };
        let type_name = given.get("type")?;
        let mut parameters = Self::of(&given, vec![Parameters { type_name, ..Parameters::default() }])?;
        (parameters.condition, parameters.place) = (None, None);
        Ok(parameters)
    }

    /// Of a query that is a body.
    pub(crate) fn read_body(query: Option<&str>, body: &[u8]) -> Result<Self, Problem> {
        let arena = Arena::new();
        let json = Json::read(body, &arena).map_err(|error| {
            Problem::new(ProblemKind::InvalidRequest, format!("the body is no JSON: {error}"))
        })?;
        let Json::Object(_) = json else { return Err(Problem::bad_data("the body is to be an object")) };
        if json.member("type").is_some_and(|of| of.text() != Some("Query")) {
            return Err(Problem::bad_data("`type` of the body is to be `Query`"));
        }
        let given = GivenTexts { query: query.unwrap_or_default(), body: texts_of(&json) };
        let selectors = read_entities(&json)?;
        check_narrow(&given, selectors.is_some())?;
        let selectors = selectors.unwrap_or_else(|| vec![Parameters::default()]);
        Self::of(&given, selectors)
    }

    fn of(given: &GivenTexts<'_>, mut selectors: Vec<Parameters>) -> Result<Self, Problem> {
        for name in UNSUPPORTED {
            if given.get(name)?.is_some() {
                let detail = format!("{name} is not supported; leave it out");
                return Err(Problem::new(ProblemKind::OperationNotSupported, detail));
            }
        }
        let times = [
            ("observedAt", TimeProperty::Observed),
            ("createdAt", TimeProperty::Created),
            ("modifiedAt", TimeProperty::Modified),
            ("deletedAt", TimeProperty::Deleted),
        ];
        let time_property = given.word("timeproperty", &times)?.unwrap_or(TimeProperty::Observed);
        let time = read_time(given)?;
        let Options { representation, shows_metadata, counts } = read_options(given)?;
        let attributes = given.list("attrs")?;
        for selector in &mut selectors {
            selector.attributes.clone_from(&attributes);
            selector.page = Page::First { offset: 0, limit: LIMIT_DEFAULT };
        }
        Ok(Self {
            selectors,
            attributes,
            time,
            time_property,
            last: given.number("lastN", 1)?,
            condition: given.get("q")?.map(|text| Condition::read(&text)).transpose()?,
            place: read_place(given)?,
            representation,
            shows_metadata,
            page: read_page(given, counts)?,
        })
    }

    /// None where no instance can be in it.
    pub(crate) fn range(&self) -> Option<TimeRange> {
        self.time_property.is_kept().then(|| self.time.range())?
    }
}

/// A query is about something (clause 5.7.4.4).
fn check_narrow(given: &GivenTexts<'_>, has_entities: bool) -> Result<(), Problem> {
    let mut is_narrow = has_entities || given.get("local")?.as_deref() == Some("true");
    for name in NARROWING {
        is_narrow |= given.get(name)?.is_some();
    }
    let detail = "the query is too wide: name type, attrs, q, georel, id or idPattern, or say local=true";
    if is_narrow { Ok(()) } else { Err(Problem::bad_data(detail)) }
}

fn read_time(given: &GivenTexts<'_>) -> Result<TimeRelation, Problem> {
    let relation = given.word("timerel", &[("before", 0), ("after", 1), ("between", 2)])?;
    let (at, end) = (given.date_time("timeAt")?, given.date_time("endTimeAt")?);
    match (relation, at, end) {
        (None, None, None) => Ok(TimeRelation::Any),
        (None, ..) => Err(Problem::bad_data("timeAt needs timerel: before, after or between")),
        (Some(_), None, _) => Err(Problem::bad_data("timerel needs timeAt")),
        (Some(2), Some(_), None) => Err(Problem::bad_data("timerel=between needs endTimeAt")),
        (Some(2), Some(at), Some(end)) if end < at => Err(Problem::bad_data("endTimeAt is before timeAt")),
        (Some(2), Some(at), Some(end)) => Ok(TimeRelation::Between(at, end)),
        (Some(1), Some(at), _) => Ok(TimeRelation::After(at)),
        (Some(_), Some(at), _) => Ok(TimeRelation::Before(at)),
    }
}

/// How what is found is written.
struct Options {
    representation: Representation,
    shows_metadata: bool,
    /// Whether entities are to be counted.
    counts: bool,
}

/// What `format` says goes before `options`; aggregations that are named without either are asked for.
fn read_options(given: &GivenTexts<'_>) -> Result<Options, Problem> {
    const WORDS: [(&str, u8); 7] = [
        ("normalized", 0),
        ("temporalValues", 1),
        ("simplified", 1),
        ("aggregatedValues", 2),
        ("sysAttrs", 3),
        ("count", 4),
        ("metadata", 5),
    ];
    let options = given.list("options")?.into_iter();
    let options = options.map(|text| word("options", &text, &WORDS)).collect::<Result<Vec<u8>, _>>()?;
    let named = options.iter().copied().find(|option| *option < 3);
    let counts =
        options.contains(&4) || given.word("count", &[("true", true), ("false", false)])?.unwrap_or_default();
    let methods = read_methods(given)?;
    let length = read_length(given)?;
    let representation = match given.word("format", &WORDS[..4])?.or(named) {
        Some(0) => Representation::Normalized,
        Some(1) => Representation::Values,
        Some(_) if methods.is_empty() => {
            return Err(Problem::bad_data("aggregatedValues needs aggrMethods"));
        }
        None if methods.is_empty() => Representation::Normalized,
        _ => Representation::Aggregated(methods, length),
    };
    let shows_metadata = options.contains(&5);
    if shows_metadata && representation != Representation::Normalized {
        return Err(Problem::bad_data("options=metadata goes with the normalized representation alone"));
    }
    Ok(Options { representation, shows_metadata, counts })
}

fn read_methods(given: &GivenTexts<'_>) -> Result<Vec<AggregateMethod>, Problem> {
    let words = AggregateMethod::ALL.map(|method| (method.name(), method));
    let mut methods = Vec::new();
    for text in given.list("aggrMethods")? {
        let method = word("aggrMethods", &text, &words)?;
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    Ok(methods)
}

fn read_length(given: &GivenTexts<'_>) -> Result<PeriodLength, Problem> {
    let text = given.get("aggrPeriodDuration")?.unwrap_or_else(|| "PT0S".to_owned());
    PeriodLength::read(&text).ok_or_else(|| {
        Problem::bad_data(format!(
            "aggrPeriodDuration is `{text}`, and is to be a duration as in P1D or PT1H30M"
        ))
    })
}

fn read_page(given: &GivenTexts<'_>, counts: bool) -> Result<EntityPage, Problem> {
    let limit = given.number("limit", u64::from(!counts))?.unwrap_or(ENTITIES_DEFAULT);
    if limit > ENTITIES_MAX {
        let detail = format!("limit is {limit}, and can be {ENTITIES_MAX} at most; page with offset");
        return Err(Problem::new(ProblemKind::TooManyResults, detail));
    }
    Ok(EntityPage { offset: given.number("offset", 0)?.unwrap_or(0), limit, counts })
}

/// Types with commas or `|` between them: one of them.
fn read_types(given: &GivenTexts<'_>) -> Result<Option<String>, Problem> {
    given.get("type")?.map(|text| types_of(&text)).transpose()
}

fn types_of(text: &str) -> Result<String, Problem> {
    if text.contains([';', '(', ')']) {
        return Err(Problem::bad_data(
            "an entity has one type: write types with commas between them in type",
        ));
    }
    let mut types: Vec<&str> = text.split([',', '|']).map(str::trim).filter(|of| !of.is_empty()).collect();
    types.sort_unstable();
    types.dedup();
    Ok(types.join(","))
}

fn read_selector(given: &GivenTexts<'_>) -> Result<Parameters, Problem> {
    selector(read_types(given)?, given.list("id")?, given.get("idPattern")?.as_deref())
}

fn selector(
    type_name: Option<String>,
    mut ids: Vec<String>,
    pattern: Option<&str>,
) -> Result<Parameters, Problem> {
    ids.sort_unstable();
    ids.dedup();
    let id_pattern = pattern.map(|text| pattern::compile("idPattern", text, Matching::Anywhere));
    let id_pattern = id_pattern.transpose().map_err(Problem::bad_data)?;
    Ok(Parameters { type_name, ids, id_pattern, ..Parameters::default() })
}

/// `entities` of a `Query`: none where it has none.
fn read_entities(json: &Json<'_>) -> Result<Option<Vec<Parameters>>, Problem> {
    let Some(entities) = json.member("entities") else { return Ok(None) };
    let Json::List(entities) = entities else {
        return Err(Problem::bad_data("`entities` is to be a list of objects with id, idPattern or type"));
    };
    let without_id = entities.iter().filter(|of| of.member("id").is_none()).count();
    if entities.len() > SELECTORS_MAX || without_id > SELECTORS_WITHOUT_ID_MAX {
        return Err(Problem::new(
            ProblemKind::TooComplexQuery,
            format!(
                "`entities` has more than {SELECTORS_MAX} parts, or {SELECTORS_WITHOUT_ID_MAX} without an id"
            ),
        ));
    }
    let read = |of: &Json<'_>| {
        let text = |name: &str| of.member(name).map(text_of);
        let types = text("type").map(|text| types_of(&text)).transpose()?;
        let ids = match of.member("id") {
            Some(Json::List(ids)) => ids.iter().filter_map(Json::text).map(str::to_owned).collect(),
            Some(id) => vec![text_of(id)],
            None => Vec::new(),
        };
        selector(types, ids, text("idPattern").as_deref())
    };
    entities
        .iter()
        .map(read)
        .collect::<Result<Vec<_>, _>>()
        .map(|all| Some(all).filter(|all| !all.is_empty()))
}

/// Members of a `Query` as the parameters that they stand for.
fn texts_of(json: &Json<'_>) -> HashMap<String, String> {
    let parts = ["temporalQ", "aggrParams", "geoQ"].into_iter().filter_map(|name| json.member(name));
    let mut texts = HashMap::new();
    for part in std::iter::once(json).chain(parts) {
        let Json::Object(members) = part else { continue };
        for (name, value) in *members {
            if !matches!(&**name, "type" | "entities" | "temporalQ" | "aggrParams" | "geoQ")
                && *value != Json::Null
            {
                texts.insert(name.to_string(), text_of(value));
            }
        }
    }
    texts
}

fn text_of(value: &Json<'_>) -> String {
    match value {
        Json::Text(text) => text.to_string(),
        Json::List(items) if !items.is_empty() && items.iter().all(|item| item.text().is_some()) => {
            items.iter().filter_map(Json::text).collect::<Vec<_>>().join(",")
        }
        other => other.to_text(),
    }
}

fn read_place(given: &GivenTexts<'_>) -> Result<Option<PlaceTest>, Problem> {
    let (georel, geometry, coordinates) =
        (given.get("georel")?, given.get("geometry")?, given.get("coordinates")?);
    let property = given.get("geoproperty")?.unwrap_or_else(|| "location".to_owned());
    let (georel, geometry, coordinates) = match (georel, geometry, coordinates) {
        (None, None, None) => return Ok(None),
        (Some(georel), Some(geometry), Some(coordinates)) => (georel, geometry, coordinates),
        _ => return Err(Problem::bad_data("georel, geometry and coordinates go together")),
    };
    let query = GeoQuery::of_geojson(&georel, &geometry, &coordinates).map_err(|_| {
        Problem::bad_data(
            "georel is near;maxDistance==METRES, near;minDistance==METRES, within, contains, intersects, overlaps, \
             equals or disjoint, geometry a type of GeoJSON, coordinates its coordinates as JSON",
        )
    })?;
    Ok(Some(PlaceTest { property, query }))
}
