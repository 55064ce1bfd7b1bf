//! Temporal entities that are sent (ETSI GS CIM 009, clause 5.2.20): attributes with lists of instances become rows, one for each moment.

use std::collections::{BTreeMap, HashMap};

use prony_series_store::{TimeMs, small_letters};

use super::problem::{Problem, ProblemKind};
use crate::{
    incoming::TimedEntity,
    ngsi::{
        attribute_type::AttributeType,
        convert::default_type,
        entity::{AttributeValue, Entity, NO_ATTRIBUTES},
        json::{Arena, Json},
        time,
        time_index::{RowTime, TimeSource},
    },
};

/// Where an instance has its time: the first that is there.
const TIMES: [&str; 3] = ["observedAt", "modifiedAt", "createdAt"];

/// The body as JSON.
pub(crate) fn read<'a>(body: &'a [u8], arena: &'a Arena) -> Result<Json<'a>, Problem> {
    let invalid = |error| Problem::new(ProblemKind::InvalidRequest, format!("the body is no JSON: {error}"));
    Json::read(body, arena).map_err(invalid)
}

/// What a temporal entity is called, and its rows in the order of their times. What has no time has that of now.
pub(crate) fn rows<'a>(json: &Json<'a>, now_ms: TimeMs) -> Result<Vec<TimedEntity<'a>>, Problem> {
    let Json::Object(members) = *json else { return Err(Problem::bad_data("the body is to be an object")) };
    let text = |name: &str| json.member(name).and_then(Json::text).filter(|text| !text.is_empty());
    let id = text("id").ok_or_else(|| Problem::bad_data("`id` is to be the id of an entity"))?;
    let type_name = match json.member("type") {
        Some(Json::List(types)) if types.len() == 1 => types[0].text(),
        _ => text("type"),
    };
    let type_name = type_name
        .ok_or_else(|| Problem::bad_data("`type` is to be the type of the entity; it can have one"))?;
    // Instances of one attribute at the same moment are in different rows.
    let mut rows: BTreeMap<(TimeMs, usize), (TimeSource<'a>, Vec<AttributeValue<'a>>)> = BTreeMap::new();
    // Of each attribute how many instances a moment has, by its name in small letters.
    let mut counts: HashMap<String, BTreeMap<TimeMs, usize>> = HashMap::new();
    for (name, value) in members {
        if NO_ATTRIBUTES.contains(name) {
            continue;
        }
        let instances = match value {
            Json::List(instances) => instances,
            one => std::slice::from_ref(one),
        };
        let before = counts.entry(small_letters(name)).or_default();
        for (place, instance) in instances.iter().enumerate() {
            let fault = |what: &str| Problem::bad_data(format!("{name}[{place}] {what}"));
            let RowTime { ms: time, source } =
                time_of(name, instance, now_ms).map_err(|what| fault(&what))?;
            let attribute = attribute(name, instance).map_err(|what| fault(&what))?;
            let count = before.entry(time).or_default();
            rows.entry((time, *count)).or_insert_with(|| (source, Vec::new())).1.push(attribute);
            *count += 1;
        }
    }
    if rows.is_empty() {
        return Err(Problem::bad_data("the entity has no instance of an attribute"));
    }
    let rows = rows.into_iter().map(|((time, _), (time_source, attributes))| TimedEntity {
        entity: Entity { id, type_name, attributes, members: &[], is_emptied: false },
        time_ms: Some(time),
        time_source,
    });
    Ok(rows.collect())
}

fn time_of<'a>(attribute: &'a str, instance: &Json<'_>, now_ms: TimeMs) -> Result<RowTime<'a>, String> {
    let Some((name, value)) = TIMES.iter().find_map(|name| Some((*name, instance.member(name)?))) else {
        return Ok(RowTime { ms: now_ms, source: TimeSource::Other });
    };
    let time = value.text().and_then(time::parse_date_time);
    time.map(|ms| RowTime { ms, source: TimeSource::Metadatum { attribute, name } })
        .ok_or_else(|| format!("has {name} {}, and no time as 2024-05-06T07:08:09Z", value.to_text()))
}

fn attribute<'a>(name: &'a str, instance: &Json<'a>) -> Result<AttributeValue<'a>, String> {
    let Json::Object(_) = instance else { return Err("is no object".to_owned()) };
    if instance.member("datasetId").is_some() {
        return Err("has datasetId: an attribute has one series; give another one another name".to_owned());
    }
    let of = match instance.member("type") {
        Some(Json::Text(declared)) => AttributeType::named(declared),
        Some(_) => None,
        None => AttributeType::with_member(|member| instance.member(member).is_some()),
    };
    let of = of.ok_or("has no type of an attribute: Property, Relationship, GeoProperty …")?;
    let value = instance.member(of.member).filter(|value| **value != Json::Null);
    let value = value.ok_or_else(|| format!("has no {}", of.member))?;
    if of.name == "Relationship" && value.text().is_none() {
        return Err("has an object that is no text; write a ListRelationship".to_owned());
    }
    let (declared, value) = if of.is_property() { property(value) } else { (of.name, value) };
    Ok(AttributeValue { name, declared: Some(declared), value: *value, json: *instance })
}

/// The type of a property's values, and the value; times are `{"@type": "DateTime", "@value": …}`.
fn property<'a>(value: &'a Json<'a>) -> (&'static str, &'a Json<'a>) {
    match (value.member("@type").and_then(Json::text), value.member("@value")) {
        (Some("DateTime"), Some(time)) => ("DateTime", time),
        _ => (default_type(value), value),
    }
}
