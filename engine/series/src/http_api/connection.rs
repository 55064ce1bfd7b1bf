//! One client's connection: which call a request is, and the write that it waits for.

use std::{
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, StatusCode, header};
use prony_series_store::{LogError, Read, Waiting, WaitingQueues, WaitingWrites};
use prony_source::http_api::{ApiConnection, ApiLimits, ApiRequest, ApiResponse, Progress};

use super::{
    delete::Deletion,
    entities, headers,
    incoming::{Incoming, NotWritten},
    last_values::LastValues,
    long,
    path::{self, Call},
    shared::{ApiShared, asked, count_header, finish, set_count},
    temporal::{self, TemporalCall},
};
use crate::{
    access::role::RoleAccess,
    query::{
        fault::{Fault, JSON},
        parameters::Parameters,
        result::{self, Asked, Purpose, Scope},
        row_format::Format,
    },
    series::{Series, with_causes},
    temporal::problem::Problem,
};

/// Bodies of more bytes are read by a thread of their own: a core's other requests would wait for about a millisecond for so many.
const LONG_BODY_BYTES: usize = 128 << 10;
/// Queries that cost more are answered by a thread of their own.
const LONG_COST: usize = 500;

thread_local! {
    /// This core's queues, one for each source that it has written to.
    static QUEUES: WaitingQueues<Series> = const { WaitingQueues::new() };
}

/// Writes that a write was taken back, in the form of its API.
type WriteTakenBack = fn(LogError, &mut ApiResponse);

/// The calls of one connection, one after the other.
#[derive(Debug)]
pub(super) struct SeriesConnection {
    shared: Arc<ApiShared>,
    limits: ApiLimits,
    /// Of who may not do everything.
    role: Option<RoleAccess>,
    /// The write that was accepted and is not durable yet.
    waiting: Option<(Waiting, WriteTakenBack)>,
}

/// This core's queue for the source.
fn queue(series: &Arc<Series>) -> Rc<WaitingWrites> {
    QUEUES.with(|queues| {
        queues.of(series, || {
            let queue = WaitingWrites::new(|watcher| series.store.watch(Arc::new(watcher)));
            series.joined(Arc::clone(queue.inbox()));
            tokio::task::spawn_local(queue.task());
            queue
        })
    })
}

impl SeriesConnection {
    pub(super) const fn new(shared: Arc<ApiShared>, limits: ApiLimits, role: Option<RoleAccess>) -> Self {
        Self { shared, limits, role, waiting: None }
    }

    fn call(&mut self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> Result<Progress, Fault> {
        let call = path::read(request.method, request.path)?;
        let series = &self.shared.series;
        let is_write = matches!(
            call,
            Call::Notify | Call::Lines | Call::Samples | Call::DeleteEntity(_) | Call::DeleteType(_)
        );
        if is_write && series.settings.common.read_only {
            let detail = "the series are served for reading only (read_only)".into();
            return Err(Fault::Problem { status: StatusCode::FORBIDDEN, detail });
        }
        match call {
            Call::Root => write_root(response),
            Call::Health => self.write_health(response),
            Call::Version => {
                let body = response.begin_body(StatusCode::OK, JSON);
                body.extend_from_slice(b"{\"version\":");
                prony_graphql::json::write_string(body, &series.settings.version);
                body.push(b'}');
            }
            Call::Notify | Call::Lines | Call::Samples => return self.receive(&call, request, response),
            Call::LastValues => {
                let asked = LastValues::read(self.scope(request), request)?;
                if request.body.is_none() && has_short_body(request) && !series.store.waits() {
                    return Ok(Progress::NeedsBody);
                }
                let is_done = match request.body {
                    Some(body) => asked.respond_at_once(series, body, LONG_COST, response)?,
                    None => false,
                };
                if !is_done {
                    return Ok(asked.respond_long(&self.shared, self.limits.max_body_bytes));
                }
            }
            Call::Entities => {
                let parameters = Parameters::read(request.query, None)?;
                let (scope, format) = (self.scope(request), Format::of(request.headers, &parameters));
                let cost = |read: &Read| result::cost(read, &scope, Asked::All, &parameters);
                let Some(read) = series.read_at_once(LONG_COST, cost)? else {
                    return Ok(long::entities(&self.shared, scope, parameters, format));
                };
                let all = entities::find(&read, &scope, &parameters)?;
                if parameters.counts {
                    set_count(all.len() as u64, response);
                }
                response.content_type = Some(format.content_type());
                finish(entities::write(format, &mut response.body, &all, &parameters))?;
            }
            Call::Rows { shape, of, attribute, only_values } => {
                let parameters = Parameters::read(request.query, attribute.as_deref())?;
                let scope = self.scope(request);
                let format = Format::of(request.headers, &parameters);
                let query = long::RowsQuery { shape, of, only_values, parameters, scope, format };
                let cost =
                    |read: &Read| result::cost(read, &query.scope, asked(&query.of), &query.parameters);
                let Some(read) = series.read_at_once(LONG_COST, cost)? else {
                    return Ok(long::rows(&self.shared, query));
                };
                let results = query.run(&read)?;
                count_header(&query.parameters, results.total, response);
                response.content_type = Some(format.content_type());
                finish(query.write_body(&mut response.body, results.types))?;
            }
            Call::DeleteEntity(_) | Call::DeleteType(_) => return self.delete(&call, request, response),
        }
        Ok(Progress::Done)
    }

    fn scope(&self, request: &ApiRequest<'_>) -> Scope {
        headers::scope(request, self.role.as_ref(), Purpose::Read)
    }

    /// Takes a body of rows.
    fn receive(
        &mut self,
        call: &Call,
        request: &ApiRequest<'_>,
        response: &mut ApiResponse,
    ) -> Result<Progress, Fault> {
        let Some(incoming) = Incoming::read(call, request, self.limits.max_body_bytes)? else {
            return Ok(Progress::Done);
        };
        let series = &self.shared.series;
        let Some(body) = request.body else {
            if has_short_body(request) && !incoming.is_coded() {
                return Ok(Progress::NeedsBody);
            }
            let role = self.role.clone();
            let work = move |shared: &ApiShared, body: &[u8], response: &mut ApiResponse| {
                incoming.write_and_wait(&shared.series, role.as_ref(), body)?;
                incoming.succeed(response);
                Ok::<_, Fault>(())
            };
            return Ok(long::receive(&self.shared, self.limits.max_body_bytes, work));
        };
        // Before the write, so that it cannot be settled unnoticed.
        let queue = queue(series);
        match incoming.write(series, self.role.as_ref(), body) {
            Ok(ticket) => {
                incoming.succeed(response);
                Ok(self.wait_for(queue.wait_for(ticket), refuse_write))
            }
            Err(NotWritten::NoRoom) => Ok(self.no_room()),
            Err(NotWritten::Fault(fault)) => Err(fault),
        }
    }

    /// A call of the temporal interface of NGSI-LD.
    fn temporal(
        &mut self,
        request: &ApiRequest<'_>,
        response: &mut ApiResponse,
    ) -> Result<Progress, Problem> {
        let call = TemporalCall::read(request.method, request.path)?;
        let TemporalCall::Create = call else {
            let Some(query) = temporal::query(&call, request, self.scope(request))? else {
                return Ok(Progress::NeedsBody);
            };
            let Some(read) = self.shared.series.read_at_once(LONG_COST, |read| query.cost(read))? else {
                return Ok(temporal::respond_long(&self.shared, query));
            };
            query.respond(&self.shared.series, &read, response)?;
            return Ok(Progress::Done);
        };
        temporal::check_create(&self.shared.series, request)?;
        let destination = headers::destination(request);
        let Some(body) = request.body else {
            // Whether it is there already is read first.
            if has_short_body(request) && !self.shared.series.store.waits() {
                return Ok(Progress::NeedsBody);
            }
            let role = self.role.clone();
            let work = move |shared: &ApiShared, body: &[u8], response: &mut ApiResponse| {
                temporal::create_and_wait(&shared.series, role.as_ref(), &destination, body, response)
            };
            return Ok(long::receive(&self.shared, self.limits.max_body_bytes, work));
        };
        let series = &self.shared.series;
        let queue = queue(series);
        match temporal::create(series, self.role.as_ref(), &destination, body, response)? {
            Some(ticket) => Ok(self.wait_for(queue.wait_for(ticket), refuse_temporal_write)),
            None => Ok(self.no_room()),
        }
    }

    fn delete(
        &mut self,
        call: &Call,
        request: &ApiRequest<'_>,
        response: &mut ApiResponse,
    ) -> Result<Progress, Fault> {
        let deletion = Deletion::read(self.role.as_ref(), call, request)?;
        let series = &self.shared.series;
        if series.read_at_once(LONG_COST, |read| deletion.cost(read))?.is_none() {
            let work = move |shared: &ApiShared, _: &[u8], response: &mut ApiResponse| {
                if deletion.write_and_wait(&shared.series)? {
                    response.set_empty(StatusCode::NO_CONTENT);
                } else {
                    response.begin_body(StatusCode::OK, JSON).extend_from_slice(b"[]");
                }
                Ok::<_, Fault>(())
            };
            return Ok(long::receive(&self.shared, self.limits.max_body_bytes, work));
        }
        let queue = queue(series);
        match deletion.write(series) {
            Ok(Some(ticket)) => {
                response.set_empty(StatusCode::NO_CONTENT);
                Ok(self.wait_for(queue.wait_for(ticket), refuse_write))
            }
            Ok(None) => {
                response.begin_body(StatusCode::OK, JSON).extend_from_slice(b"[]");
                Ok(Progress::Done)
            }
            Err(NotWritten::NoRoom) => Ok(self.no_room()),
            Err(NotWritten::Fault(fault)) => Err(fault),
        }
    }

    fn wait_for(&mut self, waiting: Waiting, refuse: WriteTakenBack) -> Progress {
        if waiting.is_over() {
            return Progress::Done;
        }
        self.waiting = Some((waiting, refuse));
        Progress::Waits
    }

    /// `fail` where writes are refused, `warn` where segments cannot be written, as the draft of health checks for HTTP APIs
    /// (draft-inadarei-api-health-check) has it.
    fn write_health(&self, response: &mut ApiResponse) {
        let health = self.shared.series.store.health();
        let (status, word, failure) = match (&health.write_failure, &health.upkeep_failure) {
            (Some((error, _)), _) => (StatusCode::SERVICE_UNAVAILABLE, "fail", Some(with_causes(error))),
            (None, Some((error, _))) => (StatusCode::OK, "warn", Some(error.to_string())),
            (None, None) => (StatusCode::OK, "pass", None),
        };
        let body = response.begin_body(status, JSON);
        body.extend_from_slice(format!("{{\"status\":\"{word}\"").as_bytes());
        if let Some(failure) = failure {
            body.extend_from_slice(b",\"output\":");
            prony_graphql::json::write_string(body, &failure);
        }
        body.push(b'}');
        response.headers.push((header::CACHE_CONTROL, HeaderValue::from_static("max-age=180")));
    }

    fn no_room(&self) -> Progress {
        let series = Arc::clone(&self.shared.series);
        Progress::NotReady(Box::pin(async move { series.store.room().await }))
    }
}

fn has_short_body(request: &ApiRequest<'_>) -> bool {
    let length = request.headers.value(&header::CONTENT_LENGTH);
    let length = length.and_then(|text| std::str::from_utf8(text).ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length <= LONG_BODY_BYTES)
}

fn refuse_write(error: LogError, response: &mut ApiResponse) {
    Fault::from(error).write(response);
}

fn refuse_temporal_write(error: LogError, response: &mut ApiResponse) {
    Problem::from(error).write(response);
}

fn write_root(response: &mut ApiResponse) {
    let calls = [
        ("notify_url", "/v2/notify"),
        ("entities_url", "/v2/entities"),
        ("types_url", "/v2/types"),
        ("attributes_url", "/v2/attrs"),
        ("query_url", "/v2/op/query"),
    ];
    let body = response.begin_body(StatusCode::OK, JSON);
    for (place, (name, path)) in calls.into_iter().enumerate() {
        body.push(if place == 0 { b'{' } else { b',' });
        body.extend_from_slice(format!("\"{name}\":\"{path}\"").as_bytes());
    }
    body.push(b'}');
}

impl ApiConnection for SeriesConnection {
    fn begin(&mut self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> Progress {
        let begun = if temporal::has(request.path) {
            self.temporal(request, response).map_err(|problem| problem.write(response))
        } else {
            self.call(request, response).map_err(|fault| fault.write(response))
        };
        begun.unwrap_or(Progress::Done)
    }

    /// The response is what was asked for, or that it was taken back.
    fn poll(&mut self, context: &mut Context<'_>, response: &mut ApiResponse) -> Poll<()> {
        let Some((waiting, refuse)) = &mut self.waiting else { return Poll::Ready(()) };
        let (outcome, refuse) = (ready!(waiting.poll(context)), *refuse);
        self.waiting = None;
        if let Err(error) = outcome {
            refuse(error, response);
        }
        Poll::Ready(())
    }
}
