//! Metadata of attributes, as they were sent: `metadata` of NGSI-v2, and what an attribute of NGSI-LD has beside its type and its value.

use super::{attribute_type::AttributeType, entity::AttributeValue, json::Json};

/// Where NGSI-v2 has them.
const METADATA: &str = "metadata";

/// An object as JSON text; none where the attribute has no metadata.
pub(crate) fn of(attribute: &AttributeValue<'_>) -> Option<String> {
    let Json::Object(members) = attribute.json else { return None };
    if let Some(Json::Object(own)) = attribute.json.member(METADATA) {
        return (!own.is_empty()).then(|| Json::Object(own).to_text());
    }
    let is_metadata = |name: &str| name != "type" && name != METADATA && !AttributeType::is_value(name);
    let others: Vec<(&str, Json<'_>)> =
        members.iter().filter(|(name, _)| is_metadata(name)).copied().collect();
    (!others.is_empty()).then(|| Json::Object(&others).to_text())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{entity, json::Arena},
        *,
    };

    #[test]
    fn metadata_are_what_stands_beside_the_value() {
        for (attribute, metadata) in [
            (r#"{"type":"Number","value":1}"#, None),
            (r#"{"type":"Number","value":1,"metadata":{}}"#, None),
            (r#"{"type":"Number","value":1,"metadata":null}"#, None),
            (
                r#"{"value":1,"metadata":{"unité":{"type":"Text","value":"°C \"é\""},"n":{"value":1.50}}}"#,
                Some(r#"{"unité":{"type":"Text","value":"°C \"é\""},"n":{"value":1.5}}"#),
            ),
            (
                r#"{"type":"Property","value":1,"unitCode":"CEL","observedAt":"2024-05-06T07:08:09Z"}"#,
                Some(r#"{"unitCode":"CEL","observedAt":"2024-05-06T07:08:09Z"}"#),
            ),
            (
                r#"{"type":"Relationship","object":"urn:x","since":{"type":"Property","value":2}}"#,
                Some(r#"{"since":{"type":"Property","value":2}}"#),
            ),
        ] {
            let body = format!(r#"{{"data":[{{"id":"x","type":"T","a":{attribute}}}]}}"#);
            let arena = Arena::new();
            let json = Json::read(body.as_bytes(), &arena).unwrap();
            let entities = entity::entities(&json).unwrap();
            assert_eq!(of(&entities[0].attributes[0]).as_deref(), metadata, "{attribute}");
        }
    }
}
