//! A call from its arguments to its response: requests handed out, answers taken, samples recorded.

pub(crate) mod batch;
pub(crate) mod facts;
mod failures;
pub(crate) mod page;
pub(crate) mod params;
mod samples;
pub(crate) mod state;
mod times;

use crate::host::Host;
use crate::http::binding::arguments::{Refusal, body_of, misuse, random_letters};
use crate::http::binding::handle::Handle;
use crate::http::call::facts::{CallFacts, RequestFacts, protocol};
use crate::http::call::failures::{failure_of, local_failure};
use crate::http::call::page::{Page, target_of};
use crate::http::call::params::Params;
use crate::http::call::samples::{Sampled, record};
use crate::http::call::state::{Flow, FullFlow, GivenRequest, HttpThread, HttpUser, Pending, Wishes};
use crate::http::call::times::{phases, phases_of_failed};
use crate::http::fault::{RequestFault, STATUS_ERRORS_FROM};
use crate::http::settings::{Expected, HttpOptions, ResponseType, TIMEOUT_DEFAULT};
use crate::modules::binding::is_nullish;
use crate::modules::log::Level;
use crate::options::HttpDebug;
use crate::vm::{Answered, Failed, Heard, well_formed};
use prony_http_session::compression::{compress, decompress};
use prony_http_session::exchange::{Exchange, ExchangeSettings, ResponseFacts, Turn};
use prony_http_session::headers::{Headers, ResponseHead};
use prony_http_session::request::Request;
use prony_http_session::url::Url;
use prony_model::program::Keep;
use prony_model::program::call::{Ask, AskId, Call, CallFaultKind, Peer};
use prony_model::units::Nanos;
use rquickjs::Value;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Letters of the client's nonce in digest authentication.
const NONCE_LETTERS: usize = 16;

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Another request is on its way, under this number.
    Sent(AskId),
    Done(Box<CallFacts>),
    /// To be thrown.
    Thrown(String),
}

/// A call ready to be sent.
#[derive(Debug)]
pub(crate) struct Ready {
    flow: Flow,
    wishes: Wishes,
    timeout: Nanos,
}

/// The arguments of a call, as the script gave them.
#[derive(Debug)]
pub(crate) struct CallArguments<'js> {
    pub method: Value<'js>,
    pub url: Value<'js>,
    pub body: Value<'js>,
    pub params: Value<'js>,
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}

impl Ready {
    /// Reads a call's arguments.
    pub(crate) fn read(host: &Host, arguments: &CallArguments<'_>) -> Result<Self, Refusal> {
        let page = page_of(host, &arguments.url)?;
        let method = arguments.method.as_string().map(rquickjs::String::to_string).transpose()?;
        let method = method.ok_or_else(|| misuse("invalid method type"))?;
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        let is_bare = method == "GET" && is_nullish(&arguments.body) && is_nullish(&arguments.params);
        let has_no_cookies = host.user().data.get::<HttpUser>().has_no_cookies();
        if is_bare && has_no_cookies && page.target.is_ok() {
            let wishes = Wishes::usual(host);
            return Ok(Self { flow: Flow::Plain(page), wishes, timeout: TIMEOUT_DEFAULT });
        }
        Self::read_fully(host, arguments, &method, page)
    }

    fn read_fully(
        host: &Host,
        arguments: &CallArguments<'_>,
        method: &str,
        page: Rc<Page>,
    ) -> Result<Self, Refusal> {
        let body = body_of(&arguments.body)?;
        let mut params = Params::read(&arguments.params)?;
        let mut headers = Headers::clone(&host.thread().get::<HttpThread>().pages(host).headers);
        if let Some(content_type) = body.as_ref().and_then(|body| body.content_type.as_deref()) {
            headers.set("Content-Type", content_type);
        }
        params.headers.iter().for_each(|(name, value)| headers.set(name, value));
        let mut request = Request {
            method: method.into(),
            url: Rc::clone(&page.url),
            host: headers.get("Host").map(str::to_owned),
            headers,
            body: body.map(|body| body.bytes),
        };
        let plain_body = request.body.clone();
        if let Some(body) = request.body.as_ref().filter(|_| !params.compression.is_empty()) {
            let (packed, encoding) =
                compress(&params.compression, body).map_err(|error| misuse(error.to_string()))?;
            if request.headers.get("Content-Encoding").is_none() {
                request.headers.set("Content-Encoding", &encoding);
            }
            request.body = Some(packed.into());
        }
        let wishes = Wishes::usual(host).with(&mut params, &page);
        let settings = ExchangeSettings {
            redirects_max: params.redirects.unwrap_or_else(|| i64::from(redirects_max(host))),
            jar: Some(params.jar.unwrap_or_else(|| host.user().data.get::<HttpUser>().jar())),
            cookies: params.cookies,
            is_digest: params.is_digest,
        };
        let url = page.url.to_string();
        let exchange = Exchange::new(request, settings, now_ms());
        let first = &exchange.current;
        let given = GivenRequest {
            method: Rc::clone(&first.method),
            url,
            headers: first.headers.clone(),
            body: plain_body.unwrap_or_default(),
        };
        let mut flow = Flow::Full(Box::new(FullFlow { exchange, page, given: Rc::new(given) }));
        // Authentication by digest has taken the credentials out of the URL.
        flow.follow(host);
        Ok(Self { flow, wishes, timeout: params.timeout.unwrap_or(TIMEOUT_DEFAULT) })
    }

    /// The host that the call goes to, with its port where one was written.
    pub(crate) fn host_name(&self) -> &str {
        match &self.flow {
            Flow::Plain(page) => &page.url.host,
            Flow::Full(flow) => &flow.page.url.host,
        }
    }

    /// Hands the first request out.
    pub(crate) fn send(self, host: &Host) -> Outcome {
        let deadline = host.now().plus(self.timeout);
        Pending { flow: self.flow, wishes: self.wishes, deadline, is_held: false }.send(host)
    }
}

/// The page of a call's `url`.
fn page_of(host: &Host, url: &Value<'_>) -> Result<Rc<Page>, Refusal> {
    let mut thread = host.thread();
    let pages = thread.get::<HttpThread>().pages(host);
    if let Some(text) = url.as_string() {
        return Ok(pages.get(host.tables(), &well_formed(text)?)?);
    }
    if let Some(Handle::Url { url: text, name }) = Handle::of(url) {
        let url = Url::parse(&text).map_err(|error| RequestFault::invalid_url(&error.to_string()))?;
        return Ok(Rc::new(pages.page(host.tables(), url, &text, &name)));
    }
    let shown =
        if is_nullish(url) { "<nil>".to_owned() } else { crate::http::binding::arguments::text_of(url)? };
    Err(RequestFault::invalid_url(&format!("'#{shown}'")).into())
}

fn redirects_max(host: &Host) -> u32 {
    state::options(host).max_redirects
}

/// The name that a template gave its page, which stands for the redirects from there too.
fn own_name(page: &Page) -> Option<Rc<str>> {
    (*page.name != *page.written).then(|| Rc::clone(&page.name)).filter(|_| page.url.user.is_none())
}

impl Wishes {
    fn usual(host: &Host) -> Self {
        let options = state::options(host);
        let (user, expected) = {
            let mut user = host.user();
            (user.tags, user.data.get::<HttpUser>().callback.clone())
        };
        Self {
            throws: options.throws,
            response_type: if options.discards_bodies { ResponseType::None } else { ResponseType::Text },
            expected: expected.unwrap_or_else(|| Some(Expected::usual())),
            user,
            tags: Rc::default(),
            name: None,
            warns_of_redirects: !options.has_max_redirects,
        }
    }

    fn with(mut self, params: &mut Params, page: &Page) -> Self {
        self.throws = params.throws.unwrap_or(self.throws);
        self.response_type = params.response_type.unwrap_or(self.response_type);
        if let Some(expected) = params.callback.take() {
            self.expected = expected;
        }
        self.warns_of_redirects &= params.redirects.is_none();
        self.name = own_name(page);
        self.tags = std::mem::take(&mut params.tags).into();
        self
    }
}

impl Pending {
    /// Hands the current request out as soon as option `rps` lets it begin.
    fn send(mut self, host: &Host) -> Outcome {
        let options = state::options(host);
        let now = host.now();
        let begins = options.pace.as_ref().map_or(now, |pace| pace.claim(now));
        if begins <= now {
            return self.send_now(host, &options);
        }
        // What it waits here is none of the request's time.
        self.deadline = self.deadline.plus(begins.since(now));
        self.is_held = true;
        let mut user = host.user();
        let id = user.waits.start_timer(begins);
        user.data.get::<HttpUser>().keep(id, self);
        Outcome::Sent(id)
    }

    /// Sends what was held; nothing is heard of its timer where that was waited for.
    pub(crate) fn go_on(mut self, host: &Host, heard: Option<Heard>) -> Option<Outcome> {
        if self.is_held {
            self.is_held = false;
            let options = state::options(host);
            return Some(self.send_now(host, &options));
        }
        Some(self.hear(host, heard?))
    }

    /// Hands the current request out, or fails where it cannot be sent.
    fn send_now(self, host: &Host, options: &HttpOptions) -> Outcome {
        let target = match &self.flow {
            Flow::Plain(page) => page.target.clone(),
            Flow::Full(flow) => {
                let current = &flow.exchange.current;
                current.check().map_err(RequestFault::from).and_then(|()| {
                    if Rc::ptr_eq(&current.url, &flow.page.url) {
                        flow.page.target.clone()
                    } else {
                        target_of(host.tables(), &current.url)
                    }
                })
            }
        };
        let target = match target {
            Ok(target) => target,
            Err(fault) => return self.fail(host, &fault, &local_failure(host)),
        };
        let request = self.counted_as(host);
        let id = host.user().waits.new_id();
        let mut out = host.outgoing();
        let start = out.text.len();
        let is_head = match &self.flow {
            Flow::Plain(page) => {
                out.text.extend_from_slice(&page.get_text);
                false
            }
            Flow::Full(flow) => {
                flow.exchange.current.write(&mut out.text, options.has_fresh_connections);
                flow.exchange.current.is_head()
            }
        };
        let text = start..out.text.len();
        if options.debug != HttpDebug::Off {
            show(host, "Request", &out.text[text.clone()], options.debug);
        }
        let keep = if self.wishes.response_type == ResponseType::None { Keep::Head } else { Keep::Whole };
        let timeout = self.deadline.since(host.now());
        out.asks.push(Ask::Call(Call {
            id,
            target,
            request: Some(request),
            text,
            is_head,
            keep,
            timeout,
            is_fresh: options.has_fresh_connections,
            expects: self.wishes.expected.as_ref().map(|expected| std::sync::Arc::clone(&expected.0)),
        }));
        drop(out);
        host.user().data.get::<HttpUser>().keep(id, self);
        Outcome::Sent(id)
    }

    /// The index of the name under which the current request is counted: the tag `name` of the call, as in k6, or its page's.
    fn counted_as(&self, host: &Host) -> usize {
        let page = match &self.flow {
            Flow::Plain(page) => page,
            Flow::Full(flow) => &flow.page,
        };
        match self.wishes.tags.iter().find(|(tag, _)| tag == "name") {
            None => page.request(host.tables()),
            Some((_, name)) => host.thread().get::<HttpThread>().pages(host).index_of(host.tables(), name),
        }
    }

    /// What came of the current request.
    fn hear(self, host: &Host, heard: Heard) -> Outcome {
        match heard {
            Heard::Answered(answered) => self.answered(host, *answered),
            Heard::Failed(failed) => {
                let fault = RequestFault::of_call(&failed.fault, &failed.peer, self.url());
                self.fail(host, &fault, &failed)
            }
            Heard::Due | Heard::Socket(_) | Heard::Channel(_) => {
                let fault = RequestFault::local("a call heard what is no answer");
                self.fail(host, &fault, &local_failure(host))
            }
        }
    }

    fn url(&self) -> &Url {
        match &self.flow {
            Flow::Plain(page) => &page.url,
            Flow::Full(flow) => &flow.exchange.current.url,
        }
    }

    fn method(&self) -> &str {
        match &self.flow {
            Flow::Plain(_) => "GET",
            Flow::Full(flow) => &flow.exchange.current.method,
        }
    }

    fn answered(mut self, host: &Host, mut answered: Answered) -> Outcome {
        let head_facts = host.thread().get::<HttpThread>().memo.read(&answered.head);
        let is_redirect = matches!(answered.status, 301 | 302 | 303 | 307 | 308);
        if head_facts.sets_cookies || is_redirect {
            if let Flow::Plain(page) = &self.flow {
                self.wishes.name = own_name(page);
            }
            self.flow = self.flow.into_full(host);
        }
        let shows_body = self.wishes.response_type != ResponseType::None && !self.flow.follows(&answered);
        let body = if head_facts.is_encoded && shows_body {
            match unpacked(&answered) {
                Ok(body) => body,
                Err(fault) => {
                    let failed = failure_of(&answered);
                    return self.fail(host, &fault, &failed);
                }
            }
        } else {
            None
        };
        if let Some(body) = body {
            answered.body = body;
        }
        let debug = host.thread().get::<HttpThread>().pages(host).options.debug;
        if debug != HttpDebug::Off {
            show(host, "Response", &[&answered.head[..], &answered.body].concat(), debug);
        }
        self.record_answer(host, &answered);
        let turn = match &mut self.flow {
            Flow::Plain(_) => Turn::Done,
            Flow::Full(flow) => {
                let head = ResponseHead::new(&answered.head);
                let facts = ResponseFacts { status: answered.status, head, now_ms: now_ms() };
                flow.exchange.turn(facts, || random_letters(NONCE_LETTERS))
            }
        };
        match turn {
            Turn::Send => {
                self.flow.follow(host);
                self.send(host)
            }
            Turn::Done => Outcome::Done(Box::new(self.facts(host, answered))),
            Turn::TooMany => {
                self.warn_of_redirects(host);
                Outcome::Done(Box::new(self.facts(host, answered)))
            }
            Turn::Error(error) => self.end_with(host, &error.into(), CallFacts::default()),
        }
    }

    fn warn_of_redirects(&self, host: &Host) {
        let Flow::Full(flow) = &self.flow else { return };
        if self.wishes.warns_of_redirects {
            let message = format!(
                "Stopped after {} redirects and returned the redirection; pass {{ redirects: n }} in request params or \
                 set global maxRedirects to silence this",
                flow.exchange.sent()
            );
            log(host, Level::Warning, &message, &[("url", &flow.given.url)]);
        }
    }

    fn record_answer(&self, host: &Host, answered: &Answered) {
        let is_challenge = match &self.flow {
            Flow::Plain(_) => false,
            Flow::Full(flow) => flow.exchange.awaits_challenge(),
        };
        let expected = self.wishes.expected.as_ref();
        let is_expected = expected.map(|expected| {
            if is_challenge { answered.status == 401 } else { expected.matches(answered.status) }
        });
        let is_tls = answered.peer.tls.is_some();
        record(
            host,
            &Sampled {
                wishes: &self.wishes,
                method: self.method(),
                name: self.tag_name(),
                status: answered.status,
                protocol: protocol(&answered.head, &answered.peer),
                peer: &answered.peer,
                error: None,
                error_code: (answered.status >= STATUS_ERRORS_FROM)
                    .then(|| 1000 + u32::from(answered.status)),
                is_expected,
                ended: answered.times.ended,
                phases: phases(&answered.times, is_tls),
            },
        );
    }

    fn tag_name(&self) -> &str {
        match &self.flow {
            Flow::Plain(page) => &page.name,
            Flow::Full(flow) => self.wishes.name.as_deref().unwrap_or(&flow.page.name),
        }
    }

    fn facts(self, host: &Host, answered: Answered) -> CallFacts {
        let has_body = self.wishes.response_type != ResponseType::None
            && !(100..200).contains(&answered.status)
            && !matches!(answered.status, 204 | 304);
        let is_tls = answered.peer.tls.is_some();
        let code = if answered.status >= STATUS_ERRORS_FROM { 1000 + u32::from(answered.status) } else { 0 };
        let (url, request) = self.flow.into_shown(host);
        CallFacts {
            status: answered.status,
            body: has_body.then_some(answered.body),
            head: answered.head,
            is_binary: self.wishes.response_type == ResponseType::Binary,
            peer: answered.peer,
            phases: phases(&answered.times, is_tls),
            url,
            error_code: code,
            request: Some(request),
            ..CallFacts::default()
        }
    }

    /// Records a request without an answer, and ends the call with it.
    fn fail(self, host: &Host, fault: &RequestFault, failed: &Failed) -> Outcome {
        let had_connection = failed.times.sent > Nanos::ZERO && !is_before_connection(failed.fault.kind);
        let phases = phases_of_failed(&failed.times, failed.peer.tls.is_some(), had_connection);
        record(
            host,
            &Sampled {
                wishes: &self.wishes,
                method: self.method(),
                name: self.tag_name(),
                status: 0,
                protocol: "",
                peer: &failed.peer,
                error: Some(&fault.short),
                error_code: Some(fault.code),
                is_expected: self.wishes.expected.as_ref().map(|expected| expected.matches(0)),
                ended: failed.times.ended,
                phases,
            },
        );
        let peer = if had_connection { failed.peer } else { Peer::default() };
        self.end_with(host, fault, CallFacts { peer, phases, ..CallFacts::default() })
    }

    fn end_with(self, host: &Host, fault: &RequestFault, facts: CallFacts) -> Outcome {
        let message = match fault.code {
            crate::http::fault::CODE_DECOMPRESSION => fault.long.clone(),
            _ => fault.described(self.method(), self.url()),
        };
        if self.wishes.throws {
            return Outcome::Thrown(message);
        }
        log(host, Level::Warning, "Request Failed", &[("error", &message)]);
        let (url, request) = self.flow.into_shown(host);
        Outcome::Done(Box::new(CallFacts {
            url,
            error: fault.short.clone(),
            error_code: fault.code,
            request: Some(request),
            ..facts
        }))
    }
}

impl Flow {
    /// True where an answer is a redirect that is followed.
    fn follows(&self, answered: &Answered) -> bool {
        let Self::Full(flow) = self else { return false };
        flow.exchange.follows(answered.status, ResponseHead::new(&answered.head))
    }

    /// With all that redirects and cookies need.
    fn into_full(self, host: &Host) -> Self {
        let Self::Plain(page) = self else { return self };
        let headers = Headers::clone(&host.thread().get::<HttpThread>().pages(host).headers);
        let given = GivenRequest {
            method: "GET".into(),
            url: page.url.to_string(),
            headers: headers.clone(),
            body: Rc::default(),
        };
        let request =
            Request { method: "GET".into(), url: Rc::clone(&page.url), headers, host: None, body: None };
        let settings = ExchangeSettings {
            redirects_max: i64::from(redirects_max(host)),
            jar: Some(host.user().data.get::<HttpUser>().jar()),
            ..ExchangeSettings::default()
        };
        let exchange = Exchange::new(request, settings, now_ms());
        Self::Full(Box::new(FullFlow { exchange, page, given: Rc::new(given) }))
    }

    /// Finds the page of the request that follows.
    fn follow(&mut self, host: &Host) {
        let Self::Full(flow) = self else { return };
        let url = &flow.exchange.current.url;
        if **url != *flow.page.url {
            let text = url.to_string();
            let name = url.masked();
            let mut thread = host.thread();
            let pages = thread.get::<HttpThread>().pages(host);
            flow.page = Rc::new(pages.page(host.tables(), Url::clone(url), &text, &name));
        }
    }

    /// `response.url` and `response.request`.
    fn into_shown(self, host: &Host) -> (String, RequestFacts) {
        match self {
            Self::Plain(page) => {
                let headers = Rc::clone(&host.thread().get::<HttpThread>().pages(host).headers);
                (page.written.to_string(), RequestFacts::Plain(page, headers))
            }
            Self::Full(flow) => (flow.exchange.current.url.to_string(), RequestFacts::Given(flow.given)),
        }
    }
}

/// True where there was no connection that the request could have gone over.
const fn is_before_connection(kind: CallFaultKind) -> bool {
    use CallFaultKind as Kind;
    matches!(
        kind,
        Kind::Resolve
            | Kind::NoAddress
            | Kind::Refused
            | Kind::ConnectTimeout
            | Kind::Connect
            | Kind::TlsHostname
            | Kind::TlsAuthority
            | Kind::Tls
    )
}

fn unpacked(answered: &Answered) -> Result<Option<Vec<u8>>, RequestFault> {
    if answered.body.is_empty() {
        return Ok(None);
    }
    let encoding = ResponseHead::new(&answered.head).first("content-encoding").unwrap_or_default();
    decompress(&String::from_utf8_lossy(encoding), &answered.body)
        .map_err(|error| RequestFault::decompression(error.to_string()))
}

/// Option `httpDebug`: logs a request or an answer as it went over the wire, without its body unless that is wanted.
fn show(host: &Host, what: &str, text: &[u8], debug: HttpDebug) {
    let end = memchr::memmem::find(text, b"\r\n\r\n").map_or(text.len(), |end| end + 4);
    let shown = if debug == HttpDebug::Full { text } else { &text[..end] };
    let vu = host.user().vu.to_string();
    let message = format!("{what}:\n{}\n", String::from_utf8_lossy(shown));
    log(host, Level::Info, &message, &[("source", "http-debug"), ("vu", &vu)]);
}

pub(crate) fn log(host: &Host, level: Level, message: &str, fields: &[(&str, &str)]) {
    host.script.shared::<crate::modules::log::Log>().write(level, message, fields);
}
