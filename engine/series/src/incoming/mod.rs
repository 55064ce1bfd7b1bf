//! Ways to write beside NGSI: `InfluxDB`'s line protocol, and Prometheus' remote write. Both become entities as a notification has them.
//! Knows neither HTTP nor the store's files.

pub(crate) mod lines;
pub(crate) mod remote_write;

use crate::ngsi::{
    entity::{AttributeValue, Entity},
    json::Json,
    time_index::TimeSource,
};

/// A row that comes with its time.
#[derive(Debug)]
pub(crate) struct TimedEntity<'a> {
    pub(crate) entity: Entity<'a>,
    /// None where it is that of the request.
    pub(crate) time_ms: Option<i64>,
    pub(crate) time_source: TimeSource<'a>,
}

/// An attribute of a declared type.
fn attribute<'a>(name: &'a str, declared: &'static str, value: Json<'a>) -> AttributeValue<'a> {
    AttributeValue { name, declared: Some(declared), value, json: Json::Null }
}

/// The id of whoever has these names and values: `a=1,b=2`, by name, with a backslash before `,`, `=` and `\\` in them; `-` without any.
fn id_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut pairs: Vec<(&str, &str)> = pairs.collect();
    pairs.sort_unstable();
    let escaped = |text: &str| text.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
    let part = |(name, value): &(&str, &str)| format!("{}={}", escaped(name), escaped(value));
    let parts: Vec<String> = pairs.iter().map(part).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(",") }
}

/// A number, and null in the place of one that JSON does not have.
fn number<'a>(value: f64) -> Json<'a> {
    if value.is_finite() { Json::Double(value) } else { Json::Null }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_different_pairs_differ() {
        assert_eq!(id_of([("b", "2"), ("a", "1")].into_iter()), "a=1,b=2");
        assert_eq!(id_of([("a", "1,b=2")].into_iter()), "a=1\\,b\\=2");
        assert_ne!(id_of([("a", "1\\,b=2")].into_iter()), id_of([("a", "1\\"), ("b", "2")].into_iter()));
        assert_eq!(id_of(std::iter::empty()), "-");
    }
}
