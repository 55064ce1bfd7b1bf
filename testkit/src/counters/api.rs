//! Counters over HTTP, as an API of a source: `GET /counters/NAME` responds at once, `POST /counters/NAME` when the count is
//! durable, `GET /counters` lists all in a stream, `POST /counters` counts line by line as the body comes.

use std::{
    io::Write as _,
    ops::Bound,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Method, StatusCode, header};
use prony_graphql::json;
use prony_source::http_api::{
    ApiConnection, ApiLimits, ApiRequest, ApiResponse, AsyncResponse, BodyError, HttpApi, Progress,
    RequestBody, ResponseStream, percent,
};
use tokio::sync::oneshot;

use super::{Counter, Counters, journal::CountOutcome, lock};

const JSON: &str = "application/json";
const ALLOW: &str = "GET, HEAD, POST, OPTIONS";

/// Counters that are listed in one go.
const SLICE: usize = 100;

impl HttpApi for Counters {
    fn prefixes(&self) -> &'static [&'static str] {
        &["/counters"]
    }

    fn allow(&self) -> &'static str {
        ALLOW
    }

    fn refuse(&self, status: StatusCode, message: &str, response: &mut ApiResponse) {
        response.set_json_text(status, message);
    }

    fn connect(&self, limits: ApiLimits) -> Box<dyn ApiConnection> {
        Box::new(CountersConnection { counters: self.clone(), limits, waiting: None })
    }
}

/// One client's connection.
#[derive(Debug)]
struct CountersConnection {
    counters: Counters,
    limits: ApiLimits,
    /// What will have become of the count that is not durable yet.
    waiting: Option<oneshot::Receiver<CountOutcome>>,
}

impl ApiConnection for CountersConnection {
    fn begin(&mut self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> Progress {
        let is_get = *request.method == Method::GET || *request.method == Method::HEAD;
        if !is_get && *request.method != Method::POST {
            response.set_json_text(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST");
            response.headers.push((header::ALLOW, HeaderValue::from_static(ALLOW)));
            return Progress::Done;
        }
        let Some(name) = request.path.strip_prefix("/counters/") else {
            return if is_get { self.list(response) } else { self.count_lines() };
        };
        let Some(name) = percent::text(name).filter(|name| is_name(name)) else {
            response.set_json_text(StatusCode::BAD_REQUEST, "the name is no text, or has control characters");
            return Progress::Done;
        };
        if is_get { self.one(&name, response) } else { self.count(&name, request.body, response) }
    }

    fn poll(&mut self, context: &mut Context<'_>, response: &mut ApiResponse) -> Poll<()> {
        let Some(waiting) = &mut self.waiting else { return Poll::Ready(()) };
        let outcome = ready!(Pin::new(waiting).poll(context));
        self.waiting = None;
        respond(&outcome.expect("the journal says what has become of each count"), response);
        Poll::Ready(())
    }
}

impl CountersConnection {
    fn one(&self, name: &str, response: &mut ApiResponse) -> Progress {
        match lock(&self.counters.0.values).get(name) {
            Some(&value) => write_counter(response.begin_body(StatusCode::OK, JSON), name, value),
            None => response.set_empty(StatusCode::NOT_FOUND),
        }
        Progress::Done
    }

    fn list(&self, response: &mut ApiResponse) -> Progress {
        let body = response.begin_body(StatusCode::OK, JSON);
        body.push(b'[');
        match self.counters.write_slice(None, body) {
            Some(last) => Progress::Streams(rest_of_list(self.counters.clone(), last)),
            None => Progress::Done,
        }
    }

    /// The body is the number to count by, or nothing for one.
    fn count(&mut self, name: &str, body: Option<&[u8]>, response: &mut ApiResponse) -> Progress {
        let Some(body) = body else { return Progress::NeedsBody };
        let Some(by) = number(body) else {
            response.set_json_text(StatusCode::BAD_REQUEST, "the body is no whole number");
            return Progress::Done;
        };
        let Some(journal) = &self.counters.0.journal else {
            respond(&Ok(self.counters.add(name, by)), response);
            return Progress::Done;
        };
        self.waiting = journal.count(&self.counters, name, by);
        if self.waiting.is_some() { Progress::Waits } else { Progress::NotReady(Box::pin(journal.room())) }
    }

    fn count_lines(&self) -> Progress {
        let (counters, max_bytes) = (self.counters.clone(), self.limits.max_body_bytes);
        Progress::Asynchronous(Box::new(move |body| Box::pin(count_lines(counters, body, max_bytes))))
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_control)
}

fn number(body: &[u8]) -> Option<i64> {
    if body.is_empty() { Some(1) } else { std::str::from_utf8(body).ok()?.parse().ok() }
}

fn respond(outcome: &CountOutcome, response: &mut ApiResponse) {
    match outcome {
        Ok(Some(Counter { name, value })) => {
            write_counter(response.begin_body(StatusCode::CREATED, JSON), name, *value);
        }
        Ok(None) => response.set_json_text(StatusCode::CONFLICT, "the counter cannot hold so much"),
        Err(error) => {
            response
                .set_json_text(StatusCode::INTERNAL_SERVER_ERROR, &format!("nothing was counted: {error}"));
        }
    }
}

fn write_counter(out: &mut Vec<u8>, name: &str, value: i64) {
    out.extend_from_slice(b"{\"name\":");
    json::write_string(out, name);
    write!(out, ",\"value\":{value}}}").expect("memory takes it");
}

impl Counters {
    /// Lists the counters behind a name, and closes the list behind the last; the last name where there may be more.
    fn write_slice(&self, behind: Option<&str>, out: &mut Vec<u8>) -> Option<String> {
        let values = lock(&self.0.values);
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        for (index, (name, value)) in values.range::<str, _>((from, Bound::Unbounded)).enumerate() {
            if index == SLICE {
                return last;
            }
            if index > 0 || behind.is_some() {
                out.push(b',');
            }
            write_counter(out, name, *value);
            last = Some(name.clone());
        }
        out.push(b']');
        None
    }

    /// Waits until a count is on the disk, where there is one.
    async fn count(&self, name: &str, by: i64) -> CountOutcome {
        let Some(journal) = &self.0.journal else { return Ok(self.add(name, by)) };
        loop {
            match journal.count(self, name, by) {
                Some(outcome) => {
                    return outcome.await.expect("the journal says what has become of each count");
                }
                None => journal.room().await,
            }
        }
    }
}

fn rest_of_list(counters: Counters, last: String) -> ResponseStream {
    Box::pin(stream::unfold(Some(last), move |last| {
        let counters = counters.clone();
        async move {
            let mut slice = Vec::new();
            let last = counters.write_slice(Some(&last?), &mut slice);
            Some((Ok(Bytes::from(slice)), last))
        }
    }))
}

/// Counts lines of the form `BY NAME`, the last of which need have no end.
async fn count_lines(counters: Counters, mut body: Box<dyn RequestBody>, max_bytes: usize) -> AsyncResponse {
    let mut counted = 0;
    let outcome = read_lines(&counters, &mut *body, max_bytes, &mut counted).await;
    let mut made = AsyncResponse::default();
    match outcome {
        Ok(()) => {
            let out = made.response.begin_body(StatusCode::OK, JSON);
            write!(out, "{{\"counted\":{counted}}}").expect("memory takes it");
        }
        Err(BodyError { status, message }) => {
            made.response.set_json_text(status, &format!("{counted} lines were counted: {message}"));
            made.closes_connection = true;
        }
    }
    made
}

async fn read_lines(
    counters: &Counters,
    body: &mut dyn RequestBody,
    max_bytes: usize,
    counted: &mut usize,
) -> Result<(), BodyError> {
    let mut unread = Vec::new();
    loop {
        let piece = body.next().await.transpose()?;
        unread.extend_from_slice(piece.as_deref().unwrap_or(b"\n"));
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            if !line.trim_ascii().is_empty() {
                count_line(counters, line.trim_ascii()).await?;
                *counted += 1;
            }
        }
        if piece.is_none() {
            return Ok(());
        }
        if unread.len() > max_bytes {
            return Err(bad(format!("a line is longer than {max_bytes} bytes (max_body_bytes)")));
        }
    }
}

async fn count_line(counters: &Counters, line: &[u8]) -> Result<(), BodyError> {
    let line = String::from_utf8_lossy(line);
    let count = line.split_once(' ').and_then(|(by, name)| Some((by.parse().ok()?, name)));
    let Some((by, name)) = count.filter(|(_, name)| is_name(name)) else {
        return Err(bad(format!("`{line}` is no count")));
    };
    match counters.count(name, by).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(bad(format!("`{line}`: the counter cannot hold so much"))),
        Err(error) => {
            let message = format!("`{line}`: {error}");
            Err(BodyError { status: StatusCode::INTERNAL_SERVER_ERROR, message })
        }
    }
}

fn bad(message: String) -> BodyError {
    BodyError { status: StatusCode::BAD_REQUEST, message }
}
