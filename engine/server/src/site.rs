//! What all cores share, from start to end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use ::http::{header::CONNECTION, request::Parts};
use prony_access::OperationMatch;
use prony_graphql::{
    budget::{ResponseBudget, ResponseLimit},
    variables::{Authority, ForwardedHeaders, varies_responses},
};
use prony_source::{
    trace::{IncomingContext, TRACE_PARENT, TRACE_STATE},
    traced_request,
};

use crate::{
    access::{self, Access, SharedLimits, fields, quota_file},
    config::Settings,
    graphql::{Asker, Engine, Mutations, OpenError, RequestContext, ResponseCache, SharedExecutions},
    http::{apis::HttpApis, hosts::CurrentHosts, unfinished::UnfinishedBodies},
    memory::MemoryBound,
    networks::NetworkCounts,
    observe::{AccessLog, Audit, Metrics, OperationLabels, References, Tracer},
    subscriptions::Reservations,
    tls::Tls,
};

/// Everything that all cores share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) apis: HttpApis,
    pub(crate) hosts: CurrentHosts,
    /// Of the listeners of operators.
    pub(crate) admin_hosts: CurrentHosts,
    pub(crate) access: Access,
    /// None where connections come without TLS.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) metrics: Metrics,
    pub(crate) references: References,
    pub(crate) audit: Audit,
    pub(crate) access_log: AccessLog,
    pub(crate) tracer: Tracer,
    /// Whether anything may be written down of requests, so that one look says it.
    notes_requests: bool,
    pub(crate) reservations: Arc<Reservations>,
    pub(crate) unfinished_bodies: UnfinishedBodies,
    /// Subscriptions of clients by their addresses.
    pub(crate) subscribers: Arc<NetworkCounts>,
    pub(crate) memory: MemoryBound,
    /// Of the responses of all requests.
    pub(crate) responses: Arc<ResponseBudget>,
    /// Names of headers that sources want to know of each request, in lower case.
    wanted_headers: Vec<String>,
    /// Whether fields of functions or of sources want to know what is granted to who asks.
    wants_authority: bool,
    /// Those that are kept.
    pub(crate) response_cache: ResponseCache,
    pub(crate) shared_executions: SharedExecutions,
    /// By source.
    pub(crate) mutations: Arc<Mutations>,
    /// Raised by the signal to stop, and never lowered.
    is_stopping: AtomicBool,
}

impl Site {
    /// # Errors
    /// A file that the settings of traces name cannot be used.
    pub(crate) fn new(settings: Settings, engine: Engine, cores: usize) -> Result<Self, OpenError> {
        let names = engine.sources().iter().map(|source| source.name.clone()).collect();
        let metrics = Metrics::new(cores, names, labels(&settings));
        let audit = Audit::start(&settings.operation_limits);
        let tracer = Tracer::start(&settings.traces)?;
        let access_log = AccessLog::start(&settings.access_log, tracer.is_on());
        let notes_requests = access_log.is_on() || tracer.is_on();
        let apis = HttpApis::of(engine.sources().iter().map(|source| &source.source), &settings);
        let hosts = CurrentHosts::new(&settings.listen, &settings.hosts);
        let admin_hosts = CurrentHosts::new(&settings.admin_listen, &settings.hosts);
        let access = Access::new(&settings.access, SharedLimits::start(&settings.operation_limits.redis));
        quota_file::restore(access.counts(), &settings.operation_limits);
        let references = References::default();
        let mut wanted_headers: Vec<String> =
            engine.sources().iter().flat_map(|source| source.source.wanted_headers()).cloned().collect();
        wanted_headers.sort_unstable();
        wanted_headers.dedup();
        let wants_authority = settings.functions.want_authority()
            || engine.sources().iter().any(|source| source.source.wants_authority());
        let responses = ResponseBudget::new(ResponseLimit::Process, settings.max_responses_bytes);
        let response_cache = ResponseCache::new(settings.operation_limits.response_cache_bytes);
        let memory = MemoryBound::start(settings.max_memory_bytes);
        let mutations = Arc::new(Mutations::new(engine.sources().len()));
        Ok(Self {
            settings,
            engine,
            apis,
            hosts,
            admin_hosts,
            access,
            tls: None,
            metrics,
            references,
            audit,
            access_log,
            tracer,
            notes_requests,
            reservations: Arc::default(),
            unfinished_bodies: UnfinishedBodies::default(),
            subscribers: Arc::default(),
            memory,
            responses,
            wanted_headers,
            wants_authority,
            response_cache,
            shared_executions: SharedExecutions::default(),
            mutations,
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Has all listeners asked for by these names from now on, beside those of this machine.
    pub(crate) fn replace_hosts(&self, names: &[String]) {
        self.hosts.replace(&self.settings.listen, names);
        self.admin_hosts.replace(&self.settings.admin_listen, names);
    }

    /// For those who have moved the files away.
    pub(crate) fn reopen_logs(&self) {
        self.audit.reopen();
        self.access_log.reopen();
    }

    /// Whether requests have an access log, ids or traces.
    pub(crate) fn notes_requests(&self) -> bool {
        self.notes_requests
    }

    /// Whether the server stops, or will in a moment: `/ready` says so.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    pub(crate) fn begin_to_stop(&self) {
        self.is_stopping.store(true, Relaxed);
    }

    /// Whether the head of a connection's opening is needed for its operations.
    pub(crate) fn wants_heads(&self) -> bool {
        self.access.is_closed() || !self.wanted_headers.is_empty()
    }

    /// Names of headers, beside those with credentials, on which the response to a request may depend, each behind `, `. Where pages of
    /// other origins may read responses it depends on `Origin`, also where a request has none (Fetch standard, "CORS protocol and HTTP
    /// caches").
    pub(crate) fn vary(&self) -> String {
        let forwarded = self.access.webhook_headers();
        let names = self.wanted_headers.iter().filter(|name| varies_responses(name)).chain(&forwarded);
        let origin = (!self.settings.cors_origins.is_empty()).then_some("origin");
        names.map(String::as_str).chain(origin).flat_map(|name| [", ", name]).collect()
    }

    /// The context of a request of somebody who has been let in.
    pub(crate) fn context(&self, head: &Parts, asker: Option<Asker>) -> RequestContext {
        let headers = self.wanted_headers(fields(&head.headers));
        let address = Some(access::peer(head).address);
        let context = RequestContext::of(&self.settings, head, asker, headers);
        let authority = self.authority(context.asker.as_ref());
        RequestContext { address, authority, ..context }
    }

    /// What is granted to who asks; none where nobody wants to know it.
    pub(crate) fn authority(&self, asker: Option<&Asker>) -> Option<Arc<Authority>> {
        self.wants_authority.then(|| Arc::new(asker.map(Asker::authority).unwrap_or_default()))
    }

    /// Of a request's header fields those that sources want to know; none where no source wants any. What `Connection` names is meant
    /// for this server alone (RFC 9110, section 7.6.1).
    pub(crate) fn wanted_headers<'h>(
        &self,
        fields: impl Iterator<Item = (&'h str, &'h [u8])>,
    ) -> Option<ForwardedHeaders> {
        if self.wanted_headers.is_empty() {
            return None;
        }
        let wanted = |name: &str| self.wanted_headers.iter().find(|wanted| wanted.eq_ignore_ascii_case(name));
        let mut found: Vec<(&str, &[u8])> = Vec::new();
        let mut options: Vec<&[u8]> = Vec::new();
        for (name, value) in fields {
            if let Some(wanted) = wanted(name) {
                found.push((wanted.as_str(), value));
            } else if name.eq_ignore_ascii_case(CONNECTION.as_str()) {
                options.extend(value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii));
            }
        }
        let is_forwarded =
            |name: &str| !options.iter().any(|option| option.eq_ignore_ascii_case(name.as_bytes()));
        let found = found.into_iter().filter(|(name, _)| is_forwarded(name));
        Some(found.map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The same for a request over HTTP, whose trace other servers are told of: that they are asked below it, or that it is not traced,
    /// also where its client says nothing of a trace.
    pub(crate) fn trace_headers(&self, found: ForwardedHeaders) -> ForwardedHeaders {
        if !self.tracer.is_on() || !self.wanted_headers.iter().any(|name| name == TRACE_PARENT) {
            return found;
        }
        let record = traced_request();
        let parent = match record.as_ref().and_then(|record| record.trace.as_ref()) {
            Some(trace) => Some(trace.root_context()),
            None if IncomingContext::of(found.iter().map(|(name, value)| (&**name, &**value))).is_some() => {
                None
            }
            None => self.tracer.untraced_parent(),
        };
        let Some(parent) = parent else { return found };
        // A state belongs to a valid parent.
        let keeps_state =
            record.is_some_and(|record| record.trace.as_ref().is_some_and(|trace| trace.state().is_some()));
        let is_kept = |name: &str| name != TRACE_PARENT && (keeps_state || name != TRACE_STATE);
        let others = found.iter().filter(|(name, _)| is_kept(name)).cloned();
        let own = (TRACE_PARENT.into(), parent.header_value().into_bytes().into());
        others.chain([own]).collect()
    }

    /// Serves connections with TLS, where there is one.
    pub(crate) fn with_tls(self, tls: Option<Arc<Tls>>) -> Self {
        Self { tls, ..self }
    }
}

/// For the operations that rules name, and for some others.
fn labels(settings: &Settings) -> OperationLabels {
    let named = settings.access.operations.iter().filter_map(|rule| match &rule.matches {
        OperationMatch::Named(name) => Some(&**name),
        OperationMatch::Call(pattern) => Some(pattern.text()),
        OperationMatch::RootField(..) | OperationMatch::RootType(_) | OperationMatch::All => None,
    });
    OperationLabels::new(named, settings.operation_limits.operation_labels)
}
