//! What all cores share, from start to end.

use std::sync::Arc;

use prony_access::OperationMatch;
use prony_graphql::budget::{ResponseBudget, ResponseLimit};

use crate::{
    access::{Access, quota_file},
    config::Settings,
    graphql::{Engine, Mutations, ResponseCache, SharedExecutions},
    http::{Hosts, HttpApis},
    observe::{Audit, Metrics, OperationLabels, References},
    subscriptions::Reservations,
};

/// Everything that all cores share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) apis: HttpApis,
    pub(crate) hosts: Hosts,
    pub(crate) access: Access,
    pub(crate) metrics: Metrics,
    pub(crate) references: References,
    pub(crate) audit: Audit,
    pub(crate) reservations: Arc<Reservations>,
    /// Of the responses of all requests.
    pub(crate) responses: Arc<ResponseBudget>,
    /// Those that are kept.
    pub(crate) response_cache: ResponseCache,
    pub(crate) shared_executions: SharedExecutions,
    /// By source.
    pub(crate) mutations: Arc<Mutations>,
}

impl Site {
    pub(crate) fn new(settings: Settings, engine: Engine, cores: usize) -> Self {
        let names = engine.sources().iter().map(|source| source.name.clone()).collect();
        let metrics = Metrics::new(cores, names, labels(&settings));
        let audit = Audit::start(&settings.operation_limits);
        let apis = HttpApis::of(engine.sources().iter().map(|source| &source.source), &settings);
        let hosts = Hosts::new(&settings.listen, &settings.hosts);
        let access = Access::new(&settings.access);
        quota_file::restore(access.counts(), &settings.operation_limits);
        let references = References::default();
        let responses = ResponseBudget::new(ResponseLimit::Process, settings.max_responses_bytes);
        let response_cache = ResponseCache::new(settings.operation_limits.response_cache_bytes);
        let mutations = Arc::new(Mutations::new(engine.sources().len()));
        Self {
            settings,
            engine,
            apis,
            hosts,
            access,
            metrics,
            references,
            audit,
            reservations: Arc::default(),
            responses,
            response_cache,
            shared_executions: SharedExecutions::default(),
            mutations,
        }
    }
}

/// For the operations that rules name, and for some others.
fn labels(settings: &Settings) -> OperationLabels {
    let named = settings.access.operations.iter().filter_map(|rule| match &rule.matches {
        OperationMatch::Named(name) => Some(&**name),
        OperationMatch::RootField(..) | OperationMatch::RootType(_) | OperationMatch::All => None,
    });
    OperationLabels::new(named, settings.operation_limits.operation_labels)
}
