//! The access log: a line for each request, or for each of so many, and the ids by which a request is known to its client, in the
//! logs and in errors. Without either, a request costs one look at a flag.

use std::{
    fmt::Write as _,
    net::IpAddr,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use http::{HeaderName, HeaderValue, Method};
use hyper::body::Body as _;
use prony_source::{OperationRecord, RequestRecord, trace::Trace};
use serde::Serialize;

use super::{
    family::Family,
    line_file::{LineFile, rfc3339_now},
};
use crate::{
    config::{AccessLogForm, AccessLogSettings},
    http::Reply,
};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Ids of clients that are longer are replaced.
const ID_BYTES_MAX: usize = 128;
/// Responses from this status on have a line, whatever share the others have.
const FAILURES_FROM: u16 = 500;

/// Of all cores.
#[derive(Debug)]
pub(crate) struct AccessLog {
    file: Option<LineFile>,
    form: AccessLogForm,
    /// One request of so many has a line.
    one_of: u64,
    has_ids: bool,
    is_on: bool,
    /// Lines of text say of which trace a request is.
    names_traces: bool,
    requests: AtomicU64,
    /// What ids of this process begin with.
    prefix: u64,
}

/// A request that is answered.
#[derive(Debug)]
pub(crate) struct Noted {
    record: Rc<RequestRecord>,
    method: Method,
    path: String,
    client: Option<IpAddr>,
    began: Instant,
    is_sampled: bool,
}

#[derive(Serialize)]
struct AccessLine<'a> {
    time: &'a str,
    method: &'a str,
    path: &'a str,
    status: u16,
    /// None of a response whose end is not known when it begins.
    bytes: Option<u64>,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    /// Behind trusted proxies the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<IpAddr>,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
}

impl AccessLog {
    /// `names_traces` where requests may be traced.
    pub(crate) fn start(settings: &AccessLogSettings, names_traces: bool) -> Self {
        let file = LineFile::start("access log", &settings.file);
        Self {
            is_on: settings.request_ids || file.is_some(),
            file,
            form: settings.form,
            one_of: settings.one_of.max(1),
            has_ids: settings.request_ids,
            names_traces,
            requests: AtomicU64::new(0),
            prefix: random(),
        }
    }

    /// Whether anything is to be noted of requests.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Of a request from this address, with this id of its client's, whose line is to come, and which may be traced.
    pub(crate) fn begin(
        &self,
        (method, path): (&Method, &str),
        given_id: Option<&[u8]>,
        client: Option<IpAddr>,
        trace: Option<Trace>,
    ) -> Noted {
        let number = self.requests.fetch_add(1, Relaxed);
        let id = if self.has_ids { self.id(given_id, number) } else { Box::default() };
        Noted {
            record: RequestRecord::traced(id, trace),
            method: method.clone(),
            path: path.to_owned(),
            client,
            began: Instant::now(),
            is_sampled: number.is_multiple_of(self.one_of),
        }
    }

    fn id(&self, given: Option<&[u8]>, number: u64) -> Box<str> {
        match given.and_then(sane) {
            Some(id) => id.into(),
            None => format!("{:016x}{number:08x}", self.prefix).into(),
        }
    }

    /// The response to a request begins.
    pub(crate) fn end(&self, noted: &Noted, status: u16, bytes: Option<u64>) {
        noted.end_trace(status);
        tracing::debug!(method = %noted.method, path = noted.path, status, "answered");
        let Some(file) = &self.file else { return };
        if !noted.is_sampled && status < FAILURES_FROM {
            return;
        }
        let (operation, asker) = (noted.record.operation.borrow(), noted.record.asker.borrow());
        let (name, role) = operation
            .as_ref()
            .map_or((None, None), |OperationRecord { name, role }| (name.as_deref(), role.as_deref()));
        let asker = asker.as_ref();
        let line = AccessLine {
            time: &rfc3339_now(),
            method: noted.method.as_str(),
            path: &noted.path,
            status,
            bytes,
            duration_ms: (noted.began.elapsed().as_secs_f64() * 1e6).round() / 1e3,
            operation: name,
            role: role.or(asker.map(|asker| &*asker.role)),
            user: asker.and_then(|asker| asker.user.as_deref()),
            client: noted.client,
            request_id: &noted.record.id,
            trace_id: noted.record.trace.as_ref().map(|trace| trace.id().to_string()),
        };
        file.push(match self.form {
            AccessLogForm::Json => line.json(),
            AccessLogForm::Text => line.text(self.names_traces),
        });
    }

    pub(crate) fn reopen(&self) {
        self.file.iter().for_each(LineFile::reopen);
    }

    pub(crate) fn finish(&self) {
        self.file.iter().for_each(LineFile::finish);
    }

    /// For `/metrics`.
    pub(super) fn counters(&self) -> Vec<Family<f64>> {
        let Some(file) = &self.file else { return Vec::new() };
        let written = ("prony_access_log_lines", "Lines of the access log that were written");
        file.counters(written, "prony_access_log_lost", "prony_access_log_failed")
    }
}

impl Noted {
    /// Header lines, each with its end, of a response that is written here; none where the request has no id.
    pub(crate) fn header_lines(&self) -> String {
        let id = &self.record.id;
        if id.is_empty() { String::new() } else { format!("{REQUEST_ID}: {id}\r\n") }
    }

    pub(crate) fn record(&self) -> &Rc<RequestRecord> {
        &self.record
    }

    /// Puts the id into a response that hyper writes, and writes the line.
    pub(crate) fn mark(self, log: &AccessLog, reply: &mut Reply) {
        if let Some(id) = self.id_header() {
            reply.headers_mut().insert(REQUEST_ID, id);
        }
        log.end(&self, reply.status().as_u16(), reply.body().size_hint().exact());
    }

    /// The response begins with this status (OpenTelemetry, "Semantic conventions for HTTP spans": what clients do wrong is no failure
    /// of the server).
    fn end_trace(&self, status: u16) {
        let Some(trace) = &self.record.trace else { return };
        trace.set("http.response.status_code", u64::from(status));
        let has_failed = status >= FAILURES_FROM;
        if has_failed {
            // A more exact word may take its place.
            trace.set("error.type", status.to_string());
        }
        trace.end(has_failed);
    }

    fn id_header(&self) -> Option<HeaderValue> {
        let id = &self.record.id;
        if id.is_empty() { None } else { HeaderValue::from_str(id).ok() }
    }
}

impl AccessLine<'_> {
    fn json(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("plain values are JSON");
        line.push(b'\n');
        line
    }

    /// Values with spaces or quotes in them have quotes; what is not there is `-`.
    fn text(&self, names_trace: bool) -> Vec<u8> {
        let quoted = |text: Option<&str>| match text {
            None | Some("") => "-".to_owned(),
            Some(text) if text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"') => text.to_owned(),
            Some(text) => format!("{text:?}"),
        };
        let mut line = String::new();
        let client = self.client.map(|client| client.to_string());
        let bytes = self.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            "{} {} {} {} {bytes} {:.3} {} {} {} {} {}",
            self.time,
            self.method,
            quoted(Some(self.path)),
            self.status,
            self.duration_ms,
            quoted(self.operation),
            quoted(self.role),
            quoted(Some(self.request_id)),
            quoted(client.as_deref()),
            quoted(self.user),
        );
        if names_trace {
            // As above.
            let _ = write!(line, " {}", quoted(self.trace_id.as_deref()));
        }
        line.push('\n');
        line.into_bytes()
    }
}

/// An id that may be echoed and logged: short, of letters, digits and a few signs, so that it can forge no line and no header.
fn sane(id: &[u8]) -> Option<&str> {
    let is_sane = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte);
    let fits = !id.is_empty() && id.len() <= ID_BYTES_MAX && id.iter().all(is_sane);
    if fits { std::str::from_utf8(id).ok() } else { None }
}

fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prony_source::AskerRecord;

    use super::*;

    fn settings(path: &Path) -> AccessLogSettings {
        AccessLogSettings { file: path.to_owned(), ..AccessLogSettings::default() }
    }

    fn written(settings: &AccessLogSettings, requests: &[(&str, u16)]) -> String {
        let log = AccessLog::start(settings, false);
        for (path, status) in requests {
            let client = Some("192.0.2.7".parse().expect("it is an address"));
            let noted = log.begin((&Method::POST, path), Some(b"id-7"), client, None);
            let operation = OperationRecord { name: Some("Größe".into()), role: None };
            *noted.record().operation.borrow_mut() = Some(operation);
            if path.starts_with("/db") {
                let asker = AskerRecord { user: Some("Ada L".into()), role: "clerk".into() };
                *noted.record().asker.borrow_mut() = Some(asker);
            }
            log.end(&noted, *status, Some(12));
        }
        log.finish();
        std::fs::read_to_string(&settings.file).expect("the log is there")
    }

    #[test]
    fn a_line_says_what_was_asked_and_what_came_of_it() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let given = AccessLogSettings { request_ids: true, ..settings(&directory.path().join("json")) };
        let text = written(&given, &[("/graphql", 200)]);
        let line: serde_json::Value = serde_json::from_str(&text).expect("a line is JSON");
        let expected = [
            ("method", "POST"),
            ("path", "/graphql"),
            ("operation", "Größe"),
            ("request_id", "id-7"),
            ("client", "192.0.2.7"),
        ];
        for (name, value) in expected {
            assert_eq!(line[name], value);
        }
        assert!(line.get("user").is_none(), "{line}");
        assert_eq!((&line["status"], &line["bytes"]), (&200.into(), &12.into()));
        assert!(line["duration_ms"].is_f64() && line.get("role").is_none(), "{line}");
        let form = AccessLogForm::Text;
        let given = AccessLogSettings { form, ..settings(&directory.path().join("text")) };
        let text = written(&given, &[("/a b", 404)]);
        let parts: Vec<&str> = text.trim_end().splitn(2, " POST ").collect();
        let (rest, duration) = (parts[1].replace(" - -", ""), parts[1].split(' ').nth(4));
        assert!(rest.starts_with("\"/a b\" 404 12 ") && duration.is_some(), "{text}");
        assert!(text.contains("\"Größe\" - - 192.0.2.7 -\n"), "{text}");
    }

    #[test]
    fn a_line_says_who_asked() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let text = written(&settings(&directory.path().join("json")), &[("/db/rage/node/N/1", 200)]);
        let line: serde_json::Value = serde_json::from_str(&text).expect("a line is JSON");
        assert_eq!((&line["user"], &line["role"]), (&"Ada L".into(), &"clerk".into()), "{line}");
        let form = AccessLogForm::Text;
        let given = AccessLogSettings { form, ..settings(&directory.path().join("text")) };
        let text = written(&given, &[("/db/rage/node/N/1", 200)]);
        assert!(text.ends_with(" \"Größe\" clerk - 192.0.2.7 \"Ada L\"\n"), "{text}");
    }

    #[test]
    fn one_of_many_has_a_line_and_each_failure() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let given = AccessLogSettings { one_of: 10, ..settings(&directory.path().join("log")) };
        let requests: Vec<_> = (0..30).map(|number| ("/", if number == 17 { 503 } else { 200 })).collect();
        assert_eq!(written(&given, &requests).lines().count(), 4);
    }

    #[test]
    fn ids_of_clients_are_taken_where_they_can_forge_nothing() {
        let long = "x".repeat(ID_BYTES_MAX + 1);
        for id in ["", "a b", "a\nb", "a\"b", "é", &long] {
            assert_eq!(sane(id.as_bytes()), None, "{id:?}");
        }
        for id in ["7", "req-1.2:3/4_5+6=@", &long[1..]] {
            assert_eq!(sane(id.as_bytes()), Some(id));
        }
        let access_log =
            AccessLog::start(&AccessLogSettings { request_ids: true, ..AccessLogSettings::default() }, false);
        let made = |given: Option<&[u8]>| {
            access_log.begin((&Method::GET, "/"), given, None, None).record().id.clone()
        };
        assert_ne!(made(None), made(Some(b"bad id")));
    }
}
