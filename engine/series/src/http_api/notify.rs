//! `POST /v2/notify`: a body becomes rows, all or none.

use std::{
    borrow::Cow,
    time::{SystemTime, UNIX_EPOCH},
};

use http::StatusCode;
use prony_series_store::{AttributeId, Kind, Refusal, TableId, TimeMs, Value, Write};
use prony_source::http_api::{ApiRequest, ApiResponse};

use super::headers;
use crate::{
    access::role::RoleAccess,
    hidden::{self, Kept, NO_METADATA, TIME_ATTRIBUTE},
    ngsi::{
        convert::{Converted, INTEGER, convert, default_type, has_fraction, kind_of},
        entity::{self, AttributeValue, BodyFault, Entity},
        geometry,
        json::{Arena, Json},
        metadata,
        time_index::{self, RowTime, TimeSource},
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

    pub(super) fn write(&self, write: &mut Write<'_>, writing: &mut RowWriting) -> Result<(), Refusal> {
        let Self { headers, now_ms, .. } = self;
        for (entity, path) in self.rows() {
            let time = time_index::time_of(entity, headers.time_index.as_deref(), *now_ms);
            writing.row(write, (&headers.tenant, path), entity, time)?;
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

/// How rows are written, and which of their values did not fit.
#[derive(Debug)]
pub(super) struct RowWriting {
    kept: Kept,
    pub(super) misfits: Vec<Misfit>,
}

/// Values of a row, in any order; of several of one attribute the last one counts.
type RowValues<'a> = Vec<(AttributeId, Converted<'a>)>;

impl RowWriting {
    pub(super) const fn new(kept: Kept) -> Self {
        Self { kept, misfits: Vec::new() }
    }

    /// Writes an entity's attributes as a row.
    pub(super) fn row(
        &mut self,
        write: &mut Write<'_>,
        (tenant, path): (&str, &str),
        entity: &Entity<'_>,
        time: RowTime<'_>,
    ) -> Result<(), Refusal> {
        let table = write.table(tenant, entity.type_name)?;
        let series = write.series(table, entity.id, path)?;
        let mut values: RowValues<'_> = Vec::with_capacity(entity.attributes.len() + 1);
        for attribute in &entity.attributes {
            hidden::check_name(attribute.name)?;
            let declared = declared_of(attribute);
            let (id, kind) =
                write.attribute(table, attribute.name, declared, || kind_of(declared, &attribute.value))?;
            let mut converted = convert(kind, declared, &attribute.value);
            let is_cut = kind == Kind::Integer
                && has_fraction(&attribute.value)
                && &*write.catalog().table(table).get(id).declared != INTEGER;
            if is_cut || !write.keeps(kind, converted.value()) {
                converted = Converted::Null;
            }
            if converted == Converted::Null && attribute.value != Json::Null {
                self.misfits.push((entity.type_name.to_owned(), attribute.name.to_owned()));
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
            if self.kept.metadata {
                self.add_metadata(write, table, (attribute, &converted), &mut values)?;
            }
            values.push((id, converted));
        }
        if self.kept.time_attribute {
            self.add_time_source(write, table, time.source, &mut values)?;
        }
        write.row(series, time.ms, &last_of_each(&mut values))
    }

    /// A value and its metadata are always of the same notification: where rows become one, a value without metadata says that it has none,
    /// and what is no value has none either.
    fn add_metadata(
        &self,
        write: &mut Write<'_>,
        table: TableId,
        (attribute, value): (&AttributeValue<'_>, &Converted<'_>),
        values: &mut RowValues<'_>,
    ) -> Result<(), Refusal> {
        let sent = metadata::of(attribute);
        let text = match (sent, self.kept.merges()) {
            (_, true) if *value == Converted::Null => return Ok(()),
            (None, false) => return Ok(()),
            (None, true) => NO_METADATA.to_owned(),
            (Some(text), _) => text,
        };
        let name = hidden::metadata_name(attribute.name);
        let (id, kind) = write.attribute(table, &name, "StructuredValue", || Kind::Structured)?;
        if kind == Kind::Structured {
            values.push((id, Converted::Text(text.into())));
        }
        Ok(())
    }

    fn add_time_source<'a>(
        &self,
        write: &mut Write<'_>,
        table: TableId,
        source: TimeSource<'a>,
        values: &mut RowValues<'a>,
    ) -> Result<(), Refusal> {
        if source == TimeSource::Other && !self.kept.merges() {
            return Ok(());
        }
        let (id, kind) = write.attribute(table, TIME_ATTRIBUTE, "Text", || Kind::Text)?;
        if kind == Kind::Text {
            values.push((id, Converted::Text(source.text())));
        }
        Ok(())
    }
}

/// Names that differ in the case of their letters are one attribute: the last one counts.
fn last_of_each<'v>(values: &'v mut RowValues<'_>) -> Vec<(AttributeId, Value<'v>)> {
    values.sort_by_key(|(id, _)| *id);
    let mut last_of_each: Vec<(AttributeId, Value<'_>)> = Vec::with_capacity(values.len());
    for (id, value) in values.iter().map(|(id, converted)| (*id, converted.value())) {
        match last_of_each.last_mut() {
            Some((last, kept)) if *last == id => *kept = value,
            _ => last_of_each.push((id, value)),
        }
    }
    last_of_each
}

/// Properties of NGSI-LD have the types of their values.
fn declared_of<'a>(attribute: &AttributeValue<'a>) -> &'a str {
    match attribute.declared {
        Some(declared) => declared,
        None => default_type(&attribute.value),
    }
}
