//! Bodies that become rows, all of one or none: notifications, lines of `InfluxDB`, and what Prometheus sends.

use std::{borrow::Cow, io::Read as _};

use http::{HeaderName, StatusCode, header};
use prony_series_store::{Refusal, Ticket, Unwritten, Write, WriteError};
use prony_source::http_api::{ApiRequest, ApiResponse, query};

use super::{
    headers,
    notify::{self, NotifyHeaders, RowWriting},
    path::Call,
};
use crate::{
    access::role::RoleAccess,
    incoming::{TimedEntity, lines, remote_write},
    ngsi::time_index::RowTime,
    query::fault::Fault,
    series::Series,
};

/// Codings that bodies of lines and of samples may have.
pub(super) const CODINGS: &[&str] = &["gzip", "snappy"];
/// Where a tenant is named in the words of `InfluxDB`.
const DATABASES: [&str; 2] = ["bucket", "db"];

/// Why a body is not written now.
#[derive(Debug)]
pub(super) enum NotWritten {
    Fault(Fault),
    /// Too much waits for the log.
    NoRoom,
}

impl From<Fault> for NotWritten {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What the head of a request says of its body.
#[derive(Debug, Clone)]
pub(super) enum Incoming {
    Notification(NotifyHeaders),
    Lines { to: Destination, precision: lines::Precision },
    Samples(Destination),
}

/// Whose rows they are, and how they are sent.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    tenant: String,
    path: String,
    coding: Option<&'static str>,
    max_body_bytes: usize,
}

/// Writes the rows of a body.
pub(super) type RowsWriter<'a> = dyn Fn(&mut Write<'_>, &mut RowWriting) -> Result<(), Refusal> + 'a;

/// Begins a write; counts values that do not fit.
pub(super) fn submit(series: &Series, tenant: &str, rows: &RowsWriter<'_>) -> Result<Ticket, Unwritten> {
    let mut writing = RowWriting::new(series.settings.kept());
    let written = series.store.try_write_ticket(|write| rows(write, &mut writing));
    series.note_misfits(tenant, &writing.misfits);
    written.map(|((), ticket)| ticket)
}

/// As [`submit`]; blocks until the rows are durable.
pub(super) fn submit_and_wait(
    series: &Series,
    tenant: &str,
    rows: &RowsWriter<'_>,
) -> Result<(), WriteError> {
    let mut writing = RowWriting::new(series.settings.kept());
    let written = series.store.write_and_wait(|write| rows(write, &mut writing));
    series.note_misfits(tenant, &writing.misfits);
    written
}

impl Incoming {
    /// None where the call is none that sends rows.
    pub(super) fn read(
        call: &Call,
        request: &ApiRequest<'_>,
        max_body_bytes: usize,
    ) -> Result<Option<Self>, Fault> {
        Ok(Some(match call {
            Call::Notify => Self::Notification(NotifyHeaders::read(request)),
            Call::Lines => {
                let precision = read_precision(request)?;
                Self::Lines { to: Destination::read(request, max_body_bytes)?, precision }
            }
            Call::Samples => {
                let to = Destination::read(request, max_body_bytes)?;
                if to.coding != Some("snappy") || is_second_version(request) {
                    let text =
                        "send a prometheus.WriteRequest (remote write 1.0) with `content-encoding: snappy`";
                    return Err(unsupported(text));
                }
                Self::Samples(to)
            }
            _ => return Ok(None),
        }))
    }

    /// Whether the body takes work before it is read.
    pub(super) fn is_coded(&self) -> bool {
        match self {
            Self::Notification(_) => false,
            Self::Lines { to, .. } | Self::Samples(to) => to.coding.is_some(),
        }
    }

    /// Writes the rows of a body; gives what is to be waited for.
    pub(super) fn write(
        &self,
        series: &Series,
        role: Option<&RoleAccess>,
        body: &[u8],
    ) -> Result<Ticket, NotWritten> {
        self.with_rows(role, body, |rows| match submit(series, self.tenant(), rows) {
            Ok(ticket) => Ok(ticket),
            Err(Unwritten::NoRoom) => Err(NotWritten::NoRoom),
            Err(Unwritten::Refused(refusal)) => Err(Fault::from(refusal).into()),
        })?
    }

    /// As [`Self::write`]; blocks until the rows are durable.
    pub(super) fn write_and_wait(
        &self,
        series: &Series,
        role: Option<&RoleAccess>,
        body: &[u8],
    ) -> Result<(), Fault> {
        self.with_rows(role, body, |rows| {
            submit_and_wait(series, self.tenant(), rows).map_err(|error| match error {
                WriteError::Refused(refusal) => Fault::from(refusal),
                WriteError::Log(error) => Fault::from(error),
            })
        })?
    }

    /// What is responded with once they are.
    pub(super) fn succeed(&self, response: &mut ApiResponse) {
        match self {
            Self::Notification(_) => notify::processed(response),
            Self::Lines { .. } | Self::Samples(_) => response.set_empty(StatusCode::NO_CONTENT),
        }
    }

    fn tenant(&self) -> &str {
        match self {
            Self::Notification(headers) => &headers.tenant,
            Self::Lines { to, .. } | Self::Samples(to) => &to.tenant,
        }
    }

    /// Calls `with` with what writes the rows of a body, all of which the role may write.
    fn with_rows<T>(
        &self,
        role: Option<&RoleAccess>,
        body: &[u8],
        with: impl FnOnce(&RowsWriter<'_>) -> T,
    ) -> Result<T, Fault> {
        match self {
            Self::Notification(headers) => notify::with_entities(headers, body, |notified| {
                notified.check(role)?;
                Ok(with(&|write, writing| notified.write(write, writing)))
            })?,
            Self::Lines { to, precision } => {
                let body = to.decoded(body)?;
                let text =
                    std::str::from_utf8(&body).map_err(|_| Fault::line("the body is not UTF-8".into()))?;
                let points =
                    lines::read(text, *precision).map_err(|fault| Fault::line(fault.to_string().into()))?;
                let entities = || points.iter().map(lines::Point::entity);
                to.check(role, entities())?;
                Ok(with(&|write, writing| to.write(write, writing, entities())))
            }
            Self::Samples(to) => {
                let body = to.decoded(body)?;
                let series =
                    remote_write::read(&body).map_err(|fault| Fault::line(fault.to_string().into()))?;
                let entities = || series.iter().flat_map(remote_write::IdentifiedSeries::entities);
                // Samples of a series differ in their times and values alone.
                to.check(role, series.iter().filter_map(|of| of.entities().next()))?;
                Ok(with(&|write, writing| to.write(write, writing, entities())))
            }
        }
    }
}

impl Destination {
    /// The tenant is that of the headers, else `bucket` or `db`.
    fn read(request: &ApiRequest<'_>, max_body_bytes: usize) -> Result<Self, Fault> {
        let mut tenant = headers::tenant(request).into_owned();
        for name in DATABASES {
            if tenant.is_empty()
                && let Some(named) = parameter(request, name)?
            {
                tenant = named;
            }
        }
        let coding = match request.headers.value(&header::CONTENT_ENCODING) {
            None => None,
            Some(value) if value.eq_ignore_ascii_case(b"identity") => None,
            Some(value) => {
                let known = CODINGS.iter().find(|name| value.eq_ignore_ascii_case(name.as_bytes()));
                Some(*known.ok_or_else(|| unsupported("`content-encoding` is gzip or snappy"))?)
            }
        };
        let path = headers::normal_path(&headers::service_path(request)).into_owned();
        Ok(Self { tenant, path, coding, max_body_bytes })
    }

    fn decoded<'b>(&self, body: &'b [u8]) -> Result<Cow<'b, [u8]>, Fault> {
        let limit = self.max_body_bytes;
        let too_large = || {
            let detail = format!(
                "the body has more than {limit} bytes without its coding, which is the limit (max_body_bytes); send fewer rows at a time"
            );
            Fault::Problem { status: StatusCode::PAYLOAD_TOO_LARGE, detail: detail.into() }
        };
        match self.coding {
            None => Ok(Cow::Borrowed(body)),
            Some("gzip") => {
                let mut whole = Vec::new();
                let read =
                    flate2::read::MultiGzDecoder::new(body).take(limit as u64 + 1).read_to_end(&mut whole);
                read.map_err(|_| Fault::line("the body is not coded with gzip".into()))?;
                if whole.len() > limit { Err(too_large()) } else { Ok(Cow::Owned(whole)) }
            }
            Some(_) => {
                let wrong = |_| Fault::line("the body is not coded with snappy's block format".into());
                if snap::raw::decompress_len(body).map_err(wrong)? > limit {
                    return Err(too_large());
                }
                snap::raw::Decoder::new().decompress_vec(body).map(Cow::Owned).map_err(wrong)
            }
        }
    }

    fn check<'e>(
        &self,
        role: Option<&RoleAccess>,
        entities: impl Iterator<Item = TimedEntity<'e>>,
    ) -> Result<(), Fault> {
        let Some(role) = role else { return Ok(()) };
        for TimedEntity { entity, .. } in entities {
            notify::check_row(role, &self.tenant, &self.path, &entity)?;
        }
        Ok(())
    }

    fn write<'e>(
        &self,
        write: &mut Write<'_>,
        writing: &mut RowWriting,
        entities: impl Iterator<Item = TimedEntity<'e>>,
    ) -> Result<(), Refusal> {
        let now_ms = notify::now_ms();
        for TimedEntity { entity, time_ms, time_source: source } in entities {
            let time = RowTime { ms: time_ms.unwrap_or(now_ms), source };
            writing.row(write, (&self.tenant, &self.path), &entity, time)?;
        }
        Ok(())
    }
}

fn parameter(request: &ApiRequest<'_>, name: &str) -> Result<Option<String>, Fault> {
    let found = query::parameter(request.query.unwrap_or_default(), name);
    found.map_err(|error| Fault::line(format!("{name}: {error}").into()))
}

fn read_precision(request: &ApiRequest<'_>) -> Result<lines::Precision, Fault> {
    let Some(text) = parameter(request, "precision")? else { return Ok(lines::Precision::Nanoseconds) };
    lines::Precision::of(&text)
        .ok_or_else(|| Fault::line(format!("`{text}` is no precision; write ns, us, ms, s, m or h").into()))
}

/// Remote write 2.0, of which its senders say so and fall back to 1.0 where it is refused.
fn is_second_version(request: &ApiRequest<'_>) -> bool {
    const SECOND: &[u8] = b"io.prometheus.write.v2";
    let content_type: &HeaderName = &header::CONTENT_TYPE;
    let value = request.headers.value(content_type).unwrap_or_default();
    value.windows(SECOND.len()).any(|part| part.eq_ignore_ascii_case(SECOND))
}

fn unsupported(detail: &'static str) -> Fault {
    Fault::Problem { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, detail: detail.into() }
}
