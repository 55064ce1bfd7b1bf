//! The calls that a script makes: those of a client, over a connection without sockets, so that a script sees and changes what its
//! sender sees and changes. Writes are not waited for one by one: the response to the script is, until all of them are durable, and all that
//! the script has read.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use prony_graph_lua::{CallError, CallReply, GraphCall, GraphCalls, Limits, Method, Side};
use prony_graph_store::{Read, Side as StoreSide};
use prony_source::http_api::{
    ApiConnection as _, ApiRequest, ApiResponse, Progress, ResponseStream, WholeBody,
};
use tokio::{runtime::Runtime, task::LocalSet};

use crate::{
    databases::settle::{self, Untold},
    http_api::{
        access::with_view, connection::GraphConnection, error::read_fault, script_call::ScriptRequest,
    },
};

/// Calls of a script that wait for the disk at a time.
const CALLS_WAITING_MAX: usize = 256;
/// How often it is looked whether anybody waits for a script that waits for the disk.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The calls of one script, on the thread that runs it.
pub(super) struct ScriptCalls<'t> {
    runtime: &'t Runtime,
    local: &'t LocalSet,
    request: ScriptRequest,
    limits: &'t Limits,
    waiting: VecDeque<WaitingCall>,
    /// What was seen beside calls.
    untold: Untold,
    /// Nothing more is done once something could not be made durable.
    failed: Option<CallError>,
}

/// A write that was accepted, or a read that has seen what is not durable yet.
struct WaitingCall {
    connection: GraphConnection,
    /// Its status is that of the fault, where that could not be made durable.
    response: ApiResponse,
}

/// What a call has come to.
enum Made {
    Done(CallReply),
    Waits(CallReply),
}

impl<'t> ScriptCalls<'t> {
    pub(super) fn new(
        runtime: &'t Runtime,
        local: &'t LocalSet,
        request: ScriptRequest,
        limits: &'t Limits,
    ) -> Self {
        let (waiting, untold) = (VecDeque::new(), Untold::default());
        Self { runtime, local, request, limits, waiting, untold, failed: None }
    }

    /// Waits until all that was written and read is durable, however long that takes; not where nobody waits for it.
    pub(super) fn settle(mut self) -> Result<(), CallError> {
        self.settle_to(0, None)?;
        let (untold, database) = (&mut self.untold, &self.request.database);
        let told = async {
            let told = untold.behind(database).outcome().await;
            told.map_err(|fault| {
                let (status, text) = read_fault(&fault);
                error(status, text)
            })
        };
        self.local.block_on(self.runtime, within(self.limits, None, told))?;
        self.failed.map_or(Ok(()), Err)
    }

    /// Looks at the graph beside calls.
    fn look<T>(&mut self, look: impl FnMut(&Read) -> T) -> T {
        let (seen, fence) = settle::look(&self.request.database, look);
        self.untold.add(fence);
        seen
    }

    /// Waits until no more calls than these wait for the disk.
    fn settle_to(&mut self, most: usize, end: Option<Instant>) -> Result<(), CallError> {
        while self.waiting.len() > most
            && let Some(mut call) = self.waiting.pop_front()
        {
            let settled = async {
                let WaitingCall { connection, response } = &mut call;
                poll_fn(|context| connection.poll(context, response)).await;
                Ok(())
            };
            self.local.block_on(self.runtime, within(self.limits, end, settled))?;
            if call.response.status.is_server_error() {
                // Those behind it were taken back with it.
                self.waiting.clear();
                let error = error(call.response.status, &text(&call.response.body));
                return Err(self.failed.insert(error).clone());
            }
        }
        Ok(())
    }

    fn connection(&self) -> GraphConnection {
        let ScriptRequest { databases, limits, read_only, role, .. } = &self.request;
        GraphConnection::new(Arc::clone(databases), *limits, *read_only, role.clone(), None)
    }

    fn end(&self) -> Option<Instant> {
        self.limits.time.map(|(_, end)| end)
    }
}

impl GraphCalls for ScriptCalls<'_> {
    fn call(&mut self, call: &GraphCall<'_>) -> Result<CallReply, CallError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        if self.request.database.is_dropped() {
            let why = "the database was dropped, with what was created in it";
            return Err(error(StatusCode::NOT_FOUND, why));
        }
        let mut connection = self.connection();
        let path = format!("/db/{}/{}", self.request.segment, call.path);
        let headers = HeaderMap::new();
        let request = ApiRequest {
            method: &method(call.method),
            path: &path,
            query: call.query,
            headers: &headers,
            body: Some(call.body),
        };
        let making = make(&mut connection, &request, call.reply_bytes_max);
        let made = self.local.block_on(self.runtime, within(self.limits, self.end(), making))?;
        Ok(match made {
            Made::Done(reply) => reply,
            Made::Waits(reply) => {
                self.waiting.push_back(WaitingCall { connection, response: ApiResponse::default() });
                self.settle_to(CALLS_WAITING_MAX, self.end())?;
                reply
            }
        })
    }

    fn count(&mut self, side: Side, type_name: Option<&str>) -> Result<u64, CallError> {
        if self.request.role.is_some() {
            let why = "how many there are is not told to a role, which may not see all of them: ask GraphQL's aggregates, which count \
                       what the role sees";
            return Err(error(StatusCode::FORBIDDEN, why));
        }
        let side = store_side(side);
        Ok(self.look(|read| {
            let Some(name) = type_name else { return read.count(side, None) };
            let number = read.schema().side(side).number(name);
            number.map_or(0, |number| read.count(side, Some(number)))
        }))
    }

    fn type_name(&mut self, side: Side, number: u16) -> Option<String> {
        let (role, side) = (self.request.role.clone(), store_side(side));
        self.look(|read| {
            with_view(read, role.as_ref(), |view| {
                let of = view.read.schema().side(side).get(number)?;
                view.type_number(side, &of.name).map(|_| of.name.to_string())
            })
        })
    }

    fn type_number(&mut self, side: Side, name: &str) -> Option<u16> {
        let (role, side) = (self.request.role.clone(), store_side(side));
        self.look(|read| with_view(read, role.as_ref(), |view| view.type_number(side, name)))
    }
}

/// Makes a call whose body is there. Nothing is done where this is dropped before it is ready.
async fn make(
    connection: &mut GraphConnection,
    request: &ApiRequest<'_>,
    reply_bytes_max: usize,
) -> Result<Made, CallError> {
    let mut response = ApiResponse::default();
    loop {
        match connection.begin(request, &mut response) {
            Progress::Done => return Ok(Made::Done(reply(response))),
            Progress::Waits => return Ok(Made::Waits(reply(response))),
            Progress::Streams(rest) => {
                return Ok(Made::Done(whole(response, Some(rest), reply_bytes_max).await?));
            }
            Progress::NotReady(ready) => ready.await,
            Progress::Refused => {
                return Err(error(StatusCode::FORBIDDEN, "the role is not allowed to make this call"));
            }
            Progress::NeedsBody => unreachable!("the body is there"),
            Progress::Asynchronous(respond) => {
                let made = respond(Box::<WholeBody>::default()).await;
                return Ok(Made::Done(whole(made.response, made.rest, reply_bytes_max).await?));
            }
        }
    }
}

fn reply(response: ApiResponse) -> CallReply {
    CallReply { status: response.status.as_u16(), body: response.body }
}

async fn whole(
    response: ApiResponse,
    rest: Option<ResponseStream>,
    bytes_max: usize,
) -> Result<CallReply, CallError> {
    let mut reply = reply(response);
    let Some(mut rest) = rest else { return Ok(reply) };
    while let Some(piece) = rest.next().await {
        let piece = piece.map_err(|cut| error(StatusCode::BAD_REQUEST, &cut.0))?;
        if reply.body.len() + piece.len() > bytes_max {
            let text = format!(
                "what it asks for has more than {bytes_max} bytes (graph_lua_max_memory_bytes): ask for it in parts, with skip and limit"
            );
            return Err(error(StatusCode::BAD_REQUEST, &text));
        }
        reply.body.extend_from_slice(&piece);
    }
    Ok(reply)
}

/// As long as the script may run, and somebody waits for it.
async fn within<T>(
    limits: &Limits,
    end: Option<Instant>,
    work: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let over = async {
        loop {
            let is_late = end.is_some_and(|end| Instant::now() >= end);
            if is_late || limits.is_cancelled.load(Ordering::Relaxed) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        biased;
        done = work => done,
        () = over => Err(error(StatusCode::SERVICE_UNAVAILABLE, "the script was ended while it waited for the graph")),
    }
}

fn error(status: StatusCode, message: &str) -> CallError {
    CallError { status: status.as_u16(), message: message.to_owned() }
}

/// What a response says of a fault.
fn text(body: &[u8]) -> String {
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned())
}

fn method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Delete => http::Method::DELETE,
    }
}

fn store_side(side: Side) -> StoreSide {
    match side {
        Side::Nodes => StoreSide::Nodes,
        Side::Relationships => StoreSide::Relationships,
    }
}
