//! An upstream as a source of the engine.

use std::{
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use futures_util::future::{BoxFuture, join};
use prony_source::{
    Metric, ReservedNames, Source, SourceSchema, SourceSession,
    permissions::{PermissionFault, Permissions},
};

use crate::{
    balance::{Balancer, Breaker, RetryBudget},
    client::{Connector, connector},
    counters::{AddressCounters, UpstreamCounters},
    exchange::TokenExchange,
    refresh::{check_health, follow_schema, open_schema},
    served::ServedModel,
    session::UpstreamSession,
    settings::UpstreamSettings,
    upstream::{CurrentSchema, Endpoint, Upstream, UpstreamOpenError},
};

/// A GraphQL server; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamSource(Arc<Upstream>);

impl UpstreamSource {
    /// Asks for the schema once; an upstream that does not respond is asked again while it is served.
    pub(crate) async fn open(mut settings: UpstreamSettings) -> Result<Self, UpstreamOpenError> {
        let is_secure = settings.addresses.iter().any(|address| address.is_secure);
        let tls = is_secure.then(|| connector(&settings.tls, settings.http_version)).transpose()?;
        let has_basic = settings.addresses.iter().any(|address| address.basic.is_some());
        let own = |name: &String| {
            has_basic && name == "authorization" || settings.headers.iter().any(|(known, _)| known == name)
        };
        let forward = std::mem::take(&mut settings.forward_headers);
        settings.forward_headers = forward.into_iter().filter(|name| !own(name)).collect();
        let mut wanted_headers = settings.forward_headers.clone();
        let exchange = settings.token_exchange.clone().map(TokenExchange::new).transpose()?.map(Arc::new);
        if exchange.is_some() {
            wanted_headers.push("authorization".to_owned());
        }
        let connector = Connector::new(tls, settings.connect_timeout, settings.http_version);
        let endpoints = settings.addresses.iter().map(|address| Endpoint {
            address: Arc::new(address.clone()),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_open),
            counters: AddressCounters::default(),
            streams: AtomicUsize::new(0),
        });
        let upstream = Upstream {
            endpoints: endpoints.collect(),
            balancer: Balancer::default(),
            retries: RetryBudget::new(settings.retry_budget_percent),
            counters: UpstreamCounters::default(),
            connector,
            begun: Instant::now(),
            schema: CurrentSchema::default(),
            exchange,
            wanted_headers,
            settings,
        };
        let upstream = Arc::new(upstream);
        open_schema(&upstream).await?;
        Ok(Self(upstream))
    }
}

impl Source for UpstreamSource {
    fn product(&self) -> &'static str {
        "GraphQL"
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        let Upstream { schema, .. } = &*self.0;
        // Before it is read: what comes meanwhile is another.
        schema.asked.store(schema.generation.load(Ordering::Acquire), Ordering::Release);
        let model = schema.model.load().as_ref().map(|known| Arc::clone(&known.model));
        Arc::new(ServedModel::new(model))
    }

    fn schema_for(
        &self,
        _reserved: &ReservedNames,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        let known = self.0.schema.model.load();
        let model = known.as_ref().map(|known| known.model.restricted(permissions)).transpose()?;
        Ok(Arc::new(ServedModel::new(model.map(Arc::new))))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let schema = &self.0.schema;
            loop {
                let mut changed = pin!(schema.changed.notified());
                changed.as_mut().enable();
                if schema.generation.load(Ordering::Acquire) != schema.asked.load(Ordering::Acquire) {
                    return;
                }
                changed.await;
            }
        })
    }

    fn reload(&self) {
        self.0.schema.reload.notify_one();
    }

    fn wanted_headers(&self) -> &[String] {
        &self.0.wanted_headers
    }

    /// What an upstream says of its own schema has no directives.
    fn wants_authority(&self) -> bool {
        self.0.settings.schema_file.is_some()
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        Rc::new(UpstreamSession::new(Arc::clone(&self.0)))
    }

    fn run(&self) -> BoxFuture<'_, ()> {
        let (of_schema, of_health) = (Arc::clone(&self.0), Arc::clone(&self.0));
        Box::pin(async move {
            let schema = tokio::task::spawn_local(follow_schema(of_schema));
            let health = tokio::task::spawn_local(check_health(of_health));
            let _ = join(schema, health).await;
        })
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        let samples: Vec<_> = self.0.endpoints.iter().map(Endpoint::sample).collect();
        let mut metrics = self.0.counters.metrics(name, &samples);
        metrics.extend(self.0.exchange.iter().flat_map(|exchange| exchange.metrics(name)));
        metrics
    }
}
