//! `POST /v2/op/query`: the last values of entities that are named.

use std::sync::Arc;

use http::StatusCode;
use prony_graphql::json::write_string;
use prony_series_store::{Kind, Page, Read, Value};
use prony_source::http_api::{ApiRequest, ApiResponse, Progress};

use super::{
    long,
    shared::{ApiShared, finish},
};
use crate::{
    hidden,
    ngsi::json::{Arena, Json},
    query::{
        entity::{TypeResult, member_name},
        fault::Fault,
        parameters::Parameters,
        result::{self, Asked, Scope},
        row_format::{self, Format},
        shape::{Output, full},
        value::{write_time, write_value},
    },
    series::Series,
};

/// Entities of one request.
const ENTITIES_MAX: usize = 10_000;
/// To look for an entity takes as long as so many blocks do.
const BLOCKS_OF_AN_ENTITY: usize = 4;
/// So many attributes take as long as a block does.
const ATTRIBUTES_OF_A_BLOCK: usize = 20;
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

    pub(super) const fn content_type(&self) -> &'static str {
        self.format.content_type()
    }

    /// Responds where that costs no more than this; else nothing is done, and it is false.
    pub(super) fn respond_at_once(
        &self,
        series: &Series,
        body: &[u8],
        cost_max: usize,
        response: &mut ApiResponse,
    ) -> Result<bool, Fault> {
        let arena = Arena::new();
        let asked = AskedEntities::read(body, &arena)?;
        let Some(read) = series.read_at_once(cost_max, |read| self.cost(read, &asked))? else {
            return Ok(false);
        };
        (response.status, response.content_type) = (StatusCode::OK, Some(self.content_type()));
        self.write(&read, &asked, &mut response.body)?;
        Ok(true)
    }

    /// Reads the body, and responds by a thread of its own.
    pub(super) fn respond_long(self, shared: &Arc<ApiShared>, max_body_bytes: usize) -> Progress {
        long::receive_and_stream(shared, max_body_bytes, self.content_type(), move |shared, body, out| {
            self.respond_in_parts(&shared.series, body, out)
        })
    }

    fn respond_in_parts(&self, series: &Series, body: &[u8], out: &mut dyn Output) -> Result<(), Fault> {
        let arena = Arena::new();
        let asked = AskedEntities::read(body, &arena)?;
        self.write(&series.store.read()?, &asked, out)?;
        // Whoever has asked may have gone.
        let _ = out.hand_over();
        Ok(())
    }

    /// About how many blocks are looked at.
    fn cost(&self, read: &Read, asked: &AskedEntities<'_>) -> usize {
        read.with_catalog(|catalog| {
            let columns = |type_name: &str| {
                let table = catalog.find_table(&self.scope.tenant, type_name);
                table.map_or(0, |table| catalog.table(table).attributes.len())
            };
            let of_entity = |&(_, type_name): &(&str, &str)| {
                let named = asked.attributes.len();
                let attributes = if named == 0 { columns(type_name) } else { named };
                BLOCKS_OF_AN_ENTITY + attributes / ATTRIBUTES_OF_A_BLOCK
            };
            asked.entities.iter().map(of_entity).sum()
        })
    }

    /// `[{"id": …, "type": …, attribute: {"type": …, "value": …}, "dateModified": {…}}]`, or a row of each entity in another format.
    fn write(&self, read: &Read, asked: &AskedEntities<'_>, out: &mut dyn Output) -> Result<(), Fault> {
        let (is_shaped, mut is_first) = (self.format == Format::Shapes, true);
        let mut rows: Vec<TypeResult> = Vec::new();
        for &(id, type_name) in &asked.entities {
            let parameters = Parameters {
                ids: vec![id.to_owned()],
                attributes: asked.attributes.clone(),
                ..self.parameters.clone()
            };
            // A body names one type, which may have commas in its name.
            for mut result in result::run(read, &self.scope, Asked::Type(type_name), &parameters)?.types {
                if !is_shaped {
                    add(&mut rows, result);
                    continue;
                }
                out.part().push(if std::mem::replace(&mut is_first, false) { b'[' } else { b',' });
                write_entity(&mut result, id, parameters.shown.metadata, out.part())?;
                if full(out).is_err() {
                    // Nobody reads it any more.
                    return Ok(());
                }
            }
        }
        if is_shaped {
            out.part().extend_from_slice(if is_first { b"[]" } else { b"]" });
            return Ok(());
        }
        let written = row_format::write(self.format, &self.parameters, out, &mut rows);
        Ok(finish(written)?)
    }
}

/// What a body asks for.
struct AskedEntities<'j> {
    /// Ids and types.
    entities: Vec<(&'j str, &'j str)>,
    /// All of them where there are none.
    attributes: Vec<String>,
}

impl<'j> AskedEntities<'j> {
    fn read(body: &'j [u8], arena: &'j Arena) -> Result<Self, Fault> {
        let json =
            Json::read(body, arena).map_err(|_| Fault::bad_request("Request body is not valid JSON"))?;
        let (entities, attributes) = asked_for(&json)?;
        let entities = entities.iter().map(named).collect::<Result<_, _>>()?;
        Ok(Self { entities, attributes })
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
