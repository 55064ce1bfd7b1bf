//! Resolved settings: every field has its value, checked for sense.

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use ::http::request::Parts;
use prony_access::{AccessSettings, Openness};
use prony_graphql::{document::limits::Limits, request::Asked};
use prony_resolvers::Resolvers;
use prony_source::Source;

use super::{
    redis::RedisSettings,
    reload::{Reload, Reloaded},
    restart::RestartOptions,
    route::Route,
    source::SourceSettings,
    traces::TracesSettings,
};
use crate::{
    graphql::DocumentSettings, joins::JoinSettings, pace::LeastRate, service_manager::ServiceManager,
    subscriptions::SubscriptionSettings, tls::TlsSettings,
};

/// Everything that the server needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// At least one; a port 0 becomes a free one.
    pub listen: Vec<SocketAddr>,
    /// What the start says of variables that were passed over.
    pub notes: Vec<String>,
    /// Of operators: there are `/metrics`, `/health`, `/ready`, `/live` and profiles alone, and elsewhere no `/metrics`. Empty where these have no
    /// listeners of their own.
    pub admin_listen: Vec<SocketAddr>,
    pub cores: CoreChoice,
    /// Connections over all cores; one more gets a 503.
    pub max_connections: usize,
    /// From one address; 0 for no limit of its own, none for a part of all.
    pub max_connections_per_address: Option<usize>,
    /// From the connection's start, or from the last response, to the end of a request's headers.
    pub header_timeout: Duration,
    /// From the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// How long a client may leave a response unread.
    pub write_timeout: Duration,
    /// Bytes a second that a client must read of a response that waits for it, and send of a bulk creation's body; 0 for any.
    pub min_rate_bytes: u64,
    pub max_header_bytes: usize,
    pub max_headers: usize,
    pub max_uri_bytes: usize,
    pub max_body_bytes: usize,
    /// Of a bulk creation.
    pub max_bulk_bytes: u64,
    /// Of the responses of all requests together, while they are written and until they are sent.
    pub max_responses_bytes: usize,
    /// Of the bodies of all requests together, while they are received.
    pub max_unfinished_bodies_bytes: usize,
    /// Of the whole process, at which what is new is refused; 0 for no bound, none for a part of what the process is granted.
    pub max_memory_bytes: Option<u64>,
    /// How long connections are taken after the signal to stop, while `/ready` says that it has come.
    pub shutdown_delay: Duration,
    /// How long requests in flight may take after that.
    pub grace: Duration,
    /// How long of that connections without a request are kept for one more; at most half of it.
    pub idle_grace: Duration,
    /// Whether everybody may do everything, also from other machines.
    pub open: bool,
    /// Names under which the server may be asked for, beside this machine's own; `*` for all. Without any, one that listens on loopback
    /// addresses alone has this machine's own, another all.
    pub hosts: Vec<String>,
    /// Origins that pages may call from; `*` for all.
    pub cors_origins: Vec<String>,
    /// Whether `/` answers with GraphiQL.
    pub console: bool,
    pub tls: TlsSettings,
    pub limits: Limits,
    pub documents: DocumentSettings,
    pub subscriptions: SubscriptionSettings,
    /// Of the responses of all root fields of an operation together.
    pub max_operation_bytes: usize,
    /// Bytes of documents and plans that are kept.
    pub plan_cache_bytes: u64,
    /// Whether clients see the database's own texts.
    pub expose_database_errors: bool,
    /// Whether `/explain` tells what operations become; none for servers that let in this machine alone, to everything.
    pub explain: Option<bool>,
    /// What rules for operations share.
    pub operation_limits: OperationLimits,
    /// Who may ask, and what each role may do.
    pub access: Arc<AccessSettings>,
    /// How that, sources and joins are read again while the server runs; none where it did not come from a file.
    pub reload: Option<Reload>,
    /// What was given of options that count from a restart on.
    pub restart: RestartOptions,
    /// Who is told that the server is ready, and that it stops.
    pub service_manager: Option<ServiceManager>,
    /// A level, or a filter as `tracing` reads it.
    pub log_level: String,
    pub log_format: LogFormat,
    pub access_log: AccessLogSettings,
    pub traces: TracesSettings,
    /// At least one, or functions.
    pub sources: Vec<SourceSettings>,
    /// Fields that one source's types get from another source.
    pub joins: Vec<JoinSettings>,
    /// What a program serves of its own; no file or flag gives them.
    pub functions: Functions,
}

/// What a program serves that uses the engine as a library.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    pub resolvers: Option<Resolvers>,
    /// Sources that the program has opened itself, each under a name that no other has.
    pub sources: Vec<GivenSource>,
    /// Paths beside the server's own; of several that fit, the first answers.
    pub routes: Vec<Route>,
    /// Whether a GraphQL request by POST may come without a content type. A page of another origin can send such
    /// a request without being asked first, so only an API without cookies should allow it.
    pub lenient_content_type: bool,
}

/// A source that the program has opened itself, whatever its kind.
#[derive(Debug, Clone)]
pub struct GivenSource {
    /// For logs, metrics and `/health`.
    pub name: String,
    pub source: Arc<dyn Source>,
}

impl Functions {
    /// Whether functions want to know who asks.
    pub(crate) fn want_caller(&self) -> bool {
        self.resolvers.as_ref().is_some_and(Resolvers::wants_caller)
    }

    /// Whether directives of functions want to know what is granted to who asks.
    pub(crate) fn want_authority(&self) -> bool {
        self.resolvers.as_ref().is_some_and(Resolvers::wants_authority)
    }

    /// What functions get of a request with this head; none where they do not want to know who asks.
    pub(crate) fn caller(&self, head: &Parts) -> Option<Asked> {
        self.resolvers.as_ref()?.caller(head)
    }
}

/// What all rules for operations share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationLimits {
    /// Where the counts of quotas are kept from one start to the next; nowhere where the text is empty.
    pub quota_file: PathBuf,
    /// How often they are written down.
    pub quota_interval: Duration,
    /// Of responses that are kept.
    pub response_cache_bytes: u64,
    /// Names of operations that metrics count one by one, beside those that rules name.
    pub operation_labels: usize,
    /// Where mutations and refusals are written down; nowhere where the text is empty.
    pub audit_log: PathBuf,
    /// Whether the arguments of mutations are written down with them.
    pub audit_values: bool,
    /// Where servers share the counts of rates and quotas.
    pub redis: RedisSettings,
}

impl Default for OperationLimits {
    fn default() -> Self {
        Self {
            quota_file: PathBuf::new(),
            quota_interval: Duration::from_secs(60),
            response_cache_bytes: 64 << 20,
            operation_labels: 100,
            audit_log: PathBuf::new(),
            audit_values: false,
            redis: RedisSettings::default(),
        }
    }
}

/// Which processors the core threads use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoreChoice {
    /// As many threads as the system offers processors.
    All,
    /// This many threads, on as many processors.
    Count(usize),
    /// One thread held on each of these processors.
    List(Vec<usize>),
}

impl CoreChoice {
    /// How many threads that is on this machine, at least one.
    pub(crate) fn threads(&self) -> usize {
        match self {
            Self::All => std::thread::available_parallelism().map_or(1, usize::from),
            Self::Count(count) => (*count).max(1),
            Self::List(list) => list.len().max(1),
        }
    }
}

impl fmt::Display for CoreChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => formatter.write_str("all"),
            Self::Count(count) => write!(formatter, "{count}"),
            Self::List(list) => {
                formatter.write_str(&list.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// What is written down of each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogSettings {
    /// Nowhere where the text is empty.
    pub file: PathBuf,
    pub form: AccessLogForm,
    /// One request of so many has a line, and each that failed here.
    pub one_of: u64,
    /// Whether requests have ids, which are taken from `X-Request-Id` or made.
    pub request_ids: bool,
}

impl Default for AccessLogSettings {
    fn default() -> Self {
        Self { file: PathBuf::new(), form: AccessLogForm::Json, one_of: 1, request_ids: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessLogForm {
    Text,
    Json,
}

impl From<Settings> for Reloaded {
    fn from(settings: Settings) -> Self {
        let connections = (settings.tls, settings.operation_limits.redis);
        let served = Some((settings.sources, settings.joins));
        let (hosts, restart) = (Some(settings.hosts), Some(settings.restart));
        Self { access: settings.access, hosts, connections: Some(connections), served, restart }
    }
}

impl Settings {
    /// For commands that serve nothing: the sources are opened so that nothing of them is changed.
    pub fn only_look(&mut self) {
        for source in &mut self.sources {
            if let Some(opener) = source.opener.only_looking() {
                source.opener = opener;
            }
        }
    }

    /// How fast a client must read.
    pub(crate) fn response_rate(&self) -> LeastRate {
        LeastRate { bytes_per_s: self.min_rate_bytes, span: self.write_timeout }
    }

    /// How fast a client must send a body that is read piece by piece.
    pub(crate) fn body_rate(&self) -> LeastRate {
        LeastRate { bytes_per_s: self.min_rate_bytes, span: self.body_timeout }
    }

    /// Nothing says who may ask, and not that everybody may.
    pub(crate) fn lets_only_this_machine_in(&self) -> bool {
        self.access.openness == Openness::LoopbackOnly && !self.open
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8080))],
            notes: Vec::new(),
            admin_listen: Vec::new(),
            cores: CoreChoice::All,
            max_connections: 50_000,
            max_connections_per_address: None,
            header_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            min_rate_bytes: 1024,
            max_header_bytes: 32 << 10,
            max_headers: 100,
            max_uri_bytes: 16 << 10,
            max_body_bytes: 1 << 20,
            max_bulk_bytes: 4 << 30,
            max_responses_bytes: 1 << 30,
            max_unfinished_bodies_bytes: 256 << 20,
            max_memory_bytes: None,
            shutdown_delay: Duration::ZERO,
            grace: Duration::from_secs(10),
            idle_grace: Duration::from_millis(500),
            open: false,
            hosts: Vec::new(),
            cors_origins: Vec::new(),
            console: true,
            tls: TlsSettings::default(),
            limits: Limits::default(),
            documents: DocumentSettings::default(),
            subscriptions: SubscriptionSettings::default(),
            max_operation_bytes: 128 << 20,
            plan_cache_bytes: 64 << 20,
            expose_database_errors: false,
            explain: None,
            operation_limits: OperationLimits::default(),
            access: Arc::default(),
            reload: None,
            restart: RestartOptions::default(),
            service_manager: None,
            log_level: "info".to_owned(),
            log_format: LogFormat::Text,
            access_log: AccessLogSettings::default(),
            traces: TracesSettings::default(),
            sources: Vec::new(),
            joins: Vec::new(),
            functions: Functions::default(),
        }
    }
}
