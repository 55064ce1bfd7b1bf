//! An HTTP sample under way: the request, those that redirects and challenges lead to, and what pages embed.

use crate::patterns;
use crate::plan::{HttpSampler, Redirects};
use crate::run::context::Context;
use crate::run::pages;
use crate::run::request::{Request, Sent};
use crate::run::request_fault::RequestFault;
use crate::run::result::SampleResult;
use crate::run::web::{Web, basic, is_below};
use compact_str::{CompactString, ToCompactString as _, format_compact};
use fancy_regex::Regex;
use prony_http_session::compression::decompress;
use prony_http_session::digest::{Challenge, DigestRequest};
use prony_http_session::headers::ResponseHead;
use prony_http_session::url::Url;
use prony_model::Nanos;
use prony_model::measurement::record::TransportError;
use prony_model::plan::target::{Endpoint, Scheme, Target};
use prony_model::program::call::{Ask, AskId, Call, CallBytes, CallFault, CallFaultKind, CallTimes};
use prony_model::program::table::Tables;
use prony_model::program::{Answer, Keep, Outgoing};
use std::collections::VecDeque;
use std::sync::Arc;

/// As JMeter's `httpsampler.max_redirects`.
const REDIRECTS_MAX: usize = 20;
/// What one page embeds; more is no page.
const EMBEDDED_MAX: usize = 1_000;
/// Where a plan sets no time-out: a request that takes longer has failed.
pub(crate) const TIMEOUT_MAX: Nanos = Nanos::from_secs(600);

/// One sample of an HTTP Request.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) sampler: usize,
    label: CompactString,
    /// By the number of what was asked for.
    open: Vec<Open>,
    next_id: AskId,
    timeout: Nanos,
    keep: Keep,
    /// The responses so far: the main ones, then embedded ones.
    parts: Vec<SampleResult>,
    /// How many of the parts are the main request's.
    main_parts: usize,
    waiting: VecDeque<Url>,
    at_a_time: usize,
    main: Arc<Request>,
    pub(crate) transport: Option<TransportError>,
}

#[derive(Debug)]
struct Open {
    id: AskId,
    sent: Arc<Sent>,
    is_embedded: bool,
    redirects: usize,
    has_answered_challenge: bool,
    /// When the first of those that the client makes by itself for one sample was asked for.
    since: Option<Nanos>,
    /// Its place in the cache, and whether what is kept there was asked about.
    is_conditional: bool,
}

/// What the client does by itself within one sample.
#[derive(Debug, Default)]
struct Unseen {
    /// Its answer to a challenge.
    authorization: Option<String>,
    /// When it asked first.
    since: Option<Nanos>,
}

/// What a sample needs beside itself.
pub(crate) struct Wire<'a, 'b> {
    pub(crate) tables: &'a Tables,
    pub(crate) out: &'b mut Outgoing,
    pub(crate) web: &'b mut Web,
    pub(crate) http: &'a HttpSampler,
}

/// What became of a sample.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It waits for responses.
    Waits,
    Ended,
}

impl Exchange {
    /// Begins a sample; the error is the sample's own.
    pub(crate) fn begin(
        sampler: usize,
        label: CompactString,
        wire: &mut Wire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Result<Option<Self>, Box<SampleResult>> {
        let request = match Request::build(wire.http, &mut wire.web.addresses, context) {
            Ok(request) => Arc::new(request),
            Err(fault) => return Err(Box::new(failed(label, &fault, context.shared.clock.now()))),
        };
        if wire.web.is_cached(wire.http.cache, &request, &context.shared.clock) {
            return Ok(None);
        }
        let millis = |text: &crate::text::Text, context: &mut Context<'_>| {
            text.number(context).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
        };
        let timeout = match millis(&wire.http.response_timeout_ms, context) {
            0 => TIMEOUT_MAX,
            response => Nanos::from_millis(response + millis(&wire.http.connect_timeout_ms, context)),
        };
        let at_a_time = match &wire.http.embedded {
            Some(embedded) => {
                embedded.at_a_time.number(context).and_then(|count| usize::try_from(count).ok())
            }
            None => None,
        };
        let mut exchange = Self {
            sampler,
            label,
            open: Vec::new(),
            next_id: 0,
            timeout,
            keep: if wire.http.needs_body { Keep::Whole } else { Keep::Head },
            parts: Vec::new(),
            main_parts: 0,
            waiting: VecDeque::new(),
            at_a_time: at_a_time.unwrap_or(1).clamp(1, 64),
            main: Arc::clone(&request),
            transport: None,
        };
        match exchange.ask(request, false, 0, Unseen::default(), wire, context) {
            Ok(()) => Ok(Some(exchange)),
            Err(fault) => Err(Box::new(failed(exchange.label, &fault, context.shared.clock.now()))),
        }
    }

    fn ask(
        &mut self,
        request: Arc<Request>,
        is_embedded: bool,
        redirects: usize,
        unseen: Unseen,
        wire: &mut Wire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestFault> {
        let Unseen { authorization, since } = unseen;
        let target = request.address.target(|url| target_of(wire.tables, url))?;
        let has_answered_challenge = authorization.is_some();
        let authorization = authorization.or_else(|| basic(wire.http, request.url(), context));
        let cookies = wire.web.cookies(wire.http.cookies, request.url(), &context.shared.clock);
        let conditions = wire.web.conditions(wire.http.cache, &request);
        let is_conditional = conditions.is_some();
        let sent = Sent { request, conditions: conditions.unwrap_or_default(), cookies, authorization };
        let begin = wire.out.text.len();
        sent.write(&mut wire.out.text);
        let id = self.next_id;
        self.next_id += 1;
        wire.out.asks.push(Ask::Call(Call {
            id,
            target,
            request: None,
            text: begin..wire.out.text.len(),
            is_head: sent.request.method == "HEAD",
            keep: self.keep,
            timeout: self.timeout,
            is_fresh: sent.request.closes_connection(),
            expects: None,
        }));
        self.open.push(Open {
            id,
            sent: Arc::new(sent),
            is_embedded,
            redirects,
            has_answered_challenge,
            since,
            is_conditional,
        });
        Ok(())
    }

    // ---- responses

    pub(crate) fn answered(
        &mut self,
        id: AskId,
        answer: Answer<'_>,
        times: &CallTimes,
        bytes: CallBytes,
        wire: &mut Wire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Turn {
        let Some(at) = self.open.iter().position(|open| open.id == id) else { return self.turn() };
        let open = self.open.swap_remove(at);
        let (head, clock) = (ResponseHead::new(answer.head), &context.shared.clock);
        let request = &open.sent.request;
        wire.web.take_cookies(wire.http.cookies, request.url(), head, clock);
        wire.web.take_cache(wire.http.cache, request, answer.status, head, clock);
        let part = self.part(&open, answer, times, bytes);
        if answer.status == 401
            && !open.has_answered_challenge
            && let Some(authorization) = digest(request, head, wire.http, context)
        {
            // The client answers by itself: the sample is the response to that.
            let unseen = Unseen { authorization: Some(authorization), since: Some(part.start) };
            let asked =
                self.ask(Arc::clone(request), open.is_embedded, open.redirects, unseen, wire, context);
            return self.after(asked, context);
        }
        let location =
            if is_redirect(answer.status, request, wire.http) { head.first("location") } else { None };
        if let Some(location) = location {
            let location = String::from_utf8_lossy(location).replace(' ', "%20");
            let is_seen = wire.http.redirects != Redirects::Followed { by_client: true };
            let unseen = Unseen { authorization: None, since: (!is_seen).then_some(part.start) };
            if is_seen {
                self.take(part, &open);
            }
            if open.redirects >= REDIRECTS_MAX {
                let message = format!("Exceeded maximum number of redirects: {REDIRECTS_MAX}");
                let fault = RequestFault::new("java.io.IOException", message);
                return self.after(Err(fault.of(request.url_text())), context);
            }
            let url = match Url::parse(&location) {
                Ok(reference) => request.url().resolve(&reference),
                Err(error) => {
                    let fault = RequestFault::new("java.net.URISyntaxException", error.to_string());
                    return self.after(Err(fault.of(request.url_text())), context);
                }
            };
            let next = Arc::new(next_of(request, url, answer.status, is_seen));
            let asked = self.ask(next, open.is_embedded, open.redirects + 1, unseen, wire, context);
            return self.after(asked, context);
        }
        if is_redirect_status(answer.status, request) && head.first("location").is_none() {
            let message = format!(
                "Missing location header in redirect for {} {} HTTP/1.1",
                request.method,
                request.url_text()
            );
            let fault = RequestFault::new("java.lang.IllegalArgumentException", message);
            return self.after(Err(fault.of(request.url_text())), context);
        }
        let is_page =
            !open.is_embedded && wire.http.embedded.is_some() && part.content_type().contains("html");
        if is_page {
            self.find_embedded(&part, request.url(), wire, context);
        }
        self.take(part, &open);
        self.ask_embedded(wire, context);
        self.turn()
    }

    pub(crate) fn failed(
        &mut self,
        id: AskId,
        fault: &CallFault,
        times: &CallTimes,
        bytes: CallBytes,
        wire: &mut Wire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Turn {
        let Some(at) = self.open.iter().position(|open| open.id == id) else { return self.turn() };
        let open = self.open.swap_remove(at);
        let named = fault_of(fault, open.sent.request.url());
        let connect_end = if times.ready > times.asked { times.ready } else { times.ended };
        let part = SampleResult {
            start: times.asked,
            end: times.ended,
            connect: if times.first_byte.is_none() { connect_end.since(times.asked) } else { Nanos::ZERO },
            sent: Some(Arc::clone(&open.sent)),
            sent_bytes: bytes.sent,
            url: Some(Arc::clone(open.sent.request.url_text())),
            ..failed(self.label.clone(), &named, times.asked)
        };
        if !open.is_embedded {
            self.transport = Some(fault.kind.transport());
        }
        self.take(part, &open);
        self.ask_embedded(wire, context);
        self.turn()
    }

    fn turn(&self) -> Turn {
        if self.open.is_empty() { Turn::Ended } else { Turn::Waits }
    }

    /// Where the next request cannot be made, the sample ends with the reason.
    fn after(&mut self, asked: Result<(), RequestFault>, context: &Context<'_>) -> Turn {
        if let Err(fault) = asked {
            let now = context.shared.clock.now();
            self.parts.insert(self.main_parts, failed(self.label.clone(), &fault, now));
            self.main_parts += 1;
        }
        self.turn()
    }

    fn take(&mut self, part: SampleResult, open: &Open) {
        if open.is_embedded {
            self.parts.push(part);
        } else {
            self.parts.insert(self.main_parts, part);
            self.main_parts += 1;
        }
    }

    fn part(&self, open: &Open, answer: Answer<'_>, times: &CallTimes, bytes: CallBytes) -> SampleResult {
        let head = ResponseHead::new(answer.head);
        let decoded = if answer.body.is_empty() {
            None
        } else {
            let coding = head.first("content-encoding").map(String::from_utf8_lossy);
            coding.and_then(|coding| decompress(&coding, answer.body).ok().flatten())
        };
        let is_not_modified = open.is_conditional && answer.status == 304;
        SampleResult {
            label: self.label.clone(),
            code: answer.status.to_compact_string(),
            message: CompactString::from_utf8_lossy(head.reason()),
            is_success: (200..400).contains(&answer.status) || is_not_modified,
            start: open.since.unwrap_or(times.asked),
            end: times.ended,
            latency: times
                .first_byte
                .map_or(Nanos::ZERO, |first| first.since(open.since.unwrap_or(times.asked))),
            connect: if times.is_new_connection { times.ready.since(times.asked) } else { Nanos::ZERO },
            url: Some(Arc::clone(open.sent.request.url_text())),
            sent: Some(Arc::clone(&open.sent)),
            head: answer.head.to_vec(),
            body: decoded.unwrap_or_else(|| answer.body.to_vec()),
            data_type: head.first("content-type").map_or("", data_type),
            bytes: bytes.received,
            head_bytes: answer.head.len() as u64,
            sent_bytes: bytes.sent,
            ..SampleResult::default()
        }
    }

    // ---- what pages embed

    fn find_embedded(
        &mut self,
        page: &SampleResult,
        base: &Url,
        wire: &Wire<'_, '_>,
        context: &mut Context<'_>,
    ) {
        let Some(embedded) = &wire.http.embedded else { return };
        let expression = |text: &crate::text::Text, context: &mut Context<'_>| -> Option<Regex> {
            let text = text.value(context);
            if text.trim().is_empty() { None } else { patterns::compile(&format!("^(?:{text})$")).ok() }
        };
        let (allow, exclude) = (expression(&embedded.allow, context), expression(&embedded.exclude, context));
        for url in pages::embedded(&page.body_text(), base).into_iter().take(EMBEDDED_MAX) {
            let text = url.to_string();
            let is_allowed = allow.as_ref().is_none_or(|allow| patterns::is_found(allow, &text));
            if is_allowed && !exclude.as_ref().is_some_and(|exclude| patterns::is_found(exclude, &text)) {
                self.waiting.push_back(url);
            }
        }
    }

    fn ask_embedded(&mut self, wire: &mut Wire<'_, '_>, context: &mut Context<'_>) {
        while self.open.len() < self.at_a_time
            && let Some(url) = self.waiting.pop_front()
        {
            let request = Arc::new(self.main.redirected(url));
            if wire.web.is_cached(wire.http.cache, &request, &context.shared.clock) {
                continue;
            }
            if let Err(fault) = self.ask(request, true, 0, Unseen::default(), wire, context) {
                let now = context.shared.clock.now();
                self.parts.push(failed(self.label.clone(), &fault, now));
            }
        }
    }

    // ---- the sample

    /// The sample as a whole, and its parts where it has more than one.
    pub(crate) fn end(mut self) -> (SampleResult, Vec<SampleResult>) {
        if self.parts.len() <= 1 {
            return (self.parts.pop().unwrap_or_default(), Vec::new());
        }
        let last = &self.parts[self.main_parts.max(1) - 1];
        let first = &self.parts[0];
        let mut whole = SampleResult {
            start: first.start,
            end: self.parts.iter().map(|part| part.end).max().unwrap_or(last.end),
            latency: first.latency,
            connect: first.connect,
            bytes: self.parts.iter().map(|part| part.bytes).sum(),
            head_bytes: self.parts.iter().map(|part| part.head_bytes).sum(),
            sent_bytes: self.parts.iter().map(|part| part.sent_bytes).sum(),
            ..last.clone()
        };
        let failing = self.parts[self.main_parts.max(1)..].iter().filter(|part| !part.is_success);
        let failing = failing.map(|part| {
            let url = part.url.as_deref().unwrap_or_default();
            format!("{url} code:{} message:{}, ", part.code, part.message)
        });
        let failing: String = failing.collect();
        if whole.is_success && !failing.is_empty() {
            whole.is_success = false;
            whole.message = format_compact!("Embedded resource download error:{failing}");
        }
        for (at, part) in self.parts.iter_mut().enumerate() {
            part.label = format_compact!("{}-{at}", self.label);
        }
        (whole, self.parts)
    }
}

/// What is asked where a redirect leads; the client by itself asks there what was asked here, where the status says so.
fn next_of(request: &Request, url: Url, status: u16, is_seen: bool) -> Request {
    let has_moved = !is_seen && matches!(status, 307 | 308);
    if has_moved && !matches!(&*request.method, "GET" | "HEAD") {
        request.moved(url)
    } else {
        request.redirected(url)
    }
}

fn is_redirect(status: u16, request: &Request, http: &HttpSampler) -> bool {
    match http.redirects {
        Redirects::None => false,
        Redirects::Followed { by_client: false } => is_redirect_status(status, request),
        Redirects::Followed { by_client: true } => match status {
            303 => true,
            301 | 302 | 307 | 308 => matches!(&*request.method, "GET" | "HEAD" | "POST" | "DELETE"),
            _ => false,
        },
    }
}

fn is_redirect_status(status: u16, request: &Request) -> bool {
    match status {
        301..=303 | 308 => true,
        307 => matches!(&*request.method, "GET" | "HEAD"),
        _ => false,
    }
}

/// As JMeter tells text from what is not to be shown.
fn data_type(content_type: &[u8]) -> &'static str {
    let begins = |begin: &str| {
        content_type.get(..begin.len()).is_some_and(|found| found.eq_ignore_ascii_case(begin.as_bytes()))
    };
    let is_text = ["audio/x-mpegurl", "audio/mpegurl", "video/f4m", "image/svg+xml"].into_iter().any(begins);
    if !is_text && ["image/", "audio/", "video/"].into_iter().any(begins) { "bin" } else { "text" }
}

/// The index of what a request to this URL is sent to.
pub(crate) fn target_of(tables: &Tables, url: &Url) -> Result<usize, RequestFault> {
    let scheme = if url.is_tls() { Scheme::Https } else { Scheme::Http };
    let port = url.port().unwrap_or(scheme.default_port());
    let endpoint = Endpoint::Tcp { host: url.host_name().to_owned(), port };
    let target = Target { scheme, endpoint, path_prefix: String::new(), channel: None };
    tables.targets.index_of(target).ok_or_else(|| {
        RequestFault::new(
            "java.net.ConnectException",
            format!("{} is one target more than a run can have; ask fewer hosts", url.host),
        )
    })
}

/// The answer to a challenge, where a manager has the credentials.
fn digest(
    request: &Request,
    head: ResponseHead<'_>,
    http: &HttpSampler,
    context: &mut Context<'_>,
) -> Option<String> {
    let challenge = head.first("www-authenticate").map(String::from_utf8_lossy)?;
    let challenge = Challenge::parse(&challenge)?;
    for credentials in &http.credentials {
        let begin = credentials.url.value(context);
        if !is_below(request.url(), begin.trim()) {
            continue;
        }
        let (user, password) = (credentials.user.value(context), credentials.password.value(context));
        let nonce = format!("{:016x}", context.shared.clock.now().0);
        return Some(challenge.answer(&DigestRequest {
            method: &request.method,
            target: &request.address.request_target,
            body: request.body.as_deref().unwrap_or_default(),
            user: &user,
            password: &password,
            client_nonce: &nonce,
        }));
    }
    None
}

/// A sample that never was a request.
pub(crate) fn failed(label: CompactString, fault: &RequestFault, now: Nanos) -> SampleResult {
    SampleResult {
        label,
        code: format_compact!("Non HTTP response code: {}", fault.class),
        message: format_compact!("Non HTTP response message: {}", fault.message),
        body: fault.message.clone().into_bytes(),
        bytes: fault.message.len() as u64,
        start: now,
        end: now,
        url: fault.url_text.clone(),
        data_type: "text",
        ..SampleResult::default()
    }
}

/// As JMeter's client names what went wrong on the way.
fn fault_of(fault: &CallFault, url: &Url) -> RequestFault {
    let (host, port) = (url.host_name(), url.port().unwrap_or(80));
    let class = match fault.kind {
        CallFaultKind::Resolve | CallFaultKind::NoAddress | CallFaultKind::BlockedName => {
            return RequestFault::new(
                "java.net.UnknownHostException",
                format!("{host}: Name or service not known"),
            );
        }
        CallFaultKind::Refused => {
            let message = format!("Connect to {host}:{port} [/{host}] failed: Connection refused");
            return RequestFault::new("org.apache.http.conn.HttpHostConnectException", message);
        }
        CallFaultKind::ConnectTimeout => {
            let message = format!("Connect to {host}:{port} [/{host}] failed: Connect timed out");
            return RequestFault::new("org.apache.http.conn.ConnectTimeoutException", message);
        }
        CallFaultKind::Timeout => {
            return RequestFault::new("java.net.SocketTimeoutException", "Read timed out");
        }
        CallFaultKind::Read | CallFaultKind::StreamReset(_) => {
            let message = format!("{host}:{port} failed to respond");
            return RequestFault::new("org.apache.http.NoHttpResponseException", message);
        }
        CallFaultKind::Reset => return RequestFault::new("java.net.SocketException", "Connection reset"),
        CallFaultKind::Write => return RequestFault::new("java.net.SocketException", "Broken pipe"),
        CallFaultKind::TlsHostname | CallFaultKind::TlsAuthority | CallFaultKind::Tls => {
            "javax.net.ssl.SSLHandshakeException"
        }
        CallFaultKind::Protocol => "org.apache.http.client.ClientProtocolException",
        _ => "java.net.ConnectException",
    };
    RequestFault::new(class, fault.message.clone())
}
