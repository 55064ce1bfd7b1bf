//! The `[[subscriptions]]` of a plan: groups of subscribers, and which events come of which mutations.

use super::load::KEYS;
use super::reader::{Notes, Section, Value, json, json_object};
use super::request::{first_operation, headers};
use prony_model::Nanos;
use prony_model::plan::SubscriptionField as Field;
use prony_model::response::pointer::Pointer;
use prony_model::subscription::{FanOutDraft, SubscriptionDraft, SubscriptionProtocol, WAIT_MAX_DEFAULT};
use std::ops::Range;

const PROTOCOLS: [(&str, SubscriptionProtocol); 4] = [
    ("graphql-transport-ws", SubscriptionProtocol::GraphqlTransportWs),
    ("graphql-ws", SubscriptionProtocol::GraphqlWs),
    ("sse", SubscriptionProtocol::Sse),
    ("sse-single", SubscriptionProtocol::SseSingle),
];

/// A group and where it stands in the file.
pub(super) struct LocatedGroup<'a> {
    pub(super) draft: SubscriptionDraft,
    section: Section<'a>,
}

impl LocatedGroup<'_> {
    pub(super) fn span(&self, field: Field) -> Range<usize> {
        let key = match field {
            Field::Name => "name",
            Field::Target => "target",
            Field::Path => "path",
            Field::Header(at) => {
                let headers = self.section.entries("headers");
                return headers.get(at).map_or(self.section.span.clone(), |(_, value)| value.span());
            }
            Field::Clients => "clients",
            Field::Rate => "rate",
            Field::Query => "query",
            Field::Variables => "variables",
            Field::ConnectionInit => "connection_init",
            Field::FanOut => "fan_out",
        };
        self.section.span_of(key)
    }
}

pub(super) fn subscriptions<'a>(
    plan: &Section<'a>,
    common: &[(String, String)],
    is_http2: bool,
    notes: &mut Notes,
) -> Vec<LocatedGroup<'a>> {
    let items = plan.items("subscriptions").into_iter().enumerate();
    let mut groups: Vec<_> = items.filter_map(|(index, item)| group(index, item, common, notes)).collect();
    for group in &mut groups {
        group.draft.is_http2 = is_http2;
    }
    groups
}

/// True where the plan has subscribers and nothing else to do, for a time.
pub(super) fn only_listens(plan: &Section<'_>) -> bool {
    let is_load = |key: &&str| *key != "duration";
    !plan.items("subscriptions").is_empty()
        && !plan.has("requests")
        && !plan.has("scenarios")
        && !plan.given(&KEYS).iter().any(is_load)
}

fn group<'a>(
    index: usize,
    value: Value<'a>,
    common: &[(String, String)],
    notes: &mut Notes,
) -> Option<LocatedGroup<'a>> {
    let section = Section::of(value)?;
    let query = section.text("query").unwrap_or_default();
    let operation = section.text("operation_name").map(str::to_owned).or_else(|| first_operation(query));
    let default_name = operation.unwrap_or_else(|| format!("subscription {}", index + 1));
    let name = section.text("name").map_or(default_name, str::to_owned);
    // What is missing was noted; the rest is checked all the same.
    let mut draft = SubscriptionDraft::new(&name, query, section.small_count("clients").unwrap_or(1));
    draft.target = section.text("target").map(str::to_owned);
    draft.path = section.text("path").map_or(draft.path, str::to_owned);
    draft.protocol = section.word("protocol", &PROTOCOLS);
    draft.headers = headers(&section, common);
    draft.per_client = section.small_count("per_client").unwrap_or(draft.per_client);
    draft.start = section.duration("start").unwrap_or(draft.start);
    draft.rate_per_s = section.decimal("rate").unwrap_or(draft.rate_per_s);
    let variables = section.get("variables").and_then(|value| value.get_ref().as_table());
    draft.variables = variables.map(json_object).unwrap_or_default();
    draft.operation_name = section.text("operation_name").map(str::to_owned);
    draft.connection_init = section.get("connection_init").map(|value| json(value.get_ref()));
    draft.settle = section.duration("settle").unwrap_or(draft.settle);
    draft.fan_out = section.section("fan_out").and_then(|fan_out| self::fan_out(&fan_out, notes));
    if query.is_empty() && !section.has("query") {
        // Noted as missing: not as empty too.
        draft.query.push_str("{ __typename }");
    }
    Some(LocatedGroup { draft, section })
}

fn fan_out(section: &Section<'_>, notes: &mut Notes) -> Option<FanOutDraft> {
    let token = match section.text("token").map(Pointer::parse) {
        Some(Err(error)) => {
            notes.add(section.span_of("token"), error.to_string());
            None
        }
        token => token.and_then(Result::ok),
    };
    let wait_max = section.duration("wait_max").unwrap_or(WAIT_MAX_DEFAULT);
    if wait_max == Nanos::ZERO {
        notes.add(
            section.span_of("wait_max"),
            "with a `wait_max` of zero every event is missed; write for example `10s`",
        );
    }
    Some(FanOutDraft {
        request: section.text("request")?.to_owned(),
        token,
        key: section.text("key").map(str::to_owned),
        request_key: section.text("request_key").map(str::to_owned),
        wait_max,
    })
}
