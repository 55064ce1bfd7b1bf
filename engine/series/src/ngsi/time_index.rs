//! The time of a row: which of the times in a notification it is.

use std::borrow::Cow;

use prony_series_store::TimeMs;

use super::{entity::Entity, json::Json, time::parse};

/// The time of a row, and what gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowTime<'a> {
    pub(crate) ms: TimeMs,
    pub(crate) source: TimeSource<'a>,
}

/// What gave a row its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeSource<'a> {
    /// An attribute, or a member of the entity.
    Attribute(&'a str),
    /// A metadatum of an attribute.
    Metadatum { attribute: &'a str, name: &'a str },
    /// Nothing in the entity: it is when the row came, or what its line or its sample says.
    Other,
}

impl<'a> TimeSource<'a> {
    /// As queries of NGSI name metadata: `temperature.observedAt`. It is empty where nothing in the entity gave the time.
    pub(crate) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Attribute(name) => Cow::Borrowed(name),
            Self::Metadatum { attribute, name } => Cow::Owned(format!("{attribute}.{name}")),
            Self::Other => Cow::Borrowed(""),
        }
    }
}

/// The first of those in which a time can be read: what the client has named, then `TimeInstant`, `timestamp`, the times of NGSI-LD,
/// `dateModified`; else now.
pub(crate) fn time_of<'a>(entity: &Entity<'a>, named: Option<&'a str>, now_ms: TimeMs) -> RowTime<'a> {
    named
        .and_then(|name| attribute(entity, name).or_else(|| metadata(entity, name)))
        .or_else(|| attribute(entity, "TimeInstant"))
        .or_else(|| metadata(entity, "TimeInstant"))
        .or_else(|| attribute(entity, "timestamp"))
        .or_else(|| metadata(entity, "timestamp"))
        .or_else(|| latest(entity, "observedAt", |of| of.member("observedAt")))
        .or_else(|| latest(entity, "modifiedAt", |of| of.member("modifiedAt")))
        .or_else(|| plain(entity, "observedAt"))
        .or_else(|| plain(entity, "modifiedAt"))
        .or_else(|| attribute(entity, "dateModified"))
        .or_else(|| metadata(entity, "dateModified"))
        .unwrap_or(RowTime { ms: now_ms, source: TimeSource::Other })
}

fn moment(value: &Json<'_>) -> Option<TimeMs> {
    let text = match value {
        Json::Object(_) => value.member("value")?.text()?,
        value => value.text()?,
    };
    parse(text)
}

fn attribute<'a>(entity: &Entity<'a>, name: &'a str) -> Option<RowTime<'a>> {
    let ms = entity.attributes.iter().find(|of| of.name == name).and_then(|of| moment(&of.value))?;
    Some(RowTime { ms, source: TimeSource::Attribute(name) })
}

/// A member that is no attribute.
fn plain<'a>(entity: &Entity<'a>, name: &'a str) -> Option<RowTime<'a>> {
    let ms = entity.members.iter().find(|(of, _)| *of == name).and_then(|(_, value)| moment(value))?;
    Some(RowTime { ms, source: TimeSource::Attribute(name) })
}

/// The latest in the attributes' metadata.
fn metadata<'a>(entity: &Entity<'a>, name: &'a str) -> Option<RowTime<'a>> {
    latest(entity, name, |of| of.member("metadata")?.member(name))
}

/// The latest that the attributes have under a name; of the first of those that have the same.
fn latest<'a>(
    entity: &Entity<'a>,
    name: &'a str,
    of: impl Fn(&Json<'a>) -> Option<&'a Json<'a>>,
) -> Option<RowTime<'a>> {
    let mut latest: Option<RowTime<'a>> = None;
    for attribute in &entity.attributes {
        let Some(ms) = of(&attribute.json).and_then(moment) else { continue };
        if latest.is_none_or(|latest| latest.ms < ms) {
            let source = TimeSource::Metadatum { attribute: attribute.name, name };
            latest = Some(RowTime { ms, source });
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::{
        super::{entity, json::Arena},
        *,
    };

    #[test]
    fn the_first_time_that_can_be_read_counts() {
        let (at, other) = ("2024-05-06T00:00:00Z", "2023-01-01T00:00:00Z");
        for (named, source, attributes) in [
            (
                Some("mine"),
                "mine",
                format!(r#""mine":{{"value":"{at}"}},"TimeInstant":{{"value":"{other}"}}"#),
            ),
            (
                Some("mine"),
                "a.mine",
                format!(
                    r#""a":{{"value":1,"metadata":{{"mine":{{"value":"{at}"}}}}}},"b":{{"value":1,"metadata":{{"mine":{{"value":"{other}"}}}}}}"#
                ),
            ),
            (
                Some("mine"),
                "TimeInstant",
                format!(r#""mine":{{"value":"no time"}},"TimeInstant":{{"value":"{at}"}}"#),
            ),
            (
                None,
                "TimeInstant",
                format!(r#""TimeInstant":{{"value":"{at}"}},"timestamp":{{"value":"{other}"}}"#),
            ),
            (
                None,
                "a.TimeInstant",
                format!(
                    r#""a":{{"value":1,"metadata":{{"TimeInstant":{{"value":"{at}"}}}}}},"timestamp":{{"value":"{other}"}}"#
                ),
            ),
            (
                None,
                "timestamp",
                format!(r#""timestamp":{{"value":"{at}"}},"a":{{"value":1,"observedAt":"{other}"}}"#),
            ),
            (
                None,
                "b.observedAt",
                format!(
                    r#""a":{{"value":1,"observedAt":"{other}"}},"b":{{"value":1,"observedAt":"{at}"}},"c":{{"value":1,"observedAt":"{at}"}}"#
                ),
            ),
            (
                None,
                "a.modifiedAt",
                format!(r#""a":{{"value":1,"modifiedAt":"{at}"}},"modifiedAt":"{other}""#),
            ),
            (None, "observedAt", format!(r#""a":{{"value":1}},"observedAt":"{at}","modifiedAt":"{other}""#)),
            (None, "dateModified", format!(r#""dateModified":{{"value":"{at}"}}"#)),
            (
                None,
                "a.dateModified",
                format!(r#""a":{{"value":1,"metadata":{{"dateModified":{{"value":"{at}"}}}}}}"#),
            ),
        ] {
            let body = format!(r#"{{"data":[{{"id":"x","type":"T",{attributes}}}]}}"#);
            let arena = Arena::new();
            let json = Json::read(body.as_bytes(), &arena).unwrap();
            let entities = entity::entities(&json).unwrap();
            let time = time_of(&entities[0], named, 7);
            assert_eq!((time.ms, &*time.source.text()), (parse(at).unwrap(), source), "{attributes}");
        }
        let arena = Arena::new();
        let json = Json::read(br#"{"data":[{"id":"x","type":"T"}]}"#, &arena).unwrap();
        let time = time_of(&entity::entities(&json).unwrap()[0], None, 7);
        assert_eq!(time, RowTime { ms: 7, source: TimeSource::Other });
    }
}
