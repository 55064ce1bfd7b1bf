//! `POST /v2/op/query`: the last values of entities that are named.

use http::StatusCode;
use prony_graphql::json::write_string;
use prony_series_store::{Kind, Page, Read, Value};
use prony_source::http_api::ApiResponse;

use crate::{
    hidden,
    ngsi::json::{Arena, Json},
    query::{
        entity::member_name,
        fault::{Fault, JSON},
        parameters::{Parameters, ShownBeside, asks_for_metadata},
        result::{self, Asked, Scope},
        value::{write_time, write_value},
    },
    series::Series,
};

/// Entities of one request.
const ENTITIES_MAX: usize = 10_000;
/// Members of an entity that are no attributes.
const MEMBERS: [&str; 3] = ["id", "type", "dateModified"];

fn refused(text: impl Into<String>) -> Fault {
    Fault::Text { status: StatusCode::BAD_REQUEST, text: text.into().into() }
}

/// `[{"id": …, "type": …, attribute: {"type": …, "value": …}, "dateModified": {…}}]`
pub(super) fn respond(
    series: &Series,
    scope: &Scope,
    (query, body): (Option<&str>, &[u8]),
    response: &mut ApiResponse,
) -> Result<(), Fault> {
    let arena = Arena::new();
    let json = Json::read(body, &arena).map_err(|_| Fault::bad_request("Request body is not valid JSON"))?;
    for name in ["expression", "metadata"] {
        if json.member(name).is_some() {
            return Err(refused(format!("{name} is Not Supported")));
        }
    }
    let Some(Json::List(entities)) = json.member("entities") else {
        return Err(Fault::bad_request("'entities' is a required property"));
    };
    if entities.len() > ENTITIES_MAX {
        let count = entities.len();
        return Err(refused(format!(
            "{count} entities are more than the limit of {ENTITIES_MAX}; ask in parts"
        )));
    }
    let attributes: Vec<String> = match json.member("attrs") {
        Some(Json::List(names)) => names.iter().filter_map(Json::text).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let shown = ShownBeside { metadata: asks_for_metadata(query), time_attribute: false };
    let read = series.store.read()?;
    (response.status, response.content_type) = (StatusCode::OK, Some(JSON));
    response.body.push(b'[');
    let mut is_first = true;
    for entity in *entities {
        if entity.member("idPattern").is_some() {
            return Err(refused("idPattern is Not Supported"));
        }
        let Some(id) = entity.member("id").and_then(Json::text) else {
            return Err(refused("Entity id is required"));
        };
        let type_name = entity.member("type").and_then(Json::text);
        if type_name.is_none() {
            return Err(refused("Entity type is required"));
        }
        let parameters = Parameters {
            type_name: type_name.map(str::to_owned),
            attributes: attributes.clone(),
            page: Page::Last { offset: 0, limit: 1 },
            shown,
            ..Parameters::default()
        };
        write_entity(&read, scope, id, &parameters, &mut is_first, &mut response.body)?;
    }
    response.body.push(b']');
    Ok(())
}

fn write_entity(
    read: &Read,
    scope: &Scope,
    id: &str,
    parameters: &Parameters,
    is_first: &mut bool,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for result in &mut result::run(read, scope, Asked::Entity(id), parameters)? {
        let Some(entity) = result.entities.first_mut() else { continue };
        out.extend_from_slice(if std::mem::replace(is_first, false) { b"{\"id\":" } else { b",{\"id\":" });
        write_string(out, id);
        out.extend_from_slice(b",\"type\":");
        write_string(out, &result.name);
        let metadata = result.attributes.iter().filter_map(|of| of.metadata);
        let metadata = metadata.filter(|_| parameters.shown.metadata);
        let wanted: Vec<_> = result.attributes.iter().map(|of| of.id).chain(metadata).collect();
        let (attributes, mut modified) = (&result.attributes, None);
        entity.visit(&wanted, |rows, row| {
            for attribute in attributes {
                out.push(b',');
                write_string(out, &member_name(&attribute.name, &MEMBERS, attributes));
                out.extend_from_slice(b":{\"type\":");
                write_string(out, &attribute.declared);
                out.extend_from_slice(b",\"value\":");
                write_value(out, attribute.kind, rows.get(row, attribute.id));
                if parameters.shown.metadata {
                    let metadata = attribute.metadata.map(|of| hidden::shown(rows.get(row, of)));
                    let none = Value::Text(hidden::NO_METADATA);
                    out.extend_from_slice(b",\"metadata\":");
                    let metadata = metadata.filter(|of| *of != Value::Null).unwrap_or(none);
                    write_value(out, Kind::Structured, metadata);
                }
                out.push(b'}');
            }
            modified = Some(rows.times[row]);
            true
        })?;
        if let Some(time) = modified {
            out.extend_from_slice(b",\"dateModified\":{\"type\":\"DateTime\",\"value\":");
            write_time(out, time);
            out.push(b'}');
        }
        out.push(b'}');
    }
    Ok(())
}
