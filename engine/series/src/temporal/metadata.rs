//! Metadata that are kept with a value, as members of its instance. What NGSI-v2 has called them with other types are properties here.

use crate::{
    ngsi::{
        attribute_type::AttributeType,
        json::{Arena, Json},
    },
    query::shape::{Output, put, text_member},
};

/// Writes them behind the members that the instance has; `time_name` is what its time is called.
pub(super) fn write(out: &mut dyn Output, kept: &str, time_name: &str) {
    let arena = Arena::new();
    let Ok(Json::Object(members)) = Json::read(kept.as_bytes(), &arena) else { return };
    for (name, metadatum) in members {
        let is_there = [time_name, "type"].contains(name) || AttributeType::is_value(name);
        if is_there {
            continue;
        }
        text_member(out, ",", name);
        put(out, ":");
        let is_typed = metadatum.member("type").and_then(Json::text).and_then(AttributeType::named).is_some();
        match metadatum.member("value") {
            Some(value) if !is_typed => {
                put(out, "{\"type\":\"Property\",\"value\":");
                value.write(out.part());
                put(out, "}");
            }
            _ => metadatum.write(out.part()),
        }
    }
}
