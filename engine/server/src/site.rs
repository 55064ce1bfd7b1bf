//! What all cores share, from start to end.

use std::sync::Arc;

use prony_graphql::budget::{ResponseBudget, ResponseLimit};

use crate::{
    access::Access,
    config::Settings,
    graphql::Engine,
    http::{Hosts, HttpApis},
    observe::{Metrics, References},
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
    pub(crate) reservations: Arc<Reservations>,
    /// Of the responses of all requests.
    pub(crate) responses: Arc<ResponseBudget>,
}

impl Site {
    pub(crate) fn new(settings: Settings, engine: Engine, cores: usize) -> Self {
        let names = engine.sources().iter().map(|source| source.name.clone()).collect();
        let metrics = Metrics::new(cores, names);
        let apis = HttpApis::of(engine.sources().iter().map(|source| &source.source), &settings);
        let hosts = Hosts::new(&settings.listen, &settings.hosts);
        let access = Access::new(&settings.access);
        let references = References::default();
        let responses = ResponseBudget::new(ResponseLimit::Process, settings.max_responses_bytes);
        Self {
            settings,
            engine,
            apis,
            hosts,
            access,
            metrics,
            references,
            reservations: Arc::default(),
            responses,
        }
    }
}
