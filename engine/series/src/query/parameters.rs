//! What a query asks for: its parameters, checked.

use prony_series_store::{Page, TimeMs, TimeRange, calendar::Period};
use prony_source::http_api::query;
use regex::Regex;

use super::{
    fault::Fault,
    pattern::{self, Matching},
};
use crate::ngsi::{
    geometry::{GeoFault, GeoQuery},
    time,
};

/// Rows of a response, where nothing else is asked for.
pub(crate) const LIMIT_DEFAULT: u64 = 10_000;

/// What is made of the values of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aggregation {
    pub(crate) method: Method,
    pub(crate) period: Option<Period>,
}

/// The parameters of a query.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) type_name: Option<String>,
    pub(crate) ids: Vec<String>,
    pub(crate) id_pattern: Option<Regex>,
    pub(crate) attributes: Vec<String>,
    pub(crate) aggregation: Option<Aggregation>,
    pub(crate) range: TimeRange,
    /// `fromDate` and `toDate` as they come back where several entities are aggregated.
    pub(crate) dates: [Option<TimeMs>; 2],
    pub(crate) page: Page,
    pub(crate) geo: Option<GeoQuery>,
    /// Whether the response is to say how many rows there are.
    pub(crate) counts: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            type_name: None,
            ids: Vec::new(),
            id_pattern: None,
            attributes: Vec::new(),
            aggregation: None,
            range: TimeRange::ALL,
            dates: [None; 2],
            page: Page::First { offset: 0, limit: LIMIT_DEFAULT },
            geo: None,
            counts: false,
        }
    }
}

/// The parameters of a request as texts.
struct Given<'q>(&'q str);

impl Given<'_> {
    fn get(&self, name: &str) -> Result<Option<String>, Fault> {
        let found =
            query::parameter(self.0, name).map_err(|error| Fault::bad_request(format!("{name}: {error}")))?;
        Ok(found.filter(|value| !value.is_empty()))
    }

    fn list(&self, name: &str) -> Result<Vec<String>, Fault> {
        let text = self.get(name)?.unwrap_or_default();
        Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    fn number(&self, name: &str, least: u64) -> Result<Option<u64>, Fault> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        match text.parse::<i128>() {
            Err(_) => Err(Fault::bad_request(format!(
                "Wrong type, expected 'integer' for query parameter '{name}'"
            ))),
            Ok(number) if number < i128::from(least) => {
                Err(Fault::bad_request(format!("{number} is less than the minimum of {least} - '{name}'")))
            }
            Ok(number) => Ok(Some(u64::try_from(number).unwrap_or(u64::MAX))),
        }
    }

    fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Fault> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, of)| Some(*of)).ok_or_else(|| {
            let all: Vec<String> = words.iter().map(|(word, _)| format!("'{word}'")).collect();
            Fault::bad_request(format!("'{text}' is not one of [{}] - '{name}'", all.join(", ")))
        })
    }

    fn date(&self, name: &str, parameter: &str) -> Result<Option<TimeMs>, Fault> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        let time = time::parse(&text);
        time.map(Some).ok_or_else(|| Fault::invalid_value(text.trim_matches(['"', '\'']), parameter))
    }
}

const METHODS: [(&str, Method); 5] = [
    ("count", Method::Count),
    ("sum", Method::Sum),
    ("avg", Method::Avg),
    ("min", Method::Min),
    ("max", Method::Max),
];

const PERIODS: [(&str, Period); 6] = [
    ("year", Period::Year),
    ("month", Period::Month),
    ("day", Period::Day),
    ("hour", Period::Hour),
    ("minute", Period::Minute),
    ("second", Period::Second),
];

impl Parameters {
    /// `attribute` is the one in the path, where there is one.
    pub(crate) fn read(query: Option<&str>, attribute: Option<&str>) -> Result<Self, Fault> {
        let given = Given(query.unwrap_or_default());
        let counts = read_options(&given)?;
        let attributes = match attribute {
            Some(name) => vec![name.to_owned()],
            None => given.list("attrs")?,
        };
        let aggregation = read_aggregation(&given, !attributes.is_empty())?;
        let dates = [given.date("fromDate", "fromDate")?, given.date("toDate", "toDate")?];
        let range =
            TimeRange { from_ms: dates[0].unwrap_or(TimeMs::MIN), to_ms: dates[1].unwrap_or(TimeMs::MAX) };
        let (limit, offset) =
            (given.number("limit", 1)?.unwrap_or(LIMIT_DEFAULT), given.number("offset", 0)?.unwrap_or(0));
        let page = match given.number("lastN", 1)? {
            Some(last) => Page::Last { offset, limit: last.min(limit) },
            None => Page::First { offset, limit },
        };
        Ok(Self {
            type_name: given.get("type")?,
            ids: given.list("id")?,
            id_pattern: read_pattern(&given)?,
            attributes,
            aggregation,
            range,
            dates,
            page,
            geo: read_geo(&given)?,
            counts,
        })
    }

    /// The same of at most so many rows.
    pub(crate) fn within(&self, most: u64) -> Self {
        let page = match self.page {
            Page::First { offset, limit } => Page::First { offset, limit: limit.min(most) },
            Page::Last { offset, limit } => Page::Last { offset, limit: limit.min(most) },
        };
        Self { page, ..self.clone() }
    }
}

fn read_options(given: &Given<'_>) -> Result<bool, Fault> {
    let mut counts = false;
    for option in given.list("options")? {
        match option.as_str() {
            "count" => counts = true,
            "keyValues" | "values" => return Err(Fault::not_implemented()),
            _ => {
                return Err(Fault::bad_request(format!(
                    "'{option}' is not one of ['keyValues', 'values', 'count'] - 'options'"
                )));
            }
        }
    }
    Ok(counts)
}

fn read_aggregation(given: &Given<'_>, has_attributes: bool) -> Result<Option<Aggregation>, Fault> {
    let scope = given.word("aggrScope", &[("entity", true), ("global", false)])?;
    if scope == Some(false) {
        return Err(Fault::not_implemented());
    }
    let method = given.word("aggrMethod", &METHODS)?;
    let period = given.word("aggrPeriod", &PERIODS)?;
    let Some(method) = method else {
        if period.is_some() {
            return Err(Fault::bad_use("aggrMethod is compulsory when using aggrPeriod."));
        }
        return Ok(None);
    };
    if !has_attributes {
        let (name, _) = METHODS.iter().find(|(_, of)| *of == method).copied().unwrap_or(METHODS[0]);
        return Err(Fault::bad_use(format!("Specified aggrMethod = {name} but missing attrs parameter.")));
    }
    Ok(Some(Aggregation { method, period }))
}

fn read_pattern(given: &Given<'_>) -> Result<Option<Regex>, Fault> {
    let Some(text) = given.get("idPattern")? else { return Ok(None) };
    pattern::compile("idPattern", &text, Matching::Beginning).map(Some).map_err(Fault::bad_request)
}

fn read_geo(given: &Given<'_>) -> Result<Option<GeoQuery>, Fault> {
    let (georel, geometry, coords) = (given.get("georel")?, given.get("geometry")?, given.get("coords")?);
    GeoQuery::read(georel.as_deref(), geometry.as_deref(), coords.as_deref()).map_err(|fault| match fault {
        GeoFault::Invalid => Fault::Described {
            status: http::StatusCode::BAD_REQUEST,
            error: "ValueError",
            description: "Invalid geographical query parameters".into(),
        },
        GeoFault::Unsupported => Fault::invalid_value("equals", "georel"),
    })
}
