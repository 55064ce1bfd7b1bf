//! Deletions: of the rows of an entity, of those of a type's entities, of a type.

use http::StatusCode;
use prony_series_store::{SeriesId, TableId, Ticket, Unwritten, Write};
use prony_source::http_api::{ApiRequest, query};

use super::{headers, incoming::NotWritten, path::Call};
use crate::{
    access::role::RoleAccess,
    query::{
        fault::Fault,
        parameters::Parameters,
        result::{self, Purpose, Scope},
    },
    series::Series,
};

/// Deletes what a request names; what is to be waited for, and none where there was nothing.
pub(super) fn write(
    series: &Series,
    role: Option<&RoleAccess>,
    call: &Call,
    request: &ApiRequest<'_>,
) -> Result<Option<Ticket>, NotWritten> {
    let scope = headers::scope(request, role, Purpose::Delete);
    let parameters = Parameters::read(request.query, None)?;
    let drops = query::parameter(request.query.unwrap_or_default(), "dropTable")
        .map_err(|error| Fault::bad_request(format!("dropTable: {error}")))?
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let (operation, rows) = match call {
        Call::DeleteType(name) if drops => {
            if scope.path.is_some() {
                let text =
                    "dropTable deletes what all service paths have; ask for it with the service path /"
                        .into();
                return Err(Fault::Text { status: StatusCode::UNPROCESSABLE_ENTITY, text }.into());
            }
            let table = series.store.read().with_catalog(|catalog| catalog.find_table(&scope.tenant, name));
            let Some(table) = table else { return Ok(None) };
            match role {
                Some(role) if role.deletes(&scope.tenant, name).is_none() => return Ok(None),
                Some(role) if !role.drops(&scope.tenant, name) => {
                    return Err(Fault::forbidden(
                        "your role deletes rows of some entities of this type alone",
                    )
                    .into());
                }
                _ => (Deletion::Drop(table), Vec::new()),
            }
        }
        Call::DeleteType(name) => {
            let found = found(series, &scope, result::Asked::Type(name), &parameters)?;
            let Some((table, ids)) = found.into_iter().next() else { return Ok(None) };
            let is_all = scope.path.is_none() && role.is_none();
            let of = if is_all { Deletion::Table(table) } else { Deletion::Series };
            (of, ids)
        }
        Call::DeleteEntity(id) => {
            let found = found(series, &scope, result::Asked::Entity(id), &parameters)?;
            if found.len() > 1 {
                return Err(Fault::ambiguous(id, StatusCode::CONFLICT).into());
            }
            let Some((_, ids)) = found.into_iter().next() else { return Ok(None) };
            (Deletion::Series, ids)
        }
        _ => return Ok(None),
    };
    let range = parameters.range;
    let written = series.store.try_write_ticket(|write: &mut Write<'_>| {
        match operation {
            Deletion::Drop(table) => write.drop_table(table),
            Deletion::Table(table) => write.delete_all(table, range),
            Deletion::Series => rows.iter().for_each(|id| write.delete(*id, range)),
        }
        Ok(())
    });
    match written {
        Ok(((), ticket)) => Ok(Some(ticket)),
        Err(Unwritten::NoRoom) => Err(NotWritten::NoRoom),
        Err(Unwritten::Refused(refusal)) => Err(Fault::from(refusal).into()),
    }
}

/// What is deleted.
#[derive(Debug, Clone, Copy)]
enum Deletion {
    Drop(TableId),
    /// Of all entities.
    Table(TableId),
    /// Of some.
    Series,
}

/// The series that have rows, by their types.
fn found(
    series: &Series,
    scope: &Scope,
    asked: result::Asked<'_>,
    parameters: &Parameters,
) -> Result<Vec<(TableId, Vec<SeriesId>)>, Fault> {
    let read = series.store.read();
    let mut found = Vec::new();
    for (table, entities) in result::find(&read, scope, asked, parameters) {
        let mut ids = Vec::new();
        for id in entities.into_iter().flat_map(|(_, ids)| ids) {
            if read.series(id, parameters.range, &[]).last_time()?.is_some() {
                ids.push(id);
            }
        }
        if !ids.is_empty() {
            found.push((table, ids));
        }
    }
    Ok(found)
}
