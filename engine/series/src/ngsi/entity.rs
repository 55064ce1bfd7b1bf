//! Notifications: entities with their attributes, as NGSI-v2 or NGSI-LD has them, and what is wrong with a body.

use super::{attribute_type::AttributeType, json::Json};

/// The body of a notification is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFault {
    #[error("Request body is not valid JSON")]
    NoJson,
    /// In the words of JSON Schema.
    #[error("{0}")]
    Schema(String),
}

/// An entity as it was sent.
#[derive(Debug, PartialEq)]
pub(crate) struct Entity<'a> {
    pub(crate) id: &'a str,
    pub(crate) type_name: &'a str,
    pub(crate) attributes: Vec<AttributeValue<'a>>,
    /// All members, also those that are no attributes.
    pub(crate) members: &'a [(&'a str, Json<'a>)],
    /// It had attributes, and none of them is left.
    pub(crate) is_emptied: bool,
}

/// An attribute of an entity.
#[derive(Debug, PartialEq)]
pub(crate) struct AttributeValue<'a> {
    pub(crate) name: &'a str,
    /// None where it was not given.
    pub(crate) declared: Option<&'a str>,
    pub(crate) value: Json<'a>,
    /// The whole attribute.
    pub(crate) json: Json<'a>,
}

/// Members of NGSI-LD that are no attributes. All but the first three are texts or lists.
pub(crate) const NO_ATTRIBUTES: [&str; 7] =
    ["id", "type", "@context", "observedAt", "modifiedAt", "createdAt", "scope"];

/// Members that are no attributes of NGSI-v2 either.
const NEVER_ATTRIBUTES: [&str; 3] = ["id", "type", "@context"];

/// The entities of a body.
pub(crate) fn entities<'a>(body: &Json<'a>) -> Result<Vec<Entity<'a>>, BodyFault> {
    let Json::Object(_) = body else {
        return Err(BodyFault::Schema(format!("{} is not of type 'object'", repr(body))));
    };
    let Some(data) = body.member("data") else {
        return Err(BodyFault::Schema("'data' is a required property".to_owned()));
    };
    let Json::List(data) = data else {
        return Err(BodyFault::Schema(format!("{} is not of type 'array' - 'data'", repr(data))));
    };
    data.iter().enumerate().map(|(place, entity)| read(place, entity)).collect()
}

/// As Python writes it, cut where it is long.
fn repr(value: &Json<'_>) -> String {
    const SHOWN_CHARS: usize = 200;
    let list = [*value];
    let wrapped = Json::List(&list).python();
    wrapped[1..wrapped.len() - 1].chars().take(SHOWN_CHARS).collect()
}

fn read<'a>(place: usize, entity: &Json<'a>) -> Result<Entity<'a>, BodyFault> {
    let Json::Object(members) = *entity else {
        return Err(BodyFault::Schema(format!("{} is not of type 'object' - 'data.{place}'", repr(entity))));
    };
    let text = |name: &str| -> Result<&'a str, BodyFault> {
        let Some(value) = entity.member(name) else {
            return Err(BodyFault::Schema(format!("'{name}' is a required property - 'data.{place}'")));
        };
        value.text().ok_or_else(|| {
            BodyFault::Schema(format!("{} is not of type 'string' - 'data.{place}.{name}'", repr(value)))
        })
    };
    let (id, type_name) = (text("id")?, text("type")?);
    let (mut attributes, mut dropped) = (Vec::with_capacity(members.len()), 0);
    for (name, value) in members {
        if NO_ATTRIBUTES.contains(name) {
            // Where one is an object with a value, it is an attribute of NGSI-v2 that is called so.
            let may_be = !NEVER_ATTRIBUTES.contains(name) && matches!(value, Json::Object(_));
            attributes.extend(may_be.then(|| attribute(name, *value)).flatten());
            continue;
        }
        let Json::Object(_) = value else {
            let what = repr(value);
            return Err(BodyFault::Schema(format!("{what} is not of type 'object' - 'data.{place}.{name}'")));
        };
        match attribute(name, *value) {
            Some(attribute) => attributes.push(attribute),
            None => dropped += 1,
        }
    }
    let is_emptied = attributes.is_empty() && dropped > 0;
    Ok(Entity { id, type_name, attributes, members, is_emptied })
}

/// None where there is neither a type nor a value.
fn attribute<'a>(name: &'a str, json: Json<'a>) -> Option<AttributeValue<'a>> {
    let declared = json.member("type").and_then(Json::text).filter(|declared| !declared.is_empty());
    let own_member = declared.and_then(AttributeType::named).and_then(|of| json.member(of.member));
    let value = own_member.or_else(|| json.member("value"));
    let value = value.filter(|value| **value != Json::Null);
    if declared.is_none() && value.is_none() {
        return None;
    }
    let is_text = declared == Some("Text");
    let value = match value {
        // What is empty and no text is no value.
        Some(Json::Text(text)) if !is_text && text.trim().is_empty() => Json::Null,
        Some(value) => *value,
        None => Json::Null,
    };
    Some(AttributeValue { name, declared, value, json })
}
