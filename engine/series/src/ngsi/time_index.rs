//! The time of a row: which of the times in a notification it is.

use prony_series_store::TimeMs;

use super::{entity::Entity, json::Json, time::parse};

/// The first of those in which a time can be read: what the client has named, then `TimeInstant`, `timestamp`, the times of NGSI-LD,
/// `dateModified`; else now.
pub(crate) fn time_of(entity: &Entity<'_>, named: Option<&str>, now_ms: TimeMs) -> TimeMs {
    named
        .and_then(|name| attribute(entity, name).or_else(|| metadata(entity, name)))
        .or_else(|| attribute(entity, "TimeInstant"))
        .or_else(|| metadata(entity, "TimeInstant"))
        .or_else(|| attribute(entity, "timestamp"))
        .or_else(|| metadata(entity, "timestamp"))
        .or_else(|| latest(entity, |of| of.member("observedAt")))
        .or_else(|| latest(entity, |of| of.member("modifiedAt")))
        .or_else(|| plain(entity, "observedAt"))
        .or_else(|| plain(entity, "modifiedAt"))
        .or_else(|| attribute(entity, "dateModified"))
        .or_else(|| metadata(entity, "dateModified"))
        .unwrap_or(now_ms)
}

fn moment(value: &Json<'_>) -> Option<TimeMs> {
    let text = match value {
        Json::Object(_) => value.member("value")?.text()?,
        value => value.text()?,
    };
    parse(text)
}

fn attribute(entity: &Entity<'_>, name: &str) -> Option<TimeMs> {
    entity.attributes.iter().find(|of| of.name == name).and_then(|of| moment(&of.value))
}

/// A member that is no attribute.
fn plain(entity: &Entity<'_>, name: &str) -> Option<TimeMs> {
    entity.members.iter().find(|(of, _)| *of == name).and_then(|(_, value)| moment(value))
}

/// The latest in the attributes' metadata.
fn metadata(entity: &Entity<'_>, name: &str) -> Option<TimeMs> {
    latest(entity, |of| of.member("metadata")?.member(name))
}

fn latest<'a>(entity: &Entity<'a>, of: impl Fn(&Json<'a>) -> Option<&'a Json<'a>>) -> Option<TimeMs> {
    entity.attributes.iter().filter_map(|attribute| moment(of(&attribute.json)?)).max()
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
        for (named, attributes) in [
            (Some("mine"), format!(r#""mine":{{"value":"{at}"}},"TimeInstant":{{"value":"{other}"}}"#)),
            (
                Some("mine"),
                format!(
                    r#""a":{{"value":1,"metadata":{{"mine":{{"value":"{at}"}}}}}},"b":{{"value":1,"metadata":{{"mine":{{"value":"{other}"}}}}}}"#
                ),
            ),
            (Some("mine"), format!(r#""mine":{{"value":"no time"}},"TimeInstant":{{"value":"{at}"}}"#)),
            (None, format!(r#""TimeInstant":{{"value":"{at}"}},"timestamp":{{"value":"{other}"}}"#)),
            (
                None,
                format!(
                    r#""a":{{"value":1,"metadata":{{"TimeInstant":{{"value":"{at}"}}}}}},"timestamp":{{"value":"{other}"}}"#
                ),
            ),
            (None, format!(r#""timestamp":{{"value":"{at}"}},"a":{{"value":1,"observedAt":"{other}"}}"#)),
            (
                None,
                format!(r#""a":{{"value":1,"observedAt":"{other}"}},"b":{{"value":1,"observedAt":"{at}"}}"#),
            ),
            (None, format!(r#""a":{{"value":1,"modifiedAt":"{at}"}},"modifiedAt":"{other}""#)),
            (None, format!(r#""a":{{"value":1}},"observedAt":"{at}","modifiedAt":"{other}""#)),
            (None, format!(r#""dateModified":{{"value":"{at}"}}"#)),
            (None, format!(r#""a":{{"value":1,"metadata":{{"dateModified":{{"value":"{at}"}}}}}}"#)),
        ] {
            let body = format!(r#"{{"data":[{{"id":"x","type":"T",{attributes}}}]}}"#);
            let arena = Arena::new();
            let json = Json::read(body.as_bytes(), &arena).unwrap();
            let entities = entity::entities(&json).unwrap();
            assert_eq!(time_of(&entities[0], named, 7), parse(at).unwrap(), "{attributes}");
        }
        let arena = Arena::new();
        let json = Json::read(br#"{"data":[{"id":"x","type":"T"}]}"#, &arena).unwrap();
        assert_eq!(time_of(&entity::entities(&json).unwrap()[0], None, 7), 7);
    }
}
