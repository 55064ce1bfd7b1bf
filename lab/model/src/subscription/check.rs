//! The check of one group of subscribers: all its faults, or the form with its slots read.

use super::{FanOut, FanOutDraft, SUBSCRIBERS_MAX, Subscription, SubscriptionDraft, SubscriptionProtocol};
use crate::data::encoding::Encoding;
use crate::data::template::Template;
use crate::data::variable::{Order, Variable};
use crate::plan::request::{Request, graphql_body, read_header};
use crate::plan::target::NamedTarget;
use crate::plan::wire::{Protocol, WireOptions};
use crate::plan::{Fault, Place, SubscriptionField as Field};
use serde_json::Value;

/// What a group is checked against.
pub(crate) struct Context<'a> {
    pub(crate) variables: &'a [Variable],
    pub(crate) targets: &'a [NamedTarget],
    pub(crate) wire: &'a WireOptions,
    pub(crate) requests: &'a [Request],
}

impl SubscriptionDraft {
    pub(crate) fn check(
        &self,
        index: usize,
        context: &Context<'_>,
        faults: &mut Vec<Fault>,
    ) -> Option<Subscription> {
        let before = faults.len();
        let mut notes = CheckNotes { index, faults };
        self.check_counts(&mut notes);
        let variables = context.variables;
        let target = self.find_target(context, &mut notes);
        let path = notes.taken(Field::Path, Template::read(&self.path, Encoding::Target, variables));
        let between_slots = Template::between_slots(&self.path);
        if !self.path.starts_with(['/', '$']) || between_slots.contains([' ', '#']) {
            let message = format!("path `{}` must start with `/` and hold neither spaces nor `#`", self.path);
            notes.add(Field::Path, message);
        }
        let headers = self.read_headers(variables, &mut notes);
        let operation = self.read_operation(variables, &mut notes);
        let init = self.connection_init.as_ref();
        let connection_init =
            init.map(|payload| notes.taken(Field::ConnectionInit, Template::read_json(payload, variables)));
        if init.is_some() && !self.protocol.is_websocket() {
            let message = "`connection_init` belongs to WebSockets; over SSE write `headers`";
            notes.add(Field::ConnectionInit, message);
        }
        let fan_out = self.fan_out.as_ref().and_then(|fan_out| fan_out.check(context, &mut notes));
        let subscription = Subscription {
            draft: Self { is_http2: context.wire.protocol == Protocol::Http2, ..self.clone() },
            target: target.unwrap_or(0),
            path,
            headers,
            operation,
            connection_init,
            fan_out,
        };
        self.check_values(&subscription, variables, &mut notes);
        (faults.len() == before).then_some(subscription)
    }

    fn check_counts(&self, notes: &mut CheckNotes<'_>) {
        if self.clients == 0 || self.per_client == 0 {
            notes.add(
                Field::Clients,
                "there is nobody to subscribe; write at least one client with one subscription",
            );
        }
        if self.subscriptions() > SUBSCRIBERS_MAX {
            let count = self.subscriptions();
            notes.add(
                Field::Clients,
                format!("{count} subscriptions are more than the limit of {SUBSCRIBERS_MAX}"),
            );
        }
        if !self.rate_per_s.is_finite() || self.rate_per_s <= 0.0 {
            notes.add(Field::Rate, "`rate` must be above 0: so many clients connect in a second");
        }
        if self.query.trim().is_empty() {
            notes.add(
                Field::Query,
                "the query is empty; write for example `subscription { onChange { id } }`",
            );
        }
    }

    fn find_target(&self, context: &Context<'_>, notes: &mut CheckNotes<'_>) -> Option<usize> {
        let found = match &self.target {
            None => Some(0),
            Some(name) => context.targets.iter().position(|known| known.name == *name),
        };
        let Some(target) = found else {
            let known: Vec<_> = context.targets.iter().map(|target| target.name.as_str()).collect();
            let name = self.target.as_deref().unwrap_or_default();
            notes.add(Field::Target, format!("unknown target `{name}`; targets are: {}", known.join(", ")));
            return None;
        };
        let is_tls = context.targets.get(target).is_some_and(|named| named.target.is_tls());
        if let Some(message) = self.http2_fault(context.wire.protocol, is_tls) {
            notes.add(Field::Target, message);
        }
        Some(target)
    }

    /// Why the group cannot do what the plan asks of HTTP/2.
    fn http2_fault(&self, asked: Protocol, is_tls: bool) -> Option<&'static str> {
        match (asked, self.protocol) {
            (Protocol::Http1, _) | (Protocol::Http2, SubscriptionProtocol::Sse) => None,
            (Protocol::Auto, _) if !is_tls => None,
            (Protocol::Auto, SubscriptionProtocol::Sse) => Some(
                "whether the streams of a client share its connection is known only when the target has chosen; \
                 write the plan's `protocol` as \"http1\" or \"http2\"",
            ),
            (_, SubscriptionProtocol::SseSingle) => Some(
                "single connection mode is spoken over HTTP/1.1, and the plan's `protocol` asks for HTTP/2, where the \
                 streams of a client share its connection anyway; subscribe over \"sse\", or write `protocol = \"http1\"`",
            ),
            (_, SubscriptionProtocol::GraphqlTransportWs | SubscriptionProtocol::GraphqlWs) => Some(
                "WebSockets are spoken over HTTP/1.1 (RFC 8441 is not), and the plan's `protocol` asks for HTTP/2; \
                 subscribe over \"sse\", or write `protocol = \"http1\"`",
            ),
        }
    }

    fn read_headers(&self, variables: &[Variable], notes: &mut CheckNotes<'_>) -> Vec<(String, Template)> {
        let mut headers = Vec::new();
        for (at, (name, value)) in self.headers.iter().enumerate() {
            let value = read_header(name, value, variables);
            headers.push((name.clone(), notes.taken(Field::Header(at), value)));
        }
        headers
    }

    /// As it stands in a message or in a body.
    fn read_operation(&self, variables: &[Variable], notes: &mut CheckNotes<'_>) -> Template {
        let given = (!self.variables.is_empty()).then(|| {
            let read = Template::read_json(&Value::Object(self.variables.clone()), variables);
            notes.taken(Field::Variables, read)
        });
        graphql_body(&self.query, given.as_ref(), self.operation_name.as_deref())
    }

    fn check_values(&self, subscription: &Subscription, variables: &[Variable], notes: &mut CheckNotes<'_>) {
        for variable in subscription.variables().into_iter().map(|index| &variables[index]) {
            let name = &variable.name;
            if variable.is_captured() {
                notes.add(
                    Field::Variables,
                    format!("`${{{name}}}` is captured from answers, and a subscriber has none; use a variable of the plan"),
                );
            } else if variable.token_prefix().is_some() {
                notes.add(
                    Field::Variables,
                    format!("`${{{name}}}` is a token, which only requests have; a subscriber takes another variable"),
                );
            }
            let rows = variable.feeder().filter(|feeder| feeder.order == Order::Unique).map(|f| f.rows.len());
            if let Some(rows) = rows.filter(|rows| (*rows as u64) < self.subscriptions()) {
                let needed = self.subscriptions();
                notes.add(
                    Field::Variables,
                    format!(
                        "`{name}` has {rows} rows and gives none twice, but there are {needed} subscriptions; \
                         add rows, or write `order = \"sequential\"`"
                    ),
                );
            }
        }
    }
}

impl FanOutDraft {
    fn check(&self, context: &Context<'_>, notes: &mut CheckNotes<'_>) -> Option<FanOut> {
        let variables = context.variables;
        let key = self.key.as_deref().unwrap_or_default();
        if self.request_key.is_some() && self.key.is_none() {
            notes.add(Field::FanOut, "`request_key` has no meaning without `key`, which subscriptions have");
        }
        let key = notes.taken(Field::FanOut, Template::read(key, Encoding::Plain, variables));
        let request_key = match &self.request_key {
            Some(text) => notes.taken(Field::FanOut, Template::read(text, Encoding::Plain, variables)),
            None => key.clone(),
        };
        let Some(request) = context.requests.iter().position(|request| request.name == self.request) else {
            let known: Vec<_> = context.requests.iter().map(|request| request.name.as_str()).collect();
            let known = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
            notes.add(Field::FanOut, format!("unknown request `{}`; requests are: {known}", self.request));
            return None;
        };
        if context.wire.pipeline > 1 {
            notes.add(Field::FanOut, "which of several answers in a pipeline acknowledges which mutation is not told; write `pipeline = 1`");
        }
        let used = context.requests[request].variables();
        for source in request_key.sources().into_iter().filter(|source| !used.contains(&source.variable)) {
            let (variable, request) = (&variables[source.variable].name, &self.request);
            notes.add(
                Field::FanOut,
                format!(
                    "the key takes `${{{variable}}}`, which `{request}` does not; write `request_key` with a variable that it does"
                ),
            );
        }
        let tokens: Vec<_> =
            used.into_iter().filter(|index| variables[*index].token_prefix().is_some()).collect();
        match tokens.as_slice() {
            [variable] => Some(FanOut {
                request,
                variable: *variable,
                token: self.token.clone(),
                key,
                request_key,
                wait_max: self.wait_max,
            }),
            [] => {
                notes.add(
                    Field::FanOut,
                    format!(
                        "`{}` has no token by which its events could be known; add `variables.token = {{ token = \"t-\" }}` \
                         and put `${{token}}` where the event shows it",
                        self.request
                    ),
                );
                None
            }
            _ => {
                notes.add(Field::FanOut, format!("`{}` has several tokens; leave one", self.request));
                None
            }
        }
    }
}

/// Collects what is wrong with one group.
struct CheckNotes<'a> {
    index: usize,
    faults: &'a mut Vec<Fault>,
}

impl CheckNotes<'_> {
    fn add(&mut self, field: Field, message: impl Into<String>) {
        self.faults.push(Fault { place: Place::Subscription(self.index, field), message: message.into() });
    }

    fn taken<T: Default>(&mut self, field: Field, read: Result<T, Vec<String>>) -> T {
        read.unwrap_or_else(|messages| {
            for message in messages {
                self.add(field, message);
            }
            T::default()
        })
    }
}
