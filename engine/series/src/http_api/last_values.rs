//! `POST /v2/op/query`: the last values of entities that are named.

use http::StatusCode;
use prony_graphql::json::write_string;
use prony_series_store::{Kind, Page, Value};
use prony_source::http_api::{ApiRequest, ApiResponse};

use super::long;
use crate::{
    hidden,
    ngsi::json::{Arena, Json},
    query::{
        entity::{TypeResult, member_name},
        fault::Fault,
        parameters::Parameters,
        result::{self, Asked, Scope},
        row_format::{self, Format},
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

/// What the head of a request says of its response.
#[derive(Debug)]
pub(super) struct LastValues {
    scope: Scope,
    /// How rows are shown.
    parameters: Parameters,
    format: Format,
}

impl LastValues {
    pub(super) fn read(scope: Scope, request: &ApiRequest<'_>) -> Result<Self, Fault> {
        let shown = Parameters::read_of_body(request.query)?;
        let format = Format::of(request.headers, &shown);
        let parameters = Parameters { page: Page::Last { offset: 0, limit: 1 }, ..shown };
        Ok(Self { scope, parameters, format })
    }

    /// `[{"id": …, "type": …, attribute: {"type": …, "value": …}, "dateModified": {…}}]`, or a row of each entity in another format.
    pub(super) fn respond(
        &self,
        series: &Series,
        body: &[u8],
        response: &mut ApiResponse,
    ) -> Result<(), Fault> {
        let arena = Arena::new();
        let json =
            Json::read(body, &arena).map_err(|_| Fault::bad_request("Request body is not valid JSON"))?;
        let (entities, attributes) = asked_for(&json)?;
        let read = series.store.read()?;
        (response.status, response.content_type) = (StatusCode::OK, Some(self.format.content_type()));
        let (is_shaped, mut is_first) = (self.format == Format::Shapes, true);
        let mut rows: Vec<TypeResult> = Vec::new();
        for entity in entities {
            let (id, type_name) = named(entity)?;
            let parameters = Parameters {
                ids: vec![id.to_owned()],
                attributes: attributes.clone(),
                ..self.parameters.clone()
            };
            // A body names one type, which may have commas in its name.
            for mut result in result::run(&read, &self.scope, Asked::Type(type_name), &parameters)?.types {
                if !is_shaped {
                    add(&mut rows, result);
                    continue;
                }
                response.body.push(if std::mem::replace(&mut is_first, false) { b'[' } else { b',' });
                write_entity(&mut result, id, parameters.shown.metadata, &mut response.body)?;
            }
        }
        if is_shaped {
            response.body.extend_from_slice(if is_first { b"[]" } else { b"]" });
            return Ok(());
        }
        let written = row_format::write(self.format, &self.parameters, &mut response.body, &mut rows);
        Ok(long::finish(written)?)
    }
}

/// The entities that a body names, and the attributes; all of them where there are none.
fn asked_for<'j>(json: &Json<'j>) -> Result<(&'j [Json<'j>], Vec<String>), Fault> {
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
    let attributes = match json.member("attrs") {
        Some(Json::List(names)) => names.iter().filter_map(Json::text).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok((*entities, attributes))
}

/// The id and the type of an entity.
fn named<'j>(entity: &Json<'j>) -> Result<(&'j str, &'j str), Fault> {
    if entity.member("idPattern").is_some() {
        return Err(refused("idPattern is Not Supported"));
    }
    let id = entity.member("id").and_then(Json::text).ok_or_else(|| refused("Entity id is required"))?;
    let type_name = entity.member("type").and_then(Json::text);
    Ok((id, type_name.ok_or_else(|| refused("Entity type is required"))?))
}

/// Puts the rows of an entity to those of its type.
fn add(rows: &mut Vec<TypeResult>, result: TypeResult) {
    match rows.iter_mut().find(|of| of.name == result.name) {
        Some(of) => of.entities.extend(result.entities),
        None => rows.push(result),
    }
}

/// `{"id": …}` with its last values.
fn write_entity(
    result: &mut TypeResult,
    id: &str,
    shows_metadata: bool,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let TypeResult { name, attributes, entities, .. } = result;
    let (attributes, mut modified) = (&*attributes, None);
    let Some(entity) = entities.first_mut() else { return Ok(()) };
    out.extend_from_slice(b"{\"id\":");
    write_string(out, id);
    out.extend_from_slice(b",\"type\":");
    write_string(out, name);
    let metadata = attributes.iter().filter_map(|of| of.metadata).filter(|_| shows_metadata);
    let wanted: Vec<_> = attributes.iter().map(|of| of.id).chain(metadata).collect();
    entity.visit(&wanted, |rows, row| {
        for attribute in attributes {
            out.push(b',');
            write_string(out, &member_name(&attribute.name, &MEMBERS, attributes));
            out.extend_from_slice(b":{\"type\":");
            write_string(out, &attribute.declared);
            out.extend_from_slice(b",\"value\":");
            write_value(out, attribute.kind, rows.get(row, attribute.id));
            if shows_metadata {
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
    Ok(())
}
