//! Sends traces by OTLP over HTTP (opentelemetry.io/docs/specs/otlp, "OTLP/HTTP"), on a thread of its own: in batches, again where the
//! collector may take them later, and never for longer than a batch is worth.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::Ordering::Relaxed,
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, StatusCode, header};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prony_source::trace::FinishedTrace;
use ureq::{
    Agent,
    tls::{Certificate, RootCerts, TlsConfig},
};

use super::{
    message,
    numbers::number,
    queue::{self, QueueState, SpanQueue},
};
use crate::{
    config::TracesSettings,
    tls::{TlsError, certificates},
};

/// Pauses between attempts: the first, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(15);
/// For how long a batch is tried; newer ones are worth more then.
const TRIED_FOR: Duration = Duration::from_secs(60);
/// Spans without room are reported at most so often.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// Of a collector's response.
const RESPONSE_BYTES_MAX: u64 = 64 << 10;
/// Of what it says, in the log.
const REASON_BYTES_MAX: usize = 200;
const USER_AGENT: &str = concat!("OTel-OTLP-Exporter-Prony/", env!("CARGO_PKG_VERSION"));

/// Begins to send; none where the system gives it no thread, which is reported.
pub(super) fn start(settings: &TracesSettings) -> Result<Option<Arc<SpanQueue>>, TlsError> {
    let max = settings.max_queued_spans;
    let (traces, received) = queue::channel(max);
    let (ending, ended) = sync_channel(0);
    let shared = Arc::<QueueState>::default();
    let sender = Sender::new(settings, Arc::clone(&shared))?;
    let spawned = thread::Builder::new().name("traces".to_owned()).spawn(move || {
        sender.run(&received);
        drop(ending);
    });
    Ok(match spawned {
        Ok(thread) => {
            tracing::info!(
                endpoint = settings.endpoint,
                ratio = settings.sample_ratio(),
                "requests are traced"
            );
            let limits = (settings.batch_spans.min(max), max);
            Some(Arc::new(SpanQueue::new(traces, shared, limits, thread.thread().clone(), ended)))
        }
        Err(error) => {
            tracing::error!(%error, "nothing is traced: the thread that sends traces cannot be started");
            None
        }
    })
}

/// Why the collector has not taken a batch.
enum ExportFailure {
    /// Another attempt may succeed, after this time where it says so.
    Passing {
        reason: String,
        after: Option<Duration>,
    },
    Final(String),
}

struct Sender {
    agent: Agent,
    endpoint: String,
    headers: Vec<(String, String)>,
    compresses: bool,
    timeout: Duration,
    resource: Resource,
    batch_spans: usize,
    batch_delay: Duration,
    shared: Arc<QueueState>,
    /// Whether the last attempt failed, which is said once.
    is_failing: bool,
    reported: Option<Instant>,
    without_room_reported: u64,
}

/// What is sent together.
#[derive(Default)]
struct Batch {
    traces: Vec<FinishedTrace>,
    spans: usize,
    /// When the first came.
    begun: Option<Instant>,
}

impl Sender {
    fn new(settings: &TracesSettings, shared: Arc<QueueState>) -> Result<Self, TlsError> {
        Ok(Self {
            agent: agent(settings)?,
            endpoint: settings.endpoint.clone(),
            headers: settings.headers.clone(),
            compresses: settings.compresses,
            timeout: settings.timeout,
            resource: message::resource(settings),
            batch_spans: settings.batch_spans.min(settings.max_queued_spans),
            batch_delay: settings.batch_delay,
            shared,
            is_failing: false,
            reported: None,
            without_room_reported: 0,
        })
    }

    fn run(mut self, received: &Receiver<FinishedTrace>) {
        let mut batch = Batch::default();
        loop {
            // Looked at first: what came before the end is taken below.
            let until = self.shared.until();
            let mut is_closed = false;
            while batch.spans < self.batch_spans && !is_closed {
                match received.try_recv() {
                    Ok(trace) => batch.add(trace),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => is_closed = true,
                }
            }
            let ends = is_closed || until.is_some();
            let left = batch.begun.map(|begun| self.batch_delay.saturating_sub(begun.elapsed()));
            match left {
                None if ends => return,
                None => thread::park(),
                Some(left) if ends || batch.spans >= self.batch_spans || left.is_zero() => {
                    self.send(std::mem::take(&mut batch));
                    self.report_without_room();
                }
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    /// Sends a batch, or counts it as lost.
    fn send(&mut self, batch: Batch) {
        let spans = batch.spans as u64;
        let body = self.body(batch.traces);
        let refused = self.deliver(&body).map_or(spans, |rejected| rejected.min(spans));
        self.shared.refused.fetch_add(refused, Relaxed);
        self.shared.sent.fetch_add(spans - refused, Relaxed);
        self.shared.waiting.fetch_sub(batch.spans, Relaxed);
    }

    fn body(&self, traces: Vec<FinishedTrace>) -> Vec<u8> {
        let plain = message::request(&self.resource, traces);
        if !self.compresses {
            return plain;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
        written.expect("memory can be written")
    }

    /// Tries until it is taken, for as long as that is worth it; how many spans the collector has rejected.
    fn deliver(&mut self, body: &[u8]) -> Result<u64, ()> {
        let given_up = Instant::now() + TRIED_FOR;
        let mut pause = FIRST_PAUSE;
        loop {
            let (reason, after) = match self.post(body) {
                Ok(rejected) => {
                    self.succeeded(rejected.as_ref());
                    return Ok(rejected.map_or(0, |(spans, _)| spans));
                }
                Err(ExportFailure::Passing { reason, after }) => (reason, Some(after)),
                Err(ExportFailure::Final(reason)) => (reason, None),
            };
            self.shared.failures.fetch_add(1, Relaxed);
            self.failed(&reason);
            let Some(after) = after else { return Err(()) };
            let next = Instant::now() + pause_of(after, pause);
            if !self.waits_until(next, given_up) {
                return Err(());
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Whether there is time until then; returns when it has come.
    fn waits_until(&self, next: Instant, given_up: Instant) -> bool {
        loop {
            let limit = self.shared.until().map_or(given_up, |until| until.min(given_up));
            if next >= limit {
                return false;
            }
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            // Woken also by what has filled a batch.
            thread::park_timeout(left);
        }
    }

    /// Spans that were rejected, with the reason, where not all were taken.
    fn post(&self, body: &[u8]) -> Result<Option<(u64, String)>, ExportFailure> {
        let left = self.shared.until().map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map_or(self.timeout, |left| left.min(self.timeout)).max(Duration::from_millis(1));
        let mut request = self.agent.post(&self.endpoint).header(header::USER_AGENT, USER_AGENT);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request = request.header(header::CONTENT_TYPE, "application/x-protobuf");
        if self.compresses {
            request = request.header(header::CONTENT_ENCODING, "gzip");
        }
        let request = request.config().timeout_global(Some(timeout)).build();
        // Never with the request, whose headers may be secret.
        let passing = |error: ureq::Error| ExportFailure::Passing { reason: error.to_string(), after: None };
        let mut response = request.send(body).map_err(passing)?;
        let status = response.status();
        let after = retry_after(response.headers());
        let read = response.body_mut().with_config().limit(RESPONSE_BYTES_MAX).read_to_vec();
        let said = read.unwrap_or_default();
        if status.is_success() {
            return Ok(message::rejected(&said));
        }
        let reason = format!("it responded with status {}{}", status.as_u16(), shown(&said));
        Err(if is_passing(status) {
            ExportFailure::Passing { reason, after }
        } else {
            ExportFailure::Final(reason)
        })
    }

    fn failed(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.is_failing, true) {
            let endpoint = &self.endpoint;
            tracing::warn!(endpoint, reason, "traces cannot be sent; that is said again only once they can");
        }
    }

    fn succeeded(&mut self, rejected: Option<&(u64, String)>) {
        let has_failed = std::mem::replace(&mut self.is_failing, rejected.is_some());
        let endpoint = &self.endpoint;
        match rejected {
            Some((spans, reason)) if !has_failed => {
                let reason = shown(reason.as_bytes());
                tracing::warn!(endpoint, spans, reason, "the collector has not taken all spans");
            }
            None if has_failed => {
                let lost = self.shared.refused.load(Relaxed) + self.shared.without_room.load(Relaxed);
                tracing::info!(endpoint, lost, "traces are sent again");
            }
            Some(_) | None => {}
        }
    }

    fn report_without_room(&mut self) {
        let lost = self.shared.without_room.load(Relaxed);
        let is_due = self.reported.is_none_or(|reported| reported.elapsed() >= REPORT_EVERY);
        if lost > self.without_room_reported && is_due {
            self.reported = Some(Instant::now());
            let spans = lost - self.without_room_reported;
            self.without_room_reported = lost;
            tracing::warn!(
                spans,
                "spans are dropped: more wait for the collector than may (max_queued_spans)"
            );
        }
    }
}

impl Batch {
    fn add(&mut self, trace: FinishedTrace) {
        self.begun.get_or_insert_with(Instant::now);
        self.spans += trace.spans.len();
        self.traces.push(trace);
    }
}

/// The statuses after which the same may be sent again ("Retryable response codes").
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// Seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).ok(),
    }
}

/// How long to wait: what the collector asks for, where it does. What is longer than a batch is tried gives it up as well, and need be no time
/// that a clock can add.
fn pause_of(asked: Option<Duration>, pause: Duration) -> Duration {
    asked.map_or_else(|| jittered(pause), |asked| asked.min(TRIED_FOR))
}

/// As much of a text as is shown, where it is one.
fn shown(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let plain: String = text.chars().filter(|letter| !letter.is_control()).take(REASON_BYTES_MAX).collect();
    let plain = plain.trim();
    if plain.is_empty() { String::new() } else { format!(": {plain}") }
}

/// Between half of it and all, so that servers that lost the same collector do not come back at once.
fn jittered(pause: Duration) -> Duration {
    pause / 2 + pause.mul_f64(number() as f64 / u64::MAX as f64 / 2.0)
}

/// The system's roots are trusted, as everywhere on the machine, where nothing else is said.
fn agent(settings: &TracesSettings) -> Result<Agent, TlsError> {
    let roots = match &settings.ca_file {
        Some(path) => certificates(path)?,
        None if settings.endpoint.starts_with("https:") => rustls_native_certs::load_native_certs().certs,
        None => Vec::new(),
    };
    let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
        .build();
    let config = Agent::config_builder().tls_config(tls).proxy(None).max_redirects(0);
    Ok(config.http_status_as_error(false).build().into())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn after(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_str(value).expect("it is a value"));
        retry_after(&headers)
    }

    #[test]
    fn a_collector_says_when_it_may_be_asked_again() {
        assert_eq!(after("7"), Some(Duration::from_secs(7)));
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
        let found = after(&date).expect("it is a date");
        assert!((3500..=3600).contains(&found.as_secs()), "{found:?}");
        assert_eq!(after("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
        for (status, expected) in
            [(429, true), (502, true), (503, true), (504, true), (400, false), (500, false), (301, false)]
        {
            let status = StatusCode::from_u16(status).expect("it is a status");
            assert_eq!(is_passing(status), expected, "{status}");
        }
    }

    #[test]
    fn pauses_differ_and_have_bounds() {
        let pauses: Vec<Duration> = (0..20).map(|_| jittered(FIRST_PAUSE)).collect();
        assert!(pauses.iter().all(|pause| (FIRST_PAUSE / 2..=FIRST_PAUSE).contains(pause)), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }

    /// Adding it to the time of now ended the thread that sends, and with it all traces.
    #[test]
    fn a_collector_may_ask_for_any_time() {
        let asked = after("18446744073709551615");
        assert_eq!(asked, Some(Duration::from_secs(u64::MAX)));
        assert_eq!(pause_of(asked, FIRST_PAUSE), TRIED_FOR);
        assert_eq!(pause_of(after("7"), FIRST_PAUSE), Duration::from_secs(7));
        assert!(pause_of(None, FIRST_PAUSE) <= FIRST_PAUSE);
    }

    #[test]
    fn what_a_collector_says_is_shown_on_one_short_line() {
        assert_eq!(shown(b" no\nroom\x1b "), ": noroom");
        assert_eq!(shown(b""), "");
        assert_eq!(shown("é".repeat(999).as_bytes()).chars().count(), REASON_BYTES_MAX + 2);
    }
}
