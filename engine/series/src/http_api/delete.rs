//! Deletions: of the rows of an entity, of those of a type's entities, of a type.

use http::StatusCode;
use prony_series_store::{
    Read, ReadError, SeriesId, TableId, Ticket, TimeRange, Unwritten, Write, WriteError,
};
use prony_source::http_api::{ApiRequest, query};

use super::{headers, incoming::NotWritten, path::Call};
use crate::{
    access::role::RoleAccess,
    query::{
        fault::Fault,
        parameters::Parameters,
        result::{self, Asked, Purpose, Scope},
    },
    series::Series,
};

/// What a request asks to be deleted.
#[derive(Debug)]
pub(super) struct Deletion {
    scope: Scope,
    parameters: Parameters,
    of: Named,
}

/// What is named for it.
#[derive(Debug)]
enum Named {
    Entity(String),
    Type(String),
    /// A type with all that it has.
    Whole(String),
}

/// What is deleted.
#[derive(Debug)]
enum Found {
    Whole(TableId),
    /// The rows of all entities.
    Type(TableId),
    /// The rows of some.
    Series(Vec<SeriesId>),
}

impl Deletion {
    pub(super) fn read(
        role: Option<&RoleAccess>,
        call: &Call,
        request: &ApiRequest<'_>,
    ) -> Result<Self, Fault> {
        let scope = headers::scope(request, role, Purpose::Delete);
        let of = match call {
            Call::DeleteType(name) if drops(request.query.unwrap_or_default())? => Named::Whole(name.clone()),
            Call::DeleteType(name) => Named::Type(name.clone()),
            Call::DeleteEntity(id) => Named::Entity(id.clone()),
            _ => unreachable!("other calls delete nothing"),
        };
        of.check_parameters(request.query.unwrap_or_default())?;
        let parameters = Parameters::read(request.query, None)?;
        if matches!(of, Named::Whole(_)) && scope.path.is_some() {
            let text =
                "dropTable deletes what all service paths have; ask for it with the service path /".into();
            return Err(Fault::Text { status: StatusCode::UNPROCESSABLE_ENTITY, text });
        }
        Ok(Self { scope, parameters, of })
    }

    /// About how many entities are looked at.
    pub(super) fn cost(&self, read: &Read) -> usize {
        match &self.of {
            Named::Type(name) => result::entity_count(read, &self.scope, Asked::Type(name), &self.parameters),
            Named::Entity(_) | Named::Whole(_) => 1,
        }
    }

    /// Deletes it; what is to be waited for, and none where there was nothing.
    pub(super) fn write(&self, series: &Series) -> Result<Option<Ticket>, NotWritten> {
        let Some(found) = self.find(series)? else { return Ok(None) };
        match series.store.try_write_ticket(|write| {
            self.delete(&found, write);
            Ok(())
        }) {
            Ok(((), ticket)) => Ok(Some(ticket)),
            Err(Unwritten::NoRoom) => Err(NotWritten::NoRoom),
            Err(Unwritten::Refused(refusal)) => Err(Fault::from(refusal).into()),
        }
    }

    /// As [`Self::write`]; blocks until it is durable. False where there was nothing.
    pub(super) fn write_and_wait(&self, series: &Series) -> Result<bool, Fault> {
        let Some(found) = self.find(series)? else { return Ok(false) };
        match series.store.write_and_wait(|write| {
            self.delete(&found, write);
            Ok(())
        }) {
            Ok(()) => Ok(true),
            Err(WriteError::Refused(refusal)) => Err(refusal.into()),
            Err(WriteError::Log(error)) => Err(error.into()),
        }
    }

    fn delete(&self, found: &Found, write: &mut Write<'_>) {
        let range = self.parameters.range;
        match found {
            Found::Whole(table) => write.drop_table(*table),
            Found::Type(table) => write.delete_all(*table, range),
            Found::Series(ids) => ids.iter().for_each(|id| write.delete(*id, range)),
        }
    }

    fn find(&self, series: &Series) -> Result<Option<Found>, Fault> {
        let Self { scope, parameters, of } = self;
        let read = series.store.read()?;
        match of {
            Named::Whole(name) => {
                let table = read.with_catalog(|catalog| catalog.find_table(&scope.tenant, name));
                let Some(table) = table else { return Ok(None) };
                match &scope.role {
                    Some(role) if role.deletes(&scope.tenant, name).is_none() => Ok(None),
                    Some(role) if !role.drops(&scope.tenant, name) => {
                        Err(Fault::forbidden("your role deletes rows of some entities of this type alone"))
                    }
                    _ => Ok(Some(Found::Whole(table))),
                }
            }
            Named::Type(name) => {
                let found = with_rows(&read, scope, Asked::Type(name), parameters)?;
                let names_some = !parameters.ids.is_empty() || parameters.id_pattern.is_some();
                let is_all = scope.path.is_none() && scope.role.is_none() && !names_some;
                let of_first = found.into_iter().next();
                Ok(of_first.map(|(table, ids)| if is_all { Found::Type(table) } else { Found::Series(ids) }))
            }
            Named::Entity(id) => {
                let named = result::find(&read, scope, Asked::Entity(id), parameters);
                // Of whichever time: who names no type does not know that there are two.
                let is_ambiguous =
                    named.len() > 1 && result::with_rows(&read, named, TimeRange::ALL)?.len() > 1;
                if is_ambiguous {
                    return Err(Fault::ambiguous(id, StatusCode::CONFLICT));
                }
                let found = with_rows(&read, scope, Asked::Entity(id), parameters)?;
                Ok(found.into_iter().next().map(|(_, ids)| Found::Series(ids)))
            }
        }
    }
}

impl Named {
    /// The parameters that count for it.
    const fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::Entity(_) => &["type", "idPattern", "fromDate", "toDate"],
            Self::Type(_) => &["type", "id", "idPattern", "fromDate", "toDate", "dropTable"],
            Self::Whole(_) => &["type", "dropTable"],
        }
    }

    /// Refuses what does not count for it, is empty, or is given twice: it would have narrowed the deletion down, and more would be
    /// deleted than was meant.
    fn check_parameters(&self, query: &str) -> Result<(), Fault> {
        let names = query::names(query).map_err(|error| Fault::bad_request(error.to_string()))?;
        let known = self.parameters();
        for (place, name) in names.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(Fault::bad_use(format!(
                    "This deletion has no parameter {name}; it has {known}."
                )));
            }
            if names[..place].contains(name) {
                return Err(Fault::bad_use(format!("The parameter {name} is given twice.")));
            }
            let value = text(query, name)?.unwrap_or_default();
            if value.split(',').all(|part| part.trim().is_empty()) {
                return Err(Fault::bad_use(format!("The parameter {name} has no value.")));
            }
            let (Self::Type(of) | Self::Whole(of)) = self else { continue };
            if name == "type" && value != *of {
                return Err(Fault::bad_use(format!("The path names the type {of}, and type is {value}.")));
            }
        }
        Ok(())
    }
}

fn text(query: &str, name: &str) -> Result<Option<String>, Fault> {
    query::parameter(query, name).map_err(|error| Fault::bad_request(format!("{name}: {error}")))
}

/// Whether a type goes with all that it has. Clients in Python write `True`.
fn drops(query: &str) -> Result<bool, Fault> {
    let Some(value) = text(query, "dropTable")? else { return Ok(false) };
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Fault::bad_request("Wrong type, expected 'boolean' for query parameter 'dropTable'")),
    }
}

/// The series that have rows in the time that is named, by their types.
fn with_rows(
    read: &Read,
    scope: &Scope,
    asked: Asked<'_>,
    parameters: &Parameters,
) -> Result<Vec<(TableId, Vec<SeriesId>)>, ReadError> {
    let found = result::find(read, scope, asked, parameters);
    let series = |(table, entities): (TableId, Vec<(String, Vec<SeriesId>)>)| {
        (table, entities.into_iter().flat_map(|(_, ids)| ids).collect())
    };
    Ok(result::with_rows(read, found, parameters.range)?.into_iter().map(series).collect())
}
