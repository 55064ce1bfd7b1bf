//! Calls of the temporal interface of NGSI-LD (ETSI GS CIM 009, clauses 6.18 to 6.20 and 6.24).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use prony_series_store::{Read, Refusal, Ticket, TimeRange, Unwritten, Write, WriteError};
use prony_source::http_api::{ApiRequest, ApiResponse, Progress, accept::preferred};

use super::{
    incoming::{RowsWriter, submit, submit_and_wait},
    long::streamed,
    notify::{self, RowWriting},
    path,
    shared::{ApiShared, finish},
};
use crate::{
    access::role::RoleAccess,
    incoming::TimedEntity,
    ngsi::{json::Arena, time_index::RowTime},
    query::{fault::JSON, result::Scope, shape::Output as _},
    series::Series,
    temporal::{
        entity,
        evolution::{Evolution, TemporalQuery},
        parameters::TemporalParameters,
        problem::{Problem, ProblemKind},
    },
};

pub(super) const PREFIX: &str = "/ngsi-ld/v1/temporal";
const JSON_LD: &str = "application/ld+json";
const RESULTS_COUNT: HeaderName = HeaderName::from_static("ngsild-results-count");

/// Whether a path belongs to it.
pub(super) fn has(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemporalCall {
    Query,
    /// A query that is a body.
    QueryByBody,
    Retrieve(String),
    Create,
}

impl TemporalCall {
    /// The call that a method and a path are.
    pub(super) fn read(method: &Method, path: &str) -> Result<Self, Problem> {
        let segments = path::segments(path)?;
        let segments: Vec<&str> = segments.iter().skip(3).map(String::as_str).collect();
        let is_get = *method == Method::GET || *method == Method::HEAD;
        match (&segments[..], is_get, *method == Method::POST) {
            (["entities"], true, _) => Ok(Self::Query),
            (["entities"], _, true) => Ok(Self::Create),
            (["entities", id], true, _) => Ok(Self::Retrieve((*id).to_owned())),
            (["entityOperations", "query"], _, true) => Ok(Self::QueryByBody),
            (["entities"] | ["entities", _] | ["entityOperations", "query"], ..) => Err(Problem::new(
                ProblemKind::Status(StatusCode::METHOD_NOT_ALLOWED),
                "entities are read with GET and written with POST; DELETE /v2/entities/{id} deletes their rows",
            )),
            _ => Err(Problem::new(
                ProblemKind::ResourceNotFound,
                "there are /ngsi-ld/v1/temporal/entities, entities/{id} and entityOperations/query",
            )),
        }
    }
}

/// A query with what its response has to say of it.
#[derive(Debug)]
pub(super) struct TemporalRequest {
    query: TemporalQuery,
    /// Where other pages are.
    path: String,
    parameters: String,
}

/// The query that a request is; none where its body is to be read first.
pub(super) fn query(
    call: &TemporalCall,
    request: &ApiRequest<'_>,
    scope: Scope,
) -> Result<Option<TemporalRequest>, Problem> {
    let parameters = match (call, request.body) {
        (TemporalCall::Retrieve(_), _) => TemporalParameters::read_of_one(request.query)?,
        (TemporalCall::QueryByBody, None) => return Ok(None),
        (TemporalCall::QueryByBody, Some(body)) => {
            check_content_type(request)?;
            TemporalParameters::read_body(request.query, body)?
        }
        _ => TemporalParameters::read(request.query)?,
    };
    let id = if let TemporalCall::Retrieve(id) = call { Some(id.clone()) } else { None };
    let has_context = accepts_context(request);
    let (path, parameters_text) = (request.path.to_owned(), request.query.unwrap_or_default().to_owned());
    let query = TemporalQuery { parameters, scope, id, has_context };
    Ok(Some(TemporalRequest { query, path, parameters: parameters_text }))
}

/// Whether JSON-LD is asked for, and JSON is not preferred to it.
fn accepts_context(request: &ApiRequest<'_>) -> bool {
    let accept = request.headers.value(&header::ACCEPT).and_then(|value| std::str::from_utf8(value).ok());
    preferred(accept.unwrap_or_default(), &[(JSON, false), (JSON_LD, true)]) == Some(true)
}

fn check_content_type(request: &ApiRequest<'_>) -> Result<(), Problem> {
    let value = request.headers.value(&header::CONTENT_TYPE).unwrap_or(JSON.as_bytes());
    let name = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if [JSON, JSON_LD].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
        return Ok(());
    }
    let kind = ProblemKind::Status(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    Err(Problem::new(kind, "`content-type` is application/json or application/ld+json"))
}

impl TemporalRequest {
    pub(super) fn cost(&self, read: &Read) -> usize {
        self.query.cost(read)
    }

    fn content_type(&self) -> &'static str {
        if self.query.has_context { JSON_LD } else { JSON }
    }

    fn run(&self, series: &Series, read: &Read) -> Result<Evolution<'_>, Problem> {
        let timeout = Duration::from_millis(series.settings.common.statement_timeout_ms.into());
        self.query.run(read, Instant::now() + timeout)
    }

    /// Responds at once.
    pub(super) fn respond(
        &self,
        series: &Series,
        read: &Read,
        response: &mut ApiResponse,
    ) -> Result<(), Problem> {
        let mut evolution = self.run(series, read)?;
        self.set_head(&evolution, response);
        response.content_type = Some(self.content_type());
        Ok(finish(evolution.write(&mut response.body))?)
    }

    fn set_head(&self, evolution: &Evolution<'_>, head: &mut ApiResponse) {
        let mut set = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                head.headers.push((name, value));
            }
        };
        if let Some(total) = evolution.total() {
            set(RESULTS_COUNT, &total.to_string());
        }
        let page = self.query.parameters.page;
        if page.offset > 0 && page.limit > 0 {
            set(header::LINK, &self.link(page.offset.saturating_sub(page.limit), "prev"));
        }
        if evolution.has_more() && page.limit > 0 {
            set(header::LINK, &self.link(page.offset.saturating_add(page.limit), "next"));
        }
        if let Some(range) = evolution.content_range() {
            set(header::CONTENT_RANGE, &range);
            head.status = StatusCode::PARTIAL_CONTENT;
        }
    }

    /// A link to another page (RFC 8288).
    fn link(&self, offset: u64, relation: &str) -> String {
        let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some("offset");
        let mut pairs: Vec<&str> = self.parameters.split('&').filter(is_other).collect();
        let offset = format!("offset={offset}");
        pairs.push(&offset);
        let target = format!("{}?{}", self.path, pairs.join("&")).replace('>', "%3E").replace('<', "%3C");
        format!("<{target}>; rel=\"{relation}\"; type=\"{}\"", self.content_type())
    }
}

/// Responds by a thread of its own.
pub(super) fn respond_long(shared: &Arc<ApiShared>, request: TemporalRequest) -> Progress {
    streamed(shared, request.content_type(), move |shared, out| {
        let mut evolution = request.run(&shared.series, &shared.series.store.read()?)?;
        if let Some(head) = out.head() {
            request.set_head(&evolution, head);
        }
        Ok::<_, Problem>(finish(evolution.write(out).and_then(|()| out.hand_over()))?)
    })
}

/// Whether entities can be written, and this is one.
pub(super) fn check_create(series: &Series, request: &ApiRequest<'_>) -> Result<(), Problem> {
    if series.settings.common.read_only {
        let kind = ProblemKind::Status(StatusCode::FORBIDDEN);
        return Err(Problem::new(kind, "the series are served for reading only (read_only)"));
    }
    check_content_type(request)
}

/// Whose rows they are: a tenant and a service path.
type TenantAndPath = (String, String);

/// Calls `submit` with what writes the rows of a temporal entity, all of which the role may write. The response is of what comes of that.
fn with_rows<T>(
    series: &Series,
    role: Option<&RoleAccess>,
    (tenant, path): &TenantAndPath,
    (body, response): (&[u8], &mut ApiResponse),
    submit: impl FnOnce(&RowsWriter<'_>) -> T,
) -> Result<T, Problem> {
    let arena = Arena::new();
    let json = entity::read(body, &arena)?;
    let rows = entity::rows(&json, notify::now_ms())?;
    if let Some(role) = role {
        for TimedEntity { entity, .. } in &rows {
            notify::check_row(role, tenant, path, entity)?;
        }
    }
    let of = &rows[0].entity;
    if is_there(series, tenant, of.type_name, (of.id, path))? {
        response.set_empty(StatusCode::NO_CONTENT);
    } else {
        response.set_empty(StatusCode::CREATED);
        let location = format!("{PREFIX}/entities/{}", percent_encoded(of.id));
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers.push((header::LOCATION, location));
        }
    }
    Ok(submit(&|write: &mut Write<'_>, writing: &mut RowWriting| -> Result<(), Refusal> {
        for TimedEntity { entity, time_ms, time_source: source } in &rows {
            let time = RowTime { ms: time_ms.unwrap_or_default(), source: *source };
            writing.row(write, (tenant, path), entity, time)?;
        }
        Ok(())
    }))
}

/// Whether the entity has rows.
fn is_there(
    series: &Series,
    tenant: &str,
    type_name: &str,
    (id, path): (&str, &str),
) -> Result<bool, Problem> {
    let read = series.store.read()?;
    let known =
        read.with_catalog(|catalog| catalog.find_series(catalog.find_table(tenant, type_name)?, id, path));
    let Some(known) = known else { return Ok(false) };
    Ok(read.series(known, TimeRange::ALL, &[]).last_time()?.is_some())
}

/// As a segment of a path (RFC 3986): letters, digits and what never has another meaning stay.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
            );
        }
    }
    encoded
}

/// Writes a temporal entity; gives what is to be waited for, and none where too much waits for the log.
pub(super) fn create(
    series: &Series,
    role: Option<&RoleAccess>,
    destination: &TenantAndPath,
    body: &[u8],
    response: &mut ApiResponse,
) -> Result<Option<Ticket>, Problem> {
    let work = |rows: &RowsWriter<'_>| submit(series, &destination.0, rows);
    match with_rows(series, role, destination, (body, response), work)? {
        Ok(ticket) => Ok(Some(ticket)),
        Err(Unwritten::NoRoom) => Ok(None),
        Err(Unwritten::Refused(refusal)) => Err(refusal.into()),
    }
}

/// As [`create`]; blocks until it is durable.
pub(super) fn create_and_wait(
    series: &Series,
    role: Option<&RoleAccess>,
    destination: &TenantAndPath,
    body: &[u8],
    response: &mut ApiResponse,
) -> Result<(), Problem> {
    let work = |rows: &RowsWriter<'_>| submit_and_wait(series, &destination.0, rows);
    with_rows(series, role, destination, (body, response), work)?.map_err(|error| match error {
        WriteError::Refused(refusal) => refusal.into(),
        WriteError::Log(error) => error.into(),
    })
}
