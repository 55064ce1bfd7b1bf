//! What a query asks for: its parameters, checked.

use prony_series_store::{Page, TimeMs, TimeRange, calendar::Period};
use prony_source::http_api::query;
use regex::Regex;

use super::{
    fault::Fault,
    pattern::{self, Matching},
    percentile::Percentile,
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
    First,
    Last,
    /// Of a sample: none of one value.
    StdDev,
    Percentile(Percentile),
    /// Each value counts for as long as it held.
    TimeWeightedAvg,
}

impl Method {
    /// Whether it is known of blocks that need not be read.
    pub(crate) const fn is_summary(self) -> bool {
        matches!(self, Self::Count | Self::Sum | Self::Avg | Self::Min | Self::Max)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aggregation {
    pub(crate) method: Method,
    pub(crate) period: Option<Period>,
    /// What periods without a value have; they are left out where it is none.
    pub(crate) fill: Option<Fill>,
}

/// What a period without a value has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fill {
    Null,
    /// The value of the period before.
    Previous,
    /// Between the values before and behind, on a straight line.
    Linear,
    Number(f64),
}

/// How an object of JSON has a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowObject {
    /// With the attributes in an object of their own.
    Nested,
    /// With the attributes beside id, type and time.
    KeyValues,
}

/// Options that show what is kept beside values.
const METADATA: &str = "metadata";
const TIME_ATTRIBUTE: &str = "timeAttribute";

/// What is shown beside values, where it is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShownBeside {
    /// The metadata of attributes.
    pub(crate) metadata: bool,
    /// Which attribute gave the time of a row.
    pub(crate) time_attribute: bool,
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
    /// Whether the page is of the rows of each entity, where it is else of all of a type.
    pub(crate) is_page_of_each: bool,
    /// The most rows of all entities of a type, where there is such a limit beside the page.
    pub(crate) most: Option<u64>,
    /// Rows are asked for one after the other.
    pub(crate) row_object: Option<RowObject>,
    pub(crate) geo: Option<GeoQuery>,
    pub(crate) shown: ShownBeside,
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
            is_page_of_each: false,
            most: None,
            row_object: None,
            geo: None,
            shown: ShownBeside::default(),
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

const ROW_OBJECTS: [(&str, RowObject); 2] =
    [("rows", RowObject::Nested), ("keyValues", RowObject::KeyValues)];

const METHODS: [(&str, Method); 5] = [
    ("count", Method::Count),
    ("sum", Method::Sum),
    ("avg", Method::Avg),
    ("min", Method::Min),
    ("max", Method::Max),
];

/// Others than QuantumLeap's: who asks for none of these does not see them.
const FURTHER_METHODS: [(&str, Method); 4] = [
    ("first", Method::First),
    ("last", Method::Last),
    ("stddev", Method::StdDev),
    ("timeWeightedAvg", Method::TimeWeightedAvg),
];

const FILLS: [(&str, Fill); 3] =
    [("null", Fill::Null), ("previous", Fill::Previous), ("linear", Fill::Linear)];

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
        let (counts, shown) = read_options(&given)?;
        let attributes = match attribute {
            Some(name) => vec![name.to_owned()],
            None => given.list("attrs")?,
        };
        let aggregation = read_aggregation(&given, !attributes.is_empty())?;
        if aggregation.is_some() && shown != ShownBeside::default() {
            return Err(Fault::bad_use(
                "options=metadata and options=timeAttribute cannot be used with aggrMethod.",
            ));
        }
        let dates = [given.date("fromDate", "fromDate")?, given.date("toDate", "toDate")?];
        let range =
            TimeRange { from_ms: dates[0].unwrap_or(TimeMs::MIN), to_ms: dates[1].unwrap_or(TimeMs::MAX) };
        let (limit, offset) =
            (given.number("limit", 1)?.unwrap_or(LIMIT_DEFAULT), given.number("offset", 0)?.unwrap_or(0));
        let last = given.number("lastN", 1)?;
        let page = match last {
            Some(last) => Page::Last { offset, limit: last.min(limit) },
            None => Page::First { offset, limit },
        };
        let is_page_of_each = given.word("lastNScope", &[("entity", true), ("global", false)])?;
        if is_page_of_each.is_some() && last.is_none() {
            return Err(Fault::bad_use("lastN is compulsory when using lastNScope."));
        }
        Ok(Self {
            type_name: given.get("type")?,
            ids: given.list("id")?,
            id_pattern: read_pattern(&given)?,
            attributes,
            aggregation,
            range,
            dates,
            page,
            is_page_of_each: is_page_of_each == Some(true),
            most: None,
            row_object: given.word("format", &ROW_OBJECTS)?,
            geo: read_geo(&given)?,
            shown,
            counts,
        })
    }

    /// Of a call whose body says which rows: how they are shown. Other options mean nothing there.
    pub(crate) fn read_of_body(query: Option<&str>) -> Result<Self, Fault> {
        let given = Given(query.unwrap_or_default());
        let options = given.list("options").unwrap_or_default();
        let metadata = options.iter().any(|option| option == METADATA);
        let shown = ShownBeside { metadata, time_attribute: false };
        Ok(Self { row_object: given.word("format", &ROW_OBJECTS)?, shown, ..Self::default() })
    }

    /// The same of at most so many rows.
    pub(crate) fn within(&self, most: u64) -> Self {
        let page = match self.page {
            Page::First { offset, limit } => Page::First { offset, limit: limit.min(most) },
            Page::Last { offset, limit } => Page::Last { offset, limit: limit.min(most) },
        };
        Self { page, most: Some(most), ..self.clone() }
    }
}

/// Whether rows are to be counted, and what is shown beside values.
fn read_options(given: &Given<'_>) -> Result<(bool, ShownBeside), Fault> {
    let (mut counts, mut shown) = (false, ShownBeside::default());
    for option in given.list("options")? {
        match option.as_str() {
            "count" => counts = true,
            METADATA => shown.metadata = true,
            TIME_ATTRIBUTE => shown.time_attribute = true,
            "keyValues" | "values" => return Err(Fault::not_implemented()),
            _ => {
                return Err(Fault::bad_request(format!(
                    "'{option}' is not one of ['keyValues', 'values', 'count', 'metadata', 'timeAttribute'] - 'options'"
                )));
            }
        }
    }
    Ok((counts, shown))
}

fn read_aggregation(given: &Given<'_>, has_attributes: bool) -> Result<Option<Aggregation>, Fault> {
    let scope = given.word("aggrScope", &[("entity", true), ("global", false)])?;
    if scope == Some(false) {
        return Err(Fault::not_implemented());
    }
    let method = read_method(given)?;
    let period = given.word("aggrPeriod", &PERIODS)?;
    let fill = read_fill(given)?;
    if fill.is_some() && (method.is_none() || period.is_none()) {
        return Err(Fault::bad_use("aggrMethod and aggrPeriod are compulsory when using fill."));
    }
    let Some((name, method)) = method else {
        if period.is_some() {
            return Err(Fault::bad_use("aggrMethod is compulsory when using aggrPeriod."));
        }
        return Ok(None);
    };
    if !has_attributes {
        return Err(Fault::bad_use(format!("Specified aggrMethod = {name} but missing attrs parameter.")));
    }
    Ok(Some(Aggregation { method, period, fill }))
}

/// A method with its name.
fn read_method(given: &Given<'_>) -> Result<Option<(String, Method)>, Fault> {
    let Some(name) = given.get("aggrMethod")? else { return Ok(None) };
    let further = FURTHER_METHODS.iter().find(|(of, _)| *of == name).map(|(_, method)| *method);
    if let Some(method) = further.or_else(|| Percentile::read(&name).map(Method::Percentile)) {
        return Ok(Some((name, method)));
    }
    if name.strip_prefix('p').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit())) {
        return Err(Fault::bad_request(format!(
            "'{name}' is no percentile from p0 to p100 with at most three digits behind its point, as p99.9 - 'aggrMethod'"
        )));
    }
    let method = given.word("aggrMethod", &METHODS)?;
    Ok(method.map(|method| (name, method)))
}

fn read_fill(given: &Given<'_>) -> Result<Option<Fill>, Fault> {
    let Some(text) = given.get("fill")? else { return Ok(None) };
    if let Some((_, fill)) = FILLS.iter().find(|(word, _)| *word == text) {
        return Ok(Some(*fill));
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| {
        Fault::bad_request(format!(
            "'{text}' is no number and not one of ['null', 'previous', 'linear'] - 'fill'"
        ))
    })?;
    Ok(Some(Fill::Number(number)))
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
