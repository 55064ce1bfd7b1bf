//! What GraphQL's documentation says of entities and their rows. Texts that types have in common are shared by them.

use super::{model::ServedType, names::ServedAttribute};
use crate::query::parameters::Method;

pub(super) const ID: &str = "The id of the entity.";
pub(super) const TYPE: &str = "The type of the entity, as it was notified.";
pub(super) const SERVICE_PATH: &str = "The service path under which the entity was notified.";
pub(super) const FIRST_TIME: &str = "The time of its first row.";
pub(super) const LAST_TIME: &str = "The time of its last row.";
pub(super) const FROM: &str = "Not before this time, as `2026-01-31T12:00:00Z`.";
pub(super) const TO: &str = "Not after this time.";
pub(super) const LAST: &str = "The last so many of them, in the order of their times.";
pub(super) const PERIOD: &str = "One for each such period; one of all where none is given.";
pub(super) const ROWS: &str =
    "In the order of their times, from `from` to `to`, both included; with `last` the last of them.";
pub(super) const ROW: &str = "What was notified of an entity at one time.";
pub(super) const TIME: &str = "The time of the row.";
pub(super) const ONE: &str = "The entity with this id; without a service path the first that was notified.";
pub(super) const EVENTS: &str = "Each row as it is notified, once it is durable.";
pub(super) const POINT: &str = "The value of an attribute at one time.";
pub(super) const VALUE: &str = "The value, null where there was none.";
pub(super) const METADATA: &str = "What was notified with the value.";
pub(super) const TIME_ATTRIBUTE: &str =
    "What gave the time of the row, as `TimeInstant` or `temperature.observedAt`.";
pub(super) const SUMMARY: &str =
    "Of all values of a period that are not null; periods without any are left out.";
pub(super) const SUMMARY_FROM: &str = "When the period begins; without a period the time of the first row.";
pub(super) const PERIODS: &str = "Of the calendar, in UTC.";
pub(super) const TYPES: &str = "Which types of entities there are, of all tenants.";
pub(super) const OF_TYPE: &str = "A type of entities that have series.";
pub(super) const TENANT: &str = "Whose they are; empty without a tenant.";
pub(super) const TYPE_NAME: &str = "The type, as it was notified.";
pub(super) const ENTITY_COUNT: &str = "How many entities of the type there are.";
pub(super) const ATTRIBUTES: &str = "Its attributes, in the order in which they came.";
pub(super) const ATTRIBUTE: &str = "An attribute of a type, with the type that it was first given.";
pub(super) const ATTRIBUTE_NAME: &str = "The attribute, as it was first notified.";
pub(super) const ATTRIBUTE_TYPE: &str = "The type that it was first given.";

/// Of the object type.
pub(super) fn of_entity(of: &ServedType) -> String {
    format!("An entity of {}, under one service path.", of_type(of))
}

/// Of the field that lists them.
pub(super) fn of_list(of: &ServedType) -> String {
    format!("Entities of {} by their ids, one for each service path.", of_type(of))
}

fn of_type(of: &ServedType) -> String {
    match &*of.tenant {
        "" => format!("type `{}`", of.name),
        tenant => format!("type `{}` of tenant `{tenant}`", of.name),
    }
}

/// Of the list of an attribute's values.
pub(super) fn of_values(attribute: &ServedAttribute) -> String {
    format!("The values of `{}` with their times.", attribute.name)
}

/// Of the list of their summaries.
pub(super) fn of_summaries(attribute: &ServedAttribute) -> String {
    format!("What the values of `{}` come to, by period or all together.", attribute.name)
}

/// Of an attribute in a row.
pub(super) fn of_value(attribute: &ServedAttribute) -> String {
    format!("The value of `{}`, null where there was none.", attribute.name)
}

pub(super) const fn of_method(method: Method) -> &'static str {
    match method {
        Method::Count => "How many values there are.",
        Method::Sum => "Their sum.",
        Method::Avg => "Their average.",
        Method::Min => "The least value.",
        Method::Max => "The greatest value.",
        Method::First => "The first value by time.",
        Method::Last => "The last value by time.",
        Method::StdDev => "The standard deviation of a sample; null of one value.",
        Method::Percentile(_) => "A percentile, between two values where it lies there.",
        Method::TimeWeightedAvg => {
            "The average by the time for which each value held: until the next one, and the last until the end of its period or `to`."
        }
    }
}
