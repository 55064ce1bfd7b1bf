//! `POST /v2/notify`: a body becomes rows, all or none.

use std::{
    borrow::Cow,
    time::{SystemTime, UNIX_EPOCH},
};

use http::StatusCode;
use prony_series_store::{AttributeId, Kind, Refusal, TimeMs, Value, Write};
use prony_source::http_api::{ApiRequest, ApiResponse};

use super::headers;
use crate::{
    access::role::RoleAccess,
    ngsi::{
        convert::{Converted, convert, default_type, kind_of},
        entity::{self, AttributeValue, BodyFault, Entity},
        geometry,
        json::{Arena, Json},
        time_index,
    },
    query::fault::Fault,
};

const PROCESSED: &str = "Notification successfully processed";
const LOCATION: &str = "location";
const CENTROID: &str = "location_centroid";

/// What the headers of a notification say.
#[derive(Debug, Clone)]
pub(super) struct NotifyHeaders {
    pub(super) tenant: String,
    paths: String,
    time_index: Option<String>,
}

impl NotifyHeaders {
    pub(super) fn read(request: &ApiRequest<'_>) -> Self {
        if let Some(correlator) = headers::correlator(request) {
            tracing::debug!(%correlator, "a notification");
        }
        Self {
            tenant: headers::tenant(request).into_owned(),
            paths: headers::service_path(request).into_owned(),
            time_index: headers::time_index(request).map(Cow::into_owned),
        }
    }
}

/// The entities of a notification, with what its headers say.
pub(super) struct Notified<'a> {
    headers: &'a NotifyHeaders,
    entities: &'a [Entity<'a>],
    /// One for all, or one for each.
    paths: Vec<Cow<'a, str>>,
    now_ms: TimeMs,
}

/// Calls `with` with the entities of a body.
pub(super) fn with_entities<T>(
    headers: &NotifyHeaders,
    body: &[u8],
    with: impl FnOnce(&Notified<'_>) -> T,
) -> Result<T, Fault> {
    let arena = Arena::new();
    let json = Json::read(body, &arena).map_err(|_| fault(&BodyFault::NoJson))?;
    let entities = entity::entities(&json).map_err(|error| fault(&error))?;
    let paths = paths(&headers.paths, entities.len())?;
    Ok(with(&Notified { headers, entities: &entities, paths, now_ms: now_ms() }))
}

impl<'a> Notified<'a> {
    /// Whether the role may write all of them.
    pub(super) fn check(&self, role: Option<&RoleAccess>) -> Result<(), Fault> {
        let Some(role) = role else { return Ok(()) };
        for (entity, path) in self.rows() {
            check_row(role, &self.headers.tenant, path, entity)?;
        }
        Ok(())
    }

    /// The entities that become rows, with their service paths.
    fn rows(&self) -> impl Iterator<Item = (&'a Entity<'a>, &str)> {
        let path = |place: usize| &*self.paths[if self.paths.len() == 1 { 0 } else { place }];
        let entities = self.entities.iter().enumerate();
        entities.filter(|(_, entity)| !entity.is_emptied).map(move |(place, entity)| (entity, path(place)))
    }

    pub(super) fn write(&self, write: &mut Write<'_>, misfits: &mut Vec<Misfit>) -> Result<(), Refusal> {
        let Self { headers, now_ms, .. } = self;
        for (entity, path) in self.rows() {
            let time_ms = time_index::time_of(entity, headers.time_index.as_deref(), *now_ms);
            row(write, &headers.tenant, path, entity, time_ms, misfits)?;
        }
        Ok(())
    }
}

pub(super) fn now_ms() -> TimeMs {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as TimeMs
}

fn fault(error: &BodyFault) -> Fault {
    Fault::bad_request(error.to_string())
}

pub(super) fn processed(response: &mut ApiResponse) {
    response.set_json_text(StatusCode::OK, PROCESSED);
}

/// One path for all entities, or one for each.
fn paths(header: &str, count: usize) -> Result<Vec<Cow<'_, str>>, Fault> {
    let paths: Vec<Cow<'_, str>> = header.split(',').map(headers::normal_path).collect();
    if paths.len() == 1 || paths.len() == count {
        return Ok(paths);
    }
    let text = format!(
        "Notification not processed or not updated: The header value '{header}' for header Fiware-ServicePath is not \
         valid. Multiple servicePath are allowed only if their number match the number of entities"
    );
    Err(Fault::Text { status: StatusCode::BAD_REQUEST, text: text.into() })
}

/// Whether a role may write an entity's attributes as a row.
pub(super) fn check_row(
    role: &RoleAccess,
    tenant: &str,
    path: &str,
    entity: &Entity<'_>,
) -> Result<(), Fault> {
    let attributes = entity.attributes.iter().map(|attribute| attribute.name);
    if role.inserts((tenant, entity.type_name), (entity.id, path), attributes) {
        return Ok(());
    }
    let (id, of) = (entity.id, entity.type_name);
    Err(Fault::forbidden(format!(
        "your role may not write these attributes of the entity {id} of type {of}; nothing was written"
    )))
}

/// An attribute whose value did not fit: its type and its name.
pub(crate) type Misfit = (String, String);

/// Writes an entity's attributes as a row.
pub(super) fn row(
    write: &mut Write<'_>,
    tenant: &str,
    path: &str,
    entity: &Entity<'_>,
    time_ms: TimeMs,
    misfits: &mut Vec<Misfit>,
) -> Result<(), Refusal> {
    let table = write.table(tenant, entity.type_name)?;
    let series = write.series(table, entity.id, path)?;
    let mut values: Vec<(AttributeId, Converted<'_>)> = Vec::with_capacity(entity.attributes.len() + 1);
    for attribute in &entity.attributes {
        let declared = declared_of(attribute);
        let (id, kind) =
            write.attribute(table, attribute.name, declared, || kind_of(declared, &attribute.value))?;
        let mut converted = convert(kind, declared, &attribute.value);
        if !write.keeps(kind, converted.value()) {
            converted = Converted::Null;
        }
        if converted == Converted::Null && attribute.value != Json::Null {
            misfits.push((entity.type_name.to_owned(), attribute.name.to_owned()));
        }
        if attribute.name == LOCATION
            && let Converted::Text(geojson) = &converted
            && kind == Kind::Geometry
            && let Some(middle) = geometry::centroid_text(geojson)
        {
            let text = || Kind::Text;
            let (centroid, kind) = write.attribute(table, CENTROID, "geo:point", text)?;
            if kind == Kind::Text {
                values.push((centroid, Converted::Text(middle.into())));
            }
        }
        values.push((id, converted));
    }
    // Names that differ in the case of their letters are one attribute: the last one counts.
    values.sort_by_key(|(id, _)| *id);
    let mut last_of_each: Vec<(AttributeId, Value<'_>)> = Vec::with_capacity(values.len());
    for (id, value) in values.iter().map(|(id, converted)| (*id, converted.value())) {
        match last_of_each.last_mut() {
            Some((last, kept)) if *last == id => *kept = value,
            _ => last_of_each.push((id, value)),
        }
    }
    write.row(series, time_ms, &last_of_each)
}

/// Properties of NGSI-LD have the types of their values.
fn declared_of<'a>(attribute: &AttributeValue<'a>) -> &'a str {
    match attribute.declared {
        Some(declared) => declared,
        None => default_type(&attribute.value),
    }
}
