//! Clients that subscribe while other users publish: what a plan says of them, and the checked form.
//!
//! Each client opens one connection (over `sse` one for each subscription), subscribes, and stays until the run's load ends.
//! How receipts are matched with what was published is in `prony-load`; what is counted is in [`tally`] and [`figures`].

pub(crate) mod check;
pub mod figures;
pub mod tally;
pub mod token;

use crate::data::template::{SlotSource, Template};
use crate::program::RunShare;
use crate::response::pointer::Pointer;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Groups of subscribers in one plan: each has histograms of its own.
pub const SUBSCRIPTIONS_MAX: usize = 20;
/// Subscriptions of one group: more than this many identical listeners show nothing new.
pub const SUBSCRIBERS_MAX: u64 = 1_000_000;
/// Unless said otherwise: how long an operation that was sent may take to be in force at the target. GraphQL over
/// WebSocket confirms no subscription.
pub const SETTLE_DEFAULT: Nanos = Nanos::from_secs(1);
/// Unless said otherwise: what has not come so long after the acknowledgement is missed.
pub const WAIT_MAX_DEFAULT: Nanos = Nanos::from_secs(10);
/// Unless said otherwise: connections that are opened in a second.
pub const RATE_DEFAULT: f64 = 1_000.0;

/// What connecting may take until the load begins, where a scenario does not say when it does.
const CONNECT_SLACK: Nanos = Nanos::from_millis(500);

/// How operations and events travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubscriptionProtocol {
    /// The WebSocket sub-protocol of the npm package graphql-ws.
    GraphqlTransportWs,
    /// The older one, of subscriptions-transport-ws.
    GraphqlWs,
    /// Server-sent events in distinct connections mode: a connection for each subscription, over HTTP/2 a stream of its
    /// client's.
    Sse,
    /// Server-sent events in single connection mode: one stream for all subscriptions of a client, which are started over
    /// another connection.
    SseSingle,
}

impl SubscriptionProtocol {
    /// As plans write it; of WebSockets also the name of the sub-protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GraphqlTransportWs => "graphql-transport-ws",
            Self::GraphqlWs => "graphql-ws",
            Self::Sse => "sse",
            Self::SseSingle => "sse-single",
        }
    }

    pub const fn is_websocket(self) -> bool {
        matches!(self, Self::GraphqlTransportWs | Self::GraphqlWs)
    }
}

/// A group of subscribers as it was asked for; slots are not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct SubscriptionDraft {
    pub name: String,
    /// The name of its target; the plan's first where there is none.
    pub target: Option<String>,
    pub path: String,
    pub protocol: SubscriptionProtocol,
    /// As the plan's options of the wire say.
    pub is_http2: bool,
    pub headers: Vec<(String, String)>,
    pub clients: u32,
    pub per_client: u32,
    /// When the first connects, from the start of the run.
    pub start: Nanos,
    /// Clients that connect in a second.
    pub rate_per_s: f64,
    pub query: String,
    pub variables: Map<String, Value>,
    pub operation_name: Option<String>,
    /// The payload of `connection_init`.
    pub connection_init: Option<Value>,
    pub settle: Nanos,
    pub fan_out: Option<FanOutDraft>,
}

impl SubscriptionDraft {
    /// One subscription of each client to this, over graphql-transport-ws.
    pub fn new(name: &str, query: &str, clients: u32) -> Self {
        Self {
            name: name.to_owned(),
            target: None,
            path: "/graphql".to_owned(),
            protocol: SubscriptionProtocol::GraphqlTransportWs,
            is_http2: false,
            headers: Vec::new(),
            clients,
            per_client: 1,
            start: Nanos::ZERO,
            rate_per_s: RATE_DEFAULT,
            query: query.to_owned(),
            variables: Map::new(),
            operation_name: None,
            connection_init: None,
            settle: SETTLE_DEFAULT,
            fan_out: None,
        }
    }

    /// Those on which events come.
    pub fn connections(&self) -> u64 {
        match self.protocol {
            SubscriptionProtocol::Sse if !self.is_http2 => self.subscriptions(),
            _ => u64::from(self.clients),
        }
    }

    /// Subscriptions on one connection.
    pub const fn subscriptions_each(&self) -> u32 {
        match self.protocol {
            SubscriptionProtocol::Sse if !self.is_http2 => 1,
            _ => self.per_client,
        }
    }

    /// Those of a part of the run, with those over which only orders go.
    pub fn sockets(&self, share: RunShare) -> u64 {
        let connections = share.below(self.connections());
        match self.protocol {
            SubscriptionProtocol::SseSingle => 2 * connections,
            _ => connections,
        }
    }

    pub fn subscriptions(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.per_client)
    }

    /// When the connection of this number begins.
    pub fn due(&self, connection: u64) -> Nanos {
        self.start.plus(Nanos::from_secs_f64(connection as f64 / self.rate_per_s))
    }

    /// When the last subscription should be in force, if connecting is quick.
    pub fn ready(&self) -> Nanos {
        self.due(self.connections().saturating_sub(1)).plus(CONNECT_SLACK).plus(self.settle)
    }
}

/// Which events come of which mutations.
#[derive(Debug, Clone, PartialEq)]
pub struct FanOutDraft {
    /// The name of the mutation's request.
    pub request: String,
    /// Where the mutation's token stands in an event; anywhere in it where there is none.
    pub token: Option<Pointer>,
    /// A mutation is for those subscriptions for which this text is the same; for all of them where there is none.
    pub key: Option<String>,
    /// The text as the mutation's values make it, where it is not [`Self::key`].
    pub request_key: Option<String>,
    pub wait_max: Nanos,
}

/// A checked group of subscribers.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub draft: SubscriptionDraft,
    /// Index into the plan's targets.
    pub target: usize,
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// The operation: `{"query":…,"variables":…}`.
    pub operation: Template,
    pub connection_init: Option<Template>,
    pub fan_out: Option<FanOut>,
}

impl Subscription {
    pub fn name(&self) -> &str {
        &self.draft.name
    }

    /// The variables that its subscribers take values of, each once. All templates of one subscription see the same.
    pub fn variables(&self) -> Vec<usize> {
        let templates = [&self.path, &self.operation].into_iter();
        let templates = templates
            .chain(&self.connection_init)
            .chain(self.headers.iter().map(|(_, value)| value))
            .chain(self.fan_out.as_ref().map(|fan_out| &fan_out.key));
        let mut variables: Vec<_> = templates.flat_map(Template::sources).map(variable_of).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }
}

fn variable_of(source: SlotSource) -> usize {
    source.variable
}

/// A checked [`FanOutDraft`].
#[derive(Debug, Clone)]
pub struct FanOut {
    /// Index into the plan's requests.
    pub request: usize,
    /// Index into the plan's variables: the token that each sending of the request has for itself.
    pub variable: usize,
    pub token: Option<Pointer>,
    /// Of a subscription; empty where every mutation is for all.
    pub key: Template,
    /// Of a mutation.
    pub request_key: Template,
    pub wait_max: Nanos,
}
